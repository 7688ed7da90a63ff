"""Text files streamed: records, roles and cells as the checker reads them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim.sources.files import text_files
from lowdim.text.errors import TableWarning
from lowdim.text.messages import LowdimError
from tests.sources.files.tables import BODY, table


@pytest.mark.parametrize("piece", [1, 3, 17, 2**20])
def test_records_are_found_whatever_the_pieces(piece, tmp_path):
    data = b'# note\nx,y\r\n1,"a\nb"\r\n\r\n\n2,"c""\n\nd"\n3,e\n\r\n4,f'
    (tmp_path / "t.csv").write_bytes(data)
    found = text_files.index_records(tmp_path / "t.csv", 2, 1, piece)
    assert found.n == 4 and found.lines.tolist() == [3, 7, 10, 12]
    assert [data[o : o + 1] for o in found.offsets] == [b"1", b"2", b"3", b"4"] and found.end == len(data)
    marks = text_files.index_records(tmp_path / "t.csv", 2, 3, piece)
    assert marks.offsets.tolist() == [found.offsets[0], found.offsets[3]]


def test_an_open_quote_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + BODY.replace("\n3000,", '\n"3000,'))
    with pytest.raises(LowdimError, match=r"LD007[\s\S]*line 3001"):
        lowdim.stream(tmp_path / "t.csv")


def test_roles_are_those_of_the_checker(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 2)).round(4)
    pd.DataFrame(
        {
            "id": np.arange(5000),
            "u": X[:, 0],
            "site": np.where(X[:, 0] > 0, "n", "s"),
            "when": "2024-01-02",
            "v": X[:, 1],
        }
    ).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(TableWarning, match=r"LD119 changed  3 columns measure nothing .*: id, site, when"):
        source = lowdim.stream(tmp_path / "t.csv")
    assert source.columns == ("u", "v")
    np.testing.assert_array_equal(table(source), X)
    np.testing.assert_array_equal(
        table(lowdim.stream(tmp_path / "t.csv", columns="v,id")), np.column_stack([X[:, 1], np.arange(5000)])
    )
    with pytest.raises(LowdimError, match=r"LD104[\s\S]*site"):
        lowdim.stream(tmp_path / "t.csv", columns=["site", "u"])


@pytest.mark.parametrize("cell", ["abc", "1.2.3", "12,5", "<0.05", "0x1F"])
def test_a_later_cell_that_is_no_number_is_named(cell, tmp_path):
    """Beyond what the checker looked at: an error with line, column and cell, never a gap."""
    lines = BODY.split("\n") * 5
    lines[1800] = f'7,"{cell}",9'
    (tmp_path / "t.csv").write_text("n,x,y\n" + "\n".join(lines) + "\n")
    columns = None if cell != "abc" else ["x", "y"]
    with pytest.raises(LowdimError) as caught:
        table(lowdim.stream(tmp_path / "t.csv", columns=columns))
    assert caught.value.code == "LD111" and cell in str(caught.value) and "'x'" in str(caught.value)
    assert "line 1802" in str(caught.value)


def test_numbers_with_thousands_and_units_are_read_as_the_checker_reads_them(tmp_path):
    rng = np.random.default_rng(0)
    n, v = rng.integers(1000, 9_999_999, 3000), rng.uniform(0, 99, 3000).round(1)
    lines = [f'"{a:,}",{b} %,{b}' for a, b in zip(n, v, strict=True)]
    (tmp_path / "t.csv").write_text("big,share,x\n" + "\n".join(lines))
    with pytest.warns(TableWarning) as given:
        source = lowdim.stream(tmp_path / "t.csv")
    assert {str(w.message)[:5] for w in given} == {"LD114", "LD118"}
    np.testing.assert_array_equal(table(source), np.column_stack([n, v, v]))


def test_rows_of_another_length_are_named(tmp_path):
    lines = BODY.split("\n") * 5
    lines[1700] += ",8"
    (tmp_path / "t.csv").write_text("n,x,y\n" + "\n".join(lines))
    with pytest.raises(LowdimError, match=r"LD006[\s\S]*line 1702 has 4 fields"):
        table(lowdim.stream(tmp_path / "t.csv", columns=["x", "y"]))
