"""Kernel PCA: principal components of images in a feature space that is never written down."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, walking
from lowdim.engine.fold import Run, fold, walk
from lowdim.engine.statistics import moments
from lowdim.maths.eigen import Eigen, Problem, solve
from lowdim.maths.linalg import EPS, LARGEST, Array, Mask
from lowdim.maths.pairs import (
    LARGE_NEGATIVE_SHARE,
    WIDTH_ROWS,
    centred_gram,
    median_width,
    negative_mass,
    squared_distances,
)
from lowdim.maths.seeds import KERNEL_FEATURES
from lowdim.models.base.estimator import Out
from lowdim.models.base.latent import decoded_within_range, given_places
from lowdim.models.base.options import (
    COUNT,
    NOT_NEGATIVE,
    SEED,
    SEVERAL,
    Rule,
    check_components,
    none_or,
    one_of,
    option,
    seed_of,
)
from lowdim.models.spectral.completion import Completion, TableRows, complete_rows, completion_of
from lowdim.models.spectral.kernel_features import (
    FeatureMap,
    FeatureSource,
    KernelFunction,
    by_products,
    chunked,
    fourier,
    gaussian,
    gaussian_matrix,
    nystroem,
    similarities,
    solve_kernel,
    times,
)
from lowdim.models.spectral.pair_table import check_pairs
from lowdim.models.spectral.preimage import (
    ImageSpan,
    by_distances,
    fixed_point,
    gaussian_distance,
    learned,
    linear_distance,
    quiet_directions,
)
from lowdim.models.spectral.random_field import FieldMatrix
from lowdim.models.spectral.spectral_model import SpectralFit, SpectralModel, plain_frame
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed, gather
from lowdim.text.messages import error, warn

KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")
PREIMAGE_METHODS = ("fixed_point", "distances", "learned")
SAMPLE_ROWS = 200  # rows whose similarities show a degenerate kernel
MOST_FADED = 200.0  # gamma times variance: beyond it a row is similar to none, and 1 / a must stay finite
FLAT_SIMILARITY = 1e-12  # one this near 0 or 1 says nothing


class KernelPCAParams(NamedTuple):
    """z = (k(x, rows) - columns) weights, in the frame's units; Fourier: features in place of k."""

    rows: Array  # training rows, landmarks or frequencies; n x 0 of a precomputed kernel
    weights: Array
    columns: Array
    origin: Array  # the mean image as a sum of the rows' images
    gamma: float


