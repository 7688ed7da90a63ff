"""Maximum entropy unfolding: springs, gradients, likelihoods."""

import numpy as np
import pytest

import lowdim
from lowdim import MaximumEntropyUnfolding
from lowdim.models.spectral.meu import WantedDistances, log_likelihood, positive_springs, slope
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.models.spectral.tables import bent
from tests.oracles import unfolding as oracle


def test_springs_of_a_tree_are_the_inverse_lengths():
    """Along a path every stretch is free to be right: l = 1 / delta (and gamma -> 0)."""
    delta = np.array([1.0, 4.0, 0.25, 9.0, 1.0])
    found = positive_springs(WantedDistances(np.arange(5), np.arange(1, 6), delta, 6, 1e-9))
    assert found.multipliers == pytest.approx(1 / delta, rel=1e-6)


def test_gradient_by_finite_differences():
    Y = bent(14)
    Y = Y - Y.mean(axis=0)
    pairs = np.array([(i, i + s) for s in (1, 2, 3) for i in range(14 - s)])
    d = ((Y[pairs[:, 0]] - Y[pairs[:, 1]]) ** 2).mean(axis=1)
    want = WantedDistances(pairs[:, 0], pairs[:, 1], d, 14, 0.1)
    at = np.random.default_rng(0).random(len(d)) / d
    total = (Y**2).sum()
    K = np.linalg.inv(oracle.laplacian(pairs, at, 14) + 0.1 * np.eye(14))
    gradient = -1.5 * slope(want, np.linalg.cholesky(K).T)
    height = oracle.field_log_likelihood(pairs, at, 0.1, Y)
    assert log_likelihood(want, at, 3, total) == pytest.approx(height, rel=1e-10)
    for e in range(0, len(d), 5):
        step = np.zeros(len(d))
        step[e] = 1e-5 * at[e]
        rise = (
            oracle.field_log_likelihood(pairs, at + step, 0.1, Y)
            - oracle.field_log_likelihood(pairs, at - step, 0.1, Y)
        ) / (2 * step[e])
        assert gradient[e] == pytest.approx(rise, rel=1e-5, abs=1e-6)


@pytest.mark.slow
def test_positive_springs_are_the_best():
    """No other optimiser finds more; distances in use are met, the others are not exceeded."""
    Y = bent(9)
    model = MaximumEntropyUnfolding(1, n_neighbors=3).fit(Y)
    Y = Y - Y.mean(axis=0)
    best = oracle.positive_field(model.edges_, model.gamma_, Y)
    assert model.objective_ == pytest.approx(
        oracle.field_log_likelihood(model.edges_, model.multipliers_, model.gamma_, Y), rel=1e-10
    )
    assert best - 1e-3 < model.objective_
    assert model.objective_ > best - 1e-6
    assert model.kkt_ <= 1e-8
    i, j = model.edges_.T
    d, expected = ((Y[i] - Y[j]) ** 2).mean(axis=1), model.field().squared_distances()[i, j]
    used = model.multipliers_ > 0
    assert expected[used] == pytest.approx(d[used], rel=1e-7)
    assert (expected[~used] <= d[~used] * (1 + 1e-9)).all()
    assert 0 < used.sum() < len(used)


def test_free_springs_meet_every_distance():
    Y = bent(30)
    model = MaximumEntropyUnfolding(2, n_neighbors=5, multipliers="free").fit(Y)
    i, j = model.edges_.T
    d = ((Y[i] - Y[j]) ** 2).mean(axis=1)
    assert model.field().squared_distances()[i, j] == pytest.approx(d + 2 * model.eps_, rel=1e-7)
    assert model.objective_ > MaximumEntropyUnfolding(2, n_neighbors=5).fit(Y).objective_


def test_rows_that_almost_coincide_are_said_to():
    X = np.vstack([bent(15), bent(15)[:1] + 1e-9])
    with pytest.warns(LowdimWarning, match="LD458"):
        model = MaximumEntropyUnfolding().fit(X)
    assert model.kkt_ <= 1e-8
    assert model.eps_ > 0


def test_memory_is_forecast():
    X = np.random.default_rng(0).standard_normal((3000, 2))
    with pytest.raises(LowdimError, match="LD170"):
        MaximumEntropyUnfolding().fit(X, run=lowdim.Run(memory=10**9))


def test_the_objective_of_padded_distances_is_the_tables_own():
    """log p(Y) = p/2 log|P| - 1/2 tr(P YY') - np/2 log 2 pi with the model's own precision."""
    Y = np.random.default_rng(0).standard_normal((30, 3))
    fit = lowdim.MaximumEntropyUnfolding(2, multipliers="free", eps=1e-2, n_neighbors=29).fit(Y)
    P, centred = np.asarray(fit.field().precision), Y - Y.mean(axis=0)
    known = 0.5 * (3 * np.linalg.slogdet(P)[1] - np.trace(P @ centred @ centred.T) - 90 * np.log(2 * np.pi))
    assert fit.objective_ == pytest.approx(known, rel=1e-6)
