"""What a mixture asks of its parts, and how linear-Gaussian models answer.

A mixture fits weighted models: a row's share in a part is the row's weight in the block that the part sees, so
neither knows of the other. Complete tables give each part its weighted moments, from which probabilistic PCA is
solved in closed form and factor analysis by Newton's method at no further pass; rows with gaps give it the sums
of its own E-step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from lowdim.math.eigen import largest
from lowdim.math.factor import maximum_likelihood
from lowdim.math.gaussian import LOG_TWO_PI, SHARP, Latent, Sums, posterior, sums
from lowdim.math.linalg import Array, Mask, align, inverse_packed, lower, unpack
from lowdim.models.base.results import Cells, squared
from lowdim.models.linear.factor_analysis import FactorAnalysis
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.parameters import Linear, check_q, excess, on_floor
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.mixtures.full_gaussian import Gaussian, Scatter, scatter
from lowdim.models.mixtures.starts import Spread
from lowdim.sources.source import Block

STEPS = 3  # Newton steps of a factor part in one M-step: it need not arrive before the other parts do
SWEEPS = 5  # EM steps where Newton's method cannot be used
WIDE = 1024  # columns beyond which no d x d matrix is made
SUBSPACE = 64  # columns from which axes are followed instead of solved for
COLUMNS = 64  # columns for each axis beyond which moments cost more than the passes they save
NAMES = ("full", "tied", "diag", "spherical")


class Part(Protocol):
    """The hooks of a component; `params` and `sums` are its own affair."""

    own_units: bool  # whether the model is the same whatever the columns' units

    def check(self, d: int) -> None: ...
    def start(self, mu: Array, spread: Spread, low: Array, n: float) -> Any: ...
    def wide(self, d: int) -> bool: ...
    def dense(self, gaps: bool, d: int) -> bool: ...
    def patterns(self, mask: Mask | None) -> Any: ...
    def expect(self, p: Any, block: Block, parts: Any, dense: bool) -> Any: ...
    def sums(self, p: Any, block: Block, parts: Any, seen: Any, dense: bool) -> Any: ...
    def update(self, parts: Sequence[Any], sums: Sequence[Any], kept: Sequence[bool]) -> tuple[Any, ...]: ...
    def finish(self, p: Any, s: Any) -> Any: ...
    def pack(self, p: Any) -> Array: ...
    def unpack(self, vector: Array, like: Any) -> Any: ...
    def length(self, p: Any) -> int: ...
    def cells(self, p: Any, block: Block) -> Cells: ...
    def draw(self, p: Any, block: Block, rng: list[np.random.Generator]) -> Array: ...
    def redraw(self, p: Any, rng: np.random.Generator) -> Any: ...
    def on_floor(self, p: Any) -> bool: ...
    def free(self, p: Any) -> int: ...
    def shared(self, p: Any) -> int: ...
    def condition(self, p: Any) -> float: ...
    def held(self, d: int, gaps: bool) -> int: ...  # numbers a row takes at work
    def kept(self, d: int) -> int: ...  # numbers of its statistics
    def attributes(self, parts: Sequence[Any], report: Array) -> dict[str, Any]: ...


def part_of(component: Any) -> Part | None:
    """The part a component or a name stands for; None where it cannot be mixed."""
    if isinstance(component, str):
        named: dict[str, Part] = {
            "full": Gaussian(),
            "tied": Gaussian(tied=True),
            "diag": LinearPart(FactorAnalysis(0)),
            "spherical": LinearPart(ProbabilisticPCA(0)),
        }
        return named.get(component)
    if type(component) in (ProbabilisticPCA, FactorAnalysis):
        return LinearPart(component)
    return component if isinstance(component, Gaussian) else None


class LinearPart:
    """Probabilistic PCA or factor analysis as a part."""

    def __init__(self, model: LinearGaussian) -> None:
        self.model, self.q = model, int(model.n_components)
        self.own_units = model._own_units

    def check(self, d: int) -> None:
        check_q(self.q, d)

    def start(self, mu: Array, spread: Spread, low: Array, n: float) -> Linear:
        """Axes and noise of a covariance, in units of the bounds so that columns count alike."""
        d, sd = len(mu), np.sqrt(low)
        total = float((spread.variance / low).sum())
        values, V = spread.axes(sd, self.q) if self.q else (np.zeros(0), np.zeros((d, 0)))
        s2 = max((total - float(values.sum())) / max(d - self.q, 1), 1e-3 * total / d, 1.0)
        W = V * np.sqrt(np.maximum(values - s2, 0.01 * s2)) * sd[:, None]
        return Linear(W, mu, s2 * low, np.eye(self.q), np.zeros((d, 1)), low, excess(np.full(d, n), self.q))

    def wide(self, d: int) -> bool:
        """Whether there are too many columns to square."""
        return d > WIDE

    def dense(self, gaps: bool, d: int) -> bool:
        """Whether moments do: not with gaps, nor where d x d sums cost far more than the E-step's own."""
        return self.q > 0 and not gaps and d <= min(COLUMNS * (self.q + 1), WIDE)

    def patterns(self, mask: Mask | None) -> None:
        """Gaps are dealt with by the E-step itself."""

    def expect(self, p: Linear, block: Block, parts: None, dense: bool) -> Latent:
        return complete(block.x, p) if block.mask is None else posterior(block.x, block.mask, p.W, p.mu, p.psi)

    def sums(self, p: Linear, block: Block, parts: None, seen: Latent, dense: bool) -> Sums | Scatter:
        assert block.weight is not None
        if dense:
            return scatter(block.x, p.mu, block.weight)
        return sums(block.mask, block.weight, seen, p.W, p.psi)

    def update(self, parts: Sequence[Linear], sums: Sequence[Any], kept: Sequence[bool]) -> tuple[Linear, ...]:
        return tuple(p if keep else self._step(p, s) for p, s, keep in zip(parts, sums, kept, strict=True))

    def _step(self, p: Linear, s: Any) -> Linear:
        if isinstance(s, Scatter):
            return closed(p, s) if isinstance(self.model, ProbabilisticPCA) else newton(p, s) or self._sweep(p, s)
        least = 1e-12 * s.n  # a column that no row of this part sees keeps its noise
        new = self.model._update(p, s._replace(seen=np.maximum(s.seen, least)))
        return new._replace(psi=np.where(s.seen > least, new.psi, p.psi))

    def _sweep(self, p: Linear, s: Scatter) -> Linear:
        """A few EM steps on the moments alone."""
        for _ in range(SWEEPS):
            new = self.model._update(p, sums_of(p, s))
            step = new.mu - p.mu
            outer = np.multiply.outer(s.s, step)
            S = s.S - outer - outer.T + s.n * np.multiply.outer(step, step)
            p, s = new, s._replace(s=s.s - s.n * step, S=S)
        return p

    def finish(self, p: Linear, s: Any) -> Linear:
        """Canonical axes, and the covariance of the parameters."""
        if s.n < 1.0:
            return p._replace(V=np.maximum(p.psi, p.low)[:, None])
        made = sums_of(p, s) if isinstance(s, Scatter) else s
        made = made._replace(seen=np.maximum(made.seen, 1.0))
        found = self.model._canonical(p, made)
        if found.V.shape[1:] == (1,) and self.q == 0:
            found = found._replace(V=(found.psi / made.seen)[:, None])
        return found._replace(excess=excess(made.seen, self.q))

    def pack(self, p: Linear) -> Array:
        sd = np.sqrt(p.low)
        return np.concatenate([(p.W / sd[:, None]).ravel(), p.mu / sd, np.log(p.psi)])

    def unpack(self, vector: Array, like: Linear) -> Linear:
        (d, q), sd, near = like.W.shape, np.sqrt(like.low), np.log(like.psi)
        W, mu, logs = np.split(vector, [d * q, d * q + d])
        psi = np.exp(np.clip(logs, near - 3.0, near + 3.0))  # an extrapolation may not run away
        return like._replace(W=W.reshape(d, q) * sd[:, None], mu=mu * sd, psi=np.maximum(psi, like.low))

    def length(self, p: Linear) -> int:
        return p.W.size + 2 * len(p.mu)

    # what it says of rows ------------------------------------------------------------------------------
    def cells(self, p: Linear, block: Block) -> Cells:
        return self.model._cells_given(p, block)

    def draw(self, p: Linear, block: Block, rng: list[np.random.Generator]) -> Array:
        return self.model._draw(p, self.model._posterior(p, block), rng)

    def redraw(self, p: Linear, rng: np.random.Generator) -> Linear:
        return self.model._redraw(p, rng)

    # what it is ------------------------------------------------------------------------------------------
    def on_floor(self, p: Linear) -> bool:
        return bool(on_floor(p).any())

    def free(self, p: Linear) -> int:
        d, q = p.W.shape
        return d + d * q - q * (q - 1) // 2 + (1 if isinstance(self.model, ProbabilisticPCA) else d)

    def shared(self, p: Linear) -> int:
        return 0

    def condition(self, p: Linear) -> float:
        sizes = (p.W**2 / p.psi[:, None]).sum(axis=0)
        return float(np.sqrt(1.0 + sizes.max(initial=0.0)))

    def held(self, d: int, gaps: bool) -> int:
        return d + self.q + (3 * self.q * (self.q + 1) // 2 if gaps else 0)

    def kept(self, d: int) -> int:
        dense = d * d if self.dense(False, d) else 0
        return d * (self.q * (self.q + 1) // 2 + 2 * self.q + 4) + dense

    def attributes(self, parts: Sequence[Linear], report: Array) -> dict[str, Any]:
        one = isinstance(self.model, ProbabilisticPCA)
        psi = np.array([squared(p.psi, report) for p in parts])
        noise = psi[:, 0] if one else psi
        if self.q == 0:
            return {"covariances_": noise}
        W = np.array([(p.W * report[:, None]).T for p in parts])
        return {"components_": W, "noise_variance_": noise}


def complete(x: Array, p: Linear) -> Latent:
    """The E-step of complete rows: what all of them share is solved once, the rest are two products."""
    q, V, r = p.W.shape[1], p.W / p.psi[:, None], x - p.mu
    A = np.eye(q) + p.W.T @ V
    cov = np.asarray(np.linalg.inv(A), dtype=np.float64)
    mean = r @ (V @ cov)
    rest = r - mean @ p.W.T
    if np.trace(A) > SHARP:  # little noise: one step of refinement wins the digits back
        mean += (rest @ V - mean) @ cov
        rest = r - mean @ p.W.T
    logs = float(np.log(p.psi).sum() + np.linalg.slogdet(A)[1]) + len(p.mu) * LOG_TWO_PI
    quadratic = np.einsum("ij,ij,j->i", rest, rest, 1.0 / p.psi) + np.einsum("ij,ij->i", mean, mean)
    i, j = lower(q)
    return Latent(mean, cov[i, j][:, None], -0.5 * (logs + quadratic), rest)


def closed(p: Linear, s: Scatter) -> Linear:
    """The likeliest probabilistic PCA of weighted moments, its noise not below the bound."""
    (d, q), C = p.W.shape, s.covariance()
    values, V = ritz(C, p.W) if d >= max(SUBSPACE, 6 * q) else largest(C, q)
    tail = max(float(np.trace(C) - values.sum()), 0.0)
    s2 = max(tail / (d - q), float(p.low[0])) if q < d else float(p.low[0])
    W = V * np.sqrt(np.maximum(values - s2, 0.0))
    return p._replace(W=align(W, p.W), mu=p.mu + s.s / s.n, psi=np.full(d, s2))


def ritz(C: Array, W: Array) -> tuple[Array, Array]:
    """The q leading eigenpairs of C in the space of W, C W and C C W.

    It holds the present axes, so no step falls, and from step to step it closes in on the true ones: as an M-step
    ten times cheaper than all eigenpairs.
    """
    basis = [np.linalg.qr(W)[0]]
    for _ in range(2):
        basis.append(np.linalg.qr(C @ basis[-1])[0])
    B = np.linalg.qr(np.hstack(basis))[0]
    values, U = np.linalg.eigh(B.T @ C @ B)
    q = W.shape[1]
    return values[::-1][:q], B @ U[:, ::-1][:, :q]


def newton(p: Linear, s: Scatter) -> Linear | None:
    """Likelier factors of weighted moments, a few Newton steps from the present ones.

    None where a column hardly varies within the part: its bound is then no share of a variance.
    """
    C, mu = s.covariance(), p.mu + s.s / s.n
    variance = np.diag(C)
    share = float((p.low / np.maximum(variance, p.low)).max())
    if share > 0.5:
        return None
    sd = np.sqrt(variance)
    start = np.clip(p.psi / variance, share, 1.0)
    found = maximum_likelihood(C / np.outer(sd, sd), p.W.shape[1], lower=share, start=start, max_iter=STEPS)
    W, psi = found.loadings * sd[:, None], np.maximum(found.uniquenesses * variance, p.low)
    noise = 1e-14 * float((variance / psi).sum())  # what rounding may pretend to win
    if not misfit(C, W, psi) < misfit(C, p.W, p.psi) - noise:
        return p._replace(mu=mu)
    return p._replace(W=align(W, p.W), mu=mu, psi=psi)


def misfit(C: Array, W: Array, psi: Array) -> float:
    """log |S| + tr(C S^-1) with S = W W' + Psi."""
    V = W / psi[:, None]
    A = np.eye(W.shape[1]) + W.T @ V
    trace = float((np.diag(C) / psi).sum() - np.trace(np.linalg.solve(A, V.T @ C @ V)))
    return float(np.log(psi).sum() + np.linalg.slogdet(A)[1]) + trace


def sums_of(p: Linear, s: Scatter) -> Sums:
    """The sums of the E-step of complete rows, told by their moments about mu: every one is linear in them."""
    q = p.W.shape[1]
    i, j = lower(q)
    V = p.W / p.psi[:, None]
    A = (V.T @ p.W)[i, j][:, None]
    A[i == j] += 1.0
    cov = unpack(inverse_packed(A, q)[0], q)[0]
    G = cov @ V.T  # E[z] = G r
    E = np.eye(len(p.mu)) - p.W @ G  # e = E r
    ES, spread = E @ s.S, s.n * p.W @ cov
    zz = (s.n * cov + G @ s.S @ G.T)[i, j]
    z = G @ s.s
    B = np.column_stack([ES @ G.T - spread, E @ s.s])
    rest = (ES * E).sum(axis=1) + (spread * p.W).sum(axis=1)
    whole = np.concatenate([zz, z, [s.n]])[None, :]
    return Sums(s.n, 0.0, z, zz, whole, B, np.maximum(rest, 0.0), np.full(len(p.mu), s.n))
