"""Regressions of labels beside the latent model: what the pool is, and that it knows more."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.judge.fills.labels import LabelGround
from lowdim.judge.fills.mixed_engine import MixedShape, quiet_fit
from lowdim.judge.mixed.label_regressions import features, label_shares, word_regressions

KINDS, SIZES = ("real", "label", "yes/no", "yes/no"), (0, 3, 2, 2)


def answers(n: int = 400, seed: int = 0) -> np.ndarray:
    """A trait behind all columns; the last two agree beyond it."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    label = np.digitize(z + rng.standard_normal(n), [-0.5, 0.7])
    first = (z + 1.5 * rng.standard_normal(n) > 0).astype(float)
    last = np.where(rng.random(n) < 0.8, first, 1.0 - first)
    V = np.column_stack([z + 0.5 * rng.standard_normal(n), label, first, last])
    return np.where(rng.random(V.shape) < 0.1, np.nan, V)


@pytest.fixture(scope="module")
def fitted():
    V = answers()
    model = quiet_fit(V, KINDS, MixedShape(1))
    return V, model, word_regressions(model, KINDS, SIZES, (1, 2, 3), V)


def test_gaps_of_the_other_columns_are_what_the_model_expects(fitted):
    V, model, _ = fitted
    x = np.column_stack(features(model, KINDS, SIZES, V, {}))
    assert x.shape == (len(V), 1 + 2 + 1 + 1) and np.isfinite(x).all()
    assert np.array_equal(x[~np.isnan(V[:, 0]), 0], V[~np.isnan(V[:, 0]), 0])
    seen = ~np.isnan(V[:, 1])
    assert np.array_equal(x[seen, 1:3], V[seen, 1][:, None] == [0, 1])
    assert x[~seen, 1:3] == pytest.approx(label_shares(model, SIZES, [1], V)[1][~seen, :2])


def test_two_opinions_are_pooled_by_what_is_seen(fitted):
    """By hand: half a say of the regression's weights where all other cells are seen, none where none is."""
    V, model, regressions = fitted
    shares = label_shares(model, SIZES, (1, 2, 3), V)
    pooled = regressions.pooled(V, shares)
    x = (np.column_stack(features(model, KINDS, SIZES, V, {})) - regressions.centre) / regressions.spread
    fit = regressions.fitted[3]
    p = 1.0 / (1.0 + np.exp(-(x[:, :4] @ fit.coef_[0] + fit.intercept_[0])))
    a = 0.5 * (~np.isnan(V[:, :3])).mean(axis=1)
    odds = (p / (1.0 - p)) ** a * (shares[3][:, 1] / shares[3][:, 0]) ** (1.0 - a)
    assert pooled[3][:, 1] == pytest.approx(odds / (1.0 + odds), abs=1e-9)
    assert all(one.sum(axis=1) == pytest.approx(1.0) for one in pooled.values())


def test_columns_that_agree_beyond_the_trait_are_told_better(fitted):
    _, model, regressions = fitted
    new = answers(seed=1)
    rows = new[~np.isnan(new[:, 3])]
    truth = rows[:, 3].astype(int)
    hidden = np.column_stack([rows[:, :3], np.full(len(rows), np.nan)])
    shares = label_shares(model, SIZES, (1, 2, 3), hidden)
    at = np.arange(len(rows))
    alone, both = (-np.log(told[3][at, truth]).mean() for told in (shares, regressions.pooled(hidden, shares)))
    assert both < alone - 0.03


def test_tables_too_large_for_regressions_go_without(fitted):
    V, model, _ = fitted
    ground = LabelGround(V, KINDS, SIZES, (1, 2, 3), np.zeros(len(V), dtype=np.intp), 0)
    assert ground.regression_seconds > 0 and ground.regressions(model, V) is not None
    assert ground._replace(quick=True).regressions(model, V) is None
    wide = ground._replace(sizes=(0, 900, 900, 900))
    assert wide.regression_seconds == 0.0 and wide.seconds(8) < ground.seconds(8) * 100
