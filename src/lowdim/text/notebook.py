"""What a notebook shows: static cards with one style sheet, dark aware, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from lowdim.text.format import clip

CARD_STYLE = """<style>
.ldc{color-scheme:light dark;font:14px/1.5 system-ui,sans-serif;max-width:60rem;border:1px solid #8a8f94;\
border-radius:6px;padding:.6rem .9rem;background:Canvas;color:CanvasText;overflow-wrap:anywhere}
.ldc p{margin:.2rem 0}.ldc h3{margin:0 0 .3rem;font-size:1.1rem}.ldc ol{margin:.2rem 0 .6rem;padding-left:1.4rem}
.ldc table{border-collapse:collapse;font-size:.9rem;margin:.3rem 0}.ldc th,.ldc td{padding:.15rem .9rem .15rem 0;\
text-align:left;vertical-align:top;border-bottom:1px solid color-mix(in srgb,CanvasText 20%,Canvas)}
.ldc .pics{display:flex;flex-wrap:wrap;gap:1rem;align-items:end}.ldc svg{background:#fff;border-radius:4px}
.ldc .set{font-weight:bold}.ldc summary{cursor:pointer;min-height:24px}.ldc code{font-size:.85rem}
</style>"""
CARD_TEXT = 600  # characters of a text: names of columns and rows may be long


def block(*parts: str) -> str:
    """Pieces of HTML as one card with the style of all cards."""
    return f'<div class="ldc">{CARD_STYLE}{"".join(parts)}</div>'


def card(headline: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = "") -> str:
    """A headline, a table whose first column names its row, and a note, as one block of HTML.

    >>> "<th scope=row>a&lt;b</th><td>1</td>" in card("Two.", ("name", "value"), [("a<b", "1")])
    True
    """
    return block(f"<p>{words(headline)}</p>", table(header, rows), f"<p>{words(note)}</p>" if note else "")


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, lines: bool = False) -> str:
    """A table whose first column names its row; nothing without rows. With `lines`, line breaks are kept.

    >>> table((), [("a", "1")])
    '<table><tbody><tr><th scope=row>a</th><td>1</td></tr></tbody></table>'
    """
    text = in_lines if lines else words
    body = "".join(
        f"<tr><th scope=row>{text(first)}</th>{''.join(f'<td>{text(cell)}</td>' for cell in cells)}</tr>"
        for first, *cells in rows
    )
    head = "".join(f"<th scope=col>{words(name)}</th>" for name in header)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table>{head}<tbody>{body}</tbody></table>" if body else ""


def words(text: object) -> str:
    """Text of any kind, one line, cut and escaped."""
    return escape(clip(text, CARD_TEXT))


def in_lines(text: object) -> str:
    """Text of any kind, each of its lines cut and escaped."""
    return "<br>".join(map(words, str(text).split("\n")))
