"""Numbers, sizes, times, lists and long texts as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal

from lowdim.text.escape import printable, protect_terminal
from lowdim.text.messages import error

MOST_DIGITS = 9  # of a number with a point that is written as it stands
LEAST_DIGITS = 6  # that one with more keeps
LISTED_ITEMS = 5  # items of a list that are written out
BYTE_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
TIME_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 row", "3 rows".

    >>> count(1, "row"), count(1200, "row"), count(2, "axis", "axes")
    ('1 row', '1,200 rows', '2 axes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listing(items: Iterable[object], most: int = LISTED_ITEMS, *, join: str = ", ", last: str = "") -> str:
    """The first few of a list, and how many more; `last` joins the last two of a list that is written out.

    >>> listing(range(8)), listing("abc", last=" and ")
    ('0, 1, 2, 3, 4 and 3 more', 'a, b and c')
    """
    words = [str(item) for item in items]
    if len(words) > most:
        return f"{join.join(words[:most])} and {len(words) - most:,} more"
    return last.join([join.join(words[:-1]), words[-1]]) if last and len(words) > 1 else join.join(words)


def times_as_likely(nats: float) -> str:
    """A Bayes factor, given by its logarithm, in words.

    >>> times_as_likely(2.3), times_as_likely(0.4), times_as_likely(12.0), times_as_likely(80.0)
    ('10 times as likely', '1.5 times as likely', '163,000 times as likely', 'more than a million times as likely')
    """
    if nats > math.log(1e6):
        return "more than a million times as likely"
    factor = math.exp(nats)
    words = f"{factor:.1f}" if factor < 9.95 else f"{round(factor, 2 - math.floor(math.log10(factor))):,.0f}"
    return f"{words.removesuffix('.0')} times as likely"


def figures(value: float, most: int = 3) -> str:
    """A number as a person writes it: so many figures, an exponent only for the very small and the very large.

    >>> figures(112.3, 2), figures(8643121), figures(0.00123456), figures(-1.5), figures(2.5e9), figures(0.0)
    ('110', '8640000', '0.00123', '-1.5', '2.5e+09', '0')
    >>> figures(61370.2, 12)
    '61370.2'
    """
    short = f"{value:.{most}g}"
    if not 1e-3 <= abs(float(short)) < 1e9:
        return "0" if value == 0 else short
    plain = f"{Decimal(short):f}"  # not by way of a float, whose digits go on
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def figures_by_sd(value: float, sd: float, least: int = 3) -> str:
    """A number to the digits that its standard deviation leaves of it, and at least so many figures.

    >>> figures_by_sd(1.518312, 0.00098), figures_by_sd(121.7, 6.5), figures_by_sd(231.4, 110.0)
    ('1.51831', '121.7', '231')
    """
    if value == 0.0 or not 0.0 < sd < math.inf:
        return figures(value, 4)
    return figures(value, min(max(math.floor(math.log10(abs(value))) - math.floor(math.log10(sd)) + 2, least), 12))


def observed(value: float, sd: float) -> str:
    """A number that stands in a table, as it stands there; one of many digits to those that its sd leaves of it.

    >>> observed(183850.0, 20_000.0), observed(61370.199999999997, 3.0), observed(13454352.0, 1e6), observed(-0.05, 1.0)
    ('183850', '61370.2', '13454352', '-0.05')
    >>> observed(0.84147098480789, 0.05), observed(3e-7, 1.0), observed(2.5e18, 1e18)
    ('0.841471', '3e-07', '2.5e+18')
    """
    whole = f"{value:.15g}"
    if len(whole.partition("e")[0].strip("-").replace(".", "").strip("0")) > MOST_DIGITS and not value.is_integer():
        return figures_by_sd(value, sd, LEAST_DIGITS)
    return whole if "e" in whole else f"{Decimal(whole):f}"


def figures_by_width(value: float, half: float, least: int = 6) -> str:
    """A number with six figures, more where its interval (half its width) is narrower than that shows.

    >>> figures_by_width(3.14159265, 0.5), figures_by_width(1234567.8, 0.5), figures_by_width(1e-9, 0.0)
    ('3.14159', '1234567.8', '1e-09')
    """
    more = math.ceil(math.log10(abs(value) / half)) + 2 if half > 0 and value else 0
    most = min(max(more, least), 17)
    if not 1e-5 <= abs(value) < 1e15:
        return f"{value:.{most}g}"
    import numpy as np  # not above: `lowdim --help` imports this file and must be quick

    return np.format_float_positional(value, precision=most, unique=False, fractional=False, trim="-")


def all_digits(value: float) -> str:
    """A number with every digit it has, a whole one without a point.

    >>> all_digits(3.0), all_digits(0.1), all_digits(1e300)
    ('3', '0.1', '1e+300')
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def number(value: float, most: int = 3, below: float = 1e6) -> str:
    """So many figures, with commas between thousands where all digits before the point are written.

    >>> number(121.7), number(0.00123), number(-0.5), number(53121.0), number(53121.0, 4, 1e9)
    ('122', '0.00123', '-0.5', '53,100', '53,120')
    """
    value = float(f"{value:.{most}g}") + 0.0
    return f"{value:,.0f}" if 10.0 ** (most - 1) <= abs(value) < below else f"{value:.{most}g}"


