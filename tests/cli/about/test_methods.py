"""`lowdim methods`: every model, from one place."""

from __future__ import annotations

import json
import re

import lowdim as ld
from lowdim.registry import FITTED, METHODS, questions


def test_methods_are_listed_from_one_place(lowdim):
    """Every method answers some question, every class named exists, every name is printed with what it lacks."""
    assert {METHODS[name].class_name for name in FITTED} <= {name for q in questions() for name in q.answer.split(", ")}
    assert all(name in dir(ld) for q in questions() for name in q.answer.split(", ") if name)
    out = lowdim("methods").out
    assert all(q.text in out and q.how in out for q in questions())
    for name in FITTED:
        line = re.search(rf"^  {name} +(.*)$", out, re.M)
        assert line and METHODS[name].title in line[1] and all(word in line[1] for word in METHODS[name].lacks)
    told = json.loads(lowdim("methods", "--json").out)
    assert len(told["methods"]) == len(questions()) and {m["name"] for m in told["names"]} == set(FITTED)


def test_what_methods_recommends_can_be_typed():
    """Every command exists, with every flag and every name for -m that is printed."""
    import click

    from lowdim.cli.entry import load_command, modules

    for question in questions():
        first, name, *words = question.how.split()
        assert first == "lowdim" and name in modules(), question.how
        command = load_command(name)
        with click.Context(command) as context:
            known = {flag for param in command.get_params(context) for flag in param.opts}
        assert {word for word in words if word.startswith("-")} <= known, question.how
        assert all(words[k + 1] in FITTED for k, word in enumerate(words) if word == "-m"), question.how
