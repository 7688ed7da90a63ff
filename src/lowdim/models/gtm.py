"""The generative topographic mapping: a grid of latent points, bent through the table."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.data.block import Array, Block, Mask
from lowdim.data.source import KEEP_CELLS, Header, Source, tile_rows
from lowdim.data.views import Frame
from lowdim.engine.drive import em
from lowdim.engine.fold import Run
from lowdim.engine.monitor import Fit
from lowdim.engine.plan import Cost, walking
from lowdim.math.basis import Basis, grid, magnification, spread_basis, stretch
from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import lower
from lowdim.messages import error, warn
from lowdim.models.base import LatentModel
from lowdim.models.certificate import Certificate
from lowdim.models.estimator import SEED_WORDS, Rule, is_seed, seed_of
from lowdim.models.limits import squared
from lowdim.models.linear import COUNT, POSITIVE, TRUTH, check_pairs
from lowdim.models.look import Look, look
from lowdim.models.posterior import Cells, Posterior
from lowdim.models.principal import LARGE
from lowdim.models.shares import picked
from lowdim.models.start import FLOOR, first_axes

PIECE = 128  # rows worked on at a time: their responsibilities stay in the cache (spec, algorithms)
CLIP = -40.0  # logarithms of relative responsibilities below this are set to it: denormal numbers are 28 times slower
WIDTH = 1.0  # of a basis function, in spacings of the centres; 2 loses badly (spec, algorithms)
JITTER = 0.1  # of the weights' size, where a start is drawn
ALONE = 0.95  # a row is held by a single node where that has this share of it
NOISE_FLOOR = 1e-8  # of the mean variance: below it a node sits on a row


class Sheet(NamedTuple):
    """Parameters, in the frame's units: nodes at W'phi(grid), one noise variance."""

    grid: Array  # K x L
    centres: Array  # M x L
    width: float
    W: Array  # (M + 1) x d
    psi: float
    prior: float  # precision of the weights
    low: float  # the floor of psi

    @property
    def basis(self) -> Basis:
        return Basis(self.centres, self.width)

    @property
    def nodes(self) -> Array:
        """Where the grid lies in the table's space, K x d."""
        return self.basis.at(self.grid) @ self.W


class SheetSums(NamedTuple):
    """What the M-step needs; plain sums over rows."""

    n: float
    log_density: float
    G: Array  # K x d: responsibility of each node for the seen cells of each column; K x 1 where none is missing
    RX: Array  # K x d
    xx: float  # sum of squares of the seen cells
    cells: float
    alone: float  # rows held by a single node

    def merge(self, other: Self) -> Self:
        G = (self.G, other.G) if self.G.shape == other.G.shape else np.broadcast_arrays(self.G, other.G)
        return type(self)(self.n + other.n, self.log_density + other.log_density, G[0] + G[1], self.RX + other.RX,
                          self.xx + other.xx, self.cells + other.cells, self.alone + other.alone)


class Nodes(NamedTuple):
    """p(node | seen cells) of each row, and what it says of the row's place."""

    share: Array  # n x K
    log_density: Array
    grid: Array

    @property
    def mean(self) -> Array:
        return self.share @ self.grid

    def turned(self, T: Array) -> Posterior:
        """As Gaussian moments of the place."""
        z = self.grid @ T
        i, j = lower(z.shape[1])
        mean = self.share @ z
        return Posterior(mean, self.share @ (z[:, i] * z[:, j]) - mean[:, i] * mean[:, j], self.log_density)


def shares(x: Array, mask: Mask | None, Y: Array, psi: float) -> tuple[Array, Array]:
    """Responsibilities of equally likely nodes, n x K, and the rows' log densities."""
    seen = None if mask is None else mask.astype(np.float64)
    half = 0.5 / psi
    R = x @ (Y.T * (2.0 * half))
    R -= half * ((Y**2).sum(axis=1) if seen is None else seen @ (Y**2).T)
    nearest = R.argmax(axis=1)
    R -= R[np.arange(len(R)), nearest][:, None]
    np.maximum(R, CLIP, out=R)
    np.exp(R, out=R)
    total = R.sum(axis=1)
    R /= total[:, None]
    count = x.shape[1] if seen is None else seen.sum(axis=1)
    rest = x - Y[nearest]  # of the nearest node from differences: with little noise products would lose it
    square = (rest * rest).sum(axis=1) if seen is None else (rest * rest * seen).sum(axis=1)
    return R, np.log(total / len(Y)) - half * square - 0.5 * count * (LOG_TWO_PI + np.log(psi))


