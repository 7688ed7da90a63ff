"""Random functions made of bells and the distances they imply; and a Gaussian pushed through a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CENTRES = (-1.0, 0.0, 1.0)  # of the three bells
NEAR, FAR = (-0.4, 0.9), (3.2, 5.5)  # two places that bells reach, and two that none does
MANY_STEP = 0.05  # between centres of many bells
FUNCTIONS = 4


def bells(x: Array, centres: Array) -> Array:
    """phi_k(x) = exp(-(x - mu_k)^2), one bell a column."""
    phi: Array = np.exp(-((x[:, None] - centres) ** 2))
    return phi


def expected_distance(pair: tuple[float, float], centres: Array, variance: float = 1.0) -> float:
    """<(f_i - f_j)^2> = variance |phi_i - phi_j|^2 of functions with weights of this variance."""
    phi = bells(np.array(pair), centres)
    return float(variance * ((phi[0] - phi[1]) ** 2).sum())


@draw.styled
def random_functions(*, random_state: int = 0) -> Plot:
    """Three bells, functions of them, places no bell reaches, and functions of very many bells.

    Weights are Gaussian; with many bells their variance falls with the step between centres, so that the kernel is the
    Gaussian one of variance 1, exp(-(y - y')^2 / 2).

    Parameters
    ----------
    random_state : int, default 0
        Seed of the weights.

    Returns
    -------
    Plot
    """
    rng = np.random.default_rng(random_state)
    few = np.array(CENTRES)
    many = np.arange(-10.0, 12.0, MANY_STEP)
    variance = MANY_STEP * np.sqrt(2.0 / np.pi)
    x, wide = np.linspace(-3.0, 3.0, 181), np.linspace(-3.0, 6.5, 241)
    w_few, w_many = rng.standard_normal((3, FUNCTIONS)), np.sqrt(variance) * rng.standard_normal((len(many), FUNCTIONS))
    f_few, f_many = bells(wide, few) @ w_few, bells(wide, many) @ w_many
    apart = [expected_distance(NEAR, few), expected_distance(FAR, few), expected_distance(FAR, many, variance)]
    figure = draw.blank(8.2, 5.0)
    panels = figure.subplots(2, 2)
    panels[0, 0].plot(x, bells(x, few), color=draw.COLOURS[0])
    panels[0, 0].set_title("three bells", fontsize=10)
    near = bells(x, few) @ w_few
    shown: Any = (
        (panels[0, 1], x, near, NEAR, few, w_few, f"functions of three bells: {_apart(apart[0])}"),
        (panels[1, 0], wide, f_few, FAR, few, w_few, f"where no bell reaches: {_apart(apart[1])}"),
        (panels[1, 1], wide, f_many, FAR, many, w_many, f"bells everywhere: {_apart(apart[2])}"),
    )
    for ax, places, values, pair, centres, weights, words in shown:
        _functions(ax, places, values, np.array(pair), bells(np.array(pair), centres) @ weights)
        ax.set_title(words, fontsize=10)
    title = "Places that no bell reaches cannot be told apart; with bells everywhere they can"
    draw.headline(figure, title)
    sentence = (
        f"The squared distance expected between two places is {draw.number(apart[0])} among three bells, "
        f"{draw.number(apart[1])} beyond them although the places are farther apart, and {draw.number(apart[2])} with "
        f"bells everywhere."
    )
    data = {"place": wide, "few_bells": f_few, "many_bells": f_many, "bell": bells(wide, few), "expected": apart}
    data |= {"near": NEAR, "far": FAR}
    return Plot("random_functions", figure, title=title, sentence=sentence, data=data)


def _apart(expected: float) -> str:
    return f"{draw.number(expected)} apart" if expected > 1e-3 else "0 apart"


def _functions(ax: Axes, x: Array, values: Array, pair: Array, ends: Array) -> None:
    """Functions, and two places on each joined."""
    for k in range(values.shape[1]):
        ax.plot(x, values[:, k], color=draw.COLOURS[(0, 1, 2, 4)[k]], lw=1.3)
        ax.plot(pair, ends[:, k], "o-", color=draw.COLOURS[3], ms=4, lw=0.8)
    for place in pair:
        ax.axvline(place, color=draw.GREY, lw=0.6, ls=":")


@draw.styled
def pushed(*, bend: float = 1.4, random_state: int = 0) -> Plot:
    """A Gaussian place z, the function y = z + bend tanh(3 z), and the density of y, which is no Gaussian.

    Parameters
    ----------
    bend : float, default 1.4
        How much the function bends; at least 0.
    random_state : int, default 0
        Seed of the draws behind the bars.

    Returns
    -------
    Plot

    Examples
    --------
    >>> pushed().sentence
    'A Gaussian pushed through the function has 2 modes, at -2.15 and 2.15: its density is no Gaussian.'
    """
    z = np.linspace(-4.0, 4.0, 2001)
    y = z + bend * np.tanh(3.0 * z)
    slope = 1.0 + 3.0 * bend / np.cosh(3.0 * z) ** 2
    prior = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    density = prior / slope  # by the change of variables; the function rises everywhere
    inner = density[1:-1]
    modes = y[1:-1][(inner > density[:-2]) & (inner >= density[2:])]
    drawn = np.random.default_rng(random_state).standard_normal(20_000)
    drawn = drawn + bend * np.tanh(3.0 * drawn)
    figure = draw.blank(9.0, 3.0)
    left, middle, right = figure.subplots(1, 3)
    left.fill_between(z, prior, color=draw.COLOURS[5], alpha=0.5, lw=0)
    left.plot(z, prior, color=draw.COLOURS[0])
    middle.plot(z, y, color=draw.INK)
    right.hist(drawn, 80, density=True, color=draw.COLOURS[1], alpha=0.5)
    right.plot(y, density, color=draw.COLOURS[3])
    for ax, words, name in (
        (left, "p(z): Gaussian", "z"),
        (middle, "y = f(z)", "z"),
        (right, "p(y): not Gaussian", "y"),
    ):
        ax.set_title(words, fontsize=10)
        ax.set_xlabel(name)
    where = " and ".join(draw.number(mode) for mode in modes)
    title = f"A Gaussian pushed through a bent function has {draw.count(len(modes), 'mode')}"
    draw.headline(figure, title)
    sentence = (
        f"A Gaussian pushed through the function has {draw.count(len(modes), 'mode')}, at {where}: its density is "
        f"no Gaussian."
    )
    data = {"z": z, "y": y, "prior": prior, "density": density, "mode": modes}
    return Plot("pushed", figure, title=title, sentence=sentence, data=data)
