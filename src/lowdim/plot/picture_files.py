"""Pictures as arrays: read and written by matplotlib, eight bits a channel."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.text.escape import protect_terminal
from lowdim.text.messages import error

Pixels = NDArray[np.uint8]


def read_picture(path: str | PathLike[str]) -> Pixels:
    """A picture file as height x width x channels of 0 to 255; one that is not there or no picture is refused."""
    from matplotlib.image import imread

    name = protect_terminal(str(path))
    if not Path(path).is_file():
        raise error("LD001", "the current folder", name=name, why="", fix="check the spelling")
    try:
        picture: Any = imread(Path(path))
    except (OSError, ValueError, SyntaxError) as cause:  # SyntaxError is what a broken PNG is to its reader
        raise error("LD011", name=name, problem=protect_terminal(str(cause))[:120]) from cause
    levels = np.asarray(picture)
    if levels.dtype.kind == "f":  # a PNG comes as shares of its brightest
        return np.asarray(np.rint(levels * 255.0), dtype=np.uint8)
    return levels.astype(np.uint8) if levels.dtype.itemsize == 1 else np.asarray(levels >> 8, dtype=np.uint8)


def write_picture(path: str | PathLike[str], pixels: Pixels) -> Path:
    """Write height x width (x channels) of 0 to 255 as a PNG file, whole or not at all."""
    from io import BytesIO

    from matplotlib.image import imsave

    from lowdim.jobs.run_folder import write

    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] in (1, 2) else pixels
    colours = np.repeat(flat[..., None], 3, axis=2) if flat.ndim == 2 else flat
    data = BytesIO()
    imsave(data, colours, format="png")
    return write(path, data.getvalue())
