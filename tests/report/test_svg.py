"""Smaller SVG draws the same."""

from __future__ import annotations

import re

from lowdim.plot import base
from lowdim.report.svg import slim
from tests.report import pages


def test_smaller_svg_draws_the_same(monkeypatch):
    plot = pages.small().plot.map()
    after = slim(plot.svg())
    monkeypatch.setattr(base, "MORE_DECIMALS", re.compile(r"(?!)"))  # as matplotlib writes it
    before = plot.svg()
    assert len(after) < 0.7 * len(before)
    for tag in ("path", "use", "text"):
        assert len(re.findall(f"<{tag}\\b", before)) == len(re.findall(f"<{tag}\\b", after)), tag
    texts = re.compile(r"<text[^>]*>([^<]*)</text>")
    assert texts.findall(before) == texts.findall(after)
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', after))
    assert used <= set(re.findall(r'id="([^"]+)"', after))
