"""Text from a table made harmless: for spreadsheets that run formulas, for terminals that obey escape codes."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable
from numbers import Integral, Real

# A spreadsheet runs a cell that begins with one of these, also in their full-width forms.
FORMULA = "=+-@\t\r\n\0＝＋－＠"
SAFE_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-](inf|nan)")
# CSI, OSC/DCS/APC/PM/SOS with their ends, two-byte escapes; in 7-bit and in 8-bit form.
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]"
)
BREAKS = re.compile(r"[\t\n\r\v\f\x85\u2028\u2029]+")
# what is left of control codes, marks that reorder the line, and characters without width that hide in words
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
BARE = re.compile(r"[\w.,:/@%+=-]+", re.ASCII)
SHOWN_CHARACTERS = 40  # characters of a cell that a message shows


def protect_cell(text: str) -> str:
    """Text for a CSV cell that no spreadsheet will run: a formula gets a leading apostrophe, a number does not.

    >>> protect_cell("=HYPERLINK(1)"), protect_cell("-1.5e3"), protect_cell("wine")
    ("'=HYPERLINK(1)", '-1.5e3', 'wine')
    """
    first = text.lstrip(" \u00a0")[:1]  # a spreadsheet may trim before it looks
    risky = bool(first) and first in FORMULA
    return f"'{text}" if risky and not SAFE_NUMBER.fullmatch(text) else text


def csv_text(text: str) -> str:
    """Text as one cell of a CSV file: no formula, quoted where it must be (RFC 4180).

    >>> csv_text("=1+1"), csv_text("a,b")
    ("'=1+1", '"a,b"')
    """
    return in_quotes(protect_cell(text), ",")


def in_quotes(text: str, sep: str) -> str:
    """Text as one cell of a file with this separator, in quotes where it must be (RFC 4180)."""
    return '"' + text.replace('"', '""') + '"' if set(text) & {sep, '"', "\r", "\n"} else text


def csv_cell(value: object) -> str:
    """Anything as one cell of a CSV file: all digits of a number, nothing where it is missing or not finite.

    >>> [csv_cell(x) for x in (0.1, 3, float("nan"), None, True, "=1+1")]
    ['0.1', '3', '', '', 'True', "'=1+1"]
    """
    if isinstance(value, str):
        return csv_text(value)
    if isinstance(value, Real) and not isinstance(value, Integral):  # NumPy's numbers are these too
        return repr(float(value)) if math.isfinite(value) else ""
    return "" if value is None else str(value)


def protect_terminal(text: str, *, lines: bool = False) -> str:
    """Text for a terminal: escape sequences and control characters gone, line breaks a space (or kept).

    >>> protect_terminal("te\\x1b[31mmp")
    'temp'
    """
    text = ESCAPES.sub("", text)
    parts = text.split("\n") if lines else [text]
    return "\n".join(CONTROLS.sub("", BREAKS.sub(" ", part)) for part in parts)


def printable(text: object) -> str:
    """Text in one line; a mark stands for each character that XML and terminals choke on.

    >>> printable("a\\x1b[1m\\n b")
    'a�[1m b'
    """
    line = " ".join(str(text).split())
    return "".join(c if c.isprintable() or c == " " else "�" for c in line)


def shown(cell: object) -> str:
    """A cell as a message shows it: quoted, harmless, short.

    >>> shown("n.d.")
    '"n.d."'
    """
    text = protect_terminal(str(cell)[: 4 * SHOWN_CHARACTERS])
    return f'"{text[:SHOWN_CHARACTERS]}..."' if len(text) > SHOWN_CHARACTERS else f'"{text}"'


def shell_word(text: str) -> str:
    """A word that a shell passes on as it is, whatever a table's author put into it.

    >>> shell_word("date"), shell_word("<0.05,n.d."), shell_word("$(reboot)")
    ('date', '"<0.05,n.d."', "'$(reboot)'")
    """
    if BARE.fullmatch(text):
        return text
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'


def join_names(names: Iterable[str]) -> str:
    """Names as one word for a flag, ready to be pasted into a shell.

    >>> join_names(["a", "b,c"])
    '\\'a,"b,c"\\''
    """
    return shell_word(listed(names))


def listed(names: Iterable[str] | float) -> str:
    """Names or codes as one text with commas; one that holds a comma stands in quotes."""
    texts = [str(name) for name in ([names] if isinstance(names, int | float) else names)]
    return ",".join('"{}"'.format(n.replace('"', '""')) if set(n) & set(',"') or n != n.strip() else n for n in texts)
