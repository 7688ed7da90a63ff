"""Bayesian GP-LVM: what it finds, that the table stays where it is, its verbs, and bad input."""

import gc
import warnings

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import spearmanr

import lowdim.models.gaussian_process.bayesian_gplvm as bayesian_gplvm
import lowdim.models.gaussian_process.gp as gp
from lowdim import BayesianGPLVM, BayesianPCA, Run, as_source, laws
from lowdim.models.gaussian_process.bound import EvidenceBound
from lowdim.sources.dask.executor import DaskExecutor
from lowdim.text.errors import FitError, ModelWarning, OptionError, TableError
from lowdim.text.messages import LowdimWarning
from tests.models.gaussian_process.tables import arc, holed
from tests.models.linear.test_bayesian_pca import seeds_gaussian

# What distributed itself leaves behind when it closes a cluster: its own sockets, and event loops it has stopped.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
QUICK = {"n_inducing": 8, "max_iter": 12}


def same(one, two):
    """Every fitted number, to the bit."""
    laws._identical(one, two, "another way to run it changes")


# what it finds ---------------------------------------------------------------------------------------
def test_an_arc_needs_one_dimension():
    X, t = arc(60, noise=0.02)
    model = BayesianGPLVM(3, n_inducing=12, random_state=0).fit(X)
    assert model.n_kept_ == 1 and model.noise_variance_ == pytest.approx(0.02**2, rel=0.5)
    assert abs(spearmanr(model.embedding_[:, 0], t).statistic) > 0.99
    assert model.transform(X)[:, 0] == pytest.approx(model.embedding_[:, 0], abs=0.05)
    new, _ = arc(30, noise=0.02, seed=5)
    holes = holed(new, 0.25, 2)
    filled, std = model.impute(holes, return_std=True)
    assert np.sqrt(np.mean((filled - new)[np.isnan(holes)] ** 2)) < 0.15
    assert np.isfinite(std).all() and np.isfinite(model.sample(5)).all() and np.isfinite(model.score(new))


@pytest.mark.filterwarnings("ignore:LD472")  # whether the kernel needs 1e-10 on its diagonal is a matter of rounding
def test_gaps_and_their_intervals():
    full, _ = arc(80, noise=0.05)
    X = holed(full)
    model = BayesianGPLVM(2, n_inducing=12, tol=0.002).fit(X)
    gone = np.isnan(X)
    filled, std = model.impute(X, return_std=True)
    assert np.sqrt(np.mean((filled - full)[gone] ** 2)) < 0.15
    assert (np.abs(filled - full)[gone] < 3 * std[gone]).mean() > 0.9


def test_linear_is_bayesian_pca():
    """300 x 10 of rank 3: as many dimensions kept, the same subspace to a tenth of a degree, the same noise to 1 %."""
    for seed in range(2):
        X = seeds_gaussian(seed)
        ours, theirs = BayesianGPLVM(9, kernel="linear", tol=1e-4).fit(X), BayesianPCA().fit(X)
        assert ours.n_kept_ == theirs.n_components_ == 3
        axes = np.diff([ours.inverse_transform(z) for z in (np.zeros((3, 9)), np.eye(3, 9))], axis=0)[0]
        assert np.degrees(subspace_angles(axes.T, theirs.components_[:3].T)).max() < 0.1
        assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=0.01)


@pytest.mark.slow
def test_linear_with_gaps_keeps_as_many():
    model = BayesianGPLVM(6, kernel="linear").fit(seeds_gaussian(0, 0.1))
    assert model.n_kept_ == 3 and model.calibration_ == pytest.approx(1.0, abs=0.25)


