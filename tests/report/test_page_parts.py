"""Numbers, files and tables of a page: written for people, safe for spreadsheets."""

from __future__ import annotations

import csv
import io
from urllib.parse import unquote

import numpy as np

from lowdim.report.page_parts import cell, csv_text, data_url


def test_csv_is_safe_for_spreadsheets_and_survives_its_address():
    text = csv_text({"name": np.array(["=1+1", "a,b", 'c"d']), "x": np.array([1.23456789, np.nan, -2.0])})
    assert list(csv.reader(io.StringIO(text))) == [["name", "x"], ["'=1+1", "1.23457"], ["a,b", ""], ['c"d', "-2"]]
    assert unquote(data_url(text).partition(",")[2]) == text.replace("\r\n", "\n")
    assert not set(data_url("<&\"'>%\n")) & set("<&\"'>\n ")


def test_numbers_are_written_for_people():
    assert [cell(x) for x in (0.0, 1e-7, 12345.6, 3, 1234567, float("nan"), "text")] == [
        "0",
        "1e-07",
        "12,346",
        "3",
        "1,234,567",
        "",
        "text",
    ]
