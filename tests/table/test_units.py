"""Numbers with their unit in every cell are numbers."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.table.read import read_rows
from lowdim.text.messages import LowdimError


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


def test_the_unit_is_taken_out_at_the_end_alone(tmp_path):
    values = np.random.default_rng(2).normal(50.0, 9.0, 30).round(1)
    cells = ["1.2e1 e", *(f"{value} e" for value in values)]
    np.testing.assert_array_equal(ld.read(table(tmp_path, cells)).X[:, 2], [12.0, *values])


def test_a_known_unit_needs_neither_many_cells_nor_all_of_them(tmp_path):
    cells = ["5.1 mg/L", "6", "", "<0.5 mg/L"]
    rows = read_rows(table(tmp_path, cells), ("a", "b", "c"), units={"c": "mg/L"}, below_limit="half")
    np.testing.assert_array_equal(rows.X[:, 2], [5.1, 6.0, np.nan, 0.25])


@pytest.mark.parametrize("count", [3, 40])
def test_another_unit_than_the_known_one_is_refused_with_both(tmp_path, count):
    new = table(tmp_path, [f"{k}.5 g/L" for k in range(count)])
    with pytest.raises(LowdimError, match="LD104") as refused:
        read_rows(new, ("a", "b", "c"), units={"c": "mg/L"})
    assert '"mg/L"' in str(refused.value) and '"0.5 g/L"' in str(refused.value)


def test_one_cell_in_another_unit_is_refused(tmp_path):
    new = table(tmp_path, [*(f"{k} mg/L" for k in range(30)), "7 g/L"])
    with pytest.raises(LowdimError, match="LD111") as refused:
        read_rows(new, ("a", "b", "c"), units={"c": "mg/L"})
    assert '"7 g/L"' in str(refused.value)


def test_units_are_a_dict(tmp_path):
    with pytest.raises(LowdimError, match="LD210"):
        ld.read(table(tmp_path, ["1", "2", "3"]), units="mg/L")
