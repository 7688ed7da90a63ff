"""Blends of engines: shares against an optimiser, trials against loops, fills and draws of the members."""

import numpy as np
import pytest
from scipy.optimize import nnls

import lowdim as ld
from lowdim.judge.fills.blend import (
    EVENED,
    LEAST_SHARE,
    best_shares,
    best_team,
    blended_trials,
    by_blend,
    products,
    without_crumbs,
)
from lowdim.judge.fills.models import by_shrinkage
from lowdim.judge.fills.nearest import by_nearest_rows
from lowdim.judge.fills.trials import gap_weights, paired, row_folds, trials
from lowdim.maths.linalg import centre_and_spread
from tests.judge.fills.test_contest import straight


@pytest.mark.parametrize("seed", range(6))
def test_shares_are_those_of_non_negative_least_squares(seed):
    rng = np.random.default_rng(seed)
    errors = rng.standard_normal((4, 300)) * rng.uniform(0.5, 2.0, (4, 1)) + rng.standard_normal(300)
    P = products(errors, np.ones(300))
    even = P + EVENED * np.trace(P) / 4 * np.eye(4)
    # a heavy last row asks for a sum of one
    want = nnls(np.vstack([np.linalg.cholesky(even).T, 1e4 * np.ones(4)]), np.append(np.zeros(4), 1e4))[0]
    assert np.allclose(best_shares(P), want, atol=1e-6)
    kept = without_crumbs(P)
    assert kept.sum() == pytest.approx(1.0) and ((kept == 0) | (kept >= LEAST_SHARE / 2)).all()


def test_a_team_leaves_out_who_adds_nothing():
    rng = np.random.default_rng(0)
    base = rng.standard_normal(2000)
    errors = np.stack([base, base, rng.standard_normal(2000), 20.0 * rng.standard_normal(2000)])
    assert best_team(errors, np.ones(2000), 3) == [2]
    assert best_team(errors[:2], np.ones(2000), 3) == []


def test_a_blend_is_tried_with_the_shares_of_the_other_folds():
    X = straight(80)
    fold, unit = row_folds(80, 4, 0), centre_and_spread(X)[1]
    one, other = (trials(fit, X, fold, range(4), 0, draws=3) for fit in (by_nearest_rows(5), by_shrinkage(3)))
    weight = gap_weights(one.column, X)
    found = blended_trials([one, other], weight, unit)
    for k in range(4):
        own = one.fold == k
        errors = np.stack([one.error, other.error])[:, ~own] / unit[one.column[~own]]
        w = without_crumbs(products(errors, weight[~own]))
        mean = w[0] * one.error[own] + w[1] * other.error[own]
        assert np.allclose(found.error[own], mean)
        between = w[0] * w[1] * (one.error[own] - other.error[own]) ** 2
        assert np.allclose(found.sd[own] ** 2, w[0] * one.sd[own] ** 2 + w[1] * other.sd[own] ** 2 + between)
        # a draw about the blend is, in the table, a draw of one of the two
        about = np.stack([m.draws[own] + (found.error - m.error)[own, None] for m in (one, other)])
        assert np.isclose(found.draws[own], about).any(axis=0).all()


def test_a_blend_fills_with_the_mean_of_its_members_and_draws_from_one_of_them():
    X = straight(80)
    models, share = [by_nearest_rows(5), by_shrinkage(3), by_shrinkage(1)], np.array([0.7, 0.3, 0.0])
    blend, parts = by_blend(models, share)(X), [model(X) for model in models[:2]]
    mean, sd = blend.fills(X)
    gap = np.isnan(X)
    means = [part.fills(X)[0] for part in parts]
    assert np.allclose(mean, 0.7 * means[0] + 0.3 * means[1]) and np.array_equal(mean[~gap], X[~gap])
    assert (sd[gap] > 0).all() and (sd[~gap] == 0).all()
    drawn, by_part = blend.drawn(X, 0, 1), [part.drawn(X, 0, 1) for part in parts]
    same = [(drawn == table).all(axis=1) for table in by_part]
    assert (same[0] | same[1]).all() and 0.5 < same[0].mean() < 0.95


def test_hidden_cells_count_as_the_gaps_of_their_columns():
    X = straight(60)
    X[:, 0] = np.where(np.isnan(X[:, 0]), 0.0, X[:, 0])
    column = np.repeat(np.arange(5), 20)
    weight = gap_weights(column, X)
    gaps = np.isnan(X).sum(axis=0) + 1
    assert weight.mean() == pytest.approx(1.0)
    assert np.allclose([weight[column == j].sum() for j in range(5)], 100 * gaps / gaps.sum())
    score, zero, row = np.where(column == 1, 1.0, 0.0), np.zeros(100), np.arange(100)
    assert paired(score, zero, row, weight).difference == pytest.approx(gaps[1] / gaps.sum())
    assert paired(score, zero, row, np.ones(100)) == paired(score, zero, row)


@pytest.mark.slow
def test_a_blend_is_chosen_where_engines_err_apart():
    """A noisy curve in six columns: trees, mixtures and near rows bend with it, each in its own way."""
    rng = np.random.default_rng(5)
    t, phase = rng.uniform(0, 3, 220), np.arange(6) * 0.9
    X = np.sin((1 + np.arange(6) % 3) * t[:, None] + phase) + 0.25 * rng.standard_normal((220, 6))
    gap = rng.random(X.shape) < 0.12
    made = ld.fill(np.where(gap, np.nan, X))
    errors = {report.engine: report.error for report in made.contest}
    assert made.engine == "blend" and errors["blend"] == min(errors.values())
    assert made.engine_words.startswith("a blend of ") and made.engine_words in made.text()
    plain = ld.fill(np.where(gap, np.nan, X), engines="straight")
    assert ((made.filled - X)[gap] ** 2).mean() < 0.9 * ((plain.filled - X)[gap] ** 2).mean()
    inside = ((made.lower <= X) & (made.upper >= X))[gap]
    assert abs(inside.mean() - 0.9) < 3 * (0.09 / len(inside)) ** 0.5
