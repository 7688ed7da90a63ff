"""GP-LVM: its linear limit, places by quadrature, new rows and gaps, and tables that break kernels."""

import warnings

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm, spearmanr

import lowdim.models.gaussian_process.gp as gp
from lowdim import GPLVM, DualPPCA, laws
from lowdim.models.gaussian_process import gplvm_climb
from lowdim.models.gaussian_process.gplvm_climb import mean_variance
from lowdim.text.errors import BudgetError, FitError, ModelWarning, OptionError, TableError, VerbError
from lowdim.text.messages import LowdimWarning
from tests.models.gaussian_process.tables import arc


@pytest.mark.parametrize("shape", [(30, 6), (12, 40)])
def test_linear_is_dual_ppca(shape):
    rng = np.random.default_rng(0)
    X = 2 * rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1])) + rng.standard_normal(shape) + 3
    ours, dual = GPLVM(2, kernel="linear").fit(X), DualPPCA(2).fit(X)
    assert ours.objective_ == pytest.approx(dual.objective_, rel=1e-10)
    assert ours.noise_variance_ == pytest.approx(dual.noise_variance_, rel=1e-10)
    scaled = ours.embedding_ * np.sqrt(ours.kernel_["linear variance"])
    assert np.abs(scaled) == pytest.approx(np.abs(dual.embedding_), rel=1e-6, abs=1e-8)


def test_a_climb_with_the_linear_kernel_comes_to_dual_ppca():
    X, _ = arc(25)
    free = GPLVM(1, kernel="linear", back_constraints=True, tol=1e-8).fit(X)  # every place can be had, none is fixed
    assert free.objective_ == pytest.approx(GPLVM(1, kernel="linear").fit(X).objective_, abs=1.0)


def test_an_arc_is_straightened():
    X, t = arc()
    model = GPLVM(1).fit(X)
    assert abs(spearmanr(model.embedding_[:, 0], t).statistic) > 0.99
    assert np.abs(model.transform(X) - model.embedding_).max() < 0.2  # places of a fit have no prior, new ones have
    assert np.sqrt(np.mean((model.reconstruct(X) - X) ** 2)) < 0.08
    assert (model.embedding_**2).mean() == pytest.approx(1.0)
    with pytest.raises(VerbError, match="LD240"):
        _ = model.partial_fit


def test_new_rows_and_gaps():
    X, _ = arc(60, gaps=0.15)
    model = GPLVM(1, random_state=0).fit(X)
    full, u = arc(50, seed=9)
    new = np.where(np.random.default_rng(2).random(full.shape) < 0.25, np.nan, full)
    place = model.transform(full)[:, 0]
    assert abs(spearmanr(place, u).statistic) > 0.98
    filled, std = model.impute(new, return_std=True)
    gone = np.isnan(new)
    assert np.sqrt(np.mean((filled - full)[gone] ** 2)) < 0.3 * np.sqrt(np.mean((full - full.mean(0))[gone] ** 2))
    assert (np.abs(filled - full)[gone] < 3 * std[gone]).mean() > 0.9
    assert model.transform(full[7:9]) == pytest.approx(model.transform(full)[7:9], abs=1e-6)  # 4e-5 of its sd
    assert np.isfinite(model.sample(20)).all() and model.calibration_ != 1.0


def test_laplace_against_quadrature():
    X, _ = arc(30)
    model = GPLVM(1).fit(X)
    p = model.params_
    D, sd = p.decoder(), np.sqrt(p.spread[0, 0])
    new, _ = arc(5, seed=4)
    y = model.frame_.inward(laws.as_source(new).sample(5)).x - p.mu
    found = model.posterior(new)
    for i in range(5):
        z = found.mean[i, 0] + np.linspace(-8, 8, 401) * found.std[i, 0]
        logs = D.density(z[:, None], np.tile(y[i], (401, 1)), np.ones((401, 4), bool))[0]
        logs = logs + norm(p.centre[0], sd).logpdf(z)
        joint = np.exp(logs - logs.max())
        total = np.log(trapezoid(joint, z)) + logs.max()
        assert found.log_density[i] == pytest.approx(total + np.log(model.frame_.scale).sum(), abs=0.05)
        assert joint @ z / joint.sum() == pytest.approx(found.mean[i, 0], abs=0.15 * found.std[i, 0])


