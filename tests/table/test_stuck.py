"""Stretches in which a column that changes holds one value."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.table.checks import Stretch, stuck_stretches


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_stuck_sensor_is_noted_with_its_lines(rng, tmp_path):
    hours = np.arange(300) / 24.0 * 2.0 * np.pi
    warmth = 18.0 + 6.0 * np.sin(hours) + 0.5 * rng.standard_normal(300)
    humid = np.round(60.0 - 1.5 * (warmth - 18.0) + 2.0 * rng.standard_normal(300), 1)
    humid[100:140] = humid[99]
    path = tmp_path / "log.csv"
    np.savetxt(path, np.column_stack([warmth, humid]), "%.2f", ",", header="warmth,humid", comments="")
    (note,) = [m for m in ld.read(path).messages if m.code == "LD127"]
    assert note.what.startswith(f"Column 'humid' is {humid[99]:g} in 41 rows one after the other (lines 101 to 141)")


def test_two_stretches_of_one_column(rng):
    X = rng.standard_normal((400, 3))
    X[50:70, 2], X[300:330, 2] = 1.5, -2.0
    assert stuck_stretches(X) == [Stretch(2, 50, 70), Stretch(2, 300, 330)]


@pytest.mark.parametrize("kind", ["rain", "slow", "units", "answers", "sorted", "gaps"])
def test_columns_that_often_hold_a_value_are_not_stuck(kind, rng):
    n = 600
    x = {
        "rain": np.where(rng.random(n) < 0.6, 0.0, np.round(rng.exponential(5.0, n), 1)),
        "slow": np.round(np.cumsum(0.2 * rng.standard_normal(n))),
        "units": np.repeat(rng.standard_normal(n // 15), 15),
        "answers": rng.integers(1, 6, n).astype(float),
        "sorted": np.sort(rng.integers(0, 60, n)).astype(float),
        "gaps": np.where((np.arange(n) > 100) & (np.arange(n) < 140), np.nan, rng.standard_normal(n)),
    }[kind]
    assert stuck_stretches(x[:, None]) == []
