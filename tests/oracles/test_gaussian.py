"""Every model against the slow oracle: posterior, density, fills, precision, update, optimum."""

import numpy as np
import pytest

from lowdim import PCA, PPCA, DualPPCA, FactorAnalysis
from lowdim.maths import gaussian
from lowdim.models.linear.linear_gaussian import LinearGaussianParams, excess
from lowdim.sources.source import Block
from tests.oracles import gaussian as oracle

# Small tables with gaps are often Heywood cases: the oracle has the same bound, so they are as good a test.
pytestmark = pytest.mark.filterwarnings("ignore:LD204")
MODELS = {
    "ppca": PPCA(2),
    "ppca-standardize": PPCA(2, standardize=True),
    "ppca-none": PPCA(0),
    "fa": FactorAnalysis(2),
    "fa-standardize": FactorAnalysis(2, standardize=True),
    "fa-varimax": FactorAnalysis(2, rotation="varimax"),
    "fa-promax": FactorAnalysis(2, rotation="promax"),
}


def table(gaps: float, seed: int = 0, n: int = 40, d: int = 6, q: int = 2, equal: bool = False):
    X, G = oracle.simulate(np.random.default_rng(seed), n, d, q, gaps=gaps, equal=equal)
    return G if gaps else X


def said(model):
    """What a fitted model says of itself, in units of `scale_`: loadings, mean, noise, covariance of z."""
    L, psi = model.components_.T, np.broadcast_to(model.noise_variance_, model.mean_.shape)
    prior = vars(model).get("factor_covariance_", np.eye(L.shape[1]))
    return L, model.mean_ / model.scale_, psi, prior


@pytest.mark.parametrize("gaps", [0.0, 0.25])
@pytest.mark.parametrize("name", MODELS)
def test_rows_agree_with_dense_conditional_gaussians(name, gaps):
    X = table(gaps)
    model = MODELS[name].fit(X)
    L, mu, psi, prior = said(model)
    found, scores, filled = model.posterior(X), model.score_samples(X), model.impute(X)
    for i, x in enumerate(X):
        want = oracle.row(x / model.scale_, L, mu, psi, prior)
        assert found.mean[i] == pytest.approx(want.z, abs=1e-10)
        assert found.cov[i] == pytest.approx(want.z_cov, abs=1e-10)
        stretch = np.log(model.scale_[~np.isnan(x)]).sum()
        assert scores[i] == pytest.approx(want.log_density - stretch, abs=1e-9)
        assert filled[i] == pytest.approx(want.cells * model.scale_, abs=1e-10)
    assert np.array_equal(model.transform(X), found.mean)


