"""Spoilt cells: how many of them are named, and what is named beside them.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.spoilt > benchmarks/spoilt.md

Five measured cells in each of twelve real tables are spoilt as people spoil them, one of each kind a table, four times;
each by at least a standard deviation of its column, for a smaller slip is no error that anybody could see. Rules were
looked for with the first six tables alone; the other six were looked at once, at the end. A cell is named by the notes
of reading (a check without a model), as the cell of an odd row, or as held out of the fit.

What could be found at best is told by another judge: a regression of each column on the others, fitted to the table
before it was spoilt, from whose line the spoilt cell lies five standard deviations off. Clean tables are in
`odd_rows.md`.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lowdim.jobs.analysis import Settings, analysis_of
from lowdim.judge.read_table import read

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("LOWDIM_DATA", HERE / "../../shared/data")).resolve()
WORKED_ON = (
    "real_tables/mpg", "real_tables/airquality", "fresh_tables/rd_bdims", "fresh_tables/rd_college",
    "fresh_tables/rd_olive", "fresh_tables/rd_ais",
)  # fmt: skip
KEPT_ASIDE = (
    "real_tables/penguins", "real_tables/chemproc", "fresh_tables/rd_possum", "fresh_tables/rd_midwest",
    "real_tables/country", "fresh_tables/rd_irates",
)  # fmt: skip
KINDS = ("factor ten", "swapped digits", "wrong unit", "copied", "impossible")
UNITS = (2.2046, 2.54, 1.609)  # pounds, inches and miles for kilograms, centimetres and kilometres
DRAWS = 4
LEAST_CHANGE = 1.0  # of a spoilt cell, in standard deviations of its column
FOUND_AT_BEST = 5.0  # standard deviations from the line of a regression


class Named(NamedTuple):
    """What is named of a table, by row and column of its frame; rows that no cell explains have column ""."""

    cells: set[tuple[int, str]]  # that a person is pointed at
    by: dict[tuple[int, str], str]  # of these, by what
    seconds: float


def named(frame: pd.DataFrame) -> Named:
    """Everything that the main job names in a table whose rows are known by a column of names."""
    start = time.process_time()
    analysis = analysis_of(frame, Settings())
    table, by = analysis.table, {}
    row = [int(str(name).removeprefix("row ").removesuffix(".")) for name in table.row_names]
    for i, j in analysis.partition.wrong_cells.tolist():
        by[row[i], table.names[j]] = "held out"
    for found in analysis.odd.rows:
        by[row[found.row], found.column] = "odd row"
    for note in table.messages:
        if note.code in ("LD135", "LD138"):  # named, or named and taken as missing
            for name, line in re.findall(r"(?:: |, |; )([^,:;]+?) \S+ in row (\d+)", note.what):
                by[int(line) - 1, name] = "check"
    return Named(set(by), by, time.process_time() - start)


def framed(name: str) -> pd.DataFrame:
    """A table with a column that says which row each is."""
    frame = pd.read_csv(DATA / f"{name}.csv", encoding_errors="replace")
    frame.insert(0, "which row", [f"row {k}." for k in range(len(frame))])
    return frame


def spoilt(value: float, above: float, beside: float, kind: str, rng: np.random.Generator) -> float:
    """A value as it is written down wrongly."""
    if kind == "factor ten":
        return value * (10.0 if rng.random() < 0.5 else 0.1)
    if kind == "swapped digits":
        digits = f"{value:.10g}"
        pairs = [k for k in range(len(digits) - 1) if digits[k : k + 2].isdigit() and digits[k] != digits[k + 1]]
        if not pairs:
            return value
        k = int(rng.choice(pairs))
        return float(digits[:k] + digits[k + 1] + digits[k] + digits[k + 2 :])
    if kind == "wrong unit":
        if rng.random() < 0.25:
            return 1.8 * value + 32.0
        return value * float(rng.choice(UNITS)) ** float(rng.choice([-1.0, 1.0]))
    if kind == "copied":
        return above if rng.random() < 0.5 else beside
    return float(rng.choice([-value, 0.0, 999.0, -99.0]))


def spoil(frame: pd.DataFrame, columns: list[str], seed: int) -> tuple[pd.DataFrame, dict[tuple[int, str], str]]:
    """A table with a cell of each kind spoilt, no two in a row; and these."""
    rng, frame, done = np.random.default_rng([seed, 30]), frame.copy(), {}
    numbers = frame[columns].to_numpy(dtype=float)
    frame[columns] = numbers
    spread = np.nanstd(numbers, axis=0)
    for kind in KINDS:
        while True:
            i, j = int(rng.integers(1, len(frame))), int(rng.integers(len(columns)))
            beside = numbers[i, (j + 1) % len(columns)]
            wrong = spoilt(numbers[i, j], numbers[i - 1, j], beside, kind, rng)
            if abs(wrong - numbers[i, j]) >= LEAST_CHANGE * spread[j] and i not in {row for row, _ in done}:
                break
        frame.loc[i, columns[j]] = wrong
        done[i, columns[j]] = kind
    return frame, done


def regression_surprise(frame: pd.DataFrame, columns: list[str], spoilt: pd.DataFrame, cell: tuple[int, str]) -> float:
    """How far a spoilt cell is from the line of a regression on the other columns of the table before."""
    X = frame[columns].to_numpy(dtype=float)
    centre, j = np.nanmean(X, axis=0), columns.index(cell[1])
    full = np.where(np.isnan(X), centre, X)
    others = np.column_stack([np.ones(len(full)), np.delete(full, j, axis=1)])
    y = X[:, j]
    rows = ~np.isnan(y) & (np.arange(len(y)) != cell[0])
    b = np.linalg.lstsq(others[rows], y[rows], rcond=None)[0]
    left = y[rows] - others[rows] @ b
    sd = left.std(ddof=min(others.shape[1], rows.sum() - 1))
    return float(abs(spoilt.loc[cell[0], cell[1]] - others[cell[0]] @ b) / sd)


class TableResult(NamedTuple):
    """What became of one table's spoilt cells over its draws."""

    name: str
    rows: int
    columns: int
    own: int  # named in the table as it is
    spoilt: int
    named: int
    findable: int
    found_of_findable: int
    false: float  # named beside the spoilt ones and not named before, a table
    kinds: Counter[str]
    by: Counter[str]
    false_by: Counter[str]
    missed: tuple[str, ...]
    seconds: float


