"""Rows as pictures: a curve, an image, or a figure of joined points."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.registry import PlotOption
from lowdim.table.pictures import stick_figure
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.table.table import Table

SHAPE = PlotOption(
    "shape",
    "shape",
    "Rows as images of this height and width, such as 28,28, or as a skeleton",
    doc='tuple of int or "skeleton", optional\n    (d,) draws rows as curves, (height, width) as images, "skeleton" as '
    "figures of joined points.",
)
CONNECTIONS = PlotOption(
    "connections",
    "text",
    "Of a skeleton: a CSV of two columns, the points that are joined",
    doc="sequence of pairs of names, or a path, optional\n    Of a skeleton, the points that are joined; those that "
    "keep their distance where it is left out.",
)
Shape = tuple[int, ...] | str | None
Connections = Sequence[tuple[str, str]] | str | PathLike[str] | None


class Skeleton(NamedTuple):
    """A figure of points: the columns that are across and up of each, and the points that are joined."""

    points: NDArray[np.intp]  # points x 2
    lines: NDArray[np.intp]  # lines x 2

    def at(self, cells: Array) -> Array:
        """Where the points are in rows of cells: rows x points x 2."""
        where: Array = cells[..., self.points]
        return where


class ImageForm(NamedTuple):
    """An image: its height and width, and which pixel each column is."""

    height: int
    width: int
    cells: NDArray[np.intp]

    def pixels(self, values: Array, empty: float) -> Array:
        """The picture of one row; pixels without a column, which never change, are `empty`."""
        whole = np.full(self.height * self.width, empty)
        whole[self.cells] = values
        return whole.reshape(self.height, self.width)


class CurveForm(NamedTuple):
    """A curve over so many columns in their order."""

    length: int


Form = CurveForm | ImageForm | Skeleton | None


def everyone(table: Table) -> list[str]:
    """The columns of numbers of a table, those among them that were left out because they never change."""
    return [column.name for column in table.columns if column.role in ("number", "out")]


def form_of_rows(
    shape: Shape,
    names: Sequence[str],
    X: Array,
    connections: Connections = None,
    everyone: Sequence[str] | None = None,
) -> Form:
    """What a row is drawn as: None, a curve, an image, or the figure that the columns make.

    `everyone` are the columns of the file in their order, where some are left out: the pixels are theirs.
    """
    d = len(names)
    if shape == "skeleton":
        found = stick_figure(names, X, _pairs(connections))
        if found is None:
            why = "the columns are not x and y, or x, y and z, of named points that keep their distances"
            raise error("LD216", name="skeleton", why=why)
        return Skeleton(np.array(found["points"]), np.array(found["lines"]))
    if shape is None:
        return None
    cells = np.arange(d)
    if everyone is not None and not isinstance(shape, str) and int(np.prod(shape)) == len(everyone) != d:
        cells = np.array([everyone.index(name) for name in names])
        d = len(everyone)
    if isinstance(shape, str) or len(shape) > 2 or int(np.prod(shape)) != d:
        allowed = f"(d,), (height, width) with {d} cells in all, or 'skeleton'"
        raise error("LD210", option="shape", value=shape, allowed=allowed)
    return CurveForm(d) if len(shape) == 1 else ImageForm(shape[0], shape[1], cells)


def _pairs(connections: Connections) -> list[tuple[str, str]] | None:
    """Pairs of names, from a file of two columns where a path is given."""
    if connections is None or not isinstance(connections, str | PathLike):
        return None if connections is None else [(str(a), str(b)) for a, b in connections]
    if not Path(connections).is_file():
        why = "it should name the points that are joined"
        raise error("LD001", name=str(connections), why=why, fix="check the spelling")
    with Path(connections).open(newline="", encoding="utf-8") as lines:
        return [(line[0].strip(), line[1].strip()) for line in csv.reader(lines) if len(line) == 2]


def draw_image(
    ax: Axes,
    values: Array,
    form: ImageForm,
    title: str,
    *,
    cmap: str = "gray",
    low: float | None = None,
    high: float | None = None,
) -> None:
    """Cells as the pixels of a picture."""
    empty = float(np.nanmin(values)) if low is None else 0.0 if low == -(high or 0.0) else low
    ax.imshow(form.pixels(values, empty), cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
    _bare(ax, title)


def draw_picture(
    ax: Axes, cells: Array, form: Form, title: str, frame: Array, *, behind: Array | None = None, line: float = 1.2
) -> None:
    """One row as a picture; `frame` are the rows that share one scale, `behind` one that is drawn in grey."""
    low, high = float(np.nanmin(frame)), float(np.nanmax(frame))
    if isinstance(form, Skeleton):
        from matplotlib.collections import LineCollection

        for row, colour, width in ((behind, "#c4c4c4", 2 * line), (cells, draw.COLOURS[0], line)):
            if row is not None:
                at = form.at(row)
                ax.add_collection(LineCollection(list(at[form.lines]), colors=colour, linewidths=width))
                ax.plot(*at.T, "o", ms=1.2 * width, color=colour)
        reach = form.at(frame).reshape(-1, 2)
        (x0, y0), (x1, y1) = np.nanmin(reach, axis=0), np.nanmax(reach, axis=0)
        pad = 0.06 * max(x1 - x0, y1 - y0)
        ax.set(xlim=(x0 - pad, x1 + pad), ylim=(y0 - pad, y1 + pad), aspect="equal")
        _bare(ax, title)
    elif isinstance(form, ImageForm):
        draw_image(ax, cells, form, title, low=low, high=high)
    else:
        if behind is not None:
            ax.plot(behind, color="#c4c4c4", lw=2.2)
        ax.plot(cells, color=draw.COLOURS[0], lw=1.1)
        ax.set_ylim(low, high)
        _bare(ax, title)


def picture_height(form: Form, cells: Array) -> float:
    """How high a picture is beside its width."""
    if isinstance(form, Skeleton):
        reach = np.nanmax(form.at(cells).reshape(-1, 2), axis=0) - np.nanmin(form.at(cells).reshape(-1, 2), axis=0)
        return float(np.clip(reach[1] / max(float(reach[0]), 1e-12), 0.4, 2.5))
    return form.height / form.width if isinstance(form, ImageForm) else 0.6


def _bare(ax: Axes, title: str) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    if title:
        ax.set_title(title, fontsize=9, loc="center")
