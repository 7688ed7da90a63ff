"""Maximum variance unfolding: certificates and landmarks."""

import pytest

from lowdim import MaximumVarianceUnfolding
from lowdim.models.spectral.landmarks import farthest
from tests.models.spectral.tables import explained, roll
from tests.oracles import unfolding as oracle


def test_variance_is_certified_by_weak_duality():
    """Feasible, and no more than 1e-6 below a bound that any weights give: nothing of ours is trusted."""
    X = roll(80)[0]
    model = MaximumVarianceUnfolding(2, n_neighbors=5, cliques=False).fit(X)
    i, j = model.edges_.T
    d = ((X[i] - X[j]) ** 2).sum(axis=1)
    low, high = oracle.unfolding_bounds(model.edges_, d, model.field().covariance, model.multipliers_)
    assert low <= high * (1 + 1e-12)
    assert high / low - 1 < 1e-6
    assert model.gap_ < 1e-6
    assert model.objective_ == pytest.approx(low, rel=1e-6)
    assert "largest possible" in repr(model)


def test_clarabel_agrees():
    """Clarabel through cvxpy found 10195.400502480124 (benchmarks/unfolding.py solves it again)."""
    model = MaximumVarianceUnfolding(2, n_neighbors=6, cliques=False).fit(roll(60)[0])
    assert model.objective_ == pytest.approx(10195.400502480124, rel=1e-7)


@pytest.mark.drill
def test_300_farthest_of_3000_are_unrolled():
    X, truth = roll(3000)
    some = farthest(X, 300)
    model = MaximumVarianceUnfolding(2).fit(X[some])
    assert model.gap_ <= 1e-6
    assert (explained(model.embedding_, truth[some]) >= 0.99).all()


def test_landmarks_carry_the_other_rows():
    X, truth = roll(2000)
    model = MaximumVarianceUnfolding(2, n_landmarks=120).fit(X[:1000])
    assert len(model.landmarks_) == 120
    assert (explained(model.embedding_, truth[:1000]) >= 0.95).all()
    assert (explained(model.transform(X[1000:]), truth[1000:]) >= 0.95).all()
    assert model.transform(X[:1000]) == pytest.approx(model.embedding_, abs=1e-8)
