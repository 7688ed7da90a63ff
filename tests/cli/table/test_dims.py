"""`lowdim dims`: as text and as JSON."""

from __future__ import annotations

import json

from lowdim.jobs.run_folder import load_run


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


def test_dims_of_a_run_are_what_its_judges_said(lowdim, made):
    told, run = json.loads(lowdim("dims", made / "small.run", "--json").out), load_run(made / "small.run")
    assert [row["skill"] for row in told["rows"]] == [row.skill for row in run.analysis.jury.rows]
    assert lowdim("dims", made / "small.run").out.rstrip() == run.analysis.jury.text().rstrip()
