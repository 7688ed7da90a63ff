"""Maps of tables with gaps: expected distances, rows too uncertain for the graph, fields, new rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.base import clone

import lowdim
from lowdim import (
    PCA,
    Autoencoder,
    ClassicalMDS,
    Isomap,
    KernelPCA,
    KMedoids,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
    MaximumEntropyUnfolding,
    MaximumVarianceUnfolding,
)
from lowdim.models.spectral.completion import Bells, LinearCells, complete_rows, completion_of
from lowdim.models.spectral.meu import expected_of_field
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.models.spectral.tables import roll

MAPS = {
    "mds": ClassicalMDS(2),
    "kpca": KernelPCA(2),
    "kpca-linear": KernelPCA(2, kernel="linear"),
    "kpca-nystroem": KernelPCA(2, approximation="nystroem", n_landmarks=40),
    "isomap": Isomap(2, n_neighbors=8),
    "isomap-landmarks": Isomap(2, n_neighbors=8, n_landmarks=20),
    "laplacian": LaplacianEigenmaps(2, n_neighbors=8),
    "lle": LocallyLinearEmbedding(2, n_neighbors=8),
    "mvu": MaximumVarianceUnfolding(2),
    "meu": MaximumEntropyUnfolding(2),
}
each = pytest.mark.parametrize("name", MAPS)


def bent_sheet(n=80, seed=0):
    """A half pipe in six columns with a little noise: cells are told well by the others, and not by a plane."""
    r = np.random.default_rng(seed)
    t, h = 2.6 * r.random(n), 1.5 * r.random(n)
    X = np.c_[np.cos(t), np.sin(t), h]
    return X @ np.array([[1.0, 0, 0, 1, 0, 1], [0, 1, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1]]) + 0.005 * r.standard_normal(
        (n, 6)
    )


def holes(X, share=0.1, seed=1):
    hidden = np.random.default_rng(seed).random(X.shape) < share
    hidden[:, 0] &= ~hidden[:, 1:].all(axis=1)
    return np.where(hidden, np.nan, X)


@each
def test_a_map_with_gaps_is_near_that_of_the_complete_table(name):
    X = bent_sheet()
    Y = holes(X)
    complete, gaps = clone(MAPS[name]).fit(X), clone(MAPS[name]).fit(Y)
    filled = clone(MAPS[name]).fit(np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y))
    off = procrustes(complete.embedding_, gaps.embedding_)[2]
    assert off < 0.05 and off < 0.5 * procrustes(complete.embedding_, filled.embedding_)[2]
    assert gaps.cells_inferred_ == np.isnan(Y).sum()
    assert any(f"{gaps.cells_inferred_} of 480 cells were inferred" in note for note in gaps.certificate_.notes)


@each
def test_a_mask_of_ones_is_no_mask_to_the_bit(name):
    X = bent_sheet(40)
    masked = clone(MAPS[name]).fit(np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool)))
    assert np.array_equal(masked.embedding_, clone(MAPS[name]).fit(X).embedding_)
    assert "cells_inferred_" not in vars(masked)


@each
def test_new_rows_with_gaps_of_a_map_of_a_complete_table(name):
    X = bent_sheet()
    model = clone(MAPS[name]).fit(X)
    Y = holes(X, 0.05)
    whole = ~np.isnan(Y).any(axis=1)
    Z = model.transform(Y)
    assert np.abs(Z[whole] - model.transform(X[whole])).max() <= 1e-9 * np.abs(Z).max()
    spread = model.embedding_.std()
    limit = 0.4 if name == "mds" else 0.25  # two axes by least squares know less than rows do
    assert np.sqrt(((Z - model.transform(X)) ** 2)[~whole].mean()) < limit * spread


@each
def test_a_row_without_cells_lies_in_the_middle(name):
    X = holes(bent_sheet(60))
    X[7] = np.nan
    with pytest.warns(LowdimWarning, match="LD121"):
        model = clone(MAPS[name]).fit(X)
    others = np.delete(model.embedding_, 7, axis=0)
    assert np.linalg.norm(model.embedding_[7] - others.mean(axis=0)) < 0.75 * np.linalg.norm(others.std(axis=0))
    assert np.abs(model.transform(X)[7] - model.embedding_[7]).max() <= 1e-9 * np.abs(others).max()


def test_a_column_without_cells_is_named():
    with pytest.raises(LowdimError, match=r"LD120[\s\S]*'c3'"):
        Isomap(2).fit(np.where(np.arange(6) == 2, np.nan, bent_sheet(30)))


@pytest.mark.slow
def test_expected_distances_against_drawn_tables():
    """|m_i - m_j|^2 + v_i + v_j is the mean over completed tables drawn from the linear model."""
    r = np.random.default_rng(0)
    X = r.standard_normal((400, 1)) @ np.ones((1, 3)) + 0.5 * r.standard_normal((400, 3))
    mask = ~np.isnan(holes(X, 0.2))
    c = completion_of(np.where(mask, X, 0.0), mask)
    assert isinstance(c.model, LinearCells)
    rows = complete_rows(c, np.where(mask, X, 0.0), mask)
    model = lowdim.ProbabilisticPCA(c.model.W.shape[1]).fit(np.where(mask, X, np.nan))
    draws = model.impute(np.where(mask, X, np.nan)[:12], draws=4000)
    drawn = np.mean([cdist(d, d, "sqeuclidean") for d in draws], axis=0)
    expected = cdist(rows.mean[:12], rows.mean[:12], "sqeuclidean") + rows.open[:12, None] + rows.open[:12]
    np.fill_diagonal(expected, 0.0)
    assert np.abs(expected - drawn).max() < 0.12 * drawn.max()


def test_bells_know_a_ring_and_the_linear_model_a_plane():
    r = np.random.default_rng(0)
    t = 2 * np.pi * r.random(300)
    ring = np.c_[np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t)]
    plane = r.standard_normal((60, 3)) @ r.standard_normal((3, 12)) + 0.01 * r.standard_normal((60, 12))
    for X, kind in ((ring, Bells), (plane, LinearCells)):
        mask = ~np.isnan(holes(X))
        assert isinstance(completion_of(np.where(mask, X, 0.0), mask).model, kind)


@pytest.mark.slow
def test_a_row_that_may_lie_on_two_turns_of_a_roll_joins_them_in_no_graph():
    X, along = roll(900)
    Y = holes(X, 0.1)
    model = Isomap(2).fit(Y)
    unsure = np.isnan(Y[:, [0, 2]]).any(axis=1)
    assert (model.node_[unsure] == -1).mean() > 0.9 and (model.node_[~np.isnan(Y).any(axis=1)] >= 0).all()
    sure = model.node_ >= 0
    assert procrustes(along[sure], model.embedding_[sure])[2] < 0.01
    filled = Isomap(2).fit(np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y))
    assert procrustes(along, filled.embedding_)[2] > 0.3 > procrustes(along, model.embedding_)[2]


def test_the_e_step_of_a_field_against_a_dense_gaussian():
    r = np.random.default_rng(0)
    A = r.standard_normal((9, 9))
    P, Y = A @ A.T + np.eye(9), r.standard_normal((9, 4))
    seen = r.random((9, 4)) < 0.6
    cells, table = expected_of_field(P, Y, seen)
    K = np.linalg.inv(P)
    C = np.zeros((9, 9))
    for j in range(4):
        o, u = np.flatnonzero(seen[:, j]), np.flatnonzero(~seen[:, j])
        centre = Y[o, j].mean()
        B = K[np.ix_(u, o)] @ np.linalg.inv(K[np.ix_(o, o)])
        assert cells[u, j] == pytest.approx(centre + B @ (Y[o, j] - centre))
        C[np.ix_(u, u)] += K[np.ix_(u, u)] - B @ K[np.ix_(o, u)]
    c = np.diag(C)
    square = cdist(cells, cells, "sqeuclidean") + c[:, None] + c - 2 * C
    assert np.abs(table.square - square).max() < 1e-9 and table.open == pytest.approx(np.trace(C))


@pytest.mark.slow
def test_unfolding_of_the_stick_man_with_a_fifth_of_its_cells_removed(need):
    X = np.genfromtxt(need("stick_man") / "stick_man.csv", delimiter=",", skip_header=1)
    complete = MaximumEntropyUnfolding(2).fit(X).embedding_
    for seed in range(2):
        Y = np.where(np.random.default_rng(seed).random(X.shape) < 0.2, np.nan, X)
        gaps = MaximumEntropyUnfolding(2).fit(Y)
        filled = MaximumEntropyUnfolding(2).fit(np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y))
        off = procrustes(complete, gaps.embedding_)[2]
        assert off < 0.01 and off < 0.25 * procrustes(complete, filled.embedding_)[2]  # within 0.05 was asked


def test_medoids_of_rows_with_gaps():
    r = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    X = 8.0 * truth[:, None] + r.standard_normal((90, 5))
    model = KMedoids(3).fit(holes(X, 0.2))
    assert all(len(np.unique(model.labels_[truth == k])) == 1 for k in range(3))
    assert len(np.unique(model.labels_)) == 3
    assert np.array_equal(model.predict(holes(X, 0.2)), model.labels_)


def test_an_autoencoder_learns_from_the_seen_cells():
    X = bent_sheet(200)
    Y = holes(X, 0.15)
    model = Autoencoder(2, hidden=12, max_iter=300).fit(Y)
    hidden = np.isnan(Y)
    off = ((model.reconstruct(Y) - X) / X.std(axis=0))[hidden]
    assert np.sqrt((off**2).mean()) < 0.6  # column means: 1
    loud = np.where(hidden, 1e6, X)  # what a gap hides is nothing to the loss
    again = Autoencoder(2, hidden=12, max_iter=300).fit(np.ma.masked_array(loud, mask=hidden))
    assert np.array_equal(again.transform(Y), model.transform(Y))


def test_all_axes_of_a_table_with_gaps_are_those_its_cells_can_tell():
    X = holes(bent_sheet(100))
    with pytest.warns(LowdimWarning, match="LD218"):
        model = PCA().fit(X)
    assert model.n_components_ == (~np.isnan(X)).sum() // (2 * (100 + 6)) == 2
    assert np.array_equal(model.components_, PCA(2).fit(X).components_)


def test_the_completion_of_a_complete_table_is_made_once_and_travels_along(tmp_path, monkeypatch):
    X = bent_sheet()
    model = Isomap(2, n_neighbors=8).fit(X)
    Y = holes(X, 0.05)
    before = pickle.loads(pickle.dumps(model))  # not made yet
    Z, made = model.transform(Y), model.completion_
    model.save(tmp_path / "map.lowdim")
    assert np.array_equal(before.transform(Y), Z)
    monkeypatch.setattr(Isomap, "_own_completion", lambda self: pytest.fail("made again"))
    for again in (model, pickle.loads(pickle.dumps(model)), lowdim.load(tmp_path / "map.lowdim")):
        assert np.array_equal(again.transform(Y), Z)
    assert model.completion_ is made
    assert not clone(model).fit(X)._completions  # another fit has none of it
