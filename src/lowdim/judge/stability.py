"""Does the map hold up: refits to resampled rows, and to the table without its most influential row.

A bootstrap refit counts each row by a weight drawn from a multinomial, so no row is copied, and starts
from the fitted parameters, so it takes a few passes. Maps are compared by the principal angles between
their planes, rows by how far their own points scatter after each map is turned onto the fitted one. How a model is
moved by other rows is its own business (`ResampledMap`): a linear Gaussian is fitted again.

Reference: Efron (1979); Daudin, Duby and Trecourt (1988) for the stability of principal axes; Critchley
(1985) for the influence of one row; Golub and Van Loan, section 6.4.3 for principal angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray
from sklearn.base import clone

from lowdim.engine.statistics import Moments, moments
from lowdim.judge.cells import FramedGaussian, framed_gaussian
from lowdim.judge.row_order import row_order
from lowdim.maths.gaps import Group, bounded_covariance, given_seen, pattern_groups
from lowdim.maths.gaussian import posterior
from lowdim.maths.linalg import Array, Mask, align, evenly_spread
from lowdim.maths.seeds import BOOTSTRAP
from lowdim.models.base.options import seed_of
from lowdim.models.linear.linear_gaussian import LinearGaussian, LinearGaussianParams
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Framed
from lowdim.text.messages import LowdimError, no_warnings

if TYPE_CHECKING:
    from lowdim.judge.maps.latent_cells import LatentCells

REFIT_ROWS = 20_000  # rows beyond which refits use a spread sample: a bootstrap of so many is narrow already
REFIT_WORK = 6e7  # multiplications of one pass, summed over refits: about a second
REFIT_OVERHEAD = 1e6  # multiplications that a refit's passes cost beside: what a small table takes
REFIT_TOL = 0.1  # nats within which a refit has converged: resampling moves it by far more
LEAST_REFITS = 25  # refits below which a spread cannot be told
STEADY_DEGREES, SHAKY_DEGREES = 15.0, 35.0  # degrees: the middle angle of planes that hold, and that do not
DECIDING_DEGREES = 20.0  # degrees by which one row may turn an axis before it is said to decide it
MOST_ROUNDS = 5  # of expected moments, before EM goes on: it has its ways to go faster
SLOW_ROUND = 0.4  # of the step before: at such a pace they do not come to rest in so many rounds
ROUNDS_LEAVE = 0.02  # share of the first round's step that the last may have
PATTERN_CELLS = 20_000  # patterns of gaps times columns, beyond which a round costs more than passes of EM
CLOUD_ROWS = 2_000  # rows whose clouds are kept
TRIED_ROWS = 5  # rows without which the map is looked at


@dataclass(frozen=True, eq=False)
class ResampledMap:
    """The axes of a map, and the same with its table's rows drawn again.

    Weights say how each line of a column changes with each axis that the map reports, in the units of the model;
    `cells` says what loadings these are.
    """

    cells: LatentCells
    fitted: Array  # lines x q
    W: Array  # B x lines x q
    turned: bool  # onto few columns each: the axes are told apart by that, and those of W follow the fitted ones
    rows: int  # that set the model: all, or a spread sample of a long table

    def places(self) -> tuple[NDArray[np.intp], Array, list[Array]]:
        """Some rows, where they are on the fitted map, and where on resampled ones."""
        raise NotImplementedError

    def without_rows(self, most: int) -> list[tuple[int, Array, Array]]:
        """The rows whose removal moves the map most: their position, the weights without each, and those with all."""
        raise NotImplementedError


class RemovedRow(NamedTuple):
    """What the map would be without one row."""

    row: int
    name: str
    axis: int  # from 1: the one that turns most
    angle: float  # degrees by which it turns
    plane: float  # degrees by which the plane of the map (axes 1 and 2) turns


class Stability(NamedTuple):
    """How far the map moves when the rows are resampled or one is removed."""

    plane: Array  # B: largest principal angle between the map planes (axes 1 and 2), degrees
    space: Array  # B: the same for all q axes together
    axes: Array  # B x q: angle of each axis with its counterpart
    cloud: Array  # B x rows x 2: positions after each map was turned onto the fitted one
    shown: NDArray[np.intp]  # which rows these are
    spread: Array  # for each of them, scatter of its cloud over the spread of the whole map
    removed: tuple[RemovedRow, ...]  # the rows tried, the most influential first
    rows: int
    verdict: str  # "steady", "moves a little" or "unsteady"
    one_row: str  # "no single row decides an axis" or "row k decides axis a"
    sentence: str


# judging ------------------------------------------------------------------------------------------------
def stability(found: ResampledMap, row_names: Sequence[str]) -> Stability:
    """How far a map moves when its rows are resampled, and when one of them is removed.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) * [3.0, 2.0] @ np.eye(2, 6) + 0.3 * rng.standard_normal((200, 6))
    >>> from lowdim.judge.maps.table_map import table_map
    >>> cells = table_map(ProbabilisticPCA(2).fit(X), tuple("abcdef")).cells
    >>> stability(refitted_map(cells, X, bootstraps=20), [str(i + 1) for i in range(200)]).verdict
    'steady'
    """
    W, k = found.fitted, min(2, found.fitted.shape[1])
    # weights: the plane of the map, the space of all axes, each axis
    plane = np.array([angle(Wb[:, :k], W[:, :k]) for Wb in found.W])
    space = np.array([angle(Wb, W) for Wb in found.W])
    axes = np.array([axis_angles(Wb, W) for Wb in found.W]).reshape(len(found.W), W.shape[1])
    # rows: their places on each map, turned onto the fitted one, beside the spread of the whole map
    shown, here, moved = found.places()
    Z = here[:, :k]
    cloud = np.empty((len(moved), *Z.shape))
    for b, z in enumerate(moved):
        cloud[b] = align(z[:, :k], Z) if k else z[:, :k]
    scatter = np.sqrt(cloud.var(axis=0).sum(axis=1)) if len(cloud) else np.zeros(len(shown))
    whole = float(np.sqrt(Z.var(axis=0).sum()))
    spread = scatter / whole if whole > 0 else np.zeros(len(shown))
    # and single rows
    removed = []
    for row, without, base in found.without_rows(TRIED_ROWS) if k else ():
        turns = axis_angles(without, base)
        turned = angle(without[:, :k], base[:, :k])
        removed.append(RemovedRow(row, str(row_names[row]), int(np.argmax(turns)) + 1, float(turns.max()), turned))
    removed.sort(key=lambda r: -r.angle)

    middle = float(np.median(plane)) if len(plane) else 0.0
    verdict, one_row = verdict_of(middle), one_row_words(tuple(removed))
    what = "The map" if k == 2 else "Axis 1"
    words = {"steady": "is steady", "moves a little": "moves a little", "unsteady": "is unsteady"}[verdict]
    degrees = f"turns by {middle:.0f} degrees in the middle of {len(plane)} resamplings of the rows"
    sentence = f"{what} {words}: it {degrees}; {one_row}." if k else "There is no map: no dimension was fitted."
    return Stability(plane, space, axes, cloud, shown, spread, tuple(removed), found.rows, verdict, one_row, sentence)


def angle(a: Array, b: Array) -> float:
    """The largest principal angle between the spans of two sets of columns, in degrees."""
    if a.shape[1] == 0:
        return 0.0
    angles = sl.subspace_angles(a, b)
    return float(np.degrees(angles.max())) if len(angles) else 90.0  # a set that spans nothing is as far as can be


def axis_angles(A: Array, B: Array) -> Array:
    """The angle of each column of A with the same column of B, whatever their signs, in degrees."""
    size = np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=0)
    cosine = np.abs((A * B).sum(axis=0)) / np.where(size > 0, size, 1.0)
    angles: Array = np.degrees(np.arccos(np.minimum(cosine, 1.0)))
    return angles


def verdict_of(degrees: float) -> str:
    """What a map is called whose plane turns by so much in the middle of its resamplings."""
    return "steady" if degrees < STEADY_DEGREES else "moves a little" if degrees < SHAKY_DEGREES else "unsteady"


def one_row_words(removed: tuple[RemovedRow, ...]) -> str:
    """Whether a single row decides an axis."""
    if not removed:
        return "no row was removed"
    worst = removed[0]
    if worst.angle < DECIDING_DEGREES:
        return (
            f"no single row decides an axis (without row {worst.name}, axis {worst.axis} turns by "
            f"{worst.angle:.1f} degrees)"
        )
    return f"row {worst.name} alone turns axis {worst.axis} by {worst.angle:.0f} degrees"


# refits of a linear Gaussian -----------------------------------------------------------------------------
class Refits(NamedTuple):
    """Bootstrap refits, parameters in the frame's units with canonical axes."""

    W: Array  # B x d x q
    mu: Array  # B x d
    psi: Array  # B x d
    rows: int  # rows they were fitted to: all, or a spread sample of a long table
    bootstraps: int  # asked for; a large table, or draws that cannot be fitted, make them fewer


