"""The generative topographic mapping: limits, verbs, and tables that ask too much."""

import warnings

import numpy as np
import pytest

from lowdim import GTM
from lowdim.registry import METHODS
from lowdim.storage.model_file import load
from lowdim.text.errors import ModelWarning, OptionError
from lowdim.text.messages import LowdimError
from tests.models.nonlinear.tables import arc


def test_one_node_is_a_spherical_gaussian():
    X = arc()
    fit = GTM(1, grid=1, basis=1, weight_prior=0.0).fit(X)
    assert fit.nodes_ == pytest.approx(X.mean(axis=0)[None], abs=1e-9)
    assert fit.noise_variance_ == pytest.approx(X.var(axis=0).mean(), rel=1e-9)
    spread = X.var(axis=0).mean()
    expected = -0.5 * 80 * 3 * (np.log(2 * np.pi * spread) + 1)
    assert fit.score_samples(X).sum() == pytest.approx(expected, rel=1e-9)


def test_verbs():
    X = arc(gaps=0.1)
    fit = GTM(1, grid=15).fit(X)
    R = fit.responsibilities(X)
    assert R.sum(axis=1) == pytest.approx(1.0) and fit.transform(X) == pytest.approx(R @ fit.grid_)
    assert fit.mode(X) == pytest.approx(fit.grid_[R.argmax(axis=1)])
    post = fit.posterior(X)
    var = (R @ fit.grid_**2) - (R @ fit.grid_) ** 2
    assert post.cov[:, 0, 0] == pytest.approx(var[:, 0], abs=1e-12)
    assert fit.inverse_transform(fit.grid_) == pytest.approx(fit.nodes_, abs=1e-9)
    again = GTM(1, grid=15).fit(fit.sample(400))
    assert again.noise_variance_ == pytest.approx(fit.noise_variance_, rel=0.3)
    assert 0.0 <= fit.alone_ <= 1.0 and "nodes alone" in fit.certificate_.text()


def test_the_prior_is_re_estimated():
    X = arc(200)
    auto, weak = GTM(1, grid=20, basis=15, weight_prior="auto").fit(X), GTM(1, grid=20, basis=15, weight_prior=0).fit(X)
    fresh = arc(500, seed=7)
    assert auto.score(fresh) > weak.score(fresh) - 0.05 and auto.weight_prior_ > 0


def test_a_saved_sheet_says_the_same(tmp_path):
    X = arc(gaps=0.2)
    fit = GTM(2, grid=6, basis=3).fit(X[~np.isnan(X).all(axis=1)])
    fit.save(tmp_path / "sheet.lowdim")
    back = load(tmp_path / "sheet.lowdim")
    assert back.calibration_ == fit.calibration_ != 1.0
    for verb in ("responsibilities", "mode", "transform", "score_samples"):
        assert np.array_equal(getattr(back, verb)(X), getattr(fit, verb)(X)), verb
    assert np.array_equal(back.magnification(), fit.magnification())
    assert np.array_equal(back.stretch(), fit.stretch())
    assert np.array_equal(back.impute(X, return_std=True)[1], fit.impute(X, return_std=True)[1])


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_units_do_not_matter(size):
    """The weights' prior is in units of the table."""
    X = arc(60)
    one, two = GTM(1, grid=10).fit(X), GTM(1, grid=10).fit(X * size)
    assert two.nodes_ / size == pytest.approx(one.nodes_, rel=1e-6) and two.weight_prior_ == pytest.approx(0.1)
    assert two.noise_variance_ / size**2 == pytest.approx(one.noise_variance_, rel=1e-6)
    auto = [GTM(1, grid=10, weight_prior="auto").fit(X * s).weight_prior_ for s in (1.0, size)]
    assert auto[1] == pytest.approx(auto[0], rel=1e-4)


def test_words():
    with pytest.raises(OptionError, match="1, 2 or 3"):
        GTM(4).fit(arc())
    with pytest.raises(OptionError, match="LD200"):
        GTM(2).fit(arc()[:, :1])
    for wrong in (
        {"basis": (6, 1.0)},
        {"basis_width": 0.0},
        {"grid": "many"},
        {"init": "random"},
        {"weight_prior": np.inf},
        {"calibrate": 1},
    ):
        with pytest.raises(OptionError, match="LD210"):
            GTM(1, **wrong).fit(arc())


def test_none_is_the_seed_zero_and_a_jittered_start_is_asked_for():
    X = arc(60, gaps=0.1)
    X = X[~np.isnan(X).all(axis=1)]
    how = {"grid": 8, "tol": 0.01}
    one, two = (GTM(1, random_state=seed, **how).fit(X) for seed in (0, None))
    assert np.array_equal(one.nodes_, two.nodes_) and one.calibration_ == two.calibration_
    jittered = [GTM(1, init="jitter", random_state=seed, **how).fit(X).nodes_ for seed in (0, None, 1)]
    assert np.array_equal(jittered[0], jittered[1]) and not np.array_equal(jittered[0], jittered[2])
    assert not np.array_equal(jittered[0], one.nodes_)


def test_gtm_in_three_dimensions_by_its_name():
    options = METHODS["gtm"].make(3).get_params()
    assert (options["n_components"], options["grid"], options["basis"]) == (3, 8, 4)


def test_places_of_another_dimension_are_refused():
    with pytest.raises(LowdimError, match="LD220"):
        GTM(2, grid=4, basis=3).fit(arc(40)).magnification(np.zeros((2, 3)))


