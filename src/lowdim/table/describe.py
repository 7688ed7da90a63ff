"""The page that `lowdim check` prints, and the card a notebook shows."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.table.cell_kinds import COUNT, LABEL, ORDINAL, REAL, YES_NO
from lowdim.table.column import Column, log_scales
from lowdim.table.options import flags_from_options
from lowdim.text import notebook
from lowdim.text.escape import protect_terminal, shell_word
from lowdim.text.format import count, figures, listing, short
from lowdim.text.messages import MESSAGE_HEADER
from lowdim.text.notebook import words
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from lowdim.table.table import Table

MOST_COLUMNS = 60
WAYS = {kind: kind.word for kind in (REAL, ORDINAL, YES_NO)} | {LABEL: "nominal"}  # in which columns measure
WIDTH = 24  # of a name in the table of columns
WRAP = 86


def check_page(table: Table, *, everything: bool = False) -> str:
    """The table in words: how it was read, its columns, its gaps, what was changed, and what to do next."""
    messages = table.messages.text(everything=everything)
    parts = [
        _first(table),
        _indent(roles_line(table)),
        _header_words(table),
        _columns(table, everything),
        _gaps(table),
        messages and f"{messages}\n",
        _last(table),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def check_facts(table: Table) -> dict[str, Any]:
    """What `check_page` says, as JSON has it."""
    columns = [
        {"name": c.name, "role": c.role, "gaps": int(c.gaps.sum()), "range": span(c), "note": c.note}
        for c in table.columns
    ]
    return {"name": table.name, "rows": table.n, "columns": columns, "read_as": str(table.guess)}


def _first(table: Table) -> str:
    n, d = table.shape
    return f"{table.name}   {n:,} rows x {d:,} columns   {table.guess}"


def roles_line(table: Table) -> str:
    """What the columns are for, in a line: 10 measured; labels site, Pop, sex; names rownames. Where they measure in
    several ways, how many in each: 22 real, 14 ordinal, 3 yes/no, 20 nominal measured."""
    said = {"label": "labels", "id": "names", "time": "time", "weight": "weight", "out": "left out"}
    named: dict[str, list[str]] = {word: [] for word in ("labels", "names", "counters", "time", "weight", "left out")}
    for c in table.columns:
        if c.role in said:
            again = c.role == "id" and len(set(c.values)) < len(c.values)  # it counts anew, and names no row
            named["counters" if again else said[c.role]].append(short(c.name, WIDTH))
    parts = [f"{word} {listing(names, 6)}" for word, names in named.items() if names]
    measures = Counter(c.measure for c in table.columns if c.role == "number")
    measures[REAL] += measures.pop(COUNT, 0)  # numbers both
    ways = [f"{measures[kind]:,} {word}" for kind, word in WAYS.items() if measures[kind]]
    measured = f"{table.d:,}" if set(measures) <= {REAL} else ", ".join(ways)
    return "; ".join([f"{measured} measured", *parts]) + "."


def _header_words(table: Table) -> str:
    """How the first line was taken, where that was a guess."""
    words = []
    if "LD008" in table.messages.codes:
        words.append(f"No header row: the first line looks like data ({table.guess.first}), so it was kept as row 1.")
    if table.guess.names:
        words.append(f"Names taken from {table.guess.names}.")
    if "LD008" in table.messages.codes:
        words.append("Force the other reading with --header.")
    if table.guess.skipped:
        words.append(f"{count(table.guess.skipped, 'line')} before the table skipped.")
    if table.guess.na:
        codes = listing([f'"{protect_terminal(code)[:20]}"' for code in table.guess.na], 8)
        words.append(f"Read as gaps, beside empty cells: {codes}.")
    return _indent(" ".join(words))


def _indent(words: str) -> str:
    return textwrap.fill(words, WRAP, initial_indent="  ", subsequent_indent="  ") + "\n" if words else ""


def _columns(table: Table, everything: bool) -> str:
    shown = table.columns if everything else table.columns[:MOST_COLUMNS]
    rows = [("column", "role", "gaps", "range", "note")]
    for c in shown:
        name = c.name if len(c.name) <= WIDTH else c.name[: WIDTH - 1] + "…"
        rows.append((name, c.role, _gap_text(c), span(c), c.note))
    lines = text_table(rows)
    if len(shown) < len(table.columns):
        lines.append(f"  and {len(table.columns) - len(shown):,} more columns (lowdim check --all)")
    return "\n".join(["", *lines, ""])


def _gap_text(c: Column) -> str:
    gaps, n = int(c.gaps.sum()), max(len(c.values), 1)
    return f"{gaps:>5,} ({gaps / n:>3.0%})" if gaps else "    -"


def span(c: Column) -> str:
    """The range of a column: least and largest number, first and last date, or how many values it takes."""
    seen = c.values[~c.gaps]
    if not len(seen):
        return ""
    if seen.dtype.kind == "f" and not c.labels:
        ends = np.array([[seen.min()], [seen.max()]])
        scales = log_scales([c.name], {c.name: c.offset}) if c.log else None
        low, high = (scales.outward(ends) if scales else ends)[:, 0].tolist()
        return f"{figures(low, 4)} .. {figures(high, 4)}"
    if seen.dtype.kind == "M":
        days = seen.astype("datetime64[D]")
        return f"{days.min()} .. {days.max()}"
    values = len(c.labels) or len(set(seen))
    return f"{values:,} value{'s' * (values != 1)}"


def _gaps(table: Table) -> str:
    """How many gaps there are, and what leaving out incomplete rows would cost."""
    gap = np.isnan(table.X)
    total, complete = int(gap.sum()), int((~gap.any(axis=1)).sum())
    if not total:
        return "  No cell is empty.\n"
    words = f"{total:,} of {gap.size:,} cells are empty ({total / gap.size:.1%})."
    words += (
        f" Only {complete:,} of {table.n:,} rows are complete: dropping incomplete rows would lose "
        f"{count(table.n - complete, 'row')}. This program keeps them all."
    )
    return _indent(words)


def _last(table: Table) -> str:
    kinds = [
        f"{count(len(messages), word)}"
        for messages, word in ((table.messages.changed, "change"), (table.messages.notes, "note"))
        if messages
    ]
    codes = f"   {', '.join(kinds)}  (lowdim help {listing(table.messages.codes, 8)})" if kinds else ""
    again = " ".join(map(shell_word, [protect_terminal(table.path), *flags_from_options(table.options)]))
    if table.holds != "measurements":
        asked = "" if f"--{table.holds}" in again else f" --{table.holds}"
        again = f"fit {again} -m mds{asked}"
    file = f"\n  Next:  lowdim {again}" if table.path else ""
    return f"  Nothing blocks the analysis.{codes}{file}"


def table_card(table: Table) -> str:
    """A static card for notebooks: no script, under 25 kB."""
    head = f"{table.name}: {table.n:,} rows x {table.d:,} columns, {count(int(np.isnan(table.X).sum()), 'gap')}"
    cells = ((c.name, c.role, int(c.gaps.sum()) or "", span(c), c.note) for c in table.columns[:40])
    rows = [[str(part)[:60] for part in line] for line in cells]
    more = f"<p>and {len(table.columns) - 40} more columns</p>" if len(table.columns) > 40 else ""
    messages = notebook.table(MESSAGE_HEADER, table.messages[:20], lines=True)
    columns = notebook.table(("name", "role", "gaps", "range", "note"), rows)
    return notebook.block(f"<h3>{words(head)}</h3><p>{words(table.guess)}</p>", columns, more, messages)
