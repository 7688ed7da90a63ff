"""Tables that are not rows of measurements."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim.jobs.analysis import analyse
from lowdim.jobs.one_model import fit_method
from lowdim.table.read import read
from lowdim.table.whole_table import is_correlations, is_distances, is_panel, mirrored, rating_columns
from lowdim.text.messages import LowdimError

rng = np.random.default_rng(3)
PLACES = rng.uniform(0, 10, (8, 2))
D = np.sqrt(((PLACES[:, None] - PLACES) ** 2).sum(axis=2))


def test_distances_are_seen_by_their_form():
    assert is_distances(D) and is_distances(np.where(np.triu(D, 1) > 0, np.nan, D))
    changed = D.copy()
    changed[1, 2] += 0.1
    assert not is_distances(changed) and not is_distances(D + np.eye(8)) and not is_distances(-D)
    assert not is_distances(D[:, :7]) and not is_distances(np.zeros((8, 8))) and not is_distances(np.corrcoef(D))
    np.testing.assert_array_equal(mirrored(np.where(np.triu(D, 1) > 0, np.nan, D)), D)


def test_distances_with_missing_pairs_are_distances():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (30, 2))
    full = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    missing = np.triu(rng.random(full.shape) < 0.3, 1)
    gaps = np.where(missing | missing.T, np.nan, full)
    assert is_distances(gaps) and is_distances(np.where(np.triu(np.ones((30, 30)), 1) > 0, np.nan, gaps))
    assert not is_distances(np.where(rng.random(full.shape) < 0.7, np.nan, full))  # too few pairs both ways
    gaps[1, 0], gaps[0, 1] = full[0, 1] + 0.1, full[0, 1]
    assert not is_distances(gaps)


def test_distances_are_refused_by_the_main_job_and_mapped_by_mds(tmp_path):
    names = [f"t{k}" for k in range(8)]
    rows = "\n".join(",".join([name, *map(str, row)]) for name, row in zip(names, D.tolist(), strict=True))
    path = tmp_path / "d.csv"
    path.write_text("town," + ",".join(names) + "\n" + rows + "\n")
    table = read(path)
    assert table.holds == "distances" and "LD192" in table.messages.codes and "-m mds" in table.summary()
    with pytest.raises(LowdimError, match="LD192"):
        analyse(table)
    with pytest.raises(LowdimError, match="LD192"):
        fit_method(table, "ppca")
    found = fit_method(table, "mds")
    Z = found.places.z
    np.testing.assert_allclose(np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2)), D, atol=1e-8)
    assert "distances of 8 rows: 2 axes" in found.text()
    assert read(path, use="t0").holds == "measurements"


def test_ratings_are_seen_by_their_names_and_their_form(tmp_path, monkeypatch):
    user, item = np.repeat(np.arange(12.0), 5), np.tile(np.arange(5.0), 12)
    mark = rng.integers(1, 6, 60) * 1.0
    assert rating_columns(["userId", "movieId", "rating"], [user, item, mark]) == ("userId", "movieId", "rating")
    assert rating_columns(["userId", "movieId", "rating", "timestamp"], [user, item, mark, user]) is not None
    assert rating_columns(["age", "height", "rating"], [user, item, mark]) is None
    assert rating_columns(["user", "item", "rating"], [user, item, rng.normal(0, 1, 60)]) is None
    assert rating_columns(["user", "item", "rating"], [np.arange(60.0), item, mark]) is None  # each user once
    path = tmp_path / "r.csv"
    lines = "\n".join(f"{u:.0f},{i:.0f},{m:.0f}" for u, i, m in zip(user, item, mark, strict=True))
    path.write_text("user,item,rating\n" + lines + "\n")
    with pytest.raises(LowdimError, match="LD193") as stopped:
        read(path)
    (call,) = re.findall(r"ld\.MatrixFactorization\(.*\)", str(stopped.value))
    monkeypatch.chdir(tmp_path)
    assert eval(call, {"ld": lowdim}).item_ids_.tolist() == [0, 1, 2, 3, 4]


def test_correlations_are_no_measurements() -> None:
    R = np.corrcoef(np.random.default_rng(0).normal(size=(6, 90))).round(3)
    assert is_correlations(R) and not is_correlations(R[:5]) and not is_correlations(np.eye(6))
    assert not is_correlations(np.where(np.eye(6) > 0, 1.0, R * 9)) and not is_correlations(
        R + np.triu(np.ones((6, 6)), 1) / 9
    )
    frame = pd.DataFrame(R, columns=list("abcdef")).assign(center=0, n_obs=90)
    for table in (frame, R):
        with pytest.raises(LowdimError, match="LD194"):
            read(table)
    assert read(frame, use="a,b,c,d,e,f").d == 6


def test_a_panel_has_most_pairs_of_a_unit_and_a_time_once():
    unit, time = np.repeat(["K", "L", "M", "N"], 5), np.tile(np.arange(2001, 2006), 4)
    assert is_panel(unit, time) and is_panel(unit[:-6], time[:-6])
    assert not is_panel(np.append(unit, "K"), np.append(time, 2001))  # twice the same
    assert not is_panel(unit, np.arange(20))  # a time of its own for each row: groups, or one after the other
    assert not is_panel(unit, np.r_[np.arange(18), 0, 1])  # hardly any pair
