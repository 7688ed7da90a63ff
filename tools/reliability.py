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


TABLES = """## Tables

{inputs} tables (`tests/adversarial/inputs.py`, a line each) were given to {subjects} subjects: the {classes} public
classes with {choices} choices of options and every verb they have, the {decoders} of them that decode places with the
table given as places, the public functions, and the commands. A pair ends
well in numbers that are all finite, in a warning with a code, or in an error with a code and what to do. It falls
short where nonsense is answered in silence, where NumPy's own warnings come through, where an error has no code, or
where anything is not finite. **{pairs:,} pairs were tried; {short} fall short.** scikit-learn {version}'s {peers}
classes were given the same tables; of their errors every ValueError and TypeError counts as meant.

"""
FILES = """## Files

{spoilt:,} files of every kind that is read were spoilt (bits flipped, cut, zeros and noise put in, numbers replaced,
members of zips changed and packed again), and {crafted} were made by hand to do harm: bombs, ways out of the folder,
giant shapes, run folders that were tampered with. Each was read in a process that was watched for writes outside its
own folder, for programs started and for connections opened; `wrong` counts those, crashes, hangs beyond a minute and
errors without a code.

"""
TRIALS = """## Faults

A run folder was there before each of {trials} trials, and `lowdim fit` was to replace it. After the fault the folder
must hold the older run or the new one, whole to the bit; the table must be what it was; and the same command, given
again, must end as if nothing had happened, with nothing left behind.

"""
HEAD = """# Reliability

What happens to tables, files and processes that go wrong, counted. The figures are measured by the drills of
`tests/adversarial` (`make drills`) and written by `tools/reliability.py`; `make test` tries a twentieth of the
tables and a few files of each kind. Last measured on {day}: {machine}.

"""


def matrix(pairs: list[list[str]], peers: dict[str, dict[str, int]]) -> str:
    """Pairs of a table and whoever was given it."""
    ours, theirs = Counter(pair[2] for pair in pairs), Counter[str]()
    for ends in peers.values():
        theirs.update(ends)
    subjects = {pair[0] for pair in pairs}
    models = {name for name in subjects if "(" in name}
    text = TABLES.format(
        inputs=len({pair[1] for pair in pairs}),
        subjects=len(subjects),
        classes=len({name.partition("(")[0] for name in models}),
        choices=len(models),
        decoders=sum(name.startswith("places for ") for name in subjects),
        pairs=len(pairs),
        short=sum(ours[kind] for kind in KINDS[3:]),
        version=sklearn.__version__,
        peers=len(peers),
    )
    total = sum(theirs.values())
    rows = [(k, f"{ours[k]:,}", f"{theirs[k]:,}", f"{100 * theirs[k] / max(total, 1):.1f} %") for k in KINDS]
    rows.append(("pairs", f"{len(pairs):,}", f"{total:,}", ""))
    return text + table(("a pair ended", "lowdim", "scikit-learn", "of its pairs"), rows)


def files(spoilt: dict[str, Any], crafted: dict[str, Any]) -> str:
    """Spoilt and crafted files."""
    rows = [
        (kind, f["files"], f["read"], f["refused"], len(f["wrong"]), f"{f['slowest']:.1f}", f["megabytes"])
        for kind, f in {**spoilt, "crafted": crafted}.items()
    ]
    text = FILES.format(spoilt=sum(f["files"] for f in spoilt.values()), crafted=crafted["files"])
    return text + table(("kind", "files", "read", "refused", "wrong", "slowest, s of CPU", "MB of memory"), rows)


def faults(found: dict[str, dict[str, int]]) -> str:
    """Processes that were stopped, starved or disturbed."""
    rows = []
    for kind, ends in found.items():
        trials, old, new = sum(ends.values()), ends.get("old", 0), ends.get("new", 0)
        rows.append((FAULTS[kind], trials, old, new, trials - old - new))
    text = TRIALS.format(trials=sum(row[1] for row in rows))
    return text + table(("fault", "trials", "the older run", "the new run", "anything else"), rows)


def main(folder: Path) -> None:
    names = ("matrix", "peers", "spoilt", "crafted", "faults")
    part = {name: json.loads((folder / f"{name}.json").read_text().splitlines()[-1]) for name in names}
    versions = f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}"
    text = HEAD.format(day=date.today(), machine=f"{platform.system()} {platform.machine()}, {versions}")
    text += matrix(part["matrix"], part["peers"]) + files(part["spoilt"], part["crafted"]) + faults(part["faults"])
    (ROOT / "docs" / "reliability.md").write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "reliability")
