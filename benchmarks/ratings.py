"""Ratings of movielens_small: held-out error of ours and the peers on the same five random 80/20 splits.

    OPENBLAS_NUM_THREADS=2 python benchmarks/ratings.py [splits] [contestant ...]

Peers that are not installed are left out (scikit-surprise, cmfrec, smurff, myfm). All have rank 10; "tuned" ones are
chosen on a tenth of the first split's training ratings, from the grids below.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from clock import installed, table

from lowdim import MatrixFactorization

DATA = Path(os.environ.get("LOWDIM_DATA", Path(__file__).resolve().parents[2] / "shared/data"))
COLUMNS = ["userId", "movieId", "rating"]
RANK = 10
SVD_GRID = [
    {"n_factors": k, "n_epochs": e, "reg_all": r, "lr_all": 0.01}
    for k, e, r in itertools.product((RANK, 50, 100), (30, 60), (0.05, 0.1))
]
CMF_GRID = [{"lambda_": value} for value in (3.0, 10.0, 20.0, 40.0)]
Predict = Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]


def splits(count: int) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Random halves of 80 and 20 per cent, by split number."""
    found = pd.read_csv(DATA / "movielens_small" / "ratings.csv")[COLUMNS]
    parts = []
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(found))
        cut = len(found) // 5
        parts.append((found.iloc[order[cut:]], found.iloc[order[:cut]]))
    return parts


def rmse(test: pd.DataFrame, predicted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((test.rating.to_numpy() - np.clip(predicted, 0.5, 5.0)) ** 2)))


def ours(train: pd.DataFrame, test: pd.DataFrame, **how: Any) -> np.ndarray:
    return np.asarray(MatrixFactorization(RANK, min_rating=0.5, max_rating=5.0, **how).fit(train).predict(test))


def surprise_with(make: Callable[[], Any]) -> Predict:
    def run(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
        from surprise import Dataset, Reader

        model = make().fit(Dataset.load_from_df(train, Reader(rating_scale=(0.5, 5.0))).build_full_trainset())
        return np.array([model.predict(u, i).est for u, i in zip(test.userId, test.movieId, strict=True)])

    return run


def svd(**how: Any) -> Predict:
    from surprise import SVD

    return surprise_with(lambda: SVD(random_state=0, **{"n_factors": RANK, **how}))


def svdpp() -> Predict:
    from surprise import SVDpp

    return surprise_with(lambda: SVDpp(n_factors=RANK, random_state=0, cache_ratings=True))


def cmf(**how: Any) -> Predict:
    import cmfrec

    def run(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
        named = train.rename(columns={"userId": "UserId", "movieId": "ItemId", "rating": "Rating"})
        model = cmfrec.CMF(k=RANK, verbose=False, nthreads=2, **how).fit(named)
        found = np.asarray(model.predict(test.userId.to_numpy(), test.movieId.to_numpy()), dtype=float)
        return np.where(np.isfinite(found), found, train.rating.mean())

    return run


def places(train: pd.DataFrame, test: pd.DataFrame) -> tuple[Any, Any, int, int]:
    both = pd.concat([train, test])
    users, items = both.userId.unique(), both.movieId.unique()
    u, i = ({x: at for at, x in enumerate(ids)} for ids in (users, items))
    pairs = [(part.userId.map(u).to_numpy(), part.movieId.map(i).to_numpy()) for part in (train, test)]
    return pairs[0], pairs[1], len(users), len(items)


def smurff_bpmf(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    import smurff

    a, b, n, m = places(train, test)
    middle = train.rating.mean()
    Y, T = (sp.coo_matrix((part.rating.to_numpy() - middle, at), shape=(n, m)) for part, at in ((train, a), (test, b)))
    found = smurff.BPMFSession(
        Y, Ytest=T, num_latent=RANK, burnin=100, nsamples=200, seed=0, num_threads=2, verbose=0
    ).run()
    said = {tuple(p.coords): p.pred_avg for p in found}
    return np.array([said[pair] for pair in zip(*b, strict=True)]) + middle


def myfm_gibbs(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    import myfm

    a, b, n, m = places(train, test)
    rows = [
        sp.hstack(
            [
                sp.csr_matrix((np.ones(len(at[0])), (np.arange(len(at[0])), at[0])), shape=(len(at[0]), n)),
                sp.csr_matrix((np.ones(len(at[1])), (np.arange(len(at[1])), at[1])), shape=(len(at[1]), m)),
            ],
            format="csr",
        )
        for at in (a, b)
    ]
    model = myfm.MyFMGibbsRegressor(rank=RANK, random_seed=0)
    model.fit(rows[0], train.rating.to_numpy(), n_iter=300, n_kept_samples=200)
    return np.asarray(model.predict(rows[1]))


def tuned(make: Callable[..., Predict], grid: list[dict[str, Any]]) -> Predict:
    """The best of a grid on a tenth of the first split's training ratings."""
    train = splits(1)[0][0]
    cut = len(train) // 10
    inner, held = train.iloc[cut:], train.iloc[:cut]
    scores = [rmse(held, make(**how)(inner, held)) for how in grid]
    print(f"tuned: {grid[int(np.argmin(scores))]}", flush=True)
    return make(**grid[int(np.argmin(scores))])


CONTESTANTS: dict[str, tuple[str | None, Callable[[], Predict]]] = {
    "lowdim, variational": (None, lambda: ours),
    "lowdim, variational, shared noise": (None, lambda: lambda a, b: ours(a, b, noise="shared")),
    "lowdim, map": (None, lambda: lambda a, b: ours(a, b, method="map")),
    "Surprise SVD": ("scikit-surprise", svd),
    "Surprise SVD, tuned": ("scikit-surprise", lambda: tuned(svd, SVD_GRID)),
    "Surprise SVD++": ("scikit-surprise", svdpp),
    "cmfrec": ("cmfrec", cmf),
    "cmfrec, tuned": ("cmfrec", lambda: tuned(cmf, CMF_GRID)),
    "smurff BPMF": ("smurff", lambda: smurff_bpmf),
    "myFM Gibbs": ("myfm", lambda: myfm_gibbs),
}


def main(count: int, names: list[str]) -> None:
    rows: list[tuple[Any, ...]] = []
    for name, (package, make) in CONTESTANTS.items():
        if (names and name not in names) or (package and installed(package) == "not installed"):
            continue
        run, begin = make(), time.perf_counter()
        found = [rmse(test, run(train, test)) for train, test in splits(count)]
        seconds = (time.perf_counter() - begin) / count
        figures = (f"{value:.4f}" for value in (float(np.mean(found)), min(found), max(found)))
        rows.append((name, *figures, seconds, installed(package or "lowdim")))
        print(rows[-1], flush=True)
    print(table(("contestant", "mean RMSE", "best", "worst", "seconds a split", "version"), rows))
    print(f"{count} splits, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, sys.argv[2:])
