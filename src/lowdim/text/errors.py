"""Kinds of errors and warnings, each also the built-in kind that callers expect to catch."""

from __future__ import annotations

from lowdim.text.messages import LowdimError, LowdimWarning, Messages


class TableError(LowdimError, ValueError):
    """The table cannot be used as it is."""


class CheckError(TableError):
    """The errors of one table; `code`, `fix` and `message` are those of the first, `messages` has everything."""

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages.errors[0])
        self.messages = messages

    def __str__(self) -> str:
        return str(self.messages.errors)


class TableTypeError(TableError, TypeError):
    """A column holds something that is not a number."""


class OptionError(LowdimError, ValueError):
    """An option of a model has a value it cannot have."""

    exit_code = 2


class UnknownOptionError(OptionError, TypeError):
    """A model has no such option; the text says which word to use."""


class BudgetError(LowdimError, MemoryError):
    """The job would not fit into the memory it was given."""

    exit_code = 6


class FitError(LowdimError, ArithmeticError):
    """A fit came to numbers that are not finite; nothing of it is kept."""


class EngineError(LowdimError, RuntimeError):
    """Whoever was to do the work cannot."""


class VerbError(LowdimError, AttributeError):
    """This model cannot have this verb; the text says why and what to use instead."""


class FileError(LowdimError, ValueError):
    """A model file that is damaged, foreign or cannot be written."""

    exit_code = 3


class TableWarning(LowdimWarning):
    """Something about the table that the reader of a result should know."""


class ModelWarning(LowdimWarning):
    """Something about the fitted model that the reader of a result should know."""
