"""The mixed model of a table that was read: labels go in as labels, come back in fills, and new rows are read alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run
from lowdim.jobs.apply import PlacedRows, place_read
from lowdim.jobs.run_folder import SavedRun, facts_of_apply, stored_calibration
from lowdim.jobs.run_tables import gap_table
from lowdim.judge.mixed.mixed_cells import GapAnswers
from lowdim.judge.mixed.mixed_map import numbers_of_columns
from lowdim.judge.mixed.named_map import named_map, number_names, number_scales, numbers_of_codes
from lowdim.judge.mixed_table import MixedTable, codes_of_ones, mixed_table, why_aside, with_kinds
from lowdim.judge.rows.bulk import law_of_later_rows
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.labelled_frames import CodedColumn
from lowdim.storage.model_file import load
from lowdim.table.read import NewTableRows, read_rows
from lowdim.table.table import Table
from lowdim.text.escape import protect_terminal
from lowdim.text.format import listing
from lowdim.text.labels import unseen_labels
from lowdim.text.messages import Message, error

NAMED_SPARED = 20  # columns that take no part, with the reason of each


class MixedRows(NamedTuple):
    """New rows as a mixed model takes them."""

    coded: tuple[CodedColumn, ...]
    rows: NewTableRows
    messages: tuple[Message, ...]  # about labels that the model has never seen
    strange: tuple[NDArray[np.intp], ...]  # of each column: the rows that have such a label


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


def saved_mixed(model: Any, mixed: MixedTable, t: Table, level: float) -> tuple[str, dict[str, Any]]:
    """The gaps of a table as its mixed model fills them, as CSV; and what new rows need beside the model."""
    named = named_map(model, mixed, t)
    calibration, map, X = named.calibration(level), named.map, named.X
    fills = gap_table(t.row_names, map.names, X, map.fills(X, calibration), map.gap_answers(X))
    return fills, facts_of_apply(law_of_later_rows(named.law), calibration)


def spared_words(t: Table, mixed: MixedTable) -> str:
    """The columns that take no part in a mixed model, each with the reason; nothing where all do."""
    taken = {c.position for c in mixed.columns}
    spared = [f"{c.name} ({why_aside(c)})" for c in t.columns if c.position not in taken]
    return f"Columns that take no part: {listing(spared, NAMED_SPARED)}." if spared else ""


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
    unseen = list[NDArray[np.intp]]()
    for name, own in labels.items():
        part = rows.X[:, at : at + max(len(own), 1)]
        at += part.shape[1]
        if not own:
            coded.append(CodedColumn(part[:, 0]))
            unseen.append(np.zeros(0, dtype=np.intp))
            continue
        codes, strange = codes_of_ones(part)
        unseen.append(strange)
        coded.append(CodedColumn(codes, own))
        if len(strange):
            notes.append(unseen_labels(name, _rows_by_label(rows, name, strange.tolist()), own))
    absent = tuple(dict.fromkeys(_column(name, labels) for name in rows.absent))
    return MixedRows(tuple(coded), rows._replace(absent=absent), tuple(notes), tuple(unseen))


def place_mixed(run: SavedRun, new: Any, *, odd_level: float = 0.95, **options: Any) -> PlacedRows:
    """New rows on the map of a run of a mixed model: positions, distances, and fills of labels by labels."""
    model = load(run.model_file)
    assert isinstance(model, MixedFactorAnalysis)
    read, names = read_mixed_rows(model, new, **options), number_names(model)
    rows = read.rows._replace(X=numbers_of_codes(read.coded, read.strange))
    known: dict[str, Any] = {"calibration": stored_calibration(run.facts, len(names)), "law": run.law_of_new_rows}
    known |= {"scales": number_scales(names, run.names, run.scales), "aside": run.aside, "odd_level": odd_level}
    found = place_read(model, names, rows, **known)
    return _without_strange(found, read, model)._replace(messages=(*found.messages, *read.messages))


def _without_strange(found: PlacedRows, read: MixedRows, model: MixedFactorAnalysis) -> PlacedRows:
    """The same without fills of labels that the model has never seen: they are no gaps, and stay as they are."""
    own = numbers_of_columns(model, found.columns)
    strange = {(int(i), name) for name, at in zip(model.feature_names_in_, read.strange, strict=True) for i in at}
    if not strange or found.answers is None:
        return found
    X, parts = found.X.copy(), found.answers._asdict()
    for js, at in zip(own, read.strange, strict=True):
        X[at[:, None], list(js)] = 0.0
    cells = zip(parts["row"], parts["column"], strict=True)
    kept = [k for k, cell in enumerate(cells) if cell not in strange]
    return found._replace(X=X, answers=GapAnswers(**{name: [own[k] for k in kept] for name, own in parts.items()}))


def _rows_by_label(rows: NewTableRows, name: str, some: list[int]) -> dict[str, list[str]]:
    """The names of some rows, by the label that each has."""
    found: dict[str, list[str]] = {}
    words = rows.labels.get(name)
    for i in some:  # a table that was read before has kept its zeros and ones only
        found.setdefault("another" if words is None else str(words[i]), []).append(rows.row_names[i])
    return found


def _column(name: str, labels: dict[str, tuple[Any, ...]]) -> str:
    """The column that one of its zeros and ones belongs to."""
    return next((own for own in labels if labels[own] and name.startswith(f"{own}=")), name)
