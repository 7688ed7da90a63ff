"""GP-LVM: slopes by differences, likelihoods by SciPy, places by quadrature, its linear limit, and bad tables."""

import signal

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm, spearmanr

import lowdim.models.gaussian_process.gp as gp
from lowdim import GPLVM, DualPPCA, Run, laws
from lowdim.math.optimise import climb, climb_rows
from lowdim.models.gaussian_process.gp import KernelSum, column_groups, decoder, jittered_cholesky, likelihood
from lowdim.text.messages import FitError, ModelWarning, OptionError, TableError, VerbError

KERNELS = {"rbf": 3, "linear": 2, "mlp": 4, "bias+rbf+linear": 5, "mlp+rbf": 6}
kernels = pytest.mark.parametrize("names", KERNELS)


def arc(n=40, noise=0.05, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), t, t**2 / 3]) + noise * rng.standard_normal((n, 4)) + [5.0, 0, 1, 2]
    return np.where(rng.random(X.shape) < gaps, np.nan, X), t


def small(names, gaps=True, n=14, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 2)), rng.standard_normal((n, d))
    seen = rng.random((n, d)) < 0.7
    seen[:, 1] = seen[:, 0]  # these two share a pattern
    kernel = KernelSum(names, 0.5 * rng.standard_normal(KERNELS[names]))
    return (X, np.where(seen, Y, 0.0), seen, kernel) if gaps else (X, Y, None, kernel)


# the mathematics ------------------------------------------------------------------------------------------------
@kernels
@pytest.mark.parametrize("gaps", [False, True])
def test_slopes_of_the_likelihood_by_differences(names, gaps):
    X, Y, seen, kernel = small(names, gaps)
    groups = column_groups(Y, seen)

    def value(vector):
        places, k = vector[: X.size].reshape(X.shape), KernelSum(names, vector[X.size :])
        return likelihood(sum(k.cross(places, places)), k.noise, groups).value

    parts = kernel.cross(X, X)
    dX, dtheta = kernel.gradient(X, parts, likelihood(sum(parts), kernel.noise, groups).G)
    at, h = np.append(X.ravel(), kernel.theta), 1e-5
    told = np.array([(value(at + h * e) - value(at - h * e)) / (2 * h) for e in np.eye(len(at))])
    assert np.append(dX.ravel(), dtheta) == pytest.approx(told, abs=1e-6 * np.abs(told).max())


@kernels
def test_likelihood_a_column_at_a_time(names):
    X, Y, seen, kernel = small(names)
    K = sum(kernel.cross(X, X)) + kernel.noise * np.eye(len(X))
    told = sum(
        multivariate_normal(np.zeros(s.sum()), K[np.ix_(s, s)]).logpdf(y[s]) for y, s in zip(Y.T, seen.T, strict=True)
    )
    groups = column_groups(Y, seen)
    assert len(groups) == 4
    assert likelihood(K - kernel.noise * np.eye(len(X)), kernel.noise, groups).value == pytest.approx(told, rel=1e-12)
    assert np.diag(sum(kernel.cross(X, X))) == pytest.approx(kernel.diagonal(X), rel=1e-12)


def test_wide_tables_are_narrowed():
    X, _, _, kernel = small("rbf")
    Y = np.random.default_rng(3).standard_normal((14, 60))
    K = sum(kernel.cross(X, X)) + kernel.noise * np.eye(14)
    told = multivariate_normal(np.zeros(14), K).logpdf(Y.T).sum()
    groups = column_groups(Y, None)
    assert groups[0].Y.shape == (14, 14)
    assert likelihood(sum(kernel.cross(X, X)), kernel.noise, groups).value == pytest.approx(told, rel=1e-12)


@kernels
def test_predictions_and_their_slopes(names):
    X, Y, seen, kernel = small(names)
    D, rng, h = decoder(kernel, X, Y, seen), np.random.default_rng(1), 1e-5
    Z, y, some = rng.standard_normal((6, 2)), rng.standard_normal((6, 5)), rng.random((6, 5)) < 0.7
    mean, var, parts = D.at(Z)
    for j, s in enumerate(seen.T):
        K = sum(kernel.cross(X[s], X[s])) + kernel.noise * np.eye(s.sum())
        k = sum(kernel.cross(Z, X[s]))
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


def test_rows_climb_as_scipy_does():
    def f(rows, Z):  # a bent valley, another one for each row
        a = rows[:, None] / 3.0
        u, v = Z[:, :1] - a, Z[:, 1:] - Z[:, :1] ** 2
        return -(u**2 + 5 * v**2).ravel(), np.hstack([-2 * u + 20 * v * Z[:, :1], -10 * v])

    start = np.random.default_rng(0).standard_normal((7, 2))
    found = climb_rows(f, start, np.tile(np.eye(2), (7, 1, 1)))
    for i in range(7):
        told = minimize(lambda z, i=i: -f(np.array([i]), z[None])[0][0], start[i], tol=1e-12).x
        assert found[i] == pytest.approx([i / 3, i**2 / 9], abs=1e-9)
        assert found[i] == pytest.approx(told, abs=1e-5)
    assert found[[2, 5]] == pytest.approx(
        climb_rows(lambda r, Z: f(np.array([2, 5])[r], Z), start[[2, 5]], np.tile(np.eye(2), (2, 1, 1))), abs=1e-12
    )


