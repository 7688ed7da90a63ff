"""Methods side by side: what is measured, against definitions; what is said, against what was measured."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, spearmanr
from sklearn.datasets import load_iris
from sklearn.manifold import trustworthiness

import lowdim
from lowdim import compare
from lowdim.judge.compare.compare import (
    MEASURED,
    ComparisonBench,
    Measure,
    MethodRow,
    clearly,
    mark_best,
    names_of,
    overlap,
)
from lowdim.judge.compare.map_quality import distances, kept, order, rank_agreement
from lowdim.judge.compare.own_units import OwnUnits
from lowdim.judge.compare.text import pick
from lowdim.judge.hidden_cells import deal
from lowdim.registry import COMPARED, METHODS
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.conftest import need


# neighbours ----------------------------------------------------------------------------------------------------------
def slow_share(D, E, k):
    """Each row's k nearest in both tables, one row at a time."""
    n, same = len(D), 0
    for i in range(n):
        a, b = (sorted((j for j in range(n) if j != i), key=lambda j, M=M: (M[i, j], j))[:k] for M in (D, E))
        same += len(set(a) & set(b))
    return same / (n * k)


def test_neighbours_kept_is_the_definition():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    D, E = distances(X), distances(X[:, :2])
    found = kept(order(D), order(E))
    slow = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert np.abs(D - slow).max() < 1e-12
    for k in (1, 5, 10, 28):
        assert found.share[k - 1] == pytest.approx(slow_share(D, E, k), abs=1e-12)
    above = [(29 * found.share[k - 1] - k) / (29 - k) / k for k in range(1, 29)]
    assert found.area == pytest.approx(sum(above) / sum(1 / k for k in range(1, 29)))
    i, j = np.triu_indices(30, 1)
    assert rank_agreement(D, E) == pytest.approx(spearmanr(D[i, j], E[i, j]).statistic, abs=1e-12)


def test_nothing_lost_is_one_and_chance_is_none():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    D = distances(X)
    same = kept(order(D), order(D))
    assert same.area == pytest.approx(1.0) and (same.share == 1.0).all()
    chance = [kept(order(D), order(distances(rng.standard_normal((200, 2))))).area for _ in range(10)]
    assert abs(np.mean(chance)) < 0.01
    assert same.at(10) == 1.0 and trustworthiness(X, X, n_neighbors=10) == 1.0


def test_distances_with_gaps_are_over_common_cells():
    X = np.array([[0.0, 0.0, 0.0], [3.0, np.nan, 4.0], [np.nan, 2.0, np.nan]])
    D = distances(X)
    assert D[0, 1] == pytest.approx(25 * 3 / 2) and D[0, 2] == pytest.approx(4 * 3) and np.isinf(D[1, 2])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) + 1e6
    G = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    assert rank_agreement(distances(X), distances(G)) > 0.7


def test_few_rows_do_not_break_it():
    for n in (1, 2, 3):
        D = distances(np.arange(float(n))[:, None])
        assert kept(order(D), order(D)).at() in (0.0, 1.0)
    assert rank_agreement(np.zeros((3, 3)), np.zeros((3, 3))) == 0.0


