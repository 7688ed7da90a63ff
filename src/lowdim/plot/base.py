"""What every plot is: a figure, the numbers in it, a title and a sentence; SVG with real text, same bytes each time."""

from __future__ import annotations

import html
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from lowdim.plot.layout import fix_layout, lay_out
from lowdim.storage.atomic import check_folder, replacing
from lowdim.text.csv_table import csv_columns
from lowdim.text.escape import printable as printable
from lowdim.text.format import count as count
from lowdim.text.format import number as number
from lowdim.text.format import percent as percent
from lowdim.text.format import short as short
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's eight colours, told apart by most eyes; shapes go with them, never colour alone
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")
GREY, INK, PAPER = "#767676", "#1b1b1b", "#ffffff"
SEQUENTIAL, DIVERGING = "cividis_r", "RdBu_r"  # dark: more, far
ENDINGS = (".svg", ".csv", ".png", ".pdf")
RC_PARAMS: Any = {
    "svg.hashsalt": "lowdim",
    "svg.fonttype": "none",
    "font.size": 10.0,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # no axis of ours is at the top, so there is nothing to measure
    "axes.grid": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "legend.frameon": False,
    "axes.edgecolor": GREY,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.parse_math": False,  # a column may be called $price$
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8.0,
    "legend.handlelength": 1.6,
}
P = ParamSpec("P")
PLACES = re.compile(r' (?:d|transform|x|y)="[^"]*"')  # of an SVG
POINTED = re.compile(r'((?:\bid="|href="#|url\(#))([^")]*)(["\)])')  # an id, and what points to one
MORE_DECIMALS = re.compile(r"(?<=\.\d{3})\d+")


class Plot:
    """A finished plot: a figure, the numbers in it, a title, and a sentence that says what it shows.

    A notebook shows it by itself; `save` writes SVG, PNG, PDF or the numbers as CSV.

    Parameters
    ----------
    name : str
        The name of the plot.
    figure : matplotlib.figure.Figure
        Drawn without pyplot.
    title : str
        What is seen, above everything.
    sentence : str
        What it shows, for those who cannot see it.
    data : dict of str to array
        The numbers that are drawn.
    tooltips : dict of str to str
        What the marks say where the pointer rests, by the id (`set_gid`) of each: SVG titles, no script.

    Attributes
    ----------
    name, figure, title, sentence, data, tooltips
        As above.

    Examples
    --------
    >>> import lowdim
    >>> table = lowdim.read(np.array([[1.0, 5.0], [2.0, 3.0], [4.0, 9.0], [3.0, 1.0]]))
    >>> from lowdim.plot.analysis.table import columns
    >>> shown = columns(table)
    >>> shown.sentence, sorted(shown.data)[:2]
    ('Of 2 columns, none has gaps and none has far values.', ['column', 'count'])
    """

    def __init__(
        self,
        name: str,
        figure: Figure,
        *,
        title: str,
        sentence: str,
        data: dict[str, Any],
        tooltips: dict[str, str] | None = None,
    ) -> None:
        self.name, self.figure, self.title, self.sentence = name, figure, printable(title), printable(sentence)
        self.data = {key: np.asarray(value) for key, value in data.items()}
        self.tooltips = dict(tooltips or {})

    def svg(self, prefix: str = "") -> str:
        """The plot as SVG with a title and a description for those who cannot see it.

        Parameters
        ----------
        prefix : str
            Starts every id in it, so that two plots of one name can share a page; its name where it is left out.

        Returns
        -------
        str
            One `svg` element that reaches nowhere outside.
        """
        body = figure_svg(self.figure)
        for mark, text in self.tooltips.items():
            body = body.replace(f'<g id="{mark}">', f'<g id="{mark}"><title>{html.escape(text)}</title>', 1)
        return described(body, prefix or self.name, self.title, self.sentence)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the plot, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Its ending says how: .svg, .png, .pdf, or .csv for the numbers.

        Returns
        -------
        Path
            Where it is.
        """
        path = check_picture(path)
        with replacing(path) as temporary:
            if path.suffix in (".svg", ".csv"):
                temporary.write_text(self.svg() if path.suffix == ".svg" else self.csv(), encoding="utf-8")
            else:
                # a creation date would make the same plot differ from one day to the next
                bare = {"CreationDate": None} if path.suffix == ".pdf" else {}
                with style():
                    self.figure.savefig(temporary, format=path.suffix[1:], dpi=150, metadata=bare)
        return path

    def columns(self) -> dict[str, np.ndarray]:
        """The numbers as columns of a table: a matrix gives one a column, longer names first to last."""
        out: dict[str, np.ndarray] = {}
        for key, value in self.data.items():
            if value.ndim < 2:
                out[key] = value.ravel()
            else:
                flat = value.reshape(len(value), -1)
                out.update({f"{key}_{k + 1}": flat[:, k] for k in range(flat.shape[1])})
        return out

    def csv(self) -> str:
        """The numbers of the plot, one column each, padded where lengths differ."""
        return csv_columns(self.columns(), "\n")

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"Plot {self.name}: {self.sentence}"


def figure_svg(figure: Figure) -> str:
    """A figure as matplotlib writes it, without date and program.

    Places are given to a thousandth of a point: six decimals follow the last bits, which follow where an array lies.
    """
    from lowdim.plot.canvas import attached

    with style():
        page = attached(figure)
        fix_layout(figure)
        drawn = page.svg()
    return PLACES.sub(lambda place: MORE_DECIMALS.sub("", place[0]), drawn)


def check_picture(path: str | PathLike[str]) -> Path:
    """A path that a plot can be written to: its ending is known and its folder exists."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise error("LD210", option="path", value=str(path), allowed="a name that ends in .svg, .png, .pdf or .csv")
    return check_folder(path)


