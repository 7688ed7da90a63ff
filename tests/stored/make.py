"""Fitted models, a run of the main job and a run of one model, written by the version of the day.

`python tests/stored/make.py` wrote `models/`, `expected.npz` and `runs/` once, at 0.1.0 before the package was laid out
by families; later versions must still read them. Run again only to add a file, never to replace one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np

import lowdim as ld

HERE = Path(__file__).parent


def table(gaps: bool = False) -> np.ndarray:
    """30 x 5: two factors and noise."""
    rng = np.random.default_rng(7)
    W = np.array([[3.0, 1.0, 2.0, 0.0, 1.0], [0.0, 2.0, -1.0, 1.0, 1.5]])
    X = rng.standard_normal((30, 2)) @ W + 0.4 * rng.standard_normal((30, 5)) + [1.0, 2.0, 3.0, 0.0, -1.0]
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def classes() -> np.ndarray:
    return np.arange(30) % 3


def models() -> dict:
    """Every class that has files, with the options of the day, packed ones among them."""
    return {
        "Autoencoder": (ld.Autoencoder(2, hidden=(4,), max_iter=20), False),
        "BayesianGPLVM": (ld.BayesianGPLVM(3, n_inducing=6, max_iter=10), False),
        "BayesianMixtureOfPPCA": (ld.BayesianMixtureOfPPCA(3, 2, n_init=2), True),
        "BayesianPCA": (ld.BayesianPCA(3), True),
        "CCA": (ld.CCA(1, views=3), True),
        "ClassicalMDS": (ld.ClassicalMDS(2), False),
        "DensityNetwork": (ld.DensityNetwork(2, n_samples=16, hidden=3, max_iter=10), False),
        "DensityNetwork-rbf": (ld.DensityNetwork(2, n_samples=("grid", 4), hidden=("rbf", 3, 1.0), max_iter=10), False),
        "DensityNetwork-importance": (
            ld.DensityNetwork(2, n_samples=("importance", 10), hidden=("sigmoid", 3, 2), max_iter=5),
            False,
        ),
        "DualPPCA": (ld.DualPPCA(2), True),
        "FactorAnalysis": (ld.FactorAnalysis(2), True),
        "GPLVM": (ld.GPLVM(2, max_iter=20), False),
        "GPLVM-white": (ld.GPLVM(2, noise_floor=1e-3, max_iter=20), False),
        "GTM": (ld.GTM(2, grid=5, basis=3), True),
        "GTM-basis": (ld.GTM(2, grid=5, basis=(3, 1.5), random_state=1), False),
        "GaussianMixture": (ld.GaussianMixture(2, n_init=2), True),
        "ICA": (ld.ICA(2), False),
        "Isomap": (ld.Isomap(2), False),
        "Isomap-landmarks": (ld.Isomap(2, n_landmarks=9), False),
        "KMeans": (ld.KMeans(2), True),
        "KMedoids": (ld.KMedoids(2), False),
        "KernelPCA": (ld.KernelPCA(2, kernel="rbf"), False),
        "LaplacianEigenmaps": (ld.LaplacianEigenmaps(2), False),
        "LinearDiscriminant": (ld.LinearDiscriminant(), False),
        "LocallyLinearEmbedding": (ld.LocallyLinearEmbedding(2, n_neighbors=6), False),
        "MaximumEntropyUnfolding": (ld.MaximumEntropyUnfolding(2), False),
        "MaximumVarianceUnfolding": (ld.MaximumVarianceUnfolding(2), False),
        "MixedFactorAnalysis": (ld.MixedFactorAnalysis(2), True),
        "MixtureOfFA": (ld.MixtureOfFA(2, 1, n_init=2), True),
        "MixtureOfPPCA": (ld.MixtureOfPPCA(2, 1, n_init=2), True),
        "NonlinearFactorAnalysis": (ld.NonlinearFactorAnalysis(2, hidden=3, max_iter=8), True),
        "PCA": (ld.PCA(2), True),
        "ProbabilisticPCA": (ld.ProbabilisticPCA(2), True),
        "VarianceSelector": (ld.VarianceSelector(2), False),
    }


def ratings() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    users, items = np.nonzero(rng.random((20, 12)) < 0.5)
    score = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 12))
    return users, items, np.clip(np.round(3 + score[users, items]), 1, 5)


def main() -> None:
    import scipy.sparse as sp

    place, expected = HERE / "models", {}
    place.mkdir(exist_ok=True)
    for name, (model, gaps) in models().items():
        X = table(gaps)
        fitted = model.fit(X, classes()) if name == "LinearDiscriminant" else model.fit(X)
        fitted.save(place / f"{name}.lowdim")
        expected[name] = np.asarray(fitted.transform(X))
        print(name, expected[name].shape)
    users, items, values = ratings()
    fitted = ld.MatrixFactorization(2, max_iter=10).fit(sp.csr_array((values, (users, items)), shape=(20, 12)))
    fitted.save(place / "MatrixFactorization.lowdim")
    expected["MatrixFactorization"] = np.asarray(fitted.predict(users[:10], items[:10]))
    np.savez_compressed(HERE / "expected.npz", **expected)
    from lowdim.cli.entry import run

    rows = [",".join("" if np.isnan(v) else f"{v:.4f}" for v in row) for row in table(True)]
    (HERE / "table.csv").write_text("a,b,c,d,e\n" + "\n".join(rows) + "\n")
    shutil.rmtree(HERE / "runs", ignore_errors=True)
    (HERE / "runs").mkdir()
    os.chdir(HERE)
    run(["fit", "table.csv", "--out", "runs/main"])
    run(["fit", "table.csv", "-m", "fa", "--out", "runs/fa"])


if __name__ == "__main__":
    main()
