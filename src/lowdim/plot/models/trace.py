"""How a fit went: the objective step by step, and EM as a movie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.monitor import ROUNDING
from lowdim.math.gaussian import posterior, regress
from lowdim.math.linalg import Array, align
from lowdim.models.linear.parameters import Linear, e_step, isotropic_noise, m_step, noise_floor
from lowdim.plot.base import COLOURS, GREY, INK, PAPER, Plot, blank, count, drawn, headline, number, short
from lowdim.plot.marks import plain_log, whole_ticks
from lowdim.sources.source import Block

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPRINGS = 150  # rows whose spring lines are drawn; all rows are fitted
SHOWN = 6  # frames of the still picture
ACROSS = 75.0  # degrees off the widest direction at the start
QUIET = 0.05  # share of the spread that is noise at the start: short springs, nearly at right angles


@drawn
def trace(history: Any, name: str = "log-likelihood", *, rounding: float = ROUNDING) -> Plot:
    """The objective after each step, and what is still missing to its last value, on a logarithmic scale.

    EM never lowers its objective; a fall beyond rounding is marked with a cross and named. `history` is one run
    or a list of runs (restarts): the best is drawn in full, the others thin.

    >>> trace([-9.0, -5.0, -4.5, -4.4]).sentence
    'The log-likelihood rose at each of 3 steps, from -9 to -4.4; the last step added 0.1.'
    """
    runs = _runs(history)
    best = int(np.argmax([run[-1] if len(run) else -np.inf for run in runs]))
    h = runs[best]
    falls = np.flatnonzero(np.diff(h) < -rounding * np.maximum(np.abs(h[:-1]), 1.0)) + 1
    figure = blank()
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    for k, run in enumerate(runs):
        if k != best:
            left.plot(np.arange(1, len(run) + 1), run, color=GREY, lw=0.8)
    left.plot(np.arange(1, len(h) + 1), h, "o-", color=COLOURS[0], ms=3 if len(h) < 60 else 0)
    left.plot(falls + 1, h[falls], "X", color=COLOURS[3], ms=9, label="a fall")
    left.set(xlabel="step (pass over the table)", ylabel=short(name, 40))
    left.ticklabel_format(useOffset=False)
    whole_ticks(left.xaxis)
    _missing(right, h)
    title, sentence = _trace_words(h, falls, name, len(runs))
    headline(figure, title)
    data = {
        "step": np.arange(1, len(h) + 1),
        "objective": h,
        "fall": falls + 1,
        "last_of_run": [run[-1] for run in runs if len(run)],
    }
    return Plot("trace", figure, title=title, sentence=sentence, data=data)


def _runs(history: Any) -> list[Array]:
    nested = len(history) > 0 and np.ndim(history[0]) == 1
    return [np.asarray(run, dtype=np.float64) for run in (history if nested else [history])]


def _missing(ax: Axes, h: Array) -> None:
    """What each step still lacked, where it lacked anything."""
    lack = h.max(initial=-np.inf) - h
    some = np.flatnonzero(lack > 0)
    if len(some):
        ax.semilogy(some + 1, lack[some], ".-", color=COLOURS[2], lw=1)
        plain_log(ax.yaxis)
        whole_ticks(ax.xaxis)
    else:
        ax.text(0.5, 0.5, "one step:\nnothing was missing", ha="center", va="center", transform=ax.transAxes)
        ax.set_xticks([])
        ax.set_yticks([])
    ax.set(xlabel="step", ylabel="still missing to the best")


def _trace_words(h: Array, falls: NDArray[np.int_], name: str, runs: int) -> tuple[str, str]:
    name = short(name, 40)
    if len(h) < 2:
        value = number(h[0]) if len(h) else "unknown"
        return f"One step: {name} {value}", f"The answer came in one step, with a {name} of {value}."
    some = f" ({runs} starts; the best is drawn in full)" if runs > 1 else ""
    if len(falls):
        where = ", ".join(str(f + 1) for f in falls[:5])
        return (
            f"The {name} fell at {count(len(falls), 'step')}: it never should",
            f"The {name} fell at step {where} of {len(h)}{some}; it never should.",
        )
    path = f"from {_long(h[0])} to {_long(h[-1])}; the last step added {number(h[-1] - h[-2])}"
    return (
        f"The {name} rose at every step, {len(h)} in all{some}",
        f"The {name} rose at each of {count(len(h) - 1, 'step')}{some}, {path}.",
    )


def _long(value: float) -> str:
    """Six figures: steps near the end differ in the last ones."""
    return f"{value:,.6g}"


class Frame(NamedTuple):
    """One moment of EM: the parameters, each row's expected position, and which half-step it is."""

    step: int
    half: str  # "E": springs to the present line; "M": the line has moved
    params: Linear
    z: Array


