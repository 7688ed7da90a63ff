"""`lowdim plot`: colours and axes of the map, pictures of one model, what cannot be drawn."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import lowdim as ld
from tests.cli.calls import child, in_process
from tests.cli.conftest import small_table, write_csv
from tests.cli.tables import bent, quick


def test_plot_lists_and_draws(lowdim, made):
    listed = [line.split()[0] for line in lowdim("plot", "--list").out.splitlines()]
    assert len(listed) == len(set(listed)) >= 23 and "map" in listed
    said = lowdim("plot", "why_row", made / "small.run", "-o", "w.csv", "--budget", "1s", "--quiet")
    assert said.code == 0 and said.out.endswith("Wrote w.csv\n") and (lowdim.folder / "w.csv").read_text().count("x3")
    told = lowdim("plot", "component_images", made / "small.run", "--quiet", "--json")
    assert told.code == 2 and json.loads(told.out)["error"] == "LD216"


def test_whole_numbers_are_asked_for_and_columns_are_named(lowdim, made):
    said = lowdim("plot", "rebuilt", made / "small.run", "--kept", "two", "-o", "b.csv")
    assert said.code == 2 and "'two' is not whole numbers such as 2,10" in said.err
    said = lowdim("plot", "map")
    assert said.code == 2 and "give a plot and a table" in said.err
    said = lowdim("plot", "egg", made / "small.csv")
    assert said.code == 2 and "'egg' is not a plot" in said.err


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A table with a label column and its run folder."""
    folder = tmp_path_factory.mktemp("labelled")
    rows = [
        f"{'ns'[i % 2]}," + ",".join("" if np.isnan(v) else f"{v:.4f}" for v in x) for i, x in enumerate(small_table())
    ]
    (folder / "t.csv").write_text("\n".join(["site,x1,x2,x3,x4,x5,x6", *rows]))
    said = in_process("fit", "t.csv", "--dims", "3", "--budget", "1s", cwd=folder)
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


@pytest.fixture(scope="module")
def bent_runs(tmp_path_factory):
    """A folder with t.csv and runs of three nonlinear models."""
    folder = tmp_path_factory.mktemp("bent")
    write_csv(folder / "t.csv", bent())
    with pytest.MonkeyPatch.context() as patch:
        quick(patch)
        for name in ("gtm", "gplvm", "autoencoder"):
            assert in_process("fit", "t.csv", "-m", name, "--dims", 2, "--quiet", cwd=folder).code in (0, 5)
    return folder


def test_every_picture_of_a_run(lowdim, bent_runs):
    for run, plot, *more in (
        ("gtm", "gtm_sheet", "--plane", "x1,x3", "--color", "x3"),
        ("gtm", "magnification"),
        ("gtm", "traverse", "--axis", 2),
        ("gplvm", "latent_variance", "--join", "--axes", "2,1"),
        ("autoencoder", "traverse"),
        ("gplvm", "trace"),
    ):
        said = lowdim("plot", plot, bent_runs / f"t.{run}.run", "-o", f"{plot}.csv", *more)
        assert said.code == 0 and said.out.endswith(f"Wrote {plot}.csv\n"), (plot, said.err)
    X, model = bent(), ld.load(bent_runs / "t.gtm.run" / "model.lowdim")
    unit = X.std(axis=0, ddof=1)
    cells = np.genfromtxt("gtm_sheet.csv", delimiter=",", names=True)
    assert cells["row_2"] == pytest.approx(X[:, 2])
    assert cells["node_2"][:25] == pytest.approx(model.nodes_[:, 2] * unit[2])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("relevance",), "LD216"),
        (("scree",), "LD216"),
        (("traverse", "--axis", "9"), "LD210"),
        (("gtm_sheet", "--plane", "x1,nope"), "'nope' is not one of two columns"),
        (("gtm_sheet", "--plane", "x1"), "two columns"),
        (("rebuilt", "--rows", "999"), "there is no row '999'"),
        (("gtm_sheet", "--join"), "only map, latent_variance take it, not gtm_sheet"),
        (("traverse", "--axis", "0"), "0 is not in the range"),
    ],
)
def test_what_a_run_of_one_model_cannot_show(lowdim, bent_runs, words, says):
    said = lowdim("plot", words[0], bent_runs / "t.gtm.run", *words[1:])
    assert said.code == 2 and says in said.err and said.out == ""


def test_a_run_of_one_model_has_a_map_and_rebuilt_rows(lowdim, bent_runs):
    """Positions are those of scores.csv; rows are the model's own, from so many axes."""
    said = lowdim("plot", "map", bent_runs / "t.gtm.run", "--join", "-o", "m.csv")
    assert said.code == 0 and "Rows are joined in order" in said.out
    drawn = list(csv.DictReader((lowdim.folder / "m.csv").read_text().splitlines()))
    scores = list(csv.DictReader((bent_runs / "t.gtm.run" / "scores.csv").read_text().splitlines()))
    columns = list(scores[0])[1:3]
    want = [[float(row[name]) for name in columns] for row in scores]
    np.testing.assert_allclose([[float(row["position_1"]), float(row["position_2"])] for row in drawn], want, atol=1e-6)
    said = lowdim("plot", "rebuilt", bent_runs / "t.gtm.run", "--rows", "2,5", "--kept", "1,2", "-o", "r.csv")
    assert said.code == 0 and "with 1, " in said.out
    rows = list(csv.DictReader((lowdim.folder / "r.csv").read_text().splitlines()))
    assert [row["row"] for row in rows[:2]] == ["2", "5"]
    said = lowdim("plot", "rebuilt", bent_runs / "t.gtm.run", "--shape", "nine")
    assert said.code == 2 and "'skeleton'" in said.err


def test_a_map_is_drawn_without_what_it_does_not_need(tmp_path):
    """No model, no table, no pyplot: a picture of a run takes about as long as matplotlib to load."""
    rows = [",".join("" if np.isnan(v) else f"{v:.4f}" for v in x) for x in small_table()]
    (tmp_path / "t.csv").write_text("\n".join(["x1,x2,x3,x4,x5,x6", *rows]))
    assert in_process("fit", "t.csv", "--dims", "2", "--budget", "1s", cwd=tmp_path).code == 0
    heavy = ("sklearn", "scipy.stats", "pandas", "pyarrow", "matplotlib.pyplot", "lowdim.models.linear.ppca")
    code = (
        "import sys; from lowdim.cli.entry import run; run(['plot', 'map', 't.run']); "
        f"print('LOADED', [m for m in {heavy} if m in sys.modules])"
    )
    assert child(cwd=tmp_path, code=code).out.split("LOADED ")[1].strip() == "[]"
    assert (tmp_path / "map.svg").read_text().startswith("<svg")
