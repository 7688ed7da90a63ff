"""Mixtures: against a slow oracle, scikit-learn, their own components, and bad tables."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture as Peer

import lowdim
from lowdim import GTM, PCA, PPCA, FactorAnalysis, GaussianMixture, Mixture, MixtureOfFA, MixtureOfPPCA
from lowdim.models.mixtures.mixture import MixtureParams
from lowdim.models.mixtures.parts import gaussian
from lowdim.models.mixtures.starts import StartCovariance, choose_centers, within_sums
from lowdim.sources.source import Block
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.oracles import mixture as oracle

TYPES = ("full", "tied", "diag", "spherical")
quiet = pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")


def blobs(n=120, d=3, K=3, seed=0, gaps=0.0, apart=4.0):
    """K Gaussians of different shapes; the first rows belong to the first of them."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) * K // n
    shapes = np.eye(d) + 0.4 * rng.standard_normal((K, d, d))
    X = apart * rng.standard_normal((K, d))[label] + np.einsum("nd,nde->ne", rng.standard_normal((n, d)), shapes[label])
    return np.where(rng.random(X.shape) < gaps, np.nan, X), label


def start(X, K, tied=False):
    """Weights, means and covariances to start both from."""
    label = np.arange(len(X)) * K // len(X)
    means = np.array([np.nanmean(X[label == k], axis=0) for k in range(K)]) + 0.3
    C = np.array([np.diag(np.nanvar(X, axis=0)) * (1.0 if tied else 1 + 0.2 * k) for k in range(K)])
    return np.full(K, 1 / K), means, C


def params_of(weights, means, covs, low):
    parts = tuple(gaussian(m, C, low, 100.0) for m, C in zip(means, covs, strict=True))
    return MixtureParams(np.log(weights), parts, False)


# the slow oracle ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_five_steps_are_those_of_the_oracle(tied, gaps):
    X, _ = blobs(60, 4, 3, gaps=gaps)
    X[7] = np.nan if gaps else X[7]
    model = GaussianMixture(3, covariance_type="tied" if tied else "full")
    mask = None if not gaps else ~np.isnan(X)
    block = Block(np.nan_to_num(X), mask)
    truth = start(X, 3, tied)
    params = params_of(*truth, 1e-12 * np.nanvar(X, axis=0))
    for _ in range(5):
        stats = model._stats(params, block)
        *truth, value = oracle.em_step(X, *truth, tied=tied)
        params = model._update(params, stats)
        assert stats.log_density == pytest.approx(value, rel=1e-11)
        assert np.exp(params.log_weights) == pytest.approx(truth[0], rel=1e-9)
        for k, component in enumerate(params.components):
            assert component.mu == pytest.approx(truth[1][k], rel=1e-8, abs=1e-9)
            assert np.allclose(component.C, truth[2][k], rtol=1e-8, atol=1e-9)


def test_every_verb_with_gaps_is_that_of_the_oracle():
    X, _ = blobs(80, 4, 2, gaps=0.25)
    model = GaussianMixture(2, n_init=1, calibrate=False).fit(X)
    made = model.weights_, model.means_, model.covariances_
    R, total = oracle.responsibilities(X, *made)
    assert model.predict_proba(X) == pytest.approx(R, abs=1e-9)
    assert model.transform(X) == pytest.approx(R, abs=1e-9)
    assert np.array_equal(model.predict(X), R.argmax(axis=1))
    assert model.score_samples(X) == pytest.approx(total, rel=1e-9)
    found = model.posterior(X)
    assert found.cov[3] == pytest.approx(np.diag(R[3]) - np.outer(R[3], R[3]), abs=1e-9)
    filled, std = model.impute(X, return_std=True)
    for i in range(20):
        mean, var = oracle.cells(X[i], *made)
        assert filled[i] == pytest.approx(mean, rel=1e-8)
        # the model's own counts the uncertainty of the fitted numbers too: a little wider
        assert (std[i] >= np.sqrt(np.where(np.isnan(X[i]), var, 0.0)) * (1 - 1e-9)).all()
        assert (std[i] <= np.sqrt(var) * 1.25 + 1e-9).all()
    assert model.reconstruct(X)[:5] == pytest.approx(np.array([oracle.cells(x, *made)[0] for x in X[:5]]), rel=1e-8)
    assert model.inverse_transform(np.eye(2)) == pytest.approx(model.means_)


