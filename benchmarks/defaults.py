"""Every class with its defaults on three shapes of table: CPU seconds, or the refusal that says what is quick.

python benchmarks/defaults.py [CLASS ...]   (each fit in a process of its own, which may take 75 s of the processor)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import date

from clock import commit

SHAPES = ((1_000, 20), (10_000, 50), (200, 5_000))
LIMIT = 75
ASKED = 60.0
ONE = """
import json, sys, time, warnings
import numpy as np
import lowdim as ld
from lowdim.text.messages import LowdimError

name, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
X = rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + 0.5 * rng.standard_normal((n, d))
y = (X[:, 0] > 0).astype(int)
warnings.simplefilter("ignore")
begin = time.process_time()
try:
    model = getattr(ld, name)()
    tables = {"LinearDiscriminant": (X, y), "CCA": (X[:, : d // 2], X[:, d // 2 :])}
    model.fit(*tables.get(name, (X,)))
    said = model.certificate_.reason
except LowdimError as refusal:
    said = f"{refusal.code}: {refusal.fix}"
print(json.dumps([time.process_time() - begin, said]))
"""


def fit(name: str, n: int, d: int) -> tuple[float, str]:
    """CPU seconds of a fit, and how it ended."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    limited = f'ulimit -t {LIMIT}; exec {sys.executable} -c "$0" {name} {n} {d}'
    told = subprocess.run(["bash", "-c", limited, ONE], env=env, capture_output=True, text=True, check=False)
    if told.returncode:
        return float(LIMIT), "not done" if told.returncode in (-9, 137, -24, 152) else told.stderr.strip()[-200:]
    seconds, said = json.loads(told.stdout.splitlines()[-1])
    return seconds, said


Kept = dict[str, dict[str, tuple[float, str, str]]]  # class, shape: CPU seconds, how it ended, when


def measure_all(kept: Kept, names: Sequence[str] = ()) -> None:
    """CPU seconds and ends of every class (or the named ones) on every shape, into what is kept."""
    import lowdim as ld
    from lowdim.registry import ENTRIES

    public = [entry.class_name for entry in ENTRIES if entry.public and entry.class_name in ld.__all__]
    for name in names or public:
        for n, d in SHAPES:
            seconds, said = fit(name, n, d)
            kept.setdefault(name, {})[f"{n:,} x {d:,}"] = round(seconds, 1), said, f"{date.today()}, {commit()}"
            print(name, n, d, f"{seconds:.1f} s", said, flush=True)


def page(kept: Kept) -> str:
    """The table of what was measured."""
    shapes = [f"{n:,} x {d:,}" for n, d in SHAPES]
    lines = [
        "## Every class with its defaults",
        "",
        f"Seconds of one core, one process a fit, which is ended after {LIMIT}; beyond {ASKED:.0f} in bold. A code is",
        "a refusal, which says what is quick; - was not run. `python benchmarks/run.py defaults` writes the table.",
        "",
        "| class | " + " | ".join(shapes) + " | when |",
        "| --- |" + " ---: |" * (len(shapes) + 1),
    ]
    for name, cells in sorted(kept.items()):
        shown = [cell(*cells[shape][:2]) if shape in cells else "-" for shape in shapes]
        lines.append(f"| {name} | " + " | ".join(shown) + " | " + "; ".join({c[2]: 0 for c in cells.values()}) + " |")
    return "\n".join(lines)


def cell(seconds: float, said: str) -> str:
    mark = "**" if seconds > ASKED else ""
    return f"{mark}{seconds:.1f}{mark} ({said.split(':')[0] if said.startswith('LD') else said})"


if __name__ == "__main__":
    measure_all({}, sys.argv[1:])
