"""Classical scaling, the robust map and the standard transformation: identities, laws and bad matrices."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

import lowdim
from lowdim import PCA, ClassicalMDS, laws, robust_map, to_similarities, to_squared_distances
from lowdim.maths.pairs import negative_mass
from lowdim.models.spectral.mds import cailliez, lingoes, warn_of_triangles, within_triangles
from lowdim.text.errors import VerbError
from lowdim.text.messages import LowdimError, LowdimWarning


def table(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ np.diag([5.0, 3.0, 1.0, 0.5, 0.1][:d]) + 10.0


def pairs(X):
    D = cdist(X, X)
    return {"euclidean": X, "precomputed": D, "squared": D**2, "similarity": X @ X.T}


METRICS = ("euclidean", "precomputed", "squared", "similarity")


# identities ------------------------------------------------------------
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(60, 5), (6, 5), (700, 5)])
def test_euclidean_distances_give_the_scores_of_pca(metric, shape):
    X = table(*shape)
    scores = PCA(3).fit_transform(X)
    model = ClassicalMDS(3, metric=metric)
    Z = model.fit_transform(pairs(X)[metric])
    signs = np.sign((Z * scores).sum(axis=0))
    assert np.abs(Z * signs - scores).max() <= 1e-8
    if metric == "euclidean":
        assert (signs == 1).all()
    assert np.abs(model.transform(pairs(X)[metric]) - Z).max() <= 1e-8
    new = table(7, seed=1)
    rows = {"euclidean": new, "precomputed": cdist(new, X), "squared": cdist(new, X) ** 2, "similarity": new @ X.T}
    placed = PCA(3).fit(X).transform(new)
    assert np.abs(model.transform(rows[metric]) * signs - placed).max() <= 1e-8  # Gower's formula


def test_wide_tables_are_solved_on_the_side_of_the_rows():
    X = np.random.default_rng(3).standard_normal((12, 400))
    Z = ClassicalMDS(4).fit_transform(X)
    assert np.abs(Z - PCA(4).fit_transform(X)).max() <= 1e-8


def test_the_seeds_scaling():
    """[Lawrence2012] 3.5, step 3: X = sqrt(q/p) U Lambda^(1/2)."""
    X = table()
    plain, scaled = ClassicalMDS(2).fit(X), ClassicalMDS(2, scaling="sqrt(q/p)").fit(X)
    assert scaled.embedding_ == pytest.approx(np.sqrt(2 / 5) * plain.embedding_, rel=1e-12)
    assert scaled.transform(X[:4]) == pytest.approx(scaled.embedding_[:4], abs=1e-10)
    with pytest.raises(LowdimError, match="LD210"):
        ClassicalMDS(2, metric="precomputed", scaling="sqrt(q/p)").fit(cdist(X, X))


def test_the_standard_transformation_goes_both_ways():
    X = table(20)
    H = np.eye(20) - 1 / 20
    D = cdist(X, X) ** 2
    assert to_squared_distances(X @ X.T) == pytest.approx(D, abs=1e-9)
    assert to_similarities(D) == pytest.approx(H @ X @ X.T @ H, abs=1e-9)
    assert to_squared_distances(to_similarities(D)) == pytest.approx(D, abs=1e-9)


def test_r_cmdscale_of_ten_cities(need):
    """R 4.2.2: cmdscale(UScitiesD, eig = TRUE)$eig starts 9582144.3, 1686820.2."""
    D = pd.read_csv(need("city_distances/uscities10_miles.csv"), index_col=0)
    model = ClassicalMDS(2, metric="precomputed").fit(D)
    assert model.eigenvalues_ == pytest.approx([9582144.3, 1686820.2], rel=1e-6)
    assert list(model.feature_names_in_) == list(D.columns)


# corrections ------------------------------------------------------------
def bent(n=15, seed=0):
    """Distances that no positions have, though every triangle is possible."""
    rng = np.random.default_rng(seed)
    D = np.triu(1.0 + rng.random((n, n)), 1)
    return D + D.T


@pytest.mark.parametrize("method", ["lingoes", "cailliez"])
def test_corrections_are_the_least_that_make_distances_euclidean(method):
    D = bent()
    with pytest.warns(LowdimWarning, match="LD412"):
        assert ClassicalMDS(2, metric="precomputed").fit(D).negative_share_ > 0.1
    model = ClassicalMDS(2, metric="precomputed", correction=method).fit(D)
    assert model.negative_share_ <= 1e-12
    assert np.abs(model.transform(D) - model.embedding_).max() <= 1e-8
    off = ~np.eye(len(D), dtype=bool)
    for share, wanted in ((1.0, True), (0.999, False)):
        c = share * model.constant_
        squares = D**2 + 2 * c * off if method == "lingoes" else (D + c * off) ** 2
        lowest = np.linalg.eigvalsh(to_similarities(squares))[0]
        assert (lowest > -1e-9) == wanted
    assert (lingoes(D) if method == "lingoes" else cailliez(D)) == pytest.approx(model.constant_, rel=1e-9)
    twice = np.repeat(np.repeat(D, 2, axis=0), 2, axis=1)  # rows at distance zero stay together
    again = ClassicalMDS(2, metric="precomputed", correction=method).fit(twice)
    assert again.constant_ == pytest.approx(model.constant_, rel=1e-9)
    assert np.abs(again.transform(twice) - again.embedding_).max() <= 1e-8
    squared = ClassicalMDS(2, metric="squared", correction=method).fit(D**2)
    assert squared.constant_ == pytest.approx(model.constant_, rel=1e-6)


# bad matrices: numerics.md 51 to 53 ------------------------------------------------------------
@pytest.mark.parametrize(
    ("cell", "value", "problem"),
    [((2, 4), 9.5, "not symmetric"), ((2, 4), -1.0, "negative"), ((3, 3), 0.5, "to itself")],
)
def test_impossible_cells_are_named(cell, value, problem):
    D = bent()
    D[cell] = value
    if problem == "negative":
        D[cell[::-1]] = value
    with pytest.raises(LowdimError, match="LD410") as caught:
        ClassicalMDS(2, metric="precomputed").fit(D)
    assert problem in str(caught.value)
    assert f"row {cell[0] + 1}, column {cell[1] + 1}" in str(caught.value) or problem == "not symmetric"
    assert "row" in str(caught.value)


def test_other_bad_matrices():
    D = bent()
    with pytest.raises(LowdimError, match="not square"):
        ClassicalMDS(2, metric="precomputed").fit(D[:, :9])
    gap = D.copy()
    gap[1, 2] = gap[2, 1] = np.nan
    with pytest.raises(LowdimError, match="LD163"):
        ClassicalMDS(2, metric="similarity").fit(gap)
    with pytest.warns(LowdimWarning, match="LD412"):
        model = ClassicalMDS(2, metric="precomputed").fit(D)
    with pytest.raises(LowdimError, match="LD163"):
        model.transform(gap[:2])
    with pytest.raises(LowdimError, match="negative"):
        model.transform(-D[:2])
    with pytest.raises(LowdimError, match="LD200"):
        ClassicalMDS(16, metric="precomputed").fit(D)
    with pytest.raises(LowdimError, match="LD210"):
        ClassicalMDS(2, metric="similarity", correction="lingoes").fit(D)
    with pytest.raises(LowdimError, match="LD283"):
        ClassicalMDS(2).fit(lowdim.as_source(table(), weight=np.linspace(1.0, 2.0, 60)))


def test_impossible_triangles_are_counted():
    D = cdist(table(20), table(20))
    D[3, 7] = D[7, 3] = 100.0
    with pytest.warns(LowdimWarning, match="LD411") as given, pytest.warns(LowdimWarning, match="LD412"):
        ClassicalMDS(2, metric="precomputed").fit(D)
    share = f"{18 / (20 * 19 * 18 / 6):.1%} of the triangles"
    assert share in str(given[0].message) and "row 4" in str(given[0].message)
    warn_of_triangles(cdist(table(), table()))  # a warning is an error: there is none


def test_equal_distances_are_a_simplex():
    D = 3.0 * (1 - np.eye(8))
    model = ClassicalMDS(7, metric="precomputed").fit(D)
    assert model.eigenvalues_ == pytest.approx(np.full(7, 4.5), rel=1e-12)
    assert cdist(model.embedding_, model.embedding_) == pytest.approx(D, abs=1e-7)
    assert "arbitrary" in ClassicalMDS(2, metric="precomputed").fit(D).certificate_.text()


def test_no_spread_is_said():
    with pytest.warns(LowdimWarning, match="LD413"):
        model = ClassicalMDS(2, metric="precomputed").fit(np.zeros((5, 5)))
    assert not model.embedding_.any() and not model.transform(np.zeros((1, 5))).any()
    with pytest.warns(LowdimWarning, match="only 1 of 3 axes"):
        model = ClassicalMDS(3).fit(np.arange(6.0)[:, None])
    assert model.embedding_.shape == (6, 3) and not model.embedding_[:, 1:].any()


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_huge_and_tiny_distances(size, metric):
    X = table()
    D = cdist(X, X)
    model = ClassicalMDS(2, metric=metric)
    one = clone(model).fit(X if metric == "euclidean" else D)
    ctx = pytest.warns(LowdimWarning, match="LD152") if size > 1 else None
    if ctx is None:
        two = clone(model).fit((X if metric == "euclidean" else D) * size)
    else:
        with ctx:
            two = clone(model).fit((X if metric == "euclidean" else D) * size)
    assert two.embedding_ / size == pytest.approx(one.embedding_, abs=1e-8)
    assert two.transform((X if metric == "euclidean" else D) * size) / size == pytest.approx(one.embedding_, abs=1e-8)


def test_large_matrices_state_a_bound(monkeypatch):
    import lowdim.maths.pairs as distances

    B = to_similarities(bent(40) ** 2)
    exact = negative_mass(B)
    monkeypatch.setattr(distances, "WHOLE_SPECTRUM_ROWS", 10)
    bound = negative_mass(B)
    assert not bound.exact and 0.0 < bound.share <= exact.share and bound.lowest == pytest.approx(exact.lowest)


# contract ------------------------------------------------------------
KEPT = (
    "blocks_of_tiles",
    "serial_is_threads",
    "options_untouched",
    "transform_is_fit_transform",
    "save_and_load",
    "passes_as_declared",
    "finite",
    "constructor_holds_options",
)


@pytest.mark.parametrize("law", KEPT)
def test_laws(law):
    laws.LAWS[law](ClassicalMDS(2), table())
    laws.LAWS[law](ClassicalMDS(2, metric="precomputed"), cdist(table(), table()))


def test_verbs_it_cannot_have():
    with pytest.raises(VerbError, match="LD240"):
        ClassicalMDS().inverse_transform  # noqa: B018


# the robust map ------------------------------------------------------------
def test_a_robust_map_finds_the_wrong_distances():
    X = np.random.default_rng(0).random((25, 2)) * 100
    D = cdist(X, X)
    wrong = {(1, 5), (3, 20), (8, 11), (14, 2)}
    for i, j in wrong:
        D[i, j] = D[j, i] = 3.0 * D[i, j]
    found = robust_map(D)
    assert found.converged
    assert {tuple(sorted((s.first, s.second))) for s in found.suspects(4)} == {tuple(sorted(p)) for p in wrong}
    assert all(s.log_ratio == pytest.approx(np.log(3), abs=0.1) for s in found.suspects(4))
    assert lowdim.procrustes(found.embedding, X).error < 3e-3
    with pytest.warns(LowdimWarning):
        bad = ClassicalMDS(2, metric="precomputed").fit(D)
    assert lowdim.procrustes(bad.embedding_, X).error > 1e-2


def test_a_robust_map_takes_unknown_distances_and_refuses_pieces():
    X = np.random.default_rng(1).random((20, 2))
    D = cdist(X, X)
    D[2, 9] = D[9, 2] = np.nan
    assert lowdim.procrustes(robust_map(D).embedding, X).error < 1e-6
    D[:10, 10:] = np.nan
    D[10:, :10] = np.nan
    with pytest.raises(LowdimError, match="LD419"):
        robust_map(D)
    with pytest.raises(LowdimError, match="LD410"):
        robust_map(D[:3])
    D[0, 1] = D[1, 0] = np.inf
    with pytest.raises(LowdimError, match="LD150"):
        robust_map(D)
    with pytest.warns(LowdimWarning, match="LD201"):
        robust_map(bent(), max_iter=2)
    lopsided = bent()
    lopsided[0, 1] = 9.0
    with pytest.raises(LowdimError, match="not symmetric"):
        robust_map(lopsided)


# missing pairs ---------------------------------------------------------------
@pytest.mark.parametrize("metric", ["precomputed", "squared"])
def test_missing_pairs_lie_within_the_triangles(metric):
    X = table(40, 2)
    D = pairs(X)[metric]
    whole = ClassicalMDS(2, metric=metric).fit(D)
    hidden = np.triu(np.random.default_rng(0).random(D.shape) < 0.2, 1)
    Y = np.where(hidden | hidden.T, np.nan, D)
    with pytest.warns(LowdimWarning, match="LD41"):  # middles of triangles belong to no positions
        model = ClassicalMDS(2, metric=metric).fit(Y)
    assert model.cells_inferred_ == hidden.sum() and f"{hidden.sum()} of 780 distances" in repr(model)
    off = lowdim.procrustes(model.embedding_, whole.embedding_).error
    filled = np.where(hidden | hidden.T, np.nanmean(Y), Y)  # what a column's mean would do
    with pytest.warns(LowdimWarning):
        other = ClassicalMDS(2, metric=metric).fit(filled)
    assert off < 0.005 and lowdim.procrustes(other.embedding_, whole.embedding_).error > 5 * off


def test_pairs_known_one_way_are_known():
    D = cdist(table(20, 2), table(20, 2))
    model = ClassicalMDS(2, metric="precomputed").fit(np.where(np.tri(20, dtype=bool), D, np.nan))
    assert "cells_inferred_" not in vars(model)
    np.testing.assert_array_equal(model.embedding_, ClassicalMDS(2, metric="precomputed").fit(D).embedding_)


def test_the_middle_of_the_triangles_of_a_line():
    x = np.array([0.0, 1.0, 3.0, 4.0, 9.0])
    D = np.abs(x[:, None] - x)
    D[0, 4] = D[4, 0] = np.nan
    least, most = np.abs(D[0] - D[4])[1:4].max(), (D[0] + D[4])[1:4].min()
    assert within_triangles(D)[0, 4] == (least + most) / 2
    D[0, 1:] = D[1:, 0] = np.nan
    with pytest.raises(LowdimError, match="no way along known distances leads from row 1 to row 2"):
        ClassicalMDS(2, metric="precomputed").fit(D)
