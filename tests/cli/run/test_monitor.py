"""`lowdim monitor`: old and new rows in one chart."""

from __future__ import annotations

import numpy as np

from tests.cli.conftest import small_table, write_csv


def test_monitor_draws_old_and_new_rows(lowdim, made):
    X = small_table(seed=5)[:12]
    X[3] += 9.0 * np.array([1, -1, 1, -1, 1, -1])
    write_csv(lowdim.folder / "new.csv", X)
    said = lowdim("monitor", made / "small.run", "new.csv")
    assert said.code == 0 and "\n  4 " in said.out and "Chart in new.control.svg" in said.out
    assert (lowdim.folder / "new.control.svg").read_text().count("<svg") == 1
