"""What a report may say when it was asked to show no row: no value and no name of one, no count below five."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lowdim.judge.verdicts import TrustCheck, axis_sentence
from lowdim.plot.marks import LEAST_SHOWN_ROWS
from lowdim.text.fix import Fix
from lowdim.text.messages import Message, entry_of

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis


def few(count: int) -> str:
    """A count, unless it is small enough to point at somebody."""
    return f"{count:,}" if count == 0 or count >= LEAST_SHOWN_ROWS else f"fewer than {LEAST_SHOWN_ROWS}"


def said(analysis: Analysis) -> dict[str, str]:
    """The sentences by their topic, without a word about any one row."""
    many = len(analysis.odd.rows)
    odd = "No odd rows" if many == 0 else f"{few(many)} odd row{'' if many == 1 else 's'}".capitalize()
    if 0 < many < LEAST_SHOWN_ROWS:
        odd = f"Fewer than {LEAST_SHOWN_ROWS} odd rows"
    reason = "" if many == 0 else "; this report was asked to name none"
    return analysis.said | {"axes": axis_sentence(analysis, names=False), "odd": f"{odd} found{reason}."}


def trust(analysis: Analysis) -> tuple[TrustCheck, ...]:
    """The trust strip; the two checks whose evidence names rows say it in numbers."""
    s = analysis.stability
    turn = f"median turn of the map's plane {np.median(s.plane):.0f} degrees" if len(s.plane) else ""
    one = f"largest turn of an axis {max((r.angle for r in s.removed), default=0.0):.0f} degrees"
    words = {"map is stable": turn, "no single row decides": one}
    return tuple(c._replace(evidence=words.get(c.name, c.evidence)) for c in analysis.trust)


def change(m: Message) -> Message:
    """A message without examples, lines and values."""
    entry = entry_of(m)
    if not entry.names_rows:
        return m._replace(where="", fix=Fix())
    why = "" if "{" in entry.why else f": {entry.why}"
    return m._replace(
        what=f"About single cells or rows{why}; lowdim check shows it in full", where="", why="", fix=Fix()
    )
