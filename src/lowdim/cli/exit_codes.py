"""What the command line leaves with."""

from __future__ import annotations

from lowdim.text.kinds import BudgetError, FileError, OptionError
from lowdim.text.messages import LowdimError

ASKED_AMISS = {
    "LD304",  # a file that cannot be written was asked for
    "LD319",  # the run can be read, and is not of the kind that the command is about
    "LD326",
}


def exit_code(problem: LowdimError) -> int:
    """What the command line leaves with: 2 usage, 3 unreadable, 6 over a limit, 4 everything else about a table."""
    if isinstance(problem, OptionError) or problem.code in ASKED_AMISS:
        return 2
    if isinstance(problem, FileError):
        return 3
    if isinstance(problem, BudgetError):
        return 6
    return 3 if problem.code.startswith("LD00") or problem.code in ("LD010", "LD011") else 4
