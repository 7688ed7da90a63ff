"""What tells a label: rows that agree beside the model, and draws that have the probabilities of all opinions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.judge.fills.mixed_engine import MixedShape, quiet_fit
from lowdim.judge.mixed.label_regressions import label_shares, word_regressions
from lowdim.judge.mixed.rows_alike import WORTH, rows_alike, with_rows_alike
from lowdim.judge.mixed.word_opinions import WordOpinions
from tests.conftest import need
from tests.judge.mixed.test_label_regressions import KINDS, SIZES, answers

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


@pytest.fixture(scope="module")
def opinions():
    V = answers()
    model = quiet_fit(V, KINDS, MixedShape(1))
    regressions = word_regressions(model, KINDS, SIZES, (1, 2, 3), V)
    return WordOpinions(model, regressions, rows_alike(V, KINDS, SIZES))


def test_draws_have_the_pooled_probabilities_given_all_others(opinions):
    """Rows that miss the last answer alone: their draws have its shares. Rows that miss two: the two still agree."""
    rows = np.tile([0.4, 2.0, 1.0, np.nan], (3000, 1))
    drawn = np.nan_to_num(rows)
    share = opinions.regressions.pooled(rows[:1], label_shares(opinions.model, SIZES, [3], rows[:1]))[3][0, 1]
    again = opinions.redrawn(rows, drawn, (1, 2, 3), np.random.default_rng(0))
    assert again[:, 3].mean() == pytest.approx(share, abs=0.03) and np.array_equal(again[:, :3], drawn[:, :3])
    both = np.tile([0.0, 1.0, np.nan, np.nan], (3000, 1))
    first = np.random.default_rng(1).integers(2, size=(3000, 2))
    again = opinions.redrawn(both, np.column_stack([both[:, :2], first]), (1, 2, 3), np.random.default_rng(2))
    assert (again[:, 2] == again[:, 3]).mean() > 0.6  # 0.8 in the rows, 0.5 by chance


def test_a_model_that_is_alone_keeps_its_draws(opinions):
    rows = np.tile([0.4, 2.0, 1.0, np.nan], (5, 1))
    drawn = np.nan_to_num(rows)
    alone = opinions._replace(regressions=None)
    assert alone.redrawn(rows, drawn, (1, 2, 3), np.random.default_rng(0)) is drawn


def test_rows_that_show_answers_alone_are_told_by_rows_alike(opinions):
    """No real number is seen: the frequencies of the rows that agree pull the model's probabilities towards them."""
    row = np.array([[np.nan, np.nan, 1.0, np.nan]])
    counts = opinions.alike.counts(row, [3])[3]
    own, told = opinions.modelled(row, [3])[3], opinions.shares(row, [3])[3]
    assert counts.sum() > 100
    assert told == pytest.approx((counts + WORTH * own) / (counts.sum() + WORTH))


@pytest.mark.slow
def test_titanic_passengers_are_told_better_than_by_their_model():
    """2,201 rows of four columns: hidden words, by the model and regressions, and with the rows that agree."""
    frame = pd.read_csv(need("real_tables/TitanicNA.csv"))
    V = np.column_stack([pd.Categorical(frame[c]).codes for c in frame]).astype(float)
    V[V < 0] = np.nan
    sizes, kinds = [int(np.nanmax(x)) + 1 for x in V.T], ["label"] * 4
    hidden = (np.random.default_rng(5).random(V.shape) < 0.1) & ~np.isnan(V)
    left = np.where(hidden, np.nan, V)
    model = quiet_fit(left, kinds, MixedShape(2))
    opinions = WordOpinions(
        model, word_regressions(model, kinds, sizes, range(4), left), rows_alike(left, kinds, sizes)
    )
    loss = {}
    for name, shares in (("model", opinions.modelled), ("all", opinions.shares)):
        told = shares(left, range(4))
        own = [told[j][hidden[:, j], V[hidden[:, j], j].astype(int)] for j in range(4)]
        loss[name] = -np.log(np.concatenate(own)).mean()
    assert loss["all"] < loss["model"] - 0.004, loss
