"""Gaps in columns of words: labels with probabilities that hold, frequencies where nothing is learned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lowdim as ld
from lowdim.judge.fills.engines.category import FREQUENCIES
from lowdim.judge.fills.engines.engine import MIXED_MODEL
from lowdim.judge.fills.text import label_sentence
from lowdim.judge.fills.view import fill_view

TOWNS = np.array(["Aachen", "Bonn", "Celle"])


def survey(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A trait behind two numbers, an answer and a town twice told; a colour by chance. Whole, and with gaps."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)

    def site(slope: float) -> np.ndarray:
        return slope * z + 0.5 * rng.standard_normal(n)

    town = TOWNS[np.digitize(site(1.5), [0.3, 1.3])]
    whole = pd.DataFrame(
        {
            "height": np.round(170 + 8 * site(1.0), 2),
            "income": np.round(30 + 5 * site(-1.0), 2),
            "owner": np.where(site(2.0) > 0, "yes", "no"),
            "town": town,
            "colour": np.array(["red", "green", "blue"])[(rng.random(n)[:, None] > [0.5, 0.8]).sum(axis=1)],
        }
    )
    gaps = rng.random(whole.shape) < 0.12
    gaps[:, 0] = False
    return whole, whole.mask(gaps)


@pytest.fixture(scope="module")
def found():
    whole, frame = survey()
    return whole, frame, ld.fill(frame, engines="straight")


def test_words_are_filled_by_what_was_learned_and_by_frequencies_where_nothing_was(found):
    whole, frame, fills = found
    by = {c.column: c for c in fills.labels}
    assert list(by) == ["owner", "town", "colour"]
    assert all(MIXED_MODEL in by[name].engine or "regressions" in by[name].engine for name in ("owner", "town"))
    assert by["colour"].engine == FREQUENCIES
    for name, c in by.items():
        gap = np.flatnonzero(frame[name].isna())
        assert np.array_equal(c.rows, gap) and c.shares.sum(axis=1) == pytest.approx(1.0)
    right = np.concatenate([np.array(c.fills) == whole[n][c.rows] for n, c in by.items() if n != "colour"])
    sure = np.concatenate([c.probability for n, c in by.items() if n != "colour"])
    assert right.mean() > 0.72 and abs(right.mean() - sure.mean()) < 0.08
    c = by["colour"]
    counts = frame["colour"].value_counts()
    expected = (counts[list(c.labels)] + 1 / 3) / (counts.sum() + 1)
    assert c.shares[0] == pytest.approx(expected.to_numpy()) and set(c.fills) == {"red"}
    assert c.advice == "no better than its most frequent label; do not use" and c.skill == 0.0
    assert c.difference > -2 * c.difference_error and c.right == c.usual


def test_what_is_said_of_a_column_is_what_its_hidden_cells_did(found):
    """Every seen word is hidden once where the table is small; the frequencies' own figures are a definition."""
    _, frame, fills = found
    owner = fills.labels[0]
    assert owner.tried == frame["owner"].notna().sum() and owner.right > owner.usual
    shares = frame["owner"].value_counts(normalize=True)
    entropy = -(shares * np.log(shares)).sum()
    assert owner.usual_loss == pytest.approx(entropy, rel=0.02) and owner.loss < 0.6 * owner.usual_loss
    assert owner.difference == pytest.approx(owner.loss - owner.usual_loss)
    tried, right = (sum(getattr(c, part) for c in fills.labels) for part in ("tried", "right"))
    assert f"{100 * right / tried:.0f}% of {tried:,} hidden on purpose were right" in label_sentence(fills.labels)
    assert fills.filled_labels == frame[["owner", "town", "colour"]].isna().to_numpy().sum()
    assert fills.filled_numbers == frame[["height", "income"]].isna().to_numpy().sum()
    assert "labels filled" in fills.sentence and "town" in fills.text() and "probability" in fills.text()


def test_frames_have_numbers_and_words_drawn_together(found):
    _, frame, fills = found
    drawn = fills.frames(3, random_state=4)
    seen, numbers = frame.notna(), fills.multiple(3, random_state=4)
    for k, table in enumerate(drawn):
        assert table.dtypes.equals(frame.dtypes) and not table.isna().any().any()
        assert (table.where(seen) == frame.where(seen))[seen].fillna(True).all().all()
        assert np.array_equal(table["income"], numbers[k][:, list(fills.table.names).index("income")])
        for c in fills.labels:
            words = np.array(c.labels)[c.drawn(4, k)]
            assert table[c.column].to_numpy()[c.rows].tolist() == words.tolist()
    assert (drawn[0] != drawn[1]).any().sum() > 2


