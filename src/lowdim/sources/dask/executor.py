"""A Dask cluster as the engine that walks any table.

Parameters go out once a pass, statistics come back, and the tree is the one of every other engine, so a
cluster gives the bits a single thread gives. A task that dies with its worker is sent again by Dask's
scheduler, which keeps what every task was made of; nothing of a fit lives on a worker only.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pkgutil import resolve_name
from types import TracebackType
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from lowdim.maths.linalg import Array, Mask
from lowdim.sources.dask.source import (
    DaskSource,
    Late,
    chunk_cells,
    client_in_force,
    cut_out,
    gather_results,
    stacked,
    submit_graph,
)
from lowdim.sources.source import Block, Rows, Source
from lowdim.text.messages import error

T = TypeVar("T")
SHIPPED, GATHERED = 2**22, 2**24  # cells of one task: sent with it (32 MB), or brought together on a worker (128 MB)

VERSION_NAME = "lowdim:__version__"
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h


class Job:
    """What goes out once a pass: the function and the way to the rows, and how the sender minds arithmetic.

    They travel as bytes that only a task opens: a message that a worker cannot read would end the worker.
    """

    def __init__(self, sealed: bytes, home: int, minds: dict[str, Any]) -> None:
        self.sealed, self.home, self.minds = sealed, home, minds
        self.opened: tuple[Callable[[Iterable[Block]], Any], Source] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Job, (self.sealed, self.home, self.minds)

    def open(self) -> tuple[Callable[[Iterable[Block]], Any], Source]:
        if self.opened is None:
            from distributed.protocol.pickle import loads

            self.opened = loads(self.sealed)  # what this program sealed, as all that Dask sends
        return self.opened


class TaskResult(NamedTuple):
    """What a task says: its value or what went wrong, and the warnings it gave."""

    value: Any
    problem: Exception | None
    warnings: tuple[tuple[type[Warning], str], ...]


class DaskExecutor:
    """Maps over the blocks of a source on a Dask cluster, by the Client given or the one in force.

    A Dask collection is worked on where its chunks are, a file is opened by each worker, and of a table in
    memory each task is sent its rows, in every pass: put a large one on the cluster first.
    """

    def __init__(self, client: Any = None) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise error("LD004", name="engine='dask'", package="distributed", extra="dask") from None
        connected = client if client is not None else client_in_force()
        if connected is None or connected.asynchronous:
            case = "no Client" if connected is None else "asynchronous"
            words = {"no Client": "no Client is in force", "asynchronous": "this Client is asynchronous"}
            raise error("LD310", problem=words[case], case=case)
        self.client = connected
        self.threads = max(1, sum(_equipped(connected).values()))  # once: a span must not change between two calls

    def span(self, source: Source) -> int:
        """2^k blocks a task: 4 to 8 tasks a thread, and no task with more rows than its worker can hold."""
        block = source.tile * source.block_tiles * max(1, int(source.leaf.per_row))
        most = min(source.n_blocks // (4 * self.threads), (SHIPPED if source.leaf.local else GATHERED) // block)
        return 1 << (max(most, 1).bit_length() - 1)

    def map(self, f: Callable[[Iterable[Block]], T], source: Source, first: int = 0) -> Iterator[T]:
        from distributed.protocol.pickle import dumps

        step, leaf = self.span(source), source.leaf
        sown = source.rebased(_no_rows(leaf)) if leaf.local or isinstance(leaf, DaskSource) else source
        job = self._submit({}, [(Late(Job, (dumps((f, sown)), os.getpid(), np.geterr())),)])[0]
        waiting: deque[Any] = deque()
        issued: set[tuple[type[Warning], str]] = set()
        begins = range(first, source.n_blocks, step)
        many = 1 if leaf.local else self.threads  # tasks in one message, which must not hold many rows
        for k in range(0, len(begins), many):
            graph: dict[Any, Any] = {}
            tasks = [self._task(job, source, i, min(i + step, source.n_blocks), graph) for i in begins[k : k + many]]
            waiting.extend(self._submit(graph, tasks))
            while len(waiting) > 2 * self.threads:
                yield from self._answers(waiting, issued)
        while waiting:
            yield from self._answers(waiting, issued)

    def _task(self, job: Any, source: Source, begin: int, end: int, graph: dict[Any, Any]) -> tuple[Any, ...]:
        """The task of blocks begin to end, with its rows or the way to them; `graph` gets what it rests on."""
        leaf, step = source.leaf, source.tile * source.block_tiles
        rows = slice(begin * step, min(end * step, source.n))
        if isinstance(leaf, DaskSource):
            cuts = leaf.cuts(rows.start, rows.stop)
            chunks = leaf.chunks([cut.chunk for cut in cuts], graph)
            for place, c in enumerate(cuts):
                if c.end - c.begin < leaf.size(c.chunk):  # only these rows of a chunk go to another worker
                    graph[part := f"lowdim-rows-{uuid4()}"] = (Late(cut_out, (c.begin, c.end)), chunks[place])
                    chunks[place] = part
            extra = ((begin, end), rows.start, leaf.weights(rows), cuts)
            return (Late(on_chunks, extra), job, *chunks)
        if leaf.local:
            values, seen = (leaf.stored(rows), None) if leaf.is_sparse else leaf.read(rows)
            return (Late(on_rows, ((begin, end), rows.start, leaf.weights(rows), values, seen)), job)
        return (Late(on_source, ((begin, end),)), job)

    def _submit(self, graph: dict[Any, Any], tasks: list[Any]) -> list[Any]:
        keys = [f"lowdim-{uuid4()}" for _ in tasks]
        return submit_graph(self.client, {**graph, **dict(zip(keys, tasks, strict=True))}, keys)

    def _answers(self, waiting: deque[Any], issued: set[tuple[type[Warning], str]]) -> Iterator[Any]:
        """The first task's value, when it comes, and those after it that are there already."""
        come = [waiting.popleft()]
        while waiting and waiting[0].done():
            come.append(waiting.popleft())
        for value, problem, caught in gather_results(self.client, come):
            for kind, text in caught:
                if (kind, text) not in issued:
                    issued.add((kind, text))
                    warnings.warn_explicit(kind(text), kind, *_caller())
            if problem is not None:
                raise problem
            yield value


