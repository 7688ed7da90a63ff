"""Fills at other levels, their calibration at several, what lies outside the values seen, and how they are shown."""

from __future__ import annotations

import csv
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim import PPCA
from lowdim.jobs.apply import place
from lowdim.judge.fills.calibration import HiddenErrors, beyond, cross, factors, map_calibration, skewed
from lowdim.judge.fills.fill import fill as fill_by_any
from lowdim.judge.fills.result import LEVELS
from lowdim.judge.hidden_cells import HIDDEN_PARTS, deal, dealt
from lowdim.judge.maps.table_map import table_map
from lowdim.maths.seeds import HELD_OUT_FOLDS
from lowdim.text.errors import OptionError
from tests.conftest import need

fill = partial(fill_by_any, engines="straight")


def simulated(n=80, d=6, seed=0, gaps=0.15):
    rng = np.random.default_rng([seed, 90])
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.5 * rng.standard_normal((n, d))
    return X, rng.random(X.shape) < gaps


def airquality() -> np.ndarray:
    with need("missing_small/airquality.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    return np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])


@pytest.mark.parametrize("how", [{}, {"model": PPCA(2)}, {"n_components": 1, "standardize": False}])
def test_another_level_is_bitwise_the_fit_with_that_level(how):
    X, gap = simulated()
    X = np.where(gap, np.nan, X)
    if not how:
        X = X * [1, 1, 1e150, 1, 1e-150, 1]  # columns that are scaled inside, too
    made = fill(X, **how)
    for level in (0.5, 0.8, 0.99):
        again = fill(X, level=level, **how)
        for other in (made.at(level), made.at(level=level)):
            for name in ("filled", "lower", "upper", "sd", "is_filled"):
                assert np.array_equal(getattr(other, name), getattr(again, name)), name
            assert other.columns == again.columns and other.sentence == again.sentence and other.level == level
            assert np.array_equal(other.multiple(2), again.multiple(2)) and other.skill == again.skill
    assert not callable(made) and made.at(0.9).columns == made.columns
    assert (made.at(0.95).upper >= made.upper).all() and (made.at(0.5).upper <= made.upper).all()
    with pytest.raises(OptionError, match="level"):
        made.at(1.0)


def test_coverage_at_several_levels_is_what_each_level_held():
    X, gap = simulated()
    made = fill(np.where(gap, np.nan, X))
    shares = made.coverage()
    assert shares.tolist() == [made.at(level).held / made.tried for level in LEVELS]
    for level, share in zip(LEVELS, shares, strict=True):  # folds calibrated on each other: near the claim
        low, high = stats.binom.ppf([0.001, 0.999], made.tried, level) / made.tried
        assert low <= share <= high


def test_crossed_folds_against_a_plain_loop():
    rng = np.random.default_rng(3)
    hidden = HiddenErrors(np.abs(rng.standard_normal(400)), rng.integers(3, size=400), rng.integers(4, size=400))
    inside = cross(hidden, 3, (0.8, 0.9))
    for i in range(0, 400, 37):
        other = hidden.fold != hidden.fold[i]
        for row, level in enumerate((0.8, 0.9)):
            c = factors(hidden.z[other], hidden.column[other], 3, (level,))[0][hidden.column[i]]
            assert inside[row, i] == (hidden.z[i] <= c)


def test_one_way_to_deal_cells_serves_both_judges():
    mask = np.random.default_rng(0).random((50, 7)) > 0.3
    for seed in (0, 3):
        assert np.array_equal(dealt(mask, np.random.default_rng([seed, HELD_OUT_FOLDS])), deal(mask, seed))
    part = dealt(mask, np.random.default_rng(0))
    assert np.array_equal(part >= 0, mask) and part.max() < HIDDEN_PARTS
    for row, seen in zip(part, mask, strict=True):  # a row's cells all go to different parts, as there are ten
        assert len(set(row[seen])) == seen.sum()


def test_negative_ozone_is_counted_and_a_logarithm_proposed():
    X = airquality()
    made = fill(X)
    gap = np.isnan(X)
    out = ((made.filled < np.nanmin(X, axis=0)) | (made.filled > np.nanmax(X, axis=0))) & gap
    assert [c.outside for c in made.columns] == out.sum(axis=0).tolist() and out[:, 0].sum() > 0
    assert np.array_equal(made.outside != 0, out) and (made.outside[out & (made.filled < 0)] == -1).all()
    assert made.columns[0].skewed and made.to_log() == ("c1",)
    assert "of c1 are outside the values seen (1 .. 168): try --log c1" in made.text()
    assert "--log" not in made.text(logged={"c1"}) and made.to_log({"c1"}) == ()


def test_skewness_is_scipys():
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [
            rng.lognormal(0, 1, 200),
            rng.standard_normal(200),
            rng.lognormal(0, 1, 200) - 1.0,
            rng.uniform(1, 2, 200),
            np.ones(200),
        ]
    )
    X[3, :] = np.nan
    want = [
        stats.skew(x[~np.isnan(x)]) > 0.5 and bool((x[~np.isnan(x)] > 0).all()) if np.nanstd(x) > 0 else False
        for x in X.T
    ]
    assert skewed(X).tolist() == want == [True, False, False, False, False]


def test_beyond_knows_only_seen_cells():
    X = np.array([[1.0, 5.0], [9.0, 6.0], [0.0, 7.0], [3.0, 8.0]])
    gap = np.array([[False, False], [True, False], [True, False], [False, True]])
    assert beyond(X, gap).tolist() == [[0, 0], [1, 0], [-1, 0], [0, 1]]


