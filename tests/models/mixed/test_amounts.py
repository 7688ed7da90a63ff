"""Amounts, zero in many rows: whether there is any, and how much, against quadrature and the truth they came from."""

import numpy as np
import pytest
from scipy.stats import norm

import lowdim
from lowdim import MixedFactorAnalysis, laws
from lowdim.models.mixed.predictions import amount_below, amount_quantile
from lowdim.models.mixed.variational_em import logistic_bend, logistic_mean
from lowdim.sources.arrays import as_source
from lowdim.table.kinds import is_mostly_zero, zero_share
from lowdim.text.messages import LowdimError
from tests.models.mixed.simulated import amounts_table
from tests.models.mixed.test_variational_em import NODES, WEIGHTS
from tests.oracles.mixed import cell_log_densities, grid, normal_score

KINDS = ["real"] * 4 + ["amount"] * 3
SMALL = amounts_table(3, 60, reals=2, amounts=2)[0]
SMALL_MODEL = MixedFactorAnalysis(1, likelihoods=["real"] * 2 + ["amount"] * 2, tol=3e-4)


@pytest.mark.parametrize("law", [law for law in laws.LAWS if law not in MixedFactorAnalysis._laws_broken])
def test_laws_hold_for_amounts(law):
    laws.LAWS[law](SMALL_MODEL, SMALL)


def test_the_bend_of_a_logistic_curve_agrees_with_quadrature_of_differences():
    m, v, e = np.linspace(-6, 6, 61), np.full(61, 0.8), 1e-4
    slope = (logistic_mean(m + e, v).curvature - logistic_mean(m - e, v).curvature) / (2 * e)
    assert np.abs(logistic_bend(m, v) - slope).max() < 1e-7
    x = m[:, None] + np.sqrt(v)[:, None] * NODES
    s = 1.0 / (1.0 + np.exp(-x))
    assert np.abs(logistic_bend(m, v) - (s * (1 - s) * (1 - 2 * s)) @ WEIGHTS).max() < 2e-4


@pytest.mark.parametrize("q", [1, 2])
def test_bounds_posteriors_and_cells_agree_with_a_grid(q):
    X, _, _ = amounts_table(0, 150, q=q)
    model = MixedFactorAnalysis(q, likelihoods=KINDS).fit(X)
    block = model.frame_.inward(as_source(X).block(0))
    rows = np.where(np.isnan(X), np.nan, block.x)
    # the doubt of the parameters is no part of the grid
    bare = model.params_._replace(V=np.zeros_like(model.params_.V), excess=np.ones_like(model.params_.excess))
    posterior = model._posterior(bare, block)
    model.params_ = bare
    told = {own.column: own for own in model.amount_cells(X)}
    mean = model.expected_cells(X).mean
    for i in range(0, 150, 30):
        exact, centre, cov, z, weight = grid(bare, rows[i], half=7.0, points=801 if q == 1 else 121)
        assert -1e-9 < exact - posterior.log_density[i] < 0.1
        sd = np.sqrt(np.diag(cov))
        assert np.abs(posterior.mean[i] - centre).max() < 0.06 * sd.max()
        assert np.abs(posterior.std[i] / sd - 1).max() < 0.12
        for j in (4, 5, 6):
            none = weight @ np.exp(cell(bare, j, 0.0, z))
            own = told[j]
            assert abs(own.zero[i] - none) < 0.03
            # the share below some amounts, whose slope is the density that the bound counts; and the mean
            for x in (3.0, 7.4, 15.0):
                below = [weight @ under(bare, j, x * k, z) for k in (1.0, 1.0 + 1e-6, 1.0 - 1e-6)]
                assert abs(amount_below(bare.columns, own, np.full(150, x))[i] - below[0]) < 0.05, (i, j, x)
                density = weight @ np.exp(cell(bare, j, x, z))
                assert (below[1] - below[2]) / (2e-6 * x) == pytest.approx(density, rel=1e-4, abs=1e-8)
            edges = np.exp(np.linspace(-3.0, 8.0, 301))
            shares = [weight @ under(bare, j, x, z) for x in edges]
            middle = np.concatenate([[0.0], 0.5 * (edges[1:] + edges[:-1])])
            middle = np.minimum(middle, np.exp(bare.columns.curves[j][0, -1]))  # no further than what was seen
            assert mean[i, j] == pytest.approx(np.diff(shares, prepend=0.0) @ middle, rel=0.12, abs=0.3)


def under(params, j, value, z):
    """P(column j is at most this | z), as a textbook has it."""
    columns = params.columns
    s, a = columns.gaussian.index((j, 0)), columns.single.index((j, 0))
    eta = z @ params.W.T
    there = 1.0 / (1.0 + np.exp(-eta[:, len(params.mu) + a] - params.b[a]))
    score = (normal_score(columns.curves[j], value)[0] - columns.centre[s]) / columns.spread[s]
    return 1.0 - there + there * norm.cdf(score, eta[:, s] + params.mu[s], np.sqrt(params.psi[s]))


def cell(params, j, value, z):
    """log p(column j is this | z)."""
    row = np.full(len(params.columns.kinds), np.nan)
    row[j] = value
    return cell_log_densities(params, row, z)


def test_quantiles_invert_the_distribution_and_begin_at_zero():
    X, _, _ = amounts_table(1, 200)
    model = MixedFactorAnalysis(1, likelihoods=KINDS).fit(X)
    for own in model.amount_cells(X):
        for share in (0.05, 0.5, 0.95):
            x = amount_quantile(model.params_.columns, own, share)
            assert ((x == 0) == (own.zero >= share)).all()
            back = amount_below(model.params_.columns, own, x)
            assert np.allclose(back, np.maximum(share, own.zero), atol=1e-9)
    filled, zero = model.impute(X), model.probabilities(X)
    for j in (4, 5, 6):
        gap = np.isnan(X[:, j])
        assert np.array_equal(filled[gap, j] == 0, zero[f"c{j + 1}"][gap, 0] >= 0.5)


