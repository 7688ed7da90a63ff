"""Tables as callers from Python pass them: errors whose fixes are calls, as those of the command line are flags."""

from __future__ import annotations

import ast
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.judge.read_table import numbers_of, quantified
from lowdim.table.options import ReadingOptions
from lowdim.text.messages import LowdimError, Message
from tests.table.flags import options_from_flags
from tests.table.make_bad_tables import FOLDER

GOLDEN = sorted(path.name.removesuffix(".golden") for path in FOLDER.glob("*.golden"))


def stopped(name: str) -> tuple[tuple[Message, ...], LowdimError] | None:
    """What `lowdim.read` says of a bad table that cannot be analysed."""
    first = (FOLDER / f"{name}.golden").read_text(encoding="utf-8").splitlines()[0]
    try:
        ld.read(FOLDER / name, **options_from_flags(shlex.split(re.sub(r"^exit \d\s*", "", first))))
    except LowdimError as problem:
        return tuple(getattr(problem, "messages", (problem.message,))), problem
    return None


@pytest.mark.parametrize("name", GOLDEN)
def test_a_fix_in_python_has_calls_and_no_flags(name):
    found = stopped(name)
    for m in found[0] if found else ():
        text = str(m.fix)
        assert not re.search(r"(^|\s)--[a-z]|\blowdim [a-z]", text), text
        for call in re.findall(r"ld\.read\(.*?\)(?=$|\n|,? |  )", text):
            keywords = [
                k.arg for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Call) for k in node.keywords
            ]
            assert keywords and set(keywords) <= set(ReadingOptions._fields)
    assert found is None or found[1].fix == str(found[0][[m.severity for m in found[0]].index("error")].fix)


def test_read_is_the_reading_of_tables():
    from lowdim.table.read import read

    table = ld.read(np.arange(12.0).reshape(4, 3) ** 2)
    assert ld.read.__doc__ == read.__doc__ and ld.read(table) is table


def test_numbers_of_a_path_a_frame_and_an_array(tmp_path):
    X = np.random.default_rng(0).standard_normal((6, 2))
    np.save(tmp_path / "t.npy", X)
    read_one, unit, table = numbers_of(tmp_path / "t.npy", None)
    assert unit and table is not None and read_one.d == 2
    as_it_is, unit, none = numbers_of(X, False)
    assert not unit and none is None and as_it_is.n == 6


# labels as one number each -----------------------------------------------------------------------------------------
def labels(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Four columns of words of two to four values that one trait drives."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)

    def words(names: list[str], cuts: list[float], slope: float) -> np.ndarray:
        return np.array(names)[np.digitize(slope * z + 0.6 * rng.logistic(size=n), cuts)]

    return pd.DataFrame(
        {
            "cap": words(["bell", "flat", "knob"], [0.0, 1.5], 1.5),
            "odour": words(["none", "foul"], [0.0], 2.0),
            "ring": words(["one", "two", "many", "no ring"], [-1.0, 0.0, 1.0], 1.5),
            "habitat": words(["wood", "path", "grass"], [-0.5, 1.0], 1.0),
        }
    )


def test_scores_are_the_first_axis_of_correspondence_analysis():
    """Against the definition: the first axis of the table of zeros and ones, each divided by the root of its share."""
    frame = labels()
    X = quantified(ld.read(frame)).values
    ones = np.column_stack([frame[c] == v for c in frame for v in sorted(frame[c].unique())]).astype(float)
    share = ones.mean(axis=0)
    axis = np.linalg.svd((ones - share) / np.sqrt(share), full_matrices=False)[0][:, 0]
    for j, name in enumerate(frame):
        mean = {v: axis[frame[name] == v].mean() for v in frame[name].unique()}
        theirs = frame[name].map(mean).to_numpy()
        assert abs(np.corrcoef(theirs, X[:, j])[0, 1]) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.slow
def test_a_table_of_words_has_the_dimensions_of_its_trait():
    """Its zeros and ones, counted one by one, seem to have many: those of one label tell each other."""
    table = ld.read(labels().mask(np.random.default_rng(1).random((400, 4)) < 0.1))
    assert [m.code for m in table.messages].count("LD198") == 1 and table.d == 4
    found = ld.analyse(table, budget="1s")
    assert found.dims == 1 and ld.choose_dimension(table.in_ones().X).q >= 5
    assert [c.column for c in found.fills.labels] == ["cap", "odour", "ring", "habitat"]
    assert "labels filled" in found.said["fills"] and found.said["axes"].startswith("Axis 1 is ")
    right = {check.name: check for check in found.trust}["predicts hidden cells"]
    assert right.holds and "hidden labels were right" in right.evidence


def test_numbers_stay_as_they_are():
    X = np.random.default_rng(0).standard_normal((30, 3))
    assert np.array_equal(quantified(ld.read(X)).values, X)
