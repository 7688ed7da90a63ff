"""EM over a finite set of nodes: grids and bells, parameters, responsibilities, the regression, the start."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, Mask, lower
from lowdim.maths.pairs import squared_distances
from lowdim.maths.scale import LARGEST
from lowdim.models.base.results import Posterior
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.linear_gaussian import first_axes

LOG_CLIP = -40.0  # logarithms of relative likelihoods below this are set to it: denormal numbers are 28 times slower
LEAST_LIKELIHOOD = float(np.exp(LOG_CLIP))
NOISE_BY_PRODUCTS = 1e-3  # of the nodes' mean square: with less, the nearest node's distance is by differences
NOISE_BY_DIFFERENCES = 1e-6  # with less, all are: by products the likelihood could fall
NODE_NOISE_FLOOR = 1e-8  # of the mean variance: below it a node sits on a row
PIVOT_RATIO = 1e-12  # smallest over largest pivot of a regression that may be solved by its normal equations
SINGULAR_CUT = 1e-8  # of the largest singular value: what the same regression cannot tell from nothing
LEAST_FLOOR = 1e-10 * float(np.finfo(float).tiny) ** 0.25  # of the noise, of a table without any spread
LEAST_CURVATURE = 1e-12  # of the largest, along directions of the weights that no row and no prior holds
AUTO_PRIOR = 0.1  # weight_prior="auto" begins here


# functions of a latent place ---------------------------------------------------------------------------------
class BasisFunctions(Protocol):
    """M functions of a latent place, and a constant."""

    def at(self, Z: Array) -> Array:
        """Their values at points, n x (M + 1)."""

    def slopes(self, Z: Array) -> Array:
        """Their derivatives by each coordinate, n x (M + 1) x L."""


class RBFBasis(NamedTuple):
    """exp(-|z - c|^2 / (2 width^2)) for each centre, and a constant."""

    centres: Array  # M x L
    width: float

    def at(self, Z: Array) -> Array:
        """The functions at points, n x (M + 1)."""
        bells = np.exp(squared_distances(Z, self.centres) * (-0.5 / self.width**2))
        return np.hstack([bells, np.ones((len(Z), 1))])

    def slopes(self, Z: Array) -> Array:
        """Their derivatives by each coordinate, n x (M + 1) x L."""
        bells = self.at(Z)[:, :-1]
        offsets = (self.centres[None] - Z[:, None]) / self.width**2
        return np.concatenate([bells[:, :, None] * offsets, np.zeros((len(Z), 1, Z.shape[1]))], axis=1)


def latent_grid(per_side: int, L: int) -> Array:
    """per_side^L points evenly spread over [-1, 1]^L, the last coordinate running fastest.

    >>> latent_grid(3, 1).ravel().tolist()
    [-1.0, 0.0, 1.0]
    """
    side = np.linspace(-1.0, 1.0, per_side) if per_side > 1 else np.zeros(1)
    return np.stack(np.meshgrid(*[side] * L, indexing="ij"), axis=-1).reshape(-1, L)


def rbf_grid(per_side: int, L: int, width: float, reach: float = 1.0) -> RBFBasis:
    """per_side^L centres over [-reach, reach]^L; `width` in units of their spacing."""
    spacing = 2.0 / (per_side - 1) if per_side > 1 else 2.0
    return RBFBasis(latent_grid(per_side, L) * reach, width * spacing * reach)


# parameters and statistics -----------------------------------------------------------------------------------
class NodeParams(Protocol):
    """What parameters of a model over nodes have, in the frame's units: nodes at W'phi(grid), one noise variance."""

    @property
    def grid(self) -> Array: ...  # K x L, latent places of the nodes
    @property
    def W(self) -> Array: ...  # (M + 1) x d
    @property
    def psi(self) -> float: ...  # noise variance
    @property
    def prior(self) -> float: ...  # precision of the weights
    @property
    def low(self) -> float: ...  # the floor of psi
    @property
    def inflation(self) -> float: ...  # what standard deviations of cells are multiplied by
    @property
    def basis(self) -> BasisFunctions: ...
    @property
    def nodes(self) -> Array: ...  # K x d
    def _replace(self, *args: Any, **kwargs: Any) -> Self: ...


Params = TypeVar("Params", bound=NodeParams)


class GTMParams(NamedTuple):
    """Parameters of a GTM, in the frame's units: nodes at W'phi(grid), one noise variance."""

    grid: Array  # K x L
    centres: Array  # M x L
    width: float
    W: Array  # (M + 1) x d
    psi: float
    prior: float  # precision of the weights
    low: float  # the floor of psi
    inflation: float = 1.0  # what standard deviations of cells are multiplied by

    @property
    def basis(self) -> RBFBasis:
        return RBFBasis(self.centres, self.width)

    @property
    def nodes(self) -> Array:
        """Where the grid lies in the table's space, K x d."""
        return self.basis.at(self.grid) @ self.W


