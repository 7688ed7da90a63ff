"""Nearest neighbours, with rows equally far."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowdim.maths.pairs import joined, joined_known, nearest, within


@pytest.mark.parametrize("d", [2, 40])  # by a tree, by products
def test_joined_takes_all_that_are_equally_far(d):
    X = np.zeros((20, d))
    X[:, :2] = np.array(list(itertools.product(range(5), range(4))), dtype=float)
    pairs, radius = joined(X, 3)
    D = cdist(X, X)
    known = {(i, j) for i in range(20) for j in range(20) if 0 < D[i, j] <= np.sort(D[i])[3] + 1e-9}
    assert set(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True)) == known
    assert pairs.d == pytest.approx(D[pairs.i, pairs.j], abs=1e-12)
    again, same = joined_known(D, 3)
    assert set(zip(again.i.tolist(), again.j.tolist(), strict=True)) == known
    assert radius == pytest.approx(same, abs=1e-12)
    new, _ = joined(X, 3, X)  # a row among others is not its own neighbour either
    assert set(zip(new.i.tolist(), new.j.tolist(), strict=True)) == known
    near = nearest(X, 3)
    assert near.distance == pytest.approx(np.sort(D, axis=1)[:, 1:4], abs=1e-12)
    inside = within(X, X, np.ones(20))
    assert len(inside.i) == int(((D > 0) & (D <= 1 + 1e-9)).sum())
