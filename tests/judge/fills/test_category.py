"""What tells a label: regressions pooled with the latent model, rows that agree, and draws that have these shares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.judge.fills.engines.category import (
    FREQUENCIES,
    WORTH,
    WordStack,
    features,
    pool_with,
    regression_seconds,
    rows_alike,
    with_rows_alike,
    word_opinions,
    word_regressions,
)
from lowdim.judge.fills.engines.latent import MixedModel, MixedShape
from tests.conftest import need

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


POOL = pool_with("latent")


@pytest.fixture(scope="module")
def fitted():
    V = answers()
    latent = MixedModel(V, KINDS, SIZES, MixedShape(1))
    return V, latent, word_regressions(latent, SIZES, (1, 2, 3), V)


def test_gaps_of_the_other_columns_are_what_the_model_expects(fitted):
    V, latent, _ = fitted
    x = np.column_stack(features(latent, SIZES, V, {}))
    assert x.shape == (len(V), 1 + 2 + 1 + 1) and np.isfinite(x).all()
    assert np.array_equal(x[~np.isnan(V[:, 0]), 0], V[~np.isnan(V[:, 0]), 0])
    seen = ~np.isnan(V[:, 1])
    assert np.array_equal(x[seen, 1:3], V[seen, 1][:, None] == [0, 1])
    assert x[~seen, 1:3] == pytest.approx(latent.shares(V, [1])[1][~seen, :2])


def test_two_opinions_are_pooled_by_what_is_seen(fitted):
    """By hand: half a say of the regression's weights where all other cells are seen, none where none is."""
    V, latent, regressions = fitted
    shares = latent.shares(V, (1, 2, 3))
    pooled = regressions.pooled(V, shares)
    x = (np.column_stack(features(latent, SIZES, V, {})) - regressions.centre) / regressions.spread
    fit = regressions.fitted[3]
    p = 1.0 / (1.0 + np.exp(-(x[:, :4] @ fit.coef_[0] + fit.intercept_[0])))
    a = 0.5 * (~np.isnan(V[:, :3])).mean(axis=1)
    odds = (p / (1.0 - p)) ** a * (shares[3][:, 1] / shares[3][:, 0]) ** (1.0 - a)
    assert pooled[3][:, 1] == pytest.approx(odds / (1.0 + odds), abs=1e-9)
    assert all(one.sum(axis=1) == pytest.approx(1.0) for one in pooled.values())


def test_columns_that_agree_beyond_the_trait_are_told_better(fitted):
    _, latent, regressions = fitted
    new = answers(seed=1)
    rows = new[~np.isnan(new[:, 3])]
    truth = rows[:, 3].astype(int)
    hidden = np.column_stack([rows[:, :3], np.full(len(rows), np.nan)])
    shares = latent.shares(hidden, (1, 2, 3))
    at = np.arange(len(rows))
    alone, both = (-np.log(told[3][at, truth]).mean() for told in (shares, regressions.pooled(hidden, shares)))
    assert both < alone - 0.03


def test_each_latent_model_has_a_pool_with_the_regressions(fitted):
    V, latent, regressions = fitted
    other = MixedModel(V, KINDS, SIZES, MixedShape(2))
    told = word_opinions({"latent": latent, "other": other}, V, KINDS, SIZES, (1, 2, 3)).shares(V[:9], (1, 2, 3))
    counts = rows_alike(V, KINDS, SIZES).counts(V[:9], (1, 2, 3))
    for name, model in (("latent", latent), ("other", other)):
        by_hand = with_rows_alike(regressions.pooled(V[:9], model.shares(V[:9], (1, 2, 3))), counts)
        assert all(told[pool_with(name)][j] == pytest.approx(by_hand[j]) for j in (1, 2, 3))


def test_tables_too_large_for_regressions_go_without(fitted):
    V, latent, _ = fitted
    whole = word_opinions({"latent": latent}, V, KINDS, SIZES, (1, 2, 3))
    assert list(whole.shares(V[:2], (1, 2, 3))) == ["latent", POOL, FREQUENCIES]
    assert word_opinions({"latent": latent}, V, KINDS, SIZES, (1, 2, 3), regressions=False).regressions is None
    assert word_opinions({}, V, KINDS, SIZES, (1, 2, 3)).regressions is None
    assert regression_seconds(1000, (0, 900, 900, 900), (1, 2, 3)) > 1.0 > regression_seconds(1000, SIZES, (1, 2, 3))


# rows that agree ----------------------------------------------------------------------------------------
ANSWERS = ("label", "yes/no", "ordinal", "real")


def slow_counts(V, rows, j, size):
    """Rows of V that have column j and equal a row in all that it shows, label by label."""
    found = np.zeros((len(rows), size))
    for i, row in enumerate(rows):
        seen = ~np.isnan(row)
        if np.isnan(row[j]) and np.isnan(row[3]):
            for other in V:
                if not np.isnan(other[j]) and (other[seen] == row[seen]).all():
                    found[i, int(other[j])] += 1
    return found


@pytest.mark.parametrize("seed", range(4))
def test_rows_alike_are_those_that_equal_all_cells_seen(seed):
    rng = np.random.default_rng(seed)
    V = np.column_stack([rng.integers(3, size=90), rng.integers(2, size=90), rng.integers(1, 4, size=90)]).astype(float)
    V = np.column_stack([V, rng.standard_normal(90)])
    V[rng.random(V.shape) < 0.4] = np.nan
    rows = V.copy()
    rows[0] = np.nan
    rows[1] = [np.nan, 1.0, 7.0, np.nan]  # a level that no row has
    alike = rows_alike(V, ANSWERS, (3, 2, 0, 0))
    found = alike.counts(rows, (0, 1))
    for j, size in ((0, 3), (1, 2)):
        assert np.array_equal(found[j], slow_counts(V, rows, j, size))
    assert found[0][0].sum() == (~np.isnan(V[:, 0])).sum() and found[0][1].sum() == 0
    assert alike.counts(rows, ()) == {}


