"""Bayesian PCA with gaps: seconds, cells hidden from the fit, and intervals."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from clock import contest, times
from peers import Answer, log_likelihood, ours, peer, quiet, vbpca

import lowdim

CORES = 2
TRUE, ASKED = 5, 10


class Table(NamedTuple):
    """A table with 20 % gaps, and what is in them."""

    seen: np.ndarray
    whole: np.ndarray

    def error(self, a: Answer) -> float:
        """Root mean square error of the fills of an answer, each the mean given the row's seen cells."""
        m = ~np.isnan(self.seen)
        W, noise = a.W, float(np.mean(a.noise))
        A = noise * np.eye(W.shape[1]) + np.einsum("ij,ja,jb->iab", m.astype(float), W, W)
        r = np.where(m, self.seen - a.mean, 0.0)
        z = np.linalg.solve(A, (r @ W)[:, :, None])[:, :, 0]
        return float(np.sqrt((((z @ W.T + a.mean - self.whole)[~m]) ** 2).mean()))


def simulate(n: int = 2000, d: int = 50, share: float = 0.2) -> Table:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, TRUE)) @ rng.standard_normal((TRUE, d)) + 0.5 * rng.standard_normal((n, d)) + 3.0
    return Table(np.where(rng.random(X.shape) < share, np.nan, X), X)


def gaps() -> str:
    t = simulate()
    entries: dict[str, Any] = {"lowdim": lambda: ours(lowdim.BayesianPCA(ASKED).fit(t.seen))}
    if peer("vbpca_py"):
        entries["vbpca-py, defaults"] = quiet(lambda: vbpca(t.seen, ASKED))
    runs = contest(entries, CORES)
    ratio = runs.get("vbpca-py, defaults", runs["lowdim"]).seconds / runs["lowdim"].seconds
    return "\n\n".join(
        [
            f"### Bayesian PCA, at most {ASKED} axes ({TRUE} true), {len(t.seen)} x 50, 20% gaps ({CORES} threads)",
            f"vbpca-py takes **{ratio:.0f}x** lowdim's time (target 10x).",
            times(runs, hidden_cells_rmse=t.error, log_likelihood=lambda a: log_likelihood(t.seen, a)),
        ]
    )


def intervals(tables: int = 20, n: int = 30, d: int = 10) -> str:
    """Share of hidden cells in 95 % intervals, n = 3 d."""
    inside = {"lowdim": 0, "vbpca-py": 0}
    total = 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.5 * rng.standard_normal((n, d))
        hidden = rng.random(X.shape) < 0.1
        Y = np.where(hidden, np.nan, X)
        total += int(hidden.sum())
        filled, sd = quiet(lambda Y=Y: lowdim.BayesianPCA().fit(Y).impute(Y, return_std=True))()
        inside["lowdim"] += int((np.abs(X - filled) < 1.96 * sd)[hidden].sum())
        if peer("vbpca_py"):
            model = quiet(lambda Y=Y: import_module("vbpca_py").VBPCA(d - 1, random_state=0).fit(Y))()
            mean, var = np.asarray(model.reconstruction_), np.asarray(model.variance_)
            mean, var = (part.T if part.shape != X.shape else part for part in (mean, var))
            inside["vbpca-py"] += int((np.abs(X - mean) < 1.96 * np.sqrt(var))[hidden].sum())
    said = ", ".join(f"{name} {count / total:.1%}" for name, count in inside.items() if count)
    return f"### 95% intervals of {total} hidden cells in {tables} tables of {n} x {d}\n\n{said}."


if __name__ == "__main__":
    print(gaps(), intervals(), sep="\n\n")
