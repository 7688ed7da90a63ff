"""The generative topographic mapping: a grid of latent points, bent through the table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.em import em
from lowdim.engine.fold import Run, fold, walk
from lowdim.engine.monitor import LIMIT, STOPPED, Fit
from lowdim.engine.plan import Cost, kept_blocks, walking
from lowdim.engine.statistics import Sum
from lowdim.math.linalg import Array
from lowdim.models.base.calibration import (
    ERROR_EDGES,
    MOST_ROUNDS,
    HeldOutCells,
    Inflation,
    count_errors,
    held_out_rounds,
    inflation_from_counts,
    inflation_note,
    split_frames,
    without_held_cells,
)
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, TRUTH, Rule, is_seed, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, draw_labels, em_digits, squared
from lowdim.models.base.survey import TableSurvey, survey_for_fit
from lowdim.models.nonlinear.gtm_em import (
    NOISE_FLOOR,
    Nodes,
    Sheet,
    SheetSums,
    bent,
    flat,
    heights,
    misfit,
    shares,
    strength,
)
from lowdim.models.nonlinear.rbf_grid import grid, magnification, spread_basis, stretch
from lowdim.sources.source import Block, Header, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

PIECE = 128  # rows worked on at a time: their responsibilities stay in the cache (spec, algorithms)
WIDTH = 1.0  # of a basis function, in spacings of the centres; 2 loses badly (spec, algorithms)
JITTER = 0.1  # of the weights' size, where a start is drawn
ALONE = 0.95  # a row is held by a single node where that has this share of it
PLAIN = 32  # passes before the first extrapolation


class LabelMap(NamedTuple):
    """Labels on the map: node by node, as the rows it is responsible for are labelled."""

    labels: NDArray[Any]  # C, in their order
    share: Array  # K x C: of the rows of a node, how many have each label; a node without rows shows all rows
    rows: Array  # K: how many labelled rows each node holds
    likeliest: NDArray[Any]  # K


class GTM(LatentModel):
    """The generative topographic mapping: a sheet of nodes bent through the table; gaps welcome.

    x = W' phi(z) + e,  z one of the K nodes of a regular grid,  e ~ N(0, s2 I), phi radial bells and a constant,
    the weights of the bells ~ N(0, v / weight_prior), v the mean variance of the columns. EM in closed form from the
    principal axes: responsibilities, then one regularised regression (one a column where cells are missing).
    `transform` gives the posterior mean place; `responsibilities`, `mode`, `magnification`, `stretch` and `label_map`
    the rest. `weight_prior="auto"` re-estimates its strength. With a `random_state` the start is the principal one
    with its weights jittered by a tenth. With gaps 5 to 15 % of the seen cells are held back in a first fit (others in
    a second, where they are few), and intervals widened until they hold (`calibration_`); the last fit has all cells.

    `grid` nodes and `basis` bells a side; `basis=(6, 1.0)` also gives the bells' width in spacings.

    Reference: Bishop, Svensen and Williams, Neural Computation 10 (1998); Lawrence seed 6.

    >>> t = np.linspace(0, 3, 60)
    >>> model = GTM(1, grid=20).fit(np.column_stack([np.cos(t), np.sin(t)]))
    >>> bool(abs(np.corrcoef(model.transform(np.column_stack([np.cos(t), np.sin(t)]))[:, 0], t)[0, 1]) > 0.99)
    True
    """

    _objective_name: ClassVar[str] = "log posterior"
    _widens: ClassVar[bool] = True
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": Rule(lambda v: v in (1, 2, 3), "1, 2 or 3"),
        "grid": COUNT,
        "basis": Rule(
            lambda v: (
                COUNT.holds(v) or (isinstance(v, tuple) and len(v) == 2 and COUNT.holds(v[0]) and POSITIVE.holds(v[1]))
            ),
            "bells a side, or (bells, width)",
        ),
        "weight_prior": Rule(
            lambda v: v == "auto" or (not isinstance(v, str) and 0 <= v < np.inf), "a number >= 0, or 'auto'"
        ),
        "standardize": TRUTH,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": Rule(is_seed, SEED_WORDS),
    }
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": "the objective also has the weights' prior",
        "sample_then_fit": "its free parameters are not those of a Gaussian",
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        grid: int = 20,
        basis: Any = 6,
        weight_prior: Any = 0.1,
        standardize: bool = False,
        tol: float = 1e-2,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
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
        found = np.zeros((K, d + 1 if block.mask is None else 2 * d))  # RX and G
        total, alone = 0.0, 0.0
        for piece in block.tiles(PIECE):
            E, sums, log_density = heights(piece.x, piece.mask, Y, params.psi)
            w = np.ones(piece.rows) if piece.weight is None else piece.weight
            total += float(w @ log_density)
            alone += float(w @ (sums < 1.0 / ALONE))  # the nearest node has 1 / sums
            each = (w / sums)[:, None]
            seen = np.ones((piece.rows, found.shape[1] - d)) if piece.mask is None else piece.mask
            found += E.T @ np.hstack([piece.x * each, seen * each])
        w = np.ones(block.rows) if block.weight is None else block.weight
        count = d * block.size if block.mask is None else float(w @ block.mask.sum(axis=1))
        xx = float(w @ (block.x**2).sum(axis=1))
        return SheetSums(block.size, total, found[:, d:], found[:, :d], xx, count, alone)

    def _objective(self, params: Sheet, stats: SheetSums) -> float:
        return stats.log_density - 0.5 * params.prior * float((params.W[:-1] ** 2).sum())

    def _update(self, params: Sheet, stats: SheetSums) -> Sheet:
        """W by a regularised regression on the nodes, then the noise variance."""
        Phi = params.basis.at(params.grid)
        ridge = np.full(Phi.shape[1], params.psi * params.prior)
        ridge[-1] = 0.0
        A = np.array([Phi.T @ (Phi * g[:, None]) for g in stats.G.T])
        W = bent(Phi, stats, A, ridge, params.W)
        left = stats.xx + misfit(Phi @ W, stats)
        psi = max(left / max(stats.cells, 1.0), params.low)
        prior = strength(A / psi, W, params) if self.weight_prior == "auto" else params.prior
        return params._replace(W=W, psi=psi, prior=prior)

    def _pack(self, params: Sheet) -> Array:
        return np.append(params.W.ravel() / np.sqrt(params.low / NOISE_FLOOR), np.log(params.psi))

    def _unpack(self, vector: Array, like: Sheet) -> Sheet:
        near = np.log(like.psi)
        psi = max(float(np.exp(np.clip(vector[-1], near - 3.0, near + 3.0))), like.low)
        return like._replace(W=vector[:-1].reshape(like.W.shape) * np.sqrt(like.low / NOISE_FLOOR), psi=psi)

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        seen = survey_for_fit(source, run, standardize=self.standardize)
        start = self._start(seen)
        fit = self._calibrated(start, seen, run) if seen.gaps and self._widens else self._em(start, seen, run)
        if fit.params.psi <= fit.params.low * (1 + 1e-9):
            warn("LD470", floor=fit.params.psi)
        return fit.restated(seen.log_stretch, seen.passes + seen.gathered), seen.frame

    def _em(
        self, start: Any, seen: TableSurvey, run: Run, source: Source | None = None, limit: int | None = None
    ) -> Fit:
        """Plain steps first: extrapolation from far away leaps into worse valleys; then extrapolated ones."""
        auto, source = self.weight_prior == "auto", seen.source if source is None else source
        if auto:
            return em(self, start, source, run, mix=False, may_fall=True, limit=limit)
        most = int(self.max_iter) if limit is None else limit
        first = em(self, start, source, run, mix=False, limit=min(PLAIN, most))
        if first.reason != LIMIT or most <= PLAIN:
            return first
        fit = em(self, first.params, source, run, limit=most - PLAIN)
        return fit._replace(history=first.history + fit.history[1:], passes=first.passes + fit.passes)

    def _calibrated(self, start: Any, seen: TableSurvey, run: Run) -> Fit:
        """Fits without some cells say how wide intervals must be; the one with all of them goes on from the first."""
        raw, frames = split_frames(seen.source)
        fits, counts = [], np.zeros(len(ERROR_EDGES) + 1)
        for held in held_out_rounds(seen.columns.seen, seed_of(self.random_state)):
            fits.append(self._em(start, seen, run, without_held_cells(seen.source, held)))
            if fits[-1].reason in STOPPED:
                break
            counts += fold(partial(self._off, fits[-1].params, held, frames), raw, run).value
        stopped = fits[-1].reason in STOPPED
        begin = fits[0].params._replace(widen=inflation_from_counts(counts))
        fit = self._em(begin, seen, run, limit=1 if stopped else None)  # 1: the statistics of all cells, and no more
        passes = fit.passes + sum(part.passes + 1 for part in fits) - stopped
        return (
            fit._replace(passes=passes, reason=fits[-1].reason, converged=False)
            if stopped
            else fit._replace(passes=passes)
        )

    def _off(self, params: Any, held: HeldOutCells, frames: tuple[Frame, ...], block: Block) -> Sum:
        """How far held-back cells lie off, in standard deviations."""
        total = Sum(np.zeros(len(ERROR_EDGES) + 1))
        for piece in block.tiles(PIECE):
            total = total.merge(count_errors(held, frames, partial(self._cells_given, params), piece))
        return total

    def _start(self, seen: TableSurvey) -> Sheet:
        """The principal axes as a flat sheet, as wide as the table is; its noise what the sheet leaves out."""
        d, L = seen.source.d, min(int(self.n_components), seen.source.d)
        if self.n_components > d:
            raise error("LD200", asked=self.n_components, most=d, why=f"the table has {d} columns")
        nodes = grid(int(self.grid), L)
        bells, width = self.basis if isinstance(self.basis, tuple) else (self.basis, WIDTH)
        basis = spread_basis(int(bells), L, float(width))
        target, values, total, low = flat(seen, nodes)
        W = np.asarray(np.linalg.lstsq(basis.at(nodes), target, rcond=None)[0], dtype=np.float64)
        if self.random_state is not None:
            rng = np.random.default_rng([seed_of(self.random_state), 71])
            W = W + JITTER * np.sqrt(total / d) * rng.standard_normal(W.shape)
        rest = (total - float(values.sum())) / max(d - L, 1)
        apart = 2.0 * np.sqrt(float(values.max(initial=0.0)) * 3.0) / max(int(self.grid) - 1, 1)  # of neighbours
        psi = max(rest, (0.5 * apart) ** 2, 1e-3 * total / d, low)
        prior = (0.1 if self.weight_prior == "auto" else float(self.weight_prior)) * NOISE_FLOOR / low
        if len(W) >= seen.columns.n:
            warn("LD476", bells=len(W) - 1, n=f"{seen.columns.n:g}", nodes=len(nodes))
        return Sheet(nodes, basis.centres, basis.width, W, psi, prior, low)

    # rows ---------------------------------------------------------------------------------------------
    def _posterior(self, params: Sheet, block: Block) -> Any:
        mask = None if block.mask is None or block.mask.all() else block.mask
        R, log_density = shares(block.x, mask, params.nodes, params.psi)
        return Nodes(R, log_density, params.grid)

    def _decode(self, params: Sheet, found: Any) -> Cells:
        return self._width(params).inflate(self._plain(params, found))

    def _width(self, params: Sheet) -> Inflation:
        return Inflation(params.widen, params.nodes.var(axis=0) + params.psi)

    def _plain(self, params: Sheet, found: Any) -> Cells:
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
        """A node, and noise; as wide about the row's mean as its intervals are."""
        d = params.W.shape[1]
        own = draw_labels(found.share, rng)
        normal = np.array([r.standard_normal(d) for r in rng]).reshape(len(rng), d)
        cells = params.nodes[own] + np.sqrt(params.psi) * normal
        return self._width(params).inflate_draw(cells, self._plain(params, found))

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

    def label_map(self, X: Any, labels: Any, *, run: Run | None = None) -> LabelMap:
        """Labels of rows (None = not known) spread over the nodes by their shares of these rows."""
        source, p, frame = self.arrange(X), self._shared(self.params_), self.frame_
        names, which = coded(labels)
        if len(which) != source.n or not len(names):
            raise error("LD296", what="labels", got=len(which) if len(names) else 0, want=source.n)
        own = partial(_label_sums, self, p, frame, which, len(names))
        found = np.zeros((len(p.grid), len(names)))
        for _, part in walk(own, source, run or Run()):
            found += part
        rows = found.sum(axis=1)
        share = found / np.where(rows > 0, rows, 1.0)[:, None]
        return LabelMap(names, share, rows, names[share.argmax(axis=1)])

    def _shared(self, params: Any) -> Any:
        """Parameters by which a row's posterior is over the nodes."""
        return params

    def _nodes(self, f: Callable[[Array], Array], X: Any, run: Run | None) -> Array:
        """A function of the nodes' shares in each row."""
        check_is_fitted(self)
        p, frame = self._shared(self.params_), self.frame_
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
        Z = self.params_.grid if Z is None else np.atleast_2d(np.asarray(Z, dtype=np.float64))
        if Z.shape[1] != self.params_.grid.shape[1]:
            raise error("LD220", got=Z.shape[1], want=self.params_.grid.shape[1], model=type(self).__name__, missing="")
        return np.asarray(Z)

    def _reported(self) -> Array:
        return np.asarray(self.params_.W * self.frame_.report)

    # what it says ---------------------------------------------------------------------------------------
    def _attributes(self, params: Sheet, frame: Frame, fit: Fit) -> dict[str, Any]:
        noise = squared(np.array([params.psi]), float(frame.report[0]))
        return {
            "nodes_": frame.outward(params.nodes),
            "grid_": params.grid,
            "noise_variance_": float(noise[0]),
            "weight_prior_": params.prior * params.low / NOISE_FLOOR,
            "calibration_": params.widen,
            "alone_": fit.stats.alone / max(fit.stats.n, 1.0),
            "n_components_": params.grid.shape[1],
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        reached = em_digits(fit.remaining, fit.stats.n)
        p, alone = fit.params, fit.stats.alone / max(fit.stats.n, 1.0)
        held = ("noise_variance_",) if p.psi <= p.low * (1 + 1e-9) else ()
        notes = [f"{alone:.0%} of the rows lie on one of the {len(p.grid)} nodes alone"]
        if len(p.grid) > fit.stats.n:
            notes.append(f"fewer rows ({fit.stats.n:g}) than nodes: those without lie where bells and prior put them")
        notes.append(inflation_note(p.widen))
        return Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            self._objective_name,
            fit.converged,
            fit.reason,
            fit.remaining,
            0.0,
            1.0,
            float(np.clip(reached, 0.0, 15.0)),
            held,
            tuple(notes),
        )

    def _cost(self, n: int, d: int) -> Cost:
        K, bells = int(self.grid) ** self.n_components, self.basis[0] if isinstance(self.basis, tuple) else self.basis
        M = int(bells) ** self.n_components + 1
        passes, tile = (
            6 + MOST_ROUNDS + (1 + MOST_ROUNDS) * self.max_iter,
            min(tile_rows(d), n),
        )  # with gaps so many fits
        node = 2 * K * d
        peak = walking(n, d, 4 * tile * d + 4 * PIECE * K + K * M + 2 * node, node) + 8 * (2 * d * M * M + 2 * node)
        wide = 8 * (3 * d * d if d <= n else 4 * n * d + 4 * n * n)
        words = "a smaller grid, or fewer columns"
        return Cost(passes, 8 * n * d * passes, peak + kept_blocks(n, d) + wide, words, min(60, self.max_iter))


class RoughSheet(GTM):
    """A sheet that other models start from: nobody asks for its intervals, so it is fitted once."""

    _widens = False


def coded(labels: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different labels in their order, and which one each row has; -1 where it has none (None or NaN)."""
    given = np.asarray(labels, dtype=object).ravel()
    known = np.array([label is not None and label == label for label in given], dtype=bool)
    names, which = np.unique(np.array(given[known].tolist()), return_inverse=True)
    out = np.full(len(given), -1, dtype=np.intp)
    out[known] = which
    return names, out


def _label_sums(model: GTM, params: Any, frame: Frame, which: NDArray[np.intp], count: int, block: Block) -> Array:
    """The shares of a block's rows, node by node and label by label, K x C."""
    total = np.zeros((len(params.grid), count))
    for piece in block.tiles(PIECE):
        share = model._posterior(params, frame.inward(piece)).share
        total += share.T @ (which[piece.start : piece.start + piece.rows, None] == np.arange(count))
    return total
