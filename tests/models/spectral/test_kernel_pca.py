"""Kernel PCA: identities, peers, pre-images, approximations, [Lawrence2012] chapter 4 and bad input."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.spatial.distance import cdist
from sklearn.decomposition import KernelPCA as Peer

import lowdim
from lowdim import PCA, KernelPCA, laws
from lowdim.models.spectral.kernel_features import STRIP_ROWS, gaussian_matrix, times
from lowdim.models.spectral.preimage import quiet_directions
from lowdim.sources.source import Source
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.oracles.rbf_functions import even_centres, feature_distances, limit_kernel, random_functions, rbf_basis


def table(n=60, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 5)) @ np.diag([5.0, 3.0, 1.0, 0.5, 0.1]) + 10.0


def apart(A, B):
    """The largest difference of two maps, up to the signs of their axes."""
    return np.abs(A * np.sign((A * B).sum(axis=0)) - B).max()


# identities and peers ------------------------------------------------------------
@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("n", [STRIP_ROWS // 2, 3 * STRIP_ROWS, 3 * STRIP_ROWS + 5])
def test_products_with_half_a_kernel_are_those_with_all_of_it(n, shape):
    X, v = table(n), np.random.default_rng(1).standard_normal((n, *shape))
    half, all_pairs = gaussian_matrix(X, 0.01, half=True), gaussian_matrix(X, 0.01)
    assert times(half, v, True) == pytest.approx(np.exp(-0.01 * cdist(X, X) ** 2) @ v, abs=1e-10)
    assert times(all_pairs, v, False) == pytest.approx(times(half, v, True), abs=1e-12 * n)


@pytest.mark.parametrize("n", [60, 700])
def test_a_linear_kernel_is_pca(n):
    X = table(n)
    model, pca = KernelPCA(3, kernel="linear").fit(X), PCA(3).fit(X)
    assert apart(model.embedding_, pca.transform(X)) <= 1e-8
    assert apart(model.transform(table(9, 1)), pca.transform(table(9, 1))) <= 1e-8
    assert model.eigenvalues_ == pytest.approx(pca.explained_variance_ * (n - 1), rel=1e-10)
    for method in ("fixed_point", "distances"):
        assert np.abs(model.reconstruct(X, method=method) - pca.reconstruct(X)).max() <= 1e-6
    assert model.inverse_transform(model.embedding_) == pytest.approx(pca.reconstruct(X), abs=1e-8)


PAIRS = [
    ({"gamma": 0.05}, {"kernel": "rbf", "gamma": 0.05}),
    ({"kernel": "poly", "gamma": 0.1},) * 2,
    ({"kernel": "sigmoid", "gamma": 0.001}, {"kernel": "sigmoid", "gamma": 0.001}),
    (
        {"kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 0.5},
        {"kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 0.5},
    ),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("n", [60, 650])
def test_scikit_learn_agrees(ours, theirs, n):
    X, new = table(n), table(8, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # tanh is indefinite here
        model = KernelPCA(3, **ours).fit(X)
    peer = Peer(3, **theirs, eigen_solver="dense").fit(X)
    size = np.abs(model.embedding_).max()
    assert model.eigenvalues_ == pytest.approx(peer.eigenvalues_, rel=1e-9)
    assert apart(model.embedding_, peer.transform(X)) <= 1e-8 * size
    assert apart(model.transform(new), peer.transform(new)) <= 1e-8 * size
    assert np.abs(model.transform(X) - model.embedding_).max() <= 1e-8 * size


def test_precomputed_and_callable_kernels():
    X = table()
    K = np.exp(-0.05 * cdist(X, X) ** 2)
    one = KernelPCA(3, gamma=0.05).fit(X)
    two = KernelPCA(3, kernel="precomputed").fit(K)
    three = KernelPCA(3, kernel=lambda A, B: np.exp(-0.05 * cdist(A, B) ** 2)).fit(X)
    assert apart(two.embedding_, one.embedding_) <= 1e-10 and apart(three.embedding_, one.embedding_) <= 1e-10
    assert apart(two.transform(K), one.embedding_) <= 1e-10 and apart(three.transform(X), one.embedding_) <= 1e-10
    assert three.field().squared_distances() == pytest.approx(2 - 2 * K, abs=1e-9)
    with pytest.raises(LowdimError, match="LD303"):
        three.save("/tmp/never.lowdim")


def test_the_median_heuristic_is_said():
    X = table()
    model = KernelPCA(2).fit(X)
    D = cdist(X, X)[np.triu_indices(60, 1)]
    assert model.gamma_ == pytest.approx(1 / (2 * np.median(D) ** 2), rel=1e-12)
    assert "chosen as 1 / (2 median distance^2)" in repr(model)
    assert "chosen" not in repr(KernelPCA(2, gamma=1.0).fit(X))


def three_clusters(seed):
    rng = np.random.default_rng([seed, 14])
    centres = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
    return np.repeat(centres, 30, axis=0) + 0.1 * rng.standard_normal((90, 2))


def test_three_clusters_have_two_large_and_three_plus_three_eigenvalues():
    """references.md a14: Schoelkopf 1998 / PRML 12.17, 2 sigma^2 = 0.1; 22.60, 21.51 ... are means of simulations."""
    draws = np.array([KernelPCA(8, gamma=10.0).fit(three_clusters(s)).eigenvalues_ for s in range(60)])
    mean, sd = draws.mean(axis=0), draws.std(axis=0)
    assert mean[:5] == pytest.approx([22.60, 21.51, 4.25, 3.78, 3.38], abs=0.35)
    assert mean[5:] == pytest.approx([2.93, 2.59, 2.23], abs=0.35)
    printed = np.array([21.72, 21.65, 4.11, 3.93, 3.66, 3.09, 2.60, 2.53])  # of the figure
    assert (np.abs(printed - mean) <= 3 * sd).all()
    assert (draws[:, 1] > 3 * draws[:, 2]).all()


# pre-images ------------------------------------------------------------
@pytest.mark.parametrize("method", ["fixed_point", "distances", "learned"])
def test_a_row_with_all_its_components_comes_back(method):
    X = np.random.default_rng(0).random((40, 3))
    model = KernelPCA(39, gamma=1.0).fit(X)
    back = model.inverse_transform(model.embedding_, method=method)
    assert ((back - X) ** 2).mean() <= 1e-3 * X.var(axis=0).mean()
    assert model.reconstruct(X, method=method) == pytest.approx(back, abs=1e-4)


def test_a_fixed_point_is_one():
    """Mika's condition, checked with sums written out."""
    X = table(50)
    model = KernelPCA(4, gamma=0.02).fit(X)
    x = model.reconstruct(X[:5])
    A, lam = model.params_.weights, model.embedding_[:5]
    for row, z in zip(x, lam, strict=True):
        g = A @ z + 1 / 50
        w = g * np.exp(-0.02 * ((X - row) ** 2).sum(axis=1))
        assert (w @ X) / w.sum() == pytest.approx(row, abs=1e-4)


