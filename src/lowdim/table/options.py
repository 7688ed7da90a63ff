"""The options of reading a table, each checked once."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from lowdim.text.format import parse_size
from lowdim.text.messages import error

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}


class ReadingOptions(NamedTuple):
    """How a table is to be read; what is None is guessed."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    names: Any = None  # a path with one name a line, or the names
    na: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    use: tuple[str, ...] = ()  # measurements whatever the reader thinks of them
    label: tuple[str, ...] = ()
    id: str | None = None
    time: str | None = None
    weight: str | None = None
    encode: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    sheet: str | int | None = None
    transpose: bool = False
    inf: str = "error"
    below_limit: str | None = None
    keep_copies: bool = False
    labelled_rows: bool = False  # keep rows that hold labels and no number: a model of labels has a place for them
    scale: str = "unit"  # how the analysis will scale: decides which notes make sense, and is kept in the table
    sample: int | None = None
    memory: int | None = None  # bytes; None: what is free now
    strict: bool = False
    no_log: bool = False  # analyse skew columns as they are
    units: Mapping[str, str] = MappingProxyType({})  # of new rows: the unit that a column's cells had
    pairs: str | None = None  # what the cells say of two rows, where the table is asked to be one of pairs


LISTS = ("columns", "drop", "use", "label", "encode", "log")
CHOICES: dict[str, tuple[Any, ...]] = {
    "decimal": (None, ".", ","),
    "header": (None, True, False),
    "inf": ("error", "missing"),
    "below_limit": (None, "half", "zero", "limit"),
    "scale": ("unit", "none"),
    "pairs": (None, "distances", "similarities"),
}


def check_options(values: dict[str, Any]) -> ReadingOptions:
    """The options from what a caller gave, each checked once."""
    values = dict(values)
    if values.pop("no_header", False):
        values["header"] = False
    if "number" in values:  # as runs of 0.1 call it
        values["use"] = (*split_names(values.get("use")), *split_names(values.pop("number")))
    options = ReadingOptions(**values)
    for name, allowed in CHOICES.items():
        if not any(getattr(options, name) is value or getattr(options, name) == value for value in allowed):
            raise error(
                "LD210", option=name, value=getattr(options, name), allowed=", ".join(repr(value) for value in allowed)
            )
    if not isinstance(options.units, Mapping):
        raise error("LD210", option="units", value=options.units, allowed="a dict of columns and their units")
    lists: dict[str, Any] = {name: split_names(getattr(options, name)) for name in LISTS}
    return options._replace(
        **lists,
        na=gap_codes(options.na),
        sep=_separator(options.sep),
        sample=_count("sample", options.sample),
        memory=parse_size(options.memory),
    )


def _separator(sep: str | None) -> str | None:
    sign = SEPARATORS.get(sep, sep) if sep is not None else None
    if sign is not None and (len(sign) != 1 or sign.isalnum() or sign in '"\r\n'):
        raise error("LD210", option="sep", value=sep, allowed="one character: comma, semicolon, tab, pipe, space")
    return sign


def gap_codes(na: Any) -> tuple[str, ...]:
    """Codes for gaps from a sequence, one number, or one text with commas."""
    if isinstance(na, str):
        return tuple(code.strip() for code in next(csv.reader([na]), []))
    return (str(na),) if isinstance(na, int | float) else tuple(str(code) for code in na or ())


def _count(name: str, value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise error("LD210", option=name, value=value, allowed="a whole number above 0")
    return value


def split_names(names: Any) -> tuple[str, ...]:
    """Column names from a sequence, or from one text with commas; a name that holds a comma stands in quotes.

    >>> split_names('a,"b,c"')
    ('a', 'b,c')
    """
    if names is None:
        return ()
    if isinstance(names, str):
        return tuple(name.strip() for name in next(csv.reader([names], skipinitialspace=True), []))
    return tuple(str(name) for name in names)
