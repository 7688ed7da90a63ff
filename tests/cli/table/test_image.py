"""`lowdim image`: a picture in a few colours, as `quantize_image` gives them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.image import imread, imsave

import lowdim as ld


@pytest.fixture
def photo(lowdim):
    """A picture of 24 x 40 pixels with many colours, as PNG and as PPM."""
    rng = np.random.default_rng(0)
    pixels = (rng.integers(0, 4, (24, 40, 1)) * 60 + rng.integers(0, 12, (24, 40, 3))).astype(np.uint8)
    imsave(lowdim.folder / "photo.png", pixels)
    (lowdim.folder / "photo.ppm").write_bytes(b"P6\n40 24\n255\n" + pixels.tobytes())
    return pixels


@pytest.mark.parametrize("name", ["photo.png", "photo.ppm"])
def test_the_picture_written_is_that_of_the_function(lowdim, photo, name):
    told = json.loads(lowdim("image", name, "--colors", 4, "-o", "four.png", "--json").out)
    pixels = np.rint(imread(lowdim.folder / name) * (255.0 if name.endswith("png") else 1.0)).astype(np.uint8)
    few = ld.quantize_image(pixels, 4)
    assert told["bits"] == few.bits and told["mean_squared_error"] == pytest.approx(few.mean_squared_error)
    assert len(told["palette"]) == 4
    written = np.rint(imread(lowdim.folder / "four.png")[..., :3] * 255).astype(np.uint8)
    assert np.array_equal(written, few.image[..., :3])
    # 2 bits a pixel and a palette, beside 8 bits a channel
    channels = pixels.shape[2]
    assert told["bits"] == 24 * 40 * 2 + 4 * 8 * channels


def test_words_and_the_name_of_the_file(lowdim, photo):
    said = lowdim("image", "photo.ppm", "--colours", 2)
    assert said.code == 0 and "40 x 24 pixels in 2 colours" in said.out and (lowdim.folder / "photo.2.png").is_file()


def test_what_is_no_picture_is_refused(lowdim):
    (lowdim.folder / "no.png").write_text("not a picture")
    broken, missing = lowdim("image", "no.png"), lowdim("image", "nothing.png")
    assert broken.code == 3 and "LD011" in broken.err
    assert missing.code == 3 and "LD001" in missing.err
    assert lowdim("image", "no.png", "--colors", 0).code == 2
