"""Psi statistics against quadrature, the bound against its definition, slopes against differences; in pieces too."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import lowdim.models.gaussian_process.psi as psi_module
from lowdim.maths.linalg import lower
from lowdim.models.gaussian_process.bound import DIAGONAL, collapsed_bound, packed_gradient, ridge_of
from lowdim.models.gaussian_process.psi import PSI_KERNELS, VariationalParams, psi_gradients, psi_sums
from tests.oracles import psi as oracle


def small(kind="rbf", n=12, d=4, q=2, m=5, seed=0):
    rng = np.random.default_rng(seed)
    Y, seen = rng.standard_normal((n, d)), rng.random((n, d)) < 0.7
    p = VariationalParams(
        rng.standard_normal((n, q)),
        np.exp(0.3 * rng.standard_normal((n, q)) - 1),
        rng.standard_normal((m, q)),
        np.array([1.0, 0.3]),
        1.3,
        4.0,
    )
    return Y, seen, p if kind == "rbf" else p._replace(Z=np.zeros((0, q)), v=1.0)


def parts(kind, p):
    """The kernel, its inducing points and their matrix, for the oracle."""
    if kind == "linear":
        Z = np.diag(1 / np.sqrt(p.w))
        return oracle.linear(p.w), Z, np.eye(len(Z))
    k = oracle.rbf(p.w, p.v)
    return k, p.Z, k(p.Z, p.Z) + DIAGONAL * p.v * np.eye(len(p.Z))


def found(kind, p, Y, seen, kept=None):
    shares = np.ones((len(Y), 1)) if seen is None else seen.astype(float)
    K = PSI_KERNELS[kind](p).gram()
    told = collapsed_bound(K, ridge_of(p), p.beta, psi_sums(kind, p, Y, shares, kept))
    return told.value, packed_gradient(kind, p, told, psi_gradients(kind, p, Y, shares, told.down, kept))


@pytest.mark.parametrize("kind", PSI_KERNELS)
def test_statistics_by_quadrature(kind):
    Y, seen, p = small(kind)
    Y = np.where(seen, Y, 0.0)
    k, Z, _ = parts(kind, p)
    zero, one, two = oracle.averages(k, p.mu, p.S, Z)
    sums = psi_sums(kind, p, Y, seen.astype(float))
    i, j = lower(len(Z))
    assert sums.psi0 == pytest.approx(zero @ seen, rel=1e-12)
    assert sums.one == pytest.approx(one.T @ Y, rel=1e-10)
    assert sums.two == pytest.approx(np.einsum("npq,nd->pqd", two, seen)[i, j], rel=1e-10)
    assert sums.seen == pytest.approx(seen.sum(axis=0)) and sums.square == pytest.approx((Y**2).sum())


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", PSI_KERNELS)
def test_bound_by_definition(kind, gaps):
    Y, seen, p = small(kind)
    seen = seen if gaps else np.ones_like(seen)
    k, Z, K = parts(kind, p)
    told = oracle.bound(Y, seen, oracle.averages(k, p.mu, p.S, Z), K, p.beta, p.mu, p.S)
    Y = np.where(seen, Y, 0.0)
    assert found(kind, p, Y, seen)[0] == pytest.approx(told, abs=1e-8)
    if not gaps:
        value, slope = found(kind, p, Y, None)
        assert value == pytest.approx(told, abs=1e-8)
        assert slope == pytest.approx(found(kind, p, Y, seen)[1], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("gaps", [False, True])
def test_linear_is_variational_pca(gaps):
    Y, seen, p = small("linear", n=30, d=6)
    seen = seen if gaps else np.ones_like(seen)
    told = oracle.principal_bound(Y, seen, p.mu, p.S, p.w, p.beta)
    assert found("linear", p, np.where(seen, Y, 0.0), seen if gaps else None)[0] == pytest.approx(told, abs=1e-8)


def test_more_inducing_points_say_no_more_of_a_linear_kernel():
    """Any points that span the places, and the points of the closed form, make the same bound."""
    Y, seen, p = small("linear")
    Z = np.random.default_rng(4).standard_normal((2, 2))
    k = oracle.linear(p.w)
    told = oracle.bound(Y, np.ones_like(seen), oracle.averages(k, p.mu, p.S, Z), k(Z, Z), p.beta, p.mu, p.S)
    assert found("linear", p, Y, None)[0] == pytest.approx(told, abs=1e-8)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", PSI_KERNELS)
def test_slopes_by_differences(kind, gaps):
    Y, seen, p = small(kind)
    seen = seen if gaps else None
    Y, at, h = np.where(seen, Y, 0.0) if gaps else Y, p.pack(), 1e-5
    told = np.array(
        [
            (found(kind, p.unpack(at + h * e), Y, seen)[0] - found(kind, p.unpack(at - h * e), Y, seen)[0]) / (2 * h)
            for e in np.eye(len(at))
        ]
    )
    slope = found(kind, p, Y, seen)[1]
    if kind == "linear":
        told, slope = np.delete(told, -2), np.delete(slope, -2)  # its signal is all in w
    assert slope == pytest.approx(told, abs=1e-6 * np.abs(told).max())


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", PSI_KERNELS)
def test_pieces_and_what_is_kept_change_nothing(kind, gaps, monkeypatch):
    Y, seen, p = small(kind, n=50)
    seen = seen if gaps else None
    Y = np.where(seen, Y, 0.0) if gaps else Y
    whole, kept = found(kind, p, Y, seen), found(kind, p, Y, seen, [])
    assert whole[0] == kept[0] and np.array_equal(whole[1], kept[1])
    monkeypatch.setattr(psi_module, "CACHED_CELLS", 150)
    again = found(kind, p, Y, seen)
    assert again[0] == pytest.approx(whole[0], rel=1e-12)
    assert again[1] == pytest.approx(whole[1], rel=1e-8, abs=1e-8 * np.abs(whole[1]).max())


def test_the_bound_is_exact_without_doubt():
    """Places without doubt, an inducing point at each: then it is the likelihood less the divergence."""
    Y, seen, p = small()
    p = p._replace(S=np.full_like(p.S, 1e-12), Z=p.mu.copy())
    K = p.v * np.exp(-0.5 * (((p.mu[:, None] - p.mu) ** 2) @ p.w)) + np.eye(12) / p.beta
    away = oracle.divergence(p.mu, p.S)
    told = multivariate_normal(np.zeros(12), K).logpdf(Y.T).sum()
    assert found("rbf", p, Y, None)[0] + away == pytest.approx(told, abs=1e-3)
    told = sum(
        multivariate_normal(np.zeros(s.sum()), K[np.ix_(s, s)]).logpdf(y[s]) for y, s in zip(Y.T, seen.T, strict=True)
    )
    assert found("rbf", p, np.where(seen, Y, 0.0), seen)[0] + away == pytest.approx(told, abs=1e-3)


def test_equal_rows_and_places_have_slopes():
    """Equal inputs must not make gradients of NaN."""
    Y, _, p = small()
    p = p._replace(mu=np.zeros_like(p.mu), Z=np.zeros_like(p.Z))
    value, slope = found("rbf", p, np.tile(Y[:1], (12, 1)), None)
    assert np.isfinite(value) and np.isfinite(slope).all()
