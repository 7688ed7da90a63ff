"""A digit turned and moved: pictures with hundreds of pixels and three degrees of freedom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array

SIDE = 16  # pixels a side
DIGIT = 3  # which of scikit-learn's
LARGEST_TURN, LARGEST_MOVE = 25.0, 1.2  # degrees, pixels
BLUR = 1.0  # sd of the blur in pixels: a move by less than a pixel shows
GRAIN = 0.02  # sd of a pixel's noise, where the darkest is near 1


class TurnedDigit(NamedTuple):
    """Pictures of one digit, and how each was made."""

    columns: tuple[str, ...]
    X: Array  # n x side^2, brightness from 0 to about 1
    freedom: Array  # n x 3: the turn in degrees, the moves right and down in pixels
    side: int

    @property
    def images(self) -> Array:
        """The pictures, n x side x side."""
        return self.X.reshape(-1, self.side, self.side)


def digit3(n: int = 150, *, side: int = SIDE, random_state: int = 0) -> TurnedDigit:
    """A handwritten digit of scikit-learn's, turned by up to 25 degrees and moved up to 1.2 pixels each way.

    Three numbers make each picture; whatever else is in its pixels is noise of sd 0.02. A straight model needs more
    than three axes for it, since turned pictures lie on a bent sheet.

    Parameters
    ----------
    n : int, default 150
        Pictures.
    side : int, default 16
        Pixels a side; moves grow with it.
    random_state : int, default 0
        Seed of turns, moves and noise.

    Returns
    -------
    TurnedDigit

    References
    ----------
    T. Kipf, Unsupervised Learning with Latent Variable Models (2016): "3 degrees of freedom".
    C. M. Bishop, Pattern Recognition and Machine Learning, Springer (2006), sec. 12.0.

    Examples
    --------
    >>> table = digit3(5)
    >>> table.X.shape, table.freedom.shape, table.images.shape
    ((5, 256), (5, 3), (5, 16, 16))
    """
    from scipy.ndimage import affine_transform

    rng = np.random.default_rng(random_state)
    move = LARGEST_MOVE * side / SIDE
    freedom = rng.uniform(-1.0, 1.0, (n, 3)) * [LARGEST_TURN, move, move]
    picture, middle = _picture(side), np.full(2, (side - 1) / 2)
    rows = []
    for turn, right, down in freedom:
        a = np.deg2rad(turn)
        R = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        moved = middle + np.array([down, right])
        rows.append(affine_transform(picture, R, middle - R @ moved, order=1).ravel())
    X = np.array(rows).reshape(n, side * side) + GRAIN * rng.standard_normal((n, side * side))
    return TurnedDigit(tuple(f"pixel{j + 1}" for j in range(side * side)), X, freedom, side)


def _picture(side: int) -> Array:
    """The digit in the middle of an empty picture, blurred."""
    from scipy.ndimage import gaussian_filter, zoom
    from sklearn.datasets import load_digits

    digit = zoom(load_digits().images[DIGIT] / 16.0, 2 * side // 3 / 8, order=1)
    picture, edge = np.zeros((side, side)), (side - len(digit)) // 2
    picture[edge : edge + len(digit), edge : edge + len(digit)] = digit
    blurred: Array = gaussian_filter(picture, BLUR * side / SIDE)
    return blurred
