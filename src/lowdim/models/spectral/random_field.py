"""The random-field view: every spectral method is a Gaussian random field over the rows.

Columns of the table are draws from N(0, K), K = L^-1: n points joined by springs of stiffness L at unit temperature.
A method that makes a Laplacian gives L, one that makes a similarity gives K; one that keeps neither has the field of
its map, K = ZZ': with noise, probabilistic PCA seen from the rows.

Reference: N. D. Lawrence (2012), "A unifying probabilistic perspective for spectral dimensionality reduction: insights
and new models", Journal of Machine Learning Research 13, 1609-1638.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy.optimize import minimize

from lowdim.maths.graph import components
from lowdim.maths.linalg import EPS, Array, Index, Mask, distinct, largest, moderate_factor, svd
from lowdim.maths.pairs import centred, exact_distances
from lowdim.maths.seeds import RANDOM_FIELD
from lowdim.models.base.options import seed_of
from lowdim.models.base.results import in_range, squared
from lowdim.sources.arrays import as_source
from lowdim.sources.views import Frame, Framed, gather
from lowdim.text.messages import error

MOST_FIELD_ROWS = 6000  # rows whose n x n matrices are made on demand: 0.3 GB each
SLACK = 1e-9  # of the largest eigenvalue: springs or variances smaller than this are rounding, and nothing is inverted
TIED = 1e-6  # two variances closer than this share of them have no directions of their own
LEAST_FIELD_NOISE = 1e-6  # of the table's mean variance: the least noise a likelihood is stated with


class Modes(NamedTuple):
    """N(0, K) on differences of rows: K's positive eigenvalues and their vectors, the constant direction put aside."""

    vectors: Array  # n x r, orthonormal, columns sum to zero
    variances: Array  # r, falling, in units of length^2
    length: float = 1.0  # a power of two where K's own numbers would be huge or tiny

    @property
    def places(self) -> Array:
        """Rows whose inner products are K, in units of length."""
        return self.vectors * np.sqrt(self.variances)

    def covariance(self) -> Array:
        """K over the directions of the field."""
        check_rows(len(self.vectors))
        return squared((self.vectors * self.variances) @ self.vectors.T, self.length)

    def precision(self) -> Array:
        """K^+ over the directions whose variance is more than rounding; what is tied to one put aside is put aside too.

        An eigenpair is known to eps |K|, so 1 / lambda of a variance near eps |K| would be made of rounding: which
        directions count must not hang on it.
        """
        check_rows(len(self.vectors))
        v = self.variances
        count = int((v > SLACK * v.max(initial=0.0)).sum())
        while 0 < count < len(v) and v[count] >= (1.0 - TIED) * v[count - 1]:
            count -= 1
        V = self.vectors[:, :count]
        return squared((V / v[:count]) @ V.T, 1.0 / self.length)

    def squared_distances(self) -> Array:
        """Squared distances of all rows under the field."""
        return squared(exact_distances(self.places) ** 2, self.length)


def modes_of_precision(L: Any) -> Modes:
    """The modes of springs L: K = L^+ over differences.

    Directions that no spring holds are given the largest finite variance, 1 / (SLACK |L|).
    """
    n = L.shape[0]
    check_rows(n)
    A = centred(L.toarray() if sp.issparse(L) else np.asarray(L, dtype=np.float64))
    # Added to every cell, this makes the constant direction stiffer than any other: it comes last.
    level = 2.0 * float(np.abs(A).sum(axis=1).max(initial=0.0)) / max(n, 1) + 1e-300
    values, V = largest(-(A + level), n)
    springs = -values[: n - 1]
    least = SLACK * max(float(springs.max(initial=0.0)), 1e-300)
    return Modes(V[:, : n - 1], 1.0 / np.maximum(springs, least))


def modes_of_covariance(K: Any) -> Modes:
    """The modes of covariances K, centred; eigenvalues that are negative or rounding are left out."""
    n = len(K)
    check_rows(n)
    values, V = largest(centred(np.asarray(K, dtype=np.float64)), n)
    keep = values > n * EPS * max(float(values.max(initial=0.0)), 0.0)
    return Modes(V[:, keep], values[keep])


def modes_of_map(Z: Array) -> Modes:
    """The modes of covariance ZZ', centred."""
    scale = moderate_factor(Z)
    Z = Z * scale
    U, d, _ = svd(Z - Z.mean(axis=0))
    keep = d > len(U) * EPS * float(d.max(initial=0.0))
    return Modes(U[:, keep], d[keep] ** 2, 1.0 / scale)


class FieldMatrix(NamedTuple):
    """What a method says of its field, over the rows that it maps: L or K, or neither where it keeps its map alone."""

    precision: Any = None  # L, dense or sparse, symmetric, L1 = 0 or nearly
    covariance: Array | None = None  # K, dense and symmetric, in units of length^2
    length: float = 1.0  # in the table's own unit, where K in that could be huge or tiny
    level: float = 0.0  # variance of the constant direction, which differences do not know, in every cell of K


