"""Sheets in three dimensions: their numbers follow from the weights and springs that are said."""

import numpy as np
import pytest
import scipy.sparse.csgraph as graph
from lessons.sheets import grid_laplacian, heat_bath, mattress, plane, sheet


def test_rows_lie_round_the_plane():
    data = plane(900, noise=0.2).data
    np.testing.assert_allclose(data["on_plane"], data["latent"] @ data["weights"])
    assert np.linalg.matrix_rank(data["on_plane"]) == 2
    assert (data["row"] - data["on_plane"]).std() == pytest.approx(0.2, rel=0.03)


def test_a_sheet_is_its_bells_times_its_weights():
    data = sheet(basis=3).data
    phi = np.array([[np.exp(-0.5 * ((z - c) ** 2).sum()) for c in data["centre"]] for z in data["latent"][::40]])
    np.testing.assert_allclose(data["sheet"][::40], phi @ data["weights"])


def test_the_mattress_moves_as_its_springs_let_it():
    """The Laplacian of the grid beside SciPy's; expected distances beside the mean of many draws of the field."""
    L = grid_laplacian(6)
    pairs = [(i, j) for i in range(36) for j in range(36) if abs(i // 6 - j // 6) + abs(i % 6 - j % 6) == 1]
    A = np.zeros((36, 36))
    A[tuple(np.array(pairs).T)] = 1.0
    np.testing.assert_allclose(L, graph.laplacian(A))
    K, moved = heat_bath(L, 0.05, 40_000, 0)
    np.testing.assert_allclose(K, np.linalg.inv(L + 0.05 * np.eye(36)), rtol=1e-9)
    data = mattress(6).data
    for j, name in ((1, "near"), (35, "far")):
        assert ((moved[0] - moved[j]) ** 2).mean() == pytest.approx(float(data[name]), rel=0.03)
    assert data["near"] < data["far"]
