"""The explorer as somebody uses it: rows by their names, history, small models, words for all that changes."""

from __future__ import annotations

import json
import shlex
from itertools import pairwise

import numpy as np
import pytest

from lowdim.explorer.endpoints import Endpoints
from lowdim.explorer.server import serving
from lowdim.jobs.one_model import fit_method
from lowdim.jobs.table_model import subject
from tests.browser.chrome import browser
from tests.browser.explorer import Explorer
from tests.cli.calls import in_process
from tests.explorer import subjects

pytestmark = [pytest.mark.skipif(browser() is None, reason="no browser"), pytest.mark.slow]
STATE = "document.getElementById('explore').explorer.state"
SEARCH = """const f = document.querySelector('.search input'); f.value = '%s';
    f.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"""


def command(page: Explorer) -> list[str]:
    return shlex.split(page.text(".again code"))


# rows by their names --------------------------------------------------------------------------------------------
def test_rows_are_counted_as_their_file_counts_them(chrome):
    """Row 4 was left out: nobody finds another row by its number, in the search or the address."""
    s = subjects.left_out()
    assert s.table.row_names[:5] == ("1", "2", "3", "5", "6")
    with serving(Endpoints(s)) as server:
        page = Explorer(chrome, server.address, "screen=row&row=2")
        page.tab.js(f"(() => {{ {SEARCH % '4'} }})()")
        assert page.live == "There is no row '4'." and page.tab.js(f"{STATE}.row") == 1
        page.act(SEARCH % "5")
        assert page.tab.js(f"{STATE}.row") == 3
        page.visit("screen=place&group=3-5")
        page.act("[...document.querySelectorAll('button')].find(b => b.textContent.endsWith('of the group')).click()")
        assert page.numbers["z"] == pytest.approx(s.places.z[[2, 3]].mean(axis=0).tolist(), rel=1e-12)
        page.visit("screen=map&group=3-6")
        assert page.numbers["rows"] == [2, 3, 4]
        page.act("document.getElementById('explore').explorer.go({row: 5})")
        assert "row=7&group=3%2C5-6" in page.tab.js("location.hash")
        assert page.complaints() == []


def test_rows_of_one_name_are_told_apart(chrome):
    with serving(Endpoints(subjects.namesakes())) as server:
        page = Explorer(chrome, server.address, "screen=row&row=b")
        assert page.tab.js(f"{STATE}.row") == 1
        first = page.numbers
        page.act("document.getElementById('explore').explorer.go({row: 4})")
        assert "row 5 of the file" in page.text(".inspector") and page.numbers != first
        second, address = page.numbers, page.tab.js("location.hash")[1:]
        page.visit(address)
        assert page.numbers == second and page.tab.js(f"{STATE}.row") == 4


# history ----------------------------------------------------------------------------------------------------------
def test_back_says_what_is_and_a_movement_is_one_step(chrome, odd):
    page = Explorer(chrome, odd.address, "screen=row&row=5")
    page.act("document.querySelector('[aria-label=\"Hide proline\"]').click()")
    assert page.live.startswith("proline hidden. Row 5 without proline")
    page.act("history.back()")
    assert page.live.startswith("Row 5 ")
    page.visit("screen=place&place=0.5,0.5,0.5")
    start = page.numbers["z"]
    slider = "const f = document.querySelector('.controls input[data-axis]'); f.value = %s;"
    slider += " f.dispatchEvent(new Event('%s'))"
    for place in (0.75, 1.0, 1.5):  # as a slider goes, step by step
        page.act(slider % (place, "input"))
    page.act(slider % (1.5, "change"))
    assert page.numbers["z"] != start
    page.act("history.back()")
    assert page.numbers["z"] == start == [0.5, 0.5, 0.5]


def test_what_cannot_be_is_said(chrome, odd):
    page = Explorer(chrome, odd.address, "screen=place&row=3&cut=99&wide=3.7&set=alcohol=abc")
    assert page.tab.js(f"[{STATE}.cut, {STATE}.wide, {STATE}.edited.size]") == [None, None, 0]
    page.wait_for_words("cut is a whole number from 0 to 13: left out")
    assert "wide is a whole number" in page.live and "'alcohol=abc'" in page.live
    page.visit("screen=row&row=3")
    page.act("const f = document.querySelector('[aria-label=\"value of alcohol\"]'); f.value = 'abc';"
             " f.dispatchEvent(new Event('change'))")  # fmt: skip
    assert page.live.startswith("'abc' is no number that alcohol can have: nothing was changed. Row 3")
    assert page.tab.js("document.querySelector('[aria-label=\"value of alcohol\"]').value") != "abc"
    page.tab.js("document.querySelector('[role=tab][aria-selected=true]').focus()")
    page.key("h")
    page.wait_for_words("Row 3 is ordinary: there is nothing to hide")


