"""Filled cells: ours beside other imputers, on the same hidden cells, paired.

    OPENBLAS_NUM_THREADS=1 python benchmarks/fills.py run RESULTS MINUTES [TABLE ...]     adds lines to a file
    (OTHERS=EARLIER_RESULTS: what other methods did on the same hidings is taken from there)
    MICEFOREST_PYTHON=PYTHON python benchmarks/fills.py peers RESULTS MINUTES [TABLE ...] adds slow methods to these
    python benchmarks/fills.py ours RESULTS MINUTES NAME HIDINGS PATTERNS [TABLE ...]     adds ours alone, as NAME:
        lowdim, or contest where PYTHONPATH leads to that version; HIDINGS "3-5", PATTERNS "mcar 30 %, mar 20 %"
    python benchmarks/fills.py page RESULTS                       writes the lines of benchmarks/fills.md that it has

Each hiding hides seen cells of a table, by seeds apart from those that settings were tried on (oil, ecoli, glass,
swiss, wine, iris, penguins, diabetes, sleep, mtcars, airquality and ozone_la served for that with other seeds, beside
six tables that are not here): 10 % or 30 % at random (mcar), or 20 % not at random (mar): a quarter of the columns
stay, and a cell of another column is hidden with a probability that rises with one of these, by a logistic curve of
slope 1 a standard deviation. Every method sees the same table. How many hidings there are stands in each line, and in
brackets where a method has fewer: its mean is then of other cells than ours, but differences are of the same.

straight: `fill(engines="straight")`, our linear model alone. ridge: scikit-learn's IterativeImputer as it comes. trees:
IterativeImputer with 30 extremely randomised trees a column, 3 rounds from the column means: what missForest does, with
these trees instead of random forests. knn: KNNImputer as it comes. Slow ones, each in a process of its own: R's mice
3.15 (5 rounds; predictive mean matching of numbers, logistic regressions of labels; the mean of 5 imputations, of mixed
tables 10), R's pcaMethods 1.90 (`pca(method = "bpca")`), miceforest 6.0.5 with lightgbm 4.5 (5 imputations in 5 rounds;
one to three hidings of 10 % at random). On bfi, biopsy and colic mice takes minutes a hiding and was not run. missMDA
is not among Debian's packages (FactoMineR is), CRAN was not reached; its method stands in its place on mixed tables.

Tables of numbers: columns in units of their spread. RMSE: of the hidden cells, over all hidings. The difference is our
mean squared error less that of the best other, paired by hiding, ± its standard error over hidings; these share the
table's cells, so it says nothing of other tables. The best other is the one with the largest such difference among
those with three hidings or more; to be the best of seven is in part luck, which the error does not count. Held: hidden
cells inside our 90 % intervals. Energy: the energy score of the hidden cells of a row, less is better; ours and
straight from 5 calibrated draws, ridge from 5 runs with sample_posterior=True, mice and miceforest from their 5
imputations; of those that give one value and no law it is their distance. Seconds: CPU, means; those of R include its
start.

What another method did on a hiding may be taken from an earlier run: it has not changed since.

Mixed tables: `fill(frame)` finds kinds by itself, labels given as text; the others see zeros and ones, one column for
each label but the last, and their fills, clipped to 0.01 and normalised, are their probabilities; mice sees factors.
RMSE is that of fills with their decimals, whoever made them: of `fill`, which writes whole levels and counts, before
they are rounded, of mice the means of its imputations. "The same, rounded" is of the columns of whole numbers alone,
every fill moved to the nearest number that the column has. famd: regularised iterative FAMD with its number of axes by
hidden cells, what missMDA's imputeFAMD and imputeMCA do, by its published description (benchmarks/famd.py). Every
hiding of the mixed tables is in `benchmarks/fills.jsonl`; those of the tables of numbers are of an earlier run and were
not kept.

Choices were made on some of these tables with other seeds: rows that agree, and what the model counts beside them, on
TitanicNA, biopsy, vnf and votes; that a column goes to its model wherever hidden cells speak for it on votes and
snorena. The prior of the weights was chosen on simulated tables.

Wrong fills beside log loss: where cells are all but a coin's throw, a wrong fill says little. Regressions with a weight
(0, 1/2, 1) chosen for each column by hidden cells were tried on six hidings and not taken: votes' log loss +0.0017 ±
0.0011 and wrong -0.0016 ± 0.0015, TitanicNA and snorena alike; nor a say of 0.35, 0.65, 0.8 or 1 in place of 1/2 (log
loss of vnf, votes, titanic, colic and snorena less on at most two of the five each time).

"contest" is an earlier version of ours (commit bc233a3), which chose one engine or a blend by a contest where a stack
fills now. The first part below has the two on the same hidings, on none of which a setting was chosen. Of bfi, biopsy
and colic, and of the fourth hiding of the other mixed tables but snorena, ours is of code some hours older, which had a
stack also where the linear model alone does as well on hidden cells. Of 15 hidings of swiss, airquality, mtcars, sleep,
ozone_rennes, diabetes and snorena on which the linear model is taken for that, the stack that was not taken had less
error in 11; in one of sleep it had 1.04 more, which is more than all it gains in these.

Choices of the stack (how far weights are drawn together, which numbers of groups, the least weight of an opinion) were
made on the first three hidings of 10 % at random. In squared errors, the stack's less the contest's, ± paired standard
error, it was there: iris -0.0053 ± 0.0009, wine -0.0077 ± 0.0043, oil -0.0088 ± 0.0056, glass -0.050 ± 0.039,
airquality -0.028 ± 0.017, mtcars -0.002 ± 0.007, swiss -0.10 ± 0.20, sleep +0.08 ± 0.09, penguins +0.0011 ± 0.0014,
titanic -0.010 ± 0.007; in log loss titanic -0.0003 ± 0.0000, TitanicNA 0.0000 ± 0.0008, votes 0.0000 ± 0.0009, penguins
+0.0002 ± 0.0037. The parts after the first, beside other methods, are of the contest's version.

snorena (100 rows, three yes/no columns) has more log loss than with the contest, by 1.4 errors, and fewer wrong labels,
by 1.6; on 36 hidings more, +0.0047 ± 0.0040 and -0.0078 ± 0.0045: weights of opinions from so few cells may follow
chance. Its squared error is more by 1.1 errors, without one of the 19 hidings by 0.004. vnf's wrong labels were no
chance: +0.0027 ± 0.0011 on 33 hidings more. The regressions were pooled with the smallest latent model alone, where the
contest had pooled them with the best. They are pooled with each of them since, which the figures below do not have: on
hidings of their own log loss is -0.0031 ± 0.0006 and wrong -0.0037 ± 0.0009 in vnf (6 hidings), -0.011 ± 0.004 and
-0.011 ± 0.006 in penguins (3), the same in TitanicNA (3), -0.0009 ± 0.0009 and +0.0019 ± 0.0019 in titanic (2).
titanic's numbers are filled best with decimals and second to trees when rounded; why was not studied.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import mixed
import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from lowdim import __version__, fill

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("LOWDIM_DATA", HERE / "../../shared/data"))
OTHERS = os.environ.get("OTHERS", "")  # earlier results
MICEFOREST = os.environ.get("MICEFOREST_PYTHON", "")  # a Python that has it
TABLES: dict[str, tuple[str, tuple[str, ...] | None, int]] = {  # file, columns left out (None: no header), first rows
    "oil": ("oil_flow/oil_flow.csv", ("split", "label", "frac1", "frac2"), 500),
    "ecoli": ("uci/ecoli.csv", ("site", "chg"), 400),
    "glass": ("uci/glass.csv", ("type",), 400),
    "airquality": ("missing_small/airquality.csv", (), 400),
    "sleep": ("missing_small/sleep.csv", (), 400),
    "ozone_rennes": ("missmda/ozone_rennes.csv", ("date", "vent", "pluie"), 400),
    "digester": ("digester/kamyr.csv", None, 400),
    "ozone_la": ("missing_small/ozone_la.csv", (), 400),
    "swiss": ("real_tables/swiss.csv", (), 400),
    "mtcars": ("real_tables/mtcars.csv", (), 400),
}
LOADED: dict[str, Callable[[], object]] = {
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
    "diabetes": datasets.load_diabetes,
}
LOADED_ROWS = 300
MIXED = ("votes", "vnf", "bfi", "biopsy", "titanic", "TitanicNA", "penguins", "snorena", "colic")
LONG_MICE = ("bfi", "biopsy", "colic")  # tables on which mice takes minutes
PATTERNS = ("mcar 10 %", "mcar 30 %", "mar 20 %")
OURS = ("lowdim", "contest", "straight")
DRAWS = 5
HIDINGS, FOREST_HIDINGS = 10, 3  # of each table and pattern; miceforest has fewer, of the first pattern only
COMPARED_HIDINGS = 3  # that another method must have to be compared in a line
QUICK, SLOW = ("straight", "ridge", "trees", "knn"), ("mice", "bpca", "miceforest")
MIXED_QUICK, MIXED_SLOW = ("ridge", "trees", "knn", "famd"), ("mice",)


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


# the methods on tables of numbers -------------------------------------------------------------------------
Made = tuple[np.ndarray, np.ndarray]  # filled, draws


def chained(**options: object) -> IterativeImputer:
    return IterativeImputer(random_state=0, keep_empty_features=True, **options)


def with_trees() -> IterativeImputer:
    return chained(estimator=ExtraTreesRegressor(30, random_state=0), max_iter=3, tol=1e-2)


def ridge(Z: np.ndarray) -> Made:
    drawn = [
        IterativeImputer(random_state=k, sample_posterior=True, max_iter=5, keep_empty_features=True)
        for k in range(DRAWS)
    ]
    return chained().fit_transform(Z), np.stack([one.fit_transform(Z) for one in drawn])


def point(filled: np.ndarray) -> Made:
    return filled, filled[None]


OTHER = {
    "mice": """
