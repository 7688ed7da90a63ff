"""What a pass costs on a Dask cluster as rows grow, what its workers hold, and whether a killed one changes a bit.

python benchmarks/scale.py [names]      # measures these models, or all; then writes docs/scale.md

What was measured is kept in build/scale.json, so models can be measured in several runs; the page has what is there,
and "notes" in that file is what has to be said of how it came about.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from clock import machine, table

import lowdim
from lowdim.sources.dask.executor import GATHERED, DaskExecutor, _no_rows
from lowdim.sources.dask.source import DaskSource
from lowdim.sources.source import Source

ROOT = Path(__file__).resolve().parents[1]
SIZES = (100_000, 1_000_000, 10_000_000)
WORKERS = 4
KEPT = ROOT / "build" / "scale.json"
OTHERS = ("overhead", "collections")  # what is measured beside the models
PATIENCE = 200.0  # CPU seconds a fit is forecast to take beyond which a size is left out
SERIAL = 60.0  # seconds beyond which the same fit is not repeated on one thread
WARM_ROWS = 4 * 8192
PASSES = 3  # that a model may make: what one costs does not change from one to the next
D, Q, GROUPS = 20, 3, 4
LEVELS = ("real",) * 5 + ("yes/no",) * 5 + ("ordinal",) * 5 + ("count",) * 5


class SeededRows(Source):
    """Rows that any process makes from a seed and their number, as a file that every worker can open.

    A row takes so many numbers of a counter-based generator, so any row is reached without those before it.
    """

    local = False
    owns_arrays = True

    def __init__(self, n: int, gaps: float = 0.0, kinds: bool = False) -> None:
        super().__init__((n, D), None)
        self.gaps, self.kinds = gaps, kinds
        rng = np.random.default_rng(0)
        self.W, self.centres = rng.normal(size=(Q, D)), 2.0 * rng.normal(size=(GROUPS, D))

    def read(self, rows: slice | np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        if not isinstance(rows, slice):
            return np.concatenate([self._made(int(i), int(i) + 1) for i in rows]), None
        return self._made(rows.start, rows.stop), None

    def _made(self, begin: int, end: int) -> np.ndarray:
        width = -(-(1 + Q + 2 * D) // 4) * 4  # the generator gives four numbers a step
        U = np.random.Generator(np.random.Philox(key=7).advance(begin * (width // 4))).random((end - begin, width))
        X = (U[:, 1 : 1 + Q] - 0.5) @ self.W + (U[:, 1 + Q : 1 + Q + D] - 0.5)
        X += self.centres[(U[:, 0] * GROUPS).astype(int)]
        if self.kinds:
            X[:, 5:10] = X[:, 5:10] > 0.0
            X[:, 10:15] = np.clip(np.round(X[:, 10:15]), -2.0, 2.0) + 2.0
            X[:, 15:] = np.floor(np.exp(np.clip(0.5 * X[:, 15:], -3.0, 3.0)))
        return np.where(U[:, 1 + Q + D : 1 + Q + 2 * D] < self.gaps, np.nan, X) if self.gaps else X


class Case(NamedTuple):
    """A model and its table."""

    make: Callable[[], Any]
    gaps: float = 0.0
    kinds: bool = False
    folded: str = ""  # what is folded in the pass that is measured; empty = what is folded most often


def cases() -> dict[str, Case]:
    from lowdim import GTM, BayesianPCA, GaussianMixture, KernelPCA, KMeans, MixedFactorAnalysis, MixtureOfPPCA

    few = {"tol": 1e-14, "max_iter": PASSES}
    return {
        "K-means, 8 clusters": Case(lambda: KMeans(8, n_init=1, tol=0.0, max_iter=PASSES)),
        "kernel PCA, 200 Fourier features": Case(
            lambda: KernelPCA(2, approximation="fourier", n_landmarks=200), folded="moments"
        ),
        "Bayesian PCA, 5 axes, 10 % gaps": Case(lambda: BayesianPCA(5, **few), gaps=0.1),
        "mixture of 4 PPCA of 3 axes": Case(lambda: MixtureOfPPCA(4, 3, n_init=1, calibrate=False, **few)),
        "mixture of 4 Gaussians": Case(lambda: GaussianMixture(4, n_init=1, calibrate=False, **few)),
        "GTM, 400 nodes": Case(lambda: GTM(calibrate=False, **few)),
        "mixed columns, 2 axes": Case(lambda: MixedFactorAnalysis(2, likelihoods=list(LEVELS), **few), kinds=True),
    }


class Pass(NamedTuple):
    """One walk over the rows: what was folded, CPU seconds of the workers and of this process, what travelled."""

    name: str
    workers: float
    here: float
    seconds: float
    tasks: int
    sent: int
    back: int


class Counting(DaskExecutor):
    """Notes what each walk costs; kills a worker after so many answers where it is asked to."""

    def __init__(self, client: Any, kill_after: int = 0) -> None:
        super().__init__(client)
        self.passes: list[Pass] = []
        self.answers, self.kill_after, self.killed = 0, kill_after, 0

    def map(self, f: Any, source: Source, first: int = 0) -> Iterator[Any]:
        before, here, begun = self._cpu(), time.process_time(), time.perf_counter()
        back = tasks = 0
        for value in super().map(f, source, first):
            tasks += 1
            back = max(back, len(pickle.dumps(value, 5)))
            self.answers += 1
            if self.answers == self.kill_after:
                self.killed = min(self.client.run(os.getpid).values())
                os.kill(self.killed, signal.SIGKILL)
            yield value
        own, seconds = time.process_time() - here, time.perf_counter() - begun
        after = self._cpu()
        spent = sum(after[w] - before.get(w, 0.0) for w in after)
        self.passes.append(Pass(_name(f), spent, own, seconds, tasks, len(_sealed(f, source)), back))

    def _cpu(self) -> dict[str, float]:
        return {} if self.kill_after else self.client.run(time.process_time)


def _sealed(f: Any, source: Source) -> bytes:
    from distributed.protocol.pickle import dumps

    shipped = source.rebased(_no_rows(source.leaf)) if isinstance(source.leaf, DaskSource) else source
    return dumps((f, shipped))


def _name(f: Any) -> str:
    """The function of a partial of partials that sees the rows."""
    inner = f
    while (args := getattr(inner, "args", None)) and callable(args[0]):
        inner = args[0]
    inner = getattr(inner, "func", inner)
    return getattr(inner, "__qualname__", type(inner).__name__)


def digest(model: Any) -> str:
    """A short name of the bits of all arrays and numbers a fit found."""
    found = hashlib.blake2b(digest_size=6)
    for name, value in sorted(vars(model).items()):
        if name.endswith("_") and isinstance(value, np.ndarray | float | int | np.generic):
            found.update(name.encode() + np.asarray(value).tobytes())
    return found.hexdigest()


# on a worker -----------------------------------------------------------------------------------------
def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """The most memory this process held since then, in MB."""
    line = next(s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


# the runs ---------------------------------------------------------------------------------------------
class Measured(NamedTuple):
    """One fit on the cluster."""

    n: int
    walk: Pass  # the middle one of those that are repeated
    walks: int  # in all
    megabytes: float  # the worker that held most
    seconds: float  # of CPU, of the whole fit
    same: str  # as on one thread


def fitted(case: Case, n: int, engine: Any, collection: bool = False) -> Any:
    from lowdim import Run

    rows = SeededRows(n, case.gaps, case.kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that three passes are few is known
        return case.make().fit(as_collection(rows) if collection else rows, run=Run(engine=engine))


def as_collection(rows: SeededRows) -> Any:
    """The same rows as a Dask array, a chunk of four tiles."""
    import dask.array as da

    step = 4 * rows.tile
    sizes = tuple(min(step, rows.n - k) for k in range(0, rows.n, step))

    def chunk(block_id: tuple[int, int] | None = None) -> np.ndarray:
        assert block_id is not None
        return rows.read(slice(block_id[0] * step, min((block_id[0] + 1) * step, rows.n)))[0]

    return da.map_blocks(chunk, chunks=(sizes, (D,)), dtype=float, meta=np.empty((0, 0)))


def measure(client: Any, case: Case, n: int, collection: bool = False) -> Measured:
    client.run(forget_peak)
    engine = Counting(client)
    model = fitted(case, n, engine, collection)
    most = max(client.run(peak).values())
    name = case.folded or Counter(p.name for p in engine.passes).most_common(1)[0][0]
    walk = sorted((p for p in engine.passes if p.name == name), key=lambda p: p.workers)
    same, spent = "not tried", sum(p.workers for p in engine.passes)
    if spent < SERIAL:
        alone = fitted(case, n, "serial", collection)
        same = "yes" if digest(alone) == digest(model) else "NO"
    return Measured(n, walk[len(walk) // 2], len(engine.passes), most, spent, same)


def killed(client: Any, case: Case, n: int = SIZES[0]) -> str:
    """The same fit with a worker killed in the middle."""
    engine = Counting(client)
    want = digest(fitted(case, n, engine))
    dying = Counting(client, kill_after=engine.answers // 2)
    got = digest(fitted(case, n, dying))
    client.wait_for_workers(WORKERS, timeout=120)
    return "yes" if dying.killed and got == want else "NO"


def idle(blocks: Any) -> int:
    """A task that does nothing."""
    return 0


class Overhead(NamedTuple):
    """What a task costs beside its work."""

    seconds: float
    here: float
    workers: float


def overhead(client: Any) -> Overhead:
    """Of a walk of many tasks that do nothing."""
    engine = Counting(client)
    source = SeededRows(8 * 4096 * WORKERS).changed(tile=8)
    engine.span = lambda source: 8  # type: ignore[method-assign]
    list(engine.map(idle, source))
    p = engine.passes[-1]
    return Overhead(p.seconds / p.tasks, p.here / p.tasks, p.workers / p.tasks)


def imported() -> float:
    """A worker's memory once it has the models."""
    for name in ("KMeans", "KernelPCA", "BayesianPCA", "MixtureOfPPCA", "GTM", "MixedFactorAnalysis"):
        getattr(lowdim, name)
    forget_peak()
    return peak()


