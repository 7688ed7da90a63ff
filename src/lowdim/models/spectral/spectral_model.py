"""The second contract: maps that come from an eigenproblem over pairs of rows."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, plan
from lowdim.engine.fold import Run
from lowdim.maths.linalg import Array, Mask
from lowdim.maths.pairs import BLOCK_PAIRS
from lowdim.models.base.estimator import FILL_FIRST, Absent, Estimator, Out, in_kind
from lowdim.models.base.options import COUNT, option
from lowdim.models.base.results import Certificate, Fitted, in_range, squared
from lowdim.models.base.scores import neighbours_kept
from lowdim.models.spectral.completion import Completion, TableRows, complete_rows, completion_of
from lowdim.models.spectral.pair_table import refuse_gap
from lowdim.models.spectral.random_field import FieldMatrix, RandomField
from lowdim.sources.source import Block, Source
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, frame_of, gather
from lowdim.text.messages import error

NO_DENSITY = "a map of the rows it was made from has no density of new ones"
NO_DECODER = "it maps rows to places, and nothing leads back"


class SpectralFit(NamedTuple):
    """The answer of a spectral method: parameters that place new rows, the places, and how they were computed."""

    params: Any  # a NamedTuple of arrays
    Z: Array  # n x q
    values: Array  # q eigenvalues, the wanted end first
    solver: str
    residual: float  # |Mv - lambda v| / |M|, at worst
    attributes: dict[str, Any]  # further fitted attributes
    notes: tuple[str, ...] = ()
    objective: float | None = None
    objective_name: str = ""
    passes: int = 1  # over the table
    completion: Completion | None = None  # the model of unseen cells, where there were any


class SpectralModel(Estimator):
    """A map from a similarity or a Laplacian of the rows; `maths/eigen.py` has the solvers.

    To write one, implement `_embed` (rows in the frame's units to `SpectralFit`), `_extend` (new rows to places; a
    training row must land on its own place by the formula) and `_cost_of_map`; `_of_pairs` and `_embed_pairs` where it
    takes a matrix of pairs, `_field_matrix` where its random field is more than that of its map, and `_own_completion`
    where a fit to a complete table keeps what new rows with gaps can be told by.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        Places of the rows.
    cells_inferred_, completion_ : int, Completion
        With gaps, how many cells were not seen; the model of unseen cells, also of new rows.
    n_components_ : int
        Dimensions of the map.
    """

    n_components: int = option(default=2, rule=COUNT, words="Dimensions of the map, q.", kw_only=False)
    posterior = Absent("it places a row at one point", "transform, or ProbabilisticPCA for uncertainty")
    impute = Absent("a map places rows with gaps and fills none", "ProbabilisticPCA(k).fit(X).impute(X)")
    inverse_transform = Absent(NO_DECODER, "KernelPCA (pre-images), or PCA")
    reconstruct = Absent(NO_DECODER, "KernelPCA (pre-images), or PCA")
    n_parameters_ = bic = aic = Absent("a graph of the rows is no number to count", "field().score, or judge_map")
    sample = Absent(NO_DENSITY, "ProbabilisticPCA().sample; field().sample draws from the random field over these rows")
    score_samples = Absent(NO_DENSITY, "ProbabilisticPCA, or lowdim.embedding_score for a map as a whole")
    _lengths: ClassVar[tuple[str, ...]] = ()  # parameters that are lengths, where places are
    _laws_broken: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("merge_any_order", "weights_repeat_rows"), "it is solved over pairs of rows, not by sums"),
        **dict.fromkeys(("objective_never_falls", "score_is_objective", "sample_then_fit"), NO_DENSITY),
        **dict.fromkeys(("all_missing_row_gets_prior", "impute_keeps_seen"), NO_DECODER),
        "mask_of_ones_is_no_mask": NO_DECODER,
    }

    # hooks ---------------------------------------------------------------------------------------
    def _embed(self, rows: TableRows, frame: Frame, run: Run) -> SpectralFit:
        raise NotImplementedError

    def _extend(self, params: Any, X: Array) -> Array:
        raise NotImplementedError

    def _of_pairs(self) -> bool:
        """Whether the table is a matrix of pairs (distances, similarities, a graph) and not of cells."""
        return False

    def _embed_pairs(self, source: Source, frame: Frame) -> SpectralFit:
        raise NotImplementedError

    def _frame(self, source: Source) -> Frame:
        """The origin and unit in which the method works; matrices of pairs are taken as they are."""
        return plain_frame(source.d) if self._of_pairs() else frame_of(source.sample(FRAME_ROWS))

    def _in_table_units(self, fit: SpectralFit, frame: Frame, d: int) -> SpectralFit:
        """The fit with places, eigenvalues and `_lengths` in the table's own unit, where places are lengths."""
        unit = 1.0 / float(frame.scale[0])
        if not self._lengths or unit == 1.0:
            return fit
        with np.errstate(over="ignore"):
            Z = in_range(fit.Z * unit, "Places", unit)
        params = fit.params._replace(**{name: getattr(fit.params, name) * unit for name in self._lengths})
        return fit._replace(params=params, Z=Z, values=squared(fit.values, unit))

    def _field_matrix(self) -> FieldMatrix:
        """L or K over the rows that are mapped."""
        return FieldMatrix()

    def _own_completion(self) -> Completion:
        """The model of unseen cells, of what a fit to a complete table keeps."""
        raise error(
            "LD163",
            job=f"{type(self).__name__}.transform",
            why="this model was fitted to a complete table and keeps none of its rows",
            fix=FILL_FIRST,
        )

    # fitting -------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> Fitted:
        """The table read, in its frame; its gaps told; the map; and that in the table's units."""
        frame = self._frame(source)
        fit = self._embed_pairs(source, frame) if self._of_pairs() else self._embed_table(source, frame, run)
        fit = self._in_table_units(fit, frame, source.d)
        certificate = Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            fit.objective_name,
            converged=True,
            reason="solved",
            residual=fit.residual,
            digits=float(np.clip(-np.log10(max(fit.residual, 1e-16)), 0.0, 15.0)),
            notes=fit.notes,
        )
        attributes = {
            "embedding_": fit.Z,
            "eigenvalues_": fit.values,
            "n_components_": fit.Z.shape[1],
            "_completions": [] if fit.completion is None else [fit.completion],  # more may be made, see completion_
            **fit.attributes,
        }
        return Fitted(fit.params, frame, certificate, attributes)

    def _embed_table(self, source: Source, frame: Frame, run: Run) -> SpectralFit:
        """The map of a table of cells, read whole; where cells are missing, that of the rows as they are expected."""
        x, mask = gather(Framed(source, frame))
        if mask is None:
            return self._embed(TableRows(x), frame, run)
        plan(type(self).__name__, self._cost(source.n, source.d, gaps=True), run, source.leaf)
        completion = completion_of(x, mask, source.columns)
        fit = self._embed(complete_rows(completion, x, mask), frame, run)
        count = int((~mask).sum())
        note = f"{count} of {mask.size} cells were inferred, by {completion.words}"
        return fit._replace(
            attributes={"cells_inferred_": count, **fit.attributes},
            notes=(*fit.notes, note),
            completion=fit.completion or completion,
        )

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        cost = self._cost_of_map(n, d)
        more = 8 * (8 * n * d + 4 * BLOCK_PAIRS) if gaps else 0  # to tell cells, beside the map
        return cost._replace(peak=cost.peak + more)

    def _cost_of_map(self, n: int, d: int) -> Cost:
        """What the map of a complete table takes."""
        raise NotImplementedError

    @property
    def completion_(self) -> Completion:
        """The model of unseen cells: of a complete table made when first asked for, and kept."""
        check_is_fitted(self)
        if self._of_pairs():
            why = "a matrix of pairs has no cells to infer"
            raise error("LD240", model=type(self).__name__, verb="completion_", why=why, fix="fit a table of rows")
        if not self._completions:
            self._completions.append(self._own_completion())
        return self._completions[0]

    # places --------------------------------------------------------------------------------------
    def arrange(self, X: Any, *, weight: Any = None, fitted: bool = True) -> Source:
        """Rows as a source with the fitted columns in the fitted order."""
        return super().arrange(self._open(X, None, weight), fitted=fitted)

    def transform(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """Places of rows, old or new, by one formula; for a matrix of pairs, new rows against the training rows."""
        return self._each(self._place_block, X, out, run, self._axis_names)

    def _in_reach(self, block: Block, columns: tuple[str, ...]) -> Block:
        return block if self._of_pairs() else super()._in_reach(block, columns)  # pairs have a unit of their own

    def _place_block(self, block: Block) -> Array:
        """Places of a block: of whole rows by their cells, of rows with gaps by what is told of them."""
        x, mask = self.frame_.inward(block).x, block.mask
        if self._of_pairs():
            return self._extend(self.params_, self._mark_unknown(x, mask, start=block.start))
        if mask is None or mask.all():
            return self._extend(self.params_, x)
        Z, whole = np.empty((len(x), self.embedding_.shape[1])), mask.all(axis=1)
        if whole.any():
            Z[whole] = self._extend(self.params_, x[whole])
        Z[~whole] = self._place_gaps(x[~whole], mask[~whole])
        return Z

    def _place_gaps(self, x: Array, mask: Mask) -> Array:
        """Places of rows with gaps: those of their expected cells."""
        return self._extend(self.params_, complete_rows(self.completion_, x, mask).mean)

    def _mark_unknown(self, x: Array, mask: Mask | None, columns: tuple[str, ...] = (), start: int = 0) -> Array:
        """Numbers of pairs, none of which may be missing."""
        if mask is not None and not mask.all():
            refuse_gap(mask, type(self).__name__, columns, start)
        return x

    def fit_transform(self, X: Any, y: Any = None, **fit_options: Any) -> Array:
        """Fit, and the places of the rows it was fitted to."""
        return in_kind(self.fit(X, y, **fit_options).embedding_, X)

    def field(self) -> RandomField:
        """The Gaussian random field over the rows: precision, covariance, distances, draws, scores, labels spread."""
        check_is_fitted(self)
        node = vars(self).get("node_")
        return RandomField(self._field_matrix(), self.embedding_, node, self.frame_, type(self).__name__)

    def score(self, X: Any, y: Any = None) -> float:
        """The share of the ten nearest rows of each row of X that are among its ten nearest on the map; 1 is best."""
        return neighbours_kept(self, X)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._of_pairs()
        tags.input_tags.pairwise = self._of_pairs()
        return tags


def plain_frame(d: int) -> Frame:
    """The frame of a table that is taken as it is."""
    return Frame(np.zeros(d), np.ones(d), np.ones(d))
