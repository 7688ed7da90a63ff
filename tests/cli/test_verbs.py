"""Every verb: what it prints, what it writes, and the same as JSON."""

from __future__ import annotations

import csv
import json
import re
import shutil

import numpy as np
import pytest

from lowdim.cli.group import modules
from tests.cli.conftest import small_table, write_csv


def rows_of(path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_fit_says_four_lines_and_writes_a_run(lowdim, made):
    said = lowdim("fit", made / "small.csv", "--dims", "2", "--budget", "1s", "-o", "two.run", "--quiet")
    lines = said.out.split("\n")
    assert said.code == 0 and said.err == "" and len(lines) == 6
    assert lines[0].startswith("PPCA") and lines[1].startswith("2 dimensions (asked for; the judges say ")
    assert re.fullmatch(r"\d+% shared / \d+% noise", lines[2]) and lines[3].startswith("converged in ")
    assert sorted(p.name for p in (lowdim.folder / "two.run").iterdir()) == [
        "fills.csv",
        "model.lowdim",
        "odd.csv",
        "run.json",
        "scores.csv",
    ]
    run = json.loads((lowdim.folder / "two.run" / "run.json").read_text())
    assert run["settings"]["dims"] == 2 and run["settings"]["budget"] == 1.0
    assert run["sentences"][0].startswith("You asked for 2 dimensions; the judges say ")


def test_dims_as_text_and_as_json(lowdim, made):
    text = lowdim("dims", made / "small.csv", "--budget", "1s")
    told = json.loads(lowdim("dims", made / "small.csv", "--budget", "1s", "--json").out)
    assert text.out.startswith(f"Dimensions: {told['sentence'].split(' (')[0]}") and told["dims"] == 2
    assert told["schema"] == 1
    assert "<- recommended" in text.out and "Judges: " in text.out and "noise floor" in text.out
    assert [row["q"] for row in told["rows"]][:3] == [0, 1, 2] and told["judges"][0]["name"] == "held-out cells"
    assert told["messages"] == []


def test_fill_writes_the_table_with_nothing_else_changed(lowdim, made):
    said = lowdim("fill", made / "small.csv", "-o", "out.csv", "--intervals", "--multiple", "2", "--quiet")
    X, names = small_table(), [f"x{k}" for k in range(1, 7)]
    assert said.code == 0 and "gaps filled from" in said.out and "skill*" in said.out and said.err == ""
    assert "Wrote out.csv, out.lower.csv, out.upper.csv, out.mask.csv, out.1.csv, out.2.csv" in said.out
    read = {
        word: np.array([[float(r[n]) for n in names] for r in rows_of(lowdim.folder / f"out{word}.csv")])
        for word in ("", ".lower", ".upper", ".mask", ".1", ".2")
    }
    gap = np.isnan(X)
    assert np.array_equal(read[".mask"], gap.astype(float)) and np.isfinite(read[""]).all()
    for word in ("", ".lower", ".upper", ".1", ".2"):
        assert np.array_equal(read[word][~gap], X[~gap]), word
    assert (read[".lower"][gap] < read[""][gap]).all() and (read[""][gap] < read[".upper"][gap]).all()
    assert (read[".1"][gap] != read[".2"][gap]).all()
    assert "Do not analyse" not in said.out
    assert "For statistics use --multiple 20" in lowdim("fill", made / "small.csv", "-o", "o.csv").out


def test_fill_keeps_labels_and_names(lowdim, tmp_path):
    X = small_table()
    lines = ["who,site,a,b,c,d,e,f"] + [
        f"r{i},{'ab'[i % 2]}," + ",".join("" if np.isnan(v) else f"{v:.4f}" for v in x) for i, x in enumerate(X)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert lowdim("fill", "t.csv", "-o", "o.csv", "--id", "who", "--quiet").code == 0
    out = rows_of(tmp_path / "o.csv")
    assert list(out[0]) == ["who", "site", "a", "b", "c", "d", "e", "f"]
    assert out[1]["who"] == "r1" and out[1]["site"] == "b"


def test_odd_names_the_row_and_the_cell(lowdim, made):
    said = lowdim("odd", made / "small.run", "-o", "o.csv")
    told = json.loads(lowdim("odd", made / "small.run", "-o", "o.csv", "--json").out)
    assert said.code == 0 and "false discovery rate" in said.out and "expected by chance" in said.out
    assert told["rows"][0]["name"] == "8" and told["rows"][0]["column"] == "x3"
    assert "Saved o.csv." in said.out and "--row 8" in said.out
    assert rows_of(lowdim.folder / "o.csv")[0]["row"] == "8"


def test_explain_takes_names_and_numbers(lowdim, made):
    told = json.loads(lowdim("explain", made / "small.run", "--row", "8", "--json").out)
    assert told["card"]["row"] == 7 and told["card"]["hide"] == ["x3"]
    assert len(told["card"]["cells"]) == 6 and told["card"]["cells"][2]["column"] == "x3"
    axis = json.loads(lowdim("explain", made / "small.run", "--axis", "1", "--json").out)["card"]
    assert axis["axis"] == 1 and len(axis["loadings"]) == 6
    assert all(part["low"] <= part["high"] for part in axis["loadings"])
    (lowdim.folder / "g.txt").write_text("8, 9, 10")
    group = json.loads(lowdim("explain", made / "small.run", "--group", "g.txt", "--json").out)["card"]
    assert group["rows"] == [7, 8, 9] and len(group["axes"]) == 2 and len(group["columns"]) == 6
    (lowdim.folder / "g.txt").write_text("8\nnobody\n")
    said = lowdim("explain", made / "small.run", "--group", "g.txt")
    assert said.code == 2 and "there is no row 'nobody'" in said.err


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
    import shutil

    shutil.copytree(made / "small.run", tmp_path / "moved.run")
    told = json.loads((tmp_path / "moved.run" / "run.json").read_text())
    told["table"]["path"] = "/nowhere/small.csv"
    (tmp_path / "moved.run" / "run.json").write_text(json.dumps(told))
    write_csv(tmp_path / "new.csv", small_table(seed=3)[:4])
    assert lowdim("apply", "moved.run", "new.csv").code == 0
    assert "LD308" in lowdim("odd", "moved.run").err


def test_monitor_draws_old_and_new_rows(lowdim, made):
    X = small_table(seed=5)[:12]
    X[3] += 9.0 * np.array([1, -1, 1, -1, 1, -1])
    write_csv(lowdim.folder / "new.csv", X)
    said = lowdim("monitor", made / "small.run", "new.csv")
    assert said.code == 0 and "\n    4 " in said.out and "Chart in new.control.svg" in said.out
    assert (lowdim.folder / "new.control.svg").read_text().count("<svg") == 1


def test_plot_lists_and_draws(lowdim, made):
    listed = [line.split()[0] for line in lowdim("plot", "--list").out.splitlines()]
    assert len(listed) == len(set(listed)) >= 23 and "map" in listed
    said = lowdim("plot", "why_row", made / "small.run", "-o", "w.csv", "--budget", "1s", "--quiet")
    assert said.code == 0 and said.out.endswith("Wrote w.csv\n") and (lowdim.folder / "w.csv").read_text().count("x3")
    told = lowdim("plot", "component_images", made / "small.run", "--quiet", "--json")
    assert told.code == 2 and json.loads(told.out)["error"] == "LD216"


def test_runs_lists_and_compares(lowdim, made):
    lowdim("fit", made / "small.csv", "--dims", "1", "--budget", "1s", "-o", "one.run", "--quiet")
    said = lowdim("runs")
    assert said.out.startswith("one.run   60 x 6 ") and "You asked for 1 dimension" in said.out
    differs = lowdim("runs", "one.run", made / "small.run")
    assert differs.code == 0 and re.search(r"^dims\n  one.run: 1\n  .*small.run: auto$", differs.out, re.M)
    assert "columns" not in differs.out.split("sentence")[0]
    assert "do not differ" in lowdim("runs", "one.run", "one.run").out
    assert {"what": "dims", "first": "1", "second": "auto"} in json.loads(
        lowdim("runs", "one.run", made / "small.run", "--json").out
    )["differences"]
    (lowdim.folder / "torn.run").mkdir()
    (lowdim.folder / "torn.run" / "run.json").write_text('{"schema"')
    assert "torn.run" in lowdim("runs").out and "run.json cannot be read" in lowdim("runs").out
    assert lowdim("runs", lowdim.folder / "nowhere").code == 2


def test_methods_and_help(lowdim):
    assert "ProbabilisticPCA" in lowdim("methods").out
    assert len(json.loads(lowdim("methods", "--json").out)["methods"]) >= 16
    said = lowdim("help", "ld104")
    assert said.code == 0 and said.out.count("LD104  ") == 2 and "axes are built from numbers" in said.out


CALLS = {
    "report": ["small.csv"],
    "check": ["small.csv"],
    "dims": ["small.csv"],
    "fit": ["small.csv"],
    "fill": ["small.csv", "-o", "f.csv"],
    "plan": ["small.csv"],
    "compare": ["small.csv"],
    "odd": ["small.run"],
    "explain": ["small.run", "--axis", "1"],
    "apply": ["small.run", "small.csv"],
    "monitor": ["small.run", "small.csv"],
    "plot": ["gaps", "small.run", "-o", "p.csv"],
    "runs": ["."],
    "methods": [],
    "demo": ["gaussian"],
    "help": ["LD104"],
}


@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=pytest.mark.drill) if verb == "demo" else verb for verb in modules()]
)
def test_json_is_one_object_with_a_schema_and_messages(lowdim, made, no_drawing, verb):
    shutil.copy(made / "small.csv", lowdim.folder)
    shutil.copytree(made / "small.run", lowdim.folder / "small.run")
    slow = ["--budget", "1s"] if verb in ("report", "dims", "fit", "plot", "compare") else []
    said = lowdim(verb, *CALLS[verb], *slow, "--json", "--quiet")
    told = json.loads(said.out)  # one object and nothing else
    assert said.code == 0 and said.err == "" and told["schema"] == 1 and len(told) > 2, said.err
    assert all({"code", "severity", "where", "text", "fix"} <= m.keys() for m in told["messages"])
    wrong = lowdim(verb, *CALLS[verb], "--no-such-option", "--json")
    told = json.loads(wrong.out)
    assert wrong.code == 2 and told["error"] == "usage" and "No such option" in told["messages"][0]["text"]


