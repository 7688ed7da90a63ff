"""The contest of engines: scores against plain loops, who is chosen, what is said, and what is kept."""

import json

import numpy as np
import pytest

import lowdim as ld
from lowdim.judge.fills.calibration import factors
from lowdim.judge.fills.contest import STRAIGHT, EngineTrial, contest_lines
from lowdim.judge.fills.fills import fill
from lowdim.judge.fills.models import FittedFill, by_shrinkage
from lowdim.judge.fills.nearest import by_nearest_rows
from lowdim.judge.fills.trials import (
    SCORED_CELLS,
    energy_scores,
    paired,
    row_folds,
    squared_errors,
    trials,
)
from lowdim.maths.linalg import centre_and_spread
from lowdim.text.kinds import OptionError
from tests.judge.fills.test_engines import groups


@pytest.fixture(scope="module")
def two_groups():
    X, gap = groups(150, 4)
    return X, gap, fill(np.where(gap, np.nan, X))


def straight(n=120, d=5, seed=0):
    rng = np.random.default_rng([seed, 111])
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.4 * rng.standard_normal((n, d))
    return np.where(rng.random(X.shape) < 0.1, np.nan, X)


@pytest.mark.slow
def test_groups_are_filled_by_an_engine_that_knows_them(two_groups):
    X, gap, made = two_groups
    plain = fill(np.where(gap, np.nan, X), engines="straight")
    chosen = next(r for r in made.contest if r.verdict == "chosen")
    assert made.engine == chosen.engine != STRAIGHT and plain.engine == STRAIGHT and plain.contest == ()
    assert chosen.difference < -2 * chosen.difference_error and chosen.energy_difference <= chosen.energy_error
    assert ((made.filled - X)[gap] ** 2).mean() < 0.5 * ((plain.filled - X)[gap] ** 2).mean()
    inside = ((made.lower <= X) & (made.upper >= X))[gap]
    assert abs(inside.mean() - 0.9) < 3 * (0.09 / len(inside)) ** 0.5
    assert {r.engine for r in made.contest} == {STRAIGHT, *(e.engine for e in made.contest)} and len(made.contest) == 6
    assert made.engine_words in made.text() and "off by" in repr(made)


@pytest.mark.slow
def test_draws_of_the_chosen_engine_spread_as_its_intervals_do(two_groups):
    X, gap, made = two_groups
    drawn = made.multiple(60)
    assert np.array_equal(drawn[:, ~gap], np.broadcast_to(X[~gap], (60, int((~gap).sum()))))
    within = ((drawn >= made.lower) & (drawn <= made.upper))[:, gap]
    assert 0.82 <= within.mean() <= 0.98


@pytest.mark.slow
def test_a_straight_table_keeps_its_straight_model():
    made = fill(straight())
    assert made.engine == STRAIGHT and made.contest[0].verdict == "chosen"
    assert all(r.verdict == "no better" for r in made.contest[1:])
    assert "Which engine fills these gaps" in made.text() and "Fills use their own model" in made.text()


def test_the_budget_is_kept_and_said():
    made = fill(straight(), budget=0.05)
    skipped = [r for r in made.contest if r.verdict.startswith("not tried: ")]
    assert {"chained trees", "mixture of Gaussians"} <= {r.engine for r in skipped}
    assert all(r.cells == 0 for r in skipped) and "the budget is 0.05 s" in made.text()
    with pytest.raises(OptionError, match="budget"):
        fill(straight(), budget="soon")
    with pytest.raises(OptionError, match="engines"):
        fill(straight(), engines="bent")


def test_what_is_asked_for_is_not_challenged():
    X = straight()
    assert fill(X, model=ld.PPCA(1)).contest == () and fill(X, 1).contest == ()
    assert fill(X, standardize=False).contest == () and fill(X[:25]).contest == ()


@pytest.mark.slow
def test_the_same_call_gives_the_same_bits(two_groups):
    X, gap, made = two_groups
    again = fill(np.where(gap, np.nan, X))
    assert again.contest == made.contest and np.array_equal(again.lower, made.lower)
    assert np.array_equal(again.multiple(2), made.multiple(2))


