"""Gaps that need no guess: a copy of the column says what stands there, or there is one label only."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim as ld


def twice_told(n: int = 120) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two numbers and an answer, each of two of them told twice, and a column of one label. Whole, and with gaps."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(n)
    x = np.round(z[:, None] + 0.5 * rng.standard_normal((n, 2)), 2)
    yes = z + 0.5 * rng.standard_normal(n) > 0
    whole = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "minus": 3 - 2 * x[:, 0]})
    whole["sure"], whole["sign"] = np.where(yes, "yes", "no"), np.where(yes, "+", "-")
    whole["unit"] = "cm"
    gaps = rng.random(whole.shape) < 0.12
    gaps[:40, 2] = gaps[:40, 2] | (rng.random(40) < 0.3)  # the copy has fewer cells, and is left out
    gaps[gaps[:, :3].all(axis=1), 1] = False
    return whole, whole.mask(gaps)


@pytest.fixture(scope="module")
def filled():
    whole, gappy = twice_told()
    return whole, gappy, ld.fill(gappy, engines="straight")


def test_a_frame_comes_back_with_what_its_copies_say(filled):
    whole, gappy, found = filled
    told = gappy["a"].isna() & gappy["minus"].notna()
    assert told.sum() > 3
    np.testing.assert_allclose(found.frame.loc[told, "a"], whole.loc[told, "a"], rtol=0, atol=1e-12)
    known = gappy["a"].notna()
    np.testing.assert_allclose(found.frame.loc[known, "minus"], whole.loc[known, "minus"], atol=1e-12)
    assert found.frame.notna().all(axis=None)
    np.testing.assert_allclose(found.frame["minus"], 3 - 2 * found.frame["a"], atol=1e-2)
    seen = gappy["sure"].notna() | gappy["sign"].notna()
    assert (found.frame.loc[seen, ["sure", "sign"]] == whole.loc[seen, ["sure", "sign"]]).all(axis=None)
    assert (found.frame["unit"] == "cm").all()


def test_what_a_copy_says_is_certain_in_intervals_and_draws(filled):
    _, gappy, found = filled
    told = np.flatnonzero(gappy["a"].isna() & gappy["minus"].notna())
    assert (found.lower[told, 0] == found.upper[told, 0]).all() and (found.sd[told, 0] == 0).all()
    assert (found.multiple(3)[:, told, 0] == found.filled[told, 0]).all()
    assert set(found.filled_by[told, 0]) == {"copy minus"}
    (copy,) = found.copies
    _, low, high = found.of_copy(copy)
    assert (low <= high).all() and (low < high).any()
    sign = next(c for c in found.labels if c.column == "sign")
    sure = next(c for c in found.labels if c.column == "sure")
    both = np.intersect1d(sign.rows, sure.rows)
    assert len(both) and (sign.drawn(0, 1).shape, sign.engine) == ((len(sign.rows),), "copy of sure")
    in_sign, in_sure = (np.isin(c.rows, both) for c in (sign, sure))
    yes = np.array(sure.labels)[sure.drawn(0, 1)[in_sure]] == "yes"
    assert (np.array(sign.labels)[sign.drawn(0, 1)[in_sign]] == np.where(yes, "+", "-")).all()


def test_the_words_say_what_is_a_copy(filled):
    text = filled[2].text()
    assert "by its copy minus" in text and "as sure, which says the same" in text and "its only label" in text
    assert "gaps filled as a says, of which it is a copy." in text


def test_every_column_that_takes_no_part_has_a_true_reason():
    n, rng = 300, np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, 2)), columns=["x", "y"])
    frame["town"] = [f"t{k}" for k in rng.integers(0, 90, n)]
    frame["remark"] = [f"remark {k}" for k in range(n - 1)] + ["remark 1"]
    frame["mark"], frame["none"] = np.where(rng.random(n) < 0.2, "x", None), None
    why = {c.name: c.why_aside for c in ld.read(frame).columns if c.role != "number"}
    assert why["town"].endswith("values, more than 50") and why["remark"] == "299 values in 300 cells"
    assert why["mark"] == "has one label only" and why["none"] == "empty"
