"""Columns on a scale that suits them, and every output in the table's own units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lowdim.jobs.analysis import analyse
from lowdim.jobs.run_folder import load_run, save_run
from lowdim.judge.fills.fill import fill
from lowdim.judge.read_table import read
from lowdim.judge.scales import SCALE_FOLDS, log_trials, on_suitable_scales
from tests.conftest import need

LOGS = {
    "planets": {"orbital_period": 0.0, "mass": 0.0, "distance": 0.0},
    "country": {"surface_area": 0.0, "population": 20.0, "gnp": 3.0, "gnp_old": 0.0},
    "diamonds": {"price": 0.0},
    "penguins": {},
    "mtcars": {},
    "bfi": {},
    "votes": {},
}


def sizes(n: int = 120, gaps: int = 10) -> pd.DataFrame:
    """Three skew columns of one size and two of another thing."""
    rng = np.random.default_rng(0)
    size, other = rng.normal(0, 1.5, n), rng.normal(0, 1, n)
    skew = {name: np.exp(k + size + rng.normal(0, 0.3, n)) for k, name in enumerate(("mass", "area", "price"))}
    frame = pd.DataFrame({**skew, "warm": other + rng.normal(0, 0.3, n), "dry": other + rng.normal(0, 0.3, n)})
    frame.loc[rng.choice(n, gaps, replace=False), "price"] = np.nan
    return frame


@pytest.mark.parametrize("name", LOGS)
def test_skew_columns_of_real_tables(name):
    assert on_suitable_scales(read(need(f"real_tables/{name}.csv"))).logs == LOGS[name]


def test_skewness_alone_does_not_choose():
    """A skew column that is a straight line of the others' is predicted better as it is."""
    rng = np.random.default_rng(1)
    base = rng.gamma(2.0, 1.0, 300)
    frame = pd.DataFrame({name: 5 + base + rng.normal(0, 0.05, 300) for name in "abcd"})
    trials = log_trials(read(frame))
    assert len(trials) == 4 and not any(trial.better for trial in trials)


def test_a_logarithm_that_explodes_in_own_units_is_refused():
    """The square of a column is denser as a logarithm, whose predictions from the column itself are far too large."""
    rng = np.random.default_rng(0)
    years = np.floor(49 * rng.beta(1, 4, 400))
    frame = pd.DataFrame({"years": years, "squared": years**2, "age": years + rng.normal(20, 3, 400)})
    (trial,) = log_trials(read(frame, use="years,squared,age"))
    assert trial.column == "squared" and trial.denser and not trial.better and trial.beyond and trial.error > 1.15
    assert on_suitable_scales(read(frame, use="years,squared,age")).logs == {}


def test_the_choice_is_said_and_can_be_refused():
    table = on_suitable_scales(read(sizes()))
    said = next(m for m in table.messages if m.code == "LD195")
    assert "mass, area, price" in said.what and "--no-log" in str(said)
    assert table.options["log"] == ("mass", "area", "price") and on_suitable_scales(table) is table
    plain = read(sizes(), no_log=True)
    assert on_suitable_scales(plain) is plain
    asked = read(sizes(), log="mass")
    assert on_suitable_scales(asked).logs == {"mass": 0.0}
    array = read(sizes().to_numpy())
    assert on_suitable_scales(array) is array


def test_fills_are_in_the_tables_units_and_better():
    frame = sizes(gaps=0)
    rows = np.random.default_rng(2).choice(120, 30, replace=False)
    truth = frame["price"].to_numpy()[rows].copy()
    frame.loc[rows, "price"] = np.nan
    error = {}
    for word, options in (("log", {}), ("plain", {"no_log": True})):
        fills = fill(read(frame, **options), engines="straight")
        assert (fills.filled[:, :3] >= 0).all() and (fills.lower[rows, 2] <= fills.filled[rows, 2]).all()
        held = (fills.lower[rows, 2] <= truth) & (truth <= fills.upper[rows, 2])
        error[word] = np.abs(np.log(np.maximum(fills.filled[rows, 2], 1e-3) / truth)).mean()
        if word == "log":
            assert held.mean() >= 0.7
            np.testing.assert_allclose(fills.filled[:, 0], frame["mass"], rtol=1e-12)
            assert (fills.multiple(2)[:, rows, 2] > 0).all()
    assert error["log"] < error["plain"]


def test_odd_rows_explanations_and_new_rows_are_in_the_tables_units(tmp_path):
    frame = sizes()
    frame.loc[5, "area"] *= 400.0
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    found = analyse(read(path), dims=2, budget="1s")
    first = found.odd.rows[0]
    assert first.name == "6" and first.column == "area"
    assert first.value == pytest.approx(frame.loc[5, "area"]) and 0 < first.expected < 0.1 * first.value
    cell = next(c for c in found.explain("6").cells if c.column == "area")
    assert cell.value == pytest.approx(frame.loc[5, "area"]) and cell.expected == pytest.approx(first.expected)
    run = load_run(save_run(found, tmp_path / "t.run"))
    assert run.table.logs == found.table.logs == {"mass": 0.0, "area": 0.0, "price": 0.0}
    assert run.analysis.odd.rows == found.odd.rows and run.analysis.odd.at(0.5).rows[0].value == first.value
    np.testing.assert_array_equal(run.analysis.fills.filled, found.fills.filled)
    new = frame.iloc[:4].copy()
    new.loc[0, "price"] = np.nan
    placed = found.apply(new)
    np.testing.assert_allclose(np.asarray(placed.scores)[1:], np.asarray(found.scores)[1:4])
    assert 0 < placed.lower.iloc[0, 2] < placed.filled.iloc[0, 2] < placed.upper.iloc[0, 2]
    assert placed.filled.iloc[1, 0] == pytest.approx(new.iloc[1, 0])


def test_zeros_have_half_the_least_number_added():
    frame = sizes()
    frame.loc[:8, "mass"] = 0.0
    table = on_suitable_scales(read(frame))
    least = frame["mass"][frame["mass"] > 0].min()
    assert table.logs["mass"] == pytest.approx(least / 2, rel=0.5)
    again = read(frame, log=table.options["log"])
    np.testing.assert_array_equal(again.X, table.X)
    assert (table.scales.outward(table.X)[:9, 0] == 0.0).all()


def test_a_column_that_is_constant_in_some_folds_is_no_news():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((120, 1))
    X = np.exp(1.5 * z + 0.5 * rng.standard_normal((120, 4)))
    rows = np.flatnonzero(np.random.default_rng(0).permutation(120) % SCALE_FOLDS == 0)  # of the first fold
    rare = np.zeros((120, 1))
    rare[rows, 0] = np.arange(1.0, 1.0 + len(rows)) / 7
    table = read(pd.DataFrame(np.c_[X, rare], columns=list("abcde")))  # a warning would be an error here
    assert set(table.logs) == {"a", "b", "c", "d"} and "e" in table.names
