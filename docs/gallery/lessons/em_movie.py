"""EM as a movie: K-means, a mixture of Gaussians or probabilistic PCA on two columns, half-step by half-step."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.maths.kmeans import cluster_sums, move_centers, nearest_labels, plus_plus
from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import spread_out, whole_ticks
from lowdim.plot.models.mixture import mixed
from lowdim.storage.atomic import replacing
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOVIE_MODELS = ("ppca", "kmeans", "mixture")
MOVIE_STEPS = 6
MOVIE_LEAST_VARIANCE = 1e-6  # of a component, as a share of a column's (columns have unit spread)
LINE_LEAST_NOISE = 1e-12  # of a line, as a share of the spread
LINE_START_ANGLE = 75.0  # degrees off the widest direction
LINE_START_NOISE = 0.05  # share of the spread: short springs, nearly at right angles
MOST_SPRINGS = 150  # rows whose spring lines are drawn; all rows are fitted
MOST_PANELS = 6  # of the still picture
FRAME_SECONDS = 0.9  # a frame of the animation


class ClusterStep(NamedTuple):
    """One half-step of clusters: where the centres are, and how much each row belongs to each."""

    step: int
    half: str  # "E": rows choose; "M": centres move
    mu: Array  # K x 2
    shares: Array  # n x K
    S: Array | None  # K x 2 x 2, for the mixture
    before: Array  # where the centres were a half-step ago


class LineStep(NamedTuple):
    """One half-step of probabilistic PCA: a line mu + z w with noise, and each row's expected place on it."""

    step: int
    half: str  # "E": springs to the present line; "M": the line has moved
    w: Array  # 2
    mu: Array  # 2
    noise: float
    z: Array  # n


class Movie(Plot):
    """A plot that moves: `figure` shows a few frames, `animated()` plays all of them as one SVG without script."""

    def __init__(
        self, name: str, figure: Figure, *, title: str, sentence: str, data: dict[str, Any], frames: Sequence[Figure]
    ) -> None:
        super().__init__(name, figure, title=title, sentence=sentence, data=data)
        self.frames = tuple(frames)

    def animated(self, seconds: float = FRAME_SECONDS) -> str:
        """All frames, each shown for `seconds`, over and over.

        It is CSS only. Whoever asked their system for less motion sees the last frame.
        """
        parts, n = [], len(self.frames)
        for k, figure in enumerate(self.frames):
            inner = draw.described(draw.figure_svg(figure), f"{self.name}-f{k + 1}", f"frame {k + 1} of {n}", "")
            inner = re.sub(r' (?:width|height)="[\d.]+pt"', "", inner, count=2)  # it fills the frame around it
            parts.append(f'<g class="{self.name}-frame" style="animation-delay:{k * seconds:g}s">{inner}</g>')
        view_box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', parts[0])
        width, height = (view_box[1], view_box[2]) if view_box else ("345.6", "345.6")
        words = (
            f'<title id="{self.name}-title">{html.escape(self.title)}</title>'
            f'<desc id="{self.name}-desc">{html.escape(self.sentence)}</desc>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'viewBox="0 0 {width} {height}" width="{width}pt" height="{height}pt" role="img" '
            f'aria-labelledby="{self.name}-title {self.name}-desc">{words}'
            f"{_sheet(self.name, n, seconds)}{''.join(parts)}</svg>"
        )

    def save_animated(self, path: str | PathLike[str], seconds: float = FRAME_SECONDS) -> Path:
        """Write the animation; any browser plays it."""
        path = Path(path)
        if path.suffix != ".svg":
            raise error("LD210", option="path", value=str(path), allowed="a name that ends in .svg")
        with replacing(path) as temporary:
            temporary.write_text(self.animated(seconds), encoding="utf-8")
        return path


