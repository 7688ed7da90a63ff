"""What the tests of the command line share: one small table, analysed once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cli.calls import Command, in_process


def small_table(n: int = 60, d: int = 6, seed: int = 0) -> np.ndarray:
    """Two dimensions, a tenth of the cells missing, one odd row."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.3 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[7, 2] = 4.0
    return X


def write_csv(path: Path, X: np.ndarray, names: list[str] | None = None) -> Path:
    names = names or [f"x{j + 1}" for j in range(X.shape[1])]
    lines = [",".join(names), *(",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in X)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def lowdim(capsys, tmp_path, monkeypatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys, tmp_path)


@pytest.fixture(autouse=True)
def straight_fills(monkeypatch) -> None:
    """No time for engines beside the linear model, unless --budget asks for them: tested in judge/fills."""
    monkeypatch.setattr("lowdim.judge.fills.engines.offered.MOST_BUDGET", 1e-3)


@pytest.fixture
def no_drawing(monkeypatch) -> None:
    """The report as one line: drawing it takes longer than everything else, and is tested elsewhere."""

    def one_line(found, path, rows=True):
        Path(path).write_text("drawn")
        return Path(path)

    monkeypatch.setattr("lowdim.report.write_report", one_line)


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """A folder with small.csv and small.run, made once."""
    folder = tmp_path_factory.mktemp("made")
    write_csv(folder / "small.csv", small_table())
    done = in_process("fit", "small.csv", "--budget", "1s", cwd=folder)
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def moved(lowdim, made):
    """A run whose table is no longer where it was."""
    folder = lowdim.folder / "moved.run"
    shutil.copytree(made / "small.run", folder)
    told = json.loads((folder / "run.json").read_text())
    told["table"]["path"] = "/nowhere/small.csv"
    (folder / "run.json").write_text(json.dumps(told))
    return folder
