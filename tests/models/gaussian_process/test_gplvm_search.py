"""Starts of a GP-LVM, races between them, and climbs that are stopped or taken up again."""

import os
import signal
import warnings
from typing import Any

import numpy as np
import pytest

from lowdim import GPLVM, GTM, BayesianGPLVM, Run, laws
from lowdim.models.gaussian_process import gplvm_search
from lowdim.models.gaussian_process.gplvm_likelihood import LikelihoodSurface
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.text.kinds import ModelWarning, OptionError, TableError
from lowdim.text.messages import LowdimWarning
from tests.models.gaussian_process.tables import arc


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
        GPLVM().fit(laws.as_source(X, weight=np.ones(50)))
    for q, rows in ((5, X), (3, X[:2])):
        with pytest.raises(OptionError, match="LD200"):
            GPLVM(q).fit(rows)


def test_a_race_is_won_by_the_highest(monkeypatch):
    X, _ = arc(40)
    monkeypatch.setattr(gplvm_search, "GPLVM_RACE_STEPS", 15)
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
        patch.setattr(gplvm_search, "GPLVM_RACE_STEPS", 20)
        model = raced(X, Run())
        calls = counted(patch)
        raced(X, Run(checkpoint=folder))
    return X, model, folder, len(calls)


def counted(patch):
    """A list that grows with each likelihood that is computed."""
    calls, packed = [], LikelihoodSurface.packed
    patch.setattr(LikelihoodSurface, "packed", lambda self, vector: calls.append(1) or packed(self, vector))
    return calls


def raced(X, run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        return GPLVM(1, n_init=3, max_iter=60).fit(X, run=run)


@pytest.mark.parametrize("died", [2, 25, 70])
def test_a_fit_that_was_killed_goes_on_to_the_same_bits(died, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(gplvm_search, "GPLVM_RACE_STEPS", 20)
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
    monkeypatch.setattr(gplvm_search, "GPLVM_RACE_STEPS", 20)
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
