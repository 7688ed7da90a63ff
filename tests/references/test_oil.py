"""Oil flow: figures computed from Bishop and James's data (the data's README)."""

import numpy as np
import pytest

import lowdim
from tests.references.maps import map_errors
from tests.references.tables import columns, neighbour_errors, oil

EIGENVALUES = (
    1.00297537,
    0.70290726,
    0.40012457,
    0.18051803,
    0.13357671,
    0.06409343,
    0.03517156,
    0.03506761,
    0.01832103,
    0.01218715,
    0.00484803,
    0.00178204,
)


@pytest.fixture
def table(need):
    return oil(need("oil_flow"))


def test_eigenvalues_of_the_covariance(table):
    X, _ = table
    found = lowdim.PCA().fit(X).explained_variance_ * (len(X) - 1) / len(X)
    np.testing.assert_allclose(found, EIGENVALUES, atol=6e-9)


def test_noise_variance_and_likelihood_with_two_dimensions(table):
    X, _ = table
    model = lowdim.PPCA(2).fit(X)
    assert model.noise_variance_ == pytest.approx(0.08856901574874, abs=1e-13)
    assert model.objective_ == pytest.approx(-4732.616756591, abs=1e-7)
    assert model.score(X) * len(X) == pytest.approx(-4732.616756591, abs=1e-7)
    np.testing.assert_allclose(model.explained_variance_, EIGENVALUES[:2], atol=6e-9)


@pytest.mark.parametrize("q, errors", [(2, 162), (3, 108), (4, 82), (5, 22)])
def test_nearest_neighbour_errors_of_principal_components(table, q, errors):
    X, label = table
    assert neighbour_errors(lowdim.PCA(q).fit_transform(X), label) == errors


@pytest.mark.parametrize(("split", "errors"), [("test", 196), ("valid", 158)])
def test_nearest_neighbour_errors_of_the_other_splits(need, split, errors):
    held = columns(need("oil_flow") / "oil_flow.csv")
    rows = np.array(held["split"]) == split
    X = np.column_stack([np.array(held[f"x{j:02d}"], dtype=float)[rows] for j in range(1, 13)])
    assert neighbour_errors(lowdim.PCA(2).fit_transform(X), np.array(held["label"])[rows]) == errors


def test_nearest_neighbour_errors_of_the_raw_table_and_when_standardised(table):
    X, label = table
    assert neighbour_errors(X, label) == 2
    assert neighbour_errors(lowdim.PCA(2, standardize=True).fit_transform(X), label) == 264


def test_nearest_neighbour_errors_of_probabilistic_pca(table):
    """Posterior means weigh the axes a little differently; without that the map is PCA's: 162."""
    X, label = table
    model = lowdim.PPCA(2).fit(X)
    Z = model.transform(X)
    W = model.components_.T
    M = W.T @ W + model.noise_variance_ * np.eye(2)
    projection = Z @ M @ np.linalg.inv(np.diag(np.linalg.norm(W, axis=0)))
    assert neighbour_errors(projection, label) == 162


def test_first_hundred_rows(table):
    X, label = (part[:100] for part in table)
    assert neighbour_errors(lowdim.PCA(2).fit_transform(X), label) == 25


@pytest.mark.parametrize("share, most", [(0.0, 1e-12), (0.1, 0.03), (0.2, 0.06), (0.3, 0.13), (0.5, 0.28)])
def test_the_map_survives_gaps(table, share, most):
    """The error is the share of the complete map's variance that is lost, here as a mean over ten masks."""
    X = table[0][:100]
    ours, filled = np.mean([map_errors(X, share, seed) for seed in range(10)], axis=0)
    assert ours < most
    if share:
        assert ours < 0.9 * filled
