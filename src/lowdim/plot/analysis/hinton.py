"""A matrix as squares: area is size, white is positive, black is negative, on grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lowdim.maths.linalg import Array, Mask
from lowdim.plot import base as draw
from lowdim.plot.access import lacks
from lowdim.plot.base import Plot
from lowdim.plot.registry import plot

if TYPE_CHECKING:
    from lowdim.jobs.table_model import TableModel

MOST_SQUARE_ROWS = 24  # rows that can be named
LARGEST_SIDE = 0.9  # side of the largest square, in cells
GROUND = "#8c8c8c"  # white and black stand out from it alike
NEGLIGIBLE = 1e-6  # an axis all of whose entries are below this share of the largest is switched off


@plot("hinton", "Loadings as squares whose area is their size.", needs="model")
def hinton(subject: TableModel) -> Plot:
    """The loadings of a linear model as squares whose area is exactly proportional to size: white is positive.

    An axis that was switched off stays empty.

    Reference: [Bishop2006], figure 12.14. Other programs take the root after subtracting the smallest entry, so
    that their areas are not proportional.

    Parameters
    ----------
    subject : TableModel
        A model with one matrix of loadings, `components_`.
    """
    from matplotlib.patches import Rectangle

    fitted = vars(subject.model)
    if np.ndim(fitted.get("components_")) != 2:
        raise lacks(subject, "hinton", "it has no one matrix of loadings", "a linear model: -m ppca, fa or bpca")
    W = np.asarray(fitted["components_"], dtype=np.float64).T
    W = np.pad(W, ((0, 0), (0, max(len(fitted.get("kept_", ())) - W.shape[1], 0))))  # those that were switched off
    names, q = fitted.get("component_names_", subject.table.names), W.shape[1]  # of labels, one for each
    draw.need_axes(q, 1, "hinton")
    size = np.abs(W)
    largest = float(size.max(initial=0.0)) or 1.0
    off = size.max(axis=0, initial=0.0) <= NEGLIGIBLE * largest
    rows = np.sort(np.argsort(-size.max(axis=1, initial=0.0), kind="stable")[:MOST_SQUARE_ROWS])
    figure = draw.blank(6.4, float(np.clip(1.3 + 0.26 * len(rows), 3.0, 9.0)))
    ax = figure.subplots()
    tooltips: dict[str, str] = {}
    side = LARGEST_SIDE * np.sqrt(size[rows] / largest)  # without an edge, so that areas are exact
    for r, c in np.argwhere(side > 0):
        value, s = W[rows[r], c], side[r, c]
        colour = draw.PAPER if value > 0 else "#000000"
        box = Rectangle((c - s / 2, r - s / 2), s, s, facecolor=colour, edgecolor="none")
        box.set_gid(f"square-{r}-{c}")
        ax.add_patch(box)
        tooltips[f"square-{r}-{c}"] = f"{draw.short(names[rows[r]])}, axis {c + 1}: {draw.number(value)}"
    ax.set(xlim=(-0.6, q - 0.4), ylim=(len(rows) - 0.4, -0.6), aspect="equal", facecolor=GROUND)
    places = range(0, q, -(-q // 16))
    ax.set_xticks(list(places), [f"{k + 1}\noff" if off[k] else str(k + 1) for k in places], fontsize=8)
    ax.set_yticks(range(len(rows)), [draw.short(names[j]) for j in rows], fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    key = f"axis    (area = size, largest square {draw.number(largest)};  □ positive, ■ negative)"
    figure.supxlabel(key, fontsize=9)
    title, sentence = _words(W, names, off, len(rows))
    draw.headline(figure, title)
    data = {"column": names, "entry": W, "area": LARGEST_SIDE**2 * size / largest}
    return Plot("hinton", figure, title=title, sentence=sentence, data=data, tooltips=tooltips)


def _words(W: Array, names: Sequence[str], off: Mask, shown: int) -> tuple[str, str]:
    if not np.any(W):
        return "All entries are zero", "All entries are zero: no axis is used."
    q, idle = W.shape[1], int(off.sum())
    r, c = np.unravel_index(int(np.argmax(np.abs(W))), W.shape)
    title = f"{q - idle} of {draw.count(q, 'axis', 'axes')} in use"
    title += f" ({shown} of {len(W)} columns drawn)" if shown < len(W) else ""
    unused = f"{idle} of {q} axes {'is' if idle == 1 else 'are'} switched off" if idle else "every axis is in use"
    largest = f"{draw.number(W[r, c])} ({draw.quoted(names[int(r)])} on axis {c + 1})"
    return title, f"The largest entry is {largest}; {unused}."
