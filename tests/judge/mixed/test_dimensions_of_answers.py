"""How many dimensions a table of answers has: the judges of codes find those that the answers were drawn with."""

import numpy as np
import pandas as pd
import pytest

from lowdim import read
from lowdim.judge.dimensions.jury import choose_dimension
from lowdim.judge.maps.fit_map import is_mixed
from lowdim.judge.read_table import quantified


def answers(q, seed, n=400):
    """Ten yes/no answers and ten items of five levels."""
    rng = np.random.default_rng(seed)
    eta = rng.standard_normal((n, q)) @ rng.normal(0, 1.2, (q, 20)) + rng.logistic(size=(n, 20))
    levels = [eta[:, j] > 0 if j % 2 else np.digitize(eta[:, j], [-2, -0.5, 0.5, 2]) for j in range(20)]
    return read(pd.DataFrame({f"c{j}": x + 0 for j, x in enumerate(levels)}))


@pytest.mark.parametrize(("q", "seed"), [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
def test_the_dimensions_of_answers_are_found(q, seed):
    table = answers(q, seed)
    assert is_mixed(table) and choose_dimension(quantified(table), standardize=True).needed == q
