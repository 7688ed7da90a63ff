"""The flags of the command line that stand for options of reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowdim.table.options import LISTS, SEPARATORS, ReadingOptions, gap_codes, split_names
from lowdim.text.escape import listed
from lowdim.text.messages import error

SWITCHES: dict[str, tuple[str, Any]] = {
    "--header": ("header", True),
    "--no-header": ("header", False),
    "--transpose": ("transpose", True),
    "--keep-copies": ("keep_copies", True),
    "--strict": ("strict", True),
    "--no-log": ("no_log", True),
    "--distances": ("pairs", "distances"),
    "--similarities": ("pairs", "similarities"),
}
VALUES = {
    f"--{name.replace('_', '-')}": name
    for name in ReadingOptions._fields
    if name not in ("header", "transpose", "keep_copies", "strict", "no_log", "pairs", "units", "labelled_rows")
}


def options_from_flags(tokens: Sequence[str]) -> dict[str, Any]:
    """Keyword options of `read` from command-line tokens; a list that is given twice is added up.

    >>> options_from_flags(["--na", "-999", "--drop=site", "--transpose"])
    {'na': ('-999',), 'drop': ('site',), 'transpose': True}
    """
    options: dict[str, Any] = {}
    queue = list(tokens)
    while queue:
        flag, equals, value = queue.pop(0).partition("=")
        if flag in SWITCHES and not equals:
            name, switch = SWITCHES[flag]
            options[name] = switch
        elif flag in VALUES and (equals or queue):
            add_value(options, VALUES[flag], value if equals else queue.pop(0))
        else:
            raise error("LD210", option="flag", value=flag, allowed="one of " + ", ".join([*SWITCHES, *VALUES]))
    return options


def add_value(options: dict[str, Any], name: str, value: str) -> None:
    """Enter an option that came as text; a list that is given twice is added up."""
    if name in LISTS:
        options[name] = (*options.get(name, ()), *split_names(value))
    elif name == "na":
        options[name] = (*options.get(name, ()), *gap_codes(value))
    else:
        options[name] = int(value) if name in ("sample", "sheet") and value.isdigit() else value


def flags_from_options(options: dict[str, Any]) -> list[str]:
    """The command-line words that give these options of `read`, each ready to be pasted into a shell.

    >>> flags_from_options({"na": ("-999", "n d"), "header": False, "drop": ["a"], "sep": "\\t"})
    ['--na=-999,n d', '--no-header', '--drop=a', '--sep=tab']
    """
    words = {sign: word for word, sign in SEPARATORS.items() if word.isalpha()}
    flags = []
    for name, value in options.items():
        switch = next((flag for flag, option in SWITCHES.items() if option == (name, value)), "")
        if name == "no_header" and value:
            switch = "--no-header"
        if switch:
            flags.append(switch)
        elif f"--{name.replace('_', '-')}" in VALUES and value is not None and value != ():
            text = listed(value) if name in (*LISTS, "na", "names") and not isinstance(value, str) else str(value)
            flags.append(f"--{name.replace('_', '-')}={words.get(text, text) if name == 'sep' else text}")
    return flags
