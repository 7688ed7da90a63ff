"""The card a notebook shows for an analysis: static, no script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from lowdim.plot.base import printable, short
from lowdim.report.thumbnails import map_stamp, scree_line
from lowdim.text.notebook import block

if TYPE_CHECKING:
    from lowdim.jobs.analysis_base import Analysis

MEANS = {
    "dims": "how many dimensions, or 'auto': the judges decide",
    "scale": "'unit': every column counts alike",
    "level": "level of every interval",
    "seed": "seed of everything that is drawn",
    "budget": "how much work the slow judges may do",
}
NEXT = (
    ("found.plot.map()", "the map"),
    ("found.odd.text()", "the odd rows and why"),
    ("found.fills.text()", "what each column's fills are worth"),
    ("found.filled", "the table with its gaps filled"),
)
MESSAGES = 8
LONG = 300  # characters of a sentence: names of columns may be long


def card(found: Analysis) -> str:
    """The analysis as one block of HTML below 25 kB."""
    t = found.table
    told = "".join(f"<li>{words(line)}</li>" for line in found.sentences)
    # two cards may stand in one notebook: ids need the table's fingerprint
    name = f"ldc-{t.sha256[:10]}-{found.settings.seed}-{found.dims}"
    pics = f"{map_stamp(found, f'{name}-map', size=(220, 170))}{scree_line(found, f'{name}-scree')}"
    return block(
        f"<h3>{words(t.name, 80)}: {t.n:,} x {t.d:,}, {found.gaps.gaps:,} gaps</h3>"
        f'<ol>{told}</ol><div class="pics">{pics}</div>{_settings(found)}{_arrays(found)}{_messages(found)}'
        f"<details><summary>Next steps</summary>{_pairs(NEXT)}</details>"
    )


def words(text: Any, most: int = LONG) -> str:
    """Text of any kind, one line, cut and escaped."""
    return escape(short(printable(text), most))


def _settings(found: Analysis) -> str:
    usual = type(found.settings)()._asdict()
    rows = "".join(
        f"<tr><td{' class=set' if usual[key] != value else ''}>{words(key)}</td><td>{words(value)}</td>"
        f"<td>{words(MEANS.get(key, ''))}</td></tr>"
        for key, value in found.settings._asdict().items()
    )
    return f"<details><summary>Settings (changed ones bold)</summary><table>{rows}</table></details>"


def _arrays(found: Analysis) -> str:
    shapes = {
        "found.scores": found.posterior.mean.shape,
        "found.loadings": found.loadings.shape,
        "found.filled": found.fills.filled.shape,
    }
    shown = ((key, " x ".join(f"{k:,}" for k in shape)) for key, shape in shapes.items())
    return f"<details><summary>Fitted arrays</summary>{_pairs(shown)}</details>"


def _messages(found: Analysis) -> str:
    listed = list(found.table.messages)
    if not listed:
        return ""
    items = "".join(f"<li><code>{words(m.code)}</code> {words(m.what)}</li>" for m in listed[:MESSAGES])
    more = f"<li>and {len(listed) - MESSAGES} more: found.table.check()</li>" if len(listed) > MESSAGES else ""
    return f"<details><summary>{len(listed)} messages about the table</summary><ul>{items}{more}</ul></details>"


def _pairs(pairs: Any) -> str:
    rows = "".join(f"<tr><td><code>{words(key)}</code></td><td>{words(value)}</td></tr>" for key, value in pairs)
    return f"<table>{rows}</table>"
