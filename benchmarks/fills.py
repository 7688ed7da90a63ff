"""Filled cells: ours beside other imputers, on the same hidden cells, paired.

    OPENBLAS_NUM_THREADS=1 python benchmarks/fills.py [repeats]            writes benchmarks/fills.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/fills.py repeats table ...    these tables only, writes nothing

Each hiding hides 10 % of the seen cells of a table at random, by seeds that nothing was tuned on; every method
then sees the same table, its columns in units of their spread. Held: hidden cells inside our 90 % interval, pooled
over hidings, for all columns and for the worst one. RMSE: of the hidden cells, in units of each column's spread.
The difference is our mean squared error minus the peer's, paired by hiding, +- its standard error over hidings
(over cells for metabolite's own gaps, whose truth is known): worse or better where it exceeds two of them. That
error is for this table; hidings share its cells, so it says nothing of other tables. Fresh tables are those whose
fills no test, demo or earlier benchmark of the library looked at.
"""

from __future__ import annotations

import csv
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from lowdim import __version__
from lowdim.judge.fills.fills import fill

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("LOWDIM_DATA", HERE / "../../shared/data"))
TABLES = {
    "airquality": ("missing_small/airquality.csv", ()),
    "sleep": ("missing_small/sleep.csv", ()),
    "ozone_rennes": ("missmda/ozone_rennes.csv", ("date", "vent", "pluie")),
    "orange": ("missmda/orange.csv", ("juice",)),
    "metabolite": ("metabolite/metabolite_incomplete.csv", ("metabolite",)),
    "digester": ("digester/kamyr.csv", None),
    "ozone_la": ("missing_small/ozone_la.csv", ()),
    "glass": ("uci/glass.csv", ("type",)),
}
LOADED = {"breast_cancer": datasets.load_breast_cancer, "diabetes": datasets.load_diabetes, "wine": datasets.load_wine}
SLOW = {"breast_cancer": 5}  # a hiding takes 15 s: a fifth as many
FRESH = ("ozone_la", "glass", "breast_cancer", "diabetes")
PEERS = {"IterativeImputer": lambda: IterativeImputer(random_state=0), "KNNImputer": KNNImputer}
R_PEERS = ("ppca", "bpca", "regularised")  # of pcaMethods, pcaMethods and missMDA
R_CODE = """
suppressMessages({library(pcaMethods); library(missMDA)})
folder <- commandArgs(TRUE)
if (length(folder)) {
  Z <- as.matrix(read.csv(file.path(folder, "in.csv"), header=FALSE))
  most <- min(10, ncol(Z) - 2, nrow(Z) - 2)
  q <- estim_ncpPCA(as.data.frame(Z), ncp.max=most, verbose=FALSE)$ncp
  made <- list(ppca=completeObs(pca(Z, method="ppca", nPcs=max(q, 1), seed=1)),
               bpca=completeObs(pca(Z, method="bpca", nPcs=min(dim(Z)) - 1)),
               regularised=imputePCA(as.data.frame(Z), ncp=q)$completeObs)
  for (name in names(made))
    write.table(made[[name]], file.path(folder, paste0(name, ".csv")), sep=",", row.names=FALSE, col.names=FALSE)
}
"""


class Found(NamedTuple):
    """Mean squared errors by method, hiding by hiding (or cell by cell), and cells held and tried by column."""

    error: dict[str, np.ndarray]
    held: np.ndarray
    tried: np.ndarray


def read(path: str, drop: tuple[str, ...] | None) -> tuple[list[str], np.ndarray]:
    """Names and numbers of a CSV file; drop=None: a file without a header."""
    with (DATA / path).open() as file:
        rows = list(csv.reader(file))
    head = [f"c{j + 1}" for j in range(len(rows[0]))] if drop is None else rows.pop(0)
    keep = [j for j, name in enumerate(head) if name not in (drop or ())]
    return [head[j] for j in keep], np.array([[float(row[j]) if row[j] else np.nan for j in keep] for row in rows])


def table(name: str) -> tuple[list[str], np.ndarray]:
    if name in LOADED:
        data = LOADED[name]()
        return list(data.feature_names), data.data
    return read(*TABLES[name])


@cache
def with_r() -> bool:
    """Whether Rscript and both R packages are here."""
    rscript = shutil.which("Rscript")
    return rscript is not None and subprocess.run([rscript, "-e", R_CODE], capture_output=True).returncode == 0


def by_r(Z: np.ndarray) -> dict[str, np.ndarray]:
    """The R peers' fills, with dimensions by missMDA's generalised cross-validation."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [",".join("NA" if np.isnan(v) else repr(float(v)) for v in row) for row in Z]
        Path(folder, "in.csv").write_text("\n".join(lines) + "\n")
        Path(folder, "peers.R").write_text(R_CODE)
        subprocess.run(["Rscript", str(Path(folder, "peers.R")), folder], check=True, capture_output=True)
        return {name: np.loadtxt(Path(folder, f"{name}.csv"), delimiter=",") for name in R_PEERS}


def cells(X: np.ndarray, truth: np.ndarray, hidden: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Squared errors of the hidden cells by every method, and which of the table's cells our intervals held."""
    sd, mean = np.nanstd(X, axis=0), np.nanmean(X, axis=0)
    Z, T = (X - mean) / sd, (truth - mean) / sd
    made = fill(Z)
    out = {
        "lowdim": made.filled,
        **{name: peer().fit_transform(Z) for name, peer in PEERS.items()},
        **(by_r(Z) if with_r() else {}),
    }
    error = {name: (filled - T)[hidden] ** 2 for name, filled in out.items()}
    return error, hidden & (made.lower <= T) & (made.upper >= T)


