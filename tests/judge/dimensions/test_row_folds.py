"""Left-out rows: who is left out, and that skill, errors and the two answers are what they claim to be."""

from functools import partial

import numpy as np
import pytest

from lowdim.judge.dimensions.factors import factor_ladder, principal_ladder
from lowdim.judge.dimensions.normal_scores import standardized
from lowdim.judge.dimensions.row_folds import FoldErrors, RowFolds, usual_folds
from tests.judge.simulated import seeds_gaussian, with_gaps


def errors(*skill: float, spread: float = 0.1, n: int = 400) -> FoldErrors:
    """Rows whose squared errors give these skills, each number of dimensions with a scatter of its own."""
    wobble = np.random.default_rng(0).standard_normal((len(skill), n)) * spread
    wobble -= wobble.mean(axis=1, keepdims=True)
    wobble[0] = 0.0
    return FoldErrors((1.0 - np.array(skill))[:, None] + wobble, n, 5)


def test_every_row_is_left_out_once():
    folds = RowFolds(standardized(seeds_gaussian(0), None), None, 5, 0)
    assert np.array(folds.out).sum(axis=0).tolist() == [1] * 300
    assert {out.sum() for out in folds.out} == {60}
    assert (usual_folds(300, 58), usual_folds(40, 10), usual_folds(3, 10)) == (5, 20, 3)


def test_a_left_out_row_has_no_part_in_what_predicts_it():
    """Another value in one row changes no prediction of its own other cells but by that value."""
    x = standardized(seeds_gaussian(0)[:40], None)
    moved = x.copy()
    moved[0] *= 3.0
    one, two = (RowFolds(a, None, 5, 0) for a in (x, moved))
    fold = next(k for k, out in enumerate(one.out) if out[0])
    np.testing.assert_array_equal(one.covariances[fold].matrix, two.covariances[fold].matrix)
    assert any((a.matrix != b.matrix).any() for a, b in zip(one.covariances, two.covariances, strict=True))


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_skill_is_the_share_of_variance_predicted(gaps):
    X = with_gaps(seeds_gaussian(1), gaps)
    mask = ~np.isnan(X)
    x = standardized(np.where(mask, X, 0.0), mask)
    folds = RowFolds(x, None if mask.all() else mask, 5, 0)
    found = folds.errors(partial(factor_ladder, rng=np.random.default_rng(0)), 6, weight=np.ones(10))
    assert found.squares[0].sum() == pytest.approx(mask.sum()) and found.cells == mask.sum()
    assert found.skill[0] == 0.0 and found.skill[3] > 0.15 and found.needed == 3
    own = folds.errors(partial(principal_ladder, most=4), 4, weight=np.ones(10), patient=True)
    assert len(own.squares) == 5 and own.skill[3] == pytest.approx(found.skill[3], abs=0.05)


def test_columns_count_by_their_weight():
    x = standardized(seeds_gaussian(1), None)
    only = np.eye(10)[4]
    found = RowFolds(x, None, 5, 0).errors(partial(principal_ladder, most=1), 1, weight=only)
    np.testing.assert_allclose(found.squares[0], x[:, 4] ** 2)


def test_paired_errors_are_those_of_rows_drawn_again():
    rng = np.random.default_rng(2)
    gains, claimed = [], []
    for _ in range(400):
        gain = 0.1 + rng.standard_normal(100)
        found = FoldErrors(np.array([np.full(100, 4.0), 4.0 - gain]), 400, 5).compare(1, 0)
        gains.append(found.difference)
        claimed.append(found.error)
    assert np.mean(claimed) == pytest.approx(np.std(gains), rel=0.1)


@pytest.mark.parametrize(
    ("skill", "needed", "detectable"),
    [
        ((0.0, 0.4, 0.5, 0.5, 0.49), 2, 2),
        ((0.0, 0.4, 0.5, 0.52, 0.54), 2, 4),  # each further one adds less than a sixteenth of 0.54
        ((0.0, 0.3, 0.31, 0.5), 3, 3),  # the third makes up for the second
        ((0.0, 0.0, 0.005, 0.004), 0, 0),  # less than two standard errors above the column means
        (tuple(np.linspace(0.0, 0.8, 21)), 12, 20),  # many small ones: three fifths of the skill
    ],
)
def test_the_two_answers(skill, needed, detectable):
    found = errors(*skill)
    assert (found.needed, found.detectable) == (needed, detectable)


def test_words_of_a_comparison():
    found = errors(0.0, 0.4, 0.4001)
    assert str(found.compare(1, 0)).startswith("1 beats 0 by 0.4 +- ")
    assert str(found.compare(2, 1)).startswith("2 and 1 cannot be told apart")
