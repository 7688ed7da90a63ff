"""Density networks: the sheet as a special case, slopes by finite differences, verbs and odd tables."""

import numpy as np
import pytest

from lowdim import GTM, DensityNetwork, Run, laws, load
from lowdim.math.mlp import UNITS, drawn, pack, unpack
from lowdim.models.nonlinear.density_network_em import Hidden, Net, blended, places, profile, pulled
from lowdim.models.nonlinear.gtm_em import SheetSums
from lowdim.models.nonlinear.importance import spread
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block
from lowdim.text.messages import LowdimError, ModelWarning
from tests.models.nonlinear.test_autoencoder import by_differences
from tests.models.power_cut import resumed


def arc(n=80, noise=0.05, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), t]) + noise * rng.standard_normal((n, 3)) + [5.0, 0.0, 1.0]
    return np.where(rng.random(X.shape) * [1, 1, 9] < gaps, np.nan, X) if gaps else X  # no row loses all


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_grid_and_bells_are_the_gtm(gaps):
    """The same parameters give the same likelihood, and a fit comes to the same parameters."""
    X = arc(gaps=gaps)
    sheet = GTM(2, grid=6, basis=(4, 1.0), tol=1e-6, max_iter=3000).fit(X)
    net = DensityNetwork(2, n_samples=("grid", 6), hidden=("rbf", 4, 1.0), tol=1e-6, max_iter=3000).fit(X)
    p, q = sheet.params_, net.params_
    same = Net(p.grid, (), p.centres, p.width, p.W, p.psi, p.prior, p.low)
    block = net.frame_.inward(as_source(X).sample(len(X)))
    a, b = sheet._posterior(p, block), net._posterior(same, block)
    assert b.log_density.sum() == pytest.approx(a.log_density.sum(), abs=1e-10)
    assert b.share == pytest.approx(a.share, abs=1e-12)
    assert np.array_equal(q.grid, p.grid) and np.array_equal(q.centres, p.centres) and q.width == p.width
    one, two = sheet._stats(p, block), net._stats(same, block)
    mine, theirs = net._update(same, two), sheet._update(p, one)
    assert np.abs(mine.W - theirs.W).max() < 1e-12 and mine.psi == pytest.approx(theirs.psi, rel=1e-12)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("units", [(4,), (4, 3)])
def test_gradient_of_the_profile_by_finite_differences(units, gaps, unit):
    rng = np.random.default_rng(0)
    layers = tuple((W, b + rng.standard_normal(len(b))) for W, b in drawn((2, *units), rng))
    Z, d = rng.standard_normal((15, 2)), 3
    G = rng.uniform(0.5, 2.0, (15, d if gaps else 1))
    stats = SheetSums(30.0, 0.0, G, G * rng.standard_normal((15, d)), 40.0, 90.0, 0.0)
    net = Net(Z, layers, np.zeros((0, 2)), 1.0, np.zeros((units[-1] + 1, d)), 0.3, 0.2, 1e-8, unit)
    v = pack(layers)
    told = by_differences(lambda u: profile(unpack(u, layers), net, stats)[0], v, 1e-4)
    assert profile(layers, net, stats)[1] == pytest.approx(told, abs=1e-6)


