"""PCA beside large columns, and with too few cells a row."""

import numpy as np
import pytest
from sklearn import decomposition

import lowdim
from lowdim.engine.fold import Run
from lowdim.text.errors import ModelWarning


def test_small_noise_beside_one_large_column_is_still_noise() -> None:
    X = np.random.default_rng(0).standard_normal((200, 6))
    X[:, 0] *= 1e6
    peer = decomposition.PCA(1, svd_solver="full").fit(X)
    assert np.isclose(lowdim.PCA(1).fit(X).noise_variance_, peer.noise_variance_, rtol=1e-12)
    assert np.isclose(lowdim.PPCA(1).fit(X).noise_variance_, peer.noise_variance_ * 199 / 200, rtol=1e-12)


def test_least_squares_that_run_away_are_called_out() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 8)) + 0.5 * rng.standard_normal((100, 8))
    X[rng.random(X.shape) < 0.3] = np.nan
    with pytest.warns(ModelWarning, match="LD217"):
        lowdim.PCA(3).fit(X)


def test_a_printed_fit_says_in_what_unit_its_accuracy_is():
    X = np.random.default_rng(0).standard_normal((50, 6))
    solved, climbed = str(lowdim.PCA(2).fit(X)), str(lowdim.PPCA(2).fit(np.where(X > 2.0, np.nan, X)))
    assert "about 15 digits" in solved and "in units of rounding errors (good: below 35)" in solved
    assert "digits, condition" in climbed and "residual" not in climbed


@pytest.mark.parametrize("asked", [None, 784])
def test_all_axes_of_a_complete_table_need_no_memory_for_gaps(asked):
    """A pass of EM with 784 axes would hold 30 GB; a complete table takes none."""
    assert lowdim.PCA(asked).cost(1000, 784, gaps=False).peak < 2**28
    X = np.random.default_rng(0).standard_normal((200, 150))
    model = lowdim.PCA(None if asked is None else 150).fit(X, run=Run(memory=2**25))
    exact = decomposition.PCA().fit(X)
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("options", [{}, {"whiten": True}, {"standardize": True}])
def test_complete_rows_lie_where_their_posterior_does(offset, options):
    """`transform` takes a shorter way to the mean of the posterior, and loses no digits to a large offset on it."""
    X = np.random.default_rng(1).standard_normal((60, 5)) * [1, 2, 3, 4, 5] + offset
    model = lowdim.PCA(3, **options).fit(X)
    np.testing.assert_allclose(model.transform(X), model.posterior(X).mean, rtol=0, atol=1e-12 + 1e-15 * offset)
