"""The generative topographic mapping: against a slow E-step, its one-node limit, slopes and bad tables."""

import numpy as np
import pytest

from lowdim import GTM
from lowdim.models.nonlinear.gtm_em import shares
from lowdim.models.nonlinear.rbf_grid import grid, spread_basis
from lowdim.storage.model_file import load
from lowdim.text.messages import OptionError, TableError


def arc(n=80, noise=0.05, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), t]) + noise * rng.standard_normal((n, 3)) + [5.0, 0.0, 1.0]
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


@pytest.mark.parametrize("psi", [0.3, 1e-6])
@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_shares_a_row_at_a_time(gaps, psi):
    X, Y = arc(12, gaps=gaps), arc(9, seed=1)
    mask = ~np.isnan(X)
    R, log_density = shares(np.nan_to_num(X), mask if gaps else None, Y, psi)
    for i, x in enumerate(X):
        seen = mask[i]
        each = [-0.5 * ((x[seen] - y[seen]) ** 2).sum() / psi - 0.5 * seen.sum() * np.log(2 * np.pi * psi) for y in Y]
        assert log_density[i] == pytest.approx(np.logaddexp.reduce(each) - np.log(len(Y)), abs=1e-12, rel=1e-14)
        assert R[i] == pytest.approx(np.exp(each - np.logaddexp.reduce(each)), abs=1e-12)


def test_one_node_is_a_spherical_gaussian():
    X = arc()
    fit = GTM(1, grid=1, basis=1, weight_prior=0.0).fit(X)
    assert fit.nodes_ == pytest.approx(X.mean(axis=0)[None], abs=1e-9)
    assert fit.noise_variance_ == pytest.approx(X.var(axis=0).mean(), rel=1e-9)
    spread = X.var(axis=0).mean()
    expected = -0.5 * 80 * 3 * (np.log(2 * np.pi * spread) + 1)
    assert fit.score_samples(X).sum() == pytest.approx(expected, rel=1e-9)


def test_slopes_by_finite_differences():
    basis, Z, h = spread_basis(4, 2, 1.0), np.random.default_rng(0).uniform(-1, 1, (7, 2)), 1e-6
    for k in range(2):
        step = h * np.eye(2)[k]
        told = (basis.at(Z + step) - basis.at(Z - step)) / (2 * h)
        assert basis.slopes(Z)[:, :, k] == pytest.approx(told, abs=1e-8)


def test_magnification_and_stretch_by_finite_differences():
    fit, h = GTM(2, grid=8, basis=4).fit(arc()), 1e-6
    Z = np.random.default_rng(0).uniform(-0.9, 0.9, (6, 2))
    ends = [(fit.inverse_transform(Z + h * e), fit.inverse_transform(Z - h * e)) for e in np.eye(2)]
    J = np.stack([(one - other) / (2 * h) for one, other in ends], axis=1)
    values = np.linalg.svd(J, compute_uv=False)
    assert fit.magnification(Z) == pytest.approx(values.prod(axis=1), rel=1e-6)
    assert fit.stretch(Z) == pytest.approx(values[:, 0] / values[:, 1], rel=1e-6)


def test_verbs():
    X = arc(gaps=0.1)
    fit = GTM(1, grid=15).fit(X)
    R = fit.responsibilities(X)
    assert R.sum(axis=1) == pytest.approx(1.0) and fit.transform(X) == pytest.approx(R @ fit.grid_)
    assert fit.mode(X) == pytest.approx(fit.grid_[R.argmax(axis=1)])
    post = fit.posterior(X)
    var = (R @ fit.grid_**2) - (R @ fit.grid_) ** 2
    assert post.cov[:, 0, 0] == pytest.approx(var[:, 0], abs=1e-12)
    assert fit.inverse_transform(fit.grid_) == pytest.approx(fit.nodes_, abs=1e-9)
    again = GTM(1, grid=15).fit(fit.sample(400))
    assert again.noise_variance_ == pytest.approx(fit.noise_variance_, rel=0.3)
    assert 0.0 <= fit.alone_ <= 1.0 and "nodes alone" in fit.certificate_.text()


def test_the_prior_is_re_estimated():
    X = arc(200)
    auto, weak = GTM(1, grid=20, basis=15, weight_prior="auto").fit(X), GTM(1, grid=20, basis=15, weight_prior=0).fit(X)
    fresh = arc(500, seed=7)
    assert auto.score(fresh) > weak.score(fresh) - 0.05 and auto.weight_prior_ > 0


