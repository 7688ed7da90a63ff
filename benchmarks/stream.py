"""Tables on disk: rows a second and what is held in memory, against merely reading them.

python benchmarks/make_cells.py FOLDER && python benchmarks/stream.py FOLDER
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

import lowdim


class Watch:
    """The most anonymous memory this process held meanwhile (pages of mapped files are the system's)."""

    def __enter__(self) -> Watch:
        give_back()
        self.before = self.most = anonymous()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._look)
        self.thread.start()
        return self

    def _look(self) -> None:
        while not self.done.wait(0.005):
            self.most = max(self.most, anonymous())

    def __exit__(self, *problem: object) -> None:
        self.done.set()
        self.thread.join()

    @property
    def megabytes(self) -> float:
        return (self.most - self.before) / 1e6


def give_back() -> None:
    """Freed memory goes back to the system, or the next allocation would not show."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def anonymous() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def transform(n: int = 1_000_000, d: int = 50, q: int = 5) -> str:
    from ppca import simulate  # which needs the tests beside it; the jobs below do not

    part = simulate(50_000, d, q, 0.2)
    model = lowdim.PPCA(q).fit(part)
    with tempfile.TemporaryDirectory() as folder:
        X = np.lib.format.open_memmap(f"{folder}/table.npy", "w+", np.float64, (n, d))
        for begin in range(0, n, len(part)):
            X[begin : begin + len(part)] = part[: n - begin]
        X.flush()
        del X
        table = np.load(f"{folder}/table.npy", mmap_mode="r")
        with Watch() as watch:
            begin = time.perf_counter()
            Z = model.transform(table, out=f"{folder}/scores.npy")
            seconds = time.perf_counter() - begin
        same = bool(np.allclose(Z[:1000], Z[len(part) : len(part) + 1000], rtol=1e-12, atol=1e-12))
    return (
        f"### transform, {n:,} x {d} with 20 % gaps, from a memory map to a .npy file\n\n"
        f"{seconds:.2f} s, **{n / seconds:,.0f} rows/s**, at most **{watch.megabytes:.0f} MB** beyond the start "
        f"(the table has {8 * n * d / 1e6:.0f} MB); repeated rows agree: {same}."
    )


def text(n: int = 400_000, d: int = 20, q: int = 3) -> str:
    """A fit of several passes to a CSV file, as it is, parsed anew in every pass, and to the same rows in Arrow."""
    import pyarrow as pa
    from ppca import simulate
    from pyarrow import csv, feather

    from lowdim.sources.files import spool

    X = simulate(n, d, q, 0.1)
    share, rows = spool.FREE_SHARE, {}
    with tempfile.TemporaryDirectory() as folder:
        table = pa.table({f"x{j + 1}": pa.array(X[:, j], from_pandas=True) for j in range(d)})
        csv.write_csv(table, f"{folder}/t.csv")
        feather.write_feather(table, f"{folder}/t.arrow", compression="uncompressed")
        for file, keep in (("t.arrow", share), ("t.csv", share), ("t.csv", 0.0)) * 2:
            spool.FREE_SHARE = keep
            begin, used = time.perf_counter(), time.process_time()
            model = lowdim.PPCA(q).fit(f"{folder}/{file}")
            name = {"t.arrow": "Arrow"}.get(file, "CSV" if keep else "CSV, parsed in every pass")
            took = (time.perf_counter() - begin, time.process_time() - used)
            rows[name] = min(rows.get(name, took), took)
    spool.FREE_SHARE, base = share, rows["Arrow"]
    lines = [f"| {name} | {a:.2f} | {b:.2f} | {a / base[0]:.2f} | {b / base[1]:.2f} |" for name, (a, b) in rows.items()]
    return (
        f"### PPCA({q}) of {n:,} x {d} with 10 % gaps from a text file, {model.n_iter_} passes\n\n"
        "| file | seconds | CPU s | x Arrow | x Arrow, CPU |\n| --- | ---: | ---: | ---: | ---: |\n" + "\n".join(lines)
    )


# ---- tables larger than memory: every job in a process of its own, so that its peak is its own


def reading(path: str) -> int:
    """Everything decoded, two threads, nothing kept."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(2)
    for _ in pq.ParquetFile(path, pre_buffer=False).iter_batches(batch_size=2**16, use_threads=True):
        pass
    return 1


