"""What may be drawn on any map: rows joined in their order, and pictures of some rows beside their points."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.layout import lay_out
from lowdim.plot.marks import legend_above
from lowdim.plot.pictures import Form, Skeleton, draw_picture, picture_height
from lowdim.plot.registry import PlotOption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

JOIN = PlotOption(
    "join",
    "flag",
    "Join the rows in their order",
    doc="bool, default False\n    Whether rows are joined in their order.",
)
CLOSED_LOOP = 0.05  # of the map's width: a path whose end comes nearer than this to its first half closes a loop
MOST_PICTURES = 24
PICTURE_SIDE = 0.085  # of the width of the axes
TURNS = np.arange(0, 360, 30)  # degrees from a point to its picture
REACHES = (0.75, 1.1, 1.6)  # of a picture's side, how far it lies from its point


class RowPictures(NamedTuple):
    """The rows of a map as pictures: their cells, and what they form."""

    cells: Array
    form: Form


def draw_path(ax: Axes, xy: Array) -> None:
    """Join the rows in their order, and mark the first and the last."""
    ax.plot(*xy.T, "-", color=draw.INK, lw=0.7, alpha=0.7, zorder=2)
    ax.plot(*xy[:1].T, ">", color=draw.COLOURS[3], mec=draw.PAPER, ms=10, zorder=5, label="first row")
    ax.plot(*xy[-1:].T, "s", color=draw.COLOURS[3], mec=draw.PAPER, ms=8, zorder=5, label="last row")
    legend_above(ax, handles=ax.get_lines()[-2:], ncols=2)


def path_words(Z: Array) -> str:
    """Whether rows that are joined in their order come back to where they began."""
    if len(Z) < 2:
        return ""
    i, share = comes_back(Z)
    closes = "the loop closes" if share < CLOSED_LOOP else "the path stays open"
    return (
        f" Rows are joined in order: of their first half row {i + 1} is nearest to the last one, "
        f"{draw.percent(share)} of the map's width apart, so {closes}."
    )


def comes_back(Z: Array) -> tuple[int, float]:
    """The row of a path's first half that its last row comes nearest to, and how near, in widths of the map.

    >>> turn = np.linspace(0.0, 2.0 * np.pi, 21)
    >>> comes_back(np.column_stack([np.cos(turn), np.sin(turn)]))[0]
    0
    """
    far = np.linalg.norm(Z[: max(len(Z) // 2, 1)] - Z[-1], axis=1)
    i = int(np.argmin(far))
    return i, float(far[i]) / (float(np.linalg.norm(np.ptp(Z, axis=0))) or 1.0)


def draw_beside(ax: Axes, xy: Array, pictures: RowPictures) -> NDArray[np.intp]:
    """Pictures of rows spread over the map, each beside its point where there is room; the rows that got one."""
    figure = draw.figure_of(ax)
    lay_out(figure)
    ax.apply_aspect()
    box, inches = ax.get_position(), figure.get_size_inches()
    wide = PICTURE_SIDE
    tall = wide * picture_height(pictures.form, pictures.cells) * box.width * inches[0] / (box.height * inches[1])
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    at = (xy - (x0, y0)) / (x1 - x0, y1 - y0)
    taken: list[Array] = []
    shown: list[int] = []
    for row in far_apart(at, 2 * MOST_PICTURES):
        corner = _free_corner(at[row], at, np.array([wide, tall]), taken)
        if corner is None or len(shown) == MOST_PICTURES:
            continue
        taken.append(corner)
        shown.append(int(row))
        middle = corner + np.array([wide, tall]) / 2
        ax.plot(*np.stack([at[row], middle]).T, "-", color=draw.GREY, lw=0.6, transform=ax.transAxes, zorder=4)
        inset = ax.inset_axes((float(corner[0]), float(corner[1]), wide, tall), zorder=5)
        frame = pictures.cells if not isinstance(pictures.form, Skeleton) else pictures.cells[row][None]
        draw_picture(inset, pictures.cells[row], pictures.form, "", frame, line=0.7)
        inset.patch.set_visible(not isinstance(pictures.form, Skeleton))
    return np.array(shown, dtype=np.intp)


def far_apart(at: Array, most: int) -> NDArray[np.intp]:
    """Positions that are far from each other: the one farthest from the middle, then each the farthest from those.

    >>> far_apart(np.array([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0]]), 2).tolist()
    [2, 0]
    """
    chosen = [int(np.argmax(((at - at.mean(axis=0)) ** 2).sum(axis=1)))]
    near = ((at - at[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < min(most, len(at)) and near.max() > 0.0:
        chosen.append(int(np.argmax(near)))
        near = np.minimum(near, ((at - at[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen, dtype=np.intp)


def _free_corner(point: Array, points: Array, size: Array, taken: list[Array]) -> Array | None:
    """The lower left corner of a picture near its point that covers no other picture and the fewest points."""
    best, fewest = None, np.inf
    for reach in REACHES:
        for turn in np.radians(TURNS):
            corner = point + reach * size * [np.cos(turn), np.sin(turn)] - size / 2
            inside = (corner >= 0.0).all() and (corner + size <= 1.0).all()
            if not inside or any((np.abs(corner - other) < 1.05 * size).all() for other in taken):
                continue
            covered = int(((points > corner) & (points < corner + size)).all(axis=1).sum())
            if covered < fewest:
                best, fewest = corner, covered
        if fewest == 0:
            break
    return best