class NodeSums(NamedTuple):
    """What the M-step needs; plain sums over rows."""

    n: float
    log_density: float
    G: Array  # K x d: responsibility of each node for the seen cells of each column; K x 1 where none is missing
    RX: Array  # K x d
    xx: float  # sum of squares of the seen cells
    cells: float
    alone: float  # rows of which a single node has nearly all

    def merge(self, other: Self) -> Self:
        G = (self.G, other.G) if self.G.shape == other.G.shape else np.broadcast_arrays(self.G, other.G)
        return type(self)(
            self.n + other.n,
            self.log_density + other.log_density,
            G[0] + G[1],
            self.RX + other.RX,
            self.xx + other.xx,
            self.cells + other.cells,
            self.alone + other.alone,
        )


class NodePosterior(NamedTuple):
    """p(node | seen cells) of each row, and the place that follows."""

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


# expectation ------------------------------------------------------------------------------------------------
def node_responsibilities(x: Array, mask: Mask | None, Y: Array, psi: float) -> tuple[Array, Array]:
    """Responsibilities of equally likely nodes, n x K, and the rows' log densities."""
    E, total, log_density = relative_likelihoods(x, mask, Y, psi)
    E /= total[:, None]
    return E, log_density


def relative_likelihoods(x: Array, mask: Mask | None, Y: Array, psi: float) -> tuple[Array, Array, Array]:
    """p(row | node) over that of the row's nearest node, n x K; their sums, and the rows' log densities."""
    # log p(x | k) = -|x - y_k|^2 / (2 s2) + a constant over the seen cells; of the square, x'x is the same for all k.
    seen = None if mask is None else mask.astype(np.float64)
    half, square = 0.5 / psi, Y**2
    size = float(square.mean())
    if psi < NOISE_BY_DIFFERENCES * size:
        E = -half * exact_squared_distances(x, seen, Y)
    elif seen is None:  # one product, constant and all: every walk over n x K numbers counts
        E = np.column_stack([x, np.ones(len(x))]) @ np.vstack([Y.T * (2.0 * half), -half * square.sum(axis=1)])
    else:
        E = np.hstack([x, seen]) @ np.vstack([Y.T * (2.0 * half), square.T * -half])
    if psi < NOISE_BY_PRODUCTS * size:  # the nearest node from differences: with little noise products would lose it
        nearest = E.argmax(axis=1)
        top, residual = E[np.arange(len(E)), nearest], x - Y[nearest]
        off = half * ((residual * residual) if seen is None else (residual * residual * seen)).sum(axis=1)
    else:
        top = E.max(axis=1)
        off = half * (x * x).sum(axis=1) - top
    E -= top[:, None]
    np.exp(E, out=E, where=E > LOG_CLIP)  # most lie below once the noise is small, and an exponential is dear
    np.maximum(E, LEAST_LIKELIHOOD, out=E)
    # The mixture's density of a row: every node has the share 1 / K.
    total = E.sum(axis=1)
    count = x.shape[1] if seen is None else seen.sum(axis=1)
    return E, total, np.log(total / len(Y)) - off - 0.5 * count * (LOG_TWO_PI + np.log(psi))


def exact_squared_distances(x: Array, seen: Array | None, Y: Array) -> Array:
    """Squared distances of rows and nodes from differences, a column at a time: slow, but exact for near ones."""
    square = np.zeros((len(x), len(Y)))
    for j in range(x.shape[1]):
        step = x[:, j, None] - Y[:, j]
        step *= step
        square += step if seen is None else step * seen[:, j, None]
    return square


