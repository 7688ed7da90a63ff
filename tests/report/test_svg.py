"""Smaller SVG draws the same."""

from __future__ import annotations

import re

from lowdim.report.svg import slim
from tests.report import pages


def test_smaller_svg_draws_the_same():
    plot = pages.small().plot.map()
    before, after = plot.svg(), slim(plot.svg())
    assert len(after) < 0.8 * len(before)
    for tag in ("path", "use", "text"):
        assert len(re.findall(f"<{tag}\\b", before)) == len(re.findall(f"<{tag}\\b", after)), tag
    texts = re.compile(r"<text[^>]*>([^<]*)</text>")
    assert texts.findall(before) == texts.findall(after)
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', after))
    assert used <= set(re.findall(r'id="([^"]+)"', after))
