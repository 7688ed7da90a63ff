"""What sets rows apart: against scipy's t test, and no false alarms on noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_ind

from lowdim.judge.rows.group_contrast import set_apart
from lowdim.text.messages import LowdimError


def test_p_values_are_students():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)) * [1, 2, 3, 4]
    X[rng.random(X.shape) < 0.2] = np.nan
    rows = np.arange(12)
    card = set_apart(X, list("abcd"), X[:, :0], rows)
    for a in card.columns:
        j = "abcd".index(a.name)
        theirs = ttest_ind(X[:12, j], X[12:, j], equal_var=True, nan_policy="omit")
        assert a.p == pytest.approx(theirs.pvalue, rel=1e-9)
        ends = np.array(theirs.confidence_interval(0.95)) / np.nanstd(X[12:, j], ddof=1)
        assert [a.low, a.high] == pytest.approx(ends.tolist(), rel=1e-9)
        gap = np.nanmean(X[:12, j]) - np.nanmean(X[12:, j])
        assert a.difference == pytest.approx(gap / np.nanstd(X[12:, j], ddof=1))


def test_noise_is_rarely_called_different():
    """At a false discovery rate of 5 % under no difference at all, about 5 % of tables raise any alarm."""
    alarms = 0
    for seed in range(400):
        X = np.random.default_rng(seed).standard_normal((60, 8))
        alarms += any(a.differs for a in set_apart(X, [str(j) for j in range(8)], X[:, :0], range(20)).columns)
    assert 5 <= alarms <= 38  # binomial(400, 0.05): mean 20, sd 4.4


def test_a_shift_is_found_and_said():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 5))
    X[:15, 3] -= 2.5
    card = set_apart(X, list("abcde"), X[:, 3:4], range(15))
    assert card.columns[0].name == "d" and card.sentence.startswith("What sets these 15 rows apart: d is lower (-")
    assert card.axes[0].differs and "axis 1" in card.text()


def test_one_row_constant_columns_and_empty_sides():
    X = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 1.0], [3.0, 5.0, 2.0], [4.0, 5.0, 4.0]])
    card = set_apart(X, list("abc"), X[:, :0], [0])
    assert card.rows == (0,) and "No column sets this row apart" in card.sentence
    assert {a.name: a.p for a in card.columns} == {"a": None, "b": None, "c": None}
    assert all(np.isfinite([a.group, a.others, a.difference]).all() for a in card.columns)
    for rows in ([], [0, 1, 2, 3]):
        with pytest.raises(LowdimError, match="LD210"):
            set_apart(X, list("abc"), X[:, :0], rows)


def test_labels_are_told_by_shares_with_wilson_s_interval():
    had = np.zeros(60)
    had[25:55] = 1.0
    X = np.column_stack([np.random.default_rng(0).standard_normal(60), had])
    card = set_apart(X, ("b", "out=died"), X[:, :0], range(25), answers={"out=died"})
    died = next(a for a in card.columns if a.name == "out=died")
    assert died.words == "out=died is rarer (0% against 86%)" and died.words in card.sentence
    assert (died.group_low, died.group_high) == pytest.approx(proportion_ends(0, 25))
    assert (died.others_low, died.others_high) == pytest.approx(proportion_ends(30, 35))
    other = set_apart(X, ("b", "out=died"), X[:, :0], range(25, 60), answers={"out=died"})
    (back,) = (a for a in other.columns if a.name == "out=died")
    pooled = np.sqrt(35 * had[25:].var() / 58)  # the others are all alike, so that they have no spread
    assert back.difference == pytest.approx(had[25:].mean() / pooled) and back.low < back.difference < back.high


def proportion_ends(k: int, n: int) -> tuple[float, float]:
    ends = binomtest(k, n).proportion_ci(0.95, method="wilson")
    return ends.low, ends.high


def test_a_column_that_is_one_number_on_each_side_has_no_difference_in_spreads():
    X = np.repeat([[1.0], [3.0]], 10, axis=0)
    card = set_apart(X, ("a",), X[:, :0], range(10))
    assert card.sentence == "What sets these 10 rows apart: a is lower (1 against 3)." and "sd" not in card.text()


def test_a_card_prints_its_sentence_and_where_the_rest_is():
    X = np.random.default_rng(0).standard_normal((40, 2)) + np.repeat([[0.0], [4.0]], 20, axis=0)
    card = set_apart(X, ("a", "b"), X[:, :0], range(20))
    assert repr(card) == f"{card.sentence}\n.text(), .columns, .axes, .labels"
