"""Hidden cells of real mixed tables: our latent Gaussian model beside factor analysis and chained regressions of codes.

    OPENBLAS_NUM_THREADS=1 .venv/bin/python benchmarks/mixed.py MINUTES [TABLE ...]

A tenth of the seen cells is hidden, in the same places for all; `SPLITS` times, round by round over all tables until
the minutes are over. Scores: log loss and errors of labels and yes/no, mean absolute error in levels and log loss of
ordinal ones, error of real ones in units of their spread. Differences are paired by cell; in their errors all hidden
cells of a row, of all hidings, count as one draw. `MixedFactorAnalysis` gets the kinds of columns, but finds by itself
which labels of words are markers; its dimensions are those of `read`, or, as a contestant of its own, those of at most
`MOST_DIMENSIONS` that its own relevance determination keeps. Factor analysis and IterativeImputer work on zeros and
ones, one column for each label but the last, and their fills, clipped and normalised, are their probabilities. FAMD is
that of benchmarks/famd.py. R's mice runs where Rscript and mice are installed: 10 imputations, their shares are its
probabilities; it takes levels as ordered factors where a table has at most FEW_LEVELS of them, else as numbers
(predictive mean matching), and leaves out the tables of NO_MICE, on which it takes minutes a hiding.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import famd
import numpy as np
import pandas as pd
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from lowdim import FactorAnalysis, MixedFactorAnalysis, fill
from lowdim.text.messages import LowdimWarning

DATA = Path(os.environ.get("LOWDIM_DATA", "../shared/data"))
SPLITS, HIDDEN, IMPUTATIONS = 10, 0.1, 10
LEAST = 0.01  # of a probability, for all
OURS, RELEVANT = "MixedFactorAnalysis", "dimensions by relevance"
PEERS = ("IterativeImputer of codes", "FAMD", "mice")
MOST_DIMENSIONS, FEW_DIMENSIONS = 8, 3  # where relevance decides; the second for tables of fewer than 8 columns
FEW_LEVELS = 20  # polr of more takes minutes a hiding
NO_MICE = ("bfi", "colic", "biopsy")


def read(name: str) -> tuple[pd.DataFrame, dict[str, str], int]:
    """A table, the kind of each column, and the number of dimensions (as in docs/mixed.md)."""
    real = DATA / "real_tables"
    if name == "votes":
        frame = pd.read_csv(DATA / "uci/house_votes_1984.csv").drop(columns="Class")
        return frame, dict.fromkeys(frame, "yes/no"), 2
    frame = pd.read_csv(real / f"{name}.csv")
    if name == "vnf":
        frame = frame.sample(600, random_state=0).reset_index(drop=True)
        return frame, dict.fromkeys(frame, "label"), 6
    if name == "bfi":
        frame = frame.drop(columns=["rownames", "age"]).sample(700, random_state=0).reset_index(drop=True)
        return frame, {c: "yes/no" if c == "gender" else "ordinal" for c in frame}, 5
    if name == "biopsy":
        frame = frame.drop(columns=["rownames", "ID"])
        return frame, {c: "yes/no" if c == "class" else "ordinal" for c in frame}, 2
    if name == "titanic":
        frame = frame[["survived", "pclass", "sex", "age", "sibsp", "parch", "fare", "embarked"]]
        kinds = {"survived": "yes/no", "pclass": "ordinal", "sex": "yes/no", "age": "real"}
        return frame, {**kinds, "sibsp": "count", "parch": "count", "fare": "positive", "embarked": "label"}, 3
    if name == "TitanicNA":
        return frame, dict.fromkeys(frame, "label"), 2
    if name == "penguins":
        kinds = {"species": "label", "island": "label", "sex": "yes/no"}
        return frame, {c: kinds.get(c, "real") for c in frame}, 3
    if name == "snorena":
        return frame, {c: "yes/no" if c in ("sex", "snore", "tobacco") else "real" for c in frame}, 2
    frame = pd.read_csv(DATA / "uci/horse_colic.csv").drop(columns=["lesion1", "lesion2", "lesion3"])
    few = {c: int(frame[c].nunique()) for c in frame}
    return frame, {c: "yes/no" if k == 2 else "label" if k <= 6 else "real" for c, k in few.items()}, 3


TABLES = ("votes", "vnf", "bfi", "biopsy", "titanic", "TitanicNA", "penguins", "snorena", "colic")


class Coded:
    """A table as zeros and ones (labels), level numbers (ordinal) and standardised numbers, and back."""

    def __init__(self, frame: pd.DataFrame, kinds: dict[str, str]) -> None:
        self.kinds, self.levels, parts, self.slices = kinds, {}, [], {}
        at = 0
        for name, kind in kinds.items():
            column = frame[name]
            if kind in ("label", "yes/no"):
                self.levels[name] = sorted(column.dropna().unique().tolist())
                part = np.column_stack([(column == level).astype(float) for level in self.levels[name][:-1]])
                part[column.isna().to_numpy()] = np.nan
            else:
                part = column.to_numpy(float)[:, None]
                if kind == "ordinal":
                    self.levels[name] = sorted(column.dropna().unique().tolist())
            parts.append(part)
            self.slices[name] = slice(at, at + part.shape[1])
            at += part.shape[1]
        self.X = np.concatenate(parts, axis=1)

    def shares(self, filled: np.ndarray, name: str) -> np.ndarray:
        part = filled[:, self.slices[name]]
        part = np.clip(np.column_stack([part, 1.0 - part.sum(axis=1)]), LEAST, None)
        return part / part.sum(axis=1, keepdims=True)


def losses(frame, hidden, kinds, shares, levels, values):
    """Rows and losses of the hidden cells by kind of score: {(column, score): (rows, losses)}."""
    out = {}
    for name, kind in kinds.items():
        rows = np.flatnonzero(hidden[name])
        truth = frame[name].to_numpy()[rows]
        if kind in ("label", "yes/no") or (kind == "ordinal" and name in shares):
            p = shares[name][rows]
            own = np.clip(p[np.arange(len(rows)), [levels[name].index(x) for x in truth]], LEAST, 1)
            out[name, "log loss" if kind != "ordinal" else "ordinal log loss"] = rows, -np.log(own)
            if kind != "ordinal":
                best = [levels[name][k] for k in p.argmax(axis=1)]
                out[name, "wrong"] = rows, (np.array(best, dtype=object) != truth).astype(float)
        if kind == "ordinal":
            fill = np.clip(np.round(values[name][rows].astype(float)), frame[name].min(), frame[name].max())
            out[name, "ordinal MAE"] = rows, np.abs(fill - truth.astype(float))
        elif kind == "count":
            whole = np.round(np.maximum(values[name][rows].astype(float), 0))
            roots = np.sqrt(whole) - np.sqrt(truth.astype(float))
            out[name, "count MAE of roots"] = rows, np.abs(roots)
        elif kind in ("real", "positive"):
            spread = frame[name].std()
            out[name, "squared error"] = rows, ((values[name][rows].astype(float) - truth) / spread) ** 2
    return out


def ours(table, kinds, q, **options):
    words = {name for name in kinds if not pd.api.types.is_numeric_dtype(table[name])}
    asked = {name: "auto" if kind == "label" and name in words else kind for name, kind in kinds.items()}
    model = MixedFactorAnalysis(q, likelihoods=asked, **options).fit(table)
    filled, shares = model.impute(table, return_proba=True)
    levels = {name: list(own) for name, own in zip(table, model.levels_, strict=True) if own}
    return shares, levels, filled, model.n_iter_


def relevant(table, kinds):
    """The dimensions that the model's own relevance determination keeps."""
    return ours(table, kinds, MOST_DIMENSIONS if len(kinds) >= MOST_DIMENSIONS else FEW_DIMENSIONS, ard=True)


