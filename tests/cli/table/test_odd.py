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
    said = lowdim("odd", "moved.run", "--level", "0.99")
    assert said.code == 0 and "LD308 note" in said.err and "/nowhere/small.csv" in said.err
    there = lowdim("odd", made / "small.run", "--level", "0.99")
    assert said.out.split("\nSaved")[0] == there.out.split("\nSaved")[0] and "8 " in said.out
    told = json.loads(lowdim("odd", "moved.run", "--json", "--quiet").out)
    fresh = json.loads(lowdim("odd", made / "small.run", "--json", "--quiet").out)
    assert told["rows"] == fresh["rows"] and [m["code"] for m in told["messages"]] == ["LD308"]


def test_findings_that_were_touched_are_not_believed(lowdim, moved):
    (moved / "judges.lowdim").write_bytes(b"no zip")
    assert lowdim("odd", "moved.run").code == 3
