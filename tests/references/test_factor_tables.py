"""Factor analysis of two standard tables against foreign optimisers."""

import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis as Peer

import lowdim
from tests.references.optimum import best, brute, starts_near
from tests.references.tables import numbers


def test_holzinger_swineford(need):
    """Three factors of nine tests: as good as L-BFGS from several places, better than scikit-learn's EM."""
    X = numbers(need("factor_analysis") / "holzinger_swineford_1939.csv", [f"x{j}" for j in range(1, 10)])
    assert X.shape == (301, 9)
    model = lowdim.FactorAnalysis(3).fit(X)
    value = model.score(X) * len(X)
    assert value == pytest.approx(model.objective_, abs=1e-8)
    assert value == pytest.approx(brute(X, model.components_.T, model.mean_, model.noise_variance_), abs=1e-7)
    starts = [start for seed in range(3) for start in starts_near(model, seed, 0.5)[1:]]
    assert value >= best(X, starts, steps=500) - 1e-4
    peer = Peer(3, tol=1e-10, max_iter=20000).fit(X)
    assert value >= peer.score(X) * len(X) - 1e-6
    assert value == pytest.approx(peer.score(X) * len(X), abs=0.01)
    assert model.goodness_of_fit_.dof == 12


def test_personality_items_with_gaps(need):
    X = numbers(need("factor_analysis") / "bfi.csv")[:, :25]
    assert X.shape == (2800, 25) and np.isnan(X).sum() == 508
    model = lowdim.FactorAnalysis(5).fit(X)
    assert model.converged_
    assert model.score(X) * len(X) == pytest.approx(model.objective_, abs=1e-6)
    rest = best(X, starts_near(model), steps=120)
    assert model.objective_ >= rest - 0.01
