"""Every command line and every Python line of the README, run as it stands."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lowdim as ld
from tests.cli.calls import Command
from tests.cli.conftest import small_table, write_csv
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return README.split(f"## {title}\n")[1].split("\n## ")[0]


def command_lines(title: str) -> list[str]:
    return [line.split("  #")[0].split(" #")[0].strip() for line in re.findall(r"^lowdim .*$", section(title), re.M)]


@pytest.fixture
def lowdim(capsys, tmp_path, monkeypatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys, tmp_path)


def run_each(lowdim: Command, title: str) -> set[str]:
    lines = command_lines(title)
    assert len(lines) >= 3
    for line in lines:
        outcome = lowdim(*shlex.split(line)[1:])
        assert outcome.code == 0 and outcome.out, (line, outcome.err)
    return {path.name for path in lowdim.folder.iterdir()}


@pytest.mark.slow
def test_the_command_line(lowdim):
    write_csv(lowdim.folder / "table.csv", small_table(seed=1))
    write_csv(lowdim.folder / "new.csv", small_table(seed=9)[:3])
    cities = ld.datasets.load("cities")
    miles = [",".join([name, *map(str, row)]) for name, row in zip(cities.columns, cities.X.tolist(), strict=True)]
    (lowdim.folder / "miles.csv").write_text("\n".join([",".join(["city", *cities.columns]), *miles]))
    files = run_each(lowdim, "On the command line")
    assert {"table.report.html", "table.run", "filled.csv", "table.odd.csv", "new.scores.csv"} <= files


@pytest.mark.slow
def test_files_larger_than_memory(lowdim):
    X = small_table()
    for name, rows in (("cells", X), ("new", X[:20])):
        columns = [pa.array(column, from_pandas=True) for column in rows.T]
        pq.write_table(pa.table(columns, names=[f"x{j}" for j in range(X.shape[1])]), f"{name}.parquet")
    files = run_each(lowdim, "Files larger than memory")
    assert {"cells.report.html", "cells.run", "full.parquet", "scores.parquet"} <= files


def test_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", section("In Python"), re.DOTALL)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "converged" in capsys.readouterr().out
    assert names["Z"].shape == (200, 2) and names["tables"].shape == (5, 200, 6) and names["new"].shape == (3, 6)
    seen = np.isfinite(names["X"])
    assert np.array_equal(names["filled"][seen], names["X"][seen]) and (names["sd"][~seen] > 0).all()
    assert np.array_equal(names["same"].transform(names["X"]), names["Z"])


def test_the_main_job_from_python(tmp_path, monkeypatch):
    """Each name that the text after the Python block says an analysis has."""
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "table.csv", small_table())
    found = ld.analyse(ld.read("table.csv"), budget="1s")
    text = section("In Python")
    attributes = set(re.findall(r"`analysis\.(\w+)", text))
    assert {
        "sentences",
        "dims",
        "scores",
        "loadings",
        "filled",
        "fills",
        "odd",
        "explain",
        "apply",
        "plot",
    } <= attributes
    assert all(hasattr(found, name) for name in attributes)
    assert len(found.sentences) == 5 and found.dims == 2 and np.shape(found.scores) == (60, 2)
    assert found.loadings.shape == (6, 2) and np.isfinite(found.filled).all() and found.fills.is_filled.any()
    assert found.fills.at(0.8).level == 0.8 and found.odd.rows[0].name == "8" and found.explain(0).name == "1"
    assert found.apply(small_table()[:2]).X.shape == (2, 6)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`ld\.(\w+)", README))))
def test_every_name_exists(name):
    assert hasattr(ld, name)
