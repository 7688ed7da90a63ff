"""The options of reading a table: their Python names, their flags, and the flags that a message proposes."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lowdim.text.escape import shell_word
from lowdim.text.format import parse_size
from lowdim.text.messages import BudgetError, FileError, LowdimError, OptionError, error

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}


class Options(NamedTuple):
    """How a table is to be read; what is None is guessed."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    names: Any = None  # a path with one name a line, or the names
    na: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    number: tuple[str, ...] = ()  # to be used as numbers whatever the reader thinks of them
    label: tuple[str, ...] = ()
    id: str | None = None
    time: str | None = None
    weight: str | None = None
    encode: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    sheet: str | int | None = None
    transpose: bool = False
    inf: str = "error"
    below_limit: str | None = None
    keep_copies: bool = False
    scale: str = "unit"  # how the analysis will scale: decides which notes make sense, and is kept in the table
    sample: int | None = None
    memory: int | None = None  # bytes; None: what is free now
    strict: bool = False


LISTS = ("columns", "drop", "number", "label", "encode", "log")
CHOICES: dict[str, tuple[Any, ...]] = {
    "decimal": (None, ".", ","),
    "header": (None, True, False),
    "inf": ("error", "missing"),
    "below_limit": (None, "half", "zero", "limit"),
    "scale": ("unit", "none"),
}
SWITCHES: dict[str, tuple[str, bool]] = {
    "--header": ("header", True),
    "--no-header": ("header", False),
    "--transpose": ("transpose", True),
    "--keep-copies": ("keep_copies", True),
    "--strict": ("strict", True),
}
VALUES = {
    f"--{name.replace('_', '-')}": name
    for name in Options._fields
    if name not in ("header", "transpose", "keep_copies", "strict")
}

_WORD = r"""(?:,(?=\s|$)|(?:'[^']*'|"[^"]*"|[\w.,:/@%+=-]*[\w.:/@%+=-])+)"""
_PROPOSAL = re.compile(rf"--[a-z][a-z-]*(?: {_WORD})?(?: --[a-z][a-z-]*(?: {_WORD})?)*")


def settle(given: dict[str, Any]) -> Options:
    """The options from what a caller gave, each checked once."""
    given = dict(given)
    if given.pop("no_header", False):
        given["header"] = False
    options = Options(**given)
    for name, allowed in CHOICES.items():
        if not any(getattr(options, name) is value or getattr(options, name) == value for value in allowed):
            raise error(
                "LD210", option=name, value=getattr(options, name), allowed=", ".join(repr(value) for value in allowed)
            )
    lists: dict[str, Any] = {name: split_names(getattr(options, name)) for name in LISTS}
    return options._replace(
        **lists,
        na=_codes(options.na),
        sep=_separator(options.sep),
        sample=_count("sample", options.sample),
        memory=parse_size(options.memory),
    )


def _separator(sep: str | None) -> str | None:
    found = SEPARATORS.get(sep, sep) if sep is not None else None
    if found is not None and (len(found) != 1 or found.isalnum() or found in '"\r\n'):
        raise error("LD210", option="sep", value=sep, allowed="one character: comma, semicolon, tab, pipe, space")
    return found


def _codes(na: Any) -> tuple[str, ...]:
    if isinstance(na, str):
        return tuple(code.strip() for code in next(csv.reader([na]), []))
    return (str(na),) if isinstance(na, int | float) else tuple(str(code) for code in na or ())


def _count(name: str, value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise error("LD210", option=name, value=value, allowed="a whole number above 0")
    return value


def split_names(names: Any) -> tuple[str, ...]:
    """Column names from a sequence, or from one text with commas; a name that holds a comma stands in quotes.

    >>> split_names('a,"b,c"')
    ('a', 'b,c')
    """
    if names is None:
        return ()
    if isinstance(names, str):
        return tuple(name.strip() for name in next(csv.reader([names], skipinitialspace=True), []))
    return tuple(str(name) for name in names)


def join_names(names: Iterable[str]) -> str:
    """Names as one word for a flag, ready to be pasted into a shell.

    >>> join_names(["a", "b,c"])
    '\\'a,"b,c"\\''
    """
    return shell_word(listed(names))


def listed(names: Any) -> str:
    """Names or codes as one text with commas; one that holds a comma stands in quotes."""
    texts = [str(name) for name in ([names] if isinstance(names, int | float) else names)]
    return ",".join('"{}"'.format(n.replace('"', '""')) if set(n) & set(',"') or n != n.strip() else n for n in texts)


def options_from_flags(tokens: Sequence[str]) -> dict[str, Any]:
    """Keyword options of `read` from command-line tokens; a list that is given twice is added up.

    >>> options_from_flags(["--na", "-999", "--drop=site", "--transpose"])
    {'na': ('-999',), 'drop': ('site',), 'transpose': True}
    """
    found: dict[str, Any] = {}
    rest = list(tokens)
    while rest:
        flag, given, value = rest.pop(0).partition("=")
        if flag in SWITCHES and not given:
            name, switch = SWITCHES[flag]
            found[name] = switch
        elif flag in VALUES and (given or rest):
            _keep(found, VALUES[flag], value if given else rest.pop(0))
        else:
            raise error("LD210", option="flag", value=flag, allowed="one of " + ", ".join([*SWITCHES, *VALUES]))
    return found


def _keep(found: dict[str, Any], name: str, value: str) -> None:
    if name in LISTS:
        found[name] = (*found.get(name, ()), *split_names(value))
    elif name == "na":
        found[name] = (*found.get(name, ()), *_codes(value))
    else:
        found[name] = int(value) if name in ("sample", "sheet") and value.isdigit() else value


def flags_from_options(options: dict[str, Any]) -> list[str]:
    """The command-line words that give these options of `read`, each ready to be pasted into a shell.

    >>> flags_from_options({"na": ("-999", "n d"), "header": False, "drop": ["a"], "sep": "\\t"})
    ['--na=-999,n d', '--no-header', '--drop=a', '--sep=tab']
    """
    words = {sign: word for word, sign in SEPARATORS.items() if word.isalpha()}
    found = []
    for name, value in options.items():
        switch = next((flag for flag, asked in SWITCHES.items() if asked == (name, value)), "")
        if name == "no_header" and value:
            switch = "--no-header"
        if switch:
            found.append(switch)
        elif f"--{name.replace('_', '-')}" in VALUES and value is not None and value != ():
            text = listed(value) if name in (*LISTS, "na", "names") and not isinstance(value, str) else str(value)
            found.append(f"--{name.replace('_', '-')}={words.get(text, text) if name == 'sep' else text}")
    return found


def proposals(fix: str) -> list[list[str]]:
    """Each set of flags that the fix of a message proposes, as tokens.

    >>> proposals('treat as gaps:  --na "<0.05,n.d."\\nor  --drop conc')
    [['--na', '<0.05,n.d.'], ['--drop', 'conc']]
    """
    return [shlex.split(found[0]) for found in _PROPOSAL.finditer(fix)]


def exit_code(problem: LowdimError) -> int:
    """What the command line leaves with: 2 usage, 3 unreadable, 6 over a limit, 4 everything else about a table."""
    if isinstance(problem, OptionError) or problem.code == "LD304":  # a file that cannot be written was asked for
        return 2
    if isinstance(problem, FileError):
        return 3
    if isinstance(problem, BudgetError):
        return 6
    return 3 if problem.code.startswith("LD00") or problem.code == "LD010" else 4
