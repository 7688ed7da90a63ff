"""Kernel PCA: principal components of images in a feature space that is never written down."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fold import Run, fold, walk
from lowdim.engine.plan import Cost, walking
from lowdim.engine.statistics import moments
from lowdim.math.distances import centred_gram, fault, negative_mass
from lowdim.math.eigen import Eigen, largest
from lowdim.math.kernels import PAIRS, Kernel, median_width
from lowdim.math.linalg import EPS, Array
from lowdim.math.neighbors import squared_distances
from lowdim.models.base.estimator import COUNT, SEED_WORDS, Out, Rule, is_seed, seed_of
from lowdim.models.base.results import LARGEST
from lowdim.models.base.spectral import Embedded, SpectralModel
from lowdim.models.spectral.kernel_features import (
    Features,
    Mapped,
    by_products,
    chunked,
    fourier,
    gaussian_matrix,
    nystroem,
    similarities,
    solved,
    times,
)
from lowdim.models.spectral.mds import LARGE_SHARE
from lowdim.models.spectral.preimage import (
    Way,
    by_distances,
    fixed_point,
    gaussian,
    gaussian_distance,
    learned,
    linear_distance,
    quiet_half,
)
from lowdim.models.spectral.random_field import FieldMixin
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed
from lowdim.text.messages import error, warn

KERNELS = ("linear", "gaussian", "poly", "sigmoid", "precomputed")
METHODS = ("fixed_point", "distances", "learned")
LOOK = 200  # rows whose similarities tell a degenerate kernel
FLAT = 1e-12  # a similarity this near 0 or 1 says nothing


class KernelMap(NamedTuple):
    """z = (k(x, rows) - columns) weights, in the frame's units; Fourier: features in place of k."""

    rows: Array  # training rows, landmarks or frequencies; n x 0 of a precomputed kernel
    weights: Array
    columns: Array
    origin: Array  # the mean image as a sum of the rows' images
    gamma: float