def test_draws_have_the_conditional_moments():
    X, _ = blobs(400, 3, 2, apart=1.0)
    model = GaussianMixture(2, n_init=2).fit(X)
    row = X[:1].copy()
    row[0, 1:] = np.nan
    rows = np.repeat(row, 4000, axis=0)
    drawn = model.impute(rows, draws=1)[0]
    mean, var = oracle.cells(row[0], model.weights_, model.means_, model.covariances_)
    assert drawn[:, 1:].mean(axis=0) == pytest.approx(mean[1:], abs=0.1)  # the draw's own parameters move a little
    assert drawn[:, 1:].var(axis=0) == pytest.approx(var[1:], rel=0.15)
    new = model.sample(20000, random_state=1)
    assert new.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.05)
    assert np.cov(new.T) == pytest.approx(np.cov(X.T, bias=True), abs=0.15)


# the peer -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_as_many_steps_as_the_peer_give_its_likelihood(kind):
    """From the peer's own parameters after 2 steps, 6 more of ours are 6 more of its."""
    X, _ = blobs(300, 4, 3, apart=1.5)
    before, after = (
        Peer(3, covariance_type=kind, reg_covar=0, tol=0, max_iter=k, random_state=0).fit(X) for k in (2, 8)
    )
    model = GaussianMixture(3, covariance_type=kind)
    parts, low = model._parts(), 1e-12 * X.var(axis=0)
    C = before.covariances_
    spreads = {
        "full": C,
        "tied": [C] * 3,
        "diag": [np.diag(c) for c in C] if kind == "diag" else None,
        "spherical": [c * np.eye(4) for c in C] if kind == "spherical" else None,
    }[kind]
    low = np.full(4, low.mean()) if kind == "spherical" else low
    if kind in ("full", "tied"):
        params = params_of(before.weights_, before.means_, spreads, low)
    else:
        components = tuple(
            parts.start(StartCovariance(np.diag(c).copy(), c, None), low, 100.0)._replace(mu=m, psi=np.diag(c).copy())
            for m, c in zip(before.means_, spreads, strict=True)
        )
        params = MixtureParams(np.log(before.weights_), components, False)
    for _ in range(6):
        params = model._update(params, model._stats(params, Block(X)))
    ours = model._stats(params, Block(X)).log_density
    assert ours == pytest.approx(after.score(X) * len(X), rel=1e-8)


def test_the_peers_names():
    X, _ = blobs(300, 4, 3, apart=1.5)
    for kind in TYPES:
        peer = Peer(3, covariance_type=kind, random_state=0).fit(X)
        model = GaussianMixture(3, covariance_type=kind).fit(X)
        assert model.covariances_.shape == peer.covariances_.shape
        assert model.n_parameters_ == peer._n_parameters()
        assert model.objective_ >= peer.score(X) * len(X) - 1e-3
        assert model.bic(X) == pytest.approx(-2 * model.objective_ + model.n_parameters_ * np.log(300), rel=1e-9)
        assert model.aic(X) == pytest.approx(-2 * model.objective_ + 2 * model.n_parameters_, rel=1e-9)


