"""Cells of a mixed map: at a place, labels with probabilities and bands of levels; odd rows, their rates and words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from lowdim.jobs.analysis import odd_rows
from lowdim.judge.maps.fit_map import fit_mixed_map, is_mixed
from lowdim.judge.maps.table_map import TableMap, table_map
from lowdim.judge.mixed.mixed_cells import MixedCells
from lowdim.judge.read_table import read
from lowdim.judge.rows.odd_rows import judge_rows
from lowdim.judge.rows.place_card import MappedRows
from lowdim.judge.rows.row_card import explain_row
from lowdim.text.messages import LowdimError


def mixed_frame(n=200):
    rng = np.random.default_rng(3)
    z = rng.standard_normal(n)
    level = (np.clip(np.round(3 + z + 0.6 * rng.standard_normal(n)), 1, 5).astype(int) for _ in range(4))
    frame = pd.DataFrame({f"item{j + 1}": own for j, own in enumerate(level)})
    frame["town"] = np.select([z + rng.logistic(size=n) > 1.5, z < 0], ["Ulm", "Bonn"], "Kiel")
    frame["visits"] = rng.poisson(np.exp(0.8 + 0.7 * z))
    frame["height"] = 170 + 8 * z + rng.standard_normal(n)
    return frame


def place_of(frame, z):
    table = read(frame, encode=["town"])
    map = table_map(fit_mixed_map(table, 1, 0), table.names, table.scales)
    return map, map.at(np.array([z]), MappedRows(map.lines(table.X), map.transform(table.X), table.row_names))


def test_a_place_is_told_by_labels_levels_and_counts():
    frame = mixed_frame()
    map, card = place_of(frame, 1.5)
    by = {a.column: a for a in card.columns}
    assert list(by) == list(map.names) == list(frame)
    towns = [c for c in card.cells if c.column.startswith("town=")]
    assert len(towns) == 3 and f"town={by['town'].word}" == max(towns, key=lambda c: c.value).column
    assert 0.3 < by["town"].chance <= 1 and by["town"].band is None
    assert by["town"].usual == (frame.town == by["town"].word).mean()
    assert by["item1"].word in {"1", "2", "4", "5"} and set(by["item1"].band) <= set("12345")
    assert by["visits"].chance is None and all(end.isdigit() for end in by["visits"].band)
    assert by["height"].words[2].endswith(" sd") and not by["height"].word


def test_the_text_of_a_place_names_answers_once():
    _, card = place_of(mixed_frame(), 1.5)
    lines = card.text().splitlines()
    town = next(line for line in lines if line.startswith("  town "))
    chance = next(a.chance for a in card.columns if a.column == "town")
    assert f"{100 * chance:.0f}%" in town and "of rows" in town
    assert not any("town=" in line for line in lines)


def survey(seed=0, n=300, gaps=0.05, words=False, strength=2.2):
    """Eight yes/no answers and six items of five levels, of two dimensions."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    W = rng.normal(0, strength, (2, 14))
    eta = z @ W
    columns = {}
    for j in range(8):
        yes = rng.random(n) < expit(eta[:, j])
        columns[f"v{j}"] = np.where(yes, "y", "n") if words else yes + 0.0
    for j in range(8, 14):
        columns[f"item{j}"] = (eta[:, j] + rng.logistic(size=n))[:, None] > np.array([-3.0, -1.0, 1.0, 3.0])
        columns[f"item{j}"] = columns[f"item{j}"].sum(axis=1) + 1.0
    frame = pd.DataFrame(columns).astype(object)
    return frame.mask(rng.random(frame.shape) < gaps, None), eta


@pytest.fixture(scope="module")
def made():
    frame, eta = survey(1, strength=5.0)
    far = int(np.argmax(np.abs(eta).min(axis=1)))
    order = [{7: far, far: 7}.get(i, i) for i in range(300)]
    frame, eta = frame.iloc[order].reset_index(drop=True), eta[order]
    frame.loc[7, [f"v{j}" for j in range(8)]] = [float(eta[7, j] < 0) for j in range(8)]  # the contrary of all
    table = read(frame.astype(float))
    return table, TableMap(MixedCells(fit_mixed_map(table, 2, 0)))