library(mice)
imp <- suppressWarnings(mice(X, m = 5, maxit = 5, method = "pmm", printFlag = FALSE, seed = 1))
for (k in 1:5) write.csv(complete(imp, k), paste0(out, k, ".csv"), row.names = FALSE)
""",
    "bpca": """
suppressMessages(library(pcaMethods))
found <- pca(as.matrix(X), method = "bpca", nPcs = min(ncol(X) - 1, 8), scale = "none", center = FALSE, verbose = FALSE)
write.csv(completeObs(found), paste0(out, 1, ".csv"), row.names = FALSE)
""",
    "miceforest": """
import sys, numpy as np, pandas as pd, miceforest as mf
X = pd.read_csv(sys.argv[1])
kernel = mf.ImputationKernel(X, num_datasets=5, random_state=1)
kernel.mice(5, verbose=False, num_threads=1)
for k in range(5): kernel.complete_data(k).to_csv(f"{sys.argv[2]}{k + 1}.csv", index=False)
""",
}


def elsewhere(method: str, Z: np.ndarray) -> Made:
    """A method of another program: the mean of what it writes, and that as draws."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"c{j + 1}" for j in range(Z.shape[1])]
        pd.DataFrame(Z, columns=names).to_csv(f"{folder}/t.csv", index=False)
        if method == "miceforest":
            words = [MICEFOREST, "-c", OTHER[method], f"{folder}/t.csv", f"{folder}/o"]
        else:
            start = f'X <- read.csv("{folder}/t.csv"); out <- "{folder}/o"\n'
            words = ["Rscript", "-e", start + OTHER[method]]
        subprocess.run(words, check=True, capture_output=True, timeout=240)
        files = sorted(Path(folder).glob("o*.csv"))
        drawn = np.stack([pd.read_csv(file).to_numpy(float) for file in files])
    drawn = np.where(np.isnan(drawn), 0.0, drawn)  # mice leaves a gap that it cannot fill: the mean
    return drawn.mean(axis=0), drawn


