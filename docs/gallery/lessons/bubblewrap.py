"""Bubble wrap: a grid of nodes far apart beside its noise, where a row belongs to one node alone."""

from __future__ import annotations

import numpy as np

from lowdim.plot import base as draw
from lowdim.plot.base import Plot

NODES = 5
LEAST_SURE = 0.95  # of a share that belongs to one node


@draw.styled
def bubblewrap(*, apart: tuple[int, ...] = (1, 4, 16)) -> Plot:
    """Nodes on a line so many standard deviations apart: the density of all, and the share of each along the way.

    Between two nodes s standard deviations apart the share is a logistic function of slope s^2: from 5% to 95% it takes
    2 log(19) / s^2 of the way.

    Parameters
    ----------
    apart : tuple of int, default (1, 4, 16)
        Standard deviations between neighbours.

    Returns
    -------
    Plot

    Examples
    --------
    >>> bubblewrap().data["between"].round(4).tolist()
    [1.0, 0.3681, 0.023]
    """
    nodes = np.arange(NODES)
    way = np.linspace(-1.0, NODES, 1201)
    density, share, between = [], [], []
    figure = draw.blank(9.0, 3.8)
    panels = figure.subplots(2, len(apart), sharex=True, squeeze=False)
    for k, s in enumerate(apart):
        each = -0.5 * (s * (way[:, None] - nodes)) ** 2
        density.append(np.exp(each).mean(axis=1) * s / np.sqrt(2 * np.pi))
        part = np.exp(each - each.max(axis=1, keepdims=True))
        share.append(part / part.sum(axis=1, keepdims=True))
        between.append(min(1.0, 2 * np.log(LEAST_SURE / (1 - LEAST_SURE)) / s**2))
        panels[0, k].fill_between(way, density[-1], color=draw.COLOURS[5], lw=0)
        panels[0, k].plot(nodes, np.zeros(NODES), "|", color=draw.INK, ms=9, clip_on=False)
        panels[0, k].set_title(f"{s} sd apart", fontsize=10)
        for j in nodes:
            panels[1, k].plot(way, share[-1][:, j], color=draw.COLOURS[j], ls=("-", "--", "-.", ":", "-")[j], lw=1.3)
        panels[1, k].set_xlabel("way over the nodes")
    panels[0, 0].set_ylabel("density")
    panels[1, 0].set_ylabel("share of each node")
    last = between[-1]
    title = f"{apart[-1]} standard deviations apart, a place is in doubt on {draw.percent(last)} of the way only"
    draw.headline(figure, title)
    words = ", ".join(f"{draw.percent(b)} at {s} sd" for b, s in zip(between, apart, strict=True))
    sentence = f"The way between two nodes on which neither has 95% of a row: {words}; the sheet becomes bubble wrap."
    data = {"way": way, "apart": list(apart), "density": np.stack(density, axis=1), "between": between}
    data |= {"share": np.stack(share, axis=1)}
    return Plot("bubblewrap", figure, title=title, sentence=sentence, data=data)
