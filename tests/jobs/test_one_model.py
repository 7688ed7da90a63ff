"""One named model fitted to a table, and what its run folder says of rows: whichever model it is, it is asked alike."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import lowdim
from lowdim.jobs.apply import place_run
from lowdim.jobs.one_model import fit_method, save_fitted
from lowdim.jobs.run_folder import SavedRun, load_run
from lowdim.jobs.table_model import subject
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.cli.calls import in_process


def test_factors_are_not_asked_for_more_than_they_can_tell():
    table = lowdim.read(pd.DataFrame(load_iris().data, columns=list("abcd")))
    with pytest.warns(LowdimWarning):
        assert fit_method(table, "fa").places.z.shape == (150, 1)  # four columns: at most one factor


# rows and cells of the run of one model -------------------------------------------------------------------
def flowers(n: int = 90) -> pd.DataFrame:
    """Measures of two kinds of flowers, with gaps and one wrong cell."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 1)) @ [[1.0, 2.0, -1.0, 0.5, 3.0]] + 0.4 * rng.standard_normal((n, 5))
    X = X * [1.0, 10.0, 1.0, 3.0, 1.0]
    X[rng.random(X.shape) < 0.04] = np.nan
    X[7] = [0.0, 0.0, 0.0, 0.0, 40.0]
    return pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(X[:, 3] > 0.0, "early", "late"))


def saved(folder, method: str, **how) -> SavedRun:
    """The run of one model of two kinds of flowers, from their file."""
    flowers().to_csv(folder / "t.csv", index=False)
    fitted = fit_method(lowdim.read(folder / "t.csv", **how), method, dims=1)
    return load_run(save_fitted(fitted, folder / f"{method}.run", options=how))


def test_a_straight_model_fills_and_judges_new_rows(tmp_path):
    """As linear algebra has it: the mean of a gap given the seen cells, and the distance of a row."""
    run = saved(tmp_path, "fa")
    model, unit = lowdim.load(run.model_file), np.array(run.facts["unit"])
    mean, C = model.mean_ * unit, model.get_covariance() * np.outer(unit, unit)
    new = flowers()[20:24].drop(columns="kind").fillna(0.0)
    new.iloc[1, 2] = np.nan
    new.iloc[2, 4] = 70.0
    placed = place_run(run, new)
    x = new.to_numpy()[1] - mean
    seen = ~np.isnan(x)
    expected = mean[2] + C[2, seen] @ np.linalg.solve(C[np.ix_(seen, seen)], x[seen])
    assert placed.filled.iloc[1, 2] == pytest.approx(expected, rel=1e-9) and placed.gaps == 1
    assert placed.calibrated and placed.lower.iloc[1, 2] < expected < placed.upper.iloc[1, 2] and not placed.messages
    off = new.to_numpy()[0] - mean
    assert placed.odd.D2.value[0] == pytest.approx(off @ np.linalg.solve(C, off), rel=1e-8)
    assert [(row.row, row.column) for row in placed.odd.rows] == [(2, "e")]


def test_its_odd_rows_are_the_same_in_every_answer(tmp_path):
    run = saved(tmp_path, "fa")
    told = json.loads(in_process("odd", "fa.run", "--json", cwd=tmp_path).out)
    with open(run.folder / "odd.csv", newline="") as lines:
        stored = [(row["row"], float(row["p"])) for row in csv.DictReader(lines)]
    assert stored == [(row["name"], row["p"]) for row in told["rows"]] and stored[0][0] == "8"
    card = json.loads(in_process("explain", "fa.run", "--row", "8", "--json", cwd=tmp_path).out)["card"]
    again = place_run(run, str(tmp_path / "t.csv"))
    assert card["p"] == pytest.approx(stored[0][1], rel=1e-9) and again.odd.p[7] == pytest.approx(card["p"], rel=1e-9)
    with open(run.folder / "scores.csv", newline="") as lines:
        scores = list(csv.DictReader(lines))
    assert [float(row["p"]) for row in scores] == pytest.approx(again.odd.p.tolist(), rel=1e-9)
    assert run.odd.sentence == subject(run).odd.sentence == told["sentence"]


def test_a_stream_of_rows_is_placed_and_judged_as_the_same_rows_in_memory(tmp_path):
    saved(tmp_path, "fa")
    flowers().drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    whole = in_process("apply", "fa.run", "new.csv", "--json", "-o", "whole.csv", cwd=tmp_path)
    streamed = in_process("apply", "fa.run", "new.csv", "--stream", "--json", "-o", "streamed.csv", cwd=tmp_path)
    assert whole.code == streamed.code == 0
    one, two = (pd.read_csv(tmp_path / name) for name in ("whole.csv", "streamed.csv"))
    assert np.allclose(one[two.columns], two, rtol=1e-9, atol=1e-12, equal_nan=True)
    assert [row["name"] for row in json.loads(whole.out)["odd"]] == [
        row["name"] for row in json.loads(streamed.out)["odd"]
    ]


def test_a_bent_model_fills_new_rows_and_judges_none(tmp_path):
    run = saved(tmp_path, "gtm")
    model, unit = lowdim.load(run.model_file), np.array(run.facts["unit"])
    new = flowers()[20:24].drop(columns="kind")
    new.iloc[1, 2] = np.nan
    placed = place_run(run, new)
    cells = model.predict_cells(new.to_numpy() / unit)
    assert placed.filled.iloc[1, 2] == pytest.approx(cells.mean[1, 2] * unit[2], rel=1e-9)
    half = 1.6448536269514722 * np.sqrt((cells.var + cells.noise)[1, 2]) * unit[2]
    assert placed.upper.iloc[1, 2] - placed.filled.iloc[1, 2] == pytest.approx(half, rel=1e-9)
    assert placed.odd is None and placed.larger is None and placed.calibrated and "filled" in placed.sentence
    said = in_process("odd", "gtm.run", cwd=tmp_path)
    assert said.code == 2 and "LD325" in said.err
    said = in_process("apply", "gtm.run", "t.csv", "--stream", cwd=tmp_path)
    assert said.code == 2 and "no law of rows' distances" in said.err


def test_the_analysis_of_a_table_is_not_in_the_run_of_one_model(tmp_path):
    run = saved(tmp_path, "gtm")
    with pytest.raises(LowdimError, match="LD319"):  # dimensions and a report are the main job's
        run.analysis  # noqa: B018
    with pytest.raises(LowdimError, match="LD319"):  # a sheet has no straight axes
        run.axes  # noqa: B018


def test_labels_in_zeros_and_ones_are_cells_as_others(tmp_path):
    run = saved(tmp_path, "fa", encode=["kind"])
    new = flowers()[20:24]
    new.iloc[1, 5] = None
    placed = place_run(run, new)
    assert placed.columns == (*"abcde", "kind=late") and placed.gaps == 1 + int(new.iloc[:, :5].isna().to_numpy().sum())
    assert 0.0 <= placed.lower.iloc[1, 5] <= placed.filled.iloc[1, 5] <= placed.upper.iloc[1, 5] <= 1.0
    whole = place_run(run, str(tmp_path / "t.csv"))
    assert whole.places.z == pytest.approx(subject(run).places.z, abs=1e-9)
    assert whole.odd.p == pytest.approx(run.odd.p, rel=1e-9)
