"""Every file and every name that the glossary points to exists, and no word is explained twice."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.conftest import ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in GLOSSARY.splitlines()
    if line.startswith("| ") and not line.startswith(("| word |", "| --- |"))
]


@cache
def defined(path: str) -> set[str]:
    """Classes, functions and assigned names of a file, wherever in it they are."""
    tree = ast.parse((ROOT / "src" / "lowdim" / path).read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    return {n.name for n in nodes if isinstance(n, ast.ClassDef | ast.FunctionDef)} | {
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def test_the_glossary_points_to_what_exists():
    for word, text, where in ROWS:
        path, *names = re.findall(r"`([^`]+)`", where)
        assert text and names, word
        assert (ROOT / "src" / "lowdim" / path).is_file(), path
        assert set(names) <= defined(path), (path, set(names) - defined(path))


def test_no_word_is_explained_twice():
    words = [row[0].lower() for row in ROWS]
    assert len(words) > 60 and len(words) == len(set(words))


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_glossary_is_linked(page):
    assert "docs/glossary.md" in (ROOT / page).read_text(encoding="utf-8")
