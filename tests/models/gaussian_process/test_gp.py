"""Gaussian processes: gradients by differences, likelihoods by SciPy, predictions, jitter."""

import mpmath
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from lowdim.models.gaussian_process.gp import (
    JITTER_LEVELS,
    Kernel,
    columns_by_pattern,
    condition,
    decoder,
    jittered_cholesky,
    likelihood,
    terms_of,
)

KERNELS = {"rbf": 3, "linear": 2, "mlp": 4, "bias+rbf+linear": 5, "mlp+rbf": 6}

kernels = pytest.mark.parametrize("names", KERNELS)


def small(names, gaps=True, n=14, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 2)), rng.standard_normal((n, d))
    seen = rng.random((n, d)) < 0.7
    seen[:, 1] = seen[:, 0]  # these two share a pattern
    kernel = Kernel(terms_of(names), 0.5 * rng.standard_normal(KERNELS[names]))
    return (X, np.where(seen, Y, 0.0), seen, kernel) if gaps else (X, Y, None, kernel)


@kernels
@pytest.mark.parametrize("gaps", [False, True])
def test_slopes_of_the_likelihood_by_differences(names, gaps):
    X, Y, seen, kernel = small(names, gaps)
    groups = columns_by_pattern(Y, seen)

    def value(vector):
        places, k = vector[: X.size].reshape(X.shape), Kernel(terms_of(names), vector[X.size :])
        return likelihood(k.cross(places, places), k.noise, groups).value

    found = likelihood(kernel.cross(X, X), kernel.noise, groups)
    dX, dtheta = kernel.gradient(X, kernel.parts(X, X), found.G)
    at, h = np.append(X.ravel(), kernel.theta), 1e-5
    told = np.array([(value(at + h * e) - value(at - h * e)) / (2 * h) for e in np.eye(len(at))])
    assert np.append(dX.ravel(), dtheta) == pytest.approx(told, abs=1e-6 * np.abs(told).max())


@kernels
def test_likelihood_a_column_at_a_time(names):
    X, Y, seen, kernel = small(names)
    K = kernel.cross(X, X) + kernel.noise * np.eye(len(X))
    told = sum(
        multivariate_normal(np.zeros(s.sum()), K[np.ix_(s, s)]).logpdf(y[s]) for y, s in zip(Y.T, seen.T, strict=True)
    )
    groups = columns_by_pattern(Y, seen)
    assert len(groups) == 4
    assert likelihood(K - kernel.noise * np.eye(len(X)), kernel.noise, groups).value == pytest.approx(told, rel=1e-12)
    assert np.diag(kernel.cross(X, X)) == pytest.approx(kernel.diagonal(X), rel=1e-12)


def test_wide_tables_are_narrowed():
    X, _, _, kernel = small("rbf")
    Y = np.random.default_rng(3).standard_normal((14, 60))
    K = kernel.cross(X, X) + kernel.noise * np.eye(14)
    told = multivariate_normal(np.zeros(14), K).logpdf(Y.T).sum()
    groups = columns_by_pattern(Y, None)
    assert groups[0].Y.shape == (14, 14)
    assert likelihood(kernel.cross(X, X), kernel.noise, groups).value == pytest.approx(told, rel=1e-12)


@kernels
def test_predictions_and_their_slopes(names):
    X, Y, seen, kernel = small(names)
    D, rng, h = decoder(kernel, X, Y, seen), np.random.default_rng(1), 1e-5
    Z, y, some = rng.standard_normal((6, 2)), rng.standard_normal((6, 5)), rng.random((6, 5)) < 0.7
    mean, var, parts = D.at(Z)
    for j, s in enumerate(seen.T):
        K = kernel.cross(X[s], X[s]) + kernel.noise * np.eye(s.sum())
        k = kernel.cross(Z, X[s])
        assert mean[:, j] == pytest.approx(k @ np.linalg.solve(K, Y[s, j]), abs=1e-10)
        assert var[:, j] == pytest.approx(kernel.diagonal(Z) - np.sum(k * np.linalg.solve(K, k.T).T, axis=1), abs=1e-10)
    value, slope = D.density(Z, y, some)
    told = np.where(some, norm(mean, np.sqrt(var + kernel.noise)).logpdf(y), 0.0).sum(axis=1)
    assert value == pytest.approx(told, rel=1e-10)
    by = np.stack(
        [(D.density(Z + h * e, y, some)[0] - D.density(Z - h * e, y, some)[0]) / (2 * h) for e in np.eye(2)], axis=1
    )
    assert slope == pytest.approx(by, abs=1e-6 * np.abs(by).max())
    by = np.stack([(D.at(Z + h * e)[0] - D.at(Z - h * e)[0]) / (2 * h) for e in np.eye(2)], axis=1)
    assert D.slopes(Z, parts) == pytest.approx(by, abs=1e-6 * np.abs(by).max())


def test_jitter_levels():
    K = np.ones((50, 50))  # rank one
    factor = jittered_cholesky(K)
    jitter = JITTER_LEVELS[factor.jitter_level]
    assert factor.jitter_level > 0 and jitter <= 1e-4
    assert np.allclose(factor.L @ factor.L.T, K + jitter * np.eye(50), rtol=0, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        jittered_cholesky(-K)
    assert jittered_cholesky(np.eye(3), jitter_level=2).jitter_level == 2  # it never goes down


def test_the_condition_number_is_finite():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    values = np.logspace(0, 6, 20)
    assert condition((Q * values) @ Q.T, 0.0) == pytest.approx(1e6, rel=1e-6)
    for K in (np.ones((9, 9)), np.zeros((9, 9)), np.full((9, 9), np.nan)):
        assert np.isfinite(condition(K, 0.0))


def test_variances_of_nearly_no_noise_keep_their_digits():
    """Against sixty digits: with a noise of 1e-8 the inverse of the kernel's matrix would leave none of them."""
    mpmath.mp.dps = 60
    x = np.linspace(-1.0, 1.0, 12)[:, None]
    kernel = Kernel(("rbf",), np.log([0.5, 2.0, 1e-8]))
    Z = np.array([[0.05], [0.93], [1.4]])
    found = decoder(kernel, x, np.sin(3 * x), None).at(Z)[1][:, 0]
    k = lambda a, b: kernel_value(np.exp(kernel.theta), a, b)  # noqa: E731
    K = mpmath.matrix([[k(a, b) + (mpmath.mpf(float(np.exp(kernel.theta[2]))) if i == j else 0)
                        for j, b in enumerate(x[:, 0])] for i, a in enumerate(x[:, 0])])  # fmt: skip
    for z, var in zip(Z[:, 0], found, strict=True):
        v = mpmath.matrix([k(z, a) for a in x[:, 0]])
        exact = k(z, z) - (v.T * mpmath.lu_solve(K, v))[0]
        assert var == pytest.approx(float(exact), rel=1e-6)


def kernel_value(t, a, b):
    v, g = (mpmath.mpf(float(number)) for number in t[:2])
    return v * mpmath.exp(-g * (mpmath.mpf(float(a)) - mpmath.mpf(float(b))) ** 2 / 2)