@pytest.mark.parametrize("unit", UNITS)
def test_slopes_of_the_units_by_finite_differences(unit):
    rng = np.random.default_rng(0)
    units, Z, h = Hidden(drawn((2, 5, 4), rng, 2.0), unit), rng.standard_normal((6, 2)), 1e-5
    for k in range(2):
        step = h * np.eye(2)[k]
        assert units.slopes(Z)[:, :, k] == pytest.approx((units.at(Z + step) - units.at(Z - step)) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("hidden", [6, (6, 4), ("sigmoid", 6), "rbf"])
def test_a_bent_line(hidden, gaps):
    X = arc(150, gaps=gaps)
    fit = DensityNetwork(1, n_samples=60, hidden=hidden).fit(X)
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


# draws of each row's own -------------------------------------------------------------------------------------
def bent_net(L, K, seed=0, hidden="units"):
    """A network that bends, with draws of rows' own, and 40 rows with gaps that it made."""
    rng = np.random.default_rng(seed)
    layers = tuple((W, b + rng.standard_normal(len(b))) for W, b in drawn((L, 6), rng, 3.0))
    W = rng.standard_normal((7, 5))
    net = Net(
        rng.standard_normal((100, L)), layers, np.zeros((0, L)), 1.0, W, 0.05, 0.1, 1e-8, draws=spread(K, L + 1, rng)
    )
    x = net.surface.at(rng.standard_normal((40, L))) + np.sqrt(net.psi) * rng.standard_normal((40, 5))
    mask = rng.random(x.shape) > 0.3
    mask[:, 0] = True
    return net, Block(np.where(mask, x, 0.0), mask, rng.uniform(0.5, 2.0, 40))


def by_quadrature(net, block):
    """Log density of each row over a fine grid of places."""
    L = net.grid.shape[1]
    side = np.linspace(-6, 6, 2001 if L == 1 else 161)
    Z = np.stack(np.meshgrid(*[side] * L, indexing="ij"), axis=-1).reshape(-1, L)
    off = (block.x[:, None] - net.surface.at(Z)) ** 2 * block.mask[:, None]
    each = -0.5 * off.sum(axis=2) / net.psi - 0.5 * (Z**2).sum(axis=1) - 0.5 * L * np.log(2 * np.pi)
    found = np.logaddexp.reduce(each, axis=1) + L * np.log(side[1] - side[0])
    share = np.exp(each - each.max(axis=1, keepdims=True))
    place = share @ Z / share.sum(axis=1, keepdims=True)
    return found - 0.5 * block.mask.sum(axis=1) * np.log(2 * np.pi * net.psi), place


@pytest.mark.parametrize("L", [1, 2])
def test_densities_by_draws_against_quadrature(L):
    """The mean of many estimates of p(x) is p(x), and the standard error of one holds."""
    net, block = bent_net(L, 100)
    exact, place = by_quadrature(net, block)
    found = [places(net._replace(draws=spread(100, L + 1, np.random.default_rng(seed))), block) for seed in range(20)]
    ratio = np.exp([f.log_density - exact for f in found])
    error = np.array([f.error for f in found]) * ratio
    assert ratio.mean(axis=0) == pytest.approx(np.ones(40), abs=0.1) and ratio.mean() == pytest.approx(1.0, abs=0.01)
    assert (np.abs(ratio - 1) < 2 * error).mean() > 0.93
    assert np.mean([f.mean for f in found], axis=0) == pytest.approx(place, abs=0.15)
    shared, _ = by_shared(net, block)
    assert np.median(np.abs(np.log(ratio))) < 0.2 * np.median(np.abs(shared - exact))  # the 100 points: much worse


def by_shared(net, block):
    found = DensityNetwork(net.grid.shape[1])._posterior(net._replace(draws=net.draws[:0]), block)
    return found.log_density, found.mean


@pytest.mark.parametrize("L", [1, 2])
def test_gradient_by_draws_by_finite_differences(L):
    net, block = bent_net(L, 12)
    v = np.concatenate([pack(net.layers), net.W.ravel(), [np.log(net.psi)]])
    count = len(pack(net.layers))

    def at(u):
        W = u[count:-1].reshape(net.W.shape)
        return net._replace(layers=unpack(u[:count], net.layers), W=W, psi=float(np.exp(u[-1])))

    told = by_differences(lambda u: pulled(net, at(u), block)[0], v, 1e-4)
    assert pulled(net, net, block)[1:] == pytest.approx(told, rel=1e-6, abs=1e-5)


def test_a_fit_by_importance_sampling(tmp_path):
    """It climbs the density under the Gaussian itself, which the shared points only seem to."""
    X, fresh = arc(200), arc(200, seed=5)
    with pytest.warns(ModelWarning, match="LD201"):  # it would go on gaining
        own = DensityNetwork(1, n_samples=("importance", 30), hidden=6, tol=1.0, max_iter=60).fit(X)
    shared = DensityNetwork(1, n_samples=30, hidden=6, tol=1.0).fit(X)
    draws = own.params_.draws
    before = shared.params_._replace(draws=draws)
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
    X, truth = arc(150, gaps=0.15), arc(150)
    with pytest.warns(ModelWarning, match="LD201"):  # two rounds of draws are enough here
        fit = DensityNetwork(1, n_samples=("importance", 20), hidden=6, tol=1.0, max_iter=20).fit(X)
    filled, sd = fit.impute(X, return_std=True)
    hidden = np.isnan(X)
    assert np.sqrt(((filled - truth) ** 2).mean()) < 0.15 and (np.abs(filled - truth) < 3 * sd)[hidden].mean() > 0.9
    many = fit.impute(X, draws=40)
    assert many.mean(axis=0)[hidden] == pytest.approx(filled[hidden], abs=0.3)


# minibatches ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("hidden", "gaps"), [(5, 0.0), ("rbf", 0.15)])
def test_minibatches_come_near_em(hidden, gaps):
    X = arc(200, gaps=gaps)
    whole = DensityNetwork(1, n_samples=25, hidden=hidden, tol=0.1).fit(X)
    parts = DensityNetwork(1, n_samples=25, hidden=hidden, batch_size=50, max_iter=60).fit(X)
    assert parts.score(X) > whole.score(X) - 0.15 and parts.converged_
    assert "minibatches" in parts.certificate_.text()


def test_a_batch_of_all_rows_is_a_step_of_em():
    X = arc(60)
    net = DensityNetwork(1, n_samples=20, hidden=4)
    params, block = net.fit(X).params_, net.frame_.inward(as_source(X).sample(60))
    stats = net._stats(params, block)
    for mine, theirs in zip(blended(stats, stats, 1.0, 1), stats, strict=True):
        assert np.asarray(mine) == pytest.approx(np.asarray(theirs))


@pytest.mark.parametrize("how", [{}, {"batch_size": 20}, {"n_samples": ("importance", 12)}])
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.ModelWarning")  # LD201: a few steps
def test_a_fit_that_died_goes_on_to_the_same_bits(how, tmp_path):
    X, model = arc(80, gaps=0.1), DensityNetwork(1, **{"n_samples": 12, "hidden": 4, "max_iter": 8, **how})
    resumed(model, X, tmp_path / "c", 6)


@pytest.mark.parametrize("how", [{"batch_size": 20}, {"n_samples": ("importance", 12)}])
def test_a_callback_keeps_the_best_so_far(how):
    seen = []
    model = DensityNetwork(1, **{"n_samples": 12, "hidden": 4, "tol": 1e-2, **how})
    model.fit(arc(), run=Run(callback=lambda step: seen.append(step.objective) or len(seen) == 5))
    assert model.certificate_.reason == "stopped by the callback" and np.isfinite(model.transform(arc())).all()
    assert model.objective_ == pytest.approx(max(seen), abs=50)


@pytest.mark.parametrize("how", [{"batch_size": 50}, {"n_samples": ("importance", 12), "max_iter": 20}])
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.ModelWarning")
def test_the_laws_of_the_other_ways(how):
    model = DensityNetwork(1, **{"n_samples": 12, "hidden": 4, "max_iter": 5, **how})
    laws.finite(model, arc(gaps=0.1))
    laws.all_missing_row_gets_prior(model, arc(gaps=0.1))
    laws.impute_keeps_seen(model, arc(gaps=0.1))


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.ModelWarning")  # LD470, LD201
def test_copies_huge_columns_and_few_rows():
    for X in (np.repeat(arc(4), 20, axis=0), arc() * [1e6, 1.0, 1.0], arc(6)):
        for how in ({}, {"n_samples": ("importance", 12)}, {"batch_size": 5}):
            model = DensityNetwork(1, **{"n_samples": 30, "hidden": 4, "max_iter": 4, **how})
            assert np.isfinite(model.fit(X).score_samples(X)).all()
            laws.finite(model, X)


def test_odd_tables_and_words():
    with pytest.warns(ModelWarning, match="LD470"):  # more nodes than rows, and units enough to reach them
        assert np.isfinite(DensityNetwork(2, n_samples=50).fit(arc(12)).transform(arc(12))).all()
    X = arc() * 1e3
    X[:, 0] *= 1e6
    assert np.isfinite(DensityNetwork(1, n_samples=20).fit(X).score_samples(X)).all()
    with pytest.warns(ModelWarning, match="LD470"):
        DensityNetwork(1, n_samples=30, hidden=8, weight_prior=0.0, random_state=1).fit(np.repeat(np.eye(2), 4, axis=0))
    with pytest.raises(LowdimError, match="LD200"):
        DensityNetwork(4).fit(arc())
    for wrong in (
        {"hidden": ()},
        {"hidden": ("rbf", 0, 1.0)},
        {"n_samples": ("grid", 0)},
        {"n_samples": 0},
        {"hidden": ("sigmoid",)},
        {"hidden": ("relu", 5)},
        {"n_samples": ("importance", 5)},
        {"batch_size": 0},
    ):
        with pytest.raises(LowdimError, match="LD210"):
            DensityNetwork(1, **wrong).fit(arc())
