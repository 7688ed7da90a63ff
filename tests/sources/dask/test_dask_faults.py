"""A worker that is killed costs time, never bits; a cluster that is lost is an error, never a hang."""

import os
import signal
import time

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

from lowdim import GTM, PPCA, BayesianPCA, KMeans, MixedFactorAnalysis, MixtureOfPPCA, Run, as_source
from lowdim.laws import _identical
from lowdim.sources.dask import source as dasktable
from lowdim.sources.dask.executor import DaskExecutor
from lowdim.text.errors import EngineError, OptionError

distributed = pytest.importorskip("distributed")
# What distributed itself leaves behind when its workers are killed: sockets, and event loops it has stopped.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
STAGES = 16
TASKS = 8  # a pass


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 8)) + 0.5 * rng.standard_normal((n, 8))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.fixture(scope="module")
def cluster():
    # three: Dask may take a minute to bring a killed one back, and two are enough to go on with
    with distributed.LocalCluster(processes=True, n_workers=3, threads_per_worker=1, dashboard_address=":0") as made:
        yield made


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as made:
        made.wait_for_workers(2, timeout=60)
        yield made


class Killing(DaskExecutor):
    """Kills a worker after it has answered so many times, and goes on."""

    def __init__(self, client, after):
        super().__init__(client)
        self.after, self.answers, self.killed = after, 0, 0

    def map(self, f, source, first=0):
        for value in super().map(f, source, first):
            self.answers += 1
            if self.answers == self.after:
                workers = self.client.scheduler_info()["workers"]
                pids = self.client.run(os.getpid)
                self.killed = pids[sorted(workers)[self.after % len(workers)]]
                os.kill(self.killed, signal.SIGKILL)
            yield value


def check_stage(client, stage, kind):
    """SIGKILL at one of 16 stages of a fit: the numbers are those of a fit that nothing happened to."""
    X = table(TASKS * 32)
    source = as_source(da.from_array(X, chunks=(50, 8)) if kind == "dask" else X, tile=32)
    model = PPCA(2, max_iter=4, tol=1e-14)
    with pytest.warns(UserWarning, match="LD201"):
        want = model.fit(source, run=Run(engine="serial"))
    engine = Killing(client, 1 + stage * (5 * TASKS - 1) // STAGES)  # a look and four passes
    begun = time.monotonic()
    with pytest.warns(UserWarning, match="LD201"):
        got = PPCA(2, max_iter=4, tol=1e-14).fit(source, run=Run(engine=engine))
    assert engine.killed and time.monotonic() - begun < 60
    _identical(got, want, "a lost worker changes")


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "kind"), [(3, "dask"), (10, "memory")])
def test_a_killed_worker_changes_no_bit(client, stage, kind):
    check_stage(client, stage, kind)


OTHERS = {
    "K-means": KMeans(3, n_init=1, tol=0.0, max_iter=4),
    "GTM": GTM(grid=6, basis=3, calibrate=False, tol=1e-14, max_iter=4),
    "mixture": MixtureOfPPCA(2, 1, n_init=1, calibrate=False, tol=1e-14, max_iter=4),
    "Bayesian PCA": BayesianPCA(2, tol=1e-14, max_iter=4),
    "mixed columns": MixedFactorAnalysis(2, tol=1e-14, max_iter=4),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:LD")  # that four passes are few
@pytest.mark.parametrize("name", OTHERS)
def test_a_killed_worker_changes_no_bit_of_another_model(client, name):
    source = as_source(table(TASKS * 32, seed=3), tile=32)
    want = clone(OTHERS[name]).fit(source, run=Run(engine="serial"))
    engine = Killing(client, 2 * TASKS + 3)
    got = clone(OTHERS[name]).fit(source, run=Run(engine=engine))
    assert engine.killed
    _identical(got, want, "a lost worker changes")


@pytest.mark.drill
@pytest.mark.parametrize("kind", ["dask", "memory"])
@pytest.mark.parametrize("stage", range(STAGES))
def test_a_killed_worker_changes_no_bit_at_any_stage(client, stage, kind):
    check_stage(client, stage, kind)


def dies(blocks):
    """A task that takes its worker with it, as one that runs out of memory does."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_an_error(client, cluster, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(EngineError, match="it died with its worker"):
        list(DaskExecutor(client).map(dies, as_source(table(10))))


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr(dasktable, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(dasktable, "LOOK_SECONDS", 0.2)
    with (
        distributed.LocalCluster(processes=False, n_workers=0, dashboard_address=":0") as made,
        distributed.Client(made) as client,
        pytest.raises(EngineError, match="no worker is left"),
    ):
        PPCA(2).fit(as_source(table(50)), run=Run(engine=DaskExecutor(client)))


class Foreign:
    """A function that no worker can open, as one whose module it lacks."""

    def __init__(self, home):
        self.home = home

    def __reduce__(self):
        return opened, (self.home,)

    def __call__(self, blocks):
        return sum(len(block.x) for block in blocks)


def opened(home):
    if os.getpid() != home:
        raise ImportError("not here")
    return Foreign(home)


@pytest.mark.slow
def test_what_a_worker_cannot_open_does_not_end_it(client):
    before = set(client.nthreads())
    with pytest.raises(ImportError, match="not here"):
        list(DaskExecutor(client).map(Foreign(os.getpid()), as_source(table(100), tile=10)))
    assert before <= set(client.nthreads())  # one killed earlier may have come back meanwhile


def test_workers_with_another_lowdim_are_refused(client, monkeypatch):
    import lowdim

    monkeypatch.setattr(lowdim, "__version__", "9.9.9")
    with pytest.raises(OptionError, match="has lowdim 0") as told:
        DaskExecutor(client)
    assert "install the same lowdim" in told.value.fix


def test_patience_is_short_enough():
    assert dasktable.PATIENCE_SECONDS + 2 * dasktable.LOOK_SECONDS < 60


def test_a_scheduler_that_is_gone_is_an_error(monkeypatch):
    monkeypatch.setattr(dasktable, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(dasktable, "LOOK_SECONDS", 0.2)
    made = distributed.LocalCluster(processes=False, n_workers=1, dashboard_address=":0")
    with distributed.Client(made) as client:
        engine = DaskExecutor(client)
        made.close()
        with pytest.raises(EngineError, match="LD311"):
            PPCA(2).fit(as_source(table(50)), run=Run(engine=engine))
