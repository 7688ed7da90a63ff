"""How much each axis of a Bayesian model matters, and which were switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.maths.linalg import Array, Mask
from lowdim.plot import base as draw
from lowdim.plot.access import fit_spread_rows, lacks
from lowdim.plot.base import Plot
from lowdim.plot.marks import legend_above
from lowdim.plot.registry import plot

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.table_model import TableModel

SWITCHED_OFF = 1e-3  # of a model that does not say which axes it keeps: one below this share of the strongest is off
MOST_NUMBERED_BARS = 24  # bars that can carry their number


def bayesian_pca(analysis: Analysis, model: Any) -> TableModel:
    """The model that is given, or Bayesian PCA of the table: that of an analysis switches no axes off."""
    from lowdim.models.linear.bayesian_pca import BayesianPCA

    return fit_spread_rows(analysis, model, BayesianPCA, analysis.table.n)


@plot("relevance", "How much each axis of a Bayesian model matters.", needs="model", stand_in=bayesian_pca)
def relevance(subject: TableModel) -> Plot:
    """Bars of 1/alpha, the prior variance that automatic relevance determination left each axis; strongest first.

    Filled bars are kept, hollow ones switched off; an axis that is off has little to show and says so.

    Reference: [Bishop2006], section 12.2.3, and [Zabaras2017], of `docs/sources.md`.

    Parameters
    ----------
    subject : TableModel
        Bayesian PCA or a Bayesian GP-LVM; of an analysis without `model=`, Bayesian PCA of its table.
    """
    fitted = vars(subject.model)
    if "relevance_" not in fitted:
        raise lacks(subject, "relevance", "it switches no axes off", "a Bayesian model: -m bpca or -m bgplvm")
    value = np.asarray(fitted["relevance_"], dtype=np.float64)
    keep = np.asarray(fitted.get("kept_", value > SWITCHED_OFF * value.max()), dtype=bool)
    order = np.argsort(-value, kind="stable")
    title, sentence = _words(value, keep)
    figure = draw.blank(6.4, 3.4)
    _bars(figure.subplots(), value[order], keep[order], order)
    draw.headline(figure, title)
    data = {"axis": order + 1, "relevance": value[order], "kept": keep[order]}
    return Plot("relevance", figure, title=title, sentence=sentence, data=data)


def _bars(ax: Any, value: Array, on: Mask, order: Any) -> None:
    """Filled bars for what is kept, hollow for what is off, each with its number."""
    from matplotlib.patches import Patch

    at, top = np.arange(len(value)), float(value.max()) or 1.0
    ax.bar(at[on], value[on], width=0.7, color=draw.COLOURS[0])
    ax.bar(at[~on], value[~on], width=0.7, facecolor=draw.PAPER, edgecolor=draw.GREY, hatch="////", linewidth=1.0)
    if len(value) <= MOST_NUMBERED_BARS:
        small = 8 if len(value) <= 14 else 6
        for k, v in enumerate(value):
            text, colour = (draw.number(v), draw.INK) if on[k] else ("off", draw.GREY)
            ax.text(k, v + 0.02 * top, text, ha="center", va="bottom", fontsize=small, color=colour)
    step = -(-len(value) // MOST_NUMBERED_BARS)
    ax.set_xticks(at[::step], [str(k + 1) for k in order[::step]], fontsize=8)
    ax.set_xlim(-0.6, len(value) - 0.4)
    ax.set_ylim(0.0, 1.12 * top)
    ax.set(xlabel="axis, strongest first", ylabel="relevance 1/α")
    off = Patch(facecolor=draw.PAPER, edgecolor=draw.GREY, hatch="////", label="switched off")
    legend_above(ax, handles=[Patch(color=draw.COLOURS[0], label="kept"), off], ncols=2)


def _words(value: Array, keep: Mask) -> tuple[str, str]:
    on, n = int(keep.sum()), len(value)
    title = f"{on} of {draw.count(n, 'axis', 'axes')} kept"
    off_text = f"the strongest switched off {draw.number(value[~keep].max())}" if on < n else ""
    if not on:
        nothing = f"None of {draw.count(n, 'axis', 'axes')} is kept; {off_text}."
        return "No axis is kept: the table looks like noise", nothing
    weakest, strongest = value[keep].min(), value[keep].max()
    verb = "is" if on == 1 else "are"
    spread = f"the weakest kept has {draw.number(weakest)}, the strongest {draw.number(strongest)}"
    return title, f"{on} of {draw.count(n, 'axis', 'axes')} {verb} kept; {spread}{off_text and f', and {off_text}'}."
