"""Which labels of new rows are those of a fit."""

import pytest

from lowdim.text.labels import are_numbers, as_spelt, label_places


@pytest.mark.parametrize(
    ("own", "labels", "places"),
    [
        (["1.0", "0.0", 1, 0.0, True], ("0", "1"), [1, 0, 1, 0, 1]),
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
