"""The report as a file: its sections in order, a table behind every chart, its size, the same bytes each time."""

from __future__ import annotations

import csv
import io
import re
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pytest

from lowdim.jobs.analysis import analyse
from lowdim.judge.read_table import read
from lowdim.plot.registry import every_plot
from lowdim.report import report_html, write_report
from tests.conftest import need
from tests.report import pages

ORDER = [
    "answer",
    "table",
    "gaps",
    "dimensions",
    "map",
    "axes",
    "fills",
    "odd",
    "lost",
    "stability",
    "words",
    "reproduce",
]
CHARTS = {
    "table": ["columns"],
    "gaps": ["gaps", "gap_pairs"],
    "dimensions": ["scree", "jury", "heldout", "distances"],
    "map": ["map"],
    "axes": ["axis_cards", "loadings", "biplot"],
    "fills": ["fills", "calibration"],
    "odd": ["t2_q"],
    "lost": ["traverse"],
    "stability": ["stability"],
}


def sections(text: str) -> dict[str, str]:
    return dict(re.findall(r'<section id="(\w+)"(.*?)</section>', text, re.DOTALL))


def test_sections_stand_in_the_order_of_the_specification():
    assert list(sections(pages.page("small"))) == ORDER


@pytest.mark.parametrize("name", list(CHARTS))
def test_section_has_its_charts_words_and_ways_to_do_it_again(name):
    text = sections(pages.page("small"))[name]
    assert re.findall(r'id="chart-(\w+)"', text) == CHARTS[name]
    for part in ("headline", "How to read this", "Limits.", "Do this yourself", "lowdim ", "analysis"):
        assert part in text, part


def test_charts_are_drawn_where_they_say_something():
    analysis = pages.small()
    shown = {row.name: row.report.says_something for row in every_plot() if row.report is not None}
    assert not shown["trace"](analysis) and not shown["why_all"](analysis) and not shown["distance_law"](analysis)
    table = SimpleNamespace(time=np.arange(4))
    p = np.full(40, 1e-3)
    odd = SimpleNamespace(odd=np.array([True, True, False]), D2=SimpleNamespace(p=p))
    model = SimpleNamespace(certificate_=SimpleNamespace(converged=False))
    gaps = SimpleNamespace(by_column=np.array([0, 2, 0]))
    other = SimpleNamespace(table=table, odd=odd, model=model, gaps=gaps, dims=3)
    drawn = {name for name, says_something in shown.items() if says_something(other)}
    assert {"trace", "why_all", "control", "distance_law", "reconstruct"} <= drawn
    assert "gap_pairs" not in drawn


def test_every_chart_has_title_description_table_and_file():
    figures = re.findall(r'<figure id="chart-(\w+)">(.*?)</figure>', pages.page("small"), re.DOTALL)
    assert len(figures) == sum(map(len, CHARTS.values()))
    for name, text in figures:
        svg = re.search(r"<svg.*?</svg>", text, re.DOTALL)[0]
        assert 'role="img"' in svg and re.search(r"<title id=[^>]*>[^<]{8,}</title><desc id=[^>]*>[^<]{8,}</desc>", svg)
        assert re.search(r"<table>.*<caption>.*<tbody>\s*<tr>", text, re.DOTALL), name
        href = re.search(r'<p class="get"><a [^>]*href="([^"]*)"', text)[1]
        assert href.startswith(("data:text/csv", "#file-rows", "#file-fills")), name


def test_page_is_well_formed_and_ids_are_unique():
    page = pages.Outline(pages.page("small"))
    assert page.wrong == [] and page.stack == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = {attrs["href"][1:] for attrs in page.all("a") if attrs["href"].startswith("#")}
    assert targets <= set(ids)
    for attrs in page.all("svg"):
        assert set(attrs["aria-labelledby"].split()) <= set(ids)


def test_nothing_reaches_outside_the_page():
    text = pages.page("small")
    page = pages.Outline(text)
    for tag, attrs in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "form", "base", "audio", "video", "source")
        for key in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            value = attrs.get(key)
            assert value is None or value.startswith(("#", "data:text/csv", "data:image/png")), (tag, key, value[:80])
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    assert not re.search(r"@import|fetch\(|XMLHttpRequest|WebSocket|sendBeacon", text)


