"""The speed of each model beside its best peer: one function a row of the table in results.md.

    python benchmarks/speed.py ROW      one row, as JSON (run.py starts a process for each and writes the table)

Both contestants take turns on one seeded table in one process; the best turn of each counts. On one thread that is
seconds of the processor, which other work on the machine disturbs least; on two it is seconds of the clock.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the oil flow is read as the tests read it


class Row(NamedTuple):
    """What is compared, and how much of the peer's time ours may take; where there is no peer, how many seconds."""

    title: str
    size: str
    threads: int
    peer: str
    asked: float | None
    job: Callable[[int], Measured]


class Measured(NamedTuple):
    """Seconds of both, how often each ran, and what else there is to say; the peer's are None where it has none."""

    ours: float
    peer: float | None
    rounds: int
    note: str = ""


def race(threads: int, rounds: int, ours: Callable[[], Any], peer: Callable[[], Any]) -> tuple[Measured, Any, Any]:
    """Both in turns, and their answers; what is imported at the first call is not counted where there are many."""
    from clock import contest
    from peers import quiet

    if rounds > 3:
        quiet(ours)()
        quiet(peer)()
    runs = contest({"ours": quiet(ours), "peer": quiet(peer)}, threads, rounds)
    mine, theirs = runs["ours"], runs["peer"]
    a, b = (mine.cpu, theirs.cpu) if threads == 1 else (mine.seconds, theirs.seconds)
    return Measured(a, b, min(mine.rounds, theirs.rounds)), mine.answer, theirs.answer


def serial(threads: int) -> Any:
    import lowdim

    return lowdim.Run(engine="serial" if threads == 1 else "threads")


# complete tables -------------------------------------------------------------------------------------------------
def pca(threads: int, n: int = 20_000, d: int = 500) -> Measured:
    """Ten axes of a tall table; the peer is the product of matrices alone, which any way to all axes needs."""
    from scipy.linalg.blas import dsyrk

    import lowdim

    X = np.random.default_rng(0).standard_normal((n, d))
    return race(threads, 12, lambda: lowdim.PCA(10).fit(X, run=serial(threads)), lambda: dsyrk(1.0, X.T))[0]


