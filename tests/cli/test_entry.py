"""A command is one file in a folder of commands: it is listed, helped and run without another line anywhere.

From the arguments to the exit code: slips, faults, JSON, a terminal and a reader that are not ours.
"""

from __future__ import annotations

import errno
import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from lowdim.cli import entry
from lowdim.cli.entry import main, modules, run
from lowdim.cli.options import READING
from lowdim.table.options import OPTIONS
from tests.cli.calls import child
from tests.cli.conftest import small_table, write_csv
from tests.conftest import ROOT

NEWCOMER = '''"""`lowdim tally`: how many lines a file has."""

from pathlib import Path

import click

from lowdim.cli.entry import command


@command("Count the lines of a file.", example="lowdim tally table.csv", rank=99)
@click.argument("file")
@click.option("--twice", is_flag=True, help="Count each line twice.")
def tally_command(file, twice):
    """Count the lines of a file."""
    click.echo(len(Path(file).read_text().splitlines()) * (2 if twice else 1))
'''


@pytest.fixture
def tally(tmp_path, monkeypatch):
    """A command as a newcomer adds one: a file in a copy of the folders of commands."""
    here = tmp_path / "cli"
    shutil.copytree(Path(entry.__file__).parent, here, ignore=shutil.ignore_patterns("__pycache__"))
    (here / "about" / "tally.py").write_text(NEWCOMER, encoding="utf-8")
    monkeypatch.setattr(entry, "__file__", str(here / "entry.py"))
    import lowdim.cli.about

    monkeypatch.setattr(lowdim.cli.about, "__path__", [str(here / "about")])
    entry.modules.cache_clear()
    yield
    entry.modules.cache_clear()
    sys.modules.pop("lowdim.cli.about.tally", None)


def test_a_newcomer_s_command_is_one_file(tally, lowdim, tmp_path):
    (tmp_path / "lines.txt").write_text("a\nb\n", encoding="utf-8")
    said = lowdim("tally", tmp_path / "lines.txt", "--twice")
    assert said.code == 0 and said.out == "4\n"
    listed = lowdim("--help").out
    assert "tally" in listed and "Count the lines of a file." in listed
    helped = lowdim("tally", "--help").out
    assert "--twice" in helped and "Example:  lowdim tally table.csv" in helped
    assert "Did you mean  lowdim tally" in lowdim("taly", tmp_path / "lines.txt").err


def test_every_file_of_the_folders_is_the_command_of_its_name():
    for name, command in entry.every_command().items():
        assert entry.modules()[name].rsplit(".", 1)[1] == name and command.example.startswith("lowdim")


def test_every_option_of_reading_is_in_one_section_of_the_help(lowdim):
    flags = [name for name, option in OPTIONS.items() if option.help or option.switches]
    assert sorted(name for names in READING.values() for name in names) == sorted(flags)
    said = lowdim("apply", "--help").out
    own, *reading = said.split("Reading NEW: ")
    assert len(reading) == len(READING) and "--stream" in own and "--sep" not in own and "--sep" in reading[0]


def test_a_file_that_may_not_be_opened_is_a_code_and_3(lowdim, monkeypatch):
    def locked(*arguments, **options):
        raise PermissionError(13, "Permission denied", "/home/other/x.csv")

    monkeypatch.setattr("lowdim.judge.read_table.read_file", locked)
    said = lowdim("check", "x.csv", "--json")
    assert said.code == 3 and json.loads(said.out)["error"] == "LD333" and "/home/other/x.csv" in said.err


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
        (["runs", "no_such"], "does not exist"),
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
    from lowdim.storage.atomic import not_written
    from lowdim.text.messages import LowdimError

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
    full = not_written("x", OSError(errno.ENOSPC, "the words of this system"))
    assert full.fix == "free some space, or save elsewhere"


def test_an_unknown_error_is_one_message_and_a_traceback_only_when_asked_for(lowdim, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("lowdim.judge.read_table.read_file", broken)
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

    monkeypatch.setattr("lowdim.judge.read_table.read_file", full)
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
    # click puts an option between quotes since 8.2
    assert said.code == 2 and says.replace("'", "") in said.err.replace("'", "") and said.out == ""


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


def test_a_terminal_without_utf8_is_no_reason_to_stop(tmp_path, monkeypatch):
    write_csv(tmp_path / "t.csv", small_table(), ["température", "b", "c", "d", "e", "f"])
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="iso8859-5")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "argv", ["lowdim", "check", str(tmp_path / "t.csv")])
    with pytest.raises(SystemExit) as left:
        main()
    terminal.flush()
    shown = terminal.buffer.getvalue().decode("iso8859-5")
    assert left.value.code == 0 and "temp?rature" in shown and "Nothing blocks" in shown


def test_a_reader_that_leaves_early_is_no_error(tmp_path, made):
    code = "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); from lowdim.cli import main; main()"
    assert child("check", made / "small.csv", "--quiet", cwd=tmp_path, code=code) == (0, "", "")


CALLS = {
    "report": ["small.csv"],
    "check": ["small.csv"],
    "dims": ["small.csv"],
    "fit": ["small.csv"],
    "fill": ["small.csv", "-o", "f.csv"],
    "compare": ["small.csv"],
    "odd": ["small.run"],
    "explain": ["small.run", "--axis", "1"],
    "apply": ["small.run", "small.csv"],
    "monitor": ["small.run", "small.csv"],
    "plot": ["gaps", "small.run", "-o", "p.csv"],
    "explore": ["small.run", "--no-browser"],
    "runs": ["."],
    "methods": [],
    "demo": ["gaussian"],
    "help": ["LD104"],
}


@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=pytest.mark.drill) if verb == "demo" else verb for verb in modules()]
)
def test_json_is_one_object_with_a_schema_and_messages(lowdim, made, no_drawing, monkeypatch, verb):
    monkeypatch.setattr("lowdim.cli.run.explore.wait", lambda: None)  # for Ctrl-C
    shutil.copy(made / "small.csv", lowdim.folder)
    shutil.copytree(made / "small.run", lowdim.folder / "small.run")
    slow = ["--budget", "1s"] if verb in ("report", "dims", "fit", "plot", "compare") else []
    said = lowdim(verb, *CALLS[verb], *slow, "--json", "--quiet")
    told = json.loads(said.out)  # one object and nothing else
    assert said.code == 0 and said.err == "" and told["schema"] == 1 and len(told) > 2, said.err
    assert all({"code", "severity", "where", "text", "fix"} <= m.keys() for m in told["messages"])
    wrong = lowdim(verb, *CALLS[verb], "--no-such-option", "--json")
    told = json.loads(wrong.out)
    assert wrong.code == 2 and told["error"] == "usage" and "No such option" in told["messages"][0]["text"]


@pytest.mark.parametrize(
    "verb", ["report", "check", "dims", "fit", "fill", "odd", "explain", "apply", "monitor", "plot"]
)
def test_json_of_what_stops_a_verb_has_its_code(lowdim, made, verb):
    missing = [word if word not in ("small.csv", "small.run") else "nowhere.csv" for word in CALLS[verb]]
    told = json.loads(lowdim(verb, *missing, "--json", "--quiet").out)
    assert told["error"] in ("LD001", "LD305") and [m["code"] for m in told["messages"]] == [told["error"]]
    assert all(told["messages"][0][part] for part in ("severity", "text", "fix"))
