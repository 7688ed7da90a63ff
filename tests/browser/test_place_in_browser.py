"""Places in a real browser: pictures drawn from the decoded row, and a movement that keeps up with the pointer."""

from __future__ import annotations

import time

import numpy as np
import pytest

from lowdim.explorer.endpoints import Endpoints
from lowdim.explorer.server import serving
from lowdim.jobs.one_model import fit_method
from lowdim.jobs.table_model import TableModel, subject
from tests.browser.chrome import browser
from tests.browser.explorer import Explorer
from tests.browser.test_explore_in_browser import AA, SMALL, UNNAMED
from tests.browser.test_report_in_browser import WIDTHS
from tests.explorer import subjects

pytestmark = pytest.mark.skipif(browser() is None, reason="no browser")
PICTURE = "document.querySelector('.picture [role=img]')"
CLOSE = {"rel": 1e-9, "abs": 1e-9}


def type_into(page: Explorer, name: str, text: str) -> None:
    """Write into the field of this name, as a person who then leaves it."""
    found = f"[...document.querySelectorAll('label.field')].find(l => l.firstChild.textContent === '{name}')"
    page.act(f"const f = {found}.querySelector('input'); f.value = '{text}'; f.dispatchEvent(new Event('change'))")


def figures_of_two_kinds() -> TableModel:
    """Outlines of eight points that walk about, grow and lean, in two kinds."""
    rng = np.random.default_rng(0)
    turn, z = np.linspace(0.0, 2 * np.pi, 8, endpoint=False), rng.standard_normal((40, 2))
    z[20:, 0] += 3.0
    x = (3.0 + 0.3 * z[:, :1]) * np.cos(turn) + 0.2 * z[:, 1:] * np.sin(turn)
    y = (3.0 + 0.3 * z[:, :1]) * np.sin(turn)
    names = ["kind", *(f"{a}{k + 1}" for k in range(8) for a in "xy")]
    x, y = x + 3.0 * rng.standard_normal((40, 1)), y + 3.0 * rng.standard_normal((40, 1))
    cells = np.stack([x, y], axis=2).reshape(40, 16) + 0.2 * rng.standard_normal((40, 16))
    lines = [",".join(["thin" if i < 20 else "wide", *map(repr, row)]) for i, row in enumerate(cells.tolist())]
    path = subjects.folder() / "outlines.csv"
    path.write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    return subject(fit_method(path, "ppca", dims=2))


@pytest.mark.slow
def test_an_image_is_drawn_from_the_decoded_row(chrome):
    path = subjects.write_demo("digits", subjects.folder(), 0)[0]
    s = subject(fit_method(path, "ppca", dims=2))
    with serving(Endpoints(s)) as server:
        page = Explorer(chrome, server.address, "screen=place&place=1,0.5")
        grey = page.tab.js(f"""(() => {{ const c = {PICTURE}; return [c.width, c.height,
            ...c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, k) => k % 4 === 0)]; }})()""")
        words = page.tab.js(f"{PICTURE}.getAttribute('aria-label')")
        cells = np.zeros(64)
        cells[[int(name.removeprefix("pixel")) - 1 for name in s.table.names]] = (
            s.model.decode([[1, 0.5]]).mean[0] * s.unit
        )
        assert grey[:2] == [8, 8]
        np.testing.assert_allclose(grey[2:], np.clip(np.round(255 * cells / 16), 0, 255), atol=1)
        assert words.startswith("an image of 8 by 8 pixels, ") and "farthest from it" in words
        page.wait_for_words("It looks like an image of 8 by 8 pixels")
        type_into(page, "Columns as an image so many pixels wide (0: no picture)", "10")
        assert page.tab.js(f"[{PICTURE}.width, {PICTURE}.height]") == [10, 6]
        assert "wide=10" in page.tab.js("location.hash") and page.complaints() == []


@pytest.mark.slow
def test_a_figure_is_drawn_of_the_middle_of_a_group(chrome):
    s = figures_of_two_kinds()
    thin = s.places.z[:20].mean(axis=0)
    with serving(Endpoints(s)) as server:
        page = Explorer(chrome, server.address, "screen=place&group=1-20")
        assert "a figure of 8 points" in page.tab.js(f"{PICTURE}.getAttribute('aria-label')")
        page.act("[...document.querySelectorAll('button')].find(b => b.textContent.endsWith('of the group')).click()")
        assert page.numbers["z"] == pytest.approx(thin.tolist(), **CLOSE)
        page.wait_for_words("It looks like a figure of 8 points.* Nearest: row")
        view = page.tab.js("location.hash").removeprefix("#")
        told = page.numbers
        page.visit(view)
        assert page.numbers == told and page.complaints() == []
        narrow = Explorer(chrome, server.address, view, width=360, height=800, dark=True)
        assert [narrow.tab.js(check) for check in (AA, UNNAMED, SMALL)] == [[], [], []]
        sizes = narrow.tab.js(WIDTHS)
        assert sizes["page"] <= sizes["window"] and sizes["out"] == []


@pytest.mark.slow
def test_the_middle_of_a_group_is_the_mean_of_its_rows(chrome, odd):
    z = subjects.odd().places.z
    page = Explorer(chrome, odd.address, "screen=place")
    hidden = "[...document.querySelectorAll('button')].find(b => b.textContent.endsWith('of the group')).hidden"
    assert page.tab.js(hidden)
    page.visit("screen=place&group=3-6,9")
    page.act("[...document.querySelectorAll('button')].find(b => b.textContent.endsWith('of the group')).click()")
    assert page.numbers["z"] == pytest.approx(z[[2, 3, 4, 5, 8]].mean(axis=0).tolist(), **CLOSE)
    assert page.tab.js("document.querySelectorAll('.picture svg .mark').length") == 13  # wine forms no picture: bars
    assert page.complaints() == []


@pytest.mark.slow
def test_a_dragged_place_asks_one_question_at_a_time(chrome, odd, monkeypatch):
    """Of forty moves that a slow server cannot follow the last is answered, and most others are never asked."""
    page = Explorer(chrome, odd.address, "screen=place")
    reply, asked, under_way = odd.endpoints.reply, [], []

    def slow(name, text=""):
        if not name.startswith("at/"):
            return reply(name, text)
        asked.append(name)
        under_way.append(name)
        most.append(len(under_way))
        time.sleep(0.05)
        under_way.remove(name)
        return reply(name, text)

    most: list[int] = []
    monkeypatch.setattr(odd.endpoints, "reply", slow)
    box = "document.querySelector('.scatter').getBoundingClientRect()"
    left, top, width, height = page.tab.js(f"['x', 'y', 'width', 'height'].map(key => {box}[key])")
    places = [(left + (0.3 + 0.01 * k) * width, top + 0.4 * height) for k in range(40)]
    before = page.painted
    page.tab.drag(places)
    last = page.tab.js("document.getElementById('explore').explorer.state.place")
    end = time.monotonic() + 20
    while page.numbers["z"] != last:
        assert time.monotonic() < end, page.live
        time.sleep(0.02)
    assert page.painted > before and max(most) == 1 and len(asked) <= 40
    assert page.numbers["mean"] == pytest.approx([c.value for c in subjects.odd().at(last).cells], **CLOSE)
    assert page.complaints() == []
