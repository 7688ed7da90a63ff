"""Numbers written with their unit: 12.5 %, $1,200, 30 EUR. The sign is taken out, and that is said."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from lowdim.math.linalg import Mask
from lowdim.table.cells import matches

SIGNS = ("%", "‰", "€", "$", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF", "JPY")
DIGITS = r"[+-]?(\d[\d.,' \x{a0}\x{2009}\x{202f}\x{2019}]*|[.,]\d+)([eE][+-]?\d+)?"
ALMOST = 0.5  # share of a column that must carry the sign


def without_units(text: Any, gap: Mask) -> tuple[Any, str]:
    """The text of a column without its unit, and an example; the column as it is where its cells share no unit.

    >>> import pyarrow as pa
    >>> without_units(pa.array(["12 %", "7.5%", ""]), np.array([False, False, True]))[0].to_pylist()
    ['12', '7.5', '']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    numeric = matches(text, rf"^{DIGITS}$") | _marked(text, "|".join(map(re.escape, SIGNS)))
    for sign in SIGNS:
        mark = re.escape(sign)
        marked = _marked(text, mark)
        if marked.sum() < ALMOST * (~gap).sum() or not marked.any() or (numeric & ~gap & ~marked).any():
            continue  # 5 or $5 beside 5 % may mean two things
        bare = pc.replace_substring_regex(text, rf"\s*{mark}\s*", "")
        example = str(text[int(np.argmax(marked))].as_py())
        return pc.if_else(pa.array(marked), bare, text), example
    return text, ""


def _marked(text: Any, marks: str) -> Mask:
    """Which cells are a number with a mark in front of it or behind."""
    return matches(text, rf"^[+-]?({marks})\s*{DIGITS}$|^{DIGITS}\s*({marks})$")
