"""Facts of probabilistic PCA: other eigenvectors are saddle points, and constrained EM needs no turning afterwards."""

from itertools import combinations

import numpy as np
import pytest

from lowdim import PCA, PPCA
from tests.oracles.differences import by_differences


def table(seed=0, n=80, d=5):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((n, d))
        * np.array([3.0, 2.6, 2.2, 0.8, 0.4])[:d]
        @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    )


def log_likelihood(theta, S, n, q):
    """n rows with covariance S about their mean under W W' + s2 I; theta is W, then log s2."""
    d = len(S)
    W = theta[:-1].reshape(d, q)
    C = W @ W.T + np.exp(theta[-1]) * np.eye(d)
    return -0.5 * n * (d * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S)))


def stationary(values, U, subset):
    """Tipping and Bishop's solution from some eigenvectors; None where their variances do not exceed the noise."""
    rest = np.setdiff1d(np.arange(len(values)), subset)
    s2 = values[rest].mean()
    if (values[list(subset)] <= s2).any():
        return None
    return np.append((U[:, list(subset)] * np.sqrt(values[list(subset)] - s2)).ravel(), np.log(s2))


@pytest.mark.parametrize("q", [1, 2])
def test_any_other_subset_of_eigenvectors_is_a_saddle(q):
    X = table()
    n, S = len(X), np.cov(X.T, bias=True)
    values, U = np.linalg.eigh(S)
    values, U = values[::-1], U[:, ::-1]
    best = PPCA(q).fit(X).objective_
    saddles = 0
    for subset in combinations(range(5), q):
        theta = stationary(values, U, subset)
        if theta is None:
            continue
        value = log_likelihood(theta, S, n, q)
        gradient = by_differences(lambda t: log_likelihood(t, S, n, q), theta)
        assert np.abs(gradient).max() < 1e-7 * n
        if subset == tuple(range(q)):
            assert value == pytest.approx(best, abs=1e-8 * abs(best))
            continue
        saddles += 1
        assert value < best - 1.0
        left_out = min(set(range(5)) - set(subset))  # an eigenvector that was passed over for a shorter one
        weakest = int(np.argmin(values[list(subset)]))
        step = np.zeros_like(theta)
        step[:-1].reshape(5, q)[:, weakest] = 0.05 * U[:, left_out]
        assert log_likelihood(theta + step, S, n, q) > value + 1e-3
        assert log_likelihood(theta - step, S, n, q) > value + 1e-3
    assert saddles >= q


def constrained_em(X, q, passes):
    """Ahn and Oh (2003): EM for PCA whose steps are cut to triangles, so that it ends on the axes, not their span."""
    Y = (X - X.mean(axis=0)).T
    W = np.random.default_rng(0).standard_normal((len(Y), q))
    for _ in range(passes):
        Z = np.linalg.solve(np.tril(W.T @ W), W.T @ Y)
        W = Y @ Z.T @ np.linalg.inv(np.triu(Z @ Z.T))
    return W / np.linalg.norm(W, axis=0)


def test_constrained_em_ends_on_the_axes_that_turning_gives():
    X = table(3)
    W = constrained_em(X, 3, 800)
    for model in (PPCA(3).fit(X), PCA(3).fit(X)):
        axes = model.components_ / np.linalg.norm(model.components_, axis=1)[:, None]
        assert np.abs(axes @ W) == pytest.approx(np.eye(3), abs=1e-6)
    plain = np.linalg.qr(W @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0])[0]
    assert np.abs(np.abs(plain.T @ W) - np.eye(3)).max() > 0.1  # the same span, other axes
