"""100 million simulated ratings, 480,000 users x 17,770 items, rank 16: seconds a sweep and peak memory.

OPENBLAS_NUM_THREADS=1 python benchmarks/ratings_100m.py [sweeps] [share of the users]
"""

from __future__ import annotations

import os
import resource
import sys
import time

import numpy as np
import scipy.sparse as sp

from lowdim import MatrixFactorization, Run
from lowdim.engine.fit import Step

USERS, ITEMS, RANK, RATINGS = 480_000, 17_770, 16, 100_000_000
CHUNK = 20_000


def simulate(share: float = 1.0) -> sp.csr_array:
    """Ratings in half steps of 1 to 5, popular items rated more often and users differing in how many they rate."""
    rng = np.random.default_rng(0)
    users, total = int(USERS * share), int(RATINGS * share)
    W = rng.standard_normal((ITEMS, RANK)).astype(np.float32) * np.float32(0.2)
    bias = (0.4 * rng.standard_normal(ITEMS)).astype(np.float32)
    edges = np.cumsum(1.0 / (np.arange(ITEMS) + 200.0) ** 0.8)
    quantiles = (np.arange(2**20) + 0.5) / 2**20
    drawn = np.searchsorted(edges / edges[-1], quantiles).astype(np.int32)
    wanted = rng.gamma(1.5, size=users)
    wanted = np.minimum(np.maximum((wanted * 1.063 * total / wanted.sum()).astype(np.int64), 1), ITEMS // 2)
    indices, values = np.empty(int(1.05 * total), dtype=np.int32), np.empty(int(1.05 * total), dtype=np.float32)
    ptr, end = np.zeros(users + 1, dtype=np.int32), 0
    for begin in range(0, users, CHUNK):
        counts = wanted[begin : begin + CHUNK]
        keys = np.repeat(np.arange(len(counts), dtype=np.int32) * ITEMS, counts)
        keys += drawn[rng.integers(0, 2**20, len(keys), dtype=np.int32)]
        keys.sort()
        keys = keys[np.append(True, keys[1:] != keys[:-1])]  # an item is rated once
        u = keys // ITEMS
        i, size = keys - u * ITEMS, len(keys)
        z = rng.standard_normal((len(counts), RANK)).astype(np.float32)
        part = slice(end, end + size)
        indices[part], values[part] = i, bias[i] + np.float32(3.5)
        for at in range(0, size, 2**20):
            some = slice(at, at + 2**20)
            values[part][some] += np.einsum("nk,nk->n", z[u[some]], W[i[some]])
        values[part] += rng.standard_normal(size, dtype=np.float32) * np.float32(0.8)
        ptr[begin + 1 : begin + 1 + len(counts)] = end + np.cumsum(np.bincount(u, minlength=len(counts)))
        end += size
    values = np.clip(np.round(values[:end] * 2) / 2, 1.0, 5.0)
    return sp.csr_array((values, indices[:end], ptr), shape=(users, ITEMS))


def peak() -> float:
    """The most memory the process has held, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def sweep(sweeps: int, share: float = 1.0) -> tuple[float, None, int, str]:
    """Seconds of the best sweep after the first, and how it went."""
    begin = time.perf_counter()
    X = simulate(share)
    print(
        f"{X.nnz:,} ratings of {X.shape[0]:,} users and {X.shape[1]:,} items, simulated in "
        f"{time.perf_counter() - begin:.0f} s, peak {peak():.2f} GB",
        file=sys.stderr,
        flush=True,
    )
    times, cpu = [time.perf_counter()], [time.process_time()]

    def note(step: Step) -> bool:
        times.append(time.perf_counter())
        cpu.append(time.process_time())
        print(
            f"sweep {step.passes}: {times[-1] - times[-2]:.1f} s ({cpu[-1] - cpu[-2]:.1f} s of CPU), "
            f"objective {step.objective:.0f}, peak {peak():.2f} GB, load {os.getloadavg()[0]:.1f}",
            file=sys.stderr,
            flush=True,
        )
        return step.passes >= sweeps

    MatrixFactorization(RANK).fit(X, run=Run(callback=note))
    spent, used = np.diff(times)[1:], np.diff(cpu)[1:]
    told = f"{used.min():.1f} s of the processor a sweep, peak {peak():.1f} GB"
    return float(spent.min()), None, len(spent), told


if __name__ == "__main__":
    print(sweep(int(sys.argv[1]) if len(sys.argv) > 1 else 4, float(sys.argv[2]) if len(sys.argv) > 2 else 1.0))
