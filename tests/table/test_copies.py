"""What a column that was left out as a copy tells of the one that was kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.table.relations import copied_columns, find_functions, told_by_copies

SCALES = {
    "twice": lambda x: 2 * x + 1,
    "less": lambda x: 24 - x,
    "log": np.log,
    "squared": np.square,
    "inverse": lambda x: 1 / x,
}


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_a_function_goes_both_ways(scale):
    x = np.random.default_rng(0).uniform(1, 9, 80).round(2)
    (found,) = find_functions(np.column_stack([x, scale(x)]), ["x", "y"])
    np.testing.assert_allclose(found.copy.relation.of(x), scale(x), rtol=1e-9)
    np.testing.assert_array_equal(found.copy.relation.back(scale(x)), x)


def test_a_copy_tells_the_gaps_of_numbers_and_of_labels():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 3)).round(2)
    whole = pd.DataFrame(x, columns=["a", "b", "c"]).assign(again=x[:, 0], sex=np.where(x[:, 1] > 0, "f", "m"))
    whole["gender"] = np.where(x[:, 1] > 0, "woman", "man")
    frame = whole.copy()
    frame.loc[[4, 7], "a"] = frame.loc[[7, 8, 9], "again"] = np.nan
    frame.loc[[3, 5], "sex"] = frame.loc[[5, 6, 8], "gender"] = None
    table = ld.read(frame)
    assert [(pair.column.name, pair.kept.name) for pair in copied_columns(table)] == [("again", "a"), ("gender", "sex")]
    told = told_by_copies(table)
    assert told.X[4, 0] == whole.loc[4, "a"] and np.isnan(told.X[7, 0]) and np.isnan(table.X[4, 0])
    assert told.labels["sex"][3] == whole.loc[3, "sex"] and told.labels["sex"][5] is None
