"""Nonlinear factor analysis: slopes by finite differences, the linear limit in closed form, gaps, verbs."""

import os
import signal

import numpy as np
import pytest

from lowdim import FactorAnalysis, NonlinearFactorAnalysis, Run, laws, load
from lowdim.math.mlp import drawn, pack
from lowdim.models.nonlinear.nonlinear_fa_bound import Bound, Rows, placed, points, regression
from lowdim.sources.arrays import as_source
from lowdim.text.messages import LowdimError, ModelWarning
from tests.models.nonlinear.test_autoencoder import by_differences
from tests.models.power_cut import resumed


def bow(n=120, noise=0.1, gaps=0.0, seed=0):
    """A bent line with Gaussian places along it."""
    rng = np.random.default_rng(seed)
    t = rng.standard_normal(n)
    X = np.column_stack([t, t**2 / 2, np.sin(2 * t), t]) + noise * rng.standard_normal((n, 4)) + [5.0, 0.0, 1.0, 0.0]
    return (np.where(rng.random(X.shape) * [1, 1, 1, 9] < gaps, np.nan, X) if gaps else X), t


def rows_of(n, d, gaps, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    mask = rng.random((n, d)) > 0.3 if gaps else None
    return Rows(x if mask is None else np.where(mask, x, 0.0), mask)


@pytest.mark.parametrize("amortised", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("q", [1, 2])
def test_gradients_by_finite_differences(q, gaps, amortised):
    rng = np.random.default_rng(1)
    layers, rows, w = drawn((q, 4, 3), rng), rows_of(5, 3, gaps), rng.uniform(0.5, 2.0, 5)
    bound = Bound(layers, drawn((6 if gaps else 3, 4, 2 * q), rng) if amortised else (), rows, w, 0.1)
    own = bound.own(np.hstack([rng.standard_normal((5, q)), -1 + 0.3 * rng.standard_normal((5, q))]))
    v = np.concatenate([pack(layers), [-0.7], pack(bound.coder) if amortised else own])
    told = by_differences(lambda u: bound.at(u)[0], v, 1e-4)
    assert bound.at(v)[1] == pytest.approx(told, abs=1e-6)
    m, p = rng.standard_normal((5, q)), pack(layers)
    told = by_differences(lambda u: regression(layers, rows, w, m, 0.1, u)[0], p, 1e-4)
    assert regression(layers, rows, w, m, 0.1, p)[1] == pytest.approx(told, abs=1e-6)


def test_points_have_the_moments_of_a_normal():
    u, share = points(2)
    assert len(u) == 9 and share.sum() == pytest.approx(1.0)
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (5, 0.0)):
        assert share @ u**power == pytest.approx([moment, moment], abs=1e-12)
    assert share @ (u[:, 0] ** 2 * u[:, 1] ** 2) == pytest.approx(1.0)


@pytest.mark.parametrize("gaps", [False, True])
def test_a_linear_network_has_its_posterior_in_closed_form(gaps):
    """One factor, cells linear in it: q is the exact posterior and the bound the exact log density."""
    rng = np.random.default_rng(3)
    a, psi, rows = rng.standard_normal((1, 4)), 0.4, rows_of(30, 4, gaps)
    theta, bound = placed(((a, np.zeros(4)),), psi, rows)
    for i in range(30):
        seen = np.ones(4, bool) if rows.mask is None else rows.mask[i]
        A, x = a[0, seen], rows.x[i, seen]
        precision = 1.0 + A @ A / psi
        assert theta[i, 0] == pytest.approx(A @ x / psi / precision, abs=1e-9)
        assert theta[i, 1] == pytest.approx(-0.5 * np.log(precision), abs=1e-9)
        C = np.outer(A, A) + psi * np.eye(len(A))
        exact = -0.5 * (x @ np.linalg.solve(C, x) + np.linalg.slogdet(C)[1] + len(x) * np.log(2 * np.pi))
        assert bound[i] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_bow_is_found(gaps):
    X, t = bow(gaps=gaps)
    fit = NonlinearFactorAnalysis(1, hidden=8, tol=2.0).fit(X)
    Z = fit.transform(X)[:, 0]
    assert abs(np.corrcoef(Z, t)[0, 1]) > 0.97
    assert fit.noise_variance_ == pytest.approx(0.01, rel=0.7)
    fresh = bow(seed=9, gaps=gaps)[0]
    with pytest.warns(ModelWarning, match="LD204"):  # the line follows one column alone
        line = FactorAnalysis(1).fit(X)
    assert fit.score(fresh) > line.score(fresh)  # a bound above the line's own density
    assert fit.fresh_bound_ == pytest.approx(fit.objective_, abs=0.1 * abs(fit.objective_) + 20)
    assert fit.score_samples(X).sum() == pytest.approx(fit.objective_, rel=1e-9)
    filled, sd = fit.impute(X, return_std=True)
    truth, hidden = bow()[0], np.isnan(X)
    assert not gaps or (np.abs(filled - truth)[hidden] < 3 * sd[hidden]).mean() > 0.85


def test_the_bound_is_below_the_log_density():
    """By brute force: the density of a row is an integral over one factor."""
    X = bow(60)[0]
    fit = NonlinearFactorAnalysis(1, hidden=6, tol=5.0).fit(X)
    z = np.linspace(-8, 8, 20001)[:, None]
    Y, s2 = fit.inverse_transform(z), fit.noise_variance_
    square = ((X[:10, None] - Y) ** 2).sum(axis=2)
    each = -0.5 * square / s2 - 2 * np.log(2 * np.pi * s2) - 0.5 * z[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)
    exact = np.logaddexp.reduce(each, axis=1) + np.log(z[1, 0] - z[0, 0])
    gap = exact - fit.score_samples(X[:10])
    assert (gap > -0.05).all() and np.median(gap) < 0.3  # three points are not the whole integral


def test_samples_and_files(tmp_path):
    X = bow()[0]
    fit = NonlinearFactorAnalysis(1, hidden=8, tol=5.0).fit(X)
    drawn_rows = fit.sample(3000)
    assert drawn_rows.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.4)
    fit.save(tmp_path / "n.lowdim")
    assert np.array_equal(load(tmp_path / "n.lowdim").transform(X), fit.transform(X))
    post = fit.posterior(np.full((1, 4), np.nan))
    assert post.mean[0, 0] == 0.0 and post.std[0, 0] == 1.0 and post.log_density[0] == 0.0
    assert "fresh samples" in fit.certificate_.text()


