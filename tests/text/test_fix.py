"""What to do about a message is data until it is shown, and nothing in lowdim looks for words in a message."""

from __future__ import annotations

import ast
import copy
import pickle
import shlex
from pathlib import Path

import pytest

import lowdim
from lowdim.table.options import ReadingOptions
from lowdim.text.fix import Fix, Flag, Spelling, choices, propose
from lowdim.text.messages import catalogue, message
from tests.table.flags import options_from_flags

SOURCE = Path(lowdim.__file__).parent
TEXTS = {"what", "where", "why", "fix", "problem"}  # of a message, or on the way to one
PARTS = {"parts", "proposals", "in_python"}  # what a Fix offers
SEARCHES = {"search", "match", "fullmatch", "finditer", "findall", "split", "sub"}

EVERY_OPTION = {
    "na": ["<0.05", "n.d.", "a,b", 'a"b', "$(x)"],
    "drop": ["b b", "c"],
    "id": "name, in full",
    "sep": "tab",
    "decimal": ",",
    "sheet": "first, second",
    "sample": 100,
    "header": False,
    "transpose": True,
    "keep_copies": True,
    "below_limit": "half",
}


def test_a_proposal_is_the_same_options_in_both_spellings():
    proposal = propose(**EVERY_OPTION)
    wanted = {key: tuple(value) if isinstance(value, list) else value for key, value in EVERY_OPTION.items()}
    assert options_from_flags(shlex.split(proposal.as_command())) == wanted
    read = eval(f"ld{proposal.as_python('path').removeprefix('ld')}", {"ld": Recorder, "path": "t.csv"})
    assert read == ("t.csv", EVERY_OPTION)


class Recorder:
    """What `ld.read` was called with."""

    @staticmethod
    def read(*tables, **options):
        return *tables, options


def test_a_fix_is_spelled_for_whom_it_is_shown_to():
    fix = choices(
        [("leave it out", propose(drop=["a b"])), ("show it", Spelling("lowdim x.csv", "ld.analyse('x.csv')"))]
    )
    assert str(fix) == 'leave it out:  --drop "a b"\nshow it:       lowdim x.csv'
    assert str(fix.in_python("t")) == "leave it out:  ld.read(t, drop=['a b'])\nshow it:       ld.analyse('x.csv')"
    assert [p.flags for p in fix.proposals] == [(Flag("drop", ("a b",)),)] and not fix.in_python("t").proposals
    assert pickle.loads(pickle.dumps(fix)) == copy.deepcopy(fix) == fix and len({fix, copy.copy(fix)}) == 1
    assert not Fix() and not Fix("") and str(Fix()) == "" and Fix("a") != Fix("b")


def test_a_fix_is_no_text():
    """Whoever looks for words in one is stopped by Python."""
    fix = Fix("leave it out:  ", propose(drop=["a"]))
    with pytest.raises(TypeError):
        _ = "--drop" in fix
    for verb in ("split", "startswith", "removeprefix", "partition", "replace"):
        assert not hasattr(fix, verb)


def test_facts_are_filled_into_words_and_into_flags():
    made = message("LD122", column="{x}", share="50%", others=3, drop=["{x}", "y"])
    assert str(made.fix) == "leave it out:  --drop '{x},y'" or str(made.fix) == 'leave it out:  --drop "{x},y"'
    assert made.facts()["fix"] == str(made.fix) and made.fix.proposals == (propose(drop=["{x}", "y"]),)
    brought = message("LD113", n=1, why="", fix=Fix("{not a fact}  ", propose(encode=["{y}"])))
    assert str(brought.fix).startswith("{not a fact}  --encode ")


def test_the_catalogue_proposes_options_that_exist():
    for code, entry in catalogue().items():
        flags = [flag for p in (entry.fix.proposals if isinstance(entry.fix, Fix) else ()) for flag in p.flags]
        assert {flag.option for flag in flags} <= set(ReadingOptions._fields), code


def test_no_message_is_read_back():
    """The lines of a message are passed on or printed, never compared, cut, searched or indexed."""
    for path in SOURCE.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert [f"{path}:{node.lineno}: {ast.unparse(node)}" for node in nodes if reads_back(node)] == []


def reads_back(node: ast.AST) -> bool:
    """Whether this expression looks into a line of a message."""
    if isinstance(node, ast.Compare):
        return any(map(is_text, (node.left, *node.comparators)))
    if isinstance(node, ast.Attribute):
        return is_text(node.value) and node.attr not in PARTS
    if isinstance(node, ast.Subscript):
        return is_text(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
        return any(map(is_text, node.args))
    return False


def is_text(node: ast.AST) -> bool:
    """A line of a message, or all of it as text; the entries of the catalogue are templates."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return any(is_text(part) or getattr(part, "id", "") in ("m", "message", "note") for part in node.args)
    return isinstance(node, ast.Attribute) and node.attr in TEXTS and getattr(node.value, "id", "") != "entry"


@pytest.mark.parametrize(
    ("code", "caught"),
    [
        ("'--na' in m.fix", True),
        ("m.where.split(',')", True),
        ("re.search('x', error.problem)", True),
        ("'x' in str(m)", True),
        ("m.what[:5]", True),
        ("m.what == 'x'", True),
        ("print(m.fix, str(m.fix))", False),
        ("np.where(m.fix.parts, 0, 1)[0]", False),
    ],
)
def test_the_search_finds_what_it_is_for(code, caught):
    assert any(map(reads_back, ast.walk(ast.parse(code)))) == caught
