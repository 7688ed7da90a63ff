"""Frames with labels as numbers, and back."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lowdim.sources.coded import CodedSource, coded_source, decoded, in_kind, labels_of
from lowdim.text.messages import LowdimError, LowdimWarning


def frame():
    return pd.DataFrame(
        {
            "x": [1.0, np.nan, 3.0],
            "kind": pd.Categorical(["b", None, "a"], categories=["b", "a", "c"], ordered=True),
            "text": ["no", "yes", None],
            "flag": pd.array([True, pd.NA, False], dtype="boolean"),
        }
    )


def test_labels_become_numbers_in_the_order_of_their_type():
    source = coded_source(frame())
    assert isinstance(source, CodedSource)
    labels, ordered = labels_of(source)
    assert labels == ((), ("b", "a", "c"), ("no", "yes"), (False, True)) and ordered == (False, True, False, False)
    values, _ = source.read(slice(0, 3))
    assert np.array_equal(values, [[1, 0, 0, 1], [np.nan, np.nan, 1, np.nan], [3, 1, np.nan, 0]], equal_nan=True)


def test_a_later_table_gets_the_same_numbers_and_strange_labels_are_gaps():
    known = dict(zip(frame().columns, labels_of(coded_source(frame()))[0], strict=True))
    later = pd.DataFrame({"x": [0.0], "kind": pd.Categorical(["a"]), "text": ["maybe"], "flag": [True]})
    with pytest.warns(LowdimWarning, match=r"LD504(.|\n)*maybe"):
        values, _ = coded_source(later, known=known).read(slice(0, 1))
    assert np.array_equal(values, [[0, 1, np.nan, 1]], equal_nan=True)
    with pytest.raises(LowdimError, match="LD104"):
        coded_source(later.assign(x=["text"]), known=known)


def test_numbers_go_back_into_gaps_only_and_types_stay():
    table = frame()
    labels = labels_of(coded_source(table))[0]
    fills = np.array([[9.0, 2, 1, 0], [9.0, 2, 1, 0], [9.0, 2, 1, 0]])
    filled = in_kind(table, fills, tuple(table.columns), labels)
    assert filled.dtypes.equals(table.dtypes)
    assert filled["kind"].tolist() == ["b", "c", "a"] and filled["text"].tolist() == ["no", "yes", "yes"]
    assert filled["x"].tolist() == [1.0, 9.0, 3.0] and filled["flag"].tolist() == [True, False, False]
    every = in_kind(table, fills, tuple(table.columns), labels, gaps_only=False)
    assert every["kind"].tolist() == ["c"] * 3 and every.dtypes.equals(table.dtypes)


def test_arrow_dictionaries_and_arrays_of_objects():
    table = pa.table({"a": pa.array(["u", None, "v"]).dictionary_encode(), "n": pa.array([1, None, 3], pa.int16())})
    source = coded_source(table)
    assert labels_of(source)[0] == (("u", "v"), ())
    filled = in_kind(table, np.array([[0, 2.4], [1, 2.4], [0, 2.4]]), ("a", "n"), labels_of(source)[0])
    assert filled.schema == table.schema and filled.to_pydict() == {"a": ["u", "v", "v"], "n": [1, 2, 3]}
    objects = np.array([["p", 1.0], [None, 2.0]], dtype=object)
    assert labels_of(coded_source(objects))[0] == (("p",), ())
    assert decoded(np.array([1.0, 0.0]), ("no", "yes")).tolist() == ["yes", "no"]


def test_dates_and_mixed_cells_are_refused():
    with pytest.raises(LowdimError, match="LD104"):
        coded_source(pd.DataFrame({"t": pd.to_datetime(["2020-01-01"]), "a": ["x"]}))
    with pytest.raises(LowdimError, match="LD505"):
        coded_source(pd.DataFrame({"a": ["x", 3]}))
