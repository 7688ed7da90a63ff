"""The jury on tables whose number of dimensions is known, and on the digester."""

import time

import numpy as np
import pytest

import lowdim as ld
from lowdim.judge.dimensions.heldout import PairedDifference
from lowdim.judge.dimensions.jury import DimensionRow, Judge, Jury, choose_dimension, median_vote
from lowdim.judge.dimensions.text import sentence
from tests.conftest import need
from tests.judge.simulated import noise, rank_two, seeds_gaussian, with_gaps


def digester() -> np.ndarray:
    return np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")


def count(make, want: int, seeds: int) -> int:
    return sum(choose_dimension(make(s)).q == want for s in range(seeds))


def test_seeds_gaussian_has_three():
    assert count(seeds_gaussian, 3, 10) == 10


def test_noise_has_none():
    assert count(noise, 0, 10) == 10


@pytest.mark.drill
@pytest.mark.parametrize(("make", "want"), [(seeds_gaussian, 3), (noise, 0)])
def test_truth_in_98_of_100_seeds(make, want):
    assert count(make, want, 100) >= 98


@pytest.mark.parametrize("rows", [100, pytest.param(1000, marks=pytest.mark.drill)])
def test_rank_two_in_a_thousand_columns(rows):
    found = choose_dimension(rank_two(rows))
    assert found.sentence == "2"
    assert set(found.votes) == {2}


def test_noise_in_many_columns_has_none():
    assert choose_dimension(noise(0, 60, 300)).q == 0


@pytest.mark.parametrize("gaps", [0.1, 0.3])
def test_gaps_do_not_hide_the_answer(gaps):
    assert choose_dimension(with_gaps(seeds_gaussian(0), gaps)).q == 3
    assert choose_dimension(with_gaps(noise(0, 300, 8), gaps)).q == 0


def test_digester():
    """The prototype's figures (product, 3.4): Minka 5 with 62, 20 and 13 % on 5, 6, 7; BIC 97 % on 5; parallel 4."""
    found = choose_dimension(digester())
    assert found.q == 5
    assert found.sentence == "5 (one judge says 4)"
    said = {j.name: j.q for j in found.judges}
    assert said == {"held-out cells": 5, "evidence": 5, "Minka": 5, "parallel analysis": 4, "Gavish-Donoho": None}
    np.testing.assert_allclose([found.rows[q].minka_weight for q in (5, 6, 7)], [0.62, 0.20, 0.13], atol=0.015)
    assert found.rows[5].bic_weight == pytest.approx(0.97, abs=0.01)
    assert found.rows[5].q2 == pytest.approx(0.45, abs=0.03)
    assert found.rows[5].variance == pytest.approx(0.72, abs=0.005)
    assert [row.above_noise for row in found.rows[:6]] == [None] + [True] * 4 + [False]


def test_digester_in_words():
    text = choose_dimension(digester()).text()
    assert text.startswith("Dimensions: 5   (one judge of four says 4")
    assert ">5    72%" in text
    assert "<- recommended" in text
    assert "Minka 5 (44 complete rows, 5 has 61%)" in text
    assert "5 beats 4 by" in text
    assert "72% of the variation is shared structure, 28% is column-by-column noise" in text
    assert "about 6.1 independent columns out of 10" in text


@pytest.mark.drill
def test_digester_whatever_the_seed():
    found = [choose_dimension(digester(), random_state=s) for s in range(10)]
    assert {j.q for j in found} == {5}
    assert {j.sentence for j in found} == {"5 (one judge says 4)"}


def test_digester_is_quick():
    X = digester()
    choose_dimension(X, most=1)
    start = time.process_time()
    choose_dimension(X, shuffles=1)
    assert time.process_time() - start < 4.0  # 1.5 s on a quiet machine; a loaded one is slower


@pytest.mark.drill
def test_ten_thousand_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 5)) @ rng.standard_normal((5, 50)) + rng.standard_normal((10_000, 50))
    start = time.process_time()
    assert choose_dimension(with_gaps(X, 0.05)).sentence == "5"
    assert time.process_time() - start < 15.0


def test_the_same_bits_twice():
    X = with_gaps(seeds_gaussian(2)[:80], 0.1)
    a, b = choose_dimension(X), choose_dimension(X.copy())
    assert a.rows == b.rows and a.paired == b.paired and a.sentence == b.sentence
    np.testing.assert_array_equal(a.band, b.band)


def test_nothing_is_not_a_number():
    found = choose_dimension(with_gaps(seeds_gaussian(2)[:60], 0.5))
    assert next(j.detail for j in found.judges if j.q is None and j.name == "Minka").startswith("only ")
    numbers = [v for row in found.rows for v in row if v is not None]
    assert np.isfinite(numbers).all()
    assert all(row.minka_weight is None for row in found.rows)
    assert sum(row.bic_weight for row in found.rows) == pytest.approx(1.0)
    assert found.rows[0].variance == 0.0


def test_units_do_not_matter_when_standardised():
    """Columns in millions and millionths: the digester's units times powers of ten."""
    X = digester() * 10.0 ** np.arange(-6, 4) + 1e3
    assert choose_dimension(X).sentence == "5 (one judge says 4)"