def hide(frame, split):
    """Which cells are hidden."""
    drawn = np.random.default_rng(split).random(frame.shape) < HIDDEN
    return pd.DataFrame(drawn, columns=list(frame)) & frame.notna()


def of_codes(table, kinds, fill):
    coded = Coded(table, kinds)
    return answers_of(coded, fill(coded.X))


def answers_of(coded, filled):
    """Probabilities of labels and values of numbers by a filled table of codes."""
    kinds = coded.kinds
    shares = {name: coded.shares(filled, name) for name, kind in kinds.items() if kind in ("label", "yes/no")}
    values = {name: filled[:, coded.slices[name]][:, 0] for name in kinds if name not in shares}
    return shares, coded.levels, values, 0


def by_famd(table, kinds):
    """Regularised iterative FAMD, as missMDA's imputeFAMD: fills of indicators are its probabilities."""
    coded = Coded(table, kinds)
    parts, owner, is_label = [], [], []
    for j, (name, kind) in enumerate(kinds.items()):
        part, label = coded.X[:, coded.slices[name]], kind in ("label", "yes/no")
        part = np.column_stack([part, 1.0 - part.sum(axis=1)]) if label else part
        parts.append(part)
        owner += [j] * part.shape[1]
        is_label += [label] * part.shape[1]
    owner, is_label = np.array(owner), np.array(is_label)
    filled = famd.imputed(np.concatenate(parts, axis=1), owner, is_label)
    last = np.array([label and (j + 1 == len(owner) or owner[j + 1] != owner[j]) for j, label in enumerate(is_label)])
    return answers_of(coded, filled[:, ~last])