def ica(threads: int, n: int = 20_000, d: int = 10) -> Measured:
    from sklearn.decomposition import FastICA

    import lowdim

    rng = np.random.default_rng(0)
    S = np.c_[rng.laplace(size=(n, d // 2)), rng.uniform(-1, 1, (n, d - d // 2))]
    X = S @ rng.standard_normal((d, d))
    measured, mine, theirs = race(
        threads,
        25,
        lambda: lowdim.ICA(d).fit(X, run=serial(threads)).sources_,
        lambda: FastICA(d, random_state=0, whiten="unit-variance").fit_transform(X),
    )
    found = [np.abs(np.corrcoef(A.T, S.T)[:d, d:]).max(axis=0).min() for A in (mine, theirs)]
    return measured._replace(note=f"least correlation with a true source {found[0]:.4f}, peer {found[1]:.4f}")


# K-means ---------------------------------------------------------------------------------------------------------
FEW, MANY = 2, 22  # the difference of two fits is what their iterations cost, whatever else a fit does


def kmeans(threads: int, n: int, d: int, K: int) -> Measured:
    """An iteration of Lloyd from the same start, overlapping groups."""
    from clock import contest
    from peers import quiet
    from sklearn.cluster import KMeans

    import lowdim

    rng = np.random.default_rng(0)
    X = rng.standard_normal((K, d))[rng.integers(0, K, n)] + rng.standard_normal((n, d))
    made: dict[str, Callable[[], Any]] = {}
    for steps in (MANY, FEW):
        how = {"init": X[:K].copy(), "tol": 0.0, "max_iter": steps}
        made[f"ours {steps}"] = quiet(partial(lowdim.KMeans(K, **how).fit, X, run=serial(threads)))
        made[f"peer {steps}"] = quiet(partial(KMeans(K, n_init=1, algorithm="lloyd", **how).fit, X))
    runs = contest(made, threads, 15)
    spent = {name: run.cpu if threads == 1 else run.seconds for name, run in runs.items()}
    ours, peer = ((spent[f"{who} {MANY}"] - spent[f"{who} {FEW}"]) / (MANY - FEW) for who in ("ours", "peer"))
    whole = spent[f"ours {MANY}"] / spent[f"peer {MANY}"]
    inertia = [runs[f"{who} {MANY}"].answer.inertia_ for who in ("ours", "peer")]
    note = f"a whole fit of {MANY} steps {whole:.2f}; inertias differ by {abs(inertia[0] / inertia[1] - 1):.0e}"
    return Measured(ours, peer, runs[f"ours {MANY}"].rounds, note)


def kmeans_fit(threads: int, n: int, d: int, K: int, seeds: int, rounds: int) -> Measured:
    """A whole fit with one start, its own: the mean over seeds of the best turn of each."""
    from clock import contest
    from peers import quiet
    from sklearn.cluster import KMeans

    import lowdim

    rng = np.random.default_rng(0)
    X = rng.standard_normal((K, d))[rng.integers(0, K, n)] + rng.standard_normal((n, d))
    spent: dict[str, list[float]] = {"ours": [], "peer": []}
    inertia: dict[str, list[float]] = {"ours": [], "peer": []}
    for seed in range(seeds):
        how = {"n_init": 1, "random_state": seed}
        made = {
            "ours": quiet(partial(lowdim.KMeans(K, **how).fit, X, run=serial(threads))),
            "peer": quiet(partial(KMeans(K, **how).fit, X)),
        }
        for who, run in contest(made, threads, rounds).items():
            spent[who].append(run.cpu if threads == 1 else run.seconds)
            inertia[who].append(run.answer.inertia_)
    ratios = [f(inertia["ours"]) / f(inertia["peer"]) for f in (np.median, np.mean)]
    note = f"{seeds} seeds; median inertia {ratios[0]:.4f} of the peer's, mean inertia {ratios[1]:.4f}"
    return Measured(float(np.mean(spent["ours"])), float(np.mean(spent["peer"])), rounds, note)


# maps ------------------------------------------------------------------------------------------------------------
def roll(n: int = 2000, seed: int = 0) -> np.ndarray:
    """n rows of a swiss roll with a little noise."""
    rng = np.random.default_rng(seed)
    t, h = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n)), 21.0 * rng.random(n)
    return np.c_[t * np.cos(t), h, t * np.sin(t)] + 0.05 * rng.standard_normal((n, 3))


def likeness(A: np.ndarray, B: np.ndarray) -> str:
    """The smallest correlation of the columns of two maps, whatever their signs."""
    least = min(abs(float(np.corrcoef(a, b)[0, 1])) for a, b in zip(A.T, B.T, strict=True))
    return f"correlation of the maps {least:.6f}"


def maps(threads: int, ours: Callable[[], Any], peer: Callable[[], Any], rounds: int = 7) -> Measured:
    X = roll()
    measured, A, B = race(threads, rounds, lambda: ours().fit_transform(X), lambda: peer().fit_transform(X))
    return measured._replace(note=likeness(A, B))


def isomap(threads: int, landmarks: int | None = None) -> Measured:
    from sklearn.manifold import Isomap

    import lowdim

    ours = partial(lowdim.Isomap, 2, n_neighbors=10, n_landmarks=landmarks)
    return maps(threads, ours, partial(Isomap, n_components=2, n_neighbors=10))


def laplacian(threads: int) -> Measured:
    from sklearn.manifold import SpectralEmbedding

    import lowdim

    ours = partial(lowdim.LaplacianEigenmaps, 2, n_neighbors=9)  # scikit-learn counts the row itself as a neighbour
    how = {"n_components": 2, "affinity": "nearest_neighbors", "n_neighbors": 10, "random_state": 0}
    return maps(threads, ours, partial(SpectralEmbedding, **how), 25)


def lle(threads: int) -> Measured:
    from sklearn.manifold import LocallyLinearEmbedding

    import lowdim

    ours = partial(lowdim.LocallyLinearEmbedding, 2, n_neighbors=10)
    return maps(threads, ours, partial(LocallyLinearEmbedding, n_components=2, n_neighbors=10, random_state=0), 15)


def kernel_pca(threads: int, n: int = 3000) -> Measured:
    from sklearn.decomposition import KernelPCA

    import lowdim

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 20)) + 0.5 * rng.standard_normal((n, 20))
    measured, A, B = race(
        threads,
        9,
        lambda: lowdim.KernelPCA(5, gamma=0.02).fit(X).eigenvalues_,
        lambda: KernelPCA(5, kernel="rbf", gamma=0.02).fit(X).eigenvalues_,
    )
    return measured._replace(note=f"eigenvalues agree to {np.abs(A / B - 1).max():.0e}")


# bent maps of the oil flow ---------------------------------------------------------------------------------------
def gtm(threads: int, bells: int) -> Measured:
    """ugtm to its own stop, ours until its log-likelihood is past the one that ugtm ended with; the same bells."""
    from gtm import SQUARE, ours, theirs

    from tests.references.tables import oil

    X, _ = oil(DATA / "oil_flow")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    turns = []
    for _ in range(3):
        seconds, target = theirs(X, bells)
        turns.append((ours(X, bells, SQUARE**0.5, target), seconds))
    mine, peer = np.array(turns).min(axis=0)
    note = f"to a log-likelihood of {target:.1f}"
    return Measured(float(mine), float(peer), len(turns), note if np.isfinite(mine) else f"{note}: never there")