def test_embedded_files_hold_the_numbers():
    found, text = pages.small(), pages.page("small")
    files = dict(re.findall(r'download="(\w+\.csv)" href="data:text/csv;charset=utf-8,([^"]*)"', text))
    rows = list(csv.DictReader(io.StringIO(unquote(files["rows.csv"]))))
    assert [r["row"] for r in rows] == list(found.table.row_names)
    np.testing.assert_allclose([float(r["axis1"]) for r in rows], found.posterior.mean[:, 0], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose([float(r["sd2"]) for r in rows], found.posterior.std[:, 1], rtol=1e-5)
    fills = list(csv.DictReader(io.StringIO(unquote(files["fills.csv"]))))
    assert len(fills) == int(np.isnan(found.table.X).sum())
    np.testing.assert_allclose([float(r["fill"]) for r in fills], found.fills.filled[found.fills.is_filled], rtol=1e-5)
    kept = list(csv.DictReader(io.StringIO(unquote(files["scree.csv"]))))
    np.testing.assert_allclose([float(r["eigenvalue"]) for r in kept], found.jury.eigenvalues, rtol=1e-5)


def test_sentences_and_odd_row_are_told():
    found, text = pages.small(), pages.Outline(pages.page("small"))
    words = " ".join("".join(text.text).split())
    assert all(sentence in words for sentence in found.sentences)
    assert "Row zq-0007" in words and "v3" in words
    lower = words.lower()
    assert "anomaly" not in lower and "error in your data" not in lower and "significant" not in lower


@pytest.mark.slow
def test_same_table_same_bytes_but_for_one_line(tmp_path):
    first = pages.page("small")
    again = report_html(pages.small(), when="2031-12-31 23:59 UTC")
    ours, theirs = first.splitlines(), again.splitlines()
    different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    assert len(different) == 1 and "Made 2031-12-31" in theirs[different[0]]


def test_without_structure_there_is_still_a_report(tmp_path):
    rng = np.random.default_rng(0)
    found = analyse(rng.normal(size=(40, 4)), dims=0)
    path = write_report(found, tmp_path / "noise.html")
    page = pages.Outline(path.read_text(encoding="utf-8"))
    assert page.wrong == []
    assert "There is no map to draw." in "".join(page.text)


def test_a_table_with_more_rows_than_are_drawn_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3001, 1)) * [1.0, 1.0, -1.0] + 0.3 * rng.standard_normal((3001, 3))
    text = sections(report_html(analyse(X, dims=2, budget="1s")))
    assert re.findall(r'id="chart-(\w+)"', text["axes"]) == CHARTS["axes"]
    assert "Rows are drawn as a density" in text["map"]


def big(n: int, tmp_path):
    return analyse(read(pages.table(tmp_path, n=n, d=20, q=4, gaps=0.05, name="big.csv"), id="plot_id"))


def test_size_grows_slowly_with_rows():
    """A tenth of the drill below: what 60 rows take, and what each row adds, leave room for 5,000."""
    found = pages.small()
    text = pages.page("small")
    lines = len(unquote(re.search(r'download="rows.csv" href="([^"]*)"', text)[1])) / found.table.n
    assert len(text.encode()) < 800_000 and lines < 200


@pytest.mark.drill
def test_thousands_of_columns_stay_below_two_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((64, 6)) @ rng.standard_normal((6, 6830)) + rng.standard_normal((64, 6830))
    path = write_report(analyse(X.round(4)), tmp_path / "wide.html")
    assert path.stat().st_size < 2_000_000


@pytest.mark.drill
def test_five_thousand_rows_stay_below_two_megabytes(tmp_path):
    path = write_report(big(5000, tmp_path), tmp_path / "big.html")
    assert path.stat().st_size < 2_000_000


@pytest.mark.drill
def test_digester(tmp_path):
    found = analyse(read(need("digester/kamyr.csv")))
    text = write_report(found, tmp_path / "d.html").read_text(encoding="utf-8")
    page = pages.Outline(text)
    assert page.wrong == [] and len(text) < 1_000_000
    assert "Five dimensions are needed: hidden cells are predicted 9" in "".join(page.text)
