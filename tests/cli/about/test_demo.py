"""`lowdim demo`, which is `make demo`: the sentences and the path of the report, last."""

from __future__ import annotations

import re

from lowdim.jobs.run_folder import load_run
from tests.conftest import ROOT


def test_it_ends_with_the_sentences_and_the_path(lowdim, no_drawing, tmp_path):
    said = lowdim("demo", "gaussian")
    assert said.code == 0, said.err
    tail = said.out.rstrip().split("\n")[-10:]
    assert [line[:5] for line in tail[1:6]] == [f"  {k}. " for k in range(1, 6)]
    assert tail[1].startswith("  1. Three dimensions are needed: ")
    path = re.match(r"  Report  (\S+demo-gaussian.report.html) ", tail[7])
    assert path and (tmp_path / "demo-gaussian.report.html").samefile(path[1])
    held = re.search(r"The intervals contain (\d+) of the (\d+) cells that were hidden", said.out)
    assert held and 0.85 < int(held[1]) / int(held[2]) < 0.95
    # what it proposes next works
    (run,) = re.findall(r"lowdim odd (\S+)", tail[9])
    assert tail[9].endswith(f"lowdim explore {run}")
    assert load_run(tmp_path / run).table.n == 300 and (tmp_path / "demo-gaussian.csv").exists()


def test_an_unknown_table_is_said(lowdim):
    said = lowdim("demo", "nobody")
    assert said.code == 2 and "LD210" in said.err and "wine, gaussian, oil, digits, pump" in said.err


def test_what_it_writes_is_not_tracked():
    ignored = (ROOT / ".gitignore").read_text().split()
    assert {"*.report.html", "*.run/", "demo-*.csv"} <= set(ignored)
    assert "lowdim demo" in (ROOT / "Makefile").read_text()
