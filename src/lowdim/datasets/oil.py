"""A simulator of three-phase flow in a pipe, read by dual-energy gamma beams.

Water, oil and gas fill a pipe of radius one in one of three regimes. Six beams, three vertical and three
horizontal, cross it; each is attenuated at two energies, and from the two attenuations follow the lengths
of water and of oil in its path (the gas is the rest of the chord). Photons are counted, so readings carry
Poisson noise.

The readings are those of Bishop and James (1993), see `oil_flow`; the data are simulated here anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array

REGIMES = ("homogeneous", "annular", "stratified")
BEAMS = np.array([-0.6, 0.0, 0.6])  # distance of each beam from the axis of the pipe
ATTENUATION = np.array([[0.50, 0.32], [0.22, 0.19]])  # energies x (water, oil), for one radius of path
PHOTONS = 1e6  # counted on an empty pipe


class OilFlow(NamedTuple):
    """Readings, the regime of each row, and the true fractions of water, oil and gas."""

    columns: tuple[str, ...]
    X: Array
    regime: np.ndarray
    fractions: Array


def oil_flow(n: int = 1000, *, random_state: int = 0) -> OilFlow:
    """Simulate three-phase flow in a pipe, read by six gamma beams at two energies [Bishop1993].

    Parameters
    ----------
    n : int, default 1000
        Rows.
    random_state : int, default 0
        Seed of the draw.

    Returns
    -------
    OilFlow
        With `X` (n x 12), `columns`, the `regime` of each row and the true `fractions` of water, oil and gas.

    References
    ----------
    C. M. Bishop and G. D. James, Analysis of multiphase flows using dual-energy gamma densitometry and neural
    networks, Nuclear Instruments and Methods in Physics Research A 327, 580-593, 1993.

    Examples
    --------
    >>> flow = oil_flow(5)
    >>> flow.X.shape, bool(np.allclose(flow.fractions.sum(axis=1), 1.0))
    ((5, 12), True)
    """
    rng = np.random.default_rng(random_state)
    regime = rng.integers(0, 3, n)
    fractions = rng.dirichlet(np.ones(3), n)  # water, oil, gas
    paths = np.empty((n, 6, 2))
    for number, lengths in enumerate((_homogeneous, _annular, _stratified)):
        rows = regime == number
        paths[rows] = lengths(fractions[rows])
    names = tuple(
        f"{way}{k + 1}_{phase}" for way in ("vertical", "horizontal") for k in range(3) for phase in ("water", "oil")
    )
    labels = np.array(REGIMES, dtype=object)[regime]
    return OilFlow(names, _measured(paths, rng).reshape(n, 12), labels, fractions)


def _measured(paths: Array, rng: np.random.Generator) -> Array:
    """Path lengths as counted photons tell them."""
    counts = rng.poisson(PHOTONS * np.exp(-paths @ ATTENUATION.T))
    lengths: Array = np.log(PHOTONS / np.maximum(counts, 1)) @ np.linalg.inv(ATTENUATION).T
    return lengths


def _chords() -> Array:
    return 2.0 * np.sqrt(1.0 - np.tile(BEAMS, 2) ** 2)


def _homogeneous(f: Array) -> Array:
    """Every beam crosses each phase in proportion to its fraction."""
    return _chords()[None, :, None] * f[:, None, :2]


def _annular(f: Array) -> Array:
    """Gas in the middle, oil around it, water along the wall."""
    far = np.tile(BEAMS, 2) ** 2

    def inside(radius2: Array) -> Array:
        lengths: Array = 2.0 * np.sqrt(np.maximum(radius2[:, None] - far, 0.0))
        return lengths

    core, ring = inside(f[:, 2]), inside(f[:, 2] + f[:, 1])
    return np.stack([_chords() - ring, ring - core], axis=2)


def _stratified(f: Array) -> Array:
    """Water below, oil upon it, gas on top."""
    low, high = level(f[:, 0]), level(f[:, 0] + f[:, 1])
    half = np.sqrt(1.0 - BEAMS**2)
    wet = [np.clip(top[:, None], -half, half) + half for top in (low, high)]  # what a vertical beam crosses below
    vertical = np.stack([wet[0], wet[1] - wet[0]], axis=2)
    below = [top[:, None] > BEAMS for top in (low, high)]  # a horizontal beam lies in one layer
    horizontal = np.stack([below[0], below[1] & ~below[0]], axis=2) * (2.0 * half)[None, :, None]
    return np.concatenate([vertical, horizontal], axis=1)


def level(share: Array) -> Array:
    """The height below which a share of the disc's area lies.

    >>> level(np.array([0.0, 0.5, 1.0])).round(6).tolist()
    [-1.0, 0.0, 1.0]
    """
    h = -np.cos(np.linspace(0.0, np.pi, 4097))  # dense near the top and bottom, where areas change slowly
    area = (np.arccos(-h) + h * np.sqrt(np.maximum(1.0 - h * h, 0.0))) / np.pi
    return np.interp(share, area, h)
