"""Are the standard deviations of `impute` true? Intervals must hold what they promise."""

import numpy as np
import pytest

from lowdim import PPCA, DualPPCA, FactorAnalysis
from tests.oracles.gaussian import simulate

pytestmark = pytest.mark.filterwarnings("ignore:LD20[24]")
NINETY = 1.6448536269514722  # half the width of a 90 % interval in standard deviations


def hidden_errors(make, tables, *, rows=10, gaps=0.2, equal=True, seed=0, noise=0.5):
    """(error, std) of every hidden cell of many simulated tables with n = rows * d."""
    rng = np.random.default_rng(seed)
    errors, stds = [], []
    for _ in range(tables):
        d, q = int(rng.integers(6, 13)), int(rng.integers(1, 4))
        X, G = simulate(rng, rows * d, d, q, gaps=gaps, equal=equal, noise=noise)
        filled, std = make(q).fit(G).impute(G, return_std=True)
        gap = np.isnan(G)
        errors.append((filled - X)[gap])
        stds.append(std[gap])
    return np.concatenate(errors), np.concatenate(stds)


def coverage(errors, stds):
    return float((np.abs(errors) <= NINETY * stds).mean())


@pytest.mark.parametrize(("make", "equal"), [(PPCA, True), (FactorAnalysis, False)], ids=["ppca", "fa"])
def test_ninety_percent_intervals_hold_ninety_percent(make, equal, record_property):
    """n = 10 d, 20 % gaps, q known: 88 to 92 % of the hidden cells, and standardised errors of size 1."""
    errors, stds = hidden_errors(make, 40, equal=equal)
    share, size = coverage(errors, stds), float(np.sqrt(np.mean((errors / stds) ** 2)))
    record_property("coverage", share)
    assert len(errors) > 4000
    assert 0.88 <= share <= 0.92
    assert 0.96 <= size <= 1.06


def test_few_rows_still_cover():
    """n = 4 d, where the parameters are as doubtful as the noise."""
    errors, stds = hidden_errors(PPCA, 30, rows=4, seed=1)
    assert 0.86 <= coverage(errors, stds) <= 0.94


def test_dual_covers_where_rows_and_columns_are_many():
    """40 x 40: measured 0.8905 in 20 tables; with few columns (n = 10 d, d about 9) only 0.878."""
    rng = np.random.default_rng(0)
    errors, stds = [], []
    for _ in range(10):
        X, G = simulate(rng, 40, 40, 2)
        filled, std = DualPPCA(2).fit(G).impute(G, return_std=True)
        errors.append((filled - X)[np.isnan(G)])
        stds.append(std[np.isnan(G)])
    assert 0.87 <= coverage(np.concatenate(errors), np.concatenate(stds)) <= 0.93


@pytest.mark.slow
def test_std_of_one_cell_is_its_spread_over_simulated_tables():
    """Brute force: one row's cell hidden in 200 tables of one truth; its error has the stated spread."""
    rng = np.random.default_rng(2)
    d, q, n = 6, 2, 40
    W, mu = rng.standard_normal((d, q)), rng.standard_normal(d)
    errors, stds = [], []
    for _ in range(200):
        X = rng.standard_normal((n, q)) @ W.T + mu + 0.5 * rng.standard_normal((n, d))
        G = np.where(rng.random((n, d)) < 0.15, np.nan, X)
        G[0, :2] = X[0, :2]  # one pattern for the row that is looked at: cell 2 hidden, 3 and 4 too
        G[0, 2:5], G[0, 5] = np.nan, X[0, 5]
        G[1:3] = X[1:3]
        filled, std = PPCA(q).fit(G).impute(G, return_std=True)
        errors.append(filled[0, 2] - X[0, 2])
        stds.append(std[0, 2])
    spread, stated = np.std(errors), np.sqrt(np.mean(np.square(stds)))
    assert abs(np.mean(errors)) < 4 * spread / np.sqrt(200)
    assert stated == pytest.approx(spread, rel=4 / np.sqrt(2 * 200))  # four standard errors of a spread


def test_draws_have_the_stated_mean_and_spread():
    rng = np.random.default_rng(3)
    _, G = simulate(rng, 60, 6, 2)
    model = PPCA(2).fit(G)
    filled, std = model.impute(G, return_std=True)
    draws = model.impute(G, draws=100, random_state=1)
    gap = np.isnan(G)
    z = (draws.mean(axis=0) - filled)[gap] / (std[gap] / 10)
    assert np.sqrt(np.mean(z**2)) == pytest.approx(1.0, abs=0.25)
    ratio = draws.std(axis=0)[gap] / std[gap]
    assert ratio.mean() == pytest.approx(1.0, abs=0.05)


@pytest.mark.drill
@pytest.mark.parametrize("gaps", [0.05, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("make", [PPCA, FactorAnalysis], ids=["ppca", "fa"])
def test_coverage_over_gaps(make, gaps):
    errors, stds = hidden_errors(make, 200, gaps=gaps, equal=make is PPCA, seed=5)
    assert 0.87 <= coverage(errors, stds) <= 0.93
