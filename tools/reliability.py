"""Write docs/reliability.md from what the drills of tests/adversarial found.

make drills PYTEST_ARGS=tests/adversarial
python -m tests.adversarial.peers > build/reliability/peers.json
python tools/reliability.py [FOLDER]     FOLDER holds matrix.json, peers.json, spoilt.json, crafted.json, faults.json
"""

from __future__ import annotations

import json
import platform
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import numpy
import scipy
import sklearn

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("answered", "answered with a warning", "refused", "silent", "bare warning", "opaque error", "not finite")
FAULTS = {
    "kill": "kill -9 at a random moment of a fit", "term": "SIGTERM", "ctrl_c": "Ctrl-C",
    "full": "a disk that is full at a random byte", "read_only": "a run folder that may not be written to",
    "two_writers": "two processes write the same run", "changed": "the table changes while it is streamed",
    "whole:kill": "kill -9 of the main job", "whole:ctrl_c": "Ctrl-C of the main job",
}  # fmt: skip


def line(*cells: Any) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    return line(*head) + line(*["---"] + ["---:"] * (len(head) - 1)) + "".join(line(*row) for row in rows) + "\n"


def matrix(pairs: list[list[str]], peers: dict[str, dict[str, int]]) -> str:
    """Pairs of a table and whoever was given it."""
    ours, theirs = Counter(pair[2] for pair in pairs), Counter[str]()
    for ends in peers.values():
        theirs.update(ends)
    inputs, subjects = len({pair[1] for pair in pairs}), len({pair[0] for pair in pairs})
    classes = len({pair[0].partition("(")[0] for pair in pairs if "(" in pair[0]})
    short = sum(ours[kind] for kind in KINDS[3:])
    text = f"""## Tables

{inputs} tables (`tests/adversarial/inputs.py`, a line each) were given to {subjects} subjects: the {classes} public classes
with {len({pair[0] for pair in pairs if "(" in pair[0]})} choices of options and every verb they have, the public functions, and the commands. A pair ends well in
numbers that are all finite, in a warning with a code, or in an error with a code and what to do. It falls short where
nonsense is answered in silence, where NumPy's own warnings come through, where an error has no code, or where anything
is not finite. **{len(pairs):,} pairs were tried; {short} fall short.** scikit-learn {sklearn.__version__}'s {len(peers)} classes were given the same
tables; of their errors every ValueError and TypeError counts as meant.

"""
    total = sum(theirs.values())
    rows = [(k, f"{ours[k]:,}", f"{theirs[k]:,}", f"{100 * theirs[k] / max(total, 1):.1f} %") for k in KINDS]
    rows.append(("pairs", f"{len(pairs):,}", f"{total:,}", ""))
    return text + table(("a pair ended", "lowdim", "scikit-learn", "of its pairs"), rows)


def files(spoilt: dict[str, Any], crafted: dict[str, Any]) -> str:
    """Spoilt and crafted files."""
    found = {**spoilt, "crafted": crafted}
    rows = [
        (kind, f["files"], f["read"], f["refused"], len(f["wrong"]), f"{f['slowest']:.1f}", f["megabytes"])
        for kind, f in found.items()
    ]
    count = sum(f["files"] for f in spoilt.values())
    return f"""## Files

{count:,} files of every kind that is read were spoilt (bits flipped, cut, zeros and noise put in, numbers replaced, members of
zips changed and packed again), and {crafted["files"]} were made by hand to do harm: bombs, ways out of the folder, giant shapes,
run folders that were tampered with. Each was read in a process that was watched for writes outside its own folder, for
programs started and connections opened. `wrong` counts crashes, hangs beyond a minute, errors without a code, and all of that.

""" + table(("kind", "files", "read", "refused", "wrong", "slowest, s of CPU", "MB of memory"), rows)


def faults(found: dict[str, dict[str, int]]) -> str:
    """Processes that were stopped, starved or disturbed."""
    rows = [(FAULTS[k], sum(e.values()), e.get("old", 0), e.get("new", 0), sum(e.values()) - e.get("old", 0) - e.get("new", 0))
            for k, e in found.items()]  # fmt: skip
    return f"""## Faults

A run folder was there before each of {sum(row[1] for row in rows)} trials, and `lowdim fit` was to replace it. After the fault the folder must hold the
older run or the new one, whole to the bit; the table must be what it was; and the same command, given again, must end as
if nothing had happened, with nothing left behind.

""" + table(("fault", "trials", "the older run", "the new run", "anything else"), rows)


def main(folder: Path) -> None:
    parts = {
        name: json.loads((folder / f"{name}.json").read_text())
        for name in ("matrix", "peers", "spoilt", "crafted", "faults")
    }
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}"
    text = f"""# Reliability

What happens to tables, files and processes that go wrong, counted. The figures are measured by the drills of
`tests/adversarial` (`make drills`) and written by `tools/reliability.py`; `make test` tries a tenth of the tables and a
few files of each kind. Last measured on {date.today()}: {machine}.

"""
    text += matrix(parts["matrix"], parts["peers"]) + files(parts["spoilt"], parts["crafted"]) + faults(parts["faults"])
    (ROOT / "docs" / "reliability.md").write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "reliability")
