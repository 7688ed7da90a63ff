"""Loops that know when to stop: monitor, Ctrl-C, callbacks, falls, extrapolation, the plan."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from lowdim import PCA, PPCA, DualPPCA, FactorAnalysis, Run
from lowdim.engine.fit import Anderson, Cost, Monitor, em, plan
from lowdim.engine.fold import fold
from lowdim.engine.statistics import Sum
from lowdim.models.base.survey import survey_table
from lowdim.models.linear.linear_gaussian import principal_start
from lowdim.sources.arrays import as_source
from lowdim.text.errors import BudgetError, ModelWarning


def table(n=80, d=6, gaps=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.7 * rng.standard_normal((n, d))
    return np.where(rng.random((n, d)) < gaps, np.nan, X)


# callbacks ------------------------------------------------------------------------------------------------
def test_callback_sees_every_pass_and_may_stop():
    steps = []

    def watch(step):
        steps.append(step)
        return step.passes == 4

    model = PPCA(2, tol=1e-14).fit(table(), run=Run(callback=watch))
    assert [step.passes for step in steps] == [1, 2, 3, 4]
    assert {step.model for step in steps} == {"ProbabilisticPCA"}
    assert steps[0].gain == np.inf
    assert steps[1].gain == steps[1].objective - steps[0].objective
    assert not model.converged_
    assert model.certificate_.reason == "stopped by the callback"
    assert model.objective_ == max(step.objective for step in steps)


def test_callback_that_returns_nothing_changes_nothing():
    one, two = PPCA(2).fit(table(), run=Run(callback=lambda step: None)), PPCA(2).fit(table())
    assert np.array_equal(one.history_, two.history_)
    assert one.converged_


def test_verbose_prints_a_line_a_pass(capsys):
    model = PPCA(2).fit(table(), run=Run(verbose=1))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(model.history_)
    assert lines[0].startswith("ProbabilisticPCA  pass 1/1000  objective ")


# Ctrl-C ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "model",
    [PPCA(2, tol=1e-14), FactorAnalysis(1, tol=1e-14), DualPPCA(2, tol=1e-14), PCA(2, tol=1e-14)],
    ids=["ppca", "fa", "dual", "pca"],
)
def test_first_interrupt_returns_the_best_so_far(model):
    def press(step):
        if step.passes == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(ModelWarning, match="LD211"):
        model.fit(table(), run=Run(callback=press))
    assert not model.converged_
    assert model.certificate_.reason == "interrupted"
    assert len(model.history_) == 4  # the pass that was under way is finished
    assert np.isfinite(model.transform(table())).all()
    assert signal.getsignal(signal.SIGINT) is before


def test_second_interrupt_means_now():
    def press(step):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    model = PPCA(2)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        model.fit(table(), run=Run(callback=press))
    assert signal.getsignal(signal.SIGINT) is before
    assert set(vars(model)) == {"n_components", "rotation", "standardize", "tol", "max_iter"}


def test_fits_outside_the_main_thread_leave_signals_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(PPCA(2).fit(table()).converged_))
    thread.start()
    thread.join()
    assert found == [True]


CHILD = """
import sys, time, warnings
import numpy as np, lowdim
rng = np.random.default_rng(0)
X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 6)) + rng.standard_normal((80, 6))
X[1:][rng.random((79, 6)) < .1] = np.nan
def slow(step):
    if step.passes == 2:
        print("ready", flush=True)
    time.sleep(0.05)
with warnings.catch_warnings(record=True) as notes:
    warnings.simplefilter("always")
    m = lowdim.PPCA(2, tol=1e-32, max_iter=100000).fit(X, run=lowdim.Run(callback=slow))
print(m.converged_, m.n_iter_ < 1000, [str(n.message)[:5] for n in notes], np.isfinite(m.components_).all())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_in_a_process_of_its_own():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert out.strip() == "False True ['LD211'] True"


# falls and limits -------------------------------------------------------------------------------------------
class Falling(PPCA):
    """An M-step that goes downhill."""

    def _update(self, params, stats):
        better = super()._update(params, stats)
        return better._replace(mu=better.mu + 5.0)


def test_a_fall_is_an_alarm_and_the_best_is_kept():
    with pytest.warns(ModelWarning, match="LD208"), pytest.warns(ModelWarning, match="LD201"):
        model = Falling(2).fit(table())
    assert not model.converged_
    assert model.certificate_.reason == "the objective fell"
    assert len(model.history_) == 2
    assert model.history_[1] < model.history_[0]
    assert model.objective_ == model.history_[0]


def test_nan_counts_as_a_fall():
    watch = Monitor(Run(), "Test", 1e-4, 100)
    watch.see("a", None, -10.0, False)
    with pytest.warns(ModelWarning, match="LD208"):
        assert watch.see("b", None, float("nan"), False)
    assert watch.fit("em").params == "a"


