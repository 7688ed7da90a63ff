"""The full Gaussian as a part of a mixture: x ~ N(mu, C), any gaps, C of its own or shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array, lower, unpack
from lowdim.math.missing_patterns import Filled, Group, fill, groups, open_scatter, open_variance
from lowdim.models.base.results import Cells, in_range
from lowdim.models.mixtures.starts import Spread
from lowdim.sources.source import Block

NOTHING = 1e-40  # a share that changes no digit of a sum, however far the row


class Full(NamedTuple):
    """Parameters of one Gaussian, in the frame's units."""

    mu: Array  # d
    C: Array  # d x d
    P: Array  # d x d: (x - mu) P is white
    logdet: float  # log |C|
    low: Array  # d: C - diag(low) has no negative eigenvalue
    n: float  # rows it was fitted to
    on_floor: bool  # whether that bound holds it up


class Scatter(NamedTuple):
    """Sums over rows about the *present* mean: near convergence nothing cancels."""

    n: float
    s: Array  # sum (x - mu)
    S: Array  # sum (x - mu)(x - mu)', gaps by their expectation

    def merge(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.s + other.s, self.S + other.S)

    def covariance(self) -> Array:
        """The covariance (1/n) about the rows' own mean."""
        step = self.s / self.n
        return self.S / self.n - np.multiply.outer(step, step)


class Seen(NamedTuple):
    """A block as one Gaussian sees it."""

    log_density: Array
    filled: Filled


def scatter(x: Array, mu: Array, weight: Array) -> Scatter:
    """The sums of complete rows about mu, each row counted by its weight."""
    some = weight > NOTHING
    if 2 * np.count_nonzero(some) < len(some):  # clusters apart: most rows are no concern of this part
        x, weight = x[some], weight[some]
    root = np.sqrt(weight)
    t = x - mu
    t *= root[:, None]
    return Scatter(float(weight.sum()), root @ t, t.T @ t)


def full(mu: Array, C: Array, low: Array, n: float) -> Full:
    """A Gaussian whose covariance is lifted to its bound: the likeliest one with C - diag(low) >= 0."""
    sd = np.sqrt(low)
    values, U = np.linalg.eigh(C / np.outer(sd, sd))
    short = bool(values[0] < 1.0)
    values = np.maximum(values, 1.0)
    if short:
        C = (U * values) @ U.T * np.outer(sd, sd)
    P = U / np.sqrt(values) / sd[:, None]
    return Full(mu, C, P, float(np.log(values).sum() + np.log(low).sum()), low, n, short)


def log_matrix(p: Full) -> Array:
    """The logarithm of C in units of its bound, packed: any numbers there are some covariance."""
    sd = np.sqrt(p.low)
    values, U = np.linalg.eigh(p.C / np.outer(sd, sd))
    i, j = lower(len(sd))
    return np.asarray(((U * np.log(np.maximum(values, 1.0))) @ U.T)[i, j])


def from_log(packed: Array, like: Full) -> Full:
    """The Gaussian of a packed logarithm; an extrapolation may not run away."""
    sd = np.sqrt(like.low)
    values, U = np.linalg.eigh(unpack(packed[:, None], len(sd))[0])
    most = np.log(np.trace(like.C / np.outer(sd, sd))) + 3.0
    C = (U * np.exp(np.clip(values, 0.0, most))) @ U.T * np.outer(sd, sd)
    return full(like.mu, C, like.low, like.n)