def _sheet(name: str, n: int, seconds: float) -> str:
    """The style sheet of an animation: every frame visible for its n-th of the round."""
    share = 100.0 / n
    return (
        f"<style>.{name}-frame{{opacity:0;animation:{name}-show {n * seconds:g}s step-end infinite}}"
        f"@keyframes {name}-show{{0%{{opacity:1}}{share:.6g}%{{opacity:0}}100%{{opacity:0}}}}"
        f"@media (prefers-reduced-motion: reduce){{.{name}-frame{{animation:none}}"
        f".{name}-frame:last-of-type{{opacity:1}}}}</style>"
    )


@draw.styled
def em_movie(
    X2: Any,
    steps: int = MOVIE_STEPS,
    *,
    model: str = "ppca",
    n_clusters: int = 3,
    names: Sequence[str] = ("column 1", "column 2"),
    random_state: int = 0,
) -> Movie:
    """EM on two columns, half-step by half-step, with its objective underneath.

    "kmeans": each row is tied by a spring to its nearest centre (E), then the springs pull the centres (M).
    "mixture": each row takes the mixed colour of its Gaussians (E), which then move and turn (M). "ppca": springs
    to a line (E), which they then pull over (M). Columns are brought to unit spread: lengths must be comparable.
    `frames` holds every half-step, the figure shows the first five and the last; `animated()` plays them.

    Reference: [Bishop2006] of `docs/sources.md`, figures 9.1, 9.8 and 12.12.

    >>> X2 = np.array([[0.0, 0.0], [0.3, 0.1], [4.0, 4.2], [4.1, 3.9], [0.1, 0.4]])
    >>> plot = em_movie(X2, 2, model="kmeans", n_clusters=2)
    >>> len(plot.frames), bool((np.diff(plot.data["objective"]) >= 0).all())
    (5, True)
    """
    X, gaps = _scaled(X2, steps, model, n_clusters)
    if model == "ppca":
        moments, values = fit_line(X, steps)
        name = "log-likelihood"
        ends = {
            "axis": np.array([m.w for m in moments if m.half == "E"]),
            "mean": np.array([m.mu for m in moments if m.half == "E"]),
            "noise": np.array([m.noise for m in moments if m.half == "E"]),
        }
    else:
        path = (_kmeans if model == "kmeans" else _gaussians)(X, steps, n_clusters, random_state)
        moments, values = path  # type: ignore[assignment]
        name = "minus the squared lengths" if model == "kmeans" else "log-likelihood"
        ends = {"centre": np.array([m.mu.ravel() for m in path[0] if m.half == "E"])}
    frames = [_alone(X, moments, k, values, name, names) for k in range(len(moments))]
    title, sentence = _words(model, n_clusters, values, name, gaps)
    figure = _still(X, moments, values, name, names)
    draw.headline(figure, title)
    data = {"step": np.arange(1, len(values) + 1), "objective": values, **ends}
    return Movie("em_movie", figure, title=title, sentence=sentence, data=data, frames=frames)


