"""Tables with gaps: how long to the optimum, and how far each stops from it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from clock import Run, contest, table, times
from peers import log_likelihood, ours, peer, ppca_rs, ppca_rs_until, quiet, statsmodels_fill, vbpca

import lowdim
from tests.references.maps import map_errors
from tests.references.tables import oil

NEAR = 0.01  # nats
CORES = 2


def simulate(n: int, d: int, q: int, share: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + 0.5 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < share] = np.nan
    return X


def gaps(n: int = 2000, d: int = 50, q: int = 5, share: float = 0.2) -> str:
    X = simulate(n, d, q, share)
    optimum = log_likelihood(X, ours(lowdim.PPCA(q, tol=1e-12).fit(X)))
    entries = {"lowdim": lambda: ours(lowdim.PPCA(q).fit(X))}
    if peer("ppca_rs"):
        entries["ppca-rs, its default 10 passes"] = lambda: ppca_rs(X, q)
    if peer("vbpca_py"):
        entries["vbpca-py, defaults"] = quiet(lambda: vbpca(X, q))
    if peer("statsmodels"):
        entries["statsmodels, fill-em"] = quiet(lambda: statsmodels_fill(X, q))
    runs = contest(entries, CORES)
    if peer("ppca_rs"):
        seconds, cpu, passes, answer = ppca_rs_until(X, q, optimum - NEAR)
        runs[f"ppca-rs, {passes} passes"] = Run(seconds, cpu, 1, answer)
    short = {name: optimum - log_likelihood(X, run.answer) for name, run in runs.items()}
    there = {name: run.seconds / runs["lowdim"].seconds for name, run in runs.items() if short[name] <= NEAR}
    there.pop("lowdim", None)
    verdict = ", ".join(f"{name} {ratio:.0f}x slower" for name, ratio in there.items()) or "none"
    return "\n\n".join(
        [
            f"### Probabilistic PCA, k = {q}, {n} x {d}, {share:.0%} gaps ({CORES} threads)",
            f"Optimum {optimum:.6f}. Peers that come within {NEAR} nat of it: **{verdict}** (target 50x).",
            times(runs, nats_short=lambda a: optimum - log_likelihood(X, a)),
        ]
    )


def passes(n: int = 4000, d: int = 12, q: int = 3, seeds: int = 10) -> str:
    """Passes to within 0.01 nat."""
    rows = []
    for share in (0.3, 0.6):
        for noise in (0.1, 0.5, 2.0):
            counts = [_passes(seed, n, d, q, share, noise) for seed in range(seeds)]
            target = 12 if share < 0.5 else 30
            rows.append((f"{share:.0%} gaps, noise {noise}", float(np.median(counts)), max(counts), target))
    return "\n\n".join(
        [
            f"### Passes of EM to within {NEAR} nat, {n} x {d}, k = {q}, {seeds} seeds",
            table(("table", "median", "most", "target"), rows),
        ]
    )


def _passes(seed: int, n: int, d: int, q: int, share: float, noise: float) -> int:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + noise * rng.standard_normal((n, d))
    X[rng.random(X.shape) < share] = np.nan
    history = quiet(lambda: lowdim.PPCA(q, tol=1e-11).fit(X).history_)()
    return 1 + int(np.argmax(history >= history.max() - NEAR))


def oil_map(seeds: int = 20) -> str:
    folder = Path(os.environ.get("LOWDIM_DATA", Path(__file__).parents[2] / "shared/data")) / "oil_flow"
    head = "### The map of the first 100 oil rows with gaps"
    if not folder.exists():
        return f"{head}\n\nSkipped: set LOWDIM_DATA."
    X = oil(folder)[0][:100]
    rows = []
    for share in (0.0, 0.1, 0.2, 0.3, 0.5):
        errors = np.array([map_errors(X, share, seed) for seed in range(seeds)])
        (mean, filled), (worst, worst_filled) = errors.mean(axis=0), errors.max(axis=0)
        wins = f"{int((errors[:, 0] < errors[:, 1]).sum())} of {seeds}" if share else "-"
        rows.append((f"{share:.0%}", float(mean), float(worst), float(filled), float(worst_filled), wins))
    head_row = ("cells removed", "PPCA, mean", "worst", "PCA on means, mean", "worst", "PPCA closer")
    return "\n\n".join(
        [
            head,
            f"Procrustes error (share of the complete map's variance) over {seeds} masks; "
            "each method against its own complete map.",
            table(head_row, rows),
        ]
    )
