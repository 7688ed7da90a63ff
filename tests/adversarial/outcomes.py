"""How a call ends: with finite numbers, with a warning of ours, with a coded error; everything else falls short."""

from __future__ import annotations

import numbers
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.text.messages import LowdimError, LowdimWarning

CODE = re.compile(r"LD\d{3}")
UNLIMITED = {".least", ".most"}  # what a column can be: an infinity says that there is no limit
DEEPEST = 12  # nested records: deeper ones are graphs of objects, not answers
ANSWERED, WARNED, REFUSED = "answered", "answered with a warning", "refused"
SILENT, BARE, OPAQUE, NOT_FINITE = "silent", "bare warning", "opaque error", "not finite"
SHORT = (SILENT, BARE, OPAQUE, NOT_FINITE)


class Outcome(NamedTuple):
    """How one pair ended, and the words for it where it falls short."""

    kind: str
    words: str = ""

    @property
    def short(self) -> bool:
        return self.kind in SHORT


def outcome(steps: Iterable[tuple[str, Callable[[], Any]]], nonsense: bool = False) -> Outcome:
    """The outcome of a chain of calls, the first of which everything else hangs on."""
    said = False
    for number, (name, step) in enumerate(steps):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                answer, problem = step(), None
            except Exception as raised:
                answer, problem = None, raised
        bare = [w for w in given if not issubclass(w.category, LowdimWarning)]
        if bare:
            return Outcome(
                BARE, f"{name}: {bare[0].category.__name__}: {bare[0].message} at {bare[0].filename}:{bare[0].lineno}"
            )
        if problem is not None:
            if not explained(problem):
                return Outcome(OPAQUE, f"{name}: {type(problem).__name__}: {problem}"[:400])
            said = True
            if number == 0:
                return Outcome(REFUSED)
            continue
        said = said or bool(given) or bool(told(answer))
        where = not_finite(answer)
        if where is not None:
            return Outcome(NOT_FINITE, f"{name}{where}")
    if nonsense and not said:
        return Outcome(SILENT, "no word about a table that has no answer")
    return Outcome(WARNED if said else ANSWERED)


def explained(problem: Exception) -> bool:
    """Whether an error is one of ours: a code, and what to do about it."""
    return isinstance(problem, LowdimError) and bool(CODE.match(problem.code)) and bool(problem.fix)


def not_finite(value: Any, depth: int = 0) -> str | None:
    """Where a number in a nest of records, arrays and lists is not finite; None where all are."""
    if depth > DEEPEST or value is None or isinstance(value, str | bytes | bool | type):
        return None
    if sp.issparse(value):
        value = value.data
    if isinstance(value, np.ndarray):
        return "" if value.dtype.kind in "fc" and not np.isfinite(value).all() else None
    if isinstance(value, numbers.Number):
        return "" if isinstance(value, float | complex | np.number) and not np.isfinite(value) else None
    for name, part in parts(value):
        if name in UNLIMITED:
            continue
        where = not_finite(part, depth + 1)
        if where is not None:
            return f"{name}{where}"
    return None


def told(answer: Any) -> Any:
    """The messages that a record carries with it instead of warning."""
    inside = answer if isinstance(answer, dict) else dict(parts(answer))
    return inside.get("messages") or getattr(inside.get("table", inside.get(".table")), "messages", None)


def parts(value: Any) -> Iterable[tuple[str, Any]]:
    """The named parts of a record."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", part) for name, part in zip(value._fields, value, strict=True)]
    if isinstance(value, dict):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return [(f"[{i}]", part) for i, part in enumerate(value)]
    return []


def counted(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many ended in which way."""
    count = Counter(found.kind for found in outcomes)
    return {kind: count[kind] for kind in (ANSWERED, WARNED, REFUSED, *SHORT)}
