"""`lowdim fit`: the main job without its report, one model by its name, its run folder, and new rows."""

from __future__ import annotations

import csv
import inspect
import json
import re

import numpy as np
import pytest

import lowdim as ld
from lowdim import PPCA, read
from lowdim.jobs.apply import place_run
from lowdim.jobs.one_model import fit_method, save_fitted
from lowdim.jobs.run_folder import load_run
from lowdim.registry import FITTED, METHODS, find_method
from lowdim.text.errors import OptionError, TableError
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.cli.conftest import small_table, write_csv
from tests.cli.tables import bent, large, quick
from tests.jobs.test_model_inputs import survey


def test_fit_says_four_lines_and_writes_a_run(lowdim, made):
    said = lowdim("fit", made / "small.csv", "--dims", "2", "--budget", "1s", "-o", "two.run", "--quiet")
    lines = said.out.split("\n")
    assert said.code == 0 and said.err == "" and len(lines) == 6
    assert lines[0].startswith("PPCA") and lines[1].startswith("2 dimensions (asked for; the judges say ")
    assert re.fullmatch(r"\d+% shared / \d+% noise", lines[2]) and lines[3].startswith("converged in ")
    assert sorted(p.name for p in (lowdim.folder / "two.run").iterdir()) == [
        "fills.csv",
        "held.csv",
        "judges.lowdim",
        "model.lowdim",
        "odd.csv",
        "run.json",
        "scores.csv",
    ]
    run = json.loads((lowdim.folder / "two.run" / "run.json").read_text())
    assert run["settings"]["dims"] == 2 and run["settings"]["budget"] == 1.0
    assert run["sentences"][0].startswith("You asked for 2 dimensions. ")


def test_the_same_call_writes_the_same_bytes(lowdim, made):
    for name in ("a.run", "b.run"):
        assert lowdim("fit", made / "small.csv", "--budget", "1s", "-o", name, "--quiet").code == 0
    for file in ("model.lowdim", "scores.csv", "fills.csv", "odd.csv"):
        assert (lowdim.folder / "a.run" / file).read_bytes() == (lowdim.folder / "b.run" / file).read_bytes(), file
    a, b = ((lowdim.folder / name / "run.json").read_text().replace(name, "") for name in ("a.run", "b.run"))
    assert a == b


def test_another_seed_is_another_run(lowdim, made):
    lowdim("fit", made / "small.csv", "--budget", "1s", "--seed", "7", "-o", "s.run", "--quiet")
    assert (lowdim.folder / "s.run" / "fills.csv").read_bytes() != (made / "small.run" / "fills.csv").read_bytes()


def test_a_fit_that_does_not_converge_leaves_with_5(lowdim, made, monkeypatch):
    from lowdim.models.linear.ppca import ProbabilisticPCA

    made_as = ProbabilisticPCA.__init__

    def short(self, *args, **given):
        made_as(self, *args, **{"max_iter": 2, **given})

    short.__signature__ = inspect.signature(made_as)
    monkeypatch.setattr(ProbabilisticPCA, "__init__", short)
    said = lowdim("fit", made / "small.csv", "--dims", "2", "--budget", "1s", "-o", "short.run")
    assert said.code == 5 and "LD201" in said.err and "did not converge" in said.err
    assert json.loads((lowdim.folder / "short.run" / "run.json").read_text())["converged"] is False


def test_strict_leaves_with_1_where_a_check_of_trust_fails(lowdim, tmp_path):
    X = small_table()[:6]
    X[np.isnan(X)] = 0.5
    write_csv(tmp_path / "few.csv", X)
    loose, strict = (lowdim("fit", "few.csv", "--budget", "1s", "--quiet", *more) for more in ((), ("--strict",)))
    assert loose.code == 0 and strict.code == 1 and "not so: enough rows" in strict.err


def test_as_many_dimensions_as_there_are(lowdim):
    write_csv(lowdim.folder / "large.csv", large(400, 14))
    said = lowdim("fit", "large.csv", "--budget", "1s")
    assert said.code == 0 and re.search(r"\[ok\] dimensions +0\.\.\d+ tried, 5 chosen", said.err)


# one model by its name ----------------------------------------------------------------------------------


