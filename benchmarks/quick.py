"""What a person waits for at the prompt: the start of the command, and one judge on a table that fits in memory."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
from clock import table, timed

import lowdim
from lowdim.judge.maps.table_map import table_map
from lowdim.judge.rows.odd_rows import judge_rows

TURNS = 5


def start() -> str:
    """CPU seconds of processes of their own, the best of five turns."""
    rows = [
        (f"lowdim {' '.join(words)}", min(child(words) for _ in range(TURNS))) for words in (["--help"], ["methods"])
    ]
    rows += [("odd rows, 10,000 x 50, 5 % gaps", min(timed(odd_rows()).cpu for _ in range(TURNS)))]
    return "### At the prompt (one core)\n\n" + table(("what", "CPU s"), rows)


def child(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "lowdim", *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def odd_rows():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((10_000, 5)) @ rng.standard_normal((5, 50)) + rng.standard_normal((10_000, 50))
    X[rng.random(X.shape) < 0.05] = np.nan
    model = lowdim.PPCA(5).fit(X)
    map = table_map(model, tuple(f"c{j + 1}" for j in range(50)))
    return lambda: judge_rows(map, X)
