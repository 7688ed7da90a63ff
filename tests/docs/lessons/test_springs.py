"""Springs are those of the matrix, and their energy is that of the map."""

from types import SimpleNamespace as Parts

import numpy as np
import pytest
from lessons.springs import edges_of, springs

import lowdim as ld
from tests.plot.svg_checks import same_twice


def test_springs_are_those_of_the_matrix():
    X = np.random.default_rng(0).standard_normal((50, 5))
    model = ld.LaplacianEigenmaps(2, n_neighbors=6).fit(X)
    L = model.field().precision
    plot = same_twice(lambda: springs(model))
    dense = L.toarray() if hasattr(L, "toarray") else L
    assert len(plot.data["strength"]) == (np.triu(dense, 1) != 0).sum()
    energy = float(np.trace(model.embedding_.T @ dense @ model.embedding_))  # z'Lz is the energy of the springs
    assert plot.data["tension"].sum() == pytest.approx(energy, rel=1e-9)
    push = np.array([[1.0, 1.0, -2.0], [1.0, 1.0, -2.0], [-2.0, -2.0, 4.0]])
    assert edges_of(push)[2].tolist() == [-1.0, 2.0, 2.0]
    assert plot.data["height"] == pytest.approx(model.field().sample(1, 0)[:, 0])
    assert "1 spring push" in held(np.eye(3)[:, :2], push).sentence
    assert held(np.eye(3)[:, :1], np.zeros((3, 3))).title == "No springs hold the 3 rows"


def held(Z, L):
    """The springs of a map with this precision."""
    field = Parts(precision=L, sample=lambda columns, seed: np.zeros((len(L), columns)))
    return springs(Parts(embedding_=Z, field=lambda: field))