def test_parameters_come_back_and_intervals_hold():
    held, slopes = {"real": [], "amount": []}, {"any": [], "much": []}
    for seed in range(4):
        X, full, weights = amounts_table(seed, 900, q=2, reals=5)
        kinds = np.array(["real"] * 5 + ["amount"] * 3)
        model = MixedFactorAnalysis(2, likelihoods=kinds).fit(X)
        low, high, gap = model.quantile(X, 0.05), model.quantile(X, 0.95), np.isnan(X)
        for kind, found in held.items():
            found += ((full >= low) & (full <= high))[gap & (kinds == kind)].tolist()
        # lengths of the weights beside the truth, since axes may be turned; those of how much in logarithms
        W, columns = model.params_.W, model.params_.columns
        for (much, there), (true_there, true_much), j in zip(columns.amounts.values(), weights, (5, 6, 7), strict=True):
            scale = np.nanstd(np.log(X[X[:, j] > 0, j]))
            slopes["any"].append(np.linalg.norm(W[there]) / np.linalg.norm(true_there))
            slopes["much"].append(np.linalg.norm(W[much]) * scale / np.linalg.norm(true_much))
    assert 0.88 <= np.mean(held["real"]) <= 0.92 and 0.88 <= np.mean(held["amount"]) <= 0.96  # zeros are whole or out
    for name, ratios in slopes.items():
        assert 0.9 < np.median(ratios) < 1.1, (name, ratios)


def test_hidden_amounts_are_filled_nearer_than_by_other_kinds():
    off = {"amount": [], "positive": [], "real": []}
    for seed in range(3):
        X, full, _ = amounts_table(seed, 600, q=2)
        gap = np.isnan(X[:, 4:])
        for kind, found in off.items():
            filled = MixedFactorAnalysis(2, likelihoods=["real"] * 4 + [kind] * 3).fit(X).impute(X)[:, 4:]
            found.append((np.abs(filled - full[:, 4:])[gap]).mean())
    assert np.mean(off["amount"]) < 0.97 * np.mean(off["positive"]) < 0.97 * np.mean(off["real"])


def test_kinds_are_found_by_their_values():
    rng = np.random.default_rng(0)
    n = 300
    rain = np.where(rng.random(n) < 0.5, 0.0, np.exp(rng.normal(size=n)))
    dry = np.where(rng.random(n) < 0.1, 0.0, np.exp(rng.normal(size=n)))  # too few zeros
    narrow = np.where(rng.random(n) < 0.5, 0.0, 100 + rng.normal(size=n))  # one magnitude
    few = np.where(rng.random(n) < 0.5, 0.0, rng.integers(1, 5, n) * 1.0)
    X = np.column_stack([rain, dry, narrow, few, rng.normal(size=n)])
    assert MixedFactorAnalysis(1).fit(X).likelihoods_ == ("amount", "real", "real", "ordinal", "real")
    assert [is_mostly_zero(zero_share(x)) for x in X.T] == [True, False, False, False, False]
    for unit in (1e-200, 1e200):
        assert is_mostly_zero(zero_share(rain * unit))
    with pytest.raises(LowdimError, match="LD501"):
        MixedFactorAnalysis(1, likelihoods=["amount", "real"]).fit(np.column_stack([rain - 1.0, narrow]))


@pytest.mark.filterwarnings("ignore::lowdim.text.errors.TableWarning")
@pytest.mark.parametrize("column", [np.zeros(60), np.arange(60.0) + 1, np.where(np.arange(60) == 7, 3.0, 0.0)])
def test_amounts_without_zeros_or_without_any_are_fitted(column):
    X = np.column_stack([SMALL[:, :2], column])
    X[3, 2] = np.nan
    model = MixedFactorAnalysis(1, likelihoods=["real", "real", "amount"]).fit(X)
    filled = model.impute(X)
    assert np.isfinite(filled).all() and (filled[3, 2] == 0) == ((column == 0).mean() > 0.5)


def test_draws_files_and_new_units_agree(tmp_path):
    X, _, _ = amounts_table(2, 300)
    model = MixedFactorAnalysis(1, likelihoods=KINDS).fit(X)
    gap = np.isnan(X[:, 4:])
    drawn = model.impute(X, draws=60)[:, :, 4:]
    shares = np.column_stack([model.probabilities(X)[f"c{j}"][:, 0] for j in (5, 6, 7)])
    assert abs((drawn == 0)[:, gap].mean() - shares[gap].mean()) < 0.03 and (drawn >= 0).all()
    low, high = model.quantile(X, 0.05)[:, 4:], model.quantile(X, 0.95)[:, 4:]
    assert 0.87 < ((drawn >= low) & (drawn <= high))[:, gap].mean() < 0.97  # atoms hold more than they must
    model.save(tmp_path / "m.lowdim")
    assert np.array_equal(lowdim.load(tmp_path / "m.lowdim").impute(X), model.impute(X))
    # a density in other units: cells 1,000 times as large lose log 1,000 each, zeros nothing
    unit = np.array([1.0] * 4 + [1000.0] * 3)
    other = MixedFactorAnalysis(1, likelihoods=KINDS).fit(X * unit)
    lost = np.log(1000) * (X[:, 4:] > 0).sum() / len(X)
    assert model.score(X) - other.score(X * unit) == pytest.approx(lost, abs=1e-6)
    assert np.allclose(other.impute(X * unit), model.impute(X) * unit, rtol=1e-6)
