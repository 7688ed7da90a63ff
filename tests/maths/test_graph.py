"""Graphs: bridges between pieces, rows spread along paths."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from lowdim.maths.graph import (
    all_path_lengths,
    both_ways,
    bridges,
    components,
    elimination,
    laplacian,
    smallest,
    spread_rows,
)
from lowdim.maths.pairs import RowPairs
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


@pytest.mark.parametrize("kind", ["band", "two pieces", "ring"])
def test_paths_by_elimination_are_those_of_dijkstra(kind):
    rng = np.random.default_rng(1)
    n = 700
    X = np.c_[np.linspace(0.0, 60.0, n), rng.random(n)]
    if kind == "two pieces":
        X[n // 2 :] += 500.0
    if kind == "ring":
        X = (1.0 + 0.1 * X[:, 1:]) * np.c_[np.cos(X[:, 0] / 60 * 6.28), np.sin(X[:, 0] / 60 * 6.28)]
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    near = np.argsort(D, axis=1)[:, 1:7]
    i = np.repeat(np.arange(n), 6)
    G = both_ways(RowPairs(i, near.ravel(), D[i, near.ravel()]), n)
    assert elimination(G) is not None
    np.testing.assert_allclose(all_path_lengths(G), csgraph.dijkstra(G, directed=False), rtol=1e-12)


def test_a_graph_that_fills_many_dimensions_is_not_eliminated():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 8))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    near = np.argsort(D, axis=1)[:, 1:9]
    i = np.repeat(np.arange(500), 8)
    assert elimination(both_ways(RowPairs(i, near.ravel(), D[i, near.ravel()]), 500)) is None


def test_the_slowest_vibrations_of_a_chain_in_any_order_are_cosines():
    """2 - 2 cos(pi k / n), by a factor within a band; and of a graph that has none, as of its dense matrix."""
    rng = np.random.default_rng(2)
    n = 900
    order = rng.permutation(n)
    W = sp.coo_array((np.ones(n - 1), (order[:-1], order[1:])), shape=(n, n)).tocsr()
    found = smallest(laplacian(sp.csr_array(W + W.T)), np.ones(n), 3)
    np.testing.assert_allclose(found.values, 2.0 - 2.0 * np.cos(np.pi * np.arange(1, 4) / n), rtol=1e-8)
    wide = sp.random_array((n, n), density=0.01, rng=rng, format="csr")
    L = laplacian(sp.csr_array(wide + wide.T))
    truth = np.linalg.eigvalsh(L.toarray())[1:4]
    np.testing.assert_allclose(smallest(L, np.ones(n), 3).values, truth, rtol=1e-9)
