"""Cells told apart: number, gap, date or text, column by column, from all the cells and not from the first few."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.table.detect import GAP_CODES, NUMBER_GAP_CODES
from lowdim.text.escape import shown
from lowdim.text.fix import choices, propose

PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
COMMA = r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$"
POINTED = r"^[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$"
COMMA_GROUPS = r"^[+-]?[1-9]\d{0,2}(,\d{2,3})*,\d{3}(\.\d*)?$"  # 1,234 and 1,234.5: commas between thousands
POINT_GROUPS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?$"
POINT_GROUPS_COMMA = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+,\d*$"  # 1.234,5: the comma is the decimal sign
TEN_TO = r"\s*[x×·*]\s*10\s*\^?\s*([+-]?\d+)$"  # 1.2 x 10^3
FORTRAN = r"^([+-]?(?:\d+\.?\d*|\.\d+))[dD]([+-]\d+)$"  # 1.2D+03
SPACED = r"^[+-]?[1-9]\d{0,2}([ '\x{a0}\x{2009}\x{202f}\x{2019}]\d{3})+([.,]\d*)?$"
SPACED_COMMA = r"^[+-]?[1-9]\d{0,2}([ '\x{a0}\x{2009}\x{202f}\x{2019}]\d{3})+,\d*$"  # 1 234,5
SPACES = r"[ '\x{a0}\x{2009}\x{202f}\x{2019}]"
BELOW = r"<\s*=?\s*(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?"  # <0.5, a limit of detection
LIMIT_TEXT = re.compile(BELOW)
SIZE = r"[+-]?\d[\d.,]*"
AFTER = r"\s*(?:[^\W\d_][^\d]{0,15}|\(.*\))?"  # a unit, or a remark
RANGE = re.compile(rf"({SIZE})\s*(?:-|–|—|/|\.\.|to|bis)\s*({SIZE}){AFTER}", re.I)  # 22-23, 2000/2001
ROUGHLY = re.compile(
    rf"[\[~≈>≥]?=?\s*(?:(?:ca?|about|approx|over)\b\.?)?\s*({SIZE})\s*[\]+]?{AFTER}", re.I
)  # 65+, [98]
LIMIT_FACTOR = {"half": 0.5, "zero": 0.0, "limit": 1.0}
LARGE_TEXT = 2**30  # bytes of text beyond which Arrow needs 64-bit offsets
COLUMNS_AT_ONCE, ROWS_AT_ONCE = 256, 1000  # of a group; in longer columns the cells cost more than the calls
CLOCK = (
    r"(?:(?:[T ]|, )(?P<h>\d{1,2}):(?P<i>\d{2})(?::(?P<s>\d{2})(?:[.,]\d+)?)? ?(?P<p>[AaPp]\.?[Mm]\.?)?"
    r"(?:Z|[+-]\d{2}:?\d{2})?)?$"
)
ISO_DATE = r"^(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})" + CLOCK
LOCAL_DATE = r"^(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.](?P<y>\d{4})" + CLOCK  # or the month first: the numbers decide
SHORT_DATE = r"^(?P<d>\d{1,2})[/.](?P<m>\d{1,2})[/.](?P<y>\d{2})" + CLOCK  # 31.12.99
YEAR_MONTH = r"^(?P<y>\d{4})[-/.](?P<m>\d{1,2})$"
QUARTER = r"^(?P<y>\d{4})[- ]?[Qq](?P<q>[1-4])$"
QUARTER_FIRST = r"^[Qq](?P<q>[1-4])[-/ ]?(?P<y>\d{4})$"
WEEK = r"^(?P<y>\d{4})-?W(?P<w>\d{1,2})$"
IDEOGRAPHS = r"^(?P<y>\d{4})[年년]\s?(?P<m>\d{1,2})[月월]\s?(?:(?P<d>\d{1,2})[日일])?$"
WEEKDAY = r"^(?:\pL{2,10}\.?,? )?"
# 1 Dec 1999, December 1999, 1. Dezember 1999, 1 de enero de 2020, 31JAN2020
NAMED_MONTH = (
    WEEKDAY
    + r"(?:(?P<d>\d{1,2})(?:\.|er|st|nd|rd|th)?[ .-]*)?(?:de )?(?P<b>\pL{3,12})[ .,-]*(?:de )?(?P<y>\d{4})"
    + CLOCK
)
SHORT_MONTH = r"^(?:(?P<d>\d{1,2})[ -])?(?P<b>\pL{3,4})[-'](?P<y>\d{2})$"  # 31-Jan-20, Jan-20
MONTH_FIRST = WEEKDAY + r"(?P<b>\pL{3,12})[ .]+(?P<d>\d{1,2})(?:st|nd|rd|th)?[ ,]+(?P<y>\d{4})" + CLOCK  # Dec 1, 1999
SLASHED_DATE = r"^(?P<a>\d{1,2})[-/](?P<b>\d{1,2})[-/](?P<c>\d{4}|\d{2})\b"
# By the first letters, four where three are not enough, in the languages of the Latin and the Cyrillic script
MONTHS = {
    letters: month
    for month, words in enumerate(
        (
            "jan ene gen sty янв",
            "feb fév fev lut фев",
            "mar mär maa mrt мар",
            "apr abr avr kwi апр",
            "may mai mei maj mag май мая",
            "jun juin giu cze июн",
            "jul juil lug lip июл",
            "aug ago aoû aou sie авг",
            "sep set wrz сен",
            "oct okt out ott paź окт",
            "nov lis ноя",
            "dec dez dic déc gru дек",
        ),
        start=1,
    )
    for letters in words.split()
}
TWO_DIGITS = 69  # years of two digits from which they are those of the last century, as in POSIX
DAY_NUMBERS = r"^(?P<y>(?:19|20)\d{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?:\.0*)?$"
DATE_FORMS = (
    ISO_DATE, LOCAL_DATE, DAY_NUMBERS, YEAR_MONTH, QUARTER, QUARTER_FIRST, WEEK, IDEOGRAPHS, NAMED_MONTH, MONTH_FIRST,
    SHORT_DATE, SHORT_MONTH,
)  # fmt: skip
UNIT_SIGNS = ("%", "‰", "€", "$", "£", "¥", "₹", "°", "R$", "US$", "zł", "EUR", "USD", "GBP", "CHF", "JPY")
BLANKS = r"[\s\x{a0}\x{202f}]*"  # spaces that do not break too
UNIT_DIGITS = r"[+-]?(\d[\d.,' \x{a0}\x{2009}\x{202f}\x{2019}]*|[.,]\d+)([eE][+-]?\d+)?"
OWN_UNIT = r"[+-]?[\d.,]*\d[.,]?\s*(?P<unit>[^\W\d_][^\s\d]*(?: ?/ ?[^\W\d_][^\s\d]*)?|[°µμ][^\s\d]+)"  # after a space
LOOKED_AT = 100  # cells among which there is one with its unit, where others are limits
LEAST_MEASURED = 12  # different cells of a column that measures; fewer may be labels: 3 months, 6 months
# Accounts write losses in brackets: ($1,234), $(1,234), (1.234 €)
LOSSES = (r"^\(([$€£¥₹] ?\d[\d.,]*|\d[\d.,]* ?[$€£¥₹])\)$", r"^([$€£¥₹] ?)\((\d[\d.,]*)\)$")
UNIT_SHARE = 0.5  # of the cells of a column that must carry the sign

DISGUISES = [sign * float("9" * k) for k in range(2, 7) for sign in (-1, 1)]
DISGUISES += [-9.0, -99.9, -999.9, -999.99, -9999.99, -8888.0, -7777.0]
DISGUISES += [-32768.0, 32767.0, 65535.0, -1e20, -1e30, 1e20, 1e30]
# What surveys write for "don't know" and "no answer"
ANSWER_CODES = {*range(-9, 0), 7, 8, 9, 77, 88, 96, 97, 98, 99, -99, -98, -97, 997, 998, 999}
LEAST_STEPS, MOST_STEPS = 3, 14  # of a scale, with such codes
LEAST_OTHERS = 3  # numbers that a code stands apart from
SURE_OTHERS = 10  # numbers from which a code is taken for what it is
SURE_TIMES = 2  # cells of one column from which it is no slip
SPIKE_TIMES = 5  # cells of a spike: see `_is_spike`
SPIKE_OTHERS = 20  # values beside it
SPIKE_STEPS = 4.0  # times the longest step between these that it is away
LARGER = 5.0  # times the code that the middle of larger numbers is: see `_is_negative`
LEAST_HOLDING = 3  # columns that hold a negative number and no other, from which it is a code
MOST_SHARE = 0.5  # of a column: beyond it a code may be a value of its own ("never")


class ColumnCells(NamedTuple):
    """A column: its text where it came as text, and what each cell is."""

    name: str
    position: int
    text: Any  # trimmed strings as an Arrow array, or None where the column came typed
    gap: Mask
    values: Array  # NaN where there is no number
    bad: Mask  # neither a number nor a gap
    dates: NDArray[np.datetime64] | None = None
    grouped: str = ""  # an example of a number with thousands separators
    nested: str = ""  # the type of a column that holds lists, bytes or other things
    below: int = 0  # cells that were limits, such as <0.05
    unit: str = ""  # that its cells have, or are to have; it is taken out of the text

    @property
    def seen(self) -> int:
        return int((~self.gap).sum())

    @property
    def good(self) -> int:
        return self.seen - int(self.bad.sum())

    def example(self, row: int) -> str:
        """A cell as it stands in the file, for a message."""
        return shown(self.values[row] if self.text is None else self.text[row].as_py())


class DecimalEvidence(NamedTuple):
    """How many cells of a text column speak for which decimal sign, and an example of a comma."""

    comma: int = 0  # 12,5: cannot be a thousands separator
    either: int = 0  # 1,234: can be both
    groups: int = 0  # 1,234.5 or 1,234,567: commas between thousands
    point: int = 0  # 12.5: cannot be a thousands separator
    example: str = ""


def as_text(column: Any) -> Any:
    """A string column as one trimmed Arrow array without nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # not nbytes: before version 19 Arrow cannot say that of polars' strings
    kind = pa.large_string() if column.get_total_buffer_size() > LARGE_TEXT else pa.string()
    column = column.cast(kind)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    column = column.fill_null("")
    spaces = pc.any(pc.match_substring_regex(column, r"^\s|\s$|^\x{a0}|\x{a0}$")).as_py()
    return pc.utf8_trim_whitespace(column) if spaces else column