def as_word(value) -> str:
    """A label that no reader takes for a number."""
    return f"is {value}"


def filled(table, kinds):
    """What `fill` says of a frame whose labels and answers are text: the probabilities of its columns of words."""
    words = {n: table[n].map(as_word, na_action="ignore") for n, kind in kinds.items() if kind in ("label", "yes/no")}
    fills = fill(table.assign(**words))
    values = fills.frame.reindex(table.index).fillna(table.mean(numeric_only=True))  # rows without any number
    values = values.assign(**before_rounding(fills, values, words))
    found = {c.column: c for c in fills.labels}
    shares, levels = {}, {}
    for name in words:
        own = levels[name] = sorted(table[name].dropna().unique().tolist())
        shares[name] = np.tile([(table[name] == v).sum() / table[name].notna().sum() for v in own], (len(table), 1))
        if name in found:
            c = found[name]
            at = [[as_word(v) for v in own].index(label) for label in c.labels]
            shares[name][np.ix_(fills.table.rows[c.rows], at)] = c.shares
    return shares, levels, values, 0


def before_rounding(fills, values, words):
    """Columns of levels and counts as the model has them: others leave decimals there too."""
    scales, raw = fills.scales, fills.scales.outward(fills.scales.reached(fills.modelled))
    found = {}
    for j, name in enumerate(fills.table.names):
        if name in values and name not in words and (scales.levels[j] or scales.whole[j]):
            found[name] = values[name].astype(float)
            found[name].iloc[fills.table.rows] = raw[:, j]
    return found


MICE = """
library(mice)
args <- commandArgs(TRUE)
X <- read.csv(args[1], na.strings = "", check.names = FALSE)
kinds <- strsplit(args[2], ",")[[1]]
for (j in seq_along(kinds)) if (kinds[j] %in% c("label", "yes/no")) X[[j]] <- factor(X[[j]])
for (j in seq_along(kinds)) if (kinds[j] == "levels") X[[j]] <- factor(X[[j]], ordered = TRUE)
names(X) <- paste0("c", seq_along(kinds))
imp <- suppressWarnings(mice(X, m = as.integer(args[3]), maxit = 5, printFlag = FALSE, seed = 1))
for (k in seq_len(imp$m)) write.csv(complete(imp, k), paste0(args[4], k, ".csv"), row.names = FALSE)
"""


def by_mice(table, kinds, middle=np.median):
    """R's mice: shares of its imputations, and their means; of levels and counts the middle."""
    few = sum(table[name].nunique() for name, kind in kinds.items() if kind == "ordinal") <= FEW_LEVELS
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(f"{folder}/t.csv", index=False)
        Path(f"{folder}/m.R").write_text(MICE)
        words = [
            "Rscript",
            f"{folder}/m.R",
            f"{folder}/t.csv",
            ",".join("levels" if kind == "ordinal" and few else kind for kind in kinds.values()),
            str(IMPUTATIONS),
            f"{folder}/o",
        ]
        subprocess.run(words, check=True, capture_output=True)
        drawn = [pd.read_csv(f"{folder}/o{k + 1}.csv") for k in range(IMPUTATIONS)]
    shares, levels, values = {}, {}, {}
    for j, (name, kind) in enumerate(kinds.items()):
        column = np.stack([d.iloc[:, j].to_numpy() for d in drawn])
        if kind in ("label", "yes/no", "ordinal"):
            own = levels[name] = sorted(table[name].dropna().unique().tolist())
            p = np.column_stack([(column == v).mean(axis=0) for v in own]) + 0.5 / IMPUTATIONS
            shares[name] = p / p.sum(axis=1, keepdims=True)
        values[name] = column if kind in ("label", "yes/no") else middle(column.astype(float), axis=0)
        if kind in ("real", "positive"):
            values[name] = column.astype(float).mean(axis=0)
    return shares, levels, values, 0


def has_mice() -> bool:
    words = ["Rscript", "-e", "library(mice); library(nnet); library(MASS)"]
    return shutil.which("Rscript") is not None and subprocess.run(words, capture_output=True).returncode == 0


