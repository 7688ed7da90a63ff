"""Density networks: the sheet as a special case, slopes by finite differences, verbs and odd tables."""

import numpy as np
import pytest

from lowdim import GTM, DensityNetwork
from lowdim.data.arrays import as_source
from lowdim.math.mlp import drawn, pack, unpack
from lowdim.messages import LowdimError, ModelWarning
from lowdim.models.density_network import Hidden, Net, profile
from lowdim.models.gtm import SheetSums
from tests.models.test_autoencoder import by_differences


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


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("units", [(4,), (4, 3)])
def test_gradient_of_the_profile_by_finite_differences(units, gaps):
    rng = np.random.default_rng(0)
    layers = tuple((W, b + rng.standard_normal(len(b))) for W, b in drawn((2, *units), rng))
    Z, d = rng.standard_normal((15, 2)), 3
    G = rng.uniform(0.5, 2.0, (15, d if gaps else 1))
    stats = SheetSums(30.0, 0.0, G, G * rng.standard_normal((15, d)), 40.0, 90.0, 0.0)
    net = Net(Z, layers, np.zeros((0, 2)), 1.0, np.zeros((units[-1] + 1, d)), 0.3, 0.2, 1e-8)
    v = pack(layers)
    told = by_differences(lambda u: profile(unpack(u, layers), net, stats)[0], v, 1e-4)
    assert profile(layers, net, stats)[1] == pytest.approx(told, abs=1e-6)


def test_slopes_of_the_units_by_finite_differences():
    rng = np.random.default_rng(0)
    units, Z, h = Hidden(drawn((2, 5, 4), rng, 2.0)), rng.standard_normal((6, 2)), 1e-5
    for k in range(2):
        step = h * np.eye(2)[k]
        assert units.slopes(Z)[:, :, k] == pytest.approx((units.at(Z + step) - units.at(Z - step)) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("hidden", [6, (6, 4), "rbf"])
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
    from lowdim import laws

    laws.objective_never_falls(DensityNetwork(2, n_samples=30, hidden=(5, 4)), arc())


def test_the_density_is_one_over_k_of_the_nodes():
    X = arc(20)
    fit = DensityNetwork(1, n_samples=15, hidden=4).fit(X)
    square = ((X[:, None] - fit.nodes_) ** 2).sum(axis=2)
    each = -0.5 * square / fit.noise_variance_ - 1.5 * np.log(2 * np.pi * fit.noise_variance_)
    assert fit.score_samples(X) == pytest.approx(np.logaddexp.reduce(each, axis=1) - np.log(15), abs=1e-8)


def test_odd_tables_and_words():
    with pytest.warns(ModelWarning, match="LD470"):  # more nodes than rows, and units enough to reach them
        assert np.isfinite(DensityNetwork(2, n_samples=50).fit(arc(12)).transform(arc(12))).all()
    X = arc() * 1e3
    X[:, 0] *= 1e6
    assert np.isfinite(DensityNetwork(1, n_samples=20, standardize=True).fit(X).score_samples(X)).all()
    with pytest.warns(ModelWarning, match="LD470"):
        DensityNetwork(1, n_samples=30, hidden=8, weight_prior=0.0, random_state=1).fit(np.repeat(np.eye(2), 4, axis=0))
    with pytest.raises(LowdimError, match="LD200"):
        DensityNetwork(4).fit(arc())
    for wrong in ({"hidden": ()}, {"hidden": ("rbf", 0, 1.0)}, {"n_samples": ("grid", 0)}, {"n_samples": 0}):
        with pytest.raises(LowdimError, match="LD210"):
            DensityNetwork(1, **wrong).fit(arc())