@contextmanager
def style() -> Iterator[None]:
    """Our look and no one else's while a plot is drawn; the caller's settings come back afterwards.

    A sign that matplotlib's font lacks is no news: the SVG keeps text as text, and the reader's fonts have it.
    """
    import matplotlib as mpl

    if mpl.rcParams["svg.hashsalt"] == RC_PARAMS["svg.hashsalt"]:  # within another plot's
        yield
        return
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        mpl.rcdefaults()
        mpl.rcParams.update(RC_PARAMS)
        yield


def styled(function: Callable[P, Plot]) -> Callable[P, Plot]:
    """Let a plot function draw in our style: matplotlib makes ticks late, so all of it must run inside."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> Plot:
        with style():
            return function(*args, **kwargs)

    return inside


def described(svg: str, name: str, title: str, sentence: str) -> str:
    """The SVG element alone, with role, title and description; nothing in it reaches outside.

    Ids are counted anew behind `name` (matplotlib makes some from memory addresses, and repeats others in
    every file); its style sheet, which would rule the whole page, becomes a property of the element.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", body, flags=re.DOTALL)
    body = body.replace("<defs>\n  \n", "<defs>\n")
    ids: dict[str, str] = {}
    for identifier in re.findall(r'\bid="([^"]*)"', body):
        ids.setdefault(identifier, f"{name}-{len(ids) + 1}")

    def renamed(tag: re.Match[str]) -> str:
        """One tag with its id, and the ids it points to, by their new names."""
        if 'id="' not in tag[0] and "#" not in tag[0]:
            return tag[0]
        return POINTED.sub(lambda match: match[1] + ids.get(match[2], match[2]) + match[3], tag[0])

    body = re.sub(r"<[^<>]*>", renamed, body)
    head, content = body.split(">", 1)
    look = 'style="stroke-linejoin: round; stroke-linecap: butt"'
    words = f'<title id="{name}-title">{html.escape(title)}</title>'
    words += f'<desc id="{name}-desc">{html.escape(sentence)}</desc>'
    return f'{head} role="img" aria-labelledby="{name}-title {name}-desc" {look}>{words}{content}'


def quoted(name: object) -> str:
    """A name inside a sentence."""
    return f"'{short(name)}'"


