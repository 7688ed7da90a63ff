"""How much of each of several tables their first axes hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.judge.dimensions.judges import eigenvalues
from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import whole_ticks
from lowdim.table.table import column_units

if TYPE_CHECKING:
    from lowdim.table.table import Table

ENOUGH = 0.9  # of the variation, to which the sentence counts axes
NEARLY_ALL, LEAST_AXES = 0.99, 6  # of the variation, a little beyond which the picture ends; axes drawn at least


@draw.styled
def cumulative(table: Table, *, tables: Sequence[Table] = (), names: Sequence[str] | None = None) -> Plot:
    """The share of the variation that the first axes of each table hold, in one picture.

    Parameters
    ----------
    table : Table
        What `lowdim.read` gave; in units of its columns' spread, unless it was read with scale "none". With gaps,
        covariances are those of the pairs that are seen.
    tables : sequence of Table
        Others to draw beside it.
    names : sequence of str, optional
        What the tables are called; their own names where it is left out.

    Returns
    -------
    Plot
    """
    every = [table, *tables]
    called = [draw.short(name, 30) for name in (names or [one.name for one in every])]
    shares = [shares_held(one) for one in every]
    figure = draw.blank(6.4, 4.0)
    ax = figure.subplots()
    full = max(int(np.searchsorted(share, NEARLY_ALL)) + 1 for share in shares)
    last = min(max(LEAST_AXES, round(1.4 * full)), max(map(len, shares)))  # beyond that there is nothing to see
    for k, (name, share) in enumerate(zip(called, shares, strict=True)):
        look: dict[str, Any] = {"color": draw.COLOURS[k % 6], "ls": ("-", "--", "-.", ":")[k % 4]}
        drawn = np.r_[0.0, share][: last + 1]
        ax.plot(range(len(drawn)), drawn, marker=draw.SHAPES[k % 8], ms=3.5, label=name, **look)
    ax.axhline(ENOUGH, color=draw.GREY, lw=0.7, ls=":")
    ax.set(xlabel="axes kept", ylabel="share of the variation", ylim=(0, 1.02), xlim=(0, 1.02 * last))
    whole_ticks(ax.xaxis)
    if len(every) > 1:
        figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=3)
    needed = [int(np.searchsorted(share, ENOUGH - 1e-12)) + 1 for share in shares]
    title = f"{draw.percent(ENOUGH)} of the variation: " + ", ".join(
        f"{name} {draw.count(q, 'axis', 'axes')}" for name, q in zip(called[:4], needed[:4], strict=True)
    )
    draw.headline(figure, title)
    words = "; ".join(f"{draw.quoted(name)} needs {q}" for name, q in zip(called, needed, strict=True))
    sentence = f"Axes that {draw.percent(ENOUGH)} of the variation takes: {words}."
    longest = max(map(len, shares))
    padded = np.stack([np.r_[share, np.full(longest - len(share), np.nan)] for share in shares], axis=1)
    data = {"axis": np.arange(1, longest + 1), "share": padded, "table": np.array(called), "needed": needed}
    return Plot("cumulative", figure, title=title, sentence=sentence, data=data)


def shares_held(table: Table) -> Array:
    """The share of the variation in the first 1, 2, ... axes of a table."""
    X = table.X / column_units(table.X, table.scale)
    X = X - np.nanmean(X, axis=0)
    mask = np.isfinite(X)
    values = np.maximum(eigenvalues(np.where(mask, X, 0.0), None if mask.all() else mask), 0.0)
    share: Array = np.cumsum(values) / values.sum()
    return share
