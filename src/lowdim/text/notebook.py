"""What a notebook shows for a judge's answer: one small static table with its own style, dark aware, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from lowdim.text.escape import protect_terminal

if TYPE_CHECKING:
    from lowdim.judge.dimensions.jury import Jury, Row

STYLE = """<style>
.ldt{color-scheme:light dark;font:14px/1.45 system-ui,sans-serif;max-width:60rem;background:Canvas;color:CanvasText;\
border:1px solid #8a8f94;border-radius:6px;padding:.6rem .9rem;overflow-wrap:anywhere}
.ldt p{margin:.2rem 0}.ldt table{border-collapse:collapse;font-size:.9rem;margin:.3rem 0}
.ldt th,.ldt td{padding:.15rem .9rem .15rem 0;text-align:left;vertical-align:top;\
border-bottom:1px solid color-mix(in srgb,CanvasText 20%,Canvas)}
</style>"""
LONG = 600  # characters of a text: names of columns and rows may be long


def card(headline: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = "") -> str:
    """A headline, a table whose first column names its row, and a note, as one block of HTML.

    >>> "<th scope=row>a&lt;b</th><td>1</td>" in card("Two.", ("name", "value"), [("a<b", "1")])
    True
    """
    body = "".join(
        f"<tr><th scope=row>{words(first)}</th>{''.join(f'<td>{words(x)}</td>' for x in rest)}</tr>"
        for first, *rest in rows
    )
    head = "".join(f"<th scope=col>{words(name)}</th>" for name in header)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    return f'<div class="ldt">{STYLE}<p>{words(headline)}</p>{table}{f"<p>{words(note)}</p>" if note else ""}</div>'


def words(text: object) -> str:
    """Text of any kind, one line, cut and escaped."""
    return escape(clip(text, LONG))


def clip(text: object, most: int = 40) -> str:
    """One harmless line of at most so many characters.

    >>> clip("a\\nlong name", 7)
    'a long…'
    """
    line = protect_terminal(str(text))
    return line if len(line) <= most else line[: most - 1] + "…"


def jury_lines(jury: Jury) -> str:
    """The jury in at most four lines: the answer, every judge's vote, what was tried."""
    said = ", ".join(f"{j.name} {j.q}" for j in jury.judges if j.votes and j.q is not None)
    tried = f"{jury.rows[0].q} to {jury.rows[-1].q} tried" if jury.rows else "none tried"
    return "\n".join(
        filter(
            None,
            (
                f"Dimensions: {jury.sentence}",
                said,
                *(clip(note, 120) for note in jury.notes[:1]),
                f"{tried}: .text(), .rows, .judges",
            ),
        )
    )


def jury_card(jury: Jury) -> str:
    """Every number of dimensions that was tried, and what each judge says."""
    listed = [_tried(row, jury.q) for row in jury.rows]
    told = "; ".join(f"{j.name}: {'cannot say' if j.q is None else j.q} ({j.detail})" for j in jury.judges)
    return card(
        f"Dimensions: {jury.sentence}",
        ("q", "variance shared", "Q2 of hidden cells", "evidence weight", "above the noise"),
        listed,
        note="; ".join([told, *jury.notes]),
    )


def _tried(row: Row, q: int) -> tuple[str, ...]:
    hidden = "" if row.q2 is None else f"{row.q2:.2f}"
    return (
        f"{row.q} (chosen)" if row.q == q else str(row.q),
        f"{100 * row.variance:.0f}%",
        hidden,
        f"{row.bic_weight:.2g}",
        "" if row.above_noise is None else "yes" if row.above_noise else "no",
    )