def test_noise_is_estimated_blindly_and_taken_off():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 500)
    W = rng.standard_normal((4, 40))
    clean = np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t)]) @ W
    train, test = clean[:400], clean[400:]
    noisy = test + 1.0 * rng.standard_normal(test.shape)
    model = KernelPCA(12, gamma=0.02).fit(train)
    errors = [((model.reconstruct(noisy, noise=noise) - test) ** 2).mean() for noise in (None, "estimate", 1.0)]
    assert errors[1] < 0.9 * errors[0] and errors[2] < 0.9 * errors[0]
    assert errors[1] < 0.15  # of a noise variance of 1
    with pytest.raises(LowdimError, match="LD210"):
        model.reconstruct(noisy, noise="guess")
    with pytest.raises(LowdimError, match="LD210"):
        KernelPCA(2, kernel="linear").fit(train).reconstruct(noisy, noise=1.0)


def test_usps_digits_are_denoised(need):
    """A small copy of benchmarks/denoise.py: 60 rows a digit, Gaussian noise; PCA at its own best size."""
    with np.load(need("usps_digits") / "usps.npz") as data:
        X, y, T = data["X_train"] / 1000.0, data["y_train"], data["X_test"][:60] / 1000.0
    train = np.concatenate([X[y == c][:60] for c in range(10)])
    noisy = T + 0.5 * np.random.default_rng(0).standard_normal(T.shape)
    pca = PCA(120).fit(train)
    U, mean = pca.components_, pca.mean_
    base = min((((noisy - mean) @ U[:q].T @ U[:q] + mean - T) ** 2).mean() for q in range(5, 120, 5))
    c = 2 * train.var(axis=0).mean()
    model = KernelPCA(300, gamma=1 / (256 * c)).fit(train)
    ours = ((model.reconstruct(noisy, noise="estimate") - T) ** 2).mean()
    assert base / ours >= 1.2  # with 300 rows a digit see benchmarks/results.md


