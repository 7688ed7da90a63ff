"""Sources: every kind of table gives the same blocks, and results may go where they need not fit in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import lowdim
from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.files.sinks import NpySink
from lowdim.sources.sinks import ArraySink, as_sink
from lowdim.sources.source import Block, Source, tile_rows
from lowdim.sources.views import Chosen, Frame, Framed, gather, transposed
from lowdim.text.messages import LowdimError

N, D = 101, 4
CLEAN = np.random.default_rng(3).standard_normal((N, D)).round(2)
HOLES = np.random.default_rng(4).random((N, D)) < 0.1
GAPPY = np.where(HOLES, np.nan, CLEAN)
NAMES = ["a", "b", "c", "d"]


def mapped(folder: Path, X: np.ndarray) -> np.ndarray:
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def nulls(X: np.ndarray) -> dict[str, list[float | None]]:
    return {name: [None if np.isnan(v) else float(v) for v in X[:, j]] for j, name in enumerate(NAMES)}


KINDS: dict[str, Any] = {
    "array": lambda X, _: X,
    "fortran": lambda X, _: np.asfortranarray(X),
    "list": lambda X, _: X.tolist(),
    "reversed twice": lambda X, _: X[::-1].copy()[::-1],
    "big-endian": lambda X, _: X.astype(">f8"),
    "memory map": lambda X, folder: mapped(folder, X),
    "masked": lambda X, _: np.ma.masked_invalid(X),
    "objects": lambda X, _: X.astype(object),
    "pandas": lambda X, _: pd.DataFrame(X, columns=NAMES),
    "pandas, nullable": lambda X, _: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "pandas, mixed": lambda X, _: pd.DataFrame(X, columns=NAMES).astype({"a": object}),
    "polars": lambda X, _: pl.DataFrame(nulls(X)),
    "polars, NaN": lambda X, _: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X, _: pa.table(nulls(X)),
    "arrow in pieces": lambda X, _: pa.concat_tables([pa.table(nulls(X[:30])), pa.table(nulls(X[30:]))]),
    "csr": lambda X, _: sp.csr_array(X),
    "csc matrix": lambda X, _: sp.csc_matrix(X),
    "coo": lambda X, _: sp.coo_array(X),
}


def blocks(source: Source) -> list[Block]:
    return [source.block(i) for i in range(source.n_blocks)]


def same(a: Block, b: Block) -> None:
    np.testing.assert_array_equal(a.x, b.x)
    assert a.x.dtype == np.float64 and a.x.flags.c_contiguous and a.start == b.start
    assert (a.mask is None) == (b.mask is None)
    if a.mask is not None:
        np.testing.assert_array_equal(a.mask, b.mask)


@pytest.mark.parametrize("X", [CLEAN, GAPPY], ids=["complete", "gaps"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_blocks(kind, X, tmp_path):
    for how in ({}, {"tile": 7}, {"tile": 8, "block_tiles": 4}):
        source, plain = as_source(KINDS[kind](X, tmp_path), **how), as_source(X.copy(), **how)
        assert (source.n, source.d, source.n_blocks) == (N, D, plain.n_blocks)
        for a, b in zip(blocks(source), blocks(plain), strict=True):
            same(a, b)
        for rng in (None, 0):
            same(*(s.sample(20, None if rng is None else np.random.default_rng(rng)) for s in (source, plain)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_not_touched(kind, tmp_path):
    X = KINDS[kind](GAPPY.copy(), tmp_path)
    with np.errstate(all="raise"):
        before = as_source(X).fingerprint()
    model = lowdim.PPCA(2).fit(X)
    model.impute(X)
    assert as_source(X).fingerprint() == before


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_names_are_kept(kind, tmp_path):
    source = as_source(KINDS[kind](CLEAN, tmp_path))
    assert source.columns == tuple(NAMES) and source.named
    assert as_source(CLEAN).columns == ("c1", "c2", "c3", "c4") and not as_source(CLEAN).named


def test_gaps_hold_zero_and_complete_blocks_have_no_mask():
    for block in blocks(as_source(GAPPY, tile=8)):
        rows = HOLES[block.start : block.start + block.rows]
        assert (block.mask is None) == (not rows.any())
        if block.mask is not None:
            np.testing.assert_array_equal(block.mask, ~rows)
            assert (block.x[rows] == 0).all()


# --- tiles, samples, fingerprints


@pytest.mark.parametrize("d", [1, 2, 50, 128, 500, 5000, 10**6])
def test_tiles_depend_on_the_columns_alone(d):
    rows = tile_rows(d)
    assert 256 <= rows <= 8192 and rows & (rows - 1) == 0
    assert as_source(sp.csr_array((3, d))).tile == as_source(sp.csr_array((300, d))).tile == rows


def test_blocks_cover_every_row_once_and_tiles_cut_them():
    source = as_source(GAPPY, tile=8, block_tiles=4)
    assert [b.start for b in blocks(source)] == [0, 32, 64, 96] and [b.rows for b in blocks(source)] == [32, 32, 32, 5]
    tiles = [t for b in blocks(source) for t in b.tiles(8)]
    for a, b in zip(tiles, blocks(as_source(GAPPY, tile=8)), strict=True):
        same(a, b)


def test_blocks_of_a_small_table_are_kept_and_weights_go_along():
    w = np.arange(N, dtype=float)
    source = as_source(CLEAN, weight=w, tile=10)
    assert source.block(3) is source.block(3) and source.total == w.sum()
    np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks(source)]), w)
    other = as_source(source, weight=2 * w)
    assert other.total == 2 * source.total and source.block(0).weight[1] == 1.0


def test_samples_are_by_global_row():
    source = as_source(CLEAN, tile=7)
    np.testing.assert_array_equal(source.sample(N).x, CLEAN)
    np.testing.assert_array_equal(source.sample(10**9).x, CLEAN)
    np.testing.assert_array_equal(source.sample(5).x, CLEAN[[0, 20, 40, 60, 80]])
    drawn = [as_source(CLEAN, tile=t).sample(9, np.random.default_rng(1)).x for t in (1, 7, 64)]
    for rows in drawn[1:]:
        np.testing.assert_array_equal(rows, drawn[0])
    assert len({tuple(row) for row in drawn[0]}) == 9


def test_fingerprints_tell_tables_apart():
    changed = CLEAN.copy()
    changed[-1, -1] += 1e-9
    tables = [CLEAN, CLEAN[:-1], CLEAN[:, :-1], changed, pd.DataFrame(CLEAN, columns=NAMES)]
    prints = [as_source(X).fingerprint() for X in tables]
    assert len(set(prints)) == len(prints) and as_source(CLEAN.copy()).fingerprint() == prints[0]


def test_an_infinite_cell_is_found_in_any_block():
    X = CLEAN.copy()
    X[77, 2] = -np.inf
    with pytest.raises(LowdimError, match="row 78, column 'c3'") as raised:
        blocks(as_source(X, tile=8))
    assert raised.value.code == "LD150"
    with pytest.raises(LowdimError, match="row 78"):
        as_source(X, tile=8).sample(N)


def test_huge_finite_cells_are_not_taken_for_infinite_ones():
    X = np.full((50, 2), 1.7e308)
    assert all(b.mask is None for b in blocks(as_source(X)))


# --- sparse zeros


def test_zeros_are_values_or_gaps():
    """A stored zero is a seen zero; what is not stored is a gap only where the caller says so."""
    values = sp.csr_array((np.array([0.0, 2.0, 3.0, np.nan]), np.array([0, 2, 1, 2]), np.array([0, 2, 2, 4])), (3, 3))
    plain = as_source(values).block(0)
    np.testing.assert_array_equal(plain.x, [[0, 0, 2], [0, 0, 0], [0, 3, 0]])
    np.testing.assert_array_equal(plain.mask, [[True] * 3, [True] * 3, [True, True, False]])
    gaps = as_source(values, zeros="gaps").block(0)
    np.testing.assert_array_equal(gaps.mask, [[True, False, True], [False] * 3, [False, True, False]])
    np.testing.assert_array_equal(gaps.x, plain.x)
    with pytest.raises(LowdimError) as raised:
        as_source(values, zeros="nothing")
    assert raised.value.code == "LD210"


def test_ratings_are_the_same_table_with_gaps():
    stored = sp.coo_array((CLEAN[~HOLES], np.nonzero(~HOLES)), CLEAN.shape)
    model, plain = lowdim.PPCA(2).fit(as_source(stored, zeros="gaps")), lowdim.PPCA(2).fit(GAPPY)
    np.testing.assert_array_equal(model.components_, plain.components_)
    np.testing.assert_array_equal(model.transform(as_source(stored, zeros="gaps")), plain.transform(GAPPY))


def test_the_last_of_two_stored_cells_is_not_lost():
    twice = sp.coo_array((np.array([1.0, 2.0, 5.0]), (np.array([0, 0, 1]), np.array([0, 0, 1]))), (2, 2))
    for zeros in ("values", "gaps"):
        np.testing.assert_array_equal(as_source(twice, zeros=zeros).block(0).x, [[3, 0], [0, 5]])


# --- views


def test_chosen_columns():
    source = as_source(pd.DataFrame(GAPPY, columns=NAMES), tile=8)
    chosen = Chosen(source, [3, 0])
    assert (chosen.n, chosen.d, chosen.columns) == (N, 2, ("d", "a"))
    for a, b in zip(blocks(chosen), blocks(as_source(GAPPY[:, [3, 0]], tile=chosen.tile)), strict=True):
        same(a, b)


def test_a_frame_there_and_back():
    frame = Frame(np.array([1.0, -2.0, 0.5, 1e6]), np.array([2.0, 0.25, 1.0, 4.0]), np.ones(D))
    framed = Framed(as_source(GAPPY, tile=8), frame)
    for a, b in zip(blocks(framed), blocks(as_source(GAPPY, tile=8)), strict=True):
        seen = np.ones_like(b.x, dtype=bool) if b.mask is None else b.mask
        np.testing.assert_array_equal(a.x, np.where(seen, (b.x - frame.shift) * frame.scale, 0))
        np.testing.assert_allclose(frame.outward(a.x)[seen], b.x[seen], rtol=1e-9)
    assert frame.log_stretch(None) == pytest.approx(np.log(2.0))
    np.testing.assert_allclose(frame.log_stretch(np.eye(D, dtype=bool)), np.log(frame.scale))
    np.testing.assert_allclose(frame.report, 1 / frame.scale)
    with pytest.raises(NotImplementedError):
        framed.read(slice(0, 1))


def test_gathered_and_transposed():
    for X in (CLEAN, GAPPY):
        x, mask = gather(as_source(X, tile=8))
        np.testing.assert_array_equal(x, np.nan_to_num(X))
        assert (mask is None) == (X is CLEAN)
        side = transposed(as_source(X, tile=8))
        assert isinstance(side, ArraySource) and (side.n, side.d) == (D, N)
        same(side.block(0), as_source(np.ascontiguousarray(X.T)).block(0))


# --- sinks


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


def test_weights_given_to_a_view_reach_the_rows():
    """A view of a few columns, weighted, is the weighted table of those columns."""
    source, w = as_source(CLEAN), 1.0 + np.arange(len(CLEAN)) % 3
    view = Chosen(source, [2, 0, 1])
    one, two = lowdim.PPCA(1).fit(view, sample_weight=w), lowdim.PPCA(1).fit(CLEAN[:, [2, 0, 1]], sample_weight=w)
    assert np.array_equal(one.components_, two.components_) and one.objective_ == two.objective_
    assert source.weight is None
    assert np.array_equal(view.sample(5).x, source.sample(5).x[:, [2, 0, 1]])
