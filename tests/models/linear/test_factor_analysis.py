"""Factor analysis of many columns: EM where Newton's matrix would be too large."""

import numpy as np
import pytest

import lowdim as ld


def test_many_columns_are_fitted_by_em_to_the_same_optimum(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3)) @ rng.standard_normal((3, 40)) + 0.5 * rng.standard_normal((150, 40))
    newton = ld.FactorAnalysis(3).fit(X)
    monkeypatch.setattr("lowdim.models.linear.factor_analysis.NEWTON_COLUMNS", 10)
    em = ld.FactorAnalysis(3).fit(X)
    assert em.objective_ == pytest.approx(newton.objective_, abs=1e-4)
    assert em.noise_variance_ == pytest.approx(newton.noise_variance_, abs=1e-3)
    assert em.get_covariance() == pytest.approx(newton.get_covariance(), abs=1e-3)


def test_two_thousand_columns():
    rng = np.random.default_rng(1)
    W = rng.standard_normal((2, 2_000))
    X = rng.standard_normal((100, 2)) @ W + rng.standard_normal((100, 2_000))
    model = ld.FactorAnalysis(2).fit(X)
    assert model.converged_ and "newton" not in model.certificate_.solver
    span = np.linalg.svd(np.linalg.qr(W.T)[0].T @ np.linalg.qr(model.components_.T)[0])[1]
    assert span.min() > 0.98