def baseline(client: Any) -> float:
    return max(client.run(imported).values())


def cluster() -> Any:
    from distributed import LocalCluster

    return LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0")


def grown(client: Any, case: Case) -> list[Measured]:
    """One fit a size, as long as the next is not forecast to take too long."""
    found: list[Measured] = []
    fitted(case, WARM_ROWS, Counting(client))  # workers import what they need
    for n in SIZES:
        if found and found[-1].seconds * n / found[-1].n > PATIENCE:
            break
        found.append(measure(client, case, n))
        m = found[-1]
        print(f"{n:>10,} {m.walk.name} {m.walk.workers:.2f} CPU s, {m.megabytes:.0f} MB, {m.same}", flush=True)
    return found


# the page ---------------------------------------------------------------------------------------------
HEAD = f"""# Scale: what a pass costs as rows grow

Every fit is a number of passes over the rows. A pass sends the parameters out, folds the rows where they are and
brings statistics of a fixed size back. So its cost is a line in the rows, its memory does not grow with them, and what
it would cost on more machines can be worked out.

Measured on a `LocalCluster` of {WORKERS} processes with one thread each, on a machine of {os.cpu_count()} cores that
others used meanwhile: so CPU seconds are given, of all workers together, and not the clock's. The table has {D} columns
(for mixed columns five each of numbers, yes/no, ordered answers and counts). Its rows are made by each worker from a
seed and their number, so none are shipped; making them is part of a pass. Each fit makes a few passes; the middle
one is given. A size whose fit was forecast to take more than a few minutes of CPU is left out.

*Line*: seconds of a pass = fixed + slope times rows, by least squares of the relative misses, and the largest miss.
*Same bits*: as the fit on one thread, where that takes less than {SERIAL:.0f} CPU seconds. *Killed*: {SIZES[0]:,} rows,
one worker ended by SIGKILL in the middle of the fit; the numbers are the same to the bit.
"""