class KernelPCA(SpectralModel):
    """Kernel PCA: principal components of the images phi(x), k(x, y) = phi(x)'phi(y).

    The centred kernel H K H = U Lambda U' gives Z = U_q Lambda_q^(1/2). A new row is placed by its centred similarities
    to the rows of the fit; `inverse_transform` leads back by pre-images. `field()` has the covariance K.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The largest of H K H, falling, not divided by n.
    gamma_ : float
        gamma in use, in the table's units.

    References
    ----------
    B. Schoelkopf, A. Smola and K.-R. Mueller (1998), "Nonlinear component analysis as a kernel eigenvalue problem",
    Neural Computation 10, 1299-1319.
    C. K. I. Williams and M. Seeger (2001), "Using the Nystroem method to speed up kernel machines", Advances in Neural
    Information Processing Systems 13, 682-688.
    A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", Advances in Neural Information
    Processing Systems 20, 1177-1184.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 6.28, 40)
    >>> rings = np.vstack([np.column_stack([np.cos(t), np.sin(t)]) * r for r in (1.0, 5.0)])
    >>> model = KernelPCA(2, gamma=0.1).fit(rings)
    >>> model.transform(rings[:1]).shape, model.n_components_
    ((1, 2), 2)
    """

    kernel: Any = option(
        default="rbf",
        rule=Rule(
            lambda v: callable(v) or (isinstance(v, str) and v in (*KERNELS, "gaussian")),
            f"one of {', '.join(KERNELS)}, or a function k(X, Y)",
        ),
        kind='{"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable',
        words="x'y (then it is PCA, up to signs), exp(-gamma |x - y|^2) (also as 'gaussian'), (gamma x'y + coef0)"
        "^degree, tanh(gamma x'y + coef0), a matrix of similarities, or a function of two tables.",
    )
    gamma: float | None = option(
        default=None,
        rule=none_or(NOT_NEGATIVE),
        words='None is 1 / (2 median distance^2) for "rbf" and 1 / columns otherwise.',
    )
    degree: int = option(default=3, rule=COUNT, words='Of "poly".')
    coef0: float = option(
        default=1.0,
        rule=Rule(lambda v: isinstance(v, int | float | np.number) and bool(np.isfinite(v)), "a finite number"),
        words='Of "poly" and "sigmoid".',
    )
    approximation: str | None = option(
        default=None,
        rule=one_of(None, "nystroem", "fourier"),
        words='For many rows: `n_landmarks` rows stand for all, or so many random features do ("rbf"); the table is '
        "walked twice and n x n numbers are never held.",
    )
    n_landmarks: int = option(default=500, rule=SEVERAL, words="Landmarks or features of an approximation.")
    random_state: Any = option(default=0, rule=SEED, words="Draws the landmarks or the features; None is 0.")

    # options -----------------------------------------------------------------------------------------
    @property
    def _kernel_name(self) -> str:
        """The kernel by scikit-learn's name; "callable" where it is a function."""
        if callable(self.kernel):
            return "callable"
        return "rbf" if self.kernel == "gaussian" else str(self.kernel)

    def _check_options(self) -> None:
        super()._check_options()
        if self.approximation == "fourier" and self._kernel_name != "rbf":
            raise error(
                "LD418",
                value="fourier",
                why="random frequencies belong to the Gaussian kernel",
                fix="approximation='nystroem', or kernel='rbf'",
            )
        if self.approximation and self._of_pairs():
            raise error(
                "LD418",
                value=self.approximation,
                why="the matrix of pairs is there already",
                fix="approximation=None, or the rows of a table and a kernel",
            )

    def _of_pairs(self) -> bool:
        return self._kernel_name == "precomputed"

    def _cost_of_map(self, n: int, d: int) -> Cost:
        if self.approximation is None:
            words = f"approximation='nystroem', n_landmarks={self.n_landmarks}"
            return Cost(1, 8 * n * d, 8 * (3 * n * n + 4 * n * d), words)
        m = min(self.n_landmarks, n)
        cells = m * min(n, 4096)
        return Cost(3, 16 * n * d, walking(n, m, 3 * cells, 3 * m * m) + 8 * n * self.n_components, "fewer n_landmarks")

    def _frame(self, source: Source) -> Frame:
        if self._kernel_name in ("linear", "rbf"):
            return super()._frame(source)
        return plain_frame(source.d)  # these kernels see the origin

    def _kernel(self, gamma: float) -> KernelFunction:
        if callable(self.kernel):
            return KernelFunction("callable", call=self.kernel)
        return KernelFunction(self._kernel_name, gamma, self.degree, float(self.coef0))

    def _width(self, rows: TableRows, frame: Frame) -> float:
        """gamma in the frame's units, by the distances of these rows where it is not given."""
        if self.gamma is None and self._kernel_name == "rbf":
            return median_width(rows.mean, None if rows.var is None else rows.open)
        if self.gamma is None:
            return 1.0 / max(rows.mean.shape[1], 1)
        g = np.float64(self.gamma)
        if self._kernel_name == "rbf":
            with np.errstate(over="ignore", under="ignore"):
                g = g / frame.scale[0] / frame.scale[0]
        return float(min(g, LARGEST))

    # the fit -----------------------------------------------------------------------------------------
    def _embed_table(self, source: Source, frame: Frame, run: Run) -> SpectralFit:
        """A complete table whose features are taken is walked; any other is read whole."""
        framed = Framed(source, frame)
        sample = framed.sample(WIDTH_ROWS) if self.approximation is not None else None
        if sample is not None and sample.mask is None:
            fit = self._embed_features(framed, TableRows(sample.x), frame, run)
            if fit is not None:
                return fit
        return super()._embed_table(source, frame, run)

    def _embed(self, rows: TableRows, frame: Frame, run: Run) -> SpectralFit:
        """The map by similarities of expected distances: exp(-gamma (|m_i - m_j|^2 + v_i + v_j)) = a_i k(m_i, m_j) a_j.

        Kernels of products see the expected cells.
        """
        X, sample = rows.mean, rows.few(WIDTH_ROWS)
        if self.approximation is not None:
            fit = self._embed_features(as_source(X), sample, frame, run)
            assert fit is not None
            return fit._replace(passes=3)
        gamma = self._width(sample, frame)
        # k(x_i, x_j) of all pairs, of a Gaussian perhaps only the half that products with vectors need
        half = self._kernel_name == "rbf" and by_products(len(X), self.n_components)
        if self._kernel_name == "rbf":
            K = gaussian_matrix(X, gamma, half=half)
        else:
            K = similarities(self._kernel(gamma), X, X)
            if self._kernel_name == "callable":
                check_pairs(K, "similarities", similar=True)
            K = (K + K.T) / 2.0
        a = None if rows.var is None else self._row_weights(rows, gamma)
        if a is not None:
            K *= a
            K *= a[:, None]
        some = X[:: max(1, len(X) // SAMPLE_ROWS)]
        self._warn_if_flat(similarities(self._kernel(gamma), some, some), X, gamma)
        return self._with_width(self._embed_kernel(K, half, X, gamma, a), gamma, frame)

    def _embed_pairs(self, source: Source, frame: Frame) -> SpectralFit:
        K = self._mark_unknown(*gather(Framed(source, frame)), source.columns)
        check_pairs(K, "similarities", similar=True)
        return self._embed_kernel((K + K.T) / 2.0, False, np.zeros((len(K), 0)), 0.0)

    def _with_width(self, fit: SpectralFit, gamma: float, frame: Frame) -> SpectralFit:
        """The fit with gamma stated in the table's units."""
        if self._kernel_name == "callable":
            return fit
        with np.errstate(over="ignore"):
            gamma = min(float(gamma * frame.scale[0] * frame.scale[0]), LARGEST)
        notes = fit.notes
        if self.gamma is None and self._kernel_name != "linear":
            rule = "1 / (2 median distance^2)" if self._kernel_name == "rbf" else "1 / number of columns"
            notes = (f"gamma = {gamma:.6g}, chosen as {rule}", *notes)
        return fit._replace(attributes={**fit.attributes, "gamma_": gamma}, notes=notes)

    def _row_weights(self, rows: TableRows, gamma: float) -> Array:
        """a = exp(-gamma v), what the variance of a row leaves of its similarities."""
        if self._kernel_name != "rbf" or self.approximation is not None:
            return np.ones(len(rows.mean))
        return np.exp(-np.minimum(gamma * rows.open, MOST_FADED))

    def _own_completion(self) -> Completion:
        return super()._own_completion() if self.approximation == "fourier" else completion_of(self.params_.rows, None)

    def _place_gaps(self, x: Array, mask: Mask) -> Array:
        rows = complete_rows(self.completion_, x, mask)
        a = self._row_weights(rows, self.params_.gamma)
        shift = self.params_.columns @ self.params_.weights
        return a[:, None] * (self._extend(self.params_, rows.mean) + shift) - shift

    # all pairs of rows ---------------------------------------------------------------------------------
    def _embed_kernel(self, K: Array, half: bool, X: Array, gamma: float, a: Array | None = None) -> SpectralFit:
        """The map of the kernel matrix of rows X, of a_i k(x_i, x_j) a_j where rows have weights."""
        n, q = len(K), self.n_components
        check_components(q, n, f"the table has {n} rows")
        notes = () if self._is_definite() else self._check_mass(K)
        columns, size = times(K, np.full(n, 1.0 / n), half), float(np.abs(np.diag(K)).mean())
        # Schoelkopf et al.: H K H = U Lambda U', Z = U_q Lambda_q^(1/2), and new rows go by U_q Lambda_q^(-1/2).
        eigen = solve_kernel(K, q, half=half)  # which may centre K in place
        values, V = self._without_rounding(eigen, n, size)
        root = np.sqrt(values)
        weights = V * np.divide(1.0, root, out=np.zeros(q), where=root > 0.0)
        weights -= weights.mean(axis=0)  # zero but for rounding: then rows need no centring
        params = KernelPCAParams(X, weights, columns, np.full(n, 1.0 / n), gamma)
        if a is not None:  # the weights of the rows in those of the axes: then new rows are placed as ever
            params = params._replace(weights=weights * a[:, None], columns=columns / a, origin=a / n)
        named = {} if a is None else {"row_weights_": a}
        return SpectralFit(params, V * root, values, eigen.solver, eigen.residual, named, notes)

    def _warn_if_flat(self, S: Array, X: Array, gamma: float) -> None:
        """Warn of a kernel, of which S shows a part, that says nothing: all similarities are alike."""
        rbf = self._kernel_name == "rbf"
        if rbf:
            varied = np.minimum(S, 1.0 - S).max(initial=0.0) > FLAT_SIMILARITY
        else:
            varied = float(np.ptp(S)) > FLAT_SIMILARITY * float(np.abs(S).max(initial=0.0))
        if not varied and not self._of_pairs():
            alike = bool((S > 0.5).all()) or not rbf
            problem = "all rows look alike" if alike else "no two different rows look alike"
            better = median_width(X) if rbf else 1.0 / max(X.shape[1], 1)
            warn("LD414", gamma=gamma, problem=problem, better=better)

    def _is_definite(self) -> bool:
        """Whether the kernel is known to belong to a feature space."""
        return self._kernel_name in ("rbf", "linear") or bool(self._kernel_name == "poly" and self.coef0 >= 0.0)

    def _check_mass(self, K: Array) -> tuple[str, ...]:
        mass = negative_mass(centred_gram(K.copy()))
        if mass.share > LARGE_NEGATIVE_SHARE:
            warn("LD412", share=mass.share, count=mass.below, what="similarities", case="kernel")
        if not mass.below:
            return ()
        bound = "" if mass.exact else "at least "
        return (f"indefinite kernel: {bound}{mass.below} negative eigenvalues, {bound}{mass.share:.1%} of the spread",)

    def _without_rounding(self, eigen: Eigen, n: int, size: float) -> tuple[Array, Array]:
        """The wanted eigenpairs; those that are rounding (beside k(x, x)) or negative are zero, with a warning."""
        q = self.n_components
        values, V = np.zeros(q), np.zeros((len(eigen.vectors), q))
        k = min(q, len(eigen.values))
        values[:k], V[:, :k] = eigen.values[:k], eigen.vectors[:, :k]
        real = values > n * EPS * max(float(values[0]), size)
        flat = not real.any() and not self._of_pairs() and self._kernel_name != "linear"  # LD414 has warned of that
        if not real.all() and not flat:
            warn("LD413", n_axes=int(real.sum()), n_components=q, model=type(self).__name__)
        return np.where(real, values, 0.0), V * real

    # features through the fold ---------------------------------------------------------------------------
    def _embed_features(self, source: Source, sample: TableRows, frame: Frame, run: Run) -> SpectralFit | None:
        """The map by finite features of rows in the frame's units: their moments are folded, then rows are placed.

        None where a gap is met that the sample did not show.
        """
        n, gamma = source.n, self._width(sample, frame)
        check_components(self.n_components, n, f"the table has {n} rows")
        kernel, rng = self._kernel(gamma), np.random.default_rng([seed_of(self.random_state), KERNEL_FEATURES])
        some = sample.mean[:: max(1, len(sample.mean) // SAMPLE_ROWS)]
        K = similarities(kernel, some, some)
        self._warn_if_flat(K, some, gamma)
        notes = () if self._is_definite() else self._check_mass((K + K.T) / 2.0)
        # Features: similarities to rows that stand for all (Williams and Seeger), or random waves (Rahimi and Recht).
        if self.approximation == "fourier":
            features = fourier(kernel, source.d, self.n_landmarks, rng)
        else:
            m = min(self.n_landmarks, n)
            landmarks = source.sample(m, rng if m < n else None)
            if landmarks.mask is not None:
                return None
            features = nystroem(kernel, landmarks.x)
        # Their principal components; rows with gaps have features that are not numbers.
        found = fold(moments, FeatureSource(source, features.of, features.width), run)
        if not np.isfinite(found.mean).all():
            return None
        eigen = solve(Problem(found.covariance), min(self.n_components, features.width))
        values, W = self._without_rounding(eigen._replace(values=eigen.values * n), n, float(np.abs(np.diag(K)).mean()))
        params = KernelPCAParams(features.rows, *features.axes(W, found.mean), gamma)
        Z = np.empty((n, self.n_components))
        for start, places in walk(partial(self._places_of, params), source, run):
            Z[start : start + len(places)] = places
        unit = "features" if self.approximation == "fourier" else "landmarks"
        size = features.width if self.approximation == "fourier" else len(features.rows)
        solver = f"{self.approximation}, {size} {unit}"
        fit = SpectralFit(params, Z, values, solver, eigen.residual, {}, notes, passes=2)
        return self._with_width(fit, gamma, frame)

    def _places_of(self, params: KernelPCAParams, block: Block) -> Array:
        return self._extend(params, block.x)

    # new rows --------------------------------------------------------------------------------------------
    def _extend(self, params: KernelPCAParams, X: Array) -> Array:
        if self._of_pairs():
            return (X - params.columns) @ params.weights
        return chunked(partial(self._project, params), X, len(params.columns))

    def _project(self, params: KernelPCAParams, X: Array) -> Array:
        if self.approximation == "fourier":
            k = FeatureMap("fourier", self._kernel(params.gamma), params.rows, np.zeros((0, 0))).of(X)
        else:
            k = similarities(self._kernel(params.gamma), X, params.rows)
        k -= params.columns
        return k @ params.weights

    # the random field --------------------------------------------------------------------------------------
    def _field_matrix(self) -> FieldMatrix:
        p = self.params_
        if self._of_pairs() or self.approximation is not None:
            return FieldMatrix()
        K = similarities(self._kernel(p.gamma), p.rows, p.rows)
        a = vars(self).get("row_weights_")
        return FieldMatrix(covariance=K if a is None else K * a * a[:, None])

    # pre-images --------------------------------------------------------------------------------------------
    def inverse_transform(self, Z: Any, *, method: str | None = None, n_neighbors: int = 10) -> Array:
        """Pre-images: rows of the table whose images lie nearest to these places.

        Parameters
        ----------
        Z : array-like of shape (m, n_components)
            Places.
        method : {None, "fixed_point", "distances", "learned"}, default=None
            "fixed_point" (Mika et al. 1999; Gaussian kernels, and the exact answer of a linear one), "distances" (Kwok
            and Tsang 2004, from the nearest rows; Gaussian and linear) or "learned" (Bakir et al. 2004: regression of
            rows on places; any kernel). None is "fixed_point" where it can be, else "learned".
        n_neighbors : int, default=10
            Rows that "distances" goes by.

        Returns
        -------
        X : ndarray of shape (m, d)
        """
        check_is_fitted(self)
        method = self._preimage_method(method)
        span = self._image_span()

        def preimages(Z: Array) -> Array:
            start = span.rows[np.argmin(squared_distances(Z, span.places), axis=1)]
            return self.frame_.outward(self._preimages(span, method, n_neighbors, Z, start))

        rows: Array = decoded_within_range(preimages, given_places(Z, self.n_components_, self))
        return rows

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

        Parameters
        ----------
        X : table of n rows
            Rows, old or new.
        method, n_neighbors
            As for `inverse_transform`.
        noise : {None, "estimate"} or float, default=None
            Gaussian kernels: the variance a cell by which these rows are noisier than those of the fit. It adds
            columns * noise to every squared distance and is taken off again. "estimate" finds it row by row, from the
            half of all directions in which the rows of the fit vary least.

        Returns
        -------
        X : ndarray of shape (n, d)
        """
        check_is_fitted(self)
        method, span = self._preimage_method(method), self._image_span()
        noise_of = self._noise_estimator(noise, span)

        def preimages_of(block: Block) -> Array:
            x = self.frame_.inward(block).x
            if block.mask is not None and not block.mask.all():
                Z = self._place_block(block)
                x = complete_rows(self.completion_, x, block.mask).mean
            else:
                Z = self._extend(self.params_, x)
                if noise_of is not None:  # squared distances are too long by columns * noise
                    p, longer = self.params_, x.shape[1] * noise_of(x)
                    clean = np.maximum(squared_distances(x, p.rows) - longer[:, None], 0.0)
                    Z = (gaussian(clean, p.gamma) - p.columns) @ p.weights
            return self.frame_.outward(self._preimages(span, method, n_neighbors, Z, x))

        return self._each(preimages_of, X, out, run, lambda source: source.columns)

    def _preimage_method(self, method: str | None) -> str:
        direct = self._kernel_name in ("linear", "rbf")
        method = ("fixed_point" if direct else "learned") if method is None else method
        if method not in PREIMAGE_METHODS:
            raise error("LD210", option="method", value=method, allowed="'fixed_point', 'distances' or 'learned'")
        if self.approximation == "fourier" or self._of_pairs():
            why = "the rows of the fit are not kept" if self._of_pairs() else "random frequencies keep no rows"
            fix = "a kernel of the rows themselves" if self._of_pairs() else "approximation='nystroem'"
            raise error("LD416", method=method, why=why, fix=fix)
        if method != "learned" and not direct:
            raise error("LD416", method=method, why="it needs a Gaussian or linear kernel", fix="method='learned'")
        return method

    def _image_span(self) -> ImageSpan:
        p = self.params_
        places = self.embedding_ if self.approximation is None else self._extend(p, p.rows)
        return ImageSpan(p.rows, places, p.weights, p.origin, p.columns)

    def _noise_estimator(self, noise: Any, span: ImageSpan) -> Callable[[Array], Array] | None:
        if noise is None:
            return None
        if self._kernel_name != "rbf":
            raise error("LD210", option="noise", value=noise, allowed="None; it is for Gaussian kernels")
        if isinstance(noise, str) and noise == "estimate":
            return quiet_directions(span.rows).noise
        if isinstance(noise, int | float | np.number) and 0 <= noise < np.inf:
            level = float(noise) * float(self.frame_.scale[0]) ** 2
            return lambda x: np.full(len(x), level)
        raise error("LD210", option="noise", value=noise, allowed="None, 'estimate' or a variance >= 0")

    def _preimages(self, span: ImageSpan, method: str, n_neighbors: int, Z: Array, start: Array) -> Array:
        linear = self._kernel_name == "linear"
        if method == "learned":
            return learned(span, Z)
        if method == "distances":
            rbf_distance = partial(gaussian_distance, self.params_.gamma)
            distance = partial(linear_distance, span.rows) if linear else rbf_distance
            return by_distances(span, distance, Z, n_neighbors)
        if linear:
            return np.asarray(span.coefficients(Z) @ span.rows)
        x, failed = fixed_point(span, self.params_.gamma, Z, start)
        if failed.any():
            warn("LD417", count=int(failed.sum()))
        return x
