"""Bayesian PCA: against its definition written out, the example of [Zabaras2017], and intervals that hold."""

import numpy as np
import pytest
from scipy.stats import norm

import lowdim
from lowdim import BayesianPCA, Run
from lowdim.maths import bayesian_gaussian as vb
from lowdim.maths.gaussian import sums
from lowdim.models.base.survey import survey_table
from lowdim.models.linear.bayesian_pca import stand_in
from lowdim.text.errors import ModelWarning, OptionError
from tests.conftest import need
from tests.oracles import variational as oracle


def seeds_gaussian(seed: int, gaps: float = 0.0) -> np.ndarray:
    """The 300 x 10 of [Zabaras2017]: sd 1 in three directions, 0.5 in seven."""
    return turned(seed, 300, np.r_[np.ones(3), np.full(7, 0.5)], gaps)


def turned(seed: int, n: int, sd: np.ndarray, gaps: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((len(sd), len(sd))))[0]
    X = rng.standard_normal((n, len(sd))) * sd @ Q.T
    return np.where(rng.random(X.shape) < gaps, np.nan, X) if gaps else X


def factors(seed: int, n: int, d: int, q: int = 3, noise: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng([seed, n, d])
    return rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + noise * rng.standard_normal((n, d)) + 3.0


def beliefs(d: int, q: int, each: bool = False) -> vb.Beliefs:
    """Any beliefs at all: the bound holds for every one of them; with a noise of each column where asked."""
    rng = np.random.default_rng(3)
    roots = 0.3 * rng.standard_normal((d, q + 1, q + 1))
    return vb.Beliefs(
        rng.standard_normal((d, q)),
        rng.standard_normal(d),
        np.linspace(0.3, 1.2, d) if each else 0.7,
        roots @ roots.transpose(0, 2, 1) + 0.01 * np.eye(q + 1),
        rng.uniform(0.5, 2.0, q),
        np.linspace(5.0, 31.0, d) if each else 31.0,
    )


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("q", [0, 1, 3])
def test_the_bound_is_the_one_written_out(gaps, q, each):
    X = factors(0, 12, 5)
    if gaps:
        X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    b, mask = beliefs(5, q, each), ~np.isnan(X) if gaps else None
    latent = vb.rows(np.nan_to_num(X), mask, b)
    for i, (z, S) in enumerate(oracle.places(X, b.W, b.mu, b.V, 1 / b.psi)):
        assert latent.mean[i] == pytest.approx(z, abs=1e-12)
        assert latent.log_density[i if gaps else 0] == pytest.approx(0.5 * np.linalg.slogdet(S)[1], abs=1e-12)
    s = sums(mask, None, latent, b.W, np.full(5, b.psi))
    told = oracle.bound(X, b.W, b.mu, b.V, 1 / b.psi, b.shape, 1 / b.spread)
    assert vb.bound(s, b) == pytest.approx(told, rel=1e-12)
    if each:  # a step with a noise of each column raises the bound, however far from the best it begins
        for _ in range(4):
            b = vb.update(sums(mask, None, latent, b.W, np.full(5, b.psi)), b, floor=1e-9, dead=0.0, vague=1e-9)
            latent = vb.rows(np.nan_to_num(X), mask, b)
            before, told = told, oracle.bound(X, b.W, b.mu, b.V, 1 / b.psi, b.shape, 1 / b.spread)
            assert told > before - 1e-6


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_a_fit_reports_the_bound_of_its_own_parameters_and_no_change_of_them_is_better(gaps):
    X = factors(1, 40, 6)
    X[np.random.default_rng(1).random(X.shape) < gaps] = np.nan
    fitted = BayesianPCA(tol=1e-11).fit(X)
    p = fitted.params_
    x = (X - fitted.frame_.shift) * fitted.frame_.scale

    def bound(W=p.W, mu=p.mu, V=p.V, tau=1 / p.psi[0], alpha=1 / p.spread):
        return oracle.bound(x, W, mu, np.broadcast_to(V, (6, *p.V.shape[1:])), tau, p.shape, alpha)

    best = bound()
    stretch = float((~np.isnan(X)).sum(axis=0) @ np.log(fitted.frame_.scale))
    assert fitted.objective_ == pytest.approx(best + stretch, abs=1e-6)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-1):
        for _ in range(5):
            assert bound(W=p.W + size * rng.standard_normal(p.W.shape)) < best
            assert bound(mu=p.mu + size * rng.standard_normal(p.mu.shape)) < best
            assert bound(tau=np.exp(size * rng.choice([-1, 1])) / p.psi[0]) < best
            assert bound(alpha=np.exp(size * rng.standard_normal(len(p.spread))) / p.spread) < best
    assert bound(V=p.V * 1.1) < best and bound(V=p.V * 0.9) < best


def kept(tables) -> list[int]:
    return [BayesianPCA().fit(X).n_components_ for X in tables]


def test_the_seeds_gaussian_has_three_axes_and_noise_has_none():
    assert kept(seeds_gaussian(seed) for seed in range(10)) == [3] * 10
    assert kept(seeds_gaussian(seed, 0.3) for seed in range(10)) == [3] * 10
    assert kept(turned(seed, 600, np.ones(10), 0.0) for seed in range(5)) == [0] * 5
    assert kept(turned(seed, 600, np.ones(10), 0.3) for seed in range(5)) == [0] * 5


@pytest.mark.drill
def test_a_hundred_seeds():
    complete = [BayesianPCA().fit(seeds_gaussian(seed)) for seed in range(100)]
    assert sum(fit.n_components_ == 3 for fit in complete) >= 98
    assert np.median([fit.n_iter_ for fit in complete]) <= 60
    assert kept(seeds_gaussian(seed, 0.3) for seed in range(100)).count(3) >= 95
    for gaps in (0.0, 0.3):
        assert kept(turned(seed, 600, np.ones(10), gaps) for seed in range(100)).count(0) >= 98


