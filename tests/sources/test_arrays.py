"""Sources in memory: every kind of table gives the same blocks and is not touched."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import lowdim
from lowdim.sources.arrays import as_source
from lowdim.text.messages import LowdimError
from tests.sources.tables import CLEAN, GAPPY, HOLES, KINDS, NAMES, D, N, blocks, same


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
        rows = HOLES[block.start : block.start + len(block.x)]
        assert (block.mask is None) == (not rows.any())
        if block.mask is not None:
            np.testing.assert_array_equal(block.mask, ~rows)
            assert (block.x[rows] == 0).all()


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


def test_weights_whose_sums_and_products_leave_double_precision():
    X = np.ones((3, 2))
    for weight in ([1e300, 1.0, 1.0], [1e308, 1e308, 1e308], [1e-310, 1e-310, 0.0]):
        with pytest.raises(LowdimError, match=r"LD230.*add up to"):
            as_source(X, weight=weight)
    assert as_source(X, weight=[1.0, 1e-200, 1e-50]).weight.tolist() == [1.0, 0.0, 1e-50]
