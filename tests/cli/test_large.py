"""10,000 rows x 50 columns with 5% gaps: the report in under 60 s and 1 GB on two cores."""

from __future__ import annotations

import re
import resource
import sys
import time

import numpy as np
import pytest

from tests.cli.calls import child
from tests.cli.conftest import write_csv


def large(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) + 1.5 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


@pytest.mark.drill
def test_the_report_in_time_and_memory(tmp_path):
    write_csv(tmp_path / "large.csv", large(10_000, 50))
    begun = time.perf_counter()
    said = child("large.csv", cwd=tmp_path)
    spent = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    assert said.code == 0 and said.out.startswith("  1. Your table behaves as if it had 6 dimensions")
    assert spent < 60.0 and peak < 1e9, (spent, peak)
    stages = dict(re.findall(r"\[ok\] (\w+) .* ([\d.]+) s", said.err))
    assert sum(float(stages[name]) for name in ("read", "dimensions", "fit", "fills", "axes")) < 10.0, stages


def test_a_small_part_of_it(tmp_path):
    """Fewer rows and columns, without the report; time and memory are the drill's affair."""
    write_csv(tmp_path / "large.csv", large(600, 16))
    said = child("fit", "large.csv", "--budget", "3s", cwd=tmp_path)
    assert said.code == 0 and re.search(r"\[ok\] dimensions +0\.\.\d+ tried, 6 chosen", said.err)
