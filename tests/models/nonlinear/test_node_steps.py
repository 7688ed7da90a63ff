"""Responsibilities against a slow E-step, the regression of the M-step; bells and the stretching of maps."""

import numpy as np
import pytest

from lowdim import GTM
from lowdim.models.nonlinear.gtm import (
    latent_grid,
    least_squares,
    rbf_grid,
    solve_columns,
    solve_weights,
)
from lowdim.models.nonlinear.node_model import NodeSums, node_responsibilities
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
        A = np.array([Phi.T @ np.diag(g) @ Phi for g in stats.G.T])
        W = solve_columns(A + np.diag(ridge), Phi.T @ RX)
        assert least_squares(Phi, stats, ridge, None) == pytest.approx(W, abs=1e-12)


def test_slopes_by_finite_differences():
    basis, Z, h = rbf_grid(4, 2, 1.0), np.random.default_rng(0).uniform(-1, 1, (7, 2)), 1e-6
    for k in range(2):
        step = h * np.eye(2)[k]
        slope = (basis.at(Z + step) - basis.at(Z - step)) / (2 * h)
        assert basis.slopes(Z)[:, :, k] == pytest.approx(slope, abs=1e-8)


def test_magnification_and_stretch_by_finite_differences():
    fit, h = GTM(2, grid=8, basis=4).fit(arc()), 1e-6
    Z = np.random.default_rng(0).uniform(-0.9, 0.9, (6, 2))
    ends = [(fit.inverse_transform(Z + h * e), fit.inverse_transform(Z - h * e)) for e in np.eye(2)]
    J = np.stack([(one - other) / (2 * h) for one, other in ends], axis=1)
    values = np.linalg.svd(J, compute_uv=False)
    assert fit.magnification(Z) == pytest.approx(values.prod(axis=1), rel=1e-6)
    assert fit.stretch(Z) == pytest.approx(values[:, 0] / values[:, 1], rel=1e-6)


def test_magnification_is_the_area_of_small_squares():
    """By corners of squares around places, not by slopes; on a sheet in three dimensions."""
    rng = np.random.default_rng(3)
    U = rng.uniform(-1, 1, (300, 2))
    X = np.column_stack([U, 0.5 * (U**2).sum(axis=1)]) + 0.02 * rng.standard_normal((300, 3))
    fit, h = GTM(2, grid=10, basis=4).fit(X), 1e-4
    Z = rng.uniform(-0.8, 0.8, (8, 2))
    corner = {(i, j): fit.inverse_transform(Z + h * np.array([i, j])) for i in (-1, 1) for j in (-1, 1)}
    diagonals = corner[1, 1] - corner[-1, -1], corner[1, -1] - corner[-1, 1]
    area = 0.5 * np.linalg.norm(np.cross(*diagonals), axis=1)
    assert fit.magnification(Z) == pytest.approx(area / (2 * h) ** 2, rel=1e-5)
    whole = fit.magnification(latent_grid(60, 2)).mean() * 4.0
    nodes = fit.inverse_transform(latent_grid(60, 2)).reshape(60, 60, 3)
    sides = [np.diff(nodes, axis=0)[:, :-1], np.diff(nodes, axis=1)[:-1]]
    assert whole == pytest.approx(np.linalg.norm(np.cross(*sides), axis=2).sum(), rel=0.05)


def test_grids():
    assert latent_grid(3, 2).shape == (9, 2) and latent_grid(1, 2).tolist() == [[0.0, 0.0]]
    basis = rbf_grid(3, 1, 2.0, reach=2.5)
    assert basis.centres.ravel().tolist() == [-2.5, 0.0, 2.5] and basis.width == 5.0
