"""The map of a GP-LVM over how sure it is of itself: predictive sd, rows, and the columns that change fastest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.access import fit_spread_rows, groups_of, lacks, rows_with_gaps
from lowdim.plot.analysis.map import check_axes
from lowdim.plot.base import Plot
from lowdim.plot.beside_points import JOIN, draw_path, path_words
from lowdim.plot.colour import Groups, draw_groups, explain_kinds
from lowdim.plot.marks import MOST_POINTS, as_map, legend_above, spread_out
from lowdim.plot.registry import AXES, COLOR, plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.table_model import TableModel

GPLVM_ROWS = 300  # of a GP-LVM that is made for an analysis
SD_GRID_SIDE = 60  # points a side of the grid on which the sd is computed
MAP_EDGE = 0.12  # of the rows' range, left free around them
MAP_PARTS = 5  # the map is cut in so many parts a side, and each with rows in it may name a column
MOST_NAMED_SLOPES = 7  # columns named at most
LIGHTEN = 1.6  # times the largest sd would be black: rows must stay visible on it
SLOPE_STEP = 1e-3  # of the rows' range: of the differences that give the slopes


class MapPlane(NamedTuple):
    """A plane of the map: two axes over a grid, the others in the middle of the rows."""

    axes: tuple[int, int]
    x: Array
    y: Array
    middle: Array

    def places(self, xy: Array) -> Array:
        """Points of the plane as places."""
        z = np.tile(self.middle, (len(xy), 1))
        z[:, list(self.axes)] = xy
        return z

    @property
    def grid(self) -> Array:
        """All points of the grid, the second axis first to change."""
        return self.places(np.stack([part.ravel() for part in np.meshgrid(self.x, self.y, indexing="ij")], axis=1))


def gplvm_of(analysis: Analysis, model: Any) -> TableModel:
    """The model that is given, or a GP-LVM of up to 300 rows."""
    from lowdim.models.gaussian_process.gplvm import GPLVM

    return fit_spread_rows(analysis, model, GPLVM, GPLVM_ROWS)


@plot(
    "latent_variance",
    "The map of a GP-LVM over how sure it is of itself.",
    needs="model",
    options=(COLOR, AXES, JOIN),
    stand_in=gplvm_of,
)
def latent_variance(
    subject: TableModel, *, axes: tuple[int, int] = (0, 1), color: Any = None, join: bool = False
) -> Plot:
    """Rows of a GP-LVM (Bayesian or not) over the standard deviation of a new cell at each place of the map.

    The sd is the root mean square over columns of `predictive_variance`, each in units of what its column varies: near
    1 the model knows nothing there. The column whose mean changes fastest with the place is named where it does so,
    with an arrow uphill. Axes beyond the two drawn stay in the middle of the rows; of a model with one axis the sd is a
    curve.

    Reference: [Lawrence2005] of `docs/sources.md`, figure 1; steepest gradients as in GPy.

    Parameters
    ----------
    subject : TableModel
        A GP-LVM; of an analysis without `model=`, one of up to 300 rows of its table.
    """
    model = subject.model
    if not callable(getattr(model, "predictive_variance", None)):
        why = "it is equally sure of itself everywhere"
        raise lacks(subject, "latent_variance", why, "a GP-LVM:  lowdim fit FILE -m gplvm --dims 2")
    Z, size = np.asarray(model.embedding_, dtype=np.float64), spread_of(model)
    flat, kinds = Z.shape[1] > 1, groups_of(subject, color, in_order=join)
    figure = draw.blank(6.4, 5.0)
    if flat:
        data, steepest_names = _plane(figure, subject, check_axes(axes, Z.shape[1]), size, kinds, join)
    else:
        data, steepest_names = _line(figure, model, Z, size)
    title, sentence = _words(model, Z, size, join and flat, steepest_names)
    draw.headline(figure, title)
    words = kinds.words if flat else ""
    return Plot("latent_variance", figure, title=title, sentence=sentence + words, data={"row": Z, **data})


def spread_of(model: Any) -> Array:
    """What each column varies: its mean's spread over the rows of the fit, and the sd there."""
    Z = np.asarray(model.embedding_)
    var = np.var(np.asarray(model.inverse_transform(Z)), axis=0) + np.mean(model.predictive_variance(Z), axis=0)
    return np.where(var > 0, np.sqrt(var), 1.0)


def doubt(model: Any, Z: Array, size: Array) -> Array:
    """Root mean square over columns of a new cell's sd, in units of what the columns vary."""
    return np.asarray(np.sqrt(np.mean(np.asarray(model.predictive_variance(Z)) / size**2, axis=1)))


def _around(values: Array, points: int) -> Array:
    low, high = float(values.min()), float(values.max())
    edge = MAP_EDGE * (high - low) or 1.0
    return np.linspace(low - edge, high + edge, points)


