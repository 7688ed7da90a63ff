"""Options of reading from the words of a command line, as tests write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowdim.table.options import OPTIONS, add_value

SWITCHES = {switch.flag: (name, switch.value) for name, option in OPTIONS.items() for switch in option.switches}


def options_from_flags(tokens: Sequence[str]) -> dict[str, Any]:
    """Keyword options of `read` from command-line tokens; a list that is given twice is added up."""
    options: dict[str, Any] = {}
    queue = list(tokens)
    while queue:
        flag, equals, value = queue.pop(0).partition("=")
        if flag in SWITCHES:
            name, options_value = SWITCHES[flag]
            options[name] = options_value
        else:
            add_value(options, flag.removeprefix("--").replace("-", "_"), value if equals else queue.pop(0))
    return options
