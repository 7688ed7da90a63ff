"""Density networks: one sample of latent points for all rows, bent through the table by a network."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import STOPPED, Fit, Monitor, em
from lowdim.engine.fold import Run, fold, one_blas_thread, walk
from lowdim.engine.plan import Cost
from lowdim.maths.linalg import Array
from lowdim.maths.optimise import climb, minus
from lowdim.maths.seeds import DENSITY_NETWORK_CUBE, DENSITY_NETWORK_EPOCH, DENSITY_NETWORK_START
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, TRUTH, Rule, is_seed, seed_of
from lowdim.models.base.results import Cells, Certificate, Posterior, draw_labels, standard
from lowdim.models.base.survey import TableSurvey
from lowdim.models.nonlinear.density_network_em import (
    HIDDEN_PRIOR,
    DensityNetworkParams,
    DrawsPosterior,
    HiddenLayers,
    best_output_layer,
    blend_sums,
    in_few_columns,
    m_step_loss,
    profile_loss,
    squared_weights,
)
from lowdim.models.nonlinear.mlp import (
    ACTIVATIONS,
    Layers,
    layer_sizes,
    pack_layers,
    random_biases,
    random_layers,
    unpack_layers,
)
from lowdim.models.nonlinear.node_em import (
    NodeSums,
    evidence_precision,
    principal_start,
    regression_step,
)
from lowdim.models.nonlinear.node_model import WEIGHT_PRIOR, NodeModel
from lowdim.models.nonlinear.rbf_grid import RBFBasis, latent_grid, rbf_grid
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import Frame
from lowdim.text.messages import error

INNER_STEPS = 10  # of the hidden layers in one M-step; each finds the best output layer for its own
INNER_GAIN = 1e-6  # nats: a step of these that gains less is the last
HIDDEN_GAIN = 2.0  # of the hidden weights' start: units bend within the sample, and are not all flat
START_RIDGE = 1e-6  # a node, on the first output weights
NETWORK_START_NOISE = 1e-1  # of the mean variance, at least
BASIS_REACH = 2.5  # bells over a Gaussian sample reach so many standard deviations each way
LEAST_DRAWS = 10  # a row, where each has its own
EPOCH_GAIN, EPOCH_PATIENCE = 1e-3, 5  # nats a row; stepwise EM ends when so many epochs gained no more


class DensityNetwork(NodeModel[DensityNetworkParams]):
    """A density network: a Gaussian sample of latent points, the same for every row, through a network.

    x = g(z) + e,  z ~ N(0, I),  e ~ N(0, s2 I),  p(x) = 1/K sum_k N(x; g(z_k), s2 I) over K latent points z_k; g a
    perceptron or radial bells with a linear output, its output weights ~ N(0, v / weight_prior), v the mean variance
    of the columns. Generalised EM: shares of the points in each row, then L-BFGS on the hidden layers, the output layer
    being the best there is at each of its steps (variable projection). Rows may have gaps and count by weights.

    Parameters
    ----------
    n_components : int, default 2
        Latent dimensions L.
    n_samples : int, default 100
        Latent points K.
    sampling : {"draws", "grid", "importance"}, default "draws"
        "draws": the points are drawn from the Gaussian once. "grid": they lie on a regular grid over [-1, 1]^L, and K
        is a power of L; with `basis` this is the GTM. "importance": after EM with drawn points each row has K (10 or
        more) draws made for it, from Gaussians at its modes and from the prior, and L-BFGS climbs the log density they
        estimate, drawn anew every few steps; `score_samples` and `posterior` are by such draws too.
    hidden : int or tuple of int, default 20
        Units of the hidden layer, or of each.
    activation : {"tanh", "sigmoid"}, default "tanh"
        What hidden units are.
    basis : int or None, default None
        Radial bells a side (basis^L in all) in place of hidden layers.
    basis_width : float, default 1.0
        Standard deviation of a bell, in spacings of the bells.
    weight_prior : float >= 0 or "auto", default 0.02
        Precision of the output weights in units of 1 / v; "auto" re-estimates it by the evidence.
    batch_size : int or None, default None
        An M-step after every so many rows, on running statistics (stepwise EM); None: after all rows.
    calibrate : bool, default True
        Of a table with gaps: fit first without some seen cells, and scale intervals so that 90 % hold 90 % of these.
    standardize : bool, default False
        Work in units of each column's spread.
    tol : float, default 1e-5
        EM ends when the log posterior can gain no more than this, in nats a row.
    max_iter : int, default 1000
        Passes of EM, or steps of L-BFGS, at most.
    random_state : int, Generator or None, default 0
        Draws the points, the first weights and the cells held back; None is 0.

    Attributes
    ----------
    nodes_ : array, K x d
        The latent points in the table's space.
    grid_ : array, K x L
        The latent points.
    noise_variance_ : float
        s2, in the units the table is reported in.
    weight_prior_ : float
        The precision of the output weights in units of 1 / v, as given or re-estimated.
    calibration_ : float
        What standard deviations of fills are multiplied by, found with cells held back; 1 without gaps.
    alone_ : float
        The share of rows of which one point has 95 % or more: near 1 there are too few points.
    n_components_, n_parameters_ : int
        L, and the numbers fitted, as `bic` and `aic` count them; the prior leaves fewer of them free.
    objective_, history_ : float, array
        The log posterior, and its values pass by pass.
    n_iter_, converged_, certificate_ : int, bool, Certificate
        Passes over the table, whether `tol` was met, and how far the numbers can be trusted.
    params_, frame_ : DensityNetworkParams, Frame
        Parameters in the working units, and these units.
    n_features_in_, feature_names_in_ : int, array
        Columns, and their names where the table had any.

    References
    ----------
    D. J. C. MacKay: Bayesian neural networks and density networks. Nuclear Instruments and Methods in Physics
    Research A 354(1), 73-80 (1995).
    O. Cappé, E. Moulines: On-line expectation-maximization algorithm for latent data models. Journal of the Royal
    Statistical Society B 71(3), 593-613 (2009), for minibatches.
    A. Owen, Y. Zhou: Safe and effective importance sampling. Journal of the American Statistical Association 95(449),
    135-143 (2000).

    Examples
    --------
    >>> t = np.linspace(0, 3, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = DensityNetwork(1, n_samples=40, hidden=5).fit(X)
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], t)[0, 1]) > 0.95)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "n_samples": COUNT,
        "sampling": Rule(lambda v: v in ("draws", "grid", "importance"), "'draws', 'grid' or 'importance'"),
        "hidden": Rule(lambda v: len(layer_sizes(v)) > 0, "a whole number >= 1, or a tuple of such numbers"),
        "activation": Rule(lambda v: v in ACTIVATIONS, "'tanh' or 'sigmoid'"),
        "basis": Rule(lambda v: v is None or COUNT.holds(v), "None, or a whole number >= 1"),
        "basis_width": POSITIVE,
        "weight_prior": WEIGHT_PRIOR,
        "batch_size": Rule(lambda v: v is None or COUNT.holds(v), "None, or a whole number >= 1"),
        "calibrate": TRUTH,
        "standardize": TRUTH,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": Rule(is_seed, SEED_WORDS),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_samples: int = 100,
        sampling: str = "draws",
        hidden: int | tuple[int, ...] = 20,
        activation: str = "tanh",
        basis: int | None = None,
        basis_width: float = 1.0,
        weight_prior: float | str = 0.02,
        batch_size: int | None = None,
        calibrate: bool = True,
        standardize: bool = False,
        tol: float = 1e-5,
        max_iter: int = 1000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_samples = n_samples
        self.sampling = sampling
        self.hidden = hidden
        self.activation = activation
        self.basis = basis
        self.basis_width = basis_width
        self.weight_prior = weight_prior
        self.batch_size = batch_size
        self.calibrate = calibrate
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_options(self) -> None:
        super()._check_options()
        L, K = int(self.n_components), int(self.n_samples)
        if self.sampling == "importance" and K < LEAST_DRAWS:
            words = f"a whole number >= {LEAST_DRAWS} with sampling='importance'"
            raise error("LD210", option="n_samples", value=K, allowed=words)
        if self.sampling == "grid" and self._side**L != K:
            words = f"points a side to the power {L} with sampling='grid', such as {max(self._side, 2) ** L}"
            raise error("LD210", option="n_samples", value=K, allowed=words)

    @property
    def _side(self) -> int:
        """Points a side of a grid."""
        side: float = float(self.n_samples) ** (1.0 / int(self.n_components))
        return round(side)

    # where it starts ------------------------------------------------------------------------------------
    def _start(self, survey: TableSurvey) -> DensityNetworkParams:
        """The principal axes, as well as drawn units can follow them; its noise what the axes leave out."""
        L, K, even = int(self.n_components), int(self.n_samples), self.sampling == "grid"
        rng = np.random.default_rng([seed_of(self.random_state), DENSITY_NETWORK_START])
        nodes = latent_grid(self._side, L) if even else rng.standard_normal((K, L))
        layers, bells = self._first_functions(L, 1.0 if even else BASIS_REACH, rng)
        Phi = HiddenLayers(layers, self.activation).at(nodes) if layers else bells.at(nodes)
        start = principal_start(
            survey, nodes, Phi, self.weight_prior, ridge=START_RIDGE * len(nodes), noise=NETWORK_START_NOISE
        )
        cube = self._cube(K, L + 1, DENSITY_NETWORK_CUBE) if self.sampling == "importance" else np.zeros((0, L + 1))
        return DensityNetworkParams(
            nodes, layers, bells.centres, bells.width, *start, activation=self.activation, cube=cube
        )

    def _first_functions(self, L: int, reach: float, rng: np.random.Generator) -> tuple[Layers, RBFBasis]:
        """Drawn hidden layers, or bells over the sample."""
        if self.basis is not None:
            return (), rbf_grid(int(self.basis), L, float(self.basis_width), reach)
        gain = HIDDEN_GAIN if self.activation == "tanh" else 2.0 * HIDDEN_GAIN  # as steep
        layers = random_layers((L, *layer_sizes(self.hidden)), rng, gain)
        return random_biases(layers, rng), RBFBasis(np.zeros((0, L)), 1.0)

    def _cube(self, K: int, dims: int, *stream: int) -> Array:
        """Points of a cube behind the draws of each row."""
        from lowdim.models.nonlinear.importance import low_discrepancy

        return low_discrepancy(K, dims, np.random.default_rng([seed_of(self.random_state), *stream]))

    # maximisation ---------------------------------------------------------------------------------------
    def _objective(self, params: DensityNetworkParams, stats: NodeSums) -> float:
        return super()._objective(params, stats) - 0.5 * HIDDEN_PRIOR * squared_weights(params.layers)

    def _update(self, params: DensityNetworkParams, stats: NodeSums) -> DensityNetworkParams:
        """The hidden layers, each step with the best output layer; then the noise. Bells need one regression."""
        auto = self.weight_prior == "auto"
        if not params.layers:
            return regression_step(params, stats, auto)
        few = in_few_columns(stats)
        peak = climb(
            minus(lambda v: profile_loss(unpack_layers(v, params.layers), params, few)),
            pack_layers(params.layers),
            max_iter=INNER_STEPS + 1,
            tol=INNER_GAIN,
            window=1,
        )
        layers = unpack_layers(peak.x, params.layers)
        f = best_output_layer(layers, params, stats)
        if -peak.value > m_step_loss(params.layers, params.W, params.nodes, params, stats):  # nothing but rounding
            layers = params.layers
            f = best_output_layer(layers, params, stats)._replace(W=params.W, Y=params.nodes)
        squares = stats.xx - 2.0 * float((f.Y * stats.RX).sum()) + float((stats.G * f.Y**2).sum())
        psi = max(squares / max(stats.cells, 1.0), params.low)
        prior = evidence_precision(f.A / psi, f.W, params) if auto else params.prior
        return params._replace(layers=layers, W=f.W, psi=psi, prior=prior)

    def _pack(self, params: DensityNetworkParams) -> Array:
        return np.concatenate([pack_layers(params.layers), super()._pack(params)])

    def _unpack(self, vector: Array, like: DensityNetworkParams) -> DensityNetworkParams:
        count = len(pack_layers(like.layers))
        return super()._unpack(vector[count:], like)._replace(layers=unpack_layers(vector[:count], like.layers))

    def _em(
        self,
        start: DensityNetworkParams,
        survey: TableSurvey,
        run: Run,
        source: Source | None = None,
        limit: int | None = None,
    ) -> Fit:
        """Expectation-maximisation, whole or in batches; then with draws of each row, where these are asked for."""
        source = survey.source if source is None else source
        auto, most = self.weight_prior == "auto", int(self.max_iter if limit is None else limit)
        if self.batch_size is not None:
            fit = self._stepwise_em(start, source, run, most)
        elif start.layers:
            fit = em(self, start, source, run, mix=not auto, may_fall=auto, limit=most)
        else:
            fit = super()._em(start, survey, run, source, limit)
        if not len(start.cube) or limit is not None or fit.reason in STOPPED:
            return fit
        from lowdim.models.nonlinear.importance import climb_by_draws

        return climb_by_draws(self, fit, source, run)

    # minibatches ----------------------------------------------------------------------------------------
    def _stepwise_em(self, params: DensityNetworkParams, source: Source, run: Run, most: int) -> Fit:
        """Stepwise EM; after every epoch a pass over all rows values its parameters."""
        since, best = 0, -np.inf
        with one_blas_thread(), Monitor(run, type(self).__name__, -1.0, most) as watch:
            running: Any = None
            while True:
                stats = fold(partial(self._stats, params), source, run)
                value = self._objective(params, stats)
                watch.see(params, stats, value, True)
                since, best = 0 if value > best + EPOCH_GAIN * source.total else since + 1, max(best, value)
                if watch.reason or since >= EPOCH_PATIENCE:
                    break
                running = stats if running is None else running
                params, running = self._epoch(params, running, len(watch.history), source, run)
        fit = watch.fit("stepwise EM on minibatches")
        return fit._replace(
            converged=not watch.reason,
            reason=watch.reason or "converged",
            remaining=EPOCH_GAIN * source.total,
            passes=2 * fit.passes - 1,
        )

    def _epoch(
        self, params: DensityNetworkParams, running: NodeSums, number: int, source: Source, run: Run
    ) -> tuple[DensityNetworkParams, NodeSums]:
        """Every row once, tile by tile, in an order drawn within each; an M-step after each batch."""
        size, seed = int(self.batch_size or 1), seed_of(self.random_state)
        count = (number - 1) * (-(-source.n // size))
        for start, tile in walk(_same_block, source, run):
            order = np.random.default_rng([seed, DENSITY_NETWORK_EPOCH, number, start]).permutation(tile.rows)
            for rows in (order[i : i + size] for i in range(0, len(order), size)):
                mask = None if tile.mask is None else tile.mask[rows]
                weight = None if tile.weight is None else tile.weight[rows]
                batch = Block(tile.x[rows], mask, weight, start)
                count += 1
                if batch.size > 0.0:
                    running = blend_sums(running, self._stats(params, batch), source.total / batch.size, count)
                    params = self._update(params, running)
        return params, running

    # rows -----------------------------------------------------------------------------------------------
    def _posterior(self, params: DensityNetworkParams, block: Block) -> Any:
        if not len(params.cube):
            return super()._posterior(params, block)
        from lowdim.models.nonlinear.importance import draws_posterior

        return draws_posterior(params, block)

    def _decode(self, params: DensityNetworkParams, posterior: Any) -> Cells:
        if not isinstance(posterior, DrawsPosterior):
            return super()._decode(params, posterior)
        return Cells(posterior.cells, posterior.var, np.full_like(posterior.cells, params.psi))

    def _draw(self, params: DensityNetworkParams, posterior: Any, rng: list[np.random.Generator]) -> Array:
        """One of a row's draws, or a place of the prior, and noise."""
        if not len(params.cube):
            return super()._draw(params, posterior, rng)
        L, d = params.grid.shape[1], params.W.shape[1]
        z, noise = np.split(np.array([r.standard_normal(L + d) for r in rng]).reshape(-1, L + d), [L], axis=1)
        if not isinstance(posterior, Posterior):
            z = posterior.z[np.arange(len(rng)), draw_labels(posterior.share, rng)]
        return np.asarray(params.basis.at(z) @ params.W + np.sqrt(params.psi) * noise)

    def _prior(self, params: DensityNetworkParams, n: int) -> Any:
        return standard(n, params.grid.shape[1]) if len(params.cube) else super()._prior(params, n)

    def _over_nodes(self, params: DensityNetworkParams) -> DensityNetworkParams:
        """Nodes are those of the shared sample, whatever draws rows have."""
        return params._replace(cube=params.cube[:0])

    def score_error(self, X: Any, *, run: Run | None = None) -> Array:
        """Standard error of each row's log density, where it is estimated by draws (`sampling="importance"`).

        Parameters
        ----------
        X : table of n rows
        run : Run, default None
            How the rows are walked.

        Returns
        -------
        array, n
            Zeros where one sample serves all rows.
        """
        check_is_fitted(self)
        p, frame = self.params_, self.frame_
        if not len(p.cube):
            return self._each(lambda b: np.zeros(b.rows), X, run=run)
        return self._each(lambda b: self._posterior(p, frame.inward(b)).error, X, run=run)

    def _count_weights(self, params: DensityNetworkParams) -> int:
        """With draws of each row the places are the Gaussian's, which a turn leaves as it is: it is not counted."""
        if not len(params.cube):
            return super()._count_weights(params)
        L = params.grid.shape[1] if params.layers else 0
        return self._pack(params).size - 1 - L * (L - 1) // 2

    # what a fit leaves ----------------------------------------------------------------------------------
    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        certificate, p = super()._certify(fit, frame, header), fit.params
        note = (
            f"log densities are estimated by {len(p.cube)} draws of each row's own (score_error says how well)"
            if len(p.cube)
            else f"log densities are those under {len(p.grid)} points, not under the Gaussian"
        )
        return certificate._replace(notes=(*certificate.notes, note))

    def _cost(self, n: int, d: int) -> Cost:
        from lowdim.models.nonlinear.importance import ROWS_WITH_DRAWS, STEPS_A_ROUND

        L, K = int(self.n_components), int(self.n_samples)
        H = 1 + (sum(layer_sizes(self.hidden)) if self.basis is None else int(self.basis) ** L)
        draws, most = self.sampling == "importance", int(self.max_iter)
        passes = most * (1 if self.batch_size is None else 2) + draws * 3 * (most + STEPS_A_ROUND)
        more = 8 * K * H + draws * ROWS_WITH_DRAWS * K * (2 * d + 3 * H + 10 * L)
        return self._cost_of(n, d, K, H, passes=passes, more=more, fix="fewer samples, or fewer columns", usual=100)


def _same_block(block: Block) -> Block:
    return block
