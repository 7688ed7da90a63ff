"""A walk along an axis of a model, or from one group of rows to another: what rows look like there, with bands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.maps.table_map import TableMap
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import NORMAL_90
from lowdim.models.base.latent import LatentModel
from lowdim.plot import base as draw
from lowdim.plot.access import groups_of, lacks, names_of
from lowdim.plot.base import Plot
from lowdim.plot.colour import chosen, kind_name
from lowdim.plot.marks import own_ticks, panels
from lowdim.plot.pictures import (
    CONNECTIONS,
    SHAPE,
    Connections,
    CurveForm,
    Form,
    Shape,
    draw_picture,
    everyone,
    form_of_rows,
    picture_height,
)
from lowdim.plot.registry import AXIS, InReport, PlotOption, plot
from lowdim.table.column import ColumnScales, scales_beside
from lowdim.text.format import listing
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowdim.jobs.table_model import TableModel

BETWEEN_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of the way
WALK_STEPS = (-2.0, -1.0, 0.0, 1.0, 2.0)  # in sd along the axis
MOST_WALK_PANELS = 6  # columns drawn along an axis
BAND_LEVEL = 0.9  # of the bands
CURVE_POINTS = 41  # points of a curve between the first step and the last
Rows = NDArray[np.intp]
BAND_OF_CELLS, BAND_OF_ROWS, NO_BAND = "90% of new cells", "90% of the rows' own errors", ""


class Walk(NamedTuple):
    """Positions along a line, how far each is, the cells there, and half the width of the band.

    How far is in sd from the middle of an axis, or the share of the way between two that are `called`.
    """

    z: Array
    step: Array
    mean: Array
    band: Array
    kind: str  # what the band holds
    ends: tuple[Array, Array] | None = None  # of the band, where it is not the same on both sides
    called: tuple[str, ...] = ()  # the first and the last position, where they have names

    @property
    def low(self) -> Array:
        """The lower end of the band."""
        return self.mean - self.band if self.ends is None else self.ends[0]

    @property
    def high(self) -> Array:
        """The upper end of the band."""
        return self.mean + self.band if self.ends is None else self.ends[1]

    @property
    def marks(self) -> list[str]:
        """What each position is called."""
        if not self.called:
            return [f"{_step(step)} sd" for step in self.step]
        return [draw.short(self.called[int(step)]) if step in (0.0, 1.0) else f"{step:.0%}" for step in self.step]

    def scaled(self, unit: Array) -> Walk:
        """In units of the table."""
        return self._replace(mean=self.mean * unit, band=self.band * unit)

    def within(self, scales: ColumnScales) -> Walk:
        """None of it beyond what its column can be."""
        return self._replace(mean=scales.reached(self.mean), ends=(scales.reached(self.low), scales.reached(self.high)))

    def own(self, scales: ColumnScales) -> Walk:
        """As the table has its cells: logarithms as what they are the logarithms of."""
        return self._replace(mean=scales.outward(self.mean), ends=(scales.outward(self.low), scales.outward(self.high)))


@plot(
    "traverse",
    "What rows look like along an axis of a model.",
    needs="model",
    options=(AXIS, SHAPE, CONNECTIONS),
    report=InReport("lost"),
)
def traverse(
    subject: TableModel,
    axis: int = 0,
    *,
    steps: Sequence[float] = WALK_STEPS,
    shape: Shape = None,
    connections: Connections = None,
) -> Plot:
    """What the model says a row looks like as it moves along one axis, in sd of that axis, others in the middle.

    Bands hold 90% of new cells there: mean +- 1.645 sqrt(doubt about the map + noise). Of a model without noise (an
    autoencoder, ICA, kernel PCA) its rows say how far its axes reach, and bands hold 90% of its errors on them. Columns
    that move most against their band are drawn. A walk ends where the grid of a GTM does.

    Parameters
    ----------
    subject : TableModel
        A model with a decoder. Of columns of answers it draws the probability of each, of levels their mean.
    steps : sequence of float, default (-2, -1, 0, 1, 2)
        Places on the axis, in its standard deviations.

    Examples
    --------
    >>> import lowdim
    >>> X = np.random.default_rng(0).normal(size=(50, 1)) @ [[2.0, 1.0, 0.5]] + np.arange(150).reshape(50, 3) % 2
    >>> lowdim.analyse(X, dims=1, budget="1s").plot.traverse(model=lowdim.PPCA(1).fit(X)).sentence
    "From -2 to +2 sd along axis 1, 'c1' moves most: from -3.11 to 4.63 (90% of cells within ± 0.904)."
    """
    names, scales, rows = subject.table.names, subject.table.scales, subject.taken * subject.unit
    if subject.map is not None:  # its columns, of several labels a line each
        known = scales_beside(subject.map.names, names, scales)
        assert known is not None
        names, scales = subject.map.line_names, known.of([k for k, _ in subject.map.ones])
        rows = subject.map.lines(subject.X[subject.at_rows])
    way = partial(walk_axis, subject, axis)
    walk = way(np.asarray(steps, dtype=np.float64))
    form = form_of_rows(shape, names, scales.outward(rows), connections, everyone(subject.table))
    figure, title, sentence = _drawn(walk, way, f"along axis {axis + 1}", names, form, scales)
    own = walk.within(scales).own(scales)
    data = {"column": names, "step": walk.step, "position": walk.z[:, axis]}
    data |= {"mean": own.mean.T, "lower": own.low.T, "upper": own.high.T}
    return Plot("traverse", figure, title=title, sentence=sentence, data=data)


def _drawn(
    walk: Walk, way: Callable[[Array], Walk], where: str, names: Sequence[str], form: Form, scales: ColumnScales
) -> tuple[Figure, str, str]:
    """The figure of a walk, its title and its sentence; `way` makes the curve between its steps."""
    order = _most_moved(walk)
    walk = walk.within(scales)
    if form is None:
        curve = way(np.linspace(walk.step.min(), walk.step.max(), CURVE_POINTS)).within(scales)
        figure = _columns(walk, curve, order[:MOST_WALK_PANELS], names, scales)
    else:
        own = walk.own(scales)
        figure = _curves(own) if isinstance(form, CurveForm) else _pictures(own, form)
    title, sentence = _words(walk, where, int(order[0]), names, form is not None, scales)
    draw.headline(figure, title)
    return figure, title, sentence


@plot(
    "between",
    "What rows look like on the way from one group, or one row, to another.",
    needs="model",
    options=(
        PlotOption("start", "text", "The group or the row where the walk begins", flag="--from"),
        PlotOption("end", "text", "The group or the row where it ends", flag="--to"),
        PlotOption("groups", "column", "The column whose groups are meant"),
        SHAPE,
        CONNECTIONS,
    ),
)
def between(
    subject: TableModel,
    start: str = "",
    end: str = "",
    *,
    groups: Any = None,
    steps: Sequence[float] = BETWEEN_STEPS,
    shape: Shape = None,
    connections: Connections = None,
) -> Plot:
    """What the model says a row looks like on the straight way between two groups of rows, or two rows.

    A group is where its rows are in the mean; the places between are decoded.

    Parameters
    ----------
    subject : TableModel
        A model with a decoder.
    start : str, optional
        A value of a label column, or the name of a row.
    end : str, optional
        The same; without both, the walk is between the two most common groups.
    groups : str or array, optional
        The column whose groups are meant; the first label column that has the value where it is left out.
    steps : sequence of float, default (0, 0.25, 0.5, 0.75, 1)
        Shares of the way.
    """
    if subject.map is not None and subject.map.has_answers:
        raise lacks(subject, "between", "its columns have levels and labels, and no bands", "its weights: hinton")
    names, scales = subject.table.names, subject.table.scales
    ends = (start, end) if start and end else _two_groups(subject, groups)
    a, b = (rows_called(subject, word, groups) for word in ends)
    way = partial(walk_between, subject, a, b, ends)
    walk = way(np.asarray(steps, dtype=np.float64))
    rows = scales.outward(subject.taken * subject.unit)
    form = form_of_rows(shape, names, rows, connections, everyone(subject.table))
    where = f"on the way from {draw.quoted(ends[0])} to {draw.quoted(ends[1])}"
    figure, title, sentence = _drawn(walk, way, where, names, form, scales)
    own = walk.within(scales).own(scales)
    data = {"column": names, "step": walk.step, "position": walk.z, "rows": np.array([len(a), len(b)])}
    data |= {"mean": own.mean.T, "lower": own.low.T, "upper": own.high.T}
    return Plot("between", figure, title=title, sentence=sentence, data=data)


def walk_between(subject: TableModel, a: Rows, b: Rows, ends: tuple[str, ...], along: Array) -> Walk:
    """The straight way from the mean place of rows a to that of rows b; its band as along an axis."""
    model, X = subject.model, subject.taken
    _check_decoder(subject, "between")
    places = np.asarray(model.transform(X), dtype=np.float64)
    first, last = places[a].mean(axis=0), places[b].mean(axis=0)
    z = first + along[:, None] * (last - first)
    decoded = _with_noise(model, z) if _has_noise(model) else _by_errors(model, z, X, places)
    return Walk(z, along, *decoded, called=ends).scaled(subject.unit)


def rows_called(subject: TableModel, word: str, column: Any = None) -> Rows:
    """The rows of the group of this name, in the column that is meant or the first that has it; or the row."""
    columns = subject.table.labels if column is None else {"": chosen(subject.table, column)[0]}
    for values in columns.values():
        found = np.flatnonzero([kind_name(v) == word for v in np.asarray(values)[subject.at_rows].tolist()])
        if len(found):
            return found
    named = [k for k, name in enumerate(names_of(subject)) if name == word and column is None]
    if not named:
        known = dict.fromkeys(kind_name(v) for values in columns.values() for v in np.asarray(values).tolist())
        allowed = f"a group ({listing(list(known), 8)}) or the name of a row" if known else "the name of a row"
        raise error("LD210", option="start or end", value=word, allowed=allowed)
    return np.array(named[:1], dtype=np.intp)


def _two_groups(subject: TableModel, column: Any) -> tuple[str, str]:
    """The two most common groups, in the order of their names."""
    found = groups_of(subject, column)
    if found.value is not None or len(found.names) < 2:
        fix = "two rows by their names: --from ROW --to ROW (in Python start and end)"
        raise lacks(subject, "between", "no column of the table has groups", fix)
    first, second = sorted(found.names[:2])
    return first, second


def _most_moved(walk: Walk) -> NDArray[np.int_]:
    """Columns by how far they move beside their band, the farthest first."""
    reach = np.ptp(walk.mean, axis=0)
    moved = reach / np.maximum(walk.band.mean(axis=0), 1e-9 * reach.max(initial=0.0))
    return np.argsort(-np.nan_to_num(moved), kind="stable")


def _words(
    walk: Walk, where: str, j: int, names: Sequence[str], pictures: bool, scales: ColumnScales
) -> tuple[str, str]:
    mean = scales.outward(walk.mean)[:, j]
    low, high = float(mean.min()), float(mean.max())
    straight = {low, high} == {float(mean[0]), float(mean[-1])}
    ends = (mean[0], mean[-1]) if straight else (low, high)
    span = f"{_step(walk.step[0])} to {_step(walk.step[-1])} sd"
    first, last = draw.number(ends[0]), draw.number(ends[1])
    what = f"from {first} to {last}" if straight else f"between {first} and {last}"
    there = where[0].upper() + where[1:]
    title = f"{there}, {draw.quoted(names[j])} moves most ({what.replace('from ', '')})"
    if pictures:
        title = there if walk.called else f"{there}, from {span}"
    within = {BAND_OF_CELLS: "90% of cells within", BAND_OF_ROWS: "90% of the rows' cells are made again within"}
    half = "without a band: the model has no noise"
    if walk.kind in within:
        half = f"{within[walk.kind]} ± {draw.number(float(walk.band[:, j].mean()))}"
    even = np.allclose((walk.mean - walk.low)[:, j], (walk.high - walk.mean)[:, j], rtol=1e-6)
    if walk.kind and (scales.log[j] or not even):
        half = f"the band holds {walk.kind}"
    begin = there if walk.called else f"From {span} {where}"
    return title, f"{begin}, {draw.quoted(names[j])} moves most: {what} ({half})."


def walk_axis(subject: TableModel, axis: int, along: Array) -> Walk:
    """Positions along an axis, the cells they decode to, and the half-width of their band."""
    if subject.map is not None and subject.decodes and _has_noise(subject.model):
        return _by_prior(TableMap(subject.map.cells), axis, along)  # on the scale that the model takes
    _check_decoder(subject, "traverse")
    return _by_rows(subject.model, axis, along, subject.taken).scaled(subject.unit)


def _check_decoder(subject: TableModel, name: str) -> None:
    """Refuse a model without places that lead back to cells: it decodes nothing, gives rows clusters, or has two
    views of a row."""
    verbs = (getattr(subject.model, verb, None) for verb in ("transform", "inverse_transform"))
    why = ""
    if subject.entry.asks == "views":
        why = "its columns are two views of a row"
    elif subject.entry.lack("map"):
        why = "it gives rows clusters, not places"
    elif not all(map(callable, verbs)):
        why = "it has no decoder"
    if why:
        raise lacks(subject, name, why, "a model with a decoder: ppca, gtm, gplvm")


def _check_axis(axis: int, q: int) -> None:
    if not 0 <= axis < q:
        allowed = f"a position from 0 to {q - 1} (on the command line 1 to {q})"
        raise error("LD210", option="axis", value=axis, allowed=allowed)


def _by_prior(map: TableMap, axis: int, along: Array) -> Walk:
    """In sd of the axis under the model's own density of places: means and probabilities, with what holds 90 % of new
    cells."""
    model = map.model
    prior = model.prior()
    _check_axis(axis, prior.mean.shape[1])
    middle, sd = prior.mean[0], float(prior.std[0, axis]) or 1.0
    z = np.tile(middle, (len(along), 1))
    z[:, axis] += along * sd
    grid = vars(model).get("grid_")
    if grid is not None:  # beyond its nodes a sheet says nothing
        z[:, axis] = np.clip(z[:, axis], grid[:, axis].min(), grid[:, axis].max())
    expected, wide = map.cells.at(z), np.full(len(map.names), NORMAL_90)
    told = map.in_lines(map.in_own_units(expected, wide), expected, wide)
    half = NORMAL_90 * told.sd  # an answer's interval is one level or more: its spread says how it moves
    kind = BAND_OF_CELLS if half.any() else NO_BAND
    step = (z[:, axis] - middle[axis]) / sd
    return Walk(z, step, map.line_means(expected), half, kind, (told.lower, told.upper))


def _by_rows(model: Any, axis: int, along: Array, X: Array) -> Walk:
    """In sd of the rows' places, no farther than they reach; the band is what the model misses of the rows."""
    places = np.asarray(model.transform(X))
    _check_axis(axis, places.shape[1])
    middle, sd = places.mean(axis=0), float(places[:, axis].std()) or 1.0
    z = np.tile(middle, (len(along), 1))
    z[:, axis] = np.clip(middle[axis] + along * sd, places[:, axis].min(), places[:, axis].max())
    return Walk(z, (z[:, axis] - middle[axis]) / sd, *_by_errors(model, z, X, places))


