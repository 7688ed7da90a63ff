"""`lowdim explain`: rows, axes and groups by name and by number, and places."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from lowdim.jobs.run_folder import load_run
from lowdim.jobs.table_model import subject
from lowdim.text.format import figures


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
    assert json.loads(lowdim("explain", made / "small.run", "--rows", "8,9,10", "--json").out)["card"] == group
    said = lowdim("explain", made / "small.run", "--rows", "8,nobody")
    assert said.code == 2 and "there is no row 'nobody'" in said.err and "--rows" in said.err
    (lowdim.folder / "g.txt").write_text("8\nnobody\n")
    said = lowdim("explain", made / "small.run", "--group", "g.txt")
    assert said.code == 2 and "there is no row 'nobody'" in said.err


def test_a_group_of_the_rows_is_explained_by_number_and_by_name(lowdim):
    """Three groups are asked for and found; the JSON of the run has each with its profile, its rows their chances."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 40)
    X = np.array([[0, 0], [9, 0], [0, 9]])[kind] + rng.standard_normal((120, 2))
    X = X @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((120, 5))
    lines = [
        ",".join([*(f"{x:.4f}" for x in row), ["north", "south", "west"][k]]) for row, k in zip(X, kind, strict=True)
    ]
    (lowdim.folder / "three.csv").write_text("\n".join(["a,b,c,d,e,site", *lines]))
    told = json.loads(lowdim("report", "three.csv", "--budget", "1s", "--groups", "3", "--json").out)
    assert sorted(g["name"] for g in told["groups"]) == ["north", "south", "west"] and told["settings"]["groups"] == 3
    card = json.loads(lowdim("explain", "three.run", "--group", "south", "--json").out)["card"]
    assert card["rows"] == list(range(40, 80)) and card["labels"][0]["values"] == ["south"]
    number = next(g["group"] for g in told["groups"] if g["name"] == "south")
    assert json.loads(lowdim("explain", "three.run", "--group", str(number), "--json").out)["card"] == card
    assert next(g for g in told["groups"] if g["name"] == "south")["profile"]["columns"] == card["columns"]
    assert "label site south in 40 of 40 rows" in lowdim("explain", "three.run", "--group", "south").out
    said = lowdim("explain", "three.run", "--group", "4")
    assert said.code == 2 and "groups are counted from 1 to 3" in said.err
    assert json.loads(lowdim("report", "three.csv", "--budget", "1s", "--no-groups", "--json").out)["groups"] == []
    said = lowdim("explain", "three.run", "--group", "1")  # of a run whose rows are one group
    assert said.code == 2 and "the rows are in no groups" in said.err
    assert lowdim("report", "three.csv", "--groups", "none").code == 2


def test_a_name_with_a_no_break_space_is_found_by_a_plain_one(lowdim):
    rng = np.random.default_rng(0)
    lines = [f"dog\u00a0{k},{a:.3f},{b:.3f},{a + b:.3f}" for k, (a, b) in enumerate(rng.standard_normal((30, 2)))]
    (lowdim.folder / "dogs.csv").write_text("\n".join(["name,a,b,c", *lines]), encoding="utf-8")
    assert lowdim("report", "dogs.csv", "--budget", "1s", "--dims", "1").code == 0
    plain, own = (lowdim("explain", "dogs.run", "--row", name) for name in ("dog 7", "dog\u00a07"))
    assert plain.code == 0 and plain.out == own.out


