"""The mixed model of a table that was read: labels go in as labels, come back in fills, and new rows are read alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lowdim.engine.fold import Run
from lowdim.jobs.run_folder import facts_of_apply
from lowdim.jobs.run_tables import gap_table
from lowdim.judge.fills.calibration import map_calibration
from lowdim.judge.maps.table_map import table_map
from lowdim.judge.mixed_table import MixedTable, mixed_table, with_kinds
from lowdim.judge.outliers.law import law_of_later_rows
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.table.table import Table
from lowdim.text.format import listing
from lowdim.text.messages import error

JUDGED_ROWS = 20_000  # rows from which it is found what is ordinary; further ones say the same
NAMED_SPARED = 20  # columns that take no part, with the reason of each


def measured_and_labels(t: Table) -> MixedTable:
    """The columns that a mixed model of a table takes: all but those that were asked to stay labels."""
    return mixed_table(t, spared=t.options.get("label") or ())


def parse_likelihoods(given: Any) -> dict[str, str]:
    """The likelihoods of some columns: {"visits": "count"}, or as a command has them, visits:count,ldh:positive.

    >>> parse_likelihoods(("visits:count", "ldh:positive"))
    {'visits': 'count', 'ldh': 'positive'}
    """
    if isinstance(given, Mapping):
        return {str(name): str(kind) for name, kind in given.items()}
    pairs = [str(part).rpartition(":") for part in (given if isinstance(given, tuple | list) else (given,))]
    if not all(name and kind for name, _, kind in pairs):
        raise error(
            "LD210", option="likelihoods", value=given, allowed="COLUMN:KIND, such as visits:count,ldh:positive"
        )
    return {name: kind for name, _, kind in pairs}


def fit_mixed(
    t: Table, most: int, dims: int | str, seed: int, run: Run | None, options: Mapping[str, Any]
) -> tuple[MixedTable, Any]:
    """A table's measured columns and labels, and their mixed model; "auto" lets relevance decide, `most` at most.

    `options` are those of the model; its likelihoods are asked for by name, all others are found by reading.
    """
    mixed, asked = measured_and_labels(t), parse_likelihoods(options.get("likelihoods", {}))
    mixed = with_kinds(mixed, asked, t.logs)
    weights = sum(max(len(c.coded.labels) - 1, 1) for c in mixed.columns)
    how: dict[str, Any] = {} if run is None else {"run": run}
    how |= {} if t.weight is None else {"sample_weight": t.weight}
    kinds = tuple(  # labels may mark clusters
        "auto" if c.kind == "label" and c.name not in asked else c.kind for c in mixed.columns
    )
    own: dict[str, Any] = {"random_state": seed, **options, "likelihoods": kinds}
    if dims != "auto":
        return mixed, MixedFactorAnalysis(int(dims), **own).fit(mixed.source, **how)
    model = MixedFactorAnalysis(min(most, max(weights - 1, 1)), **{"ard": True, **own}).fit(mixed.source, **how)
    if model.n_components_ == 0:  # nothing is shared; a map has an axis all the same
        model = MixedFactorAnalysis(1, **{**own, "ard": False}).fit(mixed.source, **how)
    return mixed, model


def some_rows(X: Array) -> Array:
    """The rows from which it is found what is ordinary."""
    return X[evenly_spread(len(X), JUDGED_ROWS)]


def saved_mixed(model: Any, mixed: MixedTable, t: Table, level: float) -> tuple[str, dict[str, Any]]:
    """The gaps of a table as its mixed model fills them, as CSV; and what new rows need beside the model."""
    map, X = table_map(model, t.names, t.scales), mixed.source.values
    calibration = map_calibration(model, None, level=level, surprises=map.cells.widths(some_rows(X)))
    fills = gap_table(t.row_names, map.names, np.isnan(X), map.fills(X, calibration), map.gap_answers(X))
    return fills, facts_of_apply(law_of_later_rows(map.cells.own_law(some_rows(X))[0]), calibration)


def spared_words(t: Table, mixed: MixedTable) -> str:
    """The columns that take no part in a mixed model, each with the reason; nothing where all do."""
    taken = {c.position for c in mixed.columns}
    spared = [f"{c.name} ({c.why_aside})" for c in t.columns if c.position not in taken]
    return f"Columns that take no part: {listing(spared, NAMED_SPARED)}." if spared else ""