# one cluster is the component itself ----------------------------------------------------------------------------
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_one_cluster_is_its_component(gaps):
    rng = np.random.default_rng(1)
    W = np.array([[1.0, 0.9, 0.8, 0.0, 0.2, 0.1], [0.1, 0.0, 0.2, 0.9, 1.0, 0.8]])
    X = rng.standard_normal((150, 2)) @ W + 0.6 * rng.standard_normal((150, 6)) + 3
    X = np.where(rng.random(X.shape) < gaps, np.nan, X)
    for one, component in (
        (MixtureOfPPCA(1, 2, tol=1e-10), PPCA(2, tol=1e-10)),
        (MixtureOfFA(1, 2, tol=1e-10), FactorAnalysis(2, tol=1e-10)),
        (Mixture(PPCA(2), 1, tol=1e-10), PPCA(2, tol=1e-10)),
    ):
        alone = component.fit(X)
        assert one.fit(X).objective_ == pytest.approx(alone.objective_, abs=2e-4)
        assert one.impute(X) == pytest.approx(alone.impute(X), abs=5e-3)
    whole = GaussianMixture(1).fit(X)
    if not gaps:
        assert whole.means_[0] == pytest.approx(X.mean(axis=0), rel=1e-12)
        assert whole.covariances_[0] == pytest.approx(np.cov(X.T, bias=True), rel=1e-9)
    else:
        C = whole.covariances_
        assert oracle.em_step(X, [1.0], whole.means_, C)[2] == pytest.approx(C, rel=1e-3, abs=1e-3)  # at rest


# never down, never NaN ------------------------------------------------------------------------------------------
def steps_that_never_fall(problems, steps):
    """Plain EM steps over random problems; the number done."""
    done = 0
    for seed in range(problems):
        rng = np.random.default_rng([7, seed])
        d, K = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        X, _ = blobs(int(rng.integers(2 * K + 8, 80)), d, K, seed, 0.3 * (seed % 2), apart=2 * rng.random())
        X = X[:, (~np.isnan(X)).sum(axis=0) > 1]
        kind = [*TYPES, PPCA(min(1, X.shape[1] - 1)), FactorAnalysis(min(1, X.shape[1] - 1))][seed % 6]
        model = Mixture(kind, K)
        mask = ~np.isnan(X)
        block = Block(np.nan_to_num(X), None if mask.all() else mask)
        parts = model._parts()
        low = 1e-6 * np.nanvar(X, axis=0)
        low = low if parts.unit_free else np.full_like(low, low.mean())
        centres, _ = choose_centers(block, K, np.sqrt(low), np.nanmean(X, axis=0), rng, far=False)
        spread = within_sums(centres, np.sqrt(low), block).covariance()
        components = tuple(parts.start(spread, low, 10.0)._replace(mu=mu) for mu in centres)
        moments = bool(mask.all()) and X.shape[1] <= parts.moment_columns
        params = MixtureParams(np.full(K, -np.log(K)), components, moments)
        before = -np.inf
        for _ in range(steps):
            stats = model._stats(params, block)
            value = stats.log_density
            assert np.isfinite(value)
            assert value >= before - 1e-9 * (len(X) + abs(value)), (seed, kind, before, value)
            before, params, done = value, model._update(params, stats), done + 1
    return done


@quiet
def test_the_likelihood_never_falls():
    assert steps_that_never_fall(40, 25) == 1000


@quiet
@pytest.mark.drill
def test_the_likelihood_never_falls_in_1e5_steps():
    assert steps_that_never_fall(1000, 100) == 100_000


def five_hundred(seeds):
    for seed in seeds:
        rng = np.random.default_rng([11, seed])
        X = rng.standard_normal((600, 2)) + 5.0 * rng.integers(0, 4, (600, 1))
        X[0] = 1e6
        model = GaussianMixture(500, covariance_type=TYPES[seed % 4], n_init=1, max_iter=3, random_state=seed).fit(X)
        assert np.isfinite(model.objective_)
        assert np.isfinite(model.predict_proba(X)).all()


@quiet
def test_500_components_and_an_outlier():
    five_hundred(range(2))