class Gaussian:
    """What a mixture asks of full Gaussians; `tied=True` gives all of them one covariance."""

    own_units = True

    def __init__(self, tied: bool = False) -> None:
        self.tied = tied

    def check(self, d: int) -> None:
        """Any table will do."""

    def start(self, mu: Array, spread: Spread, low: Array, n: float) -> Full:
        assert spread.C is not None
        return full(mu, spread.C, low, n)

    def wide(self, d: int) -> bool:
        return False

    def dense(self, gaps: bool, d: int) -> bool:
        return False

    def patterns(self, mask: NDArray[np.bool_] | None) -> list[Group]:
        """What all components share of a block's gaps."""
        return [] if mask is None else groups(mask)

    def expect(self, p: Full, block: Block, parts: list[Group], dense: bool) -> Seen:
        rest = block.x - p.mu
        logs: Array | float = len(p.mu) * LOG_TWO_PI + p.logdet
        found = Filled(rest, np.zeros(0), [])
        if block.mask is not None:
            rest *= block.mask
            found = fill(rest, parts, p.P @ p.P.T)
            logs = block.mask.sum(axis=1) * LOG_TWO_PI + p.logdet + found.logdet
        y = found.rest @ p.P
        return Seen(-0.5 * (logs + np.einsum("ij,ij->i", y, y)), found)

    def sums(self, p: Full, block: Block, parts: list[Group], seen: Seen, dense: bool) -> Scatter:
        assert block.weight is not None
        if block.mask is None:
            return scatter(block.x, p.mu, block.weight)
        made = scatter(seen.filled.rest, np.zeros_like(p.mu), block.weight)
        return made._replace(S=made.S + open_scatter(parts, seen.filled.covs, block.weight, len(p.mu)))

    def update(self, parts: Sequence[Full], sums: Sequence[Scatter], kept: Sequence[bool]) -> tuple[Full, ...]:
        """The M-step; the parts marked `kept` have too little weight to be fitted anew."""
        if self.tied:
            return self._update_tied(parts, sums, kept)
        return tuple(
            p if keep else full(p.mu + s.s / s.n, s.covariance(), p.low, s.n)
            for p, s, keep in zip(parts, sums, kept, strict=True)
        )

    def _update_tied(self, parts: Sequence[Full], sums: Sequence[Scatter], kept: Sequence[bool]) -> tuple[Full, ...]:
        total, n = np.zeros_like(parts[0].C), 0.0
        for s, keep in zip(sums, kept, strict=True):
            if not keep:
                total, n = total + s.n * s.covariance(), n + s.n
        one = full(parts[0].mu, total / n, parts[0].low, n)
        return tuple(
            one._replace(mu=p.mu if keep else p.mu + s.s / s.n) for p, s, keep in zip(parts, sums, kept, strict=True)
        )

    def finish(self, p: Full, s: Scatter) -> Full:
        return p._replace(n=max(p.n if self.tied else s.n, 1.0))

    def pack(self, p: Full) -> Array:
        return np.concatenate([p.mu / np.sqrt(p.low), log_matrix(p)])

    def unpack(self, vector: Array, like: Full) -> Full:
        d = len(like.mu)
        return from_log(vector[d:], like._replace(mu=vector[:d] * np.sqrt(like.low)))

    def length(self, p: Full) -> int:
        d = len(p.mu)
        return d + d * (d + 1) // 2

    # what it says of rows ------------------------------------------------------------------------------
    def cells(self, p: Full, block: Block) -> Cells:
        """Mean of each cell given the seen ones; noise counts the fitted covariance's own uncertainty."""
        if block.mask is None:
            rest, var = block.x - p.mu, np.zeros_like(block.x)
        else:
            parts = groups(block.mask)
            found = fill((block.x - p.mu) * block.mask, parts, p.P @ p.P.T)
            rest, var = found.rest, open_variance(parts, found.covs, block.x.shape)
        return Cells(rest + p.mu, var / p.n, var * _excess(p))

    def draw(self, p: Full, block: Block, rng: list[np.random.Generator]) -> Array:
        d = len(p.mu)
        normal = np.array([r.standard_normal(d) for r in rng]).reshape(len(rng), d)
        root = np.linalg.cholesky(p.C)
        out = normal @ root.T + p.mu
        if block.mask is None:
            return block.x.copy()
        # a joint draw moved to agree with the seen cells (Matheron's rule)
        found = fill((block.x - out) * block.mask, groups(block.mask), p.P @ p.P.T)
        return out + found.rest

    def redraw(self, p: Full, rng: np.random.Generator) -> Full:
        step = np.linalg.cholesky(p.C) @ rng.standard_normal(len(p.mu)) / np.sqrt(p.n)
        return full(p.mu + step, p.C * _excess(p), p.low, p.n)

    # what it is ------------------------------------------------------------------------------------------
    def on_floor(self, p: Full) -> bool:
        return p.on_floor

    def free(self, p: Full) -> int:
        """Numbers fitted for each component; a shared covariance is counted by `shared`."""
        d = len(p.mu)
        return d if self.tied else d + d * (d + 1) // 2

    def shared(self, p: Full) -> int:
        d = len(p.mu)
        return d * (d + 1) // 2 if self.tied else 0

    def condition(self, p: Full) -> float:
        values = np.linalg.eigvalsh(p.C / np.sqrt(np.outer(np.diag(p.C), np.diag(p.C))))
        return float(np.sqrt(values[-1] / max(values[0], np.finfo(float).tiny)))

    def held(self, d: int, gaps: bool) -> int:
        """Numbers a row takes at work; a pattern of its own may take as many as its gaps squared."""
        return d + (d * d // 8 if gaps else 0)

    def kept(self, d: int) -> int:
        """Numbers of its statistics."""
        return (d + 1) * (d + 1)

    def attributes(self, parts: Sequence[Full], report: Array) -> dict[str, Any]:
        C = np.array([p.C for p in parts[: 1 if self.tied else None]])
        with np.errstate(over="ignore"):
            C = in_range(C * report[:, None] * report, "Variances", float(report.max()))
        return {"covariances_": C[0] if self.tied else C}


def _excess(p: Full) -> float:
    """n / (n - d - 1), at most 4: each cell is predicted from the others by d fitted numbers."""
    return p.n / max(p.n - len(p.mu) - 1.0, p.n / 4.0)
