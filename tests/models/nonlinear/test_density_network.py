"""Density networks: the GTM as a special case, verbs, other ways of fitting, and odd tables."""

import warnings

import numpy as np
import pytest

from lowdim import GTM, DensityNetwork, Run, laws, load
from lowdim.models.nonlinear.density_network_em import DensityNetworkParams
from lowdim.sources.arrays import as_source
from lowdim.text.errors import ModelWarning
from lowdim.text.messages import LowdimError
from tests.models.nonlinear.tables import arc, long_arc
from tests.models.power_cut import resumed


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_grid_and_bells_are_the_gtm(gaps):
    """The same parameters give the same likelihood, and a fit comes to the same parameters."""
    X = arc(gaps=gaps, rowwise=True)
    sheet = GTM(2, grid=6, basis=4, tol=1e-8, max_iter=3000).fit(X)
    net = DensityNetwork(2, n_samples=36, sampling="grid", basis=4, tol=1e-8, max_iter=3000).fit(X)
    p, q = sheet.params_, net.params_
    centres, width = p.basis
    same = DensityNetworkParams(p.grid, (), centres, width, p.W, p.psi, p.prior, p.low)
    block = net.frame_.inward(as_source(X).sample(len(X)))
    a, b = sheet._posterior(p, block), net._posterior(same, block)
    assert b.log_density.sum() == pytest.approx(a.log_density.sum(), abs=1e-10)
    assert b.share == pytest.approx(a.share, abs=1e-12)
    assert np.array_equal(q.grid, p.grid) and np.array_equal(q.centres, centres) and q.width == width
    one, two = sheet._stats(p, block), net._stats(same, block)
    mine, theirs = net._update(same, two), sheet._update(p, one)
    assert np.abs(mine.W - theirs.W).max() < 1e-12 and mine.psi == pytest.approx(theirs.psi, rel=1e-12)


