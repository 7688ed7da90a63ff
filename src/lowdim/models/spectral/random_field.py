"""The random-field view: every spectral method is a Gaussian random field over the rows.

Columns of the table are draws from N(0, K), K = L^-1: n points joined by springs of stiffness L at unit temperature.
A method that makes a Laplacian gives L, one that makes a similarity gives K; one that keeps neither has the field of
its map, K = ZZ': with noise, probabilistic PCA seen from the rows.

Reference: N. D. Lawrence (2012), "A unifying probabilistic perspective for spectral dimensionality reduction: insights
and new models", Journal of Machine Learning Research 13, 1609-1638.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from numpy.typing import NDArray
from scipy.optimize import minimize

from lowdim.maths.graph import components
from lowdim.maths.linalg import EPS, Array, Mask, largest, svd
from lowdim.maths.pairs import centred, exact_distances
from lowdim.maths.scale import moderate_factor
from lowdim.maths.seeds import RANDOM_FIELD
from lowdim.models.base.estimator import seed_of
from lowdim.models.base.results import in_range, squared
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Source
from lowdim.sources.views import Frame, Framed, gather
from lowdim.text.messages import error

MOST_FIELD_ROWS = 6000  # rows whose n x n matrices are made on demand: 0.3 GB each
SLACK = 1e-9  # of the largest eigenvalue: springs or variances smaller than this are rounding, and nothing is inverted
TIED = 1e-6  # two variances closer than this share of them have no directions of their own
LEAST_FIELD_NOISE = 1e-6  # of the table's mean variance: the least noise a likelihood is stated with


class Field(NamedTuple):
    """N(0, K) on differences of rows: K's positive eigenvalues and their vectors, the constant direction put aside."""

    vectors: Array  # n x r, orthonormal, columns sum to zero
    variances: Array  # r, falling, in units of length^2
    length: float = 1.0  # a power of two where K's own numbers would be huge or tiny


def field_of(L: Any, K: Any, Z: Array, rows: Any = None, length: float = 1.0) -> Field:
    """The field of a covariance K, else of a precision L, else of a map Z; of `rows` of it, where some are repeated.

    `length` is the unit in which K or L is stated.
    """
    if K is None and L is None:
        return field_of_map(Z)
    field = field_of_precision(L) if K is None else field_of_covariance(K)
    if rows is not None:
        field = field_of_map((field.vectors * np.sqrt(field.variances))[rows])
    return field._replace(length=field.length * length)


def field_of_precision(L: Any) -> Field:
    """The field of springs L: K = L^+ over differences.

    Directions that no spring holds are given the largest finite variance, 1 / (SLACK |L|).
    """
    n = L.shape[0]
    check_rows(n)
    A = L.toarray() if sp.issparse(L) else np.asarray(L, dtype=np.float64)
    A = centred(A)
    values, V = largest(-(A + _level(A)), n)  # rising ones of A; the constant direction is now the stiffest
    keep = slice(0, n - 1)
    springs = -values[keep]
    return Field(V[:, keep], 1.0 / np.maximum(springs, SLACK * max(float(springs.max(initial=0.0)), 1e-300)))


def field_of_covariance(K: Any) -> Field:
    """The field of covariances K, centred; eigenvalues that are negative or rounding are left out."""
    n = len(K)
    check_rows(n)
    values, V = largest(centred(np.asarray(K, dtype=np.float64)), n)
    keep = values > n * EPS * max(float(values.max(initial=0.0)), 0.0)
    return Field(V[:, keep], values[keep])


def field_of_map(Z: Array) -> Field:
    """The field of covariance ZZ', centred."""
    unit = moderate_factor(Z)
    Z = Z * unit
    U, d, _ = svd(Z - Z.mean(axis=0))
    keep = d > len(U) * EPS * float(d.max(initial=0.0))
    return Field(U[:, keep], d[keep] ** 2, 1.0 / unit)


def squared_distances_of(field: Field) -> Array:
    """Squared distances of all rows under the field."""
    return squared(exact_distances(field.vectors * np.sqrt(field.variances)) ** 2, field.length)


def draws_of(field: Field, n_samples: int, random_state: Any) -> Array:
    """Draws from the field, a column each."""
    if n_samples < 1:
        raise error("LD210", option="n_samples", value=n_samples, allowed="a whole number >= 1")
    rng = np.random.default_rng([seed_of(random_state), RANDOM_FIELD])
    draws = rng.standard_normal((len(field.variances), n_samples))
    with np.errstate(over="ignore"):
        drawn = np.asarray(field.vectors @ (np.sqrt(field.variances)[:, None] * draws)) * field.length
    return in_range(drawn, "Draws", field.length)


def table_score(field: Field, X: Any, frame: Frame, model: str) -> float:
    """`log_density` of a table of cells (in the frame's units, stated in the table's) or of a matrix of pairs."""
    source: Source = as_source(X)
    if source.n != len(field.vectors):
        raise error("LD450", got=source.n, want=len(field.vectors), model=model)
    framed = source.d == len(frame.scale)
    x, mask = gather(Framed(source, frame) if framed else source)
    seen = np.full(source.d, source.n) if mask is None else mask.sum(axis=0)
    log_stretch = float(np.log(frame.scale) @ np.maximum(seen - 1, 0)) if framed else 0.0
    return log_density(field, x, mask) + log_stretch