def test_a_limit_of_passes_is_said():
    with pytest.warns(ModelWarning, match=r"LD201.*\n?.*3 passes|LD201"):
        model = FactorAnalysis(1, tol=1e-14, max_iter=3).fit(table())
    assert not model.converged_
    assert len(model.history_) == 3
    assert model.objective_ == model.history_.max()


def test_history_is_the_objective_of_each_pass():
    """Extrapolations that fall are taken back at once, to a plain step that climbs."""
    model = FactorAnalysis(1, tol=1e-11).fit(table(gaps=0.4, seed=3))
    best = -np.inf
    for i, value in enumerate(model.history_):
        if value < best - 1e-10 * abs(best):
            assert model.history_[i + 1] >= best - 1e-10 * abs(best)
        best = max(best, value)
    assert model.objective_ == best


def test_aitken_estimates_what_is_left():
    """Gains that halve: after 1, 1/2, 1/4 another 1/4 is to come; the last gain is counted in, to be safe."""
    watch = Monitor(Run(), "Test", 1e-9, 100)
    for value in (-2.0, -1.0, -0.5, -0.25):
        watch.see(None, None, value, False)
    assert watch.remaining == pytest.approx(0.25 + 0.25, rel=1e-12)
    assert not watch.reason


def test_a_watched_fit_never_spells_its_parameters_out():
    """Python asks a handler of signals for its words when another takes its place."""

    class Silent:
        def __repr__(self):
            raise AssertionError("a fit's parameters were spelled out")

    with Monitor(Run(), "Test", 1e-9, 100) as watch:
        watch.see(Silent(), Silent(), -1.0, False)


# drivers ------------------------------------------------------------------------------------------------------
def test_extrapolation_ends_where_plain_em_does_in_fewer_passes():
    X = table(gaps=0.4, seed=1)
    model = PPCA(2, tol=1e-10)
    source = as_source(X)
    seen = survey_table(source, Run(), standardize=False, wide=False)
    start = principal_start(seen, 2)
    mixed, plain = (em(model, start, seen.source, Run(), mix=mix) for mix in (True, False))
    assert mixed.objective == pytest.approx(plain.objective, abs=1e-6)
    assert mixed.passes < plain.passes
    assert (np.diff(plain.history) >= -1e-9).all()


def test_anderson_solves_a_linear_map_exactly():
    """x -> A x + b in three dimensions: the fixed point after at most five evaluations."""
    A = np.array([[0.9, 0.05, 0.0], [0.0, 0.8, 0.1], [0.05, 0.0, 0.7]])
    b = np.array([1.0, 2.0, 3.0])
    mixer = Anderson(lambda x: x, lambda v, like: v)
    x = np.zeros(3)
    for _ in range(5):
        x, _ = mixer.next(x, A @ x + b)
    assert x == pytest.approx(np.linalg.solve(np.eye(3) - A, b), rel=1e-8)


def test_a_fold_sums_every_tile():
    source = as_source(np.arange(12.0).reshape(6, 2), tile=2)
    assert fold(lambda b: Sum(b.x.sum(axis=0)), source, Run()).value.tolist() == [30.0, 36.0]


# the plan ---------------------------------------------------------------------------------------------------
def test_plan_refuses_and_names_an_alternative():
    with pytest.raises(BudgetError, match="LD170") as caught:
        plan("Job", Cost(3, 100, 2_000_000, "use less"), Run(memory=1_000_000))
    assert isinstance(caught.value, MemoryError)
    assert "2 MB" in str(caught.value)
    assert "1 MB" in str(caught.value)
    assert caught.value.fix == "use less"
    assert plan("Job", Cost(3, 100, 2_000_000, ""), Run(memory=2_000_000)).passes == 3


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (PCA(2), "fewer columns"),
        (PPCA(2), "fewer columns"),
        (FactorAnalysis(1), "fewer columns"),
        (DualPPCA(2), "ProbabilisticPCA"),
    ],
    ids=["pca", "ppca", "fa", "dual"],
)
def test_models_refuse_before_they_start(model, word):
    """Ten thousand bytes are too few for anything; the refusal comes before any row is read."""
    source = as_source(table())
    source.read = None  # reading would raise a TypeError
    with pytest.raises(BudgetError, match="LD170") as caught:
        model.fit(source, run=Run(memory=10**4))
    assert word in caught.value.fix
    assert "params_" not in vars(model)


def test_a_generous_allowance_changes_nothing():
    one, two = PPCA(2).fit(table(), run=Run(memory=10**10)), PPCA(2).fit(table())
    assert np.array_equal(one.components_, two.components_)


def test_peak_of_a_dual_model_counts_the_whole_table():
    """A streaming model's peak does not grow with the rows; a dual one holds the table."""
    few, many = (PPCA(2).cost(n, 10, gaps=False).peak for n in (10**6, 10**8))
    assert few <= many < 1.01 * few  # the tree of a hundred times as many tiles has seven more levels
    assert DualPPCA(2).cost(10**8, 10, gaps=False).peak > 8 * 10**9