def ours_pca(path: str) -> int:
    return lowdim.PCA(5).fit(path).certificate_.passes


def ours_ppca(path: str) -> int:
    return lowdim.PPCA(5).fit(path).certificate_.passes


def incremental(path: str) -> float:
    """scikit-learn, fed by pyarrow: it takes no gaps and truncates after every batch; so slow that a part must do."""
    import pyarrow.parquet as pq
    from sklearn.decomposition import IncrementalPCA

    model, file = IncrementalPCA(5), pq.ParquetFile(path, pre_buffer=False)
    for batch in file.iter_batches(batch_size=2**14):
        model.partial_fit(np.column_stack([column.to_numpy() for column in batch.columns]))
        if model.n_samples_seen_ >= 200_000:
            break
    return float(model.n_samples_seen_) / file.metadata.num_rows


def dask_ml(path: str) -> int:
    """dask-ml's PCA, where it is installed."""
    import dask.dataframe as dd
    from dask_ml.decomposition import PCA

    PCA(5, svd_solver="randomized").fit(dd.read_parquet(path).to_dask_array(lengths=True))
    return 1


JOBS = {
    "reading": reading,
    "lowdim PCA(5)": ours_pca,
    "lowdim PPCA(5)": ours_ppca,
    "IncrementalPCA(5)": incremental,
    "dask-ml PCA(5)": dask_ml,
}


def child(job: str, path: str) -> None:
    """One job: seconds of wall and of all cores, passes, peak memory."""
    begin, used = time.perf_counter(), time.process_time()
    passes = JOBS[job](path)
    done = {"wall": time.perf_counter() - begin, "cpu": time.process_time() - used, "passes": passes}
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps({**done, "peak": int(peak.split()[1]) / 1e3}))


def measure(job: str, path: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, job, path],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1" if job.startswith("lowdim") else "2"},
    )
    return json.loads(done.stdout.splitlines()[-1])


def cells(folder: str) -> str:
    """The table of `make_cells.py`: a pass of ours, and of the peers, in units of a reading right before it."""
    rows = [
        "| table | job | passes | s a pass | CPU s a pass | x reading | x reading, CPU | peak MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    jobs = [
        ("cells.parquet", "lowdim PCA(5)"),
        ("cells.parquet", "IncrementalPCA(5)"),
        ("cells_gaps.parquet", "lowdim PPCA(5)"),
    ]
    if importlib.util.find_spec("dask_ml") is not None:
        jobs.append(("cells.parquet", "dask-ml PCA(5)"))
    for name, job in jobs:
        path = f"{folder}/{name}"
        before, found, after = measure("reading", path), measure(job, path), measure("reading", path)
        wall, cpu = ((before[part] + after[part]) / 2 for part in ("wall", "cpu"))
        a, b = found["wall"] / found["passes"], found["cpu"] / found["passes"]
        rows.append(f"| {name} | reading | 1 | {wall:.1f} | {cpu:.1f} | 1 | 1 | {before['peak']:.0f} |")
        rows.append(
            f"| {name} | {job} | {found['passes']:.3g} | {a:.1f} | {b:.1f} | **{a / wall:.2f}** | "
            f"{b / cpu:.2f} | **{found['peak']:.0f}** |"
        )
        print("\n".join(rows[-2:]), f"load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    sizes = {name: Path(folder, name).stat().st_size / 1e9 for name, _ in jobs}
    return (
        f"### Parquet larger than memory: {', '.join(f'{k} {v:.1f} GB' for k, v in sizes.items())}\n\n"
        + "\n".join(rows)
        + f"\n\nLoad of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        child(*sys.argv[1:])
    else:
        print(cells(sys.argv[1] if len(sys.argv) > 1 else "/tmp/lowdim_cells"))
