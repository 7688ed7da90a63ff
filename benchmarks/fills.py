"""Errors of filled cells: ours beside scikit-learn's imputers, on the same hidden cells, paired.

    python benchmarks/fills.py [repeats]        writes benchmarks/fills.md

Each repeat hides 10 % of the seen cells of a table at random; errors are in units of each column's spread.
The difference is ours minus the peer's mean squared error, with its standard error over repeats (over
cells for metabolite's own gaps, whose truth is known). A peer wins where the difference exceeds two of them.
"""
from __future__ import annotations

import csv
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from lowdim.judge.fills import fill

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("LOWDIM_DATA", HERE / "../../shared/data"))
TABLES = {"airquality": ("missing_small/airquality.csv", ()), "sleep": ("missing_small/sleep.csv", ()),
          "ozone_rennes": ("missmda/ozone_rennes.csv", ("date", "vent", "pluie")),
          "orange": ("missmda/orange.csv", ("juice",)),
          "metabolite": ("metabolite/metabolite_incomplete.csv", ("metabolite",))}
PEERS = {"IterativeImputer": lambda: IterativeImputer(random_state=0), "KNNImputer": KNNImputer}


def read(path: str, drop: tuple[str, ...]) -> np.ndarray:
    with (DATA / path).open() as file:
        head, *rows = csv.reader(file)
    keep = [j for j, name in enumerate(head) if name not in drop]
    return np.array([[float(row[j]) if row[j] else np.nan for j in keep] for row in rows])


def errors(X: np.ndarray, truth: np.ndarray, cells: np.ndarray) -> dict[str, np.ndarray]:
    """Squared errors of these cells by every method, columns in units of their spread."""
    sd, mean = np.nanstd(X, axis=0), np.nanmean(X, axis=0)
    Z, T = (X - mean) / sd, (truth - mean) / sd
    made = fill(Z)
    out = {"lowdim": made.filled, **{name: peer().fit_transform(Z) for name, peer in PEERS.items()}}
    found = {name: ((filled - T)[cells]) ** 2 for name, filled in out.items()}
    found["held"] = ((made.lower <= T) & (made.upper >= T))[cells].astype(float)
    return found


def hidings(X: np.ndarray, repeats: int) -> dict[str, np.ndarray]:
    """Mean squared error of each repeat."""
    rows: dict[str, list[float]] = {}
    for r in range(repeats):
        hidden = ~np.isnan(X) & (np.random.default_rng([r, 77]).random(X.shape) < 0.1)
        for name, e in errors(np.where(hidden, np.nan, X), X, hidden).items():
            rows.setdefault(name, []).append(float(e.mean()))
    return {name: np.array(values) for name, values in rows.items()}


def line(name: str, what: str, found: dict[str, np.ndarray]) -> str:
    ours = found["lowdim"]
    cells = [name, what, f"{100 * found['held'].mean():.1f} %", f"{ours.mean() ** 0.5:.3f}"]
    for peer in PEERS:
        diff = ours - found[peer]
        se = diff.std(ddof=1) / len(diff) ** 0.5
        word = "better" if diff.mean() < -2 * se else "worse" if diff.mean() > 2 * se else "equal"
        cells += [f"{found[peer].mean() ** 0.5:.3f}", f"{diff.mean():+.3f} +- {se:.3f}: {word}"]
    return "| " + " | ".join(cells) + " |"


def main(repeats: int) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    start = time.perf_counter()
    head = ["table", "cells", "90 % intervals held", "RMSE lowdim"]
    for peer in PEERS:
        head += [f"RMSE {peer}", "ours minus its squared error"]
    lines = ["# Fills beside scikit-learn's imputers", "", str(__doc__).split("\n\n", 2)[2].strip(), "",
             "| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    for name, (path, drop) in TABLES.items():
        count = max(repeats // 5, 3) if name == "metabolite" else repeats
        lines.append(line(name, f"{count} hidings", hidings(read(path, drop), count)))
        print(lines[-1], flush=True)
    X, truth = (read(f"metabolite/metabolite_{kind}.csv", ("metabolite",)) for kind in ("incomplete", "complete"))
    lines.append(line("metabolite", "its 419 gaps, truth known", errors(X, truth, np.isnan(X))))
    print(lines[-1], f"\n{time.perf_counter() - start:.0f} s")
    lines += ["", f"Made by `python benchmarks/fills.py {repeats}`."]
    (HERE / "fills.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
