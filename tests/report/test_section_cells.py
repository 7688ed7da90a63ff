"""Section 6 of the report: which model fills, at which levels intervals hold, and what lies outside the values seen."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

from lowdim import analyse, read
from lowdim.judge.fills.result import LEVELS
from lowdim.report.section_cells import fills
from tests.conftest import need
from tests.report import pages


def test_the_section_names_both_models_and_several_levels():
    found = pages.small()
    section = fills(found, rows=True)
    k = found.fills.n_components
    assert f"Fills use their own model ({k} dimension" in section.read and f"the map uses {found.dims}." in section.read
    chart = next(c for c in section.charts if c.name == "calibration")
    claimed = next(g for g in chart.grids if "claimed" in g.header)
    at = [g for g in claimed.rows if g[claimed.header.index("claimed")]]
    assert [float(row[claimed.header.index("claimed")]) for row in at[:4]] == list(LEVELS)
    held = [float(row[claimed.header.index("actual")]) for row in at[:4]]
    assert held == pytest.approx(found.fills.coverage().tolist(), rel=1e-3)


@pytest.fixture(scope="module")
def ozone():
    return analyse(read(need("missing_small/airquality.csv"), no_log=True), dims=2, budget="1s")


@pytest.mark.slow
def test_fills_outside_are_counted_and_the_command_works_when_pasted(ozone, tmp_path, capsys, monkeypatch):
    import shutil

    from lowdim.cli.entry import run

    section = fills(ozone, rows=True)
    column = section.grids[0].header.index("outside the values seen")
    X = ozone.table.X
    out = (ozone.fills.filled < np.nanmin(X, axis=0)) | (ozone.fills.filled > np.nanmax(X, axis=0))
    assert [int(row[column]) for row in section.grids[0].rows] == out.sum(axis=0).tolist()
    assert f" {out.sum()} fills are outside the values seen in Ozone:" in section.limits
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lowdim.judge.fills.engines.offered.MOST_BUDGET", 1e-3)  # the linear model, as in the report
    shutil.copy(ozone.table.path, tmp_path)
    words = shlex.split(section.limits.split("As logarithms: ")[1])
    assert words[:2] == ["lowdim", "fill"] and words[words.index("--log") + 1] == "Ozone"
    assert run(words[1:]) == 0 and (tmp_path / "filled.csv").is_file()
    assert "outside" not in capsys.readouterr().out


def test_few_fills_are_not_counted_where_no_row_may_be_seen(ozone):
    section = fills(ozone, rows=False)
    column = section.grids[0].header.index("outside the values seen")
    assert {row[column] for row in section.grids[0].rows} == {"0", "fewer than 5"}
    assert "Fewer than 5 fills are outside" in section.limits
