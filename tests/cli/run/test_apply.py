"""`lowdim apply`: new rows on an old map, their gaps filled, what does not fit."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

from tests.cli.calls import rows_of
from tests.cli.conftest import small_table, write_csv


def test_apply_places_one_row_and_says_what_is_missing(lowdim, made):
    write_csv(lowdim.folder / "one.csv", np.array([[0.1, 0.2, 0.3, 1.0]]), ["x1", "x2", "x4", "zz"])
    said = lowdim("apply", made / "small.run", "one.csv")
    assert said.code == 0 and said.out.startswith("1 row placed. 1 has gaps: its ellipse is ")
    assert "LD220 note" in said.err and "x3, x5, x6" in said.err and "LD222" in said.err and "zz" in said.err
    assert [r["column"] for r in rows_of(lowdim.folder / "one.fills.csv")] == ["x3", "x5", "x6"]
    assert len(rows_of(lowdim.folder / "one.scores.csv")) == 1
    told = json.loads(lowdim("apply", made / "small.run", "one.csv", "--json").out)
    assert len(told["scores"]) == 1 and [m["code"] for m in told["messages"]] == ["LD220", "LD222"]


def test_apply_does_not_need_the_old_table(lowdim, made, tmp_path):
    """A run folder that was moved to where the new rows are."""

    shutil.copytree(made / "small.run", tmp_path / "moved.run")
    told = json.loads((tmp_path / "moved.run" / "run.json").read_text())
    told["table"]["path"] = "/nowhere/small.csv"
    (tmp_path / "moved.run" / "run.json").write_text(json.dumps(told))
    write_csv(tmp_path / "new.csv", small_table(seed=3)[:4])
    assert lowdim("apply", "moved.run", "new.csv").code == 0
    assert "LD308" in lowdim("odd", "moved.run").err


def test_new_rows_that_do_not_fit_and_their_repair(lowdim):
    write_csv(lowdim.folder / "far.csv", small_table() + 10.0)  # of a column around 0 no unit can be told
    assert lowdim("fit", "far.csv", "--budget", "1s").code == 0
    X = small_table(seed=4)[:8] + 10.0
    X[np.isnan(X)] = 10.1
    names = [f"x{k}" for k in range(1, 7)]
    write_csv(lowdim.folder / "n.csv", np.c_[X[:, :4], 1000 * X[:, 4], X[:, 5]], [*names[:3], "zz", *names[4:]])
    told = json.loads(lowdim("apply", "far.run", "n.csv", "--json", "--quiet").out)
    assert {"LD220", "LD221", "LD222"} <= {m["code"] for m in told["messages"]}
    write_csv(lowdim.folder / "n.csv", X, names)  # the column added, the unit brought back, the stranger gone
    told = json.loads(lowdim("apply", "far.run", "n.csv", "--json", "--quiet").out)
    assert not {"LD220", "LD221", "LD222"} & {m["code"] for m in told["messages"]}


def test_few_new_rows_have_the_units_of_the_run(lowdim):
    def cells(X, unit):
        return ["x1,x2,x3,x4", *(f"{a:.3f} {unit},{b:.3f} $,{c:.3f},{d:.3f}" for a, b, c, d in X)]

    def put(name, X, unit="mg/L"):
        (lowdim.folder / name).write_text("\n".join(cells(X, unit)) + "\n")

    X = np.nan_to_num(small_table()[:30, :4]) + 20.0
    put("dosed.csv", X)
    assert lowdim("report", "dosed.csv", "--dims", "1").code == 0
    put("new.csv", X[:2])
    told = lowdim("apply", "dosed.run", "new.csv")
    assert told.code == 0 and told.out.startswith("2 rows placed.")
    put("other.csv", X[:2], "g/L")
    refused = lowdim("apply", "dosed.run", "other.csv")
    assert refused.code == 4 and "LD104" in refused.err and 'are to be in "mg/L"' in refused.err
    facts = json.loads((lowdim.folder / "dosed.run" / "run.json").read_text())
    assert facts["table"].pop("units") == {"x1": "mg/L", "x2": "$"}
    (lowdim.folder / "dosed.run" / "run.json").write_text(json.dumps(facts))  # as runs were that know no units
    assert "LD104" in lowdim("apply", "dosed.run", "new.csv").err
    write_csv(lowdim.folder / "bare.csv", X[:2], [f"x{k}" for k in range(1, 5)])
    assert lowdim("apply", "dosed.run", "bare.csv").code == 0


def test_applied_fills_have_calibrated_intervals(lowdim, made):
    X = small_table(seed=3)[:20]
    write_csv(lowdim.folder / "new.csv", X)
    said = lowdim("apply", made / "small.run", "new.csv")
    told = "These fills use the map's model (2 dimensions); lowdim fill chooses a model of its own"
    assert said.code == 0 and told in said.out
    fills = list(csv.DictReader((lowdim.folder / "new.fills.csv").read_text().splitlines()))
    facts = json.loads((made / "small.run" / "run.json").read_text())["apply"]
    assert len(fills) == np.isnan(X).sum() and len(facts["half_widths"]) == 6 and facts["level"] == 0.9
    for row in fills:
        low, fill, high, sd = (float(row[key]) for key in ("lower", "fill", "upper", "sd"))
        half = facts["half_widths"][int(row["column"][1:]) - 1]
        assert [high - fill, fill - low] == pytest.approx([half * sd] * 2, rel=1e-9)


def test_a_run_of_an_older_version_says_so(lowdim, made, tmp_path):

    write_csv(tmp_path / "new.csv", small_table(seed=3)[:20])
    for harm in ("absent", "short", "words"):
        shutil.copytree(made / "small.run", tmp_path / f"{harm}.run")
        path = tmp_path / f"{harm}.run" / "run.json"
        told = json.loads(path.read_text())
        if harm == "absent":
            del told["apply"]
        else:
            told["apply"]["half_widths"] = [1.0, 2.0] if harm == "short" else ["a"] * 6
        path.write_text(json.dumps(told))
        said = lowdim("apply", f"{harm}.run", "new.csv", "--json")
        found = json.loads(said.out)
        assert found["calibrated"] is False and "LD223" in [m["code"] for m in found["messages"]]


def test_a_table_of_answers_is_placed_on_its_own_map(lowdim):
    rng = np.random.default_rng(0)
    side = rng.random(80) < 0.5
    cells = np.where(rng.random((80, 6)) < np.where(side, 0.85, 0.15)[:, None], "y", "n")
    lines = [",".join(row) for row in cells]
    (lowdim.folder / "votes.csv").write_text("\n".join(["a,b,c,d,e,f", *lines]) + "\n")
    assert lowdim("fit", "votes.csv", "--budget", "1s", "--quiet").code == 0
    said = lowdim("apply", "votes.run", "votes.csv", "--quiet")
    assert said.code == 0 and said.out.startswith("80 rows placed.")
