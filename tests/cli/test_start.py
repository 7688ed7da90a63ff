"""Starting the command: what it imports, what it offers, and what it says to a slip."""

from __future__ import annotations

import json
import re
import shlex
import time

import pytest

from lowdim.cli import run
from lowdim.cli.about.help import FAMILIES
from lowdim.cli.group import commands, every_command, load_command, modules
from tests.cli.calls import child
from tests.cli.conftest import small_table, write_csv
from tests.conftest import ROOT

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "jinja2")


def loaded(tmp_path, *arguments: str) -> str:
    code = (
        "import sys; from lowdim.cli import run; run(sys.argv[1:]); "
        f"print('LOADED', [m for m in {HEAVY} if m in sys.modules])"
    )
    return child(*arguments, cwd=tmp_path, code=code).out.split("LOADED ")[1].strip()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["report", "--help"],
        ["plot", "--list"],
        ["methods"],
        ["help", "LD104"],
        ["--version"],
        ["runs", "--help"],
    ],
)
def test_what_needs_no_table_imports_nothing_heavy(tmp_path, arguments):
    assert loaded(tmp_path, *arguments) == "[]"


def test_help_is_quick(tmp_path):
    """0.3 s of this process's time on a machine with nothing else to do; processor time, as tests share theirs."""
    code = "import sys, time; from lowdim.cli import run; run(['--help']); print('SPENT', time.process_time())"
    spent = min(float(child(cwd=tmp_path, code=code).out.split("SPENT ")[1]) for _ in range(3))
    assert spent < 0.3


@pytest.mark.drill
def test_help_is_quick_by_the_clock(tmp_path):
    begun = time.perf_counter()
    assert child("--help", cwd=tmp_path).code == 0
    assert time.perf_counter() - begun < 0.3


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
    """product.md 4.1: a command or an option is printed only once it exists."""
    from lowdim.text.messages import catalogue

    known = set(re.findall(r"--[a-z-]+", "".join(lowdim(name, "--help").out for name in modules())))
    named = {
        flag
        for entry in catalogue().values()
        for part in (entry.what, entry.why, entry.fix)
        for flag in re.findall(r"--[a-z][a-z-]*[a-z]", part)
    }
    verbs = {
        verb
        for entry in catalogue().values()
        for part in (entry.what, entry.why, entry.fix)
        for verb in re.findall(r"lowdim ([a-z]+)\b", part)
    }
    assert named <= known, named - known
    assert verbs <= {*modules(), "model", "can", "does"}, verbs


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reprot", "x.csv"], "Did you mean  lowdim report"),
        (["report"], "Missing argument"),
        (["report", "x.csv", "--no-such"], "No such option"),
        (["explain", "x.run"], "give one of --row, --axis"),
        (["report", "x.csv", "--dims", "many"], "neither auto nor a whole number"),
        (["plot", "map"], "give a plot"),
        (["plot", "no_such", "x.csv"], "is not a plot"),
        (["help", "LD999"], "neither a message nor a command"),
        (["runs", "a", "b", "c"], "two run folders"),
        (["fill", "x.csv", "-o", "y.csv", "--multiple", "-3"], "range"),
    ],
)
def test_bad_usage_leaves_with_2(lowdim, arguments, says):
    said = lowdim(*arguments)
    assert said.code == 2 and says in said.err and said.out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "exits"),
    [
        (["--budget", "soon"], "LD210", 2),
        (["--level", "1.5"], "LD210", 2),
        (["--dims", "9"], "LD200", 2),
        (["--scale", "pareto"], "LD210", 2),
        (["--drop", "nobody"], "LD103", 2),
        (["--sep", "xyz"], "LD210", 2),
    ],
)
def test_bad_values_leave_with_2_and_a_code(lowdim, made, arguments, code, exits):
    said = lowdim("fit", made / "small.csv", *arguments)
    assert said.code == exits and said.err.split("\n")[-5:] and code in said.err and said.out == ""


def test_a_file_that_is_not_there(lowdim, made):
    assert lowdim("nowhere.csv").code == 3
    assert lowdim("explain", "nowhere.run", "--row", "1").code == 3
    assert lowdim("odd", made / "small.csv", "--budget").code == 2


def test_a_folder_that_is_not_there_is_said_before_any_work(lowdim, made, monkeypatch):
    monkeypatch.setattr("lowdim.table.read.read", lambda *a, **k: pytest.fail("work was done first"))
    for verb, more in (("fill", ()), ("odd", ()), ("report", ()), ("apply", (made / "small.csv",))):
        said = lowdim(verb, made / ("small.run" if more else "small.csv"), *more, "-o", "no/such/out.csv")
        assert said.code == 2 and "LD304" in said.err and "there is no folder 'no/such'" in said.err
        assert "make the folder first" in said.err and "free some space" not in said.err


