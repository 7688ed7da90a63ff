"""Grids, bells and the stretching of maps through them, by finite differences and by areas."""

import numpy as np
import pytest

from lowdim import GTM
from lowdim.models.nonlinear.node_em import latent_grid, rbf_grid
from tests.models.nonlinear.tables import arc


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
