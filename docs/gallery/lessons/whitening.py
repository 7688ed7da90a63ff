"""Two columns raw, standardised and whitened; and the lines of regression and of total least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from lessons.two_columns import TwoColumns, plane_of

from lowdim.datasets.small import faithful
from lowdim.models.linear.pca import PCA
from lowdim.models.linear.whitening import total_least_squares, whiten
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import legend_above, spread_out

if TYPE_CHECKING:
    from lowdim.table.table import Table

MOST_DOTS = 1500


@draw.styled
def whitening(table: Table | None = None, *, columns: tuple[int, int] = (0, 1)) -> Plot:
    """Two columns as they are, with variance 1 each, and without correlation; the principal axes to +- sqrt(lambda).

    Parameters
    ----------
    table : Table, optional
        Two of its columns are drawn; the Old Faithful geyser where it is left out.
    columns : tuple of two int, default (0, 1)
        Their positions.

    Returns
    -------
    Plot

    Examples
    --------
    >>> whitening().sentence
    'The two columns correlate by 0.90; standardised, their axes have variances 1.9 and 0.0992; whitened, both have 1.'
    """
    geyser = faithful()
    plane = (
        TwoColumns(geyser.X, (geyser.columns[0], geyser.columns[1]))
        if table is None
        else plane_of(table, columns, "whitening")
    )
    X, n = plane.X, len(plane.X)
    standard = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    white = whiten(X).rows
    if white.shape[1] < 2:
        white = np.column_stack([white, np.zeros(n)])
    pca = PCA(2).fit(standard)
    lengths = np.sqrt(pca.explained_variance_)
    axes = pca.components_ * lengths[:, None]
    figure = draw.blank(9.0, 3.3)
    panels = figure.subplots(1, 3)
    shown = spread_out(n, MOST_DOTS)
    for ax, rows, name in zip(panels, (X, standard, white), ("raw", "standardised", "whitened"), strict=True):
        ax.plot(*rows[shown].T, "o", ms=3, mew=0, alpha=0.8, color=draw.COLOURS[0])
        ax.set_title(name, fontsize=10)
    for end in axes:
        panels[1].plot(*np.stack([-end, end]).T, color=draw.COLOURS[3], lw=2)
    panels[0].set(xlabel=draw.short(plane.names[0]), ylabel=draw.short(plane.names[1]))
    for ax in panels[1:]:
        ax.set_aspect("equal", adjustable="datalim")
    r = float(standard[:, 0] @ standard[:, 1]) / (n - 1)
    title = f"Whitening takes away two scales and a correlation of {r:.2f}"
    draw.headline(figure, title)
    sentence = (
        f"The two columns correlate by {r:.2f}; standardised, their axes have variances {draw.number(lengths[0] ** 2)} "
        f"and {draw.number(lengths[1] ** 2)}; whitened, both have 1."
    )
    data = {"raw": X, "standardised": standard, "whitened": white, "axis": axes, "variance": lengths**2}
    return Plot("whitening", figure, title=title, sentence=sentence, data=data)


@draw.styled
def lines_through(table: Table | None = None, *, columns: tuple[int, int] = (0, 1)) -> Plot:
    """The line of total least squares between the regression of y on x and that of x on y.

    Parameters
    ----------
    table : Table, optional
        Two of its columns are drawn, as they are; rows along a line of ours where it is left out.
    columns : tuple of two int, default (0, 1)
        Positions of x and y.

    Returns
    -------
    Plot
    """
    plane = plane_of(table, columns, "total_least_squares")
    x, y = (plane.X - plane.X.mean(axis=0)).T
    sxx, sxy, syy = float(x @ x), float(x @ y), float(y @ y)
    fit = total_least_squares(x[:, None], y)
    slope = {
        "y on x": sxy / sxx,
        "total least squares": float(fit.coefficients[0]),
        "x on y": syy / sxy if sxy else np.nan,
    }
    figure = draw.blank(5.6, 4.8)
    ax = figure.subplots()
    shown = spread_out(len(x), MOST_DOTS)
    middle = plane.X.mean(axis=0)
    ax.plot(*plane.X[shown].T, "o", ms=3.5, mew=0, alpha=0.8, color=draw.COLOURS[5], label="row")
    box = ax.axis()
    reach = np.array([x.min(), x.max()])
    for k, (name, steep) in enumerate(slope.items()):
        ax.plot(middle[0] + reach, middle[1] + steep * reach, color=draw.COLOURS[(1, 3, 2)[k]], ls=("--", "-", "-.")[k],
                lw=2, label=name)  # fmt: skip
    ax.axis(box)
    ax.set(xlabel=draw.short(plane.names[0]), ylabel=draw.short(plane.names[1]))
    legend_above(ax, ncols=4, columnspacing=1.0)
    off = float(np.sqrt((fit.distances**2).mean()))
    title = f"Slopes: {', '.join(f'{name} {draw.number(steep)}' for name, steep in slope.items())}"
    draw.headline(figure, title)
    sentence = (
        f"Between the regression of y on x (slope {draw.number(slope['y on x'])}) and that of x on y "
        f"({draw.number(slope['x on y'])}) lies total least squares ({draw.number(slope['total least squares'])}): "
        f"rows are {draw.number(off)} off that line at right angles (root mean square)."
    )
    data = {
        "row": plane.X,
        "line": list(slope),
        "slope": list(slope.values()),
        "mean": middle,
        "distance": fit.distances,
    }
    return Plot("total_least_squares", figure, title=title, sentence=sentence, data=data)
