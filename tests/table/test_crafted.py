"""Tables as people write them are read as they are meant, or a note says what was assumed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.table.crafted import Case, cases, judge

EVERY = 4  # cases of which one is read in every run


def outcomes(chosen: dict[str, Case], folder: Path) -> Counter[str]:
    """How many are read as meant, and how many otherwise with a note; no other outcome is one."""
    found = {name: judge(made, folder) for name, made in chosen.items()}
    wrong = {name: outcome for name, outcome in found.items() if outcome.kind not in ("as meant", "noted")}
    assert not wrong
    return Counter(outcome.kind for outcome in found.values())


def test_what_people_write_is_read_as_they_mean_it(tmp_path: Path) -> None:
    kinds = outcomes(dict(list(cases().items())[::EVERY]), tmp_path)
    assert kinds["as meant"] >= 80


@pytest.mark.slow
def test_all_of_what_people_write_is_read_as_they_mean_it(tmp_path: Path) -> None:
    kinds = outcomes(cases(), tmp_path)
    assert kinds["as meant"] >= 0.95 * kinds.total() > 300
