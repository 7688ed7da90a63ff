"""Classical multidimensional scaling: positions from distances, by one eigenproblem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from lowdim.engine.fit import Cost
from lowdim.engine.fold import Run
from lowdim.maths.eigen import Problem, solve
from lowdim.maths.linalg import EPS, Array, Index, Mask, evenly_spread, moderate_factor, sign_rule
from lowdim.maths.pairs import LARGE_NEGATIVE_SHARE, NegativeMass, centred_gram, negative_mass, to_similarities
from lowdim.models.base.options import check_components, one_of, option
from lowdim.models.base.results import product, squared
from lowdim.models.spectral.completion import Completion, TableRows, linear_completion
from lowdim.models.spectral.pair_table import check_lengths, check_pairs, check_square, known_either_way, refuse_gap
from lowdim.models.spectral.spectral_model import SpectralFit, SpectralModel
from lowdim.sources.source import Source
from lowdim.sources.views import Frame, Framed, gather
from lowdim.text.messages import error, warn

PAIR_WORDS = {"precomputed": "distances", "squared": "squared distances", "similarity": "similarities"}
VIOLATED_SHARE = 1e-9  # of the largest distance: a triangle must be violated by more than rounding
TRIANGLE_ROWS = 150  # rows whose triangles are looked at: half a million of them
LEAST_SQUARES_NOISE = 1e-9  # of the largest variance: a noise so small that places are those of least squares
PAIR_CELLS = 2**20  # of rows of distances that are compared at once, 8 MB
EQUAL_SPREAD = 1e-9  # two eigenvalues closer than this share of them are equal


class MDSParams(NamedTuple):
    """z = (row - mean) axes; rows of pairs are centred both ways, and were divided by `unit` and corrected before."""

    axes: Array  # d x q of data, n x q of pairs
    mean: Array  # of each column
    grand_mean: float  # of all similarities
    unit: float
    constant: float


class ClassicalMDS(SpectralModel):
    """Classical multidimensional scaling, or principal coordinates: positions whose distances are those given.

    With D the squared distances and H = I - 11'/n, B = -1/2 H D H = U Lambda U' and Z = U_q Lambda_q^(1/2). B has
    negative eigenvalues exactly where no positions have these distances. New rows are placed by Gower's formula, from
    their distances to the rows of the fit. As a random field over the rows (`field()`) K = ZZ'.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The largest of B, falling.
    negative_share_, n_negative_ : float, int
        Share of the spread (of |Lambda|) that is negative, and how many eigenvalues are.
    constant_ : float
        What the correction added.
    cells_inferred_, completion_ : int, Completion
        With gaps: how many cells were not seen, and the model of them. Of distances, how many pairs: each lies in the
        middle of what the triangles by other rows allow.

    References
    ----------
    W. S. Torgerson (1952), "Multidimensional scaling: I. Theory and method", Psychometrika 17, 401-419.
    J. C. Gower (1966), "Some distance properties of latent root and vector methods used in multivariate analysis",
    Biometrika 53, 325-338.
    J. C. Gower (1968), "Adding a point to vector diagrams in multivariate analysis", Biometrika 55, 582-585.

    Examples
    --------
    >>> import numpy as np
    >>> D = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    >>> Z = ClassicalMDS(2, metric="precomputed").fit_transform(D)
    >>> np.linalg.norm(Z[0] - Z[2]).round(6)
    np.float64(5.0)
    """

    _lengths = ("axes",)
    metric: str = option(
        default="euclidean",
        rule=one_of("euclidean", *PAIR_WORDS),
        words="Rows of a table (then Z are the scores of PCA, solved on the smaller side), or a matrix of distances, "
        "of squared distances, or of similarities (d_ij = k_ii + k_jj - 2 k_ij).",
    )
    correction: str | None = option(
        default=None,
        rule=one_of(None, "lingoes", "cailliez"),
        words="Adds the least constant that removes the negative eigenvalues: to the squared distances, or to the "
        "distances.",
    )
    scaling: str | None = option(
        default=None,
        rule=one_of(None, "sqrt(q/p)"),
        words="For rows of a table of p columns: places times sqrt(q/p), which makes distances a column comparable.",
    )

    def _check_options(self) -> None:
        super()._check_options()
        if self.scaling is not None and self.metric != "euclidean":
            raise error(
                "LD210",
                option="scaling",
                value=self.scaling,
                allowed="None, or metric='euclidean': p is the number of columns",
            )
        if self.correction is not None and self.metric == "similarity":
            raise error(
                "LD210",
                option="correction",
                value=self.correction,
                allowed="None, or distances: lowdim.to_squared_distances(K) with metric='squared'",
            )

    def _of_pairs(self) -> bool:
        return self.metric != "euclidean"

    def _cost_of_map(self, n: int, d: int) -> Cost:
        small = n if self._of_pairs() else min(n, d)
        copies = 5 if self._of_pairs() else 3
        peak = 8 * (copies * n * d + 3 * small * small) + (32 * n * n * (self.correction == "cailliez"))
        return Cost(
            1,
            8 * n * d,
            peak,
            "a sample of the rows, or from data KernelPCA(kernel='linear', approximation='nystroem')",
        )

    # rows of a table -----------------------------------------------------------------------------
    def _own_completion(self) -> Completion:
        """A map of a complete table places new rows by least squares on their seen cells."""
        length = np.linalg.norm(self.params_.axes, axis=0)
        length = np.where(length > 0.0, length, 1.0)
        spread = np.sqrt((self.embedding_**2).mean(axis=0)) / length
        noise = LEAST_SQUARES_NOISE * max(float((spread**2).max(initial=0.0)), np.finfo(float).tiny)
        return linear_completion(self.params_.axes / length * spread, self.params_.mean, noise)

    def _embed(self, rows: TableRows, frame: Frame, run: Run) -> SpectralFit:
        """Of Euclidean distances B = HXX'H: the scores of PCA, from the eigenvectors of the smaller side."""
        n, d = rows.mean.shape
        check_components(self.n_components, n, f"the table has {n} rows")
        mean = rows.mean.mean(axis=0)
        X = rows.mean - mean
        extra = X.mean(axis=0)  # twice: the first mean was rounded
        X -= extra
        q = min(self.n_components, n, d)
        small = X.T @ X if d <= n else X @ X.T
        if rows.var is not None and d <= n:
            small[np.diag_indices(d)] += rows.var.sum(axis=0)  # the expected scatter: means alone would be too close
        eigen = solve(Problem(small), min(q + 1, len(small)))
        V = eigen.vectors[:, :q]
        if d > n:
            V = np.linalg.qr(X.T @ V)[0]
            V = V * sign_rule(V)
        axes = np.zeros((d, self.n_components))
        axes[:, :q] = V
        values = np.maximum(_padded(eigen.values, self.n_components + 1), 0.0)
        notes = self._check_axes(values, max(n, d))
        factor = float(np.sqrt(self.n_components / d)) if self.scaling else 1.0
        params = MDSParams(axes * factor, mean + extra, 0.0, 1.0, 0.0)
        attributes = {"negative_share_": 0.0, "n_negative_": 0, "constant_": 0.0}
        values = values[: self.n_components]
        return SpectralFit(params, X @ params.axes, values, eigen.solver, eigen.residual, attributes, notes)

    # pairs of rows ---------------------------------------------------------------------------------
    def _embed_pairs(self, source: Source, frame: Frame) -> SpectralFit:
        D, inferred = self._known_pairs(*gather(Framed(source, frame)), source.columns)
        n, q = len(D), self.n_components
        check_components(q, n, f"there are {n} rows")
        # In a unit of length in which all can be squared; of squares and similarities that is the root of theirs.
        square = self.metric != "precomputed"
        length = 1.0 / moderate_factor(np.sqrt(np.abs(D)) if square else D)
        unit = length**2 if square else length
        S = (D + D.T) / (2.0 * unit)
        # Torgerson and Gower: B = -1/2 H D H; a constant, where asked, makes the distances Euclidean first.
        constant = self._constant(S)
        K = self._inner(S, constant)
        column_means = K.mean(axis=0)
        B = centred_gram(K)
        mass = negative_mass(B)
        eigen = solve(Problem(B), min(q + 1, n))
        values = _padded(eigen.values, q + 1)
        added = constant * (length**2 if self.correction == "lingoes" else length)
        notes = self._check_axes(values, n) + self._check_mass(mass, added)
        # Z = U_q Lambda_q^(1/2); new rows go by U_q Lambda_q^(-1/2).
        values = np.where(values > n * EPS * max(values[0], 0.0), values, 0.0)[:q]
        root = np.sqrt(values)
        V = np.zeros((n, q))
        V[:, : len(eigen.values)] = eigen.vectors[:, :q]
        axes = V * np.divide(length, root, out=np.zeros(q), where=root > 0.0)
        params = MDSParams(axes, column_means, float(column_means.mean()), unit, constant)
        attributes = {"negative_share_": mass.share, "n_negative_": mass.below, "constant_": added}
        if inferred:
            attributes["cells_inferred_"] = inferred
            told = f"{inferred} of {n * (n - 1) // 2} distances were inferred"
            notes += (f"{told}, each the middle of what the triangles by other rows allow",)
        values = squared(values, length)
        return SpectralFit(params, V * root * length, values, eigen.solver, eigen.residual, attributes, notes)

    def _known_pairs(self, D: Array, mask: Mask | None, names: tuple[str, ...]) -> tuple[Array, int]:
        """The pairs: those known one way taken both ways, those known neither way inferred; how many these are."""
        what, similar, inferred = PAIR_WORDS[self.metric], self.metric == "similarity", 0
        check_square(D.shape, what)
        if mask is not None:
            D = known_either_way(np.where(mask, D, np.nan))
            if not similar:
                np.fill_diagonal(D, np.nan_to_num(np.diag(D)))
            unknown = np.isnan(D)
            if similar and unknown.any():
                refuse_gap(~unknown, type(self).__name__, names)
            full = within_triangles(np.sqrt(np.maximum(D, 0.0)) if self.metric == "squared" else D)
            if np.isnan(full).any():
                i, j = np.argwhere(np.isnan(full))[0]
                problem = f"no way along known distances leads from row {i + 1} to row {j + 1}"
                raise error("LD410", f"row {i + 1}, column {j + 1}", what=what, problem=problem, case="apart")
            D, inferred = np.where(unknown, full**2 if self.metric == "squared" else full, D), int(unknown.sum()) // 2
        check_pairs(D, what, similar=similar)
        if not similar:
            warn_of_triangles(np.sqrt(np.maximum(D, 0.0)) if self.metric == "squared" else D)
        return D, inferred

    def _constant(self, S: Array) -> float:
        """What is added to every distance (or half of what to its square) between different rows."""
        if self.correction is None:
            return 0.0
        lengths = np.sqrt(S) if self.metric == "squared" else S
        rows = distinct_rows(lengths)  # rows at distance zero stay together
        different = lengths[np.ix_(rows, rows)]
        return lingoes(different) if self.correction == "lingoes" else cailliez(different)

    def _inner(self, S: Array, constant: float) -> Array:
        """-1/2 of the corrected squared distances of rows in units of `unit`, or the similarities themselves."""
        if self.metric == "similarity":
            return S
        different = S > 0.0
        if self.correction == "cailliez":
            lengths = S if self.metric == "precomputed" else np.sqrt(S)
            return np.asarray(-0.5 * (lengths + constant * different) ** 2)
        return np.asarray(-0.5 * ((S**2 if self.metric == "precomputed" else S) + 2.0 * constant * different))

    def _extend(self, params: MDSParams, X: Array) -> Array:
        if not self._of_pairs():
            return product(X - params.mean, params.axes)
        if self.metric != "similarity":
            check_lengths(X, PAIR_WORDS[self.metric])
        # Gower (1968): similarities to the rows of the fit, centred both ways as theirs were.
        K = self._inner(X / params.unit, params.constant)
        Z: Array = (K - params.mean - K.mean(axis=1)[:, None] + params.grand_mean) @ params.axes
        return Z

    # warnings and notes ----------------------------------------------------------------------------------
    def _check_axes(self, values: Array, size: int) -> tuple[str, ...]:
        """A warning where axes are missing, a note where the last is any of several; of q + 1 values."""
        first = float(max(values[0], 0.0))
        q = len(values) - 1
        real = int((values[:q] > size * EPS * first).sum()) if first > 0.0 else 0
        if real < q:
            warn("LD413", n_axes=real, n_components=q, model=type(self).__name__)
        if real == q and values[q] >= (1.0 - EQUAL_SPREAD) * values[q - 1]:
            return ("the next axis has as much spread as the last: which of them is shown is arbitrary",)
        return ()

    def _check_mass(self, mass: NegativeMass, constant: float) -> tuple[str, ...]:
        notes = [] if self.correction is None else [f"{self.correction} constant {constant:.6g}"]
        if mass.below:
            bound = "" if mass.exact else "at least "
            notes.append(f"negative eigenvalues: {bound}{mass.below}, {bound}{mass.share:.1%} of the spread")
        if mass.share > LARGE_NEGATIVE_SHARE:
            warn("LD412", share=mass.share, count=mass.below, what=PAIR_WORDS[self.metric])
        return tuple(notes)


