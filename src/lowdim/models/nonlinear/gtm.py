"""The generative topographic mapping: a grid of latent points, bent through the table."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowdim.engine.plan import Cost
from lowdim.maths.seeds import GTM_JITTER
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, TRUTH, Rule, is_seed, seed_of
from lowdim.models.base.survey import TableSurvey
from lowdim.models.nonlinear.node_em import GTMParams, NodeSums, principal_start, regression_step
from lowdim.models.nonlinear.node_model import WEIGHT_PRIOR, NodeModel
from lowdim.models.nonlinear.rbf_grid import latent_grid, rbf_grid
from lowdim.text.messages import warn

JITTER = 0.1  # of the columns' mean standard deviation, on every weight, with init="jitter"
GTM_START_NOISE = 1e-3  # of the mean variance, at least


class GTM(NodeModel[GTMParams]):
    """The generative topographic mapping: a sheet of nodes bent through the table.

    x = W' phi(z) + e,  z one of the K nodes of a regular grid over [-1, 1]^L,  e ~ N(0, s2 I),  phi radial bells and
    a constant, the weights of the bells ~ N(0, v / weight_prior), v the mean variance of the columns. EM in closed
    form from the principal axes: responsibilities, then one regularised regression (one a column where cells are
    missing). Rows may have gaps, come in blocks, and count by weights.

    Parameters
    ----------
    n_components : {1, 2, 3}, default 2
        Dimensions L of the map.
    grid : int, default 20
        Nodes a side; there are K = grid^L of them.
    basis : int, default 6
        Radial bells a side; there are M = basis^L of them.
    basis_width : float, default 1.0
        Standard deviation of a bell, in spacings of the bells.
    weight_prior : float >= 0 or "auto", default 0.1
        Precision of the weights in units of 1 / v: larger is smoother; "auto" re-estimates it by the evidence.
    init : {"pca", "jitter"}, default "pca"
        Start from the principal axes, or from these with noise on the weights, drawn by `random_state`.
    calibrate : bool, default True
        Of a table with gaps: fit first without 5 to 10 % of the seen cells (and, where these are few, without others),
        and scale intervals so that 90 % ones hold 90 % of these; the last fit has all cells. False: one fit.
    standardize : bool, default False
        Work in units of each column's spread.
    tol : float, default 1e-5
        EM ends when the log posterior can gain no more than this, in nats a row.
    max_iter : int, default 1000
        Passes of EM at most.
    random_state : int, Generator or None, default 0
        Draws the jitter and which cells are held back; None is 0.

    Attributes
    ----------
    nodes_ : array, K x d
        The nodes in the table's space.
    grid_ : array, K x L
        Their places on the map.
    noise_variance_ : float
        s2, in the units the table is reported in.
    weight_prior_ : float
        The precision of the weights in units of 1 / v, as given or re-estimated.
    calibration_ : float
        What standard deviations of fills are multiplied by, found with cells held back; 1 without gaps.
    alone_ : float
        The share of rows of which one node has 95 % or more: near 1 the sheet is as coarse as its grid.
    n_components_, n_parameters_ : int
        L, and the numbers fitted, as `bic` and `aic` count them; the prior leaves fewer of them free.
    objective_, history_ : float, array
        The log posterior, and its values pass by pass.
    n_iter_, converged_, certificate_ : int, bool, Certificate
        Passes over the table, whether `tol` was met, and how far the numbers can be trusted.
    params_, frame_ : GTMParams, Frame
        Parameters in the working units, and these units.
    n_features_in_, feature_names_in_ : int, array
        Columns, and their names where the table had any.

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

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": Rule(lambda v: v in (1, 2, 3), "1, 2 or 3"),
        "grid": COUNT,
        "basis": COUNT,
        "basis_width": POSITIVE,
        "weight_prior": WEIGHT_PRIOR,
        "init": Rule(lambda v: v in ("pca", "jitter"), "'pca' or 'jitter'"),
        "calibrate": TRUTH,
        "standardize": TRUTH,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": Rule(is_seed, SEED_WORDS),
    }
    _restart: ClassVar[dict[str, Any]] = {"init": "jitter"}

    def __init__(
        self,
        n_components: int = 2,
        *,
        grid: int = 20,
        basis: int = 6,
        basis_width: float = 1.0,
        weight_prior: float | str = 0.1,
        init: str = "pca",
        calibrate: bool = True,
        standardize: bool = False,
        tol: float = 1e-5,
        max_iter: int = 1000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.grid = grid
        self.basis = basis
        self.basis_width = basis_width
        self.weight_prior = weight_prior
        self.init = init
        self.calibrate = calibrate
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _start(self, survey: TableSurvey) -> GTMParams:
        """The principal axes as a flat sheet, as wide as the table is; its noise what the sheet leaves out."""
        L, d = int(self.n_components), survey.source.d
        nodes = latent_grid(int(self.grid), L)
        bells = rbf_grid(int(self.basis), L, float(self.basis_width))
        steps = max(int(self.grid) - 1, 1)
        start = principal_start(
            survey, nodes, bells.at(nodes), self.weight_prior, ridge=0.0, noise=GTM_START_NOISE, steps=steps
        )
        W = start.W
        if self.init == "jitter":
            rng = np.random.default_rng([seed_of(self.random_state), GTM_JITTER])
            total = float(survey.columns.variance.sum())
            W = W + JITTER * np.sqrt(total / d) * rng.standard_normal(W.shape)
        if len(W) >= survey.columns.n:
            warn("LD476", bells=len(W) - 1, n=f"{survey.columns.n:g}", nodes=len(nodes))
        return GTMParams(nodes, bells.centres, bells.width, W, start.psi, start.prior, start.low)

    def _update(self, params: GTMParams, stats: NodeSums) -> GTMParams:
        return regression_step(params, stats, self.weight_prior == "auto")

    def _cost(self, n: int, d: int) -> Cost:
        K, M = int(self.grid) ** int(self.n_components), int(self.basis) ** int(self.n_components) + 1
        fix = "a smaller grid, or fewer columns"
        return self._cost_of(n, d, K, M, passes=int(self.max_iter), more=K * M, fix=fix, usual=60)
