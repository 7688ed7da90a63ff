"""GP-LVM on tables that break kernels: copies, no noise, flat and huge columns, few rows; and fits taken up again."""

import warnings

import numpy as np
import pytest

import lowdim.models.gaussian_process.gp as gp
from lowdim import GPLVM, Run
from lowdim.models.gaussian_process import gplvm_search as ascent
from lowdim.models.gaussian_process.gplvm_likelihood import LikelihoodSurface, PlacesProblem, mean_variance
from lowdim.text.messages import FitError, LowdimWarning, ModelWarning, OptionError
from tests.models.gaussian_process.test_gplvm import arc

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
        model = GPLVM(1, max_iter=120).fit(X)
    sane(model, X)
    assert model.jitter_ <= 1e-4 and np.isfinite(model.objective_)


@pytest.mark.drill
def test_500_rows_of_rank_one():
    with pytest.warns(ModelWarning, match="LD471"):
        model = GPLVM(1, n_init=1, max_iter=300).fit(rank_one())
    sane(model, rank_one())


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

    def _first_vector(self, X, Y, mask):
        return np.append(super()._first_vector(X, Y, mask)[:-2], [self.width, np.log(1e-4)])


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


def problem(n=30):
    Y = arc(n)[0]
    Y = Y - Y.mean(axis=0)
    return PlacesProblem(gp.column_groups(Y, None), "rbf", (n, 1), None, mean_variance(Y, None))


def test_the_condition_number_is_finite():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    values = np.logspace(0, 6, 20)
    assert gp.condition((Q * values) @ Q.T, 0.0) == pytest.approx(1e6, rel=1e-6)
    for K in (np.ones((9, 9)), np.zeros((9, 9)), np.full((9, 9), np.nan)):
        assert np.isfinite(gp.condition(K, 0.0))


def test_a_matrix_that_fails_is_an_error_first_and_a_wall_later(monkeypatch):
    surface, vector = LikelihoodSurface(problem()), np.append(np.linspace(-1, 1, 30), [0.0, 0.0, -1.0])
    flat = np.append(np.zeros(30), [0.0, 0.0, -60.0])
    monkeypatch.setattr(gp, "JITTER_LEVELS", (0.0,))
    with pytest.raises(FitError, match=r"LD473.*condition number \d\.\de\+1\d"):
        surface(flat)
    value = surface(vector)[0]
    assert surface(flat)[0] == -np.inf and surface.best == value


def test_the_rung_is_the_best_places_own():
    surface = LikelihoodSurface(problem())
    surface(np.append(np.zeros(30), [0.0, 0.0, -60.0]))  # rank one: jitter, and a bad place
    assert surface.jitter_level > 0 and surface.best_level == surface.jitter_level
    good = LikelihoodSurface(problem())
    good(np.append(np.linspace(-1, 1, 30), [0.0, 0.0, -1.0]))
    good(np.append(np.zeros(30), [0.0, 0.0, -60.0]))
    assert good.jitter_level > 0 and good.best_level == 0


# races, and fits taken up again ----------------------------------------------------------------------------------
def test_a_race_is_won_by_the_highest(monkeypatch):
    X, _ = arc(40)
    monkeypatch.setattr(ascent, "RACE_STEPS", 15)
    with pytest.warns(ModelWarning, match="LD201"):
        first, some = (GPLVM(1, n_init=k, max_iter=15).fit(X) for k in (1, 3))
    raced = GPLVM(1, n_init=3).fit(X)
    assert some.objective_ >= first.objective_ and raced.objective_ >= some.objective_
    assert raced.history_[:15] == pytest.approx(some.history_)
    assert len(some.history_) == len(first.history_) == 15
    given, once = (GPLVM(1, init=X[:, :1], n_init=k).fit(X) for k in (None, 1))  # its own start is the only one
    assert given.history_.tobytes() == once.history_.tobytes()


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("died", [2, 25, 70])
def test_a_fit_that_was_killed_goes_on_to_the_same_bits(died, gaps, tmp_path, monkeypatch):
    monkeypatch.setattr(ascent, "RACE_STEPS", 20)
    X, _ = arc(30, gaps=gaps)
    calls, told = [], LikelihoodSurface.packed

    def counted(self, vector):
        calls.append(1)
        return told(self, vector)

    def fitted(run):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)
            return GPLVM(1, n_init=3, max_iter=60).fit(X, run=run)

    def dies(step):
        seen.append(1)
        if len(seen) == died:
            raise OSError("the lights went out")

    whole, seen = fitted(Run()), []
    monkeypatch.setattr(LikelihoodSurface, "packed", counted)
    fitted(Run(checkpoint=tmp_path / "whole"))
    all_calls = len(calls)
    with pytest.raises(OSError, match="lights"):
        fitted(Run(checkpoint=tmp_path / "a", callback=dies))
    calls.clear()
    again = fitted(Run(checkpoint=tmp_path / "a"))
    assert again.embedding_.tobytes() == whole.embedding_.tobytes() and again.objective_ == whole.objective_
    assert again.kernel_ == whole.kernel_ and again.calibration_ == whole.calibration_
    assert len(calls) <= all_calls - died + 1
    calls.clear()
    fitted(Run(checkpoint=tmp_path / "whole"))
    assert not calls