@quiet
@pytest.mark.drill
def test_500_components_and_an_outlier_1000_times():
    five_hundred(range(1000))


# bad tables -----------------------------------------------------------------------------------------------------
def test_collapse_is_reported_with_its_component():
    X, _ = blobs(60, 2, 2)
    X[:20] = X[0]
    with pytest.warns(LowdimWarning, match=r"LD251.*component \d") as caught:
        model = GaussianMixture(2, init=[X[0].tolist(), X[40].tolist()]).fit(X)
    assert "1e-06" in str(caught[0].message)
    assert any("covariance of component" in name for name in model.certificate_.boundary)
    assert np.isfinite(model.score(X))


def test_equal_rows_and_too_many_clusters():
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]]), 20, axis=0)
    with pytest.warns(LowdimWarning, match="LD251|LD252"):
        model = GaussianMixture(5).fit(X)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(LowdimError, match="LD253"):
        GaussianMixture(5).fit(X[:4])


def test_an_empty_component_is_named():
    X, _ = blobs(50, 2, 1)
    far = [X.mean(axis=0).tolist(), (X.mean(axis=0) + 1e5).tolist()]
    with pytest.warns(LowdimWarning, match="LD252") as caught:
        model = GaussianMixture(2, init=far, covariance_type="tied").fit(X)
    assert "component 1" in str(caught[0].message)
    assert np.isfinite(model.means_).all()


def test_a_table_that_never_varies_is_refused():
    with pytest.raises(LowdimError, match="LD254"), pytest.warns(LowdimWarning, match="LD133"):
        GaussianMixture(2).fit(np.full((20, 3), 14.62))


HUGE_WEIGHTS = """
import gc
import numpy as np
from lowdim import GaussianMixture
from lowdim.sources.source import Block
from lowdim.models.mixtures.starts import choose_centers
from lowdim.text.messages import LowdimError

X = np.random.default_rng(0).standard_normal((60, 4))
X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
weight = np.append(1e300, np.ones(59))
try:
    GaussianMixture(2, n_init=1).fit(X, sample_weight=weight)
except LowdimError as problem:
    assert "LD230" in str(problem)
block = Block(np.nan_to_num(X), ~np.isnan(X), weight)  # past the door: centres are then no numbers, and labels of them?
with np.errstate(all="ignore"):
    choose_centers(block, 2, np.full(4, 1e-150), np.zeros(4), np.random.default_rng(0), True)
gc.collect()
"""


def test_weights_beyond_sums_do_not_end_the_process():
    """In a process of its own: what overwrites memory ends it, at the latest where rubbish is collected."""
    done = subprocess.run([sys.executable, "-c", HUGE_WEIGHTS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_components_that_cannot_be_mixed():
    for component in (PCA(1), "round", 3, None):
        with pytest.raises(LowdimError, match="LD250"):
            Mixture(component, 2).fit(blobs()[0])


@pytest.mark.parametrize(
    "option",
    [
        {"n_components": 0},
        {"covariance_type": "oval"},
        {"reg_covar": -1.0},
        {"tol": 0.0},
        {"init": "best"},
        {"init": [[1.0, 2.0]]},
        {"random_state": -1},
        {"n_init": 0},
    ],
)
def test_options_are_checked(option):
    with pytest.raises(LowdimError, match="LD210"):
        GaussianMixture(2).set_params(**option).fit(blobs()[0])


@quiet
@pytest.mark.parametrize("kind", TYPES)
def test_units_and_origins(kind):
    """Huge, tiny and far tables give the same clusters; a constant column changes none."""
    X, _ = blobs(90, 3, 3)
    base = GaussianMixture(3, covariance_type=kind).fit(X)
    for Y in (X * 1e200, X * 1e-200, X * 2.0**30 + 2.0**45):
        other = GaussianMixture(3, covariance_type=kind).fit(Y)
        assert other.predict_proba(Y) == pytest.approx(base.predict_proba(X), abs=1e-3)
    flat = np.column_stack([X, np.full(len(X), 14.62)])
    assert np.mean(GaussianMixture(3, covariance_type=kind).fit(flat).predict(flat) == base.predict(X)) > 0.3


@quiet
def test_wide_tables_and_far_clusters():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 1500)) + np.repeat([0.0, 5.0], 6)[:, None]
    model = MixtureOfPPCA(2, 1).fit(X)
    assert np.isfinite(model.score(X))
    assert len(set(model.predict(X)[:6])) == 1
    Y = rng.standard_normal((60, 2)) + np.repeat([0.0, 1e6], 30)[:, None]
    two = GaussianMixture(2).fit(Y)
    for k in range(2):
        rows = Y[two.predict(Y) == k]
        assert two.covariances_[k] == pytest.approx(np.cov(rows.T, bias=True), rel=1e-6)


