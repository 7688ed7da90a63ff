"""Rows made again from few axes, one by one and in a grid of pictures; the axes themselves as images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.access import lacks, names_of
from lowdim.plot.base import Plot
from lowdim.plot.marks import panels, spread_out
from lowdim.plot.pictures import (
    CONNECTIONS,
    SHAPE,
    Connections,
    ImageForm,
    Shape,
    draw_image,
    draw_picture,
    everyone,
    form_of_rows,
    picture_height,
)
from lowdim.plot.registry import ROW, InReport, PlotOption, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.table_model import TableModel

MOST_NAMED_CELLS = 20  # columns of a table row that can be named
MOST_GRID_ROWS = 6  # rows of a grid where none are named
KEPT = PlotOption("kept", "wholes", "How many axes are kept, a line or a panel each, such as 2,10")
ROWS = PlotOption("shown", "rows", "The rows, by their names or counted from 1, such as 3,7", flag="--rows")


@plot(
    "reconstruct",
    "One row rebuilt from its first axes, and what is left over.",
    needs="analysis",
    options=(ROW,),
    report=InReport("lost", "rows", says_something=lambda analysis: analysis.dims > 2),
)
def reconstruct(analysis: Analysis, row: int = 0) -> Plot:
    """One row, rebuilt from one, two, five and all axes, and what is left over.

    x_q = mean + sum_{k <= q} z_k w_k with the model's own z and w (later coordinates are set to 0); the error is the
    root mean square over the row's seen cells, in units of each column's spread (NaN where none is seen).

    Parameters
    ----------
    row : int, default 0
        Its position.
    """
    q, ones = analysis.dims, analysis.table.in_ones()
    X, names = ones.X, ones.scale_names
    draw.need_axes(q, 1, "reconstruct")
    x, z = X[row], analysis.map.transform(analysis.table.X[[row]])[0]
    steps = np.array(sorted({k for k in (1, 2, 5, q) if k <= q}), dtype=int)
    built = analysis.map.inverse_transform(np.where(np.arange(len(z)) < steps[:, None], z, 0.0))
    unit, mean = _spread(X)
    residual = (x - built) / unit
    wrong = np.sqrt(np.nanmean(residual**2, axis=1)) if np.isfinite(x).any() else np.full(len(steps), np.nan)
    title, sentence = _built_words(row, steps, wrong, int(np.isnan(x).sum()))
    figure = _built_row((x - mean) / unit, (built - mean) / unit, steps, wrong, names)
    draw.headline(figure, title)
    data = {"column": names, "original": x, "q": steps, "rebuilt": built.T, "residual": x - built[-1], "error": wrong}
    return Plot("reconstruct", figure, title=title, sentence=sentence, data=data)


def _spread(X: Array) -> tuple[Array, Array]:
    """Standard deviation (1 where a column never changes) and mean of the seen cells."""
    mask = np.isfinite(X)
    many = np.maximum(mask.sum(axis=0), 1)
    mean = np.where(mask, X, 0.0).sum(axis=0) / many
    sd = np.sqrt((np.where(mask, X - mean, 0.0) ** 2).sum(axis=0) / np.maximum(many - 1, 1))
    return np.where(sd > 0, sd, 1.0), mean


def _built_words(row: int, steps: NDArray[np.int_], wrong: Array, gaps: int) -> tuple[str, str]:
    if np.isnan(wrong).any():
        return f"Row {row + 1} has no seen cells", f"Row {row + 1} has no seen cells, so there is nothing to rebuild."
    residual_text = f"{draw.number(wrong[-1])} sd a cell" if wrong[-1] > 1e-10 else "nothing"
    title = f"Row {row + 1} from {draw.count(int(steps[-1]), 'axis', 'axes')}: {residual_text} left over"
    path = ", ".join(f"{draw.number(w) if w > 1e-10 else 0} with {q}" for q, w in zip(steps, wrong, strict=True))
    text = f"Rebuilt from its first axes, row {row + 1} misses its cells by (root mean square, in sd): {path}."
    return title, text + (f" {draw.count(gaps, 'gap')} {'is' if gaps == 1 else 'are'} not counted." if gaps else "")


def _built_row(x: Array, built: Array, steps: NDArray[np.int_], wrong: Array, names: Sequence[str]) -> Figure:
    """Columns down the side in units of their spread; a mark for the original and one for each q."""
    shift = np.nan_to_num(np.abs(x))
    farthest = np.sort(np.argsort(-shift, kind="stable")[:MOST_NAMED_CELLS])
    figure = draw.blank(6.4, max(4.0, 1.2 + 0.19 * len(farthest)))
    ax, side = figure.subplots(1, 2, width_ratios=[4, 1])
    y = np.arange(len(farthest))
    for k, q in enumerate(steps):
        shape, colour = draw.SHAPES[(k + 1) % 8], draw.COLOURS[(k + 1) % 6]
        ax.plot(built[k, farthest], y, shape, color=colour, ms=5, mfc=draw.PAPER, label=f"q = {q}")
    ax.plot(x[farthest], y, "|", color=draw.INK, ms=13, mew=2, label="original")
    gaps = np.flatnonzero(np.isnan(x[farthest]))
    low, high = ax.get_xlim()
    if len(gaps):
        ax.barh(gaps, high - low, 0.6, left=low, fc=draw.PAPER, ec="#c8c8c8", hatch="////", zorder=0, label="gap")
    ax.set_xlim(low, high)
    ax.axvline(0, color=draw.GREY, lw=0.6)
    ax.set_yticks(y, [draw.short(names[j]) for j in farthest], fontsize=8)
    ax.set_ylim(len(farthest) - 0.4, -0.6)
    subset_text = f" ({len(farthest)} of {len(x)} columns, the farthest)" if len(farthest) < len(x) else ""
    ax.set_xlabel(f"sd from the column's mean{subset_text}")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=6)
    side.plot(wrong, np.arange(len(steps)), "o-", color=draw.COLOURS[0], ms=4)
    side.set_yticks(range(len(steps)), [f"q = {q}" for q in steps], fontsize=8)
    side.set_xlim(0, 1.15 * float(np.nan_to_num(wrong).max(initial=0.0)) or 1.0)
    side.invert_yaxis()
    side.set_xlabel("error (sd)")
    return figure


@plot(
    "rebuilt",
    "Some rows beside what so many axes make of them, in a grid.",
    needs="model",
    options=(ROWS, KEPT, SHAPE, CONNECTIONS),
)
def rebuilt(
    subject: TableModel,
    *,
    shown: Sequence[int] | None = None,
    kept: Sequence[int] | None = None,
    shape: Shape = None,
    connections: Connections = None,
) -> Plot:
    """Some rows above what so many axes make of them: originals and recovered ones in a grid.

    Later coordinates are set to 0. Errors are over all rows: of PCA the mean squared error of a row is the sum of the
    eigenvalues left out.

    Parameters
    ----------
    subject : TableModel
        A model with a decoder.
    shown : sequence of int, optional
        Positions of the rows; six spread over the table where it is left out.
    kept : sequence of int, optional
        How many of the first axes are kept, a line each; half of them and all where it is left out.
    """
    model, unit, names = subject.model, subject.unit, names_of(subject)
    numbers = subject.entry.asks != "views" and (subject.map is None or not subject.map.has_answers)
    if not numbers or not callable(getattr(model, "inverse_transform", None)):
        raise lacks(subject, "rebuilt", "it makes no rows of numbers again", "a model with a decoder: ppca, gtm, gplvm")
    own = subject.taken * unit
    form = form_of_rows(shape, subject.table.names, own, connections, everyone(subject.table))
    z = np.asarray(model.transform(subject.taken))
    n, q = z.shape
    steps = np.array(sorted({max(q // 2, 1), q} if kept is None else set(kept)), dtype=int)
    if not len(steps) or steps[0] < 0 or steps[-1] > q:
        raise error("LD210", option="kept", value=kept, allowed=f"numbers of axes from 0 to {q}, or fit more (dims)")
    at = spread_out(n, MOST_GRID_ROWS) if shown is None else np.asarray(shown, dtype=int)
    built = np.stack([np.asarray(model.inverse_transform(np.where(np.arange(q) < k, z, 0.0))) for k in steps]) * unit
    wrong = np.array([float(np.nansum((own - one) ** 2) / n) for one in built])
    pictures = np.concatenate([own[None, at], built[:, at]])  # originals, then a line for each number of axes
    high = min(picture_height(form, pictures.reshape(-1, pictures.shape[2])), 1.8)
    figure = draw.blank(6.8, 0.7 + len(pictures) * 6.6 / len(at) * high)
    panels = figure.subplots(len(pictures), len(at), squeeze=False)
    for (k, i), ax in np.ndenumerate(panels):
        behind, named = (pictures[0, i], "") if k else (None, draw.short(names[at[i]], 9))
        draw_picture(ax, pictures[k, i], form, named, pictures[:, i], behind=behind)
    for ax, said in zip(panels[:, 0], ["original", *(f"q = {k}" for k in steps)], strict=True):
        ax.set_ylabel(said, fontsize=9)
    share = wrong[-1] / float(np.nansum((own - np.nanmean(own, axis=0)) ** 2) / n)
    title = f"Rows from {draw.count(int(steps[-1]), 'axis', 'axes')}: {draw.percent(share)} of the variation is missing"
    draw.headline(figure, title)
    path = ", ".join(f"{draw.number(w) if w > 1e-12 else 0} with {k}" for k, w in zip(steps, wrong, strict=True))
    sentence = f"Rebuilt from their first axes, rows miss their cells by (mean squared length): {path}."
    data = {"row": at + 1, "original": own[at], "q": steps, "rebuilt": built[:, at].transpose(1, 0, 2), "error": wrong}
    return Plot("rebuilt", figure, title=title, sentence=sentence, data=data)


@plot("component_images", "The mean and the first axes as images.", needs="model", options=(SHAPE,))
def component_images(subject: TableModel, shape: tuple[int, int] | None = None, count: int = 9) -> Plot:
    """The mean and the first axes as images (eigenfaces, eigendigits); red and blue pixels move oppositely.

    Each axis has a scale of its own, white at zero; its sign by itself means nothing.

    Reference: M. Turk and A. Pentland, Eigenfaces for recognition, Journal of Cognitive Neuroscience 3, 1991.

    Parameters
    ----------
    subject : TableModel
        A model with `components_` and `mean_` whose columns are pixels.
    shape : (height, width), optional
        Of the image; a square where it is left out.
    count : int, default 9
        Axes drawn.
    """
    model, pixels = subject.model, everyone(subject.table)
    fitted, side = vars(model), int(np.sqrt(len(pixels)))
    if np.ndim(fitted.get("components_")) != 2 or "mean_" not in fitted:
        why, fix = "it has no one matrix of loadings", "a linear model: -m ppca, pca or fa"
        raise lacks(subject, "component_images", why, fix)
    if shape is None and side * side != len(pixels):
        raise error("LD216", name="component_images", why="the columns are not the pixels of a square image")
    C = np.asarray(model.components_, dtype=np.float64)
    form = form_of_rows(shape or (side, side), subject.table.names, C, everyone=pixels)
    assert isinstance(form, ImageForm)
    many = min(count, len(C))
    share = np.asarray(fitted.get("explained_variance_ratio_", np.full(len(C), np.nan)))
    across = min(5, many + 1)
    high = -(-(many + 1) // across) * 6.4 / across * form.height / form.width * 1.12
    figure = draw.blank(6.4, max(2.2, 0.6 + high))
    first, *others = panels(figure, many + 1, across)
    draw_image(first, np.asarray(model.mean_), form, "mean")
    for k, ax in enumerate(others):
        size = float(np.abs(C[k]).max()) or 1.0
        part = "" if np.isnan(share[k]) else f" · {draw.percent(share[k])}"
        draw_image(ax, C[k], form, f"axis {k + 1}{part}", cmap=draw.DIVERGING, low=-size, high=size)
    total = "" if np.isnan(share[:many]).any() else f" carry {draw.percent(share[:many].sum())} of the variation"
    title = f"The mean and the first {many} axes as images{f': they{total}' if total else ''}"
    sentence = (
        f"The first {many} axes{total or ' are drawn'} of images of {form.height} x {form.width} pixels; red and "
        "blue pixels move oppositely along an axis, white ones do not move."
    )
    draw.headline(figure, title)
    data = {"mean_image": np.asarray(model.mean_), "axis_image": C[:many], "share": share[:many]}
    return Plot("component_images", figure, title=title, sentence=sentence, data=data)
