"""A table whose author means harm: escape codes for the terminal, formulas for the spreadsheet, markup, shell words."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from tests.cli.conftest import small_table

NAMES = ["te\x1b[31mmp", "=cmd|' /C calc'!A0", "<script>alert(1)</script>", "$(reboot)", "a,b\x07\x9b2J", "+x\u202egnp"]


ROWS = ["=HYPERLINK(1)", "@sum", "\x1b]0;owned\x07r2", "-3+4", "+1-1", '"quoted"', "two\nlines"]


BAD = ("\x1b", "\x07", "\x9b", "\u202e", "\x00")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("evil") / "evil.csv"
    X = small_table()
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["who", *NAMES])
        for i, x in enumerate(X):
            who = ROWS[i % len(ROWS)] + (f" {i}" if i >= len(ROWS) else "")
            out.writerow([who, *("" if np.isnan(v) else repr(float(v)) for v in x)])
    return path


def harmless(said) -> None:
    assert said.code == 0, said.err
    for code in BAD:
        assert code not in said.out and code not in said.err


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(text.splitlines()) for cell in row]


def no_formula(text: str) -> None:
    for cell in cells(text):
        number = cell.lstrip("+-").replace(".", "").replace("e-", "").replace("e+", "").replace("e", "").isdigit()
        assert not cell.startswith(("=", "+", "-", "@")) or number, cell


def test_no_verb_lets_an_escape_code_or_a_formula_through(lowdim, table):
    harmless(lowdim("check", table, "--id", "who"))
    harmless(lowdim("fit", table, "--id", "who", "--dims", "2", "--budget", "1s", "-o", "e.run"))
    harmless(lowdim("odd", "e.run", "-o", "odd.csv"))
    harmless(lowdim("explain", "e.run", "--row", "8"))
    harmless(lowdim("explain", "e.run", "--axis", "1"))
    harmless(lowdim("fill", table, "--id", "who", "-o", "filled.csv", "--intervals"))
    harmless(lowdim("apply", "e.run", table, "-o", "new.scores.csv"))
    harmless(lowdim("runs", "."))
    for path in [*lowdim.folder.glob("*.csv"), *(lowdim.folder / "e.run").glob("*.csv")]:
        no_formula(path.read_text(encoding="utf-8"))


def test_row_names_are_words_not_orders(lowdim, table):
    said = lowdim("odd", table, "--id", "who", "--dims", "2", "-o", "odd.csv", "--json")
    harmless(said)
    told = json.loads(said.out)
    assert told["rows"] and all(code not in json.dumps(told, ensure_ascii=False) for code in BAD)


def test_messages_about_it_are_harmless_too(lowdim, table):
    said = lowdim("check", table, "--drop", "\x1b[2Jnobody")
    assert said.code == 2 and all(code not in said.err for code in BAD)
    said = lowdim("nowhere\x1b[2J.csv")
    assert said.code == 3 and all(code not in said.err for code in BAD)
    said = lowdim("help", "LD\x1b[2J")
    assert said.code == 2 and all(code not in said.err for code in BAD)
