"""`lowdim fit -m` of models told more than numbers: pairs of rows, classes, two views; and columns in own units."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn import cross_decomposition
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import lowdim as ld
from lowdim.datasets import cities
from lowdim.text.messages import LowdimError, OptionError, TableError
from tests.cli.calls import rows_of
from tests.cli.conftest import write_csv

NAMES = ["sl", "sw", "pl", "pw"]


@pytest.fixture
def miles(lowdim):
    """Ten cities and how far they are apart, as a file."""
    table = cities()
    path = write_csv(lowdim.folder / "miles.csv", table.X, list(table.columns))
    return path, table


@pytest.fixture
def iris(lowdim):
    """Iris with the class as a word; one class is not known."""
    data = load_iris()
    words = [data.target_names[k] for k in data.target]
    words[3] = ""
    rows = [f"{','.join(map(str, x))},{w}" for x, w in zip(data.data.tolist(), words, strict=True)]
    (lowdim.folder / "iris.csv").write_text("\n".join([",".join([*NAMES, "species"]), *rows]) + "\n")
    return lowdim.folder / "iris.csv", data.data, data.target


def axes(path):
    return np.array([[float(v) for k, v in row.items() if k.startswith("axis")] for row in rows_of(path)])


# pairs of rows ------------------------------------------------------------------------------------------
def test_distances_are_mapped_as_distances(lowdim, miles):
    """Two axes of ten cities give back their miles, and lie over the real map turned and scaled."""
    path, table = miles
    said = lowdim("fit", path, "-m", "mds", "--distances", "-o", "m.run")
    assert said.code == 0 and "Classical MDS of the distances of 10 rows: 2 axes." in said.out
    Z = axes(lowdim.folder / "m.run" / "scores.csv")
    D = squareform(pdist(Z))
    assert np.abs(D - table.X).max() < 40  # miles, of up to 2734: the earth is not flat
    place = table.extra["place"] * [1.0, np.cos(np.deg2rad(37.0))]
    assert ld.procrustes(Z, place).error < 0.01
    assert lowdim("apply", "m.run", path, "-o", "new.csv").code == 0
    assert (lowdim.folder / "new.csv").read_bytes() == (lowdim.folder / "m.run" / "scores.csv").read_bytes()


def test_a_square_table_of_distances_is_never_taken_for_measurements_in_silence(lowdim, miles):
    path, _ = miles
    checked = lowdim("check", path)
    assert "LD192" in checked.out and "Next:  lowdim fit" in checked.out and "-m mds --distances" in checked.out
    for command in (["fit", path, "-m", "pca"], ["dims", path], ["report", path]):
        said = lowdim(*command)
        assert said.code == 4 and "LD192" in said.err and "-m mds --distances" in said.err
    assert lowdim("fit", path, "-m", "pca", "--dims", 1, "--use", ",".join(cities().columns), "-o", "p.run").code == 0


@pytest.mark.parametrize("method", ["isomap", "le", "lle", "kmedoids"])
def test_other_methods_take_distances_where_that_makes_sense(lowdim, miles, method):
    path, table = miles
    size = ["--clusters", 2] if method == "kmedoids" else ["--set", "n_neighbors=4"]
    said = lowdim("fit", path, "-m", method, "--distances", *size, "-o", "m.run", "--quiet")
    assert said.code == 0, said.err
    rows = rows_of(lowdim.folder / "m.run" / "scores.csv")
    if method == "kmedoids":
        west = {c for c, row in zip(table.columns, rows, strict=True) if row["cluster"] == rows[4]["cluster"]}
        assert west == {"Los Angeles", "San Francisco", "Seattle", "Denver"}
    else:
        model = ld.registry.METHODS[method].load_class()(2, n_neighbors=4, metric="precomputed").fit(table.X)
        assert axes(lowdim.folder / "m.run" / "scores.csv") == pytest.approx(model.embedding_, abs=1e-9)


def test_similarities_give_the_axes_of_their_table(lowdim):
    """Inner products of rows know all that distances know: their map is that of PCA, turned."""
    X = np.random.default_rng(0).standard_normal((12, 3)) * [3.0, 2.0, 0.1]
    path = write_csv(lowdim.folder / "k.csv", X @ X.T)
    for method in ("mds", "kpca"):
        said = lowdim("fit", path, "-m", method, "--similarities", "--dims", 2, "-o", f"{method}.run", "--quiet")
        assert said.code == 0 and "of the similarities of 12 rows" in said.out, said.err
        Z = axes(lowdim.folder / f"{method}.run" / "scores.csv")
        assert np.abs(Z) == pytest.approx(np.abs(ld.PCA(2).fit_transform(X)), abs=1e-8)
    assert "LD192" in lowdim("fit", path, "-m", "isomap", "--similarities").err


def test_correlations_are_refused_with_the_way_to_map_them(lowdim):
    R = np.corrcoef(np.random.default_rng(0).standard_normal((40, 6)).cumsum(axis=1), rowvar=False)
    path = write_csv(lowdim.folder / "r.csv", R)
    refused = lowdim("fit", path, "-m", "mds")
    assert refused.code == 4 and "LD194" in refused.err and "-m mds --similarities" in refused.err
    assert lowdim("fit", path, "-m", "mds", "--similarities", "-o", "r.run").code == 0


def test_two_equal_things_stay_in_a_table_of_distances():
    """Their columns are copies of each other, which in a table of measurements are left out."""
    x = np.array([0.0, 0.0, 1.0, 5.0, 9.0])
    t = ld.read(np.abs(x[:, None] - x))
    assert t.holds == "distances" and t.X.shape == (5, 5)
    assert ld.fit_method(t, "mds", dims=1).places.z[0, 0] == pytest.approx(
        ld.fit_method(t, "mds", dims=1).places.z[1, 0]
    )


def test_what_is_no_table_of_pairs_is_refused(lowdim, iris, miles):
    assert "LD199" in lowdim("fit", iris[0], "-m", "mds", "--distances").err
    lopsided = cities().X.copy()
    lopsided[0, 1] += 100.0
    path = write_csv(lowdim.folder / "lopsided.csv", lopsided)
    assert "LD410" in lowdim("fit", path, "-m", "mds", "--distances").err
    assert "--clusters" in lowdim("fit", miles[0], "-m", "kmedoids", "--distances").err
    with pytest.raises(OptionError, match="pairs='guesses'"):
        ld.read(lopsided, pairs="guesses")


# classes ------------------------------------------------------------------------------------------------
def test_classes_are_told_apart_as_by_scikit_learn(lowdim, iris):
    path, X, y = iris
    said = lowdim("fit", path, "-m", "lda", "--label", "species", "-o", "l.run", "--quiet")
    assert said.code == 0 and "Classes of 'species': setosa (49), versicolor (50), virginica (50)." in said.out
    assert "98% get their class (the largest class alone: 34%)" in said.out
    known = np.arange(150) != 3
    peer = LinearDiscriminantAnalysis(solver="eigen", n_components=2).fit(X[known], y[known])
    rows = rows_of(lowdim.folder / "l.run" / "scores.csv")
    names = load_iris().target_names
    assert [row["class"] for row in rows] == [names[k] for k in peer.predict(X)]
    likely = np.array([float(row["probability"]) for row in rows])
    assert likely == pytest.approx(peer.predict_proba(X).max(axis=1), abs=1e-9)
    places = np.abs(peer.transform(X - X[known].mean(axis=0)))  # this solver does not centre
    assert np.abs(axes(lowdim.folder / "l.run" / "scores.csv")) == pytest.approx(places, abs=1e-6)
    assert lowdim("apply", "l.run", path, "-o", "new.csv", "--quiet").code == 0
    assert (lowdim.folder / "new.csv").read_bytes() == (lowdim.folder / "l.run" / "scores.csv").read_bytes()


def test_classes_that_are_not_there_are_refused(lowdim, iris):
    path = iris[0]
    assert "LD286" in lowdim("fit", path, "-m", "lda", "--drop", "species").err
    one = lowdim.folder / "one.csv"
    one.write_text("a,b,c\n" + "".join(f"{0.3 * (k % 4)},{k * k % 7 + 0.5},same\n" for k in range(9)))
    assert "LD286" in lowdim("fit", one, "-m", "lda", "--label", "c").err
    with pytest.raises(OptionError, match="lda"):
        ld.fit_method(path, "ppca", label="species")


# two views ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("views", ["sepal:1-2,petal:3-4", "sepal:sl,sw,petal:pl,pw", "sepal:1,sw,petal:3-5"])
def test_two_views_by_place_and_by_name(lowdim, iris, views):
    path, X, _ = iris
    said = lowdim("fit", path, "-m", "cca", "--views", views, "-o", "c.run", "--quiet")
    peer = cross_decomposition.CCA(n_components=1).fit(X[:, :2], X[:, 2:])
    a, b = peer.transform(X[:, :2], X[:, 2:])
    rho = np.corrcoef(a[:, 0], b[:, 0])[0, 1]
    assert said.code == 0 and f"Correlations of sepal and petal: {rho:.3f} (p " in said.out
    assert axes(lowdim.folder / "c.run" / "scores.csv").shape == (150, 2)  # one shared axis and its sd
    assert lowdim("apply", "c.run", path, "-o", "new.csv", "--quiet").code == 0
    assert (lowdim.folder / "new.csv").read_bytes() == (lowdim.folder / "c.run" / "scores.csv").read_bytes()
    assert "LD326" in lowdim("explain", "c.run", "--row", 2).err


@pytest.mark.parametrize(
    ("views", "word"),
    [
        (None, "no views are named"),
        ("1-2,3-4", "does not begin"),
        ("a:1-4", "1 view"),
        ("a:1-2,b:2-3", "in both views"),
        ("a:1-2,b:9", "counted from 1 to 5"),
        ("a:1-2,b:nose", "'nose'"),
        ("a:1-2,b:5", "no column of numbers"),
        ("a:1,a:2", "twice"),
    ],
)
def test_views_that_cannot_be_are_refused(lowdim, iris, views, word):
    said = lowdim("fit", iris[0], "-m", "cca", *([] if views is None else ["--views", views]))
    assert said.code == 4 and "LD280" in said.err and word in said.err


def test_with_gaps_no_test_says_how_many(lowdim, iris):
    lines = iris[0].read_text().splitlines()
    lines[5] = "," + lines[5].split(",", 1)[1]
    (lowdim.folder / "gappy.csv").write_text("\n".join(lines) + "\n")
    said = lowdim("fit", "gappy.csv", "-m", "cca", "--views", "a:1-2,b:3-4", "--quiet")
    assert said.code == 0 and "1 axis" in said.out and "With gaps no test" in said.out


def test_views_belong_to_cca(lowdim, iris):
    assert lowdim("fit", iris[0], "-m", "pca", "--views", "a:1-2,b:3-4").code == 2
    assert lowdim("fit", iris[0], "--views", "a:1-2,b:3-4").code == 2
    with pytest.raises(TableError, match="'nose'"):
        ld.fit_method(iris[0], "cca", views={"a": ["nose"], "b": ["pl"]})


# columns in their own units, clusters around rows --------------------------------------------------------
def test_the_columns_that_vary_most_are_kept_as_they_are(lowdim, iris):
    path, X, _ = iris
    said = lowdim("fit", path, "-m", "select", "--dims", 2, "-o", "s.run", "--quiet")
    share = X[:, [0, 2]].var(axis=0).sum() / X.var(axis=0).sum()
    assert said.code == 0 and f"Kept, the most varied first: pl, sl; {share:.0%} of the variance" in said.out
    rows = rows_of(lowdim.folder / "s.run" / "scores.csv")
    assert np.array_equal([[float(r["sl"]), float(r["pl"])] for r in rows], X[:, [0, 2]])
    told = json.loads(lowdim("fit", path, "-m", "select", "--dims", 1, "-o", "t.run", "--json").out)
    assert told["found"][0].startswith("Kept, the most varied first: pl;")


def test_medoids_are_rows_of_the_table(lowdim, iris):
    path, X, _ = iris
    said = lowdim("fit", path, "-m", "kmedoids", "--clusters", 3, "--set", "metric=cityblock", "-o", "k.run", "--quiet")
    unit = X.std(axis=0, ddof=1)
    medoids = ld.KMedoids(3, metric="cityblock").fit(X / unit).medoid_indices_
    assert said.code == 0 and "Medoids: rows " + ", ".join(str(i + 1) for i in medoids) + "." in said.out


def test_what_is_told_more_cannot_be_compared(lowdim, iris):
    for name in ("lda", "cca", "select", "kmedoids"):
        said = lowdim("compare", iris[0], "-m", name)
        assert said.code == 2 and "LD210" in said.err
    with pytest.raises(LowdimError):
        ld.compare(iris[0], "lda")


# distances with missing pairs ----------------------------------------------------------------------------
def test_distances_with_gaps_are_mapped_drawn_and_not_explained(lowdim):
    from tests.conftest import need

    path = need("city_distances") / "europe54_road_km.csv"
    assert "LD192" in lowdim("report", path, "--quiet").err
    said = lowdim("fit", path, "-m", "mds", "--distances", "-o", "d.run")
    assert said.code == 0 and "4 of 1431 distances were inferred" in said.out
    drawn = lowdim("plot", "map", "d.run", "-o", "map.svg")
    assert drawn.code == 0
    picture = (lowdim.folder / "map.svg").read_text(encoding="utf-8")
    assert "Lisboa" in picture and "Hammerfest" in picture
    said = lowdim("explain", "d.run", "--row", "Paris")
    assert said.code == 2 and "LD326" in said.err and "lowdim plot map d.run" in said.err
    assert lowdim("explain", "d.run", "--axis", 1).code == 2


def test_options_that_a_fix_names_are_spelled_for_the_command_line(lowdim, iris):
    said = lowdim("fit", iris[0], "-m", "gtm", "--set", "max_iter=2", "-o", "short.run")
    assert said.code == 5 and "raise max_iter or tol" in said.err
    assert "Options of the model that a fix names: --set max_iter=... --set tol=..." in said.err
    fine = lowdim("fit", iris[0], "-m", "ppca", "-o", "fine.run")
    assert fine.code == 0 and "--set" not in fine.err
