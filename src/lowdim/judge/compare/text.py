"""A comparison in words: two tables that fit a terminal, and a sentence for every question."""

from __future__ import annotations

import html as markup
import textwrap
from itertools import takewhile
from typing import TYPE_CHECKING

from lowdim.judge.compare.compare import FIELD, MEASURED, Comparison, Figure, Measure, MethodRow, clearly, ranking
from lowdim.registry import METHODS
from lowdim.text.format import count, listing, size

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_WIDTH = 60  # characters: below this a table cannot be read anyway
FLOOR_METHOD = "random"
SWING = 3.0  # times the spread of the best from which a method is said to swing
BY_KEY = {figure.key: figure for figure in MEASURED}


def cell(measure: Measure, figure: Figure) -> str:
    """A figure with its spread, a star where it is clearly the best, a dash and the reason where there is none."""
    if measure.mean is None:
        return f"– ({measure.why})"
    spread = "" if measure.spread is None else f" ±{measure.spread:.{figure.digits}f}"
    return f"{'*' if measure.best else ''}{measure.mean:.{figure.digits}f}{spread}"


def grid(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the whole table."""
    figures = (*MEASURED, FIELD) if has_fields(comparison) else MEASURED
    head = [
        "method",
        *(figure.heading for figure in figures),
        "gaps",
        "new rows",
        "decoder",
        "uncertainty",
        "seconds",
        "memory",
    ]
    body = [
        [
            row.method,
            *(cell(row.measures[figure.key], figure) for figure in figures),
            row.gaps,
            row.new_rows,
            row.decoder,
            row.uncertainty,
            "–" if row.seconds is None else f"{row.seconds:.2g}",
            "–" if row.memory is None else size(row.memory),
        ]
        for row in comparison.rows
    ]
    return head, body


def text(comparison: Comparison, width: int) -> str:
    """The tables and the sentences, no line longer than the terminal is wide."""
    width = max(width, LEAST_WIDTH)
    head, body = grid(comparison)
    lines = [*textwrap.wrap(heading(comparison), width), ""]
    for part in parts([head, *body], width):
        lines += [*part, ""]
    lines += [line for words in legend(comparison) for line in textwrap.wrap(words, width, subsequent_indent="  ")] + [
        ""
    ]
    lines += [line for words in comparison.sentences for line in textwrap.wrap(words, width, subsequent_indent="  ")]
    return "\n".join(lines)


def parts(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """The table cut into pieces that fit, each beginning with the methods."""
    wide = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    pieces: list[list[int]] = [[0]]
    for j in range(1, len(wide)):
        taken = sum(wide[i] + 2 for i in pieces[-1])
        if taken + wide[j] > width and len(pieces[-1]) > 1:
            pieces.append([0])
        pieces[-1].append(j)
    return [["  ".join(f"{row[j]:<{wide[j]}}" for j in piece).rstrip() for row in rows] for piece in pieces]


def heading(comparison: Comparison) -> str:
    clusters = f", {comparison.clusters} clusters" if has_clusters(comparison) else ""
    maps = len(elsewhere(comparison))
    extra = f" and {maps} map{'s' * (maps != 1)} made elsewhere" if maps else ""
    return (
        f"{len(comparison.rows) - maps} methods{extra} on {comparison.name}: {comparison.dims} dimension"
        f"{'s' * (comparison.dims != 1)}{clusters}, {comparison.fitted:,} rows, {comparison.gaps:,} gaps, "
        f"{comparison.seeds} repeats with a tenth of the cells hidden ({comparison.hidden:,} in all)"
    )


def has_clusters(comparison: Comparison) -> bool:
    return any(METHODS[row.method].lack("map") for row in comparison.rows if row.method in METHODS)


def has_fields(comparison: Comparison) -> bool:
    """Whether any method has a random field."""
    return any(row.measures[FIELD.key].values for row in comparison.rows)


def elsewhere(comparison: Comparison) -> list[MethodRow]:
    """The maps that were made elsewhere."""
    return [row for row in comparison.rows if row.method not in METHODS]


def legend(comparison: Comparison) -> list[str]:
    """What the columns are."""
    lines = [
        "Hidden cells: log density in nats a cell, error in standard deviations of the column (1 = its mean). "
        "Neighbours: share of each row's 10 nearest that are so on the map; area: the same over all sizes, 0 = "
        "chance. Distances: rank correlation of all of them. Trust: 1 where all 10 nearest on the map are near in "
        "the table, about 0.5 by chance. Stability: share of the 10 nearest that stay from "
        "repeat to repeat. ± is the spread over repeats; * is better than the next by more than twice that of "
        "their difference."
    ]
    if comparison.wanted > comparison.dims:
        limited = listing(
            [row.method for row in comparison.rows if row.method in METHODS and METHODS[row.method].factors]
        )
        lines.append(
            f"Dimensions: the judges find {comparison.wanted}, but so few columns identify no more than "
            f"{count(comparison.dims, 'factor')} ({limited}), and all methods have as many."
        )
    if comparison.gaps:
        lines.append("Rows with gaps are compared over the cells both have.")
    if has_fields(comparison):
        lines.append(
            "Field: log density of the rows, a cell, under the method's random field, scale and noise at their best; "
            "methods with a field got the hidden and missing cells from probabilistic PCA."
        )
    if any(METHODS[row.method].lack("gaps") for row in comparison.rows if row.method in METHODS):
        lines.append("A method without gaps got the hidden and missing cells from probabilistic PCA.")
    if elsewhere(comparison):
        lines.append("Coordinates made elsewhere had every cell and no repeats: they have no ± and no *.")
    return lines + [f"Note: {row.note}." for row in comparison.rows if row.note and row.method in METHODS]


# a sentence for every question ----------------------------------------------------------------------------------
def sentences(comparison: Comparison) -> tuple[str, ...]:
    """What to use for what, and how far the answers agree."""
    rows = [row for row in comparison.rows if row.method in METHODS]
    fill, groups = (pick(rows, BY_KEY[key]) for key in ("rmse", "neighbours"))
    answers = [filling(fill), seeing(rows, groups), density(rows)]
    return (
        *(words for words in answers if words),
        *agreeing(comparison, fill, groups),
        *(f"{row.note}; {agrees(comparison, row, groups)}." for row in elsewhere(comparison)),
    )


def agrees(comparison: Comparison, outside: MethodRow, groups: list[MethodRow]) -> str:
    """What a map made elsewhere has in common with the best map here, or with PCA's."""
    best = groups[0] if groups else comparison.rows[0]
    share = comparison.agreement.get(f"{best.method} {outside.method}", 0.0)
    return f"it shares {share:.0%} of neighbours with {best.title}"


def pick(rows: Sequence[MethodRow], figure: Figure) -> list[MethodRow]:
    """The best method and those that cannot be told from it; the floor only where it is the best itself.

    Behind one that is clearly worse there are no more: a method whose repeats differ much cannot be told from anything.
    """
    ranked = ranking(rows, figure)
    if not ranked:
        return []
    first = ranked[0].measures[figure.key]
    near = takewhile(
        lambda row: row.method == FLOOR_METHOD or not clearly(first, row.measures[figure.key], figure), ranked[1:]
    )
    return [
        ranked[0],
        *(row for row in near if row.method != FLOOR_METHOD and not swings(first, row.measures[figure.key])),
    ]


def swings(best: Measure, other: Measure) -> bool:
    """Whether a method is far off now and then: it cannot be told from the best, and is not as good for all that."""
    near = best.spread or 0.0
    return (other.spread or 0.0) > SWING * near and abs((other.mean or 0.0) - (best.mean or 0.0)) > 2.0 * near


def names(rows: Sequence[MethodRow]) -> str:
    words = [row.title for row in rows]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def filling(best: list[MethodRow]) -> str:
    if not best:
        return ""
    error = best[0].measures["rmse"].mean or 0.0
    if error >= 1.0:
        return f"To fill gaps: none of them; the best, {best[0].title}, is no better than column means ({error:.2f})."
    doubt = " (they cannot be distinguished)" if len(best) > 1 else ""
    return f"To fill gaps: {names(best)}{doubt}; hidden cells are missed by {error:.2f} standard deviations."


def seeing(rows: Sequence[MethodRow], best: list[MethodRow]) -> str:
    if not best:
        return ""
    share = best[0].measures["neighbours"].mean or 0.0
    doubt = " (they cannot be distinguished)" if len(best) > 1 else ""
    floor = next((row.measures["neighbours"].mean for row in rows if row.method == FLOOR_METHOD), None)
    beside = "" if floor is None or best[0].method == FLOOR_METHOD else f", a random projection {floor:.0%}"
    return f"To see groups: {names(best)}{doubt}; the map keeps {share:.0%} of the 10 nearest rows{beside}."


def density(rows: Sequence[MethodRow]) -> str:
    best = pick(rows, BY_KEY["density"])
    if not best:
        return ""
    doubt = " (they cannot be distinguished)" if len(best) > 1 else ""
    return f"To know how sure to be: {names(best)}{doubt}, by the density of hidden cells."


def agreeing(comparison: Comparison, fill: list[MethodRow], groups: list[MethodRow]) -> list[str]:
    """How much the maps of the first choices have in common, or of the first and PCA."""
    rows = [row for row in comparison.rows if row.method in METHODS]
    maps = (*fill[:1], *groups[:1], *fill, *groups, *ranking(rows, BY_KEY["neighbours"]))
    shown = list(dict.fromkeys(row.method for row in maps if row.measures["neighbours"].values))[:2]
    share = comparison.agreement.get(" ".join(shown), comparison.agreement.get(" ".join(reversed(shown))))
    if share is None or len(shown) < 2:
        return []
    title = {row.method: row.title for row in comparison.rows}
    first, second = (title[name] for name in shown)
    return [f"{first[0].upper()}{first[1:]} and {second} agree on {share:.0%} of neighbours."]


def html(comparison: Comparison) -> str:
    """The table for a notebook: clearly best figures are bold."""
    head, body = grid(comparison)

    def show(word: str) -> str:
        safe = markup.escape(word.removeprefix("*"))
        return f"<td><b>{safe}</b></td>" if word.startswith("*") else f"<td>{safe}</td>"

    top = "".join(f"<th>{markup.escape(word)}</th>" for word in head)
    rows = "".join(f"<tr>{''.join(map(show, row))}</tr>" for row in body)
    paragraphs = "".join(f"<p>{markup.escape(words)}</p>" for words in (heading(comparison), *comparison.sentences))
    return f"<table><tr>{top}</tr>{rows}</table>{paragraphs}"