class RefitBench(NamedTuple):
    """What a refit needs: an unfitted model, where to start, and the table in its frame."""

    model: LinearGaussian
    start: LinearGaussianParams
    source: Source
    fitted: FramedGaussian
    wide: bool  # complete, with so many columns that principal axes come from the rows' products
    at: NDArray[np.intp]  # which rows of the whole table these are
    rows: FramedRows | None  # whose moments are enough, with gaps taken a few times as the last fit expects them

    @property
    def closed(self) -> bool:
        """Whether moments are enough at once."""
        return self.rows is not None and self.rows.mask is None

    def fit(self, weight: Array) -> LinearGaussianParams:
        """The parameters with rows counted by these weights."""
        if self.wide:  # a fit chooses a frame of its own, so its answer is brought back to ours
            model, rows = clone(self.model).set_params(standardize=False), Framed(self.source, self.fitted.frame)
            g = framed_gaussian(model.fit(_cells_of(rows), sample_weight=weight))
            shift, scale, _ = g.frame
            return self.start._replace(W=g.W / scale[:, None], mu=g.mu / scale + shift, psi=g.psi / scale**2)
        # rounds of EM whose M-step is the closed form; where these do not come to rest, EM goes on
        params: LinearGaussianParams = self.start
        steps = list[float]()
        while self.rows is not None and len(steps) < MOST_ROUNDS:
            last, m = params, self.rows.moments(params, weight)
            params = self.model.fit_moments(m, self.fitted.frame, self.source.columns).params
            steps.append(float(np.linalg.norm(_covariance(params) - _covariance(last))))
            if self.closed or steps[-1] <= ROUNDS_LEAVE * steps[0]:
                return params
            if len(steps) > 1 and steps[-1] > SLOW_ROUND * steps[-2]:
                break
        params = self.model.fit_from(params, Framed(self.source.weighted(weight), self.fitted.frame)).params
        return params


