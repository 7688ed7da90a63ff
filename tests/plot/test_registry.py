"""One decorated function is a plot in Python, on the command line and in the report."""

import ast
import csv
import inspect
import re
from pathlib import Path

import pytest

import lowdim
from lowdim.cli.entry import run
from lowdim.plot import base as draw
from lowdim.plot import registry
from lowdim.plot.registry import InReport, PlotOption, descriptions, every_plot, find, in_section, plot
from lowdim.report import report_html
from lowdim.text.errors import OptionError
from tests.plot.svg_checks import parsed

SECTIONS = {"table", "gaps", "dimensions", "map", "axes", "fills", "odd", "lost", "stability"}


@pytest.fixture
def extrema():
    """A plot as a newcomer adds one: in one place."""
    least = PlotOption("least", ("low", "high"), "Which end is drawn")

    @plot("extrema", "The ends of each column.", needs="table", options=(least,), report=InReport("table"))
    def extrema(table, *, least="low"):
        """The ends of each column."""
        figure = draw.blank()
        ends = (table.X.min if least == "low" else table.X.max)(axis=0)
        figure.subplots().bar(range(table.d), ends)
        draw.headline(figure, "Ends")
        data = {"column": table.names, "end": ends}
        return draw.Plot("extrema", figure, title=f"The {least} ends", sentence="Bars are ends.", data=data)

    yield
    del registry.REGISTERED["extrema"]


@pytest.mark.slow
def test_a_newcomer_s_plot_is_drawn_everywhere(extrema, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = [[1.0, 5.0, 2.0], [2.0, 3.0, 4.0], [4.0, 4.0, 9.0], [3.0, 9.0, 1.0], [5.0, 1.0, 3.0], [2.5, 2.0, 8.0]]
    lines = ["a,b,c", *(",".join(map(str, row)) for row in X)]
    Path("t.csv").write_text("\n".join(lines), encoding="utf-8")
    found = lowdim.analyse("t.csv", dims=1, budget="1s")
    shown = found.plot.extrema(least="high")
    parsed(shown)
    assert shown.data["end"].tolist() == [5.0, 9.0, 9.0] and "extrema" in dir(found.plot)
    assert found.plot.extrema.__doc__.startswith("The ends of each column.\n\nParameters\n")
    assert run(["plot", "extrema", "t.csv", "--least", "high", "-o", "e.csv", "--quiet"]) == 0
    rows = list(csv.DictReader(Path("e.csv").read_text().splitlines()))
    assert [float(row["end"]) for row in rows] == [5.0, 9.0, 9.0]
    capsys.readouterr()
    assert run(["plot", "--list"]) == 0 and re.search(
        r"^extrema +The ends of each column\.$", capsys.readouterr().out, re.M
    )
    assert run(["plot", "extrema", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--least [low|high]" in text and "Which end is drawn." in text and "--color" not in text
    assert run(["plot", "scree", "t.csv", "--least", "low"]) == 2
    assert "only extrema takes it, not scree" in capsys.readouterr().err
    assert 'id="chart-extrema"' in report_html(found)


def test_names_in_the_text_are_those_of_the_functions():
    """What is read from the files is what the decorators say, for every plot."""
    assert descriptions() == {row.name: row.about for row in every_plot()}
    assert len(descriptions()) >= 39
    with pytest.raises(OptionError, match=r"LD210.*no_such"):
        find("no_such")


@pytest.mark.parametrize("name", list(descriptions()))
def test_every_plot_is_whole(name):
    """A line about it, options that its function has, a docstring that explains each of them."""
    row = find(name)
    assert row.about.endswith(".") and len(row.about) < 80
    parameters = list(inspect.signature(row.function).parameters)
    assert parameters[0] == {"table": "table", "analysis": "analysis", "model": "subject"}[row.needs]
    words = inspect.getdoc(row.function)
    assert "Returns\n-------\nPlot" in words and words.index("Parameters\n") < words.index("Returns\n")
    for parameter in parameters:
        assert re.search(rf"^{parameter} : ", words, re.M), parameter
    assert {option.name for option in row.options} <= set(parameters)
    if row.report is not None:
        assert row.report.section in SECTIONS and set(row.report.hide_rows) <= set(parameters)


def test_a_flag_means_one_thing():
    """Two plots may share a flag only as the same option."""
    flags = {}
    for row in every_plot():
        for option in row.options:
            assert flags.setdefault(option.spelling, option) == option


def test_sections_say_whether_rows_are_shown():
    assert [row.name for row in in_section("map", True)] == ["map", "other_axes"]
    assert [row.name for row in in_section("map", False)] == ["density"]


@pytest.mark.slow
def test_a_plot_stands_in_one_file_only():
    """No other list names plots: the files that define them do."""
    room = Path(lowdim.__file__).parent / "plot"
    for path in room.rglob("*.py"):
        words = {n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)}
        assert len(words & set(descriptions())) <= 8, path