def _has_noise(model: Any) -> bool:
    return isinstance(model, LatentModel) and ("noise_variance_" in vars(model) or "noise_variances_" in vars(model))


def _with_noise(model: LatentModel, z: Array) -> tuple[Array, Array, str]:
    cells = model.decode(z)
    band = NORMAL_90 * np.sqrt(cells.var + cells.noise)
    return cells.mean, band, BAND_OF_CELLS if band.any() else NO_BAND


def _by_errors(model: Any, z: Array, X: Array, places: Array) -> tuple[Array, Array, str]:
    missed = np.abs(X - np.asarray(model.inverse_transform(places)))
    band = np.tile(np.nanquantile(missed, BAND_LEVEL, axis=0), (len(z), 1))
    return np.asarray(model.inverse_transform(z)), band, BAND_OF_ROWS


def _step(value: float) -> str:
    return f"{value:+.3g}" if abs(value) > 1e-12 else "0"


def _columns(walk: Walk, curve: Walk, chosen: NDArray[np.int_], names: Sequence[str], scales: ColumnScales) -> Figure:
    figure = draw.blank(6.4, 4.0)
    for ax, j in zip(panels(figure, len(chosen), min(len(chosen), 3), sharex=True), chosen, strict=True):
        ax.fill_between(curve.step, curve.low[:, j], curve.high[:, j], color=draw.COLOURS[5], alpha=0.35, lw=0)
        ax.plot(curve.step, curve.mean[:, j], "-", color=draw.COLOURS[0])
        ax.plot(walk.step, walk.mean[:, j], "o", color=draw.COLOURS[0], ms=3)
        ax.set_title(draw.short(names[j], 22), fontsize=9)
        ax.tick_params(labelsize=8)
        own_ticks(ax.yaxis, scales, int(j))
    band_text = f"band: {walk.kind}" if walk.kind else "no band: no noise"
    along = " to ".join(f"{draw.short(word)} ({k})" for k, word in enumerate(walk.called)) or "sd along the axis"
    figure.supxlabel(f"{along} ({band_text})", fontsize=9)
    figure.supylabel("value, in the column's own units", fontsize=9)
    return figure


