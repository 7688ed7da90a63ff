"""methods: which method for which question."""

from __future__ import annotations

from lowdim.cli.entry import command
from lowdim.cli.options import common_options
from lowdim.cli.output import print_json, say
from lowdim.text.table import text_table


@command("Which method for which question.", example="lowdim methods", rank=15)
@common_options
def methods_command(quiet: bool, as_json: bool) -> None:
    """Which method for which question."""
    from lowdim.registry import FITTED, METHODS, questions

    if as_json:
        print_json(
            methods=[{"question": q.text, "method": q.answer, "how": q.how} for q in questions()],
            names=[{"name": name, "method": METHODS[name].title, "lacks": METHODS[name].lacks} for name in FITTED],
        )
        return
    for question in questions():
        say(f"{question.text}\n    {question.answer:<27} {question.how}")
    lines = text_table((name, METHODS[name].title, ", ".join(METHODS[name].lacks)) for name in FITTED)
    say("\n".join(["", "Names for -m, and what each does not have:", *lines]))
