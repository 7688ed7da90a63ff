"""`lowdim explore`: of a run or a table, an address on this computer, ended by Ctrl-C."""

from __future__ import annotations

import json
import re
import shutil
import signal
import urllib.request

import pytest

from lowdim.jobs.run_folder import load_run
from tests.cli.calls import exploring


@pytest.mark.slow
def test_it_answers_on_this_computer_until_ctrl_c(made):
    with exploring(made, "small.run") as (process, line):
        found = re.match(r"Explorer at (http://127\.0\.0\.1:\d+/[\w-]{24,}/)   this computer only; Ctrl-C", line)
        assert found, line
        facts = json.load(urllib.request.urlopen(found[1] + "facts.json", timeout=20))
        assert facts["title"] == "small.csv" and facts["odd"][0]["row"] == 7
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0 and out == "" and err == "Stopped.\n"


@pytest.fixture
def page(monkeypatch):
    """What would be served and opened, without waiting."""
    opened = []
    monkeypatch.setattr("lowdim.cli.run.explore.wait", lambda: None)
    monkeypatch.setattr("webbrowser.open", opened.append)
    return opened


@pytest.mark.slow
def test_it_opens_the_browser_unless_told_not_to(lowdim, made, page):
    said = lowdim("explore", made / "small.run")
    assert said.code == 0 and page == [said.out.split()[2]]
    assert lowdim("explore", made / "small.run", "--no-browser").code == 0 and len(page) == 1
    address = json.loads(lowdim("explore", made / "small.run", "--no-browser", "--json").out)["address"]
    assert address.startswith("http://127.0.0.1:")
    said = lowdim("explore", made / "small.run", "--view", "screen=place&place=1,0")
    assert page[-1].endswith("/#screen=place&place=1,0") and page[-1] == said.out.split()[2]


@pytest.mark.slow
def test_a_table_is_analysed_once(lowdim, made, page):
    shutil.copy(made / "small.csv", lowdim.folder / "mine.csv")
    said = lowdim("explore", "mine.csv", "--budget", "1s", "--dims", "2")
    assert said.code == 0 and "mine.run/ written" in said.err
    first = (lowdim.folder / "mine.run" / "run.json").stat().st_mtime_ns
    assert load_run(lowdim.folder / "mine.run").settings.dims == 2
    said = lowdim("explore", "mine.csv", "--budget", "1s", "--dims", "2")
    assert said.code == 0 and "opened as it is" in said.err
    assert (lowdim.folder / "mine.run" / "run.json").stat().st_mtime_ns == first
    said = lowdim("explore", "mine.csv", "--budget", "1s", "--dims", "1")
    assert said.code == 0 and "mine.run/ replaced: it was made with other settings" in said.err
    assert load_run(lowdim.folder / "mine.run").settings.dims == 1


@pytest.mark.parametrize("options", [("--dims", "1"), ("--seed", "0"), ("--not-robust",), ("--drop", "c1")])
def test_a_run_takes_no_options_of_making_one(lowdim, made, page, options):
    said = lowdim("explore", made / "small.run", *options)
    assert said.code != 0 and "is a run" in said.err and page == []


def test_a_stale_run_is_refused(lowdim, made, page):
    shutil.copy(made / "small.csv", lowdim.folder / "mine.csv")
    assert lowdim("fit", "mine.csv", "--budget", "1s", "--dims", "1").code == 0
    with (lowdim.folder / "mine.csv").open("a") as file:
        file.write("1,2,3,4,5,6\n")
    said = lowdim("explore", "mine.run")
    assert said.code != 0 and "LD307" in said.err


def test_clusters_have_no_map_to_explore(lowdim, made, page):
    shutil.copy(made / "small.csv", lowdim.folder / "mine.csv")
    assert lowdim("fit", "mine.csv", "-m", "kmeans", "--clusters", "2").code == 0
    said = lowdim("explore", "mine.kmeans.run")
    assert said.code != 0 and "LD326" in said.err
