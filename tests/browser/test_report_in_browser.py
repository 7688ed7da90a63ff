"""The report in a real browser: with and without scripts, narrow, dark, by keyboard, and with hostile names."""

from __future__ import annotations

import base64
import itertools
import json
import re
import time
from importlib.resources import files

import numpy as np
import pytest

from lowdim.report.touch import touch_script
from tests.browser.chrome import Tab, browser
from tests.report import pages

pytestmark = pytest.mark.skipif(browser() is None, reason="no browser")

# checks in the page itself; each returns a list of what is wrong
NAMELESS = """
[...document.querySelectorAll('svg')].filter(s => s.getAttribute('role') !== 'img' || !s.querySelector(':scope > title')
   || s.querySelector(':scope > title').textContent.length < 5 || !s.querySelector(':scope > desc'))
   .map(s => s.outerHTML.slice(0, 200))
.concat([...document.querySelectorAll('section')].filter(s => !s.querySelector('h2')
   || document.getElementById(s.getAttribute('aria-labelledby')) !== s.querySelector('h2')).map(s => 'section ' + s.id))
.concat([...document.querySelectorAll('table')].filter(t => !t.caption || !t.caption.textContent.trim()
   || [...t.querySelectorAll('th')].some(h => !['col', 'row'].includes(h.scope))).map(t => t.outerHTML.slice(0, 200)))
.concat([...document.querySelectorAll('img:not([alt])')].map(i => 'img'))
.concat([...document.querySelectorAll('a, button, summary')].filter(x => !(x.textContent.trim()
   || x.getAttribute('aria-label'))).map(x => x.outerHTML.slice(0, 200)))
.concat(document.documentElement.lang && document.title ? [] : ['no language or title'])
.concat([...document.querySelectorAll('[id]')].map(x => x.id).filter((x, i, all) => all.indexOf(x) !== i))
"""
HEADINGS = """[...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])"""
SMALL = """
[...document.querySelectorAll('a, button, summary')].filter(x => x.checkVisibility())
 .map(x => [x, x.getBoundingClientRect()]).filter(([x, r]) => r.height < 23.9 || r.width < 23.9)
 .map(([x, r]) => `${x.outerHTML.slice(0, 100)} ${r.width}x${r.height}`)
"""
FAINT = """
(() => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
      if (!/, 0\\)$|transparent/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
  const out = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || e.closest('svg, script')) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 7) out.add(`${e.outerHTML.slice(0, 80)} ${ratio.toFixed(2)}`);
  }
  return [...out];
})()
"""
WIDTHS = """({page: document.documentElement.scrollWidth, window: innerWidth,
 out: [...document.body.querySelectorAll('*')]
   .filter(e => !e.closest('.scroll, .chart, .skip') && e.getBoundingClientRect().right > innerWidth + 1)
 .map(e => e.outerHTML.slice(0, 120)).slice(0, 5)})"""


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_no_complaint_and_no_outside_request(chrome, script):
    tab = Tab(chrome, script=script).open(pages.file("small"))
    tab.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    outside = [url for url in tab.requests() if not url.startswith("data:image/png")]
    assert outside == [pages.file("small").as_uri()]
    assert tab.complaints() == []


def test_content_security_policy_stops_what_would_go_outside(chrome):
    tab = Tab(chrome).open(pages.file("small"))
    blocked = tab.js("""new Promise(done => {
        document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));
        const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i);
        setTimeout(() => done('not stopped'), 3000); })""")
    assert blocked == "img-src"


@pytest.mark.slow
@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("rows", [True, False], ids=["rows", "no rows"])
def test_everything_has_a_name(chrome, rows, script):
    tab = Tab(chrome, script=script).open(pages.file("small", rows))
    assert tab.js(NAMELESS) == []
    levels = tab.js(HEADINGS)
    assert levels[0] == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 400, 768])
def test_no_sideways_scroll_at_400_percent(chrome, width):
    """1280 pixels at 400% are 320 wide; wide tables and charts scroll inside their own boxes."""
    tab = Tab(chrome, width=width, height=800).open(pages.file("small"))
    tab.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = tab.js(WIDTHS)
    assert found["page"] <= found["window"] and found["out"] == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(chrome, dark):
    tab = Tab(chrome, dark=dark).open(pages.file("small"))
    tab.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert tab.js(FAINT) == []


def test_letters_in_charts_stand_out():
    """On white, 7:1; letters on dark cells of a heat map are white and checked by their plot."""
    for fill in set(re.findall(r'<text style="[^"]*fill:(#\w{6})', pages.page("small"))) - {"#ffffff"}:
        r, g, b = (
            (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4)
            for v in (int(fill[k : k + 2], 16) / 255 for k in (1, 3, 5))
        )
        assert 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05) >= 7, fill


def test_targets_are_large_enough(chrome):
    tab = Tab(chrome, width=400).open(pages.file("small"))
    tab.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert tab.js(SMALL) == []


@pytest.mark.slow
def test_focus_starts_at_the_skip_link_and_follows_the_page(chrome):
    tab = Tab(chrome).open(pages.file("small"))
    places = []
    for _ in range(25):
        tab.press("Tab", 9)
        places.append(
            tab.js("""(() => { const e = document.activeElement, r = e.getBoundingClientRect();
            return {text: (e.textContent || '').trim().slice(0, 30), top: Math.round(r.top + scrollY),
                    nav: !!e.closest('nav'), line: getComputedStyle(e).outlineStyle}; })()""")
        )
    assert places[0]["text"] == "Skip to the answer"
    assert all(p["line"] != "none" for p in places)
    inside = [p["top"] for p in places[1:] if not p["nav"]]
    assert len(inside) > 5 and all(b - a > -60 for a, b in itertools.pairwise(inside))


