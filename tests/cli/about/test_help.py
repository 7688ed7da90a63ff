"""`lowdim help` and --help: every command, every option, every message."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from lowdim.cli.about.help import FAMILIES
from lowdim.cli.entry import commands, every_command, load_command, modules
from tests.cli.calls import child, in_process
from tests.cli.conftest import small_table, write_csv

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "jinja2")


LIGHT = ["--help", "report --help", "plot --list", "methods", "help LD104", "--version", "runs --help"]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> dict[str, str]:
    """The heavy modules in a new process after each of these calls, one after the other."""
    code = (
        "import sys; from lowdim.cli.entry import run\n"
        f"for line in {LIGHT}: run(line.split()); print('LOADED', [m for m in {HEAVY} if m in sys.modules])"
    )
    found = child(cwd=tmp_path_factory.mktemp("light"), code=code).out.split("LOADED ")[1:]
    return {line: part.split("\n")[0] for line, part in zip(LIGHT, found, strict=True)}


@pytest.mark.parametrize("line", LIGHT)
def test_what_needs_no_table_imports_nothing_heavy(loaded, line):
    assert loaded[line] == "[]"


def test_every_command_is_listed_with_a_line(lowdim):
    said = lowdim("--help")
    assert (
        said.code == 0
        and list(every_command()) == commands.list_commands(None)
        and set(every_command()) == set(modules())
    )
    assert all(re.search(rf"^  {name} +\S", said.out, re.M) for name in modules())


@pytest.mark.parametrize("name", modules())
def test_every_command_has_help_and_every_option_a_line(lowdim, name):
    said = lowdim(name, "--help")
    assert said.code == 0 and said.out.startswith(f"Usage: lowdim {name}")
    options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)(.*(?:\n {10,}.*)*)", said.out, re.M)
    assert options and all(len(line.split()) >= 2 for _, line in options), said.out
    assert lowdim("help", name).out == said.out


def test_every_option_that_a_message_names_exists(lowdim):
    """A command or an option is printed only once it exists."""
    from lowdim.text.messages import catalogue

    known = set(re.findall(r"--[a-z-]+", "".join(lowdim(name, "--help").out for name in modules())))
    named = {
        flag
        for entry in catalogue().values()
        for part in (entry.what, entry.why, entry.fix)
        for flag in re.findall(r"--[a-z][a-z-]*[a-z]", str(part))
    }
    verbs = {
        verb
        for entry in catalogue().values()
        for part in (entry.what, entry.why, entry.fix)
        for verb in re.findall(r"lowdim ([a-z]+)\b", str(part))
    }
    assert named <= known, named - known
    assert verbs <= {*modules(), "model", "can", "does"}, verbs


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory):
    """What the examples speak of: table.csv, table.run and new.csv."""
    folder = tmp_path_factory.mktemp("examples")
    write_csv(folder / "table.csv", small_table())
    write_csv(folder / "new.csv", small_table(seed=9)[:3])
    assert in_process("fit", "table.csv", "--budget", "1s", cwd=folder).code == 0
    return folder


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.drill) if name == "demo" else name for name in modules()]
)  # test_demo.py runs the example of demo
def test_the_example_of_every_command_works_when_pasted(lowdim, no_drawing, example_folder, monkeypatch, name):
    line = re.search(r"^ *Example:  lowdim (.*)$", lowdim(name, "--help").out, re.M)
    assert line and line[1] == load_command(name).example.removeprefix("lowdim ")
    monkeypatch.chdir(example_folder)
    monkeypatch.setattr("lowdim.cli.run.explore.wait", lambda: None)  # for Ctrl-C
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    said = lowdim(*shlex.split(line[1]))
    assert said.code == 0 and said.out, said.err


def test_help_alone_lists_commands_and_messages_by_family(lowdim):
    from lowdim.text.messages import catalogue

    out = lowdim("help").out
    assert all(re.search(rf"^  {name} ", out, re.M) for name in modules())
    assert re.findall(r"^(\w.*)  \(lowdim help CODE\)", out, re.M) == [title for _, title in FAMILIES]
    listed = re.findall(r"^  (LD\d{3})  (.*)$", out, re.M)
    assert [code for code, _ in listed] == sorted({key[:5] for key in catalogue()})
    assert all(len(re.findall(r"[A-Za-z]{2,}", text)) >= 2 for _, text in listed)  # not dots alone


def test_methods_and_help(lowdim):
    assert "ProbabilisticPCA" in lowdim("methods").out
    assert len(json.loads(lowdim("methods", "--json").out)["methods"]) >= 16
    said = lowdim("help", "ld104")
    assert said.code == 0 and said.out.count("LD104  ") == 2 and "axes are built from numbers" in said.out
