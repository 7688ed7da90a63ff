"""Grids of latent points, radial basis functions over them, and how a sheet stretches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.math.linalg import Array
from lowdim.math.neighbors import squared_distances

LARGEST = float(np.finfo(float).max)


def grid(per_side: int, L: int) -> Array:
    """per_side^L points evenly spread over [-1, 1]^L, the last coordinate running fastest.

    >>> grid(3, 1).ravel().tolist()
    [-1.0, 0.0, 1.0]
    """
    side = np.linspace(-1.0, 1.0, per_side) if per_side > 1 else np.zeros(1)
    return np.stack(np.meshgrid(*[side] * L, indexing="ij"), axis=-1).reshape(-1, L)


class Basis(NamedTuple):
    """exp(-|z - c|^2 / (2 width^2)) for each centre, and a constant."""

    centres: Array  # M x L
    width: float

    def at(self, Z: Array) -> Array:
        """The functions at points, n x (M + 1)."""
        bells = np.exp(squared_distances(Z, self.centres) * (-0.5 / self.width**2))
        return np.hstack([bells, np.ones((len(Z), 1))])

    def slopes(self, Z: Array) -> Array:
        """Their derivatives by each coordinate, n x (M + 1) x L."""
        bells = self.at(Z)[:, :-1]
        away = (self.centres[None] - Z[:, None]) / self.width**2
        return np.concatenate([bells[:, :, None] * away, np.zeros((len(Z), 1, Z.shape[1]))], axis=1)


def spread_basis(per_side: int, L: int, width: float) -> Basis:
    """per_side^L centres over [-1, 1]^L; `width` in units of their spacing."""
    spacing = 2.0 / (per_side - 1) if per_side > 1 else 2.0
    return Basis(grid(per_side, L), width * spacing)


def magnification(basis: Basis, W: Array, Z: Array) -> Array:
    """sqrt det(J J'), J the slopes of the sheet at each point: area on the sheet for area on the map."""
    with np.errstate(over="ignore"):  # an area may leave double precision where lengths do not
        return np.asarray(np.minimum(_singular(basis, W, Z).prod(axis=1), LARGEST))


def stretch(basis: Basis, W: Array, Z: Array) -> Array:
    """The largest over the smallest singular value of the sheet's slopes at each point; 1 = the same every way."""
    values = _singular(basis, W, Z)
    top = np.where(values[:, 0] > 0.0, values[:, 0], 1.0)  # a sheet that is a point is stretched no way
    return np.asarray(np.where(values[:, 0] > 0.0, 1.0 / np.maximum(values[:, -1] / top, 1e-12), 1.0))


def _singular(basis: Basis, W: Array, Z: Array) -> Array:
    """Singular values of the sheet's slopes, n x L; squares of them would lose digits."""
    return np.asarray(np.linalg.svd(np.einsum("nml,md->nld", basis.slopes(Z), W), compute_uv=False))
