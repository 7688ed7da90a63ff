"""Results in files are written whole or not at all."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import lowdim
from lowdim.text.errors import TableWarning
from lowdim.text.messages import LowdimError
from tests.sources.files.tables import CLEAN, GAPPY, KINDS, table

SINKS = (".npy", ".parquet", ".csv", ".zarr")


@pytest.mark.parametrize("ending", SINKS)
@pytest.mark.parametrize("kind", ["parquet", "csv", "npy", "zarr"])
def test_results_may_take_the_place_of_their_table(kind, ending, tmp_path):
    path = KINDS[kind](GAPPY, tmp_path)
    if path.suffix != ending:
        return
    with pytest.warns(TableWarning, match="LD121"):
        model = lowdim.PPCA(2).fit(path)
    want = model.impute(GAPPY)
    model.impute(path, out=path)
    np.testing.assert_array_equal(table(lowdim.stream(path)), want)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


# one process for all kinds of file: starting it takes longer than its work
FULL = """
    import sys, resource
    import lowdim
    from lowdim.text.messages import LowdimError

    for folder in sys.argv[1:]:
        table, out = f"{folder}/x.parquet", f"{folder}/out{folder[folder.rindex('.'):]}"
        model = lowdim.PCA(2).fit(table)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        try:
            model.reconstruct(table, out=out)
        except LowdimError as problem:
            print(problem.code, repr(str(problem)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
STOPPED = """
    import sys, os, signal
    import lowdim
    from lowdim import Run
    from lowdim.sources.files import sinks as sink

    was = sink.FileSink.write
    for folder in sys.argv[1:]:
        table, out = f"{folder}/x.parquet", f"{folder}/out{folder[folder.rindex('.'):]}"
        model = lowdim.PCA(2).fit(table)
        count = [0]
        def write(self, start, rows):
            was(self, start, rows)
            count[0] += 1
            if count[0] == 3:
                os.kill(os.getpid(), signal.SIGINT)
        sink.FileSink.write = write
        try:
            model.reconstruct(lowdim.stream(table, tile=100), out=out)
        except KeyboardInterrupt:
            print(f"stopped after {count[0]} writes", sorted(os.listdir(folder)), flush=True)
"""


def in_one_child(code: str, folders: list[Path]) -> dict[str, str]:
    """What a process that goes through the folders prints of each, by the ending of its name."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, folders)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return dict(zip([folder.suffix for folder in folders], done.stdout.splitlines(), strict=True))


def tables_in(folder: Path) -> list[Path]:
    """A folder for every kind of result, each with a table."""
    made = [folder / f"to{ending}" for ending in SINKS]
    for one in made:
        one.mkdir()
        assert KINDS["parquet"](CLEAN, one).name == "x.parquet"
    return made


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Folders with an older result, what that held, and what a process said whose disk was full."""
    folders = tables_in(tmp_path_factory.mktemp("full"))
    older = lowdim.PCA(2).fit(CLEAN[:50]).transform(CLEAN[:50])
    for folder in folders:
        lowdim.PCA(2).fit(CLEAN[:50]).transform(CLEAN[:50], out=folder / f"out{folder.suffix}")
    return folders[0].parent, older, in_one_child(FULL, folders)


@pytest.mark.parametrize("ending", SINKS)
def test_a_full_disk_is_named_and_costs_nothing(ending, full):
    folder, older, said = full[0] / f"to{ending}", full[1], full[2][ending]
    out = folder / f"out{ending}"
    assert said.startswith("LD304") and str(out) in said
    np.testing.assert_array_equal(table(lowdim.stream(out)), older)
    assert sorted(p.name for p in folder.iterdir()) == sorted(["x.parquet", out.name])


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A folder for each kind of result, and what a process said that got Ctrl-C while it wrote it."""
    folders = tables_in(tmp_path_factory.mktemp("stopped"))
    return folders[0].parent, in_one_child(STOPPED, folders)


@pytest.mark.parametrize("ending", SINKS)
def test_ctrl_c_leaves_nothing_half_done(ending, stopped):
    """Neither at once nor when the process has ended."""
    assert stopped[1][ending] == "stopped after 3 writes ['x.parquet']"
    assert [p.name for p in (stopped[0] / f"to{ending}").iterdir()] == ["x.parquet"]


def test_a_folder_that_is_no_zarr_array_is_not_removed(tmp_path):
    (tmp_path / "out.zarr").mkdir()
    (tmp_path / "out.zarr" / "precious").write_text("mine")
    with pytest.raises(LowdimError, match="LD304"):
        lowdim.PCA(1).fit(CLEAN).transform(CLEAN, out=tmp_path / "out.zarr")
    assert (tmp_path / "out.zarr" / "precious").read_text() == "mine" and len(list(tmp_path.iterdir())) == 1
