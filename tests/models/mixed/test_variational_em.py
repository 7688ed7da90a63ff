"""The steps of variational EM against differences, quadrature, an exact grid and a sampler."""

import numpy as np
import pytest
from scipy.special import expit

from lowdim import MixedFactorAnalysis
from lowdim.models.mixed import variational_em as steps
from lowdim.models.mixed.column_kinds import sites_of
from lowdim.models.mixed.predictions import probabilities
from lowdim.models.mixed.variational_em import (
    SHARES,
    beliefs_of_rows,
    logistic_mean,
    logistic_share,
    ordered_newton,
    sums_of_rows,
)
from lowdim.sources.arrays import as_source
from tests.models.mixed.simulated import mixed_table
from tests.oracles.mixed import cell_log_densities, gibbs, grid

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def fitted(q, n=120, seed=0, sizes=(2, 2, 2, 1, 1)):
    """A model of few columns of all kinds, its rows in the frame, and these as sites."""
    truth = mixed_table(seed, n=n, q=max(q, 1), gaps=0.15, sizes=sizes)
    model = MixedFactorAnalysis(q, likelihoods=truth.kinds, tol=1e-3).fit(truth.X)
    block = model.frame_.inward(as_source(truth.X).block(0))
    rows = np.where(np.isnan(truth.X), np.nan, block.x)
    return model, rows, sites_of(model.params_.columns, block)[0], block


def total(params, sites, weight=None):
    return sums_of_rows(params, sites, beliefs_of_rows(params, sites), weight).bound


@pytest.mark.parametrize("name", ["W", "mu", "b"])
def test_gradients_are_those_of_the_bound(name, monkeypatch):
    """The bound is at its top in the rows' posteriors, so that its slope in a parameter is the sums' own."""
    monkeypatch.setattr(steps, "STILL", 1e-10)
    model, _, sites, _ = fitted(2)
    params = model.params_
    s = sums_of_rows(params, sites, beliefs_of_rows(params, sites), None)
    R, M, _ = params.sizes
    slopes = {"W": s.B[:, :2], "mu": s.B[:R, 2], "b": s.B[R : R + M, 2]}[name]
    value, e = getattr(params, name), 1e-4
    for at in list(np.ndindex(value.shape))[:: 3 if name == "W" else 1]:
        up, down = value.copy(), value.copy()
        up[at] += e
        down[at] -= e
        slope = (total(params._replace(**{name: up}), sites) - total(params._replace(**{name: down}), sites)) / (2 * e)
        assert abs(slope - slopes[at]) < 1e-5 * (1 + abs(slope)), at


def test_gradients_of_thresholds_and_dispersion_are_those_of_the_bound(monkeypatch):
    monkeypatch.setattr(steps, "STILL", 1e-10)
    model, _, sites, _ = fitted(1)
    params = model.params_
    s = sums_of_rows(params, sites, beliefs_of_rows(params, sites), None)
    e, columns = 1e-4, params.columns
    o, j = 0, columns.ordinal[0]
    t, inner = params.t[: columns.first[1]], columns.counts[j][1:-1]
    seen = np.array([(sites.level[:, o] == k) @ sites.known[:, o] for k in range(len(t) + 1)])
    assert np.array_equal(seen, columns.counts[j])
    first = inner / np.expm1(np.diff(t))  # of log(1 - exp(-gap)) by the upper threshold
    barrier = np.concatenate([[0.0], first]) - np.concatenate([first, [0.0]])
    for k in range(len(t)):
        up, down = params.t.copy(), params.t.copy()
        up[k], down[k] = up[k] + e, down[k] - e
        slope = (total(params._replace(t=up), sites) - total(params._replace(t=down), sites)) / (2 * e)
        assert abs(slope - (barrier[k] - s.steps[k, -1])) < 1e-5 * (1 + abs(slope))

    def along(step):
        b = params.b.copy()
        b[columns.count_sites] -= step
        return total(params._replace(r=params.r * np.exp(step), b=b), sites)

    assert (along(e) - along(-e)) / (2 * e) == pytest.approx(s.dispersion[0, 0], rel=1e-5, abs=1e-5)


def test_the_bound_is_below_the_exact_log_likelihood_and_near_it():
    model, rows, _, block = fitted(1)
    bounds = model._posterior(model.params_, block).log_density
    exact = np.array([grid(model.params_, row, half=8.0, points=801)[0] for row in rows])
    assert (bounds <= exact + 1e-9).all()
    assert (exact - bounds).mean() < 0.02


