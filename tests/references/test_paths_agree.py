"""n = 50, p = 500, q = 2, true noise 0.25: four ways to one optimum, and the noise divided by p - q."""

import numpy as np
import pytest

import lowdim
from lowdim.engine.fold import Run
from lowdim.models.base.survey import survey_table
from lowdim.models.linear.principal_axes import principal
from lowdim.sources.arrays import as_source

N, P, Q = 50, 500, 2


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(2)
    return rng.standard_normal((N, Q)) @ rng.standard_normal((Q, P)) + 0.5 * rng.standard_normal((N, P))


@pytest.fixture(scope="module")
def truth(X):
    """Noise and log-likelihood from NumPy's singular values alone."""
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / N
    s2 = values[Q:].sum() / (P - Q)
    logdet = np.log(values[:Q]).sum() + (P - Q) * np.log(s2)
    return s2, -0.5 * N * (P * np.log(2 * np.pi) + logdet + P)


def closed_by(solver, X):
    seen = survey_table(as_source(X), Run(), standardize=False, wide=solver == "dual")
    return lowdim.PPCA(Q)._closed(principal(seen, Q, Run(), solver=solver), seen.frame)


def test_primal_from_the_covariance(X, truth):
    model = lowdim.PPCA(Q).partial_fit(X)
    assert model.noise_variance_ == pytest.approx(truth[0], rel=1e-13)
    assert model.objective_ == pytest.approx(truth[1], abs=1e-8)


def test_fit_chooses_the_dual(X, truth):
    model = lowdim.PPCA(Q).fit(X)
    assert model.certificate_.solver == "dual"
    assert model.noise_variance_ == pytest.approx(truth[0], rel=1e-13)
    assert model.objective_ == pytest.approx(truth[1], abs=1e-8)
    assert model.score(X) * N == pytest.approx(truth[1], abs=1e-8)


@pytest.mark.parametrize("solver", ["covariance", "dual", "qr"])
def test_every_closed_solver(X, truth, solver):
    fit = closed_by(solver, X)
    assert fit.certificate.solver == solver
    assert fit.params.psi[0] == pytest.approx(truth[0], rel=1e-13)
    assert fit.certificate.objective == pytest.approx(truth[1], abs=1e-8)


def test_em(X, truth):
    """A row of gaps only adds nothing to the likelihood, and sends the fit through EM."""
    with pytest.warns(UserWarning, match="LD121"):
        model = lowdim.PPCA(Q, tol=1e-13).fit(np.vstack([X, np.full(P, np.nan)]))
    assert model.certificate_.solver.startswith("em")
    assert model.noise_variance_ == pytest.approx(truth[0], rel=1e-8)
    assert model.objective_ == pytest.approx(truth[1], abs=1e-8)
