"""What an analysis says in words: five sentences and the trust strip."""
from __future__ import annotations

from typing import Any, NamedTuple

from scipy.special import bdtr

from lowdim.judge.stability import DECIDES

ENOUGH = 3.0  # rows a dimension needs to be useful
BAND = 0.05  # a coverage further out than chance allows at this level is called out


class Check(NamedTuple):
    """One check of the trust strip: what was asked, whether it holds, and the evidence in words."""

    name: str
    holds: bool | None  # None = does not apply
    evidence: str


def five_sentences(found: Any) -> tuple[str, ...]:
    """Dimensions, first axis, fills, odd rows, and what the map leaves out."""
    return (dimension_sentence(found), axis_sentence(found), fill_sentence(found.fills), odd_sentence(found.odd),
            map_sentence(found))


def dimension_sentence(found: Any) -> str:
    q, words = found.dims, found.jury.sentence
    asked = found.settings.dims
    if asked != "auto":
        return f"You asked for {q} dimension{'' if q == 1 else 's'}; the judges say {words}."
    if q == 0:
        return "No shared structure found: the columns vary each for itself."
    if str(q) != words.split(" ")[0]:
        return f"Your table behaves as if it had {words} dimensions; the map uses {q}."
    rest = words[len(str(q)):]
    return f"Your table behaves as if it had {q} dimension{'s' if q != 1 else ''}{rest}."


def axis_sentence(found: Any) -> str:
    return str(found.axes[0].sentence) if found.axes else "There is no axis to describe."


def fill_sentence(fills: Any) -> str:
    return str(fills.sentence) if fills.mask.any() else "There are no gaps to fill."


def odd_sentence(odd: Any) -> str:
    rate = 100 * (1 - odd.level)
    if not odd.rows:
        return f"No odd rows at a {rate:.3g}% false discovery rate."
    first = odd.rows[0]
    many = len(odd.rows)
    head = "1 odd row" if many == 1 else f"{many} odd rows"
    lead = f"row {first.name}" if many == 1 else f"the oddest is row {first.name}"
    below = f"{odd.below} row{' has' if odd.below == 1 else 's have'} p < {1 - odd.level:.2g}"
    chance = f"{below}; about {odd.expected:.0f} expected by chance"
    return f"{head}: {lead}, because {because(first)} ({chance})."


def because(row: Any) -> str:
    """'bf_cm_ratio is 121.7; the rest of the row says 78.3 +- 6.5'"""
    return f"{row.column} is {row.value:.4g}; the rest of the row says {row.expected:.3g} +- {row.sd:.2g}"


def map_sentence(found: Any) -> str:
    shares = [card.share for card in found.axes]
    if not shares:
        return "There is no map to draw."
    shown = 100 * sum(shares[:2])
    if len(shares) <= 2:
        name = "2-D map shows" if len(shares) == 2 else "only axis shows"
        return f"The {name} {shown:.0f}% of the variation; the rest is noise of single columns."
    other = "axis 3" if len(shares) == 3 else f"axes 3-{len(shares)}"
    return f"The 2-D map shows {shown:.0f}% of the variation; read it together with {other}."


def trust_strip(found: Any) -> tuple[Check, ...]:
    """Six checks; each points to its evidence."""
    n, q = found.table.n, found.dims
    gaps, fills, steady = found.gaps, found.fills, found.stability
    enough = n >= ENOUGH * max(q, 1) and n >= 3 * found.table.d / 2
    random = None if gaps.gaps == 0 else not gaps.depends
    covered = bdtr(fills.held, fills.tried, fills.level) >= BAND / 2 if fills.tried else None
    return (
        Check("enough rows", bool(enough), f"{n} rows for {q} dimensions of {found.table.d} columns"),
        Check("gaps plausible at random", random, gaps.sentence),
        Check("predicts hidden cells", None if not fills.tried else bool(fills.skill > 0.0),
              f"{100 * fills.skill:.0f}% of the squared error of column means is removed"),
        Check("intervals hold what they claim", None if covered is None else bool(covered),
              f"{fills.held} of {fills.tried} hidden cells, {100 * fills.level:.0f}% claimed"),
        Check("map is stable", None if q == 0 else steady.verdict == "steady", steady.sentence),
        Check("no single row decides", None if not steady.removed else bool(steady.removed[0].angle < DECIDES),
              steady.one_row))
