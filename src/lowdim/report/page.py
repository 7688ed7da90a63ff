"""The page and its sections in order; each answers one question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from lowdim.report import no_rows
from lowdim.report.page_parts import Section
from lowdim.report.section_cells import fills, odd
from lowdim.report.section_model import axes, holds_up, lost, the_map
from lowdim.report.section_reproduce import code_of, command_of, reproduce
from lowdim.report.section_table import dimensions, gaps, table
from lowdim.report.svg import map_stamp
from lowdim.report.touch import touch_script
from lowdim.text.format import count

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

EVIDENCE = {
    "enough rows": "table",
    "gaps plausible at random": "gaps",
    "predicts hidden cells": "fills",
    "intervals contain what they claim": "fills",
    "map is stable": "stability",
    "no single row decides": "stability",
}
GLOSSARY = (
    ("row", "one observation: a line of your table"),
    ("column", "one variable"),
    ("gap", "an empty cell"),
    ("dimension", "a direction in which rows differ together (latent dimension)"),
    ("axis", "a dimension of the map, ordered by how much of the variation it carries (component)"),
    ("map", "the rows drawn along the first two axes (score plot)"),
    ("fill", "what the model says a gap holds, with an interval (imputation)"),
    ("interval", "a range that should hold the truth as often as it claims"),
    ("odd row", "a row further from the rest than chance explains (outlier)"),
    ("noise", "variation of single columns that no other column shares"),
)


class Trust(NamedTuple):
    """One check as the page shows it: word, sign, colour and a link to its evidence."""

    name: str
    kind: str
    sign: str
    verdict: str
    evidence: str
    link: str


class Page(NamedTuple):
    """Everything the template shows."""

    title: str
    size: str
    sentences: tuple[str, ...]
    trust: tuple[Trust, ...]
    changes: tuple[Any, ...]
    stamp: Markup
    stamp_words: str
    command: str
    code: str
    sections: tuple[Section, ...]
    glossary: tuple[tuple[str, str], ...]
    last: Section
    rows: bool
    touch_script: Markup = Markup("")  # none where no row can be touched


def page(analysis: Analysis, rows: bool) -> Page:
    """The report's content; without rows nothing in it belongs to a single row."""
    t = analysis.table
    sections = (
        table(analysis, rows),
        gaps(analysis, rows),
        dimensions(analysis, rows),
        the_map(analysis, rows),
        axes(analysis, rows),
        fills(analysis, rows),
        odd(analysis, rows),
        lost(analysis, rows),
        holds_up(analysis, rows),
    )
    sentences = analysis.sentences if rows else tuple(no_rows.said(analysis).values())
    checks = analysis.trust if rows else no_rows.trust(analysis)
    changes = tuple(t.messages) if rows else tuple(no_rows.change(m) for m in t.messages)
    stamp = Markup(map_stamp(analysis, "stamp", rows=rows))  # noqa: S704 - our own SVG, its texts escaped
    many = analysis.gaps.gaps
    sample_text = "" if analysis.of is None else f"; {t.n:,} rows drawn at random are shown"
    size = f"{analysis.of or t.n:,} rows, {count(t.d, 'measured column')}{sample_text}, {count(many, 'gap')}"
    return Page(
        f"What {t.name} is made of",
        size,
        sentences,
        tuple(map(trusted, checks)),
        changes,
        stamp,
        stamp_words(analysis, rows),
        command_of(analysis, "report", rows=rows),
        code_of(analysis, "print(*analysis.sentences, sep='\\n')"),
        sections,
        GLOSSARY,
        reproduce(analysis, rows),
        rows,
        Markup(touch_script() if any(s.touch for s in sections) else ""),  # noqa: S704 - our own script
    )


def stamp_words(analysis: Analysis, rows: bool) -> str:
    """What the small picture beside the sentences shows."""
    if analysis.dims < 2:
        return "Eigenvalues; the dashed line is the 95% level of shuffled tables."
    return "The map: axis 1 across, axis 2 up" + ("; odd rows ringed." if rows and analysis.odd.rows else ".")


def trusted(check: Any) -> Trust:
    """A check with its sign and words: meaning never by colour alone."""
    kind, sign, verdict = (
        ("na", "–", "does not apply")
        if check.holds is None
        else ("yes", "✓", "yes")
        if check.holds
        else ("no", "!", "look closer")
    )
    evidence = check.evidence[:1].upper() + check.evidence[1:]
    return Trust(check.name.capitalize(), kind, sign, verdict, evidence, EVIDENCE.get(check.name, "answer"))


__all__ = ["Page", "page"]
