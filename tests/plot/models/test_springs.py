"""Springs are those of the matrix, and their energy is that of the map."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.plot.models.springs import edges_of, springs
from lowdim.text.messages import LowdimError
from tests.plot.from_arrays import Parts, on_table
from tests.plot.svg_checks import same_twice


def test_springs_are_those_of_the_matrix():
    X = np.random.default_rng(0).standard_normal((50, 5))
    model = ld.LaplacianEigenmaps(2, n_neighbors=6).fit(X)
    L = model.field().precision
    plot = same_twice(lambda: springs(on_table(model, X)))
    dense = L.toarray() if hasattr(L, "toarray") else L
    assert len(plot.data["strength"]) == (np.triu(dense, 1) != 0).sum()
    energy = float(np.trace(model.embedding_.T @ dense @ model.embedding_))  # z'Lz is the energy of the springs
    assert plot.data["tension"].sum() == pytest.approx(energy, rel=1e-9)
    push = np.array([[1.0, 1.0, -2.0], [1.0, 1.0, -2.0], [-2.0, -2.0, 4.0]])
    assert edges_of(push)[2].tolist() == [-1.0, 2.0, 2.0]
    assert plot.data["height"] == pytest.approx(model.field().sample(1, 0)[:, 0])
    assert "1 spring push" in held(np.eye(3)[:, :2], push).sentence
    assert held(np.eye(3)[:, :1], np.zeros((3, 3))).title == "No springs hold the 3 rows"
    with pytest.raises(LowdimError, match="LD216"):
        springs(on_table(ld.PPCA(1).fit(X), X))


def held(Z, L):
    """The springs of a map with this precision."""
    field = Parts(precision=L, sample=lambda columns, seed: np.zeros((len(L), columns)))
    return springs(on_table(Parts(embedding_=Z, field=lambda: field), np.zeros((len(Z), 2))))
