"""The jury on tables whose number of dimensions is known, and on the digester."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.judge.dimensions.jury import DimensionRow, Jury, choose_dimension, most_possible
from lowdim.judge.dimensions.jury_table import jury_table
from lowdim.judge.dimensions.text import NOTHING_PREDICTS, in_words, sentence
from lowdim.text.format import times_as_likely
from tests.conftest import need
from tests.judge.simulated import noise, rank_two, seeds_gaussian, uneven, with_gaps


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
    assert found.sentence == "2 (more predict hidden cells no better)"
    assert {j.q for j in found.judges} == {2}


@pytest.mark.parametrize(
    ("seeds", "gaps"),
    [
        (5, 0.0),
        (3, 0.1),
        pytest.param(50, 0.0, marks=pytest.mark.drill),
        pytest.param(50, 0.1, marks=pytest.mark.drill),
    ],
)
def test_uneven_noise_does_not_add_dimensions(seeds, gaps):
    """One noise for all columns asks for 4 to 7 where the truth is 2."""
    found = [choose_dimension(with_gaps(uneven(s), gaps, s) if gaps else uneven(s)) for s in range(seeds)]
    assert sum(j.q == 2 for j in found) == seeds


def test_a_nearly_constant_column_breaks_nothing():
    X = np.column_stack([uneven(0), np.full(200, 0.5)])
    X[7, 8] = 1.0
    assert choose_dimension(X).q == 2


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("missmda/snorena.csv", 1, 3), ("factor_analysis/usarrests.csv", 1, 2), ("missing_small/airquality.csv", 1, 3)],
)
def test_small_real_tables(name, low, high):
    assert low <= choose_dimension(ld.read(str(need(name))).X).q <= high


def test_noise_in_many_columns_has_none():
    assert choose_dimension(noise(0, 60, 300)).q == 0


@pytest.mark.parametrize("gaps", [0.1, 0.3])
def test_gaps_do_not_hide_the_answer(gaps):
    assert choose_dimension(with_gaps(seeds_gaussian(0), gaps)).q == 3
    assert choose_dimension(with_gaps(noise(0, 300, 8), gaps)).q == 0


def test_digester():
    """Minka on the 44 complete rows and BIC name 5, parallel analysis 4, as the table's own study does."""
    found = choose_dimension(digester())
    assert (found.q, found.needed, found.detectable) == (5, 5, 5)
    assert found.sentence == "5 (hidden cells are predicted 99% as well as with more)"
    answers = {j.name: j.q for j in found.judges}
    assert answers == {"left-out rows": 5, "own units": 5, "parallel analysis": 4, "evidence": 5, "Minka": 5}
    assert found.rows[5].q2 == pytest.approx(0.42, abs=0.03) and found.rows[5].skill == pytest.approx(0.42, abs=0.03)
    assert [row.above_noise for row in found.rows[:6]] == [None] + [True] * 4 + [False]


def test_digester_in_words():
    text = choose_dimension(digester(), random_state=3).text()
    assert text.startswith(
        "Dimensions: 5 (hidden cells are predicted 98% as well as with more; 1 weaker one detectable)\n"
    )
    assert ">5    65%" in text and "<- needed" in text and "<- detectable" in text
    assert "Minka 5 (44 complete rows, 5 has 7" in text
    assert "5 beats 4 by" in text
    assert "65% of the variation is shared structure, 35% is column-by-column noise" in text
    assert "about 6.1 independent columns out of 10" in text


@pytest.mark.drill
def test_digester_whatever_the_seed():
    assert {choose_dimension(digester(), random_state=s).q for s in range(10)} <= {4, 5}


@pytest.mark.drill
def test_ten_thousand_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 5)) @ rng.standard_normal((5, 50)) + rng.standard_normal((10_000, 50))
    assert choose_dimension(with_gaps(X, 0.05)).q == 5


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
    found, plain = choose_dimension(X), choose_dimension(digester())
    assert found.sentence == plain.sentence
    np.testing.assert_allclose([r.q2 for r in found.rows], [r.q2 for r in plain.rows], atol=1e-6)


