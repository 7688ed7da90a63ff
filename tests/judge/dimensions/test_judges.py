"""The judges: left-out rows, eigenvalues against chance by simulation, evidence against scikit-learn's likelihood."""

from functools import partial

import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis

from lowdim.judge.dimensions.factors import covariance, factor_ladder, principal_ladder
from lowdim.judge.dimensions.judges import (
    FoldErrors,
    RowFolds,
    eigenvalues,
    factor_evidence,
    free_numbers,
    parallel_analysis,
    shuffled,
    usual_folds,
    weights,
)
from lowdim.judge.dimensions.jury_table import jury_table, standardized
from tests.judge.simulated import noise, seeds_gaussian, uneven, with_gaps


# rows left out: who is left out, and that skill, errors and the two answers are what they claim to be -------------
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
    assert str(found.compare(2, 1)).startswith("2 and 1 cannot be distinguished")


# eigenvalues against chance ----------------------------------------------------------------------------------
def test_shuffles_keep_columns_and_gaps():
    X = with_gaps(seeds_gaussian(0), 0.3)
    mask = ~np.isnan(X)
    x = np.where(mask, X, 0.0)
    out = shuffled(x, mask, np.random.default_rng(0))
    assert (out[~mask] == 0).all()
    for j in range(10):
        np.testing.assert_array_equal(np.sort(out[mask[:, j], j]), np.sort(x[mask[:, j], j]))
    assert (out != x).any(axis=0).all()


def test_eigenvalues_are_numpys_where_complete():
    X = seeds_gaussian(0) - seeds_gaussian(0).mean(axis=0)
    want = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    np.testing.assert_allclose(eigenvalues(X, None), want, rtol=1e-10)
    np.testing.assert_allclose(eigenvalues(X, np.ones(X.shape, bool)), want, rtol=1e-10)
    wide = X[:8] - X[:8].mean(axis=0)
    np.testing.assert_allclose(
        eigenvalues(wide, None), np.linalg.eigvalsh(np.cov(wide.T, bias=True))[::-1][:7], rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_noise_passes_the_band_as_often_as_promised(gaps):
    """At a 90 % band one table of noise in ten shows a first eigenvalue above it: 200 tables, within 3 sigma."""
    above = 0
    for s in range(200):
        t = jury_table(with_gaps(noise(s, 40, 9), gaps, s), standardize=True, seed=s)
        above += parallel_analysis(t.x, t.mask, shuffles=49, band=0.9, seed=s).q > 0
    assert abs(above - 20) <= 3 * np.sqrt(200 * 0.1 * 0.9) + 2


def test_counts_follow_the_size():
    small, large = (jury_table(noise(0, n, 10), standardize=True, seed=0) for n in (30, 40_000))
    assert parallel_analysis(small.x, None, shuffles=None, band=0.95, seed=0).shuffles == 100
    assert parallel_analysis(large.x, None, shuffles=None, band=0.95, seed=0).shuffles == 20


# evidence ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("q", [0, 2, 3])
def test_factor_evidence_is_scikit_learns_likelihood(q):
    """sklearn's EM stops near the same maximum; ours is within a hundredth of a nat a row, noises at least 2 %."""
    x = standardized(uneven(0), None)
    S = covariance(x, None, np.random.default_rng(0))
    found = factor_evidence(S, 200.0, q, np.random.default_rng(0))[q] + 0.5 * free_numbers(8, q) * np.log(200.0)
    peer = FactorAnalysis(q, tol=1e-3, max_iter=5000, svd_method="lapack").fit(x) if q else None
    want = -0.5 * 200 * (np.log(2 * np.pi * x.var(axis=0)) + 1).sum() if peer is None else peer.score(x) * 200
    assert want - 2.0 < found < want + 1e-6


def test_free_numbers_and_weights():
    assert [free_numbers(4, q) for q in range(3)] == [4, 8, 11]
    np.testing.assert_allclose(weights(np.array([-1e6, -1e6 + np.log(3.0)])), [0.25, 0.75], rtol=1e-9)
