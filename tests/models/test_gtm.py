"""The generative topographic mapping: against a slow E-step, its one-node limit, slopes and bad tables."""

import numpy as np
import pytest

from lowdim import GTM
from lowdim.math.basis import grid, spread_basis
from lowdim.messages import ModelWarning, OptionError
from lowdim.models.gtm import shares


def arc(n=80, noise=0.05, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), t]) + noise * rng.standard_normal((n, 3)) + [5.0, 0.0, 1.0]
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_shares_a_row_at_a_time(gaps):
    X, Y, psi = arc(12, gaps=gaps), arc(9, seed=1), 0.3
    mask = ~np.isnan(X)
    R, log_density = shares(np.nan_to_num(X), mask if gaps else None, Y, psi)
    for i, x in enumerate(X):
        seen = mask[i]
        each = [-0.5 * ((x[seen] - y[seen]) ** 2).sum() / psi - 0.5 * seen.sum() * np.log(2 * np.pi * psi) for y in Y]
        assert log_density[i] == pytest.approx(np.logaddexp.reduce(each) - np.log(len(Y)), abs=1e-12)
        assert R[i] == pytest.approx(np.exp(each - np.logaddexp.reduce(each)), abs=1e-12)


def test_one_node_is_a_spherical_gaussian():
    X = arc()
    fit = GTM(1, grid=1, basis=1, weight_prior=0.0).fit(X)
    assert fit.nodes_ == pytest.approx(X.mean(axis=0)[None], abs=1e-9)
    assert fit.noise_variance_ == pytest.approx(X.var(axis=0).mean(), rel=1e-9)
    spread = X.var(axis=0).mean()
    expected = -0.5 * 80 * 3 * (np.log(2 * np.pi * spread) + 1)
    assert fit.score_samples(X).sum() == pytest.approx(expected, rel=1e-9)


def test_slopes_by_finite_differences():
    basis, Z, h = spread_basis(4, 2, 1.0), np.random.default_rng(0).uniform(-1, 1, (7, 2)), 1e-6
    for k in range(2):
        step = h * np.eye(2)[k]
        told = (basis.at(Z + step) - basis.at(Z - step)) / (2 * h)
        assert basis.slopes(Z)[:, :, k] == pytest.approx(told, abs=1e-8)


def test_magnification_and_stretch_by_finite_differences():
    fit, h = GTM(2, grid=8, basis=4).fit(arc()), 1e-6
    Z = np.random.default_rng(0).uniform(-0.9, 0.9, (6, 2))
    ends = [(fit.inverse_transform(Z + h * e), fit.inverse_transform(Z - h * e)) for e in np.eye(2)]
    J = np.stack([(one - other) / (2 * h) for one, other in ends], axis=1)
    values = np.linalg.svd(J, compute_uv=False)
    assert fit.magnification(Z) == pytest.approx(values.prod(axis=1), rel=1e-6)
    assert fit.stretch(Z) == pytest.approx(values[:, 0] / values[:, 1], rel=1e-6)


def test_verbs():
    X = arc(gaps=0.1)
    fit = GTM(1, grid=15).fit(X)
    R = fit.responsibilities(X)
    assert R.sum(axis=1) == pytest.approx(1.0) and fit.transform(X) == pytest.approx(R @ fit.grid_)
    assert fit.mode(X) == pytest.approx(fit.grid_[R.argmax(axis=1)])
    post = fit.posterior(X)
    var = (R @ fit.grid_**2) - (R @ fit.grid_) ** 2
    assert post.cov[:, 0, 0] == pytest.approx(var[:, 0], abs=1e-12)
    assert fit.inverse_transform(fit.grid_) == pytest.approx(fit.nodes_, abs=1e-9)
    again = GTM(1, grid=15).fit(fit.sample(400))
    assert again.noise_variance_ == pytest.approx(fit.noise_variance_, rel=0.3)
    assert 0.0 <= fit.alone_ <= 1.0 and "nodes alone" in fit.certificate_.text()


def test_the_prior_is_re_estimated():
    X = arc(200)
    auto, weak = GTM(1, grid=20, basis=15, weight_prior="auto").fit(X), GTM(1, grid=20, basis=15, weight_prior=0).fit(X)
    fresh = arc(500, seed=7)
    assert auto.score(fresh) > weak.score(fresh) - 0.05 and auto.weight_prior_ > 0


def test_more_nodes_than_rows_and_equal_rows():
    assert np.isfinite(GTM(2, grid=20).fit(arc(12)).transform(arc(12))).all()
    with pytest.warns(ModelWarning, match="LD470"):
        GTM(1, grid=2, basis=2, weight_prior=0.0).fit(np.repeat(np.eye(2), 4, axis=0))


def test_far_scales_do_not_underflow():
    X = arc() * 1e3
    X[0] = [1e6, -1e6, 1e6]
    assert np.isfinite(GTM(1, grid=10).fit(X).score_samples(X)).all()


def test_words():
    with pytest.raises(OptionError, match="1, 2 or 3"):
        GTM(4).fit(arc())
    with pytest.raises(OptionError, match="LD200"):
        GTM(2).fit(arc()[:, :1])
    assert grid(3, 2).shape == (9, 2)
