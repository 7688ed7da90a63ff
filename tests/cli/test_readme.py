"""Every line of the README's section on the command line, run as it stands."""

from __future__ import annotations

import re
import shlex

import numpy as np

from tests.cli.conftest import small_table, write_csv
from tests.conftest import ROOT


def lines() -> list[str]:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## On the command line")[1].split("\n## ")[0]
    return [line.split("#")[0].strip() for line in re.findall(r"^lowdim .*$", section, re.M)]


def test_each_line_works(lowdim, no_drawing):
    write_csv(lowdim.folder / "table.csv", small_table())
    write_csv(lowdim.folder / "new.csv", small_table(seed=9)[:3])
    found = lines()
    assert [line.split()[1] for line in found] == [
        "check",
        "table.csv",
        "fill",
        "odd",
        "explain",
        "apply",
        "fit",
        "compare",
    ]
    for line in found:
        said = lowdim(*shlex.split(line)[1:])
        assert said.code == 0 and said.out, (line, said.err)
    assert {"table.report.html", "table.run", "filled.csv", "table.odd.csv", "new.scores.csv"} <= {
        path.name for path in lowdim.folder.iterdir()
    }


def test_the_python_lines_work(lowdim):
    import lowdim as ld

    write_csv(lowdim.folder / "table.csv", small_table())
    found = ld.analyse(ld.read("table.csv"), budget="1s")
    assert len(found.sentences) == 5 and found.dims == 2 and np.shape(found.scores) == (60, 2)
    assert found.loadings.shape == (6, 2) and np.isfinite(found.filled).all() and found.fills.is_filled.any()
    assert found.odd.rows[0].name == "8" and found.explain(0).name == "1"
    assert found.apply(small_table()[:2]).X.shape == (2, 6)
