"""Frames with labels as numbers, and numbers as the same frames again: categories, text, truth values."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.sources.arrays import GAP_TYPES, ArraySource, as_source, check_weight, objects_as_numbers
from lowdim.sources.source import Source
from lowdim.text.label_match import are_numbers, as_spelt, label_places, unseen_labels
from lowdim.text.messages import error, warn

TRUTHS = (False, True)
Labels = tuple[Any, ...]  # what 0, 1, ... stand for; () where numbers are numbers


class CodedColumn(NamedTuple):
    """A column as numbers, NaN at gaps, and what they stand for."""

    values: Array
    labels: Labels = ()
    ordered: bool = False
    whole: bool = False  # of a type that holds whole numbers only


class CodedSource(ArraySource):
    """A table in memory whose labels are numbers 0, 1, ...; `labels` says of each column what they stand for."""

    def __init__(self, columns: list[CodedColumn], names: tuple[str, ...] | None) -> None:
        rows = len(columns[0].values) if columns else 0
        values = np.column_stack([c.values for c in columns]) if columns else np.zeros((rows, 0))
        super().__init__(values, columns=names)
        self.labels = tuple(c.labels for c in columns)
        self.ordered = tuple(c.ordered for c in columns)
        self.whole = tuple(c.whole for c in columns)


def coded_source(X: Any, weight: Any = None, known: dict[str, Labels] | None = None) -> Source:
    """A table as a source of numbers; frames and arrays of objects may hold labels.

    Parameters
    ----------
    X : what `as_source` takes, also with columns of text, categories and truth values
    weight : array, optional
    known : dict, optional
        The labels of columns of an earlier table, by name: the same label gets the same number, and one that was not
        there is a gap, with a warning.
    """
    columns = _columns_of(X)
    if columns is None or not columns:
        return as_source(X, weight=weight)
    names, coded = [name for name, _ in columns], [column for _, column in columns]
    if known is not None:
        coded = [_recoded(c, known.get(name, ()), name) for name, c in columns]
    elif not any(c.labels for c in coded):
        return as_source(X, weight=weight)
    source = CodedSource(coded, None if isinstance(X, np.ndarray) else tuple(names))
    if weight is not None:
        source.weight = check_weight(weight, source.n)
    return source


def labels_of(source: Source) -> tuple[tuple[Labels, ...], tuple[bool, ...], tuple[bool, ...]]:
    """Of each column of a source, or of a view of some: its labels, whether they are ordered, and whether its type
    holds whole numbers only."""
    leaf = source.leaf
    if not isinstance(leaf, CodedSource):
        return ((),) * source.d, (False,) * source.d, (False,) * source.d
    at = [leaf.columns.index(name) for name in source.columns]
    return tuple(leaf.labels[j] for j in at), tuple(leaf.ordered[j] for j in at), tuple(leaf.whole[j] for j in at)


def _recoded(column: CodedColumn, labels: Labels, name: str) -> CodedColumn:
    """The column by the labels of an earlier table."""
    if not labels:
        if column.labels and column.labels != TRUTHS:
            raise error("LD104", column=name, type="text", python="")
        return column._replace(labels=())
    own = column.labels
    if not own:  # numbers where there were labels: a label that is a number may be meant
        levels, at = np.unique(column.values[~np.isnan(column.values)], return_inverse=True)
        codes = np.full(len(column.values), np.nan)
        codes[~np.isnan(column.values)] = at
        column, own = column._replace(values=codes), tuple(levels.tolist())
    new = np.array([np.nan if k is None else k for k in label_places(own, labels)], dtype=np.float64)
    seen = ~np.isnan(column.values)
    codes = np.full(len(seen), np.nan)
    codes[seen] = new[column.values[seen].astype(np.intp)] if len(own) else np.nan
    strange = np.unique(column.values[seen & np.isnan(codes)]).astype(np.intp)
    if len(strange):
        found = {own[k]: (np.flatnonzero(column.values == k) + 1).tolist() for k in strange}
        warn(unseen_labels(name, found, labels))
    return CodedColumn(codes, labels, column.ordered)


# columns of each kind of frame ------------------------------------------------------------------------------------
def _is_pandas(X: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def _is_arrow(X: Any) -> bool:
    if isinstance(X, np.ndarray | Source) or type(X).__module__.partition(".")[0] == "dask" or _is_pandas(X):
        return False
    return callable(getattr(X, "__arrow_c_stream__", None))


def _columns_of(X: Any) -> list[tuple[str, CodedColumn]] | None:
    """The columns of a frame in memory or of an array of objects; None for every other table."""
    if _is_pandas(X):
        return [(str(name), _pandas_column(X.iloc[:, j], str(name))) for j, name in enumerate(X.columns)]
    if _is_arrow(X):
        import pyarrow as pa

        try:
            table = pa.table(X)
        except pa.ArrowInvalid:  # a Series: one column is no table
            raise error("LD100", shape=(len(X),)) from None
        return [(f.name, _arrow_column(table.column(j), f.name)) for j, f in enumerate(table.schema)]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OU":
        return [(f"c{j + 1}", _object_column(X[:, j].astype(object), f"c{j + 1}")) for j in range(X.shape[1])]
    return None


def _pandas_column(column: Any, name: str) -> CodedColumn:
    kind, letter = str(column.dtype), getattr(column.dtype, "kind", "O")
    if kind == "category":
        codes = column.cat.codes.to_numpy().astype(np.float64)
        labels = _checked(column.cat.categories.tolist(), name)
        return _without_blanks(np.where(codes < 0, np.nan, codes), labels, bool(column.cat.ordered))
    if letter == "b":
        return CodedColumn(column.to_numpy(dtype=np.float64, na_value=np.nan), TRUTHS)
    if letter in "iuf":
        return CodedColumn(column.to_numpy(dtype=np.float64, na_value=np.nan), whole=letter in "iu")
    if kind in ("object", "str") or kind.startswith(("string", "large_string")):
        return _object_column(column.to_numpy(dtype=object), name)
    raise error("LD104", column=name, type=kind, python="")


def _arrow_column(column: Any, name: str) -> CodedColumn:
    import pyarrow as pa
    import pyarrow.types as t

    kind = column.type
    if t.is_dictionary(kind):
        column = column.unify_dictionaries().combine_chunks()
        codes = column.indices.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return _without_blanks(np.array(codes), _checked(column.dictionary.to_pylist(), name), bool(kind.ordered))
    if t.is_boolean(kind):
        return CodedColumn(column.cast(pa.uint8()).cast(pa.float64()).fill_null(np.nan).to_numpy(), TRUTHS)
    if t.is_floating(kind) or t.is_integer(kind) or t.is_null(kind) or t.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
        return CodedColumn(values, whole=t.is_integer(kind))
    if t.is_string(kind) or t.is_large_string(kind) or str(kind) == "string_view":
        return _object_column(np.array(column.to_pylist(), dtype=object), name)
    raise error("LD104", column=name, type=str(kind), python="")


def _object_column(values: NDArray[Any], name: str) -> CodedColumn:
    """A column of Python objects: all text, all truth values, or numbers."""
    gaps = np.array([_is_gap(cell) for cell in values], dtype=bool)
    kinds = {type(cell) for cell in values[~gaps]}
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return CodedColumn(np.where(gaps, np.nan, np.where(gaps, False, values).astype(np.float64)), TRUTHS)
    if not kinds or not any(issubclass(kind, str) for kind in kinds):
        plain = values.copy()
        plain[gaps] = None
        return CodedColumn(objects_as_numbers(plain, name))
    if not all(issubclass(kind, str) for kind in kinds):
        first = next(k for k in np.flatnonzero(~gaps) if not isinstance(values[k], str))
        raise error("LD505", column=name, row=int(first) + 1, value=str(values[first])[:40])
    labels, at = np.unique(values[~gaps].astype(str), return_inverse=True)
    codes = np.full(len(values), np.nan)
    codes[~gaps] = at
    return CodedColumn(codes, tuple(labels.tolist()))


def _is_gap(cell: Any) -> bool:
    return type(cell).__name__ in GAP_TYPES or (isinstance(cell, float) and np.isnan(cell)) or _is_blank(cell)


def _is_blank(label: Any) -> bool:
    """Whether a label is no word but an empty cell."""
    return isinstance(label, str) and not label.strip()


def _without_blanks(codes: Array, labels: Labels, ordered: bool) -> CodedColumn:
    """A column of categories; an empty one is none of them, its cells are gaps."""
    kept = [k for k, label in enumerate(labels) if not _is_blank(label)]
    if len(kept) == len(labels):
        return CodedColumn(codes, labels, ordered)
    place = np.full(len(labels) + 1, np.nan)
    place[kept] = np.arange(len(kept))
    at = np.where(np.isnan(codes), len(labels), codes).astype(np.intp)
    return CodedColumn(place[at], tuple(labels[k] for k in kept), ordered)


def _checked(labels: Iterable[Any], name: str) -> Labels:
    """Categories that a model file can hold."""
    kept = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    for label in kept:
        if not isinstance(label, str | bool | int | float):
            raise error("LD104", column=name, type=f"categories of {type(label).__name__}", python="")
    return kept


# and back ---------------------------------------------------------------------------------------------------------
def in_kind(X: Any, values: Array, names: tuple[str, ...], labels: tuple[Labels, ...], gaps_only: bool = True) -> Any:
    """Numbers as the kind of table that X is, labels as labels, in its own types; what X is no frame for stays numbers.

    With `gaps_only` seen cells, also of labels that are not known, and columns of X that are not named stay as they
    are.
    """
    columns = dict(zip(names, zip(values.T, labels, strict=True), strict=True))
    if _is_pandas(X):
        filled = X.copy()
        for j, name in enumerate(map(str, X.columns)):
            if name in columns:
                filled.isetitem(j, _pandas_filled(X.iloc[:, j], *columns[name], gaps_only))
        return filled
    if isinstance(X, np.ndarray) and X.dtype.kind in "OU":
        filled = X.astype(object)
        for j, name in enumerate(names):
            gaps = np.array([_is_gap(cell) for cell in X[:, j]]) | (not gaps_only)
            filled[gaps, j] = decoded(*columns[name])[gaps]
        return filled
    if _is_arrow(X):
        return _arrow_filled(X, columns, gaps_only)
    return values


def decoded(values: Array, labels: Labels, whole: bool = False) -> NDArray[Any]:
    """Numbers as what they stand for; those of a column of whole numbers rounded."""
    if not labels:
        return np.array([round(v) for v in values.tolist()], dtype=object) if whole else values.astype(object)
    out = np.empty(len(values), dtype=object)
    out[:] = [labels[int(k)] for k in values]
    return out


def _pandas_filled(column: Any, values: Array, labels: Labels, gaps_only: bool) -> Any:
    gaps = _pandas_gaps(column) | (not gaps_only)
    if not gaps.any():
        return column
    if str(column.dtype).startswith("Sparse"):  # which takes no cells
        column = column.sparse.to_dense()
    if labels:
        return _pandas_labels(column, gaps, values[gaps], labels)
    kind, letter = column.dtype, getattr(column.dtype, "kind", "O")
    cells = np.round(values[gaps]) if letter in "iu" else values[gaps]
    filled = column.copy()
    filled[gaps] = type(column)(cells, index=column.index[gaps]).astype(kind)
    return filled


def _pandas_gaps(column: Any) -> Mask:
    gaps: Mask = column.isna().to_numpy(dtype=bool)
    if getattr(column.dtype, "kind", "O") in "biuf":
        return gaps
    cells = column.cat.categories if str(column.dtype) == "category" else column.unique()
    blank = [cell for cell in cells if _is_blank(cell)]
    return gaps | column.isin(blank).to_numpy(dtype=bool) if blank else gaps


def _pandas_labels(column: Any, gaps: Mask, codes: Array, labels: Labels) -> Any:
    """A column with labels in some cells: in its own type, or in that of the labels where that cannot hold them."""
    letter = getattr(column.dtype, "kind", "O")
    if str(column.dtype) == "category":
        own, of_numbers = column.cat.categories.tolist(), column.cat.categories.dtype.kind
        same = of_numbers in "biuf" and _holds(labels, of_numbers)
        cells = decoded(codes, _in_numbers(labels, of_numbers) if same else as_spelt(own, labels))
        wider, in_order = with_labels(own, cells, labels)
        filled = column.cat.set_categories(wider, ordered=bool(column.cat.ordered and in_order))
    elif letter not in "biuf":
        filled, cells = column.copy(), decoded(codes, as_spelt(column.dropna().unique(), labels))
    elif column.isna().all() or not _holds(labels, letter):  # an empty column of a file comes as numbers
        filled = column.astype(object)
        filled[gaps] = decoded(codes, labels)
        return filled.infer_objects()
    else:
        filled, cells = column.copy(), decoded(codes, _in_numbers(labels, letter))
    filled[gaps] = type(column)(cells, dtype=object).astype(filled.dtype).array
    return filled


def _holds(labels: Labels, letter: str) -> bool:
    """Whether truth values (b), whole numbers (i, u) or numbers (f) can hold these labels."""
    if not are_numbers(labels):
        return False
    numbers = [float(label) for label in labels]
    return letter == "f" or all(v in TRUTHS if letter == "b" else v.is_integer() for v in numbers)


def _in_numbers(labels: Labels, letter: str) -> Labels:
    """Labels that are numbers as cells of such a type."""
    kind: Any = {"b": bool, "f": float}.get(letter, int)
    return tuple(kind(float(label)) for label in labels)


def with_labels(own: list[Any], cells: Iterable[Any], labels: Labels) -> tuple[list[Any], bool]:
    """Categories and those that cells need beside them, in the order of the labels; and whether there is such an order.

    >>> with_labels(["low", "high"], ["middle"], ("low", "middle", "high"))
    (['low', 'middle', 'high'], True)
    """
    every = list(dict.fromkeys([*own, *cells]))
    order = {label: k for label, k in zip(every, label_places(every, labels), strict=True) if k is not None}
    known = [order[label] for label in own if label in order]
    more = sorted(every[len(own) :], key=order.__getitem__)
    in_order = known == sorted(known) and bool(known or not own)
    wider = list(own)
    for label in more:
        above = (k for k, one in enumerate(wider) if order.get(one, -1) > order[label])
        wider.insert(next(above, len(wider)) if in_order else len(wider), label)
    return wider, in_order or not more


def _arrow_filled(X: Any, columns: dict[str, tuple[Array, Labels]], gaps_only: bool) -> Any:
    """A polars frame or an Arrow table with its gaps filled."""
    import pyarrow as pa

    table, polars = pa.table(X), sys.modules.get("polars")
    in_polars = polars is not None and isinstance(X, polars.DataFrame)
    for j, field in enumerate(table.schema):
        if field.name not in columns:
            continue
        cells, same_type = _cells(table.column(j), *columns[field.name], gaps_only)
        labels = columns[field.name][1]
        if in_polars:
            X = X.with_columns(_polars_series(X[field.name], cells, labels, same_type))
        else:
            column = _arrow_array(cells, table.column(j), labels) if same_type else pa.array(cells)
            table = table.set_column(j, field.with_type(column.type), column)
    return X if in_polars else table


def _cells(column: Any, values: Array, labels: Labels, gaps_only: bool) -> tuple[list[Any], bool]:
    """The cells of an Arrow column as Python has them, gaps filled; and whether its type can hold them."""
    old = column.to_pylist()
    seen = [cell for cell in old if not _is_gap(cell)]
    fills, same_type = _fills(values, labels, _letter(column.type), seen)
    cells = [fill if not gaps_only or _is_gap(cell) else cell for cell, fill in zip(old, fills, strict=True)]
    mixed = not same_type and gaps_only and seen  # labels beside numbers: text holds both
    return ([str(cell) for cell in cells] if mixed else cells), same_type


def _letter(kind: Any) -> str:
    """What an Arrow type holds: truth values (b), whole numbers (i), numbers (f), nothing at all (""), else objects."""
    import pyarrow.types as t

    kind = kind.value_type if t.is_dictionary(kind) else kind
    letters = {"b": t.is_boolean, "i": t.is_integer, "f": t.is_floating, "": t.is_null}
    return next((letter for letter, is_kind in letters.items() if is_kind(kind)), "O")


def _fills(values: Array, labels: Labels, letter: str, seen: list[Any]) -> tuple[list[Any], bool]:
    """Numbers as cells of a column of such a type, beside those that are there; and whether it can hold them."""
    if not labels:
        cells = decoded(values, (), whole=letter == "i").tolist()
        return [bool(cell) for cell in cells] if letter == "b" else cells, True
    if letter == "O":  # text: a label as the column itself spells it
        return decoded(values, as_spelt(dict.fromkeys(seen), labels)).tolist(), True
    if seen and _holds(labels, letter):
        return decoded(values, _in_numbers(labels, letter)).tolist(), True
    return decoded(values, labels).tolist(), False


def _polars_series(like: Any, cells: list[Any], labels: Labels, same_type: bool) -> Any:
    """Cells in the type of a polars column; an Enum gets the labels it lacks."""
    dtype: Any = like.dtype if same_type else None
    if type(dtype).__name__ == "Enum":
        dtype = type(dtype)(with_labels(dtype.categories.to_list(), cells, labels)[0])
    return type(like)(like.name, cells, dtype=dtype)


def _arrow_array(cells: list[Any], like: Any, labels: Labels) -> Any:
    """Cells in the type of an Arrow column, categories in its order."""
    import pyarrow as pa

    kind = like.type
    if not pa.types.is_dictionary(kind):
        return pa.array(cells, type=kind)
    dictionary = like.unify_dictionaries().combine_chunks().dictionary
    wider, in_order = with_labels(dictionary.to_pylist(), cells, labels)
    place = {label: k for k, label in enumerate(wider)}
    codes = pa.array([place[cell] for cell in cells], type=kind.index_type)
    ordered = kind.ordered and in_order
    return pa.DictionaryArray.from_arrays(codes, pa.array(wider, type=dictionary.type), ordered=ordered)
