"""The pure parts of the page's JavaScript, without a browser: what they work out is what Python works out.

The files in `node/` are run by node's own test runner; what they compare with is written here.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lowdim.explorer.module import web_file
from lowdim.jobs.analysis import Analysis
from lowdim.jobs.table_model import subject
from lowdim.judge.rows.odd_rows import expectation
from lowdim.report import touch
from lowdim.text.format import count, figures, figures_by_sd, observed, p_value
from tests.explorer import subjects
from tests.explorer.test_module import SCRIPTS
from tests.report import pages

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")
HERE = Path(__file__).parent / "node"
TESTS = sorted(path.name for path in HERE.glob("*.mjs") if path.name != "given.mjs")


def formats() -> dict[str, Any]:
    """Calls of Python's formats with what they give."""
    numbers = [
        0.0,
        1.0,
        -2.5,
        183850.0,
        61370.2,
        1e-7,
        3.14159265,
        0.000123456,
        1e12,
        -0.05,
        99999.5,
        12.0,
        2.5,
        0.125,
        0.375,
        1.5,
        1445.0,
    ]
    cells = [
        (78.3, 6.5, 0, None),
        (2160.0, 800.0, 1, None),
        (0.0, 2.0, -1, None),
        (0.0, 2.0, -1, 0.0),
        (9.0, 1.0, 1, 9.5),
    ]
    names = ["plain", "two words", "it's", "a=b,c", "--row=20", "", "é"]
    return {
        "figures": [[[v, k], figures(v, k)] for v in numbers for k in (2, 3, 4)],
        "figures_by_sd": [[[v, sd], figures_by_sd(v, sd)] for v in numbers for sd in (0.01, 1.0, 250.0)],
        "observed": [[[v, 1.0], observed(v, 1.0)] for v in numbers],
        "p_value": [[[p], p_value(p)] for p in (0.0, 1e-300, 2.3e-8, 4e-4, 0.0012, 0.05, 0.237, 0.999, 1.0)],
        "shell": [[[name], shlex.quote(name)] for name in names if name.isascii() and name],
        "count": [[[n, "row"], count(n, "row")] for n in (0, 1, 2, 999, 1000, 1234567)],
        "expectation": [
            [{"expected": e, "sd": sd, "limit": limit, "value": v}, expectation(v, e, sd, limit)]
            for e, sd, limit, v in cells
        ],
    }


def tails() -> dict[str, Any]:
    x = [1e-3, 0.3, 1.0, 4.7, 20.0, 150.0]
    return {
        "chi2": [[[k, v], float(stats.chi2.sf(v, k))] for k in (1, 3, 13, 60) for v in x],
        "f": [[[m, n, v], float(stats.f.sf(v, m, n))] for m in (1, 5, 40) for n in (3.5, 30.0) for v in x],
        "t": [[[n, v], float(2 * stats.t.sf(v, n))] for n in (2.5, 9.0, 100.0) for v in x],
    }


def touched_cards(analysis: Analysis) -> list[dict[str, Any]]:
    """Some rows as they are, with a cell hidden, and with another value in a cell, as Python has them."""
    s, t = subject(analysis), analysis.table
    odd = [row.row for row in analysis.odd.rows[:2]]
    found = []
    for row in [*odd, 0, t.n // 2, t.n - 1]:
        a, b = (t.names[j] for j in np.flatnonzero(~np.isnan(t.X[row]))[:2])
        own = float(np.round(t.scales.outward(t.X[[row]])[0, t.names.index(b)] * 1.2 + 0.1, 3))
        touches: list[tuple[list[str], dict[str, float]]] = [([], {}), ([a], {}), ([a], {b: own})]
        for hidden, edited in touches:
            card = s.explain(row, hidden=hidden, edited=edited)
            x = t.X[row].copy()
            for name, value in edited.items():
                x[t.names.index(name)] = t.scales.inward(np.full((1, t.d), value))[0, t.names.index(name)]
            x[[t.names.index(name) for name in hidden]] = np.nan
            at, laws = s.model.posterior(x[None]), repr(card).splitlines()[1].replace(";  ", "; ")
            more = {"pD2": card.p_D2, "pT2": card.p_T2, "pQ": card.p_Q, "dof": card.dof_T2, "laws": laws}
            where = {"z": at.mean[0].tolist(), "cov": at.cov[0].ravel().tolist()}
            cells = [cell._asdict() for cell in card.cells]
            found.append({**card._asdict(), "hidden": hidden, "edited": edited, "cells": cells, **more, **where})
    return found


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module, which node takes for one where its folder says so, and Python's numbers."""
    folder = tmp_path_factory.mktemp("node")
    (folder / "web").mkdir()
    for name in SCRIPTS:
        (folder / "web" / name).write_text(web_file(name), encoding="utf-8")
    (folder / "web" / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    analyses = {"small": pages.small(), "odd": subjects.odd().analysis}
    reports = {
        name: {"touch": json.loads(touch.touch_data(analysis)), "cards": touched_cards(analysis)}
        for name, analysis in analyses.items()
        if analysis is not None
    }
    facts = {"formats": formats(), "tails": tails(), "reports": reports}
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", TESTS)
def test_the_pages_script_works_out_what_python_does(given: Path, name: str) -> None:
    ran = subprocess.run(
        ["node", "--test", str(HERE / name)],
        env={**os.environ, "GIVEN": str(given)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
