"""EM seen: lower bounds of the log-likelihood that touch it, over one weight of probabilistic PCA."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from lessons.two_columns import plane_of

from lowdim.maths.linalg import Array
from lowdim.models.linear.ppca import PPCA
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.table.table import Table

GRID = 241
STARTS, NEAR_TOP = (0.1, 0.3, 0.5, 0.7, 0.85), 0.5  # shares of the weight at the top; of the way that may be left
MOST_STEPS = 8  # bounds that can be told apart


class OneWeight(NamedTuple):
    """Probabilistic PCA of two columns with one axis, of which the first weight is free and all else is held."""

    X: Array  # centred
    other: float  # the second weight
    s2: float  # the noise's variance

    def log_likelihood(self, a: Array) -> Array:
        """Of the rows, for each weight: C = w w' + s2 I has det s2 (s2 + w'w), inverse (I - w w' / (s2 + w'w)) / s2."""
        n, square = len(self.X), float((self.X**2).sum())
        size = self.s2 + a**2 + self.other**2
        along = ((np.outer(a, self.X[:, 0]) + self.other * self.X[:, 1]) ** 2).sum(axis=1)
        value: Array = -0.5 * (n * (2 * np.log(2 * np.pi) + np.log(self.s2 * size)) + (square - along / size) / self.s2)
        return value

    def bound(self, a: Array, old: float) -> Array:
        """E of log p(x, z | a) under q(z) = p(z | x, old), and the entropy of q."""
        mean, var = self.posterior(old)
        n = len(mean)
        miss = ((self.X[:, 0] - np.outer(a, mean)) ** 2).sum(axis=1) + ((self.X[:, 1] - self.other * mean) ** 2).sum()
        fit = -n * np.log(2 * np.pi * self.s2) - 0.5 * (miss + n * var * (a**2 + self.other**2)) / self.s2
        value: Array = fit - 0.5 * (mean @ mean + n * var) + 0.5 * n * (1.0 + np.log(var))
        return value

    def posterior(self, a: float) -> tuple[Array, float]:
        """Means of z and their common variance."""
        size = self.s2 + a**2 + self.other**2
        return (a * self.X[:, 0] + self.other * self.X[:, 1]) / size, self.s2 / size

    def next(self, old: float) -> float:
        """The top of the bound: a regression of the first column on the expected places."""
        mean, var = self.posterior(old)
        return float(self.X[:, 0] @ mean / (mean @ mean + len(mean) * var))


def _steps_to_the_top(model: OneWeight, top: float, steps: int) -> list[float]:
    """The weights of some steps of EM, from the farthest start that comes near the top: little noise makes it slow."""
    at: list[float] = []
    for start in STARTS:
        at = [start * top]
        for _ in range(steps):
            at.append(model.next(at[-1]))
        if abs(top - at[-1]) <= NEAR_TOP * abs(top - at[0]):
            break
    return at


@draw.styled
def em_bound(table: Table | None = None, *, columns: tuple[int, int] = (0, 1), steps: int = 4) -> Plot:
    """The log-likelihood of probabilistic PCA over one weight, and the lower bounds of the first steps of EM.

    Two columns and one axis; the second weight and the noise are those of greatest likelihood and are held.

    Parameters
    ----------
    table : Table, optional
        Two of its columns are modelled; rows along a line of ours where it is left out.
    columns : tuple of two int, default (0, 1)
        Their positions.
    steps : int, default 4
        The steps that are drawn, 8 at most.

    Returns
    -------
    Plot
    """
    if not 1 <= steps <= MOST_STEPS:
        raise error("LD210", option="steps", value=steps, allowed=f"1 to {MOST_STEPS}")
    plane = plane_of(table, columns, "em_bound")
    fitted = PPCA(1).fit(plane.X)
    w = fitted.components_[0] * np.sign(fitted.components_[0, 0] or 1.0)
    model = OneWeight(plane.X - plane.X.mean(axis=0), float(w[1]), float(fitted.noise_variance_))
    at = _steps_to_the_top(model, float(w[0]), steps)
    grid = w[0] + (w[0] - at[0]) * np.linspace(-1.45, 1.0, GRID)
    likely, bounds = model.log_likelihood(grid), np.stack([model.bound(grid, old) for old in at[:-1]])
    figure = draw.blank(6.8, 4.2)
    ax = figure.subplots()
    ax.plot(grid, likely, color=draw.INK, lw=2.2, label="log-likelihood")
    for k, (bound, old) in enumerate(zip(bounds, at[:-1], strict=True)):
        colour = draw.COLOURS[(3, 1, 2, 0, 4, 5)[k % 6]]
        ax.plot(grid, bound, color=colour, lw=1.3, ls=("-", "--", "-.", ":")[k % 4], label=f"bound of step {k + 1}")
        ax.plot(old, model.log_likelihood(np.array([old]))[0], draw.SHAPES[k % 8], color=colour, ms=6, zorder=5)
    rise = likely.max() - float(model.log_likelihood(np.array(at[:1]))[0])
    ax.set(ylim=(likely.max() - 2.2 * rise, likely.max() + 0.1 * rise), ylabel="log-likelihood")
    ax.set_xlabel(f"weight of {draw.short(plane.names[0])}")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=3)
    title = "Each bound touches the log-likelihood where it was made; its top is the next step"
    draw.headline(figure, title)
    told = model.log_likelihood(np.array(at))
    sentence = (
        f"In {draw.count(steps, 'step')} of EM the weight goes from {draw.number(at[0])} to {draw.number(at[-1])} and "
        f"the log-likelihood from {draw.number(told[0])} to {draw.number(told[-1])}; its top is at "
        f"{draw.number(grid[likely.argmax()])}."
    )
    data = {"weight": grid, "log_likelihood": likely, "bound": bounds.T, "step": at, "step_log_likelihood": told}
    data |= {"held_weight": model.other, "noise_variance": model.s2, "row": plane.X}
    return Plot("em_bound", figure, title=title, sentence=sentence, data=data)
