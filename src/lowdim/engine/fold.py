"""The fold: the only thing that walks data.

The leaves of its tree are tiles, cut by global row index, and the tree is fixed by their number alone:
node (L, j) merges (L-1, 2j) with (L-1, 2j+1), or is (L-1, 2j) where there is no right child. A block of
2^k tiles is one node of that tree, so serial, threads and any 2^k tiles a block give the same bits.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial, reduce
from itertools import chain, count
from os import PathLike
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from threadpoolctl import ThreadpoolController

from lowdim.maths.linalg import Array
from lowdim.sources.source import Block, Source, cores
from lowdim.text.messages import error


class Statistics(Protocol):
    """Small arrays that merge."""

    def merge(self, other: Self) -> Self: ...


S = TypeVar("S", bound=Statistics)
T = TypeVar("T")


class Executor(Protocol):
    """Maps a function over the blocks of a source, results in order.

    `f` takes a run of `span(source)` (a power of two) consecutive blocks: one node of the tree. `first` is the
    block to begin with, a multiple of the span.
    """

    def span(self, source: Source) -> int: ...

    def map(self, f: Callable[[Iterable[Block]], T], source: Source, first: int = 0) -> Iterator[T]: ...


class Memory(ABC):
    """What remembers the folds of a fit, so that one that was killed goes on where it stopped."""

    @abstractmethod
    def fold(self, f: Callable[[Block], S], source: Source, engine: Executor) -> S:
        """The fold, from memory where it is known."""

    @abstractmethod
    def recall(self, name: str, f: Callable[[Array], Array], x: Array) -> Array:
        """f(x), from memory where it is known."""

    @abstractmethod
    def note(self, objective: float) -> None:
        """The objective that the last fold gave."""


class Run(NamedTuple):
    """How to run, never what to compute.

    `engine` is "threads", "serial", "dask" or an Executor; `memory` the bytes a fit may use; `checkpoint` a
    folder that keeps what has been folded, from which the same fit goes on after a crash (inside a fit it is the
    `Memory` that does); `callback(step)` is called after each pass and stops the fit by returning True; `verbose=1`
    prints a line a pass.
    """

    engine: str | Executor = "threads"
    memory: int | None = None
    checkpoint: str | PathLike[str] | Memory | None = None
    callback: Callable[[Any], bool | None] | None = None
    verbose: int = 0


@contextmanager
def remembered(model: Any, source: Source, run: Run) -> Iterator[Run]:
    """The run of a fit with the memory of its checkpoint, where one is asked for; text is parsed once meanwhile."""
    if isinstance(run.checkpoint, str | PathLike):
        # The checkpoint's modules rest on this one, and no other fit has to enter them.
        from lowdim.engine.checkpoint.store import Checkpoint

        with Checkpoint(run.checkpoint, model, source) as kept, source.spooled(kept.folder):
            yield run._replace(checkpoint=kept)
    else:
        with source.spooled(None):
            yield run
    source.leaf.unchanged()


def recalled(run: Run, name: str, f: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function, remembered by the run's checkpoint where there is one.

    f must depend on x alone and leave nothing behind: on a repeat it is not called. The first of its numbers is the
    objective, to be raised. Passes over rows need none of this: their folds are remembered.
    """
    return partial(run.checkpoint.recall, name, f) if isinstance(run.checkpoint, Memory) else f


class Serial:
    """One block after the other."""

    def span(self, source: Source) -> int:
        return 1

    def map(self, f: Callable[[Iterable[Block]], T], source: Source, first: int = 0) -> Iterator[T]:
        return (f([source.block(i)]) for i in range(first, source.n_blocks))


