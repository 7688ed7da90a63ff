"""Image compression by K-means: sizes as Bishop (2006) prints them, errors as scikit-learn finds, any image."""

import numpy as np
import pytest
from lessons.quantize_image import quantize_image
from sklearn.cluster import KMeans as Peer


def picture(shape=(24, 32), channels=3, dtype=np.uint8, seed=0):
    """Smooth bands with noise: a few hundred colours."""
    rng = np.random.default_rng(seed)
    y, x = np.indices(shape)
    waves = np.stack([np.sin(x / 7 + k) + np.cos(y / (5 + k)) for k in range(channels)], axis=-1)
    grey = (waves - waves.min()) / np.ptp(waves) + 0.03 * rng.standard_normal(waves.shape)
    out = np.clip(grey, 0, 1)
    return out.astype(dtype) if np.dtype(dtype).kind == "f" else (out * np.iinfo(dtype).max).astype(dtype)


@pytest.mark.parametrize(("K", "bits", "share"), [(2, 43_248, 4.2), (3, 86_472, 8.3), (10, 173_040, 16.7)])
def test_the_sizes_that_bishop_prints(K, bits, share):
    """240 x 180 pixels of 24 bits are 1,036,800 bits: p. 429 gives these for K colours, and their ratios."""
    image = picture((180, 240))
    made = quantize_image(image, K, max_iter=5)
    assert image.size * 8 == 1_036_800
    assert made.bits == bits and round(100 * made.ratio, 1) == share


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, np.float64])
def test_every_type_of_image(channels, dtype):
    image = picture(channels=channels, dtype=dtype)
    made = quantize_image(image, 8)
    assert made.image.dtype == image.dtype == made.palette.dtype and made.image.shape == image.shape
    assert made.labels.shape == image.shape[:2] and made.labels.max() < len(made.palette) <= 8
    flat = made.image.reshape(made.labels.size, -1)
    assert np.array_equal(made.palette[made.labels.ravel()], flat)
    off = made.image.astype(float) - image.astype(float)
    assert made.mean_squared_error == pytest.approx(np.mean(off**2))
    use = np.bincount(made.labels.ravel())
    assert (np.diff(use) <= 0).all() and use.min() > 0
    deep = image.dtype.itemsize * 8 * channels
    assert made.bits == made.labels.size * 3 + deep * len(made.palette) if len(made.palette) > 4 else True
    assert made.ratio == pytest.approx(made.bits / (deep * made.labels.size))


def test_few_colours_are_kept_to_the_bit():
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (9, 3), dtype=np.uint8)
    image = colours[rng.integers(0, 9, (40, 30))]
    made = quantize_image(image, 16)
    assert np.array_equal(made.image, image) and made.mean_squared_error == 0.0 and len(made.palette) == 9
    assert made.bits == 1200 * 4 + 9 * 24
    one = quantize_image(np.full((5, 4, 1), 3.5), 4)
    assert one.bits == 64 and np.array_equal(one.image, np.full((5, 4, 1), 3.5))  # one colour needs no labels


def test_as_good_as_k_means_on_every_pixel():
    image = picture((40, 50))
    X = image.reshape(-1, 3).astype(float)
    made = quantize_image(image, 12, n_init=4)
    peer = Peer(12, n_init=4, random_state=0).fit(X)
    assert made.mean_squared_error <= 1.03 * peer.inertia_ / X.size + 1.0 / 12.0  # whole numbers cost 1/12


def test_the_photograph_of_a_temple():
    pytest.importorskip("PIL", reason="pillow reads the photograph")
    from sklearn.datasets import load_sample_image

    image = load_sample_image("china.jpg")[::3, ::3]
    made = quantize_image(image, 16)
    X = image.reshape(-1, 3).astype(float)
    peer = Peer(16, n_init=1, random_state=0).fit(X)
    assert made.mean_squared_error <= 1.05 * peer.inertia_ / X.size
    assert 0.16 < made.ratio < 0.18 and len(made.palette) == 16
    again = quantize_image(image, 16)
    assert np.array_equal(again.labels, made.labels)
