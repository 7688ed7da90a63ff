"""How a fit went: the objective step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fit import ROUNDING
from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.access import lacks
from lowdim.plot.base import Plot
from lowdim.plot.marks import plain_log, whole_ticks
from lowdim.plot.registry import InReport, plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.table_model import TableModel


@plot(
    "trace",
    "The objective of a fit, step by step.",
    needs="model",
    report=InReport("stability", says_something=lambda analysis: not analysis.model.certificate_.converged),
)
def trace(subject: TableModel) -> Plot:
    """The objective after each step of a fit, and what was still missing to its last value, on a logarithmic scale.

    EM never lowers its objective; a fall beyond rounding is marked with a cross and named. Of several starts the best
    is drawn in full, the others thin.

    Parameters
    ----------
    subject : TableModel
        A model that was fitted step by step.
    """
    history = vars(subject.model).get("history_")
    if history is None or not len(history):
        raise lacks(subject, "trace", "it is found in one step", "an iterative model: -m gtm, gplvm, gmm")
    name, nested = subject.model.certificate_.objective_name, np.ndim(history[0]) == 1
    runs = [np.asarray(run, dtype=np.float64) for run in (history if nested else [history])]
    best = int(np.argmax([run[-1] if len(run) else -np.inf for run in runs]))
    h = runs[best]
    falls = np.flatnonzero(np.diff(h) < -ROUNDING * np.maximum(np.abs(h[:-1]), 1.0)) + 1
    figure = draw.blank()
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    for k, run in enumerate(runs):
        if k != best:
            left.plot(np.arange(1, len(run) + 1), run, color=draw.GREY, lw=0.8)
    left.plot(np.arange(1, len(h) + 1), h, "o-", color=draw.COLOURS[0], ms=3 if len(h) < 60 else 0)
    left.plot(falls + 1, h[falls], "X", color=draw.COLOURS[3], ms=9, label="a fall")
    left.set(xlabel="step (pass over the table)", ylabel=draw.short(name, 40))
    left.ticklabel_format(useOffset=False)
    whole_ticks(left.xaxis)
    _missing(right, h)
    title, sentence = _trace_words(h, falls, name, len(runs))
    draw.headline(figure, title)
    last = [run[-1] for run in runs if len(run)]
    data = {"step": np.arange(1, len(h) + 1), "objective": h, "fall": falls + 1, "last_of_run": last}
    return Plot("trace", figure, title=title, sentence=sentence, data=data)


def _missing(ax: Axes, h: Array) -> None:
    """What each step still lacked, where it lacked anything."""
    lack = h.max(initial=-np.inf) - h
    steps = np.flatnonzero(lack > 0)
    if len(steps):
        ax.semilogy(steps + 1, lack[steps], ".-", color=draw.COLOURS[2], lw=1)
        plain_log(ax.yaxis)
        whole_ticks(ax.xaxis)
    else:
        ax.text(0.5, 0.5, "one step:\nnothing was missing", ha="center", va="center", transform=ax.transAxes)
        ax.set_xticks([])
        ax.set_yticks([])
    ax.set(xlabel="step", ylabel="still missing to the best")


def _trace_words(h: Array, falls: NDArray[np.int_], name: str, runs: int) -> tuple[str, str]:
    name = draw.short(name, 40)
    if len(h) < 2:
        value = draw.number(h[0]) if len(h) else "unknown"
        return f"One step: {name} {value}", f"The answer came in one step, with a {name} of {value}."
    starts_text = f" ({runs} starts; the best is drawn in full)" if runs > 1 else ""
    if len(falls):
        where = ", ".join(str(f + 1) for f in falls[:5])
        title = f"The {name} fell at {draw.count(len(falls), 'step')}: it never should"
        return title, f"The {name} fell at step {where} of {len(h)}{starts_text}; it never should."
    # six figures: steps near the end differ in the last ones
    path = f"from {h[0]:,.6g} to {h[-1]:,.6g}; the last step added {draw.number(h[-1] - h[-2])}"
    title = f"The {name} rose at every step, {len(h)} in all{starts_text}"
    return title, f"The {name} rose at each of {draw.count(len(h) - 1, 'step')}{starts_text}, {path}."
