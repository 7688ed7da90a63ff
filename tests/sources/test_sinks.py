"""Results go where they need not fit in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lowdim
from lowdim.sources.files.sinks import NpySink
from lowdim.sources.sinks import ArraySink, as_sink
from lowdim.text.messages import LowdimError
from tests.sources.tables import CLEAN, GAPPY, D, N, mapped


def test_sinks_take_rows_in_any_order(tmp_path):
    mine = np.empty((N, D))
    for out in (None, mine, tmp_path / "out.npy", str(tmp_path / "text.npy")):
        sink = as_sink(out, N)
        for begin in (64, 0, 32):
            sink.write(begin, CLEAN[begin : begin + (32 if begin < 64 else N)])
        np.testing.assert_array_equal(sink.close(), CLEAN)
    np.testing.assert_array_equal(mine, CLEAN)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), CLEAN)
    assert isinstance(as_sink(None, 3), ArraySink) and isinstance(as_sink("x.npy", 3), NpySink)
    own = ArraySink(3)
    assert as_sink(own, 3) is own


@pytest.mark.parametrize("name", ["out.txt", "out", "out.npz", "out.npy.gz"])
def test_other_files_are_refused(name, tmp_path):
    with pytest.raises(LowdimError, match="npy") as raised:
        lowdim.PCA(2).fit(CLEAN).transform(CLEAN, out=tmp_path / name)
    assert raised.value.code == "LD210" and not (tmp_path / name).exists()


@pytest.mark.parametrize("verb", ["transform", "reconstruct", "impute"])
@pytest.mark.parametrize("model", [lowdim.PCA(2), lowdim.PPCA(2), lowdim.FactorAnalysis(1)], ids=["pca", "ppca", "fa"])
def test_streamed_to_a_file_equals_in_memory(model, verb, tmp_path):
    big = np.tile(GAPPY, (90, 1))  # two blocks
    model.fit(mapped(tmp_path, big))
    streamed = getattr(model, verb)(np.load(tmp_path / "x.npy", mmap_mode="r"), out=tmp_path / "z.npy")
    assert isinstance(streamed, np.memmap) and not streamed.flags.writeable
    np.testing.assert_array_equal(streamed, getattr(model, verb)(big))
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), streamed)


CHILD = """
import sys
import numpy as np
import lowdim
def peak():  # not getrusage: its peak is inherited from the parent
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
folder = sys.argv[1]
X = np.load(folder + "/x.npy", mmap_mode="r")
lowdim.PPCA(2).fit(X[:1000])
before = peak()
model = lowdim.PPCA(3, max_iter=10, tol=0.01).fit(X)
model.transform(X, out=folder + "/z.npy")
print(peak() - before, model.n_iter_)
"""


def streaming_growth(folder: Path, n: int, d: int) -> int:
    """Bytes by which a child's peak memory grows while it fits and maps an n x d file with gaps."""
    out = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float64, (n, d))
    W = np.random.default_rng(0).standard_normal((3, d))
    for begin in range(0, n, 50_000):
        rng = np.random.default_rng([1, begin])
        rows = min(50_000, n - begin)
        part = rng.standard_normal((rows, 3)) @ W + rng.standard_normal((rows, d))
        part[rng.random(part.shape) < 0.05] = np.nan
        out[begin : begin + rows] = part
    out.flush()
    del out
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, str(folder)], capture_output=True, text=True, check=True
    )
    return int(child.stdout.split()[0])


@pytest.mark.slow
def test_a_file_is_streamed_not_loaded(tmp_path):
    """The mapped file's own pages count as resident; beside them a few blocks are all that is held."""
    n, d = 60_000, 50
    assert streaming_growth(tmp_path, n, d) < n * d * 8 + n * 3 * 8 + 200e6


@pytest.mark.drill
def test_a_million_rows_with_gaps_from_a_memory_map(tmp_path):
    n, d = 1_000_000, 50
    growth = streaming_growth(tmp_path, n, d)
    print(f"growth beyond the files: {(growth - n * d * 8 - n * 3 * 8) / 1e6:.0f} MB")
    assert growth < n * d * 8 + n * 3 * 8 + 400e6
    X, Z = np.load(tmp_path / "x.npy", mmap_mode="r"), np.load(tmp_path / "z.npy", mmap_mode="r")
    assert Z.shape == (n, 3) and np.isfinite(Z).all() and np.isnan(X[:1000]).any()
