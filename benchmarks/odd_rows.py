"""Odd rows: how many of those called odd are not, beside the 5 % that is claimed, and how many errors are found.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.odd_rows > benchmarks/odd_rows.md

Tables of 200 rows and 8 columns of eight laws, two signals in each. In some of their rows one cell is wrong by 3 to 6
standard deviations of its column. The false discovery rate of a line is the mean over its tables of the share of the
rows called odd that are not the planted ones, 0 where none is called odd: what Benjamini and Hochberg's rule bounds.
Where nothing is planted it is the share of tables in which any row is called odd. Rules were looked for with other
tables (`SEEDS_WORKED_ON`) than those reported here.

Beside it stands what a judge finds who knows the table before it was spoilt (`power at best`): a regression of each
column on the others, whose largest residual the wrong cell exceeds. Two numbers behind the command are those
of tables a line, with errors and without.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from lowdim.jobs.analysis import Settings, analysis_of

ROWS, COLUMNS = 200, 8
LAWS = ("Gaussian", "mixture", "ordinal", "t4", "skew", "lognormal", "mostly zero", "bent")
POSITIVE = ("lognormal", "mostly zero")  # an error that would be negative is one upwards
PLANTED = ((0.0, 0.0), (0.02, 3.0), (0.02, 4.5), (0.02, 6.0), (0.05, 3.0), (0.05, 4.5), (0.05, 6.0))
TABLES, CLEAN_TABLES = 25, 80  # a line
SEEDS_WORKED_ON, SEEDS_REPORTED = 0, 10_000


def clean(law: str, seed: int) -> np.ndarray:
    """A table in which nothing is wrong: two signals and noise, of a law."""
    rng = np.random.default_rng([seed, LAWS.index(law), 31])
    n, d = ROWS, COLUMNS
    W = rng.standard_normal((2, d))
    if law == "t4":
        shared = rng.standard_t(4, (n, 2)) @ W / np.sqrt(2)
        return shared + rng.standard_t(4, (n, d)) / np.sqrt(2)
    if law == "bent":
        along = rng.uniform(-1.5, 1.5, n)
        signals = np.column_stack([along, 1.5 * along**2])
        return signals @ W + 0.5 * rng.standard_normal((n, d))
    z = rng.standard_normal((n, 2))
    if law == "mixture":
        z += 3.0 * rng.standard_normal((3, 2))[rng.integers(3, size=n)]
    X = z @ W + rng.standard_normal((n, d))
    if law == "ordinal":
        return np.digitize(X / X.std(axis=0), [-1.5, -0.5, 0.5, 1.5]) + 1.0
    if law == "skew":
        return np.exp(0.5 * X / X.std(axis=0)) + 0.1 * rng.standard_normal((n, d))
    if law == "lognormal":
        return np.exp(X / X.std(axis=0))
    if law == "mostly zero":
        return np.maximum(X / X.std(axis=0) - 0.5, 0.0)
    return X


def with_errors(X: np.ndarray, law: str, share: float, size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table with one cell of some rows wrong; and these cells, k x 2."""
    rng = np.random.default_rng([seed, LAWS.index(law), 32])
    X, sd = X.copy(), X.std(axis=0)
    rows = rng.permutation(len(X))[: round(share * len(X))]
    cells = np.column_stack([rows, rng.integers(X.shape[1], size=len(rows))])
    for i, j in cells.tolist():
        wrong = X[i, j] + size * sd[j] * rng.choice([-1.0, 1.0])
        if law in POSITIVE and wrong < 0.0:
            wrong = X[i, j] + size * sd[j]
        if law == "ordinal":  # another end of the scale: there is nothing beyond it
            wrong = 1.0 if X[i, j] > 3.0 else 5.0
        X[i, j] = wrong
    return X, cells


def findable(X: np.ndarray, wrong: np.ndarray, cells: np.ndarray) -> float:
    """The share of wrong cells that a regression of the table before tells from its residuals."""
    found = 0
    for i, j in cells.tolist():
        others = np.column_stack([np.ones(len(X)), np.delete(X, j, axis=1)])
        b = np.linalg.lstsq(others, X[:, j], rcond=None)[0]
        size = np.sort(np.abs(X[:, j] - others @ b))
        found += abs(wrong[i, j] - others[i] @ b) > size[-1]
    return found / max(len(cells), 1)


class Line(NamedTuple):
    """What became of the tables of one law with so many errors of one size."""

    law: str
    share: float
    size: float
    tables: int
    false_rate: float  # mean share of false ones among the rows called odd
    doubt: float  # its standard error
    false_rows: float  # in 1,000 clean rows
    power: float  # of wrong cells' rows called odd
    named: float  # of wrong cells named
    best: float
    seconds: float


def line(law: str, share: float, size: float, tables: int, first_seed: int) -> Line:
    """So many tables of a law, with errors in a share of their rows."""
    rates, false, rows, found, named, best = [], 0, 0, 0, 0, []
    start = time.process_time()
    for seed in range(first_seed, first_seed + tables):
        before = clean(law, seed)
        X, cells = with_errors(before, law, share, size, seed)
        names = [f"x{j}" for j in range(X.shape[1])]
        analysis = analysis_of(pd.DataFrame(X, columns=names), Settings())
        odd = {found.row: found.column for found in analysis.odd.rows}
        planted = dict(cells.tolist())
        wrong = sum(row not in planted for row in odd)
        rates.append(wrong / max(len(odd), 1))
        false += wrong
        rows += len(X) - len(planted)
        found += sum(row in planted for row in odd)
        held = {tuple(cell) for cell in analysis.partition.wrong_cells.tolist()}
        named += sum(odd.get(i) == names[j] or (i, j) in held for i, j in cells.tolist())
        best.append(findable(before, X, cells))
    many = max(round(share * ROWS) * tables, 1)
    doubt = float(np.std(rates, ddof=1) / np.sqrt(tables))
    seconds = (time.process_time() - start) / tables
    return Line(law, share, size, tables, float(np.mean(rates)), doubt, 1000 * false / rows, found / many,
                named / many, float(np.mean(best)), seconds)  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    worked, laws = "worked" in sys.argv, [law for law in LAWS if law in sys.argv] or LAWS
    tables, clean_tables = (numbers * 2)[:2] if numbers else (TABLES, CLEAN_TABLES)
    print("# Odd rows\n\n" + str(__doc__).split("\n\n", 2)[2].strip() + "\n")
    head = "law", "rows with an error", "its size, sd", "tables", "false discovery rate, %", "false rows in 1,000"
    print("| " + " | ".join((*head, "power, %", "cells named, %", "power at best, %", "CPU s a table")) + " |")
    print("| --- |" + " ---: |" * 9)
    for law in laws:
        for share, size in PLANTED:
            many = tables if share else clean_tables
            r = line(law, share, size, many, SEEDS_WORKED_ON if worked else SEEDS_REPORTED)
            found = [f"{100 * part:.0f}" if share else "" for part in (r.power, r.named, r.best)]
            rate = f"{100 * r.false_rate:.1f} ± {100 * r.doubt:.1f}"
            cells = law, f"{share:.0%}", f"{size:g}" if share else "", many, rate, f"{r.false_rows:.2f}", *found
            print("| " + " | ".join(map(str, (*cells, f"{r.seconds:.2f}"))) + " |", flush=True)


if __name__ == "__main__":
    main()
