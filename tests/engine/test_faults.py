"""Fault drills: kill -9, full disks, Ctrl-C and bad blocks cost no finished work and no fitted model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowdim
from lowdim.engine.fold import Run
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Source
from lowdim.text.errors import FileError, TableError
from lowdim.text.messages import LowdimError
from tests.storage.saved import bits

SOURCE = Path(lowdim.__file__).parent

KILLED = ("kill:PPCA", "kill:krylov", "kill:FA", "kill:mixed")
JOBS = ("again:PPCA", "ctrl_c:PPCA", "full:PPCA")


def drill(trials: int, jobs: tuple[str, ...]) -> dict[str, Any]:
    """The figures of each job of tests/engine/fault_child.py, in a folder in memory where there is one."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # what is synced to a busy disk takes its time
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        command = [sys.executable, "-W", "error", str(Path(__file__).with_name("fault_child.py")), folder, str(trials)]
        done = subprocess.run([*command, *jobs], env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    found = dict(json.loads(done.stdout))
    assert all(isinstance(figures, dict) for figures in found.values()), "\n".join(map(str, found.values()))
    return found


@pytest.fixture(scope="module")
def short() -> dict[str, Any]:
    """Every job in one process: most of its time goes into importing."""
    return drill(5, JOBS)


@pytest.fixture(scope="module")
def killed() -> dict[str, Any]:
    """The same of what only the slow tests ask for."""
    return drill(5, KILLED)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PPCA", "krylov", "FA", "mixed"])
def test_a_fit_killed_at_any_time_goes_on_to_the_same_bits(name: str, killed: dict[str, Any]) -> None:
    found = killed[f"kill:{name}"]
    assert found["same bits"] == 5, found


@pytest.mark.drill
@pytest.mark.parametrize("name", ["PPCA", "krylov", "FA", "mixed"])
def test_fifty_kills(name: str) -> None:
    found = drill(50, (f"kill:{name}",))[f"kill:{name}"]
    print(name, found)
    assert found["same bits"] == 50, found
    # the drill must have hit what it aims at
    assert found["killed"] >= 30 and found["inside a fold"] >= 10 and found["with folds"] >= 25, found
    assert found["while writing"] >= 2, found


def test_a_fit_killed_again_and_again_gets_there(short: dict[str, Any]) -> None:
    found = short["again:PPCA"]
    assert found["same bits"] == 1 and 3 <= found["lives"] < 200, found


def test_ctrl_c_returns_the_best_and_keeps_the_checkpoint(short: dict[str, Any]) -> None:
    found = short["ctrl_c:PPCA"]
    assert found["same bits"] == 1 and found["folds kept"] >= 3, found


def test_a_limit_on_files_stops_checkpoints_not_fits(short: dict[str, Any]) -> None:
    found = short["full:PPCA"]
    assert found["same bits"] == found["limits"] and found["warned"] >= 3, found


# a disk that is really full --------------------------------------------------------------------------
@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True)
    if made.returncode:
        pytest.skip(f"this system mounts no small disk: {made.stderr.decode()[:100]}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def table(gaps: bool = False, n: int = 600, d: int = 9) -> Any:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.5 * rng.standard_normal((n, d)) + 3.0
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X


def test_a_full_disk_costs_no_model_and_no_fit(small: Path) -> None:
    model = lowdim.PPCA(2).fit(table())
    model.save(small / "model")
    good = (small / "model").read_bytes()
    model._ballast = np.zeros(20_000)
    with pytest.raises(FileError, match="No space left") as caught:
        model.save(small / "model")
    assert caught.value.code == "LD304" and (small / "model").read_bytes() == good
    assert [path.name for path in small.iterdir()] == ["model"]
    X = table(True)
    with pytest.warns(UserWarning, match="LD324") as given:
        fitted = lowdim.PPCA(3).fit(X, run=Run(checkpoint=small / "ckpt"))
    assert len(given) == 1 and bits(fitted) == bits(lowdim.PPCA(3).fit(X))
    with pytest.warns(UserWarning, match="LD324"):  # what did fit is still good
        assert bits(lowdim.PPCA(3).fit(X, run=Run(checkpoint=small / "ckpt"))) == bits(fitted)


# bad blocks in mid-stream ---------------------------------------------------------------------------
class Broken(ArraySource):
    """A table whose disk fails at some row, after so many good reads of it."""

    def __init__(self, X: Any, row: int, good: int) -> None:
        super().__init__(X, columns=None, tile=64)
        self.row, self.good = row, good

    def read(self, rows: Any) -> Any:
        if isinstance(rows, slice) and rows.start <= self.row < rows.stop:
            self.good -= 1
            if self.good < 0:
                raise OSError(5, "Input/output error")
        return super().read(rows)


def spoilt(value: float, row: int = 400, column: int = 4) -> Source:
    X = table()
    X[row, column] = value
    return lowdim.as_source(X, tile=64)


@pytest.mark.parametrize("engine", ["serial", "threads"])
@pytest.mark.parametrize("name", ["PPCA", "PCA", "FactorAnalysis"])
def test_a_bad_cell_or_block_leaves_the_fitted_model_as_it_was(
    name: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lowdim.sources.source.KEEP_CELLS", 0)
    model = getattr(lowdim, name)(2).fit(table())
    before = bits(model)
    for bad in (np.inf, -np.inf):
        with pytest.raises(TableError) as caught:
            model.fit(spoilt(bad), run=Run(engine=engine))
        assert caught.value.code == "LD150" and "row 401, column 'c5'" in str(caught.value) and bits(model) == before
    for passes in (0, 2):  # at the first look, and in the midst of an EM; with a checkpoint and without
        for place in (None, tmp_path / str(passes)):
            with pytest.raises(OSError, match="Input/output error"):
                model.fit(Broken(table(True), 300, passes), run=Run(engine=engine, checkpoint=place))
            assert bits(model) == before
    again = bits(getattr(lowdim, name)(2).fit(ArraySource(table(True), columns=None, tile=64)))
    broken = Broken(table(True), 300, 10**9)  # the disk is repaired: the checkpoint goes on
    assert bits(model.fit(broken, run=Run(engine=engine, checkpoint=tmp_path / "2"))) == again


@pytest.mark.parametrize("name", ["PPCA", "PCA", "FactorAnalysis"])
def test_a_bad_batch_leaves_what_was_learnt_online_as_it_was(name: str) -> None:
    cls = getattr(lowdim, name)
    model, other = cls(2).partial_fit(table()[:250]), cls(2).partial_fit(table()[:250])
    before = bits(model)
    bad: list[tuple[Any, str]] = [
        (spoilt(np.inf), "row 401"),
        (spoilt(np.nan), "row 401"),
        (Broken(table(), 300, 0), "Input/output error"),
    ]
    for batch, words in bad:
        with pytest.raises((LowdimError, OSError), match=words):
            model.partial_fit(batch)
        assert bits(model) == before
    assert bits(model.partial_fit(table()[250:])) == bits(other.partial_fit(table()[250:]))