def _curves(walk: Walk) -> Figure:
    figure = draw.blank(6.4, 4.0)
    ax = figure.subplots()
    mean = walk.mean
    places = np.arange(1, mean.shape[1] + 1)
    looks = {0: (draw.COLOURS[0], "--"), len(mean) - 1: (draw.COLOURS[3], "-")}
    for k, mark in enumerate(walk.marks):
        colour, line = looks.get(k, (draw.GREY, ":"))
        ax.plot(places, mean[k], color=colour, ls=line, lw=1.4, label=mark)
        if k in looks and walk.kind:
            ax.fill_between(places, walk.low[k], walk.high[k], color=colour, alpha=0.15, lw=0)
    ax.set(xlabel="place along the curve", ylabel="value" + (f" (band: {walk.kind})" if walk.kind else ""))
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=7)
    return figure


def _pictures(walk: Walk, form: Form) -> Figure:
    mean = walk.mean
    across = min(len(mean), 7)
    high = -(-len(mean) // across) * 6.4 / across * picture_height(form, mean) * 1.15
    figure = draw.blank(6.4, max(2.0, 0.6 + high))
    for ax, mark, cells in zip(panels(figure, len(mean), across), walk.marks, mean, strict=True):
        draw_picture(ax, cells, form, mark, mean)
    return figure
