"""The Bayesian mixture: what it finds, its bound against one drawn by hand, and its contract."""

import numpy as np
import pytest

import lowdim
from lowdim import BayesianMixtureOfPPCA, BayesianPCA, FactorAnalysis
from lowdim.text.messages import LowdimError

quiet = pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")


def three_parts(seed, n=360, d=8, gaps=0.0):
    """Three parts with 2, 2 and 1 axes, 6 from the origin, noise of standard deviation 0.5."""
    rng = np.random.default_rng([31, seed])
    parts = []
    for q in (2, 2, 1):
        W = np.linalg.qr(rng.standard_normal((d, q)))[0] * [3.0, 2.0][:q]
        mu = rng.standard_normal(d)
        mu *= 6.0 / np.linalg.norm(mu)
        parts.append(mu + rng.standard_normal((n // 3, q)) @ W.T + 0.5 * rng.standard_normal((n // 3, d)))
    X = np.vstack(parts)
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


def noisy_parts(seed, n=360, d=8):
    """The same with a noise of every column of each part, standard deviations from 0.2 to 1."""
    rng = np.random.default_rng([37, seed])
    parts = []
    for q in (2, 2, 1):
        W = np.linalg.qr(rng.standard_normal((d, q)))[0] * [3.0, 2.0][:q]
        mu = rng.standard_normal(d)
        mu *= 6.0 / np.linalg.norm(mu)
        sd = rng.uniform(0.2, 1.0, d)
        parts.append((mu + rng.standard_normal((n // 3, q)) @ W.T + sd * rng.standard_normal((n // 3, d)), sd))
    return np.vstack([rows for rows, _ in parts]), np.array([sd for _, sd in parts])


def is_found(model):
    return model.n_clusters_ == 3 and sorted(model.n_axes_.tolist()) == [1, 2, 2]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_three_parts_of_two_two_and_one_axes(seed):
    X = three_parts(seed)
    model = BayesianMixtureOfPPCA().fit(X)
    assert is_found(model)
    label = np.arange(len(X)) * 3 // len(X)
    table = np.array([np.bincount(model.predict(X)[label == k], minlength=3) for k in range(3)])
    assert (table.max(axis=1) >= 115).all() and len(set(table.argmax(axis=1))) == 3
    assert model.noise_variance_ == pytest.approx(np.full(3, 0.25), rel=0.15)
    assert model.weights_ == pytest.approx(np.full(3, 1 / 3), abs=0.03)
    assert (np.diff(model.history_) > -1e-6).all()
    assert "3 of 6 parts kept" in model.certificate_.text()


@pytest.mark.drill
def test_three_parts_in_eighteen_of_twenty_tables():
    assert sum(is_found(BayesianMixtureOfPPCA().fit(three_parts(seed))) for seed in range(20)) >= 18


def test_factor_analysers_are_told_from_their_noise():
    """A noise of every column: PPCA takes the noisiest for an axis, factor analysis does not."""
    X, sd = noisy_parts(0)
    model = BayesianMixtureOfPPCA(4, 4, noise="column", n_init=3).fit(X)
    assert is_found(model) and model.noise_variance_.shape == (3, 8)
    part = [int(np.bincount(model.predict(X)[120 * k : 120 * (k + 1)]).argmax()) for k in range(3)]
    assert sorted(part) == [0, 1, 2]
    off = np.log(model.noise_variance_[part] / sd**2)
    assert np.abs(off).mean() < 0.25
    other = BayesianMixtureOfPPCA(4, 4, n_init=3).fit(X)
    assert not is_found(other) and other.objective_ < model.objective_ - 50
    assert (np.diff(model.history_) > -1e-6).all()


@pytest.mark.drill
def test_factor_analysers_in_eighteen_of_twenty_tables():
    fits = [BayesianMixtureOfPPCA(noise="column").fit(noisy_parts(seed)[0]) for seed in range(20)]
    assert sum(map(is_found, fits)) >= 18


@pytest.mark.slow
def test_gaps_change_nothing_found():
    X = three_parts(2, gaps=0.1)
    assert is_found(BayesianMixtureOfPPCA(4, calibrate=False).fit(X))


@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_one_part_with_a_noise_a_column_is_factor_analysis(gaps):
    """With many rows and no axis in doubt, what is believed lies near the likeliest."""
    rng = np.random.default_rng(4)
    sd = np.linspace(0.3, 1.5, 6)
    X = rng.standard_normal((1500, 1)) @ rng.standard_normal((1, 6)) * 2.0 + sd * rng.standard_normal((1500, 6))
    X = np.where(rng.random(X.shape) < gaps, np.nan, X)
    one = BayesianMixtureOfPPCA(1, 3, noise="column", calibrate=False).fit(X)
    peer = FactorAnalysis(1).fit(X)
    assert one.n_axes_.tolist() == [1]
    assert one.noise_variance_[0] == pytest.approx(peer.noise_variance_, rel=0.03)
    assert np.abs(one.components_[0, 0]) == pytest.approx(np.abs(peer.components_[0]), abs=0.02)


@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_one_part_is_bayesian_pca(gaps):
    """The bound of one part is that of Bayesian PCA, less the priors that only parts need."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 2)) @ rng.standard_normal((2, 6)) * 2.0 + 0.5 * rng.standard_normal((150, 6))
    X = np.where(rng.random(X.shape) < gaps, np.nan, X)
    alone = BayesianPCA(4, tol=1e-9).fit(X)
    one = BayesianMixtureOfPPCA(1, 4, tol=1e-9, calibrate=False).fit(X)
    assert one.n_axes_.tolist() == [alone.n_components_]
    prior = one.params_.log_volume + np.log(np.log(1e10))
    assert one.objective_ == pytest.approx(alone.objective_ - prior, abs=1e-2)
    assert np.abs(one.components_[0]) == pytest.approx(np.abs(alone.components_), abs=1e-3)
    assert one.impute(X) == pytest.approx(alone.impute(X), abs=1e-3)


def test_the_bound_lies_below_the_evidence_of_draws():
    """log p(X) by importance sampling of one part in one column: the bound is below it, and near."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 1))
    model = BayesianMixtureOfPPCA(1, 0).fit(X)
    p, frame = model.params_.components[0], model.frame_
    z = frame.inward(lowdim.as_source(X).block(0)).x[:, 0]
    a, S = p.shape, 200_000
    tau = rng.gamma(a, 1.0 / (a * p.psi[0]), S)
    sd = np.sqrt(p.V[0, 0, 0])
    mu = p.mu[0] + sd * rng.standard_normal(S)
    log_prior = -model.params_.log_volume - np.log(np.log(1e10)) - np.log(tau)  # flat in log tau
    log_like = 0.5 * 12 * np.log(tau / (2 * np.pi)) - 0.5 * tau * ((z[:, None] - mu) ** 2).sum(axis=0)
    from scipy.stats import gamma, norm

    log_q = gamma.logpdf(tau, a, scale=1.0 / (a * p.psi[0])) + norm.logpdf(mu, p.mu[0], sd)
    w = log_prior + log_like - log_q
    evidence = np.logaddexp.reduce(w) - np.log(S) + 12 * np.log(frame.scale[0])
    assert evidence - 0.2 < model.objective_ < evidence + 0.01


@quiet
def test_verbs_and_files(tmp_path):
    X = three_parts(1, n=120, gaps=0.1)
    model = BayesianMixtureOfPPCA(3, 2, n_init=2, tol=1e-4).fit(X)
    filled, sd = model.impute(X, return_std=True)
    assert np.isfinite(filled).all() and (sd[np.isnan(X)] > 0).all()
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))
    new = np.full((1, 8), np.nan)
    assert model.predict_proba(new)[0] == pytest.approx(model.weights_)
    model.save(tmp_path / "m.lowdim")
    back = lowdim.load(tmp_path / "m.lowdim")
    assert np.array_equal(back.impute(X), filled) and np.array_equal(back.n_axes_, model.n_axes_)
    with pytest.raises(LowdimError, match="LD240"):
        model.bic(X)
    assert model.sample(5).shape == (5, 8)