def contestants(name, q):
    def factors(X):
        return FactorAnalysis(min(q, X.shape[1] // 2 - 1), max_iter=300).fit(X).impute(X)

    def chained(X):
        return IterativeImputer(max_iter=10, random_state=0).fit_transform(X)

    found: dict[str, Callable] = {
        OURS: lambda table, kinds: ours(table, kinds, q),
        RELEVANT: relevant,
        "FactorAnalysis of codes": lambda table, kinds: of_codes(table, kinds, factors),
        "IterativeImputer of codes": lambda table, kinds: of_codes(table, kinds, chained),
        "FAMD": by_famd,
    }
    return found | ({"mice": by_mice} if has_mice() and name not in NO_MICE else {})


def cpu() -> float:
    """Seconds of this process and of its children."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


class Tally:
    """The losses of all contestants on one table, hiding by hiding."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frame, self.kinds, self.q = read(name)
        self.frame = self.frame[list(self.kinds)]
        self.cells, self.seconds, self.passes, self.hidings = {}, {}, 0, 0

    def hide(self, split: int) -> None:
        frame, kinds = self.frame, self.kinds
        hidden = hide(frame, split)
        table = frame.mask(hidden)
        for who, answer in contestants(self.name, self.q).items():
            begin = cpu()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    shares, levels, values, used = answer(table, kinds)
            except subprocess.CalledProcessError as problem:  # mice refuses some tables
                print(f"{self.name}: {who}: {problem.stderr.decode()[-300:]}", file=sys.stderr)
                continue
            self.seconds[who] = self.seconds.get(who, 0.0) + cpu() - begin
            self.passes = max(self.passes, used)
            for (_, score), (rows, loss) in losses(frame, hidden, kinds, shares, levels, values).items():
                self.cells.setdefault((score, who), []).append(np.column_stack([rows, loss]))
        self.hidings += 1

    def gap(self, score: str, one: str, other: str) -> tuple[float, float]:
        """Mean of one's losses less the other's, and its error, rows as clusters."""
        (rows, first), (_, second) = (np.concatenate(self.cells[score, who]).T for who in (one, other))
        gap = first - second
        each = np.bincount(rows.astype(int), gap - gap.mean())
        return float(gap.mean()), float(np.sqrt((each**2).sum()) / len(gap))

    def verdicts(self) -> list[str]:
        """For each score ours beside the best of the peers: lines of the summary."""
        lines = []
        for score in dict.fromkeys(score for score, _ in self.cells):
            many = len(self.cells[score, OURS])
            peers = [who for who in PEERS if len(self.cells.get((score, who), ())) == many]
            if not peers:
                continue
            best = min(peers, key=lambda who: np.concatenate(self.cells[score, who])[:, 1].mean())
            told = (self.gap(score, who, best) for who in (OURS, RELEVANT))
            words = " | ".join(f"{gap:+.4f} ± {error:.4f} ({gap / max(error, 1e-12):+.1f})" for gap, error in told)
            lines.append(f"| {self.name} | {score} | {best} | {words} |")
        return lines

    def table(self) -> str:
        """As a table of markdown; differences are ours less theirs."""
        size = f"{self.frame.shape[0]} x {self.frame.shape[1]}, q = {self.q}, {self.hidings} hidings"
        lines = [f"### {self.name}: {size}, at most {self.passes} passes", ""]
        lines += ["| score | " + " | ".join(self.seconds) + " |", "| --- |" + " --- |" * len(self.seconds)]
        for score in dict.fromkeys(score for score, _ in self.cells):
            line = [score.replace("squared error", "RMSE / spread")]
            for who in self.seconds:
                if (score, who) not in self.cells:
                    line.append("-")
                    continue
                own = np.concatenate(self.cells[score, who])[:, 1]
                mean = np.sqrt(own.mean()) if score == "squared error" else own.mean()
                pair = "" if who in (OURS, RELEVANT) else " ({:+.3f} ± {:.3f})".format(*self.gap(score, OURS, who))
                line.append(f"{mean:.3f}{pair}")
            lines.append("| " + " | ".join(line) + " |")
        spent = (f"{s / max(self.hidings, 1):.2f}" for s in self.seconds.values())
        return "\n".join([*lines, "| seconds of CPU | " + " | ".join(spent) + " |"])


def main(minutes: float, names: list[str]) -> None:
    """Hidings round by round until the minutes are over; what is known after each round is printed."""
    end = time.monotonic() + 60 * minutes
    tallies = [Tally(name) for name in names]
    for split in range(SPLITS):
        for tally in tallies:
            if time.monotonic() < end:
                tally.hide(split)
        said = [tally for tally in tallies if tally.hidings]
        print(f"\n# after round {split + 1}\n", *(line for tally in said for line in tally.verdicts()), sep="\n")
        print("", *(tally.table() + "\n" for tally in said), sep="\n", flush=True)
        if time.monotonic() >= end:
            break


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=LowdimWarning)
    main(float(sys.argv[1]), sys.argv[2:] or list(TABLES))
