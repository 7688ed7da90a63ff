"""What a caller from Python passes as a table: a path, a data frame, an array or a Table that was read."""

from __future__ import annotations

import re
import shlex
from os import PathLike
from typing import Any

from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.source import Source
from lowdim.table.flags import options_from_flags, proposals
from lowdim.table.notes import CheckError
from lowdim.table.read import read
from lowdim.table.table import Messages, Table
from lowdim.text.messages import LowdimError, Message

COMMAND = re.compile(r"(.*)\blowdim (?:report |check )?((?:'[^']*'|\"[^\"]*\"|[^\s-])\S*)")  # a fix that is a command


def as_table(table: Any) -> Table:
    """A table as it is, or read; an error has fixes as a caller from Python writes them."""
    if isinstance(table, Table):
        return table
    try:
        return read(table)
    except CheckError as problem:
        raise CheckError(Messages(_in_python(m, table) for m in problem.messages)) from None
    except LowdimError as problem:
        m = problem.message
        raise (type(problem)(_in_python(m, table)) if isinstance(m, Message) else problem) from None


def _in_python(m: Message, table: Any) -> Message:
    """A message whose fix names options of `read` where the command line has flags."""
    if m.code == "LD101":
        return m._replace(fix="pass the path of a file, or" + m.fix.removeprefix("pass"))
    if m.code == "LD160" and not proposals(m.fix):  # said of a file: lines, a header
        return m._replace(fix="add rows: each row is one observation, each column one variable")
    name = repr(str(table)) if isinstance(table, str | PathLike) else "table"
    lines = []
    for line in m.fix.split("\n"):
        command = COMMAND.fullmatch(line)
        if command:
            line = f"{command[1]}ld.analyse({shlex.split(command[2])[0]!r})"
        calls = [
            ", ".join([name, *(f"{key}={value!r}" for key, value in options_from_flags(flags).items())])
            for flags in proposals(line)
        ]
        words = line.partition("--")[0] if calls else line
        lines.append(words + "  or  ".join(f"ld.read({call})" for call in calls))
    return m._replace(fix="\n".join(lines))


def source_of(table: Table) -> ArraySource:
    """The numbers of a table with their columns' names."""
    return ArraySource(table.X, columns=table.names)


def numbers_of(table: Any, standardize: bool | None) -> tuple[Source, bool, Table | None]:
    """The numbers, whether columns count in units of their spread, and the Table where there is one.

    A path or a data frame is read as `lowdim.read` does; an array or a Source is taken as it is.
    """
    if isinstance(table, str | PathLike | Table) or (hasattr(table, "columns") and not isinstance(table, Source)):
        t = as_table(table)
        return source_of(t), t.scale == "unit" if standardize is None else standardize, t
    return as_source(table), standardize is None or standardize, None
