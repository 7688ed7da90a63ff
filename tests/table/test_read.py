"""A person's table: read right, or refused with a code, a place and a fix."""

from __future__ import annotations

import csv
import io
import re
import shlex
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lowdim.table.detect import GAP_CODES, NUMBER_GAP_CODES
from lowdim.table.read import read
from lowdim.table.table import Table
from lowdim.text.errors import CheckError, OptionError, TableError
from lowdim.text.messages import LowdimError, Message, Messages, catalogue
from tests.conftest import need
from tests.table.flags import options_from_flags
from tests.table.make_bad_tables import FOLDER, said

GOLDEN = sorted(path.name.removesuffix(".golden") for path in FOLDER.glob("*.golden"))
# Codes of the table that no file can show: a path that is not there, a package that is not installed.
WITHOUT_FILE = {"LD001", "LD004"}


def flags_of(name: str) -> str:
    """The flags in the first line of a golden text."""
    first = (FOLDER / f"{name}.golden").read_text(encoding="utf-8").splitlines()[0]
    return re.sub(r"^exit \d\s*", "", first)


@cache
def messages(name: str, flags: str) -> tuple[Message, ...]:
    """The messages of a table whether it can be analysed or not."""
    try:
        return tuple(read(FOLDER / name, **options_from_flags(shlex.split(flags))).messages)
    except CheckError as problem:
        return tuple(problem.messages)
    except LowdimError as problem:
        return (problem.message,) if isinstance(problem.message, Message) else ()


# the bad tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GOLDEN)
def test_says_exactly_what_the_golden_text_says(name: str) -> None:
    assert said(name, flags_of(name)) == (FOLDER / f"{name}.golden").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GOLDEN)
def test_an_error_has_no_chain_and_no_control_characters(name: str) -> None:
    try:
        text = str(read(FOLDER / name, **options_from_flags(shlex.split(flags_of(name)))).messages)
    except LowdimError as problem:
        assert problem.__cause__ is None
        assert problem.__context__ is None or problem.__suppress_context__
        assert problem.code in catalogue() or f"{problem.code}.table" in catalogue()
        assert problem.fix
        text = str(problem)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


def test_a_fix_for_every_code_that_stops() -> None:
    """Errors about the cells (not about the file itself) all propose flags."""
    stopped = {m.code: m for name in GOLDEN for m in messages(name, flags_of(name)) if m.severity == "error"}
    for code in ("LD006", "LD104", "LD111", "LD113", "LD150"):
        assert stopped[code].fix.proposals


def test_there_is_a_bad_table_for_every_message_of_the_reader() -> None:
    shown = {m.code for name in GOLDEN for m in messages(name, flags_of(name))}
    marked = {key.partition(".")[0] for key in catalogue() if key.endswith(".table")} - {"LD220"}  # new rows: `apply`
    early = {code.partition(".")[0] for code in catalogue() if code.startswith(("LD00", "LD010"))}
    listed = {
        "LD103",
        "LD106",
        *(f"LD11{k}" for k in range(8)),
        "LD122",
        "LD132",
        "LD140",
        "LD141",
        "LD142",
        "LD143",
        "LD151",
        "LD171",
        "LD172",
        "LD180",
        *(f"LD18{k}" for k in range(1, 10)),
        *(f"LD19{k}" for k in range(5)),
        "LD196",
        "LD123",
        "LD125",
        "LD157",
    }
    assert len(GOLDEN) >= 35
    assert (marked | early | listed) - shown == WITHOUT_FILE


# the numbers are those that others read ----------------------------------------------------------


REAL = {
    "missing_small/airquality.csv": (153, 6, 44),
    "missing_small/sleep.csv": (62, 10, 38),
    "uci/horse_colic.csv": (300, 27, 1605),
    "missing_small/ozone_la.csv": (366, 13, 203),
    "missmda/ozone_rennes.csv": (112, 11, None),
    "missmda/orange.csv": (12, 8, None),
    "metabolite/metabolite_incomplete.csv": (154, 52, None),
    "uci/soybean.csv": (683, 35, 2337),
}


