"""What every linear-Gaussian model promises: weights, certified digits, batches of named columns."""

import warnings

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim.text.errors import ModelWarning
from lowdim.text.messages import LowdimError, LowdimWarning


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


@pytest.mark.parametrize(
    "model", [lowdim.ProbabilisticPCA, lowdim.BayesianPCA, lowdim.RobustPPCA, lowdim.FactorAnalysis]
)
def test_regions_that_count_the_parameters_hold_what_they_claim(model):
    """90 % regions of simulated positions, up to a turn; else little more than half."""
    n, d, q, tables = 100, 20, 3, 16
    held = np.zeros((tables, 2))
    for k in range(tables):
        rng = np.random.default_rng(k)
        Z, W = rng.standard_normal((n, q)), rng.standard_normal((d, q))
        X = Z @ W.T + 0.7 * rng.standard_normal((n, d))
        fitted = model(q).fit(X)
        for how in (0, 1):
            rows = fitted.posterior(X, parameters=bool(how))
            U, _, Vt = np.linalg.svd(Z.T @ rows.mean)
            off = Z @ U @ Vt - rows.mean
            distance = np.einsum("ni,nij,nj->n", off, np.linalg.inv(rows.cov), off)
            held[k, how] = (distance <= 6.2514).mean()  # the 90 % point of chi-square with 3 degrees of freedom
    sharp, whole = held.mean(axis=0)
    assert sharp < 0.72
    assert 0.86 <= whole <= 0.94


def test_where_parameters_count_as_known_no_doubt_is_offered():
    X = np.random.default_rng(0).standard_normal((40, 4))
    with pytest.raises(LowdimError, match=r"LD210[\s\S]*DualPPCA takes its parameters as known"):
        lowdim.DualPPCA(1).fit(X).posterior(X, parameters=True)
