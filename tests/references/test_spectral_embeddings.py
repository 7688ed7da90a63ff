"""The maps that the author of [Lawrence2012] saved, and the known spectra of simple graphs."""

import numpy as np
import pytest

from lowdim import Isomap, LaplacianEigenmaps, LocallyLinearEmbedding
from lowdim.text.errors import ModelWarning
from tests.conftest import need
from tests.references.tables import neighbour_errors, numbers, oil

SAME = 0.9999999


def saved(key):
    return np.load(need("reference_results") / "spectral_embeddings.npz")[key]


def likeness(A, B):
    return min(abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(A.T, B.T, strict=True))


def units(X):
    return X / X.std(axis=0, ddof=1)


@pytest.fixture(scope="module")
def flow():
    X, label = oil(need("oil_flow"))
    return units(X), label


def test_stick_man_isomap():
    X = numbers(need("stick_man") / "stick_man.csv")
    model = Isomap(2, n_neighbors=7).fit(X)
    assert likeness(model.embedding_, saved("stick_isomap_k7")) >= SAME
    assert model.transform(X) == pytest.approx(model.embedding_, abs=1e-8 * np.abs(model.embedding_).max())


def test_oil_laplacian_eigenmaps_as_the_author_normalised_them(flow):
    X, label = flow
    model = LaplacianEigenmaps(2, n_neighbors=40, normalization="symmetric").fit(X)
    assert likeness(model.embedding_, saved("oil_le_k40")) >= SAME
    assert neighbour_errors(model.embedding_, label) == 74
    assert model.transform(X) == pytest.approx(model.embedding_, abs=1e-8)


def test_oil_laplacian_eigenmaps_of_the_generalised_problem(flow):
    X, label = flow
    assert neighbour_errors(LaplacianEigenmaps(2, n_neighbors=40).fit_transform(X), label) <= 35


def test_oil_locally_linear_embedding(flow):
    X, label = flow
    model = LocallyLinearEmbedding(2, n_neighbors=45).fit(X)
    assert likeness(model.embedding_, saved("oil_lle_k45")) >= SAME
    assert neighbour_errors(model.embedding_, label) == 265
    assert model.transform(X) == pytest.approx(model.embedding_, abs=1e-8)


def test_oil_isomap_of_the_largest_piece(flow):
    """He left the rows of other pieces at zero; ours are placed by their neighbours."""
    X, _ = flow
    with pytest.warns(ModelWarning, match=r"LD430.*8 pieces, of 673, 137, 51"):
        model = Isomap(2, n_neighbors=7, pieces="largest").fit(X)
    his = saved("oil_isomap_k7")
    assert len(model.left_out_) == 327
    assert len(np.unique(his[model.left_out_], axis=0)) == 1
    assert likeness(model.embedding_[model.rows_], his[model.rows_]) >= SAME


# known spectra: L v = lambda D v ---------------------------------------------------------------------------------
def ring(n):
    return np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)


def path(n):
    A = ring(n)
    A[0, -1] = A[-1, 0] = 0.0
    return A


def star(n):
    A = np.zeros((n, n))
    A[0, 1:] = A[1:, 0] = 1.0
    return A


def projector(V, d):
    """Onto the span of V, in the metric D: V (V'DV)^-1 V'D."""
    return V @ np.linalg.solve(V.T @ (V * d[:, None]), (V * d[:, None]).T)


@pytest.mark.parametrize("n", [12, 901])  # the second by the sparse solver
def test_path(n):
    G = path(n)
    model = LaplacianEigenmaps(3, metric="graph").fit(G)
    k = np.arange(1, 4)
    assert model.eigenvalues_ == pytest.approx(1.0 - np.cos(np.pi * k / (n - 1)), abs=1e-12)
    known = np.cos(np.pi * np.outer(np.arange(n), k) / (n - 1))
    assert likeness_exact(model.embedding_, known) <= 1e-8
    assert model.transform(G) == pytest.approx(model.embedding_, abs=1e-8)


