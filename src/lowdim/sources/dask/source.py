"""Dask arrays and dataframes as tables: chunks of any lengths, cut into tiles by global row index."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Index, Mask
from lowdim.sources.arrays import check_kind, from_pandas, table_of_objects
from lowdim.sources.source import Block, Rows, Source
from lowdim.text.messages import error, warn

CHUNKS_SAMPLED = 16  # chunks a sample looks into: the rest of the collection is not computed for it
CHUNKS_KEPT = 8  # chunks kept between reads: neighbouring tiles lie in the same ones
PATIENCE_SECONDS = 45.0  # seconds without a single worker after which nothing is waited for
LOOK_SECONDS = 5.0  # seconds between two looks at a cluster that is slow to answer


class Cut(NamedTuple):
    """Rows `begin` to `end` of one chunk, the first of which is row `row` of the table."""

    chunk: int
    begin: int
    end: int
    row: int


class DaskSource(Source):
    """A Dask array or dataframe; chunks of any lengths, cut into tiles by global row index."""

    local = False

    def __init__(
        self,
        collection: Any,
        shape: tuple[int, int],
        graph: dict[Any, Any],
        keys: list[Hashable],
        ends: list[int],
        columns: tuple[str, ...] | None,
        **where: Any,
    ) -> None:
        super().__init__(shape, columns, **where)
        self.collection, self.graph, self.keys, self.ends = collection, graph, keys, ends
        self.held, self.lock = OrderedDict[int, Future[tuple[Array, Mask | None]]](), threading.Lock()

    def cuts(self, begin: int, end: int) -> list[Cut]:
        """The rows of the chunks that make up rows begin to end of the table."""
        cuts, i = [], bisect_right(self.ends, begin)
        while begin < end:
            start = self.ends[i - 1] if i else 0
            stop = min(self.ends[i], end)
            if stop > begin:
                cuts.append(Cut(i, begin - start, stop - start, begin))
            begin, i = max(begin, stop), i + 1
        return cuts

    def size(self, chunk: int) -> int:
        return self.ends[chunk] - (self.ends[chunk - 1] if chunk else 0)

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        if not isinstance(rows, slice):
            return self._taken(rows)
        cuts = self.cuts(rows.start, rows.stop)
        chunks = self._chunks([cut.chunk for cut in cuts])
        return stacked(
            [
                (x[c.begin : c.end], None if m is None else m[c.begin : c.end])
                for c, (x, m) in zip(cuts, chunks, strict=True)
            ],
            self.d,
        )

    def _taken(self, rows: Index) -> tuple[Array, Mask | None]:
        """Single rows, picked where the chunks are: no whole chunk comes here."""
        chunk = np.searchsorted(self.ends, rows, side="right")
        picks = [(int(i), rows[chunk == i] - (self.ends[i - 1] if i else 0)) for i in np.unique(chunk)]
        chunks = self.pick(
            picked_rows,
            [(i, (within, self.size(i), self.d, self.columns, self.ends[i] - self.size(i))) for i, within in picks],
        )
        values, mask = stacked(chunks, self.d)
        back = np.argsort(np.argsort(chunk, kind="stable"), kind="stable")
        return values[back], None if mask is None else mask[back]

    def _chunks(self, wanted: list[int]) -> list[tuple[Array, Mask | None]]:
        """Whole chunks: those that are held, and those that are not yet; each is computed by one thread only."""
        with self.lock:
            mine = [i for i in wanted if i not in self.held]
            self.held.update((i, Future()) for i in mine)
            futures = [self.held[i] for i in wanted]
            for i in wanted:
                self.held.move_to_end(i)
            while len(self.held) > max(CHUNKS_KEPT, len(wanted)):
                self.held.popitem(last=False)
        waiting = {i: future for i, future in zip(wanted, futures, strict=True) if i in mine}
        try:
            computed = self.pick(
                chunk_cells, [(i, (self.size(i), self.d, self.columns, self.ends[i] - self.size(i))) for i in mine]
            )
            for i, values in zip(mine, computed, strict=True):
                waiting[i].set_result(values)
        except BaseException as problem:
            with self.lock:
                for i, future in waiting.items():
                    self.held.pop(i, None)
                    future.set_exception(problem)
            raise
        return [future.result() for future in futures]

    def pick(self, f: Callable[..., Any], picks: list[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        """f(chunk, *arguments) for each: on the cluster where there is one, otherwise here, in this thread."""
        graph: dict[Any, Any] = {}
        chunks = self.chunks([i for i, _ in picks], graph)
        names = [f"lowdim-pick-{uuid4()}" for _ in picks]
        for name, chunk, (_, extra) in zip(names, chunks, picks, strict=True):
            graph[name] = (Late(f, extra), chunk)
        client = client_in_force()
        if client is None:
            from dask.local import get_sync

            return list(get_sync(graph, names))
        return gather_results(client, submit_graph(client, graph, names))

    def chunks(self, wanted: list[int], graph: dict[Any, Any]) -> list[Any]:
        """What stands for these chunks in a graph, which gets what they rest on; a persisted one is a future."""
        ready = {}
        if "distributed" in sys.modules:
            from distributed import futures_of

            ready = {future.key: future for future in futures_of(self.collection)}
        graph.update(needed(self.graph, [self.keys[i] for i in wanted if self.keys[i] not in ready]))
        return [ready.get(self.keys[i], self.keys[i]) for i in wanted]

    def sample(self, k: int, rng: np.random.Generator | None = None) -> Block:
        """About k rows: the first of up to 16 chunks; those drawn by `rng` are the same as of any other source."""
        if rng is not None:
            return super().sample(k, rng)
        full = [i for i in range(len(self.keys)) if self.size(i)]
        chunks = [
            full[(j * len(full)) // min(len(full), CHUNKS_SAMPLED)] for j in range(min(len(full), CHUNKS_SAMPLED))
        ]
        each, rows = -(-k // max(len(chunks), 1)), [np.zeros(0, dtype=np.intp)]
        for i in chunks:
            rows.append(np.arange(min(each, self.size(i))) + self.ends[i] - self.size(i))
        return self.block_of(np.concatenate(rows), 0)

    def executor(self) -> Any:
        from lowdim.sources.dask.executor import DaskExecutor  # which is made of this module

        client = client_in_force()
        return None if client is None else DaskExecutor(client)

    def fingerprint(self) -> str:
        from dask.base import tokenize

        words = f"{tokenize(self.collection)} {self.n} {self.d} {self.columns}"
        return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()

    def changed(self, **attributes: Any) -> Source:
        return super().changed(**attributes, held=OrderedDict(), lock=threading.Lock())


# opening -------------------------------------------------------------------------------------------
def open_dask(X: Any, where: dict[str, Any]) -> DaskSource:
    """A Dask array or dataframe as a source; rows that nobody has counted are counted, in one pass over X."""
    from dask.base import optimize

    names: tuple[str, ...] | None = None
    if type(X).__name__ == "Array":
        if X.ndim != 2:
            raise error("LD100", shape=X.shape)
        if len(X.chunks[1]) > 1:
            raise error("LD107", count=len(X.chunks[1]))
        if X.dtype.kind != "O":  # objects may be numbers: each chunk is looked at
            check_kind(X.shape, X.dtype)
        optimized = optimize(X)[0]
        keys, lengths, d = [row[0] for row in X.__dask_keys__()], list(X.chunks[0]), int(X.shape[1])
    elif type(X).__name__ in ("DataFrame", "Series", "Index"):
        if X.ndim != 2:
            raise error("LD100", shape=(f"{X.npartitions} partitions",))
        names = from_pandas(X._meta, {}).columns
        optimized = X.optimize()
        keys, lengths, d = list(optimized.__dask_keys__()), [np.nan] * optimized.npartitions, len(names)
    else:
        raise error("LD101", type=f"dask {type(X).__name__}")
    source = DaskSource(X, (0, d), dict(optimized.__dask_graph__()), keys, [], names, **where)
    if any(np.isnan(length) for length in lengths):
        if names is None:
            warn("LD108", count=len(keys))
        lengths = source.pick(len, [(i, ()) for i in range(len(keys))])
    source.ends = np.cumsum(lengths, dtype=np.int64).tolist()
    source.n = source.ends[-1] if source.ends else 0
    return source


def needed(graph: dict[Any, Any], keys: list[Any]) -> dict[Any, Any]:
    """The part of a graph that these keys rest on; what is not in it is known to the cluster."""
    from dask.core import get_dependencies

    tasks: dict[Any, Any] = {}
    stack = list(keys)
    while stack:
        key = stack.pop()
        if key in graph and key not in tasks:
            tasks[key] = graph[key]
            stack.extend(get_dependencies(graph, key))
    return tasks


class Late:
    """f with its later arguments: Dask looks for tasks inside tuples, and must not look inside these."""

    def __init__(self, f: Callable[..., Any], extra: tuple[Any, ...]) -> None:
        self.f, self.extra = f, extra
        self.__name__ = getattr(f, "__name__", "lowdim")  # what Dask's dashboard shows

    def __call__(self, *first: Any) -> Any:
        return self.f(*first, *self.extra)


# chunks --------------------------------------------------------------------------------------------
def chunk_cells(chunk: Any, size: int, d: int, columns: tuple[str, ...], first: int) -> tuple[Array, Mask | None]:
    """A chunk (array, masked array, sparse matrix or frame) as numbers; `first` is its first row in the table."""
    if np.shape(chunk) != (size, d):
        raise error("LD109", f"rows {first + 1} to {first + size}", shape=np.shape(chunk), want=(size, d))
    if sp.issparse(chunk):
        chunk = chunk.toarray()
    if isinstance(chunk, np.ma.MaskedArray):
        return _numbers(np.asarray(chunk.data), columns, first), ~np.ma.getmaskarray(chunk)
    if isinstance(chunk, np.ndarray):
        return _numbers(chunk, columns, first), None
    kinds = {str(kind) for kind in getattr(chunk, "dtypes", ())}
    if not kinds:  # an array that is not NumPy's own
        return _numbers(np.asarray(chunk), columns, first), None
    from_pandas(chunk.iloc[:0], {})  # a partition may hold other types than were declared
    return _numbers(
        chunk.to_numpy(dtype=object) if "object" in kinds else chunk.to_numpy(dtype=np.float64, na_value=np.nan),
        columns,
        first,
    ), None


def _numbers(values: NDArray[Any], columns: tuple[str, ...], first: int) -> Array:
    if values.dtype.kind == "O":
        return table_of_objects(values, columns, first)
    check_kind(values.shape, values.dtype)
    return np.ascontiguousarray(values, dtype=np.float64)


def cut_out(chunk: Any, begin: int, end: int) -> Any:
    """Some rows of a chunk: only these are sent on."""
    return chunk.iloc[begin:end] if getattr(chunk, "iloc", None) is not None else chunk[begin:end]


def picked_rows(
    chunk: Any, within: Index, size: int, d: int, columns: tuple[str, ...], first: int
) -> tuple[Array, Mask | None]:
    """Single rows of a chunk as numbers."""
    values, mask = chunk_cells(chunk, size, d, columns, first)
    return values[within], None if mask is None else mask[within]


def stacked(parts: list[tuple[Array, Mask | None]], d: int) -> tuple[Array, Mask | None]:
    """Parts of a table, one below the other."""
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([x for x, _ in parts]) if parts else np.zeros((0, d))
    if all(mask is None for _, mask in parts):
        return values, None
    return values, np.concatenate([Block(*part).seen for part in parts])


# the cluster ---------------------------------------------------------------------------------------
def client_in_force() -> Any:
    """The Dask Client in force; None where there is none, or where only `await` could use it."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        client = distributed.Client.current()
    except ValueError:
        return None
    return None if client.asynchronous else client


