"""K-medoids: clusters around rows of the table, for any dissimilarity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import ClusterMixin

from lowdim.engine.fit import Cost
from lowdim.engine.fold import Run
from lowdim.maths.linalg import Array, Index
from lowdim.models.base.estimator import Absent, WeightedEstimator
from lowdim.models.base.options import COUNT, Rule, option
from lowdim.models.base.results import Certificate, Fitted
from lowdim.models.mixtures.kmeans import check_clusters
from lowdim.models.spectral.completion import Completion, complete_rows, completion_of
from lowdim.models.spectral.pair_table import refuse_gap
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Source
from lowdim.sources.views import Frame, gather
from lowdim.text.messages import error

EXPECTED = ("euclidean", "sqeuclidean")  # metrics whose expectation is known where cells are not
UNKNOWN_PAIR = "a dissimilarity that is not known cannot be guessed"
ROWS_WITH_GAPS = "the rows themselves, gaps and all, with metric='euclidean'"
SWAP_ROUNDING = 1e-12  # a swap must gain more than this share of the cost, or rounding could swap for ever
NO_ROW_DENSITY, NO_MEAN = "clusters around rows have no density", "a medoid is a row, not a mean"
DISSIMILARITY = Rule(
    lambda v: isinstance(v, str) or callable(v),
    "'precomputed', the name of a scipy.spatial.distance metric, or a function of two rows",
)


class KMedoidsParams(NamedTuple):
    """The rows that are medoids: where they were, and what was in them."""

    row: NDArray[np.int64]
    cells: Array


class KMedoids(ClusterMixin, WeightedEstimator):
    """K-medoids: K rows m_k that make sum_i min_k V(x_i, m_k) small, for any dissimilarity V.

    Partitioning around medoids: greedy build, then swaps of a medoid with any other row while one lowers the
    sum; the end is a local optimum under all K (n - K) swaps. All swaps of a row are weighed at once from each
    row's nearest and second nearest medoid. The table of n x n dissimilarities is held in memory. It is no latent
    variable model: rows have labels, but neither positions nor densities.

    Attributes
    ----------
    medoid_indices_ : array of shape (n_clusters,)
        The rows that are medoids.
    cluster_centers_ : array of shape (n_clusters, n_features)
        Their cells; not where the metric is "precomputed".
    labels_ : array of shape (n_samples,)
        The nearest medoid of each row.
    completion_, medoid_variances_ : Completion, array
        With gaps: the model of unseen cells, and the variance it leaves each medoid.
    inertia_ : float
        The sum of dissimilarities from the nearest medoids.
    n_iter_ : int
        Swaps made.
    objective_, history_, converged_, certificate_, params_, frame_
        Minus the inertia, whether no swap is left that gains, and how far to trust the fit; parameters and units.

    References
    ----------
    L. Kaufman and P. J. Rousseeuw, "Finding Groups in Data", Wiley (1990), ch. 2.
    E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering", Information Systems 101 (2021), 101804.

    Examples
    --------
    >>> model = KMedoids(2, metric="cityblock").fit([[0.0], [1.0], [2.0], [10.0], [12.0], [13.0]])
    >>> sorted(model.medoid_indices_.tolist()), model.inertia_
    ([1, 4], 5.0)
    """

    n_parameters_ = bic = aic = Absent(NO_ROW_DENSITY, "GaussianMixture")
    posterior = Absent(NO_ROW_DENSITY, "GaussianMixture")
    score_samples = Absent(NO_ROW_DENSITY, "GaussianMixture")
    sample = Absent(NO_ROW_DENSITY, "GaussianMixture")
    impute = Absent("a medoid is a row, and says nothing of the cells of others", "KMeans, which fills gaps")
    reconstruct = Absent(NO_MEAN, "cluster_centers_, or KMeans")
    inverse_transform = Absent(NO_MEAN, "cluster_centers_, or KMeans")
    _least_rows: ClassVar[int] = 1
    _laws_broken: ClassVar[dict[str, str]] = {
        "merge_any_order": "nothing is folded: the dissimilarities of all pairs are held in memory",
        "mask_of_ones_is_no_mask": "no row is reconstructed",
        **dict.fromkeys(("all_missing_row_gets_prior", "impute_keeps_seen"), NO_ROW_DENSITY),
        **dict.fromkeys(("score_is_objective", "sample_then_fit"), NO_ROW_DENSITY),
    }

    n_clusters: int = option(default=8, rule=COUNT, words="The number K of medoids.", kw_only=False)
    metric: str | Callable[..., float] = option(
        default="euclidean",
        rule=DISSIMILARITY,
        kind="str or callable",
        words='The name of a scipy.spatial.distance metric, a function of two rows, or "precomputed": X then holds the '
        "n x n dissimilarities. With gaps Euclidean dissimilarities are the expected ones, others those of expected "
        "cells.",
    )
    max_iter: int = option(default=300, rule=COUNT, words="The most swaps.")

    def _fit(self, source: Source, run: Run) -> Fitted:
        check_clusters(source, self.n_clusters)
        completion, rows, var = self._rows(source, None)
        D = self._dissimilarity(rows, rows, var, var)
        if D.shape[0] != D.shape[1]:
            raise error("LD263", problem=f"it is {D.shape[0]} x {D.shape[1]}, not square")
        w = np.ones(source.n) if source.weight is None else source.weight
        # Partitioning around medoids: a greedy choice of K rows, then swaps of a medoid and another row that gain.
        medoids, swaps, converged = swap(D, w, build(D, w, self.n_clusters), self.max_iter)
        near, d = D[:, medoids], source.d
        inertia = float(w @ near.min(axis=1))
        params = KMedoidsParams(medoids.astype(np.int64), rows[medoids])
        attributes: dict[str, Any] = {
            "medoid_indices_": params.row,
            "labels_": near.argmin(axis=1),
            "inertia_": inertia,
            "n_iter_": swaps,
        }
        notes: tuple[str, ...] = ()
        if completion is not None:
            attributes |= {"completion_": completion, "medoid_variances_": var[medoids]}
            notes = (f"unseen cells were inferred, by {completion.words}",)
        if not self._of_pairs():
            attributes["cluster_centers_"] = params.cells
        certificate = Certificate(
            solver=f"partitioning around medoids, {swaps} swaps",
            passes=1,
            objective=-inertia,
            objective_name="minus the inertia",
            converged=converged,
            reason="no swap is left that gains" if converged else f"the limit of {self.max_iter} swaps was reached",
            notes=notes,
        )
        frame = Frame(np.zeros(d), np.ones(d), np.ones(d))
        return Fitted(params, frame, certificate, attributes, (-inertia,))

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        return Cost(1, 8 * n * d, 8 * (3 * n * n + n * d), "a sample of rows, or KMeans, which streams")

    def _of_pairs(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _rows(self, source: Source, completion: Completion | None) -> tuple[Completion | None, Array, Array]:
        """Rows with their expected cells and the variance that gaps leave each, 0 of a complete one."""
        x, mask = gather(source)
        if mask is None:
            return None, x, np.zeros(len(x))
        if self._of_pairs():
            refuse_gap(mask, "KMedoids", source.columns, why=UNKNOWN_PAIR, fix=ROWS_WITH_GAPS)
        completion = completion_of(x, mask, source.columns) if completion is None else completion
        completed = complete_rows(completion, x, mask)
        return completion, completed.mean, completed.open

    def _dissimilarity(self, rows: Array, others: Array, var: Array, other_var: Array) -> Array:
        """Dissimilarities; Euclidean ones of rows with gaps are expected, others those of the expected cells."""
        if self._of_pairs():
            D = rows
        elif isinstance(self.metric, str) and self.metric in EXPECTED and (var.any() or other_var.any()):
            square = cdist(rows, others, "sqeuclidean") + var[:, None] + other_var
            if rows is others:
                np.fill_diagonal(square, 0.0)
            D = np.sqrt(square) if self.metric == "euclidean" else square
        else:
            try:
                D = np.asarray(cdist(rows, others, self.metric), dtype=np.float64)
            except ValueError as problem:
                raise error("LD210", option="metric", value=self.metric, allowed=DISSIMILARITY.words) from problem
        if not np.isfinite(D).all() or (D < 0).any():
            raise error("LD263", problem="it holds numbers that are negative or not finite")
        return D

    def transform(self, X: Any) -> Array:
        """Dissimilarity of each row from each medoid; with "precomputed", rows hold those from all fitted rows."""
        source = self.arrange(X)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        made = vars(self).get("completion_")
        _, rows, var = self._rows(source, made)
        if self._of_pairs():
            return self._dissimilarity(rows, rows, var, var)[:, self.medoid_indices_]
        medoid_var = np.zeros(len(self.medoid_indices_)) if made is None else self.medoid_variances_
        return self._dissimilarity(rows, self.cluster_centers_, var, medoid_var)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The nearest medoid of each row."""
        return np.asarray(self.transform(X).argmin(axis=1), dtype=np.int64)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Minus the sum of dissimilarities from the nearest medoids."""
        source = as_source(X, weight=sample_weight)
        near = self.transform(source).min(axis=1)
        return -float(near.sum() if source.weight is None else source.weight @ near)

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._of_pairs()
        tags.input_tags.pairwise = self._of_pairs()
        return tags


def build(D: Array, w: Array, K: int) -> Index:
    """K medoids one after the other, each the row that lowers the sum most; rows that count for nothing are none.

    BUILD of Kaufman and Rousseeuw (1990), section 2.4.1.
    """
    near = np.full(len(D), np.inf)
    chosen: list[int] = []
    for _ in range(K):
        # What the sum of dissimilarities would be if this row were the next medoid.
        cost = w @ np.minimum(near[:, None], D) if chosen else w @ D
        cost[(w == 0) | np.isin(np.arange(len(D)), chosen)] = np.inf
        chosen.append(int(cost.argmin()))
        near = np.minimum(near, D[:, chosen[-1]])
    return np.array(chosen, dtype=np.intp)


def swap(D: Array, w: Array, medoids: Index, most: int) -> tuple[Index, int, bool]:
    """Swaps while one lowers the sum; the medoids, how many there were, and whether none is left.

    SWAP of the same section, all swaps weighed at once as Schubert and Rousseeuw (2021) do.
    """
    medoids = medoids.copy()
    for swaps in range(most):
        near = D[:, medoids]
        gain = _gains(D, w, near)
        gain[:, medoids] = -np.inf  # a row cannot be a medoid twice, and one that counts for nothing not at all
        gain[:, w == 0] = -np.inf
        # The best of all K (n - K) swaps, until none gains more than rounding.
        k, row = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[k, row] <= SWAP_ROUNDING * float(w @ near.min(axis=1)):
            return medoids, swaps, True
        medoids[k] = row
    return medoids, most, False


def _gains(D: Array, w: Array, near: Array) -> Array:
    """K x n: by how much the sum falls if medoid k makes room for row j.

    A row i with nearest n_i and second nearest s_i gains max(n_i - D_ij, 0) from j whatever goes; where its own
    medoid goes, it pays min(D_ij, s_i) - n_i instead.
    """
    K = near.shape[1]
    label = near.argmin(axis=1)
    order = np.partition(near, 1, axis=1)[:, :2] if K > 1 else np.column_stack([near, np.full(len(near), np.inf)])
    first, second = order[:, 0], order[:, 1]
    gain = np.maximum(first[:, None] - D, 0.0)
    lost = (first[:, None] - np.minimum(D, second[:, None])) - gain  # what changes where the row's medoid goes
    gain *= w[:, None]
    lost *= w[:, None]
    out = np.broadcast_to(gain.sum(axis=0), (K, len(D))).copy()
    for k in range(K):
        out[k] += lost[label == k].sum(axis=0)
    return out