# maximisation -----------------------------------------------------------------------------------------------
def regression_step(params: Params, stats: NodeSums, auto_prior: bool) -> Params:
    """The M-step with fixed basis functions: the one of Bishop, Svensen and Williams (1998)."""
    Phi = params.basis.at(params.grid)
    # The weighted normal equations: (Phi'G Phi + prior s2 I) W = Phi'R'X, the constant not shrunk.
    ridge = np.full(Phi.shape[1], params.psi * params.prior)
    ridge[-1] = 0.0
    A = normal_matrices(Phi, stats)
    W = solve_weights(Phi, stats, A, ridge, params.W)
    # The noise: the mean square of the seen cells about the nodes, by the responsibilities.
    psi = max((stats.xx + misfit(Phi @ W, stats)) / max(stats.cells, 1.0), params.low)
    prior = evidence_precision(A / psi, W, params) if auto_prior else params.prior
    return params._replace(W=W, psi=psi, prior=prior)


def normal_matrices(Phi: Array, stats: NodeSums) -> Array:
    """Phi' diag(g) Phi of every column; one where no cell is missing."""
    return np.array([Phi.T @ (Phi * g[:, None]) for g in stats.G.T])


def solve_weights(Phi: Array, stats: NodeSums, A: Array, ridge: Array, old: Array) -> Array:
    """W that minimises sum_k G_kj (RX_kj / G_kj - phi_k' w_j)^2 + ridge |w_j|^2, the smallest where it is open.

    Normal equations A = Phi' G Phi where they are regular; nodes without rows, more functions than nodes or no ridge
    leave directions open: then least squares on the nodes themselves, or the `old` weights where rounding undoes that.
    """
    whole = A + np.diag(ridge)
    strong = ridge[:-1].min(initial=np.inf) > PIVOT_RATIO * float(np.trace(whole, axis1=1, axis2=2).max())
    if strong or is_regular(whole):
        return solve_columns(whole, Phi.T @ stats.RX)
    W = least_squares(Phi, stats, ridge, SINGULAR_CUT)
    before, after = (misfit(Phi @ V, stats) + float(ridge @ (V**2).sum(axis=1)) for V in (old, W))
    return W if after <= before else old


def least_squares(Phi: Array, stats: NodeSums, ridge: Array, cut: float | None) -> Array:
    """The same minimum without normal equations: no condition number is squared."""
    occupied = stats.G > 0.0
    root = np.sqrt(np.where(occupied, stats.G, 1.0)) * occupied
    target = np.where(occupied, stats.RX, 0.0) / np.where(occupied, root, 1.0)
    penalty = np.diag(np.sqrt(ridge))
    W = np.empty((Phi.shape[1], stats.RX.shape[1]))
    for j, r in enumerate(root.T):
        columns = slice(None) if len(root.T) == 1 else slice(j, j + 1)
        y = np.vstack([target[:, columns], np.zeros((len(penalty), target[:, columns].shape[1]))])
        W[:, columns] = np.linalg.lstsq(np.vstack([Phi * r[:, None], penalty]), y, rcond=cut)[0]
    return W


def misfit(Y: Array, stats: NodeSums) -> float:
    """Sum of squares of the rows about nodes Y, less those of the rows themselves."""
    return float((Y * (stats.G * Y - 2.0 * stats.RX)).sum())