@dataclass
class Threads(Serial):
    """So many blocks at a time, by default as many as there are cores, and never many more in memory."""

    workers: int = field(default_factory=cores)

    def map(self, f: Callable[[Iterable[Block]], T], source: Source, first: int = 0) -> Iterator[T]:
        indices = range(first, source.n_blocks)
        if len(indices) < 2 or self.workers < 2:
            yield from super().map(f, source, first)
            return
        with ThreadPoolExecutor(self.workers) as pool:
            # Results come out in the order of the blocks, whichever is done first; no more than these are held.
            waiting: deque[Future[T]] = deque()
            try:
                for i in indices:
                    waiting.append(pool.submit(lambda i: f([source.block(i)]), i))
                    if len(waiting) > 2 * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:  # an error, or a caller that asks for no more
                for future in waiting:
                    future.cancel()


def executor(run: Run, source: Source) -> Executor:
    """The executor a Run asks for; a Dask table goes to its own cluster where there is one."""
    if run.engine == "serial":
        return Serial()
    if run.engine == "threads":
        return source.leaf.executor() or Threads()
    if run.engine == "dask":
        from lowdim.sources.dask.executor import DaskExecutor  # no other engine has to import it

        return DaskExecutor()
    if isinstance(run.engine, str):
        raise error("LD210", option="engine", value=run.engine, allowed="'threads', 'serial', 'dask' or an Executor")
    return run.engine


def fold(f: Callable[[Block], S], source: Source, run: Run) -> S:
    """The merged statistics of every tile of the source."""
    engine = executor(run, source)
    source.leaf.unchanged()
    with one_blas_thread():
        if isinstance(run.checkpoint, Memory):
            return run.checkpoint.fold(f, source, engine)
        return tree(engine.map(partial(over_tiles, tree, f, source.tile), source))


def over_tiles(join: Callable[[Iterable[Any]], T], f: Callable[[Block], Any], tile: int, blocks: Iterable[Block]) -> T:
    """What f makes of every tile of a run of blocks, joined: by `tree` into one node, or listed."""
    return join(f(part) for block in blocks for part in block.tiles(tile))


def walk(f: Callable[[Block], T], source: Source, run: Run) -> Iterator[tuple[int, T]]:
    """(start, f(tile)) for every tile in order: the loop of the row verbs.

    Tiles again, not blocks: BLAS may round a row differently in a taller matrix.
    """
    with one_blas_thread():
        parts = executor(run, source).map(partial(over_tiles, list, f, source.tile), source)
        yield from zip(count(0, source.tile), chain.from_iterable(parts))


def grown(stack: tuple[tuple[int, S], ...], leaf: S) -> tuple[tuple[int, S], ...]:
    """The fixed tree with one leaf more: its open nodes, each with its level, and no more than one a level."""
    # As in a binary counter: two nodes of one level carry over into one of the next.
    level, top = 0, leaf
    while stack and stack[-1][0] == level:
        top = stack[-1][1].merge(top)
        stack, level = stack[:-1], level + 1
    return (*stack, (level, top))


def tree(leaves: Iterable[S], stack: tuple[tuple[int, S], ...] = ()) -> S:
    """The leaves, and those of the open nodes before them, merged over the fixed tree."""
    for leaf in leaves:
        stack = grown(stack, leaf)
    # What is left has no right neighbour: from the smallest up, each joins the larger one before it.
    return reduce(lambda right, left: left.merge(right), [open_node for _, open_node in reversed(stack)])


@cache
def _libraries() -> list[Any]:
    """The thread pools of BLAS and OpenMP in this process; looking for them takes milliseconds."""
    return list(ThreadpoolController().lib_controllers)


class _Limit:
    """Who needs one BLAS thread, and how many threads there were: BLAS counts them for the whole process."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.before: list[tuple[Any, int]] = []


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS with one thread inside, our own threads outside: steadier bits, and faster on small matrices.

    The first to come takes the threads and the last to go gives them back, for fits may run beside each other.
    """
    with _LIMIT.lock:
        if _LIMIT.users == 0:
            _LIMIT.before = [(pool, pool.num_threads) for pool in _libraries() if pool.num_threads != 1]
            for pool, _ in _LIMIT.before:
                pool.set_num_threads(1)
        _LIMIT.users += 1
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.users -= 1
            if _LIMIT.users == 0:
                for pool, threads in _LIMIT.before:
                    pool.set_num_threads(threads)
