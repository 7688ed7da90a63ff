"""Hidden cells of real mixed tables: our latent Gaussian model beside factor analysis and chained regressions of codes.

    .venv/bin/python benchmarks/mixed.py [TABLE ...]

A tenth of the seen cells is hidden, in the same places for all; `SPLITS` times. Scores: log loss and errors of labels
and yes/no, mean absolute error in levels and log loss of ordinal ones, error of real ones in units of their spread.
Differences are paired by cell. Factor analysis and IterativeImputer work on zeros and ones, one column for each label
but the last, and their fills, clipped and normalised, are their probabilities.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from lowdim import FactorAnalysis, MixedFactorAnalysis
from lowdim.text.messages import LowdimWarning

DATA = Path(os.environ.get("LOWDIM_DATA", "../shared/data"))
SPLITS, HIDDEN = 5, 0.1
LEAST = 0.01  # of a probability, for all


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
    """Loss of each hidden cell by kind of score: {(column, score): array}."""
    out = {}
    for name, kind in kinds.items():
        rows = np.flatnonzero(hidden[name])
        truth = frame[name].to_numpy()[rows]
        if kind in ("label", "yes/no") or (kind == "ordinal" and name in shares):
            p = shares[name][rows]
            own = np.clip(p[np.arange(len(rows)), [levels[name].index(x) for x in truth]], LEAST, 1)
            out[name, "log loss" if kind != "ordinal" else "ordinal log loss"] = -np.log(own)
            if kind != "ordinal":
                best = [levels[name][k] for k in p.argmax(axis=1)]
                out[name, "wrong"] = (np.array(best, dtype=object) != truth).astype(float)
        if kind == "ordinal":
            fill = np.clip(np.round(values[name][rows].astype(float)), frame[name].min(), frame[name].max())
            out[name, "ordinal MAE"] = np.abs(fill - truth.astype(float))
        elif kind == "count":
            out[name, "count MAE of roots"] = np.abs(np.sqrt(np.maximum(values[name][rows], 0)) - np.sqrt(truth))
        elif kind in ("real", "positive"):
            spread = frame[name].std()
            out[name, "squared error"] = ((values[name][rows].astype(float) - truth) / spread) ** 2
    return out


def ours(table, kinds, q):
    model = MixedFactorAnalysis(q, likelihoods=kinds).fit(table)
    filled, shares = model.impute(table, return_proba=True)
    levels = {name: list(own) for name, own in zip(table, model.levels_, strict=True) if own}
    return shares, levels, filled, model.n_iter_


def of_codes(table, kinds, fill):
    coded = Coded(table, kinds)
    filled = fill(coded.X)
    shares = {name: coded.shares(filled, name) for name, kind in kinds.items() if kind in ("label", "yes/no")}
    values = {name: filled[:, coded.slices[name]][:, 0] for name in kinds if name not in shares}
    return shares, coded.levels, values, 0


def contestants(q):
    def factors(X):
        return FactorAnalysis(min(q, X.shape[1] // 2 - 1), max_iter=300).fit(X).impute(X)

    def chained(X):
        return IterativeImputer(max_iter=10, random_state=0).fit_transform(X)

    return {
        "MixedFactorAnalysis": lambda table, kinds: ours(table, kinds, q),
        "marker": lambda table, kinds: ours(table, {c: "marker" if k == "label" else k for c, k in kinds.items()}, q),
        "FactorAnalysis of codes": lambda table, kinds: of_codes(table, kinds, factors),
        "IterativeImputer of codes": lambda table, kinds: of_codes(table, kinds, chained),
    }


def run(name: str) -> None:
    frame, kinds, q = read(name)
    frame = frame[list(kinds)]
    cells, seconds = {}, {}
    passes = 0
    for split in range(SPLITS):
        rng = np.random.default_rng(split)
        hidden = pd.DataFrame(rng.random(frame.shape) < HIDDEN, columns=list(frame)) & frame.notna()
        table = frame.mask(hidden)
        for who, fill in contestants(q).items():
            if who == "marker" and "label" not in kinds.values():
                continue
            begin = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shares, levels, values, used = fill(table, kinds)
            seconds[who] = seconds.get(who, 0.0) + (time.process_time() - begin) / SPLITS
            passes = max(passes, used)
            for (_, score), loss in losses(frame, hidden, kinds, shares, levels, values).items():
                cells.setdefault((score, who), []).append(loss)
    print(f"\n### {name}: {frame.shape[0]} x {frame.shape[1]}, q = {q}, at most {passes} passes\n")
    print("| score | " + " | ".join(seconds) + " |\n| --- |" + " --- |" * len(seconds))
    for score in dict.fromkeys(score for score, _ in cells):
        line = [score.replace("squared error", "RMSE / spread")]
        base = np.concatenate(cells[score, "MixedFactorAnalysis"])
        for who in seconds:
            if (score, who) not in cells:
                line.append("-")
                continue
            own = np.concatenate(cells[score, who])
            mean = np.sqrt(own.mean()) if score == "squared error" else own.mean()
            gap = base - own
            pair = "" if who == "MixedFactorAnalysis" else f" ({gap.mean():+.3f} ± {gap.std() / np.sqrt(len(gap)):.3f})"
            line.append(f"{mean:.3f}{pair}")
        print("| " + " | ".join(line) + " |")
    print("| seconds of CPU | " + " | ".join(f"{s:.2f}" for s in seconds.values()) + " |", flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=LowdimWarning)
    for name in sys.argv[1:] or TABLES:
        run(name)
