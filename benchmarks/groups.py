"""Groups of rows: found where they are, and nowhere else, beside scikit-learn's Gaussian mixtures and HDBSCAN.

    python -m benchmarks.groups [TABLES [TABLES OF PEERS]] > benchmarks/groups.md

Laws of `tests/judge/grouped.py`, tables of 150 and of 400 rows; all three methods see the same places on the same map.
Limits were chosen with even seeds; what is printed is of odd ones.
"""

from __future__ import annotations

import sys
import time
import warnings
from datetime import date

import numpy as np
import sklearn
from sklearn.cluster import HDBSCAN
from sklearn.mixture import GaussianMixture

from lowdim import __version__, read
from lowdim.jobs.analysis import Analysis, Settings
from lowdim.judge.scales import on_suitable_scales
from tests.judge.grouped import BENT, SEVERAL, STRAIGHT, grouped, told

SIZES = (150, 400)
RIGHT = 0.75  # adjusted Rand index, beside the right number, from which groups are right: at 4 sd the best rule has 0.9
MOST = 8
HEAD = """# Groups of rows

`python -m benchmarks.groups {tables} {peers}`: {tables} tables a law and size ({peers} of them for the two peers), of
odd seeds (even ones set the limits), by the laws of `tests/judge/grouped.py`. One group: the share of tables in which
more are named. Several: the share in which the number is right and the adjusted Rand index at least {right}. All see
the same places on the same two axes (three of a roll and an S-curve), columns on the scale that reading chooses;
`GaussianMixture` takes the number and the covariance of the best BIC, `HDBSCAN` at least 5 % of the rows in a cluster.
The last column is of lowdim's groups alone.
Run on {today}, lowdim {version}, scikit-learn {sklearn}.

| law | rows | lowdim | GaussianMixture, BIC | HDBSCAN | CPU s |
| --- | --- | --- | --- | --- | --- |"""


def by_bic(z: np.ndarray) -> np.ndarray:
    fits = [
        GaussianMixture(K, covariance_type=kind, random_state=0, reg_covar=1e-4).fit(z)
        for K in range(1, MOST)
        for kind in ("full", "tied", "diag", "spherical")
    ]
    return min(fits, key=lambda fit: fit.bic(z)).predict(z)


def by_density(z: np.ndarray) -> np.ndarray:
    label = HDBSCAN(min_cluster_size=max(10, len(z) // 20), copy=True).fit_predict(z)
    return label if label.max() > 0 else np.zeros(len(z), dtype=int)


def one(law: str, n: int, seed: int, peers: bool = True) -> tuple[list[bool], float]:
    """Whether more groups than one are named, or the groups are right, by each method; and our seconds."""
    X, truth = grouped(law, n, seed)
    analysis = Analysis(
        on_suitable_scales(read(X)), Settings(dims=3 if law in ("roll", "S-curve") else 2, robust=False)
    )
    z = analysis.posterior.mean
    start = time.process_time()
    found = [analysis.groups.label]
    seconds = time.process_time() - start
    found += [by_bic(z), by_density(z)] if peers else []
    K = truth.max() + 1
    if K == 1:
        return [len(np.unique(label[label >= 0])) > 1 for label in found], seconds
    return [len(np.unique(label[label >= 0])) == K and told(truth, label) >= RIGHT for label in found], seconds


def main() -> None:
    warnings.simplefilter("ignore")
    tables = int(sys.argv[1]) if sys.argv[1:] else 200
    peers = int(sys.argv[2]) if sys.argv[2:] else tables
    words = {
        "tables": tables,
        "peers": peers,
        "right": RIGHT,
        "today": date.today(),
        "version": __version__,
        "sklearn": sklearn.__version__,
    }
    print(HEAD.format(**words))
    for what, laws in (("one group", STRAIGHT), ("one group, bent", BENT), ("right", SEVERAL)):
        for law in laws:
            for n in SIZES:
                results = [one(law, n, 2 * k + 1, k < peers) for k in range(tables)]
                shares = [np.mean([found[i] for found, _ in results if i < len(found)]) for i in range(3)]
                seconds = np.mean([spent for _, spent in results])
                print(f"| {what}: {law} | {n} | {' | '.join(f'{s:.0%}' for s in shares)} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
