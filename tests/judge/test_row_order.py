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


# Tables that are no series, shuffled by rows and by columns. The latter changes what is said of one, TitanicNA:
# how many rows have p < 0.05 hangs on where the climb of a mixed model ends, for many rows have the same p.
SHUFFLED = {
    "real_tables": (
        "TitanicNA", "airquality", "bfi", "biopsy", "cereal", "chemproc", "colic", "country", "mpg", "mtcars",
        "penguins", "planets", "snorena", "swiss", "titanic", "usarrests", "vnf", "votes",
    ),
    "fresh_tables": (
        "538_bobross", "538_drugs", "bk_elements", "cr_boys", "mx_blood_codes", "mx_cpus_dup", "rd_ais", "rd_bdims",
        "rd_cars93", "rd_college", "rd_florida", "rd_gait", "rd_heptathlon", "rd_hitters", "rd_irates", "rd_midwest",
        "rd_oils", "rd_olive", "rd_possum", "rd_usjudge", "rd_verre",
    ),
}  # fmt: skip
COLUMNS_FLIP = {"TitanicNA"}
FEW = ("airquality", "rd_florida")
CASES = [
    name if name in FEW else pytest.param(name, marks=pytest.mark.drill)
    for names in SHUFFLED.values()
    for name in names
]


def words(frame: pd.DataFrame) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """The sentences of a table, and what each column is for."""
    found = analysis_of(frame, Settings())
    return found.sentences, sorted((c.name, c.role) for c in found.table.columns)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_shuffled_tables_get_the_same_sentences(need, name):
    folder = next(folder for folder, names in SHUFFLED.items() if name in names)
    frame = pd.read_csv(need(folder) / f"{name}.csv", encoding_errors="replace")
    frame.insert(0, "which row", [f"row {k}." for k in range(len(frame))])
    rng, told = np.random.default_rng(0), words(frame)
    for _ in range(1 if name in FEW else 3):
        assert words(frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)) == told
    if name not in COLUMNS_FLIP:
        assert words(frame[["which row", *rng.permutation(frame.columns[1:])]]) == told


def test_rows_that_tie_in_their_ranks_are_put_in_order_by_their_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 3)).astype(float)
    mask, weight = rng.random(X.shape) < 0.8, rng.integers(1, 3, 60).astype(float)
    order, shuffled = row_order(X, mask, 0, weight), rng.permutation(60)
    again = shuffled[row_order(X[shuffled], mask[shuffled], 0, weight[shuffled])]
    for part in (np.where(mask, X, -1.0), mask, weight):
        assert np.array_equal(part[order], part[again])
    assert not np.array_equal(order, row_order(X, mask, 1, weight))
