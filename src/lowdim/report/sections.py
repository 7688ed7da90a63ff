"""The sections of the report, in order; each answers one question."""
from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim import __version__
from lowdim.messages import OptionError
from lowdim.report.parts import Chart, Grid, Section, chart, grid

if TYPE_CHECKING:
    from lowdim.analysis import Analysis

GLOSSARY = (
    ("row", "one observation: a line of your table"), ("column", "one variable"), ("gap", "an empty cell"),
    ("dimension", "a direction in which rows differ together (latent dimension)"),
    ("axis", "a dimension of the map, ordered by how much of the variation it carries (component)"),
    ("map", "the rows drawn along the first two axes"),
    ("fill", "what the model says a gap holds, with an interval (imputation)"),
    ("interval", "a range that should hold the truth as often as it claims"),
    ("odd row", "a row further from the rest than chance explains (outlier)"),
    ("noise", "variation of single columns that no other column shares"))


class Page(NamedTuple):
    """Everything the template shows."""

    title: str
    sentences: tuple[str, ...]
    trust: tuple[Any, ...]
    changes: tuple[Any, ...]
    thumbnail: Chart | None
    sections: tuple[Section, ...]
    glossary: tuple[tuple[str, str], ...]


def page(found: Analysis, rows: bool) -> Page:
    """The report's content; without rows nothing in it belongs to a single row."""
    sections = [table(found), gaps(found, rows), dimensions(found)]
    sections += [the_map(found), ] if rows else []
    sections += [axes(found), fills(found, rows)]
    sections += [odd(found), reconstruction(found)] if rows else []
    sections += [holds_up(found, rows), reproduce(found)]
    sentences = found.sentences if rows else hidden(found)
    first = next((c for s in sections if s.id == "map" for c in s.charts), None)
    small = None if first is None else first._replace(name="thumbnail")
    return Page(f"What {found.table.name} is made of", sentences, found.trust if rows else trust_without(found),
                tuple(found.table.messages), small, tuple(sections), GLOSSARY)


def hidden(found: Analysis) -> tuple[str, ...]:
    """The five sentences without a word about any one row."""
    many = len(found.odd.rows)
    odd_one = f"{many} odd row{'' if many == 1 else 's'} found; this report was asked to name none."
    return (*found.sentences[:3], odd_one, found.sentences[4])


def trust_without(found: Analysis) -> tuple[Any, ...]:
    """The trust strip with the two checks that name rows cut to their verdict."""
    return tuple(c._replace(evidence="see the verdict; rows are not named") if c.name in ("map is stable",
                 "no single row decides") else c for c in found.trust)


def drawn(found: Analysis, *names: str, **how: Any) -> tuple[Chart, ...]:
    """The plots of these names that apply to this table."""
    return tuple(_drawn(found, names, how))


def _drawn(found: Analysis, names: tuple[str, ...], how: dict[str, Any]) -> Iterator[Chart]:
    for name in names:
        try:
            yield chart(found.plot.draw(name, **how))
        except OptionError:  # a plot that does not apply is left out; the section's words say why
            continue


def table(found: Analysis) -> Section:
    t = found.table
    cards = grid("Your columns", ("column", "role", "gaps", "smallest", "largest", "mean"), (
        (c.name, c.role, int(np.isnan(c.values).sum()), np.nanmin(c.values), np.nanmax(c.values), np.nanmean(c.values))
        if c.role == "number" else (c.name, c.role, "", "", "", "") for c in t.columns))
    return Section("table", "Your table", f"{t.name} has {t.n} rows and {t.d} columns of numbers ({t.guess}).",
                   drawn(found, "columns"), (cards,),
                   "Each strip is a histogram of one column; the bar on the right is its share of gaps.",
                   "Columns set aside as labels, names or times shape no axis; the changes above list them.",
                   f"lowdim check {t.name}")


def gaps(found: Analysis, rows: bool) -> Section:
    g = found.gaps
    names = ("gaps", "gap_pairs") if rows else ("gap_pairs",)
    told = grid("Where being missing goes with another column's value",
                ("missing column", "goes with", "difference in sd", "p"),
                ((d.column, d.on, d.difference, d.p) for d in g.depends))
    return Section("gaps", "Gaps", g.sentence, drawn(found, *names) if g.gaps else (), (told,) if g.depends else (),
                   "A hatched cell is a gap. Rows with the same gaps stand together.",
                   f"{g.tested} pairs of columns were tested (Welch's test, 5% false discovery rate). Gaps that depend "
                   "on the missing value itself cannot be seen in the table.", f"lowdim plot gaps {found.table.name}")


def dimensions(found: Analysis) -> Section:
    j = found.jury
    rows = grid("Each number of dimensions", ("q", "variance explained", "hidden cells Q2", "log density", "BIC weight",
                                              "Minka weight", "above shuffled data"), j.rows)
    judges = grid("Judges", ("judge", "says", "because"), ((x.name, x.q, x.detail) for x in j.judges))
    return Section("dimensions", "How many dimensions", found.sentences[0],
                   drawn(found, "scree", "jury", "heldout", "distances"), (rows, judges),
                   "An eigenvalue above the band of shuffled tables is more than chance makes. Hidden cells are predicted "
                   "from the others: more dimensions help until they follow the noise.",
                   "The judges answer slightly different questions; where they disagree the sentence says so. "
                   "The spread of distances is not a number of signals.", f"lowdim dims {found.table.name}")


