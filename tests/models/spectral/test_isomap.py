"""Isomap: landmarks, classical scaling, axes without spread."""

import numpy as np
import pytest

import lowdim
from lowdim import Isomap
from lowdim.text.errors import ModelWarning
from tests.models.spectral.tables import TABLES, apart, rng, roll


def test_landmarks_give_the_exact_map():
    X, _ = roll(600)
    exact, few = Isomap(2, n_neighbors=8).fit(X), Isomap(2, n_neighbors=8, n_landmarks=80).fit(X)
    for j in range(2):
        assert abs(np.corrcoef(exact.embedding_[:, j], few.embedding_[:, j])[0, 1]) >= 0.998
    assert len(few.landmarks_) == 80
    assert few.eigenvalues_ == pytest.approx(exact.eigenvalues_, rel=0.05)
    assert few.embedding_.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-10)
    all_of_them = Isomap(2, n_neighbors=8, n_landmarks=600).fit(X)
    assert apart(all_of_them.embedding_, exact.embedding_) <= 1e-10


def test_complete_graph_is_classical_scaling():
    """Isomap of all neighbours is PCA."""
    X = rng(0).standard_normal((30, 5))
    assert apart(Isomap(2, n_neighbors=29).fit_transform(X), lowdim.PCA(2).fit_transform(X)) <= 1e-8


def test_an_axis_without_spread_is_zero():
    X = np.c_[np.arange(20.0), np.zeros(20)]
    with pytest.warns(ModelWarning, match=r"LD413.*only 1 of 2"):
        fitted = Isomap(2, n_neighbors=3).fit(X)
    assert np.abs(fitted.embedding_[:, 0]) == pytest.approx(np.abs(X[:, 0] - 9.5), abs=1e-9)
    assert (fitted.embedding_[:, 1] == 0.0).all()


def test_looking_at_a_model_makes_no_completion(monkeypatch):
    """scikit-learn's `dir` tries every attribute; a model of unseen cells takes seconds."""
    fitted = Isomap(2).fit(TABLES["plain"])
    monkeypatch.setattr(Isomap, "_own_completion", lambda self: pytest.fail("computed"))
    names = dir(fitted)
    assert "completion_" in names
    assert "embedding_" in names
    assert "impute" not in names
