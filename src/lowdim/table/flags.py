"""The flags of the command line that stand for options of reading, and those that a message proposes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from lowdim.table.options import LISTS, SEPARATORS, ReadingOptions, gap_codes, listed, split_names
from lowdim.text.messages import error

SWITCHES: dict[str, tuple[str, bool]] = {
    "--header": ("header", True),
    "--no-header": ("header", False),
    "--transpose": ("transpose", True),
    "--keep-copies": ("keep_copies", True),
    "--strict": ("strict", True),
}
VALUES = {
    f"--{name.replace('_', '-')}": name
    for name in ReadingOptions._fields
    if name not in ("header", "transpose", "keep_copies", "strict")
}

_WORD = r"""(?:,(?=\s|$)|(?:'[^']*'|"[^"]*"|[\w.,:/@%+=-]*[\w.:/@%+=-])+)"""
_PROPOSAL = re.compile(rf"--[a-z][a-z-]*(?: {_WORD})?(?: --[a-z][a-z-]*(?: {_WORD})?)*")


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
            add_value(found, VALUES[flag], value if given else rest.pop(0))
        else:
            raise error("LD210", option="flag", value=flag, allowed="one of " + ", ".join([*SWITCHES, *VALUES]))
    return found


def add_value(found: dict[str, Any], name: str, value: str) -> None:
    """Enter an option that came as text; a list that is given twice is added up."""
    if name in LISTS:
        found[name] = (*found.get(name, ()), *split_names(value))
    elif name == "na":
        found[name] = (*found.get(name, ()), *gap_codes(value))
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