def _equipped(client: Any) -> dict[str, int]:
    """Threads of each worker; an error where one lacks this lowdim, without which it could not read a task."""
    try:
        threads: dict[str, int] = client.nthreads()
        new = [worker for worker in threads if worker not in _MET.get(client, set())]
        versions = client.run(resolve_name, VERSION_NAME, workers=new, on_error="return") if new else {}
    except (OSError, TimeoutError) as problem:
        raise error("LD311", problem=str(problem) or "its scheduler does not answer") from None
    for worker, version in versions.items():
        if isinstance(version, ImportError) or (isinstance(version, str) and version != resolve_name(VERSION_NAME)):
            have = f"has lowdim {version}" if isinstance(version, str) else f"has no lowdim ({version})"
            raise error("LD310", problem=f"the worker at {worker} {have}", case="worker without")
    _MET.setdefault(client, set()).update(new)
    return threads


_MET: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # workers that were asked, once each


def _caller() -> tuple[str, int]:
    """File and line of the first caller that is not lowdim's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("lowdim.", "sklearn.")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


# on a worker ---------------------------------------------------------------------------------------
def on_chunks(job: Job, *arguments: Any) -> TaskResult:
    """A task on chunks of a Dask collection: (rows of chunks..., blocks, first row, weights, cuts)."""
    *parts, blocks, first, share, cuts = arguments

    def make(f: Callable[[Iterable[Block]], Any], source: Source) -> Any:
        d, columns = source.leaf.d, source.leaf.columns
        cells = [chunk_cells(part, c.end - c.begin, d, columns, c.row) for part, c in zip(parts, cuts, strict=True)]
        return f(_blocks(_rebased(source, first, share, *stacked(cells, d)), blocks))

    return _run_task(job, make)


def on_rows(
    job: Job, blocks: tuple[int, int], first: int, share: Array | None, values: Array, seen: Mask | None
) -> TaskResult:
    """A task that came with its rows."""
    return _run_task(job, lambda f, source: f(_blocks(_rebased(source, first, share, values, seen), blocks)))


def on_source(job: Job, blocks: tuple[int, int]) -> TaskResult:
    """A task on a table that this worker reads itself."""
    return _run_task(job, lambda f, source: f(_blocks(source, blocks)))


def _blocks(source: Source, blocks: tuple[int, int]) -> Iterator[Block]:
    return (source.block(i) for i in range(*blocks))


class TaskRows(Source):
    """Rows `first`, `first + 1`, ... of a larger table, all that an executor sends of it with one task."""

    def __init__(self, of: Source, first: int, values: Any, seen: Mask | None, share: Array | None) -> None:
        super().__init__((of.n, of.d), of.columns, None, of.tile, of.block_tiles)
        self.named, self.first, self.values, self.seen, self.share = of.named, first, values, seen, share

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        here = self._here(rows)
        values = np.ascontiguousarray(self.values[here], dtype=np.float64)
        return values, None if self.seen is None else np.ascontiguousarray(self.seen[here])

    def weights(self, rows: Rows) -> Array | None:
        return None if self.share is None else self.share[self._here(rows)]

    def _here(self, rows: Rows) -> Rows:
        return slice(rows.start - self.first, rows.stop - self.first) if isinstance(rows, slice) else rows - self.first


class StoredTaskRows(TaskRows):
    """A few rows of a sparse table."""

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        return self.stored(rows).toarray(), None

    def stored(self, rows: Rows) -> Any:
        return self.values[self._here(rows)]


def _no_rows(of: Source) -> TaskRows:
    return TaskRows(of, 0, np.zeros((0, of.d)), None, None)


def _rebased(source: Source, first: int, share: Array | None, values: Any, seen: Mask | None) -> Source:
    kind = StoredTaskRows if sp.issparse(values) else TaskRows
    return source.rebased(kind(source.leaf, first, values, seen, share))


def _run_task(job: Job, make: Callable[..., Any]) -> TaskResult:
    if job.home == os.getpid():  # a cluster inside the sender: its one BLAS thread and its warnings are ours
        with np.errstate(**job.minds):
            return _attempt(job, make, [])
    with _CATCHER as caught, np.errstate(**job.minds):
        return _attempt(job, make, caught)


def _attempt(job: Job, make: Callable[..., Any], caught: list[tuple[type[Warning], str]]) -> TaskResult:
    try:
        f, source = job.open()
        if job.home != os.getpid():
            prepare_worker()
        return TaskResult(make(f, source), None, tuple(caught))
    except Exception as problem:  # it must come back as what it is, and no retry would change it
        return TaskResult(None, problem, tuple(caught))


@cache
def prepare_worker() -> None:
    """What a worker process needs, once and for good.

    One BLAS thread, as Dask's own workers have: more would change the last bits. And memory that is used again:
    Dask sets its workers to give every array back to the system as soon as it is freed, so that each passing array of
    a tile is fetched and zeroed anew: a fit took 29.9 s instead of 5.3 s.
    """
    ThreadpoolController().limit(limits=1)
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's; other libraries have none
        for option, size in ((M_MMAP_THRESHOLD, 2**25), (M_TRIM_THRESHOLD, 2**27)):
            if mallopt is not None:
                mallopt(option, size)


class _WarningCatcher:
    """Hears the warnings of each thread of a worker; catch_warnings alone would mix the threads up."""

    def __init__(self) -> None:
        self.lock, self.caught = threading.Lock(), dict[int, list[tuple[type[Warning], str]]]()
        self.catcher: Any = None

    def __enter__(self) -> list[tuple[type[Warning], str]]:
        with self.lock:
            if not self.caught:
                self.catcher = warnings.catch_warnings()
                self.catcher.__enter__()
                warnings.simplefilter("always")
                warnings.showwarning = self._hear
            return self.caught.setdefault(threading.get_ident(), [])

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.lock:
            self.caught.pop(threading.get_ident(), None)
            if not self.caught:
                self.catcher.__exit__(None, None, None)

    def _hear(self, message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        self.caught.get(threading.get_ident(), []).append((category, getattr(message, "message", str(message))))


_CATCHER = _WarningCatcher()