def is_regular(A: Array) -> bool:
    """Whether every matrix can be solved with, by the pivots of its Cholesky factor."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(A), axis1=1, axis2=2) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((pivots.min(axis=1) > PIVOT_RATIO * pivots.max(axis=1)).all())


def solve_columns(A: Array, B: Array) -> Array:
    """A_j w_j = b_j of every column; one A may serve all. Nearly singular ones by least squares."""
    try:
        return np.asarray(np.linalg.solve(A[0], B) if len(A) == 1 else np.linalg.solve(A, B.T[:, :, None])[:, :, 0].T)
    except np.linalg.LinAlgError:
        each = [np.linalg.lstsq(A[0 if len(A) == 1 else j], b, rcond=None)[0] for j, b in enumerate(B.T)]
        return np.array(each).T


def node_slopes(params: NodeParams, stats: NodeSums) -> Array:
    """The slope of the log density by the nodes, K x d: what the rows pull each node towards, over s2."""
    return (stats.RX - stats.G * params.nodes) / params.psi


def weight_slopes(params: NodeParams, stats: NodeSums) -> Array:
    """The slope of the log posterior by W; the constant has no prior."""
    slopes = params.basis.at(params.grid).T @ node_slopes(params, stats)
    slopes[:-1] -= params.prior * params.W[:-1]
    return slopes


def noise_slope(params: NodeParams, stats: NodeSums) -> float:
    """The slope of the log density by log s2; none that would lead below the floor."""
    slope = 0.5 * ((stats.xx + misfit(params.nodes, stats)) / params.psi - stats.cells)
    return slope if params.psi > params.low else max(slope, 0.0)


def weight_root(params: NodeParams, stats: NodeSums) -> Array:
    """F with F F' the inverse curvature of the M-step's regression, the same for every column."""
    Phi = params.basis.at(params.grid)
    A = Phi.T @ (Phi * stats.G.mean(axis=1)[:, None]) / params.psi
    A[np.diag_indices(len(A) - 1)] += params.prior
    values, U = np.linalg.eigh(A)
    return U / np.sqrt(np.maximum(values, LEAST_CURVATURE * values[-1]))


def evidence_precision(A: Array, W: Array, params: NodeParams) -> float:
    """The prior's precision by the evidence: well determined weights over their squares.

    Within bounds that count in units of the table's mean variance. Reference: MacKay, Bayesian interpolation, Neural
    Computation 4 (1992).
    """
    v = params.low / NODE_NOISE_FLOOR
    values = np.maximum(np.linalg.eigvalsh(A[:, :-1, :-1]), 0.0)
    known = float((values / (values + params.prior)).sum()) * (W.shape[1] / len(A))
    return float(np.clip(v * known / max(float((W[:-1] ** 2).sum()), 1e-300), 1e-8, 1e8)) / v


# the start --------------------------------------------------------------------------------------------------
class NodeStart(NamedTuple):
    """First weights, noise variance, prior precision of the weights and floor of the noise."""

    W: Array
    psi: float
    prior: float
    low: float


def principal_start(
    survey: TableSurvey, nodes: Array, Phi: Array, weight_prior: Any, *, ridge: float, noise: float, steps: int = 0
) -> NodeStart:
    """The nodes laid out along the principal axes, as wide as the table is, as well as the functions Phi can do it.

    The noise is what the axes leave out, at least the share `noise` of the mean variance and, of a grid with `steps`
    intervals a side, half the distance of neighbours squared. `ridge` regularises the regression on the axes.
    """
    (d, L), total = (survey.source.d, nodes.shape[1]), float(survey.columns.variance.sum())
    values, U = first_axes(survey, L)
    values, sd = np.maximum(values, 0.0), nodes.std(axis=0)
    target = survey.columns.mean + (nodes / np.where(sd > 0, sd, 1.0) * np.sqrt(values)) @ U.T
    low = max(NODE_NOISE_FLOOR * total / d, LEAST_FLOOR)
    if ridge > 0.0:
        penalty = np.full(Phi.shape[1], ridge)
        penalty[-1] = 0.0  # the constant follows the origin
        W = np.linalg.solve(Phi.T @ Phi + np.diag(penalty), Phi.T @ target)
    else:
        W = np.linalg.lstsq(Phi, target, rcond=None)[0]
    neighbours = 2.0 * np.sqrt(float(values.max(initial=0.0)) * 3.0) / steps if steps else 0.0
    psi = max((total - float(values.sum())) / max(d - L, 1), (0.5 * neighbours) ** 2, noise * total / d, low)
    prior = (AUTO_PRIOR if weight_prior == "auto" else float(weight_prior)) * NODE_NOISE_FLOOR / low
    return NodeStart(np.asarray(W, dtype=np.float64), psi, prior, low)


# how the map stretches ---------------------------------------------------------------------------------------
def magnification(basis: BasisFunctions, W: Array, Z: Array, unit: float = 1.0) -> Array:
    """sqrt det(J J') of x = unit W'phi(z) at each point: area in the table's space for area on the map."""
    with np.errstate(over="ignore"):  # an area may leave double precision where lengths do not
        return np.minimum((_singular_values(basis, W, Z) * unit).prod(axis=1), LARGEST)


def stretch(basis: BasisFunctions, W: Array, Z: Array) -> Array:
    """The largest over the smallest singular value of J at each point; 1 = the same every way."""
    values = _singular_values(basis, W, Z)
    top = np.where(values[:, 0] > 0.0, values[:, 0], 1.0)  # where all directions shrink to a point: none is stretched
    return np.where(values[:, 0] > 0.0, 1.0 / np.maximum(values[:, -1] / top, 1e-12), 1.0)


def _singular_values(basis: BasisFunctions, W: Array, Z: Array) -> Array:
    """Singular values of J, n x L; squares of them would lose digits."""
    return np.linalg.svd(np.einsum("nml,md->nld", basis.slopes(Z), W), compute_uv=False)
