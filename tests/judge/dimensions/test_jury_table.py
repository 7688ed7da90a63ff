"""The table that the judges see. Normal scores: ranks alone count, ties stay ties, gaps are 0."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from lowdim.judge.dimensions.jury_table import normal_scores
from tests.judge.simulated import noise


def test_scores_are_normal_quantiles_of_ranks_and_know_no_units():
    X = noise(0, 50, 3)
    want = norm.ppf((rankdata(X, axis=0) - 0.5) / 50)
    np.testing.assert_allclose(normal_scores(X, None), want / want.std(axis=0), atol=1e-12)
    np.testing.assert_array_equal(normal_scores(np.exp(5 * X), None), normal_scores(X, None))


def test_gaps_are_nothing_and_do_not_count():
    X = noise(0, 40, 2)
    mask = np.ones(X.shape, dtype=bool)
    mask[5:15, 1] = False
    found = normal_scores(np.where(mask, X, 0.0), mask)
    assert (found[~mask] == 0.0).all()
    np.testing.assert_allclose(found[mask[:, 1], 1], normal_scores(X[mask[:, 1]][:, [1]], None)[:, 0], atol=1e-12)


def test_ties_and_constant_columns():
    X = np.column_stack([np.repeat([0.0, 1.0], [30, 10]), np.full(40, 7.0)])
    found = normal_scores(X, None)
    assert len(np.unique(found[:, 0])) == 2 and found[:, 0].var() == pytest.approx(1.0)
    assert (found[:, 1] == 0.0).all()
