"""The sentences and the trust strip, word by word."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lowdim.jobs.analysis import analyse
from lowdim.judge.dimensions.jury import DimensionRow, Jury
from lowdim.judge.dimensions.text import NOTHING_PREDICTS
from lowdim.judge.maps.unshared import Unshared
from lowdim.judge.verdicts import (
    because,
    dimension_sentence,
    fill_sentence,
    held_sentence,
    odd_sentence,
    second_axis,
    short_names,
    trust_strip,
    unsteady,
)
from lowdim.models.linear.ppca import ProbabilisticPCA
from tests.judge.rows.judging import judge_rows


def analysis(q: int, detectable: int, asked: int | str = "auto") -> SimpleNamespace:
    rows = tuple(DimensionRow(k, 0.0, None, 0.0, None, None, s) for k, s in enumerate((0.0, 0.45, 0.48, 0.5)))
    empty = np.zeros(0)
    found = Jury(q, "", rows, (), (), empty, empty, None, (), 9, detectable)
    dims, nothing = q if asked == "auto" else asked, {"unshared": Unshared(), "by_variance": False}
    return SimpleNamespace(dims=dims, jury=found, settings=SimpleNamespace(dims=asked), **nothing)


@pytest.mark.parametrize(
    ("q", "detectable", "want"),
    [
        (1, 1, "One dimension is needed: hidden cells are predicted 90% as well as with more."),
        (
            2,
            3,
            "Two dimensions are needed: hidden cells are predicted 96% as well as with more. "
            "One weaker dimension is detectable too.",
        ),
        (3, 3, "Three dimensions are needed: more predict hidden cells no better."),
        (
            0,
            0,
            f"No shared structure found: {NOTHING_PREDICTS} No groups of rows, no curves and no columns of several "
            "peaks were found either.",
        ),
    ],
)
def test_the_first_sentence(q, detectable, want):
    assert dimension_sentence(analysis(q, detectable)) == want


def test_what_was_asked_for():
    assert dimension_sentence(analysis(3, 3, asked=1)) == (
        "You asked for 1 dimension. Three dimensions are needed: more predict hidden cells no better."
    )


def test_no_odd_rows_says_how_many_chance_makes():
    """40 rows of noise at a level of 0.95: two of them below p = 0.05 are what chance makes."""
    X = np.random.default_rng(3).standard_normal((40, 4))
    found = judge_rows(ProbabilisticPCA(1).fit(X), X)
    assert not found.rows
    assert odd_sentence(found).endswith("p < 0.05; about 2 expected by chance).")
    assert odd_sentence(found).startswith("No odd rows at a 5% false discovery rate (")


def test_spreads_are_named():
    row = SimpleNamespace(
        column="BodyWgt",
        value=6654.0,
        expected=2983.2,
        sd=571.3,
        surprise=6.4,
        p_D2=1e-9,
        p_hidden=0.4,
        p_Q=1e-9,
        limit=0,
        words=(),
        range=None,
    )
    assert because(row) == "BodyWgt is 6654; the rest of the row says 2980, sd 570"


def test_a_cell_within_what_the_others_say_is_no_reason():
    """Launa's score is 1.2 sd off, and without it her row is as odd."""
    row = SimpleNamespace(surprise=-1.2, p_D2=1e-4, p_hidden=1e-4, p_Q=1e-4, words=())
    assert because(row) == "its cells contradict each other; no single cell explains it"


def strip(n=60, d=6, q=2, held=90, tried=100, skill=0.5, angle=1.0, verdict="steady", depends=()):
    """The trust strip of an analysis with these figures."""
    fills = SimpleNamespace(held=held, tried=tried, skill=skill, level=0.9, labels=())
    steady = SimpleNamespace(verdict=verdict, sentence="", removed=(SimpleNamespace(angle=angle),), one_row="")
    gaps = SimpleNamespace(gaps=len(depends), depends=depends, sentence="")
    table = SimpleNamespace(n=n, d=d)
    found = SimpleNamespace(of=None, table=table, dims=q, gaps=gaps, fills=fills, stability=steady)
    return {check.name: check.holds for check in trust_strip(found)}


@pytest.mark.parametrize(
    ("n", "d", "q", "holds"), [(9, 6, 3, True), (8, 5, 3, False), (9, 7, 3, False), (3, 2, 1, True)]
)
def test_enough_rows_are_three_a_dimension_and_three_halves_a_column(n, d, q, holds):
    assert strip(n=n, d=d, q=q)["enough rows"] is holds


@pytest.mark.parametrize(("held", "holds"), [(84, False), (85, True), (100, True)])
def test_intervals_hold_unless_chance_makes_so_few_one_time_in_twenty(held, holds):
    """Of 100 intervals of 90 %: 84 or fewer have probability 4.0 %, 85 or fewer 7.3 %: as the sentence of the fills."""
    assert strip(held=held)["intervals contain what they claim"] is holds


def test_intervals_are_not_vouched_for_where_gaps_go_with_values():
    """The highest values of four columns are missing: cells hidden at random are held as claimed, the gaps are not."""
    assert strip(depends=("one",))["gaps plausible at random"] is False
    assert strip(depends=("one",))["intervals contain what they claim"] is False
    rng = np.random.default_rng([2, 61])
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8)) + 0.6 * rng.standard_normal((200, 8))
    Y = X.copy()
    for j in range(4):
        Y[(X[:, j] > np.quantile(X[:, j], 0.8)) & (rng.random(200) < 0.8), j] = np.nan
    found = analyse(Y, budget="1s")
    gap, fills = np.isnan(Y), found.fills
    held = ((fills.lower <= X) & (fills.upper >= X))[gap].mean()
    assert fills.held > 0.87 * fills.tried and held < 0.85
    (check,) = (check for check in found.trust if check.name == "intervals contain what they claim")
    assert check.holds is False and "hidden at random and the gaps are not" in check.evidence
    assert "so their intervals may contain fewer" in found.said["fills"]