@pytest.mark.parametrize(
    "verb", ["report", "check", "dims", "fit", "fill", "odd", "explain", "apply", "monitor", "plot"]
)
def test_json_of_what_stops_a_verb_has_its_code(lowdim, made, verb):
    missing = [word if word not in ("small.csv", "small.run") else "nowhere.csv" for word in CALLS[verb]]
    told = json.loads(lowdim(verb, *missing, "--json", "--quiet").out)
    assert told["error"] in ("LD001", "LD305") and [m["code"] for m in told["messages"]] == [told["error"]]
    assert all(told["messages"][0][part] for part in ("severity", "text", "fix"))


def test_the_same_call_writes_the_same_bytes(lowdim, made):
    for name in ("a.run", "b.run"):
        assert lowdim("fit", made / "small.csv", "--budget", "1s", "-o", name, "--quiet").code == 0
    for file in ("model.lowdim", "scores.csv", "fills.csv", "odd.csv"):
        assert (lowdim.folder / "a.run" / file).read_bytes() == (lowdim.folder / "b.run" / file).read_bytes(), file
    a, b = ((lowdim.folder / name / "run.json").read_text().replace(name, "") for name in ("a.run", "b.run"))
    assert a == b


def test_another_seed_is_another_run(lowdim, made):
    lowdim("fit", made / "small.csv", "--budget", "1s", "--seed", "7", "-o", "s.run", "--quiet")
    assert (lowdim.folder / "s.run" / "fills.csv").read_bytes() != (made / "small.run" / "fills.csv").read_bytes()


def test_a_fit_that_does_not_converge_leaves_with_5(lowdim, made, monkeypatch):
    from lowdim.models.linear.ppca import ProbabilisticPCA

    monkeypatch.setattr(
        ProbabilisticPCA.__init__, "__kwdefaults__", {**ProbabilisticPCA.__init__.__kwdefaults__, "max_iter": 2}
    )
    said = lowdim("fit", made / "small.csv", "--dims", "2", "--budget", "1s", "-o", "short.run")
    assert said.code == 5 and "LD201" in said.err and "did not converge" in said.err
    assert json.loads((lowdim.folder / "short.run" / "run.json").read_text())["converged"] is False


def test_strict_leaves_with_1_where_a_check_of_trust_fails(lowdim, tmp_path):
    X = small_table()[:6]
    X[np.isnan(X)] = 0.5
    write_csv(tmp_path / "few.csv", X)
    loose, strict = (lowdim("fit", "few.csv", "--budget", "1s", "--quiet", *more) for more in ((), ("--strict",)))
    assert loose.code == 0 and strict.code == 1 and "not so: enough rows" in strict.err
