"""Frames with labels as numbers, and back."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lowdim.sources.labelled_frames import CodedSource, coded_source, decoded, in_kind, labels_of
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
    labels, ordered, _ = labels_of(source)
    assert labels == ((), ("b", "a", "c"), ("no", "yes"), (False, True)) and ordered == (False, True, False, False)
    values, _ = source.read(slice(0, 3))
    assert np.array_equal(values, [[1, 0, 0, 1], [np.nan, np.nan, 1, np.nan], [3, 1, np.nan, 0]], equal_nan=True)


def test_a_later_table_gets_the_same_numbers_and_strange_labels_are_gaps():
    known = dict(zip(frame().columns, labels_of(coded_source(frame()))[0], strict=True))
    later = pd.DataFrame({"x": [0.0], "kind": pd.Categorical(["a"]), "text": ["maybe"], "flag": [True]})
    with pytest.warns(LowdimWarning, match=r"LD504(.|\n)*'maybe' \(row 1\)"):
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


CITIES = ("Bern", "Oslo", "Rome")


def test_an_empty_column_of_a_file_comes_back_as_labels():
    """Which pandas reads as numbers; labels that are numbers and numbers that are there keep their type."""
    table = pd.DataFrame({"city": [np.nan, np.nan], "flag": [np.nan, np.nan], "code": [1.0, np.nan]})
    labels = (CITIES, (False, True), ("0", "1"))
    filled = in_kind(table, np.array([[2.0, 1, 1], [0, 0, 0]]), ("city", "flag", "code"), labels)
    assert filled["city"].tolist() == ["Rome", "Bern"] and filled["flag"].tolist() == [True, False]
    assert filled["code"].tolist() == [1.0, 0.0] and filled["code"].dtype == "float64"
    strange = in_kind(pd.DataFrame({"city": [7.0, np.nan]}), np.array([[0.0], [1.0]]), ("city",), (CITIES,))
    assert strange["city"].tolist() == [7.0, "Oslo"]
    empty = in_kind(pa.table({"city": pa.nulls(2)}), np.array([[2.0], [0.0]]), ("city",), (CITIES,))
    assert empty.to_pydict() == {"city": ["Rome", "Bern"]}
    truths = in_kind(pd.DataFrame({"city": [True, False]}), np.array([[2.0], [0.0]]), ("city",), (CITIES,), False)
    assert truths["city"].tolist() == ["Rome", "Bern"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("gaps_only", [True, False])
def test_categories_that_a_column_lacks_are_added_in_the_order_of_the_fit(gaps_only):
    fills = np.array([[0.0], [1.0], [2.0]])

    def filled(categories, ordered=True):
        column = pd.Categorical([categories[0], None, None], categories=categories, ordered=ordered)
        frame = in_kind(pd.DataFrame({"city": column}, index=[5, 5, 5]), fills, ("city",), (CITIES,), gaps_only)
        assert not frame["city"].isna().any()
        return frame["city"].cat

    found = filled(["Bern", "Rome"])
    assert found.categories.tolist() == ["Bern", "Oslo", "Rome"] and found.ordered
    assert filled(["Bern"], ordered=False).categories.tolist() == ["Bern", "Oslo", "Rome"]
    backwards = filled(["Rome", "Bern"])
    assert backwards.categories.tolist() == ["Rome", "Bern", "Oslo"] and not backwards.ordered
    codes = pa.DictionaryArray.from_arrays(pa.array([0, None, None], pa.int8()), ["Bern", "Rome"])
    table = in_kind(pa.table({"city": codes}), fills, ("city",), (CITIES,), gaps_only)
    assert table.to_pydict() == {"city": ["Bern", "Oslo", "Rome"]} and pa.types.is_dictionary(table.schema[0].type)


@pytest.mark.parametrize("gaps_only", [True, False])
def test_polars_enums_get_the_labels_they_lack(gaps_only):
    polars = pytest.importorskip("polars")
    fills = np.array([[0.0], [1.0], [2.0]])
    for kind in (polars.Enum(["Bern", "Rome"]), polars.Categorical(), polars.String()):
        frame = polars.DataFrame({"city": polars.Series(["Bern", None, None], dtype=kind)})
        filled = in_kind(frame, fills, ("city",), (CITIES,), gaps_only)
        assert filled["city"].to_list() == list(CITIES) and type(filled["city"].dtype) is type(kind)
    empty = polars.DataFrame({"city": polars.Series([None, None, None], dtype=polars.Float64)})
    assert in_kind(empty, fills, ("city",), (CITIES,), gaps_only)["city"].to_list() == list(CITIES)
    strange = polars.DataFrame({"city": [7.0, None, None]})
    assert in_kind(strange, fills, ("city",), (CITIES,))["city"].to_list() == ["7.0", "Oslo", "Rome"]


def test_blank_cells_of_labels_are_gaps():
    """Of text, of categories, of Arrow and of objects: none is a label, and all are filled."""
    cells = ["no", "", "yes", " "]
    frame = pd.DataFrame(
        {
            "text": cells,
            "kind": pd.Categorical(cells, categories=["yes", "", "no", " "]),
            "object": pd.Series(cells, dtype=object),
            "empty": ["", "", " ", None],
        }
    )
    coded = coded_source(frame)
    assert labels_of(coded)[0] == (("no", "yes"), ("yes", "no"), ("no", "yes"), ())
    gap = np.nan
    values = np.array([[0, 1, 0, gap], [gap] * 4, [1, 0, 1, gap], [gap] * 4])
    assert np.array_equal(coded.read(slice(0, 4))[0], values, equal_nan=True)
    labels = (*labels_of(coded)[0][:3], ("no", "yes"))
    filled = in_kind(frame, np.ones((4, 4)), tuple(frame.columns), labels)
    assert filled["text"].tolist() == filled["object"].tolist() == ["no", "yes", "yes", "yes"]
    assert filled["kind"].tolist() == ["no", "no", "yes", "no"] and filled["empty"].tolist() == ["yes"] * 4
    text = pa.array(cells)
    table = pa.table({"text": text, "kind": text.dictionary_encode()})
    labels = labels_of(coded_source(table))[0]
    assert labels == (("no", "yes"), ("no", "yes"))
    assert in_kind(table, np.ones((4, 2)), ("text", "kind"), labels).to_pydict()["kind"] == ["no", "yes", "yes", "yes"]
    objects = np.array([["p", 1.0], ["", 2.0]], dtype=object)
    assert in_kind(objects, np.zeros((2, 2)), ("c1", "c2"), (("p",), ()))[1, 0] == "p"


def test_labels_that_are_numbers_are_filled_as_the_column_writes_them():
    labels, fills = (("0", "1"),), np.array([[0.0], [1.0]])

    def filled(column, gaps_only=True):
        return in_kind(pd.DataFrame({"k": column}), fills, ("k",), labels, gaps_only)["k"]

    truths = filled(pd.array([False, None], dtype="boolean"))
    assert truths.tolist() == [False, True] and truths.dtype == "boolean"
    numbers = filled(pd.Categorical([0, None]))
    assert numbers.tolist() == [0, 1] and numbers.cat.categories.tolist() == [0, 1]
    assert filled(["0.0", "1.0"], False).tolist() == ["0.0", "1.0"]
    table = pa.table({"k": pa.array([0, None]).dictionary_encode()})
    assert in_kind(table, fills, ("k",), labels).to_pydict() == {"k": [0, 1]}
    assert in_kind(table, fills, ("k",), (CITIES,)).to_pydict() == {"k": ["0", "Oslo"]}
