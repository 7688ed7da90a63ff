"""`lowdim dims`: as text and as JSON."""

from __future__ import annotations

import json


def test_dims_as_text_and_as_json(lowdim, made):
    text = lowdim("dims", made / "small.csv", "--budget", "1s")
    told = json.loads(lowdim("dims", made / "small.csv", "--budget", "1s", "--json").out)
    assert text.out.startswith(f"Dimensions: {told['sentence'].split(' (')[0]}") and told["dims"] == 2
    assert told["schema"] == 1
    assert "<- needed" in text.out and "Judges: " in text.out and "noise floor" in text.out
    assert (
        [row["q"] for row in told["rows"]][:3] == [0, 1, 2]
        and told["judges"][0]["name"] == "left-out rows"
        and told["detectable"] == 2
    )
    assert told["messages"] == []
