"""`lowdim explain`: rows, axes and groups by name and by number."""

from __future__ import annotations

import json

import pytest


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
    assert said.code != 0 and "LD325" in said.err