def p_value(p: float) -> str:
    """A p-value in one or two figures.

    >>> p_value(2.13e-8), p_value(0.372), p_value(0.0)
    ('2e-8', '0.37', '0')
    """
    return "0" if p == 0.0 else f"{p:.0e}".replace("e-0", "e-") if p < 1e-3 else f"{p:.2g}"


def percent(share: float) -> str:
    """A share as a percentage; the small stay visible.

    >>> percent(0.4217), percent(0.0031), percent(0.0)
    ('42%', '0.3%', '0%')
    """
    value = 100.0 * float(share)
    return f"{value:.1f}%" if 0.05 <= abs(value) < 1.0 else "< 0.1%" if 0 < value < 0.05 else f"{value:.0f}%"


def size(number: float) -> str:
    """Bytes in words.

    >>> size(3_200_000_000), size(512), size(1.5e12)
    ('3.2 GB', '512 bytes', '1.5 TB')
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def parse_size(value: object, option: str = "memory") -> int | None:
    """A number of bytes from 2000000000 or "2GB".

    >>> parse_size("1.5 GB"), parse_size(4096), parse_size(None)
    (1500000000, 4096, None)
    """
    if value is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?b?)\s*", str(value).lower())
    if not match:
        raise error("LD210", option=option, value=value, allowed="bytes, or a size such as 2GB")
    return int(float(match[1]) * BYTE_UNITS[match[2] if match[2] in BYTE_UNITS else match[2] + "b"])


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> [duration(t) for t in (0.004, 3.21, 108.0, 400.0, 9000.0)]
    ['0.01 s', '3.2 s', '110 s', '7 min', '2.5 h']
    """
    if seconds < 120:
        return f"{figures(max(seconds, 0.01), 2)} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def parse_duration(value: float | str | None, option: str = "budget") -> float | None:
    """Seconds from 30, "30s", "2m" or "1h".

    >>> parse_duration("30s"), parse_duration("2m"), parse_duration(None)
    (30.0, 120.0, None)
    """
    if value is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(value).lower())
    seconds = float(match[1]) * TIME_UNITS.get(match[2], 0.0) if match else 0.0
    if isinstance(value, bool) or not 0.0 < seconds < math.inf:
        raise error("LD210", option=option, value=value, allowed="a length of time such as 30s, 2m or 1h")
    return seconds


# long texts ---------------------------------------------------------------------------------------------
def clip(text: object, most: int = 40) -> str:
    """One harmless line of at most so many characters.

    >>> clip("a\\nlong name", 7)
    'a long…'
    """
    line = protect_terminal(str(text))
    return line if len(line) <= most else line[: most - 1] + "…"


def short(name: object, most: int = 24) -> str:
    """A name fit for a chart: one line, at most `most` characters; the end stays, where long names differ.

    >>> short("temperature of the upper\\tzone 1"), short("kappa")
    ('temperature of…er zone 1', 'kappa')
    """
    text, tail = printable(name), (most - 1) * 2 // 5
    return text if len(text) <= most else text[: most - 1 - tail].rstrip() + "…" + text[-tail:].lstrip()
