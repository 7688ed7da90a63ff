"""The adversarial matrix: whatever the table, a finite answer, a warning of ours, or an error that says what to do."""

import json
import os
from pathlib import Path

import pytest

import lowdim
from lowdim.registry import ENTRIES, FUNCTIONS
from tests.adversarial.inputs import INPUTS
from tests.adversarial.matrix import pairs, some_pairs, tried
from tests.adversarial.outcomes import SHORT, counted
from tests.adversarial.subjects import CALLS, COMMANDS, ELSEWHERE, every_subject, verbs

ENDS = Path(os.environ.get("LOWDIM_RELIABILITY", "build/reliability"))  # where a drill leaves its figures


def test_everything_public_is_in_the_matrix():
    subjects = every_subject()
    for entry in ENTRIES:
        assert not entry.public or any(name.startswith(f"{entry.class_name}(") for name in subjects), entry.class_name
    assert set(FUNCTIONS) - set(subjects) == ELSEWHERE & set(FUNCTIONS)
    assert set(CALLS) <= set(subjects) and {f"lowdim {name}" for name in COMMANDS} <= set(subjects)
    assert "get_precision" in verbs(lowdim.PPCA) and verbs(lowdim.PPCA)[0] == "transform"
    assert len(INPUTS) >= 240 and len(list(pairs())) >= 13_000


@pytest.mark.parametrize("part", range(2))
def test_a_twentieth_of_the_matrix(part):
    """Nothing silent, nothing opaque, nothing that is not finite."""
    ends = list(tried(some_pairs()[part::2]))
    assert not [(*pair, *end) for pair, end in ends if end.short]
    count = counted(end for _, end in ends)
    assert min(count[kind] for kind in ("answered", "answered with a warning", "refused")) >= 30, count


@pytest.mark.drill
def test_the_whole_matrix():
    """Also writes how its pairs ended, for `tools/reliability.py`."""
    ends = list(tried(pairs()))
    ENDS.mkdir(parents=True, exist_ok=True)
    (ENDS / "matrix.json").write_text(json.dumps([[*pair, *end] for pair, end in ends]))
    assert len(ends) >= 13_000 and not [(*pair, *end) for pair, end in ends if end.short]
    assert all(kind in counted(end for _, end in ends) for kind in SHORT)
