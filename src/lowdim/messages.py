"""The catalogue of messages: what happened, where, why it matters, and what to do about it.

Every error and warning of lowdim is made here, so that one code has one text wherever it appears.
Rows are counted from 1 in messages; Python positions are counted from 0.
"""
from __future__ import annotations

import sys
import warnings
from typing import Any

from lowdim.catalogue_models import MODELS
from lowdim.catalogue_tables import TABLES
from lowdim.kinds import (
    BudgetError as BudgetError,
)
from lowdim.kinds import (
    EngineError as EngineError,
)
from lowdim.kinds import (
    Entry as Entry,
)
from lowdim.kinds import (
    FileError as FileError,
)
from lowdim.kinds import (
    FitError as FitError,
)
from lowdim.kinds import (
    LowdimError as LowdimError,
)
from lowdim.kinds import (
    LowdimWarning as LowdimWarning,
)
from lowdim.kinds import (
    Message as Message,
)
from lowdim.kinds import (
    ModelWarning as ModelWarning,
)
from lowdim.kinds import (
    OptionError as OptionError,
)
from lowdim.kinds import (
    TableError as TableError,
)
from lowdim.kinds import (
    TableTypeError as TableTypeError,
)
from lowdim.kinds import (
    TableWarning as TableWarning,
)
from lowdim.kinds import (
    VerbError as VerbError,
)

CATALOGUE: dict[str, Entry] = {**TABLES, **MODELS}

_SEVERITY = {True: "note", False: "error"}


def message(code: str, where: str = "", **facts: Any) -> Message:
    """The message of a code with its facts filled in."""
    entry = CATALOGUE[code]
    severity = entry.severity or _SEVERITY[issubclass(entry.kind, Warning)]
    problem = str(facts.get("problem", ""))
    remedy = next((text for word, text in entry.instead if word in problem), entry.fix)
    what, why, fix = (part.format(**facts) for part in (entry.what, entry.why, remedy))
    return Message(code.partition(".")[0], severity, what, where, why, fix)  # "LD120.table" is LD120 of a file


def error(code: str, where: str = "", **facts: Any) -> LowdimError:
    """The error of a code, ready to be raised."""
    made = CATALOGUE[code].kind(message(code, where, **facts))
    assert isinstance(made, LowdimError)
    return made


def warn(code: str, where: str = "", **facts: Any) -> None:
    """Give the warning of a code, pointing at the caller's line, not at ours."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("lowdim.", "sklearn.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(str(message(code, where, **facts)), CATALOGUE[code].kind, stacklevel=level)
