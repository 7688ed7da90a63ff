"""Image compression by K-means: a palette of a few colours, and for each pixel which one."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.kmeans import nearest_labels
from lowdim.maths.linalg import Array, moderate_factor
from lowdim.models.mixtures.kmeans import KMeans
from lowdim.text.messages import LowdimWarning, error

Picture = NDArray[Any]


class Quantized(NamedTuple):
    """An image in few colours, and what that saves; sizes are in bits, as in Bishop (2006) sec. 9.1.1.

    `bits` = pixels * bits a label + palette; `ratio` is that over the original's bits (small is good).
    """

    image: Picture  # as the original: same type, same shape
    palette: Picture  # colours x channels, in the image's own type; the most frequent first
    labels: NDArray[np.int64]  # H x W, which colour each pixel has
    bits_per_pixel: float
    ratio: float
    mean_squared_error: float
    bits: int


def quantize_image(
    image: Any, n_colors: int = 16, *, random_state: Any = 0, n_init: int = 1, max_iter: int = 100
) -> Quantized:
    """An image in at most `n_colors` colours, by K-means on its distinct colours, each counted by its pixels.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, channels)
        Whole or floating point numbers. An image that has no more colours than wanted is kept to the bit.
    n_colors : int, default=16
        The most colours of the palette.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the starts; None is 0.
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
    picture, flat = _pixels(image)
    is_count = isinstance(n_colors, int | np.integer) and not isinstance(n_colors, bool) and n_colors >= 1
    if not is_count:
        raise error("LD210", option="n_colors", value=n_colors, allowed="a whole number >= 1")
    colours, which, pixels = _distinct(flat)
    if len(colours) > n_colors:
        palette, of = _palette(colours, pixels, n_colors, random_state, n_init, max_iter)
    else:
        palette, of = colours, np.arange(len(colours))
    palette, of = _by_use(palette, of, pixels)
    label = of[which]
    quantized = palette[label]
    difference = quantized.astype(np.float64) - flat.astype(np.float64)
    deep = 8 * picture.dtype.itemsize * flat.shape[1]
    bits = len(flat) * _label_bits(len(palette)) + deep * len(palette)
    return Quantized(
        quantized.reshape(picture.shape),
        palette,
        label.reshape(picture.shape[:2]),
        bits / len(flat),
        bits / (deep * len(flat)),
        float(np.mean(difference * difference)),
        bits,
    )


def _label_bits(colours: int) -> int:
    """Whole bits that tell so many colours apart."""
    return (colours - 1).bit_length()


def _pixels(image: Any) -> tuple[Picture, Picture]:
    """The image as an array, and its pixels as rows of channels."""
    if np.ma.is_masked(image):  # below a mask may stand anything
        raise error("LD264", problem="some of its pixels are masked")
    try:
        picture = np.asarray(image)
    except ValueError as problem:  # rows of different lengths
        raise error("LD264", problem=f"NumPy says: {problem}"[:120]) from None
    if picture.ndim not in (2, 3) or not picture.size:
        raise error("LD264", problem=f"its shape is {picture.shape}")
    if picture.dtype.kind not in "uif":
        raise error("LD264", problem=f"it holds {picture.dtype} and not numbers")
    if picture.dtype.kind == "f" and not np.isfinite(picture).all():
        raise error("LD264", problem="it holds NaN or infinite numbers")
    if moderate_factor(picture.astype(np.longdouble)) != 1.0:
        raise error("LD264", problem="its numbers are so large or small that their squares cannot be stored")
    return picture, np.ascontiguousarray(picture).reshape(picture.shape[0] * picture.shape[1], -1)


def _distinct(flat: Picture) -> tuple[Picture, NDArray[np.int64], Array]:
    """The distinct rows, which of them each row is, and how often each occurs."""
    width = flat.dtype.itemsize * flat.shape[1]
    if flat.dtype.kind == "u" and width <= 8:  # a colour as one number: sorting those is ten times as fast
        key = np.zeros((len(flat), 8), dtype=np.uint8)
        key[:, :width] = flat.view(np.uint8).reshape(len(flat), width)
        _, first, which, pixels = np.unique(
            key.view(np.uint64)[:, 0], return_index=True, return_inverse=True, return_counts=True
        )
        return flat[first], which, pixels.astype(np.float64)
    colours, which, pixels = np.unique(flat, axis=0, return_inverse=True, return_counts=True)
    return colours, which.ravel(), pixels.astype(np.float64)


def _palette(
    colours: Picture, pixels: Array, K: int, seed: Any, starts: int, steps: int
) -> tuple[Picture, NDArray[np.int64]]:
    """Centres of the colours in the image's own type, and the nearest of them for each colour."""
    model = KMeans(K, n_init=starts, max_iter=steps, random_state=seed)
    table = colours.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # a palette is good or not by its error, which is returned
        centres = model.fit(table, sample_weight=pixels).cluster_centers_
    if colours.dtype.kind != "f":
        centres = np.rint(centres)
    palette = np.unique(centres.astype(colours.dtype), axis=0)  # rounded, two may be one
    origin = table.mean(axis=0)
    return palette, nearest_labels(table - origin, None, palette.astype(np.float64) - origin)[0]


def _by_use(palette: Picture, of: NDArray[np.int64], pixels: Array) -> tuple[Picture, NDArray[np.int64]]:
    """The colours in use, the most frequent first."""
    use = np.bincount(of, pixels, len(palette))
    order = np.argsort(-use, kind="stable")[: int((use > 0).sum())]
    place = np.zeros(len(palette), dtype=np.int64)
    place[order] = np.arange(len(order))
    return palette[order], place[of]
