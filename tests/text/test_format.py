"""Numbers, sizes and times in words."""

from __future__ import annotations

import pytest

from lowdim.text import format as words
from lowdim.text.errors import OptionError
from lowdim.text.format import listing


def test_sizes_in_words():
    sizes = (12, 1500, 2_000_000, 3_200_000_000, 4e12)
    assert [words.size(n) for n in sizes] == ["12 bytes", "1.5 kB", "2 MB", "3.2 GB", "4 TB"]


@pytest.mark.parametrize("text", ["1.5 GB", "1500mb", "1.5g", 1_500_000_000])
def test_a_size_is_read_back(text):
    assert words.parse_size(text) == 1_500_000_000


@pytest.mark.parametrize("text", ["", "many", "-1", "2 XB"])
def test_what_is_no_size(text):
    with pytest.raises(OptionError, match="LD210"):
        words.parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("1.5m", 90.0), ("2 min", 120.0), ("1h", 3600.0), (30, 30.0)]
)
def test_a_time_is_read(text, seconds):
    assert words.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "0s", "-1s", "3 days", True, float("inf")])
def test_what_is_no_time(text):
    with pytest.raises(OptionError, match="LD210"):
        words.parse_duration(text)


@pytest.mark.parametrize("value", [0.0, -0.0, 99.95, 100.0, 1234.5, 999_499.0, 1e6, -5e8, 2e9, 1e-7])
def test_numbers_of_both_lengths_agree_where_both_are_short(value):
    three, plain = words.number(value), words.number(value, 3, 1e9)
    assert three == plain or 1e6 <= abs(value) < 1e9
    assert float(plain.replace(",", "")) == pytest.approx(value, rel=5e-3, abs=1e-300)


def test_a_long_listing_counts_with_commas():
    assert listing(range(5000)) == "0, 1, 2, 3, 4 and 4,995 more"
