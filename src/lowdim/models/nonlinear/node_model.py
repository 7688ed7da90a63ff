"""Models whose latent place is one of a finite set of nodes: what a GTM and a density network share.

The E-step is here, and the climb of the log posterior whose slope the sums of the E-step hold; where a model starts and
how its nodes move (`gtm.py`, `density_network.py`) is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import add
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import LIMIT, Cost, Fit, Monitor, em, walking
from lowdim.engine.fold import Run, fold, one_blas_thread, walk
from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import LARGEST, Array, Mask, lower
from lowdim.maths.optimise import climb
from lowdim.maths.seeds import normals
from lowdim.models.base.calibration import MOST_ROUNDS, held_out_fits
from lowdim.models.base.estimator import WeightedEstimator
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import CALIBRATE, COUNT, POSITIVE, SEED, TRUTH, Rule, check_components, option, seed_of
from lowdim.models.base.results import Cells, Fitted, Posterior, certify, draw_labels, inflation_note, squared
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.sources.source import Block, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

LOG_CLIP = -40.0  # logarithms of relative likelihoods below this are set to it: denormal numbers are 28 times slower
LEAST_LIKELIHOOD = float(np.exp(LOG_CLIP))
NOISE_BY_PRODUCTS = 1e-3  # of the nodes' mean square: with less, the nearest node's distance is by differences
NOISE_BY_DIFFERENCES = 1e-6  # with less, all are: by products the likelihood could fall
NODE_NOISE_FLOOR = 1e-8  # of the mean variance: below it a node sits on a row
LEAST_CURVATURE = 1e-12  # of the largest, along directions of the weights that no row and no prior holds
TILE_OF_NODES = 128  # rows worked on at a time: their responsibilities stay in the cache (docs/measurements.md)
ALONE_SHARE = 0.95  # a row is held by a single node where that has this share of it
PLAIN_PASSES = 32  # of EM before the climb: from far away longer steps leap into worse valleys
ROUND_STEPS = 30  # of L-BFGS before its units are made anew
LEAST_RATE, MOST_RATE = 0.5, 0.95  # bounds of a round's gain over that of the one before: 1 to 19 of the last foreseen
FLOOR_GAIN = 1e-3  # nats a row of a round that ends a climb on the floor of the noise
MEMORY_OF_STEPS = 50  # vectors as long as all weights that L-BFGS holds


# parameters and statistics -----------------------------------------------------------------------------------
class BasisFunctions(Protocol):
    """M functions of a latent place, and a constant."""

    def at(self, Z: Array) -> Array:
        """Their values at points, n x (M + 1)."""

    def slopes(self, Z: Array) -> Array:
        """Their derivatives by each coordinate, n x (M + 1) x L."""


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
        return type(self)(*map(add, self, other))


class NodePosterior(NamedTuple):
    """p(node | seen cells) of each row, and the place that follows."""

    mean: Array  # n x L
    log_density: Array
    share: Array  # n x K
    grid: Array

    @property
    def packed(self) -> Array:
        """The covariances of the place."""
        z, (i, j) = self.grid, lower(self.grid.shape[1])
        return self.share @ (z[:, i] * z[:, j]) - self.mean[:, i] * self.mean[:, j]


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


# slopes -----------------------------------------------------------------------------------------------------
def misfit(Y: Array, stats: NodeSums) -> float:
    """Sum of squares of the rows about nodes Y, less those of the rows themselves."""
    return float((Y * (stats.G * Y - 2.0 * stats.RX)).sum())


def node_slopes(params: NodeParams, stats: NodeSums) -> Array:
    """The slope of the log density by the nodes, K x d: what the rows pull each node towards, over s2."""
    return (stats.RX - stats.G * params.nodes) / params.psi


def weight_slopes(params: NodeParams, stats: NodeSums) -> Array:
    """The slope of the log posterior by W; the constant has no prior."""
    slopes = params.basis.at(params.grid).T @ node_slopes(params, stats)
    slopes[:-1] -= params.prior * params.W[:-1]
    return slopes


def weight_root(params: NodeParams, stats: NodeSums) -> Array:
    """F with F F' the inverse curvature of the M-step's regression, the same for every column."""
    Phi = params.basis.at(params.grid)
    A = Phi.T @ (Phi * stats.G.mean(axis=1)[:, None]) / params.psi
    A[np.diag_indices(len(A) - 1)] += params.prior
    values, U = np.linalg.eigh(A)
    return U / np.sqrt(np.maximum(values, LEAST_CURVATURE * values[-1]))


# the model --------------------------------------------------------------------------------------------------
class LabelMap(NamedTuple):
    """Labels on the map: node by node, as the rows it is responsible for are labelled."""

    labels: NDArray[Any]  # C, in their order
    share: Array  # K x C: of the rows of a node, how many have each label; a node without rows shows all rows
    rows: Array  # K: how many labelled rows each node holds
    likeliest: NDArray[Any]  # K


class NodeModel(WeightedEstimator, LatentModel[Params, Any], Generic[Params]):
    """A mixture of K equally likely nodes with one noise variance, the nodes at W'phi(z) for K latent places z.

    A model of this family says where it starts (`_start`), how the nodes move (`_update`) and what it costs.

    Attributes
    ----------
    noise_variance_, weight_prior_ : float
        s2, in the units the table is reported in; the precision of the weights in units of 1 / v, as given or found.
    calibration_ : float
        What standard deviations of fills are multiplied by, found with cells held back; 1 without gaps.
    n_components_, n_parameters_ : int
        L, and the numbers fitted, as `bic` and `aic` count them; the prior leaves fewer of them free.
    objective_, history_ : float, array
        The log posterior, and its values pass by pass.
    """

    _rows_to_predict = TILE_OF_NODES
    _objective_name: ClassVar[str] = "log posterior"
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": "the objective also has the weights' prior",
        "sample_then_fit": "its free parameters are not those of a Gaussian",
    }
    n_components: int = option(default=2, rule=COUNT, words="Latent dimensions L.", kw_only=False)
    basis_width: float = option(
        default=1.0, rule=POSITIVE, words="Standard deviation of a bell, in spacings of the bells."
    )
    weight_prior: float | str = option(
        default=0.1,
        rule=Rule(lambda v: v == "auto" or (not isinstance(v, str) and 0 <= v < np.inf), "a number >= 0, or 'auto'"),
        words="Precision of the weights in units of 1 / v, v the mean variance of the columns: larger is smoother; "
        '"auto" re-estimates it by the evidence.',
        kind='float >= 0 or "auto"',
    )
    calibrate: bool = option(default=True, rule=TRUTH, words=CALIBRATE)
    standardize: bool = option(default=False, rule=TRUTH, words="Work in units of each column's spread.")
    tol: float = option(
        default=1e-5,
        rule=POSITIVE,
        words="The climb ends when the log posterior can gain no more than this, in nats a row (on the floor of the "
        "noise, of which LD202 warns, when a round of 30 steps gained no more than 0.001).",
    )
    max_iter: int = option(default=3000, rule=COUNT, words="Passes over the table at most, of EM and of L-BFGS.")
    random_state: Any = option(default=0, rule=SEED, words="Draws the start and which cells are held back; None is 0.")

    def _start(self, survey: TableSurvey) -> Params:
        raise NotImplementedError

    def _update(self, params: Params, stats: NodeSums) -> Params:
        raise NotImplementedError

    # expectation ----------------------------------------------------------------------------------------
    def _stats(self, params: Params, block: Block) -> NodeSums:
        """The E-step: responsibilities R of the nodes for the rows, and what the M-step needs of them."""
        Y = params.nodes
        K, d = Y.shape
        sums = np.zeros((K, d + 1 if block.mask is None else 2 * d))  # R'X beside G, the sums of R
        total, alone = 0.0, 0.0
        for piece in block.tiles(TILE_OF_NODES):
            E, likelihood, log_density = relative_likelihoods(piece.x, piece.mask, Y, params.psi)
            w = piece.times
            total += float(w @ log_density)
            alone += float(w @ (likelihood < 1.0 / ALONE_SHARE))  # the nearest node has 1 / likelihood
            # R_nk = E_nk / sum_k E_nk, a row counted by its weight: never formed, its sums R'X and G are one product.
            scale = (w / likelihood)[:, None]
            seen = np.ones((len(piece.x), 1)) if block.mask is None else piece.seen  # some pieces are complete
            sums += E.T @ np.hstack([piece.x * scale, seen * scale])
        w = block.times
        n = float(w.sum())
        count = d * n if block.mask is None else float(w @ block.mask.sum(axis=1))
        xx = float(w @ (block.x**2).sum(axis=1))
        return NodeSums(n, total, sums[:, d:], sums[:, :d], xx, count, alone)

    def _objective(self, params: Params, stats: NodeSums) -> float:
        return stats.log_density - 0.5 * params.prior * float((params.W[:-1] ** 2).sum())

    def _pack(self, params: Params) -> Array:
        return np.append(params.W.ravel() / np.sqrt(params.low / NODE_NOISE_FLOOR), np.log(params.psi))

    def _unpack(self, vector: Array, like: Params) -> Params:
        near = np.log(like.psi)
        psi = max(float(np.exp(np.clip(vector[-1], near - 3.0, near + 3.0))), like.low)
        W = vector[:-1].reshape(like.W.shape) * np.sqrt(like.low / NODE_NOISE_FLOOR)
        return like._replace(W=W, psi=psi)

    # fitting --------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> Fitted:
        survey = survey_table(source, run, standardize=self.standardize)
        check_components(self.n_components, source.d)
        start = self._start(survey)
        if survey.gaps and self.calibrate:
            # Fits without some cells show how wide intervals must be; the one with all cells goes on from the first.
            first = held_out_fits(self, partial(self._climbed, start, run=run), survey, seed_of(self.random_state), run)
            begin = first.fits[0].params if first.fits else start
            fit = first.then(lambda most: self._climbed(begin, survey.source, run=run, limit=most))
        else:
            fit = self._climbed(start, survey.source, run=run)
        if fit.params.psi <= fit.params.low * (1 + 1e-9):
            warn("LD202.nodes", floor=fit.params.psi)
        return self._fitted(fit, survey.frame).restated(survey.columns.seen, survey.passes + survey.gathered)

    def _climbed(self, start: Params, source: Source, *, run: Run, limit: int | None = None) -> Fit[Params, NodeSums]:
        """Plain passes of EM, then L-BFGS on the log posterior itself; at most `limit` passes, or `max_iter`."""
        most, auto = int(self.max_iter) if limit is None else limit, self.weight_prior == "auto"
        first = em(self, start, source, run, mix=False, may_fall=auto, limit=min(PLAIN_PASSES, most))
        # Small gains of a few plain passes say little: EM may be crossing a plateau. So the climb follows in any case.
        if not (first.converged or first.reason == LIMIT) or len(first.history) >= most:
            return first
        fit = self._raise(first, source, run, most - len(first.history))
        return fit._replace(history=first.history + fit.history[1:], passes=first.passes + fit.passes)

    def _raise(self, first: Fit[Params, NodeSums], source: Source, run: Run, most: int) -> Fit[Params, NodeSums]:
        """Rounds of L-BFGS, each begun by a step of EM, until their gains say that no more than `tol` is left.

        The gradient of the log posterior needs nothing but the sums of EM (Fisher's identity): it is that of the
        expected complete log posterior. A single gain of EM or of its extrapolations may be small by chance, so
        what is left is foreseen from whole rounds: their gains shrink by some rate, which sums up to the rest.
        """
        auto, goal = self.weight_prior == "auto", float(self.tol) * source.total
        params, stats, value, passes = first.params, first.stats, first.objective, 0
        last, remaining = np.inf, np.inf
        with one_blas_thread(), Monitor(run, type(self).__name__, -1.0, most + 1, may_fall=auto) as watch:
            watch.see(params, stats, value, True)
            while not watch.reason and remaining > goal:
                step = self._update(params, stats)  # re-estimates the prior, where that is asked for
                passes += 1
                moved = fold(partial(self._stats, step), source, run)
                height = self._objective(step, moved)
                if auto or height > value:
                    params, stats = step, moved
                    watch.see(params, stats, height, True)
                ascent = _Round(self, params, stats, source, run, watch, most - passes)
                if not watch.reason:
                    climb(
                        ascent.value_and_slope, ascent.origin, ascent.see, max_iter=ROUND_STEPS + 1, tol=0.0, window=1
                    )
                top, params, stats = ascent.best
                gain = abs(top - value)
                rate = float(np.clip(gain / last, LEAST_RATE, MOST_RATE)) if last > 0.0 else LEAST_RATE
                remaining, last, value, passes = gain * rate / (1.0 - rate), gain, top, passes + ascent.passes
                # On its floor the density is as high as the floor is low, and only the priors are left to gain.
                if params.psi <= params.low and gain <= FLOOR_GAIN * source.total:
                    break
        fit = watch.fit("EM, then L-BFGS")
        return fit._replace(
            passes=passes, remaining=remaining, converged=not watch.reason, reason=watch.reason or "converged"
        )

    def _steps_from(
        self, origin: Params, stats: NodeSums
    ) -> tuple[Callable[[Array], Params], Callable[[Params, NodeSums], Array]]:
        """Parameters as a vector of steps from `origin`, and the slope of the log posterior by such steps.

        A step of length one is about what the M-step would take: weights count in units of the root of their
        inverse curvature there, Phi'G Phi / s2 + prior, and the logarithm of s2 in units of its own.
        """
        root, unit, size = weight_root(origin, stats), 1.0 / np.sqrt(0.5 * max(stats.cells, 1.0)), origin.W.size

        def place(u: Array) -> Params:
            W = origin.W + root @ u[:size].reshape(origin.W.shape)
            with np.errstate(over="ignore"):
                psi = max(float(origin.psi * np.exp(unit * u[size])), origin.low)
            return origin._replace(W=W, psi=psi)

        def slope(params: Params, stats: NodeSums) -> Array:
            by_W = root.T @ weight_slopes(params, stats)
            by_log_psi = 0.5 * ((stats.xx + misfit(params.nodes, stats)) / params.psi - stats.cells)
            if params.psi <= params.low:  # nothing leads below the floor
                by_log_psi = max(by_log_psi, 0.0)
            return np.append(by_W.ravel(), unit * by_log_psi)

        return place, slope

    # rows -----------------------------------------------------------------------------------------------
    def _posterior(self, params: Params, block: Block) -> Any:
        mask = None if block.mask is None or block.mask.all() else block.mask
        share, log_density = node_responsibilities(block.x, mask, params.nodes, params.psi)
        return NodePosterior(share @ params.grid, log_density, share, params.grid)

    def _decode(self, params: Params, posterior: Any) -> Cells:
        """The nodes' cells mixed by their shares; a point of the map decodes through the functions themselves."""
        if isinstance(posterior, Posterior):
            mean = params.basis.at(posterior.mean) @ params.W
            return Cells(mean, np.zeros_like(mean), np.full_like(mean, params.psi))
        Y = params.nodes
        mean = posterior.share @ Y
        middle = Y.mean(axis=0)  # squares about it lose no digits to a far origin
        var = posterior.share @ (Y - middle) ** 2 - (mean - middle) ** 2
        return Cells(mean, np.maximum(var, 0.0), np.full_like(mean, params.psi))

    def _draw(self, params: Params, posterior: Any, rng: list[np.random.Generator]) -> Array:
        """A node, and noise."""
        label = draw_labels(posterior.share, rng)
        return params.nodes[label] + np.sqrt(params.psi) * normals(rng, params.W.shape[1])

    def _prior(self, params: Params, n: int) -> Any:
        share = np.full((n, len(params.grid)), 1.0 / len(params.grid))
        return NodePosterior(share @ params.grid, np.zeros(n), share, params.grid)

    def _axes(self, params: Params) -> Array:
        return np.eye(params.grid.shape[1])

    # public verbs over nodes ----------------------------------------------------------------------------
    def responsibilities(self, X: Any, *, run: Run | None = None) -> Array:
        """The share of each node in each row.

        Parameters
        ----------
        X : table of n rows
        run : Run, default None
            How the rows are walked.

        Returns
        -------
        array, n x K
            Rows sum to one; the nodes are `nodes_`, at `grid_` on the map.
        """
        return self._of_shares(lambda share: share, X, run)

    def mode(self, X: Any, *, run: Run | None = None) -> Array:
        """The place of the likeliest node of each row.

        Parameters
        ----------
        X : table of n rows
        run : Run, default None
            How the rows are walked.

        Returns
        -------
        array, n x n_components
        """
        return self._of_shares(lambda share: self.params_.grid[share.argmax(axis=1)], X, run)

    def label_map(self, X: Any, labels: Any, *, run: Run | None = None) -> LabelMap:
        """Labels of rows spread over the nodes by their shares of these rows.

        Parameters
        ----------
        X : table of n rows
        labels : sequence of n labels
            None or NaN where a label is not known.
        run : Run, default None
            How the rows are walked.

        Returns
        -------
        LabelMap
            `labels` (C), `share` (K x C), `rows` (K) and `likeliest` (K).
        """
        source, p, frame = self.arrange(X), self._over_nodes(self.params_), self.frame_
        names, codes = encode_labels(labels)
        if len(codes) != source.n or not len(names):
            raise error("LD296", what="labels", got=len(codes) if len(names) else 0, want=source.n)
        sums = np.zeros((len(p.grid), len(names)))
        for _, part in walk(partial(_label_sums, self, p, frame, codes, len(names)), source, run or Run()):
            sums += part
        rows = sums.sum(axis=1)
        share = sums / np.where(rows > 0, rows, 1.0)[:, None]
        return LabelMap(names, share, rows, names[share.argmax(axis=1)])

    def magnification(self, Z: Any = None) -> Array:
        """How much the map magnifies area: sqrt det(J J'), J the slopes of the cells by the place.

        Parameters
        ----------
        Z : array, m x n_components, default None
            Places on the map; None means the nodes' own.

        Returns
        -------
        array, m
            In the units the table is reported in.
        """
        W, unit = self._reported_weights()
        return self._over_map(lambda Z: magnification(self.params_.basis, W, Z, unit), Z)

    def stretch(self, Z: Any = None) -> Array:
        """How unevenly the map stretches: largest over smallest singular value of its slopes.

        Parameters
        ----------
        Z : array, m x n_components, default None
            Places on the map; None means the nodes' own.

        Returns
        -------
        array, m
            1 where all directions are stretched alike.
        """
        W, _ = self._reported_weights()
        return self._over_map(lambda Z: stretch(self.params_.basis, W, Z), Z)

    def _over_nodes(self, params: Params) -> Params:
        """Parameters by which a row's posterior is over the nodes."""
        return params

    def _of_shares(self, f: Callable[[Array], Array], X: Any, run: Run | None) -> Array:
        """A function of the nodes' shares in each row."""
        check_is_fitted(self)
        p, frame = self._over_nodes(self.params_), self.frame_
        return self._each(lambda b: f(self._posterior(p, frame.inward(b)).share), X, run=run)

    def _over_map(self, f: Callable[[Array], Array], Z: Any) -> Array:
        """A function of places, or of the nodes' own."""
        grid = self.params_.grid
        return f(grid) if Z is None else self._of_places(f, Z, grid.shape[1])

    def _reported_weights(self) -> tuple[Array, float]:
        """The weights in the units the table is reported in, but for a factor that may be huge or tiny."""
        check_is_fitted(self)
        unit = float(self.frame_.report.max())
        return self.params_.W * (self.frame_.report / unit), unit

    @property
    def n_parameters_(self) -> int:
        """The numbers fitted, as `bic` and `aic` count them; the weights' prior leaves fewer of them free."""
        check_is_fitted(self)
        return self._count_weights(self.params_) + (self.n_features_in_ if self.standardize else 1)

    def _count_weights(self, params: Params) -> int:
        """The numbers that place the nodes: as many as they have cells, at most."""
        return min(self._pack(params).size - 1, params.nodes.size)

    # what a fit leaves ----------------------------------------------------------------------------------
    def _fitted(self, fit: Fit[Params, NodeSums], frame: Frame) -> Fitted:
        p, n = fit.params, fit.stats.n
        alone = fit.stats.alone / max(n, 1.0)
        notes = [f"{alone:.0%} of the rows lie on one of the {len(p.grid)} nodes alone"]
        if len(p.grid) > n:
            notes.append(f"fewer rows ({n:g}) than nodes: those without lie where bells and prior put them")
        certificate = certify(
            fit,
            self._objective_name,
            rows=n,
            boundary=("noise_variance_",) if p.psi <= p.low * (1 + 1e-9) else (),
            notes=(*notes, inflation_note(p.inflation)),
        )
        attributes = {
            "nodes_": frame.outward(p.nodes),
            "grid_": p.grid,
            "noise_variance_": float(squared(np.array([p.psi]), float(frame.report[0]))[0]),
            "weight_prior_": p.prior * p.low / NODE_NOISE_FLOOR,
            "calibration_": p.inflation,
            "alone_": alone,
            "n_components_": p.grid.shape[1],
        }
        return Fitted(p, frame, certificate, attributes, fit.history)

    def _cost_of(self, n: int, d: int, K: int, M: int, *, passes: int, more: int, fix: str) -> Cost:
        """A fit of K nodes and M functions with so many passes a fit; `more` numbers worked on beside those of EM."""
        passes = 6 + MOST_ROUNDS + (1 + MOST_ROUNDS) * passes  # with gaps so many fits
        tile, node = min(tile_rows(d), n), 2 * K * d
        work = 4 * tile * d + 4 * TILE_OF_NODES * K + 2 * node + more
        peak = walking(n, d, work, node) + 8 * (2 * d * M * M + 2 * node + MEMORY_OF_STEPS * M * d)
        axes = 8 * (3 * d * d if d <= n else 4 * n * d + 4 * n * n)
        return Cost(passes, 8 * n * d * passes, peak + axes, fix)


class _Round:
    """The log posterior as a function of steps from where a round begins; the best parameters seen, and the passes."""

    def __init__(
        self, model: NodeModel[Any], params: Any, stats: NodeSums, source: Source, run: Run, watch: Monitor, most: int
    ) -> None:
        self.model, self.source, self.run, self.watch, self.most = model, source, run, watch, most
        self.place, self.slope = model._steps_from(params, stats)
        self.origin, self.passes = np.zeros(model._pack(params).size), 0
        self.last = params, stats
        self.best = model._objective(params, stats), params, stats

    def value_and_slope(self, u: Array) -> tuple[float, Array]:
        if u.any():
            if self.passes >= self.most:
                self.watch.reason = self.watch.reason or LIMIT
                raise StopIteration
            params = self.place(u)
            self.last = params, fold(partial(self.model._stats, params), self.source, self.run)
            self.passes += 1
        value = self.model._objective(*self.last)
        if value > self.best[0]:
            self.best = value, *self.last
        return value, self.slope(*self.last)

    def see(self, u: Array, value: float) -> bool:
        """Tell the monitor of a step, which ends at the last place asked for; True stops the climb."""
        if u.any():
            self.watch.see(*self.last, value, True)
        return bool(self.watch.reason)


def encode_labels(labels: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different labels in their order, and the number of each row's; -1 where it has none (None or NaN)."""
    values = np.asarray(labels, dtype=object).ravel()
    known = np.array([label is not None and label == label for label in values], dtype=bool)
    names, which = np.unique(np.array(values[known].tolist()), return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[known] = which
    return names, codes


def _label_sums(
    model: NodeModel[Any], params: Any, frame: Frame, codes: NDArray[np.intp], count: int, block: Block
) -> Array:
    """The shares of a block's rows, node by node and label by label, K x C."""
    total = np.zeros((len(params.grid), count))
    for piece in block.tiles(TILE_OF_NODES):
        share = model._posterior(params, frame.inward(piece)).share
        total += share.T @ (codes[piece.start : piece.start + len(piece.x), None] == np.arange(count))
    return total


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
