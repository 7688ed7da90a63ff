"""Kernel PCA against scikit-learn: 3000 x 20, five components; and 1e5 rows by 500 landmarks.

python benchmarks/kernel_pca.py
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from clock import contest, machine, times
from sklearn.decomposition import KernelPCA as Peer

import lowdim

GAMMA = 0.02
CHILD = """
import resource, sys, numpy as np, lowdim
from lowdim.models.spectral.kernel_pca import KernelPCA
rng = np.random.default_rng(0)
X = rng.standard_normal((100_000, 3)) @ rng.standard_normal((3, 20)) + 0.1 * rng.standard_normal((100_000, 20))
KernelPCA(5, approximation=sys.argv[1], n_landmarks=20).fit(X[:1000])
import time
before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
KernelPCA(5, approximation=sys.argv[1], n_landmarks=500).fit(X)
print(time.perf_counter() - begin, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3)
"""


def exact(threads: int) -> str:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3)) @ rng.standard_normal((3, 20)) + 0.5 * rng.standard_normal((3000, 20))
    runs = contest(
        {
            "lowdim": lambda: lowdim.KernelPCA(5, gamma=GAMMA).fit(X).eigenvalues_,
            "scikit-learn": lambda: Peer(5, kernel="rbf", gamma=GAMMA).fit(X).eigenvalues_,
        },
        threads,
    )
    return f"### Kernel PCA, 3000 x 20, five components, {threads} BLAS thread(s)\n\n" + times(
        runs, fifth_eigenvalue=lambda values: float(values[4])
    )


def landmarks() -> str:
    lines = [
        "### Kernel PCA, 100 000 x 20, 500 landmarks or features (a process of its own)\n",
        "| approximation | seconds | MB above the data |",
        "| --- | ---: | ---: |",
    ]
    for how in ("nystroem", "fourier"):
        done = subprocess.run([sys.executable, "-c", CHILD, how], capture_output=True, text=True, check=True)
        seconds, size = map(float, done.stdout.split())
        lines.append(f"| {how} | {seconds:.2f} | {size:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(machine("python benchmarks/kernel_pca.py"), flush=True)
    for count in (1, 2):
        print("\n" + exact(count), flush=True)
    print("\n" + landmarks())
