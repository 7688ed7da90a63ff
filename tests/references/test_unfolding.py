"""The unfoldings and the score of a map on the author's tables and embeddings."""

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import eigh, solve

from lowdim import (
    PPCA,
    Isomap,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
    MaximumEntropyUnfolding,
    MaximumVarianceUnfolding,
    embedding_score,
)
from tests.conftest import need
from tests.models.spectral.tables import explained
from tests.references.tables import distances, numbers, wifi, yeast


def stick():
    return numbers(need("stick_man") / "stick_man.csv")


def signals():
    """The author's filling and scale: not heard = -92 dBm, (v + 85) / 15."""
    X = wifi(need("robot_wifi"))
    return (np.where(np.isnan(X), -92.0, X) + 85.0) / 15.0


def swiss_roll():
    found = numbers(need("swiss_roll") / "swiss_roll.csv", ["x", "y", "z", "u1", "u2"])
    return found[:, :3], found[:, 3:]


@pytest.mark.parametrize(("name", "want"), [("isomap", 3803.37), ("mvu", 3634.98), ("le", 2743.43)])
def test_scores_of_the_authors_maps(name, want):
    """The author's recipe on his embeddings."""
    maps = np.load(need("reference_results") / "spectral_embeddings.npz")
    assert embedding_score(maps[f"stick_{name}_k7"], stick()) == pytest.approx(want, abs=0.01)


def test_stick_man():
    Y = stick()
    model = MaximumEntropyUnfolding(2, n_neighbors=6).fit(Y)
    score = embedding_score(model.embedding_, Y)
    assert score == pytest.approx(3393, abs=1)  # an implementation of its own
    assert model.kkt_ <= 1e-8
    assert score >= 1.15 * embedding_score(LaplacianEigenmaps(2, n_neighbors=6).fit_transform(Y), Y)
    assert score >= 1.15 * embedding_score(PPCA(2).fit_transform(Y), Y)
    assert embedding_score(Isomap(2, n_neighbors=6).fit_transform(Y), Y) == pytest.approx(4172, abs=1)


def test_wifi():
    Y = signals()
    model = MaximumEntropyUnfolding(2, n_neighbors=7).fit(Y)
    score = embedding_score(model.embedding_, Y)
    assert score == pytest.approx(2101, abs=1)
    assert model.kkt_ <= 1e-8
    assert score >= 1.05 * embedding_score(LaplacianEigenmaps(2, n_neighbors=7).fit_transform(Y), Y)


@pytest.mark.slow
def test_wifi_and_stick_man_by_acyclic_weights_in_the_order_of_the_rows():
    """The robot's rows and the runner's follow each other in time: there, with the author's 30 neighbours and 6, their
    order is worth 1,600 and 300 nats over that of path lengths; with 30 neighbours PPCA and springs stay better."""

    def score(Y, k, order):
        return embedding_score(
            LocallyLinearEmbedding(2, n_neighbors=k, variant="acyclic", order=order).fit_transform(Y), Y
        )

    wifi_rows, wifi_path = (score(signals(), 30, order) for order in ("rows", "path"))
    assert wifi_rows > wifi_path + 1000
    assert wifi_rows < embedding_score(PPCA(2).fit_transform(signals()), signals())
    assert score(stick(), 6, "rows") > max(
        score(stick(), 6, "path"), embedding_score(PPCA(2).fit_transform(stick()), stick())
    )


@pytest.mark.drill
def test_wifi_unfolded():
    Y = signals()
    model = MaximumVarianceUnfolding(2, n_neighbors=7, cliques=False).fit(Y)
    assert model.gap_ <= 1e-6
    assert embedding_score(model.embedding_, Y) == pytest.approx(2264, abs=1)


def test_stick_man_unfolded():
    """The author's map (SeDuMi, k = 7) holds lengths, ours does not let them grow: alike, and ours scores higher."""
    his, Y = np.load(need("reference_results") / "spectral_embeddings.npz")["stick_mvu_k7"], stick()
    ours = MaximumVarianceUnfolding(2, n_neighbors=7).fit_transform(Y)
    assert min(abs(np.corrcoef(ours[:, q], his[:, q])[0, 1]) for q in (0, 1)) > 0.97
    assert embedding_score(ours, Y) > embedding_score(his, Y)


