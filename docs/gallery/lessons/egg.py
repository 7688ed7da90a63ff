"""The Gaussian egg: where the mass of a Gaussian lies as its dimensions grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import chi2

from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import plain_log, write
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

YOLK, GREEN, WHITE = "#F0E442", "#009E73", "#e6e6e6"
CURVE_PLACES = 120


class Shell(NamedTuple):
    """Where the mass of a Gaussian lies, by distance from its centre a dimension."""

    inside: float  # the yolk: nearer than `low`
    shell: float  # between
    outside: float  # the white: farther than `high`


def shell_mass(p: int, low: float = 0.95, high: float = 1.05) -> Shell:
    """The Gaussian egg: mass of N(0, I_p) with root mean square coordinate below, between and above two radii.

    |x|^2 ~ chi2(p), so the mass within r is P(chi2_p <= p r^2).

    Reference: [Lawrence2012] in docs/sources.md, figures 1.1 to 1.3.

    >>> [round(100 * mass, 1) for mass in shell_mass(1, 0.95, 1.05)]
    [65.8, 4.8, 29.4]
    """
    if p < 1 or not 0.0 <= low <= high:
        raise error("LD210", option="p, low, high", value=(p, low, high), allowed="p >= 1 and 0 <= low <= high")
    inside, outside = float(chi2.cdf(p * low**2, p)), float(chi2.sf(p * high**2, p))
    return Shell(inside, 1.0 - inside - outside, outside)


@draw.styled
def egg(low: float = 0.95, high: float = 1.05, *, most: int = 1000) -> Plot:
    """Where the mass of a Gaussian lies: within the yolk, in a thin shell, outside; against the dimension.

    The distance from the centre is counted a dimension: |x| / sqrt(p), in standard deviations.

    Parameters
    ----------
    low : float, default 0.95
        Where the yolk ends.
    high : float, default 1.05
        Where the white begins.
    most : int, default 1000
        The largest dimension.

    Returns
    -------
    Plot

    Examples
    --------
    >>> egg().sentence
    'In 1 dimension 66% of the mass of a Gaussian lies in the yolk; in 1,000 dimensions 97% lie in the thin shell.'
    """
    p = np.unique(np.logspace(0, np.log10(most), CURVE_PLACES).round().astype(int))
    mass = np.array([shell_mass(int(k), low, high) for k in p])
    figure = draw.blank(7.2, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.4])
    _egg(left, low, high)
    looks = (("yolk", "#B8860B", "-", 0.30), ("shell", GREEN, "--", 0.80), ("white", draw.GREY, "-.", 0.08))
    for k, (name, colour, line, _) in enumerate(looks):
        right.plot(p, mass[:, k], color=colour, ls=line, lw=2, label=name)
    right.set(xscale="log", xlabel="dimensions", ylabel="share of the mass", ylim=(0, 1))
    plain_log(right.xaxis)
    right.legend()
    title = f"In {p[-1]:,} dimensions {draw.percent(mass[-1, 1])} of a Gaussian lies in a thin shell"
    draw.headline(figure, title)
    sentence = (
        f"In {p[0]} dimension {draw.percent(mass[0, 0])} of the mass of a Gaussian lies in the yolk; in {p[-1]:,} "
        f"dimensions {draw.percent(mass[-1, 1])} lie in the thin shell."
    )
    data = {"dimension": p, "yolk": mass[:, 0], "shell": mass[:, 1], "white": mass[:, 2], "radius": [low, high]}
    return Plot("egg", figure, title=title, sentence=sentence, data=data)


def _egg(ax: Axes, low: float, high: float) -> None:
    """The egg in two dimensions: radii a dimension times the root of two."""
    from matplotlib.patches import Circle

    for radius, colour in ((2.4, WHITE), (high * np.sqrt(2), GREEN), (low * np.sqrt(2), YOLK)):
        ax.add_patch(Circle((0, 0), radius, facecolor=colour, edgecolor="none"))
    write(ax, 0.0, 0.0, "yolk", ha="center", va="center")
    write(ax, 0.0, 1.9, "white", ha="center", va="center")
    ax.annotate("shell", (1.0, -1.0), (1.75, -1.75), fontsize=8.5, arrowprops={"arrowstyle": "-", "lw": 0.8})
    ax.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), aspect="equal")
    ax.set_title("two dimensions", fontsize=9)
    ax.set_axis_off()