def test_tables_sort(chrome):
    tab = Tab(chrome).open(pages.file("small"))
    column = """[...document.querySelectorAll('#table > .scroll tbody tr')].map(r => +r.cells[2].textContent)"""
    click = "document.querySelectorAll('#table > .scroll thead button')[2].click()"
    before = [int(x) for x in tab.js(column)]
    tab.js(click)
    assert tab.js(column) == sorted(before)
    tab.js(click)
    assert tab.js(column) == sorted(before, reverse=True)
    assert tab.js("document.querySelectorAll('#table [aria-sort=descending]').length") == 1


def test_map_can_be_walked_by_keys(chrome):
    tab = Tab(chrome).open(pages.file("small"))
    assert tab.js("document.querySelectorAll('#chart-map .dots circle').length") == pages.small().table.n
    tab.js("document.querySelector('#chart-map .chart').focus()")
    tab.press("ArrowRight", 39)
    said = "document.querySelector('#chart-map [aria-live]').textContent"
    first = tab.js(said)
    assert re.fullmatch(r"row zq-\d{4}: axis 1 [+-]\d\.\d\d ± \d\.\d\d, axis 2 [+-]\d\.\d\d ± \d\.\d\d.*", first)
    tab.press("ArrowRight", 39)
    assert tab.js(said) != first
    leftmost = pages.small().table.row_names[int(pages.small().posterior.mean[:, 0].argmin())]
    assert first.startswith(f"row {leftmost}:")


def test_marks_lie_on_the_points_of_the_map(chrome):
    """Every mark's middle is the middle of a drawn point, to a pixel."""
    tab = Tab(chrome).open(pages.file("small"))
    far = tab.js("""(() => { const mid = e => { const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2]; };
        const points = [...document.querySelectorAll('#chart-map .chart use, #chart-map .chart path')].map(mid);
        return Math.max(...[...document.querySelectorAll('#chart-map .dots circle')].map(mid).map(([x, y]) =>
            Math.min(...points.map(([a, b]) => Math.hypot(a - x, b - y))))); })()""")
    assert far < 1.5


def test_embedded_file_downloads(chrome, tmp_path):
    tab = Tab(chrome, script=False).open(pages.file("small"))
    chrome.send(
        "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), browserContextId=tab.context
    )
    tab.js("document.querySelector('#file-rows a').click()")
    end = time.monotonic() + 20
    while not (tmp_path / "rows.csv").exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8").startswith("row,axis1,")


@pytest.mark.slow
def test_prints_with_folds_open_and_without_buttons(chrome):
    tab = Tab(chrome, width=760)
    tab.open(pages.file("small"))
    tab.send("Emulation.setEmulatedMedia", media="print")
    assert tab.js("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert tab.js("document.querySelector('.how p').checkVisibility({contentVisibilityAuto: true})")
    assert tab.js("document.documentElement.scrollWidth <= innerWidth + 1")
    made_pdf = base64.b64decode(tab.send("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert made_pdf.startswith(b"%PDF") and len(made_pdf) > 50_000


@pytest.mark.slow
def test_hostile_names_stay_text(chrome):
    tab = Tab(chrome).open(pages.file("hostile"))
    tab.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    tab.js("new Promise(done => setTimeout(done, 200))")
    assert tab.js("typeof pwned") == "undefined"
    assert tab.js("document.scripts.length") == 1
    assert (
        tab.js(
            "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on/.test(a.name)).length"
        )
        == 0
    )
    assert tab.js("document.querySelectorAll('iframe, object, embed, link, form, base, img').length") == 0
    assert [u for u in tab.requests() if not u.startswith(("data:image/png", "file:"))] == []
    assert tab.complaints() == []
    script = (files("lowdim.report") / "templates" / "script.js").read_text(encoding="utf-8")
    shown = tab.js("document.scripts[0].textContent")
    assert "".join(shown.split()) == "".join(f"{script}{touch_script()}".split())  # nothing of the table is in it


def test_a_row_can_be_touched_without_a_network(chrome):
    """Hide-a-cell with the core alone: the same numbers as `explain`, and nothing of it where rows are not shown."""
    tab, analysis = Tab(chrome).open(pages.file("small")), pages.small()
    odd = analysis.odd.rows[0]
    assert tab.js("document.querySelector('.touch select').value") == str(odd.row)
    before = json.loads(tab.js("document.querySelector('.touch').dataset.numbers"))
    assert before["D2"] == pytest.approx(analysis.explain(odd.row).D2, rel=1e-9)
    tab.js(f"document.querySelector('.touch button[aria-label=\"Hide {odd.column}\"]').click()")
    card = analysis.explain(odd.row, hidden=[odd.column])
    after = json.loads(tab.js("document.querySelector('.touch').dataset.numbers"))
    assert after["D2"] == pytest.approx(card.D2, rel=1e-9) and after["p"] == pytest.approx(card.p, rel=1e-9)
    assert card.sentence in tab.js("document.querySelector('.touch').textContent")
    X = analysis.table.X[odd.row].copy()
    X[analysis.table.names.index(odd.column)] = np.nan
    assert after["z"] == pytest.approx(analysis.model.posterior(X[None]).mean[0].tolist(), abs=1e-9)
    assert tab.complaints() == []
    hidden = Tab(chrome).open(pages.file("small", False))
    assert hidden.js("document.querySelectorAll('.touch, [data-touch]').length") == 0
    assert "touchable" not in pages.page("small", False)


def test_the_script_of_a_touchable_row_is_small():
    assert len(touch_script().encode()) <= 31_000