def test_a_climb_keeps_the_best_and_can_be_stopped():
    def f(x):
        return -float((x**4).sum()), -4 * x**3

    free = (np.full(3, -np.inf), np.full(3, np.inf))
    heard = []
    peak = climb(f, np.ones(3), lambda x, v: heard.append(v) or False, bounds=free, max_iter=500, tol=1e-14)
    assert peak.reason == "converged" and np.abs(peak.x).max() < 0.01
    assert heard == sorted(heard) and peak.value == max(heard)
    stopped = climb(f, np.ones(3), lambda x, v: len(heard) > 0, bounds=free, max_iter=500, tol=1e-14)
    assert stopped.reason == "stopped" and stopped.value == f(np.ones(3))[0]
    edge = climb(f, np.ones(3), lambda x, v: False, bounds=(np.full(3, 0.5), free[1]), max_iter=500, tol=1e-14)
    assert edge.x == pytest.approx(np.full(3, 0.5))


# the model ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(30, 6), (12, 40)])
def test_linear_is_dual_ppca(shape):
    rng = np.random.default_rng(0)
    X = 2 * rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1])) + rng.standard_normal(shape) + 3
    ours, dual = GPLVM(2, kernel="linear").fit(X), DualPPCA(2).fit(X)
    assert ours.objective_ == pytest.approx(dual.objective_, rel=1e-10)
    assert ours.noise_variance_ == pytest.approx(dual.noise_variance_, rel=1e-10)
    scaled = ours.embedding_ * np.sqrt(ours.kernel_["linear variance"])
    assert np.abs(scaled) == pytest.approx(np.abs(dual.embedding_), rel=1e-6, abs=1e-8)


def test_a_climb_with_the_linear_kernel_comes_to_dual_ppca():
    X, _ = arc(25)
    free = GPLVM(1, kernel="linear", back_constraints=True, tol=1e-6).fit(X)  # every place can be had, none is fixed
    assert free.objective_ == pytest.approx(GPLVM(1, kernel="linear").fit(X).objective_, abs=1.0)


def test_an_arc_is_straightened():
    X, t = arc()
    model = GPLVM(1).fit(X)
    assert abs(spearmanr(model.embedding_[:, 0], t).statistic) > 0.99
    assert np.abs(model.transform(X) - model.embedding_).max() < 0.2  # places of a fit have no prior, new ones have
    assert np.sqrt(np.mean((model.reconstruct(X) - X) ** 2)) < 0.08
    assert (model.embedding_**2).mean() == pytest.approx(1.0)
    with pytest.raises(VerbError, match="LD240"):
        _ = model.partial_fit


def test_new_rows_and_gaps():
    X, _ = arc(60, gaps=0.15)
    model = GPLVM(1, random_state=0).fit(X)
    full, u = arc(50, seed=9)
    new = np.where(np.random.default_rng(2).random(full.shape) < 0.25, np.nan, full)
    place = model.transform(full)[:, 0]
    assert abs(spearmanr(place, u).statistic) > 0.98
    filled, std = model.impute(new, return_std=True)
    gone = np.isnan(new)
    assert np.sqrt(np.mean((filled - full)[gone] ** 2)) < 0.3 * np.sqrt(np.mean((full - full.mean(0))[gone] ** 2))
    assert (np.abs(filled - full)[gone] < 3 * std[gone]).mean() > 0.9
    assert model.transform(full[7:9]) == pytest.approx(model.transform(full)[7:9], abs=1e-8)
    assert np.isfinite(model.sample(20)).all() and model.calibration_ != 1.0


def test_laplace_against_quadrature():
    X, _ = arc(30)
    model = GPLVM(1).fit(X)
    p = model.params_
    D, sd = p.decoder(), np.sqrt(p.spread[0, 0])
    new, _ = arc(5, seed=4)
    y = model.frame_.inward(laws.as_source(new).sample(5)).x - p.mu
    found = model.posterior(new)
    for i in range(5):
        z = found.mean[i, 0] + np.linspace(-8, 8, 401) * found.std[i, 0]
        logs = D.density(z[:, None], np.tile(y[i], (401, 1)), np.ones((401, 4), bool))[0]
        logs = logs + norm(p.centre[0], sd).logpdf(z)
        joint = np.exp(logs - logs.max())
        total = np.log(trapezoid(joint, z)) + logs.max()
        assert found.log_density[i] == pytest.approx(total + np.log(model.frame_.scale).sum(), abs=0.3)
        assert joint @ z / joint.sum() == pytest.approx(found.mean[i, 0], abs=found.std[i, 0])


