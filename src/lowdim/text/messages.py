"""Messages: what happened, where, why it matters, and what to do about it.

Every error and warning of lowdim is made here, so that one code has one text wherever it appears; the texts are
data (`catalogue_*.py`), read when the first message is made. Rows are counted from 1 in messages, Python's from 0.
What is found while a table is read is gathered in `Notes`, said together and raised together.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from lowdim.text.fix import Fix

SHOWN_OF_A_CODE = 5  # messages
MESSAGE_HEADER = ("code", "severity", "what", "where", "why", "fix")


class Message(NamedTuple):
    """One message: a code, its severity, three lines of text, and what to do about it."""

    code: str
    severity: str
    what: str
    where: str
    why: str
    fix: Fix

    def __str__(self) -> str:
        lines = [f"{self.code} {self.severity}  {self.what}"]
        for name, text in (("where", self.where), ("why", self.why), ("fix", str(self.fix))):
            if text:
                lines.append(f"  {name:<7} " + text.replace("\n", "\n" + " " * 10))
        return "\n".join(lines)

    def facts(self) -> dict[str, str]:
        """The message as JSON has it."""
        keys = ("code", "severity", "where", "text", "why", "fix")
        return dict(zip(keys, (self.code, self.severity, self.where, self.what, self.why, str(self.fix)), strict=True))


class LowdimError(Exception):
    """Any error lowdim raises on purpose; `code`, `fix` (as text) and the whole `message` are attributes."""

    exit_code = 4  # of a command that ends with it: the table cannot be analysed

    def __init__(self, message: Message | str) -> None:
        super().__init__(str(message))
        self.message = message
        self.code = message.code if isinstance(message, Message) else ""
        self.fix = str(message.fix) if isinstance(message, Message) else ""
        if isinstance(message, Message) and (own := entry_of(message).exit_code):
            self.exit_code = own


class LowdimWarning(UserWarning):
    """Any warning lowdim gives on purpose; its `message` is the whole message."""

    def __init__(self, message: Message | str) -> None:
        super().__init__(str(message))
        self.message = message


class Entry(NamedTuple):
    """What the catalogue knows of a message: its texts, and everything else that depends on its code."""

    kind: type
    what: str
    why: str = ""
    fix: str | Fix = ""
    severity: str = ""  # where the kind does not say it: "changed" went on with an altered table
    cases: dict[str, str] | None = None  # fixes of special cases, by the `case` that `message` is given
    about: str = ""  # what it is about, for `lowdim help`, where `what` is nearly all facts
    names_rows: bool = False  # `what` names single rows or values: a report without rows leaves it out
    once: bool = False  # true of new rows as of the table they are compared with: reported for that table alone
    labels_aside: bool = False  # that labels shape no axis, which is not so in a model that takes labels
    of_stream: bool = False  # told of a file that is streamed too, as a warning
    exit_code: int = 0  # of a command that ends with it, where its kind does not say it


class _Inflected(Formatter):
    """Texts with facts: "{n|column is|columns are}" is the one form where n is 1, and the other elsewhere.

    >>> _Inflected().vformat("{n:,} {n|row was|rows were} left out", (), {"n": 1200})
    '1,200 rows were left out'
    """

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        name, *forms = field_name.split("|")
        value, key = super().get_field(name, args, kwargs)
        return (forms[value != 1] if forms else value), key


inflect = _Inflected().vformat


@cache
def catalogue() -> dict[str, Entry]:
    """Every message by its code."""
    from lowdim.text.catalogue_maps import MAP_MESSAGES
    from lowdim.text.catalogue_models import MODEL_MESSAGES
    from lowdim.text.catalogue_sources import SOURCE_MESSAGES
    from lowdim.text.catalogue_tables import TABLE_MESSAGES

    return {**SOURCE_MESSAGES, **TABLE_MESSAGES, **MODEL_MESSAGES, **MAP_MESSAGES}


def entry_of(told: Message) -> Entry:
    """What the catalogue knows of a message; one about a person's table may have an entry of its own."""
    known = catalogue()
    return known.get(f"{told.code}.table") or known[told.code]


