"""Numbers with their unit in every cell are numbers."""

import numpy as np
import pytest

import lowdim as ld


def table(tmp_path, cells):
    """A file with two columns of numbers and one of these cells."""
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{cell}" for (a, b), cell in zip(rng.standard_normal((len(cells), 2)), cells, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("unit", ["mg/L", "mm/h", "g/dL", "km", "°C", "µmol/L", "kg / m", "beats"])
def test_a_unit_after_every_number_is_taken_out_and_said(tmp_path, unit):
    values = np.random.default_rng(1).normal(50.0, 9.0, 30).round(1)
    t = ld.read(table(tmp_path, [f"{value} {unit}" for value in values]))
    assert t.names == ("a", "b", "c")
    np.testing.assert_array_equal(t.X[:, 2], values)
    (note,) = [m for m in t.messages if m.code == "LD118"]
    assert f'"{values[0]} {unit}"' in note.where


def test_limits_with_or_without_the_unit(tmp_path):
    cells = ["<0.5", "<0.5 mg/L", *(f"{k} mg/L" for k in range(1, 30)), ""]
    t = ld.read(table(tmp_path, cells), below_limit="half")
    np.testing.assert_array_equal(t.X[:3, 2], [0.25, 0.25, 1.0])
    assert np.isnan(t.X[-1, 2])


@pytest.mark.parametrize(
    "cells",
    [
        [f"{k} mg/L" if k % 2 else f"{k} g/L" for k in range(30)],  # two units
        [f"{k} mg/L" if k else "0" for k in range(30)],  # one without
        [f"{3 * (k % 4)} months" for k in range(30)],  # a few levels
        [f"{k}A" for k in range(30)],  # codes
        [f"{k} Main Street" for k in range(30)],
    ],
)
def test_what_is_no_unit_stays_a_label(tmp_path, cells):
    assert "c" not in ld.read(table(tmp_path, cells)).names
