"""The teaching pictures: their numbers beside the texts' formulas, beside SciPy and beside slow oracles."""

import doctest
import importlib

import numpy as np
import pytest
from lessons.bubblewrap import bubblewrap
from lessons.egg import egg, shell_mass
from lessons.em_bound import em_bound
from lessons.functions import FAR, NEAR, pushed, random_functions
from lessons.latent_line import generate, shrink
from lessons.sheets import mattress, plane, sheet
from lessons.two_columns import line_with_noise
from lessons.whitening import lines_through, whitening
from scipy import stats

import lowdim as ld
from lowdim.datasets import faithful
from lowdim.text.errors import OptionError
from tests.conftest import ROOT
from tests.oracles import rbf_functions as oracle
from tests.plot.svg_checks import inside, parsed, same_twice

OF_TWO_COLUMNS = (generate, shrink, whitening, lines_through, em_bound)
LESSONS = (*OF_TWO_COLUMNS, egg, bubblewrap, random_functions, pushed, plane, sheet, mattress)
MODULES = sorted(path.stem for path in (ROOT / "docs" / "gallery" / "lessons").glob("*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_what_a_docstring_shows_is_so(module):
    assert doctest.testmod(importlib.import_module(f"lessons.{module}")).failed == 0


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_needs_no_table(lesson):
    inside(lesson())


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_is_the_same_each_time(lesson):
    same_twice(lesson)


@pytest.fixture(scope="module")
def table():
    return ld.read(np.column_stack([np.random.default_rng(0).standard_normal(272), faithful().X[:, ::-1]]))


@pytest.mark.parametrize("lesson", OF_TWO_COLUMNS)
def test_a_lesson_draws_two_columns_of_a_table(lesson, table):
    plot = lesson(table, columns=(2, 1))
    parsed(plot)
    assert any(np.array_equal(value, faithful().X) for value in plot.data.values()) or lesson is generate
    with pytest.raises(OptionError, match="LD210"):
        lesson(table, columns=(1, 3))


def test_columns_that_are_never_seen_together_are_refused():
    X = np.random.default_rng(0).standard_normal((30, 3))
    X[::2, 0] = X[1::2, 1] = np.nan
    with pytest.raises(OptionError, match=r"LD216[\s\S]*fewer than 3 rows"):
        shrink(ld.read(X))


def test_the_egg_is_all_shell_in_many_dimensions():
    assert shell_mass(10_000).shell > 0.999999
    assert sum(shell_mass(7, 0.5, 2.0)) == pytest.approx(1.0)
    with pytest.raises(ld.messages.OptionError, match="LD210"):
        shell_mass(3, 2.0, 1.0)


def test_the_masses_of_the_egg_are_the_texts():
    """[Lawrence2012] figures 1.1 to 1.3: yolk, green, white in 1, 2 and 3 dimensions; and a sample of a Gaussian."""
    data = egg(most=3).data
    masses = 100 * np.column_stack([data["yolk"], data["shell"], data["white"]])
    np.testing.assert_allclose(masses, [[65.8, 4.8, 29.4], [59.4, 7.4, 33.2], [56.1, 9.2, 34.7]], atol=0.051)
    data = egg(most=100).data
    radius = np.sqrt((np.random.default_rng(0).standard_normal((20_000, 100)) ** 2).mean(axis=1))
    seen = [(radius < 0.95).mean(), ((radius >= 0.95) & (radius <= 1.05)).mean(), (radius > 1.05).mean()]
    np.testing.assert_allclose([data[k][-1] for k in ("yolk", "shell", "white")], seen, atol=0.012)


def test_rows_are_made_of_a_place_and_noise(table):
    """Of two columns with one axis the covariance is that of the table, and contours are those of its density."""
    data = generate(table, columns=(2, 1)).data
    C = np.outer(data["weight"], data["weight"]) + data["noise_variance"] * np.eye(2)
    np.testing.assert_allclose(data["covariance"], C)
    np.testing.assert_allclose(C, np.cov(faithful().X.T, bias=True), rtol=1e-6)
    law = stats.multivariate_normal(data["mean"], C)
    for k in range(3):
        at = law.logpdf(data["contour"][:, k])
        np.testing.assert_allclose(at, law.logpdf(data["mean"]) - 0.5 * (k + 1) ** 2)
    np.testing.assert_allclose(data["at"], data["mean"] + 1.2 * data["weight"])


def test_feet_shrink_by_the_texts_factor():
    X = line_with_noise().X
    data = shrink().data
    values, U = np.linalg.eigh(np.cov(X.T, bias=True))
    foot = X.mean(axis=0) + (X - X.mean(axis=0)) @ np.outer(U[:, 1], U[:, 1])
    np.testing.assert_allclose(data["foot"], foot)
    assert data["factor"] == pytest.approx((values[1] - values[0]) / values[1])
    np.testing.assert_allclose(data["shrunk"], X.mean(axis=0) + float(data["factor"]) * (foot - X.mean(axis=0)))


def test_whitened_rows_have_covariance_one():
    data = whitening().data
    r = np.corrcoef(faithful().X.T)[0, 1]
    np.testing.assert_allclose(data["variance"], [1 + r, 1 - r])
    np.testing.assert_allclose(np.cov(data["whitened"].T), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(data["standardised"].std(axis=0, ddof=1), 1.0)
    np.testing.assert_allclose(data["axis"] @ data["axis"].T, np.diag([1 + r, 1 - r]), atol=1e-12)


def test_the_three_lines_have_the_slopes_of_the_formulas():
    """Deming's closed form for equal variances, between the two of SciPy's regressions."""
    x, y = line_with_noise().X.T
    data = lines_through().data
    xx, xy, yy = np.cov(x, y)[[0, 0, 1], [0, 1, 1]]
    deming = (yy - xx + np.sqrt((yy - xx) ** 2 + 4 * xy**2)) / (2 * xy)
    np.testing.assert_allclose(data["slope"], [stats.linregress(x, y).slope, deming, 1 / stats.linregress(y, x).slope])
    assert data["slope"][0] < data["slope"][1] < data["slope"][2]
    np.testing.assert_allclose(data["distance"].std(), np.sqrt(np.linalg.eigvalsh(np.cov(x, y, bias=True))[0]))


def test_bounds_touch_the_likelihood_and_lie_below():
    data = em_bound(steps=5).data
    X = data["row"] - data["row"].mean(axis=0)
    for a, told in zip(data["step"], data["step_log_likelihood"], strict=True):
        w = np.array([a, float(data["held_weight"])])
        C = np.outer(w, w) + data["noise_variance"] * np.eye(2)
        assert told == pytest.approx(stats.multivariate_normal(np.zeros(2), C).logpdf(X).sum(), rel=1e-12)
    below = data["log_likelihood"][:, None] - data["bound"]
    assert below.min() > -1e-9 and (np.diff(data["step_log_likelihood"]) > 0).all()
    for k in range(5):  # the gap is least where the bound was made; its top is the next step
        assert data["weight"][below[:, k].argmin()] == pytest.approx(data["step"][k], abs=0.02 * data["step"][-1])
        assert data["weight"][data["bound"][:, k].argmax()] == pytest.approx(data["step"][k + 1], abs=0.03)


def test_random_functions_imply_the_distances_of_their_bells():
    """Beside the slow functions of the oracle, and the Gaussian kernel that many bells come to."""
    data = random_functions().data
    centres = np.array([-1.0, 0.0, 1.0])
    for pair, told in zip((NEAR, FAR), data["expected"][:2], strict=True):
        assert told == pytest.approx(oracle.feature_distances(np.array(pair), centres)[0, 1])
    assert data["expected"][2] == pytest.approx(2 - 2 * np.exp(-0.5 * (FAR[1] - FAR[0]) ** 2), rel=1e-6)
    np.testing.assert_allclose(data["bell"], oracle.rbf_basis(data["place"], centres))
    w = np.linalg.lstsq(data["bell"], data["few_bells"], rcond=None)[0]
    np.testing.assert_allclose(data["bell"] @ w, data["few_bells"], atol=1e-9)


def test_what_is_pushed_through_a_function_has_the_density_of_a_sample():
    data = pushed().data
    assert np.trapezoid(data["density"], data["y"]) == pytest.approx(1.0, abs=1e-4)
    z = np.random.default_rng(1).standard_normal(200_000)
    counts, edges = np.histogram(z + 1.4 * np.tanh(3 * z), 60, range=(-4, 4), density=True)
    middle = (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(counts, np.interp(middle, data["y"], data["density"]), atol=0.02)
    np.testing.assert_allclose(data["mode"], [-data["mode"][1], data["mode"][1]])
    straight = pushed(bend=0.0)
    assert straight.data["mode"].tolist() == [0.0] and "1 mode" in straight.title
    np.testing.assert_allclose(straight.data["density"], stats.norm.pdf(straight.data["y"]))


def test_shares_of_bubble_wrap_are_those_of_a_mixture():
    data = bubblewrap(apart=(1, 4, 16)).data
    way = data["way"]
    for k, s in enumerate((1, 4, 16)):
        each = stats.norm.pdf(way[:, None], np.arange(5), 1 / s)
        np.testing.assert_allclose(data["density"][:, k], each.mean(axis=1))
        inside = (way >= 0) & (way <= 4)
        np.testing.assert_allclose(
            data["share"][inside, k], (each / each.sum(axis=1, keepdims=True))[inside], atol=1e-12
        )
    two = 1 / (1 + np.exp(-(16**2) * (np.linspace(0, 1, 100_001) - 0.5)))  # a logistic function of slope s^2
    assert data["between"][2] == pytest.approx(((two > 0.05) & (two < 0.95)).mean(), abs=1e-4)


def test_the_last_step_comes_near_the_top_also_with_little_noise():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(200)
    for noise in (0.05, 0.5):
        made = em_bound(ld.read(np.column_stack([z, 2 * z]) + noise * rng.standard_normal((200, 2)))).data
        top = made["weight"][np.argmax(made["log_likelihood"])]
        assert abs(top - made["step"][-1]) <= 0.6 * abs(top - made["step"][0]) + 1e-9 or made["step"][0] > 0.8 * top
