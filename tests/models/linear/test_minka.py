"""Minka's evidence against scikit-learn's and slow sums."""

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.datasets import make_classification
from sklearn.decomposition._pca import _assess_dimension

from lowdim.judge.dimensions.jury import choose_dimension, spectrum
from lowdim.models.linear.minka import minka, rank_of
from tests.judge.simulated import rank_two


def slow_minka(values: np.ndarray, k: int, n: int) -> float:
    """Minka's formula cell by cell, zero eigenvalues included as they are."""
    d = len(values)
    v = values[k:].sum() / (d - k)
    hat = np.where(np.arange(d) < k, values, v)
    total = -k * np.log(2.0)
    for i in range(1, k + 1):
        total += gammaln((d - i + 1) / 2) - (d - i + 1) / 2 * np.log(np.pi)
    total -= n / 2 * (np.log(values[:k]).sum() + (d - k) * np.log(v))
    total += (d * k - k * (k + 1) / 2 + k) / 2 * np.log(2 * np.pi) - k / 2 * np.log(n)
    for i in range(k):
        for j in range(i + 1, d):
            total -= 0.5 * np.log(n * (1 / hat[j] - 1 / hat[i]) * (values[i] - values[j]))
    return float(total)


def test_minka_is_scikit_learns_where_that_one_answers():
    values = np.array([9.0, 6.0, 3.5, 1.6, 1.1, 0.8, 0.5])
    ours = minka(values, 400, 7)
    theirs = [_assess_dimension(values, k, 400) for k in range(1, 7)]
    np.testing.assert_allclose(ours[1:], theirs, rtol=1e-12)


def test_minka_with_fewer_rows_than_columns_counts_every_zero():
    assert rank_of(spectrum(rank_two(8, d=30))) == 7
    values = 100.0 * 0.3 ** np.arange(7)
    padded = np.concatenate([values, np.zeros(23)])
    ours = minka(values, 8, 30)
    assert len(ours) == 7  # 0 to rank - 1
    np.testing.assert_allclose(ours, [slow_minka(padded, k, 8) for k in range(7)], rtol=1e-10)


def test_minka_of_no_dimensions_is_the_spherical_gaussian():
    values = np.array([1.4, 1.0, 0.6])
    assert minka(values, 50, 3)[0] == pytest.approx(-50 * 3 / 2 * np.log(1.0), abs=1e-12)


@pytest.mark.parametrize("values", [np.ones(6), np.array([3.0, 3.0, 1.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0, 1e-3])])
def test_tied_eigenvalues_give_finite_evidence(values):
    found = minka(values, 100, len(values))
    assert np.isfinite(found).all()
    assert int(np.argmax(found)) == int((values > values.mean()).sum())


def test_scikit_learns_cases_for_mle():
    """Its test suite's tables and answers (references, section 7); pure noise is 0 here, where it says 1."""

    def answer(X):
        return int(np.argmax(minka(spectrum(X), len(X), X.shape[1])))

    assert answer(np.random.RandomState(0).randn(600, 10)) == 0
    rng = np.random.RandomState(0)
    X = rng.randn(100, 5) * 0.1
    X[:10] += np.array([3, 4, 5, 1, 2])
    assert answer(X) == 1
    rng = np.random.RandomState(0)
    X = rng.randn(1000, 5) * 0.1
    X[:10] += np.array([3, 4, 5, 1, 2])
    X[10:20] += np.array([6, 0, 7, 2, -1])
    assert answer(X) > 1
    rng = np.random.RandomState(0)
    X = rng.randn(100, 5) * 0.1
    X[:10] += np.array([3, 4, 5, 1, 2])
    X[10:20] += np.array([6, 0, 7, 2, -1])
    X[30:40] += 2 * np.array([-1, 1, -1, 1, -1])
    assert answer(X) > 2


def test_redundant_columns_have_one_dimension():
    X, _ = make_classification(
        n_features=20, n_informative=1, n_repeated=18, n_redundant=1, n_clusters_per_class=1, random_state=42
    )
    found = choose_dimension(X)
    assert found.q == 1
    assert "exactly rank 1" in found.notes[0]
