"""Sheets in three dimensions: the plane of a linear model, the bent sheet of a nonlinear one, the crumpled mattress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHEET_SIDE = 25  # lines of a drawn sheet
VIEW = {"elev": 24, "azim": -58}


def solid_axes(figure: Figure, where: tuple[int, int, int], points: Array) -> Any:
    """Bare axes in three dimensions that hold these points, a unit as long along each."""
    ax: Any = figure.add_subplot(*where, projection="3d")
    ax.view_init(**VIEW)
    ax.set_axis_off()
    low, high = points.min(axis=0), points.max(axis=0)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    ax.set_box_aspect(np.maximum(high - low, 0.05 * (high - low).max()), zoom=1.08)
    return ax


def draw_sheet(ax: Any, points: Array, **look: Any) -> None:
    """A sheet of side x side points, row by row."""
    side = round(np.sqrt(len(points)))
    x, y, z = (part.reshape(side, side) for part in points.T)
    ax.plot_surface(x, y, z, rcount=side, ccount=side, **{"linewidth": 0.4, "edgecolor": draw.PAPER, **look})


def square(side: int, reach: float) -> Array:
    """Places of a square grid about the origin, row by row."""
    along = np.linspace(-reach, reach, side)
    return np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)


@draw.styled
def plane(n: int = 90, *, noise: float = 0.35, random_state: int = 0) -> Plot:
    """A two-dimensional latent space, mapped into three dimensions in a linear way; rows are its points with noise.

    Parameters
    ----------
    n : int, default 90
        Rows.
    noise : float, default 0.35
        Their standard deviation round the plane.
    random_state : int, default 0
        Seed of the draw.

    Returns
    -------
    Plot
    """
    rng = np.random.default_rng(random_state)
    W = np.array([[1.0, 0.15, -0.15], [-0.1, 1.0, 0.2]])
    z = rng.standard_normal((n, 2))
    foot = z @ W
    rows = foot + noise * rng.standard_normal((n, 3))
    figure = draw.blank(7.6, 3.8)
    flat = figure.add_subplot(1, 2, 1)
    flat.plot(*z.T, "o", ms=3.5, mew=0, color=draw.COLOURS[0])
    flat.set(aspect="equal", xlabel="z1", ylabel="z2")
    flat.set_title("latent places", fontsize=10)
    drawn = square(9, 2.6) @ W
    ax = solid_axes(figure, (1, 2, 2), np.concatenate([rows, drawn]))
    draw_sheet(ax, drawn, color=draw.COLOURS[5], alpha=0.35)
    stems = np.stack([foot, rows, np.full_like(rows, np.nan)], axis=1).reshape(-1, 3)
    ax.plot(*stems.T, color=draw.GREY, lw=0.6)
    ax.plot(*rows.T, "o", ms=3, color=draw.COLOURS[3])
    ax.set_title("rows round the plane", fontsize=10)
    off = float(np.sqrt(((rows - foot) ** 2).sum(axis=1).mean()))
    title = "A plane in three dimensions, and rows round it"
    draw.headline(figure, title)
    sentence = f"{n} latent places lie on a plane in 3-D; rows are {draw.number(off)} off them (root mean square)."
    data = {"latent": z, "on_plane": foot, "row": rows, "weights": W}
    return Plot("plane", figure, title=title, sentence=sentence, data=data)


@draw.styled
def sheet(*, basis: int = 4, width: float = 1.0, random_state: int = 1) -> Plot:
    """A latent square and where three random functions of bells take it: the prior of GTM and of density networks.

    Parameters
    ----------
    basis : int, default 4
        Bells a side.
    width : float, default 1.0
        Of a bell, in steps between their centres.
    random_state : int, default 1
        Seed of the weights.

    Returns
    -------
    Plot
    """
    z, centres = square(SHEET_SIDE, 1.0), square(basis, 1.0)
    step = 2.0 / max(basis - 1, 1)
    phi = np.exp(-0.5 * ((z[:, None] - centres) ** 2).sum(axis=2) / (width * step) ** 2)
    W = np.random.default_rng(random_state).standard_normal((len(centres), 3))
    points = phi @ W
    figure = draw.blank(7.6, 3.8)
    flat = figure.add_subplot(1, 2, 1)
    for k in range(0, SHEET_SIDE, 3):
        for line in (z.reshape(SHEET_SIDE, SHEET_SIDE, 2)[k], z.reshape(SHEET_SIDE, SHEET_SIDE, 2)[:, k]):
            flat.plot(*line.T, color=draw.COLOURS[5], lw=0.8)
    flat.plot(*centres.T, "+", color=draw.COLOURS[3], ms=8, label="centre of a bell")
    flat.set(aspect="equal", xlabel="z1", ylabel="z2")
    flat.set_title("latent square; + a bell", fontsize=10)
    ax = solid_axes(figure, (1, 2, 2), points)
    draw_sheet(ax, points, cmap=draw.SEQUENTIAL, alpha=0.9)
    ax.set_title("the sheet it becomes", fontsize=10)
    title = f"A square bent by {len(centres)} bells into three dimensions"
    draw.headline(figure, title)
    sentence = (
        f"A latent square becomes a bent sheet in three dimensions: three random functions of {len(centres)} bells."
    )
    data = {"latent": z, "centre": centres, "weights": W, "sheet": points}
    return Plot("sheet", figure, title=title, sentence=sentence, data=data)


@draw.styled
def mattress(side: int = 14, *, ground: float = 0.05, random_state: int = 0) -> Plot:
    """Points on a grid joined to their neighbours by springs, and one draw of the field they make, in three dimensions.

    The precision is L + ground I with L the Laplacian of the grid; each of the three columns is an independent draw
    about the flat mattress.

    Parameters
    ----------
    side : int, default 14
        Points a side.
    ground : float, default 0.05
        Strength of the springs to the ground beside those between neighbours.
    random_state : int, default 0
        Seed of the draw.

    Returns
    -------
    Plot
    """
    L = grid_laplacian(side)
    K, moved = heat_bath(L, ground, 3, random_state)
    flat = np.column_stack([square(side, (side - 1) / 2), np.zeros(side * side)])
    crumpled = flat + moved * [0.35, 0.35, 1.0]
    figure = draw.blank(8.4, 3.0)
    for k, (points, words) in enumerate(((flat, "at rest"), (crumpled, "in a heat bath"))):
        ax = solid_axes(figure, (1, 2, k + 1), crumpled)
        if k:
            draw_sheet(ax, points, cmap=draw.SEQUENTIAL)
        else:
            x, y, height = (part.reshape(side, side) for part in points.T)
            ax.plot_wireframe(x, y, height, color=draw.GREY, linewidth=0.7)
            ax.plot(*points.T, "o", ms=2.2, color=draw.COLOURS[0])
        ax.set_title(words, fontsize=10)
    near, far = (float(K[0, 0] - 2 * K[0, j] + K[j, j]) for j in (1, side * side - 1))
    title = "A mattress of springs: neighbours move together"
    draw.headline(figure, title)
    sentence = (
        f"{side * side} points held by springs: the squared distance that the heat puts between two neighbours is "
        f"{draw.number(near)} a column on average, between opposite corners {draw.number(far)}."
    )
    data = {"at_rest": flat, "moved": moved, "laplacian": L, "near": near, "far": far}
    return Plot("mattress", figure, title=title, sentence=sentence, data=data)


def grid_laplacian(side: int) -> Array:
    """Degree less adjacency of a square grid, points row by row."""
    path = np.diag(np.r_[1.0, np.full(side - 2, 2.0), 1.0]) - np.eye(side, k=1) - np.eye(side, k=-1)
    L: Array = np.kron(path, np.eye(side)) + np.kron(np.eye(side), path)
    return L


def heat_bath(L: Array, ground: float, columns: int, random_state: int) -> tuple[Array, Array]:
    """The covariance (L + ground I)^-1 of points held by springs, and so many draws of how far they move."""
    values, U = np.linalg.eigh(L + ground * np.eye(len(L)))
    drawn = np.random.default_rng(random_state).standard_normal((len(L), columns))
    return (U / values) @ U.T, U @ (drawn / np.sqrt(values)[:, None])