# the table stays where it is ------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def client():
    """A cluster of threads in this process; what distributed leaves behind when it closes is collected here."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as client:
        yield client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.mark.slow
@pytest.mark.parametrize(("gaps", "kernel"), [(False, "rbf"), (True, "rbf"), (True, "linear")])
def test_files_and_clusters_give_the_same_bits(gaps, kernel, client, tmp_path, monkeypatch):
    monkeypatch.setattr(bayesian_gplvm, "START_PASSES", 3)
    X, _ = arc(200, noise=0.1)
    X = holed(X) if gaps else X
    model = BayesianGPLVM(2, kernel=kernel, n_inducing=6, max_iter=1)
    one = laws._fit(model, laws.Relaid(X, tile=64))
    np.save(tmp_path / "table.npy", X)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    same(one, laws._fit(model, laws.Relaid(mapped, tile=64, block_tiles=2)))
    same(one, laws._fit(model, laws.Relaid(X, tile=64, block_tiles=4), run=Run(engine="serial")))
    same(one, laws._fit(model, laws.Relaid(X, tile=64), run=Run(engine=DaskExecutor(client))))


@pytest.mark.parametrize("gaps", [False, True])
def test_a_fit_that_dies_goes_on_to_the_same_bits(gaps, tmp_path):
    X, _ = arc(40, noise=0.1)
    X = holed(X) if gaps else X
    model, folder = BayesianGPLVM(2, **QUICK), tmp_path / "fit"
    whole = laws._fit(model, X)

    said = []

    def die(step):
        said.append(step)
        if len(said) == 15:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        laws._fit(model, X, run=Run(checkpoint=folder, callback=die))
    same(whole, laws._fit(model, X, run=Run(checkpoint=folder)))
    asked = []
    real = EvidenceBound._evaluate
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EvidenceBound, "_evaluate", lambda self, x: asked.append(1) or real(self, x))
        same(whole, laws._fit(model, X, run=Run(checkpoint=folder)))
    assert not asked  # all was remembered


# verbs (the laws are in tests/laws) ------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_new_rows_one_by_one_and_together(kernel):
    X, _ = arc(60, noise=0.05)
    model = BayesianGPLVM(2, kernel=kernel, n_inducing=10).fit(X)
    new = holed(arc(12, noise=0.05, seed=4)[0], 0.3, 3)
    new[3] = np.nan
    together, alone = model.posterior(new), [model.posterior(row[None]) for row in new]
    assert together.mean == pytest.approx(np.vstack([one.mean for one in alone]), abs=1e-6)
    assert together.log_density == pytest.approx(np.concatenate([one.log_density for one in alone]), abs=1e-6)
    assert together.mean[3] == pytest.approx(0.0) and together.log_density[3] == 0.0
    mean, std = model.inverse_transform(together.mean, return_std=True)
    assert mean.shape == std.shape == new.shape and (std**2 >= 0.99 * model.noise_variance_).all()


def test_new_rows_find_their_place_among_many():
    """More rows than are tried as first places."""
    X, t = arc(1350, noise=0.05)
    model = BayesianGPLVM(2, n_inducing=8, max_iter=30, tol=0.05).fit(X[:1300])
    Z = model.transform(X[1300:])
    assert abs(spearmanr(Z[:, 0], t[1300:]).statistic) > 0.98


# options, stops, bad input ---------------------------------------------------------------------------------
def test_options_and_stops(monkeypatch):
    X, _ = arc(20)
    for wrong in ({"n_inducing": 0}, {"kernel": "mlp"}):
        with pytest.raises(OptionError, match="LD210"):
            BayesianGPLVM(**wrong).fit(X)
    with pytest.raises(OptionError, match="LD200"):
        BayesianGPLVM(5).fit(X)
    with pytest.raises(TableError, match="LD283"):
        BayesianGPLVM(2).fit(as_source(X, weight=np.linspace(1.0, 2.0, 20)))
    model = BayesianGPLVM(2, n_inducing=5).fit(X, run=Run(callback=lambda step: step.passes >= 4))
    assert model.objective_ >= model.history_[0] and model.certificate_.reason == "stopped by the callback"
    stopped = BayesianGPLVM(2, n_inducing=5, n_init=2).fit(holed(X), run=Run(callback=lambda step: True))
    assert stopped.certificate_.reason == "stopped by the callback" and len(stopped.history_) == 1
    monkeypatch.setattr(gp, "JITTER_LEVELS", ())
    with pytest.raises(FitError, match=r"LD473.*condition number \d"):
        BayesianGPLVM(2, n_inducing=5).fit(X)


def test_the_best_of_two_starts():
    X, _ = arc(40, noise=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        one, two = (BayesianGPLVM(2, n_init=k, **QUICK).fit(X) for k in (1, 2))
    assert two.objective_ >= one.objective_


BAD = {
    "copies": lambda X: np.repeat(X[:10], 6, axis=0),
    "no noise": lambda X: arc(60, noise=1e-8)[0],
    "fewer rows than points": lambda X: X[:20],
    "three rows": lambda X: X[::25],
    "two rows": lambda X: X[:2],
    "constant column": lambda X: np.column_stack([X, np.ones(60)]),
    "unscaled": lambda X: X * [1e6, *[1.0] * 3],
    "constant": lambda X: np.ones((20, 4)),
    "rank 1": lambda X: np.outer(X[:, 0], [1.0, 2, 3, 4]),
    "one column": lambda X: X[:, :1],
    "six rows with gaps": lambda X: holed(X)[:6],
    "outlier": lambda X: np.vstack([X, np.full((1, 4), 1e4)]),
    "huge": lambda X: X * 1e200,
}


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[] if k < 7 else [pytest.mark.drill]) for k, name in enumerate(BAD)]
)
def test_bad_input_gets_an_answer(case, kernel):
    """Never NaN; what is doubtful is warned about."""
    X = BAD[case](arc(60, noise=0.05)[0])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = BayesianGPLVM(min(3, X.shape[1]), kernel=kernel, n_inducing=25, max_iter=25).fit(X)
    assert all(issubclass(one.category, LowdimWarning) for one in said)
    numbers = [leaf for _, leaf in laws._leaves(model) if isinstance(leaf, float | np.ndarray)]
    assert all(np.isfinite(leaf).all() for leaf in numbers if np.asarray(leaf).dtype.kind == "f")
    new = np.vstack([X[:2], np.full((1, X.shape[1]), np.nan)])
    new[0, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        answers = (model.transform(new), model.score_samples(new), *model.impute(new, return_std=True), model.sample(3))
    assert all(np.isfinite(answer).all() for answer in answers)


def test_what_is_on_its_bound_is_evaluate():
    X = np.outer(np.linspace(-1, 1, 30), [1.0, 2.0, 3.0])
    with pytest.warns(ModelWarning, match="LD471"):
        model = BayesianGPLVM(2, kernel="linear").fit(X)
    assert model.certificate_.boundary == ("noise",)


def test_the_linear_kernel_climbs_to_its_end_and_says_what_is_left():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 10)) + 0.3 * rng.standard_normal((100, 10))
    usual = BayesianGPLVM(6, kernel="linear").fit(X)
    left = BayesianGPLVM(6, kernel="linear", tol=1e-8, max_iter=5000).fit(X).objective_ - usual.objective_
    assert usual.converged_ and left < 0.1
    assert left < 2.0 * usual.certificate_.residual


@pytest.mark.slow
def test_a_climb_with_bells_says_that_a_smaller_tolerance_may_go_on():
    rng = np.random.default_rng(5)
    X = np.tanh(rng.standard_normal((60, 2)) @ rng.standard_normal((2, 8))) + 0.1 * rng.standard_normal((60, 8))
    short = BayesianGPLVM(3, n_inducing=10).fit(X)
    longer = BayesianGPLVM(3, n_inducing=10, tol=1e-7, max_iter=3000).fit(X)
    assert short.converged_ and longer.objective_ > short.objective_ + 0.05
    assert any("a smaller tol may climb much further" in note for note in short.certificate_.notes)
