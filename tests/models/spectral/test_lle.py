"""Locally linear embedding: its likelihoods, and neighbourhoods that are too small."""

import numpy as np
import pytest
import scipy.sparse as sp

from lowdim import LocallyLinearEmbedding
from lowdim.maths.graph import components
from lowdim.text.errors import ModelWarning
from lowdim.text.messages import LowdimError
from tests.models.spectral.tables import rng


def test_acyclic_pseudolikelihood_is_the_likelihood():
    """Of all rows given the first: -p/2 log|K| of the rest, from the dense matrix L."""
    X = rng(0).standard_normal((40, 6)) * [3, 2, 1, 1, 1, 1]
    fitted = LocallyLinearEmbedding(2, n_neighbors=4, variant="acyclic").fit(X)
    L = fitted.field().precision.toarray()
    first = np.flatnonzero(fitted.params_.precision == 0.0)
    assert len(first) == 1
    rest = np.delete(np.arange(40), first)
    sign, logdet = np.linalg.slogdet(L[np.ix_(rest, rest)])
    known = 0.5 * (6 * logdet - 39 * 6 * np.log(2 * np.pi) - np.trace(X.T @ L @ X))
    assert sign > 0
    assert fitted.log_pseudolikelihood_ == pytest.approx(known, rel=1e-10)
    W = sp.csr_array((fitted.params_.w, (fitted.params_.i, fitted.params_.j)), shape=(40, 40))
    assert components(W)[0] == 1
    assert sp.csgraph.connected_components(W, directed=True, connection="strong")[0] == 40  # no cycles


def test_acyclic_by_the_order_of_the_rows_regresses_on_rows_above_only():
    X = rng(3).standard_normal((40, 6))
    fitted = LocallyLinearEmbedding(2, n_neighbors=4, variant="acyclic", order="rows").fit(X)
    p = fitted.params_
    assert (p.j < p.i).all()
    assert np.flatnonzero(p.precision == 0.0).tolist() == [0]
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    for i in (5, 20, 39):
        assert set(p.j[p.i == i]) == set(np.argsort(distance[i, :i])[:4])
    along = LocallyLinearEmbedding(2, n_neighbors=4, variant="acyclic").fit(X).params_
    assert (along.j > along.i).any()
    with pytest.raises(LowdimError, match=r"LD210.*order"):
        LocallyLinearEmbedding(2, order="time").fit(X)


def test_free_pseudolikelihood_is_of_conditional_gaussians():
    from scipy.stats import multivariate_normal

    X = rng(1).standard_normal((30, 4))
    for variant in ("standard", "free"):
        fitted = LocallyLinearEmbedding(1, n_neighbors=3, variant=variant).fit(X)
        p = fitted.params_
        W = np.zeros((30, 30))
        W[p.i, p.j] = p.w
        assert W.sum(axis=1) == pytest.approx(np.ones(30), abs=1e-12)
        missed = ((X - W @ X) ** 2).sum(axis=1)
        precision = 4 / missed if variant == "free" else np.full(30, 30 * 4 / missed.sum())
        known = sum(multivariate_normal(W[i] @ X, np.eye(4) / precision[i]).logpdf(X[i]) for i in range(30))
        assert fitted.log_pseudolikelihood_ == pytest.approx(known, rel=1e-10)
    assert p.precision == pytest.approx(precision, rel=1e-10)


def test_few_neighbours_for_many_dimensions():
    X = rng(0).standard_normal((40, 6))
    with pytest.warns(ModelWarning, match=r"LD436.*3 neighbours cannot span 3 dimensions"):
        LocallyLinearEmbedding(3, n_neighbors=3).fit(X)
    with pytest.raises(LowdimError, match=r"LD437.*7 neighbours in 6 dimensions"):
        LocallyLinearEmbedding(2, n_neighbors=7, reg=0.0).fit(X)
    note = LocallyLinearEmbedding(2, n_neighbors=7).fit(X).certificate_.notes
    assert any("ridge of 0.001" in text for text in note)


def test_groups_that_are_averages_of_themselves():
    """A far group of k+1 rows is closed: none of its neighbours leads out, though others lead in."""
    X = np.c_[np.r_[np.linspace(0, 1, 12), [2.0, 3.0], np.linspace(4, 4.3, 4)], np.zeros(18)]
    X[:, 1] = 0.01 * rng(0).standard_normal(18)
    with pytest.warns(ModelWarning, match=r"LD439.*2 groups"):
        LocallyLinearEmbedding(1, n_neighbors=3).fit(X)
