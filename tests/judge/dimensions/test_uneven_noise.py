"""Columns with a noise each: what one noise for all takes for dimensions."""

import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis

from lowdim.judge.dimensions.evidence import jury_table
from lowdim.judge.dimensions.jury import choose_dimension
from lowdim.judge.dimensions.uneven_noise import FITTED_CELLS, ask, factor_log_likelihood, most_factors, thinned
from tests.conftest import need
from tests.judge.simulated import noise, seeds_gaussian, uneven, with_gaps


def table(X: np.ndarray):
    return jury_table(X, standardize=True, seed=0)


@pytest.mark.parametrize("q", [0, 2, 3])
def test_the_likelihood_is_scikit_learns(q):
    """sklearn's EM stops short of the same maximum; it is above ours only where a noise falls below our bound (1)."""
    t = table(uneven(0))
    peer = FactorAnalysis(q, tol=1e-3, max_iter=5000, svd_method="lapack").fit(t.x) if q else None
    want = -0.5 * t.n * (np.log(2 * np.pi * t.x.var(axis=0)) + 1).sum() if peer is None else peer.score(t.x) * t.n
    assert want - 0.01 < factor_log_likelihood(t, q) < want + 1.0


def test_gaps_reach_what_a_full_table_does():
    """A gap in one cell of 1600 is worth a nat or two: EM and the closed form agree."""
    X = uneven(1)
    full = factor_log_likelihood(table(X), 2)
    X[0, 0] = np.nan
    assert factor_log_likelihood(table(X), 2) == pytest.approx(full, abs=5.0)


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
    """Without factor analysis 0 of 50 were right: 4 to 7 for a truth of 2."""
    found = [choose_dimension(with_gaps(uneven(s), gaps, s) if gaps else uneven(s)) for s in range(seeds)]
    assert sum(j.q == 2 for j in found) >= 0.94 * seeds
    assert all(j.votes.count(7) == 0 for j in found)
    assert any("one noise for all" in note for note in found[0].notes)
    said = {j.name: j for j in found[0].judges}
    assert said["Minka"].q is None or not said["Minka"].votes


def test_even_noise_is_left_alone():
    for X in (seeds_gaussian(0), noise(0)):
        assert not choose_dimension(X).notes
    assert ask(table(noise(0)), 0, standardized=True) is None
    assert ask(table(noise(0, 20, 30)), 3, standardized=True) is None  # fewer rows than columns


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("missmda/snorena.csv", 1, 1), ("factor_analysis/usarrests.csv", 1, 1), ("missing_small/airquality.csv", 1, 3)],
)
def test_real_tables(name, low, high):
    """Once 3 of 4, 3 of 4 and 'between 1 and 5' of 6 columns."""
    from lowdim import read

    found = choose_dimension(read(str(need(name))).X)
    assert low <= min(found.votes) and max(found.votes) <= high


def test_as_many_factors_as_can_be_told():
    """Ledermann's bound: (d - q)^2 >= d + q."""
    for d in range(3, 30):
        assert most_factors(d) == int((2 * d + 1 - np.sqrt(8 * d + 1)) / 2)


def test_large_tables_with_gaps_are_thinned():
    t = table(with_gaps(noise(0, 20_000, 8), 0.1))
    assert thinned(t).seen == pytest.approx(FITTED_CELLS, rel=0.02)
    assert thinned(table(noise(0, 200, 8))).n == 200


def test_a_nearly_constant_column_breaks_nothing():
    """Hiding its only other value would leave a column without variance (ecoli's chg)."""
    X = np.column_stack([uneven(0), np.full(200, 0.5)])
    X[7, 8] = 1.0
    found = choose_dimension(X)
    assert found.q == 2
    assert min(row.log_density for row in found.rows if row.log_density is not None) > -3.0
