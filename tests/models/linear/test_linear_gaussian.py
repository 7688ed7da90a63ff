"""What every linear-Gaussian model promises: weights, certified digits, batches of named columns."""

import warnings

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim.text.errors import ModelWarning
from lowdim.text.messages import LowdimWarning


def tall(seed: int = 0, n: int = 9000, d: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + rng.standard_normal((n, d))


@pytest.mark.parametrize("model", [lowdim.PCA(2), lowdim.PPCA(2), lowdim.FactorAnalysis(2)], ids=["pca", "ppca", "fa"])
@pytest.mark.parametrize("weight", [0.0, 1e-18])
def test_a_gap_in_a_row_that_counts_for_nothing_changes_nothing(model, weight) -> None:
    whole = tall(d=8)
    holed, w = whole.copy(), np.ones(len(whole))
    holed[0, 0], w[0] = np.nan, weight
    without = model.fit(whole[1:]).get_covariance()
    assert np.allclose(model.fit(holed, sample_weight=w).get_covariance(), without, rtol=1e-5)


def test_certified_digits_of_an_em_fit_are_there() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((300, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    for model in (lowdim.PPCA, lowdim.FactorAnalysis):
        loose, tight = model(2).fit(X), model(2, tol=1e-14).fit(X)
        true = -np.log10(np.abs(loose.get_covariance() - tight.get_covariance()).max() / tight.get_covariance().max())
        assert loose.certificate_.digits <= true + 0.5
    with pytest.warns(ModelWarning, match="LD201"):
        assert lowdim.PPCA(2, max_iter=1).fit(X).certificate_.digits < 2


def test_columns_are_aligned_after_a_first_batch_of_one_row() -> None:
    A = pd.DataFrame(tall(n=30), columns=list("abcde"))
    turned = lowdim.PPCA(2).partial_fit(A[:1]).partial_fit(A[1:][list("edcba")])
    assert np.allclose(turned.mean_, A.mean(), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1.0, 1e160])
def test_covariance_and_precision_are_finite_in_any_unit(scale):
    """In the frame's units they are; beyond what a double holds they are its largest, with a warning."""
    X = np.random.default_rng(0).standard_normal((60, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        for model in (lowdim.PPCA(1), lowdim.PCA(1), lowdim.FactorAnalysis(1), lowdim.BayesianPCA(1)):
            fitted = model.fit(X * scale)
            C, P = fitted.get_covariance(), fitted.get_precision()
            assert np.isfinite(C).all() and np.isfinite(P).all()
            if scale == 1.0:
                np.testing.assert_allclose(C @ P, np.eye(4), atol=1e-9)