def _covariance(params: LinearGaussianParams) -> Array:
    return np.asarray(params.W @ params.W.T + np.diag(params.psi))


class FramedRows(NamedTuple):
    """Rows in the frame's units, grouped by their gaps."""

    x: Array  # n x d, 0 at gaps
    mask: Mask | None
    parts: list[Group]

    def moments(self, params: LinearGaussianParams, weight: Array) -> Moments:
        """Moments of the rows by these weights, gaps as these parameters expect them."""
        if self.mask is None:
            return moments(Block(self.x, None, weight))
        P = bounded_covariance(_covariance(params), params.low).P
        s = given_seen(np.where(self.mask, self.x - params.mu, 0.0), self.parts, P).scatter(weight)
        return Moments(s.n, params.mu + s.s / s.n, s.covariance())


def refit_bench(model: LinearGaussian, X: Any) -> RefitBench:
    """Everything set up for refits of this model to (a spread sample of) this table."""
    source = model.arrange(X)
    at = np.arange(source.n)
    if source.n > REFIT_ROWS:
        at, sample = evenly_spread(source.n, REFIT_ROWS), source.sample(REFIT_ROWS)
        source = as_source(sample.x if sample.mask is None else np.where(sample.mask, sample.x, np.nan))
    g = framed_gaussian(model)
    d, q = g.W.shape
    if g.params is not None:
        turned = {"rotation": None} if "rotation" in model.get_params() else {}  # refits are turned all together
        light = clone(model).set_params(tol=REFIT_TOL / source.n, max_iter=100, **turned)
    else:  # principal components: their density is probabilistic PCA's
        light = ProbabilisticPCA(q, standardize=model.standardize, tol=REFIT_TOL / source.n, max_iter=100)
    rows, avoids = g.inward(source.block_of(slice(0, source.n), 0)), light.avoids_covariance(source.n, d)
    principal, parts = isinstance(light, ProbabilisticPCA), pattern_groups(rows.mask)
    many = sum(len(part.gone) for part in parts) * d > PATTERN_CELLS  # so that passes of EM are quicker
    enough = not avoids and (rows.mask is None or (principal and not many))
    wide = rows.mask is None and avoids and principal
    return RefitBench(light, g.start(), source, g, wide, at, FramedRows(rows.x, rows.mask, parts) if enough else None)


