"""Blocks, tiles, samples and fingerprints of any source."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, tile_rows
from lowdim.text.messages import LowdimError
from tests.sources.tables import CLEAN, GAPPY, NAMES, N, blocks, same


@pytest.mark.parametrize("d", [1, 2, 50, 128, 500, 5000, 10**6])
def test_tiles_depend_on_the_columns_alone(d):
    rows = tile_rows(d)
    assert 256 <= rows <= 8192 and rows & (rows - 1) == 0
    assert as_source(sp.csr_array((3, d))).tile == as_source(sp.csr_array((300, d))).tile == rows


def test_what_a_block_leaves_out_is_there_as_arrays():
    x = np.array([[1.0, 0.0], [2.0, 3.0], [4.0, 5.0]])
    whole = Block(x, start=7)
    assert whole.seen.all() and whole.seen.shape == x.shape and whole.times.tolist() == [1.0, 1.0, 1.0]
    assert whole.with_nan is x
    mask = np.array([[True, False], [True, True], [True, True]])
    block = Block(x, mask, np.array([2.0, 0.0, 1.0]), 7)
    assert block.seen is mask and block.times.tolist() == [2.0, 0.0, 1.0]
    assert np.isnan(block.with_nan).tolist() == (~mask).tolist()
    assert block.take(np.array([2, 0])).x.tolist() == [[4.0, 5.0], [1.0, 0.0]]
    assert block.take(np.array([2, 0])).times.tolist() == [1.0, 2.0]
    first, last = block.tiles(2)
    assert first.mask is not None and last.mask is None and last.start == 9  # no gaps there


def test_blocks_cover_every_row_once_and_tiles_cut_them():
    source = as_source(GAPPY, tile=8, block_tiles=4)
    assert [b.start for b in blocks(source)] == [0, 32, 64, 96] and [len(b.x) for b in blocks(source)] == [
        32,
        32,
        32,
        5,
    ]
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