def test_a_table_of_answers_is_mixed_and_of_numbers_is_not(made):
    table, _ = made
    assert is_mixed(table)
    rng = np.random.default_rng(0)
    few = read(
        pd.DataFrame(rng.standard_normal((60, 6)), columns=list("abcdef")).assign(g=rng.integers(0, 2, 60) + 0.0)
    )
    assert not is_mixed(few) and not is_mixed(read(rng.standard_normal((60, 5))))


def test_rows_of_the_model_are_seldom_odd():
    """Of tables drawn from such models no row in a hundred is called odd, and p below 5 % is not more than chance."""
    below = odd = rows = 0
    for seed in range(3):
        table = read(survey(seed + 10)[0].astype(float))
        found = judge_rows(TableMap(MixedCells(fit_mixed_map(table, 2, 0))), table.X)
        below, odd, rows = below + found.below, odd + len(found.rows), rows + table.n
    assert odd <= 3 and below < 0.06 * rows


def test_a_row_of_contrary_answers_is_odd(made):
    table, map = made
    found = judge_rows(map, table.X, row_names=table.row_names)
    assert 7 in [r.row for r in found.rows] and len(found.rows) <= 4
    worst = next(r for r in found.rows if r.row == 7)
    assert worst.seen == 14 - int(np.isnan(table.X[7]).sum()) and pytest.approx(worst.T2 + worst.Q) == worst.D2
    stricter = found.at(0.9999)
    assert {r.row for r in stricter.rows} <= {r.row for r in found.rows}


def test_one_row_in_full_agrees_with_the_judge(made):
    table, map = made
    found = judge_rows(map, table.X, row_names=table.row_names)
    card = explain_row(map, table.X, 7, law=found.judged.law)
    assert pytest.approx(found.D2.value[7]) == card.D2
    assert (card.p, card.p_D2) == pytest.approx((found.p[7], found.D2.p[7]))
    assert card.hide and card.p_after >= 0.05
    worst = next(r for r in found.rows if r.row == 7)
    hidden = explain_row(map, table.X, 7, law=found.judged.law, hidden=[worst.column])
    assert hidden.seen == card.seen - 1 and hidden.D2 < card.D2
    assert hidden.p == pytest.approx(worst.p_hidden)
    later = judge_rows(map, table.X, row_names=table.row_names, law=found.judged.law)
    assert np.array_equal(later.p, found.p) and later.rows == found.rows
    changed = explain_row(map, table.X, 7, law=found.judged.law, edited={worst.column: round(worst.expected)})
    assert changed.D2 < card.D2 and "with" in changed.sentence


def test_hidden_cells_are_checked(made):
    table, map = made
    for how in ({"hidden": ["nothing"]}, {"edited": {"v0": 0.5}}, {"edited": {"v0": "maybe"}}):
        with pytest.raises(LowdimError, match="LD210"):
            explain_row(map, table.X, 0, law=judge_rows(map, table.X).judged.law, **how)


def test_words_are_said_as_words():
    frame, _ = survey(3, n=120, words=True)
    table = read(frame[[f"v{j}" for j in range(8)]])
    map = TableMap(MixedCells(fit_mixed_map(table, 2, 0)))
    assert map.names == table.names == tuple(f"v{j}" for j in range(8)) and map.line_names[0] == "v0=y"
    card = explain_row(map, table.X, 0, law=judge_rows(map, table.X).judged.law)
    assert {c.words()[0] for c in card.cells} <= {"y", "n", "gap"}
    assert all("%" in c.words()[1] for c in card.cells)
    edited = explain_row(map, table.X, 0, law=judge_rows(map, table.X).judged.law, edited={"v1": "y"})
    assert edited.cells[1].value == 1.0
    answers = map.gap_answers(table.X)
    gaps = np.argwhere(np.isnan(table.X))
    assert sorted(zip(answers.row, answers.column, strict=True)) == sorted((i, j) for i, j in gaps.tolist())
    assert set(answers.fill) <= {"y", "n"} and min(answers.probability) >= 0.5


