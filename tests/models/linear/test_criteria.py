"""Numbers fitted, counted by the rank of the covariance's slopes; AIC and BIC of models with a likelihood."""

import numpy as np
import pytest

from lowdim import (
    PCA,
    PPCA,
    BayesianPCA,
    DualPPCA,
    FactorAnalysis,
    GaussianMixture,
    MixtureOfFA,
    MixtureOfPPCA,
    RobustPPCA,
)
from lowdim.text.messages import LowdimError

SHAPES = [(d, q) for d in (2, 3, 5, 7) for q in range(d + 1)]


def rank(covariance, theta):
    """How many numbers a covariance has: the rank of its slopes at a random place, by central differences."""
    i, j = np.tril_indices(len(covariance(theta)))
    step = 1e-5
    slopes = [
        (covariance(theta + step * e)[i, j] - covariance(theta - step * e)[i, j]) / (2 * step)
        for e in np.eye(len(theta))
    ]
    return int(np.linalg.matrix_rank(np.array(slopes), tol=1e-6))


def of_loadings(d, q, noise, units=False):
    """theta -> D (W W' + noise) D."""

    def covariance(theta):
        W, rest = theta[: d * q].reshape(d, q), theta[d * q :]
        C = W @ W.T + (np.eye(d) * np.exp(rest[0]) if noise == "one" else np.diag(np.exp(rest[:d])))
        D = np.exp(rest[1 : d + 1]) if units else np.ones(d)
        return C * np.outer(D, D)

    return covariance, d * q + (1 if noise == "one" else d) + d * units


@pytest.mark.parametrize(("d", "q"), SHAPES)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_parameters_are_the_rank_of_the_covariance(d, q):
    rng = np.random.default_rng([d, q])
    X = rng.standard_normal((60, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d)))
    cases = [
        (PPCA(q), "one", False),
        (PPCA(q, standardize=True), "one", True),
        (PCA(q), "one", False),
        (FactorAnalysis(q), "each", False),
        (MixtureOfPPCA(1, q), "one", False),
        (MixtureOfFA(1, q), "each", False),
    ]
    for model, noise, units in cases:
        too_many = isinstance(model, FactorAnalysis) and (d < 3 or (d - q) ** 2 < d + q)  # refused
        if too_many or (q == 0 and isinstance(model, PCA)):
            continue
        covariance, size = of_loadings(d, q, noise, units)
        assert model.fit(X).n_parameters_ == d + rank(covariance, 0.5 * rng.standard_normal(size)), model


def test_the_published_count():
    """[Zabaras2017]: D M + 1 - M (M - 1) / 2 for the covariance, and the mean."""
    X = np.random.default_rng(0).standard_normal((50, 8))
    assert PPCA(3).fit(X).n_parameters_ == 8 * 3 + 1 - 3 + 8
    assert RobustPPCA(3).fit(X).n_parameters_ == 8 * 3 + 1 - 3 + 8 + 1
    assert RobustPPCA(3, dof=5.0).fit(X).n_parameters_ == 8 * 3 + 1 - 3 + 8


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_criteria_are_those_of_the_likelihood():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((120, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    w = rng.integers(1, 4, 120).astype(float)
    for model in (PPCA(2), FactorAnalysis(2), RobustPPCA(2), GaussianMixture(1)):
        k = model.fit(X).n_parameters_
        assert model.aic(X) == pytest.approx(-2 * model.objective_ + 2 * k, rel=1e-9)
        assert model.bic(X) == pytest.approx(-2 * model.objective_ + k * np.log(120), rel=1e-9)
        heavy = -2 * w @ model.score_samples(X)
        assert model.bic(X, sample_weight=w) == pytest.approx(heavy + k * np.log(w.sum()), rel=1e-9)
    assert PCA(2).fit(X).aic(X) > PPCA(2).fit(X).aic(X)  # the same count, and the latter is the likeliest


@pytest.mark.filterwarnings("ignore:LD204")
def test_bic_finds_the_planted_number_of_axes():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 8)) + 0.5 * rng.standard_normal((300, 8))
    for kind in (PPCA, FactorAnalysis):
        assert np.argmin([kind(q).fit(X).bic(X) for q in range(1, 5)]) == 2


@pytest.mark.parametrize("model", [BayesianPCA(2), DualPPCA(2)])
def test_models_that_do_not_count_say_why(model):
    X = np.random.default_rng(0).standard_normal((40, 4))
    model.fit(X)
    assert not hasattr(model, "bic")
    with pytest.raises(LowdimError, match=r"LD240"):
        model.aic(X)