def test_ways_back_that_do_not_exist():
    X = table()
    poly = KernelPCA(3, kernel="poly", gamma=0.01).fit(X)
    assert poly.inverse_transform(poly.embedding_).shape == X.shape
    for bad in ("fixed_point", "distances"):
        with pytest.raises(LowdimError, match="LD416"):
            poly.inverse_transform(poly.embedding_, method=bad)
    with pytest.raises(LowdimError, match="LD210"):
        poly.reconstruct(X, method="magic")
    with pytest.raises(LowdimError, match="LD220"):
        poly.inverse_transform(np.zeros((1, 2)))
    ready = KernelPCA(2, kernel="precomputed").fit(X @ X.T)
    fourier = KernelPCA(2, approximation="fourier", n_landmarks=50).fit(X)
    for model in (ready, fourier):
        with pytest.raises(LowdimError, match="LD416"):
            model.inverse_transform(model.embedding_)
    model = KernelPCA(2, gamma=2.0).fit(X)
    with pytest.warns(LowdimWarning, match="LD417"):
        assert np.isfinite(model.reconstruct(X + 1e3)).all()


# approximations ------------------------------------------------------------
@pytest.mark.parametrize("how", [{"gamma": 0.05}, {"kernel": "linear"}, {"kernel": "poly", "gamma": 0.1}])
def test_as_many_landmarks_as_rows_are_exact(how):
    X, new = table(), table(9, 1)
    exact = KernelPCA(3, **how).fit(X)
    model = KernelPCA(3, approximation="nystroem", n_landmarks=60, **how).fit(X)
    size = np.abs(exact.embedding_).max()
    assert model.eigenvalues_ == pytest.approx(exact.eigenvalues_, rel=1e-8)
    assert apart(model.embedding_, exact.embedding_) <= 1e-8 * size
    assert apart(model.transform(new), exact.transform(new)) <= 1e-8 * size
    if how.get("kernel") != "poly":
        assert np.abs(model.reconstruct(X) - exact.reconstruct(X)).max() <= 1e-4


def test_few_landmarks_and_frequencies_come_near():
    X = table(3000)
    exact = KernelPCA(3, gamma=0.01).fit(X)
    for how, close in (("nystroem", 0.999), ("fourier", 0.98)):
        model = KernelPCA(3, gamma=0.01, approximation=how, n_landmarks=400).fit(X)
        match = [abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(model.embedding_.T, exact.embedding_.T, strict=True)]
        assert min(match) >= close
        assert np.abs(model.transform(X) - model.embedding_).max() <= 1e-10
        assert model.certificate_.passes == 2


class Drawn(Source):
    """A table that is made as it is read: no rows are held."""

    fresh = True

    def __init__(self, n, d):
        super().__init__((n, d), None)
        self.axes = np.random.default_rng(1).standard_normal((3, d))

    def read(self, rows):
        index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        t = index[:, None] * np.array([0.001, 0.0137, 0.1])
        return np.sin(t) @ self.axes + 0.1 * np.cos(t.sum(axis=1)[:, None] * np.arange(1, self.d + 1)), None


