"""To a model and back, and what values a column can have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lowdim.judge.fills.fill import fill
from lowdim.table.column import ColumnScales, limit_lists, log_scales
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


@pytest.mark.slow
def test_fills_are_values_that_the_column_can_have():
    table = read(need("real_tables/vnf.csv"))
    fills = fill(table)
    for j in range(table.d):
        seen = set(table.X[~fills.is_filled[:, j], j])
        for part in (fills.filled, fills.lower, fills.upper, *fills.multiple(2)):
            assert set(part[:, j]) <= seen
    assert (fills.lower <= fills.filled).all() and (fills.filled <= fills.upper).all()
    assert not np.isin(fills.modelled[fills.is_filled], [1.0, 2.0, 3.0]).all()


def test_no_column_goes_far_beyond_the_values_seen():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "any": np.linspace(-1.0, 3.0, 40),
            "positive": np.linspace(1.0, 5.0, 40),
            "skew": np.geomspace(0.5, 2048.0, 40),
            "wind_dir": np.append(rng.uniform(0, 350, 39), 360.0),
            "pct_rain": np.linspace(0.5, 80.0, 40),
        }
    )
    scales = read(frame, log="skew", use="any,positive,skew,wind_dir,pct_rain").scales
    low, high = scales.within(np.array([[-1e9] * 5, [1e9] * 5])).tolist()
    assert low == pytest.approx([-3.0, 0.0, 0.25, 0.0, 0.0])
    assert high == pytest.approx([5.0, 7.0, 2048 + 0.5 * 2047.5, 360.0, 100.0])


def test_of_few_values_no_range_is_known():
    scales = read(pd.DataFrame({"a": [1.0, 2.5, 4.0, 3.0], "b": [0.5, 2.0, 2.2, 2.3]})).scales
    assert scales.within(np.array([[1e6, -1e6]])).tolist() == [[1e6, 0.0]]


def test_what_is_told_of_a_logarithm_stays_within_its_limits():
    scales = log_scales(("a", "b"), {"a": 1.0}, [[0.0, None], [100.0, 5.0]])
    assert scales is not None
    value, expected, sd, limit = scales.told(0, np.log(62.7), np.log(1e9), 2.0)
    assert (value, expected, limit) == (61.7, 100.0, 1) and sd == pytest.approx((100 - (101 * np.exp(-2) - 1)) / 2)
    assert scales.told(1, 2.0, -70.0, 1.5) == (2.0, -70.0, 1.5, 0) and scales.told(1, 2.0, 9.0, 1.5) == (
        2.0,
        5.0,
        1.5,
        1,
    )
    assert log_scales(("a", "b"), {"a": 1.0}, limit_lists(scales)).most.tolist() == [100.0, 5.0]


@pytest.mark.slow
def test_fills_and_their_ends_stay_near_the_values_seen():
    """Where the other columns are beyond any experience, a fill and its interval are not."""
    rng = np.random.default_rng(1)
    size = rng.normal(0, 1.5, 150)
    frame = pd.DataFrame({name: np.exp(size + rng.normal(0, 0.3, 150)) for name in ("mass", "area", "price")})
    frame.loc[3] = [1e7, 1e7, np.nan]
    table = read(frame, log="mass,area,price")
    fills, most = fill(table), 1.5 * frame["price"].max()
    assert frame["price"].max() < fills.filled[3, 2] <= fills.upper[3, 2] <= most and fills.outside[3, 2] == 1
    assert (
        fills.lower[3, 2] < fills.filled[3, 2]
        and 0.0 < fills.sd[3, 2] < most
        and (fills.multiple(3)[:, 3, 2] <= most).all()
    )