def canvas(
    width: float = 6.4, height: float = 4.0, *, rows: int = 1, columns: int = 1, **subplot_options: Any
) -> tuple[Figure, Any]:
    """A figure of our own (no pyplot, no global state) and its axes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from lowdim.plot.canvas import attached

    with mpl.rc_context(RC_PARAMS):
        figure = attached(Figure(figsize=(width, height), layout="constrained")).figure
        return figure, figure.subplots(rows, columns, **subplot_options)


def blank(width: float = 6.4, height: float = 4.0) -> Figure:
    """A figure without axes, for charts that lay out their own; a margin is left for a reader's wider fonts."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from lowdim.plot.canvas import attached

    margins = ConstrainedLayoutEngine(rect=(0.016, 0.01, 0.968, 0.98))
    return attached(Figure(figsize=(width, height), layout=margins)).figure


def headline(figure: Figure, text: str) -> None:
    """The finding, above everything, on the left, on as many lines as it needs."""
    width = int(figure.get_figwidth() * 11.5)
    figure.suptitle("\n".join(textwrap.wrap(printable(text), width)), x=0.01, ha="left", fontsize=11)


def figure_of(ax: Axes) -> Figure:
    """The figure that axes belong to, also where they lie in a part of one (`get_figure(root=True)` came with 3.10)."""
    figure: Any = ax.figure
    whole: Figure = figure.figure
    return whole


def place_labels(
    ax: Axes, points: np.ndarray, texts: Sequence[str], *, size: float = 8.0, avoid: np.ndarray | None = None
) -> None:
    """Write texts beside their points (in data units) so that none lies on another, nor on the points of `avoid`.

    Greedy and deterministic: each text tries the places around its point, near before far, and takes the
    first that is free; widths are estimated at 0.6 of the size a character, which is wide enough.
    """
    if not len(points):
        return
    figure = figure_of(ax)
    lay_out(figure)
    ax.apply_aspect()  # equal axes change their limits
    box = ax.get_position()
    inches = figure.get_size_inches()
    span = np.array([box.width * inches[0], box.height * inches[1]]) * 72.0  # the axes in points
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    taken: list[tuple[float, float, float, float]] = []
    for x, y in [] if avoid is None else (avoid - (x0, y0)) / (x1 - x0, y1 - y0) * span:
        taken.append((x - 1.5, x + 1.5, y - 1.5, y + 1.5))
    for point, text in zip(points, texts, strict=True):
        at = (point - (x0, y0)) / (x1 - x0, y1 - y0) * span
        width, height = 0.6 * size * len(text), 1.25 * size
        sides = (4.0, -4.0 - width) if at[0] >= span[0] / 2 else (-4.0 - width, 4.0)  # outwards first
        dx, dy = _free(at, sides, width, height, span, taken)
        ax.annotate(
            text,
            point,
            (dx, dy),
            textcoords="offset points",
            fontsize=size,
            va="center",
            zorder=6,
            bbox={"boxstyle": "square,pad=0.05", "fc": PAPER, "ec": "none", "alpha": 0.75},
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": GREY} if abs(dy) > height else None,
        )


def _free(
    at: np.ndarray,
    sides: tuple[float, float],
    width: float,
    height: float,
    span: np.ndarray,
    taken: list[tuple[float, float, float, float]],
) -> tuple[float, float]:
    """The nearest free offset in points; remembers the box it takes."""
    best = (sides[0], 0.0)
    for step in range(24):
        for sign in (1.0, -1.0):
            for dx in sides:
                dy = sign * step * height * 0.5
                x, y = at[0] + dx, at[1] + dy - height / 2
                inside = x >= 0 and x + width <= span[0] and y >= 0 and y + height <= span[1]
                if inside and not any(x < b[1] and x + width > b[0] and y < b[3] and y + height > b[2] for b in taken):
                    taken.append((x, x + width, y, y + height))
                    return dx, dy
    taken.append((at[0] + best[0], at[0] + best[0] + width, at[1] - height / 2, at[1] + height / 2))
    return best


def thinned(order: np.ndarray, most: int, distance: int) -> np.ndarray:
    """The first positions of `order` that keep `distance` from those before, at most `most`, sorted."""
    chosen: list[int] = []
    for place in order:
        if len(chosen) < most and all(abs(int(place) - other) >= distance for other in chosen):
            chosen.append(int(place))
    return np.array(sorted(chosen), dtype=int)


def need_axes(q: int, least: int, name: str) -> None:
    """Refuse a plot that needs more axes than the map has."""
    if q < least:
        raise error("LD215", name=name, least=least, q=q)
