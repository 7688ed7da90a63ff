"""`lowdim fit --method`: one model by its name, its run folder, and new rows."""

import csv
import json

import numpy as np
import pytest

from lowdim import PPCA, read
from lowdim.jobs.one_model import fit_method
from lowdim.registry import FITTED
from lowdim.text.messages import OptionError, TableError


def made(folder, gaps=0.0, seed=0):
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
    path, X, _ = made(tmp_path, gaps=0.1)
    said = lowdim("fit", path, "-m", "ppca", "--dims", 2, "-o", tmp_path / "one.run")
    assert said.code == 0 and "Probabilistic PCA of 80 rows x 5 columns: 2 axes." in said.out
    sd = np.nanstd(X, axis=0, ddof=1)
    peer = PPCA(2).fit(X / sd)
    rows = scores(tmp_path / "one.run" / "scores.csv")
    found = np.array([[float(r["axis1"]), float(r["axis2"])] for r in rows])
    assert found == pytest.approx(peer.transform(X / sd), abs=1e-5)
    assert [float(r["log_density"]) for r in rows] == pytest.approx(peer.score_samples(X / sd), abs=1e-5)


def test_new_rows_land_where_the_old_ones_did(lowdim, tmp_path):
    path, _, _ = made(tmp_path, gaps=0.1)
    for name in ("bpca", "gmm", "gtm"):
        folder = tmp_path / f"{name}.run"
        assert lowdim("fit", path, "--method", name, "-o", folder).code == 0
        said = lowdim("apply", folder, path, "-o", tmp_path / "new.csv")
        assert said.code == 0 and "80 rows placed" in said.out
        assert (tmp_path / "new.csv").read_bytes() == (folder / "scores.csv").read_bytes()


def test_a_spectral_map_is_fitted_saved_and_takes_new_rows(lowdim, tmp_path):
    path, _, _ = made(tmp_path)
    folder = tmp_path / "i.run"
    said = lowdim("fit", path, "-m", "isomap", "--dims", 2, "-o", folder)
    assert said.code == 0 and "Isomap of 80 rows x 5 columns: 2 axes." in said.out
    assert lowdim("apply", folder, path, "-o", tmp_path / "new.csv").code == 0
    old, new = (np.loadtxt(p, delimiter=",", skiprows=1)[:, 1:] for p in (folder / "scores.csv", tmp_path / "new.csv"))
    assert new == pytest.approx(old, abs=1e-8)
    assert lowdim("compare", path, "-m", "mds", "--dims", 2, "--quiet", "--map", folder / "scores.csv").code == 0


def test_evidence_finds_the_groups(lowdim, tmp_path):
    path, _, group = made(tmp_path, gaps=0.1)
    assert lowdim("fit", path, "-m", "gmm", "-o", tmp_path / "g.run").code == 0
    cluster = np.array([int(row["cluster"]) for row in scores(tmp_path / "g.run" / "scores.csv")])
    same = ((cluster == 1) == (group == group[0])).mean()
    assert set(cluster) == {1, 2} and max(same, 1 - same) > 0.95  # a row whose telling cells are gaps may go astray


def test_json_and_what_is_refused(lowdim, tmp_path):
    path, _, _ = made(tmp_path, gaps=0.1)
    told = json.loads(lowdim("fit", path, "-m", "kmeans", "--clusters", 3, "-o", tmp_path / "k.run", "--json").out)
    assert told["method"] == "kmeans" and len(told["cluster"]) == 80 and told["certificate"]["converged"]
    assert lowdim("fit", path, "--clusters", 3).code == 2
    assert "LD163" in lowdim("fit", path, "-m", "ica", "-o", tmp_path / "i.run").err
    assert "LD319" in lowdim("odd", tmp_path / "k.run").err
    table = read(str(path))
    with pytest.raises(OptionError, match="bpca"):
        fit_method(table, "tsne")
    with pytest.raises(TableError, match="LD163"):
        fit_method(table, "ica")


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")  # factors of two groups
def test_every_method_fits_a_complete_table(tmp_path, name):
    path, _, _ = made(tmp_path)
    found = fit_method(read(str(path)), name, dims=2, clusters=2)
    assert len(found.places.z) == 80 and np.isfinite(found.places.z).all() and found.text()
