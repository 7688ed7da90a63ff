"""`lowdim runs`, and run folders: listed, not overwritten, moved, changed."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

from tests.cli.conftest import small_table, write_csv
from tests.cli.tables import bent


def test_runs_lists(lowdim, made):
    lowdim("fit", made / "small.csv", "--dims", "1", "--budget", "1s", "-o", "one.run", "--quiet")
    said = lowdim("runs")
    assert said.out.startswith("one.run  60 x 6  ") and "You asked for 1 dimension" in said.out
    (lowdim.folder / "torn.run").mkdir()
    (lowdim.folder / "torn.run" / "run.json").write_text('{"schema"')
    assert "torn.run" in lowdim("runs").out and "run.json cannot be read" in lowdim("runs").out
    assert lowdim("runs", lowdim.folder / "nowhere").code == 2


# run folders and names -------------------------------------------------------------------------------------
def test_a_run_is_not_overwritten_by_another(lowdim, no_drawing):
    write_csv(lowdim.folder / "t.csv", bent())
    write_csv(lowdim.folder / "u.csv", bent(seed=1))
    assert lowdim("fit", "t.csv", "-m", "pca", "--dims", 1, "-o", "a.run").code == 0
    before = {path.name: path.read_bytes() for path in (lowdim.folder / "a.run").iterdir()}
    for words in (
        ("t.csv", "-m", "ppca", "--dims", 1),
        ("u.csv", "-m", "pca", "--dims", 1),
        ("t.csv", "--budget", "1s"),
    ):
        said = lowdim("fit", *words, "-o", "a.run")
        assert said.code == 2 and "LD493" in said.err and "t.csv by pca" in said.err and "-o" in said.err
    assert {path.name: path.read_bytes() for path in (lowdim.folder / "a.run").iterdir()} == before
    assert lowdim("fit", "t.csv", "-m", "pca", "--dims", 2, "-o", "a.run").code == 0  # the same, asked again
    (lowdim.folder / "t.csv").rename(lowdim.folder / "v.csv")
    assert lowdim("fit", "v.csv", "-m", "pca", "--dims", 2, "-o", "a.run").code == 0  # the same table elsewhere
    (lowdim.folder / "v.csv").rename(lowdim.folder / "t.csv")
    (lowdim.folder / "a.run").rename(lowdim.folder / "t.run")
    said = lowdim("t.csv", "--budget", "1s")
    assert said.code == 2 and "LD493" in said.err
    assert lowdim("fit", "t.csv", "-m", "kmeans", "--clusters", 2).code == 0  # into a folder of its own
    assert (lowdim.folder / "t.kmeans.run" / "run.json").is_file()


@pytest.mark.parametrize(
    "more",
    [
        ("explain", "--row", "8"),
        ("report",),
        ("plot",),
    ],
)
def test_what_needs_the_table_says_so_with_a_fix(lowdim, moved, more):
    verb, *rest = more
    said = lowdim(verb, *(["map"] if verb == "plot" else []), "moved.run", *rest)
    assert said.code == 3 and "LD306 error" in said.err and "put the table back" in said.err and said.out == ""


def test_an_axis_is_explained_without_the_table(lowdim, moved, made):
    there = lowdim("explain", made / "small.run", "--axis", "1")
    assert lowdim("explain", "moved.run", "--axis", "1").out == there.out and there.code == 0


def test_the_fix_works(lowdim, moved, made):
    """The table put back where the run looks for it."""
    told = json.loads((moved / "run.json").read_text())
    shutil.copy(made / "small.csv", lowdim.folder / "back.csv")
    told["table"]["path"] = str(lowdim.folder / "back.csv")
    (moved / "run.json").write_text(json.dumps(told))
    assert lowdim("explain", "moved.run", "--row", "8").code == 0


def test_a_folder_that_is_no_run_says_what_is_in_it(lowdim):
    (lowdim.folder / "box").mkdir()
    write_csv(lowdim.folder / "box" / "a b.csv", small_table())
    for verb in ("report", "odd", "check", "dims"):
        said = lowdim(verb, "box")
        assert said.code == 3 and "it is a folder" in said.err and "in it: a b.csv" in said.err
    assert 'lowdim "box/a b.csv"' in said.err
    assert lowdim("check", "box/a b.csv").code == 0


FULL = np.where(np.isnan(small_table()), 0.5, small_table())


FIT = ("fit", "t.csv", "--dims", "2", "--budget", "1s", "-o", "t.run")


def test_a_table_that_changed_and_a_folder_that_is_no_run(lowdim, no_drawing):
    write_csv(lowdim.folder / "t.csv", FULL)
    assert lowdim(*FIT, "--quiet").code == 0
    write_csv(lowdim.folder / "t.csv", FULL + 1)
    said = lowdim("explain", "t.run", "--row", "1")
    assert said.code == 3 and "LD307" in said.err
    (path,) = re.findall(r"analyse it again:  lowdim report (\S+)", said.err)
    assert lowdim("report", path, "--budget", "1s", "--quiet").code == 0
    assert lowdim("explain", "t.run", "--row", "1").code == 0
    (lowdim.folder / "empty.run").mkdir()
    said = lowdim("explain", "empty.run", "--row", "1")
    assert said.code == 3 and "LD305" in said.err and "make one:  lowdim report" in said.err