def known(name: str, pattern: str, hiding: int, scores: tuple[str, ...]) -> dict:
    """What earlier results say of other methods on this hiding, by score."""
    for one in results(OTHERS) if OTHERS else []:
        if (one["table"], one["pattern"], one["hiding"]) == (name, pattern, hiding):
            return {score: {m: value for m, value in one.get(score, {}).items() if m not in OURS} for score in scores}
    return {score: {} for score in scores}


def hidden_table(name: str, pattern: str, hiding: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The hidden cells, the table without them, and with them, in units of the columns' spread."""
    X = table(name)
    hidden = hide(X, pattern, hiding)
    less = np.where(hidden, np.nan, X)
    mean, sd = np.nanmean(less, axis=0), np.nanstd(less, axis=0)
    return hidden, (less - mean) / sd, (X - mean) / sd


def tried(name: str, pattern: str, hiding: int, alone: str = "") -> dict:
    """One hiding filled by every quick method: errors, energy scores, seconds, and what our intervals held.

    Or by ours alone, under a name.
    """
    hidden, Z, T = hidden_table(name, pattern, hiding)
    found: dict = {"table": name, "pattern": pattern, "hiding": hiding, "shape": Z.shape}
    found |= known(name, pattern, hiding, ("error", "energy", "seconds", "failed"))

    def ours(engines: str) -> Made:
        made = fill(Z, engines=engines)
        if engines == "all" and alone != "contest":
            found["engine"] = made.engine
            found["held"] = int((hidden & (made.lower <= T) & (made.upper >= T)).sum())
            found["cells"] = int(hidden.sum())
        return made.filled, made.multiple(DRAWS)

    methods: dict[str, Callable[[], Made]] = {
        "lowdim": lambda: ours("all"),
        "straight": lambda: ours("straight"),
        "ridge": lambda: ridge(Z),
        "trees": lambda: point(with_trees().fit_transform(Z)),
        "knn": lambda: point(KNNImputer(keep_empty_features=True).fit_transform(Z)),
    }
    return scored(found, {alone: methods["lowdim"]} if alone else methods, T, hidden)


def tried_slow(name: str, pattern: str, hiding: int, method: str) -> dict:
    """One hiding filled by a method of another program."""
    hidden, Z, T = hidden_table(name, pattern, hiding)
    found: dict = {"table": name, "pattern": pattern, "hiding": hiding, "shape": Z.shape}
    found |= {score: {} for score in ("error", "energy", "seconds", "failed")}
    return scored(found, {method: lambda: elsewhere(method, Z)}, T, hidden)


def scored(found: dict, methods: dict[str, Callable[[], Made]], T: np.ndarray, hidden: np.ndarray) -> dict:
    """What is found already, and what the other methods do."""
    for method, make in methods.items():
        if method in found["error"] or method in found["failed"]:
            continue
        start = mixed.cpu()
        try:
            filled, drawn = make()
        except (subprocess.SubprocessError, OSError) as problem:
            found["failed"][method] = type(problem).__name__
            continue
        found["seconds"][method] = mixed.cpu() - start
        found["error"][method] = float(((filled - T)[hidden] ** 2).mean())
        found["energy"][method] = energy(drawn, T, hidden)
    return found


# the methods on mixed tables ------------------------------------------------------------------------------
Answers = dict[str, Callable[[pd.DataFrame, dict[str, str]], tuple]]
QUICK_ANSWERS: Answers = {
    "lowdim": mixed.filled,
    "ridge": lambda t, k: mixed.of_codes(t, k, scaled(chained())),
    "trees": lambda t, k: mixed.of_codes(t, k, scaled(with_trees())),
    "knn": lambda t, k: mixed.of_codes(t, k, scaled(KNNImputer(keep_empty_features=True))),
    "famd": mixed.by_famd,
}
SLOW_ANSWERS: Answers = {"mice": lambda t, k: mixed.by_mice(t, k, np.mean)}
MIXED_SCORES = {"log loss": "log loss", "wrong": "wrong", "error": "RMSE / spread", "whole": "the same, rounded"}


def tried_mixed(name: str, pattern: str, hiding: int, answers: Answers = QUICK_ANSWERS) -> dict:
    """One hiding of a mixed table: log loss and wrong fills of labels, squared errors of numbers."""
    frame, kinds, _ = mixed.read(name)
    frame = frame[list(kinds)]
    ranks = frame.apply(
        lambda c: c if pd.api.types.is_numeric_dtype(c) else c.astype("category").cat.codes.where(c.notna())
    )
    hidden = pd.DataFrame(hide(ranks.to_numpy(float), pattern, hiding), columns=list(frame))
    less = frame.mask(hidden)
    found: dict = {"table": name, "pattern": pattern, "hiding": hiding, "shape": frame.shape}
    found |= known(name, pattern, hiding, (*MIXED_SCORES, "seconds", "failed"))
    for method, answer in answers.items():
        if method in found["seconds"] or method in found["failed"]:
            continue
        start = mixed.cpu()
        try:
            shares, levels, values, _ = answer(less, kinds)
        except subprocess.SubprocessError as problem:
            found["failed"][method] = type(problem).__name__
            continue
        found["seconds"][method] = mixed.cpu() - start
        for score, loss in mixed_scores(frame, hidden, kinds, shares, levels, values).items():
            found[score][method] = loss
    return found


def scaled(imputer: object) -> Callable[[np.ndarray], np.ndarray]:
    """An imputer of columns in units of their spread."""

    def filled(X: np.ndarray) -> np.ndarray:
        mean, sd = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        sd = np.where(sd > 0, sd, 1.0)
        return imputer.fit_transform((X - mean) / sd) * sd + mean  # type: ignore[attr-defined]

    return filled


def mixed_scores(frame, hidden, kinds, shares, levels, values) -> dict[str, float]:
    """Means over the hidden cells: log loss and wrong of labels and answers, squared errors of all else.

    Columns of whole numbers count once more with every fill moved to the nearest number that the column has.
    """
    parts: dict[str, list[np.ndarray]] = {score: [] for score in MIXED_SCORES}
    for name, kind in kinds.items():
        rows = np.flatnonzero(hidden[name])
        truth = frame[name].to_numpy()[rows]
        if kind in ("label", "yes/no"):
            p = shares[name][rows]
            own = np.array([p[i, levels[name].index(x)] if x in levels[name] else 0.0 for i, x in enumerate(truth)])
            parts["log loss"].append(-np.log(np.clip(own, mixed.LEAST, 1)))
            best = np.array([levels[name][k] for k in p.argmax(axis=1)], dtype=object)
            parts["wrong"].append((best != truth).astype(float))
        else:
            told, truth, seen = np.asarray(values[name])[rows].astype(float), truth.astype(float), frame[name].dropna()
            parts["error"].append(((told - truth) / seen.std()) ** 2)
            if (seen == seen.round()).all():
                near = nearest(told, np.unique(seen))
                parts["whole"].append(((near - truth) / seen.std()) ** 2)
    joined = {score: np.concatenate(cells) for score, cells in parts.items() if cells}
    return {score: float(cells.mean()) for score, cells in joined.items() if len(cells)}


def nearest(told: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The nearest of a column's own values."""
    return own[np.searchsorted((own[1:] + own[:-1]) / 2, told)]


# running ----------------------------------------------------------------------------------------------------
def tasks(names: list[str]) -> Iterator[tuple[str, str, int]]:
    """Hidings round by round."""
    for turn in range(HIDINGS):
        yield from ((name, pattern, turn) for pattern in PATTERNS for name in names)


def run(path: str, minutes: float, *names: str) -> None:
    """Every hiding that is not in the file yet, until the time is over."""
    warnings.simplefilter("ignore")
    end, chosen = time.monotonic() + 60 * minutes, list(names or (*TABLES, *LOADED, *MIXED))
    done = {key(one) for one in results(path) if "lowdim" in one["seconds"]}
    for task in tasks(chosen):
        if time.monotonic() > end:
            return
        if task not in done:
            add(path, (tried_mixed if task[0] in MIXED else tried)(*task))


def ours(path: str, minutes: float, called: str, hidings: str, patterns: str, *names: str) -> None:
    """Ours alone on these hidings, for a comparison of two versions of it."""
    warnings.simplefilter("ignore")
    end, (first, last) = time.monotonic() + 60 * minutes, map(int, hidings.split("-"))
    done = {key(one) for one in results(path) if called in one["seconds"]}
    for hiding in range(first, last + 1):
        for pattern in patterns.split(", "):
            for name in names or (*TABLES, *LOADED, *MIXED):
                if time.monotonic() > end:
                    return
                if (name, pattern, hiding) in done:
                    continue
                if name in MIXED:
                    add(path, tried_mixed(name, pattern, hiding, {called: mixed.filled}))
                else:
                    add(path, tried(name, pattern, hiding, called))


def peer_tasks(names: list[str]) -> Iterator[tuple[str, str, int, str]]:
    """Hidings of the slow peers, round by round, a pattern after the other."""
    for pattern in PATTERNS:
        for turn in range(HIDINGS):
            yield from ((name, pattern, turn, "mice") for name in names if name not in LONG_MICE)
            yield from ((name, pattern, turn, "bpca") for name in names if name not in MIXED)
            if pattern == PATTERNS[0] and turn < FOREST_HIDINGS:
                yield from ((name, pattern, turn, "miceforest") for name in names if name not in MIXED)


def peers(path: str, minutes: float, *names: str) -> None:
    """The slow peers that a file does not have yet, until the time is over: a line each, joined when they are read."""
    warnings.simplefilter("ignore")
    end, chosen = time.monotonic() + 60 * minutes, list(names or (*TABLES, *LOADED, *MIXED))
    done = {(*key(one), method) for one in results(path) for method in (*one["seconds"], *one["failed"])}
    for name, pattern, hiding, method in peer_tasks(chosen):
        if time.monotonic() > end:
            return
        if (name, pattern, hiding, method) in done or (method == "miceforest" and not MICEFOREST):
            continue
        if name in MIXED:
            add(path, tried_mixed(name, pattern, hiding, SLOW_ANSWERS))
        else:
            add(path, tried_slow(name, pattern, hiding, method))


def add(path: str, found: dict) -> None:
    with Path(path).open("a") as file:
        file.write(json.dumps(found) + "\n")


def key(one: dict) -> tuple[str, str, int]:
    return one["table"], one["pattern"], one["hiding"]


def results(path: str) -> list[dict]:
    """What a file says of each hiding, its lines joined."""
    found: dict[tuple[str, str, int], dict] = {}
    for text in Path(path).read_text().splitlines() if Path(path).exists() else []:
        one = json.loads(text)
        whole = found.setdefault(key(one), {})
        for name, value in one.items():
            whole[name] = whole.get(name, {}) | value if isinstance(value, dict) else value
    return list(found.values())


# the page ---------------------------------------------------------------------------------------------------
def line(words: list[str]) -> str:
    return "| " + " | ".join(words) + " |"


def heading(words: list[str]) -> list[str]:
    return [line(words), line(["---"] * len(words))]


class Versus(NamedTuple):
    """Another method, our score less its own on the hidings it has, the standard error of that, and their number."""

    method: str
    gap: float
    off: float
    hidings: int

    @property
    def near(self) -> bool:
        """Whether ours is better, or no more than one standard error worse."""
        return self.gap <= self.off * (1 + 1e-9)  # one hiding that differs makes them equal

    def words(self, hidings: int) -> str:
        off = f" ± {self.off:.4f}" if self.hidings > 1 else ""
        return f"{self.method}: {self.gap:+.4f}{off}" + f" ({self.hidings} hidings)" * (self.hidings < hidings)


def versus(own: list[dict], score: str, methods: tuple[str, ...]) -> Versus:
    """Of the methods with hidings enough the one before which ours is least ahead, or most behind."""
    pairs = {
        m: np.array([one[score]["lowdim"] - one[score][m] for one in own if m in one.get(score, {})]) for m in methods
    }
    enough = min(COMPARED_HIDINGS, max(map(len, pairs.values())))
    best = max((m for m in methods if len(pairs[m]) >= enough), key=lambda m: pairs[m].mean())
    diff = pairs[best]
    error = float(diff.std(ddof=1)) / len(diff) ** 0.5 if len(diff) > 1 else float("nan")
    return Versus(best, float(diff.mean()), error, len(diff))


def told(own: list[dict], score: str, method: str, root: bool = False) -> str:
    """A mean over the hidings that have it, with their number where not all do."""
    own = [one for one in own if one.get(score)]  # one of few labels may have hidden none
    found = [one[score][method] for one in own if method in one[score]]
    if not found:
        return "-"
    value = np.mean(found) ** 0.5 if root else np.mean(found)
    some = f" ({len(found)})" if len(found) < len(own) and score != "seconds" else ""
    return f"{value:.3f}{some}" if score != "seconds" else f"{value:.1f}"


def grouped(found: list[dict], names: tuple[str, ...]) -> Iterator[tuple[str, str, list[dict]]]:
    for name in names:
        for pattern in PATTERNS:
            own = [one for one in found if (one["table"], one["pattern"]) == (name, pattern)]
            if own:
                yield name, pattern, own


def number_lines(found: list[dict]) -> tuple[list[str], list[str], list[str]]:
    """A line a table and pattern on errors, one on laws and seconds, and the verdicts."""
    methods = ("lowdim", *QUICK, *SLOW)
    errors, laws, any_other, quick, straight, held, cells = [], [], [], [], [], 0, 0
    for name, pattern, own in grouped(found, (*TABLES, *LOADED)):
        n, d = own[0]["shape"]
        any_other.append(versus(own, "error", (*QUICK, *SLOW)))
        quick.append(versus(own, "error", QUICK))
        straight.append(versus(own, "error", ("straight",)))
        held, cells = held + sum(one["held"] for one in own), cells + sum(one["cells"] for one in own)
        inside = f"{100 * sum(one['held'] for one in own) / sum(one['cells'] for one in own):.1f} %"
        engines = [one["engine"] for one in own]
        chosen = ", ".join(f"{engine} {engines.count(engine)}" for engine in dict.fromkeys(engines))
        head = [name, f"{n} x {d}", pattern, str(len(own))]
        rmse = [told(own, "error", m, root=True) for m in methods]
        errors.append(line([*head, *rmse, any_other[-1].words(len(own)), inside, chosen]))
        rest = [told(own, score, m) for score in ("energy", "seconds") for m in methods]
        laws.append(line([name, pattern, str(len(own)), *rest]))
    words = [f"Intervals held {100 * held / max(cells, 1):.1f} % of {cells:,} hidden cells."]
    for told_of, compared in (("all others", any_other), ("the quick others", quick), ("the straight model", straight)):
        words.append(
            f"Beside {told_of}: ours has the least error, or shares it, in {sum(v.gap <= 0 for v in compared)} of "
            f"{len(compared)} lines, and in {sum(v.near for v in compared)} it is that or within one paired standard "
            f"error of the best."
        )
    return errors, laws, words


def by_table(found: list[dict], names: tuple[str, ...], scores: tuple[str, ...], others: tuple[str, ...]) -> str:
    """Which tables, all their hidings together, are best or within one paired error of the best other."""
    near, behind = [], []
    for name in names:
        own = [one for one in found if one["table"] == name]
        if len(own) < 2:
            continue
        each = {score: versus(own, score, others) for score in scores if any(one[score] for one in own)}
        far = [
            f"{name}{' ' + score if len(scores) > 1 else ''} ({v.words(len(own))})"
            for score, v in each.items()
            if not v.near
        ]
        near.append(not far)
        behind += far
    words = f"{sum(near)} of {len(near)} tables"
    return words + (f" (not so: {', '.join(behind)})" if behind else "")


def table_verdict(found: list[dict], names: tuple[str, ...], scores: tuple[str, ...], quick: tuple, slow: tuple) -> str:
    return (
        "By table, all its hidings kept here together: best, or within one paired standard error of the best other, on "
        f"{by_table(found, names, scores, (*quick, *slow))}; of the quick others, on "
        f"{by_table(found, names, scores, quick)}."
    )


def mixed_lines(found: list[dict]) -> list[str]:
    """The lines of the mixed tables, and how many are near the best, or behind by two errors."""
    lines, each = [], {score: [] for score in MIXED_SCORES}
    for name, pattern, own in grouped(found, MIXED):
        lines += lines_of(name, pattern, own)
        for score in MIXED_SCORES:
            some = [one for one in own if one.get(score)]
            if some:
                each[score].append(versus(some, score, (*MIXED_QUICK, *MIXED_SLOW)))
    near = (f"{sum(v.near for v in own)} of {len(own)} by {MIXED_SCORES[score]}" for score, own in each.items())
    behind = (f"{sum(v.gap > 2 * v.off for v in own)} by {MIXED_SCORES[score]}" for score, own in each.items())
    return [
        *lines,
        "",
        f"Lines with the best, or within one paired standard error of it: {', '.join(near)}.",
        f"Lines behind the best other by more than two: {', '.join(behind)}.",
    ]


def lines_of(name: str, pattern: str, own: list[dict]) -> list[str]:
    """A line a score of one table and pattern, and one of seconds."""
    methods, lines, (n, d) = ("lowdim", *MIXED_QUICK, *MIXED_SLOW), [], own[0]["shape"]
    for score, words in MIXED_SCORES.items():
        some = [one for one in own if one.get(score)]
        if not some:
            continue
        best = versus(some, score, (*MIXED_QUICK, *MIXED_SLOW))
        cells = [told(own, score, m, root=score in ("error", "whole")) for m in methods]
        lines.append(line([name, f"{n} x {d}", pattern, str(len(own)), words, *cells, best.words(len(own))]))
    return [*lines, line(["", "", "", "", "seconds", *(told(own, "seconds", m) for m in methods), ""])]


def contest_lines(found: list[dict]) -> list[str]:
    """A line a table and score: ours beside the version before; and which tables are worse."""
    both = [one for one in found if {"lowdim", "contest"} <= set(one["seconds"])]
    lines, worse = [], []
    for score, words in (("error", "RMSE"), ("log loss", "log loss"), ("wrong", "wrong")):
        for name in (*TABLES, *LOADED, *MIXED):
            own = [one for one in both if one["table"] == name and one.get(score)]
            if not own:
                continue
            hidings = [sum(one["pattern"] == pattern for one in own) for pattern in PATTERNS]
            means = [told(own, score, m, root=score == "error") for m in ("lowdim", "contest")]
            spent = [told(own, "seconds", m) for m in ("lowdim", "contest")]
            cells = sum(one.get("cells", 0) for one in own)
            held = f"{100 * sum(one['held'] for one in own) / cells:.1f} %" if cells else ""
            v = versus(own, score, ("contest",))
            off = f" ± {v.off:.4f}" if len(own) > 1 else ""
            lines.append(line([name, *map(str, hidings), words, *means, f"{v.gap:+.4f}{off}", held, *spent]))
            worse += [f"{name} by {words}"] if v.gap > 0 and not v.near else []
    head = ["table", *PATTERNS, "score", "lowdim", "contest", "ours less the contest's (RMSE: of squared errors)"]
    return [
        "## Beside the contest",
        "",
        "How many hidings of each pattern, and all of them together.",
        "",
        *heading([*head, "90 % intervals held", "s lowdim", "s contest"]),
        *lines,
        "",
        f"Worse than the contest by more than one paired standard error: {len(worse)} of {len(lines)}"
        f"{' (' if worse else ''}{', '.join(worse)}{')' if worse else ''}.",
    ]


def page(path: str) -> None:
    """Write the page; beside other methods it stays as it is, unless the file has all hidings of this version."""
    found = [one for one in results(path) if "lowdim" in one["seconds"]]
    before, whole = (HERE / "fills.md").read_text(), (*TABLES, *LOADED, *MIXED)
    others = [one for one in found if {"lowdim", "ridge"} <= set(one["seconds"])]
    if len(others) == len(whole) * len(PATTERNS) * HIDINGS:
        parts = [*number_part([one for one in others if one["table"] not in MIXED]), "", *mixed_part(others)]
    else:
        parts = [before[before.index("## Tables of numbers") :].rstrip()]
    text = ["# Fills beside other imputers", "", str(__doc__).split("\n\n", 2)[2].strip(), ""]
    text += [*contest_lines(found), "", f"Run on {date.today()}. {versions()}", "", *parts, ""]
    (HERE / "fills.md").write_text("\n".join(text))


def versions() -> str:
    return (
        f"lowdim {__version__}, scikit-learn {version('scikit-learn')}, numpy {np.__version__}, Python "
        f"{platform.python_version()}; two busy cores."
    )


def mixed_part(found: list[dict]) -> list[str]:
    """What the page says of mixed tables by this file."""
    return [
        "## Mixed tables",
        "",
        *heading(
            [
                *("table", "size", "hidden", "hidings", "score", "lowdim", *MIXED_QUICK, *MIXED_SLOW),
                "ours less the best other's (RMSE: of squared errors)",
            ]
        ),
        *mixed_lines(found),
        table_verdict(found, MIXED, ("log loss", "error"), MIXED_QUICK, MIXED_SLOW),
        "",
        versions(),
    ]


def number_part(found: list[dict]) -> list[str]:
    """What it says of them by this file."""
    errors, laws, verdicts = number_lines(found)
    methods = ["lowdim", *QUICK, *SLOW]
    return [
        "## Tables of numbers",
        "",
        *heading(
            [
                *("table", "size", "hidden", "hidings", *(f"RMSE {m}" for m in methods)),
                *("ours less the best other's", "90 % intervals held", "engine chosen, hidings"),
            ]
        ),
        *errors,
        "",
        *verdicts,
        table_verdict(found, (*TABLES, *LOADED), ("error",), QUICK, SLOW),
        "",
        *heading(["table", "hidden", "hidings", *(f"{w} {m}" for w in ("energy", "s") for m in methods)]),
        *laws,
    ]


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2], float(sys.argv[3]), *sys.argv[4:])
    elif sys.argv[1] == "ours":
        ours(sys.argv[2], float(sys.argv[3]), *sys.argv[4:])
    elif sys.argv[1] == "peers":
        peers(sys.argv[2], float(sys.argv[3]), *sys.argv[4:])
    else:
        page(sys.argv[2])
