"""The words that thresholds choose: each changes exactly where it is said to."""

from __future__ import annotations

import pytest
from scipy.special import bdtr

from lowdim.judge.fills.calibration import advice, width_word


@pytest.mark.parametrize(
    ("skill", "share", "want"),
    [
        (0.0999, 0.0, "no better than the column mean; do not use"),
        (0.1, 0.0, "weak"),
        (0.2999, 0.0, "weak"),
        (0.3, 0.0, "fair"),
        (0.4999, 0.0, "fair"),
        (0.5, 0.0, "good"),
        (0.5, 0.3999, "good"),
        (0.5, 0.4, "good; half of this column is a guess"),
        (0.5, 0.5999, "good; half of this column is a guess"),
        (0.5, 0.6, "good; most of this column is a guess"),
    ],
)
def test_advice_changes_at_its_thresholds(skill, share, want):
    assert advice(skill, share, 90, 100, 0.9) == want


def test_a_column_without_hidden_cells_has_no_advice():
    assert advice(0.9, 0.0, 0, 0, 0.9) == "too few cells to check"


def near(chance, low, high):
    """The first (held, tried) of 90 % intervals whose chance lies between two shares."""
    cases = ((held, tried) for tried in range(100, 2000, 7) for held in range(int(0.8 * tried), tried))
    return next(case for case in cases if low <= chance(*case) < high)


def test_width_is_called_out_where_chance_makes_it_one_time_in_twenty():
    def few(held, tried):
        return bdtr(held, tried, 0.9)

    def many(held, tried):
        return 1.0 - bdtr(held - 1, tried, 0.9)

    assert width_word(*near(few, 0.0495, 0.05), 0.9) == "a little narrow"
    assert width_word(*near(few, 0.05, 0.0505), 0.9) == ""
    assert width_word(*near(many, 0.0495, 0.05), 0.9) == "a little wide"
    assert width_word(*near(many, 0.05, 0.0505), 0.9) == ""
    assert width_word(90, 100, 0.9) == ""


def test_too_narrow_is_where_more_than_half_as_many_again_miss():
    """At 90 % of 1,000 cells, more than 150 outside."""
    assert width_word(850, 1000, 0.9) == "a little narrow" and width_word(849, 1000, 0.9) == "too narrow"