def test_predictive_variance_is_small_near_rows():
    X, _ = arc()
    model = GPLVM(1).fit(X)
    near, far = model.predictive_variance(model.embedding_[:5]), model.predictive_variance([[50.0]])
    assert (near < 0.2 * far).all()
    assert far == pytest.approx(model.kernel_["rbf variance"] + model.noise_variance_, rel=1e-6)
    mean, std = model.inverse_transform([[50.0], [0.1]], return_std=True)
    assert mean[0] == pytest.approx(X.mean(axis=0)) and std[0] ** 2 == pytest.approx(far[0])
    with pytest.raises(TableError, match="LD220"):
        model.predictive_variance([[1.0, 2.0]])


@pytest.mark.parametrize("gaps", [False, True])
def test_laws(gaps):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((22, 1)) @ [[3.0, 1.0, 2.0, -1.0]] + 0.5 * rng.standard_normal((22, 4)) + [1.0, 2, 3, 10]
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[10] = np.nan
    laws.check(GPLVM(1, tol=1.0), X, verbose=False)


def test_starts():
    X, t = arc(50, noise=0.02)
    given = GPLVM(1, init=t[:, None]).fit(X)
    assert GPLVM(1, init="isomap").fit(X).objective_ == pytest.approx(given.objective_, abs=30)
    assert GPLVM(1, init="gtm").fit(X).objective_ == pytest.approx(given.objective_, abs=30)
    best = GPLVM(1, n_init=3, random_state=1).fit(X)
    assert best.objective_ >= GPLVM(1).fit(X).objective_ - 1e-9
    with pytest.raises(OptionError, match="LD474"):
        GPLVM(1, init=t).fit(X)
    for bad in ({"kernel": "cubic"}, {"kernel": "bias"}, {"kernel": "rbf+rbf"}, {"init": "best"}, {"n_init": 0}):
        with pytest.raises(OptionError, match="LD210"):
            GPLVM(**bad).fit(X)
    with pytest.raises(TableError, match="LD283"):
        GPLVM().fit(laws.as_source(X, weight=np.ones(50)))
    with pytest.raises(OptionError, match="LD200"):
        GPLVM(5).fit(X)


def test_back_constraints():
    X, _ = arc(40)
    model = GPLVM(1, back_constraints=True).fit(X)
    assert model.transform(X) == pytest.approx(model.embedding_, abs=1e-9)  # places are a function of rows
    assert model.objective_ < GPLVM(1, init=model.embedding_).fit(X).objective_  # fewer places can be had
    assert np.isfinite(model.transform(np.where(np.arange(4) == 1, np.nan, X[:3]))).all()
    with pytest.raises(OptionError, match="LD475"):
        GPLVM(1, back_constraints=True).fit(arc(gaps=0.1)[0])


# bad tables and interruptions --------------------------------------------------------------------------------------
def test_copies_of_rows():
    X, _ = arc(15)
    model = GPLVM(1).fit(np.repeat(X, 3, axis=0))
    Z = model.embedding_.reshape(15, 3)
    assert np.ptp(Z, axis=1).max() < 0.3 and np.isfinite(model.transform(X)).all()


def test_no_noise_and_a_straight_line():
    t = np.linspace(-1, 1, 60)[:, None]
    with pytest.warns(ModelWarning, match="LD471"):
        model = GPLVM(1, max_iter=300).fit(t @ [[1.0, 2.0, -1.0]] + 1e-8 * np.random.default_rng(0).random((60, 3)))
    assert "noise" in model.certificate_.boundary and np.isfinite(model.objective_)
    assert np.sqrt(np.mean((model.reconstruct(t @ [[1.0, 2.0, -1.0]]) - t @ [[1.0, 2.0, -1.0]]) ** 2)) < 1e-2


def test_jitter_levels(monkeypatch):
    K = np.ones((50, 50))  # rank one
    found = jittered_cholesky(K)
    assert found.jitter_level > 0 and found.jitter <= 1e-4
    assert np.allclose(found.L @ found.L.T, K + found.jitter * np.eye(50), rtol=0, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        jittered_cholesky(-K)
    assert jittered_cholesky(np.eye(3), jitter_level=2).jitter_level == 2  # it never climbs down
    from lowdim.models.gaussian_process import gplvm_likelihood as places

    monkeypatch.setitem(places.BOUNDS, "noise", (1e-30, 1e-20))
    X = np.repeat(arc(5)[0], 12, axis=0)
    with pytest.warns(ModelWarning) as given:
        model = GPLVM(1, max_iter=30).fit(X)
    assert any("LD472" in str(w.message) for w in given) and model.jitter_ > 0
    assert any("added to the kernel's diagonal" in note for note in model.certificate_.notes)
    monkeypatch.setattr(gp, "JITTER_LEVELS", (0.0,))
    with pytest.raises(FitError, match=r"LD473.*condition number"):
        GPLVM(1, max_iter=30).fit(X)


def test_callbacks_and_control_c():
    X, _ = arc()
    model = GPLVM(1).fit(X, run=Run(callback=lambda step: step.passes >= 4))
    assert model.history_.shape == (4,) and model.objective_ == model.history_.max()

    def press(step):
        if step.passes == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(ModelWarning, match="LD211"):
        model = GPLVM(1, n_init=5).fit(X, run=Run(callback=press))
    assert len(model.history_) <= 5 and model.certificate_.reason == "interrupted"
    assert model.objective_ >= model.history_[0]