def test_predictive_variance_is_small_near_rows():
    X, _ = arc()
    model = GPLVM(1).fit(X)
    near, far = model.predictive_variance(model.embedding_[:5]), model.predictive_variance([[50.0]])
    assert (near < 0.2 * far).all()
    assert far == pytest.approx(model.kernel_["rbf variance"] + model.noise_variance_, rel=1e-6)
    mean, std = model.inverse_transform([[50.0], [0.1]], return_std=True)
    assert mean[0] == pytest.approx(X.mean(axis=0)) and std[0] ** 2 == pytest.approx(far[0])
    with pytest.raises(TableError, match="LD220"):
        model.predictive_variance([[1.0, 2.0]])


@pytest.mark.parametrize("gaps", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_laws(gaps):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((22, 1)) @ [[3.0, 1.0, 2.0, -1.0]] + 0.5 * rng.standard_normal((22, 4)) + [1.0, 2, 3, 10]
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[10] = np.nan
    laws.check(GPLVM(1, tol=0.01), X, verbose=False)


@pytest.mark.slow
def test_laws_through_inducing_points():
    X = np.random.default_rng(0).standard_normal((22, 1)) @ [[3.0, 1.0, 2.0, -1.0]]
    X += 0.5 * np.random.default_rng(1).standard_normal((22, 4)) + [1.0, 2, 3, 10]
    laws.check(GPLVM(1, tol=0.01, n_inducing=8), X, verbose=False)


def test_back_constraints():
    X, _ = arc(40)
    model = GPLVM(1, back_constraints=True).fit(X)
    assert model.transform(X) == pytest.approx(model.embedding_, abs=1e-9)  # places are a function of rows
    assert model.objective_ < GPLVM(1, init=model.embedding_).fit(X).objective_  # fewer places can be had
    assert np.isfinite(model.transform(np.where(np.arange(4) == 1, np.nan, X[:3]))).all()
    with pytest.raises(OptionError, match="LD475"):
        GPLVM(1, back_constraints=True).fit(arc(gaps=0.1)[0])


def test_drawn_fills_are_as_wide_as_their_intervals_say():
    X, _ = arc(60, gaps=0.15)
    X = X[~np.isnan(X).all(axis=1)]
    model = GPLVM(1, tol=0.5).fit(X)
    some = X[np.isnan(X).any(axis=1)]  # each draw places the rows anew
    _, sd = model.impute(some, return_std=True)
    drawn, gap = np.array(model.impute(some, draws=25)), np.isnan(some)
    assert drawn.std(axis=0)[gap].mean() / sd[gap].mean() == pytest.approx(1.0, abs=0.25)


def test_a_sample_is_not_inflated():
    X = arc(80, gaps=0.1)[0]
    model = GPLVM(1, tol=0.5).fit(X[~np.isnan(X).all(axis=1)])
    calm = model.sample(50, random_state=0)
    model.params_ = model.params_._replace(inflation=3.0)
    assert np.array_equal(model.sample(50, random_state=0), calm) or np.allclose(model.sample(50, random_state=0), calm)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_the_closed_form_of_a_linear_kernel_is_on_no_bound(unit):
    X = unit * np.random.default_rng(0).standard_normal((40, 5))
    model = GPLVM(2, kernel="linear").fit(X)  # a warning would be an error
    assert model.certificate_.boundary == ()


# tables that break kernels ---------------------------------------------------------------------------------------
def test_copies_of_rows():
    X, _ = arc(15)
    model = GPLVM(1).fit(np.repeat(X, 3, axis=0))
    Z = model.embedding_.reshape(15, 3)
    assert np.ptp(Z, axis=1).max() < 0.3 and np.isfinite(model.transform(X)).all()


def test_no_noise_and_a_straight_line():
    t = np.linspace(-1, 1, 60)[:, None]
    with pytest.warns(ModelWarning, match="LD471"):
        model = GPLVM(1, max_iter=300).fit(t @ [[1.0, 2.0, -1.0]] + 1e-8 * np.random.default_rng(0).random((60, 3)))
    assert "noise" in model.certificate_.boundary and np.isfinite(model.objective_)
    assert np.sqrt(np.mean((model.reconstruct(t @ [[1.0, 2.0, -1.0]]) - t @ [[1.0, 2.0, -1.0]]) ** 2)) < 1e-2


def test_jitter_is_reported(monkeypatch):
    monkeypatch.setitem(gplvm_climb.BOUNDS, "noise", (1e-30, 1e-20))
    X = np.repeat(arc(5)[0], 12, axis=0)
    with pytest.warns(ModelWarning) as given:
        model = GPLVM(1, max_iter=30).fit(X)
    assert any("LD472" in str(w.message) for w in given) and model.jitter_ > 0
    assert any("added to the kernel's diagonal" in note for note in model.certificate_.notes)
    monkeypatch.setattr(gp, "JITTER_LEVELS", (0.0,))
    with pytest.raises(FitError, match=r"LD473.*condition number"):
        GPLVM(1, max_iter=30).fit(X)


KERNELS = {
    "rbf": {},
    "mlp": {"kernel": "mlp"},
    "rbf+linear+bias": {"kernel": "rbf+linear+bias"},
    "noise floor": {"noise_floor": 1e-3},
}


def sane(model, X):
    """Nothing a fit says is NaN, neither of itself nor of rows, with gaps or without any cell."""
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, float | np.ndarray):
            assert np.isfinite(value).all(), name
    assert all(np.isfinite(v) for v in model.kernel_.values())
    new = X[:3].copy()
    new[0, 0], new[1] = np.nan, np.nan
    assert np.isfinite(model.transform(new)).all() and np.isfinite(model.score_samples(new)).all()
    filled, std = model.impute(new, return_std=True)
    assert np.isfinite(filled).all() and np.isfinite(std).all()
    assert np.isfinite(model.predictive_variance(model.embedding_[:2])).all()


