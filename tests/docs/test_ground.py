"""docs/ground.md: every numbered statement, by numbers."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.differentiate import derivative

from lowdim.maths.graph import path_lengths
from tests.conftest import ROOT

RNG = np.random.default_rng(0)
D, Q = 5, 2
W, PSI, MU = RNG.standard_normal((D, Q)), RNG.uniform(0.3, 1.5, D), RNG.standard_normal(D)
C = W @ W.T + np.diag(PSI)
A = np.eye(Q) + W.T / PSI @ W
ROOT_OF_C = np.linalg.cholesky(C)


def near(a, b, rtol=1e-9):
    np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


def statement_1():
    x = RNG.standard_normal(D)
    joint = np.block([[np.eye(Q), W.T], [W, C]])  # of (z, x): conditioning by blocks knows nothing of A
    near(joint[:Q, Q:] @ np.linalg.solve(C, x - MU), np.linalg.solve(A, W.T @ ((x - MU) / PSI)))
    near(joint[:Q, :Q] - joint[:Q, Q:] @ np.linalg.solve(C, joint[Q:, :Q]), np.linalg.inv(A))


def statement_2():
    near(stats.gamma(3.0, scale=1 / 2.0).stats("mv"), (1.5, 0.75))
    x = np.linspace(0.5, 9, 20)
    near(stats.chi2(7).pdf(x), stats.gamma(3.5, scale=2.0).pdf(x))


def statement_3():
    for d in (10, 1000):
        near(stats.chi2(d).var() / stats.chi2(d).mean() ** 2, 2 / d)


def statement_4():
    a, b, r, tau = 2.0, 1.5, RNG.standard_normal(6), np.array([0.4, 1.0, 2.3])
    joint = stats.gamma(a, scale=1 / b).logpdf(tau) + [stats.norm(0, t**-0.5).logpdf(r).sum() for t in tau]
    posterior = stats.gamma(a + 3, scale=1 / (b + (r**2).sum() / 2)).logpdf(tau)
    near(np.diff(joint - posterior), 0.0)


def statement_5():
    for log_normaliser, law in ((np.exp, lambda t: stats.poisson(np.exp(t))), (lambda t: np.log1p(np.exp(t)), yes)):
        slope = derivative(log_normaliser, 0.4)
        near(slope.df, law(0.4).mean(), 1e-7)
        near(derivative(lambda t, f=log_normaliser: derivative(f, t).df, 0.4).df, law(0.4).var(), 1e-4)


def yes(t):
    return stats.bernoulli(1 / (1 + np.exp(-t)))


def statement_6():
    n, k = 40, 13
    log_likelihood = lambda p: k * np.log(p) + (n - k) * np.log1p(-p)  # noqa: E731
    step = 1e-4
    assert log_likelihood(k / n) > max(log_likelihood(k / n + step), log_likelihood(k / n - step))
    bend = (log_likelihood(k / n + step) - 2 * log_likelihood(k / n) + log_likelihood(k / n - step)) / step**2
    near(bend, -n / (k / n * (1 - k / n)), 1e-4)


def statement_7():
    x, B = RNG.standard_normal(D), RNG.standard_normal((D, D))
    near(x @ C @ x, np.trace(C @ np.outer(x, x)))
    near(np.trace(C @ B), np.trace(B @ C))


def statement_8():
    near(np.prod(np.linalg.eigvalsh(C)), np.linalg.det(C))
    E, step = np.zeros((D, D)), 1e-6
    E[1, 3] = step
    slope = (np.linalg.slogdet(C + E)[1] - np.linalg.slogdet(C - E)[1]) / (2 * step)
    near(slope, np.linalg.inv(C)[3, 1], 1e-6)


def statement_9():
    near(np.linalg.inv(C), np.diag(1 / PSI) - (W / PSI[:, None]) @ np.linalg.solve(A, (W / PSI[:, None]).T))
    near(np.linalg.det(C), np.prod(PSI) * np.linalg.det(A))


def statement_10():
    Y = RNG.standard_normal((4, 6))
    U, L, Vt = np.linalg.svd(Y, full_matrices=False)
    near(Y.T @ Y @ Vt.T, Vt.T * L**2)
    near(Y @ Y.T @ U, U * L**2)


def statement_11():
    near(np.linalg.solve(W.T @ W + 1e-9 * np.eye(Q), W.T), np.linalg.pinv(W), 1e-7)


def statement_12():
    value, r = (part[..., -1] for part in np.linalg.eigh(C))
    near(C @ r, value * r)
    near(r @ C @ r, value)
    others = RNG.standard_normal((200, D))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert (np.einsum("ij,jk,ik->i", others, C, others) <= value).all()


def statement_13():
    m = 0.3 * RNG.standard_normal(D)
    p, q = stats.multivariate_normal(m, C), stats.multivariate_normal(np.zeros(D), 2 * C)
    formula = 0.5 * (D / 2 + m @ np.linalg.solve(2 * C, m) - D + D * np.log(2))
    # the integrand is a constant and a quadratic form, whose mean points in pairs along the axes give exactly
    points = m + np.sqrt(D) * np.vstack([ROOT_OF_C.T, -ROOT_OF_C.T])
    near((p.logpdf(points) - q.logpdf(points)).mean(), formula)
    assert formula > 0


def statement_14():
    gauss = 0.5 * np.log(2 * np.pi * np.e)
    near(stats.norm().entropy(), gauss)
    near(stats.multivariate_normal(cov=C).entropy(), 0.5 * np.linalg.slogdet(2 * np.pi * np.e * C)[1])
    for other in (stats.laplace(scale=0.5**0.5), stats.uniform(scale=12**0.5), stats.logistic(scale=3**0.5 / np.pi)):
        near(other.var(), 1.0)
        assert other.entropy() < gauss


def statement_15():
    L, x, rest = np.linalg.inv(C), RNG.standard_normal(D), np.arange(1, D)
    near(-L[0, rest] @ x[rest] / L[0, 0], C[0, rest] @ np.linalg.solve(C[np.ix_(rest, rest)], x[rest]))
    near(1 / L[0, 0], C[0, 0] - C[0, rest] @ np.linalg.solve(C[np.ix_(rest, rest)], C[rest, 0]))


def statement_16():
    x = stats.norm(0, 1.5).ppf((np.arange(20000) + 0.5) / 20000)  # evenly spaced draws of q
    weight = stats.norm().pdf(x) / stats.norm(0, 1.5).pdf(x)
    near((weight * x**4).mean(), 3.0, 1e-2)  # the fourth moment of p


def statement_17():
    Z = RNG.standard_normal((9, 2))
    straight = np.linalg.norm(Z[:, None] - Z, axis=2)
    ring = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    paths = path_lengths(sp.csr_array(np.where((ring == 1) | (ring == 8), straight, 0.0)))
    assert (paths >= straight - 1e-12).all()
    assert (paths[:, :, None] <= paths[:, None, :] + paths.T[None, :, :] + 1e-12).all()


STATEMENTS = {int(name.removeprefix("statement_")): f for name, f in list(globals().items()) if "statement_" in name}


@pytest.mark.parametrize("number", STATEMENTS)
def test_a_statement_holds(number):
    STATEMENTS[number]()


def test_every_numbered_statement_is_checked():
    page = (ROOT / "docs" / "ground.md").read_text(encoding="utf-8")
    assert [int(k) for k in re.findall(r"^\*\*(\d+)\.", page, re.MULTILINE)] == sorted(STATEMENTS)
