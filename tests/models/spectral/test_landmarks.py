"""Weights on neighbours, and cliques."""

import numpy as np
import pytest

from lowdim.maths.pairs import Neighbours, nearest
from lowdim.models.spectral.landmarks import blend_weights, cells_gram, cliques


def test_weights_make_up_the_row():
    """Least squares with the distance-scaled ridge, solved directly with its constraint."""
    rng = np.random.default_rng(0)
    P, X = rng.standard_normal((30, 3)), rng.standard_normal((5, 3))
    found = nearest(X, 6, P)
    W = blend_weights(found, lambda part: cells_gram(P, X[part], found.row[part]), 3)
    for x, rows, w in zip(X, found.row, W, strict=True):
        off = P[rows] - x
        G = off @ off.T + 1e-3 * np.diag((off**2).sum(axis=1))
        system = np.block([[2 * G, np.ones((6, 1))], [np.ones((1, 6)), np.zeros((1, 1))]])
        assert w == pytest.approx(np.linalg.solve(system, np.append(np.zeros(6), 1.0))[:6], abs=1e-9)
    itself = Neighbours(*(part[:2] for part in nearest(P, 4, P)))
    own = blend_weights(itself, lambda part: cells_gram(P, P[:2][part], itself.row[part]), 3)
    assert np.array_equal(own, np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)))


def test_cliques_join_all_within_a_neighbourhood():
    X = np.random.default_rng(0).standard_normal((25, 2))
    found = nearest(X, 3)
    i, j = cliques(np.repeat(np.arange(25), 3), found.row.ravel(), 25)
    want = {(min(a, b), max(a, b)) for r in range(25) for a in (r, *found.row[r]) for b in (r, *found.row[r]) if a != b}
    assert set(zip(i.tolist(), j.tolist(), strict=True)) == want
    assert len(i) == len(want)
