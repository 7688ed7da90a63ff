"""One row's posterior over the nodes of a GTM, its mean and its mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import as_map, legend_above

if TYPE_CHECKING:
    from lowdim.models.nonlinear.gtm import GTM

POSTERIOR_SHARE = 0.9  # of a posterior
SPACINGS_APART = 1.5  # node spacings between mean and mode from which the mean stands between places


@draw.styled
def responsibility(model: GTM, X: Array, row: int | None = None) -> Plot:
    """One row's posterior over the nodes of a GTM with two axes; its mean and mode joined.

    Where mean and mode lie apart, the posterior is spread out or has several peaks, and the mean, which `transform`
    gives, stands between places.

    Reference: [Lawrence2012] of `docs/sources.md`, figure 6.10.

    Parameters
    ----------
    model : GTM
        Fitted to these rows, with two axes.
    X : array of shape (n_rows, n_columns)
        The rows.
    row : int, optional
        Its position; the row whose mean and mode lie farthest apart where it is left out.

    Returns
    -------
    Plot
    """
    means, modes = np.asarray(model.transform(X)), np.asarray(model.mode(X))
    apart = np.sqrt(((means - modes) ** 2).sum(axis=1))
    i = int(np.argmax(apart)) if row is None else row
    places, share = np.asarray(model.grid_), np.asarray(model.responsibilities(X[i : i + 1]))[0]
    sides = [np.unique(places[:, k]) for k in range(2)]
    figure = draw.blank(6.4, 4.8)
    ax = figure.subplots()
    grid = share[np.lexsort(places.T[::-1])].reshape([len(side) for side in sides]).T
    shade = ax.pcolormesh(*sides, grid, cmap="Blues", vmin=0.0, shading="nearest", rasterized=True)
    figure.colorbar(shade, ax=ax, shrink=0.8, label="share of the row (responsibility) of each node")
    ax.plot(*means.T, ".", color=draw.GREY, ms=2, alpha=0.6, zorder=2, label="the other rows")
    ax.plot(*np.stack([means[i], modes[i]]).T, "-", color=draw.COLOURS[3], lw=1.4, zorder=5)
    ax.plot(*means[i, :, None], "o", color=draw.COLOURS[3], mec=draw.PAPER, ms=9, zorder=6, label="its mean")
    ax.plot(*modes[i, :, None], "*", color=draw.COLOURS[3], mec=draw.PAPER, ms=13, zorder=6, label="its mode")
    as_map(ax, "axis 1 of the map (no scale)", "axis 2 of the map (no scale)", box=True)
    legend_above(ax, ncols=3)
    n_nodes = int(np.searchsorted(np.cumsum(np.sort(share)[::-1]), POSTERIOR_SHARE) + 1)
    steps = float(apart[i] / np.diff(sides[0])[0])
    held = f"{n_nodes} of {len(share)} nodes {'holds' if n_nodes == 1 else 'hold'} {draw.percent(POSTERIOR_SHARE)}"
    title = f"Row {i + 1}: {held} of its posterior"
    draw.headline(figure, title)
    sentence = (
        f"Row {i + 1}{' (the most spread out of all)' if row is None else ''}: the likeliest node has "
        f"{draw.percent(float(share.max()))} and {held}; mean and mode lie {draw.number(steps)} spacings apart"
        f"{', so that the mean stands where little of the posterior is' if steps > SPACINGS_APART else ''}."
    )
    data = {"node": places, "share": share, "mean": means[i], "mode": modes[i]}
    return Plot("responsibility", figure, title=title, sentence=sentence, data=data)