@pytest.mark.parametrize("name", REAL)
def test_real_tables_as_pandas_reads_them(name: str) -> None:
    frame = pd.read_csv(need(name))
    names = {"missmda/ozone_rennes.csv": ["date"], "missmda/orange.csv": ["juice"]}.get(name, [])  # no measurements
    table = read(need(name), use=list(frame.select_dtypes("number").columns.difference(names)))
    n, d, gaps = REAL[name]
    assert table.X.shape == (n, d)
    np.testing.assert_array_equal(table.X, frame[list(table.names)].to_numpy(dtype=float))
    assert gaps is None or int(np.isnan(table.X).sum()) == gaps


def test_the_digester_table_keeps_its_first_row() -> None:
    table = read(need("digester/kamyr.csv"))
    frame = pd.read_csv(need("digester/kamyr.csv"), header=None)
    assert (table.n, table.d, int(np.isnan(table.X).sum())) == (96, 10, 53)
    assert table.messages.codes == ("LD008", "LD122", "LD127")  # hours of one process
    assert table.guess.header is False and str(table.guess) == "CSV, comma, decimal point, UTF-8"
    np.testing.assert_array_equal(table.X, frame.to_numpy(dtype=float))
    page = table.summary()
    assert "9 numbers, 1 empty cell" in page and "53 of 960 cells are empty (5.5%)" in page
    assert "Only 44 of 96 rows are complete" in page and "1 far value (row 1)" in page
    assert len(table._repr_html_()) < 25_000


def test_labels_and_dates_of_ozone_rennes() -> None:
    table = read(need("missmda/ozone_rennes.csv"))
    assert set(table.labels) == {"vent", "pluie"} and table.labels["pluie"][2] is None
    assert table.time is not None and str(table.time[0]) == "2001-06-01T00:00:00"
    frame = pd.read_csv(need("missmda/ozone_rennes.csv"))
    when = pd.to_datetime(frame["date"].astype(str), format="%Y%m%d").to_numpy().astype("datetime64[s]")
    np.testing.assert_array_equal(table.time, when)
    again = read(need("missmda/ozone_rennes.csv"), encode="vent,pluie", time="date")
    assert again.d == 11 + 1 + 1 and not again.labels
    vent = again.numbers[again.names.index("vent")]
    assert vent.words.tolist() == frame["vent"].astype(object).where(frame["vent"].notna(), None).tolist()
    dummies, ones = pd.get_dummies(frame["vent"]), again.in_ones()
    assert ones.d == 11 + 4 + 1
    for level in dummies:
        column = ones.X[:, ones.names.index(f"vent={level}")]
        seen = frame["vent"].notna().to_numpy()
        np.testing.assert_array_equal(column[seen], dummies[level].to_numpy(dtype=float)[seen])
        assert np.isnan(column[~seen]).all()


def test_a_date_with_the_month_first_is_seen_by_its_numbers(tmp_path: Path) -> None:
    days = pd.date_range("2024-01-20", periods=20)
    path = tmp_path / "t.csv"
    pd.DataFrame({"when": days.strftime("%m/%d/%Y"), "a": np.arange(20.0) ** 2, "b": np.arange(20.0) % 7}).to_csv(
        path, index=False
    )
    table = read(path)
    assert table.time is not None
    np.testing.assert_array_equal(table.time, days.to_numpy().astype("datetime64[s]"))


@pytest.mark.parametrize("code", ["NuLL", "nUll", "Na", "nA", "nAn", "NOne", "N/a", "n/A"])
@pytest.mark.parametrize(
    "numbers", [["1.5", "2.5", "4.1", "3.3"], ["1,5", "2,5", "4,1", "3,3"], ["5%", "7%", "9.5%", "8%"]]
)
def test_a_code_for_a_gap_is_one_in_any_case_among_numbers(tmp_path: Path, code: str, numbers: list[str]) -> None:
    cells = [*numbers[:2], code, *numbers[2:]]
    (tmp_path / "t.csv").write_text("a;b;c\n" + "\n".join(f"{x};{k * k};{'xyzzx'[k]}" for k, x in enumerate(cells)))
    table = read(tmp_path / "t.csv")
    assert table.names == ("a", "b") and np.argwhere(np.isnan(table.X)).tolist() == [[2, 0]]


