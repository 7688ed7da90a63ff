"""`lowdim FILE` and `lowdim report`: the table of a digester, and one of 10,000 rows."""

from __future__ import annotations

import csv
import json
import re
import resource
import sys
import time

import pytest

from tests.cli.calls import child, in_process
from tests.cli.conftest import write_csv
from tests.cli.tables import large
from tests.conftest import need


@pytest.fixture(scope="module")
def digester(tmp_path_factory):
    """`lowdim FILE`: its words and its folder."""
    table = need("digester/kamyr.csv")
    folder = tmp_path_factory.mktemp("digester")
    return in_process(table, cwd=folder), folder, table


def read_rows(path):
    """The lines of a CSV file by the names of its header."""
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.slow
def test_a_few_sentences_then_the_report_and_the_run(digester):
    said, folder, _ = digester
    assert said.code == 0 and "Traceback" not in said.err
    lines = said.out.split("\n")
    assert [line[:5] for line in lines[:5]] == [f"  {k}. " for k in range(1, 6)]
    # 5 dimensions; axis 1 is white_flow (9) + t_lower (7) + t_upper (6) against kappa (1), and hardly larger than
    # axis 2; row 1 because of bf_cm_ratio, 121.717 where the rest says 73 +- 4, which is left out; a map of 43%
    assert re.match(r"  1\. Five dimensions are needed: hidden cells are predicted 9\d% as well as with more", lines[0])
    assert lines[1].startswith("  2. Axis 1 is c9 + c7 + c6 against c1 (23% of variation). Axes 1 and 2 are interch")
    assert re.match(
        r"  4. 1 odd row: row 1, because c3 is 121.717; the rest of the row says 73\.\d, sd 3\.\d "
        r"\(3 rows have p < 0.05; about 5 expected by chance\)\. 1 cell is left out of the fit\.$",
        lines[3],
    )
    assert lines[4].startswith("  5. The 2-D map shows 43% of the variation")
    held = re.match(
        r"  3. 53 gaps filled; our 90% intervals contain (\d+)% of ([\d,]+) cells hidden on purpose", lines[2]
    )
    assert held and 87 <= int(held[1]) <= 93 and int(held[2]) >= 800
    assert lines[6].startswith("  Report  kamyr.report.html") and lines[7].startswith("  Run     kamyr.run/")
    assert lines[8] == "  Next    lowdim explore kamyr.run"
    assert (folder / "kamyr.report.html").stat().st_size < 2_000_000
    assert re.findall(r"^LD\d+", said.err, re.M) == ["LD008", "LD122", "LD127"]
    assert re.findall(r"\[ok\] (\w+)", said.err) == ["read", "dimensions", "fit", "fills", "axes", "report"]


@pytest.mark.slow
def test_the_run_folder_says_everything(digester):
    _, folder, table = digester
    run = json.loads((folder / "kamyr.run" / "run.json").read_text())
    assert run["schema"] == 1 and run["finished"] and run["dims"] == 5 and run["converged"]
    asked = {"dims": "auto", "scale": "unit", "level": 0.9, "seed": 0, "budget": None, "robust": True, "rotate": None}
    asked |= {"groups": "auto"}
    assert run["settings"] == asked
    assert run["table"]["path"] == str(table.resolve()) and run["command"].startswith("lowdim ")
    assert [m["code"] for m in run["messages"]] == ["LD008", "LD122", "LD127"]
    rows, fills, odd, held = (
        read_rows(folder / "kamyr.run" / f"{name}.csv") for name in ("scores", "fills", "odd", "held")
    )
    assert len(rows) == 96 and len(fills) == 53
    named = {(r["row"], r["column"]) for r in odd}
    assert named == {("1", "c3")} and named == {(r["row"], r["column"]) for r in held}
    assert all(float(f["lower"]) < float(f["fill"]) < float(f["upper"]) for f in fills)
    assert not [p.name for p in folder.rglob(".lowdim*")]