def hidings(name: str, repeats: int) -> Found:
    """Mean squared error of each hiding, intervals pooled."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    _, X = table(name)
    held, tried, rows = np.zeros(X.shape[1]), np.zeros(X.shape[1]), []
    for r in range(repeats):
        hidden = ~np.isnan(X) & (np.random.default_rng([1000 + r, 78]).random(X.shape) < 0.1)
        error, inside = cells(np.where(hidden, np.nan, X), X, hidden)
        rows.append({method: float(e.mean()) for method, e in error.items()})
        held += inside.sum(axis=0)
        tried += hidden.sum(axis=0)
    return Found({method: np.array([row[method] for row in rows]) for method in rows[0]}, held, tried)


def own_gaps(name: str) -> Found:
    """Metabolite's own gaps: their truth is in a second file."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    _, X = table(name)
    _, truth = read("metabolite/metabolite_complete.csv", ("metabolite",))
    gaps = np.isnan(X)
    error, inside = cells(X, truth, gaps)
    return Found(error, inside.sum(axis=0), gaps.sum(axis=0))


def compared(ours: np.ndarray, peer: np.ndarray) -> tuple[float, float, str]:
    """The paired difference, its standard error and the verdict on us."""
    diff = ours - peer
    mean, se = float(diff.mean()), float(diff.std(ddof=1)) / len(diff) ** 0.5
    return mean, se, "better" if mean < -2 * se else "worse" if mean > 2 * se else "equal"


def line(name: str, what: str, found: Found) -> str:
    names, X = table(name)
    share = np.where(found.tried > 0, found.held / np.maximum(found.tried, 1), 2.0)
    j = int(share.argmin())
    gaps = int(np.isnan(X).sum())
    ours = found.error["lowdim"]
    parts = [
        name + (" (fresh)" if name in FRESH else ""),
        f"{len(X)} x {len(names)}, {gaps} gaps",
        what,
        f"{100 * found.held.sum() / found.tried.sum():.1f} %",
        f"{100 * share[j]:.1f} % of {found.tried[j]:.0f} ({names[j]})",
        f"{ours.mean() ** 0.5:.3f}",
    ]
    for peer in (*PEERS, *R_PEERS):
        if peer in found.error:
            mean, se, word = compared(ours, found.error[peer])
            parts += [f"{found.error[peer].mean() ** 0.5:.3f}", f"{mean:+.4f} +- {se:.4f}: {word}"]
    return "| " + " | ".join([*parts, *([] if with_r() else ["R not present"])]) + " |"


def by_few(found: Found) -> str:
    """How far a few cells make the verdict: without the one that differs most, and with errors capped at one spread."""
    ours, words = found.error["lowdim"], []
    for peer, theirs in found.error.items():
        if peer != "lowdim":
            k = int(np.abs(ours - theirs).argmax())
            both = (compared(np.delete(ours, k), np.delete(theirs, k)), compared(ours.clip(max=1), theirs.clip(max=1)))
            words.append(f"{peer} " + ", capped ".join(f"{mean:+.4f} +- {se:.4f}: {word}" for mean, se, word in both))
    return (
        "Metabolite's own gaps, ours minus the peer's without the one cell that differs most, and with every "
        f"squared error capped at 1: {'; '.join(words)}."
    )


def header() -> list[str]:
    head = ["table", "size", "cells", "90 % intervals held", "worst column held", "RMSE lowdim"]
    for peer in (*PEERS, *(R_PEERS if with_r() else ())):
        head += [f"RMSE {peer}", "ours minus its"]
    head += [] if with_r() else ["pcaMethods ppca, bpca; missMDA regularised"]
    return [
        "# Fills beside other imputers",
        "",
        str(__doc__).split("\n\n", 2)[2].strip(),
        "",
        "| " + " | ".join(head) + " |",
        "| " + " | ".join("---" for _ in head) + " |",
    ]


def measured(repeats: int, names: tuple[str, ...]) -> tuple[list[str], str]:
    """The table's lines and the note on metabolite's own gaps, tables in two processes."""
    lines, note = [], ""
    with ProcessPoolExecutor(2) as pool:
        waiting = []
        for name in names:
            count = max(repeats // SLOW.get(name, 1), 2)
            waiting.append((name, f"{count} hidings", pool.submit(hidings, name, count)))
            if name == "metabolite":
                waiting.append((name, "its 419 gaps, truth known", pool.submit(own_gaps, name)))
        for name, what, job in waiting:
            found = job.result()
            lines.append(line(name, what, found))
            note = by_few(found) if what.startswith("its") else note
            print(lines[-1], flush=True)
    return lines, note


def main(repeats: int, *names: str) -> None:
    start = time.perf_counter()
    lines, note = measured(repeats, names or (*TABLES, *LOADED))
    worse = sum(one.count(": worse |") for one in lines)
    lines += [
        "",
        note,
        "",
        f"Comparisons in which a peer wins by more than two paired standard errors: {worse}.",
        "",
        f"Made by `python benchmarks/fills.py {repeats}` in {time.perf_counter() - start:.0f} s: lowdim "
        f"{__version__}, scikit-learn {version('scikit-learn')}, numpy {np.__version__}, "
        f"Python {platform.python_version()}.",
    ]
    print("\n".join(lines[-5:]))
    if not names:
        (HERE / "fills.md").write_text("\n".join([*header(), *lines]) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, *sys.argv[2:])