def test_in_any_case_only_among_numbers(tmp_path: Path) -> None:
    """Sodium is no gap in a column of elements, and a word that is no code is still asked about."""
    rows = "Na;1\nMg;2\nMg;4\nNa;8\nAl;3\n"
    (tmp_path / "t.csv").write_text("kind;a;b\n" + "".join(f"{row};{k**3}\n" for k, row in enumerate(rows.split())))
    table = read(tmp_path / "t.csv")
    assert list(table.labels["kind"]) == ["Na", "Mg", "Mg", "Na", "Al"] and not np.isnan(table.X).any()
    (tmp_path / "u.csv").write_text("a;b\n1,5;1\nNuLL;4\n2,5;9\nlow;16\n3,5;25\n4,5;36\n7,5;49\n")
    with pytest.raises(CheckError, match="LD111"):
        read(tmp_path / "u.csv")


cells = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.integers(-(10**6), 10**6).map(float),
    st.just(float("nan")),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(cells, min_size=3, max_size=3), min_size=4, max_size=12),
    sep=st.sampled_from([",", ";", "\t", "|"]),
    comma=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    gap=st.sampled_from([g for g in GAP_CODES + NUMBER_GAP_CODES if g not in ("–", "—")]),
    packed=st.booleans(),
)
def test_every_number_comes_back_to_the_bit(
    tmp_path: Path, rows: list[list[float]], sep: str, comma: bool, encoding: str, gap: str, packed: bool
) -> None:
    """Written by Python, read by us: no digit may change, whatever the dress."""
    X = np.array(rows)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sep)
    writer.writerow(["größe", "b", "c", "kind"])
    for i, row in enumerate(X):
        words = [gap if np.isnan(x) else repr(float(x)) for x in row]
        writer.writerow([*(w.replace(".", ",") if comma and w != gap else w for w in words), "uv"[i % 2]])
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    data = out.getvalue().encode("utf-8" if encoding == "latin-1" and not gap.isascii() else encoding)
    if packed:
        import gzip

        data = gzip.compress(data)
    path.write_bytes(data)
    try:
        table = read(path, decimal="," if comma else ".", sep=sep, keep_copies=True)
    except CheckError as problem:
        assert set(problem.messages.errors.codes) <= {"LD113", "LD160"}  # drawn too empty or too constant
        return
    assert table.names == tuple(n for n in ("größe", "b", "c") if n in table.names)
    where = [("größe", "b", "c").index(n) for n in table.names]
    np.testing.assert_array_equal(table.X, X[np.ix_(table.rows, where)])


@pytest.mark.parametrize("sep", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("comma", [False, True])
def test_separator_and_decimal_sign_are_guessed(tmp_path: Path, sep: str, comma: bool) -> None:
    X = np.random.default_rng(3).normal(0, 5, (40, 4))
    path = tmp_path / "t.txt"
    pd.DataFrame(X, columns=list("abcd")).to_csv(path, index=False, sep=sep, decimal="," if comma else ".")
    table = read(path)
    assert (table.guess.sep, table.guess.decimal) == (sep, "," if comma else ".")
    np.testing.assert_array_equal(table.X, X)


# one table, many dresses -------------------------------------------------------------------------


@pytest.fixture(name="frame")
def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "who": [f"p{i}" for i in range(20)],
            "a": rng.normal(size=20),
            "b": rng.integers(0, 9, 20),
            "site": ["n", "s"] * 10,
            "day": pd.date_range("2024-03-01", periods=20),
        }
    )
    frame.loc[3, "a"] = np.nan
    return frame