def test_posteriors_and_probabilities_agree_with_a_grid():
    model, rows, _, block = fitted(2, n=150, sizes=(2, 4, 2, 1, 2))
    posterior = model._posterior(model.params_, block)
    hidden = np.isnan(rows)
    shares = model.probabilities(np.where(hidden, np.nan, model.frame_.outward(block.x)))
    bare = model.params_._replace(V=np.zeros_like(model.params_.V))
    sure = probabilities(bare, posterior)
    for i in range(0, len(rows), 15):
        _, mean, cov, z, weight = grid(model.params_, rows[i], points=81)
        sd = np.sqrt(np.diag(cov))
        assert np.abs(posterior.mean[i] - mean).max() < 0.06 * sd.max()
        assert np.abs(posterior.std[i] / sd - 1).max() < 0.12
        for j, share in sure.items():
            exact = [
                weight @ np.exp(_one_cell(model.params_, j, level, z)) for level in model.params_.columns.levels[j]
            ]
            assert np.abs(share[i] - exact).max() < 0.03, (i, j)
    assert max(np.abs(shares[f"c{j + 1}"] - share).max() for j, share in sure.items()) < 0.1  # doubt of the weights


def _one_cell(params, j, value, z):
    """log p(column j has this value | z)."""
    row = np.full(len(params.columns.kinds), np.nan)
    row[j] = value
    return cell_log_densities(params, row, z)


@pytest.mark.slow
def test_posteriors_agree_with_a_sampler():
    model, rows, _, block = fitted(3, n=300, sizes=(2, 4, 2, 1, 1))
    posterior, rng = model._posterior(model.params_, block), np.random.default_rng(0)
    for i in (0, 50, 100):
        drawn = gibbs(model.params_, rows[i], 1500, rng)
        sd = drawn.std(axis=0)
        assert np.abs(posterior.mean[i] - drawn.mean(axis=0)).max() < 0.2 * sd.max()
        assert np.abs(posterior.std[i] / sd - 1).max() < 0.2


def test_statistics_of_parts_add_up_and_weights_repeat_rows():
    model, _, sites, _ = fitted(2)
    params = model.params_
    whole = sums_of_rows(params, sites, beliefs_of_rows(params, sites), None)
    halves = [sites.of(np.arange(60)), sites.of(np.arange(60, 120))]
    first, second = (sums_of_rows(params, part, beliefs_of_rows(params, part), None) for part in halves)
    for a, b in zip(whole, first.merge(second), strict=True):
        assert np.abs(np.asarray(a) - b).max(initial=0.0) <= 1e-10 * (1 + np.abs(np.asarray(a)).max(initial=0.0))
    twice = sums_of_rows(params, sites, beliefs_of_rows(params, sites), np.full(120, 2.0))
    assert twice.bound == pytest.approx(2 * whole.bound, rel=1e-12)


def test_ordered_newton_finds_the_top_and_keeps_the_order():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    H, slope = A @ A.T + np.eye(6), 5 * rng.standard_normal(6)
    start, inner = np.array([0.1, -0.2, -1.0, 0.0, 0.5, 0.6]), np.array([30.0, 5.0, 40.0])
    top = ordered_newton(start, slope, H, np.full(6, 0.3), inner, 2)

    def value(x):
        gap = np.diff(x[2:])
        d = x - start
        return slope @ d - 0.5 * d @ H @ d - 0.15 * x @ x + inner @ np.log(-np.expm1(-gap))

    assert (np.diff(top[2:]) > 0).all()
    assert max(value(top + 1e-3 * rng.standard_normal(6)) for _ in range(200)) < value(top)


# expectations of the logistic function, against quadrature
@pytest.mark.parametrize("v", [0.0, 0.3, 1.0, 9.0])
def test_expectations_agree_with_quadrature_and_softplus_is_never_below(v):
    m = np.linspace(-12, 12, 241)
    x = m[:, None] + np.sqrt(v) * NODES
    mean = logistic_mean(m, np.full(m.shape, v))
    softplus = np.logaddexp(0.0, x) @ WEIGHTS
    assert (mean.softplus >= softplus - 1e-9).all() and np.abs(mean.softplus - softplus).max() < 1.7e-5
    assert np.abs(mean.slope - expit(x) @ WEIGHTS).max() < 6e-6
    assert np.abs(mean.curvature - (expit(x) * expit(-x)) @ WEIGHTS).max() < 3e-5
    assert np.array_equal(logistic_share(m, np.full(m.shape, v)), mean.slope)


def test_slope_and_curvature_are_the_derivatives_of_softplus():
    m, v, e = np.linspace(-6, 6, 61), np.full(61, 0.7), 1e-5
    up, down, here = logistic_mean(m + e, v), logistic_mean(m - e, v), logistic_mean(m, v)
    assert np.allclose((up.softplus - down.softplus) / (2 * e), here.slope, atol=1e-9)
    assert np.allclose((up.slope - down.slope) / (2 * e), here.curvature, atol=1e-9)
    wider, narrower = logistic_mean(m, v + e), logistic_mean(m, v - e)  # dE/dv = E'' / 2
    assert np.allclose((wider.softplus - narrower.softplus) / e, here.curvature, atol=1e-8)
    assert abs(sum(SHARES) - 1.0) < 1e-15