def is_code(text: Any, codes: tuple[str, ...]) -> Mask:
    """Which cells are one of these codes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mask: Mask = pc.is_in(text, value_set=pa.array(codes, text.type)).to_numpy(zero_copy_only=False)
    return mask


def is_code_in_any_case(text: Any) -> Mask:
    """Which cells are a code for a gap however it is written: NuLL, n/A."""
    import pyarrow.compute as pc

    return is_code(pc.utf8_lower(text), tuple(code.lower() for code in GAP_CODES + NUMBER_GAP_CODES))


def matches(text: Any, pattern: str) -> Mask:
    """Which cells match a pattern."""
    import pyarrow.compute as pc

    mask: Mask = pc.match_substring_regex(text, pattern).to_numpy(zero_copy_only=False)
    return mask


def fast(text: Any, gap: Mask) -> Array | None:
    """The numbers of a column all of whose cells are plain numbers or gaps, else None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column = pc.if_else(pa.array(~gap), text, pa.scalar(None, text.type)) if gap.any() else text
        return np.array(pc.fill_null(column.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None


def decimal_evidence(text: Any, gap: Mask) -> DecimalEvidence:
    """The evidence of a column about the decimal sign; none if most of its cells are no numbers at all."""
    comma = matches(text, COMMA) | matches(text, POINT_GROUPS_COMMA) | matches(text, SPACED_COMMA)
    groups = matches(text, COMMA_GROUPS)
    pointed, point_groups = matches(text, POINTED), matches(text, POINT_GROUPS)
    any_number = comma | groups | point_groups | matches(text, PLAIN) | matches(text, SPACED)
    if any_number.sum() < 0.5 * (~gap).sum():
        return DecimalEvidence()
    clear = comma & ~groups
    example = str(text[int(np.argmax(clear if clear.any() else comma | groups))].as_py())
    return DecimalEvidence(
        int(clear.sum()),
        int((comma & groups).sum()),
        int((groups & ~comma).sum()),
        int((pointed & ~point_groups).sum()),
        example,
    )


def decide_decimal(evidence: dict[str, DecimalEvidence], decimal: str | None, sep: str) -> tuple[str, dict[str, Any]]:
    """The decimal sign of the table: asked for, plain from its cells, or assumed, with what is to be said of that.

    A column whose own cells show its sign is read by that, whatever the others are. Where every comma stands before
    three digits it is one of thousands, but in files whose cells end with semicolons, as they do where the comma is the
    decimal sign.
    """
    if decimal is not None:
        return decimal, {}
    clear = [name for name, e in evidence.items() if e.comma]
    either = [name for name, e in evidence.items() if e.either and not e.comma and not e.groups]
    points = any(e.point for e in evidence.values())
    grouped = any(e.groups for e in evidence.values())
    if clear and not points and not grouped:
        return ",", {}
    if clear:
        facts: dict[str, Any] = {
            "what": f"Numbers have a decimal comma ({shown(evidence[clear[0]].example)}) in "
            f"{len(clear)} column{'s' * (len(clear) != 1)} and a decimal point in others: each was read by its own",
            "why": "its cells leave no doubt; where both stand in one column, both are decimal signs",
            "fix": "nothing to do, or write the file with one sign",
            "columns": clear,
        }
        return ".", facts
    if either and not points and not grouped:  # else the rest of the file says it
        sign = "," if sep == ";" else "."
        said = "decimal signs" if sign == "," else "between thousands"
        facts = {
            "what": f"Commas in numbers such as {shown(evidence[either[0]].example)} were taken as {said} in "
            f"{len(either)} column{'s' * (len(either) != 1)}",
            "why": "they can be read in two ways; an analysis in units of each column's spread is the same",
            "fix": choices([("a decimal comma", propose(decimal=",")), ("thousands", propose(decimal="."))]),
            "columns": either,
        }
        return sign, facts
    return ".", {}


def rough_number(text: str, decimal: str) -> float | None:
    """What a range, a bracketed number or a number with a remark comes to; None where it is none of these.

    >>> [rough_number(cell, ".") for cell in ("22-23", "65+", "[98]", "1,234 m", "76 (+1)", "March 2010")]
    [22.5, 65.0, 98.0, 1234.0, 76.0, None]
    """
    match = RANGE.fullmatch(text) or ROUGHLY.fullmatch(text)
    if match is None:
        return None
    thousands = "." if decimal == "," else ","
    try:
        sizes = [float(part.replace(thousands, "").replace(",", ".")) for part in match.groups()]
    except ValueError:
        return None
    return sum(sizes) / len(sizes)


def rough_numbers(c: ColumnCells, decimal: str) -> ColumnCells:
    """A column whose ranges count as their middle, and whose bounds and remarks are left aside."""
    values, bad = c.values.copy(), c.bad.copy()
    for row in np.flatnonzero(bad):
        size = rough_number(c.text[int(row)].as_py(), decimal)
        if size is not None:
            values[row], bad[row] = size, False
    return c._replace(values=values, bad=bad)


def text_cells(name: str, position: int, text: Any, codes: tuple[str, ...]) -> tuple[ColumnCells, bool]:
    """A text column read the fast way, and whether that was enough."""
    gap = is_code(text, GAP_CODES + NUMBER_GAP_CODES + codes)
    values = fast(text, gap)
    if values is not None:
        return ColumnCells(name, position, text, gap, values, np.zeros(len(gap), dtype=bool)), True
    any_case = gap | is_code_in_any_case(text)
    values = fast(text, any_case) if (any_case != gap).any() and not any_case.all() else None
    if values is not None:  # NuLL beside numbers is a gap; Na among words may be sodium
        return ColumnCells(name, position, text, any_case, values, np.zeros(len(gap), dtype=bool)), True
    return ColumnCells(name, position, text, gap, np.full(len(gap), np.nan), ~gap), False


def text_column(
    name: str, position: int, column: Any, codes: tuple[str, ...], *, units: bool = True, unit: str = ""
) -> tuple[ColumnCells, bool, str]:
    """A text column read the fast way, a unit such as % taken out of its cells; whether that was enough, and an
    example of a cell with a unit. Where the unit is known, few cells and cells without it will do."""
    import pyarrow.compute as pc

    column_cells, enough = text_cells(name, position, as_text(column), codes)
    if enough or not units:
        return column_cells, enough, ""
    text = pc.replace_substring_regex(column_cells.text, LOSSES[0], r"-\1")
    text = pc.replace_substring_regex(text, LOSSES[1], r"-\1\2")
    bare, unit = (bare_numbers(text, unit), unit) if unit else without_units(text, column_cells.gap)
    if not unit:
        return column_cells, enough, ""
    marked = _marked(text, re.escape(unit))
    example = str(text[int(np.argmax(marked))].as_py()) if marked.any() else ""
    column_cells, enough = text_cells(name, position, bare, codes)
    return column_cells._replace(unit=unit), enough, example


def plain_columns(columns: dict[int, Any], codes: tuple[str, ...]) -> dict[int, ColumnCells]:
    """Of text columns by their positions those that `text_cells` reads at once, many of them in one go.

    A call of Arrow costs as much as some hundred cells: wide tables are read in groups of columns, and the groups in
    which all is plain are told apart from the others, whose columns have to be looked at one by one.

    >>> import pyarrow as pa
    >>> plain_columns({0: pa.array(["1", "NA"]), 1: pa.array(["2.5", "3"])}, ())[1].values
    array([2.5, 3. ])
    """
    import pyarrow as pa

    found: dict[int, ColumnCells] = {}
    positions = list(columns)
    short = bool(columns) and len(columns[positions[0]]) <= ROWS_AT_ONCE
    for first in range(0, len(positions), COLUMNS_AT_ONCE) if short else ():
        group = positions[first : first + COLUMNS_AT_ONCE]
        kind, chunks = columns[group[0]].type, list[Any]()
        for column in (columns[j] for j in group):  # below each other
            chunks += column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        text = as_text(pa.chunked_array([chunk if chunk.type == kind else chunk.cast(kind) for chunk in chunks], kind))
        both, enough = text_cells("", 0, text, codes)
        n = len(text) // len(group)
        for k, j in enumerate(group) if enough else ():
            cut = slice(k * n, (k + 1) * n)
            found[j] = ColumnCells("", j + 1, text.slice(k * n, n), both.gap[cut], both.values[cut], both.bad[cut])
    return found


def slow_numbers(c: ColumnCells, decimal: str, evidence: DecimalEvidence, limit: str | None = None) -> ColumnCells:
    """A column whose cells are not all plain numbers: decimal commas, thousands separators, limits such as <0.05, which
    count as half of themselves, zero or themselves."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text, sign = pc.replace_substring_regex(c.text, TEN_TO, r"e\1"), decimal
    text = pc.replace_substring_regex(text, FORTRAN, r"\1e\2")
    if evidence.comma and evidence.point and not evidence.either and not evidence.groups:
        text, sign = pc.replace_substring(text, ",", "."), "."
    elif evidence.comma or evidence.point:
        sign = "," if evidence.comma > evidence.point else "."
    grouped = matches(text, SPACED)
    if grouped.any():
        text = pc.if_else(pa.array(grouped), pc.replace_substring_regex(text, SPACES, ""), text)
    text = pc.replace_substring(text, "−", "-")
    if sign == ",":
        groups = matches(text, POINT_GROUPS)
        plain = matches(text, PLAIN) & ~matches(text, POINTED)
        ready = pc.replace_substring(pc.replace_substring(text, ".", ""), ",", ".")
        good = plain | matches(text, COMMA) | groups
    else:
        groups = matches(text, COMMA_GROUPS)
        ready = pc.replace_substring(text, ",", "")
        good = matches(text, PLAIN) | groups | matches(text, r"^(?i)[+-]?inf(inity)?$")
    good &= ~c.gap
    numbers = pc.if_else(pa.array(good), ready, pa.scalar(None, text.type)).cast(pa.float64())
    values, bad = np.array(pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False)), ~c.gap & ~good
    grouped = (grouped | groups) & good
    example = str(text[int(np.argmax(grouped))].as_py()) if grouped.any() else ""
    below = 0
    for row in np.flatnonzero(bad) if limit is not None else ():
        cell = c.text[int(row)].as_py()
        if limit is not None and LIMIT_TEXT.fullmatch(cell):
            values[row] = LIMIT_FACTOR[limit] * float(cell.lstrip("<= ").replace(",", "."))
            bad[row], below = False, below + 1
    gap = c.gap
    if bad.any() and not (bad | gap).all() and not (bad & ~is_code_in_any_case(c.text)).any():
        gap, bad = gap | bad, np.zeros(len(bad), dtype=bool)  # as in `text_cells`: beside nothing but numbers
    return c._replace(values=values, bad=bad, gap=gap, grouped=example, below=below)


def typed_cells(name: str, position: int, column: Any) -> ColumnCells:
    """A column that came with a type: numbers, dates, or something that cannot be used."""
    import pyarrow as pa
    import pyarrow.types as kind

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    n = len(column)
    gap = np.array(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False), dtype=bool)
    empty, none = np.full(n, np.nan), np.zeros(n, dtype=bool)
    if kind.is_date(column.type) or kind.is_timestamp(column.type):
        days = column.cast(pa.date32(), safe=False) if kind.is_date(column.type) else column
        dates = days.cast(pa.timestamp("s"), safe=False).to_numpy(zero_copy_only=False).astype("datetime64[s]")
        return ColumnCells(name, position, None, gap, empty, ~gap, dates)
    if kind.is_null(column.type):
        return ColumnCells(name, position, None, np.ones(n, dtype=bool), empty, none)
    if (
        kind.is_integer(column.type)
        or kind.is_floating(column.type)
        or kind.is_boolean(column.type)
        or kind.is_decimal(column.type)
    ):
        values = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return ColumnCells(name, position, None, gap, np.array(values, dtype=np.float64), none)
    records, lists = kind.is_struct(column.type) or kind.is_map(column.type), kind.is_nested(column.type)
    other = "bytes" if kind.is_binary(column.type) else str(column.type)[:40]
    nested = "records" if records else "lists" if lists else other
    return ColumnCells(name, position, None, gap, empty, ~gap, nested=nested)


def is_textual(column: Any) -> Any:
    """The column as strings if that is what it holds, else None."""
    import pyarrow as pa
    import pyarrow.types as kind

    if kind.is_dictionary(column.type):
        inside = column.type.value_type
        if kind.is_string_view(inside):  # which Arrow cannot decode by itself: categories of polars
            return pa.chunked_array([pa.array(column.to_pylist(), pa.string())])
        column = column.cast(inside)
    if kind.is_string(column.type) or kind.is_large_string(column.type) or kind.is_string_view(column.type):
        return column
    if kind.is_time(column.type) or kind.is_duration(column.type):
        return column.cast(pa.string()) if kind.is_time(column.type) else column.cast(pa.int64()).cast(pa.string())
    return None


def dates(text: Any, gap: Mask) -> NDArray[np.datetime64] | None:
    """The dates of a column all of whose cells are dates in one of the common forms, else None."""
    if gap.all():
        return None
    for pattern in DATE_FORMS:
        if bool((matches(text, pattern) | gap).all()):
            return _dates(text, gap, pattern)
    return None


def month_first(first: NDArray[np.int64], second: NDArray[np.int64], year: NDArray[np.int64]) -> bool:
    """Whether of the first two numbers of dates the first is the month: the second is too large for one, or is always
    1 while the first goes through the months of several years.

    >>> month_first(np.array([11, 12, 1, 2]), np.array([1, 1, 1, 1]), np.array([1999, 1999, 2000, 2000]))
    True
    """
    if (second > 12).any() or (first > 12).any():
        return bool((second > 12).any())
    return bool((second == 1).all()) and len(np.unique(first)) >= 3 and len(np.unique(year)) >= 2


def date_order(text: Any, gap: Mask) -> str:
    """How dates were read that can be read in two ways: "day first" or "month first"; else nothing."""
    import pyarrow.compute as pc

    if gap.all() or not bool((matches(text, SLASHED_DATE) | gap).all()):
        return ""
    parts = pc.extract_regex(text, SLASHED_DATE).drop_null()
    first, second, year = (pc.struct_field(parts, k).cast("int64").to_numpy(zero_copy_only=False) for k in "abc")
    if max(first.max(), second.max()) > 12 or (first == second).all():
        return ""
    return "month first" if month_first(first, second, year) else "day first"


def _dates(text: Any, gap: Mask, pattern: str) -> NDArray[np.datetime64] | None:
    import pyarrow.compute as pc

    parts = pc.extract_regex(text, pattern)

    def field(name: str) -> NDArray[np.int64]:
        if f"<{name}>" not in pattern:
            return np.zeros(len(gap), dtype=np.int64)
        part = pc.fill_null(pc.struct_field(parts, name), "0")
        numbers: NDArray[np.int64] = (
            pc.if_else(pc.equal(part, ""), "0", part).cast("int64").to_numpy(zero_copy_only=False)
        )
        return numbers

    y, m, d, q, w, h, i, s = (field(name) for name in "ymdqwhis")
    if pattern in (SHORT_DATE, SHORT_MONTH):
        y = np.where(y < TWO_DIGITS, 2000, 1900) + y
    if pattern in (LOCAL_DATE, SHORT_DATE) and month_first(d[~gap], m[~gap], y[~gap]):
        m, d = d, m
    if "<b>" in pattern:
        words = pc.fill_null(pc.struct_field(parts, "b"), "").to_pylist()
        letters = [(word[:4].lower(), word[:3].lower()) for word in words]
        m = np.array([MONTHS.get(four, MONTHS.get(three, 0)) for four, three in letters], dtype=np.int64)
    if "<p>" in pattern:
        half = [word[:1].lower() for word in pc.fill_null(pc.struct_field(parts, "p"), "").to_pylist()]
        if any(half):
            h = np.array([hour % 12 + 12 * (p == "p") if p else hour for hour, p in zip(h, half, strict=True)])
    m = np.where(q > 0, 3 * q - 2, np.where(w > 0, 1, m))
    d = np.where((d == 0) & ("<d>" not in pattern or "<b>" in pattern or pattern == IDEOGRAPHS), 1, d)
    if not (((m >= 1) & (m <= 12) & (d >= 1) & (w < 54) & (h < 25) & (i < 60) & (s < 61)) | gap).all():
        return None
    months = np.datetime64("1970-01") + np.where(gap, 0, 12 * (y - 1970) + m - 1).astype("timedelta64[M]")
    days = months.astype("datetime64[D]") + np.where(gap, 0, d - 1).astype("timedelta64[D]")
    if (days.astype("datetime64[M]") != months).any():  # the 31st of February
        return None
    if "<w>" in pattern:  # the Monday of the week; the fourth of January lies in the first one
        fourth = days + np.timedelta64(3, "D")
        weekday = (fourth.astype(np.int64) + 3) % 7
        days = fourth - weekday.astype("timedelta64[D]") + (7 * (w - 1)).astype("timedelta64[D]")
    whole: NDArray[np.datetime64] = days.astype("datetime64[s]") + (h * 3600 + i * 60 + s).astype("timedelta64[s]")
    whole[gap] = np.datetime64("NaT")
    return whole


# numbers with their unit: 12.5 %, $1,200, 30 EUR --------------------------------------------------
def without_units(text: Any, gap: Mask) -> tuple[Any, str]:
    """The text of a column without its unit, and the unit; the column as it is where its cells share no unit.

    >>> import pyarrow as pa
    >>> without_units(pa.array(["12 %", "7.5%", ""]), np.array([False, False, True]))[0].to_pylist()
    ['12', '7.5', '']
    """
    numeric = matches(text, rf"^{UNIT_DIGITS}$") | _marked(text, "|".join(map(re.escape, UNIT_SIGNS)))
    for sign in (*UNIT_SIGNS, *_own_unit(text, gap)):
        marked = _marked(text, re.escape(sign))
        if marked.sum() < UNIT_SHARE * (~gap).sum() or not marked.any() or (numeric & ~gap & ~marked).any():
            continue  # 5 or $5 beside 5 % may mean two things
        return bare_numbers(text, sign), sign
    return text, ""


def bare_numbers(text: Any, unit: str) -> Any:
    """The text of a column without this unit, which stands in front of a number or behind it and nowhere else.

    >>> import pyarrow as pa
    >>> bare_numbers(pa.array(["1.2e1 e", "<0.5 e", "-5", "7 kg"]), "e").to_pylist()
    ['1.2e1', '<0.5', '-5', '7 kg']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    mark = re.escape(unit)
    held = _marked(text, mark) | matches(text, rf"^{BELOW}\s*({mark})$")  # <0.5 mg/L
    bare = pc.replace_substring_regex(text, rf"^([+-]?)({mark}){BLANKS}|{BLANKS}({mark})$", r"\1")
    return pc.if_else(pa.array(held), bare, text)


def _own_unit(text: Any, gap: Mask) -> tuple[str, ...]:
    """The unit that follows the number in every cell of a column, limits such as <0.5 aside: 12 mg/L, 3.1 mg/L.

    >>> import pyarrow as pa
    >>> _own_unit(pa.array([f"{k} mm/h" for k in range(20)]), np.zeros(20, dtype=bool))
    ('mm/h',)
    """
    import pyarrow.compute as pc

    seen = text.filter(~gap)
    cells = (re.fullmatch(OWN_UNIT, cell) for cell in seen.slice(0, LOOKED_AT).to_pylist())
    first = next(filter(None, cells), None)
    if first is None or pc.count_distinct(seen).as_py() < LEAST_MEASURED:
        return ()
    mark = re.escape(first["unit"])
    whole = matches(seen, rf"^{UNIT_DIGITS}\s*{mark}$|^{BELOW}(\s*{mark})?$").all()
    return (first["unit"],) if whole else ()


def _marked(text: Any, marks: str) -> Mask:
    """Which cells are a number with a mark in front of it or behind."""
    return matches(text, rf"^[+-]?({marks}){BLANKS}{UNIT_DIGITS}$|^{UNIT_DIGITS}{BLANKS}({marks})$")


# numbers that stand for a gap, such as -999 --------------------------------------------------------------------
class GapCode(NamedTuple):
    """A number that may stand for gaps: its columns, how often it occurs, and whether there is hardly a doubt."""

    value: float
    columns: tuple[str, ...]
    times: int
    sure: bool


def find_gap_codes(columns: dict[str, Array]) -> list[GapCode]:
    """The codes that occur; sure ones come twice in a column, in less than half of it, and are no value elsewhere: a
    negative code is none where nothing else is negative.

    >>> bmi = np.r_[np.linspace(18, 45, 40), -99, -99]
    >>> find_gap_codes({"bmi": bmi, "age": np.linspace(20, 80, 42)})
    [GapCode(value=-99.0, columns=('bmi',), times=2, sure=True)]
    """
    ends = {
        name: (np.fmin.reduce(x, initial=np.inf), np.fmax.reduce(x, initial=-np.inf)) for name, x in columns.items()
    }
    found = []
    for code in DISGUISES:
        holding = {name: x for name, x in columns.items() if code in ends[name]}
        apart = {name: x for name, x in holding.items() if _stands_apart(x, code) or _is_spike(x, code)}
        if not apart:
            continue
        alone = len(holding) >= LEAST_HOLDING and all(_is_negative(x, code) for x in holding.values())
        also = {name: x for name, x in holding.items() if name in apart or alone or _is_negative(x, code, LARGER)}
        times = {name: int((x == code).sum()) for name, x in also.items()}
        total = sum(times.values())
        if total > 1 or abs(code) >= 99:
            elsewhere = any((x == code).any() for name, x in columns.items() if name not in times)
            sure = not elsewhere and any(
                _stands_apart(x, code) and times[name] >= SURE_TIMES and _is_rare(x, times[name])
                for name, x in apart.items()
            )
            found.append(GapCode(code, tuple(name for name in columns if name in times), total, sure))
    known = {code.value for code in found}
    return found + [code for code in _beyond_scales(columns) if code.value not in known]


def _beyond_scales(columns: dict[str, Array]) -> list[GapCode]:
    """Codes that stand beyond the steps of several scales, such as 8 and 9 where all answers are 1 to 5: surveys give
    them to who does not know or does not say. A step between them in any of the columns, and they are steps too.

    >>> answers = np.tile([1.0, 2, 3, 4, 5], 8)
    >>> [code[:3] for code in _beyond_scales({name: np.r_[answers, 9.0] for name in ("q1", "q2", "q3")})]
    [(9.0, ('q1', 'q2', 'q3'), 3)]
    """
    scales = dict[tuple[float, float], dict[str, set[float]]]()  # by their ends the columns, each with what lies beyond
    for name, x in columns.items():
        levels = _levels(x)
        steps = {v for v in levels if v not in ANSWER_CODES or _follows(v, levels)}
        if len(steps) >= LEAST_STEPS and max(steps) - min(steps) == len(steps) - 1:
            scales.setdefault((min(steps), max(steps)), {})[name] = levels - steps
    found = dict[float, GapCode]()
    for (low, high), beyond in scales.items():
        for value in sorted({v for values in beyond.values() for v in values if min(abs(v - low), abs(v - high)) >= 2}):
            holding = {name: int((columns[name] == value).sum()) for name, values in beyond.items() if value in values}
            if len(holding) >= LEAST_HOLDING and 2 * len(beyond) >= len(columns):  # a survey, no table of counts
                rare = all(_is_rare(columns[name], times) for name, times in holding.items())
                elsewhere = any((x == value).any() for name, x in columns.items() if name not in holding)
                found[value] = GapCode(value, tuple(holding), sum(holding.values()), rare and not elsewhere)
    return list(found.values())


def _levels(x: Array) -> set[float]:
    """The values of a column, where they are few whole numbers."""
    levels = set(np.unique(x[~np.isnan(x)][: MOST_STEPS * LOOKED_AT]).tolist())
    if len(levels) > MOST_STEPS or any(v != int(v) for v in levels if np.isfinite(v)):
        return set()
    levels = set(np.unique(x[~np.isnan(x)]).tolist())
    return levels if all(np.isfinite(v) and v == int(v) for v in levels) else set()


def _follows(value: float, levels: set[float]) -> bool:
    """Whether a level belongs to a run of steps that is no run of such codes alone."""
    run, at = [value], value
    for step in (-1, 1):
        at = value
        while at + step in levels:
            at += step
            run.append(at)
    return any(v not in ANSWER_CODES for v in run)


def _stands_apart(x: Array, code: float) -> bool:
    """Whether a code is farther from every other number than those are from each other."""
    others = x[~np.isnan(x) & (x != code)]
    spread = float(np.ptp(others)) if len(others) else 0.0
    return len(others) >= LEAST_OTHERS and spread > 0 and bool(np.abs(others - code).min() > max(spread, 1.0))


def _is_negative(x: Array, code: float, larger: float = 0.0) -> bool:
    """Whether a code is the one negative number of a column in which others are more often seen, and these are so many
    times larger: an income of -9 where -9 is no answer elsewhere. A temperature of -9 among those of 0 to 24 may be
    one."""
    others = x[~np.isnan(x) & (x != code)]
    if code >= 0 or not _is_rare(x, int((x == code).sum())):
        return False
    return bool(others.min() >= 0 and np.median(others) >= larger * abs(code))


def _is_spike(x: Array, code: float) -> bool:
    """Whether several cells hold a code, and far less than its distance lies between any of the other numbers: ages of
    99 where nobody else is older than 80. It may be a value, so that it is asked about and no more."""
    others = np.unique(x[~np.isnan(x) & (x != code)])
    if (x == code).sum() < SPIKE_TIMES or len(others) < SPIKE_OTHERS:
        return False
    return bool(np.abs(others - code).min() > SPIKE_STEPS * np.diff(others).max())


def _is_rare(x: Array, times: int) -> bool:
    """Whether enough other numbers are seen to tell a code from a value, and at least as many as there are of it."""
    seen = int((~np.isnan(x)).sum())
    return times <= MOST_SHARE * seen and seen - times >= SURE_OTHERS
