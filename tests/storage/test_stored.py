"""Files written before the package was laid out by families still load and still say the same."""

from __future__ import annotations

import numpy as np
import pytest

import lowdim
import lowdim.registry
from tests.stored.make import HERE, ratings, table

MODELS = sorted(path.stem for path in (HERE / "models").glob("*.lowdim"))
GAPS = {
    "BayesianMixtureOfPPCA", "BayesianPCA", "CCA", "DualPPCA", "FactorAnalysis", "GTM", "GaussianMixture", "KMeans",
    "MixtureOfFA", "MixtureOfPPCA", "NonlinearFactorAnalysis", "PCA", "ProbabilisticPCA", "RobustPPCA",
}  # fmt: skip


SEARCHED = {"BayesianGPLVM", "GPLVM", "GPLVM-white"}  # places that a climb finds, to no more than about 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_stored_models_load_and_give_the_same_numbers(name):
    model = lowdim.load(HERE / "models" / f"{name}.lowdim")
    assert type(model).__name__ == name.partition("-")[0]
    if name == "MatrixFactorization":
        users, items, _ = ratings()
        found = model.predict(users[:10], items[:10])
    else:
        found = model.transform(table(name in GAPS))
    assert np.allclose(found, np.load(HERE / "expected.npz")[name], rtol=1e-7, atol=1e-6 if name in SEARCHED else 1e-8)


def test_every_class_with_files_is_stored():
    assert {name.partition("-")[0] for name in MODELS} == set(lowdim.registry.MODELS) - {"Mixture"}


def test_stored_runs_load(monkeypatch):
    monkeypatch.chdir(HERE)
    assert lowdim.load_run("runs/main").model.n_features_in_ == 5
    assert lowdim.load("runs/fa/model.lowdim").transform(table()).shape == (30, 2)
    with pytest.raises(lowdim.messages.FileError, match="LD319"):
        _ = lowdim.load_run("runs/fa").model
