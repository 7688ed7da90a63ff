"""The mixed model of a table that was read: labels go in as labels, come back in fills, and new rows are read alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import Run
from lowdim.judge.mixed_table import MixedTable, codes_of_ones, mixed_table, why_aside
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.coded import CodedColumn, CodedSource
from lowdim.table.read import NewTableRows, read_rows
from lowdim.table.table import Table
from lowdim.text.csv_table import csv_table
from lowdim.text.escape import protect_terminal
from lowdim.text.format import listing
from lowdim.text.messages import Message, message

NAMED_SPARED = 20  # columns that take no part, with the reason of each


class MixedRows(NamedTuple):
    """New rows as a mixed model takes them."""

    source: CodedSource
    rows: NewTableRows
    messages: tuple[Message, ...]  # about labels that the model has never seen


def measured_and_labels(t: Table) -> MixedTable:
    """The columns that a mixed model of a table takes: all but those that were asked to stay labels."""
    return mixed_table(t, spared=t.options.get("label") or ())


def fit_mixed(t: Table, most: int, dims: int | str, seed: int, run: Run | None) -> tuple[MixedTable, Any]:
    """A table's measured columns and labels, and their mixed model; "auto" lets relevance decide, `most` at most."""
    mixed = measured_and_labels(t)
    weights = sum(max(len(c.coded.labels) - 1, 1) for c in mixed.columns)
    how: dict[str, Any] = {} if run is None else {"run": run}
    how |= {} if t.weight is None else {"sample_weight": t.weight}
    kinds = tuple("auto" if kind == "label" else kind for kind in mixed.kinds)  # they may mark clusters
    options: dict[str, Any] = {"likelihoods": kinds, "random_state": seed}
    if dims != "auto":
        return mixed, MixedFactorAnalysis(int(dims), **options).fit(mixed.source, **how)
    model = MixedFactorAnalysis(min(most, max(weights - 1, 1)), ard=True, **options).fit(mixed.source, **how)
    if model.n_components_ == 0:  # nothing is shared; a map has an axis all the same
        model = MixedFactorAnalysis(1, **options).fit(mixed.source, **how)
    return mixed, model


def spared_words(t: Table, mixed: MixedTable) -> str:
    """The columns that take no part in a mixed model, each with the reason; nothing where all do."""
    taken = {c.position for c in mixed.columns}
    spared = [f"{c.name} ({why_aside(c)})" for c in t.columns if c.position not in taken]
    return f"Columns that take no part: {listing(spared, NAMED_SPARED)}." if spared else ""


def fills_of_mixed(model: Any, mixed: MixedTable, row_names: tuple[str, ...]) -> str:
    """One line a gap, as CSV: its fill, of a column of levels the probability of that fill, of a number its sd."""
    source = mixed.source
    filled, sd = (np.asarray(part) for part in model.impute(source, return_std=True))
    shares = model.probabilities(source)
    lines: list[list[Any]] = []
    for j, (c, levels) in enumerate(zip(mixed.columns, model.levels_, strict=True)):
        for i in c.gaps.tolist():
            own = c.coded.labels[int(filled[i, j])] if c.coded.labels else float(filled[i, j])
            if c.name in shares:
                lines.append([row_names[i], c.name, own, float(shares[c.name][i, levels.index(own)]), ""])
            else:
                lines.append([row_names[i], c.name, own, "", float(sd[i, j])])
    return csv_table(["row", "column", "fill", "probability", "sd"], lines)


def read_mixed_rows(model: Any, new: Any, **options: Any) -> MixedRows:
    """New rows by the names of a mixed model's columns; labels that it has not seen are gaps, and said to be."""
    labels = dict(zip(model.feature_names_in_.tolist(), model.labels_, strict=True))
    wanted = [
        part
        for name, own in labels.items()
        for part in ((protect_terminal(f"{name}={label}") for label in own) if own else (name,))
    ]
    encode = tuple(name for name, own in labels.items() if own)
    rows = read_rows(new, tuple(wanted), **{**options, "encode": encode})
    coded, notes, at = list[CodedColumn](), list[Message](), 0
    for name, own in labels.items():
        part = rows.X[:, at : at + max(len(own), 1)]
        at += part.shape[1]
        if not own:
            coded.append(CodedColumn(part[:, 0]))
            continue
        codes, strange = codes_of_ones(part)
        coded.append(CodedColumn(codes, own))
        many = len(strange)
        if many:
            notes.append(message("LD504", column=name, labels=f"in {many} cell{'s' * (many > 1)}"))
    absent = tuple(dict.fromkeys(_column(name, labels) for name in rows.absent))
    return MixedRows(CodedSource(coded, tuple(labels)), rows._replace(absent=absent), tuple(notes))


def _column(name: str, labels: dict[str, tuple[Any, ...]]) -> str:
    """The column that one of its zeros and ones belongs to."""
    return next((own for own in labels if labels[own] and name.startswith(f"{own}=")), name)
