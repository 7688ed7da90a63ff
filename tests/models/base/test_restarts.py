"""Several starts in one call."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowdim
from lowdim.engine.fold import Run
from lowdim.text.messages import LowdimError


def arc(n: int = 80) -> np.ndarray:
    rng = np.random.default_rng(3)
    t = rng.uniform(0, 5, n)
    return np.column_stack([np.cos(t), np.sin(t), t]) + 0.05 * rng.standard_normal((n, 3))


MODELS = {
    "GTM": lowdim.GTM(1, grid=15, tol=0.01),
    "density": lowdim.DensityNetwork(1, n_samples=20, hidden=4, tol=0.01),
    "nlfa": lowdim.NonlinearFactorAnalysis(1, hidden=4, tol=0.05),
    "gplvm": lowdim.GPLVM(1, tol=0.01),
    "bgplvm": lowdim.BayesianGPLVM(2, n_inducing=8, tol=0.01),
    "autoencoder": lowdim.Autoencoder(1, hidden=3, max_iter=40),
    "mixture": lowdim.MixtureOfPPCA(2, 1, random_state=5),
    "kmeans": lowdim.KMeans(3, n_init=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_best_of_three_is_the_best_of_three_fits(name: str) -> None:
    X, model = arc(), MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = lowdim.best_of(model, X, 3)
        own = model.random_state
        seeds = (own, *((own or 0) + i for i in (1, 2)))
        others = {"init": "jitter"} if name == "GTM" else {}  # a start that the seed has a part in
        how = [{"random_state": own}, *({"random_state": s, **others} for s in seeds[1:])]
        each = [type(model)(**{**model.get_params(), **options}).fit(X).objective_ for options in how]
    assert found.seeds == seeds and found.objectives == tuple(each)
    assert found.model.objective_ == max(each)
    assert len(set(each)) > 1 or name in ("gplvm", "mixture", "kmeans")  # these find the same answer from every start
    assert "best of 3 starts" in found.text() and f"{max(each):.6g}" in found.text()


def test_a_callback_ends_all_and_the_best_so_far_is_kept() -> None:
    calls: list[Any] = []

    def enough(step: Any) -> bool:
        calls.append(step)
        return len(calls) > 30

    found = lowdim.best_of(lowdim.GTM(1, grid=10, tol=1e-11), arc(), 10, run=Run(callback=enough))
    assert len(found.objectives) < 10 and np.isfinite(found.model.nodes_).all()


def test_each_start_has_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    model = lowdim.DensityNetwork(1, n_samples=20, hidden=4, tol=0.01)
    run = Run(checkpoint=tmp_path / "all")
    first, again = (lowdim.best_of(model, arc(), 2, run=run) for _ in range(2))
    assert sorted(p.name for p in (tmp_path / "all").iterdir()) == ["start1", "start2"]
    assert first.objectives == again.objectives


def test_what_has_no_seed_or_no_starts_is_refused() -> None:
    with pytest.raises(LowdimError, match=r"(?s)LD210.*random_state"):
        lowdim.best_of(lowdim.PPCA(1), arc())
    with pytest.raises(LowdimError, match=r"(?s)LD210.*starts"):
        lowdim.best_of(lowdim.GTM(1), arc(), 0)


def test_seeds_go_on_from_a_number_of_numpys() -> None:
    model = lowdim.DensityNetwork(1, n_samples=9, hidden=2, tol=0.05, random_state=np.int64(1))
    found = lowdim.best_of(model, arc(40), 3)
    assert [int(s) for s in found.seeds if s is not None] == [1, 2, 3]
