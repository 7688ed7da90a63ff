"""Climbs: as SciPy's, the best place is kept, and anyone may stop them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from lowdim.maths.optimise import climb, climb_rows, joined, minus, parted


def test_rows_climb_as_scipy_does():
    def f(rows, Z):  # a bent valley, another one for each row
        a = rows[:, None] / 3.0
        u, v = Z[:, :1] - a, Z[:, 1:] - Z[:, :1] ** 2
        return -(u**2 + 5 * v**2).ravel(), np.hstack([-2 * u + 20 * v * Z[:, :1], -10 * v])

    start = np.random.default_rng(0).standard_normal((7, 2))
    found = climb_rows(f, start, np.tile(np.eye(2), (7, 1, 1)))
    for i in range(7):
        told = minimize(lambda z, i=i: -f(np.array([i]), z[None])[0][0], start[i], tol=1e-12).x
        assert found[i] == pytest.approx([i / 3, i**2 / 9], abs=1e-9)
        assert found[i] == pytest.approx(told, abs=1e-5)
    assert found[[2, 5]] == pytest.approx(
        climb_rows(lambda r, Z: f(np.array([2, 5])[r], Z), start[[2, 5]], np.tile(np.eye(2), (2, 1, 1))), abs=1e-12
    )


def test_a_climb_keeps_the_best_and_can_be_stopped():
    def f(x):
        return -float((x**4).sum()), -4 * x**3

    free = (np.full(3, -np.inf), np.full(3, np.inf))
    heard = []
    peak = climb(f, np.ones(3), lambda x, v: heard.append(v) or False, bounds=free, max_iter=500, tol=1e-14)
    assert peak.reason == "converged" and np.abs(peak.x).max() < 0.01
    assert heard == sorted(heard) and peak.value == max(heard)
    stopped = climb(f, np.ones(3), lambda x, v: len(heard) > 0, bounds=free, max_iter=500, tol=1e-14)
    assert stopped.reason == "stopped" and stopped.value == f(np.ones(3))[0]
    edge = climb(f, np.ones(3), lambda x, v: False, bounds=(np.full(3, 0.5), free[1]), max_iter=500, tol=1e-14)
    assert edge.x == pytest.approx(np.full(3, 0.5))


def test_a_loss_falls_where_its_negative_climbs():
    def bowl(v):
        return float(((v - 3.0) ** 2 * [1.0, 10.0]).sum()), 2 * (v - 3.0) * [1.0, 10.0]

    f = parted(joined(minus(bowl)))
    assert climb(f, np.zeros(2), max_iter=50, tol=1e-12).x == pytest.approx([3.0, 3.0], abs=1e-6)


def test_a_wall_of_infinity_is_survived():
    """log v to the left of its pole is no number; the peak of log v - v lies at 1, the first steps beyond 0."""
    found = climb(lambda v: (float((np.log(v) - v).sum()), 1 / v - 1), np.array([30.0, 0.5]), max_iter=90, tol=1e-12)
    assert found.x == pytest.approx([1.0, 1.0], abs=1e-4) and found.reason == "converged"
    nowhere = climb(lambda v: (np.nan, v), np.ones(2), max_iter=9, tol=1e-12)
    assert (nowhere.x == 1.0).all() and np.isfinite(nowhere.value)
