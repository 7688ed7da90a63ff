"""Bayesian GP-LVM: psi statistics by sampling, the bound by an exact limit, slopes by differences, and its verbs."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, spearmanr

import lowdim.math.gp as gp
from lowdim import BayesianGPLVM, Run, laws
from lowdim.math.linalg import lower
from lowdim.math.psi import Blurred, bound, kl, pairs, psi1
from lowdim.messages import FitError, OptionError
from tests.models.test_gplvm import arc


def small(n=12, d=4, q=2, m=5, seed=0):
    rng = np.random.default_rng(seed)
    Y, seen = rng.standard_normal((n, d)), rng.random((n, d)) < 0.7
    return Y, seen, Blurred(rng.standard_normal((n, q)), np.exp(0.3 * rng.standard_normal((n, q)) - 1),
                            rng.standard_normal((m, q)), np.array([1.0, 0.3]), 1.3, 4.0)


def test_psi_statistics_by_sampling():
    _, _, p = small()
    X = p.mu + np.sqrt(p.S) * np.random.default_rng(1).standard_normal((20000, 12, 2))
    k = p.v * np.exp(-0.5 * (((X[:, :, None] - p.Z) ** 2) @ p.w))
    i, j = lower(5)
    assert psi1(p) == pytest.approx(k.mean(axis=0), abs=0.02)
    assert pairs(p) == pytest.approx((k[:, :, i] * k[:, :, j]).mean(axis=0), abs=0.03)


@pytest.mark.parametrize("gaps", [False, True])
def test_slopes_of_the_bound_by_differences(gaps):
    Y, seen, p = small()
    seen = seen if gaps else None
    Y, at, h = np.where(seen, Y, 0.0) if gaps else Y, p.pack(), 1e-5
    told = np.array([(bound(p.unpack(at + h * e), Y, seen).value - bound(p.unpack(at - h * e), Y, seen).value) / (2 * h)
                     for e in np.eye(len(at))])
    assert bound(p, Y, seen).slope == pytest.approx(told, abs=1e-6 * np.abs(told).max())


def test_the_bound_is_exact_without_doubt():
    """Places without doubt, an inducing point at each: then it is the likelihood less the divergence."""
    Y, seen, p = small()
    p = p._replace(S=np.full_like(p.S, 1e-12), Z=p.mu.copy())
    K = p.v * np.exp(-0.5 * (((p.mu[:, None] - p.mu) ** 2) @ p.w)) + np.eye(12) / p.beta
    told = multivariate_normal(np.zeros(12), K).logpdf(Y.T).sum()
    assert bound(p, Y, None).value + kl(p) == pytest.approx(told, abs=1e-3)
    told = sum(multivariate_normal(np.zeros(s.sum()), K[np.ix_(s, s)]).logpdf(y[s])
               for y, s in zip(Y.T, seen.T, strict=True))
    assert bound(p, np.where(seen, Y, 0.0), seen).value + kl(p) == pytest.approx(told, abs=1e-3)
    assert bound(p, Y, np.ones_like(seen)).value == pytest.approx(bound(p, Y, None).value, rel=1e-12)


def test_an_arc_needs_one_dimension():
    X, t = arc(60, noise=0.02)
    model = BayesianGPLVM(3, n_inducing=12, random_state=0).fit(X)
    assert model.kept_ == 1 and model.noise_variance_ == pytest.approx(0.02**2, rel=0.5)
    assert abs(spearmanr(model.embedding_[:, 0], t).statistic) > 0.99
    assert model.transform(X)[:, 0] == pytest.approx(model.embedding_[:, 0], abs=0.05)
    new, _ = arc(30, noise=0.02, seed=5)
    holes = np.where(np.random.default_rng(2).random(new.shape) < 0.25, np.nan, new)
    filled, std = model.impute(holes, return_std=True)
    assert np.sqrt(np.mean((filled - new)[np.isnan(holes)] ** 2)) < 0.15
    assert np.isfinite(std).all() and np.isfinite(model.sample(5)).all() and np.isfinite(model.score(new))


def test_gaps_and_their_intervals():
    full, _ = arc(80, noise=0.05)
    X = np.where(np.random.default_rng(1).random(full.shape) < 0.2, np.nan, full)
    model = BayesianGPLVM(2, n_inducing=12, tol=0.2).fit(X)
    gone = np.isnan(X)
    filled, std = model.impute(X, return_std=True)
    assert np.sqrt(np.mean((filled - full)[gone] ** 2)) < 0.15
    assert (np.abs(filled - full)[gone] < 3 * std[gone]).mean() > 0.9


@pytest.mark.parametrize("gaps", [False, True])
def test_laws(gaps):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 1)) @ [[3.0, 1.0, 2.0, -1.0]] + 0.5 * rng.standard_normal((20, 4)) + [1.0, 2, 3, 10]
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    laws.check(BayesianGPLVM(2, n_inducing=6, tol=1.0), X, verbose=False)


def test_options_and_stops(monkeypatch):
    X, _ = arc(20)
    with pytest.raises(OptionError, match="LD210"):
        BayesianGPLVM(n_inducing=0).fit(X)
    with pytest.raises(OptionError, match="LD200"):
        BayesianGPLVM(5).fit(X)
    model = BayesianGPLVM(2, n_inducing=5).fit(X, run=Run(callback=lambda step: step.passes >= 4))
    assert model.objective_ >= model.history_[0] and model.certificate_.reason == "stopped by the callback"
    monkeypatch.setattr(gp, "LADDER", ())
    with pytest.raises(FitError, match="LD473"):
        BayesianGPLVM(2, n_inducing=5).fit(X)
