"""Rotations against R, psych, GPArotation and scikit-learn's figures, and the laws they obey."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

from lowdim.maths import rotate as module
from lowdim.maths.factor import maximum_likelihood
from lowdim.maths.rotate import procrustes, rotate
from tests.maths.test_factor import M1, correlation, table

METHODS = ("varimax", "quartimax", "equamax", "promax", "oblimin", "geomin", "bifactor")

# Eight physical variables (Harman 1976) and their rotations as Jennrich's GPA pages print them.
HARMAN8 = np.array(
    [
        [0.830, -0.396],
        [0.818, -0.469],
        [0.777, -0.470],
        [0.798, -0.401],
        [0.786, 0.500],
        [0.672, 0.458],
        [0.594, 0.444],
        [0.647, 0.333],
    ]
)
QUARTIMIN = [
    [0.891822, 0.056015],
    [0.953680, -0.023246],
    [0.929150, -0.046503],
    [0.876683, 0.033658],
    [0.013701, 0.925000],
    [-0.017265, 0.821253],
    [-0.052445, 0.764953],
    [0.085890, 0.683115],
]
BIQUARTIMIN = [
    [1.01753, -0.13657],
    [1.11338, -0.24643],
    [1.09200, -0.26890],
    [1.00676, -0.16010],
    [-0.26534, 1.11371],
    [-0.26972, 0.99553],
    [-0.29341, 0.93561],
    [-0.10806, 0.80513],
]
QUARTIMAX = [
    [0.89876, 0.19482],
    [0.93394, 0.12974],
    [0.90213, 0.10386],
    [0.87651, 0.17128],
    [0.31558, 0.87647],
    [0.25113, 0.77349],
    [0.19801, 0.71468],
    [0.30786, 0.65933],
]

# Principal axes of the skull table, and R's psych::fa after each rotation (statsmodels' tests).
SKULL = np.array(
    [[0.97541115, 0.20280987], [0.97113975, 0.17207499], [0.9618705, -0.2004196], [0.37570708, -0.45821379]]
)
PSYCH = {
    "varimax": [
        [0.98828898, -0.12587155],
        [0.97424206, -0.15354033],
        [0.84418097, -0.502714],
        [0.20601929, -0.55558235],
    ],
    "quartimax": [
        [0.98935598, 0.117190049],
        [0.98242714, 0.086943252],
        [0.94078972, -0.283332952],
        [0.33442284, -0.489159543],
    ],
    "oblimin": [
        [1.02834170170, 0.06563421],
        [1.00178840104, 0.03096076],
        [0.71824931384, -0.39658839],
        [-0.00013510048, -0.59261944],
    ],
}


def simplicity(L: np.ndarray, method: str) -> float:
    """What a method makes large, straight from its definition."""
    squares = L**2
    if method == "oblimin":
        cross = squares.T @ squares
        return -float(cross.sum() - np.trace(cross))
    return float((squares**2).sum() - (method == "varimax") * (squares.sum(axis=0) ** 2).sum() / len(L))


def structured(seed: int, d: int = 15, q: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((d, q)) * 0.15
    W[np.arange(d), np.arange(d) % q] += rng.uniform(0.4, 0.9, d)
    return W @ np.linalg.qr(rng.standard_normal((q, q)))[0]


def flipped(L: np.ndarray) -> np.ndarray:
    """The largest entry of each column positive."""
    return L * np.sign(L[np.abs(L).argmax(axis=0), range(L.shape[1])])


# --- published figures


@pytest.mark.parametrize(
    ("method", "gamma", "printed", "atol"),
    [
        ("oblimin", 0.0, QUARTIMIN, 3e-6),
        ("oblimin", 0.5, BIQUARTIMIN, 1e-5),
        ("quartimax", 0.0, QUARTIMAX, 1.5e-5),
    ],
)
def test_harman_eight_variables_of_the_gpa_pages(method, gamma, printed, atol):
    L = rotate(HARMAN8, method, gamma=gamma, normalize=False).loadings
    np.testing.assert_allclose(L, printed, atol=atol)


def test_quartimin_reaches_the_printed_criterion():
    L = rotate(HARMAN8, "oblimin", normalize=False).loadings
    assert -simplicity(L, "oblimin") / 4 == pytest.approx(0.00557, abs=5e-6)


@pytest.mark.parametrize("method", ["varimax", "quartimax", "oblimin"])
def test_skull_rotations_of_psych(method):
    L, theirs = rotate(SKULL, method, normalize=False).loadings, flipped(np.array(PSYCH[method]))
    # psych stops at a slope of 1e-5, hence the tolerance; ours must be no less simple than theirs.
    np.testing.assert_allclose(L, theirs, atol=5e-5)
    assert simplicity(L, method) >= simplicity(theirs, method) - 1e-8


def test_varimax_of_psych_principal_in_scikit_learn():
    factors = [[0.89421016, -0.35854928], [-0.45081822, -0.89132754], [0.99500666, -0.02031465],
               [0.96822861, -0.06299656]]  # fmt: skip
    printed = [[0.962, 0.052], [-0.141, 0.989], [0.949, -0.300], [0.937, -0.251]]
    np.testing.assert_allclose(rotate(factors, normalize=False).loadings, printed, atol=1.5e-3)


@pytest.fixture
def swiss(need) -> np.ndarray:
    path = need("factor_analysis/swiss.csv")
    X = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(1, 7))
    return maximum_likelihood(np.corrcoef(X, rowvar=False), 2).loadings


def test_swiss_varimax_of_r(swiss):
    L = rotate(swiss, "varimax", normalize=False).loadings
    printed = [[-0.650, 0.398], [-0.628, 0.337], [0.681, -0.515], [0.997, -0.038], [-0.117, 0.962]]
    np.testing.assert_allclose(L[:5], printed, atol=1e-3)
    np.testing.assert_allclose((L**2).sum(axis=0), [2.297, 1.496], atol=1e-3)


def test_swiss_promax_of_r(swiss):
    L = rotate(swiss, "promax").loadings
    printed = [[-0.595, 0.227], [-0.599, 0.160], [0.577, -0.360], [1.192, 0.363], [0.326, 1.147]]
    np.testing.assert_allclose(L[:5], printed, atol=6e-4)
    np.testing.assert_allclose((L**2).sum(axis=0), [2.574, 1.686], atol=6e-4)


def test_toy_of_the_help_page_in_r():
    W = maximum_likelihood(np.corrcoef(M1), 3).loadings
    varimax, promax = rotate(W).loadings, rotate(W, "promax").loadings
    printed = [[0.944, 0.182, 0.267], [0.905, 0.235, 0.159], [0.236, 0.210, 0.946],
               [0.180, 0.242, 0.828], [0.242, 0.881, 0.286], [0.193, 0.959, 0.196]]  # fmt: skip
    # R's varimax stops early (eps 1e-5): run on to 1e-12 its iteration gives ours to all printed digits.
    np.testing.assert_allclose(varimax, printed, atol=1.5e-3)
    np.testing.assert_allclose((varimax**2).sum(axis=0), [1.893, 1.886, 1.797], atol=2.5e-3)
    np.testing.assert_allclose((promax**2).sum(axis=0), [1.903, 1.876, 1.772], atol=1e-3)
    np.testing.assert_allclose(np.abs(promax).max(axis=1), [0.985, 0.951, 1.003, 0.867, 0.910, 1.033], atol=1e-3)


def test_ability_rotations_of_r(need):
    W = maximum_likelihood(correlation(table(need("factor_analysis/ability_cov.csv"))), 2).loadings
    printed = [[0.499, 0.543], [0.156, 0.622], [0.206, 0.860], [0.109, 0.468], [0.956, 0.182], [0.785, 0.225]]
    # The same early stop: R's loadings lie 0.003 from those that eps 1e-12 reaches.
    np.testing.assert_allclose(rotate(W).loadings, printed, atol=3e-3)
    oblique = rotate(W, "promax").loadings
    np.testing.assert_allclose(oblique[[0, 1, 2, 3], 1], [0.470, 0.671, 0.932, 0.508], atol=1e-3)
    np.testing.assert_allclose(oblique[[0, 4, 5], 0], [0.364, 1.023, 0.811], atol=1e-3)
    np.testing.assert_allclose((oblique**2).sum(axis=0), [1.853, 1.807], atol=1e-3)


# Three factors of nine tests (Holzinger and Swineford 1939) as R's factanal leaves them unturned, and what the R
# package GPArotation 2022.10-2 makes of them, best of 12 starts: rows 1, 4 and 7, and the factors' correlations.
TESTS9 = np.array(
    [
        [0.488046750, 0.313523587, 0.388568462],
        [0.244472439, 0.173128252, 0.401901290],
        [0.272438303, 0.407054110, 0.466162948],
        [0.834522613, -0.152808142, -0.032076128],
        [0.839043342, -0.209096773, -0.096994365],
        [0.823368695, -0.128821143, 0.015892669],
        [0.228781689, 0.484535015, -0.459003056],
        [0.269711035, 0.621725912, -0.268618979],
        [0.376472973, 0.560758394, 0.023938267],
    ]
)
GPA9 = {
    "geomin": (
        [[0.1877705, 0.6041541, 0.0288195], [0.8390630, 0.0240362, 0.0074045], [0.0313583, -0.1501686, 0.7262604]],
        [0.3271598, 0.2295949, 0.2776669],
    ),
    "equamax": (
        [[0.3054415, 0.6134299, 0.1337210], [0.8343648, 0.1313365, 0.0859848], [0.0954740, -0.0604395, 0.6964415]],
        [0.0, 0.0, 0.0],
    ),
    "oblimin": (
        [[0.1910353, 0.6020407, 0.0309348], [0.8404731, 0.0217605, 0.0053095], [0.0435878, -0.1515929, 0.7231029]],
        [0.3257724, 0.2164381, 0.2704754],
    ),
}


@pytest.mark.parametrize("method", GPA9)
def test_rotations_of_gparotation(method):
    """Rows 1, 4 and 7, and the correlations of factors 1 and 2, 1 and 3, 2 and 3."""
    found = rotate(TESTS9, method, normalize=False)
    rows, phi = GPA9[method]
    np.testing.assert_allclose(found.loadings[[0, 3, 6]], rows, atol=5e-7)
    np.testing.assert_allclose(found.factor_covariance[[0, 0, 1], [1, 2, 2]], phi, atol=5e-7)


def test_bifactor_reaches_the_criterion_of_gparotation():
    found = rotate(TESTS9, "bifactor")
    assert 0.0029684 < 4 * module._bifactor(found.loadings)[0] <= 0.00296843051
    np.testing.assert_allclose(found.loadings[[0, 3, 6], 0], [0.6674, 0.2734, 0.0706], atol=1e-3)  # theirs stops early
    np.testing.assert_allclose(found.factor_covariance[0, 1:], 0.0, atol=1e-5)


def test_a_partly_known_target_is_reached_as_by_gparotation():
    target = np.full((9, 3), np.nan)
    target[:3, 1:] = target[3:6, [0, 2]] = target[6:, :2] = 0.0
    found = rotate(TESTS9, target=target)
    known = ~np.isnan(target)
    assert 2 * module._off_target(found.loadings, np.where(known, target, 0.0), known)[0] == pytest.approx(
        0.220848451572
    )
    printed = [[0.5892626, 0.1738584, 0.0752346], [0.0202973, 0.8396324, 0.0083330], [0.2289370, 0.0360119, 0.7360256]]
    np.testing.assert_allclose(np.abs(found.loadings[[0, 3, 6]]), printed, atol=5e-7)
    full = found.loadings.copy()
    np.testing.assert_allclose(
        rotate(TESTS9, target=full).loadings, full, atol=1e-6
    )  # order and signs are the target's


@pytest.mark.parametrize(
    ("target", "words"),
    [(np.zeros((9, 2)), "table of"), (np.full((9, 3), np.nan), "known entries"), (np.zeros((3, 9)), "table of")],
)
def test_a_target_that_says_too_little_is_refused(target, words):
    with pytest.raises(ValueError, match=words):
        rotate(TESTS9, target=target)


# --- laws


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_rotation_keeps_the_fit_and_its_own_words(method, normalize, seed):
    W = structured(seed, q=2 + seed % 3)
    L, T, Phi = rotate(W, method, normalize=normalize)
    np.testing.assert_allclose(L @ Phi @ L.T, W @ W.T, atol=1e-12)
    np.testing.assert_allclose(L, W @ np.linalg.inv(T).T, atol=1e-12)
    np.testing.assert_allclose(Phi, T.T @ T, atol=1e-14)
    np.testing.assert_allclose(np.diag(Phi), 1, atol=1e-12)
    if method in ("varimax", "quartimax"):
        np.testing.assert_allclose(Phi, np.eye(len(T)), atol=1e-12)
    assert (np.diff((L**2).sum(axis=0)[method == "bifactor" :]) <= 1e-12).all()
    assert (L[np.abs(L).argmax(axis=0), range(L.shape[1])] > 0).all()
    z = np.random.default_rng(seed).standard_normal((7, len(T)))
    np.testing.assert_allclose((z @ T) @ L.T, z @ W.T, atol=1e-12)


@pytest.mark.parametrize("method", ["varimax", "quartimax", "oblimin"])
def test_no_start_is_simpler(method):
    rng = np.random.default_rng(0)
    for seed in range(4):
        W = structured(seed)
        ours = simplicity(rotate(W, method, normalize=False).loadings, method)
        tries = [np.eye(3), *(np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(50))]
        assert all(ours >= simplicity(W @ Q, method) for Q in tries)
        again = [simplicity(rotate(W @ Q, method, normalize=False).loadings, method) for Q in tries[:6]]
        np.testing.assert_allclose(again, ours, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_oblimin_slope_vanishes_and_is_the_slope(seed):
    W = structured(seed)
    T = rotate(W, "oblimin", normalize=False).matrix
    assert np.abs(module._oblique(W, T, module._oblimin).slope).max() <= 1e-7
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((3, 3))
    T /= np.sqrt((T**2).sum(axis=0))
    D = rng.standard_normal((3, 3))
    D -= T * (T * D).sum(axis=0)  # along matrices with unit columns
    known = rng.random(W.shape) < 0.5
    for criterion in (
        partial(module._oblimin, gamma=0.3),
        partial(module._geomin, epsilon=0.01),
        module._bifactor,
        partial(module._off_target, target=np.zeros(W.shape), known=known),
    ):
        ahead, behind = (module._oblique(W, T + s * 1e-6 * D, criterion).value for s in (1, -1))
        slope = (module._oblique(W, T, criterion).slope * D).sum()
        assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_turned_loadings_give_the_same_answer(method):
    for seed in range(3):
        W = structured(seed)
        Q = np.linalg.qr(np.random.default_rng(9 + seed).standard_normal((3, 3)))[0]
        # along the general factor bifactor's criterion is nearly flat: a slope of 1e-10 leaves the sixth digit open
        atol = 1e-6 if method == "bifactor" else 1e-8
        np.testing.assert_allclose(rotate(W @ Q, method).loadings, rotate(W, method).loadings, atol=atol)


@pytest.mark.parametrize("method", METHODS[:-1])
def test_simple_structure_is_found_again(method):
    L = np.kron(np.diag([3.0, 2.0, 1.0]), np.array([[0.9], [0.8], [0.7], [0.6]]))
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    np.testing.assert_allclose(rotate(L @ Q, method).loadings, L, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalize", [True, False])
def test_degenerate_loadings_stay_finite(method, normalize):
    W = structured(0, q=2)
    cases = [
        np.vstack([W, np.zeros((2, 2))]),  # rows without communality
        np.c_[W, np.zeros(15)],  # a factor without loadings
        np.c_[W, W[:, 0]],
        np.zeros((4, 3)),
        np.ones((4, 2)),
        W[:2] @ np.ones((2, 4)),
        W * 1e-150,
        W * 1e6,
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in cases:
            L, T, Phi = rotate(case, method, normalize=normalize)
            size = np.abs(case).max() or 1.0
            fitted = (L / size) @ Phi @ (L / size).T
            np.testing.assert_allclose(fitted, (case / size) @ (case / size).T, atol=1e-11)
            assert np.isfinite(T).all()


@pytest.mark.parametrize("q", [0, 1])
def test_one_factor_has_nothing_to_turn(q):
    W = np.random.default_rng(0).standard_normal((5, q))
    for method in METHODS:
        L, T, Phi = rotate(W, method)
        np.testing.assert_array_equal(L, W)
        assert T.tolist() == Phi.tolist() == np.eye(q).tolist()


def test_an_unknown_rotation_names_the_choices():
    with pytest.raises(ValueError, match="'oblimax': choose one of varimax, quartimax, equamax, promax"):
        rotate(SKULL, "oblimax")


# --- Procrustes


@pytest.mark.parametrize("size", [1.0, 1e-150, 1e150])
def test_procrustes_recovers_a_similarity(size):
    rng = np.random.default_rng(3)
    X, Q = rng.standard_normal((30, 4)) * size, np.linalg.qr(rng.standard_normal((4, 4)))[0]
    shift = rng.standard_normal(4) * size
    fit = procrustes(X, 2.5 * X @ Q + shift)
    np.testing.assert_allclose(fit.rotation, Q, atol=1e-12)
    np.testing.assert_allclose(fit.shift / size, shift / size, atol=1e-12)
    np.testing.assert_allclose(fit.aligned / size, (2.5 * X @ Q + shift) / size, atol=1e-12)
    assert fit.scale == pytest.approx(2.5, rel=1e-13) and fit.error <= 1e-24


def test_procrustes_agrees_with_scipy():
    from scipy.spatial import procrustes as scipy_procrustes

    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 3))
    fit = procrustes(X, Y)
    assert fit.error == pytest.approx(scipy_procrustes(Y, X)[2], rel=1e-12)
    np.testing.assert_allclose(fit.aligned, fit.scale * X @ fit.rotation + fit.shift, atol=1e-13)
    assert fit.error == pytest.approx(((fit.aligned - Y) ** 2).sum() / ((Y - Y.mean(axis=0)) ** 2).sum())


def test_procrustes_without_reflection_or_scaling():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((20, 2))
    mirrored = 3 * X * [1, -1]
    proper, free = procrustes(X, mirrored, reflection=False), procrustes(X, mirrored)
    assert np.linalg.det(proper.rotation) == pytest.approx(1) and np.linalg.det(free.rotation) == pytest.approx(-1)
    assert free.error <= 1e-24 < 0.1 < proper.error <= 1
    angles = np.linspace(0, 2 * np.pi, 721)
    turns = [np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) for a in angles]
    A, B = X - X.mean(axis=0), mirrored - mirrored.mean(axis=0)
    best = min(((proper.scale * A @ Q - B) ** 2).sum() / (B**2).sum() for Q in turns)
    assert proper.error <= best <= proper.error + 1e-4
    rigid = procrustes(X, mirrored, scaling=False)
    assert rigid.scale == 1 and rigid.error == pytest.approx((2 / 3) ** 2, rel=1e-12)


def test_procrustes_of_single_points_is_finite():
    X, point = np.random.default_rng(6).standard_normal((5, 2)), np.ones((5, 2))
    assert procrustes(point, X).error == 1 and procrustes(point, point).error == 0
    assert procrustes(X, point).error == 0 and procrustes(X, point).scale == 0
    assert procrustes(X, point, scaling=False).error == 1


@pytest.mark.parametrize(
    ("X", "Y", "says"),
    [(np.ones((3, 2)), np.ones((4, 2)), "shape"), (np.ones((3, 2)), np.full((3, 2), np.nan), "gaps")],
)
def test_procrustes_names_what_does_not_fit(X, Y, says):
    with pytest.raises(ValueError, match=says):
        procrustes(X, Y)
