"""The fold: the only thing that walks data.

The leaves of its tree are tiles, cut by global row index, and the tree is fixed by their number alone:
node (L, j) merges (L-1, 2j) with (L-1, 2j+1), or is (L-1, 2j) where there is no right child. A block of
2^k tiles is one node of that tree, so serial, threads and any 2^k tiles a block give the same bits.
"""
from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from threadpoolctl import ThreadpoolController

from lowdim.data.block import Block
from lowdim.data.source import Source
from lowdim.messages import error


class Statistics(Protocol):
    """Small arrays that merge."""

    def merge(self, other: Self) -> Self: ...


S = TypeVar("S", bound=Statistics)
T = TypeVar("T")


class Executor(Protocol):
    """Maps a function over block indices, results in index order."""

    def map(self, f: Callable[[int], T], indices: Sequence[int]) -> Iterator[T]: ...


class Run(NamedTuple):
    """How to run, never what to compute.

    `engine` is "threads", "serial" or an Executor; `memory` the bytes a fit may use; `callback(step)` is
    called after each pass and stops the fit by returning True; `verbose=1` prints a line a pass.
    """

    engine: str | Executor = "threads"
    memory: int | None = None
    callback: Callable[[Any], bool | None] | None = None
    verbose: int = 0


class Serial:
    """One block after the other."""

    def map(self, f: Callable[[int], T], indices: Sequence[int]) -> Iterator[T]:
        return map(f, indices)


def cores() -> int:
    """Cores this process may use; not every system says which."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


class Threads:
    """As many blocks at a time as there are cores, and never many more in memory."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    def map(self, f: Callable[[int], T], indices: Sequence[int]) -> Iterator[T]:
        if len(indices) < 2 or self.workers < 2:
            yield from map(f, indices)
            return
        with ThreadPoolExecutor(self.workers) as pool:
            waiting: deque[Future[T]] = deque()
            try:
                for i in indices:
                    waiting.append(pool.submit(f, i))
                    if len(waiting) > 2 * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def executor(run: Run) -> Executor:
    """The executor a Run asks for."""
    if run.engine == "serial":
        return Serial()
    if run.engine == "threads":
        return Threads()
    if isinstance(run.engine, str):
        raise error("LD210", option="engine", value=run.engine, allowed="'threads', 'serial' or an Executor")
    return run.engine


def fold(f: Callable[[Block], S], source: Source, run: Run) -> S:
    """The merged statistics of every tile of the source."""
    def node(i: int) -> S:
        return tree(map(f, source.block(i).tiles(source.tile)))

    with one_blas_thread():
        return tree(executor(run).map(node, range(source.n_blocks)))


def walk(f: Callable[[Block], T], source: Source, run: Run) -> Iterator[tuple[int, T]]:
    """(start, f(tile)) for every tile in order: the loop of the row verbs.

    Tiles again, not blocks: BLAS may round a row differently in a taller matrix.
    """
    def one(i: int) -> list[tuple[int, T]]:
        return [(tile.start, f(tile)) for tile in source.block(i).tiles(source.tile)]

    with one_blas_thread():
        for parts in executor(run).map(one, range(source.n_blocks)):
            yield from parts


def tree(leaves: Iterable[S]) -> S:
    """Merge the leaves over the fixed tree, holding no more than one node a level."""
    stack: list[tuple[int, S]] = []
    for leaf in leaves:
        level, node = 0, leaf
        while stack and stack[-1][0] == level:
            node = stack.pop()[1].merge(node)
            level += 1
        stack.append((level, node))
    _, node = stack.pop()
    while stack:
        node = stack.pop()[1].merge(node)
    return node


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


class _Limit:
    """Counts who needs one BLAS thread: concurrent fits must not give each other's threads back."""

    def __init__(self) -> None:
        self.lock, self.users, self.held = threading.Lock(), 0, None

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.held = _libraries().limit(limits=1)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0 and self.held is not None:
                self.held.restore_original_limits()
                self.held = None


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS with one thread inside, our own threads outside: steadier bits, and faster on small matrices."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