@pytest.mark.parametrize("n", [10_000, pytest.param(100_000, marks=pytest.mark.drill)])
@pytest.mark.parametrize("how", ["nystroem", "fourier"])
def test_many_rows_take_little_memory(n, how):
    source = Drawn(n, 20)
    tracemalloc.start()
    try:
        model = KernelPCA(5, approximation=how, n_landmarks=500).fit(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.embedding_.shape == (n, 5)
    assert peak < 150e6, f"{peak / 1e6:.0f} MB"


def test_approximations_that_do_not_exist():
    X = table()
    for how in ({"kernel": "poly", "approximation": "fourier"}, {"kernel": "precomputed", "approximation": "nystroem"}):
        with pytest.raises(LowdimError, match="LD418"):
            KernelPCA(2, **how).fit(X)


# bad input: numerics.md 51, 52 ------------------------------------------------------------
@pytest.mark.parametrize("gamma", [0, 1e-300, 1e300, 1e30])
@pytest.mark.parametrize("how", [None, "nystroem"])
def test_degenerate_widths_are_said(gamma, how):
    X = table()
    with pytest.warns(LowdimWarning, match="LD414") as given:
        model = KernelPCA(2, gamma=gamma, approximation=how, n_landmarks=60).fit(X)
    words = "all rows look alike" if gamma < 1 else "no two different rows look alike"
    assert words in "".join(str(w.message) for w in given)
    assert np.isfinite(model.embedding_).all()
    assert np.abs(model.transform(X) - model.embedding_).max() <= 1e-8
    if gamma < 1:
        assert not np.abs(model.embedding_).max() > 1e-6


def test_fourier_features_of_degenerate_widths_do_not_crash():
    for gamma in (0, 1e-300, 1e300):
        with pytest.warns(LowdimWarning, match="LD41[34]"):
            model = KernelPCA(2, gamma=gamma, approximation="fourier", n_landmarks=20).fit(table())
        assert np.isfinite(model.embedding_).all()


def test_whole_numbers_of_eight_bits():
    X = np.random.default_rng(0).integers(-128, 127, (50, 4)).astype(np.int8)
    assert apart(KernelPCA(2).fit(X).embedding_, KernelPCA(2).fit(X.astype(float)).embedding_) <= 1e-10


def test_indefinite_kernels_state_their_negative_mass():
    X = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.warns(LowdimWarning, match="LD412"):
        model = KernelPCA(2, kernel="sigmoid", gamma=4.0).fit(X)
    H = np.eye(40) - 1 / 40
    values = np.linalg.eigvalsh(H @ np.tanh(4 * X @ X.T + 1) @ H)
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert f"{share:.1%} of the spread" in repr(model)
    assert np.abs(model.transform(X) - model.embedding_).max() <= 1e-8
    with pytest.warns(LowdimWarning) as given:  # every direction negative: no axis at all
        empty = KernelPCA(2, kernel="precomputed").fit(-X @ X.T)
    assert {str(w.message)[:5] for w in given} == {"LD412", "LD413"}
    assert not empty.embedding_.any()


def test_kernels_that_cannot_be_used():
    X = table()
    with pytest.raises(LowdimError, match="LD415"):
        KernelPCA(2, kernel="poly", gamma=1e300).fit(X)
    with pytest.raises(LowdimError, match="LD415"):
        KernelPCA(2, kernel=lambda A, B: np.zeros(3)).fit(X)
    with pytest.raises(LowdimError, match="not symmetric"):
        KernelPCA(2, kernel=lambda A, B: A[:, :1] - B[:, :1].T).fit(X)
    with pytest.raises(LowdimError, match="not square"):
        KernelPCA(2, kernel="precomputed").fit(X)
    with pytest.raises(LowdimError, match="LD200"):
        KernelPCA(61).fit(X)
    with pytest.raises(LowdimError, match="LD283"):
        KernelPCA(2).fit(lowdim.as_source(X, weight=np.linspace(1.0, 2.0, 60)))
    for bad in ({"gamma": -1.0}, {"kernel": "cubic"}, {"degree": 0}, {"n_landmarks": 1}, {"coef0": np.inf}):
        with pytest.raises(LowdimError, match="LD210"):
            KernelPCA(2, **bad).fit(X)
    with pytest.raises(LowdimError, match="LD163"):
        KernelPCA(2, approximation="fourier").fit(X).transform(np.full((1, 5), np.nan))


def test_more_axes_than_spread_are_zero():
    X = np.outer(np.arange(10.0), [1.0, 2.0])
    with pytest.warns(LowdimWarning, match="only 1 of 2 axes"):
        model = KernelPCA(2, kernel="linear").fit(X)
    assert not model.embedding_[:, 1].any() and np.abs(model.transform(X) - model.embedding_).max() <= 1e-8


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_huge_and_tiny_tables(size):
    X = table()
    model = KernelPCA(2).fit(X * size)
    assert apart(model.embedding_, KernelPCA(2).fit(X).embedding_) <= 1e-8
    assert np.abs(model.transform(X * size) - model.embedding_).max() <= 1e-8


# contract ------------------------------------------------------------
KEPT = (
    "blocks_of_tiles",
    "serial_is_threads",
    "options_untouched",
    "transform_is_fit_transform",
    "save_and_load",
    "passes_as_declared",
    "finite",
    "constructor_holds_options",
)


@pytest.mark.parametrize("law", KEPT)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"kernel": "linear"},
        {"approximation": "nystroem", "n_landmarks": 20},
        {"approximation": "fourier", "n_landmarks": 30},
    ],
)
def test_laws(law, how):
    laws.LAWS[law](KernelPCA(2, **how), table(36))