def rows_of(name: str, found: list[Measured], survived: str) -> list[tuple[Any, ...]]:
    lines = []
    for k, m in enumerate(found):
        per_row = f"{m.walk.workers / m.n * 1e6:.2f}"
        last = k == len(found) - 1
        grows = line(found) if last and k else ""
        lines.append((
            name if k == 0 else "", f"{m.n:,}", f"{m.walk.workers:.2f}", per_row, grows, f"{m.megabytes:.0f}",
            m.same, survived if k == 0 else "",
        ))  # fmt: skip
    return lines


def line(found: list[Measured]) -> str:
    """Seconds = a + b rows, in words."""
    n, y = np.array([m.n for m in found], dtype=float), np.array([m.walk.workers for m in found])
    A = np.column_stack([1.0 / y, n / y])
    (a, b), *_ = np.linalg.lstsq(A, np.ones(len(y)), rcond=None)
    miss = np.abs(A @ [a, b] - 1.0).max()
    return f"{a:.2f} s + {1e6 * b:.2f} us a row, within {miss:.0%}"


def on_paper(results: dict[str, list[Measured]], cost: Overhead, n: int = 10**9, machines: int = 100) -> str:
    """A pass over so many rows on so many machines, from the measured parts."""
    rows = []
    for name, found in results.items():
        m = found[-1]
        tile = SeededRows(1).tile
        blocks = -(-n // tile)
        span = 1 << (max(min(blocks // (4 * machines), GATHERED // (tile * D)), 1).bit_length() - 1)
        tasks = -(-blocks // span)
        work = n * m.walk.workers / m.n / machines
        central = tasks * cost.here
        traffic = (machines * m.walk.sent + tasks * m.walk.back) / 1e6
        line_seconds = traffic / 125.0
        rows.append((
            name, f"{work:.0f}", tasks, f"{central:.1f}", f"{m.walk.sent / 1e3:.0f}", f"{m.walk.back / 1e3:.0f}",
            f"{traffic:.0f}", f"{line_seconds:.1f}", f"{max(work, central, line_seconds):.0f}",
        ))  # fmt: skip
    head = ("model", "work s", "tasks", "scheduler s", "kB out", "kB back a task", "MB in all", "network s", "a pass s")
    return table(head, rows)


def page(
    results: dict[str, list[Measured]], survived: dict[str, str], more: list[tuple[Any, ...]], o: Overhead, bare: float
) -> str:
    lines = [row for name, found in results.items() for row in rows_of(name, found, survived[name])]
    head = ("model", "rows", "CPU s a pass", "us a row", "line", "MB a worker", "same bits", "killed: same bits")
    memory = MEMORY.format(cells=GATHERED // 2**20, megabytes=8 * GATHERED // 2**20, idle=bare)
    kinds = table(("table", "rows", "CPU s a pass", "MB a worker", "same bits"), more)
    paper = PAPER.format(seconds=1e3 * o.seconds, here=1e3 * o.here, workers=1e3 * o.workers)
    where = machine("python benchmarks/scale.py", ("dask", "distributed"))
    return "\n".join(
        [HEAD, table(head, lines), "", memory, kinds, "", paper, on_paper(results, o), "", TAIL, where, ""]
    )


MEMORY = """## Memory

*MB a worker* is the most that any worker held at any time of the fit. A worker that reads its rows itself (a file, as
here) holds a tile at a time; what it frees, up to 128 MB, it keeps for the next one. Of a Dask collection it gathers
the chunks of a task, at most {cells} million cells ({megabytes} MB) beside their copies, so what it holds grows until
tasks have that size and then no more. A worker that has imported the models and done nothing has {idle:.0f} MB.
"""
PAPER = """## A billion rows on a hundred machines, on paper

A walk of idle tasks costs {seconds:.1f} ms of the clock a task: {here:.1f} ms of CPU in the process that holds client
and scheduler, and {workers:.1f} ms in the workers. A task has at most 2^24 cells, and a worker has four to eight of
them where it can. With one thread a machine like the workers here, rows that are made or read where they are used,
and the measured CPU seconds of a row at the largest size:
"""
TAIL = """
*work s*: rows times CPU seconds a row, over 100. *scheduler s*: tasks times what one costs client and scheduler; it
runs beside the work and so does the network: a pass takes about the largest of the three, and in addition its last
tasks, for which some machines wait: with 19 tasks a machine, about a twentieth of the work. *kB out*: the function and
the parameters, sent once to each machine; *back*: the statistics of one task, whatever its rows. *network s*: all of
it over one line of 1 Gbit/s to the scheduler.

What the paper leaves out: reading 160 GB of cells from disks (1.6 GB a machine, about 10 s a pass at 160 MB/s where
they are not kept in memory), machines of unequal speed, and the positions of a billion rows, which only row verbs write
and which go to files.
"""


def collections(client: Any) -> list[tuple[str, ...]]:
    """K-means of a Dask array of the same rows."""
    lines = []
    for n in SIZES:
        m = measure(client, cases()["K-means, 8 clusters"], n, collection=True)
        lines.append(("K-means, a Dask array", f"{n:,}", f"{m.walk.workers:.1f}", f"{m.megabytes:.0f}", m.same))
        print(lines[-1], flush=True)
    return lines


def measured(kept: dict[str, Any], names: list[str]) -> Iterator[None]:
    """Measure one thing after the other, each by workers that are new."""
    from distributed import Client

    asked = [name for name in (*cases(), *OTHERS) if not names or any(name.startswith(word) for word in names)]
    for name in asked:
        print(name, flush=True)
        with cluster() as made, Client(made) as client:
            if name == "overhead":
                kept[name] = [*overhead(client), baseline(client)]
            elif name == "collections":
                kept[name] = collections(client)
            else:
                kept[name] = [grown(client, cases()[name]), killed(client, cases()[name])]
        yield


def main(names: list[str]) -> None:
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for _ in measured(kept, names):
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(kept))
    results = {name: [as_measured(m) for m in kept[name][0]] for name in cases() if name in kept}
    survived = {name: kept[name][1] for name in results}
    *cost, bare = kept["overhead"]
    text = page(results, survived, kept.get("collections", []), Overhead(*cost), bare)
    (ROOT / "docs" / "scale.md").write_text(text + kept.get("notes", ""))


def as_measured(kept: list[Any]) -> Measured:
    n, walk, *rest = kept
    return Measured(n, Pass(*walk), *rest)


if __name__ == "__main__":
    main(sys.argv[1:])
