"""Messages: what happened, where, why it matters, and what to do about it.

Every error and warning of lowdim is made here, so that one code has one text wherever it appears; the texts are
data (`catalogue_tables.py`, `catalogue_models.py`, `catalogue_maps.py`), read when the first message is made.
Rows are counted from 1 in messages; Python positions are counted from 0.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import Any, NamedTuple


class Message(NamedTuple):
    """One message: a code, its severity, and four lines of text."""

    code: str
    severity: str
    what: str
    where: str
    why: str
    fix: str

    def __str__(self) -> str:
        lines = [f"{self.code} {self.severity}  {self.what}"]
        for name, text in (("where", self.where), ("why", self.why), ("fix", self.fix)):
            if text:
                lines.append(f"  {name:<7} " + text.replace("\n", "\n" + " " * 10))
        return "\n".join(lines)

    def facts(self) -> dict[str, str]:
        """The message as JSON has it."""
        keys = ("code", "severity", "where", "text", "why", "fix")
        values = (self.code, self.severity, self.where, self.what, self.why, self.fix)
        return dict(zip(keys, values, strict=True))


class LowdimError(Exception):
    """Any error lowdim raises on purpose; `code`, `fix` and the whole `message` are attributes."""

    def __init__(self, message: Message | str) -> None:
        super().__init__(str(message))
        self.message = message
        self.code = message.code if isinstance(message, Message) else ""
        self.fix = message.fix if isinstance(message, Message) else ""


class TableError(LowdimError, ValueError):
    """The table cannot be used as it is."""


class TableTypeError(TableError, TypeError):
    """A column holds something that is not a number."""


class OptionError(LowdimError, ValueError):
    """An option of a model has a value it cannot have."""


class BudgetError(LowdimError, MemoryError):
    """The job would not fit into the memory it was given."""


class FitError(LowdimError, ArithmeticError):
    """A fit came to numbers that are not finite; nothing of it is kept."""


class EngineError(LowdimError, RuntimeError):
    """Whoever was to do the work cannot."""


class VerbError(LowdimError, AttributeError):
    """This model cannot have this verb; the text says why and what to use instead."""


class FileError(LowdimError, ValueError):
    """A model file that is damaged, foreign or cannot be written."""


class LowdimWarning(UserWarning):
    """Any warning lowdim gives on purpose; its `message` is the whole message."""

    def __init__(self, message: Message | str) -> None:
        super().__init__(str(message))
        self.message = message


class TableWarning(LowdimWarning):
    """Something about the table that the reader of a result should know."""


class ModelWarning(LowdimWarning):
    """Something about the fitted model that the reader of a result should know."""


class Entry(NamedTuple):
    kind: type
    what: str
    why: str = ""
    fix: str = ""
    severity: str = ""  # where the kind does not say it: "changed" went on with an altered table
    instead: tuple[tuple[str, str], ...] = ()  # (a word of the problem, the fix that goes with it)
    about: str = ""  # what it is about, for `lowdim help`, where `what` is nearly all facts


@cache
def catalogue() -> dict[str, Entry]:
    """Every message by its code."""
    from lowdim.text.catalogue_maps import MAP_MESSAGES
    from lowdim.text.catalogue_models import MODEL_MESSAGES
    from lowdim.text.catalogue_tables import TABLE_MESSAGES

    return {**TABLE_MESSAGES, **MODEL_MESSAGES, **MAP_MESSAGES}


_SEVERITY = {True: "note", False: "error"}


def message(code: str, where: str = "", **facts: Any) -> Message:
    """The message of a code with its facts filled in."""
    entry = catalogue()[code]
    severity = entry.severity or _SEVERITY[issubclass(entry.kind, Warning)]
    problem = str(facts.get("problem", ""))
    remedy = next((text for word, text in entry.instead if word in problem), entry.fix)
    what, why, fix = (part.format(**facts) for part in (entry.what, entry.why, remedy))
    return Message(code.partition(".")[0], severity, what, where, why, fix)  # "LD120.table" is LD120 of a file


def error(code: str, where: str = "", **facts: Any) -> LowdimError:
    """The error of a code, ready to be raised."""
    made = catalogue()[code].kind(message(code, where, **facts))
    assert isinstance(made, LowdimError)
    return made


def warn(code: str, where: str = "", **facts: Any) -> None:
    """Give the warning of a code, pointing at the caller's line, not at ours."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("lowdim.", "sklearn.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(catalogue()[code].kind(message(code, where, **facts)), stacklevel=level)
