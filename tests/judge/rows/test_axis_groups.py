"""Rows that alone make an axis: found where they lie apart, and not in the tails of any smooth law."""

import numpy as np
import pytest

from lowdim.judge.outliers.partition import AXIS_SHARE
from lowdim.judge.rows.axis_groups import rows_apart

LAWS = {
    "normal": lambda r, n: r.standard_normal((n, 3)),
    "t5": lambda r, n: r.standard_t(5, (n, 3)),
    "exponential": lambda r, n: r.exponential(1.0, (n, 3)),
    "lognormal": lambda r, n: np.exp(r.standard_normal((n, 3))),
    "uniform": lambda r, n: r.random((n, 3)),
    "five levels": lambda r, n: r.integers(0, 5, (n, 3)) + 0.1 * r.standard_normal((n, 3)),
    "two halves": lambda r, n: r.standard_normal((n, 3)) + np.where(r.random((n, 1)) < 0.5, [8.0, 0.0, 0.0], 0.0),
    "two thirds": lambda r, n: r.standard_normal((n, 3)) + np.where(r.random((n, 1)) < 2 / 3, [8.0, 0.0, 0.0], 0.0),
}


@pytest.mark.parametrize("law", LAWS)
def test_the_tails_of_a_smooth_law_are_no_rows_apart(law):
    called = 0
    for seed in range(60):
        r = np.random.default_rng([seed, 21])
        called += bool(rows_apart(LAWS[law](r, (40, 150, 600)[seed % 3])))
    assert called <= 1


@pytest.mark.parametrize(("share", "far_out"), [(0.05, 16.0), (0.1, 10.0), (0.2, 8.0)])
@pytest.mark.parametrize("seed", range(3))
def test_a_group_along_an_axis_is_named(share, far_out, seed):
    r = np.random.default_rng([seed, 22])
    scores = r.standard_normal((200, 3))
    far = r.permutation(200)[: round(share * 200)]
    scores[far, 1] += far_out
    (found,) = rows_apart(scores)
    assert sorted(found.rows) == sorted(far.tolist()) and found.axes == (2,)
    z = scores[:, 1] - scores[:, 1].mean()
    between = len(far) * z[far].mean() ** 2 / (1 - share)
    assert between / (z @ z) - 1e-9 <= found.share <= between / (z @ z) + 0.02  # the line may lean a little


def test_a_group_between_two_axes_is_named_with_both():
    r = np.random.default_rng(0)
    scores = r.standard_normal((200, 3))
    far = np.arange(40)
    scores[far] += [8.0, 0.0, 8.0]
    U, _, Vt = np.linalg.svd(scores - scores.mean(axis=0), full_matrices=False)
    scores = U @ Vt  # uncorrelated, as those of a map are
    (found,) = rows_apart(scores)
    assert sorted(found.rows) == far.tolist() and set(found.axes) == {1, 3} and found.share > 0.9


def test_a_few_strays_in_the_gap_hide_no_group():
    r = np.random.default_rng(1)
    scores = r.standard_normal((400, 2))
    scores[:60, 0] += 9.0
    scores[60:63, 0] = [3.8, 4.4, 5.1]
    (found,) = rows_apart(scores)
    assert set(range(60)) <= set(found.rows) <= set(range(63))


def test_more_than_a_fifth_are_not_few():
    scores = np.random.default_rng(2).standard_normal((200, 2))
    scores[: round((AXIS_SHARE + 0.1) * 200), 0] += 10.0
    assert rows_apart(scores) == ()


def test_scores_that_do_not_vary():
    assert rows_apart(np.zeros((50, 2))) == () and rows_apart(np.zeros((6, 1))) == ()
    scores = np.zeros((50, 1))
    scores[:6] = 1.0
    assert sorted(rows_apart(scores)[0].rows) == list(range(6))


def test_an_axis_without_spread_hides_no_group_of_the_others():
    scores = np.random.default_rng(0).standard_normal((100, 3))
    scores[:6, 2] += 12.0
    scores[:, 0] = 0.0
    (found,) = rows_apart(scores)
    assert sorted(found.rows) == [0, 1, 2, 3, 4, 5] and found.axes == (3,) and found.share <= 1.0
