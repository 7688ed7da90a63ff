"""The random-field view: every spectral method is a Gaussian random field over the rows.

A mattress of n points joined by springs L in a heat bath: columns of the table are draws from N(0, K), K = L^-1.
A method that makes a Laplacian gives L, one that makes a similarity gives K; the rest follows here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from lowdim.math.eigen import largest
from lowdim.math.linalg import EPS, Array, centred, svd
from lowdim.models.base.estimator import seed_of
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Source
from lowdim.sources.views import Framed, gather
from lowdim.text.messages import error

MOST = 6000  # rows whose n x n matrices are made on demand: 0.3 GB each
SLACK = 1e-9  # of the largest eigenvalue: springs or variances smaller than this are rounding, and nothing is inverted
TIED = 1e-6  # two variances closer than this share of them have no directions of their own
FLOOR = 1e-6  # of the table's mean variance: the least noise a likelihood is stated with


class Field(NamedTuple):
    """N(0, K) on differences of rows: K's positive eigenvalues and their vectors, the constant direction put aside."""

    vectors: Array  # n x r, orthonormal, columns sum to zero
    variances: Array  # r, falling


class FieldMixin:
    """Gives a spectral method its random field; it defines `_precision` (L) or `_covariance` (K), from `params_`.

    A method that keeps neither has the field of its map, K = ZZ': with noise, probabilistic PCA seen from the rows.

    Reference: seed 002 (Lawrence), sections 5.3 and 5.7; Lawrence (2012), JMLR 13.
    """

    params_: Any
    frame_: Any
    embedding_: Array

    def _precision(self) -> Any:
        """L over the training rows, dense or sparse, symmetric, L1 = 0 or nearly; None where the method makes K."""
        return None

    def _covariance(self) -> Any:
        """K over the training rows, dense and symmetric; None where the method makes L."""
        return None

    @property
    def precision_(self) -> Any:
        """L of the mapped rows (`rows_`, where equal ones are one): as it was made, else the centred K inverted.

        A K is inverted over the directions whose variance exceeds 1e-9 of the largest; the others are rounding.
        """
        check_is_fitted(self)
        L = self._precision()
        if L is None:
            _small(len(self.embedding_))
            L = _inverse(self._field())
        return L

    @property
    def covariance_(self) -> Array:
        """K of the mapped rows (`rows_` where equal ones are one): as it was made, else the pseudo-inverse of L."""
        check_is_fitted(self)
        K = self._covariance()
        if K is None:
            _small(len(self.embedding_))
            K = _product(self._field())
        return np.asarray(K, dtype=np.float64)

    def _nodes(self) -> Any:
        """The row of L or K that each row of the table is, where equal rows are one; None where each is its own."""
        return None

    def _field(self, whole: bool = False) -> Field:
        """The field over the rows of L or K, or over the `whole` table, in which equal rows move together."""
        check_is_fitted(self)
        K, L = self._covariance(), self._precision()
        if K is None and L is None:
            return field_of_map(self.embedding_)
        field = field_of_precision(L) if K is None else field_of_covariance(K)
        nodes = self._nodes() if whole else None
        return field if nodes is None else field_of_map((field.vectors * np.sqrt(field.variances))[nodes])

    def implied_squared_distances(self) -> Array:
        """Squared distances k_ii + k_jj - 2 k_ij of the table's rows that the field expects of each column, n x n."""
        return distances_of(self._field(whole=True))

    def sample_field(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draws from the field, n x n_samples: the mattress in its heat bath, one column each."""
        if n_samples < 1:
            raise error("LD210", option="n_samples", value=n_samples, allowed="a whole number >= 1")
        field = self._field(whole=True)
        rng = np.random.default_rng([seed_of(random_state), 450])
        draws = rng.standard_normal((len(field.variances), n_samples))
        return np.asarray(field.vectors @ (np.sqrt(field.variances)[:, None] * draws))

    def field_score(self, X: Any) -> float:
        """Log density of the training table, columns centred, under N(0, s K + t I), s and t at their best.

        The temperature s and the noise t are what a method leaves open; with them maximised, methods that were given
        the same rows can be compared. `X` must be the table the map was made of.
        """
        field = self._field(whole=True)
        source: Source = as_source(X)
        if source.n != len(field.vectors):
            raise error("LD450", got=source.n, want=len(field.vectors), model=type(self).__name__)
        framed = source.d == len(self.frame_.scale)
        x, mask = gather(Framed(source, self.frame_) if framed else source)
        if mask is not None:
            raise error(
                "LD163",
                job="field_score",
                why="a column of the field needs every row",
                fix="fill the gaps first: ProbabilisticPCA(k).fit(X).impute(X)",
            )
        stretch = float(np.log(self.frame_.scale).sum()) * (source.n - 1) if framed else 0.0
        return log_density(field, x) + stretch


def field_of_precision(L: Any) -> Field:
    """The field of springs L: K = L^+ over differences; directions that no spring holds are given the largest finite
    variance, 1 / (SLACK |L|)."""
    n = L.shape[0]
    _small(n)
    A = L.toarray() if sp.issparse(L) else np.asarray(L, dtype=np.float64)
    A = centred(A)
    values, V = largest(-(A + _level(A)), n)  # rising ones of A; the constant direction is now the stiffest
    keep = slice(0, n - 1)
    springs = -values[keep]
    return Field(V[:, keep], 1.0 / np.maximum(springs, SLACK * max(float(springs.max(initial=0.0)), 1e-300)))


def field_of_covariance(K: Any) -> Field:
    """The field of covariances K, centred; eigenvalues that are negative or rounding are left out."""
    n = len(K)
    _small(n)
    values, V = largest(centred(np.asarray(K, dtype=np.float64)), n)
    keep = values > n * EPS * max(float(values.max(initial=0.0)), 0.0)
    return Field(V[:, keep], values[keep])


def field_of_map(Z: Array) -> Field:
    """The field of covariance ZZ', centred."""
    U, d, _ = svd(Z - Z.mean(axis=0))
    keep = d > len(U) * EPS * float(d.max(initial=0.0))
    return Field(U[:, keep], d[keep] ** 2)


def distances_of(field: Field) -> Array:
    """Squared distances of all rows under the field."""
    from lowdim.math.neighbors import exact_distances

    return exact_distances(field.vectors * np.sqrt(field.variances)) ** 2


def log_density(field: Field, Y: Array) -> float:
    """max over s, t of sum_j log N(y_j; 0, s K + t I), over the n-1 directions of differences."""
    n, p = Y.shape
    Y = Y - Y.mean(axis=0)
    energy = ((field.vectors.T @ Y) ** 2).sum(axis=1)
    rest = max(float((Y**2).sum() - energy.sum()), 0.0)
    spare = n - 1 - len(energy)
    a, v = np.append(energy, rest), np.append(field.variances, 0.0)
    count = np.append(np.ones(len(energy)), float(spare))
    mean = float((Y**2).sum()) / max((n - 1) * p, 1)
    if mean == 0.0:
        raise error("LD452")
    size = float(field.variances.mean()) if len(field.variances) else 1.0

    def loss(theta: Array) -> tuple[float, Array]:
        s, t = np.exp(theta[0]) / size, np.exp(theta[1])
        w = s * v + t
        slope = (count * p / w - a / w**2) / 2
        value = 0.5 * float((count * p * np.log(2 * np.pi * w)).sum() + (a / w).sum())
        return value, np.array([float((slope * s * v).sum()), float((slope * t).sum())])

    low = float(np.log(FLOOR * mean))
    starts = [(np.log(mean), low + 1.0), (np.log(mean) - 3.0, np.log(mean) - 1.0), (np.log(mean) + 3.0, low)]
    bounds = [(np.log(mean) - 60.0, np.log(mean) + 60.0), (low, np.log(mean) + 5.0)]
    found = [minimize(loss, np.array(start), jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    return -float(min(one.fun for one in found))


def _level(A: Array) -> float:
    """Added to every cell, it makes the constant direction stiffer than any other."""
    return 2.0 * float(np.abs(A).sum(axis=1).max(initial=0.0)) / max(len(A), 1) + 1e-300


def _inverse(field: Field) -> Array:
    """K^+ over the directions whose variance is more than rounding; what is tied to one put aside is put aside too.

    An eigenpair is known to eps |K|, so 1 / lambda of a variance near eps |K| would be made of rounding: which
    directions count must not hang on it.
    """
    v = field.variances
    count = int((v > SLACK * v.max(initial=0.0)).sum())
    while 0 < count < len(v) and v[count] >= (1.0 - TIED) * v[count - 1]:
        count -= 1
    V = field.vectors[:, :count]
    return np.asarray((V / v[:count]) @ V.T)


def _product(field: Field) -> Array:
    return np.asarray((field.vectors * field.variances) @ field.vectors.T)


def _small(n: int) -> None:
    if n > MOST:
        raise error("LD451", n=n, most=MOST)