def test_bad_tables_and_words():
    equal = np.repeat(np.eye(2), 4, axis=0)
    with pytest.warns(ModelWarning, match="LD481"):
        fit = NonlinearFactorAnalysis(1, hidden=8, weight_prior=0.0, tol=1e-2).fit(equal)
    assert np.isfinite(fit.transform(equal)).all()
    X = bow()[0]
    X[:, 0] *= 1e6
    assert np.isfinite(NonlinearFactorAnalysis(1, hidden=4, standardize=True, tol=10.0).fit(X).score_samples(X)).all()
    with pytest.raises(LowdimError, match="1, 2 or 3"):
        NonlinearFactorAnalysis(4).fit(X)
    with pytest.raises(LowdimError, match="LD200"):
        NonlinearFactorAnalysis(2).fit(X[:, :1])


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_an_encoder_tells_the_places(gaps):
    X, t = bow(gaps=gaps)
    fit = NonlinearFactorAnalysis(1, hidden=8, tol=2.0, amortised=True).fit(X)
    assert abs(np.corrcoef(fit.transform(X)[:, 0], t)[0, 1]) > 0.97
    free = fit.params_._replace(coder=())
    block = fit.frame_.inward(as_source(X).sample(len(X)))
    searched = fit._posterior(free, block).log_density.sum()
    told = fit._posterior(fit.params_, block).log_density.sum()
    assert searched - 0.5 * len(X) < told <= searched + 0.05 * len(X)  # the search has the better bound of each row
    holed = np.where(np.arange(4) == 1, np.nan, X[:5])
    assert np.isfinite(fit.transform(holed)).all()
    post = fit.posterior(np.full((1, 4), np.nan))
    assert post.mean[0, 0] == 0.0 and post.std[0, 0] == 1.0 and post.log_density[0] == 0.0


@pytest.mark.parametrize("amortised", [False, True])
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.ModelWarning")  # LD201: thirty steps
def test_a_fit_that_died_goes_on_to_the_same_bits(amortised, tmp_path):
    X = bow(60, gaps=0.2)[0]
    model = NonlinearFactorAnalysis(1, hidden=5, max_iter=30, tol=1e-3, amortised=amortised)
    whole, again = resumed(model, X, tmp_path / "c", 12)
    assert again.calibration_ == whole.calibration_ != 1.0


def test_a_callback_keeps_the_best_so_far():
    seen = []
    fit = NonlinearFactorAnalysis(1, hidden=5).fit(
        bow()[0], run=Run(callback=lambda step: seen.append(step.objective) or len(seen) == 9)
    )
    assert fit.certificate_.reason == "stopped by the callback" and len(seen) == 9
    assert fit.history_.max() == fit.history_[-1] and not fit.converged_


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.ModelWarning")
def test_duplicate_rows_and_fewer_rows_than_units():
    for X in (np.repeat(bow(4)[0], 20, axis=0), bow(6)[0], bow()[0] * [1e6, 1.0, 1.0, 1.0]):
        fit = NonlinearFactorAnalysis(1, hidden=30, max_iter=60).fit(X)
        assert np.isfinite(fit.score_samples(X)).all()
        laws.finite(fit, X)


def test_ctrl_c_keeps_the_best():
    seen = []

    def callback(step):
        seen.append(step)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(ModelWarning, match="LD211"):
        fit = NonlinearFactorAnalysis(1, hidden=5).fit(bow()[0], run=Run(callback=callback))
    assert fit.certificate_.reason == "interrupted" and len(seen) == 4 and np.isfinite(fit.objective_)
