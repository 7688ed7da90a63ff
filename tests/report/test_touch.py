"""The row card inside a report: all rows of a small table exactly, the oddest of a larger one, none of a long one."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from lowdim.report import touch
from tests.report import pages


def numbers(part: dict) -> np.ndarray:
    kind = "f8" if "f8" in part else "f4"
    return np.frombuffer(base64.b64decode(part[kind]), dtype=f"<{kind}").reshape(part["shape"]).astype(float)


def test_a_small_table_is_there_to_the_bit():
    analysis = pages.small()
    facts = json.loads(touch.touch_data(analysis), parse_constant=pytest.fail)
    np.testing.assert_array_equal(numbers(facts["rows"]), analysis.table.X)
    assert facts["names"] == list(analysis.table.row_names) and facts["first"] == analysis.odd.rows[0].row
    assert "doubt" not in facts["model"]


def test_of_a_larger_table_the_oddest_rows_are(monkeypatch):
    analysis = pages.small()
    monkeypatch.setattr(touch, "EXACT_TOUCHED_CELLS", 0)
    monkeypatch.setattr(touch, "MOST_TOUCHED_CELLS", 10 * analysis.table.d)
    facts = json.loads(touch.touch_data(analysis))
    rows = np.sort(np.argsort(analysis.odd.p, kind="stable")[:10])
    assert facts["names"] == [analysis.table.row_names[i] for i in rows] and facts["of"] == analysis.table.n
    X = numbers(facts["rows"]) / numbers(facts["scale"]) + numbers(facts["shift"])
    np.testing.assert_allclose(X, analysis.table.X[rows], atol=1e-6 * np.nanstd(analysis.table.X))
    assert rows[facts["first"]] == analysis.odd.rows[0].row
    assert len(numbers(facts["places"])) == analysis.table.n


@pytest.mark.parametrize(("limit", "side"), [("MOST_TOUCHED_ROWS", "n"), ("MOST_TOUCHED_COLUMNS", "d")])
def test_a_long_or_wide_table_has_none(monkeypatch, limit, side):
    monkeypatch.setattr(touch, limit, getattr(pages.small().table, side) - 1)
    assert touch.touch_data(pages.small()) == ""
