"""The second contract: maps that come from an eigenproblem over pairs of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fold import Run
from lowdim.engine.plan import Cost, plan
from lowdim.maths.linalg import Array, Mask
from lowdim.maths.pairs import BLOCK_PAIRS, Fault
from lowdim.models.base.estimator import FILL_FIRST, Absent, Estimator, Out, in_kind
from lowdim.models.base.results import Certificate, in_range, squared
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, frame_of, gather
from lowdim.text.messages import error

NO_DENSITY = "a map of the rows it was made from has no density of new ones"
PAIRS_WITH_GAPS = (
    "ClassicalMDS fits distances with missing pairs:  lowdim fit FILE -m mds --distances; or leave rows out"
)
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


class GapsFound(Exception):  # noqa: N818
    """A table that was read as complete has gaps: its cells, in the frame's units, and which of them were seen."""

    def __init__(self, x: Array, mask: Mask) -> None:
        super().__init__("gaps")
        self.x, self.mask = x, mask


def refuse_fault(wrong: Fault | None, what: str) -> None:
    """Raise the error that names the pair at fault in a matrix of distances, weights or similarities."""
    if wrong is not None:
        where = f"row {wrong.i + 1}, column {wrong.j + 1}"
        raise error("LD410", where, what=what, problem=wrong.problem, case=wrong.case)


