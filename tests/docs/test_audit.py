"""The audit of the texts: all its items, and every command, option, plot, page, function and test it names is there."""

from __future__ import annotations

import re
from collections import Counter

import click

import lowdim
from lowdim import datasets
from lowdim.cli.entry import load_command, modules
from lowdim.datasets import DEMO_TABLES
from lowdim.plot.registry import descriptions, find
from lowdim.registry import FITTED
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "audit.md"
ROW = re.compile(r"^\| ([ZNLMK]\d+) \| (.+?) \| (works|partial|absent) \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))


def options_of(name: str) -> set[str]:
    """Every flag of a command."""
    command = load_command(name)
    with click.Context(command) as context:
        return {flag for param in command.get_params(context) for flag in (*param.opts, *param.secondary_opts)}


def lies(token: str) -> list[str]:
    """What a name in backticks says that is not so."""
    if token.startswith("gallery/"):
        return [] if (ROOT / "docs" / token).is_file() else [token]
    if token.startswith("tests/"):
        return [] if (ROOT / token).is_file() else [token]
    if token.startswith("ld.datasets."):
        return [] if hasattr(datasets, token.removeprefix("ld.datasets.")) else [token]
    if token.startswith("ld."):
        return [] if token.removeprefix("ld.") in lowdim.__all__ else [token]
    if token.startswith("lowdim "):
        return lies_of_command(token.split()[1:])
    return []


def lies_of_command(words: list[str]) -> list[str]:
    name, *rest = words
    if name not in modules():
        return [name]
    if name == "plot":
        return lies_of_plot(*rest)
    flags = [word for word in rest if word.startswith("-")]
    found = [f"{name} {flag}" for flag in flags if flag not in options_of(name)]
    if name == "fit":
        found += [f"-m {rest[k + 1]}" for k, word in enumerate(rest) if word == "-m" and rest[k + 1] not in FITTED]
    if name == "demo" and rest:
        found += [] if rest[0] in DEMO_TABLES else [f"demo {rest[0]}"]
    return found


def lies_of_plot(plot: str, *flags: str) -> list[str]:
    if plot not in descriptions():
        return [f"plot {plot}"]
    known = {option.spelling for option in find(plot).options}
    return [f"{plot} {flag}" for flag in flags if flag not in known]


def test_every_item_is_there_once_and_most_work():
    count = {"Z": 29, "N": 3, "L": 78, "M": 14, "K": 17}
    assert [row[0] for row in ROWS] == [f"{text}{k}" for text, many in count.items() for k in range(1, many + 1)]
    states = Counter(state for _, _, state, _ in ROWS)
    assert states["works"] >= 130 and sum(states.values()) == 141


def test_a_row_cannot_lie():
    for item, _, state, where in ROWS:
        tokens = re.findall(r"`([^`]+)`", where)
        links = re.findall(r"\]\(([^)]+)\)", where)
        assert state == "absent" or tokens or links, item
        found = {lie for token in tokens for lie in lies(token)}
        found |= {link for link in links if not (PAGE.parent / link).is_file()}
        assert not found, (item, found)


def test_a_lie_would_be_seen():
    commands = ("nothing", "fit -m nothing", "fit --nothing", "plot nothing", "plot map --nothing", "demo nothing")
    for token in (*(f"lowdim {words}" for words in commands), "ld.nothing", "gallery/nothing.py", "tests/nothing.py"):
        assert lies(token), token
    assert not lies("lowdim fit -m mds --distances") and not lies("lowdim plot gtm_sheet --plane --color")