def submit_graph(client: Any, graph: dict[Any, Any], keys: list[Any]) -> list[Any]:
    """These keys of a graph as futures of the cluster."""
    import dask
    from distributed.client import ClosedClientError

    try:  # rows in a graph are there on purpose: the scheduler, which holds it, sends them again if a worker is lost
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return list(client.get(graph, keys, sync=False))
    except ClosedClientError:
        raise error("LD311", problem="its Client is closed") from None


def gather_results(client: Any, futures: list[Any]) -> list[Any]:
    """What futures come to; an error where one is lost for good, or no worker is left to make it."""
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    coming = asyncio.run_coroutine_threadsafe(client.gather(futures, asynchronous=True), client.loop.asyncio_loop)
    alone: float | None = None
    try:
        while True:
            try:
                return list(coming.result(LOOK_SECONDS))
            except TimeoutError:
                if coming.done():  # somebody else's: a chunk could not be made
                    raise
            alone = None if _has_workers(client) else time.monotonic() if alone is None else alone
            if alone is not None and time.monotonic() - alone > PATIENCE_SECONDS:
                raise error("LD311", problem="no worker is left")
    except KilledWorker as problem:
        raise error("LD311", problem=f"it died with its worker, {problem.allowed_failures + 1} time(s)") from None
    except CancelledError:
        raise error("LD311", problem="the cluster no longer knows a task or the data it needs") from None
    finally:
        coming.cancel()


def _has_workers(client: Any) -> bool:
    try:
        return bool(client.nthreads())
    except (OSError, TimeoutError, RuntimeError):  # the scheduler does not answer
        return False
