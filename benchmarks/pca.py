"""Complete tables: tall, wide and large."""

from __future__ import annotations

from typing import Any

import numpy as np
from clock import Run, contest, table, times
from scipy import sparse
from scipy.linalg.blas import dsyrk
from sklearn import decomposition

import lowdim

K = 10
CORES = 2
FAR = 1e8


def grid(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Normal numbers in steps of 1/1024: their Gram matrix and a shift by 1e8 are exact in double precision."""
    return np.round(np.random.default_rng(seed).standard_normal((n, d)) * 1024) / 1024


def exact_variances(X: np.ndarray, k: int) -> np.ndarray:
    """The k largest variances (n - 1) of a grid, to about 18 digits: Rayleigh quotients in extended precision."""
    n = len(X)
    G, s = (X.T @ X).astype(np.longdouble), X.sum(axis=0).astype(np.longdouble)
    C = (G - np.multiply.outer(s, s) / n) / (n - 1)
    V = np.linalg.eigh(C.astype(float))[1][:, : -k - 1 : -1].astype(np.longdouble)
    return np.sum(V * (C @ V), axis=0) / np.sum(V * V, axis=0)


def digits(found: np.ndarray, truth: np.ndarray) -> float:
    """Decimal digits of the worst of the variances."""
    error = float(np.max(np.abs(found - truth) / truth))
    return min(max(-np.log10(max(error, 1e-17)), 0.0), 17.0)


def tall(n: int = 20000, d: int = 500) -> str:
    X = grid(n, d)
    truth = exact_variances(X, K)

    def right(answer: Any) -> Any:
        return digits(answer.explained_variance_, truth) if hasattr(answer, "components_") else "-"

    text = [f"### PCA, k = {K}, {n} x {d}: covariance solvers"]
    for threads, how in ((CORES, "ours: a pool of 2 with one BLAS thread each; the others: BLAS"), (1, "all")):
        runs = race(X, threads)
        mine = runs["lowdim"].seconds
        text += [
            f"Threads: {threads} ({how}). **{mine / runs['scikit-learn'].seconds:.2f}x scikit-learn's default, "
            f"{mine / runs['one dsyrk'].seconds:.2f}x one dsyrk** (targets 1.0 and 1.5).",
            times(runs, digits=right),
        ]
    return "\n\n".join([*text, far_away(X + FAR, truth)])


def race(X: np.ndarray, threads: int) -> dict[str, Run]:
    run = lowdim.Run() if threads > 1 else lowdim.Run(engine="serial")
    entries = {
        "lowdim": lambda: lowdim.PCA(K).fit(X, run=run),
        "scikit-learn": lambda: decomposition.PCA(K).fit(X),
        "one dsyrk": lambda: dsyrk(1.0, X.T),
    }
    return contest(entries, threads, 12)


def far_away(X: np.ndarray, truth: np.ndarray) -> str:
    models = {
        "lowdim": lowdim.PCA(K),
        "scikit-learn, default": decomposition.PCA(K),
        "scikit-learn, full": decomposition.PCA(K, svd_solver="full"),
    }
    rows = [(name, digits(model.fit(X).explained_variance_, truth)) for name, model in models.items()]
    return "\n\n".join(
        [
            f"Digits of the {K} variances with every column moved by {FAR:g}, condition 1 (target 14):",
            table(("contestant", "digits"), rows),
        ]
    )


def stored(n: int = 50_000, d: int = 5_000, share: float = 0.01) -> str:
    """A sparse table of noise, the flattest of spectra: neither contestant ever makes it dense."""
    X = sparse.random(n, d, density=share, format="csr", rng=np.random.default_rng(0))
    runs = contest(
        {"lowdim": lambda: lowdim.PCA(K).fit(X), "scikit-learn": lambda: decomposition.PCA(K, random_state=0).fit(X)},
        CORES,
        3,
    )
    ours, theirs = runs["lowdim"], runs["scikit-learn"]
    apart = np.abs(ours.answer.explained_variance_ / theirs.answer.explained_variance_ - 1.0).max()
    return "\n\n".join(
        [
            f"### PCA, k = {K}, sparse {n} x {d}, {share:.0%} stored ({CORES} threads)",
            f"**{ours.seconds / theirs.seconds:.2f}x scikit-learn's** (target 1.0); variances agree to {apart:.0e}.",
            times(runs),
        ]
    )


def wide(n: int = 200, d: int = 20000) -> str:
    X = grid(n, d, 1) + 3.0 * np.random.default_rng(2).standard_normal((n, 5)) @ grid(5, d, 3)
    truth = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:K] ** 2 / (n - 1)
    runs = contest(
        {"lowdim": lambda: lowdim.PCA(K).fit(X), "scikit-learn": lambda: decomposition.PCA(K, random_state=0).fit(X)},
        CORES,
    )
    return "\n\n".join(
        [
            f"### PCA, k = {K}, {n} x {d}: dual against randomized ({CORES} threads)",
            times(runs, digits=lambda a: digits(a.explained_variance_, truth)),
        ]
    )


def large(n: int = 6000, d: int = 6000) -> str:
    X = np.random.default_rng(4).standard_normal((n, d)) * np.arange(1, d + 1) ** -0.5
    mean = X.mean(axis=0)

    def residual(model: Any) -> float:
        V, values = model.components_.T, model.explained_variance_
        CV = (X.T @ (X @ V - mean @ V) - np.multiply.outer(mean, (X @ V - mean @ V).sum(axis=0))) / (n - 1)
        return float(np.linalg.norm(CV - V * values, axis=0).max() / values[0])

    many = {"svd_solver": "randomized", "iterated_power": 20, "random_state": 0}
    runs = contest(
        {
            "lowdim": lambda: lowdim.PCA(K).fit(X),
            "scikit-learn": lambda: decomposition.PCA(K, random_state=0).fit(X),
            "scikit-learn, 20 power iterations": lambda: decomposition.PCA(K, **many).fit(X),
        },
        CORES,
        3,
    )
    return "\n\n".join(
        [
            f"### PCA, k = {K}, {n} x {d}: block Krylov against randomized ({CORES} threads)",
            "Residual: the largest |Cv - lambda v| / lambda_1.",
            times(runs, residual=residual),
        ]
    )
