"""The generative topographic mapping: a grid of latent points, bent through the table."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.engine.fit import Cost
from lowdim.maths.linalg import Array
from lowdim.maths.pairs import squared_distances
from lowdim.maths.seeds import GTM_JITTER
from lowdim.models.base.options import COUNT, Rule, one_of, option, seed_of
from lowdim.models.base.survey import TableSurvey, first_axes
from lowdim.models.nonlinear.node_model import NODE_NOISE_FLOOR, NodeModel, NodeParams, NodeSums, Params, misfit
from lowdim.text.messages import warn

JITTER = 0.1  # of the columns' mean standard deviation, on every weight, with init="jitter"
GTM_START_NOISE = 1e-3  # of the mean variance, at least
PIVOT_RATIO = 1e-12  # smallest over largest pivot of a regression that may be solved by its normal equations
SINGULAR_CUT = 1e-8  # of the largest singular value: what the same regression cannot tell from nothing
LEAST_FLOOR = 1e-10 * float(np.finfo(float).tiny) ** 0.25  # of the noise, of a table without any spread
AUTO_PRIOR = 0.1  # weight_prior="auto" begins here


# functions of a latent place ---------------------------------------------------------------------------------
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


class GTMParams(NamedTuple):
    """Parameters of a GTM, in the frame's units: nodes at W'phi(grid), one noise variance."""

    grid: Array  # K x L
    basis: RBFBasis  # M bells and a constant
    W: Array  # (M + 1) x d
    psi: float
    prior: float  # precision of the weights
    low: float  # the floor of psi
    inflation: float = 1.0  # what standard deviations of cells are multiplied by

    @property
    def nodes(self) -> Array:
        """Where the grid lies in the table's space, K x d."""
        return self.basis.at(self.grid) @ self.W


# where nodes start, and how they move: for fixed functions of the place ---------------------------------------
class NodeStart(NamedTuple):
    """First weights, noise variance, prior precision of the weights and floor of the noise."""

    W: Array
    psi: float
    prior: float
    low: float


def start_along_axes(
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


def regression_step(params: Params, stats: NodeSums, auto_prior: bool) -> Params:
    """The M-step with fixed basis functions: the one of Bishop, Svensen and Williams (1998)."""
    Phi = params.basis.at(params.grid)
    # The weighted normal equations: (Phi'G Phi + prior s2 I) W = Phi'R'X, the constant not shrunk.
    ridge = np.full(Phi.shape[1], params.psi * params.prior)
    ridge[-1] = 0.0
    A = np.array([Phi.T @ (Phi * g[:, None]) for g in stats.G.T])  # of every column; one where no cell is missing
    W = solve_weights(Phi, stats, A, ridge, params.W)
    # The noise: the mean square of the seen cells about the nodes, by the responsibilities.
    psi = max((stats.xx + misfit(Phi @ W, stats)) / max(stats.cells, 1.0), params.low)
    prior = evidence_precision(A / psi, W, params) if auto_prior else params.prior
    return params._replace(W=W, psi=psi, prior=prior)


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


def evidence_precision(A: Array, W: Array, params: NodeParams) -> float:
    """The prior's precision by the evidence: well determined weights over their squares.

    Within bounds that count in units of the table's mean variance. Reference: MacKay, Bayesian interpolation, Neural
    Computation 4 (1992).
    """
    v = params.low / NODE_NOISE_FLOOR
    values = np.maximum(np.linalg.eigvalsh(A[:, :-1, :-1]), 0.0)
    known = float((values / (values + params.prior)).sum()) * (W.shape[1] / len(A))
    return float(np.clip(v * known / max(float((W[:-1] ** 2).sum()), 1e-300), 1e-8, 1e8)) / v


class GTM(NodeModel[GTMParams]):
    """The generative topographic mapping: a sheet of nodes bent through the table.

    x = W' phi(z) + e,  z one of the K nodes of a regular grid over [-1, 1]^L,  e ~ N(0, s2 I),  phi radial bells and
    a constant, the weights of the bells ~ N(0, v / weight_prior), v the mean variance of the columns. EM in closed
    form from the principal axes: responsibilities, then one regularised regression (one a column where cells are
    missing); after some passes L-BFGS climbs the same log posterior, whose slope the sums of EM hold. Rows may have
    gaps, come in blocks, and count by weights.

    Attributes
    ----------
    nodes_ : array, K x d
        The nodes in the table's space.
    grid_ : array, K x L
        Their places on the map.
    alone_ : float
        The share of rows of which one node has 95 % or more: near 1 the sheet is as coarse as its grid.

    References
    ----------
    C. M. Bishop, M. Svensén, C. K. I. Williams: GTM: the generative topographic mapping. Neural Computation 10(1),
    215-234 (1998).
    C. M. Bishop, M. Svensén, C. K. I. Williams: Magnification factors for the GTM algorithm. Proc. IEE Fifth
    International Conference on Artificial Neural Networks, 64-69 (1997).

    Examples
    --------
    >>> t = np.linspace(0, 3, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = GTM(1, grid=20).fit(X)
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], t)[0, 1]) > 0.99)
    True
    """

    n_components: int = option(
        default=2, rule=Rule(lambda v: v in (1, 2, 3), "1, 2 or 3"), words="Dimensions L of the map.", kw_only=False
    )
    grid: int = option(default=20, rule=COUNT, words="Nodes a side; there are K = grid^L of them.")
    basis: int = option(default=6, rule=COUNT, words="Radial bells a side; there are M = basis^L of them.")
    init: str = option(
        default="pca",
        rule=one_of("pca", "jitter"),
        words="Start from the principal axes, or from these with noise on the weights, drawn by `random_state`.",
    )
    _restart: ClassVar[dict[str, Any]] = {"init": "jitter"}

    def _start(self, survey: TableSurvey) -> GTMParams:
        """The principal axes as a flat sheet, as wide as the table is; its noise what the sheet leaves out."""
        L, d = int(self.n_components), survey.source.d
        nodes = latent_grid(int(self.grid), L)
        bells = rbf_grid(int(self.basis), L, float(self.basis_width))
        steps = max(int(self.grid) - 1, 1)
        start = start_along_axes(
            survey, nodes, bells.at(nodes), self.weight_prior, ridge=0.0, noise=GTM_START_NOISE, steps=steps
        )
        W = start.W
        if self.init == "jitter":
            rng = np.random.default_rng([seed_of(self.random_state), GTM_JITTER])
            total = float(survey.columns.variance.sum())
            W = W + JITTER * np.sqrt(total / d) * rng.standard_normal(W.shape)
        if len(W) >= survey.columns.n:
            warn("LD476", bells=len(W) - 1, n=f"{survey.columns.n:g}", nodes=len(nodes))
        return GTMParams(nodes, bells, W, start.psi, start.prior, start.low)

    def _update(self, params: GTMParams, stats: NodeSums) -> GTMParams:
        """The M-step: the weighted normal equations of the bells, then the noise."""
        return regression_step(params, stats, self.weight_prior == "auto")

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        K, M = int(self.grid) ** int(self.n_components), int(self.basis) ** int(self.n_components) + 1
        fix = "a smaller grid, or fewer columns"
        return self._cost_of(n, d, K, M, passes=int(self.max_iter), more=K * M, fix=fix)