class KernelPCA(FieldMixin, SpectralModel):
    """Principal components of the images phi(x), k(x, y) = phi(x)'phi(y).

    The centred kernel H K H = U Lambda U' gives Z = U_q Lambda_q^(1/2); `eigenvalues_` are those of H K H, not divided
    by n. A new row is placed by its centred similarities to the rows of the fit. `kernel`: "linear" (then it is PCA,
    up to signs), "gaussian" exp(-gamma |x - y|^2), "poly" (gamma x'y + constant)^degree, "sigmoid"
    tanh(gamma x'y + constant), "precomputed", or a function of two tables. gamma=None is 1 / (2 median distance^2) for
    "gaussian" and 1 / columns otherwise. For many rows, approximation="nystroem" (n_landmarks rows stand for all) or
    "fourier" (n_landmarks random features) walks the table twice and never holds n x n numbers.

    Reference: Zabaras and Kipf seeds on kernel PCA; Schoelkopf, Smola and Mueller (1998); Lawrence seed, chapter 4.

    >>> import numpy as np
    >>> t = np.linspace(0, 6.28, 40)
    >>> rings = np.vstack([np.column_stack([np.cos(t), np.sin(t)]) * r for r in (1.0, 5.0)])
    >>> model = KernelPCA(2, gamma=0.1).fit(rings)
    >>> model.transform(rings[:1]).shape, model.n_components_
    ((1, 2), 2)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "kernel": Rule(
            lambda v: callable(v) or (isinstance(v, str) and v in KERNELS),
            f"one of {', '.join(KERNELS)}, or a function k(X, Y)",
        ),
        "gamma": Rule(
            lambda v: v is None or (isinstance(v, int | float | np.number) and bool(0 <= v < np.inf)),
            "None or a number >= 0",
        ),
        "degree": Rule(lambda v: isinstance(v, int | np.integer) and bool(v >= 1), "a whole number >= 1"),
        "constant": Rule(lambda v: isinstance(v, int | float | np.number) and bool(np.isfinite(v)), "a finite number"),
        "approximation": Rule(lambda v: v in (None, "nystroem", "fourier"), "None, 'nystroem' or 'fourier'"),
        "n_landmarks": Rule(lambda v: isinstance(v, int | np.integer) and bool(v >= 2), "a whole number >= 2"),
        "random_state": Rule(is_seed, SEED_WORDS),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "gaussian",
        gamma: float | None = None,
        degree: int = 3,
        constant: float = 1.0,
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.constant = constant
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    # what was asked for ------------------------------------------------------------------------------
    def _check_options(self) -> None:
        super()._check_options()
        if self.approximation == "fourier" and self.kernel != "gaussian":
            raise error(
                "LD418",
                value="fourier",
                why="random frequencies belong to the Gaussian kernel",
                fix="approximation='nystroem', or kernel='gaussian'",
            )
        if self.approximation and self._of_pairs():
            raise error(
                "LD418",
                value=self.approximation,
                why="the matrix of pairs is there already",
                fix="approximation=None, or the rows of a table and a kernel",
            )

    def _of_pairs(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _cost(self, n: int, d: int) -> Cost:
        if self.approximation is None:
            words = f"approximation='nystroem', n_landmarks={self.n_landmarks}"
            return Cost(1, 8 * n * d, 8 * (3 * n * n + 4 * n * d), words)
        m = min(self.n_landmarks, n)
        cells = m * min(n, 4096)
        return Cost(2, 16 * n * d, walking(n, m, 3 * cells, 3 * m * m) + 8 * n * self.n_components, "fewer n_landmarks")

    def _frame(self, source: Source) -> Frame:
        if self.kernel in ("linear", "gaussian"):
            return super()._frame(source)
        return Frame(np.zeros(source.d), np.ones(source.d), np.ones(source.d))  # these kernels see the origin

    def _covariance(self) -> Any:
        p = self.params_
        if self._of_pairs() or self.approximation is not None:
            return None
        return similarities(self._kernel(p.gamma), p.rows, p.rows)

    def _kernel(self, gamma: float) -> Kernel:
        if callable(self.kernel):
            return Kernel("callable", call=self.kernel)
        return Kernel(self.kernel, gamma, self.degree, float(self.constant))

    def _width(self, sample: Array, frame: Frame) -> float:
        """gamma in the frame's units."""
        if self.gamma is None:
            return median_width(sample) if self.kernel == "gaussian" else 1.0 / max(sample.shape[1], 1)
        with np.errstate(over="ignore", under="ignore"):
            g = (
                float(np.float64(self.gamma) / frame.scale[0] / frame.scale[0])
                if self.kernel == "gaussian"
                else float(self.gamma)
            )
        return float(min(g, np.finfo(float).max))

    def _check_size(self, source: Source) -> None:
        if self.n_components > source.n:
            raise error("LD200", asked=self.n_components, most=source.n, why=f"the table has {source.n} rows")

    def _found(self, source: Source, frame: Frame, run: Run) -> Embedded:
        framed = Framed(source, frame)
        spread = self._complete(framed.sample(PAIRS), source)
        gamma = 0.0 if self._of_pairs() else self._width(spread, frame)
        if self.approximation is None:
            found = self._embed_all(self._whole(source, frame), gamma)
        else:
            found = self._embed_features(framed, gamma, spread[:: max(1, len(spread) // LOOK)], run)
        with np.errstate(over="ignore"):
            units = min(float(gamma * frame.scale[0] * frame.scale[0]), LARGEST)
        made = {} if self._of_pairs() or callable(self.kernel) else {"gamma_": units}
        return found._replace(
            made=made, notes=self._said(units) + found.notes, passes=1 if self.approximation is None else 2
        )

    def _complete(self, block: Block, source: Source) -> Array:
        if block.mask is not None:
            row, j = np.argwhere(~block.mask)[0]
            self._refuse(int(row) * max(source.n // block.rows, 1), source.columns[j], int((~block.mask).sum()))
        return block.x

    def _said(self, gamma: float) -> tuple[str, ...]:
        if self.gamma is not None or self.kernel not in ("gaussian", "poly", "sigmoid"):
            return ()
        rule = "1 / (2 median distance^2)" if self.kernel == "gaussian" else "1 / number of columns"
        return (f"gamma = {gamma:.6g}, chosen as {rule}",)

    # all pairs of rows ---------------------------------------------------------------------------------
    def _embed_all(self, X: Array, gamma: float) -> Embedded:
        n, q = len(X), self.n_components
        half = self.kernel == "gaussian" and by_products(n, q)
        K = gaussian_matrix(X, gamma, half=half) if half else self._matrix(X, gamma)
        step = max(1, n // LOOK)
        some = K[::step, ::step] if not half else similarities(self._kernel(gamma), X[::step], X[::step])
        self._check_kernel(some, X, gamma)
        notes = () if self._definite() else self._say_mass(K)
        columns, size = times(K, np.full(n, 1.0 / n), half), float(np.abs(np.diag(K)).mean())
        found = solved(K, q, half=half)  # which may centre K in place
        values, V = self._real(found, n, size)
        root = np.sqrt(values)
        weights = V * np.divide(1.0, root, out=np.zeros(q), where=root > 0.0)
        weights -= weights.mean(axis=0)  # zero but for rounding: then rows need no centring
        rows = np.zeros((n, 0)) if self._of_pairs() else X
        params = KernelMap(rows, weights, columns, np.full(n, 1.0 / n), gamma)
        return Embedded(params, V * root, values, found.solver, found.residual, {}, notes)

    def _matrix(self, X: Array, gamma: float) -> Array:
        if self.kernel == "gaussian":
            return gaussian_matrix(X, gamma)
        if self._of_pairs() and X.shape[0] != X.shape[1]:
            problem = f"it has {X.shape[0]} rows and {X.shape[1]} columns, and is not square"
            raise error("LD410", what="similarities", problem=problem)
        K = X if self._of_pairs() else similarities(self._kernel(gamma), X, X)
        if self._of_pairs() or callable(self.kernel):
            wrong = fault(K, similar=True)
            if wrong is not None:
                where = f"row {wrong.i + 1}, column {wrong.j + 1}"
                raise error("LD410", where, what="similarities", problem=wrong.problem)
        return np.asarray((K + K.T) / 2.0)

    def _check_kernel(self, S: Array, X: Array, gamma: float) -> None:
        """Say where a kernel, of which S shows a part, tells nothing."""
        between = (
            np.minimum(S, 1.0 - S).max(initial=0.0) > FLAT
            if self.kernel == "gaussian"
            else float(np.ptp(S)) > FLAT * float(np.abs(S).max(initial=0.0))
        )
        if not between and not self._of_pairs():
            alike = bool((S > 0.5).all()) or self.kernel != "gaussian"
            how = "all rows look alike" if alike else "no two different rows look alike"
            better = median_width(X) if self.kernel == "gaussian" else 1.0 / max(X.shape[1], 1)
            warn("LD414", gamma=gamma, how=how, better=better)

    def _definite(self) -> bool:
        """Whether the kernel is known to belong to a feature space."""
        return self.kernel in ("gaussian", "linear") or bool(self.kernel == "poly" and self.constant >= 0.0)

    def _say_mass(self, K: Array) -> tuple[str, ...]:
        mass = negative_mass(centred_gram(K.copy()))
        if mass.share > LARGE_SHARE:
            warn("LD412", share=mass.share, count=mass.below, what="similarities", problem="kernel")
        if not mass.below:
            return ()
        bound = "" if mass.exact else "at least "
        return (f"indefinite kernel: {bound}{mass.below} negative eigenvalues, {bound}{mass.share:.1%} of the spread",)

    def _real(self, found: Eigen, n: int, size: float) -> tuple[Array, Array]:
        """The wanted eigenpairs, those that are rounding (beside k(x, x)) or negative set to zero and said."""
        q = self.n_components
        values, V = np.zeros(q), np.zeros((len(found.vectors), q))
        k = min(q, len(found.values))
        values[:k], V[:, :k] = found.values[:k], found.vectors[:, :k]
        real = values > n * EPS * max(float(values[0]), size)
        flat = not real.any() and not self._of_pairs() and self.kernel != "linear"  # said already: LD414
        if not real.all() and not flat:
            warn("LD413", found=int(real.sum()), asked=q, model=type(self).__name__)
        return np.where(real, values, 0.0), V * real

    # features through the fold ---------------------------------------------------------------------------
    def _embed_features(self, framed: Framed, gamma: float, some: Array, run: Run) -> Embedded:
        rng = np.random.default_rng([seed_of(self.random_state), 6])
        kernel, n = self._kernel(gamma), framed.n
        K = similarities(kernel, some, some)
        self._check_kernel(K, some, gamma)
        notes = () if self._definite() else self._say_mass((K + K.T) / 2.0)
        if self.approximation == "fourier":
            made = fourier(kernel, framed.d, self.n_landmarks, rng)
        else:
            m = min(self.n_landmarks, n)
            rows = self._complete(framed.sample(m, rng if m < n else None), framed.source)
            made = nystroem(kernel, rows)
        table = Mapped(framed, made.of, made.width, self._refuse)
        found = fold(moments, table, run)
        values, W = largest(found.covariance, min(self.n_components, made.width))
        off = float(np.linalg.norm(found.covariance @ W - W * values)) / max(float(values[0]), 1e-300)
        values, W = self._real(Eigen(values * n, W, off, ""), n, float(np.abs(np.diag(K)).mean()))
        params = KernelMap(made.rows, *made.axes(W, found.mean), gamma)
        Z = np.empty((n, self.n_components))
        for start, part in walk(partial(self._places_of, params), framed, run):
            Z[start : start + len(part)] = part
        size = f"{made.width} features" if self.approximation == "fourier" else f"{len(made.rows)} landmarks"
        return Embedded(params, Z, values, f"{self.approximation}, {size}", off, {}, notes)

    def _places_of(self, params: KernelMap, block: Block) -> Array:
        return self._extend(params, block.x)

    def _extend(self, params: KernelMap, X: Array) -> Array:
        if self._of_pairs():
            return (X - params.columns) @ params.weights
        return chunked(partial(self._projected, params), X, len(params.columns))

    def _projected(self, params: KernelMap, X: Array) -> Array:
        if self.approximation == "fourier":
            k = Features("fourier", self._kernel(params.gamma), params.rows, np.zeros((0, 0))).of(X)
        else:
            k = similarities(self._kernel(params.gamma), X, params.rows)
        k -= params.columns
        return k @ params.weights

    # ways back -------------------------------------------------------------------------------------------
    def inverse_transform(self, Z: Any, *, method: str | None = None, n_neighbors: int = 10) -> Array:
        """Pre-images: rows of the table whose images lie nearest to these places.

        "fixed_point" (Mika; Gaussian kernels), "distances" (Kwok and Tsang, from the n_neighbors nearest rows; Gaussian
        and linear) or "learned" (Bakir: regression of rows on places; any kernel). A linear kernel has its exact
        answer by "fixed_point". Default: "fixed_point" where it can be, else "learned".
        """
        check_is_fitted(self)
        method = self._way_back(method)
        Z = np.atleast_2d(np.asarray(Z, dtype=np.float64))
        if Z.shape[1] != self.n_components_:
            raise error("LD220", got=Z.shape[1], want=self.n_components_, model=type(self).__name__, missing="")
        way = self._way()
        start = way.rows[np.argmin(squared_distances(Z, way.places), axis=1)]
        return self.frame_.outward(self._back(way, method, n_neighbors, Z, start))

    def reconstruct(
        self,
        X: Any,
        *,
        method: str | None = None,
        n_neighbors: int = 10,
        noise: Any = None,
        out: Out = None,
        run: Run | None = None,
    ) -> Array:
        """Each row's pre-image: what is left of it on the map. With few components noise is taken away.

        `noise` (Gaussian kernels) is the variance a cell by which these rows are noisier than those of the fit: it adds
        columns * noise to every squared distance and is taken off again. "estimate" finds it row by row, from the
        half of all directions in which the rows of the fit vary least.
        """
        check_is_fitted(self)
        method, way = self._way_back(method), self._way()
        quiet = self._quiet(noise, way)

        def back(block: Block) -> Array:
            if block.mask is not None:
                self._placed(block)  # refuses gaps
            x = self.frame_.inward(block).x
            Z = self._extend(self.params_, x) if quiet is None else self._denoised(x, quiet(x))
            return self.frame_.outward(self._back(way, method, n_neighbors, Z, x))

        return self._each(back, X, out, run, lambda source: source.columns)

    def _way_back(self, method: str | None) -> str:
        linear, gauss = self.kernel == "linear", self.kernel == "gaussian"
        method = ("fixed_point" if linear or gauss else "learned") if method is None else method
        if method not in METHODS:
            raise error("LD210", option="method", value=method, allowed="'fixed_point', 'distances' or 'learned'")
        if self.approximation == "fourier" or self._of_pairs():
            why = "the rows of the fit are not kept" if self._of_pairs() else "random frequencies keep no rows"
            fix = "a kernel of the rows themselves" if self._of_pairs() else "approximation='nystroem'"
            raise error("LD416", method=method, why=why, fix=fix)
        if method != "learned" and not (linear or gauss):
            raise error("LD416", method=method, why="it needs a Gaussian or linear kernel", fix="method='learned'")
        return method

    def _way(self) -> Way:
        p = self.params_
        places = self.embedding_ if self.approximation is None else self._extend(p, p.rows)
        return Way(p.rows, places, p.weights, p.origin, p.columns)

    def _quiet(self, noise: Any, way: Way) -> Any:
        if noise is None:
            return None
        if self.kernel != "gaussian":
            raise error("LD210", option="noise", value=noise, allowed="None; it is for Gaussian kernels")
        if isinstance(noise, str) and noise == "estimate":
            return quiet_half(way.rows).noise
        if isinstance(noise, int | float | np.number) and 0 <= noise < np.inf:
            level = float(noise) * float(self.frame_.scale[0]) ** 2
            return lambda x: np.full(len(x), level)
        raise error("LD210", option="noise", value=noise, allowed="None, 'estimate' or a variance >= 0")

    def _denoised(self, x: Array, noise: Array) -> Array:
        """Places of rows whose squared distances are too long by columns * noise."""
        p = self.params_
        D = squared_distances(x, p.rows) - (x.shape[1] * noise)[:, None]
        k = gaussian(np.maximum(D, 0.0), p.gamma) - p.columns
        return k @ p.weights

    def _back(self, way: Way, method: str, k: int, Z: Array, start: Array) -> Array:
        if method == "learned":
            return learned(way, Z)
        if method == "distances":
            gauss = partial(gaussian_distance, self.params_.gamma)
            return by_distances(way, partial(linear_distance, way.rows) if self.kernel == "linear" else gauss, Z, k)
        if self.kernel == "linear":
            return way.coefficients(Z) @ way.rows
        x, lost = fixed_point(way, self.params_.gamma, Z, start)
        if lost.any():
            warn("LD417", count=int(lost.sum()))
        return x
