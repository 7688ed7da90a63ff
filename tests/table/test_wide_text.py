"""Texts of many columns: the same cells as the csv module finds, cheaply, and a limit that is said."""

import csv
import io
import subprocess
import sys

import numpy as np
import pytest

import lowdim
from lowdim.sources.files import text_files as streamed
from lowdim.table import detect
from lowdim.table.text_file import MANY_FIELDS, WIDEST_LINE, tokenise
from lowdim.text.messages import LowdimError
from tests.sources.files.tables import table as whole

HARD = ["", " x ", '"a,b"', '"say ""so"""', '"two\nlines"', "7", "-1e-3", "é"]


def wide(rng: np.random.Generator, n: int, width: int, cells: list[str]) -> str:
    return "\n".join(",".join(rng.choice(cells, width)) for _ in range(n)) + "\n"


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_cells_are_those_of_the_csv_module(end):
    text = wide(np.random.default_rng(0), 4, MANY_FIELDS, HARD).rstrip("\n").replace("\n7,", "\n\n7,") + end
    table = tokenise(text.encode(), ",", MANY_FIELDS, 2**20)
    expected = [row for row in csv.reader(io.StringIO(text)) if row]
    assert [list(row) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)] == expected


def test_quotes_inside_cells_are_letters():
    row = ['5" pipe', *["1"] * (MANY_FIELDS - 2), 'a"b"']
    table = tokenise((",".join(row) + "\n").encode(), ",", MANY_FIELDS, 2**20)
    assert [c.to_pylist()[0] for c in table.columns] == row


def test_a_line_of_another_length_is_named(tmp_path):
    X = np.random.default_rng(1).standard_normal((5, MANY_FIELDS)).round(3)
    lines = [",".join(f"g{j}" for j in range(MANY_FIELDS)), *(",".join(map(str, row)) for row in X)]
    lines[3] += ",1"
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(LowdimError, match=rf"LD006[\s\S]*line 4 has {MANY_FIELDS + 1} fields"):
        lowdim.read(tmp_path / "t.csv")


@pytest.mark.slow
def test_a_wide_table_is_read_and_streamed_to_the_bit(tmp_path, monkeypatch):
    """Lines longer than what the guesses look at; names of rows, gaps, a column of texts and one with a unit."""
    for module in (detect, streamed):
        monkeypatch.setattr(module, "LOOK_BYTES", 2**12)
    n, d = 6, 1_200
    X = np.random.default_rng(2).standard_normal((n, d))
    X[2, 5] = np.nan
    cells = [["NA" if np.isnan(v) else repr(float(v)) for v in row] for row in X]
    for i, row in enumerate(cells):
        row[7] = f"{row[7]} %"
        row.insert(0, f"sample {i}")
        row.append("ab"[i % 2])
    head = ["who", *(f"gene_{j}" for j in range(d)), "sex"]
    (tmp_path / "t.csv").write_text("\n".join(",".join(row) for row in [head, *cells]))
    table = lowdim.read(tmp_path / "t.csv")
    assert table.names == tuple(head[1:-1]) and table.row_names[4] == "sample 4"
    np.testing.assert_array_equal(table.X, X)
    with pytest.warns(UserWarning, match="LD11[89]"):
        source = lowdim.stream(tmp_path / "t.csv")
    np.testing.assert_array_equal(whole(source), X)


@pytest.mark.slow
def test_more_columns_than_a_text_may_have_cost_nothing(tmp_path):
    (tmp_path / "t.csv").write_text(("0," * 10**6 + "0\n") * 2)
    code = (
        "import lowdim, re, sys\n"
        "for reader in (lowdim.read, lowdim.stream):\n"
        "    try: reader(sys.argv[1])\n"
        "    except lowdim.messages.LowdimError as problem: print(problem.code, problem)\n"
        "print(int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]) // 1024)"  # since it began
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "t.csv")], capture_output=True, text=True)
    *said, megabytes = done.stdout.splitlines()
    assert sum("LD171 LD171" in line and f"{WIDEST_LINE:,}" in line for line in said) == 2, done.stdout + done.stderr
    assert any("Parquet" in line for line in said) and int(megabytes) < 500
