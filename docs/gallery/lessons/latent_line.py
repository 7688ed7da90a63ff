"""Probabilistic PCA in the plane: how it makes rows, and where it puts them back, beside PCA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from lessons.two_columns import plane_of

from lowdim.maths.linalg import Array
from lowdim.models.linear.pca import PCA
from lowdim.models.linear.ppca import PPCA
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import spread_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.table.table import Table

DRAWN_ROWS = 300
CONTOURS = (1.0, 2.0, 3.0)  # standard deviations


@draw.styled
def generate(
    table: Table | None = None, *, columns: tuple[int, int] = (0, 1), place: float = 1.2, random_state: int = 0
) -> Plot:
    """The generative view: z from its prior, a row from a circle round mu + w z, and the density of all rows.

    Parameters
    ----------
    table : Table, optional
        Two of its columns are modelled; rows along a line of ours where it is left out.
    columns : tuple of two int, default (0, 1)
        Their positions.
    place : float, default 1.2
        The place z whose rows are drawn in the middle.
    random_state : int, default 0
        Seed of the 300 rows drawn from the model.

    Returns
    -------
    Plot
    """
    plane = plane_of(table, columns, "generate")
    model = PPCA(1).fit(plane.X)
    w, mu, s2 = model.components_[0], model.mean_, float(model.noise_variance_)
    C = np.outer(w, w) + s2 * np.eye(2)
    rng = np.random.default_rng(random_state)
    z = rng.standard_normal(DRAWN_ROWS)
    X = mu + np.outer(z, w) + np.sqrt(s2) * rng.standard_normal((DRAWN_ROWS, 2))
    figure = draw.blank(9.0, 3.4)
    prior, one, every = figure.subplots(1, 3, width_ratios=[0.8, 1, 1])
    _prior(prior, place)
    _one_place(one, mu, w, s2, place)
    every.plot(*X.T, "o", ms=2.5, color=draw.COLOURS[5], alpha=0.7, mew=0)
    root = np.asarray(np.linalg.cholesky(C))
    for k in CONTOURS:
        every.plot(*_ring(mu, k * root), color=draw.COLOURS[0], lw=1.2)
    every.set_title("all rows: an ellipse", fontsize=10)
    reach = np.abs(_ring(np.zeros(2), 3.3 * root)).max(axis=1)
    for ax in (one, every):
        ax.set(xlim=mu[0] + reach[0] * np.array([-1, 1]), ylim=mu[1] + reach[1] * np.array([-1, 1]), aspect="equal")
        ax.set(xlabel=draw.short(plane.names[0]), ylabel=draw.short(plane.names[1]))
    title = "A place on a line, a circle round it, an ellipse of rows"
    draw.headline(figure, title)
    share = float(w @ w / (w @ w + s2))
    sentence = (
        f"A place z becomes a point on a line; rows lie round it in a circle of standard deviation "
        f"{draw.number(np.sqrt(s2))}. All rows together are an ellipse: along the line {draw.percent(share)} of their "
        f"variance comes from the place."
    )
    data = {"mean": mu, "weight": w, "noise_variance": s2, "covariance": C, "place": place, "at": mu + place * w}
    data |= {"z": z, "row": X, "contour": np.stack([_ring(mu, k * root) for k in CONTOURS]).transpose(2, 0, 1)}
    return Plot("generate", figure, title=title, sentence=sentence, data=data)


def _ring(middle: Array, root: Any) -> Array:
    """Points middle + root u on an ellipse, u round the unit circle."""
    turn = np.linspace(0, 2 * np.pi, 121)
    ring: Array = middle[:, None] + root @ np.stack([np.cos(turn), np.sin(turn)])
    return ring


def _prior(ax: Axes, place: float) -> None:
    z = np.linspace(-3.2, 3.2, 161)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    ax.plot(z, density, color=draw.COLOURS[0])
    ax.plot([place, place], [0, np.exp(-0.5 * place**2) / np.sqrt(2 * np.pi)], color=draw.COLOURS[3], lw=2)
    ax.plot(place, 0.0, "o", color=draw.COLOURS[3], clip_on=False)
    ax.set(xlabel="z", ylabel="density", ylim=(0, None))
    ax.set_title("a place: p(z)", fontsize=10)


def _one_place(ax: Axes, mu: Array, w: Array, s2: float, place: float) -> None:
    ax.plot(*(mu + np.outer([-4.0, 4.0], w)).T, color=draw.GREY, lw=1)
    at = mu + place * w
    for k in CONTOURS[:2]:
        ax.plot(*_ring(at, k * np.sqrt(s2) * np.eye(2)), color=draw.COLOURS[2], lw=1.2)
    ax.plot(*at, "o", color=draw.COLOURS[3])
    ax.plot(*mu, "*", ms=11, color=draw.INK)
    ax.set_title("rows of one place: a circle", fontsize=10)


@draw.styled
def shrink(table: Table | None = None, *, columns: tuple[int, int] = (0, 1)) -> Plot:
    """Rows and their feet on the first principal axis, beside the posterior means of probabilistic PCA.

    The means lie on the same line, nearer to the mean of the table by the factor (lambda_1 - sigma^2) / lambda_1.

    Parameters
    ----------
    table : Table, optional
        Two of its columns are drawn; rows along a line of ours where it is left out.
    columns : tuple of two int, default (0, 1)
        Their positions.

    Returns
    -------
    Plot
    """
    plane = plane_of(table, columns, "shrink")
    X = plane.X
    pca, ppca = PCA(1).fit(X), PPCA(1).fit(X)
    feet = np.asarray(pca.inverse_transform(pca.transform(X)))
    shrunk = np.asarray(ppca.inverse_transform(ppca.transform(X)))
    mean = X.mean(axis=0)
    factor = float(((shrunk - mean) * (feet - mean)).sum() / ((feet - mean) ** 2).sum())
    figure = draw.blank(8.0, 3.6)
    pair = figure.subplots(1, 2, sharex=True, sharey=True)
    shown = spread_out(len(X), 200)
    for ax, ends, name in ((pair[0], feet, "PCA: feet"), (pair[1], shrunk, "probabilistic PCA: means")):
        ax.plot(*np.stack([X[shown], ends[shown]]).transpose(2, 0, 1), color=draw.GREY, lw=0.7, zorder=1)
        ax.plot(*X[shown].T, "o", ms=4, color=draw.COLOURS[0], label="row")
        ax.plot(*ends[shown].T, "s", ms=4, color=draw.COLOURS[3], label="put back")
        ax.plot(*mean, "*", ms=13, color=draw.COLOURS[2], label="mean", mec=draw.INK, mew=0.5)
        ax.set_title(name, fontsize=10)
        ax.set(aspect="equal", xlabel=draw.short(plane.names[0]))
    pair[0].set_ylabel(draw.short(plane.names[1]))
    figure.legend(*pair[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
    title = f"Probabilistic PCA takes rows to {draw.percent(factor)} of the way from the mean to their feet"
    draw.headline(figure, title)
    sentence = f"{title}: a share of {draw.percent(1 - factor)} of the variance along the axis is noise."
    data = {"row": X, "foot": feet, "shrunk": shrunk, "factor": factor, "noise_variance": ppca.noise_variance_}
    return Plot("shrink", figure, title=title, sentence=sentence, data=data)
