"""Outlyingness: far groups cannot hide themselves, one wrong cell makes no far row, gaps are welcome."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import median_abs_deviation

from lowdim.judge.outliers import outlyingness as outlying
from lowdim.judge.outliers.outlyingness import are_levels, far_rows, masked_rows, outlyingness, robust_units
from tests.judge.contaminated import hidden_group


def table(rng, n=200, d=10, q=2):
    return rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + 0.5 * rng.standard_normal((n, d))


def judged(X, mask=None, seed=0):
    centre, spread = robust_units(X, mask)
    return far_rows(outlyingness((X - centre) / spread, mask, np.random.default_rng(seed)))


def masked(X):
    """The rows that are far beside a tight half of the table."""
    centre, spread = robust_units(X)
    Z = (X - centre) / spread
    return masked_rows(Z, None, outlyingness(Z, None, np.random.default_rng(1)), np.random.default_rng(2))


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_far_group_is_found_whatever_its_size_and_gaps(share, gaps):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = table(rng)
        bad = int(share * len(X))
        X[:bad] = 10.0 * rng.choice([-1, 1], 10) + 0.3 * rng.standard_normal((bad, 10))
        mask = rng.random(X.shape) >= gaps if gaps else None
        far = judged(X, mask)
        assert far[:bad].mean() > 0.9
        assert far[bad:].sum() <= 3


def test_clean_gaussian_rows_are_not_far():
    assert sum(int(judged(table(np.random.default_rng(seed))).sum()) for seed in range(10)) <= 4


def test_one_wrong_cell_moves_a_row_no_farther_than_the_clip():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100, 6))
    wrong = Z.copy()
    wrong[3, 2] = 1e6
    Z[3, 2] = 3.0
    assert np.array_equal(*(outlyingness(T, None, np.random.default_rng(1)) for T in (Z, wrong)))


def test_a_full_mask_changes_nothing_and_gaps_are_not_looked_at():
    rng = np.random.default_rng(0)
    Z, mask = rng.standard_normal((80, 5)), np.ones((80, 5), dtype=bool)
    full = outlyingness(Z, mask, np.random.default_rng(1))
    np.testing.assert_allclose(full, outlyingness(Z, None, np.random.default_rng(1)))
    mask[::3, 1] = False
    there, nan = (outlyingness(np.where(mask, Z, hole), mask, np.random.default_rng(1)) for hole in (1e9, np.nan))
    assert np.array_equal(there, nan)


def test_tables_without_spread_or_rows_are_not_judged():
    rng = np.random.default_rng(0)
    assert outlyingness(np.zeros((5, 3)), None, rng).tolist() == [0.0] * 5
    assert outlyingness(np.ones((1, 3)), None, rng).tolist() == [0.0]
    X = np.repeat([0.0, 1.0], [95, 5])[:, None]
    assert robust_units(X)[1][0] == pytest.approx(X.std())


def test_short_and_wide_tables_with_gaps_are_judged_too():
    rng = np.random.default_rng(2)
    X = table(rng, 40, 300)
    X[:4] += 20.0
    mask = rng.random(X.shape) > 0.1
    assert judged(X, mask).nonzero()[0].tolist()[:4] == [0, 1, 2, 3]
    assert judged(X, mask).sum() <= 5


def test_a_group_that_widens_every_spread_is_found_beside_a_tight_half():
    """Ten of forty rows off the plane of the others, no farther than these reach along it."""
    for seed in (0, 1, 3):
        far = masked(hidden_group(seed))
        assert far[:10].sum() >= 8 and far[10:].sum() <= 2


@pytest.mark.parametrize("n", [40, 100])
def test_clean_rows_are_not_masked(n):
    for seed in range(5):
        assert not masked(table(np.random.default_rng(seed), n, 5)).any()


def test_a_column_of_two_modes_makes_no_far_rows():
    """A share that is either small or large, as of one faith in districts, goes with nothing else."""
    rng = np.random.default_rng(3)
    X = table(rng, 47, 5)
    share = np.r_[rng.uniform(85, 100, 16), rng.uniform(2, 15, 31)]
    assert not masked(np.column_stack([X, share])).any()


def test_few_rows_have_no_tight_half():
    assert not masked(hidden_group(0)[:19]).any()


def test_a_value_at_the_end_of_a_column_apart_from_all_else_is_a_level():
    used = np.random.default_rng(0).normal(20, 0.6, 140)
    assert are_levels(np.r_[np.zeros(35), used]) and are_levels(np.r_[used, np.full(20, 40.0)])
    assert not are_levels(np.r_[np.zeros(5), used])  # a fault
    assert not are_levels(np.r_[np.full(35, 19.9), used])  # a common value among the others


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_units_of_all_columns_at_once_are_those_of_each(gaps):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.standard_t(3, (41, 6)), rng.integers(0, 3, 41), np.full(41, 2.0)])
    mask = rng.random(X.shape) >= np.where(np.arange(8) % 2, gaps, 0.0)  # some columns have gaps, some have none
    centre, spread = robust_units(X, mask)
    seen = [X[mask[:, j], j] for j in range(8)]
    assert centre.tolist() == [np.median(x) for x in seen]
    assert spread[:6] == pytest.approx([1.4826 * median_abs_deviation(x) for x in seen[:6]], rel=1e-15)
    assert spread[6:].tolist() == [seen[6].std(), 1.0]  # few levels, and one


def test_blocks_of_rows_are_as_far_out_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    Z = np.random.default_rng(0).standard_t(3, size=(300, 4))
    whole = outlyingness(Z, None, np.random.default_rng(1))
    monkeypatch.setattr("lowdim.judge.outliers.outlyingness.ROWS_AT_ONCE", 64)
    np.testing.assert_allclose(outlyingness(Z, None, np.random.default_rng(1)), whole, rtol=1e-12)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("most", [1, 10**6])
def test_far_rows_lie_together_as_all_their_pairs_say(monkeypatch: pytest.MonkeyPatch, gaps: bool, most: int) -> None:
    monkeypatch.setattr(outlying, "MOST_PAIRS", most)  # compared at once
    rng = np.random.default_rng(3)
    Z = 3 * rng.standard_normal((150, 4)) + 6 * rng.integers(0, 2, (150, 1))
    seen = rng.random(Z.shape) < 0.8 if gaps else np.ones(Z.shape, dtype=bool)
    near = np.zeros((150, 150), dtype=bool)
    for i in range(150):
        for k in range(150):
            both = seen[i] & seen[k]
            apart = np.linalg.norm((Z[i] - Z[k])[both])
            near[i, k] = apart < 0.5 * min(np.linalg.norm(Z[i][both]), np.linalg.norm(Z[k][both]))
    _, label = connected_components(csr_array(near), directed=False)
    expected = {tuple(np.flatnonzero(label == k)) for k in range(label.max() + 1) if (label == k).sum() >= 3}
    found = outlying.similar_groups(Z, seen if gaps else None, np.arange(150))
    assert {tuple(group) for group in found} == expected != set()
    assert [len(group) for group in found] == sorted(map(len, expected), reverse=True)