@pytest.mark.parametrize("gaps", [0.0, pytest.param(0.15, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "how", [{"hidden": 6}, {"hidden": (6, 4)}, {"hidden": 6, "activation": "sigmoid"}, {"basis": 6}]
)
def test_a_bent_line(how, gaps):
    X = arc(150, gaps=gaps, rowwise=True)
    fit = DensityNetwork(1, n_samples=60, **how).fit(X)
    t = arc(150)[:, 2]
    assert abs(np.corrcoef(fit.transform(X)[:, 0], t)[0, 1]) > 0.95
    assert fit.noise_variance_ == pytest.approx(0.05**2, rel=1.0)
    R = fit.responsibilities(X)
    assert R.sum(axis=1) == pytest.approx(1.0) and fit.transform(X) == pytest.approx(R @ fit.grid_)
    assert fit.inverse_transform(fit.grid_) == pytest.approx(fit.nodes_, abs=1e-9)
    assert (fit.magnification() > 0).all() and fit.sample(50).shape == (50, 3)
    filled = fit.impute(X)
    assert np.sqrt(((filled - arc(150)) ** 2).mean()) < 0.15


def test_em_never_loses():
    """Every pass gains, or is an extrapolation taken back (the law; here on more rows and two layers)."""
    laws.objective_never_falls(DensityNetwork(2, n_samples=30, hidden=(5, 4)), arc())


def test_the_density_is_one_over_k_of_the_nodes():
    X = arc(20)
    fit = DensityNetwork(1, n_samples=15, hidden=4).fit(X)
    square = ((X[:, None] - fit.nodes_) ** 2).sum(axis=2)
    each = -0.5 * square / fit.noise_variance_ - 1.5 * np.log(2 * np.pi * fit.noise_variance_)
    assert fit.score_samples(X) == pytest.approx(np.logaddexp.reduce(each, axis=1) - np.log(15), abs=1e-8)


def test_a_fit_by_importance_sampling(tmp_path):
    """It climbs the density under the Gaussian itself, which the shared points only seem to."""
    X, fresh = arc(200), arc(200, seed=5)
    with pytest.warns(ModelWarning, match="LD201"):  # it would go on gaining
        own = DensityNetwork(1, n_samples=30, sampling="importance", hidden=6, tol=0.01, max_iter=60).fit(X)
    shared = DensityNetwork(1, n_samples=30, hidden=6, tol=0.01).fit(X)
    cube = own.params_.cube
    before = shared.params_._replace(cube=cube)
    block = shared.frame_.inward(as_source(X).sample(200))
    assert own.score_samples(X).sum() > shared._posterior(before, block).log_density.sum() + 5
    assert own.score(fresh) > shared.score(fresh)
    assert abs(np.corrcoef(own.transform(X)[:, 0], arc(200)[:, 2])[0, 1]) > 0.97
    assert 0 < own.score_error(X).mean() < 0.3 and (shared.score_error(X) == 0).all()
    assert "draws of each row's own" in own.certificate_.text()
    assert "not under the Gaussian" in shared.certificate_.text()
    drawn_rows = own.sample(4000)
    assert drawn_rows.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.15)
    assert own.responsibilities(X[:3]).shape == (3, 30) and own.mode(X[:3]).shape == (3, 1)
    own.save(tmp_path / "d.lowdim")
    assert np.array_equal(load(tmp_path / "d.lowdim").score_samples(X), own.score_samples(X))
    post = own.posterior(np.full((1, 3), np.nan))
    assert post.mean[0, 0] == 0.0 and post.std[0, 0] == 1.0 and post.log_density[0] == 0.0


def test_own_draws_fill_gaps():
    X, truth = arc(150, gaps=0.15, rowwise=True), arc(150)
    with pytest.warns(ModelWarning, match="LD201"):  # two rounds of draws are enough here
        fit = DensityNetwork(1, n_samples=20, sampling="importance", hidden=6, tol=0.01, max_iter=20).fit(X)
    filled, sd = fit.impute(X, return_std=True)
    hidden = np.isnan(X)
    assert np.sqrt(((filled - truth) ** 2).mean()) < 0.15 and (np.abs(filled - truth) < 3 * sd)[hidden].mean() > 0.9
    many = fit.impute(X, draws=40)
    assert many.mean(axis=0)[hidden] == pytest.approx(filled[hidden], abs=0.3)


@pytest.mark.parametrize(("how", "gaps"), [({"hidden": 5}, 0.0), ({"basis": 6}, 0.15)])
def test_minibatches_come_near_em(how, gaps):
    X = arc(200, gaps=gaps, rowwise=True)
    whole = DensityNetwork(1, n_samples=25, **how, tol=0.001).fit(X)
    parts = DensityNetwork(1, n_samples=25, **how, batch_size=50, max_iter=60).fit(X)
    assert parts.score(X) > whole.score(X) - 0.15 and parts.converged_
    assert "minibatches" in parts.certificate_.text()


@pytest.mark.parametrize("how", [{}, {"batch_size": 20}, {"n_samples": 12, "sampling": "importance"}])
@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")  # LD201: a few steps
def test_a_fit_that_died_goes_on_to_the_same_bits(how, tmp_path):
    X, model = (
        arc(80, gaps=0.1, rowwise=True),
        DensityNetwork(1, **{"n_samples": 12, "hidden": 4, "max_iter": 8, **how}),
    )
    resumed(model, X, tmp_path / "c", 6)


@pytest.mark.parametrize("how", [{"batch_size": 20}, {"n_samples": 12, "sampling": "importance"}])
def test_a_callback_keeps_the_best_so_far(how):
    seen = []
    model = DensityNetwork(1, **{"n_samples": 12, "hidden": 4, "tol": 1e-4, **how})
    model.fit(arc(), run=Run(callback=lambda step: seen.append(step.objective) or len(seen) == 5))
    assert model.certificate_.reason == "stopped by the callback" and np.isfinite(model.transform(arc())).all()
    assert model.objective_ == pytest.approx(max(seen), abs=50)


@pytest.mark.parametrize("how", [{"batch_size": 50}, {"n_samples": 12, "sampling": "importance", "max_iter": 20}])
@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")
def test_the_laws_of_the_other_ways(how):
    model = DensityNetwork(1, **{"n_samples": 12, "hidden": 4, "max_iter": 5, **how})
    laws.finite(model, arc(gaps=0.1, rowwise=True))
    laws.all_missing_row_gets_prior(model, arc(gaps=0.1, rowwise=True))
    laws.impute_keeps_seen(model, arc(gaps=0.1, rowwise=True))


@pytest.mark.filterwarnings("ignore::lowdim.text.errors.ModelWarning")  # LD202, LD201
def test_copies_huge_columns_and_few_rows():
    for X in (np.repeat(arc(4), 20, axis=0), arc() * [1e6, 1.0, 1.0], arc(6)):
        for how in ({}, {"n_samples": 12, "sampling": "importance"}, {"batch_size": 5}):
            model = DensityNetwork(1, **{"n_samples": 30, "hidden": 4, "max_iter": 4, **how})
            assert np.isfinite(model.fit(X).score_samples(X)).all()
            laws.finite(model, X)


def test_odd_tables_and_words():
    with pytest.warns(ModelWarning, match="LD202"):  # more nodes than rows, and units enough to reach them
        assert np.isfinite(DensityNetwork(2, n_samples=50).fit(arc(12)).transform(arc(12))).all()
    X = arc() * 1e3
    X[:, 0] *= 1e6
    assert np.isfinite(DensityNetwork(1, n_samples=20).fit(X).score_samples(X)).all()
    with pytest.warns(ModelWarning, match="LD202"):
        DensityNetwork(1, n_samples=30, hidden=8, weight_prior=0.0, random_state=1).fit(np.repeat(np.eye(2), 4, axis=0))
    with pytest.raises(LowdimError, match="LD200"):
        DensityNetwork(4).fit(arc())
    for wrong in (
        {"hidden": ()},
        {"hidden": ("rbf", 6, 1.0)},
        {"basis": 0},
        {"basis_width": 0.0},
        {"sampling": "importances"},
        {"n_components": 2, "n_samples": 10, "sampling": "grid"},
        {"n_samples": 0},
        {"hidden": "rbf"},
        {"activation": "relu"},
        {"n_samples": 5, "sampling": "importance"},
        {"batch_size": 0},
    ):
        with pytest.raises(LowdimError, match="LD210"):
            DensityNetwork(**{"n_components": 1, **wrong}).fit(arc())


@pytest.mark.parametrize(
    "how", [{"hidden": 6}, {"hidden": 6, "weight_prior": "auto"}, {"basis": 6, "n_samples": 8, "sampling": "grid"}]
)
def test_units_do_not_matter(how):
    X = long_arc()
    one, two = (DensityNetwork(1, max_iter=40, tol=1e-11, **how) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        mine, huge = one.fit(X).score(X), two.fit(4096.0 * X).score(4096.0 * X)
    assert huge + 3 * np.log(4096.0) == pytest.approx(mine, abs=0.05) and mine > 0.0
    assert two.weight_prior_ == pytest.approx(one.weight_prior_, rel=0.05)


def test_bells_on_a_grid_are_the_gtm_in_any_unit():
    X = 100.0 * long_arc()
    net = DensityNetwork(1, basis=6, n_samples=8, sampling="grid", tol=1e-5).fit(X)
    assert net.score(X) == pytest.approx(GTM(1, grid=8, tol=1e-5).fit(X).score(X), abs=0.05)


def test_labels_of_row_draws_lie_on_the_shared_nodes():
    X = long_arc(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = DensityNetwork(1, n_samples=20, sampling="importance", hidden=4, max_iter=10).fit(X)
    labels = np.where(X[:, 2] > 2, "late", "early")
    shares = model.responsibilities(X)
    found = model.label_map(X, labels)
    assert found.rows == pytest.approx(shares.sum(axis=0))
    late = found.share[:, list(found.labels).index("late")] * found.rows
    assert late == pytest.approx(shares[labels == "late"].sum(axis=0))


@pytest.mark.parametrize("seed", range(6))
def test_equal_rows_reach_the_floor_of_the_noise(seed):
    """Two places, units enough to reach both and no prior on the weights: no rounding error may end it early."""
    with pytest.warns(ModelWarning, match="LD202"):
        fit = DensityNetwork(1, n_samples=30, hidden=8, weight_prior=0.0, random_state=seed).fit(
            np.repeat(np.eye(2), 4, axis=0)
        )
    assert fit.certificate_.boundary == ("noise_variance_",)


@pytest.mark.filterwarnings("ignore:LD201")  # eight passes
def test_standardized_columns():
    X = arc(60)
    unit = np.array([1.0, 1e6, 1.0])
    plain, scaled = (
        DensityNetwork(1, n_samples=15, hidden=4, standardize=True, max_iter=8, tol=1e-11).fit(Y) for Y in (X, X * unit)
    )
    assert scaled.nodes_ / unit == pytest.approx(plain.nodes_, rel=1e-6)


def test_intervals_are_calibrated_unless_not_asked_for():
    X = arc(150, gaps=0.15, rowwise=True)
    one, two = (DensityNetwork(1, n_samples=15, hidden=4, tol=0.01, calibrate=c).fit(X) for c in (True, False))
    assert one.calibration_ != 1.0 == two.calibration_ and two.n_iter_ < one.n_iter_