def _plane(
    figure: Figure, subject: TableModel, axes: tuple[int, int], size: Array, kinds: Groups, join: bool
) -> tuple[dict[str, Any], str]:
    """The sd as shades, rows and names on top; the numbers, and which columns were named."""
    model, names, gap = subject.model, subject.table.names, rows_with_gaps(subject)
    Z = np.asarray(model.embedding_, dtype=np.float64)
    x, y = (_around(Z[:, k], SD_GRID_SIDE) for k in axes)
    ground = MapPlane(axes, x, y, np.median(Z, axis=0))
    sd = doubt(model, ground.grid, size).reshape(SD_GRID_SIDE, SD_GRID_SIDE)
    ax, most = figure.subplots(), float(sd.max())
    shade = ax.pcolormesh(x, y, sd.T, cmap="Greys", vmin=0.0, vmax=LIGHTEN * most, shading="nearest", rasterized=True)
    bar = figure.colorbar(shade, ax=ax, shrink=0.8, label="sd of a new cell (1 = what its column varies)")
    bar.ax.set_ylim(0.0, most)
    xy = np.ascontiguousarray(Z[:, list(axes)])
    draw_groups(ax, xy, kinds, gap, spread_out(len(xy), MOST_POINTS))
    if join:
        draw_path(ax, xy)
    explain_kinds(figure, kinds, gap)
    as_map(ax, *(f"axis {k + 1} of the map" for k in axes), box=True)
    spots, columns, slope = steepest(model, ground, xy, size)
    _name_slopes(ax, spots, slope, [draw.short(names[j], 14) for j in columns])
    steepest_names = ", ".join(draw.quoted(names[j]) for j in dict.fromkeys(columns))
    fastest = np.array([str(names[j]) for j in columns])
    return {"x": x, "y": y, "sd": sd, "fastest": fastest, "fastest_at": spots, "slope": slope}, steepest_names


def steepest(model: Any, ground: MapPlane, xy: Array, size: Array) -> tuple[Array, list[int], Array]:
    """Where rows are, the column whose mean changes fastest: places, columns and slopes (in spreads a unit of map).

    Each column is named once, where it is steepest, and the steepest of all come first.
    """
    h = SLOPE_STEP * np.ptp(xy, axis=0)
    cell = np.floor((xy - xy.min(axis=0)) / np.where(h > 0, np.ptp(xy, axis=0), 1.0) * (MAP_PARTS - 1e-9)).astype(int)
    spots = np.array([xy[(cell == c).all(axis=1)].mean(axis=0) for c in np.unique(cell, axis=0)])
    both = []
    for k in range(2):
        move = np.where(np.arange(2) == k, np.where(h > 0, h, SLOPE_STEP), 0.0)
        up, down = (np.asarray(model.inverse_transform(ground.places(spots + sign * move))) for sign in (1.0, -1.0))
        both.append((up - down) / (2.0 * move[k]) / size)
    J = np.stack(both, axis=2)  # spots x columns x 2
    steep = np.sqrt((J**2).sum(axis=2))
    best = steep.argmax(axis=1)
    order = np.argsort(-steep[np.arange(len(spots)), best], kind="stable")
    first_of_each: dict[int, int] = {}
    for s in order:
        first_of_each.setdefault(int(best[s]), int(s))
    chosen = list(first_of_each.items())[:MOST_NAMED_SLOPES]
    at = [s for _, s in chosen]
    columns = [j for j, _ in chosen]
    return spots[at], columns, J[at, columns]


def _name_slopes(ax: Axes, spots: Array, slope: Array, texts: list[str]) -> None:
    """An arrow uphill at each place, all of one length, and the column's name beside it."""
    if not len(spots):
        return
    wide = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])
    way = slope / wide  # as it looks on the page
    way /= np.maximum(np.sqrt((way**2).sum(axis=1, keepdims=True)), 1e-300)
    ends = spots + 0.06 * way * wide
    look = {"arrowstyle": "-|>", "color": draw.COLOURS[3], "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    for start, end in zip(spots, ends, strict=True):
        ax.annotate("", end, start, zorder=6, arrowprops=look)
    arrows = spots + np.linspace(0.0, 1.0, 9)[:, None, None] * (ends - spots)  # no name on an arrow
    draw.place_labels(ax, ends, texts, avoid=arrows.reshape(-1, 2))


def _line(figure: Figure, model: Any, Z: Array, size: Array) -> tuple[dict[str, Any], str]:
    """With one axis: the sd as a curve, rows as ticks below."""
    x = _around(Z[:, 0], 4 * SD_GRID_SIDE)
    sd = doubt(model, x[:, None], size)
    ax = figure.subplots()
    ax.plot(x, sd, color=draw.COLOURS[0])
    ax.plot(Z[:, 0], np.zeros(len(Z)), "|", color=draw.INK, ms=9, label="rows")
    ax.set(xlabel="the map's axis", ylabel="sd of a new cell (1 = what its column varies)")
    legend_above(ax)
    return {"x": x, "sd": sd}, ""


def _words(model: Any, Z: Array, size: Array, join: bool, steepest_names: str) -> tuple[str, str]:
    at_rows = float(np.median(doubt(model, Z, size)))
    where, far = ("it is light", "dark places") if Z.shape[1] > 1 else ("the curve is low", "places where it is high")
    title = f"Where {where} the map knows what it says: sd {draw.number(at_rows)} at the {draw.count(len(Z), 'row')}"
    text = (
        f"A new cell at a row's place has a standard deviation of {draw.number(at_rows)} of what its column varies "
        f"(median); {far} have no rows near, and nothing is known there."
    )
    if Z.shape[1] > 2:
        text += f" The other {draw.count(Z.shape[1] - 2, 'axis', 'axes')} of the map stay in the middle of the rows."
    if steepest_names:
        text += f" Columns that change fastest: {steepest_names}."
    return title, text + (path_words(Z) if join else "")
