"""Intervals of a sheet on tables with gaps: what they hold, and the same factor from anywhere."""

import numpy as np
import pytest
from sklearn.base import clone

from lowdim import GTM, Run
from lowdim.laws import Relaid
from lowdim.models.base.calibration import HeldOutCells, split_frames
from lowdim.sources.arrays import as_source


def ring(n, gaps, seed=0):
    """A closed curve in five columns, 0.1 noise; a sheet of a line must tear it, so its intervals are too narrow."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t), 0.3 * t])
    X += 0.1 * rng.standard_normal(X.shape)
    return X, np.where(rng.random(X.shape) < gaps, np.nan, X)


MODEL = GTM(1, grid=25, basis=10, max_iter=40, tol=1.0)


def test_intervals_hold_what_they_promise():
    X, Y = ring(400, 0.25)
    Y[Y.shape[0] - 1] = X[-1]
    fit = GTM(2, grid=12, basis=6).fit(Y)
    filled, sd = fit.impute(Y, return_std=True)
    hidden = np.isnan(Y)
    e = np.abs(filled - X)[hidden]
    raw, wide = ((e <= 1.645 * sd[hidden] / by).mean() for by in (fit.calibration_, 1.0))
    assert raw < 0.88 < wide < 0.93 and fit.calibration_ > 1.0
    assert f"intervals are {fit.calibration_:.2f} times as wide" in fit.certificate_.text()
    draws = fit.impute(Y, draws=12)[:, hidden]
    assert np.sqrt(draws.var(axis=0, ddof=1).mean() / (sd[hidden] ** 2).mean()) == pytest.approx(1.0, abs=0.05)


def test_rows_are_drawn_as_the_model_is_and_densities_are_its_own():
    _, Y = ring(300, 0.25)
    fit = MODEL.fit(Y)
    plain = fit.params_._replace(widen=1.0)
    prior = fit._prior(fit.params_, 50)
    rngs = [[np.random.default_rng(i) for i in range(50)] for _ in range(2)]
    assert np.array_equal(fit._draw(fit.params_, prior, rngs[0]), fit._draw(plain, prior, rngs[1]))
    block = fit.frame_.inward(as_source(Y).sample(300))
    assert np.array_equal(fit._posterior(plain, block).log_density, fit._posterior(fit.params_, block).log_density)


def test_a_complete_table_is_not_widened():
    X, _ = ring(200, 0.2)
    fit = MODEL.fit(X)
    assert fit.calibration_ == 1.0 and "not calibrated: no cell was missing" in fit.certificate_.text()


def same(one, two):
    for name in ("nodes_", "history_", "calibration_", "noise_variance_", "n_iter_"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert one.calibration_ != 1.0


def test_the_same_bits_from_memory_and_from_files(tmp_path):
    _, Y = ring(700, 0.2)
    np.save(tmp_path / "x.npy", Y)
    np.savetxt(tmp_path / "x.csv", Y, delimiter=",", header="a,b,c,d,e", comments="", fmt="%.17g")
    one = clone(MODEL).fit(Y)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for other in (tmp_path / "x.npy", tmp_path / "x.csv", mapped, Relaid(Y, None, 4)):
        same(one, clone(MODEL).fit(other))
    parts = [clone(MODEL).fit(Relaid(Y, 64, k)) for k in (1, 4)]
    same(*parts)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_same_bits_on_a_cluster():
    distributed, da = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    _, Y = ring(300, 0.2)
    model = GTM(1, grid=15, basis=6, max_iter=15, tol=1.0)
    one = clone(model).fit(as_source(Y, tile=32), run=Run(engine="serial"))
    with distributed.Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"):
        same(one, clone(model).fit(as_source(Y, tile=32), run=Run(engine="dask")))
        far = clone(model).fit(da.from_array(Y, chunks=(100, 5)))  # its origin is taken from other rows
    near = clone(model).fit(Y)
    assert far.nodes_ == pytest.approx(near.nodes_, abs=1e-7)
    assert far.calibration_ == pytest.approx(near.calibration_, rel=1e-9)


def test_order_of_rows_and_copies_hold_the_same_cells_back():
    _, Y = ring(200, 0.2)
    model = clone(MODEL).set_params(max_iter=200)
    order = np.random.default_rng(1).permutation(200)
    w = 1.0 + np.arange(200) % 3
    one, two = clone(model).fit(Y), clone(model).fit(Y[order])
    assert two.calibration_ == pytest.approx(one.calibration_, rel=1e-12)
    one, two = clone(model).fit(Y, sample_weight=w), clone(model).fit(np.repeat(Y, w.astype(int), axis=0))
    assert two.calibration_ == pytest.approx(one.calibration_, rel=1e-12)


def test_a_checkpoint_goes_on_through_both_fits(tmp_path):
    _, Y = ring(200, 0.2)
    one = clone(MODEL).fit(Y, run=Run(checkpoint=tmp_path / "ck"))
    for path in sorted((tmp_path / "ck").glob("[0-9]*.fold"))[-5:]:
        path.unlink()
    same(one, clone(MODEL).fit(Y, run=Run(checkpoint=tmp_path / "ck")))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_fit_that_is_stopped_keeps_what_it_has(number):
    """Stopped in its first fit, in its second, or in the one with all cells."""
    _, Y = ring(200, 0.2)
    begun = []

    def stop(step):
        begun.extend([step] * (step.passes == 1))
        return len(begun) == number and step.passes == 4

    fit = clone(MODEL).set_params(tol=1e-3, max_iter=30).fit(Y, run=Run(callback=stop))
    assert not fit.converged_ and fit.certificate_.reason == "stopped by the callback"
    assert np.isfinite(fit.nodes_).all() and len(fit.history_) == (4 if number == 3 else 1)
    assert (fit.calibration_ == 1.0) == (number == 1)


def test_cells_are_hidden_under_frames_that_stay():
    _, Y = ring(100, 0.2)
    fit = MODEL.fit(Y)
    held = HeldOutCells(0.1, 0, 0, np.ones(5, dtype=bool))
    raw, frames = split_frames(as_source(Y))
    assert frames == () and raw.n == 100
    counts = fit._off(fit.params_, held, (fit.frame_,), as_source(Y).block(0)).value
    assert counts.sum() == held.cells(as_source(Y).block(0)).sum() > 20
