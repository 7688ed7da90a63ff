"""Files that were spoilt or made to do harm: an answer or a coded error; no crash, no hang, no other file touched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adversarial.crafted import crafted
from tests.adversarial.good_files import GOOD
from tests.adversarial.test_matrix import ENDS

ROOT = Path(__file__).resolve().parents[2]
SPOILT = 3400  # in the drill, over all kinds


def in_child(module: str, folder: Path, *words: object, seconds: int = 600) -> dict:
    """What a child process found, as it prints it."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", f"tests.adversarial.{module}", str(folder), *map(str, words)],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def keep(name: str, found: dict) -> None:
    """Leave the figures of a drill for `tools/reliability.py`."""
    ENDS.mkdir(parents=True, exist_ok=True)
    (ENDS / f"{name}.json").write_text(json.dumps(found))


def test_spoilt_files_end_in_a_code_or_a_table(tmp_path):
    found = in_child("fuzz_child", tmp_path, 100_000, 4, *GOOD)
    assert not {kind: figures["wrong"] for kind, figures in found.items() if figures["wrong"]}
    assert all(figures["files"] == 4 for figures in found.values())


@pytest.mark.drill
def test_three_thousand_spoilt_files(tmp_path):
    found = in_child("fuzz_child", tmp_path, 0, -(-SPOILT // len(GOOD)), *GOOD, seconds=7200)
    keep("spoilt", found)
    assert sum(figures["files"] for figures in found.values()) >= SPOILT
    assert not {kind: figures["wrong"] for kind, figures in found.items() if figures["wrong"]}
    assert all(figures["refused"] and figures["megabytes"] < 2048 for figures in found.values())


@pytest.mark.drill
def test_crafted_files(tmp_path):
    found = in_child("fuzz_child", tmp_path, 0, -1, "crafted", seconds=7200)["crafted"]
    keep("crafted", found)
    assert found["files"] == len(crafted()) >= 200 and not found["wrong"] and found["megabytes"] < 2048, found


@pytest.mark.drill
def test_two_hundred_faults(tmp_path):
    """kill -9, SIGTERM, Ctrl-C, a full disk, a folder that may not be written to, two writers, a table that changes."""
    wanted = {
        "kill": 60, "term": 30, "ctrl_c": 25, "full": 30, "read_only": 10, "two_writers": 15, "changed": 10,
        "whole:kill": 10, "whole:ctrl_c": 10,
    }  # fmt: skip
    found = in_child("fault_child", tmp_path, *(f"{kind}={n}" for kind, n in wanted.items()), seconds=7200)
    keep("faults", found)
    assert sum(sum(ends.values()) for ends in found.values()) == 200
    assert all(set(ends) <= {"old", "new"} for ends in found.values()), found
