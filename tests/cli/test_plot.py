"""`lowdim plot`: colours and axes of the map, what it does not say twice, folders that are not there."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.cli.calls import child
from tests.cli.conftest import small_table


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A table with a label column and its run folder, made by a process of its own."""
    folder = tmp_path_factory.mktemp("labelled")
    rows = [
        f"{'ns'[i % 2]}," + ",".join("" if np.isnan(v) else f"{v:.4f}" for v in x) for i, x in enumerate(small_table())
    ]
    (folder / "t.csv").write_text("\n".join(["site,x1,x2,x3,x4,x5,x6", *rows]))
    said = child("fit", "t.csv", "--dims", "3", "--budget", "1s", cwd=folder)
    assert said.code == 0 and "LD110" in said.err
    return folder


def colours(path):
    return [row["color"] for row in csv.DictReader(path.read_text().splitlines())][:60]


def test_the_map_is_coloured_by_a_column_of_the_run_s_table(lowdim, labelled):
    said = lowdim("plot", "map", labelled / "t.run", "--color", "x3", "--axes", "1,3", "-o", "m.csv")
    assert said.code == 0 and "axes 1 and 3" in said.out and "Colour is 'x3'" in said.out
    want = small_table()[:, 2]
    assert np.allclose(
        [float(c) if c else np.nan for c in colours(lowdim.folder / "m.csv")], want, atol=1e-4, equal_nan=True
    )
    said = lowdim("plot", "map", labelled / "t.run", "--color", "site", "-o", "m.csv")
    assert colours(lowdim.folder / "m.csv") == ["ns"[i % 2] for i in range(60)] and "2 kinds" in said.out


def test_notes_on_the_table_were_said_when_the_run_was_made(lowdim, labelled):
    said = lowdim("plot", "trace", labelled / "t.run", "-o", "t.svg")
    assert said.code == 0 and said.err == ""  # nothing is analysed again
    assert "LD110" in lowdim("plot", "trace", labelled / "t.csv", "-o", "t.svg", "--budget", "1s").err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("map", "--color", "X3"), "did you mean 'x3'?"),
        (("map", "--axes", "1,4"), "there are axes 1 to 3"),
        (("map", "--axes", "one"), "not two axes such as 1,3"),
        (("map", "--axes", "1,1"), "two different"),
        (("map", "--axes", "0,1"), "not two axes"),
        (("scree", "--color", "x1"), "latent_variance take it, not scree"),
        (("map", "-o", "no/such/m.svg"), "make the folder"),
        (("map", "-o", "m.xyz"), "ends in .svg"),
    ],
)
def test_what_cannot_be_is_refused(lowdim, labelled, words, says):
    said = lowdim("plot", words[0], labelled / "t.run", *words[1:], "--quiet")
    assert said.code == 2 and says in said.err and said.out == ""


def test_a_table_that_is_gone_is_asked_back(lowdim, labelled):
    (labelled / "t.csv").rename(labelled / "away.csv")
    said = lowdim("plot", "map", labelled / "t.run", "--color", "x3")
    assert said.code == 3 and "LD306" in said.err and "put the table back" in said.err
    (labelled / "away.csv").rename(labelled / "t.csv")
    assert lowdim("plot", "map", labelled / "t.run", "--color", "x3").code == 0