def test_files_frames_and_arrays_agree(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv.gz", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    np.save(tmp_path / "t.npy", frame[["a", "b"]].to_numpy(dtype=float))
    paths = [tmp_path / f"t.{end}" for end in ("csv", "tsv.gz", "parquet", "feather", "xlsx")]
    tables = [read(path) for path in paths] + [read(frame), read(pl.from_pandas(frame))]
    want = frame[["a", "b"]].to_numpy(dtype=float)
    for table in tables:
        tol = 1e-15 if "Excel" in table.guess.kind else 0  # openpyxl writes 16 digits
        np.testing.assert_allclose(table.X, want, rtol=tol, atol=0)
        assert table.names == ("a", "b") and table.row_names[:2] == ("p0", "p1")
        assert list(table.labels) == ["site"] and table.labels["site"][1] == "s"
        np.testing.assert_array_equal(table.time, frame["day"].to_numpy().astype("datetime64[s]"))
        assert table.messages.codes == ("LD180", "LD181", "LD110") or set(table.messages.codes) == {
            "LD180",
            "LD181",
            "LD110",
        }
    for bare in (
        read(tmp_path / "t.npy"),
        read(want),
        read(want.tolist()),
        read(np.ma.masked_invalid(want)),
        read(want.astype(object)),
    ):
        np.testing.assert_array_equal(bare.X, want)
        assert bare.names == ("c1", "c2")


def test_rows_without_a_name_are_named_by_their_date() -> None:
    days = pd.date_range("2024-02-27", periods=8)
    frame = pd.DataFrame({"day": days.astype(str), "a": np.arange(8.0) ** 2, "b": np.sin(np.arange(8.0)).round(3)})
    assert read(frame).row_names[:3] == ("2024-02-27", "2024-02-28", "2024-02-29")
    hours = frame.assign(day=pd.date_range("2024-02-27 10:30", periods=8, freq="h"))
    assert read(hours).row_names[1] == "2024-02-27 11:30"
    assert read(frame.assign(day=days[[0, *range(7)]].astype(str))).row_names[:2] == ("1", "2")
    assert read(frame.assign(who=list("abcdefgh"))).row_names[0] == "a"


def test_a_frame_keeps_its_index(frame: pd.DataFrame) -> None:
    named = frame.set_index("who")
    named.loc["p4", ["a"]] = np.nan
    named["b"] = named["b"].astype("Int64")
    named.loc["p4", "b"] = pd.NA
    table = read(named)
    assert "LD121" in table.messages.codes and table.n == 19
    assert table.index is not None and list(table.index) == [w for w in named.index if w != "p4"]
    assert "p4" not in table.row_names and table.row_names[4] == "p5"


def test_a_table_is_returned_as_it_is(frame: pd.DataFrame) -> None:
    table = read(frame)
    assert read(table) is table and isinstance(table, Table)
    assert len(table.sha256) == 64 and table.sha256 == read(frame).sha256


# options -----------------------------------------------------------------------------------------


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_below_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n<0.5,1\n2,3\n4,<= 0.2\n3,9\n5,2\n")
    for how, factor in (("half", 0.5), ("zero", 0.0), ("limit", 1.0)):
        table = read(path, below_limit=how)
        assert table.X[0, 0] == 0.5 * factor and table.X[2, 1] == 0.2 * factor


def test_codes_for_gaps_match_as_numbers_and_as_text(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n-999,1\n-999.0,3\n4,ND\n3,9\n5,2\n")
    table = read(path, na="-999,ND")
    assert np.isnan(table.X).sum(axis=0).tolist() == [2, 1]
    assert "ND" in table.guess.na


def test_transposed(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "gene,s1,s2,s3,s4\nabc,1,2,3,9\nxyz,4,,6,5\n")
    table = read(path, transpose=True)
    assert table.names == ("abc", "xyz") and table.row_names == ("s1", "s2", "s3", "s4")
    np.testing.assert_array_equal(table.X, [[1, 4], [2, np.nan], [3, 6], [9, 5]])
    np.testing.assert_array_equal(
        read(np.arange(12.0).reshape(2, 6) ** 2, transpose=True).X, (np.arange(12.0).reshape(2, 6) ** 2).T
    )


def test_logarithm_weight_names_and_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "1,2,3,1\n2,4,1,2\n3,1,7,1\n5,5,5,3\n7,2,1,1\n9,4,2,1\n")
    names = write(tmp_path / "names.txt", "x\ny\nz\nw\n")
    table = read(path, names=names, log="x", weight="w", header=False)
    np.testing.assert_array_equal(table.X[:, 0], np.log([1, 2, 3, 5, 7, 9]))
    assert table.weight is not None and table.weight.tolist() == [1, 2, 1, 3, 1, 1]
    assert table.names == ("x", "y", "z") and table.guess.names == "names.txt" and not table.messages
    assert read(path, header=False, columns=["c1", "c3"]).names == ("c1", "c3")
    roles = {c.name: c.role for c in read(path, header=False, columns=["c1", "c3"]).columns}
    assert roles == {"c1": "number", "c2": "out", "c3": "number", "c4": "out"}


def test_rows_left_out_keep_their_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n1,2\n,\n\n3,1\n4,9\n5,3\n")
    table = read(path)
    assert table.row_names == ("1", "3", "4", "5")  # row 2 is empty; the blank line is no row
    assert table.lines.tolist() == [2, 5, 6, 7]


def test_a_sample_is_spread_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame({"t": np.arange(5000) % 97, "u": np.arange(5000.0) ** 2}).to_csv(path, index=False)
    whole, few = read(path), read(path, sample=50)
    assert few.n == 50 and set(few.X[:, 1]) <= set(whole.X[:, 1])
    with pytest.raises(LowdimError, match="LD170"):
        read(path, memory="100kB")
    far = read(path, memory="100kB", sample=50)
    assert far.n == 50 and set(far.X[:, 1]) <= set(whole.X[:, 1])
    shares = np.histogram(np.sqrt(far.X[:, 1]), bins=5, range=(0, 5000))[0]
    assert shares.min() >= 8  # 10 in each fifth of the file, but for the length of lines


def test_strict_makes_a_change_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b,site\n1,2,n\n2,1,s\n3,5,s\n4,0,n\n")
    assert read(path).messages.changed.codes == ("LD110",)
    with pytest.raises(TableError, match="LD110"):
        read(path, strict=True)


@pytest.mark.parametrize(
    "options",
    [
        {"decimal": ";"},
        {"inf": "gap"},
        {"sep": "ab"},
        {"memory": "much"},
        {"sample": 0},
        {"below_limit": "third"},
        {"scale": "huge"},
        {"header": "yes"},
    ],
)
def test_an_option_that_cannot_be(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="LD210"):
        read([[1, 2], [3, 5], [4, 1]], **options)


# where no bad table can be kept ------------------------------------------------------------------


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    write(tmp_path / "digester.csv", "a,b\n1,2\n")
    with pytest.raises(TableError, match=r"did you mean digester.csv \?") as found:
        read(tmp_path / "digster.csv")
    assert found.value.code == "LD001"
    for path, code in (
        (tmp_path / "no" / "t.csv", "LD001"),
        (tmp_path, "LD002"),
        ("https://a.b/t.csv", "LD002"),
        ("-", "LD002"),
        ("/dev/null", "LD002"),
        ("a\0b", "LD002"),
    ):
        with pytest.raises(TableError) as found:
            read(path)
        assert found.value.code == code


def test_a_workbook_needs_no_extra():
    needed = [name for name in metadata.requires("lowdim") or [] if "extra ==" not in name]
    assert any(name.startswith("openpyxl") for name in needed)
    assert read(FOLDER / "sheets.xlsx").guess.kind.startswith("Excel")


@pytest.mark.parametrize(
    "thing", [None, {"a": [1]}, b"1,2", {1, 2}, 3.5, [[1, 2], [3]], np.zeros((2, 2, 2)), np.array([[1j, 2], [3, 4]])]
)
def test_what_is_no_table(thing: object) -> None:
    with pytest.raises(TableError):
        read(thing)


def test_messages_print_and_render() -> None:
    found = Messages(messages("almost_often.csv", ""))
    assert str(found).endswith("LD111 error  and 2 more (lowdim check --all)")
    assert len(found.errors) == 7 and found.text(everything=True).count("LD111") == 7
    assert found._repr_html_().count("<tr>") == 8 and repr(Messages()) == "no messages"


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes cut, doubled, or with some of them replaced."""
    made = bytearray(data)
    kind = rng.integers(3)
    if kind == 0:
        del made[int(rng.integers(len(made))) :]
    elif kind == 1:
        at = int(rng.integers(len(made)))
        made[at:at] = made[at : at + int(rng.integers(1, 200))]
    else:
        for _ in range(int(rng.integers(1, 10))):
            likely = [0, 10, 13, 34, 44, 59, 45, 48, 255, rng.integers(256)]
            made[int(rng.integers(len(made)))] = int(rng.choice(likely))
    return bytes(made)


def survive(folder: Path, rounds: int, seed: int) -> None:
    """Damaged files end in a table or in a coded error, never in anything else."""
    rng = np.random.default_rng([seed, 7])
    for name in GOLDEN:
        data = (FOLDER / name).read_bytes()
        for _ in range(rounds if data else 0):
            path = folder / name
            path.write_bytes(mutated(data, rng))
            try:
                table = read(path, memory="1GB")
                assert np.isfinite(table.X[~np.isnan(table.X)]).all() and table.n >= 3 and table.d >= 2
                assert table.summary() and table._repr_html_() and len(table.row_names) == table.n
            except LowdimError:
                pass


@pytest.mark.slow
def test_damaged_files_end_in_a_coded_error(tmp_path: Path) -> None:
    survive(tmp_path, 8, 0)


@pytest.mark.drill
def test_damaged_files_end_in_a_coded_error_drill(tmp_path: Path) -> None:
    survive(tmp_path, 200, 1)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet='0123456789.,;-+eE" \n\t|abNA<?\r%/:infx\x00\x1bé', max_size=300))
def test_any_text_ends_in_a_table_or_a_coded_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    try:
        read(path)
    except LowdimError as problem:
        assert problem.code and problem.fix


# words and commas in a column of numbers ---------------------------------------------------------


def numbers_with(*cells: str, n: int = 100) -> str:
    """A file of two columns of numbers in which the first cells of one are these."""
    rows = [f"{k * 1.5},{k * k % 17}.25" for k in range(len(cells), n)]
    return "\n".join(["a,b", *(f'"{cell}",1.5' for cell in cells), *rows])


@pytest.mark.parametrize(
    ("cells", "n", "said"),
    [
        (["rotary"], 100, "LD123"),
        (["rotary", "none of it"], 40, "LD123"),
        (["rotary", "x", "y"], 100, "LD111"),
        (["rotary", "x", "y"], 300, "LD123"),
        (["rotary"], 15, "LD111"),
        (["12O"], 100, "LD123"),  # a number that cannot be read
    ],
)
def test_few_words_among_numbers_are_gaps(cells: list[str], n: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(numbers_with(*cells, n=n), encoding="utf-8")
    if said == "LD111":
        with pytest.raises(TableError, match="LD111"):
            read(path)
        return
    table = read(path)
    assert said in table.messages.codes and np.isnan(table.X).sum() == len(cells)
    assert cells[0] in next(m.where for m in table.messages if m.code == said)


def test_cells_below_a_limit_are_half_of_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(numbers_with("<0.05", "< 3"), encoding="utf-8")
    table = read(path)
    assert "LD128" in table.messages.codes and table.X[:3, 0].tolist() == [0.025, 1.5, 3.0]
    assert "LD128" not in read(path, below_limit="zero").messages.codes


def test_a_column_of_numbers_and_words_is_a_label_and_readable_on_request(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    ages = [*range(12, 22), "22-23", "24-25", "26-29", "65+", "[80]", "90 (+1)"]
    path.write_text("age,a,b\n" + "".join(f"{age},{k * k},{k % 5}.5\n" for k, age in enumerate(ages)))
    table = read(path)
    assert table.names == ("a", "b") and table.columns[0].role == "id"
    (said,) = [m for m in table.messages if m.code == "LD129"]
    assert "--ranges" in str(said.fix) and "LD180" not in table.messages.codes
    assert read(path, ranges=True).X[-6:, 0].tolist() == [22.5, 24.5, 27.5, 65, 80, 90]


@pytest.mark.parametrize("code", ["k. A.", "n.a.", "s. d."])
def test_codes_of_other_languages_are_gaps_everywhere(code: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{'abc'[k % 3]};{k};{k * k}" for k in range(12)]
    path.write_text("\n".join(["t;a;b", *rows, f"{code};{code};4"]))
    table = read(path)
    assert table.columns[0].labels == ("a", "b", "c") and np.isnan(table.X[-1, 0])


def test_what_is_written_where_nothing_was_measured_is_an_answer_among_words() -> None:
    said = ["NC", "Prefer not to say", "yes", "no"] * 5
    table = read(pd.DataFrame({"answer": said, "a": np.arange(20.0) ** 2, "b": np.sin(np.arange(20))}))
    assert table.columns[0].labels == ("NC", "Prefer not to say", "no", "yes")


def test_the_rest_of_a_file_says_what_a_comma_is(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(numbers_with("1,550", "2,310"), encoding="utf-8")
    table = read(path)
    assert table.X[0, 0] == 1550 and "LD114" in table.messages.codes


# dates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "second", "order"),
    [
        (["12/01/1999", "01/01/2000", "02/01/2000"], "2000-01-01", "month first"),
        (["12/01/1999", "13/01/1999", "02/03/2000"], "1999-01-13", ""),
        (["05/01/2000", "12/01/2000", "03/01/2000"], "2000-01-12", "day first"),
        (["01.12.1999", "01.01.2000", "01.02.2000"], "2000-01-01", ""),
        (["01 Dec 1999", "01 Jan 2000", "01 Feb 2000"], "2000-01-01", ""),
        (["Dec 1, 1999", "Jan 1, 2000", "Feb 29, 2000"], "2000-01-01", ""),
        (["Dec 1999", "Januar 2000", "February 2000"], "2000-01-01", ""),
        (["1999-12", "2000-01", "2000-02"], "2000-01-01", ""),
        (["1999Q4", "2000Q1", "2000 Q2"], "2000-01-01", ""),
    ],
)
def test_dates_as_people_write_them(cells: list[str], second: str, order: str) -> None:
    frame = pd.DataFrame({"when": cells * 4, "a": np.arange(12.0) ** 2, "b": np.sin(np.arange(12))})
    table = read(frame)
    assert table.time is not None and str(table.time[1])[:10] == second
    (said,) = [m.what for m in table.messages if m.code == "LD181"]
    assert said.endswith(f"the time of each row (read with the {order})" if order else "the time of each row")


def test_words_and_numbers_that_are_no_date_stay_words() -> None:
    for cells in (["Ford 1999", "Opel 2000"], ["1999-13", "1999-14"], ["31 Feb 1999", "1 Mar 1999"]):
        frame = pd.DataFrame({"when": cells * 6, "a": np.arange(12.0) ** 2, "b": np.sin(np.arange(12))})
        assert read(frame).time is None


def test_complex_numbers_in_a_frame_are_refused_by_name():
    frame = pd.DataFrame({"real": [1.0, 2.0, 4.0], "wave": [1 + 2j, 2.0, 3.0]})
    for table in (frame, frame.astype(object)):
        with pytest.raises(LowdimError, match="wave") as caught:
            read(table)
        assert caught.value.code == "LD102"


def test_whole_numbers_beyond_64_bits_are_read():
    rows = [[10**25 * (i + 1), i * i, 7 - i] for i in range(12)]
    assert read(rows).X[:, 0].tolist() == [float(row[0]) for row in rows]
