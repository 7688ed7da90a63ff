"""Headers that are more than one line of names: titles above, units below, names of groups above names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

import lowdim as ld
from lowdim.table.read import read
from lowdim.table.write_back import lines, original
from lowdim.text.kinds import TableWarning

X = np.random.default_rng(0).normal(size=(12, 4)).round(2)
BODY = "\n".join(",".join(map(str, row)) for row in X)


def test_titles_above_a_sheet_are_no_rows_and_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Wells"], ["by the lab, 2023"], [], ["pH", "Ca", "Mg", "Na"], *X.tolist()):
        sheet.append(row)
    book.create_sheet("Notes").append(["pH is acidity"])
    book.save(tmp_path / "wells.xlsx")
    table = read(tmp_path / "wells.xlsx")
    assert table.names == ("pH", "Ca", "Mg", "Na") and table.lines[0] == 5
    assert "LD017" in table.messages.codes
    np.testing.assert_array_equal(table.X, pd.read_excel(tmp_path / "wells.xlsx", skiprows=3))


def test_a_stream_says_what_stands_above_its_names(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"Wells\n\na,b,c,d\n{BODY}\n")
    with pytest.warns(TableWarning, match="LD017"):
        source = ld.as_source(str(path))
    np.testing.assert_array_equal(source.read(slice(0, 12))[0], X)


def test_a_filled_file_keeps_both_lines_of_its_header(tmp_path: Path) -> None:
    path = tmp_path / "sensor.csv"
    path.write_text(f"T,p,flow,level\ndegC,bar,m3/h,-\n{BODY}\n")
    table = read(path)
    assert table.n == len(X) and table.names == ("T", "p", "flow", "level")
    assert "".join(lines(original(str(path), {}), {})) == path.read_text()


@pytest.mark.parametrize(
    "first", ["<0.5,<0.5,<0.5,<0.5", "a,1,2,3", "1,unknown,unknown,2", "unknown,unknown,unknown,unknown"]
)
def test_a_row_of_data_is_no_line_of_units(tmp_path: Path, first: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"a,b,c,d\n{first}\n{BODY}\nunknown,1,unknown,unknown\n1,unknown,2,3\n")
    raw = original(str(path), {})
    assert raw.rows == len(X) + 3 and not raw.heads