@pytest.mark.slow
def test_draws_have_the_shares_of_their_labels_and_are_made_together():
    """The same town told twice, both missing: a draw has the same town in both, most of the time."""
    whole, frame = survey(240)
    frame = frame.assign(again=np.where(np.arange(240) % 50 == 0, "Celle", whole["town"]))
    both = np.arange(240) % 3 == 0
    frame.loc[both, ["town", "again", "owner", "income"]] = None  # where the row is, is left open
    fills = ld.fill(frame, engines="straight").labels
    town, again, colour = (next(c for c in fills if c.column == name) for name in ("town", "again", "colour"))
    drawn = [np.array([c.drawn(3, k) for k in range(m)]) for c, m in ((town, 60), (again, 60), (colour, 80))]
    share = np.array([(drawn[0] == k).mean() for k in range(3)])
    assert share == pytest.approx(town.shares.mean(axis=0), abs=0.08)  # parameters are drawn too
    assert [(drawn[2] == k).mean() for k in range(3)] == pytest.approx(colour.shares[0], abs=0.05)
    at = {row: k for k, row in enumerate(again.rows.tolist())}
    pairs = [(k, at[row]) for k, row in enumerate(town.rows.tolist()) if row in at]
    first, second = (np.array(pair) for pair in zip(*pairs, strict=True))
    agree = (drawn[0][:, first] == drawn[1][:, second]).mean()
    alone = (town.shares[first] * again.shares[second]).sum(axis=1).mean()
    assert agree > alone + 0.03
    assert np.array_equal(town.drawn(3, 1), drawn[0][1])


def test_labels_that_shape_axes_are_filled_by_their_codes():
    """A gap gets the code of the most likely label; of two labels it has the values that are likely enough."""
    _, frame = survey()
    table = ld.read(frame, encode=["town", "owner"])
    fills = ld.fill(table, engines="straight", words="measured")
    assert [c.column for c in fills.labels] == ["owner", "town"]  # colour was set aside
    owner, town = fills.labels
    assert np.array_equal(fills.filled[town.rows, town.number], town.best)
    for part in (fills.lower, fills.upper):  # labels without an order have no interval
        assert np.array_equal(part[town.rows, town.number], town.best)
    p = owner.shares[:, 1]
    assert np.array_equal(fills.filled[owner.rows, owner.number], owner.best)
    assert fills.modelled[owner.rows, owner.number] == pytest.approx(p)
    low, high = (part[owner.rows, owner.number] for part in (fills.lower, fills.upper))
    assert np.array_equal(low, p >= 0.9) and np.array_equal(high, p > 0.1)
    assert town.tried < 1.01 * table.n and 0.1 < town.skill < 0.9
    tables = fills.multiple(3)[:, town.rows, town.number]
    assert set(np.unique(tables)) <= {0.0, 1.0, 2.0} and np.array_equal(tables[2], town.drawn(0, 2))


@pytest.mark.slow
def test_frames_come_back_whole_and_in_their_own_types():
    _, frame = survey(150)
    frame = frame.assign(
        town=frame["town"].astype("category"), owner=frame["owner"].map({"yes": True, "no": False}).astype("boolean")
    )
    fills = ld.fill(frame, budget=0.001)
    back = fills.frame
    assert back.dtypes.equals(frame.dtypes) and not back.isna().to_numpy().any() and list(back) == list(frame)
    seen = frame.notna().to_numpy()
    assert (back.astype(object).to_numpy()[seen] == frame.astype(object).to_numpy()[seen]).all()
    town = next(c for c in fills.labels if c.column == "town")
    assert back["town"].iloc[town.rows].tolist() == town.fills
    other = ld.fill(pl.from_pandas(frame), budget=0.001).frame
    assert isinstance(other, pl.DataFrame) and other.null_count().sum_horizontal()[0] == 0
    assert other["town"].cast(pl.String).to_list() == back["town"].tolist()


