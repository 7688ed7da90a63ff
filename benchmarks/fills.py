"""Filled cells: ours beside other imputers, on the same hidden cells, paired.

    OPENBLAS_NUM_THREADS=1 python benchmarks/fills.py [minutes]            writes benchmarks/fills.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/fills.py minutes table ...    these tables only, writes nothing

Each hiding hides seen cells of a table, by seeds apart from those that settings were tried on (oil, wine, ecoli and
glass served for that with other seeds; two of the hidings of oil at 30 % were looked at): 10 % or 30 % at random
(mcar), or 20 % not at random (mar): a quarter of the columns stay, and a cell of another column is hidden with a
probability that rises with one of these, by a logistic curve of slope 1 a standard deviation. Every method sees the
same table, its columns in units of their spread; columns of numbers only (labels, answers and levels: mixed.md).
Hidings go round by round over all tables
until the minutes are over, so their number differs: it stands in each line.

straight: `fill(engines="straight")`, what `fill` did before it had other engines. ridge: scikit-learn's
IterativeImputer as it comes. trees: IterativeImputer with 30 extremely randomised trees a column, 3 rounds from the
column means: what missForest does, with these trees instead of random forests. knn: KNNImputer as it comes. R's mice
and missMDA were not run: R is not on this machine.

RMSE: of the hidden cells, in units of each column's spread, over all hidings. The difference is our mean squared error
less that of the best of the others, paired by hiding, +- its standard error over hidings; these share the table's
cells, so it says nothing of other tables. Held: hidden cells inside our 90 % intervals. Energy: the energy score of the
hidden cells of a row, less is better; ours and straight from 5 calibrated draws, ridge from 5 runs with
sample_posterior=True, that of trees and knn, which give one value and no law, is their distance. Seconds: CPU, means.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from importlib.metadata import version
from itertools import combinations, count
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from lowdim import __version__
from lowdim.judge.fills.fills import fill

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("LOWDIM_DATA", HERE / "../../shared/data"))
TABLES: dict[str, tuple[str, tuple[str, ...] | None, int]] = {  # file, columns left out (None: no header), first rows
    "oil": ("oil_flow/oil_flow.csv", ("split", "label", "frac1", "frac2"), 500),
    "ecoli": ("uci/ecoli.csv", ("site", "chg"), 400),
    "glass": ("uci/glass.csv", ("type",), 400),
    "airquality": ("missing_small/airquality.csv", (), 400),
    "sleep": ("missing_small/sleep.csv", (), 400),
    "ozone_rennes": ("missmda/ozone_rennes.csv", ("date", "vent", "pluie"), 400),
    "digester": ("digester/kamyr.csv", None, 400),
    "ozone_la": ("missing_small/ozone_la.csv", (), 400),
    "biopsy": ("real_tables/biopsy.csv", ("rownames", "ID", "class"), 300),
    "bfi": ("real_tables/bfi.csv", ("rownames", "gender", "education", "age"), 250),
    "penguins": ("real_tables/penguins.csv", (), 400),
    "swiss": ("real_tables/swiss.csv", (), 400),
    "mtcars": ("real_tables/mtcars.csv", (), 400),
}
LOADED: dict[str, Callable[[], object]] = {
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
    "diabetes": datasets.load_diabetes,
}
LOADED_ROWS = 300
PATTERNS = ("mcar 10 %", "mcar 30 %", "mar 20 %")
EACH_ROUND = {"oil": 2}  # hidings a round, where more than one
DRAWS = 5
PEERS = ("straight", "ridge", "trees", "knn")


def number(text: str) -> float:
    """A cell as a number; anything else is a gap."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def table(name: str) -> np.ndarray:
    """The columns of numbers that vary, and the rows with any."""
    if name in LOADED:
        X = np.asarray(LOADED[name]().data, dtype=float)[:LOADED_ROWS]  # type: ignore[attr-defined]
    else:
        path, drop, most = TABLES[name]
        with (DATA / path).open() as file:
            rows = list(csv.reader(file))
        head = [""] * len(rows[0]) if drop is None else rows.pop(0)
        keep = [j for j, word in enumerate(head) if word not in (drop or ())]
        X = np.array([[number(row[j]) for j in keep] for row in rows[:most]])
    seen = ~np.isnan(X)
    X = X[:, seen.sum(axis=0) > len(X) / 3]
    return X[(~np.isnan(X)).any(axis=1)][:, np.nanstd(X, axis=0) > 0]


