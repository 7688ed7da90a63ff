"""`lowdim odd`: of a table, of a run, and of a run whose table has moved."""

from __future__ import annotations

import json

from tests.cli.calls import rows_of


def test_odd_names_the_row_and_the_cell(lowdim, made):
    said = lowdim("odd", made / "small.run", "-o", "o.csv")
    told = json.loads(lowdim("odd", made / "small.run", "-o", "o.csv", "--json").out)
    assert said.code == 0 and "false discovery rate" in said.out and "expected by chance" in said.out
    assert told["rows"][0]["name"] == "8" and told["rows"][0]["column"] == "x3"
    assert "Saved o.csv." in said.out and "--row 8" in said.out
    assert rows_of(lowdim.folder / "o.csv")[0]["row"] == "8"


def test_odd_says_what_was_found_then(lowdim, moved, made):
    said = lowdim("odd", "moved.run")
    assert said.code == 0 and "LD308 note" in said.err and "/nowhere/small.csv" in said.err
    assert "odd row" in said.out.split("\n")[0] and "row 8: x3 " in said.out and "Kept in moved.run/odd.csv" in said.out
    told = json.loads(lowdim("odd", "moved.run", "--json", "--quiet").out)
    fresh = json.loads(lowdim("odd", made / "small.run", "--json", "--quiet", "-o", "o.csv").out)
    assert [r["row"] for r in told["rows"]] == [r["name"] for r in fresh["rows"]]
    assert [m["code"] for m in told["messages"]] == ["LD308"] and told["wrote"] is None


def test_an_odd_csv_that_was_touched_is_not_believed(lowdim, moved):
    (moved / "odd.csv").write_text("row,reason\n1,because\n")
    assert lowdim("odd", "moved.run").code == 3