# small models -----------------------------------------------------------------------------------------------------
def test_a_model_without_a_decoder_shows_its_map_alone(chrome):
    t = np.linspace(0.0, 6.0, 60)
    found = fit_method(np.column_stack([np.cos(t), np.sin(t), t]), "isomap", dims=2)
    with serving(Endpoints(subject(found))) as server:
        page = Explorer(chrome, server.address)
        assert page.tab.js(f"{STATE}.screen") == "map"
        tabs = page.tab.js("[...document.querySelectorAll('[role=tab]')].map(t => t.textContent)")
        assert tabs == ["1 Map"]
        told = page.text("dialog")
        assert "1 to" not in told and "ordinary" not in told and "cross" not in told
        assert "Look at this row" not in page.text(".inspector") and "no screens of Row, Place and Gaps" in page.live
        assert page.complaints() == []


def test_one_dimension_has_a_line_to_drag(chrome):
    s = subject(fit_method(subjects.subject(subjects.wine(), "ppca").table, "ppca", dims=1))
    with serving(Endpoints(s)) as server:
        page = Explorer(chrome, server.address, "screen=place")
        assert "Drag the line" in page.text(".controls")
        page.tab.js("document.querySelector('.scatter canvas:last-child').focus()")
        before = page.numbers["z"]
        page.settled_key("ArrowRight", 39)
        assert page.numbers["z"][0] > before[0]
        page.visit("screen=place&ax=column/0&ay=column/1")
        assert "no axis to drag along" in page.text(".controls")
        assert page.tab.js("document.querySelectorAll('.controls input[data-axis]').length") == 1
        assert page.complaints() == []


# commands -----------------------------------------------------------------------------------------------------------
def test_the_command_of_a_group_runs_as_it_is(chrome, odd):
    page = Explorer(chrome, odd.address, "screen=map&group=3-9,20")
    done = in_process(*command(page)[1:], "--json", cwd=subjects.folder())
    card = json.loads(done.out)["card"]
    assert card["rows"] == page.numbers["rows"] == [*range(2, 9), 19]
    page.visit("screen=map&size=sd")
    assert command(page)[1] == "explore" and "Larger: less sure" in page.text(".legend")
    page.visit("screen=dimensions&cut=1")
    assert "cut=1" in " ".join(command(page)) and "eigenvalues[:1]" in page.text(".copies")


# words ------------------------------------------------------------------------------------------------------------
def test_gaps_tell_two_models_apart_and_draw_the_fill(chrome, odd):
    s = subjects.odd()
    page = Explorer(chrome, odd.address, "screen=gaps")
    told, words = page.numbers, page.text(".inspector")
    assert "Two models speak here" in words and s.analysis.fills.engine_words in words
    mean = float(np.nanmean(s.table.X[:, page.tab.js("Number(document.querySelector('.controls select').value)")]))
    assert mean + sum(told["leans"]) == pytest.approx(told["expected"], abs=0.05 * abs(mean))
    assert page.tab.js("document.querySelector('.histogram .density').getAttribute('points').split(' ').length") > 100


def test_long_names_flood_no_screen(chrome):
    with serving(Endpoints(subjects.subject(subjects.endless_names(), "ppca"))) as server:
        page = Explorer(chrome, server.address)
        for view in ("screen=gaps", "screen=map", "screen=map&group=3-20", "screen=place", "screen=row&row=5"):
            page.act(f"location.hash = '{view}'")
            assert len(page.text(".inspector > div")) < 6_000 and len(page.live) < 2_000, view


def test_controls_are_near_the_picture_on_a_telephone(chrome, odd):
    """The tab key follows the eye: what is lower in the page comes later."""
    page = Explorer(chrome, odd.address, "screen=place", width=360, height=700)
    tops = page.tab.js(
        "[...document.querySelectorAll('main button, main input, main select, main canvas[tabindex]')]"
        ".filter(x => x.checkVisibility()).map(x => x.getBoundingClientRect().top + scrollY)"
    )
    assert all(b > a - 40 for a, b in pairwise(tops))
    middle = "[...document.querySelectorAll('button')].find(b => b.textContent === 'Go to the middle')"
    assert page.tab.js(f"{middle}.getBoundingClientRect().top + scrollY") < 1_400
