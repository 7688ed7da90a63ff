"""The chance of a group for each row: against sums over places, and what gaps leave of it."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lowdim.judge.maps.group_law import GroupLaw, group_law
from lowdim.models.base.results import Posterior, standard

LAW = GroupLaw(
    np.array([0, 1, 0]),
    np.array([0.5, 0.3, 0.2]),
    np.array([[-1.0, 0.0], [1.5, 0.5], [0.0, -2.0]]),
    np.array([[[0.4, 0.1], [0.1, 0.3]], [[0.2, 0.0], [0.0, 0.5]], [[0.3, -0.1], [-0.1, 0.2]]]),
)


def places(S: np.ndarray, mean: np.ndarray) -> Posterior:
    """Places whose covariances are all S."""
    return Posterior(mean, np.tile(S[np.tril_indices(len(S))], (len(mean), 1)), np.zeros(len(mean)))


@pytest.mark.parametrize("sd", [0.05, 0.5, 0.95])
def test_chances_are_bayes_rule_summed_over_a_grid(sd):
    """Of a row's cells the place is told by N(z; e, S) / N(z; 0, I): the chance of a group is the sum of that times
    its density."""
    S = np.array([[sd**2, 0.2 * sd**2], [0.2 * sd**2, 0.8 * sd**2]])
    side = np.linspace(-6, 6, 401)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for e in ([0.3, 0.2], [-0.5, -0.8]):
        told = multivariate_normal(e, S).logpdf(grid) + 0.5 * (grid**2).sum(axis=1)
        parts = [w * multivariate_normal(m, T).pdf(grid) for w, m, T in zip(*LAW[1:], strict=True)]
        sums = np.array([(np.exp(told - told.max()) * part).sum() for part in parts])
        expected = np.array([sums[0] + sums[2], sums[1]]) / sums.sum()
        assert LAW.chances(places(S, np.array([e])))[0] == pytest.approx(expected, abs=2e-4)


def test_a_row_without_cells_is_of_each_group_by_its_share():
    assert LAW.chances(standard(2, 2)) == pytest.approx(np.tile([0.7, 0.3], (2, 1)))


def test_the_law_of_rows_with_gaps_is_that_of_their_places():
    """Places known with an error of which each row has its own: the means and spreads found are those drawn."""
    rng = np.random.default_rng(0)
    n = 6000
    group = np.arange(n) % 2
    z = np.array([[-1.0, 0.0], [1.0, 0.3]])[group] + rng.standard_normal((n, 2)) * [0.3, 0.8]
    noise = rng.choice([0.05, 0.4], n)  # of the cells about the place
    S = noise / (1.0 + noise)  # of a place with prior N(0, 1) after cells of this noise
    e = (z + np.sqrt(noise)[:, None] * rng.standard_normal((n, 2))) * (1.0 - S)[:, None]
    law = group_law(Posterior(e, S[:, None] * [1.0, 0.0, 1.0], np.zeros(n)), group, np.arange(2), 5)
    assert law.mean == pytest.approx(np.array([[-1.0, 0.0], [1.0, 0.3]]), abs=0.04)
    assert law.cov == pytest.approx(np.tile(np.diag([0.09, 0.64]), (2, 1, 1)), abs=0.03)
    assert law.weight.tolist() == [0.5, 0.5]