def _padded(values: Array, k: int) -> Array:
    return np.concatenate([values, np.zeros(max(k - len(values), 0))])[:k]


def warn_of_triangles(D: Array) -> None:
    """Warn of triples of rows that break d_ij <= d_ik + d_kj: their share and the worst, of up to 150 even rows."""
    rows: Index = evenly_spread(len(D), TRIANGLE_ROWS)
    S = D[np.ix_(rows, rows)]
    m, count, worst, by_whom = len(rows), 0, 0.0, (0, 0, 0)
    least = VIOLATED_SHARE * float(S.max(initial=0.0))
    for k in range(m):
        excess = S - (S[:, k, None] + S[k])
        count += int((excess > least).sum()) // 2
        i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
        if excess[i, j] > worst:
            worst, by_whom = float(excess[i, j]), (int(rows[i]), int(rows[j]), int(rows[k]))
    if count:
        a, b, by = by_whom  # the way from a to b by this row is shorter
        warn("LD411", share=count / (m * (m - 1) * (m - 2) / 6), i=a + 1, j=b + 1, by=by + 1)


def within_triangles(D: Array) -> Array:
    """Distances in which each missing pair (NaN both ways) lies in the middle of what the other rows allow.

    By the triangle inequality |d_ik - d_jk| <= d_ij <= d_ik + d_jk for every k that is known to both; pairs that no
    row leads to wait for a round in which one does. What stays NaN is not joined by any way.

    >>> x = np.array([0.0, 1.0, 3.0, 4.0])
    >>> D = np.abs(x[:, None] - x)
    >>> D[0, 3] = D[3, 0] = np.nan
    >>> float(within_triangles(D)[0, 3])  # 3 - 1 <= d <= 1 + 3
    3.0
    """
    full = D.copy()
    while np.isnan(full).any():
        i, j = np.nonzero(np.triu(np.isnan(full)))
        low, high = np.empty(len(i)), np.empty(len(i))
        step = max(1, PAIR_CELLS // len(D))
        for start in range(0, len(i), step):
            part = slice(start, start + step)
            a, b = full[i[part]], full[j[part]]
            low[part] = np.nan_to_num(np.abs(a - b), nan=0.0).max(axis=1)
            high[part] = np.nan_to_num(a + b, nan=np.inf).min(axis=1)
        told = np.isfinite(high)
        if not told.any():
            break
        i, j, middle = i[told], j[told], 0.5 * low[told] + 0.5 * high[told]
        full[i, j] = full[j, i] = middle
    return full


def lingoes(D: Array) -> float:
    """The least c for which the squared distances d_ij^2 + 2c (i != j) are Euclidean: minus B's lowest eigenvalue.

    Reference: J. C. Lingoes (1971), "Some boundary conditions for a monotone analysis of symmetric matrices",
    Psychometrika 36, 195-203.
    """
    values = np.linalg.eigvalsh(to_similarities(D**2))
    return max(0.0, -float(values[0]))


def cailliez(D: Array) -> float:
    """The least c for which the distances d_ij + c (i != j) are Euclidean.

    The largest eigenvalue of [[0, 2 B(d^2)], [-I, -4 B(d)]], B the double centring.

    Reference: F. Cailliez (1983), "The analytical solution of the additive constant problem", Psychometrika 48,
    305-308.
    """
    n = len(D)
    zero = np.zeros((n, n))
    M = np.block([[zero, 2.0 * to_similarities(D**2)], [-np.eye(n), -4.0 * to_similarities(D)]])
    values = sl.eigvals(M, check_finite=False)
    real = values.real[np.abs(values.imag) <= 1e-7 * np.abs(values).max(initial=0.0)]
    return max(0.0, float(real.max(initial=0.0)))


def distinct_rows(D: Array) -> Index:
    """Rows that no earlier row is at distance zero from."""
    twin = np.tril(D == 0.0, -1).any(axis=1)
    return np.flatnonzero(~twin)
