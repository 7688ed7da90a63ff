"""Headers that are more than one line of names: titles above, units below, names of groups above names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

import lowdim as ld
from lowdim.table.options import check_options
from lowdim.table.read import load_raw, read
from lowdim.table.write_back import lines, original
from lowdim.text.errors import CheckError, TableWarning

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
    assert "".join(lines(original(load_raw(str(path), check_options({})), {}), {})) == path.read_text()


@pytest.mark.parametrize(
    "first", ["<0.5,<0.5,<0.5,<0.5", "a,1,2,3", "1,unknown,unknown,2", "unknown,unknown,unknown,unknown"]
)
def test_a_row_of_data_is_no_line_of_units(tmp_path: Path, first: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"a,b,c,d\n{first}\n{BODY}\nunknown,1,unknown,unknown\n1,unknown,2,3\n")
    raw = original(load_raw(str(path), check_options({})), {})
    assert raw.rows == len(X) + 3 and not raw.heads


FAILED = {
    "a label that comes again": ("K,wet,cold,wet,cold", "KLMN"),
    "an id among its kind": ("S00,wet,cold,wet,cold", [f"S{i:02d}" for i in range(1, 13)]),
    "a day among its kind": ("2020-01-01,wet,wet,wet,wet", [f"2020-01-{i:02d}" for i in range(2, 14)]),
    "nothing measured": ("x,n.d.,missing,Not measured,n.d.", "pqrs"),
    "numbers with marks": ("x,12.5*,3.1*,4.4*,7.7*", "pqrs"),
    "about so much": ("x,ca. 12,~3,approx. 4,about 7", "pqrs"),
    "from so much to so much": ("x,10-20,5-10,1-5,3-4", "pqrs"),
    "amounts": ("x,12 mg,3 mg,4 mg,7 mg", "pqrs"),
}


def labelled(labels: Sequence[str]) -> str:
    return "\n".join(f"{labels[i % len(labels)]},{row}" for i, row in enumerate(BODY.split("\n")))


@pytest.mark.parametrize("blank", [False, True])
@pytest.mark.parametrize("why", FAILED)
def test_a_row_whose_measurements_failed_is_kept(tmp_path: Path, why: str, blank: bool) -> None:
    first, labels = FAILED[why]
    path = tmp_path / "data.csv"
    path.write_text(f"{'' if blank else 'site'},a,b,c,d\n{first}\n{labelled(labels)}\n")
    raw = original(load_raw(str(path), check_options({})), {})
    assert raw.rows == len(X) + 1 and raw.names == ["" if blank else "site", "a", "b", "c", "d"]


def test_a_word_that_comes_again_far_below_is_no_unit(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,c,d\nwet,cold,wet,cold\n" + f"{BODY}\n" * 30 + "wet,1,2,3\n")
    assert original(load_raw(str(path), check_options({})), {}).rows == 30 * len(X) + 2


@pytest.mark.parametrize("units", [",mg/l,10^3/uL,,nm", "yyyy-mm-dd,mm,mm,mm,mm", "text,1/s,100 g,m3/h,m-2"])
def test_units_beside_labels_are_no_row(tmp_path: Path, units: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"day,a,b,c,d\n{units}\n{labelled([f'2020-01-{i:02d}' for i in range(2, 14)])}\n")
    assert original(load_raw(str(path), check_options({})), {}).heads == (["day", "a", "b", "c", "d"], units.split(","))


@pytest.mark.parametrize(
    "text",
    [
        f"r00,,,,\nr01,x,y,z,w\n{labelled([f'r{i:02d}' for i in range(2, 14)])}",
        f"note,,,,\nx,<1,<2,<3,<4\n{labelled('pqrs')}",
        "start,,\nant,oak,red\nbee,fir,tan\ncat,elm,sky\ndog,ash,jet",
    ],
)
def test_first_rows_with_gaps_are_no_titles(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"{text}\n")
    raw = original(load_raw(str(path), check_options({})), {})
    assert raw.names is None and raw.rows == text.count("\n") + 1


@pytest.mark.parametrize(
    "titles", ["Wells,,,\n,,,\n", ",,,\nWells,,,\n", '"Wells\nof the valley"\nby the lab\n\n', "Wells\x0cof 2023\n"]
)
def test_titles_with_empty_cells_and_line_breaks(tmp_path: Path, titles: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"{titles}a,b,c,d\n{BODY}\n")
    table = read(path)
    assert table.names == ("a", "b", "c", "d") and table.lines[0] == titles.count("\n") + 2
    np.testing.assert_array_equal(table.X, X)
    assert "LD017" in table.messages.codes


@pytest.mark.parametrize(("left", "offered"), [(1, False), (2, True)])
def test_labels_are_proposed_where_enough_numbers_are_left(tmp_path: Path, left: int, offered: bool) -> None:
    path = tmp_path / "data.csv"
    rows = [row.split(",")[: 2 + left] for row in BODY.split("\n")]
    rows[3][:2] = rows[7][:2] = ["low", "low"]
    path.write_text("\n".join(",".join(row) for row in [list("abcd")[: 2 + left], *rows]) + "\n")
    if offered:
        assert "--label a,b" in str(read(path).messages)
        return
    with pytest.raises(CheckError, match="LD111") as caught:
        read(path)
    assert "--label a,b" not in str(caught.value)


def with_lines(*lines: str, body: str = BODY, below: str = "") -> str:
    return "\n".join([*lines, body, *filter(None, [below])]) + "\n"


SPECTRA = "\n".join(f"{row[0]:.2f},{k % 2},{','.join(f'{x:.3f}' for x in row)}" for k, row in enumerate(X[:, :1] * X))
CASES = {
    "types and flags": (with_lines("a,b,c,d", "continuous,c,c,discrete", ",,,class"), ("a", "b", "c", "d")),
    "three lines": (
        with_lines("net,1,1,2", "node,1,2,1", "hemi,lh,rh,lh"),
        ("net node hemi", "1 1 lh", "1 2 rh", "2 1 lh"),
    ),
    "groups over columns": (with_lines("day,A,A,B", "-,min,max,min"), ("day -", "A min", "A max", "B min")),
    "groups, names, units": (with_lines("day,A,,B", ",min,max,min", ",C,C,mm"), ("day", "A min", "A max", "B min")),
    "wavelengths": (
        with_lines("N,train,1100,1102,1104,1106", body=SPECTRA),
        ("N", "train", "1100", "1102", "1104", "1106"),
    ),
    "total below": (with_lines("t,b,c,d", below="Total,1,2,3\n,,,\n* a remark on all of it,,,"), ("t", "b", "c", "d")),
}


@pytest.mark.parametrize("case", CASES)
def test_headers_and_footers_as_people_write_them(case: str, tmp_path: Path) -> None:
    text, names = CASES[case]
    path = tmp_path / "t.csv"
    path.write_text(text)
    raw = load_raw(str(path), check_options({}))
    assert raw.names == list(names) and len(raw.lines) == 12
    assert raw.cells[1][0].as_py() == text.split("\n")[len(raw.heads) or 1].split(",")[1]
    assert ("LD019" in [note.code for note in raw.notes]) == (case == "total below")


@pytest.mark.parametrize("line", ["7.5,c,d,s", "wet,7,1,8", "1100,1102,1104,1106"])
def test_a_first_row_of_data_stays_one(line: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(with_lines("a,b,c,d", line))
    raw = load_raw(str(path), check_options({}))
    assert len(raw.lines) == 13 and raw.names == ["a", "b", "c", "d"]


def test_a_survey_has_its_answers_in_the_second_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{k * k + 7},{['Jaws', ''][k % 2]},{['', 'Alien'][k % 2]},{k % 5 + 1}" for k in range(20)]
    path.write_text(with_lines("id,Which have you seen?,,", ",Jaws,Alien,How much?", body="\n".join(rows)))
    raw = load_raw(str(path), check_options({}))
    assert raw.names[1:3] == ["Which have you seen? Jaws", "Which have you seen? Alien"] and len(raw.lines) == 20
    path.write_text(with_lines("id,gamble,smoke,score", ",Response,Response,", body="\n".join(rows)))
    assert load_raw(str(path), check_options({})).names == ["id", "gamble", "smoke", "score"]


def test_the_sheet_with_the_table_is_read_and_others_are_named(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["what this is"])
    book.active.title = "Read me"
    sheet = book.create_sheet("Data")
    for row in (["a", "b", "c", "d"], *X.tolist()):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    table = read(tmp_path / "t.xlsx")
    assert table.n == 12 and "Read me" in next(m.what for m in table.messages if m.code == "LD011")
