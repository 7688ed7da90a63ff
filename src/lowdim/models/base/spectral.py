"""The second contract: maps that come from an eigenproblem over pairs of rows."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fold import Run
from lowdim.engine.plan import Cost, plan
from lowdim.math.linalg import Array
from lowdim.models.base.estimator import Absent, Estimator, Out
from lowdim.models.base.results import Certificate
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Source
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, frame_of, gather
from lowdim.text.messages import error

FILL = "fill the gaps first: ProbabilisticPCA(k).fit(X).impute(X), or  lowdim fill FILE -o FILLED"
NO_DENSITY = "a map of the rows it was made from has no density of new ones"
NO_DECODER = "it maps rows to places, and nothing leads back"


class Embedded(NamedTuple):
    """What a spectral method found: enough for new rows, the rows' own places, and how it was done."""

    params: Any  # a NamedTuple of arrays
    Z: Array  # n x q
    values: Array  # q eigenvalues, the wanted end first
    solver: str
    residual: float  # |Mv - lambda v| / |M|, at worst
    made: dict[str, Any]  # further fitted attributes
    notes: tuple[str, ...] = ()
    objective: float | None = None
    name: str = ""  # of the objective
    passes: int = 1  # over the table


class SpectralModel(Estimator):
    """A map from a similarity or a Laplacian of the rows; one eigen-solver answers for all of them.

    To write one, implement `_embed` (the table in the frame's units, or a matrix of pairs, to `Embedded`),
    `_extend` (new rows to places; a training row must land on its own place by the formula) and `_cost`.
    """

    n_components: int
    posterior = Absent("it places a row at one point", "transform, or ProbabilisticPCA for uncertainty")
    impute = Absent("gaps are refused", FILL)
    inverse_transform = Absent(NO_DECODER, "KernelPCA (pre-images), or PCA")
    reconstruct = Absent(NO_DECODER, "KernelPCA (pre-images), or PCA")
    sample = Absent(NO_DENSITY, "ProbabilisticPCA().sample; sample_field draws from the random field over these rows")
    score_samples = Absent(NO_DENSITY, "ProbabilisticPCA, or lowdim.embedding_score for a map as a whole")
    score = Absent(NO_DENSITY, "ProbabilisticPCA, or lowdim.embedding_score for a map as a whole")
    _laws_broken: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("merge_any_order", "weights_repeat_rows"), "it is solved over pairs of rows, not by sums"),
        **dict.fromkeys(("objective_never_falls", "score_is_objective", "sample_then_fit"), NO_DENSITY),
        **dict.fromkeys(("all_missing_row_gets_prior", "impute_keeps_seen"), "gaps are refused"),
        "mask_of_ones_is_no_mask": NO_DECODER,
    }

    # hooks ---------------------------------------------------------------------------------------
    def _embed(self, X: Array, run: Run) -> Embedded:
        raise NotImplementedError

    def _extend(self, params: Any, X: Array) -> Array:
        raise NotImplementedError

    def _cost(self, n: int, d: int) -> Cost:
        raise NotImplementedError

    def _check_size(self, source: Source) -> None:
        """Refuse what the table is too small for."""

    def _of_pairs(self) -> bool:
        """Whether the table is a matrix of pairs (distances, similarities, a graph) and not of cells."""
        return False

    # verbs ---------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, run: Run | None = None) -> Self:
        """Map the rows of a complete table (or of a matrix of pairs); `y` is ignored."""
        run = Run() if run is None else run
        source = self._admitted(X, run)
        frame = self._frame(source)
        return self._keep(self._found(source, frame, run), frame, source)

    def _admitted(self, X: Any, run: Run) -> Source:
        """The table as a source, once options, weights, size and memory are known to be fine."""
        self._check_options()
        source = as_source(X)
        if source.weight is not None:
            raise error("LD283", model=type(self).__name__)
        if source.n < 2:
            raise error("LD160", n=source.n, least=2)
        self._check_size(source)
        plan(type(self).__name__, self._cost(source.n, source.d), run, source.leaf)
        return source

    def _found(self, source: Source, frame: Frame, run: Run) -> Embedded:
        return self._embed(self._whole(source, frame), run)

    def _frame(self, source: Source) -> Frame:
        if self._of_pairs():
            return Frame(np.zeros(source.d), np.ones(source.d), np.ones(source.d))
        return frame_of(source.sample(FRAME_ROWS))

    def _whole(self, source: Source, frame: Frame) -> Array:
        x, mask = gather(Framed(source, frame))
        if mask is not None:
            row, j = np.argwhere(~mask)[0]
            self._refuse(int(row), source.columns[j], int((~mask).sum()))
        return x

    def _refuse(self, row: int, column: str, count: int) -> None:
        raise error(
            "LD163",
            f"row {row + 1}, column '{column}', and {count - 1} more",
            job=type(self).__name__,
            why="distances need every cell of a row, and NaN is a gap",
            fix=FILL,
        )

    def _keep(self, found: Embedded, frame: Frame, source: Source) -> Self:
        digits = float(np.clip(-np.log10(max(found.residual, 1e-16)), 0.0, 15.0))
        certificate = Certificate(
            found.solver,
            found.passes,
            found.objective,
            found.name,
            True,
            "solved",
            found.residual,
            0.0,
            1.0,
            digits,
            (),
            found.notes,
        )
        attributes = {
            "params_": found.params,
            "frame_": frame,
            "embedding_": found.Z,
            "eigenvalues_": found.values,
            "certificate_": certificate,
            "n_components_": found.Z.shape[1],
            **found.made,
        }
        self._assign(attributes, source.header)
        return self

    def transform(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """Places of rows, old or new, by one formula; for a matrix of pairs, new rows against the training rows."""
        check_is_fitted(self)
        return self._each(self._placed, X, out, run, self._axis_names)

    def _placed(self, block: Block) -> Array:
        if block.mask is not None and not block.mask.all():
            row, j = np.argwhere(~block.mask)[0]
            self._refuse(block.start + int(row), f"c{j + 1}", int((~block.mask).sum()))
        return self._extend(self.params_, self.frame_.inward(block).x)

    def fit_transform(self, X: Any, y: Any = None, **how: Any) -> Array:
        """Fit, and the places of the rows it was fitted to."""
        return self.fit(X, y, **how).embedding_

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.pairwise = self._of_pairs()
        return tags