def covered(seeds, n: int, d: int, share: float, level: float = 0.95) -> float:
    """Share of hidden cells inside their predictive intervals, pooled over tables."""
    inside = total = 0
    for seed in seeds:
        X = factors(seed, n, d, noise=0.5 + 0.5 * (seed % 2))
        hidden = np.random.default_rng([seed, 9]).random(X.shape) < share
        filled, sd = BayesianPCA().fit(np.where(hidden, np.nan, X)).impute(np.where(hidden, np.nan, X), return_std=True)
        inside += int((np.abs(X - filled)[hidden] < norm.ppf(0.5 + level / 2) * sd[hidden]).sum())
        total += int(hidden.sum())
    return inside / total


@pytest.mark.parametrize(("n", "d"), [(30, 10), (100, 10)])
def test_intervals_hold_what_they_claim(n, d):
    assert 0.92 < covered(range(20), n, d, 0.1) < 0.975  # 600 and 2000 cells


@pytest.mark.drill
@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize(("n", "d"), [(30, 10), (60, 20), (100, 10), (200, 20)])
def test_intervals_hold_what_they_claim_in_a_hundred_tables(n, d, share):
    assert 0.93 < covered(range(100), n, d, share) < 0.97


def test_doubt_of_a_loading_is_the_spread_of_refits():
    """components_std_ against loadings of fresh tables from one truth, turned to it."""
    rng = np.random.default_rng(0)
    W = np.array([[3.0, 2.0, 1.0, -1.0, 2.0, 0.0], [0.0, 1.0, -2.0, 1.5, 0.5, 1.0]])
    found, doubt = [], []
    for _ in range(60):
        X = rng.standard_normal((200, 2)) @ W + 0.5 * rng.standard_normal((200, 6))
        fit = BayesianPCA(2).fit(X)
        # what is left once the latent space is lined up with the truth's
        S = np.linalg.lstsq(fit.components_.T, W.T, rcond=None)[0]
        found.append((fit.components_.T @ S - W.T).std())
        doubt.append(float(np.sqrt((fit.components_std_**2).mean())))
    assert 0.6 < np.mean(found) / np.mean(doubt) < 1.2  # lining up takes four of twelve numbers away


def test_what_a_fit_says():
    X = seeds_gaussian(0)
    fit = BayesianPCA().fit(X)
    assert fit.kept_.tolist() == [True] * 3 + [False] * 6 and (fit.relevance_[3:] == 0.0).all()
    assert (np.diff(fit.relevance_[:3]) < 0).all() and fit.components_.shape == fit.components_std_.shape == (3, 10)
    assert fit.noise_variance_ == pytest.approx(0.25, abs=0.03)
    assert "evidence bound" in fit.certificate_.text() and "3 of 9 axes kept" in fit.certificate_.text()
    ml = lowdim.PPCA(3).fit(X)
    angles = np.linalg.svd(np.linalg.qr(fit.components_.T)[0].T @ np.linalg.qr(ml.components_.T)[0])[1]
    assert angles.min() > 1 - 1e-10  # a complete table: the same plane, shorter axes
    assert (np.linalg.norm(fit.components_, axis=1) < np.linalg.norm(ml.components_, axis=1)).all()


def test_moments_stand_in_for_a_complete_table():
    """Fitted from 2 d weighted rows, from all rows, or from rows that came a few at a time: the same."""
    X = seeds_gaussian(1)
    one, two = BayesianPCA(tol=1e-10).fit(X), BayesianPCA(tol=1e-10)
    for part in np.array_split(X, 7):
        two.partial_fit(part)
    assert two.objective_ == pytest.approx(one.objective_, abs=1e-6)
    seen = survey_table(lowdim.as_source(X), Run(), standardize=False, wide=False)
    start = one._start(seen)
    a = one._pruned(start, seen.source, Run())
    b = one._pruned(start, stand_in(seen.moments), Run())
    assert a.objective == pytest.approx(b.objective, abs=1e-7) and a.passes == b.passes


def test_laplace_prunes_the_seeds_gaussian_as_the_seed_does():
    assert [BayesianPCA(method="laplace").fit(seeds_gaussian(seed)).n_components_ for seed in range(10)] == [3] * 10
    fit = BayesianPCA(method="laplace", tol=1e-12).fit(seeds_gaussian(0))
    assert fit.relevance_[:3] == pytest.approx((fit.components_**2).mean(axis=1), rel=1e-5)  # alpha_i = d / w_i'w_i
    assert fit.score_samples(seeds_gaussian(0)).sum() == pytest.approx(fit.objective_, rel=1e-9)


def test_words_and_limits():
    with pytest.raises(OptionError, match="variational"):
        BayesianPCA(method="mcmc").fit(seeds_gaussian(0))
    with pytest.warns(ModelWarning, match="LD201"):
        assert BayesianPCA(max_iter=3).fit(seeds_gaussian(0)).n_iter_ <= 4
    rng = np.random.default_rng(0)
    full = rng.standard_normal((400, 55)) @ rng.standard_normal((55, 60)) + 0.01 * rng.standard_normal((400, 60))
    with pytest.warns(ModelWarning, match="LD232"):
        BayesianPCA(tol=0.01).fit(full)


def test_wide_tables():
    X = factors(0, 20, 60, noise=0.3)
    fit = BayesianPCA().fit(X)
    assert fit.n_components_ == 3
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    assert BayesianPCA().fit(X).n_components_ == 3


def test_digester():
    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    assert BayesianPCA(standardize=True).fit(X).n_components_ == 4
