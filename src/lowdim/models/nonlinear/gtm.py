"""The generative topographic mapping: a grid of latent points, bent through the table."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowdim.engine.plan import Cost
from lowdim.maths.seeds import GTM_JITTER
from lowdim.models.base.options import COUNT, Rule, one_of, option, seed_of
from lowdim.models.base.survey import TableSurvey
from lowdim.models.nonlinear.node_em import (
    GTMParams,
    NodeSums,
    latent_grid,
    principal_start,
    rbf_grid,
    regression_step,
)
from lowdim.models.nonlinear.node_model import NodeModel
from lowdim.text.messages import warn

JITTER = 0.1  # of the columns' mean standard deviation, on every weight, with init="jitter"
GTM_START_NOISE = 1e-3  # of the mean variance, at least


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
        """The M-step: the weighted normal equations of the bells, then the noise."""
        return regression_step(params, stats, self.weight_prior == "auto")

    def _cost(self, n: int, d: int) -> Cost:
        K, M = int(self.grid) ** int(self.n_components), int(self.basis) ** int(self.n_components) + 1
        fix = "a smaller grid, or fewer columns"
        return self._cost_of(n, d, K, M, passes=int(self.max_iter), more=K * M, fix=fix, usual=60)
