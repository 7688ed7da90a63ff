"""The page of published numbers: every page and test it names is there and has the first number of its row."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from tests.docs.test_audit import lies

TEXT = (ROOT / "docs" / "published.md").read_text(encoding="utf-8")
REDONE, LEFT = TEXT.split("## What is not redone")
ROWS = re.findall(r"^\| (.*) \| (.+) \| (.+) \| `(\S+)` \|$", REDONE, re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def test_every_row_is_read():
    assert len(ROWS) == REDONE.count("\n| ") - 2 * REDONE.count("\n## ") and len(ROWS) > 30


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0][:30]} {row[1][:12]}")
def test_where_a_number_is_said_to_be_it_is(row):
    _, published, _, where = row
    path = ROOT / ("docs" if where.startswith("gallery/") else "") / where
    held = path.read_text(encoding="utf-8")
    missing = [number for number in NUMBER.findall(published) if number.lstrip("-") not in held]
    assert not missing, (where, missing)


def test_whatever_else_is_named_exists():
    assert not [lie for token in re.findall(r"`([^`\n]+)`", TEXT) for lie in lies(token)]


def test_what_is_left_has_a_reason():
    reasons = re.findall(r"^\| .+ \| .+ \| (.+) \|$", LEFT, re.MULTILINE)[2:]
    assert len(reasons) > 10 and all(len(reason) > 15 for reason in reasons)