def gplvm(threads: int, subsets: int = 10) -> Measured:
    """100 rows of the oil flow, both to their own stop; mean seconds of subsets."""
    from gplvm import gpy, ours

    from tests.references.tables import oil

    X, _ = oil(DATA / "oil_flow")
    spent, ends = np.zeros(2), np.zeros(2)
    for seed in range(subsets):
        rows = np.random.default_rng(seed).choice(len(X), 100, replace=False)
        measured, A, B = race(threads, 2, partial(ours, X[rows], None, 5e-4), partial(gpy, X[rows]))
        spent += np.array([measured.ours, measured.peer]) / subsets
        ends += np.array([A[0], B[0]]) / subsets
    note = f"mean log-likelihood {ends[0]:.1f}, peer {ends[1]:.1f}"
    return Measured(float(spent[0]), float(spent[1]), 2, note)


def bayesian_gplvm(threads: int) -> Measured:
    """100 rows of the oil flow, ten starts each: seconds to the best bound that GPy finds."""
    from bayesian_gplvm import starts_race

    return Measured(*starts_race())


def ratings(threads: int) -> Measured:
    """103 million simulated ratings; the best sweep after the first, by the clock."""
    import ratings_100m

    return Measured(*ratings_100m.sweep(3))


DATA = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data"))
SKLEARN, ROLL, MARKS = "scikit-learn", "2,000 x 3", partial(isomap, landmarks=100)
SMALL, LARGE = partial(kmeans, n=20_000, d=20, K=10), partial(kmeans, n=100_000, d=50, K=50)
SMALL_FIT = partial(kmeans_fit, n=20_000, d=20, K=10, seeds=20, rounds=5)
LARGE_FIT = partial(kmeans_fit, n=100_000, d=50, K=50, seeds=5, rounds=2)
ROWS = {
    "kmeans-fit-20k-1": Row("K-means, a fit with one start", "20,000 x 20, K 10", 1, SKLEARN, 1.0, SMALL_FIT),
    "kmeans-fit-20k-2": Row("K-means, a fit with one start", "20,000 x 20, K 10", 2, SKLEARN, 1.0, SMALL_FIT),
    "kmeans-fit-100k-1": Row("K-means, a fit with one start", "100,000 x 50, K 50", 1, SKLEARN, 1.0, LARGE_FIT),
    "kmeans-fit-100k-2": Row("K-means, a fit with one start", "100,000 x 50, K 50", 2, SKLEARN, 1.0, LARGE_FIT),
    "kmeans-20k-1": Row("K-means, an iteration", "20,000 x 20, K 10", 1, SKLEARN, 1.0, SMALL),
    "kmeans-20k-2": Row("K-means, an iteration", "20,000 x 20, K 10", 2, SKLEARN, 1.0, SMALL),
    "kmeans-100k-1": Row("K-means, an iteration", "100,000 x 50, K 50", 1, SKLEARN, 1.0, LARGE),
    "kmeans-100k-2": Row("K-means, an iteration", "100,000 x 50, K 50", 2, SKLEARN, 1.0, LARGE),
    "pca-1": Row("PCA, ten axes", "20,000 x 500", 1, "one dsyrk", 1.3, pca),
    "pca-2": Row("PCA, ten axes", "20,000 x 500", 2, "one dsyrk", 1.3, pca),
    "isomap": Row("Isomap, exact", ROLL, 1, SKLEARN, 1 / 1.7, isomap),
    "isomap-landmarks": Row("Isomap, 100 landmarks", ROLL, 1, SKLEARN + ", exact", 1 / 20, MARKS),
    "laplacian": Row("Laplacian eigenmaps", ROLL, 1, SKLEARN, 1 / 2, laplacian),
    "lle": Row("Locally linear embedding", ROLL, 1, SKLEARN, None, lle),
    "kernel-pca-1": Row("Kernel PCA, five components", "3,000 x 20", 1, SKLEARN, 1 / 2, kernel_pca),
    "kernel-pca-2": Row("Kernel PCA, five components", "3,000 x 20", 2, SKLEARN, 1 / 2, kernel_pca),
    "gtm-4": Row("GTM 20 x 20, 4 x 4 bells", "1,000 x 12", 1, "ugtm", 1 / 15, partial(gtm, bells=4)),
    "gtm-6": Row("GTM 20 x 20, 6 x 6 bells", "1,000 x 12", 1, "ugtm", 1 / 15, partial(gtm, bells=6)),
    "gtm-8": Row("GTM 20 x 20, 8 x 8 bells", "1,000 x 12", 1, "ugtm", 1 / 15, partial(gtm, bells=8)),
    "gplvm": Row("GP-LVM", "100 x 12", 1, "GPy", 1 / 5, gplvm),
    "bayesian-gplvm": Row("Bayesian GP-LVM, to GPy's best of ten starts", "100 x 12", 1, "GPy", 1.0, bayesian_gplvm),
    "ica": Row("ICA, ten sources", "20,000 x 10", 1, SKLEARN, 1.0, ica),
    "ratings-100m": Row("Matrix factorization, a sweep", "480,000 x 17,770, 103 million", 2, "", 25.0, ratings),
}  # fmt: skip

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    row = ROWS[sys.argv[1]]
    print(json.dumps(row.job(row.threads)._asdict()))
