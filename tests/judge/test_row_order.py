"""The order in which rows came says nothing: the same partition, dimensions and groups of shuffled tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lowdim.jobs.analysis import Settings, analysis_of
from lowdim.judge.row_order import row_order

TABLES = ("cereal", "biopsy", "airquality", "swiss", "usarrests", "mpg")


def facts(frame: pd.DataFrame, came: np.ndarray) -> dict[str, object]:
    """What an analysis says of the rows, each by its place in the unshuffled table."""
    found = analysis_of(frame, Settings())
    partition, label = found.partition, np.empty(len(came), dtype=int)
    label[came] = found.groups.label
    return {
        "logarithms": found.table.logs,
        "dimensions": (found.jury.q, found.jury.detectable, found.dims),
        "choice": partition.choice,
        "far rows": sorted(came[partition.far_rows].tolist()),
        "wrong cells": sorted((int(came[i]), int(j)) for i, j in partition.wrong_cells),
        "apart": [sorted(came[group].tolist()) for group in partition.groups],
        "groups": label.tolist(),
    }


@pytest.mark.parametrize(
    "name", [name if name == "cereal" else pytest.param(name, marks=pytest.mark.slow) for name in TABLES]
)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_shuffled_rows_get_the_same_answer(need, name):
    frame = pd.read_csv(need("real_tables") / f"{name}.csv")
    as_it_came = facts(frame, np.arange(len(frame)))
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(len(frame))
        assert facts(frame.iloc[order].reset_index(drop=True), order) == as_it_came


def test_rows_that_tie_in_their_ranks_are_put_in_order_by_their_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 3)).astype(float)
    mask, weight = rng.random(X.shape) < 0.8, rng.integers(1, 3, 60).astype(float)
    order, shuffled = row_order(X, mask, 0, weight), rng.permutation(60)
    again = shuffled[row_order(X[shuffled], mask[shuffled], 0, weight[shuffled])]
    for part in (np.where(mask, X, -1.0), mask, weight):
        assert np.array_equal(part[order], part[again])
    assert not np.array_equal(order, row_order(X, mask, 1, weight))