def the_map(found: Analysis) -> Section:
    read = ("Each point is a row, each ellipse holds that row's position with 90% probability given its gaps. "
            "The dashed curve holds 95% of complete rows.")
    return Section("map", "The map", found.sentences[4], drawn(found, "map"), (), read,
                   "The map shows two axes; the strip below it says what they leave out. Axes may be flipped.",
                   f"lowdim plot map {found.table.name}")


def axes(found: Analysis) -> Section:
    cards = found.axes
    words = " ".join(card.sentence for card in cards) or "There is no axis to describe."
    ties = grid("Labels tied to an axis", ("axis", "label", "share explained", "groups", "p", "tied"),
                ((c.axis, x.label, x.eta2, x.groups, x.p, x.tied) for c in cards for x in c.labels))
    return Section("axes", "What drives each axis", words, drawn(found, "axis_cards", "loadings", "hinton", "biplot"),
                   (ties,) if ties.rows else (),
                   "A loading says how a column moves along an axis; a dot or interval shows how much it would differ "
                   "for other rows of the same kind.", "Axes of nearly equal variance are interchangeable: read their "
                   "plane, not their directions. A sign by itself means nothing.", f"lowdim plot loadings {found.table.name}")


def fills(found: Analysis, rows: bool) -> Section:
    f = found.fills
    skill = grid("Skill and calibration by column", ("column", "gaps", "skill", "held", "tried", "advice"),
                 ((c.column, c.gaps, c.skill, c.held, c.tried, c.advice) for c in f.columns))
    names = ("fills", "calibration") if rows else ("calibration",)
    return Section("fills", "Filling the gaps", found.sentences[2], drawn(found, *names), (skill,),
                   "Skill is the share of a column's variance predicted for cells hidden on purpose; 0 is no better than "
                   "the column mean. Intervals are checked on the same cells.",
                   "Do not analyse filled cells as if they had been measured; use multiple imputation for statistics.",
                   f"lowdim fill {found.table.name} -o filled.csv --multiple 20")


def odd(found: Analysis) -> Section:
    o = found.odd
    rows = grid("Odd rows", ("row", "cells seen", "D2", "p", "column", "value", "expected", "sd", "why"),
                ((r.name, r.seen, r.D2, r.p, r.column, r.value, r.expected, r.sd, r.reason) for r in o.rows[:50]))
    return Section("odd", "Odd rows", f"{o.sentence}.", drawn(found, "t2_q", "control", "why_row", "why_all"),
                   (rows,) if o.rows else (),
                   "T2 is the distance within the map, Q the distance off it, D2 both together; limits follow each row's "
                   "own gaps. The surprise of a cell is its distance from what the rest of its row says.",
                   "An odd row is unusual, not wrong. Rows that bent the model themselves look less odd than they are.",
                   f"lowdim odd {found.table.name}")


def reconstruction(found: Analysis) -> Section:
    X, names = found.table.X, found.table.names
    rebuilt = found.model.reconstruct(X)
    spread = np.nanvar(X, axis=0)
    left = np.nanmean((X - rebuilt) ** 2, axis=0)
    share = 1 - left / np.where(spread > 0, spread, 1.0)
    told = grid("Variance of each column that the map keeps", ("column", "share kept"), zip(names, share, strict=True))
    return Section("reconstruction", "What is lost", f"The {found.dims} axes keep {100 * np.mean(share):.0f}% of a "
                   "column's variance on average.", drawn(found, "reconstruct", "traverse"), (told,),
                   "A row is rebuilt from its first axes, one, two, five and so on; what is left over is noise to the model.",
                   "Rebuilding a row uses that row's own cells, so it looks better than predicting a hidden cell.",
                   f"lowdim plot reconstruct {found.table.name}")


def holds_up(found: Analysis, rows: bool) -> Section:
    names = ("stability", "trace") if rows else ("trace",)
    told = grid("If one row were removed", ("row", "axis that turns most", "by degrees", "map plane by degrees"),
                ((r.name, r.axis, r.angle, r.plane) for r in found.stability.removed))
    sentence = found.stability.sentence if rows else f"The map: {found.stability.verdict}."
    return Section("stability", "Does it hold up?", sentence, drawn(found, *names),
                   (told,) if rows and told.rows else (),
                   "Rows are drawn again with replacement and the model refitted; the clouds show where each row would lie.",
                   "Resampling shows how much chance there is in these rows, not whether the model is right.",
                   f"lowdim plot stability {found.table.name}")


def reproduce(found: Analysis) -> Section:
    t, s = found.table, found.settings
    facts = grid("How this was made", ("what", "value"), (
        ("lowdim", __version__), ("Python", platform.python_version()), ("NumPy", np.__version__),
        ("table", t.name), ("SHA-256", t.sha256), ("shape", f"{t.n} x {t.d}"), ("dimensions asked for", s.dims),
        ("scale", s.scale), ("interval level", s.level), ("seed", s.seed),
        *((name, text) for name, text in found.model.certificate_.rows())))
    return Section("reproduce", "Reproduce", "The same table, version and settings give the same numbers.", (), (facts,),
                   "The certificate says how the model was fitted and how far its numbers can be trusted.",
                   "Other processors may differ in the last digits.",
                   f"lowdim report {t.name} --dims {s.dims} --level {s.level:g} --seed {s.seed}")


__all__ = ["Grid", "Page", "page"]