def test_seeds_and_starts():
    X, _ = blobs(100, 2, 3, apart=1.0)
    one, two = (GaussianMixture(3, random_state=5).fit(X) for _ in range(2))
    assert one.objective_ == two.objective_
    rng = np.random.default_rng(5)
    assert np.isfinite(GaussianMixture(3, random_state=rng).fit(X).objective_)
    order = np.random.default_rng(0).permutation(len(X))
    turned = GaussianMixture(3, random_state=5, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        a, b = turned.fit(X).objective_, turned.fit(X[order]).objective_
    assert a == pytest.approx(b, rel=1e-10)  # even where the start is drawn: rows are sorted first
    assert np.isfinite(GaussianMixture(2, init="random").fit(X).objective_)


@pytest.mark.slow
@quiet
def test_files_and_models_come_back(tmp_path):
    X, _ = blobs(60, 3, 2, gaps=0.1)
    for model in (GaussianMixture(2), MixtureOfPPCA(2, 1), MixtureOfFA(2, 1), Mixture("diag", 2)):
        model.fit(X).save(tmp_path / "m.lowdim")
        assert np.array_equal(lowdim.load(tmp_path / "m.lowdim").predict_proba(X), model.predict_proba(X))


# where a fit starts ---------------------------------------------------------------------------------------------
def across(seed, n=200, d=5):
    """Four groups that differ across a direction which holds nearly all of the variation."""
    rng = np.random.default_rng([21, seed])
    label = np.arange(n) * 4 // n
    size = 8.0 * rng.standard_normal((n, 1))
    groups = 2.5 * np.eye(4, d)[label] + 0.4 * rng.standard_normal((n, d))
    return size * np.linspace(0.8, 1.2, d) + groups + 30.0, label


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_groups_across_the_main_direction_are_found(kind):
    """As likely as the peer, which is shown the true groups; in its own start it ends far below."""
    for seed in range(2):
        X, label = across(seed)
        covs = [np.cov(X[label == k].T, bias=True) for k in range(4)]
        shown = np.array([np.linalg.inv(C) for C in covs]) if kind == "full" else np.linalg.inv(np.mean(covs, axis=0))
        means = np.array([X[label == k].mean(axis=0) for k in range(4)])
        peer = Peer(4, covariance_type=kind, means_init=means, precisions_init=shown, reg_covar=0, tol=1e-9).fit(X)
        model = GaussianMixture(4, covariance_type=kind).fit(X)
        assert model.objective_ >= peer.score(X) * len(X) - 1e-3
        assert model.objective_ >= Peer(4, covariance_type=kind, random_state=0).fit(X).score(X) * len(X) + 100


@pytest.mark.parametrize("model", [GaussianMixture(4), GaussianMixture(4, covariance_type="tied"), MixtureOfFA(4, 1)])
def test_the_units_of_columns_do_not_matter(model):
    X, _ = across(1)
    units = np.array([1e-3, 7.0, 0.3, 1e4, 1.0])
    one = model.fit(X)
    value, labels = one.objective_, one.predict(X)
    two = model.fit(X * units)
    assert two.objective_ == pytest.approx(value - len(X) * np.log(units).sum(), abs=1e-3)
    assert np.array_equal(two.predict(X * units), labels)


@pytest.mark.filterwarnings("ignore:LD251")
@pytest.mark.parametrize("kind", TYPES)
def test_six_rows_in_two_obvious_groups(kind):
    """The example of scikit-learn's own page; within a group one column does not vary."""
    X = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]])
    assert Peer(2, random_state=0).fit(X).predict(X).tolist() in ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1])
    assert GaussianMixture(2, covariance_type=kind).fit(X).predict(X).tolist() in (
        [1, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 1],
    )


