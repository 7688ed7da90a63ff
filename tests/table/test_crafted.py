"""Tables as people write them are read as they are meant, or a note says what was assumed."""

from __future__ import annotations

import gzip
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lowdim.table.read import read
from lowdim.text.messages import LowdimError
from tests.table.crafted import NAMES, SHEET, Case, X, cases, judge, workbook

EVERY = 4  # cases of which one is read in every run


def outcomes(chosen: dict[str, Case], folder: Path) -> Counter[str]:
    """How many are read as meant, and how many otherwise with a note; no other outcome is one."""
    found = {name: judge(made, folder) for name, made in chosen.items()}
    wrong = {name: outcome for name, outcome in found.items() if outcome.kind not in ("as meant", "noted")}
    assert not wrong
    return Counter(outcome.kind for outcome in found.values())


def test_what_people_write_is_read_as_they_mean_it(tmp_path: Path) -> None:
    kinds = outcomes(dict(list(cases().items())[::EVERY]), tmp_path)
    assert kinds["as meant"] >= 80


@pytest.mark.slow
def test_all_of_what_people_write_is_read_as_they_mean_it(tmp_path: Path) -> None:
    kinds = outcomes(cases(), tmp_path)
    assert kinds["as meant"] >= 0.95 * kinds.total() > 300


def test_a_cell_in_the_last_row_and_column_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(workbook({"Data": SHEET}))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    stray = b'<row r="1048576"><c r="XFD1048576"><v>7</v></c></row></sheetData>'
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data.replace(b"</sheetData>", stray) if "sheet1" in name else data)
    table = read(path, memory="100MB")  # 2^34 cells of one byte each are 17 GB
    assert table.names == NAMES
    np.testing.assert_array_equal(table.X, X)


def test_packed_short_rows_are_refused_by_what_their_cells_cost(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n3,4\n" * 500_000, 1))
    with pytest.raises(LowdimError, match="LD170"):  # 4 MB of text, but two million numbers
        read(path, memory="50MB")


@pytest.mark.parametrize("end", [",", ",,", ", ,", ", , "])
def test_empty_cells_beyond_the_last_column_are_none(tmp_path: Path, end: str) -> None:
    rows = "".join(f"{k * 1.37 % 7:.2f},{k * 2.11 % 5:.2f}\n" for k in range(20))
    (tmp_path / "t.csv").write_text(f"a,b\n1.5,2.5{end}\n{rows}")
    table = read(tmp_path / "t.csv")
    assert table.X.shape == (21, 2) and table.X[0].tolist() == [1.5, 2.5] and not table.messages.codes


@pytest.mark.parametrize(("every", "left", "code"), [(10, 36, True), (2, 40, False)])
def test_subtotals_are_left_out_where_they_are_few(tmp_path: Path, every: int, left: int, code: bool) -> None:
    names = ["Subtotal" if k % every == 1 else f"w{k}" for k in range(40)]
    rows = "".join(f"{name},{k * 1.37 % 7:.2f},{k * 2.11 % 5:.2f}\n" for k, name in enumerate(names))
    (tmp_path / "t.csv").write_text("site,a,b\n" + rows)
    table = read(tmp_path / "t.csv")
    assert table.n == left and ("LD019" in table.messages.codes) == code


def test_a_long_table_that_says_things_twice_is_not_spread(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("well,metal,value\n" + "".join(f"w{k % 3},{'ab'[k % 2]},{k}.5\n" for k in range(8)))
    with pytest.raises(LowdimError, match="LD021"):
        read(path, spread="metal")


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        ("Ort,a,b\nZürich,1.5,2\nGenf,2.5,4.5\nBern,3,1\nBasel,4,7\n".encode("cp1252"), "LD012", "Windows-1252"),
        (b"a,b\n1.5,2\n2.5,\x004.5\n" + b"3,1\n4,7\n" * 40, "LD013", "1 NUL byte was"),
        (b"a,b\n1.5,2\n2.5\n3,1\n4,7\n", "LD014", "1 line has fewer cells than 2"),
        (b"a,b\n1.5,2\n2.5,3,4\n" + b"3,1\n4,7\n" * 20, "LD020", "1 line does not fit the 2 columns"),
    ],
)
def test_what_was_assumed_of_a_file_is_said(tmp_path: Path, data: bytes, code: str, said: str) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    assert said in next(m.what for m in read(tmp_path / "t.csv").messages if m.code == code)
