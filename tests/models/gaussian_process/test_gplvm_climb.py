"""The climb of a GP-LVM: its likelihood and bound, starts, races, and climbs that are stopped or taken up again."""

import os
import signal
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness

import lowdim.models.gaussian_process.gp as gp
from lowdim import GPLVM, GTM, PCA, BayesianGPLVM, Run, laws
from lowdim.models.gaussian_process import gplvm_climb
from lowdim.models.gaussian_process.gp import Kernel, decoder, terms_of
from lowdim.models.gaussian_process.gplvm_climb import (
    LikelihoodSurface,
    PlacesProblem,
    decoder_at,
    induced_likelihood,
    induced_table,
    mean_variance,
)
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.text.errors import FitError, ModelWarning, OptionError, TableError
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.models.gaussian_process.tables import arc
from tests.oracles.differences import by_differences


# the likelihood at the limits of its matrices -------------------------------------------------------------------------
def problem(n=30):
    Y = arc(n)[0]
    Y = Y - Y.mean(axis=0)
    return PlacesProblem(gp.columns_by_pattern(Y, None), ("rbf",), (n, 1), None, 0.0, mean_variance(Y, None))


def test_a_matrix_that_fails_is_an_error_first_and_a_wall_later(monkeypatch):
    surface, vector = LikelihoodSurface(problem()), np.append(np.linspace(-1, 1, 30), [0.0, 0.0, -1.0])
    flat = np.append(np.zeros(30), [0.0, 0.0, -60.0])
    monkeypatch.setattr(gp, "JITTER_LEVELS", (0.0,))
    with pytest.raises(FitError, match=r"LD473.*condition number \d\.\de\+1\d"):
        surface(flat)
    value = surface(vector)[0]
    assert surface(flat)[0] == -np.inf and surface.best == value


def test_the_jitter_level_is_the_best_places_own():
    surface = LikelihoodSurface(problem())
    surface(np.append(np.zeros(30), [0.0, 0.0, -60.0]))  # rank one: jitter, and a bad place
    assert surface.jitter_level > 0 and surface.best_level == surface.jitter_level
    good = LikelihoodSurface(problem())
    good(np.append(np.linspace(-1, 1, 30), [0.0, 0.0, -1.0]))
    good(np.append(np.zeros(30), [0.0, 0.0, -60.0]))
    assert good.jitter_level > 0 and good.best_level == 0


# starts, races, stops -------------------------------------------------------------------------------------------------
def test_starts():
    X, t = arc(50, noise=0.02)
    given = GPLVM(1, init=t[:, None]).fit(X)
    assert GPLVM(1, init="isomap").fit(X).objective_ == pytest.approx(given.objective_, abs=30)
    assert GPLVM(1, init="gtm").fit(X).objective_ == pytest.approx(given.objective_, abs=30)
    best = GPLVM(1, n_init=3, random_state=1).fit(X)
    assert best.objective_ >= GPLVM(1).fit(X).objective_ - 1e-9
    with pytest.raises(OptionError, match="LD474"):
        GPLVM(1, init=t).fit(X)
    for bad in ({"kernel": "cubic"}, {"kernel": "bias"}, {"kernel": "rbf+rbf"}, {"init": "best"}, {"n_init": 0}):
        with pytest.raises(OptionError, match="LD210"):
            GPLVM(**bad).fit(X)
    with pytest.raises(TableError, match="LD283"):
        GPLVM().fit(laws.as_source(X, weight=np.linspace(1.0, 2.0, 50)))
    for q, rows in ((5, X), (3, X[:2])):
        with pytest.raises(OptionError, match="LD200"):
            GPLVM(q).fit(rows)


def test_a_race_is_won_by_the_highest(monkeypatch):
    X, _ = arc(40)
    monkeypatch.setattr(gplvm_climb, "GPLVM_RACE_STEPS", 15)
    with pytest.warns(ModelWarning, match="LD201"):
        first, some = (GPLVM(1, n_init=k, max_iter=15).fit(X) for k in (1, 3))
    raced = GPLVM(1, n_init=3).fit(X)
    assert some.objective_ >= first.objective_ and raced.objective_ >= some.objective_
    assert raced.history_[:15] == pytest.approx(some.history_)
    assert len(some.history_) == len(first.history_) == 15
    given, once = (GPLVM(1, init=X[:, :1], n_init=k).fit(X) for k in (None, 1))  # its own start is the only one
    assert given.history_.tobytes() == once.history_.tobytes()