def one_table(name: str) -> TableResult:
    """A table, spoilt several times."""
    frame = framed(name)
    table = read(frame)
    columns = [n for n in table.names if n in frame.columns and pd.api.types.is_numeric_dtype(frame[n])]
    columns = [n for n in columns if frame[n].nunique() > 10]
    before = named(frame)
    kinds: Counter[str] = Counter()
    by: Counter[str] = Counter()
    false: Counter[str] = Counter()
    missed, findable, found, total, seconds = [], 0, 0, 0, before.seconds
    for seed in range(DRAWS):
        wrong, cells = spoil(frame, columns, seed)
        after = named(wrong)
        seconds += after.seconds
        far = {cell: regression_surprise(frame, columns, wrong, cell) for cell in cells}
        total += len(cells)
        for cell, kind in cells.items():
            kinds[kind] += cell in after.cells
            by[after.by.get(cell, "")] += 1
            findable += far[cell] >= FOUND_AT_BEST
            found += far[cell] >= FOUND_AT_BEST and cell in after.cells
            if cell not in after.cells:
                same_row = [c for c in after.cells if c[0] == cell[0]]
                missed.append(
                    f"{kind}: {cell[1]} {frame.loc[cell]:.5g} -> {wrong.loc[cell]:.5g} ({far[cell]:.1f} sd) {same_row}"
                )
        beside = after.cells - before.cells - set(cells)
        false.update(after.by[cell] for cell in beside)
    return TableResult(
        name.split("/")[1], table.n, table.d, len(before.cells), total, total - len(missed), findable, found,
        false.total() / DRAWS, kinds, by, false, tuple(missed), seconds / (DRAWS + 1),
    )  # fmt: skip


def table_lines(names: tuple[str, ...], verbose: bool) -> list[TableResult]:
    """The tables, a line each, and all of them together."""
    print("\n| table | rows x columns | own names | spoilt | named | of those that a regression finds | false names a "
          "table | CPU s |", "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |", sep="\n")  # fmt: skip
    results = []
    for name in names:
        r = one_table(name)
        results.append(r)
        print(
            f"| {r.name} | {r.rows} x {r.columns} | {r.own} | {r.spoilt} | {r.named} | {r.found_of_findable} of "
            f"{r.findable} | {r.false:.2f} | {r.seconds:.1f} |",
            flush=True,
        )
        if verbose:
            print("\n".join(f"    {line}" for line in r.missed), dict(r.by), "FALSE", dict(r.false_by), file=sys.stderr)
    total, found = sum(r.spoilt for r in results), sum(r.named for r in results)
    best, of_best = sum(r.findable for r in results), sum(r.found_of_findable for r in results)
    false = float(np.mean([r.false for r in results]))
    share = f"{found} ({100 * found / total:.0f} %)"
    print(
        f"| **together** | | {sum(r.own for r in results)} | {total} | {share} | {of_best} of {best} | {false:.2f} | |"
    )
    return results


def main() -> None:
    warnings.simplefilter("ignore")
    verbose, part = "-v" in sys.argv, next((word for word in sys.argv[1:] if word != "-v"), "all")
    if part == "all":
        print("# Spoilt cells\n\n" + str(__doc__).split("\n\n", 2)[2].strip())
    results = []
    if part in ("all", "worked"):
        print("\n## The tables that were worked on")
        results += table_lines(WORKED_ON, verbose)
    if part in ("all", "aside"):
        print("\n## The tables kept aside")
        results += table_lines(KEPT_ASIDE, verbose)
    if results:
        of = sum(r.spoilt for r in results) // len(KINDS)
        kinds: Counter[str] = sum((r.kinds for r in results), Counter())
        print("\nBy kind: " + ", ".join(f"{kind} {kinds[kind]} of {of}" for kind in KINDS) + ".")
        by: Counter[str] = sum((r.by for r in results), Counter())
        print("Named by: " + ", ".join(f"{how or 'nothing'} {many}" for how, many in by.most_common()) + ".")


if __name__ == "__main__":
    main()
