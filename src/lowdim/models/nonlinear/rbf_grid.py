"""Grids of latent points, radial basis functions over them, and how a map through them stretches."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.maths.pairs import squared_distances
from lowdim.maths.scale import LARGEST


class BasisFunctions(Protocol):
    """M functions of a latent place, and a constant."""

    def at(self, Z: Array) -> Array:
        """Their values at points, n x (M + 1)."""

    def slopes(self, Z: Array) -> Array:
        """Their derivatives by each coordinate, n x (M + 1) x L."""


class RBFBasis(NamedTuple):
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
        offsets = (self.centres[None] - Z[:, None]) / self.width**2
        return np.concatenate([bells[:, :, None] * offsets, np.zeros((len(Z), 1, Z.shape[1]))], axis=1)


def latent_grid(per_side: int, L: int) -> Array:
    """per_side^L points evenly spread over [-1, 1]^L, the last coordinate running fastest.

    >>> latent_grid(3, 1).ravel().tolist()
    [-1.0, 0.0, 1.0]
    """
    side = np.linspace(-1.0, 1.0, per_side) if per_side > 1 else np.zeros(1)
    return np.stack(np.meshgrid(*[side] * L, indexing="ij"), axis=-1).reshape(-1, L)


def rbf_grid(per_side: int, L: int, width: float, reach: float = 1.0) -> RBFBasis:
    """per_side^L centres over [-reach, reach]^L; `width` in units of their spacing."""
    spacing = 2.0 / (per_side - 1) if per_side > 1 else 2.0
    return RBFBasis(latent_grid(per_side, L) * reach, width * spacing * reach)


def magnification(basis: BasisFunctions, W: Array, Z: Array, unit: float = 1.0) -> Array:
    """sqrt det(J J') of x = unit W'phi(z) at each point: area in the table's space for area on the map."""
    with np.errstate(over="ignore"):  # an area may leave double precision where lengths do not
        return np.asarray(np.minimum((_singular_values(basis, W, Z) * unit).prod(axis=1), LARGEST))


def stretch(basis: BasisFunctions, W: Array, Z: Array) -> Array:
    """The largest over the smallest singular value of J at each point; 1 = the same every way."""
    values = _singular_values(basis, W, Z)
    top = np.where(values[:, 0] > 0.0, values[:, 0], 1.0)  # where all directions shrink to a point: none is stretched
    return np.asarray(np.where(values[:, 0] > 0.0, 1.0 / np.maximum(values[:, -1] / top, 1e-12), 1.0))


def _singular_values(basis: BasisFunctions, W: Array, Z: Array) -> Array:
    """Singular values of J, n x L; squares of them would lose digits."""
    return np.asarray(np.linalg.svd(np.einsum("nml,md->nld", basis.slopes(Z), W), compute_uv=False))
