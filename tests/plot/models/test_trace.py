"""The objective step by step, and EM's movie against the power method and textbook EM."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.plot.models.trace import trace as trace_of
from lowdim.text.errors import OptionError
from tests.plot.from_arrays import Parts, on_table
from tests.plot.svg_checks import parsed, same_twice


def trace(history, name="log-likelihood"):
    """The steps of a model with this history."""
    model = Parts(history_=history, certificate_=Parts(objective_name=name))
    return trace_of(on_table(model, np.zeros((2, 2))))


def test_a_rising_history():
    X = np.random.default_rng(0).normal(size=(80, 6))
    X[::5, 2] = np.nan
    model = ld.PPCA(2).fit(X)
    plot = same_twice(lambda: trace(model.history_))
    assert (plot.data["objective"] == model.history_).all() and not len(plot.data["fall"])
    assert plot.sentence.startswith(f"The log-likelihood rose at each of {len(model.history_) - 1} steps, from ")


def test_a_fall_is_named_and_rounding_is_not():
    plot = trace([-10.0, -5.0, -6.0, -4.0])
    assert plot.data["fall"].tolist() == [3]
    assert plot.sentence == "The log-likelihood fell at step 3 of 4; it never should."
    assert not len(trace([-1e6, -5e5, -5e5 - 1e-10]).data["fall"])


@pytest.mark.parametrize("history", [[-3.0], [-3.0, -3.0], np.array([-2e300, 1e300])])
def test_short_and_huge_histories(history):
    parsed(trace(history, "bound $L$ <"))


def test_restarts_draw_the_best_in_full():
    plot = trace([[-9.0, -5.0], [-8.0, -4.0, -3.0]])
    assert plot.data["objective"].tolist() == [-8.0, -4.0, -3.0] and plot.data["last_of_run"].tolist() == [-5.0, -3.0]
    assert "2 starts" in plot.title


def test_a_model_without_steps_is_refused():
    with pytest.raises(OptionError, match="LD216"):
        trace([])
