"""`lowdim explain`: rows, axes and groups by name and by number."""

from __future__ import annotations

import json


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
