"""`lowdim ratings`: users, items and marks learnt, recommended from, reported; and found by `check`."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import lowdim as ld
from lowdim.jobs.ratings import learn_ratings
from lowdim.text.messages import OptionError
from tests.cli.calls import rows_of


def write_ratings(path, users=80, items=25, seed=0, header="userId,movieId,rating,timestamp", noise=0.3):
    """One taste: half of the items are liked by those who dislike the others; halves of stars."""
    rng = np.random.default_rng(seed)
    taste, side = rng.standard_normal(users), np.where(np.arange(items) < items // 2, 1.0, -1.0)
    X = 3.0 + np.outer(taste, side) + noise * rng.standard_normal((users, items))
    X = np.clip(np.round(2 * X) / 2, 0.5, 5.0)
    seen = rng.random(X.shape) < 0.5
    lines = [f"{u + 1},{i + 100},{X[u, i]},{9000 + u}" for u, i in np.argwhere(seen)]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return taste, side, seen


def test_check_knows_a_list_of_ratings_and_says_the_command(lowdim):
    write_ratings(lowdim.folder / "r.csv")
    said = lowdim("check", "r.csv")
    assert said.code == 4 and "LD193" in said.err and "lowdim ratings r.csv" in said.err


def test_ratings_are_learnt_and_held_out_ones_predicted(lowdim):
    taste, side, seen = write_ratings(lowdim.folder / "r.csv")
    said = lowdim("ratings", "r.csv", "--dims", 2, "--user", "3", "--top", 4, "--quiet")
    assert said.code == 0, said.err
    assert f"r.csv has {seen.sum():,} ratings of 25 items by 80 users" in said.out
    ours, biases, flat = (float(v) for v in re.search(
        r"the error is ([\d.]+); users' and items' means alone ([\d.]+), the mean of all ([\d.]+)\.", said.out
    ).groups())  # fmt: skip
    assert ours < 0.55 < biases < 1.05 and biases <= flat + 0.02  # the taste is all there is beside 0.3 of noise
    assert "1 taste of 2 tried tell" in said.out or "2 tastes of 2" in said.out
    folder = lowdim.folder / "r.ratings"
    users, items = rows_of(folder / "users.csv"), rows_of(folder / "items.csv")
    learnt = np.array([float(row["taste1"]) for row in users])
    assert abs(np.corrcoef(learnt, taste)[0, 1]) > 0.97
    assert abs(np.corrcoef([float(row["taste1"]) for row in items], side)[0, 1]) > 0.97
    best = re.findall(r"^  (1\d\d)  ", said.out, re.M)
    liked = 100 + np.flatnonzero(side == np.sign(taste[2]))
    assert len(best) == 4 and {int(item) for item in best} <= {*liked.tolist()} and abs(taste[2]) > 0.3
    assert not {int(item) - 100 for item in best} & {*np.flatnonzero(seen[2]).tolist()}  # none that was rated


def test_the_folder_recommends_without_a_fit(lowdim):
    write_ratings(lowdim.folder / "r.csv")
    first = json.loads(lowdim("ratings", "r.csv", "--dims", 1, "--user", "5", "--top", 3, "--json", "-o", "k").out)
    again = json.loads(lowdim("ratings", "k", "--user", "5", "--top", 3, "--json").out)
    assert again["recommended"] == first["recommended"] and len(first["recommended"]["5"]["items"]) == 3
    assert first["held_out"]["model"]["rmse"] < first["held_out"]["biases"]
    page = (lowdim.folder / "k" / "report.html").read_text()
    assert first["sentences"][0] in page and "Recommended to 5" in page and "http" not in page.split("</style>")[1]
    assert lowdim("ratings", "k").code == 2
    unknown = lowdim("ratings", "k", "--user", "nobody")
    assert unknown.code == 2 and "LD210" in unknown.err
    (lowdim.folder / "other").mkdir()
    ld.PPCA(1).fit(np.random.default_rng(0).standard_normal((20, 3))).save(lowdim.folder / "other" / "model.lowdim")
    assert "LD332" in lowdim("ratings", "other", "--user", "5").err


def test_columns_by_name_and_what_is_no_list_of_ratings(lowdim):
    write_ratings(lowdim.folder / "r.csv", header="who,what,how_much,when")
    refused = lowdim("ratings", "r.csv")
    assert refused.code == 4 and "LD270" in refused.err
    assert lowdim("ratings", "r.csv", "--columns", "who,what,how_much", "--dims", 1, "--quiet").code == 0
    assert lowdim("ratings", "r.csv", "--columns", "who,what").code == 2
    assert lowdim("ratings", "nothing.csv").code in (3, 4)
    with pytest.raises(OptionError, match="such as"):
        from lowdim.jobs.ratings import recommend

        recommend(ld.MatrixFactorization(1).fit(np.array([[1.0, 2.0], [3.0, np.nan]])), 9, 1)


def test_too_few_ratings_say_so():
    X = np.array([[1.0, 2.0, np.nan], [2.0, np.nan, 4.0], [np.nan, 3.0, 5.0]])
    found = learn_ratings(X, dims=0)
    assert found.held is None and "too few ratings" in found.sentences[1] and "No taste" in found.sentences[2]


def test_items_are_called_by_their_names_and_ids_have_no_commas(lowdim):
    write_ratings(lowdim.folder / "r.csv")
    text = (lowdim.folder / "r.csv").read_text().split("\n")
    far = [line.replace(",1", ",71", 1) for line in text[1:]]
    (lowdim.folder / "r.csv").write_text("\n".join([text[0], *far]))
    items = [f"{i + 7100},{1990 + i},Film {chr(65 + i)}" for i in range(25)]
    (lowdim.folder / "items.csv").write_text("\n".join(["movieId,year,title", *items]) + "\n")
    said = lowdim("ratings", "r.csv", "--dims", 1, "--user", "3", "--items", "items.csv", "--quiet")
    assert said.code == 0 and "Film " in said.out and " 71" not in said.out
    page = (lowdim.folder / "r.ratings" / "report.html").read_text()
    assert "Film A" in page and "7,1" not in page
    again = lowdim("ratings", "r.ratings", "--user", "3", "--items", "items.csv")
    assert "Film " in again.out and "Film " not in lowdim("ratings", "r.ratings", "--user", "3").out
    lowdim("ratings", "r.csv", "--dims", 1, "--quiet")
    assert ">7,1" not in (lowdim.folder / "r.ratings" / "report.html").read_text()