# [Lawrence2012], chapter 4 ------------------------------------------------------
PLACES = np.linspace(-2.0, 2.0, 9)


def test_distances_in_the_space_of_three_basis_functions():
    """[Lawrence2012], figures 4.1 to 4.4: near the centres distances are seen, far from all of them they vanish."""
    D = feature_distances([-1.0, 1.0, 8.0, 20.0], [-1.0, 0.0, 1.0])
    phi = np.array([[1.0, np.exp(-1.0), np.exp(-4.0)], [np.exp(-4.0), np.exp(-1.0), 1.0]])
    assert D[0, 1] == pytest.approx(((phi[0] - phi[1]) ** 2).sum(), rel=1e-12)
    assert D[2, 3] < 1e-12 < D[0, 1]


def test_random_functions_have_these_distances():
    f = random_functions(PLACES, [-1.0, 0.0, 1.0], 20_000)
    found = ((f[:, None] - f[None]) ** 2).mean(axis=2)
    wanted = feature_distances(PLACES, [-1.0, 0.0, 1.0])
    assert np.abs(found - wanted).max() <= 5 * wanted.max() * np.sqrt(2 / 20_000)
    again = random_functions(PLACES, [-1.0, 0.0, 1.0], 20_000)
    assert np.array_equal(f, again)


def test_ever_more_basis_functions_are_the_gaussian_kernel():
    width = 0.7
    exact, _ = quad_vec(
        lambda mu: np.outer(*(np.exp(-(((PLACES - mu) / width) ** 2)),) * 2) / (np.pi * width**2), -3, 3
    )
    assert limit_kernel(PLACES, width=width, low=-3, high=3) == pytest.approx(exact, abs=1e-10)
    gaps = []
    for m in (20, 200, 2000):
        centres, step = even_centres(-3.0, 3.0, m)
        phi = rbf_basis(PLACES, centres, width=width)
        gaps.append(np.abs(phi @ phi.T * step / (np.pi * width**2) - exact).max())
    assert gaps[1] < gaps[0] / 5 and gaps[2] < gaps[1] / 5 and gaps[2] < 1e-4  # falls with the step
    centres, step = even_centres(-12.0, 12.0, 400)
    phi = rbf_basis(PLACES, centres, width=width)
    whole = limit_kernel(PLACES, width=width)
    assert phi @ phi.T * step / (np.pi * width**2) == pytest.approx(whole, abs=1e-12)
    gauss = np.exp(-((PLACES[:, None] - PLACES) ** 2) / (2 * width**2))
    assert whole / whole[0, 0] == pytest.approx(gauss, rel=1e-12)


def test_bad_bases():
    for bad in ({"width": 0.0}, {"width": -1.0}):
        with pytest.raises(LowdimError, match="LD210"):
            rbf_basis(PLACES, [0.0], **bad)
    with pytest.raises(LowdimError, match="LD210"):
        rbf_basis([np.nan], [0.0])
    with pytest.raises(LowdimError, match="LD220"):
        rbf_basis(PLACES, [[0.0, 1.0]])


def test_gaussian_is_another_word_for_rbf():
    X = table()
    for options in ({}, {"approximation": "fourier", "n_landmarks": 20}):
        rbf, gaussian = KernelPCA(2, **options).fit(X), KernelPCA(2, kernel="gaussian", **options).fit(X)
        assert gaussian.kernel == "gaussian"
        assert np.array_equal(rbf.embedding_, gaussian.embedding_)
        assert np.array_equal(rbf.transform(X[:5]), gaussian.transform(X[:5]))
    assert rbf.gamma_ == gaussian.gamma_


def test_noise_does_not_hang_on_the_basis_of_empty_directions():
    """Fewer rows than columns: more than half of all directions are empty, and all of them count."""
    X = np.random.default_rng(0).standard_normal((8, 30))
    new = X + 0.1 * np.random.default_rng(1).standard_normal((8, 30))
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((30, 30)))[0]
    noise = quiet_directions(X).noise(new)
    assert quiet_directions(X).axes.shape == (30, 23)
    assert quiet_directions(X @ turn).noise(new @ turn) == pytest.approx(noise, rel=1e-9)
    assert noise.mean() == pytest.approx(0.01, rel=0.3)