def test_exact_ranks():
    rng = np.random.default_rng(0)
    found = choose_dimension(rng.standard_normal((50, 2)) @ rng.standard_normal((2, 9)))
    assert (found.q, found.detectable, found.sentence) == (2, 2, "2")
    assert in_words(found) == "Your table has 2 dimensions, which leave no noise."
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
        {"folds": 1},
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
    assert found.q == 2 and found.rows[-1].q == 2
    assert "2 is the largest number tried" in found.notes[-1]


def test_weights_are_not_used_and_that_is_said():
    X = seeds_gaussian(0)
    with pytest.warns(ld.messages.TableWarning, match="LD231"):
        assert choose_dimension(ld.as_source(X, weight=np.linspace(1.0, 2.0, 300))).q == 3


@pytest.mark.slow
def test_large_tables_are_judged_on_drawn_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((140_000, 1)) @ np.ones((1, 8)) + rng.standard_normal((140_000, 8))
    found = choose_dimension(X, most=2)
    assert found.q == 1
    assert "judged on 32768 of 140000 rows" in found.notes[0]


def steps(seed: int = 0) -> np.ndarray:
    """Five columns whose directions have variances 16, 8, 4, 2, 1 by fours: no noise floor, no small summary."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    return (rng.standard_normal((2000, 5)) * np.array([16.0, 8.0, 4.0, 2.0, 1.0])) @ turn.T


def test_no_noise_floor_is_no_excuse():
    """Once "as many as 5 columns allow": two axes show 94 % of the variance and all that the columns share."""
    found = choose_dimension(steps(), standardize=False)
    assert found.q <= 2 and "share little" not in found.text() + in_words(found)


def test_no_more_factors_than_can_be_told():
    """The first number whose covariances are all there are: (d - q)^2 <= d + q; half the rows at most."""
    for d in range(2, 30):
        assert most_possible(noise_table(1000, d)) == int(np.ceil((2 * d + 1 - np.sqrt(8 * d + 1)) / 2))
    assert most_possible(noise_table(6, 20)) == 3 and most_possible(noise_table(3, 20)) == 1


def noise_table(n: int, d: int):
    return jury_table(noise(0, n, d), standardize=True, seed=0)


def far_cluster(seed: int, share: float) -> np.ndarray:
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 10)) + 0.5 * rng.standard_normal((200, 10))
    X[: int(200 * share)] = 15.0 * rng.standard_normal(10) + 0.5 * rng.standard_normal((int(200 * share), 10))
    return X


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_a_far_group_is_no_dimension_and_that_is_said(share):
    found = choose_dimension(far_cluster(0, share))
    assert found.q == 2
    assert found.notes[0].endswith("rows far from the bulk set aside while counting dimensions")


def test_the_answer_never_predicts_worse_than_every_judge():
    """In own units, with principal axes: tables with tails, gaps and columns of unlike noise."""
    rng = np.random.default_rng(5)
    for X in (digester(), np.exp(2.0 * uneven(3)), with_gaps(rng.standard_t(2, (80, 3)) @ rng.random((3, 9)), 0.1)):
        found = choose_dimension(X)
        q2 = [row.q2 for row in found.rows]
        others = [j.q for j in found.judges[1:] if j.q is not None and j.q < len(q2)]
        assert q2[found.q] >= min(q2[k] for k in others)


def test_an_answer_in_own_units_is_told_in_own_units():
    """Six rows in 300 share four rare answers: ranks hardly see them, principal axes do."""
    rng = np.random.default_rng(5)
    X = (rng.random((300, 20)) < 0.02).astype(float)
    X[rng.random(300) < 0.02, :4] = 1.0
    X = X[:, X.std(axis=0) > 0.0]
    found = choose_dimension(X)
    assert (found.judges[0].q, found.q, found.own_units) == (0, 1, True)
    q2 = [row.q2 for row in found.rows]
    assert found.skill == q2 and found.carried == min(q2[1] / max(q2), 1.0) > 0.5
    assert ", in their own units" in found.sentence and ", in their own units." in in_words(found)


def jury(q: int, detectable: int, *skill: float) -> Jury:
    rows = tuple(DimensionRow(k, 0.0, None, 0.0, None, None, s) for k, s in enumerate(skill))
    empty = np.zeros(0)
    return Jury(q, "", rows, (), (), empty, empty, None, (), 9, detectable)


@pytest.mark.parametrize(
    ("found", "short", "words"),
    [
        (
            jury(2, 5, 0.0, 0.5, 0.776, 0.8),
            "2 (hidden cells are predicted 97% as well as with more; 3 weaker ones detectable)",
            "Two dimensions are needed: hidden cells are predicted 97% as well as with more. "
            "Three weaker dimensions are detectable too.",
        ),
        (
            jury(1, 1, 0.0, 0.5, 0.4),
            "1 (more predict hidden cells no better)",
            "One dimension is needed: more predict hidden cells no better.",
        ),
        (
            jury(0, 0, 0.0, -0.1),
            "no shared structure found",
            f"No shared structure found: {NOTHING_PREDICTS}",
        ),
        (
            jury(1, 1, 0.0, 0.04, 0.03),
            "1 (more predict hidden cells no better)",
            "The columns share little: two axes predict only 4% of a cell's variance from the rest of its row. One "
            "dimension is needed: more predict hidden cells no better.",
        ),
        (
            jury(1, 1, 0.0, 0.06),
            "1 (more predict hidden cells no better)",
            "The columns share little: one axis predicts only 6% of a cell's variance from the rest of its row. One "
            "dimension is needed: more predict hidden cells no better.",
        ),
        (
            jury(13, 14, *np.linspace(0.0, 0.75, 15)),
            "13 (hidden cells are predicted 93% as well as with more; 1 weaker one detectable)",
            "13 dimensions are needed: hidden cells are predicted 93% as well as with more. "
            "One weaker dimension is detectable too.",
        ),
        (  # all but what rounds to nothing: a further one is detectable, so that two do not carry "all"
            jury(2, 4, 0.0, 0.5, 0.7985, 0.799, 0.8),
            "2 (hidden cells are predicted more than 99% as well as with more; 2 weaker ones detectable)",
            "Two dimensions are needed: hidden cells are predicted more than 99% as well as with more. "
            "Two weaker dimensions are detectable too.",
        ),
        (  # an answer in own units is told in own units: of the normal scores these have nothing
            jury(2, 2, 0.0, 0.01, -0.06)._replace(
                own_units=True,
                rows=tuple(
                    DimensionRow(k, 0.0, share, 0.0, None, None, 0.0) for k, share in enumerate((0.0, 0.3, 0.45, 0.5))
                ),
            ),
            "2 (hidden cells are predicted 90% as well as with more, in their own units)",
            "Two dimensions are needed: hidden cells are predicted 90% as well as with more, in their own units.",
        ),
    ],
)
def test_sentences(found, short, words):
    assert sentence(found) == short and in_words(found) == words


def test_smooth_spectra_with_hardly_any_noise_are_judged_like_any_table():
    """A hundred channels of one size, of which seven directions are beyond rounding: not seven that are needed."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 60)
    shapes = np.array([np.cos(k * np.pi * grid) for k in range(7)]) * (4.0 ** -np.arange(7))[:, None]
    spectra = rng.standard_normal((150, 7)) @ shapes + 5e-4 * rng.standard_normal((150, 60))
    verdict = choose_dimension(spectra)
    assert 1 <= verdict.q <= 3 and verdict.detectable >= 4


def test_evidence_says_how_many_times_as_likely():
    """Bayes factors in words: BIC's of factors, Minka's, and of clusters."""
    assert (
        times_as_likely(np.log(20.0)) == "20 times as likely" and times_as_likely(np.log(1.26)) == "1.3 times as likely"
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8)) + 0.3 * rng.standard_normal((200, 8))
    jury = ld.choose_dimension(X)
    evidence = next(j for j in jury.judges if j.name == "evidence")
    w = sorted((row.bic_weight for row in jury.rows), reverse=True)
    assert times_as_likely(float(np.log(w[0] / w[1]))) in evidence.detail
    groups = rng.standard_normal((90, 2)) + np.repeat([0.0, 8.0, 16.0], 30)[:, None]
    chosen = ld.choose_clusters(groups, "spherical", range(1, 5))
    lead = np.sort(chosen.log_evidence)[-1] - np.sort(chosen.log_evidence)[-2]
    assert times_as_likely(float(lead)) in chosen.sentence
