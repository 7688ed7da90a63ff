"""Models that are told more than numbers: pairs of rows, classes, two views, labels; and what they find, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run
from lowdim.jobs.run_folder import facts_of_apply
from lowdim.jobs.run_tables import gap_table
from lowdim.judge.fills.calibration import map_calibration
from lowdim.judge.mixed_table import MixedTable, mixed_table, with_kinds
from lowdim.judge.outliers.law import law_of_later_rows
from lowdim.judge.read_table import source_of
from lowdim.judge.rows.odd_rows import judge_rows
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.models.linear.factor_table import factor_table
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.models.projections.cca import CCA
from lowdim.models.projections.linear_discriminant import LinearDiscriminant
from lowdim.registry import ModelEntry
from lowdim.sources.arrays import ArraySource
from lowdim.sources.views import Chosen
from lowdim.table.table import Table
from lowdim.table.whole_table import mirrored
from lowdim.text.format import count, listing
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.judge.maps.table_map import TableMap
    from lowdim.judge.rows.odd_rows import OddRows

LEVEL = 0.05  # of Wilks' test, by which the number of shared axes is chosen
FOLDS = 5  # parts that are left out in turn to see whether classes are told apart
NAMED_COLUMNS = 3  # columns of each view that a sentence names
JUDGED_ROWS = 20_000  # rows from which it is found what is ordinary; further ones say the same
NAMED_SPARED = 20  # columns that take no part, with the reason of each
Views = Mapping[str, Sequence[str]]


class Classes(NamedTuple):
    """The rows whose class is known, and what it is."""

    column: str
    rows: NDArray[np.intp]
    y: NDArray[Any]


# pairs of rows ------------------------------------------------------------------------------------------
def pair_options(method: ModelEntry, table: Table) -> dict[str, Any]:
    """The options with which a method takes distances or similarities; those that take none are refused."""
    for pairs, option, value in method.pairs:
        if pairs == table.holds:
            return {option: value}
    source_of(table)  # says what it is, and how to map it
    return {}


def pair_source(table: Table) -> ArraySource:
    """The pairs as a model takes them: of distances, a half that is missing is the other."""
    X = mirrored(table.X) if table.holds == "distances" else np.where(np.isnan(table.X), table.X.T, table.X)
    return ArraySource(X, columns=table.names)


# classes ------------------------------------------------------------------------------------------------
def classes_of_table(table: Table, label: str | None) -> Classes:
    """The classes in a label column: the one that is named, or the only one there is."""
    labels = table.labels
    asked = label or (next(iter(labels)) if len(labels) == 1 else None)
    if asked is None or asked not in labels:
        have = f"its label columns are {listing(list(labels), 12)}" if labels else "it has no label column"
        problem = "no column is named" if label is None else f"'{label}' is no label column of it"
        raise error("LD286", table.path, case="table", problem=f"{problem}; {have}")
    known = [value is not None for value in labels[asked]]
    rows = np.flatnonzero(known)
    y = np.array([str(value) for value in labels[asked][rows]], dtype=object)
    sizes = {name: int((y == name).sum()) for name in sorted(set(y))}
    if len(sizes) < 2:
        raise error("LD286", table.path, case="table", problem=f"'{asked}' has {count(len(sizes), 'class', 'classes')}")
    return Classes(asked, rows, y)


def told_apart(model: LinearDiscriminant, X: Array, classes: Classes, names: tuple[str, ...]) -> str:
    """How often rows that were left out are given the class they have, beside the largest class."""
    from sklearn.model_selection import StratifiedKFold

    y, right = classes.y, 0
    sizes = {name: int((y == name).sum()) for name in model.classes_}
    words = f"Classes of '{classes.column}': " + ", ".join(f"{name} ({n})" for name, n in sizes.items()) + "."
    if min(sizes.values()) < FOLDS:
        return f"{words} Too few rows of a class to say how well they are told apart."
    for fitted, left in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        part = type(model)(**model.get_params()).fit(ArraySource(X[fitted], columns=names), y[fitted])
        right += int((part.predict(ArraySource(X[left], columns=names)) == y[left]).sum())
    largest = max(sizes.values()) / len(y)
    return (
        f"{words}\nOf the rows left out, a fifth at a time, {right / len(y):.0%} get their class "
        f"(the largest class alone: {largest:.0%})."
    )


# two views ----------------------------------------------------------------------------------------------
def parse_views(text: str, table: Table) -> dict[str, tuple[str, ...]]:
    """Two views from `a:1-12,b:13-40`: columns by their place in the file or by name, commas between.

    A name is taken as a name even where it holds a colon, a dash or is a number. Places in a range that are no
    measurements (a name of rows, a label) are passed over; they were said on reading.
    """
    views: dict[str, list[str]] = {}
    places = {c.position: c for c in table.columns}
    for word in (part.strip() for part in text.split(",")):
        view, colon, rest = word.partition(":")
        if colon and word not in table.names:
            word = rest.strip()
            if view in views:
                raise error("LD280", case="table", problem=f"the view '{view}' is begun twice in --views {text}")
            views[view] = []
        if not views:
            raise error("LD280", case="table", problem=f"--views {text} does not begin with a name and a colon")
        views[list(views)[-1]] += _columns(word, table, places)
    return checked_views({view: tuple(dict.fromkeys(names)) for view, names in views.items()})


def _columns(word: str, table: Table, places: dict[int, Any]) -> list[str]:
    if word in table.names:
        return [word]
    first, dash, last = word.partition("-")
    ends = (first, last if dash else first)
    if not all(end.strip().isdigit() for end in ends):
        raise error("LD280", case="table", problem=f"'{word}' is no column of numbers, nor places such as 3 or 1-12")
    low, high = (int(end) for end in ends)
    if not 1 <= low <= high <= max(places):
        raise error("LD280", case="table", problem=f"'{word}': columns are counted from 1 to {max(places)}")
    return [places[k].name for k in range(low, high + 1) if k in places and places[k].role == "number"]


def checked_views(views: Views) -> dict[str, tuple[str, ...]]:
    """Two views with columns of their own, or the error that says what is wrong with them."""
    found = {str(view): tuple(names) for view, names in views.items()}
    if len(found) != 2:
        raise error("LD280", case="table", problem=f"there are {count(len(found), 'view')}, and it takes two")
    (a, first), (b, second) = found.items()
    for view, names in found.items():
        if not names:
            raise error("LD280", case="table", problem=f"the view '{view}' has no column of numbers")
    both = sorted(set(first) & set(second))
    if both:
        raise error("LD280", case="table", problem=f"'{both[0]}' is in both views, {a} and {b}")
    return found


def view_source(X: ArraySource, views: dict[str, tuple[str, ...]]) -> Chosen:
    """The columns of both views, side by side."""
    wanted = [name for names in views.values() for name in names]
    unknown = [name for name in wanted if name not in X.columns]
    if unknown:
        raise error("LD280", case="table", problem=f"'{unknown[0]}' is no column of numbers of the table")
    return Chosen(X, [X.columns.index(name) for name in wanted])


def shared_axes(source: Chosen, first: int, dims: int | str, weight: dict[str, Any]) -> int:
    """How many axes the views share: as asked, or as many as Wilks' test says; one where cells are missing."""
    if dims != "auto":
        return int(dims)
    whole = CCA(min(first, source.d - first), views=first).fit(source, **weight)
    wilks = [test.p for test in whole.tests_ if test.statistic.lower().startswith("wilks")]
    return max(1, next((k for k, p in enumerate(wilks) if p > LEVEL), len(wilks)))