def _scaled(X2: Any, steps: int, model: str, K: int) -> tuple[Array, int]:
    """The complete rows in units of their spread, and how many were not complete."""
    X = np.asarray(X2, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2 or steps < 1:
        raise error("LD210", option="X2 or steps", value=(X.shape, steps), allowed="two columns and steps >= 1")
    if model not in MOVIE_MODELS:
        raise error("LD210", option="model", value=model, allowed="one of " + ", ".join(MOVIE_MODELS))
    if K < 1:
        raise error("LD210", option="n_clusters", value=K, allowed="a whole number >= 1")
    whole = X[np.isfinite(X).all(axis=1)]
    least = 3 if model == "ppca" else max(3, K)
    if len(whole) < least:
        raise error("LD160", n=len(whole), least=least)
    sd = whole.std(axis=0)
    return (whole - whole.mean(axis=0)) / np.where(sd > 0, sd, 1.0), len(X) - len(whole)


def across(X: Array) -> tuple[Array, Array, float]:
    """A line through the mean, nearly across the widest direction: EM has far to go. Its direction, mean and noise."""
    values, U = np.linalg.eigh(np.cov(X.T, bias=True))
    total = max(float(values.sum()), float(np.finfo(float).tiny))
    turn = np.deg2rad(LINE_START_ANGLE)
    w = np.cos(turn) * U[:, 1] + np.sin(turn) * U[:, 0]
    return w * np.sqrt(total / 2), X.mean(axis=0), LINE_START_NOISE * total / 2


def fit_line(X: Array, steps: int) -> tuple[list[LineStep], Array]:
    """Textbook EM of probabilistic PCA with one axis (Tipping and Bishop 1999, eqs. 27 and 28): E, M, E, ..., E.

    With S the covariance of the rows and m = w'w + s: w is S w / (s + w'Sw / m), and s half the trace of S - S w w' / m
    with the new w' in it. Returns the half-steps, and the log-likelihood at each E step.
    """
    w, mu, noise = across(X)
    S = np.cov(X.T, bias=True)
    floor = LINE_LEAST_NOISE * max(float(np.trace(S)), float(np.finfo(float).tiny)) / 2
    moments: list[LineStep] = []
    values = []
    for step in range(steps + 1):
        m = float(w @ w) + noise
        z = (X - mu) @ w / m
        C = np.outer(w, w) + noise * np.eye(2)
        fit = float(np.trace(np.linalg.solve(C, S)))
        values.append(-0.5 * len(X) * (2 * np.log(2 * np.pi) + float(np.linalg.slogdet(C)[1]) + fit))
        moments.append(LineStep(step, "E", w, mu, noise, z))
        if step < steps:
            new = S @ w / (noise + float(w @ S @ w) / m)
            noise = max(0.5 * float(np.trace(S - np.outer(S @ w, new) / m)), floor)
            w = new
            moments.append(LineStep(step, "M", w, mu, noise, z))
    return moments, np.array(values)


def _kmeans(X: Array, steps: int, K: int, seed: int) -> tuple[list[ClusterStep], Array]:
    """Lloyd's iteration from rows drawn at random: a poor start makes the better movie."""
    rng = np.random.default_rng([seed, 0])
    mu = X[rng.choice(len(X), K, replace=False)]
    moments: list[ClusterStep] = []
    values = []
    for step in range(steps + 1):
        sums = cluster_sums(X, None, None, 0, mu[None])
        shares = np.eye(K)[nearest_labels(X, None, mu)[0]]
        values.append(-float(sums.inertia[0]))
        moments.append(ClusterStep(step, "E", mu, shares, None, mu))
        if step < steps:
            new, _ = move_centers(mu, sums, 0)
            moments.append(ClusterStep(step, "M", new, shares, None, mu))
            mu = new
    return moments, np.array(values)


def _gaussians(X: Array, steps: int, K: int, seed: int) -> tuple[list[ClusterStep], Array]:
    """Textbook EM for a mixture of Gaussians, from round ones of equal weight on far-off rows (eqs. 9.23-9.26)."""
    mu = plus_plus(X, None, None, K, np.zeros(2), [np.random.default_rng([seed, 1])])[0]
    S, w = np.tile(np.eye(2) / K, (K, 1, 1)), np.full(K, 1.0 / K)
    moments: list[ClusterStep] = []
    values = []
    for step in range(steps + 1):
        shares, value = expect(X, w, mu, S)
        values.append(value)
        moments.append(ClusterStep(step, "E", mu, shares, S, mu))
        if step < steps:
            w, new, S = maximise(X, shares)
            moments.append(ClusterStep(step, "M", new, shares, S, mu))
            mu = new
    return moments, np.array(values)


def expect(X: Array, w: Array, mu: Array, S: Array) -> tuple[Array, float]:
    """Responsibilities of K Gaussians, and the log-likelihood."""
    logs = []
    for k in range(len(mu)):
        L = np.linalg.cholesky(S[k])
        z = np.linalg.solve(L, (X - mu[k]).T)
        logs.append(np.log(w[k]) - np.log(2 * np.pi) - np.log(np.diag(L)).sum() - 0.5 * (z * z).sum(axis=0))
    total = np.logaddexp.reduce(logs, axis=0)
    return np.exp(np.array(logs) - total).T, float(total.sum())


def maximise(X: Array, shares: Array) -> tuple[Array, Array, Array]:
    """Weights, means and covariances of K Gaussians from the responsibilities."""
    n = np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    mu = shares.T @ X / n[:, None]
    S = np.array([((X - m).T * r) @ (X - m) / size for m, r, size in zip(mu, shares.T, n, strict=True)])
    return n / len(X), mu, S + MOVIE_LEAST_VARIANCE * np.eye(2)


# drawing -------------------------------------------------------------------------------------------------
def _alone(X: Array, moments: Sequence[Any], k: int, values: Array, name: str, names: Sequence[str]) -> Figure:
    """One frame with the objective so far underneath; the same places in each, or the film would shake."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 5.2))
    top, below = figure.subplots(2, 1, height_ratios=[3.4, 1])
    figure.subplots_adjust(left=0.18, right=0.97, top=0.95, bottom=0.09, hspace=0.33)
    _draw(top, X, moments[k])
    top.set(xlabel=f"{draw.short(names[0])} (sd from its mean)", ylabel=f"{draw.short(names[1])} (sd from its mean)")
    _objective(below, values, moments[k].step + 1, name)
    return figure


def _still(X: Array, moments: Sequence[Any], values: Array, name: str, names: Sequence[str]) -> Figure:
    chosen = sorted({*range(min(MOST_PANELS - 1, len(moments))), len(moments) - 1})
    n_across = min(3, len(chosen))
    n_down = -(-len(chosen) // n_across)
    figure = draw.blank(6.8, 1.9 * n_down + 2.0)
    upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=[2.0 * n_down, 1.4])[:, 0]
    panels = upper.subplots(n_down, n_across, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, k in zip(panels, chosen, strict=False):
        _draw(ax, X, moments[k])
    for ax in panels[len(chosen) :]:
        ax.set_axis_off()
    upper.supxlabel(f"{draw.short(names[0])} (sd from its mean)", fontsize=9)
    upper.supylabel(f"{draw.short(names[1])} (sd from its mean)", fontsize=9)
    _objective(lower.subplots(), values, len(values), name)
    return figure


def _objective(ax: Axes, values: Array, so_far: int, name: str) -> None:
    """The objective at each E step; those to come are hollow."""
    at = np.arange(1, len(values) + 1)
    ax.plot(at, values, "o", color=draw.GREY, ms=4, mfc=draw.PAPER)
    ax.plot(at[:so_far], values[:so_far], "o-", color=draw.COLOURS[0], ms=4)
    ax.set_xlabel("E step", fontsize=9)
    ax.set_ylabel(name.replace(" the ", " the\n"), fontsize=8)
    ax.tick_params(labelsize=8)
    ax.ticklabel_format(useOffset=False)
    ax.locator_params(axis="y", nbins=4)
    whole_ticks(ax.xaxis)


def _draw(ax: Axes, X: Array, moment: Any) -> None:
    if isinstance(moment, ClusterStep):
        _draw_clusters(ax, X, moment)
    else:
        draw_line(ax, X, moment)


def draw_line(ax: Axes, X: Array, m: LineStep) -> None:
    """Rows, the line through the mean, and a spring from each row to its expected place."""
    from matplotlib.collections import LineCollection

    rows = spread_out(len(X), MOST_SPRINGS)
    place = m.mu + np.outer(m.z[rows], m.w)
    ax.add_collection(LineCollection(list(np.stack([X[rows], place], axis=1)), colors=draw.COLOURS[2], linewidths=0.5))
    ax.plot(*X[rows].T, "o", color=draw.GREY, ms=2.5)
    ax.plot(*place.T, "o", color=draw.COLOURS[0], ms=2.5, mfc=draw.PAPER, mew=0.6)
    reach = 1.1 * float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).max()))
    size = float(np.linalg.norm(m.w))
    ends = m.mu + np.outer([-reach, reach], m.w / size if size > 0 else np.zeros(2))
    colour, line = (draw.COLOURS[3], "--") if m.half == "M" else (draw.INK, "-")
    ax.plot(*ends.T, color=colour, lw=1.4, ls=line)
    _frame_rows(ax, X)
    what = "springs attached" if m.half == "E" else "line pulled over"
    ax.set_title(f"{m.half} step {m.step + 1}: {what}", fontsize=8)


def _frame_rows(ax: Axes, X: Array) -> None:
    """The same limits in every frame."""
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.08 * np.maximum(high - low, 1e-12)
    ax.set_xlim(low[0] - pad[0], high[0] + pad[0])
    ax.set_ylim(low[1] - pad[1], high[1] + pad[1])
    ax.tick_params(labelsize=8)


def _draw_clusters(ax: Axes, X: Array, m: ClusterStep) -> None:
    """Rows in their clusters' colours, springs or ellipses, centres and where they came from."""
    from matplotlib.collections import LineCollection

    rows = spread_out(len(X), MOST_SPRINGS)
    shares, home = m.shares[rows], m.shares[rows].argmax(axis=1)
    colour = mixed(shares)
    if m.S is None:
        ends = list(np.stack([X[rows], m.mu[home]], axis=1))
        ax.add_collection(LineCollection(ends, colors=colour.tolist(), linewidths=0.5, alpha=0.7))
    for k in range(shares.shape[1]):
        at = home == k
        ax.scatter(
            X[rows][at, 0], X[rows][at, 1], c=colour[at], marker=draw.SHAPES[k % len(draw.SHAPES)], s=9, linewidths=0
        )
        if m.S is not None:
            _ring(ax, m.mu[k], m.S[k], draw.COLOURS[k % len(draw.COLOURS)])
    for old, new in zip(m.before, m.mu, strict=True):
        ax.plot(*np.stack([old, new]).T, color=draw.INK, lw=1.0)
    ax.plot(*m.before.T, "o", color=draw.INK, ms=4, mfc=draw.PAPER)
    ax.plot(*m.mu.T, "P", color=draw.INK, ms=7, mec=draw.PAPER, mew=0.6)
    _frame_rows(ax, X)
    what = ("rows choose" if m.S is None else "rows weighed") if m.half == "E" else "centres move"
    ax.set_title(f"{m.half} step {m.step + 1}: {what}", fontsize=8)


def _ring(ax: Axes, centre: Array, S: Array, colour: str) -> None:
    turn = np.linspace(0.0, 2 * np.pi, 61)
    ring = centre[:, None] + 2.0 * np.linalg.cholesky(S) @ np.stack([np.cos(turn), np.sin(turn)])
    ax.plot(*ring, color=colour, lw=1.4)


def _words(model: str, K: int, values: Array, name: str, gaps: int) -> tuple[str, str]:
    steps = len(values) - 1
    moving = np.flatnonzero(np.diff(values) > 1e-9 * np.abs(values[:-1]))
    what = {"ppca": "the line", "kmeans": draw.count(K, "centre"), "mixture": draw.count(K, "Gaussian")}[model]
    last = int(moving[-1]) + 1 if len(moving) else 0
    rest_text = f"; nothing moves after step {last}" if last < steps else ""
    title = f"{draw.count(steps, 'step')} of EM move {what}" if last else f"EM has nothing to move: {what} stand still"
    text = f"In {draw.count(steps, 'step')} of EM, {name} rises from {values[0]:,.6g} to {values[-1]:,.6g}{rest_text}."
    return title, text + (f" {draw.count(gaps, 'row')} with gaps left out." if gaps else "")
