"""What the command line does, from Python: any table in, what the command gives out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.text.messages import LowdimError
from tests.cli.conftest import small_table, write_csv
from tests.judge.rows.judging import judge_rows

NAMES = [f"x{k}" for k in range(1, 7)]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """The same table as an array, a frame, a Table and a path."""
    X = small_table()
    path = write_csv(tmp_path_factory.mktemp("given") / "t.csv", X)
    frame = pd.DataFrame(X, columns=NAMES, index=[f"r{k}" for k in range(60)])
    return {"array": X, "frame": frame, "table": ld.read(X), "path": path}


@pytest.fixture(scope="module")
def filled():
    return ld.fill(small_table())


@pytest.mark.parametrize("kind", ["frame", "table", "path"])
@pytest.mark.slow
def test_fill_takes_what_a_person_has(given, filled, kind):
    found = ld.fill(given[kind])
    assert np.allclose(found.filled, filled.filled, rtol=1e-12) and found.sentence == filled.sentence
    assert np.array_equal(found.is_filled, np.isnan(given["array"]))
    assert found.error <= next(one.error for one in found.engines if one.engine == "linear model")  # 60 rows: no stack
    if kind == "frame":
        assert isinstance(found.frame, pd.DataFrame) and found.frame.index.equals(given["frame"].index)
        assert found.frame.notna().all().all()
    else:
        assert isinstance(found.frame, np.ndarray)


@pytest.mark.parametrize("kind", ["array", "frame", "table", "path"])
def test_odd_rows_takes_what_a_person_has(given, kind):
    found = ld.odd_rows(given[kind], dims=2)
    model = ld.PPCA(2, standardize=True).fit(given["array"])
    assert [r.row for r in found.rows] == [r.row for r in judge_rows(model, given["array"]).rows] and found.rows
    assert found.rows[0].name == ("r7" if kind == "frame" else "8")


def test_odd_rows_asks_the_jury_and_is_what_an_analysis_finds(given):
    found, whole = ld.odd_rows(given["array"]), ld.analyse(given["array"], budget="1s")
    assert found.rows == whole.odd.rows
    with pytest.raises(LowdimError, match="odd_level"):
        ld.odd_rows(given["array"], odd_level=95)


@pytest.mark.parametrize("kind", ["array", "frame", "table", "path"])
def test_fit_method_takes_what_a_person_has(given, kind):
    found = ld.fit_method(given[kind], "ppca", dims=2)
    assert found.places.z.shape == (60, 2) and found.text().startswith("Probabilistic PCA of 60 rows x 6 columns")


def test_analyze_is_analyse():
    assert ld.analyze is ld.analyse


def test_a_table_that_cannot_be_has_a_fix_in_python():
    with pytest.raises(LowdimError, match="LD113") as problem:
        ld.fill(pd.DataFrame({"a": list("abcabc"), "b": list("xyzxyz")}))
    assert "ld.read(table" in problem.value.fix and "--" not in problem.value.fix