def holds(fit, X):
    """Every number a user can ask for is finite, without a warning of numpy's."""
    with np.errstate(all="raise", under="ignore"):
        found = [
            fit.transform(X),
            fit.mode(X),
            fit.responsibilities(X),
            fit.score_samples(X),
            fit.reconstruct(X),
            fit.magnification(),
            fit.stretch(),
            fit.nodes_,
            fit.sample(5),
            fit.params_.W,
        ]
        return all(np.isfinite(part).all() for part in found) and fit.noise_variance_ > 0


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"grid": 3},
        {"grid": 12, "basis": 6, "basis_width": 3.0},
        {"n_components": 1, "grid": 5, "basis": 9},
        {"n_components": 3, "grid": 4, "basis": 4},
    ],
    ids=["plain", "fewer-nodes", "broad-bells", "line", "cube"],
)
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_no_prior_leaves_nothing_open(how, gaps):
    X = arc(90, gaps=gaps)
    X = X[~np.isnan(X).all(axis=1)]
    with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="LD477")  # so bendy a sheet follows single rows
        one = GTM(**{"grid": 8, **how}, weight_prior=0, tol=0.01).fit(X)
    assert holds(one, X) and np.abs(one.params_.W).max() < 1e6


def test_more_nodes_than_rows():
    X = arc(5)
    with pytest.warns(ModelWarning, match="LD202"), pytest.warns(ModelWarning, match="LD476"):
        fit = GTM(2, grid=30).fit(X)  # so bendy a sheet meets five rows
    assert holds(fit, X) and fit.reconstruct(X) == pytest.approx(X, abs=0.02)
    text = fit.certificate_.text()
    assert "fewer rows (5) than nodes" in text and "nodes alone" in text and "noise_variance_" in text
    assert "fewer rows" not in GTM(1, grid=20, basis=4).fit(arc(30)).certificate_.text()


def test_nodes_without_rows():
    """Two heaps far apart: the nodes between hold nothing, and lie between."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((40, 3)) * 0.01, rng.standard_normal((40, 3)) * 0.01 + 10.0])
    for prior in (0.0, 0.1):
        fit = GTM(1, grid=30, basis=6, weight_prior=prior).fit(X)
        assert holds(fit, X) and (fit.responsibilities(X).sum(axis=0) < 1e-6).any()
        assert fit.nodes_.min() > -10 and fit.nodes_.max() < 20


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_a_row_a_thousand_deviations_away_does_not_underflow(far):
    X = arc(80)
    fit = GTM(1, grid=12, basis=4).fit(X)
    away = X.mean(axis=0) + far * np.sqrt(fit.noise_variance_) * np.array([[1.0, 0, 0], [0, -1, 0], [1, 1, 1]])
    R, score = fit.responsibilities(away), fit.score_samples(away)
    assert R.sum(axis=1) == pytest.approx(1.0) and np.isfinite(score).all()
    d2 = ((away[:, None] - fit.nodes_) ** 2).sum(axis=2) / fit.noise_variance_
    exact = np.logaddexp.reduce(-0.5 * d2, axis=1) - np.log(12) - 1.5 * np.log(2 * np.pi * fit.noise_variance_)
    assert score == pytest.approx(exact, rel=1e-9)
    Y = np.vstack([X, away])
    assert holds(GTM(1, grid=12, basis=4).fit(Y), Y)


def test_equal_rows_and_noise_that_vanishes():
    X = np.repeat(arc(6), 20, axis=0)
    for prior in (0.0, 0.1):
        with pytest.warns(ModelWarning, match="LD202"):
            fit = GTM(2, grid=10, weight_prior=prior).fit(X)
        assert holds(fit, X) and "noise_variance_" in fit.certificate_.boundary
        assert fit.reconstruct(X) == pytest.approx(X, abs=1e-3)
    with pytest.warns(ModelWarning, match="LD202"):
        GTM(1, grid=2, basis=2, weight_prior=0.0).fit(np.repeat(np.eye(2), 4, axis=0))


def test_one_column_in_other_units():
    """Its spread decides the sheet, which follows it; standardised, it is the sheet of the plain table."""
    X = arc(80)
    unit = np.array([1.0, 1e6, 1.0])
    raw = GTM(1, grid=15, basis=5).fit(X * unit)
    assert holds(raw, X * unit)
    explained = 1 - ((raw.reconstruct(X * unit) - X * unit)[:, 1] ** 2).mean() / (X * unit)[:, 1].var()
    assert explained > 0.98
    plain, scaled = (GTM(1, grid=15, basis=5, standardize=True).fit(Y) for Y in (X, X * unit))
    assert scaled.nodes_ / unit == pytest.approx(plain.nodes_, rel=1e-6)


def test_areas_beyond_double_precision_are_its_end():
    plain = GTM(2, grid=5, basis=3).fit(arc(60))
    with pytest.warns(Warning, match="LD152"):
        huge = GTM(2, grid=5, basis=3).fit(arc(60) * 1e200)
    tiny = GTM(2, grid=5, basis=3).fit(arc(60) * 1e-200)
    for fit in (huge, tiny):
        assert np.isfinite(fit.magnification()).all() and fit.stretch() == pytest.approx(plain.stretch(), rel=1e-4)


@pytest.mark.slow
def test_the_prior_that_the_warning_names_fills_a_small_table_better():
    r = np.random.default_rng([1, 41])
    X = r.standard_normal((38, 2)) @ r.standard_normal((2, 18)) + 0.5 * r.standard_normal((38, 18))
    gap = r.random(X.shape) < 0.15
    Y = np.where(gap, np.nan, X)
    with pytest.warns(ModelWarning, match=r"LD477[\s\S]*weight_prior='auto'"):
        default = GTM().fit(Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        auto = GTM(weight_prior="auto").fit(Y)
    of_auto, of_default = (float(((model.impute(Y) - X)[gap] ** 2).mean()) for model in (auto, default))
    assert of_auto < 0.6 * of_default
