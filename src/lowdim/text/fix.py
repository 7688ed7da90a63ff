"""What to do about a message: words, and between them options of reading and commands as data.

A fix is spelled when it is shown: `--na n.d.` to whoever sits at a terminal, `ld.read(table, na=['n.d.'])` to whoever
calls from Python. It is no text, so nothing can be looked up in it but its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lowdim.text.messages import inflect


class Flag(NamedTuple):
    """An option of `lowdim.read` with the value that is proposed."""

    option: str
    value: Any = None  # text, a number, True or False, or a tuple of texts; None: the fact of that name

    def as_command(self) -> str:
        """The flag, ready to be pasted into a shell.

        >>> Flag("na", ("<0.05", "n.d.")).as_command(), Flag("header", False).as_command()
        ('--na "<0.05,n.d."', '--no-header')
        """
        from lowdim.text.escape import join_names, shell_word

        name = self.option.replace("_", "-")
        if isinstance(self.value, bool):
            return f"--{name}" if self.value else f"--no-{name}"
        if self.value is None:
            return f"--{name} ..."
        return f"--{name} " + (join_names(self.value) if isinstance(self.value, tuple) else shell_word(str(self.value)))

    def as_python(self) -> str:
        """The keyword argument.

        >>> Flag("na", ("<0.05", "n.d.")).as_python(), Flag("id", "site").as_python()
        ("na=['<0.05', 'n.d.']", "id='site'")
        """
        return f"{self.option}={list(self.value) if isinstance(self.value, tuple) else self.value!r}"


class Proposal(NamedTuple):
    """Options that are to be given together, in one reading of the table; `propose` makes one."""

    flags: tuple[Flag, ...]

    def as_command(self) -> str:
        """The flags in a row."""
        return " ".join(flag.as_command() for flag in self.flags)

    def as_python(self, table: str) -> str:
        """The call that reads the table with these options."""
        return f"ld.read({', '.join([table, *(flag.as_python() for flag in self.flags)])})"

    def filled(self, facts: Mapping[str, Any]) -> Proposal:
        """The proposal of a catalogue with its values from the facts of a message."""
        values = {flag.option: facts[flag.option] if flag.value is None else flag.value for flag in self.flags}
        return propose(**values)


def propose(**options: Any) -> Proposal:
    """Options of reading as a proposal; None stands for the fact that has the name of the option.

    >>> propose(below_limit="half", na=["n.d."]).as_command()
    '--below-limit half --na n.d.'
    """
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return Proposal(tuple(Flag(name, value) for name, value in values.items()))


class Spelling(NamedTuple):
    """Words that differ between a terminal and Python."""

    command: str
    python: str


Part = str | Proposal | Spelling


class Fix:
    """What to do about a message, part by part.

    >>> fix = Fix("leave it out:  ", propose(drop=["site"]))
    >>> str(fix), str(fix.in_python("table"))
    ('leave it out:  --drop site', "leave it out:  ld.read(table, drop=['site'])")
    """

    __slots__ = ("parts",)
    parts: tuple[Part, ...]

    def __init__(self, *parts: Part) -> None:
        self.parts = tuple(part for part in parts if part != "")

    def __str__(self) -> str:
        return "".join(_as_command(part) for part in self.parts)

    def __repr__(self) -> str:
        return f"Fix({', '.join(map(repr, self.parts))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fix) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """The sets of options it proposes, each on its own."""
        return tuple(part for part in self.parts if isinstance(part, Proposal))

    def in_python(self, table: str) -> Fix:
        """The fix as someone reads it who calls from Python with this expression for the table."""
        return Fix("".join(_as_python(part, table) for part in self.parts))


def filled(fix: str | Fix, facts: Mapping[str, Any]) -> Fix:
    """The fix of a catalogue with the facts of a message; "{fix}" is one that the facts bring."""
    parts: list[Part] = []
    for part in fix.parts if isinstance(fix, Fix) else (fix,):
        brought = facts.get("fix") if part == "{fix}" else None
        if isinstance(brought, Fix):
            parts += brought.parts
        elif isinstance(part, Proposal):
            parts.append(part.filled(facts))
        else:
            parts.append(inflect(part, (), facts) if isinstance(part, str) else part)
    return Fix(*parts)


def _as_command(part: Part) -> str:
    if isinstance(part, Proposal):
        return part.as_command()
    return part.command if isinstance(part, Spelling) else part


def _as_python(part: Part, table: str) -> str:
    if isinstance(part, Proposal):
        return part.as_python(table)
    return part.python if isinstance(part, Spelling) else part


def choices(pairs: Iterable[tuple[str, Part]]) -> Fix:
    """Ways out, a line for each: what it does, and how, in two columns.

    >>> print(choices([("leave it out", propose(drop=["a"])), ("it is one, say so", propose(time="a"))]))
    leave it out:       --drop a
    it is one, say so:  --time a
    """
    listed = list(pairs)
    wide = max((len(words) for words, _ in listed), default=0) + 1
    parts: list[Part] = []
    for k, (words, way) in enumerate(listed):
        parts += ["\n" * (k > 0) + f"{words + ':':<{wide}}  ", way]
    return Fix(*parts)