def test_what_cannot_be_written_has_the_fix_of_its_cause(tmp_path):
    from lowdim.jobs.run_folder import write
    from lowdim.text.messages import LowdimError, error

    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for path, fix in (
        (tmp_path / "no" / "x.csv", "make the folder first"),
        (tmp_path / "folder", "name of a file"),
        (tmp_path / "file" / "x.csv", "save elsewhere"),
    ):
        with pytest.raises(LowdimError) as raised:
            write(path, "text")
        assert raised.value.code == "LD304" and fix in raised.value.fix
        assert "free some space" not in raised.value.fix
    full = error("LD304", path="x", problem="No space left on device")
    assert full.fix == "free some space, or save elsewhere"


def test_an_unknown_error_is_one_message_and_a_traceback_only_when_asked_for(lowdim, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("lowdim.table.read.read", broken)
    said = lowdim("check", "x.csv")
    assert said.code == 70 and said.out == "" and said.err.count("\n") == 1
    assert "lowdim itself failed" in said.err and "ZeroDivisionError: by nought" in said.err and "report it" in said.err
    assert "Traceback" not in said.err and "--debug" in said.err
    told = json.loads(lowdim("check", "x.csv", "--json").out)
    assert told["error"] == "fault" and told["messages"][0]["text"] == "ZeroDivisionError: by nought"
    assert run(["check", "x.csv", "--debug"]) == 70
    assert "Traceback" in (err := lowdim.capsys.readouterr().err) and "in broken" in err


def test_exit_70_and_debug_are_written_down(lowdim):
    assert "70 a fault of lowdim" in lowdim("--help").out.replace("\n  ", " ")
    assert "70" in (ROOT / "README.md").read_text().split("Exit codes")[1].split("\n\n")[0]
    for name in modules():
        assert "--debug" in lowdim(name, "--help").out


def test_memory_that_runs_out_is_a_code_and_6(lowdim, monkeypatch):
    def full(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("lowdim.table.read.read", full)
    said = lowdim("check", "x.csv", "--json")
    assert said.code == 6 and json.loads(said.out)["error"] == "LD173" and "--sample" in said.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reprot", "x.csv"], "Did you mean  lowdim report"),
        (["reprot"], "Did you mean  lowdim report"),
        (["Check", "x.csv"], "Did you mean  lowdim check"),
        (["cluster", "t.csv"], "The commands are: report, check"),
        (["t.csv", "--drp", "a"], "Did you mean '--drop'?"),
        (["odd", "t.csv", "--lvel", "1"], "Did you mean '--level'?"),
        (["--drp", "a", "t.csv"], "Did you mean '--drop'?"),
        (["help", "chek"], "Did you mean check?"),
        (["help", "LD99"], "Did you mean LD"),
    ],
)
def test_a_slip_is_answered_with_the_nearest(lowdim, arguments, says):
    write_csv(lowdim.folder / "t.csv", small_table())
    said = lowdim(*arguments)
    assert said.code == 2 and says in said.err and said.out == ""


def test_a_file_named_like_a_command_is_a_file(lowdim):
    write_csv(lowdim.folder / "reprot", small_table())
    assert lowdim("check", "reprot").code == 0
    assert "no command" not in lowdim("reprot", "--budget", "soon").err


def test_options_may_stand_before_the_command_or_the_file(lowdim, made):
    plain = lowdim("check", made / "small.csv", "--json").out
    assert lowdim("--json", "check", made / "small.csv").out == plain
    assert lowdim("--quiet", "--json", "check", made / "small.csv").out == plain
    said = lowdim("--drop", "x1", made / "small.csv", "--budget", "soon")
    assert said.code == 2 and "LD210" in said.err


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory):
    """What the examples speak of: table.csv, table.run and new.csv."""
    folder = tmp_path_factory.mktemp("examples")
    write_csv(folder / "table.csv", small_table())
    write_csv(folder / "new.csv", small_table(seed=9)[:3])
    assert child("fit", "table.csv", "--budget", "1s", cwd=folder).code == 0
    return folder


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.drill) if name == "demo" else name for name in modules()]
)  # test_demo.py runs the example of demo
def test_the_example_of_every_command_works_when_pasted(lowdim, no_drawing, example_folder, monkeypatch, name):
    line = re.search(r"^ *Example:  lowdim (.*)$", lowdim(name, "--help").out, re.M)
    assert line and line[1] == load_command(name).example.removeprefix("lowdim ")
    monkeypatch.chdir(example_folder)
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


def test_a_terminal_without_utf8_is_no_reason_to_stop(tmp_path):
    code = (
        "import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='iso8859-5'); "
        "from lowdim.cli import main; main()"
    )
    write_csv(tmp_path / "t.csv", small_table(), ["température", "b", "c", "d", "e", "f"])
    said = child("check", "t.csv", cwd=tmp_path, code=code)
    assert said.code == 0 and "temp?rature" in said.out and "Nothing blocks" in said.out


def test_a_reader_that_leaves_early_is_no_error(tmp_path, made):
    code = "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); from lowdim.cli import main; main()"
    assert child("check", made / "small.csv", "--quiet", cwd=tmp_path, code=code) == (0, "", "")