def likeness_exact(A, B):
    A, B = (M / np.linalg.norm(M, axis=0) for M in (A, B))
    return np.abs(A * np.sign((A * B).sum(axis=0)) - B).max()


@pytest.mark.parametrize("n", [11, 700])
def test_ring(n):
    G = ring(n)
    model = LaplacianEigenmaps(4, metric="graph").fit(G)
    assert model.eigenvalues_ == pytest.approx(1.0 - np.cos(2 * np.pi * np.array([1, 1, 2, 2]) / n), abs=1e-12)
    angle = 2 * np.pi * np.arange(n) / n
    for k in (1, 2):
        known = np.c_[np.cos(k * angle), np.sin(k * angle)]
        found = model.embedding_[:, 2 * k - 2 : 2 * k]
        two = np.full(n, 2.0)
        assert np.abs(projector(found, two) - projector(known, two)).max() <= 1e-8
    assert model.transform(G) == pytest.approx(model.embedding_, abs=1e-8)
    assert n > 600 or any("1 and 2, 3 and 4" in note for note in model.certificate_.notes)


def test_star():
    """0, then 1 as often as there are leaves but one, then 2; at 1 neighbours say nothing of a leaf."""
    n = 9
    model = LaplacianEigenmaps(n - 1, metric="graph").fit(star(n))
    assert model.eigenvalues_ == pytest.approx([1.0] * (n - 2) + [2.0], abs=1e-12)
    leaves = model.embedding_[:, : n - 2]
    known = np.eye(n)[:, 1:] - np.eye(n)[:, 1:].mean(axis=1, keepdims=True) * (np.arange(n) > 0)[:, None]
    known = np.linalg.svd(known)[0][:, : n - 2]
    d = star(n).sum(axis=1)
    assert np.abs(projector(leaves, d) - projector(known, d)).max() <= 1e-8
    assert likeness_exact(model.embedding_[:, -1:], np.where(np.arange(n) == 0, -1.0, 1.0)[:, None]) <= 1e-8
    with pytest.raises(AttributeError, match="LD435"):
        model.transform(star(n))


def test_complete():
    n = 8
    G = np.ones((n, n)) - np.eye(n)
    model = LaplacianEigenmaps(n - 1, metric="graph").fit(G)
    assert model.eigenvalues_ == pytest.approx(np.full(n - 1, n / (n - 1)), abs=1e-12)
    d = G.sum(axis=1)
    assert np.abs(projector(model.embedding_, d) - np.eye(n) + 1 / n).max() <= 1e-8
    assert model.transform(G) == pytest.approx(model.embedding_, abs=1e-8)


def test_two_cliques_barely_joined():
    """The first vector tells them apart although its eigenvalue is nearly that of the constant."""
    m, faint = 10, 1e-12
    G = np.kron(np.eye(2), np.ones((m, m)) - np.eye(m))
    G[m - 1, m] = G[m, m - 1] = faint
    model = LaplacianEigenmaps(1, metric="graph").fit(G)
    assert model.n_pieces_ == 1
    side = np.sign(model.embedding_[:, 0])
    assert abs(side[:m].sum()) == abs(side[m:].sum()) == m
    assert side[0] == -side[-1]
    assert np.ptp(model.embedding_[:m]) <= 1e-8
    assert model.eigenvalues_[0] == pytest.approx(2 * faint / (m * (m - 1)), rel=0.05)
    assert model.transform(G) == pytest.approx(model.embedding_, abs=1e-8)


def test_a_ring_of_fifty_thousand_rows_stays_sparse():
    import scipy.sparse as sp

    n = 50_000
    G = sp.csr_array(
        sp.diags_array([np.ones(1), np.ones(n - 1), np.ones(n - 1), np.ones(1)], offsets=[-(n - 1), -1, 1, n - 1])
    )
    model = LaplacianEigenmaps(2, metric="graph").fit(G)
    assert model.eigenvalues_ == pytest.approx(1.0 - np.cos(2 * np.pi * np.ones(2) / n), abs=1e-13)
    assert model.embedding_.std(axis=0).min() > 0.0
