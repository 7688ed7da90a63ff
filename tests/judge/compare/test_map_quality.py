"""Judging maps: every figure against scikit-learn, SciPy or a slow loop; files of coordinates against their tables."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_iris
from sklearn.isotonic import IsotonicRegression
from sklearn.manifold import trustworthiness
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

import lowdim
from lowdim import compare, judge_map
from lowdim.jobs.one_model import fit_method
from lowdim.judge.compare.map_quality import distances, floors, label_errors, order, shares_true, shepard
from lowdim.judge.compare.read_map import read_map
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.conftest import need


def two(n=80, d=6, q=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, :q] + 0.2 * rng.standard_normal((n, q))


# figures ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("k", [1, 5, 10, 39])
def test_trustworthiness_and_continuity_are_scikit_learns(k):
    X, Z = two()
    found = judge_map(X, Z, k=k)
    assert found.trust == pytest.approx(trustworthiness(X, Z, n_neighbors=k), abs=1e-12)
    assert found.continuity == pytest.approx(trustworthiness(Z, X, n_neighbors=k), abs=1e-12)
    assert found.row_trust.mean() == pytest.approx(found.trust, abs=1e-12)


@pytest.mark.parametrize("k", [40, 60, 78])
def test_beyond_half_of_the_rows_the_worst_map_still_has_none(k):
    """scikit-learn refuses these; the worst order there is (the reverse) must give 0, and none lie below."""
    X, Z = two()
    here = order(distances(X))
    assert shares_true(here, here[:, ::-1], k) == pytest.approx(np.zeros(80), abs=1e-12)
    assert (shares_true(here, order(distances(Z)), k) >= 0.0).all() and (shares_true(here, here, k) == 1.0).all()


def test_stress_is_kruskals():
    X, Z = two(40)
    found = shepard(distances(X), distances(Z))
    i, j = np.triu_indices(40, 1)
    d, e = np.linalg.norm(X[i] - X[j], axis=1), np.linalg.norm(Z[i] - Z[j], axis=1)
    fitted = IsotonicRegression().fit(d, e).predict(d)
    assert found.stress == pytest.approx(np.sqrt(((e - fitted) ** 2).sum() / (e**2).sum()), rel=1e-9)
    assert found.ranks == pytest.approx(spearmanr(d, e).statistic, abs=1e-12)
    assert (np.diff(found.fitted) >= -1e-12).all() and (np.diff(found.table) >= 0).all()
    assert shepard(distances(X), distances(7 * X)).stress == pytest.approx(0.0, abs=1e-9)
    bent = distances(X) ** 3  # any rising curve of the distances is without stress
    assert shepard(distances(X), bent).stress == pytest.approx(0.0, abs=1e-9)


def test_label_errors_are_leave_one_out():
    X, y = load_iris(return_X_y=True)
    X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)  # ties are told apart
    Z = X[:, :2]
    for place in (X, Z):
        peer = cross_val_predict(KNeighborsClassifier(1), place, y, cv=LeaveOneOut())
        assert label_errors(distances(place), y.astype(object)).rows.tolist() == np.flatnonzero(peer != y).tolist()
    found = judge_map(X, Z, y)
    assert len(found.errors.rows) > len(found.table_errors.rows) and found.errors.labelled == 150
    assert f"{len(found.errors.rows)} of 150 labelled rows" in found.text()
    some = judge_map(X, Z, [None if i % 2 else str(v) for i, v in enumerate(y)])
    assert some.errors.labelled == 75
    assert label_errors(distances(X), np.array([None] * 150, dtype=object)).share == 0.0


def test_the_floors_are_pca_and_a_random_plane():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 8)) + 0.1 * rng.standard_normal((100, 8))
    found = judge_map(X, lowdim.PCA(3).fit_transform(X))
    assert found.neighbours == pytest.approx(found.floors["PCA"].at(10), abs=1e-9)
    assert found.floors["random projection"].at(10) < found.neighbours - 0.1
    some = floors(X, 50, order(distances(X)))  # more axes than columns: all but one are used
    assert len(some["PCA"]) == 1 and len(some["random projection"]) == 5
    assert found.floors["random projection"].at(10) == pytest.approx(
        np.mean([one.at(10) for one in floors(X, 3, order(distances(X)))["random projection"]])
    )


# what is judged -----------------------------------------------------------------------------------------------------
def test_arrays_keep_their_units_and_tables_their_scale(tmp_path):
    X, Z = two(60)
    X = X * [1, 10, 100, 1, 1, 1]
    path = tmp_path / "t.csv"
    np.savetxt(path, X, delimiter=",", header="a,b,c,d,e,f", comments="")
    unit = X / X.std(axis=0, ddof=1)
    assert judge_map(str(path), Z).trust == pytest.approx(judge_map(unit, Z).trust, abs=1e-12)
    assert judge_map(lowdim.read(str(path), scale="none"), Z).trust == pytest.approx(judge_map(X, Z).trust, abs=1e-12)
    assert judge_map(X, Z).trust != judge_map(unit, Z).trust


def test_gaps_are_compared_over_common_cells_as_compare_does():
    X, Z = two(60)
    G = X.copy()
    G[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    found = judge_map(G, Z)
    assert found.trust == shares_true(order(distances(G)), order(distances(Z)), 10).mean()
    assert "with gaps: distances are over the cells both rows have" in found.text()
    H = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 1.0], [2.0, 5.0]])  # rows 1 and 2 have no common cell
    assert np.isfinite([judge_map(H, np.eye(4)[:, :2]).stress, judge_map(H, np.eye(4)[:, :2]).ranks]).all()


def test_few_rows_one_place_one_axis_and_large_k():
    X, Z = two(12)
    assert judge_map(X, Z, k=500).k == 10 and judge_map(X[:3], Z[:3]).k == 1
    flat = judge_map(X, np.zeros((12, 2)))
    assert flat.stress == 1.0 and flat.ranks == 0.0 and np.isfinite(flat.trust)
    for size in (1e300, 1e-300):  # units do not matter, whatever they are
        far = judge_map(X * size, Z * size)
        assert far.trust == pytest.approx(judge_map(X, Z).trust) and far.stress == pytest.approx(judge_map(X, Z).stress)
    assert judge_map(X, Z[:, 0]).axes == 1 and "1 axis" in judge_map(X, Z[:, 0]).text()
    assert repr(judge_map(X, Z)) == judge_map(X, Z).text()


def test_bad_maps_are_refused():
    X, Z = two(20)
    bad = Z.copy()
    bad[4, 1] = np.nan
    for args, says in (
        ((X, Z[:19]), "LD296.*19 lines of coordinates, but 20"),
        ((X, bad), "LD297[\\s\\S]*row 5"),
        ((X, Z, ["a"] * 3), "LD296.*3 labels"),
        ((X, Z, None, 0), "LD210.*k"),
        ((X[:2], Z[:2]), "LD160"),
        ((X, np.zeros((20, 0))), "LD105"),
        ((X, [["a", "b"]] * 20), "LD104"),
    ):
        with pytest.raises(LowdimError, match=says):
            judge_map(*args)
    with pytest.raises(LowdimError, match=r"LD210.*labels"):
        judge_map(lowdim.read(X), Z, "colour")


def test_many_rows_are_sampled_and_it_is_said(monkeypatch):
    monkeypatch.setattr("lowdim.judge.compare.map_quality.JUDGED_ROWS", 50)
    X, Z = two(120)
    with pytest.warns(LowdimWarning, match="LD295.*50 of 120 rows"):
        found = judge_map(X, Z)
    assert len(found.rows) == 50 and found.trust == pytest.approx(
        trustworthiness(X[found.rows], Z[found.rows], n_neighbors=10), abs=1e-12
    )


# coordinates from a file --------------------------------------------------------------------------------------------
@pytest.fixture
def rows(tmp_path):
    X, Z = two(30)
    path = tmp_path / "t.csv"
    path.write_text("who,a,b,c,d,e,f\n" + "\n".join(f"r{i}," + ",".join(map(str, row)) for i, row in enumerate(X)))
    return lowdim.read(str(path), id="who"), Z, tmp_path


def save(folder, head, lines, sep=","):
    path = folder / "xy.csv"
    path.write_text("\n".join([*([head] if head else []), *(sep.join(map(str, line)) for line in lines)]) + "\n")
    return str(path)


def test_lines_are_matched_by_name_or_by_order(rows):
    table, Z, folder = rows
    mixed = np.random.default_rng(0).permutation(30)
    named = [(f"r{i}", *Z[i]) for i in mixed]
    assert (read_map(save(folder, "row,x,y", named), table) == Z).all()
    assert (read_map(save(folder, "whatever,x,y", named), table) == Z).all()  # it holds the table's names
    assert (
        read_map(save(folder, "row,axis1,axis2,axis1_sd,log_density", [(*v, 1, 2) for v in named]), table) == Z
    ).all()  # scores.csv: only its axes are coordinates
    assert (read_map(save(folder, "x,y", Z), table) == Z).all() and (read_map(save(folder, "", Z), table) == Z).all()
    assert (read_map(save(folder, ",x,y", [(i, *z) for i, z in enumerate(Z)]), table) == Z).all()  # pandas' index
    comma = [(f"r{i}", *(str(v).replace(".", ",") for v in Z[i])) for i in mixed]
    assert (read_map(save(folder, "row;x;y", comma, ";"), table) == Z).all()
    assert (read_map(Z, table) == Z).all()
    np.save(folder / "xy.npy", Z)
    assert (read_map(str(folder / "xy.npy"), table) == Z).all()


def test_rows_left_out_of_the_table_may_be_on_the_map(tmp_path):
    X, Z = two(30)
    lines = [",".join(map(str, row)) for row in X]
    lines[7] = ",,,,,"  # an empty row is left out
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c,d,e,f", *lines]) + "\n")
    table = lowdim.read(str(path))
    left = np.delete(np.arange(30), 7)
    assert table.n == 29 and (read_map(Z[left], table) == Z[left]).all()
    if table.shape[0] == 30:
        assert (read_map(save(tmp_path, "x,y", Z), table) == Z[left]).all()


def test_files_that_do_not_fit_are_refused(rows):
    table, Z, folder = rows
    named = [(f"r{i}", *z) for i, z in enumerate(Z)]
    for head, lines, says in (
        ("x,y", Z[:29], "LD296.*29 lines in xy.csv, but 30"),
        ("row,x,y", named[:28], "LD298.*'r28' and 1 more"),
        ("row,x,y", [*named, named[0]], "LD298.*two lines are called 'r0'"),
        ("x,y", [*Z[:29], ("?", 1)], "LD299.*'\\?' is no coordinate[\\s\\S]*line 31, column 'x'"),
        ("x,y", [*Z[:29], ("", 1)], "LD299.*missing"),
        ("row,kind", [(n[0], "a") for n in named], "LD299.*no column"),
    ):
        with pytest.raises(LowdimError, match=says):
            read_map(save(folder, head, lines), table)


# compare and fit ----------------------------------------------------------------------------------------------------
def test_compare_judges_coordinates_beside_the_methods(rows):
    table, Z, folder = rows
    found = compare(table, "ppca", dims=2, maps={"mine": save(folder, "x,y", Z), "pca again": np.asarray(Z)})
    mine = found.rows[-2]
    unit = table.X / table.X.std(axis=0, ddof=1)
    assert mine.method == "mine" and mine.measures["density"].why == "coordinates only"
    assert mine.measures["trust"].values == (pytest.approx(trustworthiness(unit, Z, n_neighbors=10), abs=1e-12),)
    assert mine.measures["neighbours"].mean == pytest.approx(judge_map(table, Z).neighbours)
    assert mine.measures["ranks"].mean == pytest.approx(judge_map(table, Z).ranks)
    assert found.agreement["mine pca again"] == 1.0 and not any(m.best for m in mine.measures.values())
    text = found.text()
    assert "3 methods and 2 maps made elsewhere" in text and "– (coordinates only)" in text
    assert any(words.startswith("mine (2 axes, made elsewhere) keeps ") for words in found.sentences)
    assert max(map(len, text.split("\n"))) <= 80
    with pytest.raises(LowdimError, match="LD296"):
        compare(table, "ppca", dims=2, maps={"short": Z[:5]})


@pytest.mark.slow
def test_spectral_methods_are_compared_and_say_what_they_lack():
    X = load_iris().data
    found = compare(X, "mds,kpca,isomap,le,lle,gtm", dims=2)
    by = {row.method: row for row in found.rows}
    for name in ("mds", "isomap", "le", "lle"):
        assert by[name].measures["rmse"].why == "no fills" and (by[name].gaps, by[name].decoder) == ("yes", "no")
        assert by[name].new_rows == "yes" and len(by[name].measures["trust"].values) == 5
    assert by["kpca"].decoder == "yes" and by["gtm"].uncertainty == by["gtm"].gaps == "yes"
    # classical MDS of distances is PCA, here of the filled table
    assert by["mds"].measures["neighbours"].mean == pytest.approx(by["pca"].measures["neighbours"].mean, abs=0.02)
    assert "got the hidden and missing cells from probabilistic PCA" in " ".join(found.text().split())
    assert all(by[name].measures["trust"].mean > 0.85 for name in ("pca", "mds", "isomap", "gtm"))


def test_what_cannot_grow_is_said(monkeypatch):
    X, _ = two(40)
    monkeypatch.setattr(
        "lowdim.judge.compare.compare.METHODS",
        {
            **lowdim.judge.compare.compare.METHODS,
            "le": lowdim.judge.compare.compare.METHODS["le"]._replace(most_rows=30),
        },
    )
    found = compare(X, "le,gtm", dims=4, seeds=5)
    notes = {row.method: row.note for row in found.rows}
    assert notes["le"].startswith("le was fitted to 30 rows") and "gtm has 3 dimensions, not 4" in notes["gtm"]


def test_weights_are_refused_by_methods_that_take_none():
    X, _ = two(30)
    X = np.column_stack([X, np.arange(30) % 3 + 1.0])
    table = lowdim.read(X, weight="c7")
    with pytest.raises(LowdimError, match=r"LD283.*Isomap"):
        fit_method(table, "isomap", dims=2)
    with pytest.raises(LowdimError, match=r"LD210[\s\S]*at most 3"):
        fit_method(lowdim.read(X), "gtm", dims=4)
    found = fit_method(lowdim.read(load_iris().data), "gtm", dims=2)
    assert found.places.sd is not None and found.places.density is not None


@pytest.mark.slow
def test_digester_and_oil():
    """Gaps: the decoded map keeps most neighbours. Oil: a bent sheet keeps labels far better than a plane."""
    table = lowdim.read(str(need("digester") / "kamyr.csv"))
    found = judge_map(
        table, lowdim.PPCA(5, standardize=True).fit(table.X).reconstruct(table.X) / np.nanstd(table.X, axis=0, ddof=1)
    )
    assert 0.7 < found.neighbours < 0.85 and found.trust > 0.93
    lines = np.loadtxt(need("oil_flow") / "oil_flow.csv", delimiter=",", skiprows=1, usecols=range(1, 14))[:300]
    X, y = lines[:, :12], lines[:, 12]
    bent, flat = (judge_map(X, model.fit_transform(X), y) for model in (lowdim.GTM(2), lowdim.PCA(2)))
    assert len(bent.errors.rows) < 15 < 50 < len(flat.errors.rows) and bent.trust > flat.trust + 0.03