def refits(
    model: LinearGaussian, X: Any, *, counted: Array | None = None, bootstraps: int = 100, random_state: Any = 0
) -> Refits:
    """Refit a fitted model to resampled rows, each as often `counted` as in its fit; fewer times than asked where the
    table is large.

    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> refits(ProbabilisticPCA(1).fit(X), X, bootstraps=25).W.shape
    (25, 3, 1)
    """
    ready = refit_bench(model, X)
    n, (d, q) = ready.source.n, ready.start.W.shape
    work = n * d * (d if ready.closed else q * (q + 3) / 2 + 4) + REFIT_OVERHEAD
    count = min(bootstraps, max(LEAST_REFITS, int(REFIT_WORK * (10 if ready.closed else 1) / work)))
    seed = seed_of(random_state)
    fits, weight = [], np.empty(n)
    rows = ready.source.block_of(slice(0, n), 0)
    order = row_order(rows.x, rows.mask, seed)  # rows that come in another order are drawn as often
    own = np.ones(n) if counted is None else counted[ready.at]
    with no_warnings():
        for b in range(count):
            weight[order] = np.random.default_rng([seed, BOOTSTRAP, b]).multinomial(n, np.full(n, 1.0 / n))
            try:
                fits.append(ready.fit(weight * own))
            except LowdimError:
                continue  # few rows drawn again and again: a column that never changes, say
    k = len(fits)
    return Refits(
        np.array([p.W for p in fits]).reshape(k, d, q),
        np.array([p.mu for p in fits]).reshape(k, d),
        np.array([p.psi for p in fits]).reshape(k, d),
        n,
        bootstraps,
    )


@dataclass(frozen=True, eq=False)
class RefittedMap(ResampledMap):
    """A linear Gaussian, fitted again to rows drawn again."""

    model: LinearGaussian
    source: Any  # the rows of its fit
    counted: Array | None  # how often each counted in it
    refits: Refits

    def places(self) -> tuple[NDArray[np.intp], Array, list[Array]]:
        """Some rows, where they are on the fitted map, and where on every resampled one."""
        source, g = self.model.arrange(self.source), framed_gaussian(self.model)
        rows = evenly_spread(source.n, CLOUD_ROWS, ends=True)
        block = g.inward(source.block_of(rows, 0))
        fits = zip(self.W, self.refits.mu, self.refits.psi, strict=True)
        here = posterior(block.x, block.mask, self.fitted, g.mu, g.psi).mean
        return rows, here, [posterior(block.x, block.mask, *fit).mean for fit in fits]

    def without_rows(self, most: int) -> list[tuple[int, Array, Array]]:
        """Refits without each of the rows that the first-order law finds most influential."""
        ready = refit_bench(self.model, self.source)
        n, q = ready.source.n, ready.fitted.W.shape[1]
        if q == 0 or n < 3:
            return []
        ready.model.set_params(tol=REFIT_TOL / 100 / n)  # one row moves the fit by little
        size, found = influence(self.model, _cells_of(ready.source)).max(axis=1), []
        with no_warnings():
            # the base takes the same road as the refits, so that nothing but the row differs
            own = np.ones(n) if self.counted is None else self.counted[ready.at]
            base = reported_weights(self.model, ready.fit(own).W)
            for i in np.argsort(-size * own, kind="stable")[:most]:
                try:
                    refit = ready.fit(np.where(np.arange(n) == i, 0.0, own)).W
                except LowdimError:
                    continue
                found.append((int(ready.at[i]), reported_weights(self.model, refit), base))
        return found


