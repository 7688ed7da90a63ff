"""The card a notebook shows for an analysis: static, no script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from lowdim.plot.base import printable, short
from lowdim.report.svg import map_stamp, scree_line
from lowdim.text.notebook import block

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

SETTING_MEANS = {
    "dims": "how many dimensions, or 'auto': the judges decide",
    "scale": "'unit': every column counts alike",
    "level": "level of every interval",
    "seed": "seed of everything that is drawn",
    "budget": "how much work the slow judges may do",
}
NEXT_STEPS = (
    ("analysis.plot.map()", "the map"),
    ("analysis.odd.text()", "the odd rows and why"),
    ("analysis.fills.text()", "what each column's fills are worth"),
    ("analysis.filled", "the table with its gaps filled"),
)
MOST_MESSAGES = 8
LONGEST_SENTENCE = 300  # characters of a sentence: names of columns may be long


def card(analysis: Analysis) -> str:
    """The analysis as one block of HTML below 25 kB."""
    t = analysis.table
    sentences = "".join(f"<li>{words(line)}</li>" for line in analysis.sentences)
    # two cards may stand in one notebook: ids need the table's fingerprint
    name = f"ldc-{t.sha256[:10]}-{analysis.settings.seed}-{analysis.dims}"
    pics = f"{map_stamp(analysis, f'{name}-map', size=(220, 170))}{scree_line(analysis, f'{name}-scree')}"
    return block(
        f"<h3>{words(t.name, 80)}: {t.n:,} x {t.d:,}, {analysis.gaps.gaps:,} gaps</h3>"
        f'<ol>{sentences}</ol><div class="pics">{pics}</div>{_settings(analysis)}{_arrays(analysis)}'
        f"{_messages(analysis)}<details><summary>Next steps</summary>{_pairs(NEXT_STEPS)}</details>"
    )


def words(text: Any, most: int = LONGEST_SENTENCE) -> str:
    """Text of any kind, one line, cut and escaped."""
    return escape(short(printable(text), most))


def _settings(analysis: Analysis) -> str:
    usual = type(analysis.settings)()._asdict()
    rows = "".join(
        f"<tr><td{' class=set' if usual[key] != value else ''}>{words(key)}</td><td>{words(value)}</td>"
        f"<td>{words(SETTING_MEANS.get(key, ''))}</td></tr>"
        for key, value in analysis.settings._asdict().items()
    )
    return f"<details><summary>Settings (changed ones bold)</summary><table>{rows}</table></details>"


def _arrays(analysis: Analysis) -> str:
    shapes = {
        "analysis.scores": analysis.posterior.mean.shape,
        "analysis.loadings": analysis.loadings.shape,
        "analysis.filled": analysis.fills.filled.shape,
    }
    shown = ((key, " x ".join(f"{k:,}" for k in shape)) for key, shape in shapes.items())
    return f"<details><summary>Fitted arrays</summary>{_pairs(shown)}</details>"


def _messages(analysis: Analysis) -> str:
    listed = list(analysis.table.messages)
    if not listed:
        return ""
    items = "".join(f"<li><code>{words(m.code)}</code> {words(m.what)}</li>" for m in listed[:MOST_MESSAGES])
    more = (
        f"<li>and {len(listed) - MOST_MESSAGES} more: analysis.table.check()</li>"
        if len(listed) > MOST_MESSAGES
        else ""
    )
    return f"<details><summary>{len(listed)} messages about the table</summary><ul>{items}{more}</ul></details>"


def _pairs(pairs: Any) -> str:
    rows = "".join(f"<tr><td><code>{words(key)}</code></td><td>{words(value)}</td></tr>" for key, value in pairs)
    return f"<table>{rows}</table>"