def across(X: Array) -> Linear:
    """A line through the mean, nearly across the widest direction: EM has far to go."""
    mu = X.mean(axis=0)
    S = np.cov(X.T, bias=True)
    values, U = np.linalg.eigh(S)
    total = max(float(values.sum()), float(np.finfo(float).tiny))
    turn = np.deg2rad(ACROSS)
    w = np.cos(turn) * U[:, 1] + np.sin(turn) * U[:, 0]
    low = np.full(2, noise_floor(total, 2))
    return Linear(
        (w * np.sqrt(total / 2))[:, None],
        mu,
        np.full(2, QUIET * total / 2),
        np.eye(1),
        np.zeros((2, 1)),
        low,
        np.ones(2),
    )


def run_em(block: Block, start: Linear, steps: int, *, expanded: bool) -> tuple[list[Frame], Array]:
    """Frames (E, M, E, M, ..., E) and the log-likelihood at each E step, by the model's own hooks."""
    params = start
    frames: list[Frame] = []
    values = []
    for step in range(steps + 1):
        stats = e_step(params, block)
        z = posterior(block.x, None, params.W, params.mu, params.psi).mean
        values.append(stats.log_density)
        frames.append(Frame(step, "E", params, z))
        if step == steps:
            break
        if expanded:
            params = m_step(params, stats, isotropic_noise)
        else:
            W, mu, left = regress(stats, params.W, params.mu)
            psi = np.maximum(isotropic_noise(left, stats.seen), params.low)
            params = params._replace(W=align(W, params.W), mu=mu, psi=psi)
        frames.append(Frame(step, "M", params, z))
    return frames, np.array(values)


def _still(X: Array, frames: list[Frame], names: Sequence[str]) -> Figure:
    figure = blank(6.4, 4.4)
    wide = min(3, len(frames))
    panels = figure.subplots(-(-len(frames) // wide), wide, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, frame in zip(panels, frames, strict=False):
        draw_frame(ax, X, frame)
    for ax in panels[len(frames) :]:
        ax.set_axis_off()
    figure.supxlabel(f"{short(names[0])} (sd from its mean)", fontsize=9)
    figure.supylabel(f"{short(names[1])} (sd from its mean)", fontsize=9)
    return figure


def draw_frame(ax: Axes, X: Array, frame: Frame) -> None:
    """Rows, the line through the mean, and a spring from each row to its expected place."""
    from matplotlib.collections import LineCollection

    rows = np.unique(np.linspace(0, len(X) - 1, min(SPRINGS, len(X))).astype(int))
    w, mu = frame.params.W[:, 0], frame.params.mu
    place = mu + frame.z[rows] * w
    ax.add_collection(LineCollection(list(np.stack([X[rows], place], axis=1)), colors=COLOURS[2], linewidths=0.5))
    ax.plot(*X[rows].T, "o", color=GREY, ms=2.5)
    ax.plot(*place.T, "o", color=COLOURS[0], ms=2.5, mfc=PAPER, mew=0.6)
    reach = 1.1 * float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).max()))
    size = float(np.linalg.norm(w))
    unit = w / size if size > 0 else np.zeros(2)
    ends = mu + np.outer([-reach, reach], unit)
    ax.plot(*ends.T, color=COLOURS[3] if frame.half == "M" else INK, lw=1.4, ls="--" if frame.half == "M" else "-")
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.08 * np.maximum(high - low, 1e-12)
    ax.set_xlim(low[0] - pad[0], high[0] + pad[0])
    ax.set_ylim(low[1] - pad[1], high[1] + pad[1])
    ax.tick_params(labelsize=8)
    what = "springs attached" if frame.half == "E" else "line pulled over"
    ax.set_title(f"{frame.half} step {frame.step + 1}: {what}", fontsize=8)
