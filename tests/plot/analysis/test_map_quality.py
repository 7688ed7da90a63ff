"""Plots that judge maps: their numbers against the judges and against models; their SVG sound."""

import numpy as np
import pytest
from scipy.spatial import procrustes as peer
from sklearn.manifold import trustworthiness

import lowdim as ld
from lowdim.judge.compare.map_quality import judge_map
from lowdim.text.messages import LowdimError
from tests.plot.from_arrays import distance_matrix, neighbors, shepard, trust, versus
from tests.plot.svg_checks import HOSTILE, apart, inside, parsed, same_twice, svg_of, texts


def two(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, :2] + 0.3 * rng.standard_normal((n, 2))


def test_shepard_has_the_stress_of_the_judge():
    X, Z = two()
    plot = same_twice(lambda: shepard(X, Z))
    found = judge_map(X, Z)
    assert plot.data["stress"] == pytest.approx(found.stress) and f"{found.ranks:.2f}" in plot.sentence
    assert (np.diff(plot.data["fitted"]) >= 0).all()
    big = shepard(*two(200))
    assert "pairs of rows" in texts(big) and len(svg_of(big)) < 400_000  # shades, not 19,900 dots
    assert "a pair of rows" in texts(plot)


def test_neighbours_has_pca_and_the_random_plane_beside_it():
    X, Z = two()
    plot = same_twice(lambda: neighbors(X, Z))
    found = judge_map(X, Z)
    assert plot.data["this map"] == pytest.approx(found.kept.share)
    assert plot.data["PCA"] == pytest.approx(neighbors(X, ld.PCA(2).fit_transform(X)).data["this map"], abs=1e-9)
    assert plot.data["chance"][9] == pytest.approx(10 / 59) and plot.title.startswith("The map keeps ")
    assert any(words.startswith("random projection (") for words in texts(plot))


def test_trust_is_each_rows_own_and_names_the_worst():
    X, Z = two()
    Z[0] = Z[np.argmax(np.linalg.norm(X - X[0], axis=1))] + 1e-3  # a row among those that are farthest from it
    plot = same_twice(lambda: trust(X, Z, row_names=[f"row {i}" for i in range(60)]))
    assert plot.data["trust"].mean() == pytest.approx(trustworthiness(X, Z, n_neighbors=10), abs=1e-12)
    assert plot.data["continuity"].mean() == pytest.approx(trustworthiness(Z, X, n_neighbors=10), abs=1e-12)
    worst = int(np.argmin(plot.data["trust"]))
    assert f"row {worst}" in texts(plot) and f"Least: row {worst} " in plot.sentence
    plot.figure.draw_without_rendering()
    apart(plot.figure.axes[0].texts)


def test_versus_is_procrustes():
    _, Z = two()
    rng = np.random.default_rng(1)
    other = Z @ [[0.0, 2.0], [-2.0, 0.0]] + 5.0 + 0.2 * rng.standard_normal(Z.shape)
    plot = same_twice(lambda: versus(Z, other))
    error = (plot.data["moved"] ** 2).sum() / ((Z - Z.mean(axis=0)) ** 2).sum()
    assert error == pytest.approx(peer(Z, other)[2], abs=1e-9) and {"this map", "the other"} <= set(texts(plot))
    still = versus(Z, Z)
    assert still.data["moved"].max() < 1e-9 and "100%" in still.title
    assert versus(Z, Z[:, :1]).data["second"].shape == (60, 2)  # fewer axes: padded


def test_dist_matrix_is_ordered_by_the_first_axis():
    X, Z = two(30)
    X[0, :3] = np.nan
    X[1, 3:] = np.nan  # no cell in common with row 0
    plot = same_twice(lambda: distance_matrix(X, Z, row_names=HOSTILE[:6] * 5))
    at = np.argsort(Z[:, 0])
    D = np.linalg.norm(X[at][:, None] - X[at], axis=2)
    full = np.isfinite(D)
    assert plot.data["table"][full] == pytest.approx(D[full], abs=1e-6)
    gap = np.isnan(plot.data["table"])
    assert gap.sum() == 2 and gap[list(at).index(0), list(at).index(1)]
    assert "rank agreement" in plot.title


def test_distances_are_in_the_order_of_the_table_where_asked_for():
    X, Z = two(30)
    plot = distance_matrix(X, Z, order="rows")
    assert plot.data["table"] == pytest.approx(np.linalg.norm(X[:, None] - X, axis=2), abs=1e-6)
    assert plot.data["row"].tolist() == [str(k + 1) for k in range(30)] and "order of the table" in plot.sentence
    with pytest.raises(LowdimError, match=r"LD210.*order"):
        distance_matrix(X, Z, order="angle")


@pytest.mark.parametrize("n, q", [(3, 2), (40, 1), (500, 3)])
def test_few_rows_one_axis_and_many_rows(n, q):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    for plot in (
        shepard(X, X[:, :q]),
        neighbors(X, X[:, :q]),
        trust(X, X[:, :q]),
        distance_matrix(X, X[:, :q]),
        versus(X[:, :q], X[:, ::-1][:, :q]),
    ):
        parsed(plot)
        inside(plot)
        assert len(svg_of(plot)) < 1_500_000, plot.name
    with pytest.raises(LowdimError, match="LD160"):
        trust(X[:2], X[:2])
