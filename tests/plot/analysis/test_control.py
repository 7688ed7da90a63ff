"""Control charts: limits step with the gaps, time orders the rows."""

import numpy as np
import pytest
from scipy import stats

from tests.plot.from_arrays import control
from tests.plot.svg_checks import HOSTILE, inside, parsed, same_twice, svg_of, texts


def laws(n: int, seed: int = 0):
    rng = np.random.default_rng([seed, n])
    dof = rng.integers(0, 6, n)
    return rng.chisquare(3, n), np.full(n, 3), np.where(dof > 0, rng.chisquare(np.maximum(dof, 1)), 0.0), dof


def test_limits_step_with_the_gaps() -> None:
    T2, a, Q, b = laws(80)
    plot = same_twice(lambda: control(T2, a, Q, b))
    want = np.where(b > 0, stats.chi2.ppf(0.99, np.maximum(b, 1)), np.nan)
    assert plot.data["Q_limit"] == pytest.approx(want, nan_ok=True)
    assert plot.data["T2_beyond"].tolist() == (stats.chi2.ppf(0.99, 3) < T2).tolist()
    assert plot.data["Q_beyond"].sum() == ((want < Q) & (b > 0)).sum()
    assert "As cells are missing, the limit of Q takes 5 values." in plot.sentence
    assert f"Q is not defined for {(b == 0).sum()} rows" in plot.sentence


def test_control_splits_history_from_new() -> None:
    T2, a, Q, b = laws(30)
    T2[23] = 60.0  # of the new rows, which are the last ten
    plot = same_twice(lambda: control(T2, a, Q, b, new=10))
    assert plot.data["new"].tolist() == [False] * 20 + [True] * 10
    assert plot.data["T2"][23] == 60.0 and plot.data["T2_beyond"][23]
    assert " of 10 new rows beyond 99% limits" in plot.title
    assert {"← history", "new rows →"} <= set(texts(plot))


@pytest.mark.parametrize("n", [1, 3, 900, 50_000])
def test_control_of_any_length(n: int) -> None:
    T2, a, Q, b = laws(n)
    Q[0], b[0] = 1e4, 4
    plot = control(T2, a, Q, b, row_names=[HOSTILE[k % 8] for k in range(n)])
    assert len(svg_of(plot)) < 300_000 and len(plot.data["T2"]) == n
    parsed(plot)
    inside(plot)
    if n == 900:
        assert svg_of(plot) == control(T2, a, Q, b, row_names=[HOSTILE[k % 8] for k in range(n)]).svg()