class GTM(LatentModel):
    """The generative topographic mapping: a sheet of nodes bent through the table; gaps welcome.

    x = W' phi(z) + e,  z one of the K nodes of a regular grid,  e ~ N(0, s2 I), phi radial bells and a constant,
    the weights of the bells ~ N(0, 1 / weight_prior). EM in closed form from the principal axes: responsibilities,
    then one regularised regression (one a column where cells are missing). `transform` gives the posterior mean
    place; `responsibilities`, `mode`, `magnification` and `stretch` the rest. `weight_prior="auto"` re-estimates its
    strength. With a `random_state` the start is the principal one with its weights jittered by a tenth.

    `grid` nodes and `basis` bells a side; `basis=(6, 1.0)` also gives the bells' width in spacings.

    Reference: Bishop, Svensen and Williams, Neural Computation 10 (1998); Lawrence seed 6.

    >>> t = np.linspace(0, 3, 60)
    >>> model = GTM(1, grid=20).fit(np.column_stack([np.cos(t), np.sin(t)]))
    >>> bool(abs(np.corrcoef(model.transform(np.column_stack([np.cos(t), np.sin(t)]))[:, 0], t)[0, 1]) > 0.99)
    True
    """

    _objective_name: ClassVar[str] = "log posterior"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": Rule(lambda v: v in (1, 2, 3), "1, 2 or 3"), "grid": COUNT,
        "basis": Rule(lambda v: COUNT.holds(v) or (isinstance(v, tuple) and len(v) == 2 and COUNT.holds(v[0])
                                                   and POSITIVE.holds(v[1])), "bells a side, or (bells, width)"),
        "weight_prior": Rule(lambda v: v == "auto" or (not isinstance(v, str) and v >= 0), "a number >= 0, or 'auto'"),
        "standardize": TRUTH, "tol": POSITIVE, "max_iter": COUNT, "random_state": Rule(is_seed, SEED_WORDS)}
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": "the objective also has the weights' prior",
        "sample_then_fit": "its free parameters are not those of a Gaussian"}

    def __init__(self, n_components: int = 2, *, grid: int = 20, basis: Any = 6, weight_prior: Any = 0.1,
                 standardize: bool = False, tol: float = 1e-2, max_iter: int = 1000, random_state: Any = None) -> None:
        self.n_components = n_components
        self.grid = grid
        self.basis = basis
        self.weight_prior = weight_prior
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # expectation and maximisation ---------------------------------------------------------------------
    def _stats(self, params: Sheet, block: Block) -> SheetSums:
        Y = params.nodes
        K, d = Y.shape
        G, RX = np.zeros((K, 1 if block.mask is None else d)), np.zeros((K, d))
        total, alone = 0.0, 0.0
        for piece in block.tiles(PIECE):
            R, log_density = shares(piece.x, piece.mask, Y, params.psi)
            w = piece.weight
            single = R.max(axis=1) > ALONE
            total += float(log_density.sum() if w is None else w @ log_density)
            alone += float(single.sum() if w is None else w @ single)
            R = R if w is None else R * w[:, None]
            G += R.sum(axis=0)[:, None] if piece.mask is None else R.T @ piece.mask.astype(np.float64)
            RX += R.T @ piece.x
        w = np.ones(block.rows) if block.weight is None else block.weight
        count = d * block.size if block.mask is None else float(w @ block.mask.sum(axis=1))
        return SheetSums(block.size, total, G, RX, float(w @ (block.x**2).sum(axis=1)), count, alone)

    def _objective(self, params: Sheet, stats: SheetSums) -> float:
        return stats.log_density - 0.5 * params.prior * float((params.W[:-1] ** 2).sum())

    def _update(self, params: Sheet, stats: SheetSums) -> Sheet:
        """W by a regularised regression on the nodes, then the noise variance."""
        Phi = params.basis.at(params.grid)
        ridge = np.full(Phi.shape[1], params.psi * params.prior)
        ridge[-1] = 0.0
        A = np.array([Phi.T @ (Phi * g[:, None]) for g in stats.G.T])
        B = Phi.T @ stats.RX
        W = solved(A + np.diag(ridge), B)
        fitted = np.einsum("md,jmk,kd->", W, A, W) if len(A) == 1 else np.einsum("md,dmk,kd->", W, A, W)
        left = stats.xx - 2.0 * float((W * B).sum()) + float(fitted)
        psi = max(left / max(stats.cells, 1.0), params.low)
        prior = params.prior if self.weight_prior != "auto" else strength(A / psi, W, params.prior)
        return params._replace(W=W, psi=psi, prior=prior)

    def _pack(self, params: Sheet) -> Array:
        return np.append(params.W.ravel() / np.sqrt(params.low / NOISE_FLOOR), np.log(params.psi))

    def _unpack(self, vector: Array, like: Sheet) -> Sheet:
        near = np.log(like.psi)
        psi = max(float(np.exp(np.clip(vector[-1], near - 3.0, near + 3.0))), like.low)
        return like._replace(W=vector[:-1].reshape(like.W.shape) * np.sqrt(like.low / NOISE_FLOOR), psi=psi)

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        wide = source.d > source.n or min(source.n, source.d) > LARGE
        seen = look(source, run, standardize=self.standardize, wide=wide)
        if seen.gaps:
            check_pairs(seen)
        auto = self.weight_prior == "auto"
        fit = em(self, self._start(seen), seen.source, run, mix=not auto, may_fall=auto)
        if fit.params.psi <= fit.params.low * (1 + 1e-9):
            warn("LD470", floor=fit.params.psi)
        return seen.outward(fit, seen.gathered), seen.frame

    def _start(self, seen: Look) -> Sheet:
        """The principal axes as a flat sheet, as wide as the table is; its noise what the sheet leaves out."""
        d, L = seen.source.d, min(int(self.n_components), seen.source.d)
        if self.n_components > d:
            raise error("LD200", asked=self.n_components, most=d, why=f"the table has {d} columns")
        nodes = grid(int(self.grid), L)
        bells, width = self.basis if isinstance(self.basis, tuple) else (self.basis, WIDTH)
        basis = spread_basis(int(bells), L, float(width))
        total = float(seen.columns.variance.sum())
        values, U = first_axes(seen, L)
        values = np.maximum(values, 0.0)
        sd = nodes.std(axis=0)
        target = seen.columns.mean + (nodes / np.where(sd > 0, sd, 1.0) * np.sqrt(values)) @ U.T
        W = np.asarray(np.linalg.lstsq(basis.at(nodes), target, rcond=None)[0], dtype=np.float64)
        if self.random_state is not None:
            rng = np.random.default_rng([seed_of(self.random_state), 71])
            W = W + JITTER * np.sqrt(total / d) * rng.standard_normal(W.shape)
        low = max(NOISE_FLOOR * total / d, FLOOR * np.finfo(float).tiny ** 0.25)
        rest = (total - float(values.sum())) / max(d - L, 1)
        apart = 2.0 * np.sqrt(float(values.max(initial=0.0)) * 3.0) / max(int(self.grid) - 1, 1)  # of neighbours
        psi = max(rest, (0.5 * apart) ** 2, 1e-3 * total / d, low)
        prior = 0.1 if self.weight_prior == "auto" else float(self.weight_prior)
        return Sheet(nodes, basis.centres, basis.width, W, psi, prior, low)

    # rows ---------------------------------------------------------------------------------------------
    def _posterior(self, params: Sheet, block: Block) -> Any:
        mask = None if block.mask is None or block.mask.all() else block.mask
        R, log_density = shares(block.x, mask, params.nodes, params.psi)
        return Nodes(R, log_density, params.grid)

    def _decode(self, params: Sheet, found: Any) -> Cells:
        """The nodes' cells mixed by their shares; a point decodes through the sheet itself."""
        if isinstance(found, Posterior):
            mean = params.basis.at(found.mean) @ params.W
            return Cells(mean, np.zeros_like(mean), np.full_like(mean, params.psi))
        Y = params.nodes
        mean = found.share @ Y
        middle = Y.mean(axis=0)  # squares about it lose no digits to a far origin
        var = found.share @ (Y - middle) ** 2 - (mean - middle) ** 2
        return Cells(mean, np.maximum(var, 0.0), np.full_like(mean, params.psi))

    def _draw(self, params: Sheet, found: Any, rng: list[np.random.Generator]) -> Array:
        d = params.W.shape[1]
        own = picked(found.share, rng)
        normal = np.array([r.standard_normal(d) for r in rng]).reshape(len(rng), d)
        return params.nodes[own] + np.sqrt(params.psi) * normal

    def _redraw(self, params: Sheet, rng: np.random.Generator) -> Sheet:
        return params

    def _prior(self, params: Sheet, n: int) -> Any:
        K = len(params.grid)
        return Nodes(np.full((n, K), 1.0 / K), np.zeros(n), params.grid)

    def _axes(self, params: Sheet) -> Array:
        return np.eye(params.grid.shape[1])

    def responsibilities(self, X: Any, *, run: Run | None = None) -> Array:
        """The share of each node in each row, n x K; the nodes are `nodes_`, at `grid_` on the map."""
        return self._nodes(lambda share: share, X, run)

    def mode(self, X: Any, *, run: Run | None = None) -> Array:
        """The place of the likeliest node of each row."""
        return self._nodes(lambda share: self.params_.grid[share.argmax(axis=1)], X, run)

    def _nodes(self, f: Callable[[Array], Array], X: Any, run: Run | None) -> Array:
        """A function of the nodes' shares in each row."""
        check_is_fitted(self)
        p, frame = self.params_, self.frame_
        found: Array = self._each(lambda b: f(self._posterior(p, frame.inward(b)).share), X, run=run)
        return found

    def magnification(self, Z: Any = None) -> Array:
        """How much the sheet magnifies area at places on the map (at its nodes by default), in reported units."""
        return magnification(self.params_.basis, self._reported(), self._points(Z))

    def stretch(self, Z: Any = None) -> Array:
        """How unevenly the sheet stretches there: largest over smallest singular value of its slopes."""
        return stretch(self.params_.basis, self._reported(), self._points(Z))

    def _points(self, Z: Any) -> Array:
        check_is_fitted(self)
        return self.params_.grid if Z is None else np.atleast_2d(np.asarray(Z, dtype=np.float64))

    def _reported(self) -> Array:
        return np.asarray(self.params_.W * self.frame_.report)

    # what it says ---------------------------------------------------------------------------------------
    def _attributes(self, params: Sheet, frame: Frame, fit: Fit) -> dict[str, Any]:
        noise = squared(np.array([params.psi]), float(frame.report[0]))
        return {"nodes_": frame.outward(params.nodes), "grid_": params.grid, "noise_variance_": float(noise[0]),
                "weight_prior_": params.prior, "alone_": fit.stats.alone / max(fit.stats.n, 1.0),
                "n_components_": params.grid.shape[1]}

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        reached = -0.5 * np.log10(2.0 * max(fit.left, 1e-30) / max(fit.stats.n, 1.0))
        p, alone = fit.params, fit.stats.alone / max(fit.stats.n, 1.0)
        held = ("noise_variance_",) if p.psi <= p.low * (1 + 1e-9) else ()
        return Certificate(fit.solver, fit.passes, fit.objective, self._objective_name, fit.converged, fit.reason,
                           fit.left, 0.0, 1.0, float(np.clip(reached, 0.0, 15.0)), held,
                           (f"{alone:.0%} of the rows lie on one of the {len(p.grid)} nodes alone",))

    def _cost(self, n: int, d: int) -> Cost:
        K, bells = int(self.grid) ** self.n_components, self.basis[0] if isinstance(self.basis, tuple) else self.basis
        M = int(bells) ** self.n_components + 1
        passes, tile = 6 + self.max_iter, min(tile_rows(d), n)
        kept = 9 * n * d if n * d <= KEEP_CELLS else 0
        node = 2 * K * d
        peak = walking(n, d, 4 * tile * d + 4 * PIECE * K + K * M + 2 * node, node) + 8 * (2 * d * M * M + 2 * node)
        wide = 8 * (3 * d * d if d <= n else 4 * n * d + 4 * n * n)
        words = "a smaller grid, or fewer columns"
        return Cost(passes, 8 * n * d * passes, peak + kept + wide, words, min(60, self.max_iter))


def solved(A: Array, B: Array) -> Array:
    """A_j w_j = b_j of every column; one A may serve all. Nearly singular ones by least squares."""
    try:
        return np.asarray(np.linalg.solve(A[0], B) if len(A) == 1 else np.linalg.solve(A, B.T[:, :, None])[:, :, 0].T)
    except np.linalg.LinAlgError:
        each = [np.linalg.lstsq(A[0 if len(A) == 1 else j], b, rcond=None)[0] for j, b in enumerate(B.T)]
        return np.array(each).T


def strength(A: Array, W: Array, prior: float) -> float:
    """The prior's precision by the evidence: well determined weights over their squares (MacKay)."""
    values = np.maximum(np.linalg.eigvalsh(A[:, :-1, :-1]), 0.0)
    known = float((values / (values + prior)).sum()) * (W.shape[1] / len(A))
    return float(np.clip(known / max(float((W[:-1] ** 2).sum()), 1e-300), 1e-8, 1e8))