def test_scores_are_those_of_plain_loops():
    X = straight(60)
    fold = row_folds(60, 4, 0)
    one, other = (trials(fit, X, fold, range(2), 0, draws=4) for fit in (by_nearest_rows(5), by_shrinkage(3)))
    assert np.array_equal(one.row, other.row) and np.array_equal(one.column, other.column)
    unit = centre_and_spread(X)[1]
    assert np.allclose(squared_errors(one, X), [(e / unit[j]) ** 2 for e, j in zip(one.error, one.column, strict=True)])
    score, row = energy_scores(one, X)
    width = factors(one.z, one.column, X.shape[1], 0.9) / 1.6448536269514722
    want = {}
    for i, p in sorted(set(zip(one.row.tolist(), one.part.tolist(), strict=True))):
        at = np.flatnonzero((one.row == i) & (one.part == p))
        y = one.error[at] / unit[one.column[at]]
        x = one.draws[at].T * width[one.column[at]] / unit[one.column[at]]
        near = np.mean([np.linalg.norm(k - y) for k in x])
        apart = np.mean([np.linalg.norm(x[k] - x[m]) for k in range(4) for m in range(k)])
        want[i, p] = near - apart / 2
    assert np.allclose(score, list(want.values())) and row.tolist() == [i for i, _ in want]
    found = paired(squared_errors(one, X), squared_errors(other, X), one.row)
    gain = squared_errors(one, X) - squared_errors(other, X)
    sums = [(gain - gain.mean())[one.row == i].sum() for i in np.unique(one.row)]
    assert found.difference == pytest.approx(gain.mean())
    assert found.error == pytest.approx(np.std(sums, ddof=1) * len(sums) ** 0.5 / len(gain))


def test_the_energy_score_prefers_the_right_law():
    """Cells share a common part: joint draws score less than draws cell by cell, and these less than means alone."""
    X = np.random.default_rng(7).standard_normal((500, 1)) + 0.3 * np.random.default_rng(8).standard_normal((500, 40))

    def law(kind):
        def drawn(rows, seed, number):
            rng = np.random.default_rng([seed, number])
            common, each = rng.standard_normal((len(rows), 1)), rng.standard_normal(rows.shape)
            made = {"joint": common + 0.3 * each, "apart": 1.09**0.5 * each, "means": 0.0 * each}[kind]
            return np.where(np.isnan(rows), made, rows)

        return lambda _: FittedFill(0, lambda rows: (np.nan_to_num(rows), 1.04 * np.isnan(rows)), drawn)

    found = {k: trials(law(k), X, row_folds(500, 4, 0), range(4), 0, draws=5) for k in ("joint", "apart", "means")}
    score = {kind: energy_scores(tried, X)[0].mean() for kind, tried in found.items()}
    assert score["joint"] < 0.95 * score["apart"] < 0.9 * score["means"]


def test_draws_are_made_for_so_many_cells_only():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 8))
    found = trials(by_nearest_rows(5), X, row_folds(1500, 3, 0), range(1), 0, draws=2)
    drawn = np.isfinite(found.draws).all(axis=1)
    assert SCORED_CELLS <= drawn.sum() < SCORED_CELLS + 8 < len(drawn)


def test_lines_of_a_contest():
    reports = (
        EngineTrial(STRAIGHT, "", "beaten", 100, 0.4, 0.0, 0.0, 0.3, 0.0, 0.0),
        EngineTrial("chained trees", "", "chosen", 100, 0.3, -0.07, 0.01, 0.2, -0.1, 0.01),
        EngineTrial("nearest rows", "", "could not be fitted"),
    )
    lines = contest_lines(reports)
    assert lines[2].split() == ["straight", "model", "0.400", "0.300", "beaten"]
    assert lines[3].split() == ["chained", "trees", "0.300", "-0.0700", "+-", "0.0100", "0.200", "chosen"]
    assert lines[4].split() == ["nearest", "rows", "could", "not", "be", "fitted"]
    assert json.loads(json.dumps([r._asdict() for r in reports]))[1]["energy"] == 0.2


@pytest.mark.slow
def test_fills_stay_values_of_their_columns_whatever_fills_them():
    """Counts and positive numbers that fall into groups: an engine wins, and its fills and draws are possible."""
    import pandas as pd

    X, gap = groups(200, 6, seed=4)
    frame = pd.DataFrame({"count": np.round(np.exp(1.5 + 0.25 * X[:, 4])), "mass": np.exp(0.5 * X[:, 5])})
    made = ld.fill(frame.assign(**{f"x{j}": X[:, j] for j in range(4)}).mask(gap))
    assert made.engine != STRAIGHT and made.table.names[:2] == ("count", "mass")
    for table in (made.filled, made.lower, made.upper, *made.multiple(3)):
        assert (table[:, :2] >= 0).all() and np.array_equal(made.scales.possible(table), table)
