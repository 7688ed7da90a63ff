"""The forecast of memory holds: what a fit grows by, beside what was announced.

Each configuration is a process of its own. Growth is that of anonymous memory (RssAnon, looked at every
millisecond) after a warm-up fit of a tiny table: pages of a mapped file are the system's to take back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import lowdim
from lowdim.engine.fit import Cost, plan
from lowdim.engine.fold import Run
from lowdim.text.errors import BudgetError
from lowdim.text.format import size
from tests.cli.calls import environment

ALLOWED = 1.15

CHILD = """
import json, sys, threading, time, warnings
import numpy as np
import lowdim
from lowdim.sources.arrays import as_source
warnings.simplefilter("ignore")
kind, q, tiny, path = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
make = {"pca": lowdim.PCA, "ppca": lowdim.PPCA, "fa": lowdim.FactorAnalysis, "dual": lowdim.DualPPCA,
        "bpca": lowdim.BayesianPCA,
        "qr": lambda q: lowdim.PCA(q, solver="qr"), "krylov": lambda q: lowdim.PCA(q, solver="krylov")}[kind]
def opened(path):
    return np.load(path, mmap_mode="r") if path.endswith(".map.npy") else path
make(2).fit(as_source(opened(tiny)))
def anonymous():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))
before, peak, over = anonymous(), 0, threading.Event()
def watch():
    global peak
    while not over.wait(0.001):
        peak = max(peak, anonymous())
watcher = threading.Thread(target=watch)
watcher.start()
model = make(q)
if kind in ("ppca", "fa", "dual", "bpca"):
    model.set_params(max_iter=3)
source = as_source(opened(path))
forecast = model.cost(source.n, source.d, gaps=False).peak + source.leaf.overhead
model.fit(source)
over.set()
watcher.join()
print(json.dumps({"grew": peak - before, "forecast": forecast}))
"""


class Trial(NamedTuple):
    """A model, its dimensions, a table's shape and share of gaps, and what holds it."""

    model: str
    q: int
    n: int
    d: int
    gaps: float
    ending: str  # "map.npy": an array mapped into memory; the others are files that are streamed


SMALL = (
    Trial("ppca", 5, 40_000, 50, 0.1, "parquet"),
    Trial("pca", 5, 40_000, 50, 0.0, "map.npy"),
    Trial("fa", 3, 40_000, 50, 0.1, "csv"),
    Trial("bpca", 10, 40_000, 50, 0.1, "parquet"),
    Trial("krylov", 5, 3_000, 1_500, 0.0, "map.npy"),
)
LARGE = (
    *(
        Trial(model, 5, 400_000, 20, gaps, ending)
        for ending in ("map.npy", "parquet", "csv", "npy")
        for model, gaps in (("pca", 0.0), ("ppca", 0.0), ("ppca", 0.1))
    ),
    *(
        Trial(model, 10, 200_000, 100, gaps, ending)
        for ending in ("map.npy", "parquet", "npy")
        for model, gaps in (("pca", 0.0), ("ppca", 0.2), ("fa", 0.2))
    ),
    *(
        Trial(model, 5, 20_000, 500, gaps, ending)
        for ending in ("map.npy", "parquet")
        for model, gaps in (("pca", 0.0), ("ppca", 0.1), ("fa", 0.0), ("qr", 0.0), ("krylov", 0.0))
    ),
    *(
        Trial(model, 10, 5_000, 2_000, gaps, "map.npy")
        for model, gaps in (("pca", 0.0), ("ppca", 0.1), ("krylov", 0.0))
    ),
    *(Trial(model, 5, 300, 3_000, gaps, "map.npy") for model, gaps in (("ppca", 0.1), ("dual", 0.1), ("dual", 0.0))),
    Trial("qr", 5, 360_000, 100, 0.0, "map.npy"),
    Trial("krylov", 5, 6_000, 4_000, 0.0, "map.npy"),
    Trial("ppca", 40, 50_000, 100, 0.1, "parquet"),
)


def write(path: Path, n: int, d: int, q: int, gaps: float) -> Path:
    """A table of q dimensions; float32 in Parquet, four decimals in CSV."""
    if path.exists():
        return path
    rng = np.random.default_rng([n, d])
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + rng.standard_normal((n, d))
    X[rng.random(X.shape) < gaps] = np.nan
    if path.suffix == ".npy":
        np.save(path, X)
        return path
    parts = X.astype(np.float32) if path.suffix == ".parquet" else X.round(4)
    table = pa.table({f"x{j}": pa.array(np.ascontiguousarray(parts[:, j]), from_pandas=True) for j in range(d)})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=max(n // 8, 1))
    else:
        pc.write_csv(table, path)
    return path


def ratio(trial: Trial, folder: Path) -> float:
    name = f"{trial.n}_{trial.d}_{trial.q}_{trial.gaps}.{trial.ending}"
    tiny, path = (
        write(folder / f"{size_}_{name}", n, d, 2 if n == 60 else trial.q, trial.gaps)
        for size_, n, d in (("tiny", 60, 6), ("full", trial.n, trial.d))
    )
    done = subprocess.run(
        [sys.executable, "-c", CHILD, trial.model, str(trial.q), str(tiny), str(path)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    print(
        f"{trial}: grew {size(found['grew'])}, forecast {size(found['forecast'])}, "
        f"ratio {found['grew'] / found['forecast']:.2f}"
    )
    return float(found["grew"] / found["forecast"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("memory")


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of memory")


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("trial", SMALL, ids=lambda t: f"{t.model}-{t.ending}")
def test_memory_stays_below_the_forecast(trial, folder):
    assert ratio(trial, folder) <= ALLOWED


@needs_proc
@pytest.mark.drill
@pytest.mark.parametrize("trial", LARGE, ids=lambda t: f"{t.model}-{t.q}-{t.n}x{t.d}-{t.gaps}-{t.ending}")
def test_memory_stays_below_the_forecast_in_forty_configurations(trial, folder):
    assert len(set(LARGE)) == 40 and ratio(trial, folder) <= ALLOWED


def test_what_does_not_fit_is_refused_with_the_alternative():
    with pytest.raises(BudgetError, match=r"LD170.*needs about 2 GB of memory; 1 GB are allowed"):
        plan("a fit", Cost(1, 10, 2 * 10**9, "fewer columns"), Run(memory=10**9))
    assert plan("a fit", Cost(1, 10, 10**9, ""), Run(memory=10**9)).peak == 10**9


def test_a_source_adds_its_own(tmp_path):
    """Blocks of several tiles, decoded batches: smaller blocks take less."""
    path = write(tmp_path / "t.parquet", 60_000, 20, 2, 0.0)
    whole, small = lowdim.stream(path), lowdim.stream(path, block_tiles=1)
    assert 0 < small.overhead < whole.overhead
    cost = Cost(1, 10, 1000, "")
    assert plan("a fit", cost, Run(), whole).peak == 1000 + whole.overhead
