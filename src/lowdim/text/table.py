"""Tables as text, for a terminal: every column as wide as its widest cell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def text_table(
    rows: Iterable[Sequence[object]], *, right: Collection[int] = (), indent: str = "  ", between: str = "  "
) -> list[str]:
    """The lines of a table; columns of numbers, by their positions from 0, end `right`, all others begin left.

    >>> print("\\n".join(text_table([("column", "gaps"), ("depth", 3), ("ph", 12)], right=[1])))
      column  gaps
      depth      3
      ph        12
    """
    cells = [[str(cell) for cell in row] for row in rows]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        (word.rjust(w) if j in right else word.ljust(w) for j, (word, w) in enumerate(zip(row, wide, strict=True)))
        for row in cells
    )
    return [(indent + between.join(line)).rstrip() for line in lines]