def test_labels_on_the_map():
    X = arc(150)
    label = np.where(X[:, 2] < 2.0, "low", np.where(X[:, 2] < 3.0, "mid", "top"))
    fit = GTM(1, grid=15).fit(X)
    found = fit.label_map(X, label)
    R = fit.responsibilities(X)
    sums = np.column_stack([R[label == name].sum(axis=0) for name in ("low", "mid", "top")])
    assert found.labels.tolist() == ["low", "mid", "top"] and found.rows == pytest.approx(R.sum(axis=0))
    assert found.share == pytest.approx(sums / sums.sum(axis=1, keepdims=True), abs=1e-12)
    assert np.array_equal(found.likeliest, np.array(["low", "mid", "top"])[sums.argmax(axis=1)])
    assert (found.likeliest[R.argmax(axis=1)] == label).mean() > 0.9
    some = fit.label_map(X, [None if i % 2 else name for i, name in enumerate(label)])
    assert some.rows.sum() == pytest.approx(75) and fit.label_map(X, np.ones(150)).share == pytest.approx(1.0)
    for wrong in (label[:-1], [None] * 150):
        with pytest.raises(TableError, match="LD296"):
            fit.label_map(X, wrong)


def test_a_saved_sheet_says_the_same(tmp_path):
    X = arc(gaps=0.2)
    fit = GTM(2, grid=6, basis=3).fit(X[~np.isnan(X).all(axis=1)])
    fit.save(tmp_path / "sheet.lowdim")
    back = load(tmp_path / "sheet.lowdim")
    assert back.calibration_ == fit.calibration_ != 1.0
    for verb in ("responsibilities", "mode", "transform", "score_samples"):
        assert np.array_equal(getattr(back, verb)(X), getattr(fit, verb)(X)), verb
    assert np.array_equal(back.magnification(), fit.magnification())
    assert np.array_equal(back.stretch(), fit.stretch())
    assert np.array_equal(back.impute(X, return_std=True)[1], fit.impute(X, return_std=True)[1])


def test_magnification_is_the_area_of_small_squares():
    """By corners of squares around places, not by slopes; on a sheet in three dimensions."""
    rng = np.random.default_rng(3)
    U = rng.uniform(-1, 1, (300, 2))
    X = np.column_stack([U, 0.5 * (U**2).sum(axis=1)]) + 0.02 * rng.standard_normal((300, 3))
    fit, h = GTM(2, grid=10, basis=4).fit(X), 1e-4
    Z = rng.uniform(-0.8, 0.8, (8, 2))
    corner = {(i, j): fit.inverse_transform(Z + h * np.array([i, j])) for i in (-1, 1) for j in (-1, 1)}
    diagonals = corner[1, 1] - corner[-1, -1], corner[1, -1] - corner[-1, 1]
    area = 0.5 * np.linalg.norm(np.cross(*diagonals), axis=1)
    assert fit.magnification(Z) == pytest.approx(area / (2 * h) ** 2, rel=1e-5)
    whole = fit.magnification(grid(60, 2)).mean() * 4.0
    nodes = fit.inverse_transform(grid(60, 2)).reshape(60, 60, 3)
    sides = [np.diff(nodes, axis=0)[:, :-1], np.diff(nodes, axis=1)[:-1]]
    assert whole == pytest.approx(np.linalg.norm(np.cross(*sides), axis=2).sum(), rel=0.05)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_units_do_not_matter(size):
    """The weights' prior is in units of the table."""
    X = arc(60)
    one, two = GTM(1, grid=10).fit(X), GTM(1, grid=10).fit(X * size)
    assert two.nodes_ / size == pytest.approx(one.nodes_, rel=1e-6) and two.weight_prior_ == pytest.approx(0.1)
    assert two.noise_variance_ / size**2 == pytest.approx(one.noise_variance_, rel=1e-6)
    auto = [GTM(1, grid=10, weight_prior="auto").fit(X * s).weight_prior_ for s in (1.0, size)]
    assert auto[1] == pytest.approx(auto[0], rel=1e-4)


def test_words():
    with pytest.raises(OptionError, match="1, 2 or 3"):
        GTM(4).fit(arc())
    with pytest.raises(OptionError, match="LD200"):
        GTM(2).fit(arc()[:, :1])
    assert grid(3, 2).shape == (9, 2)