class RandomField:
    """The Gaussian random field N(0, K) over the rows of a fitted map: what `field()` of a spectral model gives.

    `precision` and `covariance` are of the rows that are mapped (`rows_`, where equal ones are one); distances, draws
    and scores are of all rows of the table, in which equal rows move together.
    """

    def __init__(self, matrix: FieldMatrix, Z: Array, node: Index | None, frame: Frame, model: str) -> None:
        self._matrix, self._Z, self._node, self._frame, self._model = matrix, Z, node, frame, model

    @cached_property
    def modes(self) -> Modes:
        """Eigenvalues and eigenvectors over the rows that are mapped."""
        L, K, length, _ = self._matrix
        if K is not None:
            return modes_of_covariance(K)._replace(length=length)
        return modes_of_map(self._Z) if L is None else modes_of_precision(L)

    @cached_property
    def row_modes(self) -> Modes:
        """The same over all rows of the table, where each is one that is mapped."""
        node = self._node
        if node is None or len(node) == len(self.modes.vectors) or (node < 0).any():
            return self.modes
        modes = modes_of_map(self.modes.places[node])
        return modes._replace(length=modes.length * self.modes.length)

    @property
    def precision(self) -> Any:
        """L as the method made it, perhaps sparse, else the centred K inverted.

        A K is inverted over the directions whose variance exceeds 1e-9 of the largest; the others are rounding.
        """
        return self.modes.precision() if self._matrix.precision is None else self._matrix.precision

    @property
    def covariance(self) -> Array:
        """K as the method made it, else the pseudo-inverse of L."""
        _, K, length, level = self._matrix
        return self.modes.covariance() + level if K is None else squared(K, length)

    def squared_distances(self) -> Array:
        """Squared distances k_ii + k_jj - 2 k_ij of the table's rows that the field expects of each column, n x n."""
        return self.row_modes.squared_distances()

    def sample(self, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draws from the field, n x n_samples: each column is one that a table with this field could have."""
        if n_samples < 1:
            raise error("LD210", option="n_samples", value=n_samples, allowed="a whole number >= 1")
        modes, rng = self.row_modes, np.random.default_rng([seed_of(random_state), RANDOM_FIELD])
        draws = rng.standard_normal((len(modes.variances), n_samples))
        with np.errstate(over="ignore"):
            drawn = modes.vectors @ (np.sqrt(modes.variances)[:, None] * draws) * modes.length
        return in_range(drawn, "Draws", modes.length)

    def score(self, X: Any) -> float:
        """Log density of the training table, columns centred, under N(0, s K + t I), s and t at their best.

        The scale s and the noise t are what a method leaves open; with them maximised, methods that were given
        the same rows can be compared. `X` must be the table the map was made of; its seen cells count.
        """
        source, frame, modes = as_source(X), self._frame, self.row_modes
        if source.n != len(modes.vectors):
            raise error("LD450", got=source.n, want=len(modes.vectors), model=self._model)
        framed = source.d == len(frame.scale)
        x, mask = gather(Framed(source, frame) if framed else source)
        seen = np.full(source.d, source.n) if mask is None else mask.sum(axis=0)
        log_stretch = float(np.log(frame.scale) @ np.maximum(seen - 1, 0)) if framed else 0.0
        return log_density(modes, x, mask) + log_stretch

    def spread_labels(self, labels: Any) -> SpreadLabels:
        """Labels of a few rows, spread to the others along the field: harmonic functions, by one sparse solve.

        Each class is a column of the field that is 1 on its own rows and 0 on the rows of others; the other rows have
        the mean given these, f_u = -L_uu^-1 L_ul f_l, where every row is the weighted mean of its neighbours. Rows
        that no spring leads to from a labelled one have the shares of the labelled rows.

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
        L = self._matrix.precision
        if L is None:
            fix = "LaplacianEigenmaps, LocallyLinearEmbedding or MaximumEntropyUnfolding"
            why = "its field is made of covariances"
            raise error("LD240", model=self._model, verb="field().spread_labels", why=why, fix=fix)
        node = np.arange(L.shape[0]) if self._node is None else self._node
        given = np.asarray(labels, dtype=object).ravel()
        if len(given) != len(node):
            raise error("LD450", got=len(given), want=len(node), model=self._model)
        known = np.array([not (v is None or v != v or (not isinstance(v, str) and v == -1)) for v in given], dtype=bool)
        if not known.any():
            raise error("LD210", option="labels", value="none known", allowed="the label of at least one row")
        classes, number = np.unique(np.array(list(given[known])), return_inverse=True)
        one_hot, at = np.eye(len(classes))[number], node[known]
        # Nodes with a label are held there; equal rows are one node: their labels are averaged.
        m, rates = L.shape[0], one_hot.mean(axis=0)
        total, count = np.zeros((m, len(classes))), np.zeros(m)
        np.add.at(total, at[at >= 0], one_hot[at >= 0])
        np.add.at(count, at[at >= 0], 1.0)
        fixed = count > 0
        F = np.where(fixed[:, None], total / np.maximum(count, 1.0)[:, None], rates)
        F = _harmonic(sp.csr_array(L), fixed, F)
        # Rows that are no node have the shares of all labels, or their own.
        shares = np.where((node >= 0)[:, None], F[np.maximum(node, 0)], rates)
        shares[np.flatnonzero(known)[at < 0]] = one_hot[at < 0]
        return SpreadLabels(classes, shares, classes[shares.argmax(axis=1)])


class SpreadLabels(NamedTuple):
    """Labels of all rows, from those of a few: classes, the share of each in every row, and the likeliest."""

    classes: Array
    shares: Array  # n x classes
    labels: Array


class Directions(NamedTuple):
    """Directions of differences between rows: variance of the field, squared length of the table, how many they are."""

    variance: Array
    energy: Array
    number: Array


def _directions(modes: Modes, Y: Array) -> Directions:
    """Of columns over the rows of an orthonormal field; the last are those that the field does not have."""
    n, p = Y.shape
    energy = ((modes.vectors.T @ Y) ** 2).sum(axis=1)
    outside = max(float((Y**2).sum() - energy.sum()), 0.0)
    count = np.append(np.full(len(energy), float(p)), float(p * (n - 1 - len(energy))))
    return Directions(np.append(modes.variances, 0.0), np.append(energy, outside), count)


def _seen_directions(modes: Modes, Y: Array, mask: Mask | None) -> Directions:
    """Of all columns, centred; a column with gaps has the field of its seen rows, the marginal of the whole."""
    if mask is None:
        return _directions(modes, Y - Y.mean(axis=0))
    parts = []
    first, of = distinct(np.ascontiguousarray(mask.T))  # columns with the same gaps are one pattern
    for number, column in enumerate(first):
        rows, columns = np.flatnonzero(mask[:, column]), np.flatnonzero(of == number)
        if len(rows) < 2:
            continue
        y, A = Y[np.ix_(rows, columns)], modes.places[rows]
        U, length, _ = svd(A - A.mean(axis=0))
        live = length > EPS * len(A) * length.max(initial=0.0)
        some = modes._replace(vectors=U[:, live], variances=length[live] ** 2)
        parts.append(_directions(some, y - y.mean(axis=0)))
    if not parts:
        raise error("LD452")
    return Directions(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def log_density(modes: Modes, Y: Array, mask: Mask | None = None) -> float:
    """max over s, t of sum_j log N(y_j; 0, s K + t I) of the seen cells, over the directions of differences."""
    unit = moderate_factor(Y)
    v, a, count = _seen_directions(modes, Y * unit, mask)
    size = float(modes.variances.mean()) if len(modes.variances) else 1.0
    v, total = v / size, float(count.sum())
    mean = float(a.sum()) / max(total, 1.0)
    if mean == 0.0:
        raise error("LD452")

    def loss(theta: Array) -> tuple[float, Array]:
        s, t = np.exp(theta)
        w = s * v + t
        slope = (count / w - a / w**2) / 2
        value = 0.5 * float((count * np.log(2 * np.pi * w)).sum() + (a / w).sum())
        return value, np.array([float((slope * s * v).sum()), float((slope * t).sum())])

    low = float(np.log(LEAST_FIELD_NOISE * mean))
    starts = [(np.log(mean), low + 1.0), (np.log(mean) - 3.0, np.log(mean) - 1.0), (np.log(mean) + 3.0, low)]
    bounds = [(np.log(mean) - 60.0, np.log(mean) + 60.0), (low, np.log(mean) + 5.0)]
    optima = [minimize(loss, np.array(start), jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    return float(total * np.log(unit) - min(optimum.fun for optimum in optima))


def _harmonic(L: Any, fixed: Any, F: Array) -> Array:
    """F with the rows that are not fixed solved for, where springs lead to them from a fixed one."""
    piece = components(L)[1]
    loose = np.flatnonzero(~fixed & np.isin(piece, piece[fixed]))
    if not len(loose):
        return F
    held = np.flatnonzero(fixed)
    inner, outer = sp.csc_array(L[loose][:, loose]), L[loose][:, held]
    solved = np.asarray(spl.splu(inner).solve(-(outer @ F[held]))).reshape(len(loose), -1)
    solved = np.clip(solved, 0.0, None)  # springs that push, as some of LLE do, may leave the range
    size = solved.sum(axis=1, keepdims=True)
    out = F.copy()
    out[loose] = np.where(size > 0.0, solved / np.where(size > 0.0, size, 1.0), F[loose])
    return out


def check_rows(n: int) -> None:
    """Refuse tables whose n x n matrices would be too large to make on demand."""
    if n > MOST_FIELD_ROWS:
        raise error("LD451", n=n, most=MOST_FIELD_ROWS)
