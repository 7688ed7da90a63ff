"""What positions decode to: a row rebuilt from few axes, a walk along an axis, the axes themselves as images.

Columns may be a table's, a curve (`shape=(d,)`) or an image (`shape=(height, width)`).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.data.block import Array
from lowdim.messages import error
from lowdim.models.posterior import Posterior
from lowdim.plot.base import (
    COLOURS,
    DIVERGING,
    GREY,
    INK,
    PAPER,
    SHAPES,
    Plot,
    blank,
    count,
    drawn,
    headline,
    number,
    percent,
    quoted,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 20  # columns of a table row that can be named
PANELS = 6  # columns drawn along an axis
BAND = 1.6448536269514722  # standard deviations that hold 90% of a Gaussian
Shape = tuple[int, ...] | None


def _check_shape(shape: Shape, d: int) -> None:
    if shape is not None and (len(shape) > 2 or int(np.prod(shape)) != d):
        raise error("LD210", option="shape", value=shape, allowed=f"(d,) or (height, width) with {d} cells in all")


def _image(ax: Axes, values: Array, shape: tuple[int, ...], title: str, *, cmap: str = "gray",
           low: float | None = None, high: float | None = None) -> None:
    ax.imshow(values.reshape(shape), cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.set_title(title, fontsize=9, loc="center")


def _step(value: float) -> str:
    return f"{value:+g}" if value else "0"


@drawn
def reconstruct(model: Any, X: Array, row: int, qs: Sequence[int], names: Sequence[str], *,
                shape: Shape = None) -> Plot:
    """One row, rebuilt from its first q axes for each q, and what is left over.

    x_q = mean + sum_{k <= q} z_k w_k with the model's own z and w (later coordinates are set to 0); the error
    is the root mean square over the row's seen cells, in units of each column's spread (NaN where none is seen).

    >>> from lowdim.models.pca import PCA
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 3.0]])
    >>> reconstruct(PCA(2).fit(X), X, 0, [0, 1, 2], ["a", "b"]).data["error"].round(3).tolist()
    [0.866, 0.387, 0.0]
    """
    X = np.asarray(X, dtype=np.float64)
    _check_shape(shape, X.shape[1])
    x = X[row]
    z = model.transform(X[row: row + 1])[0]
    steps = np.array([q for q in qs if q <= len(z)], dtype=int)
    built = np.asarray(model.inverse_transform(np.where(np.arange(len(z)) < steps[:, None], z, 0.0)))
    unit, mean = _spread(X)
    left = (x - built) / unit
    wrong = np.sqrt(np.nanmean(left**2, axis=1)) if np.isfinite(x).any() else np.full(len(steps), np.nan)
    title, sentence = _built_words(row, steps, wrong, int(np.isnan(x).sum()))
    if len(steps) < len(qs):
        sentence += f" The model has {count(len(z), 'axis', 'axes')}, so larger q are left out."
    if shape is None:
        figure = _built_row((x - mean) / unit, (built - mean) / unit, steps, wrong, names)
    elif len(shape) == 1:
        figure = _built_curve(x, built, steps)
    else:
        figure = _built_image(x, built, steps, shape)
    headline(figure, title)
    data = {"column": np.array([str(name) for name in names]), "original": x, "q": steps, "rebuilt": built.T,
            "residual": x - built[-1] if len(steps) else x, "error": wrong}
    return Plot("reconstruct", figure, title=title, sentence=sentence, data=data)


def _spread(X: Array) -> tuple[Array, Array]:
    """Standard deviation (1 where a column never changes) and mean of the seen cells."""
    seen = np.isfinite(X)
    many = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, X, 0.0).sum(axis=0) / many
    sd = np.sqrt((np.where(seen, X - mean, 0.0) ** 2).sum(axis=0) / np.maximum(many - 1, 1))
    return np.where(sd > 0, sd, 1.0), mean


def _built_words(row: int, steps: NDArray[np.int_], wrong: Array, gaps: int) -> tuple[str, str]:
    if not len(steps) or np.isnan(wrong).any():
        return f"Row {row + 1} has no seen cells", f"Row {row + 1} has no seen cells, so there is nothing to rebuild."
    left = f"{number(wrong[-1])} sd a cell" if wrong[-1] > 1e-10 else "nothing"
    title = f"Row {row + 1} from {count(int(steps[-1]), 'axis', 'axes')}: {left} left over"
    path = ", ".join(f"{number(w) if w > 1e-10 else 0} with {q}" for q, w in zip(steps, wrong, strict=True))
    text = f"Rebuilt from its first axes, row {row + 1} misses its cells by (root mean square, in sd): {path}."
    return title, text + (f" {count(gaps, 'gap')} {'is' if gaps == 1 else 'are'} not counted." if gaps else "")


def _built_row(x: Array, built: Array, steps: NDArray[np.int_], wrong: Array, names: Sequence[str]) -> Figure:
    """Columns down the side in units of their spread; a mark for the original and one for each q."""
    shift = np.nan_to_num(np.abs(x))
    kept = np.sort(np.argsort(-shift, kind="stable")[:MOST])
    figure = blank(6.4, max(4.0, 1.2 + 0.19 * len(kept)))
    ax, side = figure.subplots(1, 2, width_ratios=[4, 1])
    y = np.arange(len(kept))
    for k, q in enumerate(steps):
        ax.plot(built[k, kept], y, SHAPES[(k + 1) % 8], color=COLOURS[(k + 1) % 6], ms=5, mfc=PAPER, label=f"q = {q}")
    ax.plot(x[kept], y, "|", color=INK, ms=13, mew=2, label="original")
    gaps = np.flatnonzero(np.isnan(x[kept]))
    left, right = ax.get_xlim()
    if len(gaps):
        ax.barh(gaps, right - left, 0.6, left=left, fc=PAPER, ec="#c8c8c8", hatch="////", zorder=0, label="gap")
    ax.set_xlim(left, right)
    ax.axvline(0, color=GREY, lw=0.6)
    ax.set_yticks(y, [short(names[j]) for j in kept], fontsize=8)
    ax.set_ylim(len(kept) - 0.4, -0.6)
    few = f" ({len(kept)} of {len(x)} columns, the farthest)" if len(kept) < len(x) else ""
    ax.set_xlabel(f"sd from the column's mean{few}")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=6)
    side.plot(wrong, np.arange(len(steps)), "o-", color=COLOURS[0], ms=4)
    side.set_yticks(range(len(steps)), [f"q = {q}" for q in steps], fontsize=8)
    side.set_xlim(0, 1.15 * float(np.nan_to_num(wrong).max(initial=0.0)) or 1.0)
    side.invert_yaxis()
    side.set_xlabel("error (sd)")
    return figure


def _built_curve(x: Array, built: Array, steps: NDArray[np.int_]) -> Figure:
    figure = blank(6.4, 4.0)
    top, low = figure.subplots(2, 1, height_ratios=[2, 1], sharex=True)
    places = np.arange(1, len(x) + 1)
    top.plot(places, x, color=INK, lw=2.0, label="original")
    for k, (q, curve) in enumerate(zip(steps, built, strict=True)):
        top.plot(places, curve, color=COLOURS[k % 6], lw=1.1, ls=("-", "--", "-.", ":")[k % 4], label=f"q = {q}")
    figure.legend(*top.get_legend_handles_labels(), loc="outside lower left", ncols=6)
    top.set_ylabel("value")
    low.plot(places, x - built[-1], color=COLOURS[3], lw=1.0)
    low.axhline(0, color=GREY, lw=0.6)
    low.set(xlabel="place along the curve", ylabel=f"left over\n(q = {steps[-1]})")
    return figure


def _built_image(x: Array, built: Array, steps: NDArray[np.int_], shape: tuple[int, ...]) -> Figure:
    total = len(steps) + 2
    wide = min(total, 5)
    figure = blank(6.4, max(2.2, 0.5 + -(-total // wide) * 6.4 / wide * shape[0] / shape[1] * 1.05))
    panels = figure.subplots(-(-total // wide), wide, squeeze=False).ravel()
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    _image(panels[0], x, shape, "original", low=low, high=high)
    for ax, q, image in zip(panels[1:], steps, built, strict=False):
        _image(ax, image, shape, f"q = {q}", low=low, high=high)
    left = x - built[-1]
    size = float(np.nanmax(np.abs(left))) or 1.0
    _image(panels[total - 1], left, shape, f"left over, ± {number(size)}", cmap=DIVERGING, low=-size, high=size)
    for ax in panels[total:]:
        ax.set_axis_off()
    return figure


@drawn
def traverse(model: Any, axis: int, names: Sequence[str], steps: Sequence[float] = (-2, -1, 0, 1, 2), *,
             shape: Shape = None) -> Plot:
    """What the model says a row looks like as it moves along one axis, in sd of that axis, others at 0.

    Bands hold 90% of new cells there: mean +- 1.645 sqrt(doubt about the parameters + noise). Columns that
    move most against their band are drawn.

    >>> from lowdim.models.linear import PPCA
    >>> X = np.random.default_rng(0).normal(size=(50, 1)) @ [[2.0, 1.0, 0.5]] + np.arange(150).reshape(50, 3) % 2
    >>> traverse(PPCA(1).fit(X), 0, ["a", "b", "c"]).sentence
    "From -2 to +2 sd along axis 1, 'a' moves most: from -3.11 to 4.63 (90% of cells within ± 0.904)."
    """
    along = np.asarray(steps, dtype=np.float64)
    z, mean, band = walk_axis(model, axis, along)
    _check_shape(shape, mean.shape[1])
    moved = np.abs(mean[-1] - mean[0]) / np.maximum(band.mean(axis=0), np.finfo(float).tiny)
    order = np.argsort(-moved, kind="stable")
    if shape is None:
        figure = _walk_columns(along, mean, band, order[:PANELS], names)
    elif len(shape) == 1:
        figure = _walk_curves(along, mean, band)
    else:
        figure = _walk_images(along, mean, shape)
    j, ends = int(order[0]), (_step(along[0]), _step(along[-1]))
    what = f"{quoted(names[j])} moves most: from {number(mean[0, j])} to {number(mean[-1, j])}"
    title = f"Along axis {axis + 1}, {quoted(names[j])} moves most ({number(mean[0, j])} to {number(mean[-1, j])})"
    if shape is not None:
        title = f"Along axis {axis + 1}, from {ends[0]} to {ends[1]} sd"
    sentence = (f"From {ends[0]} to {ends[1]} sd along axis {axis + 1}, {what} (90% of cells within ± "
                f"{number(float(band[:, j].mean()))}).")
    headline(figure, title)
    data = {"column": np.array([str(name) for name in names]), "step": along, "position": z[:, axis],
            "mean": mean.T, "band": band.T}
    return Plot("traverse", figure, title=title, sentence=sentence, data=data)


def walk_axis(model: Any, axis: int, along: Array) -> tuple[Array, Array, Array]:
    """Positions along an axis, the cells they decode to, and the half-width of the 90% band of a new cell."""
    params, T = model.params_, model._axes(model.params_)
    q = T.shape[1]
    if not 0 <= axis < q:
        raise error("LD210", option="axis", value=axis, allowed=f"a position from 0 to {q - 1}")
    sd = model._prior(params, 1).turned(T).std[0]
    z = np.zeros((len(along), q))
    z[:, axis] = along * sd[axis]
    inner = z @ np.linalg.pinv(T)
    k = T.shape[0]
    cells = model._decode(params, Posterior(inner, np.zeros((len(z), k * (k + 1) // 2)), np.zeros(len(z))))
    band = BAND * np.sqrt(cells.var + cells.noise) / model.frame_.scale
    return z, model.frame_.outward(cells.mean), band


def _walk_columns(along: Array, mean: Array, band: Array, chosen: NDArray[np.int_], names: Sequence[str]) -> Figure:
    wide = min(len(chosen), 3)
    figure = blank(6.4, 4.0)
    panels = figure.subplots(-(-len(chosen) // wide), wide, squeeze=False, sharex=True).ravel()
    for ax, j in zip(panels, chosen, strict=False):
        ax.fill_between(along, mean[:, j] - band[:, j], mean[:, j] + band[:, j], color=COLOURS[5], alpha=0.35, lw=0)
        ax.plot(along, mean[:, j], "o-", color=COLOURS[0], ms=3)
        ax.set_title(short(names[j], 22), fontsize=9)
        ax.tick_params(labelsize=8)
        ax.locator_params(axis="y", nbins=5)
    for ax in panels[len(chosen):]:
        ax.set_axis_off()
    figure.supxlabel("sd along the axis (band: 90% of new cells)", fontsize=9)
    figure.supylabel("value, in the column's own units", fontsize=9)
    return figure


def _walk_curves(along: Array, mean: Array, band: Array) -> Figure:
    figure = blank(6.4, 4.0)
    ax = figure.subplots()
    places = np.arange(1, mean.shape[1] + 1)
    looks = {0: (COLOURS[0], "--"), len(along) - 1: (COLOURS[3], "-")}
    for k, step in enumerate(along):
        colour, line = looks.get(k, (GREY, ":"))
        ax.plot(places, mean[k], color=colour, ls=line, lw=1.4, label=f"{_step(step)} sd")
        if k in looks:
            ax.fill_between(places, mean[k] - band[k], mean[k] + band[k], color=colour, alpha=0.15, lw=0)
    ax.set(xlabel="place along the curve", ylabel="value (band: 90% of new cells)")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=7)
    return figure


def _walk_images(along: Array, mean: Array, shape: tuple[int, ...]) -> Figure:
    wide = min(len(along), 7)
    high = -(-len(along) // wide)
    figure = blank(6.4, max(2.0, 0.6 + high * 6.4 / wide * shape[0] / shape[1] * 1.15))
    panels = figure.subplots(high, wide, squeeze=False).ravel()
    low, top = float(mean.min()), float(mean.max())
    for ax, step, image in zip(panels, along, mean, strict=False):
        _image(ax, image, shape, f"{_step(step)} sd", low=low, high=top)
    for ax in panels[len(along):]:
        ax.set_axis_off()
    return figure


@drawn
def component_images(model: Any, shape: tuple[int, int], count: int = 9) -> Plot:
    """The mean and the first axes as images (eigenfaces, eigendigits); red and blue pixels move oppositely.

    Each axis has a scale of its own, white at zero; its sign by itself means nothing.

    Reference: Turk and Pentland (1991); Zabaras seed on PCA.

    >>> from lowdim.models.pca import PCA
    >>> plot = component_images(PCA(2).fit(np.random.default_rng(0).normal(size=(9, 4))), (2, 2), 2)
    >>> plot.data["axis_image"].shape
    (2, 4)
    """
    C = np.asarray(model.components_, dtype=np.float64)
    _check_shape(shape, C.shape[1])
    many = min(count, len(C))
    share = np.asarray(vars(model).get("explained_variance_ratio_", np.full(len(C), np.nan)))
    wide = min(5, many + 1)
    high = -(-(many + 1) // wide)
    figure = blank(6.4, max(2.2, 0.6 + high * 6.4 / wide * shape[0] / shape[1] * 1.12))
    panels = figure.subplots(high, wide, squeeze=False).ravel()
    _image(panels[0], np.asarray(model.mean_), shape, "mean")
    for k in range(many):
        size = float(np.abs(C[k]).max()) or 1.0
        part = "" if np.isnan(share[k]) else f" · {percent(share[k])}"
        _image(panels[k + 1], C[k], shape, f"axis {k + 1}{part}", cmap=DIVERGING, low=-size, high=size)
    for ax in panels[many + 1:]:
        ax.set_axis_off()
    total = "" if np.isnan(share[:many]).any() else f" carry {percent(share[:many].sum())} of the variation"
    title = f"The mean and the first {many} axes as images" + (f":{total.replace(' carry', ' they carry')}"
                                                             if total else "")
    sentence = (f"The first {many} axes{total or ' are drawn'} of images of {shape[0]} x {shape[1]} pixels; red and "
                "blue pixels move oppositely along an axis, white ones do not move.")
    headline(figure, title)
    data = {"mean_image": np.asarray(model.mean_), "axis_image": C[:many], "share": share[:many]}
    return Plot("component_images", figure, title=title, sentence=sentence, data=data)
