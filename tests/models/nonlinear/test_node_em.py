"""Responsibilities against a slow E-step, and the regression of the M-step."""

import numpy as np
import pytest

from lowdim.models.nonlinear.node_em import (
    NodeSums,
    least_squares,
    node_responsibilities,
    normal_matrices,
    solve_columns,
    solve_weights,
)
from tests.models.nonlinear.tables import arc


@pytest.mark.parametrize("psi", [0.3, 1e-6])
@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_responsibilities_a_row_at_a_time(gaps, psi):
    X, Y = arc(12, gaps=gaps), arc(9, seed=1)
    mask = ~np.isnan(X)
    R, log_density = node_responsibilities(np.nan_to_num(X), mask if gaps else None, Y, psi)
    for i, x in enumerate(X):
        seen = mask[i]
        each = [-0.5 * ((x[seen] - y[seen]) ** 2).sum() / psi - 0.5 * seen.sum() * np.log(2 * np.pi * psi) for y in Y]
        assert log_density[i] == pytest.approx(np.logaddexp.reduce(each) - np.log(len(Y)), abs=1e-12, rel=1e-14)
        assert R[i] == pytest.approx(np.exp(each - np.logaddexp.reduce(each)), abs=1e-12)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_smallest_weights_of_all_that_fit_as_well(columns):
    """Against the pseudo-inverse of the weighted design, where normal equations are singular."""
    rng = np.random.default_rng(0)
    Phi, G, RX = rng.random((5, 9)), rng.random((5, columns)), rng.random((5, 3))
    G[2] = 0.0
    RX[2] = 0.0
    stats = NodeSums(1.0, 0.0, G, RX, 1.0, 1.0, 0.0)
    A = np.array([Phi.T @ (Phi * g[:, None]) for g in G.T])
    W = solve_weights(Phi, stats, A, np.zeros(9), np.zeros((9, 3)))
    for j in range(3):
        g = G[:, j % columns]
        root = np.sqrt(g)
        aim = np.divide(RX[:, j], root, out=np.zeros(5), where=g > 0)
        assert W[:, j] == pytest.approx(np.linalg.pinv(Phi * root[:, None]) @ aim, abs=1e-9)
    ridge = np.append(np.full(8, 1e-3), 0.0)
    V = solve_weights(Phi, stats, A, ridge, W)
    for j in range(3):
        slope = A[j % columns] @ V[:, j] - Phi.T @ RX[:, j] + ridge * V[:, j]
        assert np.abs(slope).max() < 1e-12


def test_least_squares_are_the_normal_equations_where_these_are_regular():
    rng = np.random.default_rng(1)
    Phi, ridge = rng.random((12, 4)), np.array([0.1, 0.2, 0.3, 0.0])
    for columns in (1, 3):
        G, RX = rng.random((12, columns)), rng.random((12, 3))
        stats = NodeSums(1.0, 0.0, G, RX, 1.0, 1.0, 0.0)
        W = solve_columns(normal_matrices(Phi, stats) + np.diag(ridge), Phi.T @ RX)
        assert least_squares(Phi, stats, ridge, None) == pytest.approx(W, abs=1e-12)