def refitted_map(
    cells: LatentCells, X: Any, *, counted: Array | None = None, bootstraps: int = 100, random_state: Any = 0
) -> RefittedMap:
    """The map of a linear Gaussian with the rows of its fit drawn again, each as often `counted` as in it."""
    model = cells.model
    found = refits(model, X, counted=counted, bootstraps=bootstraps, random_state=random_state)
    fitted = reported_weights(model, framed_gaussian(model).W)
    W = np.array([reported_weights(model, Wb) for Wb in found.W]).reshape(len(found.W), *fitted.shape)
    T = model.latent_axes()
    return RefittedMap(cells, fitted, W, not np.array_equal(T, np.eye(len(T))), found.rows, model, X, counted, found)


def reported_weights(model: LinearGaussian, W: Array) -> Array:
    """Weights of a model, or of a refit of it, on the axes that it reports: those of a rotated model were turned."""
    T = model.latent_axes()
    if np.array_equal(T, np.eye(len(T))):
        return W
    return align(W, framed_gaussian(model).W) @ np.linalg.pinv(T).T


def influence(model: LinearGaussian, X: Any) -> Array:
    """About how far, in degrees, each axis turns without each row, n x q: the first-order law.

    With y a row's position along the unit axes v_1 .. v_q and o its distance from their space, and l the
    axes' variances above the noise 1 (noise-scaled units), axis k turns by
    (|y_k| / n) sqrt(sum_{m != k} (y_m / (l_k - l_m))^2 + (o / (l_k - 1))^2).

    Reference: Critchley, Biometrika 72 (1985), eq. 2.5.
    """
    source = model.arrange(X)
    g = framed_gaussian(model)
    W, mu, psi = g.W, g.mu, g.psi
    M = W / np.sqrt(psi)[:, None]
    U, s, Rt = np.linalg.svd(M, full_matrices=False)
    values = s**2 + 1.0
    gap = values[:, None] - values
    least = values.max(initial=1.0) * 1e-3  # equal axes: any row turns them, and it does not matter
    np.fill_diagonal(gap, np.inf)
    gap = np.where(np.abs(gap) < least, np.inf, gap)
    parts = []
    for i in range(source.n_blocks):
        block = g.inward(source.block(i))
        latent = posterior(block.x, block.mask, W, mu, psi)
        y = latent.mean @ Rt.T * s + (latent.residual / np.sqrt(psi)) @ U  # gaps hold what the model says
        off = (latent.residual**2 / psi).sum(axis=1) - (((latent.residual / np.sqrt(psi)) @ U) ** 2).sum(axis=1)
        within, beyond = (y**2) @ (1.0 / gap**2).T, np.maximum(off, 0.0)[:, None] / np.maximum(values - 1.0, least) ** 2
        parts.append(np.degrees(np.arctan(np.abs(y) / source.n * np.sqrt(within + beyond))))
    return np.concatenate(parts)


def _cells_of(source: Source) -> Array:
    block = source.block_of(slice(0, source.n), 0)
    return block.x if block.mask is None else np.where(block.mask, block.x, np.nan)
