"""To a model and back, and what values a column can have."""

from __future__ import annotations

import numpy as np

from lowdim.judge.fills.fills import fill
from lowdim.table.kinds.scales import ColumnScales
from lowdim.table.read import read
from tests.conftest import need

NONE = np.zeros(3, dtype=bool)


def test_inward_and_outward_are_inverse():
    scales = ColumnScales(np.array([True, True, False]), np.array([0.0, 2.0, 0.0]), ((), (), ()), NONE, np.zeros(3))
    X = np.array([[1e-3, 0.0, -4.0], [1e9, np.nan, 0.0]])
    np.testing.assert_allclose(scales.outward(scales.inward(X)), X, rtol=1e-14)
    assert np.isnan(scales.inward(np.array([[-1.0, -2.0, -3.0]]))[0, :2]).all()
    plain = scales._replace(log=NONE)
    assert plain.inward(X) is X and plain.outward(X) is X


def test_values_that_columns_can_have():
    scales = ColumnScales(
        NONE, np.zeros(3), ((1.0, 2.0, 4.0), (), ()), np.array([False, True, False]), np.array([1.0, 0, -np.inf])
    )
    X = np.array([[0.2, 1.4, -0.5], [2.9, -3.0, 2.5], [3.1, 2.6, 9.0]])
    assert scales.possible(X).tolist() == [[1, 1, -0.5], [2, 0, 2.5], [4, 3, 9]]
    assert scales.possible(X, "down").tolist() == [[1, 1, -0.5], [2, 0, 2.5], [2, 2, 9]]
    assert scales.possible(X, "up").tolist() == [[1, 2, -0.5], [4, 0, 2.5], [4, 3, 9]]


def test_fills_are_values_that_the_column_can_have():
    table = read(need("real_tables/vnf.csv"))
    fills = fill(table)
    for j in range(table.d):
        seen = set(table.X[~fills.is_filled[:, j], j])
        for part in (fills.filled, fills.lower, fills.upper, *fills.multiple(2)):
            assert set(part[:, j]) <= seen
    assert (fills.lower <= fills.filled).all() and (fills.filled <= fills.upper).all()
    assert not np.isin(fills.modelled[fills.is_filled], [1.0, 2.0, 3.0]).all()
