"""What share of hidden cells the 90 % intervals of every model that fills hold, on real tables.

python benchmarks/intervals.py [models]      # measures these, or all; then writes benchmarks/intervals.md

What was measured is kept in build/intervals.json, so models can be measured in several runs.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from clock import machine, table

DATA = Path(os.environ.get("LOWDIM_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
KEPT = Path(__file__).resolve().parents[1] / "build" / "intervals.json"
LEVEL_WIDTH = 1.6449  # standard deviations of a 90 % interval
HIDDEN, SEEDS = 0.1, 3
Q, K = 2, 3  # dimensions and clusters of every model
LEAST, MOST = 0.87, 0.93
OIL_ROWS = 500
HEAD = """# Intervals of fills

Of each table a tenth of the cells is hidden at random, {seeds} times; each model is fitted to the rest, in units of
the columns' spreads, with {q} dimensions or {k} clusters and otherwise its defaults, and `impute(X, return_std=True)`
fills. The share of hidden cells within 1.645 standard deviations of their fill, all {seeds} hidings together: 90 % is
claimed, {least:.0%} to {most:.0%} asked. On the 183 cells of iris chance alone moves a share by 2.2 %, on the 1,758 of
oil by 0.7 %.

*error*: root mean square error of the fills in spreads, over all tables. A wide interval holds as well as a true one,
so the last column has the root mean square of the standard deviations over that error; near 1 is honest.

"""
NOTES = """Outside what is asked:

- PCA on iris, by a standard error. It places a row by least squares on its seen cells, with no noise to hold the place
  back: where it sees two cells of a row of iris, its error is 20 spreads (that of probabilistic PCA is 0.45), and its
  intervals are as wide. One such row is most of its error and of dual PPCA's.
- Nonlinear factor analysis on iris: its factor is found on 54 cells held back.
- Gaussian mixtures and the GP-LVM hold too many cells of wine. Why was not looked into.
- Single shares of 86 to 87 % (ecoli for six models, iris and glass for others) are within a standard error of 87 %.

The rows were measured in several runs; those of PCA, dual PPCA, K-means and nonlinear factor analysis after the others.
A model that fills and is missing here was not measured.
"""


def columns_of(path: Path, leave: tuple[str, ...]) -> np.ndarray:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    keep = [name for name in rows[0] if name not in leave and _is_number(rows[0][name])]
    return np.array([[float(row[name]) for name in keep] for row in rows])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def tables() -> dict[str, np.ndarray]:
    from sklearn.datasets import load_iris, load_wine

    oil = np.genfromtxt(DATA / "oil_flow" / "oil_flow.csv", delimiter=",", skip_header=1)[:OIL_ROWS, 1:13]
    found = {
        "oil": oil,
        "wine": load_wine().data,
        "iris": load_iris().data,
        "ecoli": columns_of(DATA / "uci" / "ecoli.csv", ("site", "lip", "chg")),
        "glass": columns_of(DATA / "uci" / "glass.csv", ("type", "id")),
    }
    return {name: (X - X.mean(axis=0)) / X.std(axis=0) for name, X in found.items()}


def hidings(X: np.ndarray) -> list[np.ndarray]:
    """Which cells are hidden; each row and column keeps one."""
    masks = []
    for seed in range(SEEDS):
        hidden = np.random.default_rng([7, seed]).random(X.shape) < HIDDEN
        hidden[hidden.all(axis=1), 0] = False
        masks.append(hidden)
    return masks


def models() -> dict[str, str]:
    """Short names and titles of what fills numbers and says how surely."""
    from lowdim.registry import METHODS

    lacking = {"fills", "uncertainty"}
    able = {n: e for n, e in METHODS.items() if e.public and not (lacking & set(e.lacks_abilities) or e.asks)}
    return {n: e.title for n, e in able.items() if not e.kinds and not e.own_units}


def held(name: str, X: np.ndarray) -> np.ndarray:
    """Hidden cells, those inside, summed squares of errors and of standard deviations."""
    from lowdim.registry import METHODS

    total = np.zeros(4)
    for hidden in hidings(X):
        Y = np.where(hidden, np.nan, X)
        q = min(Q, 1) if METHODS[name].factors and X.shape[1] < 5 else Q
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            filled, sd = METHODS[name].make(q, K, 0).fit(Y).impute(Y, return_std=True)
        off, s = (filled - X)[hidden], sd[hidden]
        total += (hidden.sum(), (np.abs(off) <= LEVEL_WIDTH * s).sum(), (off**2).sum(), (s**2).sum())
    return total


def row_of(name: str, title: str, found: dict[str, np.ndarray]) -> list[str]:
    parts = [held(name, X) for X in found.values()]
    every = np.sum(parts, axis=0)
    shares = [f"{p[1] / p[0]:.1%}" for p in (*parts, every)]
    return [title, *shares, f"{np.sqrt(every[2] / every[0]):.3f}", f"{np.sqrt(every[3] / every[2]):.2f}"]


def main(names: list[str]) -> None:
    found = tables()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name, title in models().items():
        if not names or name in names:
            kept[name] = row_of(name, title, found)
            print(name, *kept[name], flush=True)
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept))
    counts = [int(sum(h.sum() for h in hidings(X))) for X in found.values()]
    rows = [["hidden cells", *map(str, (*counts, sum(counts))), "", ""], *(kept[n] for n in models() if n in kept)]
    text = HEAD.format(seeds=SEEDS, q=Q, k=K, least=LEAST, most=MOST)
    text += table(("model", *found, "all", "error", "sd over error"), [tuple(row) for row in rows])
    where = machine("python benchmarks/intervals.py", ("scikit-learn",))
    (Path(__file__).parent / "intervals.md").write_text(f"{text}\n\n{NOTES}\n{where}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
