"""Every class with its defaults on three shapes of table: CPU seconds, or the refusal that says what is quick.

python benchmarks/defaults.py [CLASS ...]   (each fit in a process of its own, which may take 120 s)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

SHAPES = ((1_000, 20), (10_000, 50), (200, 5_000))
LIMIT = 120
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


def main() -> None:
    import lowdim as ld
    from lowdim.registry import ENTRIES

    names = sys.argv[1:] or [entry.class_name for entry in ENTRIES if entry.public and entry.class_name in ld.__all__]
    print("| class | " + " | ".join(f"{n:,} x {d:,}" for n, d in SHAPES) + " |")
    print("| --- |" + " ---: |" * len(SHAPES))
    for name in names:
        cells = []
        for n, d in SHAPES:
            seconds, said = fit(name, n, d)
            cells.append(f"{'**' * (seconds > ASKED)}{seconds:.1f} s{'**' * (seconds > ASKED)} ({said})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
