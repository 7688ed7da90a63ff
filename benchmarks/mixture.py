"""Mixtures beside their peers: `python benchmarks/mixture.py`. ppca-rs takes part where it is installed."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from clock import machine, table
from peers import peer
from sklearn.mixture import GaussianMixture as Peer
from threadpoolctl import threadpool_limits

from lowdim import GaussianMixture, MixtureOfPPCA

CORES = 2
FEW, MANY = 3, 13  # passes of a short and of a long fit: their difference leaves the start out


def clusters(n: int, d: int, K: int, apart: float, seed: int = 0, gaps: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = apart * rng.standard_normal((K, d))
    X = centres[rng.integers(K, size=n)] + rng.standard_normal((n, d)) @ (np.eye(d) + 0.2 * rng.standard_normal((d, d)))
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


def seconds(fit: Any) -> float:
    begin = time.perf_counter()
    fit()
    return time.perf_counter() - begin


def gmm(n: int = 20000, d: int = 20, K: int = 10, rounds: int = 2) -> str:
    """Seconds of one iteration, full covariances."""
    rows = []
    for apart in (0.5, 3.0):
        X = clusters(n, d, K, apart)
        means = X[:K].copy()

        def ours(passes: int, X: np.ndarray = X, means: np.ndarray = means) -> Any:
            return GaussianMixture(K, init=means, tol=1e-302, max_iter=passes).fit(X)

        def theirs(passes: int, X: np.ndarray = X, means: np.ndarray = means) -> Any:
            return Peer(K, means_init=means, init_params="random_from_data", tol=0, max_iter=passes).fit(X)

        best = {}
        for _ in range(rounds):
            for name, fit in (("lowdim", ours), ("scikit-learn", theirs)):
                pair = [seconds(lambda f=fit, k=k: f(k)) for k in (FEW, MANY)]
                best[name] = np.minimum(best.get(name, np.inf), pair)
        each = {name: float(pair[1] - pair[0]) / (MANY - FEW) for name, pair in best.items()}
        slow = each["scikit-learn"]
        rows += [(f"{name}, clusters {apart} apart", 1e3 * own, own / slow) for name, own in each.items()]
    return "\n\n".join(
        [
            f"### Full Gaussian mixture, {n} x {d}, {K} components, one iteration ({CORES} threads)",
            table(("contestant", "milliseconds", "times scikit-learn"), rows),
        ]
    )


def ppca(n: int = 2000, d: int = 20, K: int = 4, q: int = 3, gaps: float = 0.0, most: int = 100) -> str:
    """Seconds to a fit, and those of ppca-rs until it is as likely, or `most` passes."""
    X = clusters(n, d, K, 1.5, gaps=gaps)
    begin = time.perf_counter()
    model = MixtureOfPPCA(K, q).fit(X)
    took = time.perf_counter() - begin
    rows: list[tuple[Any, ...]] = [("lowdim", took, 1.0, model.n_iter_, f"{model.objective_:.2f}")]
    module = peer("ppca_rs")
    if module:
        data = module.Dataset(X)
        mix, used, passes = module.PPCAMix.init(K, q, data), 0.0, 0
        while passes < most and mix.llk(data) < model.objective_ - 1e-3:
            begin = time.perf_counter()
            for _ in range(20):
                mix = mix.iterate(data)
            used, passes = used + time.perf_counter() - begin, passes + 20
        rows.append(("ppca-rs", used, used / took, passes, f"{mix.llk(data):.2f}"))
    return "\n\n".join(
        [
            f"### Mixture of PPCA, {n} x {d}, {K} clusters, {q} axes, {gaps:.0%} gaps ({CORES} threads)",
            table(("contestant", "seconds", "times ours", "passes", "log-likelihood"), rows),
        ]
    )


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(CORES):
        warnings.simplefilter("ignore")
        print(machine("python benchmarks/mixture.py"), flush=True)
        for part in (ppca, lambda: ppca(gaps=0.2), gmm):
            print("\n" + part(), flush=True)
