"""Which labels of new rows are those of a fit."""

import numpy as np
import pytest

from lowdim.text.label_match import are_numbers, as_spelt, label_places, unseen_labels


@pytest.mark.parametrize(
    ("own", "labels", "places"),
    [
        (["1.0", "0.0", 1, 0.0, True], ("0", "1"), [1, 0, 1, 0, 1]),
        ([np.bool_(True), np.int8(0), np.float32(1), np.str_("1")], ("0", "1"), [1, 0, 1, 1]),
        (["1", "2.50"], (1.0, 2.5), [0, 1]),
        (["01", "1e0", " 1", "+1", "yes", None], ("0", "1"), [None] * 6),
        (["1", "1.0"], ("01", "02"), [None, None]),  # which are names
        (["1.00"], ("1", "1.0"), [None]),  # told apart in the fit
        (["1.0"], ("1", "II"), [None]),
        (["9007199254740993"], ("9007199254740992", "1"), [None]),  # one number as doubles
        (["YES", "yes"], ("no", "yes"), [None, 1]),
    ],
)
def test_equal_numbers_are_one_label_where_all_labels_are_numbers(own, labels, places):
    assert label_places(own, labels) == places


def test_fills_are_spelt_as_the_table_spells_them():
    assert as_spelt(["1.0", "x"], ("0", "1")) == ("0", "1.0")
    assert are_numbers(("0", 1.5)) and not are_numbers(("0", "yes"))


def test_labels_that_were_not_there_are_named_with_rows_and_what_they_may_mean():
    note = unseen_labels("owner", {"YES": [2, 5, 6, 9], "maybe": ["A1"]}, ("no", "yes"))
    assert "'YES' (rows 2, 5, 6 and 1 more), 'maybe' (row A1)" in note.what
    assert "'YES' as 'yes'" in str(note.fix) and "maybe" not in str(note.fix)
    many = unseen_labels("town", {f"town {k}": [k] for k in range(9)}, ("Bonn",))
    assert "and 4 more" in many.what and str(many.fix) == "fit with rows that have these labels"
    two = unseen_labels("owner", {"YES": [1]}, ("Yes", "yes"))  # which of them is meant?
    assert "as" not in str(two.fix).split()