@pytest.fixture(scope="module", params=[0.0, 0.15], ids=["complete", "gaps"])
def whole(request, tmp_path_factory):
    """A table, its fit, one with a checkpoint that was not interrupted, and how often its likelihood was computed."""
    X, folder = arc(30, gaps=request.param)[0], tmp_path_factory.mktemp("whole") / "fit"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gplvm_climb, "GPLVM_RACE_STEPS", 20)
        model = raced(X, Run())
        calls = counted(patch)
        raced(X, Run(checkpoint=folder))
    return X, model, folder, len(calls)


def counted(patch):
    """A list that grows with each likelihood that is computed."""
    calls, evaluate = [], LikelihoodSurface._evaluate
    patch.setattr(LikelihoodSurface, "_evaluate", lambda self, x: calls.append(1) or evaluate(self, x))
    return calls


def raced(X, run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        return GPLVM(1, n_init=3, max_iter=60).fit(X, run=run)


@pytest.mark.parametrize("died", [2, 25, 70])
def test_a_fit_that_was_killed_goes_on_to_the_same_bits(died, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(gplvm_climb, "GPLVM_RACE_STEPS", 20)
    (X, model, _, all_calls), steps = whole, []

    def dies(step):
        steps.append(1)
        if len(steps) == died:
            raise OSError("the lights went out")

    with pytest.raises(OSError, match="lights"):
        raced(X, Run(checkpoint=tmp_path / "a", callback=dies))
    calls = counted(monkeypatch)
    again = raced(X, Run(checkpoint=tmp_path / "a"))
    assert again.embedding_.tobytes() == model.embedding_.tobytes() and again.objective_ == model.objective_
    assert again.kernel_ == model.kernel_ and again.calibration_ == model.calibration_
    assert len(calls) <= all_calls - died + 1


def test_a_finished_fit_is_remembered(whole, monkeypatch):
    monkeypatch.setattr(gplvm_climb, "GPLVM_RACE_STEPS", 20)
    X, _, folder, _ = whole
    calls = counted(monkeypatch)
    raced(X, Run(checkpoint=folder))
    assert not calls


def test_callbacks_and_control_c():
    X, _ = arc()
    model = GPLVM(1).fit(X, run=Run(callback=lambda step: step.passes >= 4))
    assert model.history_.shape == (4,) and model.objective_ == model.history_.max()

    def press(step):
        if step.passes == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(ModelWarning, match="LD211"):
        model = GPLVM(1, n_init=5).fit(X, run=Run(callback=press))
    assert len(model.history_) <= 5 and model.certificate_.reason == "interrupted"
    assert model.objective_ >= model.history_[0]


@pytest.mark.parametrize("model", [GPLVM(1), BayesianGPLVM(2, n_inducing=8)], ids=["gplvm", "bgplvm"])
def test_ctrl_c_while_the_start_is_sought_ends_the_fit(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    for owner, name in ((GTM, "_stats"), (LinearGaussian, "_stats")):
        before = getattr(owner, name)

        def press(self: Any, params: Any, block: Any, before: Any = before) -> Any:
            if not calls:
                os.kill(os.getpid(), signal.SIGINT)
            calls.append(1)
            return before(self, params, block)

        monkeypatch.setattr(owner, name, press)
    with pytest.warns(ModelWarning):
        fit = model.fit(arc(60, gaps=0.1)[0][:58], run=Run(engine="serial"))
    assert calls and fit.certificate_.reason == "interrupted" and np.isfinite(fit.embedding_).all()


def test_passes_count_every_start() -> None:
    steps: list[int] = []
    model = GPLVM(1, n_init=3, tol=0.5).fit(arc(40)[0], run=Run(callback=lambda step: steps.append(1)))
    assert model.certificate_.passes >= len(steps)


# through inducing points: against dense Gaussians, differences and PCA's map ------------------------------------------
KERNELS = {"rbf": [0.3, -0.4, -1.0], "rbf+linear+bias": [0.3, -0.4, -0.5, -1.5, -1.0]}


def case(names, gaps):
    rng = np.random.default_rng(5)
    mask = rng.random((12, 3)) > 0.3 if gaps else None
    Y = rng.standard_normal((12, 3))
    Y = Y if mask is None else np.where(mask, Y, 0.0)
    return induced_table(Y, mask), mask, rng.standard_normal((12, 2)), rng.standard_normal((4, 2))


@pytest.mark.parametrize("names", KERNELS)
@pytest.mark.parametrize("gaps", [False, True])
def test_bound_is_titsias_s(names, gaps):
    """log N(y; 0, Q + s2 I) - tr(K - Q) / 2 s2 of each column over the rows it is seen in; and its slopes."""
    table, mask, X, Z = case(names, gaps)
    kernel, want = Kernel(terms_of(names), np.array(KERNELS[names])), 0.0
    cross, inner = kernel.cross(X, Z), kernel.cross(Z, Z) + table.ridge * np.eye(4)
    Q = cross @ np.linalg.solve(inner, cross.T)
    for j in range(3):
        at = np.arange(12) if mask is None else np.flatnonzero(mask[:, j])
        C = Q[np.ix_(at, at)] + kernel.noise * np.eye(len(at))
        want += stats.multivariate_normal(np.zeros(len(at)), C).logpdf(table.Y[at, j])
        want -= 0.5 * (kernel.diagonal(X) - np.diag(Q))[at].sum() / kernel.noise

    def packed(v):
        return induced_likelihood(
            table, Kernel(terms_of(names), v[32:]), v[:24].reshape(12, 2), v[24:32].reshape(4, 2), 0
        )

    v = np.concatenate([X.ravel(), Z.ravel(), KERNELS[names]])
    told = packed(v)
    assert told[0] == pytest.approx(want, rel=1e-10)
    assert told[2:] == pytest.approx(by_differences(lambda u: packed(u)[0], v, 1e-4), rel=1e-5, abs=1e-5)


def test_as_many_inducing_points_as_rows_are_the_gaussian_process():
    table, _, X, _ = case("rbf", False)
    kernel, new = Kernel(("rbf",), np.array(KERNELS["rbf"])), np.random.default_rng(1).standard_normal((5, 2))
    whole, few = decoder(kernel, X, table.Y, None), decoder_at(table, kernel, X, X, 0)
    for a, b in zip(whole.at(new)[:2], few.at(new)[:2], strict=True):
        assert a == pytest.approx(b, abs=1e-4)


def bent_sheet(n, seed=0):
    """A sheet rolled up in three columns, with two more that bend along it: principal axes fold it over."""
    rng = np.random.default_rng(seed)
    t, u = 4.5 * (rng.random(n) - 0.5), 2.0 * (rng.random(n) - 0.5)
    X = np.column_stack([np.sin(t), np.cos(t) + 0.2 * t, u, u * np.cos(t / 2), np.sin(2 * t) / 2])
    return X + 0.05 * rng.standard_normal(X.shape)


def test_the_bound_of_a_map_is_a_little_below_its_likelihood():
    X = bent_sheet(200)
    few = GPLVM(2, n_init=1, n_inducing=40).fit(X)
    v, g, noise = (few.kernel_[name] for name in ("rbf variance", "rbf inverse_width", "noise"))
    K = v * np.exp(-0.5 * g * cdist(few.embedding_, few.embedding_, "sqeuclidean")) + noise * np.eye(200)
    whole = stats.multivariate_normal(np.zeros(200), K).logpdf((X - X.mean(axis=0)).T).sum()
    assert 0.0 < whole - few.objective_ < 0.1 * 200, (whole, few.objective_)
    assert trustworthiness(X, few.embedding_) > trustworthiness(X, PCA(2).fit_transform(X))
    assert "40 inducing points" in " ".join(few.certificate_.notes)


def test_gaps_are_filled_through_inducing_points():
    X = bent_sheet(150)
    gap = np.random.default_rng(2).random(X.shape) < 0.1
    filled = (
        GPLVM(2, n_inducing=30, init="pca", n_init=1).fit(np.where(gap, np.nan, X)).impute(np.where(gap, np.nan, X))
    )
    error = np.sqrt(((filled - X)[gap] ** 2).mean())
    assert error < 0.7 * np.sqrt(((X.mean(axis=0) - X)[gap] ** 2).mean())


@pytest.mark.filterwarnings("ignore:.*LD201")
def test_inducing_points_and_what_has_none():
    X = bent_sheet(60)
    for how in ({"back_constraints": True}, {"kernel": "mlp"}):
        with pytest.raises(LowdimError, match=r"LD210.*n_inducing"):
            GPLVM(2, n_inducing=10, **how).fit(X)
    exact = GPLVM(2, n_init=1, max_iter=5).fit(X)
    assert np.array_equal(GPLVM(2, n_init=1, max_iter=5, n_inducing=60).fit(X).embedding_, exact.embedding_)


@pytest.mark.slow
def test_a_table_of_many_rows_gets_inducing_points_by_itself():
    X = bent_sheet(2500)
    with pytest.warns(LowdimWarning, match=r"LD479.*2,500 rows.*100 inducing points"):
        model = GPLVM(2).fit(X)
    assert model.params_.Z.shape == (100, 2) and model.converged_
    some = np.arange(0, 2500, 5)
    kept = [trustworthiness(X[some], Z[some], n_neighbors=10) for Z in (model.embedding_, PCA(2).fit_transform(X))]
    assert kept[0] > kept[1] + 0.02, kept
