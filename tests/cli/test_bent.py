"""The nonlinear models on the command line: fitted, saved, drawn, given new rows; runs that are not overwritten."""

import csv
import json
import re

import numpy as np
import pytest

import lowdim as ld
from lowdim.jobs.one_model import fit_method, place_fitted, save_fitted
from lowdim.jobs.run_folder import load_run
from lowdim.registry import FITTED, METHODS, ModelEntry, find_method, questions
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.cli.conftest import write_csv

BENT = ("gtm", "density", "nlfa", "gplvm", "bgplvm", "autoencoder")


def bent(n=40, gaps=0.0, seed=0):
    """Rows along a bend in four columns of different units."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), t, rng.standard_normal(n) * 0.1]) + 0.05 * rng.standard_normal((n, 4))
    X[rng.random(X.shape) < gaps] = np.nan
    return X * [1.0, 10.0, 100.0, 0.1] + [0.0, 5.0, 0.0, 3.0]


def quick(monkeypatch):
    """Fits that stop early: what is tested is what becomes of them."""
    small = {
        "gtm": {"grid": 5, "basis": 3, "tol": 0.01},
        "density": {"n_samples": 20, "hidden": 3, "tol": 0.01},
        "nlfa": {"hidden": 3, "tol": 0.1},
        "gplvm": {"tol": 0.05},
        "bgplvm": {"n_inducing": 6, "tol": 0.05},
        "autoencoder": {"hidden": (3,), "max_iter": 10},
    }
    made = ModelEntry.make
    monkeypatch.setattr(ModelEntry, "make", lambda self, *how: made(self, *how).set_params(**small.get(self.name, {})))


@pytest.mark.parametrize("name", BENT)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_it_is_fitted_saved_and_places_rows(tmp_path, monkeypatch, name):
    """scores.csv is what the estimator says of the scaled table; new rows land where the old ones did."""
    quick(monkeypatch)
    X = bent(gaps=0.0 if METHODS[name].no_gaps else 0.1)
    table = ld.read(str(write_csv(tmp_path / "t.csv", X)))
    found = fit_method(table, name, dims=1)
    run = load_run(save_fitted(found, tmp_path / "t.run"))
    assert run.facts["dims"] == 1 and run.facts["clusters"] is None and found.places.z.shape == (40, 1)
    S = X / np.nanstd(X, axis=0, ddof=1)
    assert found.places.z == pytest.approx(found.model.transform(S), abs=1e-6)
    assert (found.places.sd is None) == bool(METHODS[name].no_uncertainty) == (name == "autoencoder")
    assert (found.places.density is None) == (name == "autoencoder")
    assert (METHODS[name].estimate in found.text()) and METHODS[name].title.lower() in found.text().lower()
    _, again, _ = place_fitted(run, str(tmp_path / "t.csv"))
    assert again.lines(table.row_names) == found.places.lines(table.row_names)


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_the_bayesian_gplvm_decides_how_many_axes(lowdim, monkeypatch):
    monkeypatch.setattr("lowdim.jobs.one_model.choose_dimension", lambda *a, **k: pytest.fail("the jury was asked"))
    quick(monkeypatch)
    write_csv(lowdim.folder / "t.csv", bent())
    assert lowdim("fit", "t.csv", "-m", "BGPLVM", "--quiet").code in (0, 5)
    run = load_run("t.bgplvm.run")
    model = ld.load(run.model_file)
    assert model.n_components == 4 and run.facts["dims"] == max(1, model.n_kept_)  # 10, but there are four columns
    with open("t.bgplvm.run/scores.csv", newline="") as lines:
        assert sum(re.fullmatch(r"axis\d+", key) is not None for key in next(csv.reader(lines))) == run.facts["dims"]
    said = lowdim("plot", "relevance", "t.bgplvm.run", "-o", "r.csv")
    assert said.code == 0
    with open("r.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [float(row["relevance"]) for row in rows] == pytest.approx(model.relevance_)
    assert [row["kept"] for row in rows].count("True") == model.n_kept_


def test_gaps_and_many_rows_are_answered_politely(lowdim, monkeypatch):
    write_csv(lowdim.folder / "t.csv", bent(gaps=0.1))
    said = lowdim("fit", "t.csv", "-m", "autoencoder")
    assert said.code == 4 and "LD163" in said.err and "lowdim fill FILE -o FILLED" in said.err
    quick(monkeypatch)
    monkeypatch.setitem(METHODS, "gplvm", METHODS["gplvm"]._replace(most_rows=30))
    with pytest.warns(LowdimWarning, match=r"LD492.*40 rows[\s\S]*--sample 30"):
        fit_method(ld.read("t.csv"), "gplvm", dims=1)


def test_every_picture_of_a_run(lowdim, monkeypatch):
    quick(monkeypatch)
    write_csv(lowdim.folder / "t.csv", bent())
    for name in ("gtm", "gplvm", "autoencoder"):
        assert lowdim("fit", "t.csv", "-m", name, "--dims", 2, "--quiet").code in (0, 5)
    for run, plot, *more in (
        ("gtm", "gtm_sheet", "--plane", "x1,x3", "--color", "x3"),
        ("gtm", "magnification"),
        ("gtm", "responsibility", "--row", 3),
        ("gtm", "traverse", "--axis", 2),
        ("gplvm", "latent_variance", "--join", "--axes", "2,1"),
        ("autoencoder", "traverse"),
        ("autoencoder", "bottleneck"),
        ("gplvm", "trace"),
    ):
        said = lowdim("plot", plot, f"t.{run}.run", "-o", f"{plot}.csv", *more)
        assert said.code == 0 and said.out.endswith(f"Wrote {plot}.csv\n"), (plot, said.err)
    X, model = bent(), ld.load("t.gtm.run/model.lowdim")
    unit = X.std(axis=0, ddof=1)
    cells = np.genfromtxt("gtm_sheet.csv", delimiter=",", names=True)
    assert cells["row_2"] == pytest.approx(X[:, 2])
    assert cells["node_2"][:25] == pytest.approx(model.nodes_[:, 2] * unit[2])
    shares = np.genfromtxt("responsibility.csv", delimiter=",", names=True)["share"]
    assert shares[:25] == pytest.approx(model.responsibilities(X / unit)[2], abs=1e-12)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("relevance",), "LD494"),
        (("map",), "LD494"),
        (("traverse", "--axis", "9"), "LD210"),
        (("gtm_sheet", "--plane", "x1,nope"), "'nope' is not one of two columns"),
        (("gtm_sheet", "--plane", "x1"), "two columns"),
        (("responsibility", "--row", "999"), "there is no row '999'"),
        (("gtm_sheet", "--join"), "only latent_variance takes it, not gtm_sheet"),
        (("traverse", "--axis", "0"), "0 is not in the range"),
    ],
)
def test_what_a_run_of_one_model_cannot_show(lowdim, monkeypatch, words, says):
    quick(monkeypatch)
    write_csv(lowdim.folder / "t.csv", bent())
    lowdim("fit", "t.csv", "-m", "gtm", "--dims", 2, "--quiet")
    said = lowdim("plot", words[0], "t.gtm.run", *words[1:])
    assert said.code == 2 and says in said.err and said.out == ""


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


def test_runs_tell_clusters_from_dimensions(lowdim):
    write_csv(lowdim.folder / "t.csv", bent())
    for k in (2, 3):
        assert lowdim("fit", "t.csv", "-m", "kmeans", "--clusters", k, "-o", f"{k}.run").code == 0
    lowdim("fit", "t.csv", "-m", "pca", "--dims", 1, "-o", "p.run")
    out = lowdim("runs", "2.run", "3.run").out
    assert re.search(r"^found clusters\n  2.run: 2\n  3.run: 3$", out, re.M) and "dimensions" not in out
    told = {
        d["what"]: (d["first"], d["second"])
        for d in json.loads(lowdim("runs", "2.run", "p.run", "--json").out)["differences"]
    }
    assert told["method"] == ("kmeans", "pca") and told["found dimensions"] == ("None", "1")


def test_one_code_for_a_name_that_is_none(lowdim):
    write_csv(lowdim.folder / "t.csv", bent())
    for words in (("fit", "t.csv", "-m", "umap"), ("compare", "t.csv", "-m", "umap"), ("fit", "t.csv", "-m", "random")):
        said = lowdim(*words)
        assert said.code == 2 and "LD290" in said.err and "gplvm" in said.err
    assert find_method(" GpLvM ").name == "gplvm"
    with pytest.raises(LowdimError, match="LD290"):
        find_method("random", FITTED)


def test_methods_are_listed_from_one_place(lowdim):
    """Every method answers some question, every class named exists, every name is printed with what it lacks."""
    assert {METHODS[name].class_name for name in FITTED} <= {name for q in questions() for name in q.answer.split(", ")}
    assert all(name in dir(ld) for q in questions() for name in q.answer.split(", ") if name)
    out = lowdim("methods").out
    assert all(q.text in out and q.how in out for q in questions())
    for name in FITTED:
        line = re.search(rf"^  {name} +(.*)$", out, re.M)
        assert line and METHODS[name].title in line[1] and all(word in line[1] for word in METHODS[name].lacks)
    told = json.loads(lowdim("methods", "--json").out)
    assert len(told["methods"]) == len(questions()) and {m["name"] for m in told["names"]} == set(FITTED)


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_a_bent_map_gets_two_axes_at_most_where_the_jury_decides(tmp_path, monkeypatch):
    """The jury counts straight axes: a circle in three columns has two of them."""
    quick(monkeypatch)
    some = METHODS["gplvm"]
    assert some.most(4, True) == 2 and some.most(4, False) == 4 and METHODS["gtm"].most(4, False) == 3
    monkeypatch.setattr("lowdim.jobs.one_model.choose_dimension", lambda *a, **k: type("Jury", (), {"q": 3}))
    table = ld.read(str(write_csv(tmp_path / "t.csv", bent())))
    assert fit_method(table, "gplvm").places.z.shape[1] == 2 and fit_method(table, "pca").places.z.shape[1] == 3
    with pytest.raises(LowdimError, match=r"LD210[\s\S]*at most 3 for nonlinear factor analysis"):
        fit_method(table, "nlfa", dims=4)
