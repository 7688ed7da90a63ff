"""The unfoldings and the score of a map on the author's tables and embeddings."""

import numpy as np
import pytest

from lowdim import PPCA, Isomap, LaplacianEigenmaps, MaximumEntropyUnfolding, MaximumVarianceUnfolding, embedding_score
from tests.conftest import need
from tests.models.spectral.tables import explained
from tests.references.tables import numbers, wifi


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


@pytest.mark.drill
def test_wifi_unfolded():
    Y = signals()
    model = MaximumVarianceUnfolding(2, n_neighbors=7, cliques=False).fit(Y)
    assert model.gap_ <= 1e-6
    assert embedding_score(model.embedding_, Y) == pytest.approx(2264, abs=1)


def test_stick_man_unfolded():
    """The author's map (SeDuMi, k = 7) keeps lengths, ours does not let them grow: alike, and ours scores higher."""
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