def message(code: str, where: str = "", *, case: str = "", **facts: Any) -> Message:
    """The message of a code with its facts filled in; `case` chooses among the fixes of its entry."""
    from lowdim.text.fix import filled

    entry = catalogue()[code]
    severity = entry.severity or ("note" if issubclass(entry.kind, Warning) else "error")
    what, why = (inflect(part, (), facts) for part in (entry.what, entry.why))
    fix = filled((entry.cases or {}).get(case, entry.fix), facts)
    return Message(code.partition(".")[0], severity, what, where, why, fix)  # "LD120.table" is LD120 of a file


def error(code: str, where: str = "", *, case: str = "", **facts: Any) -> LowdimError:
    """The error of a code, ready to be raised."""
    problem = catalogue()[code].kind(message(code, where, case=case, **facts))
    assert isinstance(problem, LowdimError)
    return problem


def warn(code: str | Message, where: str = "", *, case: str = "", **facts: Any) -> None:
    """Give the warning of a code, or a message that was made before, pointing at the caller's line, not at ours."""
    note = message(code, where, case=case, **facts) if isinstance(code, str) else code
    entry = catalogue()[code] if isinstance(code, str) else entry_of(code)
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("lowdim.", "sklearn.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(entry.kind(note), stacklevel=level)


@contextmanager
def no_warnings() -> Iterator[None]:
    """No warnings of ours inside: work that nobody asked for by itself (trials, resampled tables, starts) has quirks
    that are not the table's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        yield


# gathered while a table is read --------------------------------------------------------------------------------------
class Messages(tuple[Message, ...]):
    """What was found in a table, in the order it was found; prints as text, and as a table in a notebook."""

    __slots__ = ()

    @property
    def errors(self) -> Messages:
        return self.of("error")

    @property
    def changed(self) -> Messages:
        return self.of("changed")

    @property
    def notes(self) -> Messages:
        return self.of("note")

    def of(self, severity: str) -> Messages:
        """The messages of one severity."""
        return Messages(m for m in self if m.severity == severity)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes, each once."""
        return tuple(dict.fromkeys(m.code for m in self))

    def text(self, *, everything: bool = False) -> str:
        """All messages, or the first five of each kind and how many more there are."""
        total, shown, parts = Counter(m.code for m in self), Counter[str](), []
        for m in self:
            shown[m.code] += 1
            if everything or shown[m.code] <= SHOWN_OF_A_CODE:
                parts.append(str(m))
            if not everything and shown[m.code] == total[m.code] > SHOWN_OF_A_CODE:
                parts.append(f"{m.code} {m.severity}  and {total[m.code] - SHOWN_OF_A_CODE} more (lowdim check --all)")
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text() or "no messages"

    def _repr_html_(self) -> str:
        from lowdim.text.notebook import block, table  # which needs this file

        if not self:
            return "<p>no messages</p>"
        more = f"<p>and {len(self) - 100} more</p>" if len(self) > 100 else ""
        return block(table(MESSAGE_HEADER, self[:100], lines=True), more)


class Notes:
    """A list of messages being written while a table is read."""

    def __init__(self, name: str, unit: str = "line") -> None:
        self.name, self.unit, self.messages = name, unit, list[Message]()

    def add(self, code: str, where: str = "", **facts: Any) -> None:
        """Keep a message."""
        self.messages.append(message(code, where, **facts))

    def stop(self) -> None:
        """Raise the errors found so far, together."""
        from lowdim.text.errors import CheckError

        messages = Messages(self.messages)
        if messages.errors:
            raise CheckError(messages)


def __getattr__(name: str) -> Any:
    """The classes of errors and warnings (`text/errors.py`), by this module's name too."""
    from lowdim.text import errors

    return getattr(errors, name)


def check_level(level: float, option: str = "level") -> None:
    """A level is a share between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise error("LD210", option=option, value=level, allowed="a number between 0 and 1, such as 0.95")