class Directions(NamedTuple):
    """Directions of differences between rows: variance of the field, squared length of the table, how many they are."""

    variance: Array
    energy: Array
    number: Array


def _directions(field: Field, Y: Array) -> Directions:
    """Of columns over the rows of an orthonormal field; the last are those that the field does not have."""
    n, p = Y.shape
    energy = ((field.vectors.T @ Y) ** 2).sum(axis=1)
    outside = max(float((Y**2).sum() - energy.sum()), 0.0)
    count = np.append(np.full(len(energy), float(p)), float(p * (n - 1 - len(energy))))
    return Directions(np.append(field.variances, 0.0), np.append(energy, outside), count)


def _seen_directions(field: Field, Y: Array, mask: Mask | None) -> Directions:
    """Of all columns, centred; a column with gaps has the field of its seen rows, the marginal of the whole."""
    if mask is None:
        return _directions(field, Y - Y.mean(axis=0))
    parts = []
    for pattern, columns in _patterns(mask):
        if pattern.sum() < 2:
            continue
        y = Y[np.ix_(pattern, columns)]
        A = field.vectors[pattern] * np.sqrt(field.variances)
        U, length, _ = svd(A - A.mean(axis=0))
        live = length > EPS * len(A) * length.max(initial=0.0)
        some = field._replace(vectors=U[:, live], variances=length[live] ** 2)
        parts.append(_directions(some, y - y.mean(axis=0)))
    if not parts:
        raise error("LD452")
    return Directions(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _patterns(mask: Mask) -> list[tuple[Mask, NDArray[np.intp]]]:
    """Each set of rows that some columns are seen in, and these columns."""
    patterns, which = np.unique(mask.T, axis=0, return_inverse=True)
    return [(pattern, np.flatnonzero(which.ravel() == k)) for k, pattern in enumerate(patterns)]


def log_density(field: Field, Y: Array, mask: Mask | None = None) -> float:
    """max over s, t of sum_j log N(y_j; 0, s K + t I) of the seen cells, over the directions of differences."""
    unit = moderate_factor(Y)
    v, a, count = _seen_directions(field, Y * unit, mask)
    size = float(field.variances.mean()) if len(field.variances) else 1.0
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


class SpreadLabels(NamedTuple):
    """Labels of all rows, from those of a few: classes, the share of each in every row, and the likeliest."""

    classes: Array
    shares: Array  # n x classes
    labels: Array


def spread_labels(L: Any, node: Any, labels: Any, model: str) -> SpreadLabels:
    """Harmonic functions on the springs L; `node` is the row of L of each row of the table, -1 where it has none.

    Rows that no spring leads to from a labelled one have the shares of the labelled rows.
    """
    given = np.asarray(labels, dtype=object).ravel()
    if len(given) != len(node):
        raise error("LD450", got=len(given), want=len(node), model=model)
    known = np.array([not (v is None or v != v or (not isinstance(v, str) and v == -1)) for v in given], dtype=bool)
    if not known.any():
        raise error("LD210", option="labels", value="none known", allowed="the label of at least one row")
    classes, number = np.unique(np.array(list(given[known])), return_inverse=True)
    one_hot = np.eye(len(classes))[number]
    rates, m = one_hot.mean(axis=0), L.shape[0]
    total, count, at = np.zeros((m, len(classes))), np.zeros(m), node[known]
    np.add.at(total, at[at >= 0], one_hot[at >= 0])  # equal rows are one: their labels are averaged
    np.add.at(count, at[at >= 0], 1.0)
    F = np.tile(rates, (m, 1))
    fixed = count > 0
    F[fixed] = total[fixed] / count[fixed, None]
    F = _harmonic(sp.csr_array(L), fixed, F)
    shares = np.where((node >= 0)[:, None], F[np.maximum(node, 0)], rates)
    shares[np.flatnonzero(known)[at < 0]] = one_hot[at < 0]
    return SpreadLabels(classes, shares, classes[shares.argmax(axis=1)])


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


def _level(A: Array) -> float:
    """Added to every cell, it makes the constant direction stiffer than any other."""
    return 2.0 * float(np.abs(A).sum(axis=1).max(initial=0.0)) / max(len(A), 1) + 1e-300


def inverse_of(field: Field) -> Array:
    """K^+ over the directions whose variance is more than rounding; what is tied to one put aside is put aside too.

    An eigenpair is known to eps |K|, so 1 / lambda of a variance near eps |K| would be made of rounding: which
    directions count must not hang on it.
    """
    check_rows(len(field.vectors))
    v = field.variances
    count = int((v > SLACK * v.max(initial=0.0)).sum())
    while 0 < count < len(v) and v[count] >= (1.0 - TIED) * v[count - 1]:
        count -= 1
    V = field.vectors[:, :count]
    return squared(np.asarray((V / v[:count]) @ V.T), 1.0 / field.length)


def covariance_of(field: Field) -> Array:
    """K over the directions of the field."""
    check_rows(len(field.vectors))
    return squared(np.asarray((field.vectors * field.variances) @ field.vectors.T), field.length)


def check_rows(n: int) -> None:
    """Refuse tables whose n x n matrices would be too large to make on demand."""
    if n > MOST_FIELD_ROWS:
        raise error("LD451", n=n, most=MOST_FIELD_ROWS)
