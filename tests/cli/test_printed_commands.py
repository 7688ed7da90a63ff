"""The command that a report or a check prints gives the same again."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

import lowdim as ld
from lowdim.report.section_reproduce import code_of, command_of
from lowdim.table.options import check_options, flags_from_options
from tests.cli.conftest import small_table
from tests.table.flags import options_from_flags


def german(path, header: bool = True) -> None:
    """Semicolons, decimal commas, "k.A." and -999 for gaps, a label, a column to leave out, one to take the log of."""
    X = np.exp(small_table() / 3)
    X[5, 0] = -999
    lines = [";".join(["Ort", "Nr x", "a", "b", "c", "d", "e", "f"])] if header else []
    for i, row in enumerate(X):
        cells = ["k.A." if np.isnan(v) else f"{v:.5f}".replace(".", ",") for v in row]
        lines.append(";".join(["Bonn" if i % 2 else "Ulm", str(i * i), *cells]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


FLAGS = ["--na", "k.A.,-999", "--decimal", ",", "--sep", ";", "--drop", "Nr x", "--log", "a,b", "--label", "Ort"]


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("my table.csv", FLAGS),
        (
            "bare.csv",
            [
                "--no-header",
                "--na",
                "k.A.",
                "--na=-999",
                "--decimal=,",
                "--sep=semicolon",
                "--drop",
                "c2",
                "--log",
                "c3,c4",
                "--label",
                "c1",
                "--scale",
                "none",
                "--dims",
                "2",
                "--seed",
                "3",
            ],
        ),
    ],
)
def test_the_printed_command_pasted_gives_the_same_numbers(lowdim, name, flags):
    german(lowdim.folder / name, header=name != "bare.csv")
    reading = [f for f in flags if f not in ("--dims", "2", "--seed", "3")]
    options = {"dims": 2, "random_state": 3} if "--dims" in flags else {}
    found = ld.analyse(ld.read(name, **options_from_flags(reading)), budget="1s", **options)
    line = command_of(found, "fit")
    assert "--budget 1s" in line and "--label" in line
    said = lowdim(*shlex.split(line)[1:], "-o", "pasted.run", "--quiet")
    assert said.code == 0, (line, said.err)
    assert lowdim("fit", name, *flags, "--budget", "1s", "-o", "asked.run", "--quiet").code == 0
    for file in ("scores.csv", "fills.csv", "odd.csv", "model.lowdim"):
        a, b = ((lowdim.folder / run / file).read_bytes() for run in ("pasted.run", "asked.run"))
        assert a == b, file
    rows = (lowdim.folder / "pasted.run" / "scores.csv").read_text().splitlines()
    assert float(rows[1].split(",")[1]) == found.posterior.mean[0, 0]


def test_the_printed_code_gives_the_same_numbers(lowdim):
    german(lowdim.folder / "t.csv")
    found = ld.analyse(ld.read("t.csv", **options_from_flags(FLAGS)), dims=2, budget="1s")
    space: dict[str, ld.Analysis] = {}
    exec(code_of(found), space)  # the lines a person copies from the report
    assert np.array_equal(space["analysis"].posterior.mean, found.posterior.mean)


@pytest.fixture(scope="module")
def analysed(tmp_path_factory):
    path = tmp_path_factory.mktemp("german") / "t.csv"
    german(path)
    return ld.analyse(ld.read(path, **options_from_flags(FLAGS)), dims=2, level=0.8, random_state=4, budget="1s")


@pytest.mark.parametrize("verb", ["check", "dims", "fit", "report", "fill", "odd", "plot scree"])
def test_the_command_of_every_verb_has_only_options_it_knows(lowdim, no_drawing, analysed, verb):
    found = analysed
    german(lowdim.folder / "t.csv")
    more = ["-o", "filled.csv"] if verb == "fill" else []
    said = lowdim(*shlex.split(command_of(found, verb, *more))[1:], "--quiet")
    assert said.code == 0, said.err


def test_check_proposes_the_command_that_reads_the_same(lowdim):
    german(lowdim.folder / "t.csv")
    said = lowdim("check", "t.csv", *FLAGS)
    (line,) = [part for part in said.out.split("\n") if "Next:" in part]
    words = shlex.split(line.split("Next:  lowdim ")[1])
    assert words[0] == "t.csv" and check_options(options_from_flags(words[1:])) == check_options(
        options_from_flags(FLAGS)
    )


@pytest.mark.parametrize(
    "options",
    [
        {"na": ("-999", "a,b", "n d")},
        {"na": -999},
        {"na": "x,y"},
        {"header": True},
        {"header": False},
        {"sep": "\t"},
        {"sep": "|"},
        {"sep": " "},
        {"drop": ["a", 'b "c"']},
        {"columns": "a,b"},
        {"transpose": True},
        {"sample": 5, "memory": "2GB", "strict": True},
        {"keep_copies": True, "below_limit": "half", "inf": "missing"},
        {"id": "who is", "weight": "-w", "sheet": 2},
        {"time": None, "label": ()},
        {},
    ],
    ids=str,
)
def test_options_become_flags_and_come_back(options):
    assert check_options(options_from_flags(flags_from_options(options))) == check_options(options)