def rank_one(n=500):
    return np.linspace(-1, 1, n)[:, None] @ [[1.0, 2.0, -1.0]]


TABLES = {
    "copies": lambda: np.repeat(arc(8)[0], 6, axis=0),
    "all equal but one": lambda: np.vstack([np.ones((20, 3)), [[2.0, 3, 4]]]),
    "noise of 1e-8": lambda: rank_one(60) + 1e-8 * np.random.default_rng(0).standard_normal((60, 3)),
    "rank one": lambda: rank_one(120),
    "one huge column": lambda: arc(40)[0] * [1e6, 1, 1, 1],
    "far away": lambda: arc(30)[0] + 1e9,
    "three rows": lambda: arc(3)[0],
    "two columns": lambda: arc(30)[0][:, :2],
    "two values": lambda: np.where(np.random.default_rng(0).random((30, 4)) < 0.5, 0.0, 1.0),
}


@pytest.mark.parametrize("table", TABLES)
def test_bad_tables(table):
    X = TABLES[table]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        model = GPLVM(1, n_init=2, max_iter=120).fit(X)
    sane(model, X)
    assert model.jitter_ <= 1e-4 and np.isfinite(model.objective_)


@pytest.mark.drill
def test_500_rows_of_rank_one():
    with pytest.warns(ModelWarning, match="LD471"):
        model = GPLVM(1, n_init=1, max_iter=300).fit(rank_one())
    sane(model, rank_one())


