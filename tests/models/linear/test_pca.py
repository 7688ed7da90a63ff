"""PCA beside large columns, and with too few cells a row."""

import numpy as np
import pytest
from sklearn import decomposition

import lowdim
from lowdim.text.kinds import ModelWarning


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