def two_groups(folder, gaps=0.0, seed=0):
    """Two groups of rows in five columns whose units differ."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], 40)
    X = rng.standard_normal((80, 5)) * 0.5 + np.outer(group, [4.0, -4.0, 3.0, 0.0, 0.0])
    X = X * [1.0, 10.0, 100.0, 1.0, 0.1] + [5.0, 0.0, 1000.0, 3.0, 2.0]
    X[rng.random(X.shape) < gaps] = np.nan
    path = folder / "rows.csv"
    lines = [",".join("" if np.isnan(v) else f"{v:.12g}" for v in row) for row in X]
    path.write_text("\n".join(["a,b,c,d,e", *lines]) + "\n")
    return path, X, group


def scores(path):
    with open(path, newline="") as lines:
        return list(csv.DictReader(lines))


def test_scores_are_those_of_the_estimator_in_units_of_each_spread(lowdim, tmp_path):
    path, X, _ = two_groups(tmp_path, gaps=0.1)
    said = lowdim("fit", path, "-m", "ppca", "--dims", 2, "-o", tmp_path / "one.run")
    assert said.code == 0 and "Probabilistic PCA of 80 rows x 5 columns: 2 axes." in said.out
    sd = np.nanstd(X, axis=0, ddof=1)
    peer = PPCA(2).fit(X / sd)
    rows = scores(tmp_path / "one.run" / "scores.csv")
    found = np.array([[float(r["axis1"]), float(r["axis2"])] for r in rows])
    assert found == pytest.approx(peer.transform(X / sd), abs=1e-5)
    assert [float(r["log_density"]) for r in rows] == pytest.approx(peer.score_samples(X / sd), abs=1e-5)


def test_new_rows_land_where_the_old_ones_did(lowdim, tmp_path):
    path, _, _ = two_groups(tmp_path, gaps=0.1)
    for name, *how in (("bpca",), ("gmm", "--clusters", 2), ("gtm", "--dims", 1)):
        folder = tmp_path / f"{name}.run"
        assert lowdim("fit", path, "--method", name, *how, "-o", folder).code == 0
        said = lowdim("apply", folder, path, "-o", tmp_path / "new.csv")
        assert said.code == 0 and "80 rows placed" in said.out
        assert (tmp_path / "new.csv").read_bytes() == (folder / "scores.csv").read_bytes()


def test_a_spectral_map_is_fitted_saved_and_takes_new_rows(lowdim, tmp_path):
    path, _, _ = two_groups(tmp_path)
    folder = tmp_path / "i.run"
    said = lowdim("fit", path, "-m", "isomap", "--dims", 2, "-o", folder)
    assert said.code == 0 and "Isomap of 80 rows x 5 columns: 2 axes." in said.out
    assert lowdim("apply", folder, path, "-o", tmp_path / "new.csv").code == 0
    old, new = (np.loadtxt(p, delimiter=",", skiprows=1)[:, 1:] for p in (folder / "scores.csv", tmp_path / "new.csv"))
    assert new == pytest.approx(old, abs=1e-8)
    assert lowdim("compare", path, "-m", "mds", "--dims", 2, "--quiet", "--map", folder / "scores.csv").code == 0


@pytest.mark.slow
def test_evidence_finds_the_groups(lowdim, tmp_path):
    path, _, group = two_groups(tmp_path, gaps=0.1)
    assert lowdim("fit", path, "-m", "gmm", "-o", tmp_path / "g.run").code == 0
    cluster = np.array([int(row["cluster"]) for row in scores(tmp_path / "g.run" / "scores.csv")])
    same = ((cluster == 1) == (group == group[0])).mean()
    assert set(cluster) == {1, 2} and max(same, 1 - same) > 0.95  # a row whose telling cells are gaps may go astray


def test_json_and_what_is_refused(lowdim, tmp_path):
    path, _, _ = two_groups(tmp_path, gaps=0.1)
    told = json.loads(lowdim("fit", path, "-m", "kmeans", "--clusters", 3, "-o", tmp_path / "k.run", "--json").out)
    assert told["method"] == "kmeans" and len(told["cluster"]) == 80 and told["certificate"]["converged"]
    assert lowdim("fit", path, "--clusters", 3).code == 2
    assert "LD163" in lowdim("fit", path, "-m", "ica", "-o", tmp_path / "i.run").err
    refused = lowdim("odd", tmp_path / "k.run").err
    assert "LD325" in refused  # clusters say nothing of single cells
    table = read(str(path))
    with pytest.raises(OptionError, match="bpca"):
        fit_method(table, "tsne")
    with pytest.raises(TableError, match="LD163"):
        fit_method(table, "ica")


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")  # factors of two groups
def test_every_method_fits_a_complete_table(tmp_path, name):
    path, _, group = two_groups(tmp_path)
    if name == "lda":  # three classes: two axes
        head, *lines = path.read_text().splitlines()
        words = ["abc"[g + (k % 5 == 0)] for k, g in enumerate(group)]
        path.write_text("\n".join([f"{head},kind", *(f"{r},{w}" for r, w in zip(lines, words, strict=True))]) + "\n")
    more = {"cca": {"views": "one:1-2,other:3-5"}, "lda": {"label": "kind"}}.get(name, {})
    found = fit_method(read(str(path)), name, dims=2, clusters=2, **more)
    assert len(found.places.z) == 80 and np.isfinite(found.places.z).all() and found.text()


# nonlinear models -----------------------------------------------------------------------------------------


BENT = ("gtm", "density", "nlfa", "gplvm", "bgplvm", "autoencoder")


@pytest.mark.parametrize("name", BENT)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_it_is_fitted_saved_and_places_rows(tmp_path, monkeypatch, name):
    """scores.csv is what the estimator says of the scaled table; new rows land where the old ones did."""
    quick(monkeypatch)
    X = bent(gaps=0.0 if METHODS[name].lack("gaps") else 0.1)
    table = ld.read(str(write_csv(tmp_path / "t.csv", X)))
    found = fit_method(table, name, dims=1)
    run = load_run(save_fitted(found, tmp_path / "t.run"))
    assert run.facts["dims"] == 1 and run.facts["clusters"] is None and found.places.z.shape == (40, 1)
    S = X / np.nanstd(X, axis=0, ddof=1)
    assert found.places.z == pytest.approx(found.model.transform(S), abs=1e-6)
    assert (found.places.sd is None) == bool(METHODS[name].lack("uncertainty")) == (name == "autoencoder")
    assert (found.places.density is None) == (name == "autoencoder")
    assert (METHODS[name].estimate in found.text()) and METHODS[name].title.lower() in found.text().lower()
    again = place_run(run, str(tmp_path / "t.csv")).places
    assert list(again.lines(table.row_names)) == list(found.places.lines(table.row_names))


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
    said = lowdim("fit", "t.csv", "-m", "ica")
    assert said.code == 4 and "LD163" in said.err and "lowdim fill FILE -o FILLED" in said.err
    quick(monkeypatch)
    monkeypatch.setitem(METHODS, "gplvm", METHODS["gplvm"]._replace(most_rows=30))
    with pytest.warns(LowdimWarning, match=r"LD492.*40 rows[\s\S]*--sample 30"):
        fit_method(ld.read("t.csv"), "gplvm", dims=1)


def test_one_code_for_a_name_that_is_none(lowdim):
    write_csv(lowdim.folder / "t.csv", bent())
    for words in (("fit", "t.csv", "-m", "umap"), ("compare", "t.csv", "-m", "umap"), ("fit", "t.csv", "-m", "random")):
        said = lowdim(*words)
        assert said.code == 2 and "LD290" in said.err and "gplvm" in said.err
    assert find_method(" GpLvM ").name == "gplvm"
    with pytest.raises(LowdimError, match="LD290"):
        find_method("random", FITTED)


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_a_bent_map_gets_two_axes_at_most_where_the_jury_decides(tmp_path, monkeypatch):
    """The jury counts straight axes: a circle in three columns has two of them."""
    quick(monkeypatch)
    some = METHODS["gplvm"]
    assert some.most(4, True) == 2 and some.most(4, False) == 4 and METHODS["gtm"].most(4, False) == 3
    monkeypatch.setattr("lowdim.jobs.one_model.choose_dimension", lambda *a, **k: type("Jury", (), {"q": 3}))
    table = ld.read(str(write_csv(tmp_path / "t.csv", bent())))
    assert fit_method(table, "gplvm").places.z.shape[1] == 2 and fit_method(table, "pca").places.z.shape[1] == 3
    with pytest.raises(LowdimError, match=r"LD210[\s\S]*at most 5 for nonlinear factor analysis"):
        fit_method(table, "nlfa", dims=6)


def test_options_of_a_model_are_set_by_their_names(lowdim):
    """What is typed reaches the model; what it does not have, and what other flags set, is refused by name."""
    write_csv(lowdim.folder / "t.csv", bent())
    for wanted in (5, 9):
        out = f"{wanted}.run"
        assert (
            lowdim("fit", "t.csv", "-m", "isomap", "--set", f"n_neighbors={wanted}", "--dims", "2", "-o", out).code == 0
        )
        assert ld.load(lowdim.folder / out / "model.lowdim").n_neighbors == wanted
    for words, said in (
        (("--set", "neighbours=5"), "an option of Isomap: "),
        (("--set", "n_components=3"), "--dims"),
        (("--set", "n_neighbors"), "NAME=VALUE"),
        (("--set", "n_neighbors=many"), "LD"),
    ):
        outcome = lowdim("fit", "t.csv", "-m", "isomap", *words, "-o", "x.run")
        assert outcome.code == 2 and said in outcome.err, (words, outcome.err)
    for words in (("--set", "n_components=3"), ("--dims", "3")):  # of a mixture: its parts
        outcome = lowdim("fit", "t.csv", "-m", "gmm", *words, "-o", "x.run")
        assert outcome.code == 2 and "--clusters" in outcome.err, (words, outcome.err)
    assert "--method" in lowdim("fit", "t.csv", "--set", "n_neighbors=5").err
    assert not (lowdim.folder / "x.run").exists()


# columns that are no real numbers ---------------------------------------------------------------------------
def test_the_command_fits_applies_and_draws_it(lowdim):
    survey()[1].to_csv(lowdim.folder / "t.csv", index=False)
    said = lowdim("fit", "t.csv", "-m", "mixed")
    assert said.code == 0 and "scores.csv fills.csv" in said.out and "LD110" not in said.err
    assert lowdim("apply", "t.mixed.run", "t.csv", "--quiet").code == 0
    assert "Bonn" in (lowdim.folder / "t.fills.csv").read_text()
    for words in ("--place=1", "--row=1", "--axis=1", "--rows=1,2,3"):
        said = lowdim("explain", "t.mixed.run", words)
        assert said.code == 0 and "town" in said.out and not said.err, words
    assert "axes are counted from 1 to 1" in lowdim("explain", "t.mixed.run", "--axis=2").err
    said = lowdim("plot", "hinton", "t.mixed.run", "-o", "w.csv", "--quiet")
    assert said.code == 0 and "town=" in (lowdim.folder / "w.csv").read_text()
    assert lowdim("plot", "relevance", "t.mixed.run", "-o", "r.csv", "--quiet").code == 0
    said = lowdim("plot", "traverse", "t.mixed.run", "-o", "t.csv", "--quiet")
    assert said.code == 0 and "town=" in (lowdim.folder / "t.csv").read_text()


def test_a_column_is_declared_a_count(lowdim):
    """A skew count would be taken in logarithms; one that is declared is counted, in the fit and in new rows."""
    frame = survey()[1]
    frame["visits"] = np.random.default_rng(0).negative_binomial(0.7, 0.02, len(frame))
    frame.to_csv(lowdim.folder / "t.csv", index=False)
    said = lowdim("fit", "t.csv", "-m", "mixed", "--set", "likelihoods=visits:count,income:positive")
    assert said.code == 0 and "1 positive" in said.out and "1 count" in said.out and "LD195" not in said.err
    model = load_run(lowdim.folder / "t.mixed.run")
    assert not model.scales.log.any()
    frame.head(4).assign(visits=None).to_csv(lowdim.folder / "new.csv", index=False)
    assert lowdim("apply", "t.mixed.run", "new.csv", "--quiet").code == 0
    lines = [line.split(",") for line in (lowdim.folder / "new.fills.csv").read_text().splitlines()]
    fills = [float(line[2]) for line in lines if line[1] == "visits"]
    assert len(fills) == 4 and all(fill == int(fill) >= 0 for fill in fills)
    twice = lowdim("fit", "t.csv", "-m", "mixed", "--set", "likelihoods=a:count", "--set", "likelihoods=b:count")
    assert twice.code == 2 and "twice" in twice.err