@pytest.mark.parametrize("name", MODELS)
def test_precision_is_the_dense_inverse(name):
    model = MODELS[name].fit(table(0.2))
    L, _, psi, prior = said(model)
    S = L @ prior @ L.T + np.diag(psi)
    assert model.get_covariance() == pytest.approx(S, rel=1e-11)
    assert model.get_precision() == pytest.approx(np.linalg.inv(S), rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_fill_std_adds_the_doubt_about_the_parameters(name):
    """Var = noise (excess) + position + tr(V_j E[(z,1)(z,1)']), one cell at a time."""
    X = table(0.25)
    model = MODELS[name].fit(X)
    p, scale = model.params_, model.frame_.scale
    _, std = model.impute(X, return_std=True)
    q = p.W.shape[1]
    V = p.V if p.V.ndim == 3 else np.array([np.diag(np.broadcast_to(v, q + 1)) for v in p.V])
    for i, j in np.argwhere(np.isnan(X)):
        z = oracle.row((X[i] - model.frame_.shift) * scale, p.W, p.mu, p.psi)
        u = np.append(z.z, 1.0)
        second = np.outer(u, u)
        second[:q, :q] += z.z_cov
        var = z.cells_var[j] + (p.excess[j] - 1) * p.psi[j] + np.trace(V[j] @ second)
        assert std[i, j] == pytest.approx(np.sqrt(var) / scale[j], rel=1e-9)
    plain = np.array([oracle.row((x - model.frame_.shift) * scale, p.W, p.mu, p.psi).cells_var for x in X]) ** 0.5
    assert (std >= plain / scale - 1e-12).all()


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("model", [PPCA(2), FactorAnalysis(2), PPCA(0)], ids=["ppca", "fa", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_update_is_the_textbook_step(model, gaps, weighted):
    """`_stats` and `_update` against loops over rows and columns, expanded EM; W is known up to a turn."""
    rng = np.random.default_rng(3)
    X = table(gaps, seed=4)
    d, q = X.shape[1], model.n_components
    W, mu, psi = rng.standard_normal((d, q)), rng.standard_normal(d), rng.uniform(0.3, 2.0, d)
    psi = psi if isinstance(model, FactorAnalysis) else np.full(d, 0.7)
    params = LinearGaussianParams(
        W, mu, psi, np.eye(q), np.zeros((d, 1)), np.full(d, 1e-9), excess(np.full(d, 40.0), q)
    )
    mask, w = (None if gaps == 0 else ~np.isnan(X)), np.arange(40) % 3
    block = Block(np.nan_to_num(X), mask, w.astype(float) if weighted else None)
    stats = model._stats(params, block)
    rows = np.repeat(X, w, axis=0) if weighted else X
    assert stats.log_density == pytest.approx(oracle.log_likelihood(rows, W, mu, psi), rel=1e-12)
    got = model._update(params, stats)
    W1, mu1, psi1 = oracle.em_step(rows, W, mu, psi, equal=isinstance(model, PPCA), expand=q > 0)
    assert got.psi == pytest.approx(psi1, rel=1e-10)
    assert got.mu == pytest.approx(mu1, rel=1e-10)
    product = got.W @ got.W.T
    assert product == pytest.approx(W1 @ W1.T, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_light_em_has_the_same_posterior_and_a_step_that_climbs(gaps, monkeypatch):
    """Where d q^2 numbers do not fit, gaps become latent variables: same density, same fixed points."""
    X = table(gaps, seed=4)
    heavy = PPCA(2, tol=1e-9).fit(X) if gaps else PPCA(2).fit(X)
    monkeypatch.setattr(gaussian, "LIGHT", 0)
    light = PPCA(2, tol=1e-9).fit(X) if gaps else PPCA(2).fit(X)
    assert light.objective_ == pytest.approx(heavy.objective_, abs=1e-4)
    assert light.score_samples(X) == pytest.approx(heavy.score_samples(X), abs=1e-2)
    fresh = heavy.score_samples(X)
    assert fresh.sum() == pytest.approx(heavy.objective_, abs=1e-8)
    assert light.get_covariance() == pytest.approx(heavy.get_covariance(), abs=2e-3)


def test_plain_em_never_falls_and_ends_where_ours_does():
    """150 textbook steps without extrapolation or expansion: each climbs, and none gets past our optimum."""
    X = table(0.25, seed=5, n=30, d=5)
    model = FactorAnalysis(1, tol=1e-9).fit(X)
    W, mu, psi = np.ones((5, 1)), np.nanmean(X, axis=0), np.nanvar(X, axis=0)
    before = -np.inf
    for _ in range(150):
        value = oracle.log_likelihood(X, W, mu, psi)
        assert value >= before - 1e-9
        before = value
        W, mu, psi = oracle.em_step(X, W, mu, psi, equal=False)
    assert before <= model.objective_ + 1e-6
    assert model.objective_ - before < 0.05


CASES = [
    (n, d, q, gaps, seed)
    for seed, (n, d, q, gaps) in enumerate(
        [(30, 4, 1, 0.1), (40, 5, 2, 0.2), (60, 6, 2, 0.3), (50, 8, 3, 0.15), (25, 6, 1, 0.5), (80, 5, 1, 0.4)]
    )
]


@pytest.mark.parametrize(("n", "d", "q", "gaps", "seed"), CASES)
@pytest.mark.parametrize("kind", ["ppca", "fa"])
def test_em_with_gaps_ends_at_the_optimum(kind, n, d, q, gaps, seed):
    """L-BFGS on the exact masked likelihood, from our answer and from two other starts: 0.01 nat."""
    X = table(gaps, seed=seed, n=n, d=d, q=q, equal=kind == "ppca")
    if kind == "fa" and (d - q) ** 2 < d + q:
        pytest.skip("more factors than correlations can tell apart")
    equal = kind == "ppca"
    model = (PPCA if equal else FactorAnalysis)(q).fit(X)
    L, mu, psi, _ = said(model)
    lowest = 1e-8 if equal else 0.005 * np.nanvar(X, axis=0)
    near = oracle.best(X, L, mu, psi.copy(), equal=equal, lowest=lowest)[0]
    assert near - model.objective_ < 0.01
    rng = np.random.default_rng(seed)
    spread = np.nanvar(X, axis=0)
    for _ in range(2):
        start = rng.standard_normal((d, q)) * np.sqrt(spread)[:, None]
        other = oracle.best(X, start, np.nanmean(X, axis=0), spread * 0.5, equal=equal, lowest=lowest)[0]
        assert other - model.objective_ < 0.01


# PCA ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("gaps", [0.0, 0.25])
def test_pca_rows(gaps):
    """Scores by least squares on the seen cells; density and covariance of probabilistic PCA."""
    X = table(gaps)
    model = PCA(2).fit(X)
    V, s2 = model.components_.T, model.noise_variance_
    size = np.sqrt(model.explained_variance_ - s2)
    found, filled = model.posterior(X), model.impute(X)
    for i, x in enumerate(X):
        seen = ~np.isnan(x)
        z = np.linalg.lstsq(V[seen], x[seen] - model.mean_[seen], rcond=None)[0]
        want = oracle.row(x, V * size, model.mean_, s2)
        assert found.mean[i] == pytest.approx(z, abs=1e-6)
        assert found.cov[i] == pytest.approx(want.z_cov * np.outer(size, size), abs=1e-8)
        assert found.log_density[i] == pytest.approx(want.log_density, abs=1e-8)
        assert filled[i][~seen] == pytest.approx((V @ z + model.mean_)[~seen], abs=1e-6)


def test_pca_with_gaps_minimises_the_squared_error_of_the_seen_cells():
    """Alternating least squares from many starts finds nothing smaller (0.1 per mille)."""
    X = table(0.25, seed=7)
    seen = ~np.isnan(X)
    model = PCA(2, tol=1e-10).fit(X)
    error = ((X - model.reconstruct(X))[seen] ** 2).sum()
    rng, least = np.random.default_rng(0), np.inf
    for _ in range(3):
        W = np.column_stack([rng.standard_normal((6, 2)), np.nanmean(X, axis=0)])
        for _ in range(200):
            Z = np.array(
                [
                    np.append(np.linalg.lstsq(W[m, :2], x[m] - W[m, 2], rcond=None)[0], 1.0)
                    for x, m in zip(X, seen, strict=True)
                ]
            )
            W = np.array([np.linalg.lstsq(Z[m], x[m], rcond=None)[0] for x, m in zip(X.T, seen.T, strict=True)])
        least = min(least, ((X - Z @ W.T)[seen] ** 2).sum())
    assert error <= least * (1 + 1e-4)


# identities ------------------------------------------------------------------------------------------------
def test_ppca_is_pca():
    """Same subspace, s2 the mean of the discarded eigenvalues (1/n), Lambda - s2 along the axes."""
    X = table(0.0, n=50)
    pca, ppca = PCA().fit(X), PPCA(2).fit(X)
    values = pca.explained_variance_ * 49 / 50
    assert ppca.noise_variance_ == pytest.approx(values[2:].mean(), rel=1e-11)
    axes = ppca.components_ / np.linalg.norm(ppca.components_, axis=1)[:, None]
    assert axes == pytest.approx(pca.components_[:2], abs=1e-10)
    assert (ppca.components_**2).sum(axis=1) == pytest.approx(values[:2] - ppca.noise_variance_, rel=1e-10)
    assert ppca.explained_variance_ == pytest.approx(values[:2], rel=1e-11)


def test_factor_analysis_with_equal_noise_is_ppca():
    """On moments that PPCA fits exactly, factor analysis finds the same loadings and noise."""
    from lowdim import Moments

    rng = np.random.default_rng(0)
    W = np.linalg.qr(rng.standard_normal((6, 2)))[0] * [3.0, 2.0]
    S = W @ W.T + 0.5 * np.eye(6)
    fa = FactorAnalysis(2).fit(Moments(200, np.zeros(6), S))
    assert fa.noise_variance_ == pytest.approx(np.full(6, 0.5), rel=1e-6)
    assert fa.components_.T @ fa.components_ == pytest.approx(W @ W.T, abs=1e-6)


def test_no_latent_dimension_is_the_sample_moments():
    X = table(0.0)
    model = PPCA(0).fit(X)
    assert model.mean_ == pytest.approx(X.mean(axis=0), rel=1e-13)
    assert model.noise_variance_ == pytest.approx(X.var(axis=0).mean(), rel=1e-13)
    assert model.transform(X).shape == (40, 0)


def test_factor_analysis_does_not_mind_units():
    """Scale equivariance: columns in other units give the same uniquenesses and scores."""
    X, unit = table(0.2), np.array([1e-3, 1.0, 50.0, 1e4, 2.0, 0.1])
    one, two = FactorAnalysis(2, tol=1e-10).fit(X), FactorAnalysis(2, tol=1e-10).fit(X * unit)
    assert two.uniquenesses_ == pytest.approx(one.uniquenesses_, rel=1e-4)
    sign = np.sign((one.components_ * two.components_).sum(axis=1))[:, None]  # the largest entry may be another
    assert two.components_ == pytest.approx(sign * one.components_ * unit, rel=1e-3)
    shift = np.log(unit) @ (~np.isnan(X)).sum(axis=0)
    assert two.objective_ == pytest.approx(one.objective_ - shift, abs=1e-5)


# the dual -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "d", "gaps"), [(12, 30, 0.0), (40, 6, 0.0), (12, 30, 0.2), (30, 8, 0.3)])
def test_dual_agrees_with_its_columns(n, d, gaps):
    Y = table(gaps, seed=n, n=n, d=d)
    model = DualPPCA(2, tol=1e-9).fit(Y)
    Z, mu, s2 = model.embedding_, model.mean_, model.noise_variance_
    assert model.objective_ == pytest.approx(oracle.dual_log_likelihood(Y, Z, mu, s2), rel=1e-10)
    means, covs = oracle.dual_loadings(Y, Z, mu, s2)
    assert model.components_ == pytest.approx(means.T, abs=1e-8)
    assert model.params_.V[:, :2, :2] == pytest.approx(covs, abs=1e-8)
    assert model.transform(Y) == pytest.approx(Z, abs=1e-3)
    filled = model.impute(Y)
    gap = np.isnan(Y)
    assert filled[gap] == pytest.approx((model.transform(Y) @ means.T + mu)[gap], abs=1e-8)


@pytest.mark.parametrize(("n", "d", "gaps"), [(12, 30, 0.0), (25, 6, 0.0), (12, 30, 0.2), (20, 10, 0.2)])
def test_dual_is_at_its_optimum(n, d, gaps):
    """The dual likelihood by L-BFGS. Complete: with the column means as the model states them."""
    Y = table(gaps, seed=n, n=n, d=d)
    model = DualPPCA(2).fit(Y)
    top = oracle.dual_best(Y, model.embedding_, model.mean_, model.noise_variance_)
    assert top - model.objective_ < 0.01


def test_dual_and_primal_share_their_axes():
    """Complete table: positions of the dual span PPCA's scores, and both reconstruct the same subspace."""
    Y = table(0.0, n=50, d=8)
    dual, primal = DualPPCA(2).fit(Y), PPCA(2).fit(Y)
    Q, R = (np.linalg.qr(rows)[0] for rows in (dual.embedding_, primal.transform(Y)))
    assert np.linalg.svd(Q.T @ R, compute_uv=False) == pytest.approx([1.0, 1.0], abs=1e-10)
    A, B = (np.linalg.qr(rows.T)[0] for rows in (dual.components_, primal.components_))
    assert np.linalg.svd(A.T @ B, compute_uv=False) == pytest.approx([1.0, 1.0], abs=1e-10)
