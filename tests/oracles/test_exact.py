"""PCA of stored doubles against 50 digits."""

import numpy as np
import pytest

from lowdim import PCA, PPCA
from tests.oracles import exact

SOLVERS = ["auto", "covariance", "dual", "qr", "krylov"]


def hard(offset: float = 0.0, fall: float = 1.0, seed: int = 0, n: int = 20, d: int = 5):
    """Columns with singular values 1, 10^-fall, 10^-2fall ... around an offset."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((n, d)))[0]
    V = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return U * 10.0 ** (-fall * np.arange(d)) @ V.T + offset


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("offset", [0.0, 100.0, 1e6])
def test_moderate_tables_to_the_last_digits(solver, offset):
    X = hard(offset, fall=0.3)
    mean, values, axes = exact.pca(X)
    model = PCA(3, solver=solver).fit(X)
    assert model.mean_ == pytest.approx(mean, rel=1e-15)
    assert model.explained_variance_ == pytest.approx(values[:3], rel=1e-12)
    assert np.abs((model.components_ * axes[:3]).sum(axis=1)) == pytest.approx(np.ones(3), abs=1e-13)
    total = values.sum()
    assert model.explained_variance_ratio_ == pytest.approx(values[:3] / total, rel=1e-12)
    assert model.noise_variance_ == pytest.approx(values[3:].mean(), rel=1e-11)


@pytest.mark.parametrize("fall", [1.0, 2.0, 3.0])
def test_digits_that_auto_and_qr_keep(fall):
    """Singular values down to 10^-4, -8, -12 of the first: at least 15 - k digits."""
    X = hard(fall=fall)
    _, values, _ = exact.pca(X)
    for solver in ("auto", "qr"):
        got = np.sqrt(PCA(solver=solver).fit(X).explained_variance_)
        digits = -np.log10(np.abs(got / np.sqrt(values) - 1) + 1e-16)
        wanted = 14.5 - fall * np.arange(5)
        assert (digits >= wanted - 1).all(), (solver, digits)


def test_ppca_in_closed_form():
    X = hard(10.0, fall=0.3)
    _, values, axes = exact.pca(X)
    values = values * 19 / 20
    model = PPCA(2).fit(X)
    s2 = values[2:].mean()
    assert model.noise_variance_ == pytest.approx(s2, rel=1e-12)
    want = (axes[:2].T * (values[:2] - s2)) @ axes[:2]
    assert model.components_.T @ model.components_ == pytest.approx(want, rel=1e-10, abs=1e-13)
    # Tipping and Bishop (1999), eq. 3 at the maximum: -n/2 (d log 2 pi + log|C| + d)
    top = -10 * (5 * np.log(2 * np.pi) + np.log(values[:2]).sum() + 3 * np.log(s2) + 5)
    assert model.objective_ == pytest.approx(top, rel=1e-12)
