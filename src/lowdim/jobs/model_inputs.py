"""Models that are told more than a table's numbers: pairs of rows, classes, two views; and their findings in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.read_table import source_of
from lowdim.maths.linalg import Array
from lowdim.models.projections.cca import CCA
from lowdim.models.projections.linear_discriminant import LinearDiscriminant
from lowdim.registry import ModelEntry
from lowdim.sources.arrays import ArraySource
from lowdim.sources.views import Chosen
from lowdim.table.table import Table
from lowdim.table.whole_table import mirrored
from lowdim.text.format import count, listing
from lowdim.text.messages import error

LEVEL = 0.05  # of Wilks' test, by which the number of shared axes is chosen
FOLDS = 5  # parts that are left out in turn to see whether classes are told apart
NAMED_COLUMNS = 3  # columns of each view that a sentence names
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


# clusters around rows, columns that vary -----------------------------------------------------------------
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