def test_the_climb_of_a_table_with_gaps_is_kept():
    model = GPLVM(1).fit(arc(60, gaps=0.15)[0])
    assert len(model.history_) > 5 and model.history_[-1] == model.objective_
    assert (np.diff(model.history_) >= -1e-6 * abs(model.objective_)).all()


@pytest.mark.parametrize("options", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("back", [False, True])
def test_every_kernel_with_new_rows_and_gaps(options, back):
    X, _ = arc(25)
    model = GPLVM(1, back_constraints=back, max_iter=150, n_init=1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        sane(model.fit(X), X)
        if not back:
            sane(GPLVM(1, max_iter=60, **options).fit(arc(25, gaps=0.15)[0]), X)


def test_a_stated_noise_floor():
    X = rank_one(40)
    with pytest.warns(ModelWarning, match=r"LD471.*noise"):
        least = GPLVM(1, n_init=1).fit(X)
    stated = GPLVM(1, noise_floor=1e-3, n_init=1).fit(X)  # asked for: no warning
    size = mean_variance(X - X.mean(axis=0), None)
    assert least.noise_variance_ == pytest.approx(1e-6 * size, rel=1e-6)
    assert stated.noise_variance_ == pytest.approx(1e-3 * size, rel=1e-6)
    assert "noise" in stated.certificate_.boundary
    line = GPLVM(1, kernel="linear", noise_floor=1e-3).fit(X)
    assert line.noise_variance_ == pytest.approx(1e-3 * size, rel=1e-6)
    for bad in (0, 2, "few", np.nan, True, -1e-3):
        with pytest.raises(OptionError, match="LD210"):
            GPLVM(1, noise_floor=bad).fit(X)
    for bad in ("white", "rbf+white(1e-3)", "rbf+"):
        with pytest.raises(OptionError, match="LD210"):
            GPLVM(1, kernel=bad).fit(X)


class Runaway(GPLVM):
    """Starts from a length scale far too small or large, and almost no noise."""

    width: float = 0.0

    def _first_numbers(self, size):
        return np.append(super()._first_numbers(size)[:-2], [self.width, np.log(1e-4)])


@pytest.mark.parametrize("width", [-30.0, 30.0])
def test_length_scales_that_run_away(width):
    X, _ = arc(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        model = Runaway(1, n_init=1, max_iter=80)
        model.width = width
        model.fit(X)
    sane(model, X)
    assert 1e-7 < model.kernel_["rbf inverse_width"] / np.mean(model.embedding_**2) < 1e13


@pytest.mark.slow
def test_ninety_percent_intervals_of_small_tables_hold_about_ninety():
    """The start must not have seen the cells that say how wide intervals are: with it they held 83 %."""
    held = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        bent = np.tanh(rng.standard_normal((150, 2)) @ rng.standard_normal((2, 12)) + rng.standard_normal(12))
        X = bent @ rng.standard_normal((12, 10))
        X = (X - X.mean(axis=0)) / X.std(axis=0) + 0.3 * rng.standard_normal((150, 10))
        gap = rng.random(X.shape) < 0.2
        fills, sd = GPLVM(2).fit(np.where(gap, np.nan, X)).impute(np.where(gap, np.nan, X), return_std=True)
        held.append((np.abs(fills - X)[gap] < 1.645 * sd[gap]).mean())
    assert 0.86 <= np.mean(held) <= 0.94, held


def test_a_table_of_many_rows_is_refused_with_its_forecast_and_what_is_quick():
    """32 s of a thousand rows are 32 (10)^3 s = 8.9 h of ten thousand, where there are no inducing points."""
    X = np.random.default_rng(0).standard_normal((10_000, 3))
    with pytest.raises(BudgetError, match=r"(?s)LD478.*10,000 rows takes about 8\.9 h.*BayesianGPLVM\(\)"):
        GPLVM(2, kernel="mlp").fit(X)
    assert GPLVM(2, kernel="linear").fit(X[:2001]).certificate_.reason == "closed form"
