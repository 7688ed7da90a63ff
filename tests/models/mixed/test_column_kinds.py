"""Positive columns by their normal scores: the curve, its way back, its density, and what it is worth."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata

from lowdim import MixedFactorAnalysis, Run
from lowdim.models.mixed.column_kinds import (
    BINS,
    LogRange,
    describe,
    log_ranges,
    look_at,
    score_curves,
    scored,
    unscored,
)
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block
from lowdim.storage.model_file import load, save
from tests.conftest import need


def curve_of(x, weight=None, **where):
    source = ArraySource(x[:, None], columns=None, weight=weight, **where)
    low, high = np.log(x.min()), np.log(x.max())
    return score_curves([LogRange(0, 0.0, low, high)], source, Run())[0]


def test_scores_are_those_of_ranks_and_lead_back():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.gamma(0.5, 10.0, 700), np.full(200, 7.25), rng.gamma(30.0, 5.0, 100)])
    curve = curve_of(x)
    y, slope = scored(curve, np.log(x))
    ranks = norm.ppf((rankdata(x) - 0.5) / len(x))
    off = np.abs(y - ranks)  # a bin that holds a fifth of the rows pulls its neighbours
    assert np.quantile(off, 0.95) < 0.12 and off.max() < 0.3 and np.sqrt(np.mean(off**2)) < 0.06
    assert y.mean() == pytest.approx(0.0, abs=0.02) and y.std() == pytest.approx(1.0, abs=0.05)
    beyond = np.log(np.array([x.min() / 5, x.max() * 3, *x]))
    assert np.allclose(unscored(curve, scored(curve, beyond)[0]), beyond, atol=1e-9)
    near = np.log(x) + 1e-7
    inside = np.searchsorted(curve[0], near) == np.searchsorted(curve[0], np.log(x))
    assert np.allclose(((scored(curve, near)[0] - y) / 1e-7)[inside], np.exp(slope)[inside], rtol=1e-3)


def test_blocks_and_weights_give_the_same_curve():
    x = np.random.default_rng(1).gamma(0.7, 3.0, 500)
    whole = curve_of(x)
    assert whole.shape == (2, BINS) and np.array_equal(whole, curve_of(x, tile=64))
    assert np.array_equal(curve_of(np.repeat(x, 2)), curve_of(x, weight=np.full(500, 2.0)))


def test_its_density_is_one():
    rng = np.random.default_rng(2)
    x = np.exp(np.where(rng.random(300) < 0.5, -1.0, 1.5) + 0.3 * rng.standard_normal(300))
    model = MixedFactorAnalysis(0, likelihoods="positive").fit(x[:, None])

    logs = np.linspace(np.log(x.min()) - 2.0, np.log(x.max()) + 2.0, 40_001)
    area = np.trapezoid(np.exp(model.score_samples(np.exp(logs)[:, None]) + logs), logs)
    assert area == pytest.approx(1.0, abs=0.01)
    drawn = model.sample(4000)[:, 0]
    assert np.quantile(drawn, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(x, [0.1, 0.5, 0.9]), rel=0.1)
    assert float(model.inverse_transform(np.zeros((1, 0)))[0, 0]) == pytest.approx(x.mean(), rel=0.05)


def test_it_is_saved_and_a_column_of_one_value_has_no_curve(tmp_path):
    rng = np.random.default_rng(3)
    X = np.exp(rng.standard_normal((80, 1)) + 0.3 * rng.standard_normal((80, 3)))
    model = MixedFactorAnalysis(1, likelihoods="positive").fit(X)
    save(model, tmp_path / "m.lowdim")
    again = load(tmp_path / "m.lowdim")
    assert np.array_equal(again.score_samples(X), model.score_samples(X))
    look = look_at(Block(np.column_stack([X[:, 0], np.full(80, 2.0)])))
    columns = describe(("a", "b"), ("positive", "positive"), look, ((), ()), (False, False))
    assert [own.column for own in log_ranges(columns, look)] == [0]


@pytest.mark.slow
def test_the_class_of_titanic_s_passengers_is_told_by_the_ranks_of_their_fares():
    """Mean absolute error of pclass, five hidings: 0.210; by logarithms of fares 0.221."""
    names = ["survived", "pclass", "sex", "age", "sibsp", "parch", "fare", "embarked"]
    frame = pd.read_csv(need("real_tables/titanic.csv"))[names]
    kinds = ["yes/no", "ordinal", "yes/no", "real", "count", "count", "positive", "label"]
    off = []
    for seed in range(5):
        hidden = (np.random.default_rng(seed).random(frame.shape) < 0.1) & frame.notna().to_numpy()
        seen = frame.mask(hidden)
        filled = MixedFactorAnalysis(3, likelihoods=kinds).fit(seen).impute(seen)
        off.append(np.abs(filled.pclass - frame.pclass)[hidden[:, 1]])
    assert np.concatenate(off).mean() <= 0.213
