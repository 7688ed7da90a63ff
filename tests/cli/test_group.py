"""A command is one file in a folder of commands: it is listed, helped and run without another line anywhere."""

import shutil
import sys
from pathlib import Path

import pytest

from lowdim.cli import group
from lowdim.cli.options import READING
from lowdim.table.options import OPTIONS

NEWCOMER = '''"""`lowdim tally`: how many lines a file has."""

from pathlib import Path

import click

from lowdim.cli.command import command


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
    shutil.copytree(Path(group.__file__).parent, here, ignore=shutil.ignore_patterns("__pycache__"))
    (here / "about" / "tally.py").write_text(NEWCOMER, encoding="utf-8")
    monkeypatch.setattr(group, "__file__", str(here / "group.py"))
    import lowdim.cli.about

    monkeypatch.setattr(lowdim.cli.about, "__path__", [str(here / "about")])
    group.modules.cache_clear()
    yield
    group.modules.cache_clear()
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
    for name, command in group.every_command().items():
        assert group.modules()[name].rsplit(".", 1)[1] == name and command.example.startswith("lowdim")


def test_every_option_of_reading_is_in_one_section_of_the_help(lowdim):
    flags = [name for name, option in OPTIONS.items() if option.help or option.switches]
    assert sorted(name for names in READING.values() for name in names) == sorted(flags)
    said = lowdim("apply", "--help").out
    own, *reading = said.split("Reading NEW: ")
    assert len(reading) == len(READING) and "--stream" in own and "--sep" not in own and "--sep" in reading[0]
