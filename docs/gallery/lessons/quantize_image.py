"""Image compression by K-means: a palette of a few colours, and for each pixel which one."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lowdim as ld

Picture = NDArray[Any]


class Quantized(NamedTuple):
    """An image in few colours, and what that saves: sizes are in bits, as in Bishop (2006) sec. 9.1.1."""

    image: Picture  # as the original: same type, same shape
    palette: Picture  # colours x channels, in the image's own type; the most frequent first
    labels: NDArray[np.int64]  # H x W, which colour each pixel has
    mean_squared_error: float
    bits: int  # pixels * bits a label + palette
    ratio: float  # that over the original's bits: small is good


def quantize_image(image: Picture, n_colors: int = 16, *, n_init: int = 1, max_iter: int = 100) -> Quantized:
    """An image in at most `n_colors` colours, by K-means on its distinct colours, each counted by its pixels.

    Parameters
    ----------
    image : array of shape (H, W, channels)
        Whole or floating point numbers. An image that has no more colours than wanted is kept to the bit.
    n_colors : int, default=16
        The most colours of the palette.
    n_init : int, default=1
        Starts of K-means; the best is kept.
    max_iter : int, default=100
        The most steps of K-means.

    Returns
    -------
    Quantized
        The image, its palette, labels and sizes.

    References
    ----------
    C. M. Bishop, "Pattern Recognition and Machine Learning", Springer (2006), sec. 9.1.1.

    Examples
    --------
    >>> image = np.zeros((4, 6, 3), dtype=np.uint8); image[:, 3:] = 200; image[0, 0] = 10
    >>> few = quantize_image(image, 2)
    >>> few.palette.tolist(), few.bits, round(few.ratio, 3)
    ([[1, 1, 1], [200, 200, 200]], 72, 0.125)
    """
    flat = image.reshape(-1, image.shape[2])
    colours, which, pixels = np.unique(flat, axis=0, return_inverse=True, return_counts=True)
    which = which.ravel()  # a column in some versions of NumPy
    palette, code = colours, np.arange(len(colours))
    if len(colours) > n_colors:
        table = colours.astype(np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ld.messages.LowdimWarning)  # a palette is judged by its error, returned
            model = ld.KMeans(n_colors, n_init=n_init, max_iter=max_iter).fit(table, sample_weight=pixels)
        centres = model.cluster_centers_
        if image.dtype.kind != "f":
            centres = np.rint(centres)
        palette = np.unique(centres.astype(image.dtype), axis=0)  # rounded, two may be one
        squares = [((table - colour) ** 2).sum(axis=1) for colour in palette.astype(np.float64)]
        code = np.argmin(squares, axis=0)
    # the colours in use, the most frequent first
    use = np.bincount(code, pixels, len(palette))
    order = np.argsort(-use, kind="stable")[: np.count_nonzero(use)]
    place = np.zeros(len(palette), dtype=np.int64)
    place[order] = np.arange(len(order))
    palette = palette[order]
    label = place[code][which]
    quantized = palette[label]
    difference = quantized.astype(np.float64) - flat.astype(np.float64)
    colour_bits = 8 * image.dtype.itemsize * image.shape[2]
    bits = len(flat) * (len(palette) - 1).bit_length() + colour_bits * len(palette)
    return Quantized(
        quantized.reshape(image.shape),
        palette,
        label.reshape(image.shape[:2]),
        float(np.mean(difference * difference)),
        bits,
        bits / (colour_bits * len(flat)),
    )
