"""`lowdim fit -m mixed`: columns of words, answers and levels take part, and come back as what they are."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.jobs.apply import place_run
from lowdim.jobs.one_model import fit_method, save_fitted
from lowdim.jobs.run_folder import load_run
from lowdim.jobs.run_tables import placed_fills
from lowdim.judge.mixed_table import mixed_table
from lowdim.table.read import read_rows
from lowdim.text.messages import LowdimError


def survey(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two real columns, an answer and a town that one trait drives: whole, and with gaps in all of them."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)

    def site(slope: float) -> np.ndarray:
        return slope * z + 0.5 * rng.standard_normal(n)

    whole = pd.DataFrame(
        {
            "height": np.round(170 + 8 * site(1.0), 2),
            "income": np.round(30 + 5 * site(-1.0), 2),
            "owner": np.where(site(2.0) > 0, "yes", "no"),
            "town": np.array(["Aachen", "Bonn", "Celle"])[np.digitize(site(1.5), [0.3, 1.3])],
        }
    )
    gaps = rng.random(whole.shape) < 0.1
    gaps[:, 0] &= ~gaps[:, 1]  # of rows without any number there is a test of their own
    return whole, whole.mask(gaps)


@pytest.fixture(scope="module")
def fitted():
    frame = survey()[1]
    return frame, fit_method(frame, "mixed")


def test_labels_take_part_unless_they_are_to_stay_labels(fitted):
    frame, found = fitted
    assert found.mixed.kinds == ("real", "real", "yes/no", "label") and found.model.n_components_ == 1
    assert "4 columns (2 real, 1 yes/no, 1 label)" in found.text() and "a lower bound" in found.text()
    spared = fit_method(ld.read(frame, label=["town"]), "mixed", dims=1)
    assert spared.mixed.names == ("height", "income", "owner")
    both = mixed_table(ld.read(frame, encode=["town", "owner"]))
    assert both.kinds == ("real", "real", "yes/no", "label") and both.columns[3].number == 3
    assert both.columns[3].coded.labels == ("Aachen", "Bonn", "Celle")
    seen = frame["town"].notna().to_numpy()
    codes = both.columns[3].coded.values
    assert [both.columns[3].coded.labels[int(k)] for k in codes[seen]] == frame["town"][seen].tolist()
    assert np.isnan(codes[~seen]).all()


def test_rows_that_hold_labels_only_take_part(tmp_path):
    frame = survey()[1]
    frame.loc[[3, 8, 20], ["height", "income"]] = np.nan
    frame.loc[[3, 8], ["owner", "town"]] = ["yes", "Celle"]
    frame.loc[20, ["owner", "town"]] = None
    found = fit_method(frame, "mixed")
    assert found.table.n == len(frame) - 1 and len(found.places.z) == len(frame) - 1
    middle = found.places.sd[[3, 8], 0]
    assert (middle < 0.8).all()  # an answer and a town say where they are
    run = save_fitted(found, tmp_path / "r.run", options=found.table.options)
    assert load_run(run).facts["table"]["rows"] == len(frame) - 1
    assert ld.read(frame).n == len(frame) - 1  # an answer is enough for a place


def test_columns_that_take_no_part_are_named_with_the_reason():
    frame = survey()[0].assign(one="x", street=[f"s{k % 70}" for k in range(240)])
    frame["house"] = frame["owner"].map({"yes": "own", "no": "let"})
    words = fit_method(frame, "mixed", dims=1).text()
    spared = "one (has one label only), street (70 values, more than 50), house (says the same as owner)"
    assert f"Columns that take no part: {spared}." in words


def test_gaps_come_back_as_labels_with_their_probability(fitted, tmp_path):
    """The trait orders the towns: a fill is the town that the other columns say, most of the time."""
    frame, found = fitted
    folder = save_fitted(found, tmp_path / "t.mixed.run")
    with open(folder / "fills.csv", newline="") as lines:
        fills = list(csv.DictReader(lines))
    assert len(fills) == int(frame.isna().to_numpy().sum())
    truth = survey()[0]
    labels = [f for f in fills if f["column"] in ("town", "owner")]
    right = [truth[f["column"]][int(f["row"]) - 1] == f["fill"] for f in labels]
    sure = [float(f["probability"]) for f in labels]
    assert np.mean(right) > 0.75 and abs(np.mean(right) - np.mean(sure)) < 0.12
    assert all(f["sd"] == "" for f in labels) and all(float(f["sd"]) > 0 for f in fills if f["column"] == "height")
    model = ld.load(folder / "model.lowdim")
    assert set(model.impute(frame)["town"]) == {"Aachen", "Bonn", "Celle"}


def test_new_rows_are_read_by_their_labels(fitted, tmp_path):
    frame, found = fitted
    run = load_run(save_fitted(found, tmp_path / "t.mixed.run"))
    frame.to_csv(tmp_path / "new.csv", index=False)
    again = place_run(run, str(tmp_path / "new.csv"))
    assert again.places.z == pytest.approx(found.places.z, abs=1e-9)
    strange = frame.head(3).assign(town=["Dorsten", "Bonn", "Bonn"])
    strange.to_csv(tmp_path / "strange.csv", index=False)
    placed = place_run(run, str(tmp_path / "strange.csv"))
    said = placed.messages
    assert np.isfinite(placed.places.z).all() and [m.code for m in said] == ["LD504"]
    assert "'town'" in said[0].what and "'Dorsten' (row 1)" in said[0].what
    said = place_run(run, frame[["height", "owner"]].head(2)).messages
    assert "income, town" in "".join(m.what for m in said if m.code == "LD220")


def test_labels_that_are_numbers_are_read_however_they_are_written(tmp_path):
    """What pandas writes once a column of 0 and 1 has gaps: 1.0; by both kinds of runs, and in both directions."""
    frame = survey()[0].assign(owner=lambda t: (t["owner"] == "yes").astype(int).astype(str))
    floats = frame.assign(owner=frame["owner"] + ".0")
    for own, other in ((frame, floats), (floats, frame)):
        run = load_run(save_fitted(fit_method(own, "mixed", dims=1), tmp_path / own["owner"][0]))
        one, two = (_placed(run, rows.head(9), tmp_path) for rows in (own, other))
        assert one.places.z == pytest.approx(two.places.z, abs=1e-9) and not two.messages
    names, labels = ("height", "owner"), ((), ("0", "1"))
    read = [read_rows(rows.head(9), names, labels).X for rows in (frame, floats)]
    assert np.array_equal(*read) and set(read[0][:, 1]) == {0.0, 1.0}


def _placed(run, frame, folder):
    frame.to_csv(folder / "rows.csv", index=False)
    return place_run(run, str(folder / "rows.csv"))


def test_gaps_of_new_rows_are_filled_as_those_of_the_fit(fitted, tmp_path):
    """Labels by labels and numbers with calibrated intervals; a label that was not there in the fit is no gap."""
    frame, found = fitted
    run = load_run(save_fitted(found, tmp_path / "t.mixed.run"))
    placed = place_run(run, frame)
    with open(run.folder / "fills.csv", newline="") as lines:
        own = {(f["row"], f["column"]): f for f in csv.DictReader(lines)}
    new = {(f["row"], f["column"]): f for f in csv.DictReader(placed_fills(placed).splitlines(True))}
    assert new.keys() == own.keys() and placed.calibrated and not placed.messages
    for key, fill in new.items():
        if key[1] in ("owner", "town"):
            assert fill["fill"] == own[key]["fill"] and fill["lower"] == ""
            assert float(fill["probability"]) == pytest.approx(float(own[key]["probability"]), abs=1e-9)
        else:
            assert float(fill["lower"]) < float(fill["fill"]) < float(fill["upper"]) and fill["probability"] == ""
    strange = frame.head(3).assign(owner=["maybe", None, "no"], town=["Dorsten", "Bonn", "Bonn"])
    again = place_run(run, strange)
    assert [(i, again.columns[j]) for i, j in zip(again.answers.row, again.answers.column, strict=True)] == [
        (1, "owner")
    ]
    assert [m.code for m in again.messages] == ["LD504", "LD504"]
    assert np.isnan(again.X[0, 2:]).all() and again.came.strange[0, 2:].all() and again.gaps == 1


def test_fills_of_logarithms_are_in_the_units_of_the_table(tmp_path):
    frame = survey()[1]
    frame["income"] = np.exp(frame["income"] / 5)
    fitted = fit_method(ld.read(frame, log=["income"]), "mixed", dims=1)
    with open(save_fitted(fitted, tmp_path / "t.mixed.run") / "fills.csv", newline="") as lines:
        found = [f for f in csv.DictReader(lines) if f["column"] == "income"]
    usual = np.median([float(f["fill"]) for f in found]) / frame["income"].median()
    assert 0.5 < usual < 2 and frame["income"].median() > 100
    assert all(0 < float(f["lower"]) < float(f["fill"]) < float(f["upper"]) for f in found)


def test_likelihoods_are_asked_for_by_name():
    frame = survey()[1]
    frame["visits"] = np.random.default_rng(1).poisson(np.exp(0.3 * np.nan_to_num(frame["height"] - 170) / 8 + 1))
    asked = {"likelihoods": {"visits": "count", "income": "positive", "owner": "label"}, "noise": "one"}
    found = fit_method(frame, "mixed", dims=1, options=asked)
    assert found.model.likelihoods_ == ("real", "positive", "yes/no", "label", "count")
    assert found.model.noise == "one" and "1 positive" in found.text() and "1 count" in found.text()
    as_typed = fit_method(frame, "mixed", dims=1, options={"likelihoods": ("visits:count", "income:positive")})
    assert as_typed.model.likelihoods_ == found.model.likelihoods_


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_components": 2}, "--dims"),
        ({"n_neighbors": 2}, "likelihoods"),
        ({"likelihoods": "count"}, "COLUMN:KIND"),
        ({"likelihoods": "vists:count"}, "height"),
        ({"likelihoods": "town:count"}, "label, marker"),
        ({"likelihoods": "height:label"}, "positive"),
        ({"likelihoods": "income:count"}, "the logarithm of income: real"),
    ],
)
def test_what_a_mixed_model_cannot_be_asked_is_refused_with_what_it_can(options, said):
    table = ld.read(survey()[1], log=["income"])
    with pytest.raises(LowdimError) as raised:
        fit_method(table, "mixed", dims=1, options=options)
    assert said in raised.value.fix
