"""Graphs: bridges between pieces, rows spread along paths."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lowdim.math.graph import bridges, components, spread_rows
from tests.models.spectral.tables import adjacency, blobs, lengths, roll


def test_bridges_are_the_shortest():
    """Against Kruskal over all pairs of rows."""
    X = blobs(5, 6)
    label = np.repeat(np.arange(5), [6, 9, 12, 15, 18])
    D = cdist(X, X)
    group, total = list(range(5)), 0.0
    for i, j in sorted(itertools.combinations(range(len(X)), 2), key=lambda pair: D[pair]):
        a, b = group[label[i]], group[label[j]]
        if a != b:
            group, total = [a if g == b else g for g in group], total + D[i, j]
    for found in (bridges(label, X), bridges(label, D, known=True)):
        assert len(found.i) == 4
        assert found.d.sum() == pytest.approx(total, rel=1e-12)
        assert components(sp.csr_array((found.d, (label[found.i], label[found.j])), shape=(5, 5)))[0] == 1


def test_spread_rows_are_far_from_each_other():
    """Each is the farthest from all before, along the graph; lengths by Floyd and Warshall."""
    X, _ = roll(80)
    known = lengths(X, 7)
    A, D = adjacency(X, 7)
    chosen, length = spread_rows(sp.csr_array(np.where(A + A.T > 0, D, 0.0)), 9)
    assert np.abs(length - known[:, chosen]).max() <= 1e-9
    for c in range(1, 9):
        left = known[:, chosen[:c]].min(axis=1)
        assert left[chosen[c]] == pytest.approx(left.max(), rel=1e-12)
