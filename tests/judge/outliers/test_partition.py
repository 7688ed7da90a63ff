"""One partition of the rows: a far group is told once, as a group; tables without one say nothing."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.jobs.analysis import Analysis, Settings, analysis_of
from lowdim.judge.outliers.partition import ALL_BULK, far_partition

NAMES = ("flow", "temp", "press", "ph", "load", "cond", "age")
OFFSET = np.array([7.0, 6.0, 0.0, 5.0, -6.0, 0.0, 4.0])


def far_table(far: int, seed: int, n: int = 150) -> pd.DataFrame:
    """Two dimensions of seven columns; the first rows lie together, far from all others."""
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 7)) + 0.5 * rng.standard_normal((n, 7))
    X[:far] = 0.4 * X[:far] + rng.choice([-1.0, 1.0], 7) * OFFSET
    return pd.DataFrame(X.round(3), columns=NAMES)


def tellings(found: Analysis, far: int) -> int:
    """How often the sentences tell of so many rows that they are together, apart or a group."""
    text = " ".join(found.sentences)
    told = re.findall(rf"\b{far} rows\)|all of them together|\b{far} of (?:them|these rows)|\b{far} rows make", text)
    return len(told)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2, 0.24, 0.3, 0.4])
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 5, 6))])
def test_a_far_group_is_told_once(share, seed):
    far = round(share * 150)
    found = ld.analyse(far_table(far, seed), budget="1s")
    partition, rows = found.partition, np.arange(far)
    assert tellings(found, far) == 1, found.sentences
    assert not set(partition.far_rows) & {k for group in partition.groups for k in group}
    if share < 0.05:  # few rows, told one by one
        assert found.odd.odd[rows].all() and not partition.groups and found.groups.sizes == (150,)
        return
    assert not found.odd.odd[rows].any() and found.groups.sizes == (150 - far, far)
    assert np.array_equal(np.flatnonzero(found.groups.label == 1), rows)
    assert not set(partition.far_rows) & set(rows.tolist())
    apart = share <= 0.25  # more are a part of the table as the others are, and of the map
    assert [group.tolist() for group in partition.groups] == ([rows.tolist()] if apart else [])
    assert found.groups.unfitted == ((1,) if apart else ()) and (found.dims == 2 or not apart)
    assert ("the map is fitted without group 2" in found.said["groups"]) == apart


@pytest.mark.slow
def test_tables_without_far_rows_say_nothing():
    for seed in range(60):
        found = analysis_of(far_table(0, seed), Settings(budget=1.0))
        assert not found.partition.groups and found.groups.sentence == "" and not found.odd.groups, seed
        assert not len(found.partition.far_rows) and found.odd.judged.grouped.sum() == 0, seed


def test_the_model_and_the_dimensions_are_those_of_the_bulk():
    frame = far_table(24, 3)
    found, bulk = ld.analyse(frame, budget="1s"), ld.analyse(frame[24:], budget="1s")
    spans = [np.linalg.qr(analysis.model.components_.T)[0] for analysis in (found, bulk)]
    assert found.dims == bulk.dims == 2 and np.linalg.svd(spans[0].T @ spans[1])[1].min() > np.cos(np.radians(5))
    assert any("24 rows of groups apart" in note for note in found.jury.notes)
    assert "24 rows apart from the others are a group, not odd" in ld.odd_rows(frame).sentence


def test_far_rows_are_parted_into_groups_and_single_ones():
    far = np.zeros(100, dtype=bool)
    far[:12] = True
    cells = np.zeros((100, 3), dtype=bool)
    cells[0, 1] = cells[50, 2] = True
    found = far_partition("screened", cells, far, [np.arange(6), np.array([7, 8, 9])], np.ones(100))
    assert [group.tolist() for group in found.groups] == [list(range(6))] and found.far_rows.tolist() == list(
        range(6, 12)
    )
    assert found.wrong_cells.tolist() == [[50, 2]] and found.outside.tolist() == list(range(12))
    assert found.sentence == "1 cell and 6 rows are left out of the fit."
    assert found.group_mask(100).sum() == 6 and found.outside_mask(100).sum() == 12 and found.cell_mask(100, 3)[50, 2]
    assert ALL_BULK.sentence == "" and not len(ALL_BULK.outside)
    assert (
        found._replace(choice="student").sentence == "Nothing is left out of the fit; far rows have less weight in it."
    )
