"""`lowdim fit -m mixed`: columns of words, answers and levels take part, and come back as what they are."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.jobs.one_model import fit_method, place_fitted, save_fitted
from lowdim.jobs.run_folder import load_run
from lowdim.judge.mixed_table import mixed_table


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
    assert both.kinds == ("real", "real", "yes/no", "label") and both.columns[3].numbers == (3, 4, 5)
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
    assert ld.read(frame).n == len(frame) - 3


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
    _, again, _ = place_fitted(run, str(tmp_path / "new.csv"))
    assert again.z == pytest.approx(found.places.z, abs=1e-9)
    strange = frame.head(3).assign(town=["Dorsten", "Bonn", "Bonn"])
    strange.to_csv(tmp_path / "strange.csv", index=False)
    _, placed, said = place_fitted(run, str(tmp_path / "strange.csv"))
    assert np.isfinite(placed.z).all() and [m.code for m in said] == ["LD504"] and "town" in said[0].what
    _, _, said = place_fitted(run, frame[["height", "owner"]].head(2))
    assert "income, town" in "".join(m.what for m in said if m.code == "LD220")
