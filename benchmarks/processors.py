"""How many digits of a fit agree between kinds of processors: the same fits with other kernels of BLAS and NumPy.

    python benchmarks/processors.py            prints a table of digits, one row a model

OpenBLAS picks its kernels by the processor (OPENBLAS_CORETYPE overrides it) and NumPy its loops
(NPY_DISABLE_CPU_FEATURES); both change the last bits of sums. One child process a kind fits the same models.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import lowdim as ld

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("as found", "SkylakeX", "Haswell", "Zen", "Sandybridge", "Nehalem")


def table(gaps: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 12)) * 2 + 0.5 * rng.standard_normal((500, 12)) + 5
    X[rng.random(X.shape) < gaps] = np.nan
    return X


MODELS = {
    "PCA": (ld.PCA(3), 0.0, "components_"),
    "PCA, gaps": (ld.PCA(3), 0.2, "components_"),
    "probabilistic PCA": (ld.PPCA(3), 0.0, "components_"),
    "probabilistic PCA, gaps": (ld.PPCA(3), 0.2, "components_"),
    "factor analysis": (ld.FactorAnalysis(3), 0.0, "components_"),
    "factor analysis, gaps": (ld.FactorAnalysis(3), 0.2, "components_"),
    "Bayesian PCA, gaps": (ld.BayesianPCA(6), 0.2, "components_"),
    "Gaussian mixture": (ld.GaussianMixture(2), 0.0, "means_"),
    "K-means": (ld.KMeans(4), 0.0, "cluster_centers_"),
    "classical MDS": (ld.ClassicalMDS(2), 0.0, "embedding_"),
    "kernel PCA": (ld.KernelPCA(2), 0.0, "embedding_"),
    "Isomap": (ld.Isomap(2), 0.0, "embedding_"),
    "Laplacian eigenmaps": (ld.LaplacianEigenmaps(2), 0.0, "embedding_"),
    "locally linear embedding": (ld.LocallyLinearEmbedding(2), 0.0, "embedding_"),
    "GTM": (ld.GTM(2, grid=10), 0.0, "nodes_"),
}


def fitted(path: str) -> None:
    """Fit every model and store one array of each."""
    np.savez(path, **{name: getattr(model.fit(table(gaps)), what) for name, (model, gaps, what) in MODELS.items()})


def child(kind: str, path: Path) -> None:
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
    if kind != "as found":
        env["OPENBLAS_CORETYPE"] = kind
    if kind not in ("as found", "SkylakeX"):
        features = [sys.executable, str(ROOT / "tools" / "cpu_features.py"), "AVX512_SKX", "AVX512_ICL", "X86_V4"]
        env["NPY_DISABLE_CPU_FEATURES"] = subprocess.run(
            features, capture_output=True, text=True, check=True
        ).stdout.strip()
    subprocess.run([sys.executable, __file__, str(path)], env=env, check=True)


def digits(a: np.ndarray, b: np.ndarray) -> float:
    """Digits that two arrays share, of the largest entry."""
    off = float(np.max(np.abs(a - b)))
    return 16.0 if off == 0 else float(-np.log10(off / np.max(np.abs(a))))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for kind in KINDS:
            child(kind, path := Path(folder) / f"{kind}.npz")
            found[kind] = dict(np.load(path))
    print(f"{'digits shared with the processor as found':<42}" + "".join(f"{kind:>13}" for kind in KINDS[1:]))
    for name in MODELS:
        row = [digits(found[KINDS[0]][name], found[kind][name]) for kind in KINDS[1:]]
        print(f"{name:<42}" + "".join(f"{value:>13.1f}" for value in row))


if __name__ == "__main__":
    fitted(sys.argv[1]) if len(sys.argv) > 1 else main()