def test_the_other_checks():
    assert strip(skill=0.0)["predicts hidden cells"] is False and strip(skill=1e-9)["predicts hidden cells"] is True
    assert strip(angle=19.9)["no single row decides"] is True and strip(angle=20.0)["no single row decides"] is False
    assert strip(verdict="moves a little")["map is stable"] is False and strip(q=0)["map is stable"] is None
    assert strip(tried=0)["intervals contain what they claim"] is None


def test_a_map_of_one_dimension_has_a_second_axis_and_says_so():
    assert second_axis(1, 2) == "; the map has a second axis" and second_axis(2, 2) == second_axis(1, 1) == ""


def test_the_farthest_cell_that_is_held_out_and_in_no_odd_row_is_named():
    rng = np.random.default_rng(1)
    z = rng.standard_normal((200, 1))
    frame = pd.DataFrame(z + 0.3 * rng.standard_normal((200, 5)), columns=list("abcde"))
    for row, column, value in ((17, "c", 30.0), (40, "a", 12.0), (90, "e", -9.0)):
        frame.loc[row, column] = value
    found = analyse(frame)
    assert {(17, 2), (40, 0), (90, 4)} <= {(i, j) for i, j in found.partition.wrong_cells.tolist()}
    assert "the oddest is row 18, because c is 30" in found.said["odd"]
    none = SimpleNamespace(odd=np.zeros(200, dtype=bool), unjudged=(), judged=found.odd.judged, D2=found.odd.D2)
    said = SimpleNamespace(
        partition=found.partition, odd=none, map=found.map, table=found.table, row_names=found.row_names
    )
    assert "The farthest cell is in row 18: c is 30; the rest of the row says" in held_sentence(said)
    said.partition = found.partition._replace(wrong_cells=found.partition.wrong_cells[:0])
    assert held_sentence(said) == said.partition.sentence
    said.partition = said.partition._replace(far_rows=np.array([90]))
    assert held_sentence(said) == "1 row is left out of the fit (row 91)."
    said.partition = said.partition._replace(far_rows=np.array([40, 17, 90]))
    assert held_sentence(said) == "3 rows are left out of the fit (rows 18, 41, 91)."  # the farthest first


def test_where_far_cells_are_the_tails_of_their_columns_none_is_held_out():
    """Student's noise of two degrees of freedom has cells a hundred times its scale."""
    rng = np.random.default_rng([0, 9])
    frame = pd.DataFrame(rng.standard_normal((200, 1)) + 0.3 * rng.standard_t(2, (200, 5)), columns=list("abcde"))
    found = analyse(frame)
    assert found.partition.choice == "student" and not len(found.partition.wrong_cells)
    assert "Nothing is left out of the fit; far rows have less weight in it." in found.said["odd"]


@pytest.mark.parametrize(("goes", "tried", "said"), [(True, 40, True), (False, 40, False), (True, 0, False)])
def test_intervals_of_gaps_that_go_with_values_are_not_vouched_for(goes, tried, said):
    fills = SimpleNamespace(is_filled=np.array([True]), sentence="1 gap filled.", tried=tried)
    assert fill_sentence(fills, not_random=goes).endswith("so their intervals may contain fewer.") == said


def test_an_unsteady_map_is_said_to_be():
    steady = SimpleNamespace(verdict="moves a little", plane=np.array([20.0]), axes=np.zeros((1, 2)))
    assert unsteady(steady) == ""
    steady.verdict, steady.plane = "unsteady", np.array([40.0, 60.0, 51.0])
    assert unsteady(steady) == "The map is unsteady: resampling the rows turns it by about 51 degrees."
    rng = np.random.default_rng(3)
    found = analyse(pd.DataFrame(rng.standard_normal((40, 6)).round(2)), dims=2, budget="1s")
    assert found.stability.verdict == "unsteady" and unsteady(found.stability) in found.said["axes"]


def test_a_label_that_tells_half_of_an_axis_is_named():
    """Two sexes 4 spreads apart in three of four columns; who has many values would tell all of them by chance."""
    rng = np.random.default_rng(0)
    sex, who = np.repeat(["f", "m"], 40), [f"{k % 30}" for k in range(80)]
    X = rng.standard_normal((80, 4)).round(2)
    X[40:, :3] += 4.0
    found = analyse(pd.DataFrame(X, columns=list("abcd")).assign(sex=sex, who=who), budget="1s")
    score = found.posterior.mean[:, 0]
    between = 1600 * (score[:40].mean() - score[40:].mean()) ** 2 / 80 / score.var() / 80
    share = 1 - (1 - between) * 79 / 78  # less what two values have by chance
    words = f"The label sex explains {share:.0%} of axis 1; it was not used to find the map."
    assert words in found.said["axes"] and between > 0.8
    assert found.said["groups"].endswith(("group 2 is sex m in 40 of 40 rows.", "group 2 is sex f in 40 of 40 rows."))


def test_whole_questions_are_shortened_in_sentences_and_stay_apart():
    question = "Please say how far you agree with the following of our many statements: "
    names = [question + "trains are late", question + "buses are late", "age"]
    told = short_names(names)
    assert list(told) == names[:2] and len({*told.values()}) == 2 and all(len(one) <= 42 for one in told.values())
    same = ["a" * 30 + str(k) + "b" * 30 for k in range(2)]  # what cannot be told apart stays whole
    assert short_names(same) == {}
