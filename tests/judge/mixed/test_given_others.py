"""Every cell given the others of its row: against an exact grid, and against a Gaussian's closed form."""

import numpy as np
import pytest

from lowdim import MixedFactorAnalysis
from lowdim.judge.cells import FramedGaussian, distances
from lowdim.judge.cells import given_others as cells_given_others
from lowdim.judge.mixed.given_others import cells_at, given_others, usual_posterior, usual_rows
from lowdim.maths.gaussian import posterior
from lowdim.maths.linalg import unpack
from tests.models.mixed.simulated import mixed_table
from tests.models.mixed.test_variational_em import fitted
from tests.oracles.mixed import cell_log_densities, grid


@pytest.fixture(scope="module")
def model():
    truth = mixed_table(0, n=120, q=2, gaps=0.15, sizes=(2, 2, 2, 1, 1))
    return MixedFactorAnalysis(2, likelihoods=truth.kinds, tol=1e-3).fit(truth.X), truth


def exact_shares(params, row, j):
    """The probability of each level of column j given the other cells of the row, by the grid."""
    hidden = row.copy()
    hidden[j] = np.nan
    _, _, _, z, weight = grid(params, hidden)
    shares = []
    for value in params.columns.levels[j]:
        alone = np.full(len(row), np.nan)
        alone[j] = value
        shares.append(weight @ np.exp(cell_log_densities(params, alone, z)))
    return np.array(shares)


def without_doubt(model):
    """The model with parameters that are known: what a grid and draws know nothing of."""
    p = model.params_
    sure = MixedFactorAnalysis(2)
    known = p._replace(V=np.zeros_like(p.V), excess=np.ones_like(p.excess))
    vars(sure).update(vars(model) | {"params_": known})
    return sure


def test_levels_have_the_probabilities_of_the_grid():
    model, rows, _, _ = fitted(2)
    sure = without_doubt(model)
    params = sure.params_
    X = np.where(np.isnan(rows), np.nan, model.frame_.outward(rows))
    told = given_others(sure, X)
    off = []
    for i in range(0, 60, 3):
        for j in range(2, 8):
            if params.columns.kinds[j] == "count" or np.isnan(rows[i, j]):
                continue
            exact = exact_shares(params, rows[i], j)
            own = exact[int(np.flatnonzero(params.columns.levels[j] == rows[i, j])[0])]
            off.append(told.share[i, j] - own)
            p = exact[exact <= own * (1 + 1e-9)].sum()
            assert abs(told.p[i, j] - p) < 0.05 or np.sort(np.abs(exact - own))[1] < 0.03  # near ties
    assert len(off) > 60 and np.abs(off).max() < 0.03 and np.mean(np.abs(off)) < 0.005


def test_real_columns_are_those_of_a_gaussian():
    """What the others say of a cell, and T2, are those of a linear-Gaussian model, in closed form."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 6)) + 0.7 * rng.standard_normal((80, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    mixed = MixedFactorAnalysis(2, likelihoods="real", tol=1e-6).fit(X)
    p, told = mixed.params_, given_others(mixed, X)
    g = FramedGaussian(p.W, p.mu, p.psi, p.low, p.excess, mixed.frame_, None)
    block = g.inward(mixed.arrange(X).block(0))
    T2, _, rank = distances(g, cells_given_others(g, block.x, block.mask).latent, block.mask)
    i, j = np.nonzero(block.mask)
    # what hiding one cell at a time says
    for a, b in list(zip(i, j, strict=True))[::40]:
        mask = block.mask[a : a + 1].copy()
        mask[0, b] = False
        other = posterior(np.where(mask, block.x[a : a + 1], 0.0), mask, g.W, g.mu, g.psi)
        says = g.frame.outward(other.mean @ g.W.T + g.mu)[0, b]
        assert told.mean[a, b] == pytest.approx(says, abs=1e-9)
    values = np.linalg.inv(unpack(told.information.T, 2))
    z = told.position
    within = (z * z).sum(axis=1) + np.einsum("ni,nij,nj->n", z, values, z)
    assert np.allclose(within, T2) and (rank == 2).all()


def test_calibrated_on_tables_of_the_model_itself(model):
    """A p is below 5 % in at most 5 % of the cells of rows drawn from the model, and log losses are as expected."""
    fitted_model = without_doubt(model[0])
    X = np.asarray(fitted_model.sample(600, random_state=3))
    told = given_others(fitted_model, X)
    assert (told.p < 0.05).mean() < 0.06 and (told.p < 0.01).mean() < 0.015
    levels = [2, 3, 4, 5, 7]  # a count's p is that of two tails, which is never too small
    assert abs(told.excess[:, levels].sum(axis=1).mean()) < 0.25


def test_gaps_say_nothing_and_their_fill_is_the_models(model):
    fitted_model, truth = model
    told, gap = given_others(fitted_model, truth.X), np.isnan(truth.X)
    assert (told.p[gap] == 1).all() and not told.surprise[gap].any() and not told.seen[gap].any()
    cells = fitted_model.expected_cells(truth.X)
    numbers = [0, 1, 2, 3, 4, 5, 6]
    assert np.allclose(told.mean[:, numbers][gap[:, numbers]], cells.mean[:, numbers][gap[:, numbers]])


def test_the_usual_doubt_grows_with_gaps(model):
    fitted_model, _ = model
    usual, all_seen = usual_rows(fitted_model), np.ones((2, 8), dtype=bool)
    all_seen[1, :4] = False
    whole, less = usual_posterior(fitted_model, usual, all_seen).cov
    assert np.linalg.det(less) > np.linalg.det(whole) > 0
    assert (np.linalg.eigvalsh(whole) < 1).all()


def test_cells_at_a_place_have_means_and_probabilities(model):
    fitted_model, _ = model
    told = cells_at(fitted_model, np.array([[0.7, -0.4]]))
    cells, shares = told.expected, told.shares
    assert np.isfinite(cells.mean).all() and all(np.isclose(part.sum(), 1) for part in shares.values())
    decoded = fitted_model.decode(np.array([[0.7, -0.4]]))
    assert np.allclose(decoded.mean[:, :2], cells.mean[:, :2])  # real columns: the mean is the fill
    yes = shares[2][0, 0]
    assert cells.mean[0, 2] == pytest.approx(yes)
