"""Tables with almost no noise, or hardly any rows: the answer is their rank, and nothing breaks."""

import numpy as np
import pytest

from lowdim.jobs.analysis import analyse
from lowdim.judge.dimensions.jury import choose_dimension
from lowdim.judge.stability import angle
from lowdim.report import report_html


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("noise", [1e-2, 1e-3, 1e-8, 0.0])
@pytest.mark.parametrize(("q", "n", "d"), [(1, 40, 4), (2, 100, 8)])
def test_a_table_of_low_rank_has_that_many_dimensions(gaps, noise, q, n, d) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + noise * rng.standard_normal((n, d))
    X[rng.random(X.shape) < gaps] = np.nan
    assert choose_dimension(X).q == q


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("power", range(2, 13))
def test_noise_of_any_size_below_a_rank_of_two(gaps, power) -> None:
    """Noise of 1e-5 was cut in two by the bound on eigenvalues, 1e-10 of the largest: rank 3 in one seed of three."""
    for seed in range(3 if power == 5 else 1):
        rng = np.random.default_rng([seed + (power == 5), 5])
        X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 10.0**-power * rng.standard_normal((200, 6))
        X[rng.random(X.shape) < gaps] = np.nan
        assert choose_dimension(X).q == 2


@pytest.mark.parametrize("power", [3, 4, 5, 6, 8])
@pytest.mark.parametrize(("n", "d"), [(20, 50), (60, 12)])
def test_other_shapes_of_a_rank_of_two(n, d, power) -> None:
    rng = np.random.default_rng([power, n])
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 10.0**-power * rng.standard_normal((n, d))
    assert choose_dimension(X).q == 2


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_an_exact_table_has_a_report() -> None:
    z = np.random.default_rng(0).standard_normal((40, 1))
    found = analyse(z * [1.0, 2.0, 3.0, 4.0])
    assert found.dims == 1
    assert "1 dimension" in report_html(found)


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_three_rows_are_enough_to_be_answered() -> None:
    assert analyse(np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [3.0, 5.0, 6.0]])).dims <= 2


def test_nothing_is_as_far_as_can_be() -> None:
    assert angle(np.eye(3, 1), np.zeros((3, 1))) == 90.0
