"""The fold: one tree whatever walks it; executors that keep order, bounds and errors."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from lowdim import PCA, PPCA, FactorAnalysis, Run, as_source
from lowdim.engine.fold import Serial, Threads, executor, fold, one_blas_thread, tree, walk
from lowdim.engine.statistics import Sum, columns, moments
from lowdim.sources.source import tile_rows
from lowdim.text.errors import OptionError


class Tree(NamedTuple):
    """Statistics that remember how they were merged."""

    text: str

    def merge(self, other):
        return Tree(f"({self.text}{other.text})")


def recursive(leaves):
    """The definition: node (L, j) merges (L-1, 2j) with (L-1, 2j+1), or is (L-1, 2j) alone."""
    level = list(leaves)
    while len(level) > 1:
        level = [level[j].merge(level[j + 1]) if j + 1 < len(level) else level[j] for j in range(0, len(level), 2)]
    return level[0]


def test_tree_is_its_definition():
    assert tree(map(Tree, "abcde")).text == "(((ab)(cd))e)"
    for n in range(1, 70):
        leaves = [Tree(chr(65 + i)) for i in range(n)]
        assert tree(leaves) == recursive(leaves)


@given(n=st.integers(1, 90), k=st.integers(0, 4), tile=st.integers(1, 9), engine=st.sampled_from(["serial", "threads"]))
def test_any_power_of_two_is_the_same_tree(n, k, tile, engine):
    source = as_source(np.zeros((n, 1)), tile=tile, block_tiles=2**k)
    got = fold(lambda block: Tree(f"[{block.start}+{len(block.x)}]"), source, Run(engine=engine))
    leaves = [Tree(f"[{i}+{min(tile, n - i)}]") for i in range(0, n, tile)]
    assert got == recursive(leaves)


@pytest.mark.parametrize("f", [moments, columns])
def test_the_same_bits(f):
    X = np.random.default_rng(0).standard_normal((1000, 7)) + 1e3
    results = [
        fold(f, as_source(X, tile=32, block_tiles=k), Run(engine=engine))
        for k in (1, 2, 4, 8, 64)
        for engine in ("serial", "threads", Threads(5))
    ]
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert np.array_equal(a, b)


def test_walk_gives_tiles_in_order():
    X = np.arange(50.0)[:, None]
    for k in (1, 4):
        found = list(walk(lambda b: b.x[:, 0].tolist(), as_source(X, tile=4, block_tiles=k), Run()))
        assert [start for start, _ in found] == list(range(0, 50, 4))
        assert [x for _, rows in found for x in rows] == list(range(50))


def test_tile_rows_is_a_power_of_two_within_bounds():
    for d in (1, 2, 3, 100, 1000, 4097, 10**6):
        rows = tile_rows(d)
        assert rows & (rows - 1) == 0
        assert 256 <= rows <= 8192


# executors ------------------------------------------------------------------------------------------------
def test_threads_keep_order():
    def slow(blocks):
        (block,) = blocks
        time.sleep(0.002 * (7 - block.start % 8))
        return block.start

    source = as_source(np.zeros((40, 1)), tile=1)
    assert list(Threads(4).map(slow, source)) == list(range(40))
    assert list(Threads(4).map(slow, source, 38)) == list(Serial().map(slow, source, 38)) == [38, 39]


def test_threads_never_hold_many_results():
    """No more than 2 workers + 1 results are started before the first is taken."""
    started, lock = [], threading.Lock()

    def note(blocks):
        (block,) = blocks
        with lock:
            started.append(block.start)
        return block.start

    results = Threads(3).map(note, as_source(np.zeros((1000, 1)), tile=1))
    assert next(results) == 0
    time.sleep(0.05)
    assert len(started) <= 2 * 3 + 1
    assert list(results) == list(range(1, 1000))


@pytest.mark.parametrize("engine", ["serial", "threads"])
def test_errors_come_out_and_stop_the_rest(engine):
    seen = []

    def fail(block):
        seen.append(block.start)
        if block.start >= 8:
            raise ZeroDivisionError(f"at row {block.start}")
        return Sum(np.zeros(1))

    with pytest.raises(ZeroDivisionError, match="at row 8"):
        fold(fail, as_source(np.zeros((4000, 1)), tile=4), Run(engine=engine))
    assert len(seen) < 100


def test_an_error_inside_gives_the_blas_threads_back():
    before = [lib["num_threads"] for lib in threadpool_info()]
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        assert all(lib["num_threads"] == 1 for lib in threadpool_info() if lib["user_api"] == "blas")
        raise ZeroDivisionError
    assert [lib["num_threads"] for lib in threadpool_info()] == before


def test_a_row_verb_left_halfway_gives_the_blas_threads_back():
    before = [lib["num_threads"] for lib in threadpool_info()]
    rows = walk(lambda b: b.x, as_source(np.zeros((100, 2)), tile=4), Run())
    next(rows)
    rows.close()
    assert [lib["num_threads"] for lib in threadpool_info()] == before


def test_unknown_engines_are_refused():
    with pytest.raises(OptionError, match="LD210"):
        executor(Run(engine="sparks"), as_source(np.zeros((2, 1))))
    mine = Serial()
    assert executor(Run(engine=mine), as_source(np.zeros((2, 1)))) is mine


@pytest.mark.parametrize("model", [PCA(2), PPCA(2), FactorAnalysis(1)], ids=["pca", "ppca", "fa"])
@pytest.mark.filterwarnings("ignore:LD204")  # one factor explains a column completely: nothing to do with threads
def test_eight_fits_at_once_give_equal_bits(model):
    """Concurrent fits share the BLAS limit and nothing else."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5)) + 0.7 * rng.standard_normal((60, 5))
    X[rng.random(X.shape) < 0.1] = np.nan

    def digest(_):
        fitted = type(model)(model.n_components).fit(as_source(X, tile=16))
        return b"".join(np.ascontiguousarray(part).tobytes() for part in fitted.params_), fitted.objective_

    before = [lib["num_threads"] for lib in threadpool_info()]
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(digest, range(8)))) == 1
    assert [lib["num_threads"] for lib in threadpool_info()] == before
