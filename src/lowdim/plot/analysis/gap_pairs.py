"""Which gaps come together, and whether they look as if they fell at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.judge.gaps import GapReport
from lowdim.judge.rows.odd_rows import false_discovery
from lowdim.math.linalg import Array, Mask
from lowdim.plot.analysis.table import worst
from lowdim.plot.base import DIVERGING, GREY, INK, PAPER, Plot, blank, count, drawn, headline, number, quoted, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FALSE_DISCOVERY = 0.05
MANY = 50.0  # rows expected to meet beyond which the middle of the law is as good as normal


@drawn
def gap_pairs(mask: Mask, names: Sequence[str], *, report: GapReport | None = None, most: int = 20) -> Plot:
    """Which gaps come together: the correlation of every two columns' gaps, and what chance would give.

    With n rows, a and b gaps, the number of rows with both is hypergeometric if gaps fall independently; a
    pair is named where more of them meet than chance gives, false discoveries held at 5% (Benjamini and
    Hochberg 1995). With `report` (judge/gaps.py) the sentence also says whether rows with a gap differ in the other
    columns, which gaps left completely at random do not (Little 1988). That they are not at random in a way that
    depends on the missing number itself, no table can show.

    >>> seen = np.ones((40, 3), dtype=bool)
    >>> seen[:8, :2] = False
    >>> gap_pairs(seen, ["a", "b", "c"]).sentence
    "Gaps in 'a' and 'b' come together in 8 rows where chance would give 1.6; 1 of 1 pair does so (5% false ..."
    """
    hole = ~np.asarray(mask, dtype=bool)
    some = np.flatnonzero(hole.any(axis=0) & ~hole.all(axis=0))
    G = hole[:, some].astype(float)
    both, phi, p = _together(G)
    i, j = np.tril_indices(len(some), -1)
    found = false_discovery(p[i, j], FALSE_DISCOVERY)
    hint, tied = _value_hint(report)
    title, sentence = _pair_words([names[int(k)] for k in some], both, G.sum(axis=0), len(G), (i, j, found), p)
    figure = blank(6.4, 4.0 if len(some) <= 10 else 5.6)
    ax = figure.subplots()
    kept = worst((phi - 2 * np.eye(len(some))).max(axis=1, initial=-2.0), most)
    _draw_pairs(ax, phi[np.ix_(kept, kept)], both[np.ix_(kept, kept)], [short(names[k], 18) for k in some[kept]])
    headline(figure, title)
    data = {
        "first": np.array([str(names[k]) for k in some[j]]),
        "second": np.array([str(names[k]) for k in some[i]]),
        "together": both[i, j],
        "expected": np.outer(G.sum(axis=0), G.sum(axis=0))[i, j] / max(len(G), 1),
        "correlation": phi[i, j],
        "p": p[i, j],
        "named": found,
        "ties_to_values": tied,
    }
    return Plot("gap_pairs", figure, title=title, sentence=sentence + hint, data=data)


def _together(G: Array) -> tuple[Array, Array, Array]:
    """Rows with both gaps, the correlation of gaps, and the chance of at least so many (hypergeometric)."""
    from scipy.stats import hypergeom, norm

    n, a = len(G), G.sum(axis=0)
    both = G.T @ G
    expected = np.outer(a, a) / max(n, 1)
    spread = np.sqrt(np.outer(a * (n - a), a * (n - a))) / max(n, 1)
    phi = (both - expected) / np.where(spread > 0, spread, 1.0)
    # the exact sum is slow where it is long; there the normal law tells which pairs are worth it
    p = norm.sf((both - expected - 0.5) * np.sqrt(max(n - 1, 1)) / np.where(spread > 0, spread, 1.0))
    few = (expected < MANY) | (p < FALSE_DISCOVERY)
    first, second = np.nonzero(few)
    p[few] = hypergeom.sf(both[few] - 1, n, a[first], a[second])
    return both, phi, p


def _value_hint(report: GapReport | None) -> tuple[str, int]:
    """Whether rows with a gap in one column have other values elsewhere, as the report on the gaps found."""
    if report is None or not report.tested:
        return "", 0
    if not report.depends:
        return " Rows with and without gaps have similar values elsewhere, as gaps at random would.", 0
    first = report.depends[0]
    return (
        f" Rows with a gap in {quoted(first.column)} have other values of {quoted(first.on)}: gaps are not "
        "completely at random."
    ), len(report.depends)


def _pair_words(
    names: list[str], both: Array, per: Array, n: int, pairs: tuple[Any, Any, Mask], p: Array
) -> tuple[str, str]:
    i, j, found = pairs
    if len(names) < 2:
        gaps_in = "No column has" if not names else "Only one column has"
        return f"{gaps_in} gaps here and there: no pairs to compare", f"{gaps_in} both gaps and seen cells."
    best = int(np.argmin(p[i, j]))
    a, b = j[best], i[best]
    chance = per[a] * per[b] / n
    together = (
        f"in {quoted(names[a])} and {quoted(names[b])} come together in "
        f"{count(int(both[a, b]), 'row')} where chance would give {number(chance)}"
    )
    if not found.any():
        return (
            "No two columns' gaps come together more often than chance",
            f"No two columns' gaps come together more often than chance (closest: gaps {together}).",
        )
    verb = "do so" if found.sum() > 1 else "does so"
    return (
        f"Gaps in {quoted(names[a])} and {quoted(names[b])} come together: {int(both[a, b])} rows, "
        f"{number(chance)} by chance",
        f"Gaps {together}; {int(found.sum())} of {count(len(found), 'pair')} {verb} (5% false discovery rate).",
    )


def _draw_pairs(ax: Axes, phi: Array, both: Array, names: list[str]) -> None:
    k = len(names)
    ax.spines[:].set_visible(False)
    if k < 2:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "nothing to compare", ha="center", transform=ax.transAxes, color=GREY)
        return
    shown = np.where(np.tril(np.ones((k, k), dtype=bool), -1), phi, np.nan)
    image = ax.imshow(shown[1:, :-1], cmap=DIVERGING, vmin=-1, vmax=1, aspect="auto")
    for r, c in np.argwhere(np.isfinite(shown)).tolist():
        if k <= 14:
            ax.text(
                c,
                r - 1,
                f"{int(both[r, c])}",
                ha="center",
                va="center",
                fontsize=8,
                color=PAPER if abs(phi[r, c]) > 0.6 else INK,
            )
    ax.set_xticks(range(k - 1), names[:-1], rotation=90 if k > 4 else 0, fontsize=8)
    ax.set_yticks(range(k - 1), names[1:], fontsize=8)
    ax.tick_params(length=0)
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.colorbar(image, ax=ax, shrink=0.8, label="gaps apart   ←  correlation  →   together")
    ax.set_xlabel("in the cells: rows where both are gaps" if k <= 14 else "column")
