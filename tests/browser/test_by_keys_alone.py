"""The explorer by keys alone: nothing here touches the page but keys, and scripts only read it."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from lowdim.datasets import load_demo
from tests.browser.chrome import browser
from tests.browser.explorer import CTRL, Explorer
from tests.cli.calls import exploring, in_process
from tests.explorer import subjects

pytestmark = [pytest.mark.skipif(browser() is None, reason="no browser"), pytest.mark.slow]
LABEL = "document.activeElement.getAttribute('aria-label')"
WORDS = "document.activeElement.textContent"


def pasted(page: Explorer) -> str:
    """What the clipboard holds, pasted into the field that finds rows, which is left again."""
    page.key("/")
    page.tab.press("v", 86, modifiers=CTRL, command="paste")
    text = str(page.tab.js("document.activeElement.value"))
    page.key("Escape", 27)
    return text


def test_from_the_odd_row_of_the_demo_to_the_same_numbers(chrome, tmp_path):
    """Open the demo, find its odd row, hide what makes it odd, read that it is ordinary, copy the command, run it."""
    done = in_process("demo", "pump", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = re.findall(r"lowdim explore (\S+)", done.out)
    with exploring(tmp_path, run) as (_, line):
        page = Explorer(chrome, line.split()[2])
        page.settled_key("n")
        assert "Row 140 is unlike what the model expects" in page.live and "power is 63.8" in page.live
        page.settled_key("h")
        assert re.search(r"Row 140 without power is ordinary \(p 0\.\d+\)\.", page.live)
        told = page.numbers
        page.tab_to(f"{WORDS} === 'Copy command'")
        assert page.tab.js("getComputedStyle(document.activeElement).outlineStyle") != "none"
        page.key("Enter", 13, "\r")
        page.wait_for_words("command (copied|selected: press Ctrl.C)")
        if "press" in page.live:  # a browser that leaves the clipboard to its keys
            page.tab.press("c", 67, modifiers=CTRL, command="copy")
        line = pasted(page)
        assert page.complaints() == []
    assert line == f"lowdim explain {run} --row=140 --hide=power"
    card = json.loads(in_process(*shlex.split(line)[1:], "--json", cwd=tmp_path).out)["card"]
    assert {name: card[name] for name in ("D2", "T2", "Q", "p")} == pytest.approx(
        {name: told[name] for name in ("D2", "T2", "Q", "p")}, rel=1e-9
    )
    # what the rest of the row says of the hidden cell holds what was there before two digits were swapped
    demo, j = load_demo("pump"), load_demo("pump").columns.index("power")
    assert abs(told["expected"][j] - demo.truth[139, j]) < 2 * told["sd"][j]


def test_from_a_wrong_value_to_the_same_numbers(chrome, odd):
    """Find a row by its number, write a wrong value, hide it, copy, run."""
    page = Explorer(chrome, odd.address, "screen=map")
    page.settled_key("1")
    page.key("/")
    page.tab.type("5")
    page.settled_key("Enter", 13, "\r")
    page.tab_to(f"{LABEL} === 'value of magnesium'")
    page.tab.press("a", 65, modifiers=CTRL, command="selectAll")
    page.tab.type("1000")
    page.settled_key("Enter", 13, "\r")
    assert "Row 5 with magnesium at 1000 is unlike what the model expects" in page.live
    page.key("Tab", 9)
    page.settled_key("h")
    assert re.search(r"Row 5 without magnesium is ordinary \(p (0\.\d+|1)\)\.", page.live)
    done = in_process(*shlex.split(page.text(".again code"))[1:], "--json", cwd=subjects.folder())
    assert json.loads(done.out)["card"]["p"] == pytest.approx(page.numbers["p"], rel=1e-9)