@pytest.mark.slow
def test_rows_axes_and_groups_of_the_run(digester, lowdim):
    _, folder, _ = digester
    row = lowdim("explain", folder / "kamyr.run", "--row", "1")
    assert row.code == 0 and "c3 is 121.717; the rest of the row says 73" in row.out
    assert re.search(r"Hide that cell, and the row is ordinary \(p 0\.\d+\)", row.out)
    axis = lowdim("explain", folder / "kamyr.run", "--axis", "1")
    assert axis.code == 0 and axis.out.startswith("Axis 1 is c9 + c7 + c6 against c1") and "refits" in axis.out
    (lowdim.folder / "some.txt").write_text("1\n2\n3\n4\n5\n6\n")
    group = lowdim("explain", folder / "kamyr.run", "--group", "some.txt")
    assert group.code == 0 and "sets these 6 rows apart" in group.out and "axis 5" in group.out
    assert lowdim("explain", folder / "kamyr.run", "--axis", "6").code == 2
    assert "counted from 1 to 96" in lowdim("explain", folder / "kamyr.run", "--row", "97").err


@pytest.mark.slow
def test_odd_rows_from_the_run_and_from_the_table_agree(digester, lowdim):
    _, folder, table = digester
    ours = lowdim("odd", folder / "kamyr.run", "-o", "a.csv", "--json")
    fitted = lowdim("odd", table, "--dims", "5", "-o", "b.csv", "--json")
    one, two = json.loads(ours.out), json.loads(fitted.out)
    assert one["rows"] == two["rows"] and one["rows"][0]["column"] == "c3"
    words = "1 odd row at 5% false discovery rate (3 rows have p < 0.05; about 5 expected by chance)"
    assert one["sentence"] == words
    assert [m["code"] for m in two["messages"]] == ["LD008", "LD122", "LD127"] and one["messages"] == []
    assert (lowdim.folder / "a.csv").read_bytes() == (lowdim.folder / "b.csv").read_bytes()


@pytest.mark.slow
def test_its_own_rows_placed_on_the_map_are_where_they_were(digester, lowdim):
    _, folder, table = digester
    said = lowdim("apply", folder / "kamyr.run", table, "-o", "again.scores.csv")
    assert said.code == 0 and said.out.startswith("96 rows placed. 52 have gaps: their ellipses are ")
    assert "row 1, because c3 is 121.717; the rest" in said.out and "fills in again.fills.csv" in said.out
    again, before = read_rows(lowdim.folder / "again.scores.csv"), read_rows(folder / "kamyr.run" / "scores.csv")
    held = {r["row"] for r in read_rows(folder / "kamyr.run" / "held.csv")}  # placed without the cells held out
    assert held == {"1"} and [a for a in again if a["row"] not in held] == [b for b in before if b["row"] not in held]
    distances = ("D2", "D2_p", "T2", "T2_p", "Q", "Q_p")  # of all cells, by the run's own law
    assert [[a[name] for name in distances] for a in again] == [[b[name] for name in distances] for b in before]


@pytest.mark.slow
def test_check_describes_it(digester, lowdim):
    _, _, table = digester
    said = lowdim("check", table)
    assert "96 rows x 10 columns   CSV, comma, decimal point, UTF-8" in said.out
    assert "53 of 960 cells are empty (5.5%). Only 44 of 96 rows are complete" in said.out
    assert "3 notes  (lowdim help LD008, LD122, LD127)" in said.out and said.code == 0


@pytest.mark.drill
def test_the_report_in_time_and_memory(tmp_path):
    write_csv(tmp_path / "large.csv", large(10_000, 50))
    begun = time.perf_counter()
    said = child("large.csv", cwd=tmp_path)
    spent = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    assert said.code == 0 and said.out.startswith(
        "  1. Six dimensions are needed: more predict hidden cells no better."
    )
    assert spent < 60.0 and peak < 1e9, (spent, peak)
    stages = dict(re.findall(r"\[ok\] (\w+) .* ([\d.]+) s", said.err))
    assert sum(float(stages[name]) for name in ("read", "dimensions", "fit", "fills", "axes")) < 10.0, stages