# the bench --------------------------------------------------------------------------------------------------------
def factors(n=120, d=6, q=2, noise=0.5, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + noise * rng.standard_normal((n, d))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


def bench_of(X, q, often):
    """The bench of a table whose columns are numbers, in the units that they have."""
    d = X.shape[1]
    own = OwnUnits(np.zeros(d), np.ones(d), ("real",) * d, tuple(f"c{j}" for j in range(d)))
    return ComparisonBench(X, own, q, clusters=3, seed=0, often=often, auto=False)


def test_density_and_error_of_hidden_cells_are_those_of_the_model():
    X = factors()
    bench = bench_of(X, 2, 5)
    found = bench.try_method(METHODS["ppca"]).row.measures
    for s in (0, 4):
        hidden = bench.masks[s]
        model = lowdim.PPCA(2).fit(np.where(hidden, np.nan, X))
        C, mean = model.get_covariance(), model.mean_
        total, squares = 0.0, 0.0
        for row, hide in zip(X, hidden, strict=True):
            if hide.any():
                seen = ~hide
                total += multivariate_normal(mean, C).logpdf(row) - multivariate_normal(
                    mean[seen], C[np.ix_(seen, seen)]
                ).logpdf(row[seen])
                gain = C[np.ix_(hide, seen)] @ np.linalg.inv(C[np.ix_(seen, seen)])
                guess = mean[hide] + gain @ (row - mean)[seen]
                squares += ((row[hide] - guess) ** 2).sum()
        assert found["density"].values[s] == pytest.approx(total / hidden.sum(), rel=1e-8)
        assert found["rmse"].values[s] == pytest.approx(np.sqrt(squares / hidden.sum()), rel=1e-8)


def test_the_mixed_model_meets_levels_as_levels_and_is_judged_by_its_means():
    """Its error is that of the means of the levels, beside the others' in units of the spread; its density is none."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((150, 1))
    items = np.digitize(z + 0.6 * rng.standard_normal((150, 6)), [-1.0, 0.0, 1.0]) + 1.0
    frame = pd.DataFrame(items, columns=[f"q{k}" for k in range(6)])
    found = {row.method: row for row in compare(frame, "mixed", dims=1).rows}["mixed"]
    hidden = deal(np.ones(items.shape, dtype=bool), 0) == 0
    G = np.where(hidden, np.nan, items)
    model = lowdim.MixedFactorAnalysis(1, likelihoods="ordinal").fit(G)
    shares = model.probabilities(G)
    mean = np.column_stack([shares[f"c{j + 1}"] @ np.array(model.levels_[j]) for j in range(6)])
    off = ((mean - items) / items.std(axis=0, ddof=1))[hidden]
    assert found.measures["rmse"].values[0] == pytest.approx(np.sqrt((off**2).mean()), rel=1e-6)
    assert found.measures["density"].why == "of levels" and found.measures["neighbours"].values


def test_every_method_meets_the_same_cells_and_no_cell_twice():
    bench = bench_of(factors(gaps=0.1), 2, 10)
    total = np.sum(bench.masks, axis=0)
    assert total.max() == 1 and (total == 1).sum() == (~np.isnan(bench.X)).sum() == bench.hidden


def test_a_planted_plane_is_found_and_the_floor_is_below():
    found = compare(factors(), "ppca,fa,ica", dims=2)
    by = {row.method: row.measures for row in found.rows}
    assert list(by) == ["pca", "ppca", "fa", "ica", "random"] and found.seeds == 5 and found.dims == 2
    for key in ("neighbours", "area", "ranks", "stability"):
        assert by["ppca"][key].mean > by["random"][key].mean + 0.1
    assert by["ppca"]["rmse"].mean < by["random"]["rmse"].mean - 0.1
    assert by["ica"]["rmse"].why == "no gaps" and by["random"]["density"].why == "no density"
    assert all(len(m.values) == 5 for key, m in by["ppca"].items() if key != "field")
    assert all(row.seconds >= 0 and row.memory > 1000 for row in found.rows)


def test_uneven_noise_is_for_factor_analysis():
    """Planted factors with very different noise: its density wins, clearly, and is starred."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 8)) + rng.standard_normal((400, 8)) * np.geomspace(
        0.1, 3, 8
    )
    found = compare(X, "ppca,fa", dims=2)
    best = {row.method: row.measures["density"].best for row in found.rows}
    assert best == {"pca": False, "ppca": False, "fa": True, "random": False}
    assert any(words.startswith("To know how sure to be: factor analysis,") for words in found.sentences)
    assert "*" in found.text()


def test_twice_the_spread_decides_what_is_best():
    more, less = MEASURED[0], MEASURED[1]
    a, near, far = Measure((1.0, 1.2, 1.1)), Measure((0.9, 1.3, 1.0)), Measure((0.5, 0.7, 0.6))
    assert clearly(a, far, more) and not clearly(a, near, more) and clearly(far, a, less)
    assert not clearly(Measure((1.0, 1.0)), Measure((0.9999, 0.9999)), more)  # not to be seen in three digits