def test_a_label_that_the_compared_rows_do_not_have_counts_none():
    V = np.array([[0.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    counts = rows_alike(V, ("label", "yes/no"), (3, 2)).counts(np.array([[np.nan, 1.0]]), [0])
    assert counts[0].tolist() == [[1.0, 0.0, 2.0]]


def test_the_model_counts_as_so_many_rows():
    told = with_rows_alike({0: np.array([[0.1, 0.9], [0.4, 0.6]])}, {0: np.array([[30.0, 10.0], [0.0, 0.0]])})[0]
    assert told[0] == pytest.approx([(30 + 0.1 * WORTH) / (40 + WORTH), (10 + 0.9 * WORTH) / (40 + WORTH)])
    assert told[1] == pytest.approx([0.4, 0.6])


def interaction(n=1500, seed=0):
    """Three answers of which any two say nothing of the third, and all three agree in nine rows of ten."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(2, size=(2, n))
    c = np.where(rng.random(n) < 0.9, a ^ b, 1 - (a ^ b))
    words = np.array(["no", "yes"], dtype=object)
    return pd.DataFrame({"a": words[a], "b": words[b], "c": words[c]})


def test_what_only_rows_alike_can_tell_is_filled():
    full = interaction()
    frame = full.copy()
    frame.loc[:149, "c"] = None
    fills = ld.fill(frame)
    assert (fills.frame.loc[:149, "c"] == full.loc[:149, "c"]).mean() > 0.85
    (column,) = fills.labels
    assert "rows alike" in column.engine and column.advice in ("good", "fair")
    assert "rows alike" in fills.text()
    drawn = np.array(column.labels)[column.drawn(0, 0)]
    assert 0.7 < (drawn == full.loc[:149, "c"]).mean() < 0.99  # nine of ten in the rows, half by chance


# together -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def stack(fitted):
    """The three opinions, all weight on the regressions."""
    V, latent, _ = fitted
    opinions = word_opinions({"latent": latent}, V, KINDS, SIZES, (1, 2, 3))
    return WordStack(opinions, {j: {"latent": 0.0, POOL: 1.0, FREQUENCIES: 0.0} for j in (1, 2, 3)})


def test_draws_have_the_shares_of_the_stack_given_all_others(stack):
    """Rows that miss the last answer alone: their draws have its shares. Rows that miss two: the two still agree."""
    rows = np.tile([0.4, 2.0, 1.0, np.nan], (3000, 1))
    share = stack.shares(rows[:1], [3])[3][0, 1]
    drawn = stack.table_draw(rows)(0, 0)
    assert drawn[:, 3].mean() == pytest.approx(share, abs=0.03) and np.array_equal(drawn[:, :3], rows[:, :3])
    both = np.tile([0.0, 1.0, np.nan, np.nan], (3000, 1))
    drawn = stack.table_draw(both)(2, 0)
    assert (drawn[:, 2] == drawn[:, 3]).mean() > 0.6  # 0.8 in the rows, 0.5 by chance


def test_a_stack_is_the_weighted_mean_of_its_opinions(stack, fitted):
    rows = fitted[0][:20]
    mixed = stack._replace(weights={3: {"latent": 0.25, POOL: 0.75, FREQUENCIES: 0.0}})
    told = stack.opinions.shares(rows, [3])
    assert mixed.shares(rows, [3])[3] == pytest.approx(0.25 * told["latent"][3] + 0.75 * told[POOL][3])


def test_rows_that_show_answers_alone_are_told_by_rows_alike(stack):
    """No real number is seen: the frequencies of the rows that agree pull an opinion towards them."""
    row = np.array([[np.nan, np.nan, 1.0, np.nan]])
    counts = stack.opinions.alike.counts(row, [3])[3]
    latent = stack.opinions.latent["latent"]
    own = stack.opinions.regressions.pooled(row, latent.shares(row, [3]))[3]
    assert counts.sum() > 100
    assert stack.shares(row, [3])[3] == pytest.approx((counts + WORTH * own) / (counts.sum() + WORTH))
    assert stack.engine(3, row) == "regressions, rows alike" and stack.engine(3, np.zeros((1, 4))) == "regressions"


@pytest.mark.slow
def test_titanic_passengers_are_told_better_than_by_their_model():
    """2,201 rows of four columns: hidden words, by the model and regressions, and with the rows that agree."""
    frame = pd.read_csv(need("real_tables/TitanicNA.csv"))
    V = np.column_stack([pd.Categorical(frame[c]).codes for c in frame]).astype(float)
    V[V < 0] = np.nan
    sizes, kinds = [int(np.nanmax(x)) + 1 for x in V.T], ["label"] * 4
    hidden = (np.random.default_rng(5).random(V.shape) < 0.1) & ~np.isnan(V)
    left = np.where(hidden, np.nan, V)
    latent = MixedModel(left, kinds, sizes, MixedShape(2))
    opinions = word_opinions({"latent": latent}, left, kinds, sizes, range(4))
    alone = opinions.regressions.pooled(left, latent.shares(left, range(4)))
    loss = {}
    for name, told in (("model", alone), ("all", opinions.shares(left, range(4))[POOL])):
        own = [told[j][hidden[:, j], V[hidden[:, j], j].astype(int)] for j in range(4)]
        loss[name] = -np.log(np.concatenate(own)).mean()
    assert loss["all"] < loss["model"] - 0.004, loss
