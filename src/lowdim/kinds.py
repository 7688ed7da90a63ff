"""The kinds of messages: what a message is made of, the errors, the warnings, and an entry of the catalogue."""
from __future__ import annotations

from typing import NamedTuple


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
    """Any warning lowdim gives on purpose."""


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