class SpectralModel(Estimator):
    """A map from a similarity or a Laplacian of the rows; `maths/eigen.py` has the solvers.

    To write one, implement `_embed` (a source and its frame to `SpectralFit`), `_extend` (new rows to places; a
    training row must land on its own place by the formula), `_cost`, and `_precision` or `_covariance` for its random
    field. `_of_pairs`, `_check_size`, `_frame` and `_in_table_units` have defaults.
    """

    n_components: int
    embedding_: Array
    posterior = Absent("it places a row at one point", "transform, or ProbabilisticPCA for uncertainty")
    impute = Absent("a map places rows with gaps and fills none", "ProbabilisticPCA(k).fit(X).impute(X)")
    inverse_transform = Absent(NO_DECODER, "KernelPCA (pre-images), or PCA")
    reconstruct = Absent(NO_DECODER, "KernelPCA (pre-images), or PCA")
    n_parameters_ = bic = aic = Absent("a graph of the rows is no number to count", "field_score, or judge_map")
    sample = Absent(NO_DENSITY, "ProbabilisticPCA().sample; sample_field draws from the random field over these rows")
    score_samples = Absent(NO_DENSITY, "ProbabilisticPCA, or lowdim.embedding_score for a map as a whole")
    _laws_broken: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("merge_any_order", "weights_repeat_rows"), "it is solved over pairs of rows, not by sums"),
        **dict.fromkeys(("objective_never_falls", "score_is_objective", "sample_then_fit"), NO_DENSITY),
        **dict.fromkeys(("all_missing_row_gets_prior", "impute_keeps_seen"), NO_DECODER),
        "mask_of_ones_is_no_mask": NO_DECODER,
    }

    # hooks ---------------------------------------------------------------------------------------
    def _embed(self, source: Source, frame: Frame, run: Run) -> SpectralFit:
        raise NotImplementedError

    def _extend(self, params: Any, X: Array) -> Array:
        raise NotImplementedError

    def _check_size(self, source: Source) -> None:
        """Refuse what the table is too small for."""

    def _of_pairs(self) -> bool:
        """Whether the table is a matrix of pairs (distances, similarities, a graph) and not of cells."""
        return False

    def _frame(self, source: Source) -> Frame:
        """The origin and unit in which the method works; matrices of pairs are taken as they are."""
        if self._of_pairs():
            return Frame(np.zeros(source.d), np.ones(source.d), np.ones(source.d))
        return frame_of(source.sample(FRAME_ROWS))

    def _in_table_units(self, fit: SpectralFit, frame: Frame, d: int) -> SpectralFit:
        """The fit with whatever depends on the frame's unit stated in the table's."""
        return fit

    # fitting -------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, run: Run | None = None) -> Self:
        """Map the rows of a table, gaps welcome, or of a matrix of pairs; `y` is ignored."""
        run = Run() if run is None else run
        self._check_options()
        source = self._open(X)
        self._check_source(source, run)
        frame = self._frame(source)
        try:
            fit = self._embed(source, frame, run)
        except GapsFound as gaps:
            plan(type(self).__name__, self._cost_of_gaps(source.n, source.d), run, source.leaf)
            fit = self._embed_with_gaps(gaps.x, gaps.mask, frame, source.columns)
        self._store(self._in_table_units(fit, frame, source.d), frame, source.header)
        return self

    def _open(self, X: Any) -> Source:
        """A table, for `fit` or for `transform`, as a source."""
        return as_source(X)

    def _check_source(self, source: Source, run: Run) -> None:
        """Refuse weights, and tables too small for the method or too large for the memory."""
        if source.weight is not None:
            raise error("LD283", model=type(self).__name__)
        if source.n < 2:
            raise error("LD160", n=source.n, least=2)
        self._check_size(source)
        plan(type(self).__name__, self._cost(source.n, source.d), run, source.leaf)

    def _complete_cells(self, source: Source, frame: Frame) -> Array:
        """All cells of a table, in the frame's units; of a matrix of pairs none may be missing."""
        x, mask = gather(Framed(source, frame))
        if mask is not None and self._of_pairs():
            row, j = np.argwhere(~mask)[0]
            self._refuse_gap(int(row), source.columns[j], int((~mask).sum()))
        if mask is not None:
            raise GapsFound(x, mask)
        return x

    # gaps (models/spectral/completion.py) ---------------------------------------------------------------
    def _cost_of_gaps(self, n: int, d: int) -> Cost:
        """What it takes to infer cells, beside the map itself."""
        cost = self._cost(n, d)
        return cost._replace(peak=cost.peak + 8 * (8 * n * d + 4 * BLOCK_PAIRS))

    def _embed_with_gaps(self, x: Array, mask: Mask, frame: Frame, names: tuple[str, ...]) -> SpectralFit:
        """The map of rows with gaps: by the expected cells and what the seen ones leave open about them."""
        from lowdim.models.spectral.completion import complete_rows, completion_of

        completion = completion_of(x, mask, names)
        rows = complete_rows(completion, x, mask)
        fit = self._embed_completed(completion, rows, x, mask, frame)
        count = int((~mask).sum())
        attributes = {"completion_": completion, "cells_inferred_": count, **fit.attributes}
        note = f"{count} of {mask.size} cells were inferred, by {completion.words}"
        return fit._replace(attributes=attributes, notes=(*fit.notes, note))

    def _embed_completed(self, completion: Any, rows: Any, x: Array, mask: Mask, frame: Frame) -> SpectralFit:
        """The map of `rows` with expected cells; x and mask are the table they come from."""
        return self._embed(*in_units(rows.mean), Run())

    def _place_gaps(self, completion: Any, x: Array, mask: Mask) -> Array:
        """Places of rows with gaps: those of their expected cells."""
        from lowdim.models.spectral.completion import complete_rows

        return self._extend(self.params_, complete_rows(completion, x, mask).mean)

    def _kept_rows(self) -> Array:
        """Rows of a complete table that the fit keeps, in the frame's units: what new rows with gaps are told by."""
        raise error(
            "LD163",
            job=f"{type(self).__name__}.transform",
            why="this model was fitted to a complete table and keeps none of its rows",
            fix=FILL_FIRST,
        )

    def _completion(self) -> Any:
        """The model of unseen cells: that of the fit, or one made of the rows a complete fit keeps."""
        from lowdim.models.spectral.completion import completion_of

        made = vars(self).get("completion_")
        return completion_of(self._kept_rows(), None) if made is None else made

    def _refuse_gap(self, row: int, column: str, count: int) -> NoReturn:
        where = f"row {row + 1}, column '{column}', and {count - 1} more"
        why = "each row is told by its numbers with all others, and NaN is a gap"
        raise error("LD163", where, job=type(self).__name__, why=why, fix=PAIRS_WITH_GAPS)

    def _store(self, fit: SpectralFit, frame: Frame, header: Header) -> None:
        certificate = Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            fit.objective_name,
            converged=True,
            reason="solved",
            residual=fit.residual,
            orthogonality=0.0,
            condition=1.0,
            digits=float(np.clip(-np.log10(max(fit.residual, 1e-16)), 0.0, 15.0)),
            notes=fit.notes,
        )
        attributes = {
            "params_": fit.params,
            "frame_": frame,
            "embedding_": fit.Z,
            "eigenvalues_": fit.values,
            "certificate_": certificate,
            "n_components_": fit.Z.shape[1],
            **fit.attributes,
        }
        self._assign(attributes, header)

    # places --------------------------------------------------------------------------------------
    def arrange(self, X: Any) -> Source:
        """Rows as a source with the fitted columns in the fitted order."""
        check_is_fitted(self)
        return self._arranged(self._open(X))

    def transform(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """Places of rows, old or new, by one formula; for a matrix of pairs, new rows against the training rows."""
        return self._each(partial(self._place_block, cache(self._completion)), X, out, run, self._axis_names)

    def _place_block(self, completion: Callable[[], Any], block: Block) -> Array:
        """Places of a block; the `completion` is made when the first gap asks for it."""
        x, mask = self.frame_.inward(block).x, block.mask
        if mask is None or mask.all():
            return self._extend(self.params_, x)
        whole = mask.all(axis=1)
        if self._of_pairs():
            row, j = np.argwhere(~mask)[0]
            self._refuse_gap(block.start + int(row), f"c{j + 1}", int((~mask).sum()))
        Z = np.empty((len(x), self.embedding_.shape[1]))
        if whole.any():
            Z[whole] = self._extend(self.params_, x[whole])
        Z[~whole] = self._place_gaps(completion(), x[~whole], mask[~whole])
        return Z

    def fit_transform(self, X: Any, y: Any = None, **fit_options: Any) -> Array:
        """Fit, and the places of the rows it was fitted to."""
        return in_kind(self.fit(X, y, **fit_options).embedding_, X)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._of_pairs()
        tags.input_tags.pairwise = self._of_pairs()
        return tags

    # the Gaussian random field over the rows (models/spectral/random_field.py) ---------------------------
    def _precision(self) -> Any:
        """L over the training rows, dense or sparse, symmetric, L1 = 0 or nearly; None where the method makes K."""
        return None

    def _covariance(self) -> Any:
        """K over the training rows, dense and symmetric; None where the method makes L."""
        return None

    def _length(self) -> float:
        """The unit of length in which `_covariance` states K, in the table's own: where that could be huge or tiny."""
        return 1.0

    def _field_rows(self) -> Any:
        """The row of L or K that each row of the table is, where equal rows are one; None where each is its own."""
        return None

    def _field(self, all_rows: bool = False) -> Any:
        """The field over the rows of L or K, or over all rows of the table, in which equal rows move together."""
        from lowdim.models.spectral.random_field import field_of

        check_is_fitted(self)
        rows = self._field_rows() if all_rows else None
        return field_of(self._precision(), self._covariance(), self.embedding_, rows, self._length())

    @property
    def precision_(self) -> Any:
        """L of the mapped rows (`rows_`, where equal ones are one): as it was made, else the centred K inverted.

        A K is inverted over the directions whose variance exceeds 1e-9 of the largest; the others are rounding.
        """
        from lowdim.models.spectral.random_field import inverse_of

        check_is_fitted(self)
        L = self._precision()
        return inverse_of(self._field()) if L is None else L

    @property
    def covariance_(self) -> Array:
        """K of the mapped rows (`rows_` where equal ones are one): as it was made, else the pseudo-inverse of L."""
        from lowdim.models.spectral.random_field import covariance_of

        check_is_fitted(self)
        K = self._covariance()
        return covariance_of(self._field()) if K is None else squared(np.asarray(K, dtype=np.float64), self._length())

    def implied_squared_distances(self) -> Array:
        """Squared distances k_ii + k_jj - 2 k_ij of the table's rows that the field expects of each column, n x n."""
        from lowdim.models.spectral.random_field import squared_distances_of

        return squared_distances_of(self._field(all_rows=True))

    def sample_field(self, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draws from the field, n x n_samples: each column is one that a table with this field could have."""
        from lowdim.models.spectral.random_field import draws_of

        return draws_of(self._field(all_rows=True), n_samples, random_state)

    def spread_labels(self, labels: Any) -> Any:
        """Labels of a few rows, spread to the others along the field: harmonic functions, by one sparse solve.

        Each class is a column of the field that is 1 on its own rows and 0 on the rows of others; the other rows have
        the mean given these, f_u = -L_uu^-1 L_ul f_l, where every row is the weighted mean of its neighbours.

        Parameters
        ----------
        labels : array-like of shape (n,)
            The label of each row of the table; None, NaN or -1 where it is not known.

        Returns
        -------
        SpreadLabels
            `classes`, `shares` (n x classes, each row sums to one) and `labels`, the class of the largest share.

        References
        ----------
        X. Zhu, Z. Ghahramani and J. Lafferty (2003), "Semi-supervised learning using Gaussian fields and harmonic
        functions", Proceedings of the 20th International Conference on Machine Learning, 912-919.
        """
        from lowdim.models.spectral.random_field import spread_labels

        check_is_fitted(self)
        name, L = type(self).__name__, self._precision()
        if L is None:
            fix = "LaplacianEigenmaps, LocallyLinearEmbedding or MaximumEntropyUnfolding"
            raise error("LD240", model=name, verb="spread_labels", why="its field is made of covariances", fix=fix)
        node = vars(self).get("node_", np.arange(L.shape[0]))
        return spread_labels(L, np.asarray(node), labels, name)

    def score(self, X: Any, y: Any = None) -> float:
        """The share of the ten nearest rows of each row of X that are among its ten nearest on the map; 1 is best."""
        from lowdim.models.base.scores import neighbours_kept

        return neighbours_kept(self, X)

    def field_score(self, X: Any) -> float:
        """Log density of the training table, columns centred, under N(0, s K + t I), s and t at their best.

        The scale s and the noise t are what a method leaves open; with them maximised, methods that were given
        the same rows can be compared. `X` must be the table the map was made of; its seen cells count.
        """
        from lowdim.models.spectral.random_field import table_score

        return table_score(self._field(all_rows=True), X, self.frame_, type(self).__name__)


def in_units(x: Array) -> tuple[Source, Frame]:
    """Cells that are in the frame's units already, as a source and the frame that leaves them so."""
    d = x.shape[1]
    return as_source(x), Frame(np.zeros(d), np.ones(d), np.ones(d))


def lengths_in_table_units(fit: SpectralFit, frame: Frame, lengths: tuple[str, ...]) -> SpectralFit:
    """A fit of distances with places, eigenvalues and these fields of its parameters in the table's own unit."""
    unit = 1.0 / float(frame.scale[0])
    if unit == 1.0:
        return fit
    with np.errstate(over="ignore"):
        Z = in_range(fit.Z * unit, "Places", unit)
    params = fit.params._replace(**{name: getattr(fit.params, name) * unit for name in lengths})
    return fit._replace(params=params, Z=Z, values=squared(fit.values, unit))