def test_text_names_the_model_of_the_fills_beside_the_map():
    X, gap = simulated()
    made = fill(np.where(gap, np.nan, X))
    own = f"Fills use their own model ({made.n_components} dimensions, chosen because it predicts hidden cells best)"
    assert f"{own}." in made.text() and f"{own}; the map uses 2." in made.text(map_dims=2)
    few = fill(np.where(gap, np.nan, X)[:20])  # one candidate only: hidden cells chose nothing
    assert "as many as it finds use for" in few.text()
    assert "(1 dimension, as asked)" in fill(np.where(gap, np.nan, X), model=PPCA(1)).text()


def test_shown_in_four_lines_and_as_a_small_table():
    X, gap = simulated()
    made = fill(np.where(gap, np.nan, X))
    assert len(repr(made).split("\n")) <= 4 and made.sentence in repr(made) and "80 rows x 6 columns" in repr(made)
    page = made._repr_html_()
    assert len(page) < 25_000 and "<script" not in page and page.count("<tr>") == 7
    whole = fill(X)
    assert repr(whole).split("\n")[1] == "No gaps: nothing to fill." and "<tr>" not in whole._repr_html_()


# new rows on an old map ---------------------------------------------------------------------------------
def held_in_new_rows(tables: int, *, calibrated: bool = True) -> tuple[int, int]:
    """Hidden cells of new rows inside 90 % intervals, over simulated tables of 10 to 20 rows a column."""
    held = tried = 0
    for r in range(tables):
        rng = np.random.default_rng([r, 91])
        d, q = int(rng.integers(5, 15)), int(rng.integers(1, 4))
        n, W = int(10 * d * rng.uniform(1, 2)), rng.standard_normal((q, d))
        noise = rng.uniform(0.3, 1.0, size=d) if r % 2 else rng.uniform(0.3, 1.0)
        X = rng.standard_normal((n + 200, q)) @ W + noise * rng.standard_normal((n + 200, d))
        old, new = X[:n], X[n:]
        old[rng.random(old.shape) < 0.1] = np.nan
        hidden = rng.random(new.shape) < 0.15
        model = PPCA(q, standardize=True).fit(old)
        calibration = map_calibration(model, old) if calibrated else None
        map = table_map(model, tuple(f"c{j}" for j in range(d)))
        found = place(map, np.where(hidden, np.nan, new), calibration=calibration)
        held += int((hidden & (found.lower <= new) & (new <= found.upper)).sum())
        tried += int(hidden.sum())
    return held, tried


def test_intervals_of_new_rows_hold_what_they_claim():
    held, tried = held_in_new_rows(8)
    assert tried > 1500 and 0.87 <= held / tried <= 0.93


@pytest.mark.drill
def test_intervals_of_new_rows_hold_what_they_claim_over_eighty_tables():
    held, tried = held_in_new_rows(80)
    print(held / tried, tried)
    assert 0.87 <= held / tried <= 0.93


def test_a_column_with_a_law_of_its_own_has_a_factor_of_its_own():
    """Noise of one column is five times the others': one sd for all is wrong for it, its factor is not."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((900, 1)) @ np.ones((1, 8)) + 0.2 * rng.standard_normal((900, 8))
    X[:, 0] += 0.8 * rng.standard_normal(900)
    old, new = X[:500], X[500:]
    model = PPCA(1).fit(old)
    made = map_calibration(model, old)
    assert made.half[0] > 1.8 * max(made.half[1:])
    hidden = np.zeros(new.shape, dtype=bool)
    hidden[:, 0] = True
    shares = []
    for calibration in (made, None):
        map = table_map(model, tuple(f"c{j}" for j in range(8)))
        found = place(map, np.where(hidden, np.nan, new), calibration=calibration)
        shares.append(((found.lower <= new) & (new <= found.upper))[hidden].mean())
    assert 0.85 <= shares[0] <= 0.95 and shares[1] < 0.7


def test_a_wide_table_is_calibrated_by_one_factor_and_thinned_rows():
    rng = np.random.default_rng(6)
    z = rng.standard_normal((60, 4000))
    made = map_calibration(PPCA(1), None, surprises=z)  # type: ignore[arg-type]
    assert len(set(made.half)) == 1 and made.half[0] == pytest.approx(1.645, abs=0.02)
    tall = map_calibration(PPCA(1), None, surprises=rng.standard_normal((40_000, 200)))  # type: ignore[arg-type]
    half = np.array(tall.half)  # 1,250 cells a column: the standard error of such a quantile is 0.041
    assert half.mean() == pytest.approx(1.645, abs=0.02) and np.abs(half - 1.645).max() < 5 * 0.041


def test_intervals_of_levels_hold_what_they_claim():
    """Ends are levels inside the calibrated ones: rounded outwards they held 99 % and were mostly the whole scale."""
    rng = np.random.default_rng(3)
    eta = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 10)) + rng.standard_normal((400, 10))
    whole = 1.0 + (eta[..., None] > [-1.5, -0.5, 0.5, 1.5]).sum(axis=2)
    gap = rng.random(whole.shape) < 0.15
    frame = pd.DataFrame(np.where(gap, np.nan, whole), columns=[f"q{j}" for j in range(10)])
    fills = fill(frame)
    held = (fills.lower <= whole) & (whole <= fills.upper)
    assert 0.87 <= held[gap].mean() <= 0.95, held[gap].mean()
    assert (fills.lower <= fills.filled).all() and (fills.filled <= fills.upper).all()
    assert set(np.unique(np.concatenate([fills.lower, fills.upper]))) <= {1.0, 2.0, 3.0, 4.0, 5.0}
