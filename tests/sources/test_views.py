"""A table seen another way: chosen columns, frames, turned on its side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lowdim
from lowdim.sources.arrays import as_source
from lowdim.sources.views import Chosen, Frame, Framed, Stored, gather
from tests.sources.tables import CLEAN, GAPPY, NAMES, D, N, blocks, same


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


def test_gathered():
    for X in (CLEAN, GAPPY):
        x, mask = gather(as_source(X, tile=8))
        np.testing.assert_array_equal(x, np.nan_to_num(X))
        assert (mask is None) == (X is CLEAN)


def test_weights_given_to_a_view_reach_the_rows():
    """A view of a few columns, weighted, is the weighted table of those columns."""
    source, w = as_source(CLEAN), 1.0 + np.arange(len(CLEAN)) % 3
    view = Chosen(source, [2, 0, 1])
    one, two = lowdim.PPCA(1).fit(view, sample_weight=w), lowdim.PPCA(1).fit(CLEAN[:, [2, 0, 1]], sample_weight=w)
    assert np.array_equal(one.components_, two.components_) and one.objective_ == two.objective_
    assert source.weight is None
    assert np.array_equal(view.sample(5).x, source.sample(5).x[:, [2, 0, 1]])


def test_stored_cells_go_through_every_frame_under_them():
    table = sp.random_array((300, 7), density=0.2, rng=0).tocsr()
    inner = Framed(as_source(table), Frame(np.zeros(7), np.full(7, 4.0), np.ones(7)))
    frame = Frame(np.zeros(7), np.array([0.5, 1, 2, 4, 8, 16, 32]), np.ones(7))
    assert (
        Stored(inner, frame).block_of(slice(0, 300)).x.toarray() == Framed(inner, frame).block_of(slice(0, 300)).x
    ).all()
