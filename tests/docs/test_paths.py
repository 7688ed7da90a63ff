"""Every file of the package and of the repository that the documentation names exists."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")] + sorted(
    [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "families").glob("*.md")]
)
FILE = re.compile(r"`((?:\.?\w+/)+[\w{},]*(?:\.py|\.md|\.txt|/)?)`")


def expanded(path: str) -> list[str]:
    """models/{a,b}.py is models/a.py and models/b.py."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", path)
    return [found[1] + name + found[3] for name in found[2].split(",")] if found else [path]


OF_THEIR_OWN = ("audit.md", "published.md")  # pages whose tests look into the files that they name


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in OF_THEIR_OWN], ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    named = {one for path in FILE.findall(page.read_text(encoding="utf-8")) for one in expanded(path)}
    absent = {p for p in named if not (ROOT / p).exists() and not (ROOT / "src" / "lowdim" / p).exists()}
    assert not absent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    absent = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not absent
