"""What a fresh pair of eyes found, each with the number it must be."""

import numpy as np
import pytest
from sklearn import decomposition

import lowdim
from lowdim.text.messages import ModelWarning, OptionError


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


def test_out_must_fit_what_is_written() -> None:
    X = tall(n=60)
    model = lowdim.PPCA(2).fit(X)
    for out in (np.zeros((60, 2), dtype=int), np.zeros((80, 2)), np.zeros((60, 4))):
        with pytest.raises(OptionError, match="LD210"):
            model.transform(X, out=out)


def test_filling_a_table_in_place_keeps_its_standard_deviations() -> None:
    X = tall(n=60)
    X[3, 1] = np.nan
    model = lowdim.PPCA(2).fit(X)
    _, plain = model.impute(X, return_std=True)
    _, std = model.impute(X, return_std=True, out=X)
    assert std[3, 1] == plain[3, 1] > 0
    assert not np.isnan(X).any()


def test_a_model_of_ones_own_can_be_held_to_the_laws() -> None:
    class Mine(lowdim.PPCA):
        pass

    told = lowdim.laws.check(Mine(2), tall(n=40) * [5.0, 3.0, 1.0, 0.5, 0.3], verbose=False)
    assert list(told) == ["save_and_load"]


def test_columns_are_aligned_after_a_first_batch_of_one_row() -> None:
    import pandas as pd

    A = pd.DataFrame(tall(n=30), columns=list("abcde"))
    turned = lowdim.PPCA(2).partial_fit(A[:1]).partial_fit(A[1:][list("edcba")])
    assert np.allclose(turned.mean_, A.mean(), rtol=1e-12)
