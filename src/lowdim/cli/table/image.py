"""image: a picture in a few colours by K-means, and what that saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lowdim.cli.command import command
from lowdim.cli.options import SEED, common_options, stem
from lowdim.cli.say import print_json, say

SHOWN_COLOURS = 8  # of the palette, the most used first


@command(
    "A picture in a few colours, and what that saves.",
    example="lowdim image photo.png --colors 16",
    rank=14,
)
@click.argument("file")
@click.option("-o", "--out", help="PNG file to write [default: NAME.K.png].")
@click.option("--colors", "--colours", type=click.IntRange(1), default=16, show_default=True, help="Colours at most.")
@SEED
@common_options
def image_command(file: str, out: str | None, colors: int, seed: int, quiet: bool, as_json: bool) -> None:
    """Write FILE (.png, .ppm, .jpg) with at most so many colours, chosen by K-means over its pixels."""
    from lowdim.models.mixtures.quantize_image import quantize_image
    from lowdim.plot.picture_files import read_picture, write_picture

    picture = read_picture(file)
    few = quantize_image(picture, colors, random_state=seed)
    path = write_picture(out or f"{stem(file)}.{len(few.palette)}.png", few.image)
    palette = [colour_word(colour) for colour in few.palette]
    if as_json:
        facts: dict[str, Any] = {"bits": few.bits, "ratio": few.ratio, "bits_per_pixel": few.bits_per_pixel}
        return print_json(palette=palette, mean_squared_error=few.mean_squared_error, **facts, wrote=str(path))
    height, width = picture.shape[:2]
    more = f" and {len(palette) - SHOWN_COLOURS} more" if len(palette) > SHOWN_COLOURS else ""
    say(
        f"{Path(file).name}: {width} x {height} pixels in {len(palette)} colours, {few.bits_per_pixel:.2f} bits a "
        f"pixel, {few.ratio:.1%} of the picture's own.\n"
        f"Root mean squared error {few.mean_squared_error**0.5:.2f} of 255. Most used: "
        f"{', '.join(palette[:SHOWN_COLOURS])}{more}.\nWrote {path}"
    )
    return None


def colour_word(colour: Any) -> str:
    """A colour as a page writes it: one grey level, or red, green, blue."""
    parts = [int(part) for part in colour]
    return "#" + "".join(f"{part:02x}" for part in (parts * 3 if len(parts) == 1 else parts))