def hide(X: np.ndarray, pattern: str, hiding: int) -> np.ndarray:
    """True at the cells that this hiding hides; a column keeps five at least."""
    rng = np.random.default_rng([1000 + hiding, 79, PATTERNS.index(pattern)])
    kind, share = pattern.split()[0], float(pattern.split()[1]) / 100
    (n, d), seen = X.shape, ~np.isnan(X)
    chance = np.full((n, d), share)
    if kind == "mar":
        z = np.where(seen, (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0), 0.0)
        order = rng.permutation(d)
        stay, lose = order[: max(1, d // 4)], order[max(1, d // 4) :]
        chance[:, stay] = 0.0
        for k, j in enumerate(lose):
            p = 1.0 / (1.0 + np.exp(-z[:, stay[k % len(stay)]]))
            chance[:, j] = share * d / len(lose) * p / p.mean()
    hidden = seen & (rng.random(X.shape) < chance)
    left = np.where(hidden, np.nan, X)
    varies = np.array([len(np.unique(column[~np.isnan(column)])) > 1 for column in left.T])
    return hidden & ((seen & ~hidden).sum(axis=0) >= 5) & varies


def energy(drawn: np.ndarray, truth: np.ndarray, hidden: np.ndarray) -> float:
    """The mean energy score of the hidden cells of a row, from draws (m x n x d)."""
    rows = hidden.any(axis=1)

    def lengths(step: np.ndarray) -> np.ndarray:
        return np.sqrt((np.where(hidden, step, 0.0) ** 2).sum(axis=1))[rows]

    near = np.mean([lengths(one - truth) for one in drawn], axis=0)
    pairs = list(combinations(range(len(drawn)), 2))
    apart = np.mean([lengths(drawn[k] - drawn[m]) for k, m in pairs], axis=0) if pairs else 0.0
    return float(np.mean(near - 0.5 * apart))


def chained(**options: object) -> IterativeImputer:
    return IterativeImputer(random_state=0, keep_empty_features=True, **options)


def tried(name: str, pattern: str, hiding: int) -> dict[str, object]:
    """One hiding filled by every method: errors, energy scores, seconds, and what our intervals held."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    X = table(name)
    hidden = hide(X, pattern, hiding)
    less = np.where(hidden, np.nan, X)
    mean, sd = np.nanmean(less, axis=0), np.nanstd(less, axis=0)
    Z, T = (less - mean) / sd, (X - mean) / sd
    found: dict[str, object] = {"table": name, "pattern": pattern, "hiding": hiding, "shape": X.shape}
    error, score, seconds = {}, {}, {}

    def entered(method: str, make: Callable[[], tuple[np.ndarray, np.ndarray]]) -> None:
        start = time.process_time()
        filled, drawn = make()
        seconds[method] = time.process_time() - start
        error[method] = float(((filled - T)[hidden] ** 2).mean())
        score[method] = energy(drawn, T, hidden)

    def ours(engines: str) -> tuple[np.ndarray, np.ndarray]:
        made = fill(Z, engines=engines)
        if engines == "all":
            found["engine"] = made.engine
            found["held"] = int((hidden & (made.lower <= T) & (made.upper >= T)).sum())
            found["cells"] = int(hidden.sum())
        return made.filled, made.multiple(DRAWS)

    def ridge() -> tuple[np.ndarray, np.ndarray]:
        drawn = [
            IterativeImputer(random_state=k, sample_posterior=True, max_iter=5, keep_empty_features=True)
            for k in range(DRAWS)
        ]
        return chained().fit_transform(Z), np.stack([one.fit_transform(Z) for one in drawn])

    def point(filled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return filled, filled[None]

    forest = ExtraTreesRegressor(30, random_state=0)
    entered("lowdim", lambda: ours("all"))
    entered("straight", lambda: ours("straight"))
    entered("ridge", ridge)
    entered("trees", lambda: point(chained(estimator=forest, max_iter=3, tol=1e-2).fit_transform(Z)))
    entered("knn", lambda: point(KNNImputer(keep_empty_features=True).fit_transform(Z)))
    return found | {"error": error, "energy": score, "seconds": seconds}


def tasks(names: list[str]) -> Iterator[tuple[str, str, int]]:
    """Hidings round by round, without end."""
    for turn in count():
        for pattern in PATTERNS:
            for name in names:
                many = EACH_ROUND.get(name, 1)
                yield from ((name, pattern, turn * many + k) for k in range(many))


def measured(minutes: float, names: list[str]) -> list[dict[str, object]]:
    """Every hiding that was filled before the time was over, in two processes."""
    end, found = time.monotonic() + 60 * minutes, []
    waiting: set[Future[dict[str, object]]] = set()
    more = tasks(names)
    with ProcessPoolExecutor(2) as pool:
        while True:
            while len(waiting) < 2 and time.monotonic() < end:
                waiting.add(pool.submit(tried, *next(more)))
            if not waiting:
                return found
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for job in done:
                found.append(job.result())
                print(json.dumps(found[-1]), flush=True)


# the tables ---------------------------------------------------------------------------------------------
def compared(ours: np.ndarray, peer: np.ndarray) -> tuple[float, float]:
    """The paired difference and its standard error."""
    diff = ours - peer
    return float(diff.mean()), float(diff.std(ddof=1)) / len(diff) ** 0.5 if len(diff) > 1 else float("nan")


def lines_of(found: list[dict]) -> tuple[list[str], list[str], dict[str, list[bool]]]:
    """A line a table and pattern on errors, one on laws and seconds, and the verdicts."""
    errors, laws, verdicts = [], [], {"best": [], "no worse than straight": []}
    keys = dict.fromkeys((one["table"], one["pattern"]) for one in found)
    for name, pattern in sorted(keys, key=lambda key: ([*TABLES, *LOADED].index(key[0]), PATTERNS.index(key[1]))):
        own = [one for one in found if (one["table"], one["pattern"]) == (name, pattern)]
        n, d = own[0]["shape"]
        square = {m: np.array([one["error"][m] for one in own]) for m in ("lowdim", *PEERS)}
        best = min(PEERS, key=lambda m: square[m].mean())
        gap, off = compared(square["lowdim"], square[best])
        past, past_off = compared(square["lowdim"], square["straight"])
        if len(own) > 1:
            verdicts["best"].append(gap <= off)
            verdicts["no worse than straight"].append(past <= past_off)
        engines = [one["engine"] for one in own]
        chosen = ", ".join(f"{engine} {engines.count(engine)}" for engine in dict.fromkeys(engines))
        held = 100 * sum(one["held"] for one in own) / sum(one["cells"] for one in own)
        cells = [f"{square[m].mean() ** 0.5:.3f}" for m in ("lowdim", *PEERS)]
        head = [name, f"{n} x {d}", pattern, str(len(own))]
        versus = f"{best}: {gap:+.4f}" + (f" +- {off:.4f}" if len(own) > 1 else "")
        errors.append("| " + " | ".join([*head, *cells, versus, f"{held:.1f} %", chosen]) + " |")
        score = [f"{np.mean([one['energy'][m] for one in own]):.3f}" for m in ("lowdim", *PEERS)]
        spent = [f"{np.mean([one['seconds'][m] for one in own]):.1f}" for m in ("lowdim", *PEERS)]
        laws.append("| " + " | ".join([*head[:1], *head[2:], *score, *spent]) + " |")
    return errors, laws, verdicts


def heading(words: list[str]) -> list[str]:
    return ["| " + " | ".join(words) + " |", "| " + " | ".join("---" for _ in words) + " |"]


def page(found: list[dict], minutes: float) -> str:
    errors, laws, verdicts = lines_of(found)
    held = 100 * sum(one["held"] for one in found) / sum(one["cells"] for one in found)
    methods = ["lowdim", *PEERS]
    return "\n".join(
        [
            "# Fills beside other imputers",
            "",
            str(__doc__).split("\n\n", 2)[2].strip(),
            "",
            *heading(
                ["table", "size", "hidden", "hidings"]
                + [f"RMSE {m}" for m in methods]
                + ["ours less the best other's", "90 % intervals held", "engine chosen, hidings"]
            ),
            *errors,
            "",
            f"Best, or within one paired standard error of the best other: {sum(verdicts['best'])} of "
            f"{len(verdicts['best'])} lines with two hidings or more. Not worse than the straight model by one: "
            f"{sum(verdicts['no worse than straight'])} of {len(verdicts['no worse than straight'])}. "
            f"Intervals held {held:.1f} % of all hidden cells.",
            "",
            *heading(["table", "hidden", "hidings", *(f"energy {m}" for m in methods), *(f"s {m}" for m in methods)]),
            *laws,
            "",
            f"Made by `python benchmarks/fills.py {minutes:g}` on a busy machine of two cores: lowdim {__version__}, "
            f"scikit-learn {version('scikit-learn')}, numpy {np.__version__}, Python {platform.python_version()}.",
            "",
        ]
    )


def main(minutes: float, *names: str) -> None:
    text = page(measured(minutes, list(names or (*TABLES, *LOADED))), minutes)
    print(text)
    if not names:
        (HERE / "fills.md").write_text(text)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, *sys.argv[2:])
