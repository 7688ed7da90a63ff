"""Starting the command: what it imports, what it offers, and what it says to a slip."""

from __future__ import annotations

import re
import time

import pytest

from lowdim.cli import HOMES, SHORT, commands
from tests.cli.calls import child
from tests.cli.conftest import small_table, write_csv

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "jinja2")


def loaded(tmp_path, *arguments: str) -> str:
    code = ("import sys; from lowdim.cli import run; run(sys.argv[1:]); "
            f"print('LOADED', [m for m in {HEAVY} if m in sys.modules])")
    return child(*arguments, cwd=tmp_path, code=code).out.split("LOADED ")[1].strip()


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["plot", "--list"], ["methods"],
                                       ["help", "LD104"], ["--version"], ["runs", "--help"]])
def test_what_needs_no_table_imports_nothing_heavy(tmp_path, arguments):
    assert loaded(tmp_path, *arguments) == "[]"


def test_help_is_quick(tmp_path):
    """0.3 s of this process's time on a machine with nothing else to do; processor time, as tests share theirs."""
    code = ("import sys, time; from lowdim.cli import run; run(['--help']); print('SPENT', time.process_time())")
    spent = min(float(child(cwd=tmp_path, code=code).out.split("SPENT ")[1]) for _ in range(3))
    assert spent < 0.3


@pytest.mark.drill
def test_help_is_quick_by_the_clock(tmp_path):
    begun = time.perf_counter()
    assert child("--help", cwd=tmp_path).code == 0
    assert time.perf_counter() - begun < 0.3


def test_every_command_is_listed_with_a_line(lowdim):
    said = lowdim("--help")
    assert said.code == 0 and list(SHORT) == list(HOMES) == commands.list_commands(None)
    assert all(re.search(rf"^  {name} +\S", said.out, re.M) for name in HOMES)


@pytest.mark.parametrize("name", HOMES)
def test_every_command_has_help_and_every_option_a_line(lowdim, name):
    said = lowdim(name, "--help")
    assert said.code == 0 and said.out.startswith(f"Usage: lowdim {name}")
    options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)(.*(?:\n {10,}.*)*)", said.out, re.M)
    assert options and all(len(line.split()) >= 2 for _, line in options), said.out
    assert lowdim("help", name).out == said.out


def test_every_option_that_a_message_names_exists(lowdim):
    """product.md 4.1: a command or an option is printed only once it exists."""
    from lowdim.messages import CATALOGUE

    known = set(re.findall(r"--[a-z-]+", "".join(lowdim(name, "--help").out for name in HOMES)))
    named = {flag for entry in CATALOGUE.values() for part in (entry.what, entry.why, entry.fix)
             for flag in re.findall(r"--[a-z][a-z-]*[a-z]", part)}
    verbs = {verb for entry in CATALOGUE.values() for part in (entry.what, entry.why, entry.fix)
             for verb in re.findall(r"lowdim ([a-z]+)\b", part)}
    assert named <= known, named - known
    assert verbs <= {*HOMES, "model", "can"}, verbs


@pytest.mark.parametrize(("arguments", "says"), [
    (["reprot", "x.csv"], "Did you mean  lowdim report"), (["report"], "Missing argument"),
    (["report", "x.csv", "--no-such"], "No such option"), (["explain", "x.run"], "give one of --row, --axis"),
    (["report", "x.csv", "--dims", "many"], "neither auto nor a whole number"), (["plot", "map"], "give a plot"),
    (["plot", "no_such", "x.csv"], "is not a plot"), (["help", "LD999"], "neither a message nor a command"),
    (["runs", "a", "b", "c"], "two run folders"), (["fill", "x.csv", "-o", "y.csv", "--multiple", "-3"], "range")])
def test_bad_usage_leaves_with_2(lowdim, arguments, says):
    said = lowdim(*arguments)
    assert said.code == 2 and says in said.err and said.out == ""


@pytest.mark.parametrize(("arguments", "code", "exits"), [
    (["--budget", "soon"], "LD210", 2), (["--level", "1.5"], "LD210", 2), (["--dims", "9"], "LD200", 2),
    (["--scale", "pareto"], "LD210", 2), (["--drop", "nobody"], "LD103", 2), (["--sep", "xyz"], "LD210", 2)])
def test_bad_values_leave_with_2_and_a_code(lowdim, made, arguments, code, exits):
    said = lowdim("fit", made / "small.csv", *arguments)
    assert said.code == exits and said.err.split("\n")[-5:] and code in said.err and said.out == ""


def test_a_file_that_is_not_there(lowdim, made):
    assert lowdim("nowhere.csv").code == 3
    assert lowdim("explain", "nowhere.run", "--row", "1").code == 3
    assert lowdim("odd", made / "small.csv", "--budget").code == 2
    assert "LD304" in lowdim("fill", made / "small.csv", "-o", "no/such/folder/out.csv").err


def test_an_unknown_error_is_one_message_and_a_traceback_only_when_asked_for(lowdim, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("lowdim.data.table.read", broken)
    said = lowdim("check", "x.csv")
    assert said.code == 1 and "ZeroDivisionError: by nought" in said.err and "--debug" in said.err
    with pytest.raises(ZeroDivisionError):
        lowdim("check", "x.csv", "--debug")


def test_a_terminal_without_utf8_is_no_reason_to_stop(tmp_path):
    code = ("import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='iso8859-5'); "
            "from lowdim.cli import main; main()")
    write_csv(tmp_path / "t.csv", small_table(), ["température", "b", "c", "d", "e", "f"])
    said = child("check", "t.csv", cwd=tmp_path, code=code)
    assert said.code == 0 and "temp?rature" in said.out and "Nothing blocks" in said.out


def test_a_reader_that_leaves_early_is_no_error(tmp_path, made):
    code = ("import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); from lowdim.cli import main; main()")
    assert child("check", made / "small.csv", "--quiet", cwd=tmp_path, code=code) == (0, "", "")
