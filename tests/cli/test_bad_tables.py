"""Every bad table through the command: its code, its exit status, no traceback; every fix it proposes, executed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from lowdim.data.flags import proposals

FOLDER = Path(__file__).parents[1] / "data" / "bad_tables"
GOLDEN = sorted(path.name.removesuffix(".golden") for path in FOLDER.glob("*.golden"))


def golden(name: str) -> tuple[int, list[str], list[str]]:
    """The exit code, the flags and the codes of the messages."""
    first, *rest = (FOLDER / f"{name}.golden").read_text(encoding="utf-8").split("\n")
    code, _, flags = first.removeprefix("exit ").partition("  ")
    found = [line[:5] for line in rest if re.match(r"LD\d{3} (error|changed|note)  ", line)]
    return int(code), shlex.split(flags), found


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
    found = re.findall(r"^(LD\d{3}) (?:error|changed|note)  ", said.err, re.M)
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


@pytest.mark.parametrize("name", GOLDEN)
def test_every_fix_of_flags_works_when_pasted(lowdim, name):
    """The message that proposed it is gone, and nothing else stops that did not stop before."""
    exits = golden(name)[0]
    (lowdim.folder / "names.txt").write_text("\n".join(f"n{k}" for k in range(1, 4)) + "\n")
    said = lowdim("check", FOLDER / name, "--json", "--quiet", *flags_of(name))
    before = json.loads(said.out)["messages"]
    for message in before:
        for tokens in proposals(message["fix"]):
            if tokens[0] == "--scale" or tokens[:1] == ["--names"]:
                continue  # how to go on with the analysis, and a file of the reader's own
            given = [] if message["code"] == "LD103" else flags_of(name)  # "did you mean" is said instead
            after = lowdim("check", FOLDER / name, "--json", "--quiet", *given, *tokens)
            left = json.loads(after.out)["messages"]
            assert message not in left, (tokens, message)
            assert after.code in (0, exits) or {m["code"] for m in left if m["severity"] == "error"} != {
                m["code"] for m in before}, (tokens, after.err)


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