def test_equal_methods_have_no_star_and_are_named_together():
    """PPCA twice under two names cannot beat itself."""
    bench = bench_of(factors(), 2, 5)
    rows = [bench.try_method(METHODS["ppca"]).row for _ in range(2)]
    marked = mark_best(rows)
    assert not any(m.best for row in marked for m in row.measures.values())
    assert len(pick(marked, MEASURED[1])) == 2


def test_behind_a_method_that_is_clearly_worse_none_is_named():
    """A is best; B is a little worse every time; C, worse than B, swings so that it cannot be told from A."""
    some = {"A": (0.70, 0.80, 0.60), "B": (0.75, 0.84, 0.66), "C": (0.80, 0.72, 0.86)}
    blank = MethodRow("", "", {}, "yes", "yes", "yes", "yes", 1.0, 1)
    rows = [blank._replace(method=name, title=name, measures={"rmse": Measure(v)}) for name, v in some.items()]
    assert clearly(rows[0].measures["rmse"], rows[1].measures["rmse"], MEASURED[1])
    assert not clearly(rows[0].measures["rmse"], rows[2].measures["rmse"], MEASURED[1])
    assert [row.method for row in pick(rows, MEASURED[1])] == ["A"]
    assert [row.method for row in pick([rows[0], rows[2]], MEASURED[1])] == ["A", "C"]


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
@pytest.mark.slow
def test_nonlinear_methods_beside_the_others(monkeypatch):
    """A bent sheet: the GTM fills better than a straight one; what limits a method is said beside the table."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0.0, 3.0, 100)
    X = np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t), t]) + 0.05 * rng.standard_normal((100, 4))
    monkeypatch.setitem(METHODS, "gplvm", METHODS["gplvm"]._replace(most_rows=40))
    found = compare(X, "gtm,gplvm,autoencoder", dims=1)
    by = {row.method: row for row in found.rows}
    assert list(by) == ["pca", "gtm", "gplvm", "autoencoder", "random"]
    assert by["gtm"].measures["rmse"].mean < 0.6 * by["pca"].measures["rmse"].mean
    assert by["autoencoder"].measures["rmse"].why == "no fills" and by["autoencoder"].uncertainty == "no"
    assert all(len(by["gplvm"].measures[f.key].values) == 5 for f in MEASURED)
    assert "gplvm was fitted to 40 rows" in by["gplvm"].note and "log density is Laplace's estimate" in by["gplvm"].note


def test_identical_maps_agree_completely():
    near = np.array([[1, 2], [0, 2], [0, 1]])
    assert overlap(near, near[:, ::-1]) == 1.0 and overlap(near, np.array([[1, 3], [0, 3], [0, 3]])) == 0.5


@pytest.mark.slow
def test_clusters_have_no_map_and_all_lines_fit():
    some = ["kmeans", "gmm", "mppca"]
    found = compare(factors(60, gaps=0.05), ["ppca", *some[:2]], dims=2, clusters=2)
    for width in (60, 80, 100, 200):
        text = found.text(width)
        assert max(map(len, text.split("\n"))) <= width
    assert ("– (no map)" in text) == bool(some) and "– (no density)" in text
    assert "<table>" in found._repr_html_() and repr(found) == found.text()
    assert "compared over the cells both have" in text


def test_a_method_that_fails_says_why_and_the_others_go_on():
    X, _ = load_iris(return_X_y=True)
    found = compare(X, "fa", dims=3)
    row = {r.method: r for r in found.rows}["fa"]
    assert "LD206" in row.note and row.measures["rmse"].why == "failed: LD206" and row.seconds is None
    assert "– (failed: LD206)" in found.text() and found.sentences


def test_the_same_call_gives_the_same_figures():
    X = factors(gaps=0.1)
    one, two, other = (compare(X, "ppca", dims=2, random_state=seed) for seed in (0, 0, 1))
    assert [row.measures for row in one.rows] == [row.measures for row in two.rows] != [r.measures for r in other.rows]
    assert one.sentences == two.sentences and one.agreement == two.agreement


def test_dims_budget_seeds_and_bad_requests():
    X = factors(60)
    assert compare(X, "ppca", budget="1s").seeds == 5 and compare(X, "ppca", dims=1, seeds=7).seeds == 7
    assert compare(X, "ppca").dims == lowdim.choose_dimension(X).q
    assert names_of("FA, pca,fa") == ["pca", "fa", "random"]
    for how, says in (
        ({"methods": "umap"}, "LD290.*'umap'[\\s\\S]*ppca"),
        ({"seeds": 2}, "LD210.*seeds"),
        ({"dims": 0}, "LD210.*dims"),
        ({"dims": 99}, "LD210[\\s\\S]*from 1 to 5"),
    ):
        with pytest.raises(LowdimError, match=says):
            compare(X, **{"methods": "ppca", **how})


def test_that_factor_analysis_limits_the_dimensions_of_all_is_said():
    X = factors(300, 4, 2, noise=0.15)  # Ledermann (1937): four columns identify one factor
    free, limited = compare(X, "ppca"), compare(X, "ppca,fa")
    assert (free.dims, free.wanted) == (2, 2) and "judges find" not in free.text()
    assert (limited.dims, limited.wanted) == (1, 2)
    words = " ".join(limited.text().split())
    assert "the judges find 2, but so few columns identify no more than 1 factor (fa)" in words


def test_noise_and_too_few_rows_are_said():
    with pytest.warns(LowdimWarning, match="LD292"):
        assert compare(np.random.default_rng(0).standard_normal((200, 5)), "ppca").dims == 1
    with pytest.raises(LowdimError, match="LD293"):
        bench_of(factors(4), 1, 5)


def test_long_tables_are_sampled_and_it_is_said(monkeypatch):
    monkeypatch.setattr("lowdim.judge.compare.compare.FITTED_ROWS", 50)
    with pytest.warns(LowdimWarning, match="LD291.*50 of 120 rows"):
        assert compare(factors(), "ppca", dims=2).fitted == 50


def test_the_registry_is_true():
    """What a method is said to lack, its class lacks; what it is said to have, it has."""
    for name in COMPARED:
        method = METHODS[name]
        model = method.make(2, 2, 0)
        assert hasattr(model, "score_samples") == (not method.lack("density")), name
        assert hasattr(model, "reconstruct") or method.lack("decoder"), name
        assert hasattr(model, "impute") == (not method.lack("fills")), name
    assert json.dumps(list(METHODS))


@pytest.mark.slow
def test_digester():
    """Real gaps: probabilistic PCA fills better than the floor, and its map keeps far more neighbours."""
    table = need("digester") / "kamyr.csv"
    found = compare(lowdim.read(str(table)), "ppca", dims=5)
    by = {row.method: row.measures for row in found.rows}
    assert found.gaps == 53 and by["ppca"]["rmse"].mean < 0.9 < by["random"]["rmse"].mean
    assert clearly(by["ppca"]["neighbours"], by["random"]["neighbours"], MEASURED[2])
    assert found.sentences[0].startswith("To fill gaps: probabilistic PCA")


def test_methods_with_a_field_are_compared_by_its_likelihood():
    """The column is `field().score` of the filled rows, a cell; methods without a field have none."""
    t = np.linspace(0, 3, 60)
    rng = np.random.default_rng(0)
    X = np.c_[np.cos(t), np.sin(t), 0.3 * t] + 0.05 * rng.standard_normal((60, 3))
    compared = compare(X, "le,mds", dims=1)
    by = {row.method: row for row in compared.rows}
    assert by["pca"].measures["field"].why == "no field" and len(by["le"].measures["field"].values) == 5
    assert "field" in compared.text(200).splitlines()[2] and "random field" in compared.text()
    bench = bench_of(X, 1, 3)
    fitted = bench._fitted(METHODS["le"], 0)[0]
    filled = (
        METHODS["ppca"].make(1).fit(np.where(bench.masks[0], np.nan, X)).impute(np.where(bench.masks[0], np.nan, X))
    )
    measured = bench.try_method(METHODS["le"]).row.measures["field"].values[0]
    assert measured == pytest.approx(fitted.field().score(filled) / X.size, rel=1e-12)
    assert "random field" not in compare(X, "ppca", dims=1).text()