# intervals ------------------------------------------------------------------------------------------------------
def two_groups(seed, n, d, gaps=0.15):
    """Two groups with two factors each; the whole table, and which of its cells are hidden."""
    rng = np.random.default_rng([77, seed, n])
    label = rng.integers(0, 2, n)
    W, mu = rng.standard_normal((2, 2, d)), 2.0 * rng.standard_normal((2, d))
    X = mu[label] + np.einsum("nq,nqd->nd", rng.standard_normal((n, 2)), W[label]) + 0.7 * rng.standard_normal((n, d))
    return X, rng.random(X.shape) < gaps


def held(model, seed, n, d):
    """The share of hidden cells that 90 % intervals hold."""
    X, hidden = two_groups(seed, n, d)
    Y = np.where(hidden, np.nan, X)
    filled, sd = model.fit(Y).impute(Y, return_std=True)
    return float(np.mean(np.abs(filled - X)[hidden] <= 1.6449 * sd[hidden]))


@quiet
@pytest.mark.slow
def test_intervals_of_small_tables_hold():
    """Without calibration a Gaussian mixture holds 5 to 60 % of a nominal 90 %."""
    assert np.mean([held(GaussianMixture(2, calibrate=False), seed, 50, 8) for seed in range(3)]) < 0.65
    assert 0.8 < np.mean([held(GaussianMixture(2), seed, 50, 8) for seed in range(3)]) < 0.97


@quiet
@pytest.mark.drill
@pytest.mark.parametrize("model", [GaussianMixture(2), MixtureOfPPCA(2, 2), MixtureOfFA(2, 2), GTM(2)])
def test_intervals_of_twelve_small_tables_hold(model):
    shapes = ((150, 10), (50, 8), (38, 18))
    shares = [held(model, seed, *shape) for shape in shapes for seed in range(4)]
    assert 0.87 <= np.mean(shares) <= 0.94, shares


@quiet
def test_calibration_changes_intervals_alone():
    X, hidden = two_groups(0, 60, 5)
    Y = np.where(hidden, np.nan, X)
    one, two = (MixtureOfFA(2, 1, n_init=3, calibrate=how).fit(Y) for how in (True, False))
    assert np.array_equal(one.means_, two.means_) and one.objective_ == two.objective_
    assert one.calibration_ != 1.0 == two.calibration_
    assert f"intervals are {one.calibration_:.2f} times as wide" in one.certificate_.text()
    (filled, sd), (plain, narrow) = (model.impute(Y, return_std=True) for model in (one, two))
    assert np.array_equal(filled, plain)
    ratio = sd[hidden] / narrow[hidden]
    if one.calibration_ > 1.0:  # as wide as the factor says, or as what is known of the column
        assert ((ratio >= 1 - 1e-12) & (ratio <= one.calibration_ * (1 + 1e-12))).all()
        assert (ratio > 1.0).mean() > 0.5
    drawn = np.array(one.impute(Y, draws=40))
    assert drawn.std(axis=0)[hidden].mean() / sd[hidden].mean() == pytest.approx(1.0, abs=0.1)
    assert one.fit(X).calibration_ == 1.0 and "not calibrated on held-out cells" in one.certificate_.text()
