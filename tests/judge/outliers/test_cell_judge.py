"""Cells are judged by all that columns tell of each other, which a map of few axes leaves to its noise."""

import json

import numpy as np
import pandas as pd
import pytest

from lowdim.jobs.analysis import Settings, analysis_of
from lowdim.judge.cells import given_others, kept_by
from lowdim.judge.outliers.cell_judge import cell_judge, sharp_gaussian
from lowdim.judge.outliers.law import facts_of_law, law_of_facts, level_counts
from lowdim.judge.rows.odd_rows import judge_rows
from lowdim.sources.source import Block


def pairs(seed: int, n: int = 200) -> np.ndarray:
    """Eight columns that one signal drives, two by two with a second one of their own: a map of one axis does not know
    what the columns of a pair tell of each other."""
    rng = np.random.default_rng([seed, 12])
    own = np.repeat(rng.standard_normal((n, 4)), 2, axis=1)
    return 2.0 * rng.standard_normal((n, 1)) + own + 0.1 * rng.standard_normal((n, 8))


def test_a_cell_given_the_others_is_a_regression_on_them():
    """Least squares of numpy, whose residuals have the mean square of those of the Gaussian."""
    X = pairs(0)
    seen = np.ones(X.shape, dtype=bool)
    judge = sharp_gaussian(X, seen)
    surprise = given_others(judge, judge.inward(Block(X, seen)).x, seen).surprise
    for j in range(8):
        others = np.column_stack([np.ones(len(X)), np.delete(X, j, axis=1)])
        left = X[:, j] - others @ np.linalg.lstsq(others, X[:, j], rcond=None)[0]
        assert surprise[:, j] == pytest.approx(left / np.sqrt((left**2).mean()), rel=1e-4, abs=1e-4)


def test_cells_far_from_what_their_rows_say_do_not_bend_the_judge():
    X = pairs(1)
    X[[5, 9, 30], [0, 3, 6]] += [8.0, -3.0, 2.0]
    seen = np.ones(X.shape, dtype=bool)
    judge, cut = cell_judge(X, seen, seen, level_counts(X, seen), np.zeros(len(X), dtype=bool))
    keep = kept_by(judge, judge.inward(Block(X, seen)).x, seen, cut)
    left_out = {(i, j // 2) for i, j in np.argwhere(~keep).tolist()}  # either of a pair may be the wrong one
    assert {(5, 0), (9, 1), (30, 3)} <= left_out and (~keep).sum() <= 5
    surprise = given_others(judge, judge.inward(Block(X, seen)).x, seen, keep).surprise
    clean = surprise[keep & (np.arange(8) == 1)]
    assert 0.9 < clean.std() < 1.1  # in its own standard deviations, with the wrong ones in the fit 0.5


def test_odd_rows_are_found_that_the_axes_of_the_map_do_not_see():
    X = pairs(2)
    X[[5, 9], [0, 3]] += 1.5  # less than a standard deviation of the column, ten of what its pair leaves open
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    found = analysis_of(frame, Settings(dims=1))
    assert {(5, 0), (9, 1)} <= {(r.row, "abcdefgh".index(r.column) // 2) for r in found.odd.rows}
    blunt = judge_rows(found.map, X)
    assert not {5, 9} & set(np.flatnonzero(blunt.odd).tolist())


def test_the_judge_of_cells_is_kept_with_the_law():
    X = pairs(3)
    X[5, 0] += 4.0
    found = analysis_of(pd.DataFrame(X, columns=list("abcdefgh")), Settings(dims=1))
    facts = json.loads(json.dumps(facts_of_law(found.odd.judged.law)))
    again = judge_rows(found.map, X, law=law_of_facts(facts))
    assert np.array_equal(again.p, found.odd.p)
    card = found.explain(5)
    assert card.p == pytest.approx(found.odd.p[5], rel=1e-9)
    facts["cells"]["judge"]["psi"][0] = -1.0
    assert law_of_facts(facts) is None


def test_of_very_wide_and_of_short_tables_the_model_judges_the_cells_itself():
    for n, d in ((30, 301), (19, 5)):
        assert sharp_gaussian(np.zeros((n, d)), np.ones((n, d), dtype=bool)) is None


def test_a_row_is_seen_with_its_kept_cells_wherever_it_is_judged():
    """Two wrong cells of a row say nothing of its others, in the list of odd rows and in its card: there the rest says
    what it says of the row before it was spoilt."""
    before = pairs(4)
    X = before.copy()
    X[7, [0, 5]] += [9.0, -6.0]
    names = list("abcdefgh")
    found = analysis_of(pd.DataFrame(X, columns=names), Settings())
    kept = [found.explain(7).cells[j] for j in range(8)]
    clean = found.explain(7, edited={"a": before[7, 0], "f": before[7, 5]}).cells
    for j in (1, 2, 3, 4, 6, 7):  # they have lost what two good cells would tell
        assert abs(kept[j].expected - clean[j].expected) < 4.0 * kept[j].sd
    (row,) = [r for r in found.odd.rows if r.row == 7]
    cell = kept[names.index(row.column)]
    assert (row.expected, row.sd, row.surprise) == pytest.approx((cell.expected, cell.sd, cell.surprise), rel=1e-9)
    assert row.column in "af" and set(found.explain(7).hide) == {"a", "f"}