@pytest.mark.slow
def test_swiss_roll_by_landmarks():
    X, truth = swiss_roll()
    some = np.random.default_rng(0).choice(len(X), 2000, replace=False)
    model = MaximumVarianceUnfolding(2).fit(X[some])
    assert (explained(model.embedding_, truth[some]) >= 0.95).all()
    rest = np.setdiff1d(np.arange(len(X)), some)
    assert (explained(model.transform(X[rest]), truth[rest]) >= 0.95).all()


@pytest.mark.drill
def test_swiss_roll_by_300_landmarks():
    X, truth = swiss_roll()
    model = MaximumVarianceUnfolding(2, n_landmarks=300).fit(X)
    assert model.gap_ <= 1e-6
    assert (explained(model.embedding_[model.landmarks_], truth[model.landmarks_]) >= 0.99).all()
    assert (explained(model.embedding_, truth) >= 0.99).all()


# what the author's unfoldings are ----------------------------------------------------------------------------------
def cliques_of(D, k):
    """Every pair within a row and its k nearest, once."""
    near = np.argsort(D - np.eye(len(D)), axis=1, kind="stable")[:, : k + 1]
    pairs = {tuple(sorted(pair)) for rows in near for pair in combinations(rows.tolist(), 2)}
    return np.array(sorted(pairs)).T


def held_exactly(D, i, j, gap=1e-6):
    """K of the largest trace whose squared lengths over the edges are D's: a path of centres from D's own matrix."""
    n = len(D)
    H = np.eye(n) - 1 / n
    basis = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]  # of centred places
    B = basis[i] - basis[j]  # an edge each

    def springs(strength):
        return B.T @ (strength[:, None] * B)

    K, d = basis.T @ (-0.5 * H @ D @ H) @ basis, D[i, j]
    soft = np.linalg.eigvalsh(springs(np.ones(len(i))))[0]
    S = springs(np.full(len(i), 2 / soft)) - np.eye(n - 1)
    while (K * S).sum() > gap * np.trace(K):
        inverse = np.linalg.inv(S)
        mu = 0.15 * (K * S).sum() / (n - 1)
        M = (B @ K @ B.T) * (B @ inverse @ B.T)
        step = solve(M, mu * np.einsum("ei,ij,ej->e", B, inverse, B, optimize=True) - d, assume_a="pos")
        towards_S = springs(step)
        towards_K = K @ towards_S @ inverse
        towards_K = mu * inverse - K - (towards_K + towards_K.T) / 2
        K, S = (A + within(A, way) * way for A, way in ((K, towards_K), (S, towards_S)))
    return basis @ K @ basis.T


def within(A, way):
    """The longest step that leaves A positive definite, 1 at the most."""
    least = eigh(way, A, eigvals_only=True, subset_by_index=(0, 0))[0]
    return 1.0 if least >= 0 else min(1.0, -0.95 / least)


@pytest.mark.slow
def test_the_authors_unfolding_of_yeast():
    """His shares of the eigenvalues are those of lengths held exactly, whose roots were given for squares."""
    D = np.sqrt(distances(np.nan_to_num(yeast(need("spellman_yeast")))))
    values = np.linalg.eigvalsh(held_exactly(D, *cliques_of(D, 7)))[::-1]
    assert values[:6] / values.sum() == pytest.approx([0.21681, 0.14923, 0.13419, 0.08529, 0.07832, 0.05044], abs=3e-4)


def test_the_authors_unfolding_of_the_stick_man():
    his = np.load(need("reference_results") / "spectral_embeddings.npz")["stick_mvu_k7"]
    D = np.sqrt(distances(stick()))
    values, vectors = np.linalg.eigh(held_exactly(D, *cliques_of(D, 7)))
    assert min(abs(np.corrcoef(vectors[:, -1 - q], his[:, q])[0, 1]) for q in (0, 1)) > 0.9999
    assert values[:-3:-1] == pytest.approx((his**2).sum(axis=0), rel=0.01)
