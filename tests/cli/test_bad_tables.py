"""Every bad table through the command: its code, its exit status, no traceback; every fix it proposes, executed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.repairs import REPAIRS

FOLDER = Path(__file__).parents[1] / "table" / "bad_tables"
GOLDEN = sorted(path.name.removesuffix(".golden") for path in FOLDER.glob("*.golden"))


WORD = r"""(?!--)(?:,(?=\s|$)|(?:'[^']*'|"[^"]*"|[\w.,:/@%+=-]*[\w.:/@%+=-])+)"""
FLAGS = re.compile(rf"--[a-z][a-z-]*(?: {WORD})?(?: --[a-z][a-z-]*(?: {WORD})?)*")


def flags_in(fix: str) -> list[list[str]]:
    """The flags that a person sees in a fix, as the shell would pass them on; the command never reads its own words."""
    return [shlex.split(match[0]) for match in FLAGS.finditer(fix)]


def golden(name: str) -> tuple[int, list[str], list[str]]:
    """The exit code, the flags and the codes of the messages."""
    first, *rest = (FOLDER / f"{name}.golden").read_text(encoding="utf-8").split("\n")
    code, _, flags = first.removeprefix("exit ").partition("  ")
    found = [line[:5] for line in rest if re.match(r"LD\d{3} (error|changed|note)  ", line)]
    return int(code), shlex.split(flags), found


def prose(name: str) -> list[tuple[str, str]]:
    """The messages of a golden whose fix is words to a person and not flags."""
    text = (FOLDER / f"{name}.golden").read_text(encoding="utf-8")
    found = re.findall(r"^(LD\d{3}) (?:error|changed|note)  .*\n((?: .*\n)*)", text, re.M)
    fixes = [(code, re.search(r"^  fix     ((?:.*\n)*)", rest, re.M)) for code, rest in found]
    return [
        (name, code)
        for code, fix in fixes
        if fix and not all(flags_in(line) or not line.strip() for line in fix[1].split("\n"))
    ]


PROSE = sorted({pair for name in GOLDEN for pair in prose(name)})


def test_every_prose_fix_has_its_repair():
    assert set(PROSE) == set(REPAIRS)


def flags_of(name: str) -> list[str]:
    """Its flags, files among them found from anywhere."""
    words = golden(name)[1]
    return [str(FOLDER / word) if (FOLDER / word).is_file() else word for word in words]


def test_there_are_enough_of_them():
    assert len(GOLDEN) >= 35


@pytest.mark.parametrize("name", GOLDEN)
def test_its_code_its_exit_status_and_no_traceback(lowdim, name):
    exits, _, codes = golden(name)
    verb = "dims" if exits else "check"  # what stops does so before anything is fitted
    said = lowdim(verb, FOLDER / name, *flags_of(name))
    found = re.findall(r"^(LD\d{3}) (?:error|changed|note)  ", said.out + said.err, re.M)
    assert said.code == exits, said.err
    errors = [c for c in codes if f"{c} error" in (FOLDER / f"{name}.golden").read_text(encoding="utf-8")]
    assert set(errors or codes) <= set(found) and (not exits or said.out == "")
    assert "\x1b" not in said.out + said.err


@pytest.mark.parametrize("name", [name for name in GOLDEN if golden(name)[0]])
def test_json_says_the_same(lowdim, name):
    said = lowdim("report", FOLDER / name, "--json", "--quiet", *flags_of(name))
    told = json.loads(said.out)
    assert said.code == golden(name)[0] and told["schema"] == 1
    assert told["error"] in {m["code"] for m in told["messages"]}
    assert all(m.keys() == {"code", "severity", "where", "text", "why", "fix"} for m in told["messages"])


def messages_of(lowdim, file: Path, *flags: str) -> tuple[int, list[dict[str, str]]]:
    """The exit code of `check`, and what it said."""
    said = lowdim("check", file, "--json", "--quiet", *flags)
    return said.code, json.loads(said.out)["messages"]


def works(before: list[dict[str, str]], message: dict[str, str], after: list[dict[str, str]], code: int) -> None:
    """The message is gone, and nothing stops the analysis that did not stop it before."""
    assert message not in after, message
    errors = [m for m in after if m["severity"] == "error"]
    known = {m["code"] for m in before if m["severity"] == "error"} - ({message["code"]} if len(before) == 1 else set())
    assert all(m["code"] in known for m in errors), (message, errors)
    assert bool(code) == bool(errors), (message, code)


@pytest.mark.parametrize("name", GOLDEN)
def test_every_fix_of_flags_works_when_pasted(lowdim, name):
    _, before = messages_of(lowdim, FOLDER / name, *flags_of(name))
    wide = name_count(FOLDER / name)
    (lowdim.folder / "names.txt").write_text("\n".join(f"n{k}" for k in range(wide)) + "\n")
    for message in before:
        for tokens in flags_in(message["fix"]):
            given = replaced(flags_of(name), tokens, message)
            code, after = messages_of(lowdim, FOLDER / name, *given, *tokens)
            if tokens[0] == "--names":  # the note stays, and the names are these
                told = json.loads(lowdim("check", FOLDER / name, "--json", "--quiet", *given, *tokens).out)
                assert code == 0 and [c["name"] for c in told["columns"]] == [f"n{k}" for k in range(wide)]
                continue
            works(before, message, after, code)


def name_count(path: Path) -> int:
    """The columns of a CSV, for a file of names."""
    return len(re.split("[,;]", path.read_bytes().decode("latin-1").split("\n")[0]))


def replaced(flags: list[str], tokens: list[str], message: dict[str, str]) -> list[str]:
    """The flags of before without those that the fix takes the place of."""
    if message["code"] == "LD103":  # "did you mean" is said instead
        return []
    kept, instead = list(flags), {"--drop", "--label", "--time", "--encode", "--id"} & set(tokens)
    if message["code"] in ("LD104", "LD115") and instead:
        kept = []
    return kept


# the bomb holds two million lines
@pytest.mark.parametrize(
    ("name", "code"),
    [pytest.param(*pair, marks=[pytest.mark.slow] if pair[0] == "bomb.csv.gz" else []) for pair in PROSE],
)
def test_every_other_fix_works_when_done(lowdim, name, code):
    """What a fix asks a person to do is done by hand, and then the message is gone."""
    _, before = messages_of(lowdim, FOLDER / name, *flags_of(name))
    for repair in REPAIRS[name, code]:
        path, flags = repair.do(FOLDER / name, lowdim.folder)
        message = next(m for m in before if m["code"] == code)
        assert repair.words in message["fix"], message["fix"]
        left, after = messages_of(lowdim, path, *(flags_of(name) if flags is None else flags))
        works(before, message, after, left)


def test_strict_makes_changes_errors_and_check_says_1(lowdim):
    assert lowdim("dims", FOLDER / "strict.csv", "--strict").code == 4
    said = lowdim("check", FOLDER / "strict.csv", "--strict")
    assert said.code == 1 and "Nothing blocks" in said.out and "--strict" in said.err
    assert lowdim("check", FOLDER / "strict.csv").code == 0


def test_check_all_shows_every_message(lowdim, tmp_path):
    head = ",".join(f"x{k}" for k in range(80))
    rows = [",".join(str(((7 * i + 3 * k * i * i) % 101) / 7 if k < 71 else 5) for k in range(80)) for i in range(30)]
    (tmp_path / "wide.csv").write_text("\n".join([head, *rows]))
    few, everything = lowdim("check", "wide.csv"), lowdim("check", "wide.csv", "--all")
    assert "(lowdim check --all)" in few.out and "(lowdim check --all)" not in everything.out
    assert "x79" in everything.out
