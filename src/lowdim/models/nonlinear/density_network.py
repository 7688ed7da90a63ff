"""Density networks: one sample of latent points for all rows, bent through the table by a network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import STOPPED, Cost, Fit, Monitor
from lowdim.engine.fold import Run, fold, one_blas_thread, walk
from lowdim.maths.linalg import Array
from lowdim.maths.optimise import climb, minus
from lowdim.maths.seeds import DENSITY_NETWORK_CUBE, DENSITY_NETWORK_EPOCH, DENSITY_NETWORK_START, normals
from lowdim.models.base.options import COUNT, none_or, one_of, option, seed_of
from lowdim.models.base.results import Cells, Fitted, Posterior, draw_labels, standard
from lowdim.models.base.survey import TableSurvey
from lowdim.models.nonlinear.density_network_em import (
    HIDDEN_PRIOR,
    DensityNetworkParams,
    DrawsPosterior,
    HiddenLayers,
    best_output_layer,
    blend_sums,
    hidden_slopes,
    hidden_steps,
    in_few_columns,
    m_step_loss,
    profile_loss,
    squared_weights,
)
from lowdim.models.nonlinear.gtm import (
    RBFBasis,
    evidence_precision,
    latent_grid,
    rbf_grid,
    regression_step,
    start_along_axes,
)
from lowdim.models.nonlinear.importance import (
    ROWS_WITH_DRAWS,
    STEPS_A_ROUND,
    climb_by_draws,
    draws_posterior,
    low_discrepancy,
)
from lowdim.models.nonlinear.mlp import (
    ACTIVATION,
    HIDDEN,
    Layers,
    layer_sizes,
    pack_layers,
    random_biases,
    random_layers,
    unpack_layers,
)
from lowdim.models.nonlinear.node_model import NodeModel, NodeSums, misfit, weight_slopes
from lowdim.sources.source import Block, Source
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
    being the best there is at each of its steps (variable projection); after some passes L-BFGS climbs the log
    posterior itself, by all weights at once. Rows may have gaps and count by weights.

    Attributes
    ----------
    nodes_ : array, K x d
        The latent points in the table's space.
    grid_ : array, K x L
        The latent points.
    alone_ : float
        The share of rows of which one point has 95 % or more: near 1 there are too few points.

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

    n_samples: int = option(default=100, rule=COUNT, words="Latent points K.")
    sampling: str = option(
        default="draws",
        rule=one_of("draws", "grid", "importance"),
        words='"draws": the points are drawn from the Gaussian once. "grid": they lie on a regular grid over '
        "[-1, 1]^L, and K is the L-th power of a whole number; with `basis` this is the GTM. "
        '"importance": after EM with drawn points each '
        "row has K (10 or more) draws made for it, from Gaussians at its modes and from the prior, and L-BFGS climbs "
        "the log density they estimate, drawn anew every few steps; `score_samples` and `posterior` are by such draws "
        "too.",
    )
    hidden: int | tuple[int, ...] = option(default=20, rule=HIDDEN, words="Units of the hidden layer, or of each.")
    activation: str = ACTIVATION
    basis: int | None = option(
        default=None, rule=none_or(COUNT), words="Radial bells a side (basis^L in all) in place of hidden layers."
    )
    weight_prior: float | str = option(
        default=0.02,
        rule=NodeModel._options["weight_prior"].rule,
        words='Precision of the output weights in units of 1 / v; "auto" re-estimates it by the evidence.',
        kind='float >= 0 or "auto"',
    )
    batch_size: int | None = option(
        default=None,
        rule=none_or(COUNT),
        words="An M-step after every so many rows, on running statistics (stepwise EM), until five epochs gained no "
        "more than 0.001 nats a row, whatever `tol` is; None: after all rows.",
    )

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
        return round(float(self.n_samples) ** (1.0 / int(self.n_components)))

    # where it starts ------------------------------------------------------------------------------------
    def _start(self, survey: TableSurvey) -> DensityNetworkParams:
        """The principal axes, as well as drawn units can follow them; its noise what the axes leave out."""
        L, K, even = int(self.n_components), int(self.n_samples), self.sampling == "grid"
        rng = np.random.default_rng([seed_of(self.random_state), DENSITY_NETWORK_START])
        nodes = latent_grid(self._side, L) if even else rng.standard_normal((K, L))
        layers: Layers = ()
        if self.basis is not None:  # bells over the sample
            bells = rbf_grid(int(self.basis), L, float(self.basis_width), 1.0 if even else BASIS_REACH)
        else:
            gain = HIDDEN_GAIN if self.activation == "tanh" else 2.0 * HIDDEN_GAIN  # as steep
            layers = random_biases(random_layers((L, *layer_sizes(self.hidden)), rng, gain), rng)
            bells = RBFBasis(np.zeros((0, L)), 1.0)
        Phi = HiddenLayers(layers, self.activation).at(nodes) if layers else bells.at(nodes)
        start = start_along_axes(
            survey, nodes, Phi, self.weight_prior, ridge=START_RIDGE * len(nodes), noise=NETWORK_START_NOISE
        )
        cube = self._cube(K, L + 1, DENSITY_NETWORK_CUBE) if self.sampling == "importance" else np.zeros((0, L + 1))
        return DensityNetworkParams(
            nodes, layers, bells.centres, bells.width, *start, activation=self.activation, cube=cube
        )

    def _cube(self, K: int, dims: int, *stream: int) -> Array:
        """Points of a cube behind the draws of each row."""
        return low_discrepancy(K, dims, np.random.default_rng([seed_of(self.random_state), *stream]))

    # maximisation ---------------------------------------------------------------------------------------
    def _objective(self, params: DensityNetworkParams, stats: NodeSums) -> float:
        return super()._objective(params, stats) - 0.5 * HIDDEN_PRIOR * squared_weights(params.layers)

    def _update(self, params: DensityNetworkParams, stats: NodeSums) -> DensityNetworkParams:
        """The M-step: hidden layers, output layer, noise. Bells need one regression."""
        auto = self.weight_prior == "auto"
        if not params.layers:
            return regression_step(params, stats, auto)
        # A few steps of the hidden layers, the output layer being the best for them at each (variable projection).
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
        # The noise: the mean square of the cells about the latent points, by their shares.
        psi = max((stats.xx + misfit(f.Y, stats)) / max(stats.cells, 1.0), params.low)
        prior = evidence_precision(f.A / psi, f.W, params) if auto else params.prior
        return params._replace(layers=layers, W=f.W, psi=psi, prior=prior)

    def _pack(self, params: DensityNetworkParams) -> Array:
        return np.concatenate([pack_layers(params.layers), super()._pack(params)])

    def _unpack(self, vector: Array, like: DensityNetworkParams) -> DensityNetworkParams:
        count = len(pack_layers(like.layers))
        return super()._unpack(vector[count:], like)._replace(layers=unpack_layers(vector[:count], like.layers))

    def _steps_from(
        self, origin: DensityNetworkParams, stats: NodeSums
    ) -> tuple[Callable[[Array], DensityNetworkParams], Callable[[DensityNetworkParams, NodeSums], Array]]:
        """Steps of the hidden layers come first; with each the output layer follows as its regression would."""
        of_output, output_slope = super()._steps_from(origin, stats)
        if not origin.layers:
            return of_output, output_slope
        hidden, v = hidden_steps(origin, stats), pack_layers(origin.layers)

        def place(u: Array) -> DensityNetworkParams:
            step = hidden.root @ u[: len(v)]
            params = of_output(u[len(v) :])
            return params._replace(layers=unpack_layers(v + step, origin.layers), W=params.W + hidden.follow(step))

        def slope(params: DensityNetworkParams, stats: NodeSums) -> Array:
            # what the output weights' slope adds to that of the hidden ones, since they follow
            by_W = (weight_slopes(params, stats) @ hidden.axes).T
            by_hidden = hidden_slopes(params, stats) - np.tensordot(hidden.along, by_W, axes=((0, 1), (0, 1)))
            return np.append(hidden.root.T @ by_hidden, output_slope(params, stats))

        return place, slope

    def _climbed(
        self, start: DensityNetworkParams, source: Source, *, run: Run, limit: int | None = None
    ) -> Fit[DensityNetworkParams, NodeSums]:
        """EM and L-BFGS over all rows, or EM in batches; then with draws of each row, where these are asked for."""
        if self.batch_size is None:
            fit = super()._climbed(start, source, run=run, limit=limit)
        else:
            fit = self._stepwise_em(start, source, run, int(self.max_iter if limit is None else limit))
        if not len(start.cube) or limit is not None or fit.reason in STOPPED:
            return fit
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
            order = np.random.default_rng([seed, DENSITY_NETWORK_EPOCH, number, start]).permutation(len(tile.x))
            for rows in (order[i : i + size] for i in range(0, len(order), size)):
                batch = tile.take(rows)
                count += 1
                weight = float(batch.times.sum())
                if weight > 0.0:
                    running = blend_sums(running, self._stats(params, batch), source.total / weight, count)
                    params = self._update(params, running)
        return params, running

    # rows -----------------------------------------------------------------------------------------------
    def _posterior(self, params: DensityNetworkParams, block: Block) -> Any:
        return draws_posterior(params, block) if len(params.cube) else super()._posterior(params, block)

    def _decode(self, params: DensityNetworkParams, posterior: Any) -> Cells:
        if not isinstance(posterior, DrawsPosterior):
            return super()._decode(params, posterior)
        return Cells(posterior.cells, posterior.var, np.full_like(posterior.cells, params.psi))

    def _draw(self, params: DensityNetworkParams, posterior: Any, rng: list[np.random.Generator]) -> Array:
        """One of a row's draws, or a place of the prior, and noise."""
        if not len(params.cube):
            return super()._draw(params, posterior, rng)
        L, d = params.grid.shape[1], params.W.shape[1]
        z, noise = np.split(normals(rng, L + d), [L], axis=1)
        if not isinstance(posterior, Posterior):
            z = posterior.z[np.arange(len(rng)), draw_labels(posterior.share, rng)]
        return params.basis.at(z) @ params.W + np.sqrt(params.psi) * noise

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
            return self._each(lambda b: np.zeros(len(b.x)), X, run=run)
        return self._each(lambda b: self._posterior(p, frame.inward(b)).error, X, run=run)

    def _count_weights(self, params: DensityNetworkParams) -> int:
        """With draws of each row the places are the Gaussian's, which a turn leaves as it is: it is not counted."""
        if not len(params.cube):
            return super()._count_weights(params)
        L = params.grid.shape[1] if params.layers else 0
        return self._pack(params).size - 1 - L * (L - 1) // 2

    # what a fit leaves ----------------------------------------------------------------------------------
    def _fitted(self, fit: Fit[DensityNetworkParams, NodeSums], frame: Frame) -> Fitted:
        fitted = super()._fitted(fit, frame)
        note = f"log densities are those under {len(fit.params.grid)} points, not under the Gaussian"
        if len(fit.params.cube):
            draws = f"{len(fit.params.cube)} draws of each row's own"
            note = f"log densities are estimated by {draws} (score_error says how well)"
        return fitted._replace(certificate=fitted.certificate._replace(notes=(*fitted.certificate.notes, note)))

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        L, K = int(self.n_components), int(self.n_samples)
        H = 1 + (sum(layer_sizes(self.hidden)) if self.basis is None else int(self.basis) ** L)
        draws, most = self.sampling == "importance", int(self.max_iter)
        passes = most * (1 if self.batch_size is None else 2) + draws * 3 * (most + STEPS_A_ROUND)
        more = (8 + 2 * min(d, H) * (L + 1)) * K * H + draws * ROWS_WITH_DRAWS * K * (2 * d + 3 * H + 10 * L)
        return self._cost_of(n, d, K, H, passes=passes, more=more, fix="fewer samples, or fewer columns")


def _same_block(block: Block) -> Block:
    return block
