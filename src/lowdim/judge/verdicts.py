"""What an analysis says in words: five sentences and the trust strip."""

from __future__ import annotations

from typing import Any, NamedTuple

from scipy.special import bdtr

from lowdim.judge.dimensions.text import no_summary
from lowdim.judge.rows.odd_rows import disagrees, far_out
from lowdim.judge.stability import DECIDING_DEGREES
from lowdim.text.format import count

ROWS_PER_DIMENSION = 3.0  # rows a dimension needs to be useful
COVERAGE_BAND = 0.05  # a coverage further out than chance allows at this level is called out


class TrustCheck(NamedTuple):
    """One check of the trust strip: what was asked, whether it holds, and the evidence in words."""

    name: str
    holds: bool | None  # None = does not apply
    evidence: str


def five_sentences(found: Any) -> tuple[str, ...]:
    """Dimensions, first axis, fills, odd rows, and what the map leaves out; of a sample, a sixth that says so."""
    sentences = (
        dimension_sentence(found),
        axis_sentence(found),
        fill_sentence(found.fills),
        odd_sentence(found.odd),
        map_sentence(found),
    )
    return sentences if found.of is None else (*sentences, sample_sentence(found))


def sample_sentence(found: Any) -> str:
    """Which figures come from all rows, and which from those that were drawn."""
    return (
        f"The model is fitted to all {found.of:,} rows; dimensions, fills, intervals, stability, odd rows "
        f"and pictures come from {found.table.n:,} rows drawn at random."
    )


def dimension_sentence(found: Any) -> str:
    q, words = found.dims, found.jury.sentence
    asked = found.settings.dims
    if asked != "auto":
        return f"You asked for {count(q, 'dimension')}; the judges say {words}."
    if q == 0:
        doubt = words.removeprefix("no shared structure found")
        return f"No shared structure found: the columns vary each for itself{doubt}."
    summary = no_summary(found.jury, sum(card.share for card in found.axes[:2]))
    more = f": {summary} of the variation" if summary else ""
    if str(q) != words.split(" ")[0]:
        head, _, doubt = words.partition(" (")
        doubt = f" ({doubt}" if doubt else ""
        return f"Your table behaves as if it had {head} dimensions{doubt}; the map uses {q}{more}."
    return f"Your table behaves as if it had {count(q, 'dimension')}{words.removeprefix(str(q))}{more}."


def axis_sentence(found: Any) -> str:
    return str(found.axes[0].sentence) if found.axes else "There is no axis to describe."


def fill_sentence(fills: Any) -> str:
    return str(fills.sentence) if fills.is_filled.any() else "There are no gaps to fill."


def odd_sentence(odd: Any) -> str:
    rate = 100 * (1 - odd.odd_level)
    below = f"{count(odd.below, 'row')} {'has' if odd.below == 1 else 'have'} p < {1 - odd.odd_level:.2g}"
    chance = f"{below}; about {odd.expected:.0f} expected by chance"
    if not odd.rows:
        return f"No odd rows at a {rate:.3g}% false discovery rate ({chance})."
    first = odd.rows[0]
    many = len(odd.rows)
    lead = f"row {first.name}" if many == 1 else f"the oddest is row {first.name}"
    return f"{count(many, 'odd row')}: {lead}, because {because(first)} ({chance})."


def because(row: Any) -> str:
    """Why a row is odd, in half a sentence."""
    if far_out(row.p_hidden, row.p_Q):
        return "it lies far out on the map; no single cell explains it"
    return disagrees(row.column, row.value, row.expected, row.sd)


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


def trust_strip(found: Any) -> tuple[TrustCheck, ...]:
    """Six checks; each points to its evidence."""
    n, q = found.of or found.table.n, found.dims
    gaps, fills, steady = found.gaps, found.fills, found.stability
    enough = n >= ROWS_PER_DIMENSION * max(q, 1) and n >= 3 * found.table.d / 2
    random = None if gaps.gaps == 0 else not gaps.depends
    covered = bdtr(fills.held, fills.tried, fills.level) >= COVERAGE_BAND / 2 if fills.tried else None
    return (
        TrustCheck(
            "enough rows",
            bool(enough),
            f"{count(n, 'row')} for {count(q, 'dimension')} of {count(found.table.d, 'column')}",
        ),
        TrustCheck("gaps plausible at random", random, gaps.sentence),
        TrustCheck(
            "predicts hidden cells",
            None if not fills.tried else bool(fills.skill > 0.0),
            f"fills remove {100 * fills.skill:.0f}% of the squared error of column means (the fills' own model; "
            f"the map's share is Q2, under dimensions)",
        ),
        TrustCheck(
            "intervals hold what they claim",
            None if covered is None else bool(covered),
            f"{fills.held} of {fills.tried} hidden cells, {100 * fills.level:.0f}% claimed",
        ),
        TrustCheck("map is stable", None if q == 0 else steady.verdict == "steady", steady.sentence),
        TrustCheck(
            "no single row decides",
            None if not steady.removed else bool(steady.removed[0].angle < DECIDING_DEGREES),
            steady.one_row,
        ),
    )
