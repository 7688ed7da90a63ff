"""Messages gathered while a table is read: said together, raised together."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lowdim.text.errors import TableError
from lowdim.text.messages import Message, message
from lowdim.text.notebook import block, table

SHOWN_OF_A_CODE = 5  # messages
MESSAGE_HEADER = ("code", "severity", "what", "where", "why", "fix")


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
        if not self:
            return "<p>no messages</p>"
        more = f"<p>and {len(self) - 100} more</p>" if len(self) > 100 else ""
        return block(table(MESSAGE_HEADER, self[:100], lines=True), more)


class CheckError(TableError):
    """The errors of one table; `code`, `fix` and `message` are those of the first, `messages` has everything."""

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages.errors[0])
        self.messages = messages

    def __str__(self) -> str:
        return str(self.messages.errors)


class Notes:
    """A list of messages being written while a table is read."""

    def __init__(self, name: str, unit: str = "line") -> None:
        self.name, self.unit, self.messages = name, unit, list[Message]()

    def add(self, code: str, where: str = "", **facts: Any) -> None:
        """Keep a message."""
        self.messages.append(message(code, where, **facts))

    def stop(self) -> None:
        """Raise the errors found so far, together."""
        messages = Messages(self.messages)
        if messages.errors:
            raise CheckError(messages)
