"""Models whose latent place is one of a finite set of nodes: what a GTM and a density network share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import LIMIT, Fit, em
from lowdim.engine.fold import Run, walk
from lowdim.engine.plan import Cost, kept_blocks, walking
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import MOST_ROUNDS, held_out_fits, inflation_note
from lowdim.models.base.estimator import Rule, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, certify, draw_labels, em_digits, squared
from lowdim.models.base.survey import TableSurvey, survey_for_fit
from lowdim.models.nonlinear.node_em import (
    NODE_NOISE_FLOOR,
    NodePosterior,
    NodeSums,
    Params,
    node_responsibilities,
    relative_likelihoods,
)
from lowdim.models.nonlinear.rbf_grid import magnification, stretch
from lowdim.sources.source import Block, Header, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

TILE_OF_NODES = 128  # rows worked on at a time: their responsibilities stay in the cache (docs/measurements.md)
ALONE_SHARE = 0.95  # a row is held by a single node where that has this share of it
PLAIN_PASSES = 32  # before the first extrapolation: from far away it leaps into worse valleys
WEIGHT_PRIOR = Rule(lambda v: v == "auto" or (not isinstance(v, str) and 0 <= v < np.inf), "a number >= 0, or 'auto'")


class LabelMap(NamedTuple):
    """Labels on the map: node by node, as the rows it is responsible for are labelled."""

    labels: NDArray[Any]  # C, in their order
    share: Array  # K x C: of the rows of a node, how many have each label; a node without rows shows all rows
    rows: Array  # K: how many labelled rows each node holds
    likeliest: NDArray[Any]  # K


class NodeModel(LatentModel, Generic[Params]):
    """A mixture of K equally likely nodes with one noise variance, the nodes at W'phi(z) for K latent places z.

    A model of this family says where it starts (`_start`), how the nodes move (`_update`) and what it costs.
    """

    _rows_to_predict = TILE_OF_NODES
    _objective_name: ClassVar[str] = "log posterior"
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": "the objective also has the weights' prior",
        "sample_then_fit": "its free parameters are not those of a Gaussian",
    }
    n_components: int
    weight_prior: float | str
    calibrate: bool
    standardize: bool
    max_iter: int
    random_state: Any

    def _start(self, survey: TableSurvey) -> Params:
        raise NotImplementedError

    def _update(self, params: Params, stats: NodeSums) -> Params:
        raise NotImplementedError

    # expectation ----------------------------------------------------------------------------------------
    def _stats(self, params: Params, block: Block) -> NodeSums:
        Y = params.nodes
        K, d = Y.shape
        sums = np.zeros((K, d + 1 if block.mask is None else 2 * d))  # RX and G
        total, alone = 0.0, 0.0
        for piece in block.tiles(TILE_OF_NODES):
            E, likelihood, log_density = relative_likelihoods(piece.x, piece.mask, Y, params.psi)
            w = np.ones(piece.rows) if piece.weight is None else piece.weight
            total += float(w @ log_density)
            alone += float(w @ (likelihood < 1.0 / ALONE_SHARE))  # the nearest node has 1 / likelihood
            scale = (w / likelihood)[:, None]
            seen = np.ones((piece.rows, sums.shape[1] - d)) if piece.mask is None else piece.mask
            sums += E.T @ np.hstack([piece.x * scale, seen * scale])
        w = np.ones(block.rows) if block.weight is None else block.weight
        count = d * block.size if block.mask is None else float(w @ block.mask.sum(axis=1))
        xx = float(w @ (block.x**2).sum(axis=1))
        return NodeSums(block.size, total, sums[:, d:], sums[:, :d], xx, count, alone)

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
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        survey = survey_for_fit(source, run, standardize=self.standardize)
        if self.n_components > source.d:
            raise error("LD200", n_components=self.n_components, most=source.d, why=f"the table has {source.d} columns")
        start = self._start(survey)
        fit = (self._calibrated if survey.gaps and self.calibrate else self._em)(start, survey, run)
        if fit.params.psi <= fit.params.low * (1 + 1e-9):
            warn("LD470", floor=fit.params.psi)
        return fit.restated(survey.log_stretch, survey.passes + survey.gathered), survey.frame

    def _em(
        self, start: Params, survey: TableSurvey, run: Run, source: Source | None = None, limit: int | None = None
    ) -> Fit:
        """Plain steps first, then extrapolated ones; steps that re-estimate the prior are never extrapolated."""
        source = survey.source if source is None else source
        if self.weight_prior == "auto":
            return em(self, start, source, run, mix=False, may_fall=True, limit=limit)
        most = int(self.max_iter) if limit is None else limit
        first = em(self, start, source, run, mix=False, limit=min(PLAIN_PASSES, most))
        if first.reason != LIMIT or most <= PLAIN_PASSES:
            return first
        fit = em(self, first.params, source, run, limit=most - PLAIN_PASSES)
        return fit._replace(history=first.history + fit.history[1:], passes=first.passes + fit.passes)

    def _calibrated(self, start: Params, survey: TableSurvey, run: Run) -> Fit:
        """Fits without some cells show how wide intervals must be; the one with all of them goes on from the first."""
        refit = partial(self._em, start, survey, run)
        first = held_out_fits(self, refit, survey, seed_of(self.random_state), run)
        begin = first.fits[0].params if first.fits else start
        return first.then(lambda most: self._em(begin, survey, run, limit=most))

    # rows -----------------------------------------------------------------------------------------------
    def _posterior(self, params: Params, block: Block) -> Any:
        mask = None if block.mask is None or block.mask.all() else block.mask
        share, log_density = node_responsibilities(block.x, mask, params.nodes, params.psi)
        return NodePosterior(share, log_density, params.grid)

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
        d = params.W.shape[1]
        label = draw_labels(posterior.share, rng)
        normal = np.array([r.standard_normal(d) for r in rng]).reshape(len(rng), d)
        return np.asarray(params.nodes[label] + np.sqrt(params.psi) * normal)

    def _redraw(self, params: Params, rng: np.random.Generator) -> Params:
        return params

    def _prior(self, params: Params, n: int) -> Any:
        K = len(params.grid)
        return NodePosterior(np.full((n, K), 1.0 / K), np.zeros(n), params.grid)

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
        values: Array = f(grid) if Z is None else self._of_places(f, Z, grid.shape[1])
        return values

    def _reported_weights(self) -> tuple[Array, float]:
        """The weights in the units the table is reported in, but for a factor that may be huge or tiny."""
        check_is_fitted(self)
        unit = float(self.frame_.report.max())
        return np.asarray(self.params_.W * (self.frame_.report / unit)), unit

    @property
    def n_parameters_(self) -> int:
        """The numbers fitted, as `bic` and `aic` count them; the weights' prior leaves fewer of them free."""
        check_is_fitted(self)
        return self._count_weights(self.params_) + (self.n_features_in_ if self.standardize else 1)

    def _count_weights(self, params: Params) -> int:
        """The numbers that place the nodes: as many as they have cells, at most."""
        return min(self._pack(params).size - 1, params.nodes.size)

    # what a fit leaves ----------------------------------------------------------------------------------
    def _attributes(self, params: Params, frame: Frame, fit: Fit) -> dict[str, Any]:
        noise = squared(np.array([params.psi]), float(frame.report[0]))
        return {
            "nodes_": frame.outward(params.nodes),
            "grid_": params.grid,
            "noise_variance_": float(noise[0]),
            "weight_prior_": params.prior * params.low / NODE_NOISE_FLOOR,
            "calibration_": params.inflation,
            "alone_": fit.stats.alone / max(fit.stats.n, 1.0),
            "n_components_": params.grid.shape[1],
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        p, alone = fit.params, fit.stats.alone / max(fit.stats.n, 1.0)
        bounded = ("noise_variance_",) if p.psi <= p.low * (1 + 1e-9) else ()
        notes = [f"{alone:.0%} of the rows lie on one of the {len(p.grid)} nodes alone"]
        if len(p.grid) > fit.stats.n:
            notes.append(f"fewer rows ({fit.stats.n:g}) than nodes: those without lie where bells and prior put them")
        notes.append(inflation_note(p.inflation))
        digits = em_digits(fit.remaining, fit.stats.n)
        return certify(fit, self._objective_name, digits=digits, boundary=bounded, notes=tuple(notes))

    def _cost_of(self, n: int, d: int, K: int, M: int, *, passes: int, more: int, fix: str, usual: int) -> Cost:
        """A fit of K nodes and M functions with so many passes a fit; `more` numbers worked on beside those of EM."""
        passes = 6 + MOST_ROUNDS + (1 + MOST_ROUNDS) * passes  # with gaps so many fits
        tile, node = min(tile_rows(d), n), 2 * K * d
        work = 4 * tile * d + 4 * TILE_OF_NODES * K + 2 * node + more
        peak = walking(n, d, work, node) + 8 * (2 * d * M * M + 2 * node)
        axes = 8 * (3 * d * d if d <= n else 4 * n * d + 4 * n * n)
        return Cost(passes, 8 * n * d * passes, peak + kept_blocks(n, d) + axes, fix, min(usual, int(self.max_iter)))


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
        total += share.T @ (codes[piece.start : piece.start + piece.rows, None] == np.arange(count))
    return total
