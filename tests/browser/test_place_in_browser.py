"""Places in a real browser: pictures drawn from the decoded row, and ways between rows and groups as films."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.explorer.answers import Answers
from lowdim.explorer.server import serving
from lowdim.jobs.one_model import fit_method
from lowdim.jobs.subject import Subject, subject
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


def figures_of_two_kinds() -> Subject:
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
    with serving(Answers(s)) as server:
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
def test_a_way_between_two_groups_is_a_film(chrome):
    s = figures_of_two_kinds()
    z = s.places.z
    thin, wide = z[:20].mean(axis=0), z[20:].mean(axis=0)
    with serving(Answers(s)) as server:
        page = Explorer(chrome, server.address, "screen=place")
        assert "a figure of 8 points" in page.tab.js(f"{PICTURE}.getAttribute('aria-label')")
        type_into(page, "From", "kind = thin")
        type_into(page, "To", "kind = wide")
        assert page.numbers["z"] == pytest.approx(thin.tolist(), **CLOSE)
        assert page.tab.js("[...document.querySelectorAll('.stills figcaption')].map(f => f.textContent)") == [
            "kind = thin", "25%", "50%", "75%", "kind = wide"
        ]  # fmt: skip
        press = "[...document.querySelectorAll('button')].find(b => b.textContent === 'Play').click()"
        page.wait_for_words("Nearest: row")
        page.tab.js(press)
        page.wait_for_words("Motion is reduced")  # the driver's browser says so
        page.act(
            "const s = document.querySelector('[aria-valuetext]'); s.value = 45; s.dispatchEvent(new Event('input'))"
        )
        assert page.numbers["z"] == pytest.approx((thin + 0.75 * (wide - thin)).tolist(), **CLOSE)
        page.tab.send(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "no-preference"}]
        )
        before = page.painted
        page.tab.js(press)
        page.wait(before + 17)  # frames 45 to 60, and the last word
        assert page.numbers["z"] == pytest.approx(wide.tolist(), **CLOSE)
        page.wait_for_words("Nearest: row")
        view = page.tab.js("location.hash").removeprefix("#")
        assert "from=kind+%3D+thin" in view and "along=60" in view
        told = page.numbers
        page.act("history.back()")
        page.visit(view)
        assert page.numbers == told and page.complaints() == []
        narrow = Explorer(chrome, server.address, view, width=360, height=800, dark=True)
        assert [narrow.tab.js(check) for check in (AA, UNNAMED, SMALL)] == [[], [], []]
        sizes = narrow.tab.js(WIDTHS)
        assert sizes["page"] <= sizes["window"] and sizes["out"] == []


@pytest.mark.slow
def test_ends_of_a_way_may_be_rows_or_what_is_drawn_round(chrome, odd):
    z = subjects.odd().places.z
    page = Explorer(chrome, odd.address, "screen=place&group=3-6,9&from=7")
    page.act("[...document.querySelectorAll('button')].find(b => b.textContent === 'To the group').click()")
    end = z[[2, 3, 4, 5, 8]].mean(axis=0)  # rows 3 to 6 and 9
    assert page.numbers["z"] == pytest.approx(z[6].tolist(), **CLOSE)
    assert page.tab.js("document.querySelectorAll('.stills figure').length") == 0  # wine forms no picture
    page.act("const s = document.querySelector('[aria-valuetext]'); s.value = 30; s.dispatchEvent(new Event('input'))")
    assert page.numbers["z"] == pytest.approx(((z[6] + end) / 2).tolist(), **CLOSE)
    type_into(page, "From", "nobody")
    page.wait_for_words("Nearest: row")
    page.tab.js("[...document.querySelectorAll('button')].find(b => b.textContent === 'Play').click()")
    page.wait_for_words("A way needs two ends")
    assert page.complaints() == []