def test_several_labels_are_one_column():
    rng = np.random.default_rng(5)
    z = rng.standard_normal((150, 1))
    names = np.array(["red", "green", "blue"])
    frame = pd.DataFrame(
        {f"q{j}": names[(z * [[1.0, 0.0, -1.0]] * 2 + rng.gumbel(size=(150, 3))).argmax(1)] for j in range(5)}
    )
    frame.loc[3, "q1"] = None
    table = read(frame)
    map = TableMap(MixedCells(fit_mixed_map(table, 1, 0)))
    assert len(map.names) == table.d == 5 and len(map.line_names) == 15 and is_mixed(table)
    assert np.isnan(table.X).sum() == 1
    rebuilt = map.rebuilt(table.X).reshape(150, 5, 3)
    assert np.allclose(rebuilt.sum(axis=2), 1.0)
    half = np.full(5, 1.645)
    expected = map.cells.in_rows(table.X)
    filled = map.in_own_units(expected, half)
    shares = map.model.probabilities(map.cells.source(table.X))
    best = map.model.levels_[1][int(shares["q1"][3].argmax())]
    assert map.columns[1].labels[int(filled.filled[3, 1])] == best and all(c.levels for c in map.columns)
    lines = map.in_lines(filled, expected, half)
    assert lines.filled[3, 3:6].sum() == 1
    assert lines.sd[3, 3:6].max() == pytest.approx(np.sqrt(shares["q1"][3] * (1 - shares["q1"][3])).max())


def test_intervals_of_levels_hold_the_levels_that_are_likely(made):
    """The ends of an interval are the quantiles of the levels' own distribution."""
    table, map = made
    X = table.X[:5].copy()
    X[:, 9] = np.nan
    filled = map.in_own_units(map.cells.in_rows(X), np.full(14, 1.645))
    share = map.model.probabilities(map.cells.source(X))[map.names[9]]
    upto, levels = np.cumsum(share, axis=1), np.asarray(map.model.levels_[9])
    for i in range(5):
        assert filled.lower[i, 9] == levels[np.searchsorted(upto[i], 0.05)]
        assert filled.upper[i, 9] == levels[min(np.searchsorted(upto[i], 0.95), 4)]
        assert filled.lower[i, 9] <= filled.filled[i, 9] <= filled.upper[i, 9]
    width = map.cells.widths(table.X)
    assert ((width > 0) == ~np.isnan(table.X)).all()


def test_the_command_judges_by_the_same_map(made):
    table, map = made
    by_dims = odd_rows(table, dims=2)
    own = judge_rows(map, table.X, row_names=table.row_names)
    assert np.array_equal(by_dims.D2.value, own.D2.value) and by_dims.rows == own.rows


def test_no_row_is_less_likely_than_its_very_answers():
    """A rare answer alone in its row: its p is its share, whatever a smooth law of distances says."""
    rng = np.random.default_rng(4)
    z = rng.standard_normal(600)
    X = np.column_stack([rng.random(600) < 1.0 / (1.0 + np.exp(2.0 * z + shift)) for shift in (0.0, 0.5, 3.2)]) * 1.0
    X[:80, :2] = np.nan  # rows that answer the last question alone
    frame = pd.DataFrame(X, columns=["smokes", "drinks", "rare"])
    table = read(frame)
    map = TableMap(MixedCells(fit_mixed_map(table, 1, 0)))
    found = judge_rows(map, table.X)
    alone = np.isnan(table.X).sum(axis=1) == 2
    rare = alone & (table.X[:, list(table.names).index("rare")] == 1.0)
    assert rare.any()
    share = float((X[:, 2] == 1.0).mean())
    assert found.D2.p[rare] == pytest.approx(np.full(int(rare.sum()), share), rel=0.5)
    assert not found.odd[alone].any()
