"""What a report says to do again: commands and code that run, also for a table that came from Python."""

from __future__ import annotations

import html
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.cli.entry import run
from lowdim.report import report_html
from lowdim.report.section_reproduce import MOST_CSV_CELLS, code_of, command_of, downloads
from tests.report import pages


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 4)) + 0.2 * rng.normal(size=(40, 4))
    return pd.DataFrame(X, columns=["a", "b", "c d", "e"])


@pytest.fixture(scope="module")
def of_frame(frame):
    return ld.analyse(frame, dims=1, budget="1s")


def test_a_file_is_read_again_as_it_was():
    found = pages.small()
    assert command_of(found, "report").startswith('lowdim report "field trial.csv" ')
    assert "ld.read('field trial.csv', " in code_of(found)


def test_code_for_a_table_from_python_runs(frame, of_frame):
    text = code_of(of_frame, "sentences = analysis.sentences")
    assert "ld.read('" not in text and "came from Python" in text
    scope = {"table": frame}
    exec(text, scope)
    assert scope["sentences"] == of_frame.sentences


def test_commands_for_a_table_from_python_run_once_it_is_saved(frame, of_frame, tmp_path, monkeypatch, capsys):
    comment, line = command_of(of_frame, "plot", "columns").split("\n")
    assert comment == "# the table came from Python: save it as table.csv first" and "''" not in line
    monkeypatch.chdir(tmp_path)
    frame.to_csv("table.csv", index=False)
    assert run(command_of(of_frame, "plot columns").split("\n")[1].split()[1:]) == 0
    assert "4 columns" in capsys.readouterr().out and Path("columns.svg").is_file()


def test_no_command_of_its_report_names_a_file_without_a_name(of_frame):
    page = report_html(of_frame)
    shown = [html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code>", page, re.DOTALL)]
    assert len(shown) > 10 and not [text for text in shown if "''" in text.replace(", sep='", "")]


def rows_of(n: int, q: int) -> SimpleNamespace:
    """An analysis of n complete rows on q axes, as far as its files need it."""
    rng = np.random.default_rng(0)
    law = SimpleNamespace(value=rng.chisquare(5, n), p=rng.uniform(size=n))
    odd = SimpleNamespace(T2=law, Q=law, D2=law, p=law.p, seen=np.full(n, 31), odd=np.zeros(n, dtype=bool))
    return SimpleNamespace(
        table=SimpleNamespace(n=n, row_names=tuple(str(k + 1) for k in range(n)), names=("a",)),
        posterior=SimpleNamespace(mean=rng.normal(size=(n, q)), std=rng.uniform(size=(n, q))),
        odd=odd,
        fills=SimpleNamespace(is_filled=np.zeros((1, 1), dtype=bool)),
    )


def test_the_file_of_rows_does_not_grow_with_the_table():
    (file,) = downloads(rows_of(20_000, 9))
    lines = MOST_CSV_CELLS // 20
    assert file.words.startswith(f"The first {lines:,} of 20,000 rows (all: the run folder)")
    assert file.href.count("%0A") == lines + 1 and len(file.href) < 800_000


def test_a_short_table_is_there_in_full():
    (file,) = downloads(rows_of(300, 2))
    assert file.words.startswith("300 rows: ") and file.href.count("%0A") == 301