def test_an_axis_is_told_by_the_rows_that_made_it(lowdim):
    """Far rows are left out of the fit: each loading lies within its interval, as in the run."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((200, 6))
    X[:24] += rng.standard_normal(6) * 20.0
    np.savetxt(lowdim.folder / "far.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    assert lowdim("fit", "far.csv", "--budget", "1s").code == 0
    run = load_run(lowdim.folder / "far.run")
    card = json.loads(lowdim("explain", "far.run", "--axis", "1", "--json").out)["card"]
    assert len(run.analysis.partition.outside) == 24
    assert all(part["low"] <= part["value"] <= part["high"] for part in card["loadings"])
    assert card["sentence"] == run.analysis.axes[0].sentence


def test_explain_hides_and_sets_cells(lowdim, made):
    def card(*flags):
        return json.loads(lowdim("explain", made / "small.run", "--row", "8", *flags, "--json").out)["card"]

    whole, hidden, edited = card(), card("--hide", "x3"), card("--set", "x3=0.5")
    assert hidden["p"] == whole["p_after"] and hidden["seen"] == whole["seen"] - 1
    assert hidden["sentence"].startswith("Row 8 without x3 is ordinary")
    assert hidden["cells"][2]["value"] is None and edited["cells"][2]["value"] == 0.5
    expected = whole["cells"][2]["expected"]  # by the others, which are the same
    assert edited["cells"][2]["expected"] == pytest.approx(expected, rel=1e-12)
    assert "with x3 at 0.5" in edited["sentence"]


def test_explain_refuses_cells_that_are_not_there(lowdim, made):
    run = made / "small.run"
    for flags in (("--hide", "x9"), ("--set", "x9=1"), ("--set", "x3=much"), ("--set", "x3"), ("--set", "x3=nan")):
        said = lowdim("explain", run, "--row", "8", *flags)
        assert said.code == 2 and flags[0] in said.err, flags
    assert lowdim("explain", run, "--axis", "1", "--hide", "x3").code == 2


def test_explain_of_one_model(lowdim, made):
    (lowdim.folder / "small.csv").write_bytes((made / "small.csv").read_bytes())
    for method in ("fa", "gtm"):
        assert lowdim("fit", "small.csv", "-m", method, "--dims", "2").code == 0
    card = json.loads(lowdim("explain", "small.fa.run", "--row", "8", "--json").out)["card"]
    assert card["cells"][2]["value"] == 4.0 and card["hide"] == ["x3"]
    said = lowdim("explain", "small.gtm.run", "--row", "8")
    assert said.code == 0 and said.out.startswith("Row 8: log density")
    assert lowdim("fit", "small.csv", "-m", "isomap", "--dims", "2").code == 0
    said = lowdim("explain", "small.isomap.run", "--row", "8")
    assert said.code == 2 and "LD325" in said.err


def test_explain_says_which_row_lives_at_a_place(lowdim, made):
    run = made / "small.run"
    card, found = json.loads(lowdim("explain", run, "--place=0.5,-1", "--json").out)["card"], subject(run)
    cells = found.model.decode([[0.5, -1.0]])
    assert [c["value"] for c in card["cells"]] == pytest.approx(cells.mean[0].tolist(), rel=1e-12)
    sd = np.sqrt(cells.var + cells.noise)[0]
    assert [c["high"] - c["low"] for c in card["cells"]] == pytest.approx((2 * 1.6448536269514722 * sd).tolist())
    assert card["been"] and [row["row"] for row in card["near"]] == [row.row for row in found.at([0.5, -1.0]).near]
    text = lowdim("explain", run, "--place=50,50").out
    assert "No row lies near this place" in text and "Nearest rows, over all columns" in text
    for wrong in ("1", "1,x", "1,nan"):
        assert lowdim("explain", run, f"--place={wrong}").code == 2


def test_a_place_of_two_numbers_has_0_on_all_further_axes(lowdim, made):
    shutil.copy(made / "small.csv", lowdim.folder / "mine.csv")
    for q in ("1", "3"):
        assert lowdim("fit", "mine.csv", "-m", "ppca", "--dims", q, "-o", f"{q}.run").code == 0
    two, three = (lowdim("explain", "3.run", f"--place={place}") for place in ("1,-1", "1,-1,0"))
    assert two.code == 0 and two.out == three.out and "axis 3 +0.00" in two.out
    said = lowdim("explain", "1.run", "--place=1,-1")
    assert said.code == 2 and "1 number, one for each axis" in said.err


def test_explain_refuses_places_of_a_map_without_a_decoder(lowdim, made):
    shutil.copy(made / "small.csv", lowdim.folder / "mine.csv")
    assert lowdim("fill", "mine.csv", "-o", "full.csv", "--budget", "1s").code == 0
    assert lowdim("fit", "full.csv", "-m", "kpca", "--dims", "2").code == 0
    said = lowdim("explain", "full.kpca.run", "--place=1,1")
    assert said.code == 2 and "LD328" in said.err


def test_explain_names_the_fills_of_a_row(lowdim, made):
    fills = load_run(made / "small.run").analysis.fills
    i, j = (int(k) for k in np.argwhere(fills.is_filled)[0])
    told = json.loads(lowdim("explain", made / "small.run", "--row", str(i + 1), "--json").out)["card"]["fills"]
    assert told[0]["column"] == f"x{j + 1}" and told[0]["fill"] == fills.filled[i, j]
    assert [told[0]["lower"], told[0]["upper"]] == [fills.lower[i, j], fills.upper[i, j]]
    text = lowdim("explain", made / "small.run", "--row", str(i + 1)).out  # a gap has one value
    line = next(line.split() for line in text.splitlines() if line.split()[:2] == [f"x{j + 1}", "gap"])
    ends = figures(fills.lower[i, j], 2), figures(fills.upper[i, j], 2)
    assert " ".join(line[2:]).endswith(f"({ends[0]} to {ends[1]})") and float(line[2]) == pytest.approx(
        fills.filled[i, j], rel=1e-2
    )


def test_a_row_that_was_left_out_is_said_to_be_so_by_explain_and_fill(lowdim, tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 1)) * np.ones(4) + 0.3 * rng.normal(size=(40, 4)), 3)
    lines = ["a,b,c,d", *(",".join(map(str, row)) for row in X)]
    lines[7] = ",,,"
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert lowdim("fit", "t.csv", "--budget", "1s").code == 0
    words = "ow 7 has no measured value and was left out (LD121): it has no place on the map"
    said = lowdim("explain", "t.run", "--row", "7")
    assert said.code == 2 and words in said.err
    assert words in lowdim("fill", "t.csv", "-o", "o.csv").out
    assert "left out: line 8" in lowdim("check", "t.csv").out