@pytest.mark.parametrize("kind", ["str", object, "category"])
def test_empty_cells_of_words_are_filled_as_gaps_are(kind):
    rng = np.random.default_rng(0)
    towns = pd.Series(rng.choice(["Bonn", "Celle"], 40), dtype=object)
    frame = pd.DataFrame({"x": rng.standard_normal(40), "y": rng.standard_normal(40), "town": towns})
    frame.loc[:3, "town"] = ["", " ", None, ""]
    filled = ld.fill(frame.astype({"town": kind}), budget=1).frame["town"]
    assert set(filled) == {"Bonn", "Celle"} and filled.dtype == kind and filled[4:].tolist() == towns[4:].tolist()


@pytest.mark.slow
def test_labels_help_to_fill_numbers():
    """Three groups that only their label tells: the models that see it beat those that do not."""
    rng = np.random.default_rng(1)
    group = rng.integers(3, size=240)
    X = np.array([0.0, 4.0, 8.0])[group][:, None] * [1, 0, 0] + rng.standard_normal((240, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=np.array(["x", "y", "z"])[group])
    frame.loc[::7, "a"] = np.nan
    fills = ld.fill(frame, budget="20s")
    errors = {one.engine: one.error for one in fills.engines}
    assert any(name.startswith(MIXED_MODEL) for name in errors)
    assert errors["linear model"] < 0.9 * errors["mixture of 2 Gaussians"]
    truth, gap = X[:, 0], np.isnan(frame["a"])
    assert np.sqrt(((fills.filled[gap, 0] - truth[gap]) ** 2).mean()) < 1.3  # 1 is what a label leaves open
    alone, beside = (ld.read(frame[names]) for names in (list("abc"), list(frame)))
    assert not fill_view(alone, alone.X, "all", {}).is_mixed  # nothing that the others do not know
    view = fill_view(beside, beside.X, "all", {})
    assert view.is_mixed and view.sizes == (0, 0, 0, 3) and not fill_view(beside, beside.X, "measured", {}).is_mixed


@pytest.mark.parametrize("odd", ["one row", "nearly all gaps", "many labels", "no budget"])
def test_tables_that_teach_nothing_are_answered(odd):
    _, frame = survey(60)
    if odd == "one row":
        frame = frame.head(12)
    elif odd == "nearly all gaps":
        frame.loc[4:, "town"] = None
        frame.loc[:3, "town"] = ["Bonn", "Celle"] * 2
    elif odd == "many labels":
        frame["town"] = [f"t{k // 2}" if k % 2 else None for k in range(60)]
    fills = ld.fill(frame, engines="straight", budget=0.001 if odd == "no budget" else None)
    town = [c for c in fills.labels if c.column == "town"]
    if odd == "many labels":
        assert town == []  # each label once: names, not labels
    else:
        assert town[0].engine == FREQUENCIES and np.isfinite(town[0].shares).all()


@pytest.mark.slow
def test_ordered_categories_are_levels():
    """Fifteen items in words whose order is declared: fills are nearer than those of labels without an order."""
    rng = np.random.default_rng(0)
    eta = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 15)) + rng.logistic(size=(300, 15)) / 1.7
    codes = (eta[..., None] > [-1.2, -0.4, 0.4, 1.2]).sum(axis=2)
    words = ["ash", "elm", "fir", "oak", "yew"]
    gap = rng.random(codes.shape) < 0.12
    frame = pd.DataFrame(
        {
            f"q{j}": pd.Categorical.from_codes(np.where(g, -1, x), words)
            for j, (x, g) in enumerate(zip(codes.T, gap.T, strict=True))
        }
    )
    ordered = frame.apply(lambda c: c.cat.as_ordered())
    off = {}
    for name, one in (("labels", frame), ("levels", ordered)):
        fills = ld.fill(one)
        assert fills.frame.dtypes.equals(one.dtypes) and not fills.frame.isna().any().any()
        told = np.column_stack([fills.frame[c].cat.codes for c in frame])
        assert np.array_equal(told[~gap], codes[~gap])
        off[name] = np.abs(told - codes)[gap].mean()
        if name == "levels":  # numbers to the models, and words to who reads them
            assert not fills.labels
            continue
        column = fills.labels[0]
        assert column.shares.sum(axis=1) == pytest.approx(1.0)
        drawn = np.stack([column.drawn(0, k) for k in range(40)])
        share = np.array([(drawn == k).mean() for k in range(5)])
        assert share == pytest.approx(column.shares.mean(axis=0), abs=0.08)
    assert off["levels"] < off["labels"] - 0.05, off
