"""Results in files are written whole or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import lowdim
from lowdim.text.messages import LowdimError, TableWarning
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


FULL = """
    import sys, resource
    import numpy as np, lowdim
    from lowdim.text.messages import LowdimError

    table, out = sys.argv[1], sys.argv[2]
    model = lowdim.PCA(2).fit(table)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        model.reconstruct(table, out=out)
    except LowdimError as problem:
        print(problem.code, problem)
"""


@pytest.mark.parametrize("ending", SINKS)
def test_a_full_disk_is_named_and_costs_nothing(ending, tmp_path):
    path, out = KINDS["parquet"](CLEAN, tmp_path), tmp_path / f"out{ending}"
    lowdim.PCA(2).fit(CLEAN[:50]).transform(CLEAN[:50], out=out)
    before = table(lowdim.stream(out))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), str(path), str(out)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith("LD304") and str(out) in done.stdout, done.stdout + done.stderr
    np.testing.assert_array_equal(table(lowdim.stream(out)), before)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, out.name])


STOPPED = """
    import sys, os, signal
    import lowdim
    from lowdim import Run
    from lowdim.sources.files import sinks as sink

    table, out = sys.argv[1], sys.argv[2]
    model = lowdim.PCA(2).fit(table)
    count = [0]
    was = sink.FileSink.write
    def write(self, start, rows):
        was(self, start, rows)
        count[0] += 1
        if count[0] == 3:
            os.kill(os.getpid(), signal.SIGINT)
    sink.FileSink.write = write
    model.reconstruct(lowdim.stream(table, tile=100), out=out)
"""


@pytest.mark.parametrize("ending", SINKS)
def test_ctrl_c_leaves_nothing_half_done(ending, tmp_path):
    path, out = KINDS["parquet"](CLEAN, tmp_path), tmp_path / f"out{ending}"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STOPPED), str(path), str(out)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGINT or "KeyboardInterrupt" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_is_no_zarr_array_is_not_removed(tmp_path):
    (tmp_path / "out.zarr").mkdir()
    (tmp_path / "out.zarr" / "precious").write_text("mine")
    with pytest.raises(LowdimError, match="LD304"):
        lowdim.PCA(1).fit(CLEAN).transform(CLEAN, out=tmp_path / "out.zarr")
    assert (tmp_path / "out.zarr" / "precious").read_text() == "mine" and len(list(tmp_path.iterdir())) == 1