def shared_words(model: CCA, views: dict[str, tuple[str, ...]]) -> str:
    """The correlations of two views, and the columns that carry the first."""
    rho = model.canonical_correlations_
    p = {test.first: test.p for test in model.tests_ if test.statistic.lower().startswith("wilks")}
    parts = [f"{r:.3f}" + (f" (p {p[k + 1]:.2g})" if k + 1 in p else "") for k, r in enumerate(rho)]
    lines = [f"Correlations of {' and '.join(views)}: {', '.join(parts)}."]
    if not p:
        lines.append("With gaps no test says how many axes are shared; --dims K asks for more.")
    if len(rho):
        for (view, names), W in zip(views.items(), (model.x_loadings_, model.y_loadings_), strict=True):
            order = np.argsort(-np.abs(W[:, 0]))[:NAMED_COLUMNS]
            words = ", ".join(f"{'-' if W[j, 0] < 0 else ''}{names[j]}" for j in order)
            lines.append(f"Axis 1 in {view}: {words}.")
    return "\n".join(lines)


# factors, clusters around rows, columns that vary -----------------------------------------------------------------
def factor_words(model: Any, table: Table) -> str:
    """Loadings and fit indices as papers print them."""
    return factor_table(model, table.names).text()


def medoid_words(model: Any, table: Table) -> str:
    """The rows that stand for their clusters."""
    return "Medoids: rows " + ", ".join(table.row_names[i] for i in model.medoid_indices_) + "."


def selected_words(model: Any, table: Table) -> str:
    """The columns kept, their share of the variance, and what leaving the others out costs."""
    keep, v = model.get_support(), model.variances_
    names = [table.names[j] for j in np.argsort(-v, kind="stable") if keep[j]]
    share = float(v[keep].sum() / v.sum()) if v.sum() > 0 else 1.0
    return (
        f"Kept, the most varied first: {listing(names, 12)}; {share:.0%} of the variance, in the table's own units.\n"
        f"The mean error of squared distances, a column, is {model.error_:.4g} of {2 * v.mean():.4g}."
    )


# labels, each column with its likelihood ------------------------------------------------------------------
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


def judged_rows(map: TableMap, X: Array, row_names: tuple[str, ...]) -> OddRows | None:
    """The rows of its own table that a model finds odd; None of a model without a law of their distances."""
    if not map.cells.judges_rows:
        return None
    return judge_rows(map, X, row_names=row_names, law=map.cells.own_law(some_rows(X)))


def saved_cells(
    map: TableMap, X: Array, odd: OddRows, row_names: tuple[str, ...], level: float
) -> tuple[str, dict[str, Any]]:
    """The gaps of a table as its map fills them, as CSV; and what new rows need beside the model."""
    calibration = map_calibration(map.model, None, level=level, surprises=map.cells.widths(some_rows(X)))
    fills = gap_table(row_names, map.names, np.isnan(X), map.fills(X, calibration), map.gap_answers(X))
    return fills, facts_of_apply(law_of_later_rows(odd.judged.law), calibration)


def spared_words(t: Table, mixed: MixedTable) -> str:
    """The columns that take no part in a mixed model, each with the reason; nothing where all do."""
    taken = {c.position for c in mixed.columns}
    spared = [f"{c.name} ({c.why_aside})" for c in t.columns if c.position not in taken]
    return f"Columns that take no part: {listing(spared, NAMED_SPARED)}." if spared else ""
