"""The notebook card: static, small, its texts escaped, and its pictures described."""

from __future__ import annotations

import re

import numpy as np

from lowdim.jobs.analysis import analyse
from lowdim.report.notebook_card import card
from tests.report import pages


def test_card_is_small_static_and_complete():
    found = pages.small()
    text = found._repr_html_()
    assert text == card(found) and len(text.encode()) < 25_000
    page = pages.Outline(text)
    words = "".join(page.text)
    assert page.wrong == [] and not page.all("script")
    assert all(sentence in words for sentence in found.sentences)
    assert "random_state" in words or "seed" in words
    assert "analysis.plot.map()" in words
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert 'role="img"' in svg and "<title" in svg and "<desc" in svg


def test_style_touches_nothing_but_the_card():
    style = re.search(r"<style>(.*?)</style>", card(pages.small()), re.DOTALL)[1]
    for rule in re.findall(r"([^{}]+)\{", style):
        assert all(part.strip().startswith(".ldc") for part in rule.split(",")), rule


def test_changed_settings_are_bold():
    text = card(pages.hostile())  # dims=3 was asked for
    assert "messages about the table" in text
    assert "<td class=set>dims</td>" in text and "<td>level</td>" in text


def test_card_of_a_large_table_stays_small():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 8)) + rng.normal(size=(500, 8))
    assert len(card(analyse(X, dims=2)).encode()) < 25_000


def test_a_hostile_card():
    page = pages.Outline(card(pages.hostile()))
    assert page.wrong == []
    assert not page.all("script")
    assert not [key for _, attrs in page.elements for key in attrs if key.startswith("on")]
    assert {tag for tag, _ in page.elements} <= pages.PAGE_TAGS | pages.CHART_TAGS