def test_exact_ranks():
    rng = np.random.default_rng(0)
    found = choose_dimension(rng.standard_normal((50, 2)) @ rng.standard_normal((2, 9)))
    assert (found.q, found.sentence) == (2, "2")
    assert "exactly rank 2" in found.text()
    closed = noise(0, 200, 8)
    closed[:, 7] = 10.0 - closed[:, :7].sum(axis=1)  # columns that add up leave a rank of 7, and no structure else
    assert choose_dimension(closed).q < 7


def test_small_and_strange_tables():
    with pytest.warns(ld.messages.TableWarning, match="LD130"):
        found = choose_dimension(np.column_stack([noise(0, 30, 1), np.ones(30)]))
    assert found.sentence == "no shared structure found"
    assert choose_dimension(noise(0, 3, 4)).q in (0, 1)
    assert choose_dimension(noise(0, 40, 2)).q == 0
    line = np.linspace(0, 1, 40)[:, None] * [1.0, 2.0] + 0.05 * noise(0, 40, 2)
    assert choose_dimension(line).q == 1
    with pytest.raises(ld.messages.TableError, match="LD160"):
        choose_dimension(noise(0, 2, 4))


@pytest.mark.parametrize(
    "wrong",
    [
        {"most": -1},
        {"most": 2.5},
        {"folds": 0},
        {"folds": 21},
        {"shuffles": 0},
        {"band": 0.1},
        {"band": 1},
        {"standardize": "yes"},
        {"random_state": "x"},
    ],
)
def test_options_are_checked(wrong):
    with pytest.raises(ld.messages.OptionError, match="LD210"):
        choose_dimension(noise(0), **wrong)


def test_most_is_a_limit_and_is_said():
    found = choose_dimension(digester(), most=2)
    assert found.q == 2
    assert "largest number tried" in found.notes[0]


def test_weights_are_not_used_and_that_is_said():
    X = seeds_gaussian(0)
    with pytest.warns(ld.messages.TableWarning, match="LD231"):
        assert choose_dimension(ld.as_source(X, weight=np.ones(300))).q == 3


def test_large_tables_are_judged_on_drawn_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((140_000, 1)) @ np.ones((1, 8)) + rng.standard_normal((140_000, 8))
    found = choose_dimension(X, most=2)
    assert found.q == 1
    assert "judged on 131072 of 140000 rows" in found.notes[0]


def steps(seed: int = 0) -> np.ndarray:
    """Five columns whose directions have variances 16, 8, 4, 2, 1 by fours: no noise floor, no small summary."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    return (rng.standard_normal((2000, 5)) * np.array([16.0, 8.0, 4.0, 2.0, 1.0])) @ turn.T


def test_as_many_dimensions_as_columns_allow_is_said():
    found = choose_dimension(steps(), standardize=False)
    assert found.q == 4 and found.saturated
    assert "as many as 5 columns allow" in found.sentence
    shown = np.sort(np.linalg.eigvalsh(np.cov(steps().T)))[::-1]
    share = f"{shown[:2].sum() / shown.sum():.0%}"  # (256 + 64) / 341 = 94%
    assert f"no low-dimensional summary; a map of 2 axes shows {share} of the variance" in found.text()
    assert not choose_dimension(digester()).saturated


def jury(votes, others=(), q=None) -> Jury:
    q = median_vote(list(votes)) if q is None else q
    paired = tuple(PairedDifference(q, k, diff, 0.01, 100) for k, diff in others)
    empty = np.zeros(0)
    return Jury(q, "", (), tuple(Judge(str(i), v, "") for i, v in enumerate(votes)), paired, empty, empty, None, ())


@pytest.mark.parametrize(
    ("votes", "others", "weight", "want"),
    [
        ((5, 5, 5, 5), ((4, 0.1),), 0.97, "5"),
        ((5, 5, 5, 4), ((4, 0.1),), 0.97, "5 (one judge says 4)"),
        ((5, 5, 5, 5), ((4, 0.1), (6, 0.005)), 0.97, "5 (6 predicts no worse)"),
        ((5, 5, 5, 5), ((6, 0.005), (7, -0.1)), 0.97, "5 (6 and 7 predict no worse)"),
        ((5, 5, 5, 5), ((6, 0.0), (7, 0.0), (8, 0.0)), 0.97, "5 (6 to 8 predict no worse)"),
        ((5, 5, 5, 5), ((4, 0.1),), 0.6, "5 (evidence weight 60%)"),
        ((3, 5, 6, 5), (), 0.97, "between 3 and 6"),
        ((3, 3, 4, 4), (), 0.97, "between 3 and 4"),
        ((0, 0, 0), (), 0.97, "no shared structure found"),
        ((0, 0, 0, 1), (), 0.97, "no shared structure found (one judge says 1)"),
    ],
)
def test_sentences(votes, others, weight, want):
    assert sentence(jury(votes, others), weight) == want


@pytest.mark.parametrize(
    ("votes", "want"),
    [
        ((5, 5, 5, 5), "5 (as many as 6 columns allow)"),
        ((5, 5, 5, 1), "5 (as many as 6 columns allow; one judge says 1)"),
        ((5, 5, 5, 1, 2), "between 1 and 5 (5 is as many as 6 columns allow)"),
        ((4, 4, 4, 4), "4"),
    ],
)
def test_sentences_of_saturated_tables(votes, want):
    row = DimensionRow(0, 0.0, None, None, 1.0, None, None)
    assert sentence(jury(votes)._replace(columns=6, rows=(row,)), 1.0) == want
