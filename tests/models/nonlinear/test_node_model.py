"""What models over nodes share: labels on the map, and intervals on tables with gaps, the same from anywhere."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_swiss_roll

from lowdim import GTM, DensityNetwork, Run
from lowdim.laws import Relaid
from lowdim.models.base.calibration import HeldOutCells
from lowdim.models.base.survey import survey_table
from lowdim.models.nonlinear.node_model import NodeModel
from lowdim.sources.arrays import as_source
from lowdim.text.errors import TableError
from tests.models.nonlinear.tables import arc, long_arc
from tests.oracles.differences import by_differences
from tests.references.tables import oil


def test_the_models_of_the_family_stand_beside_each_other():
    assert issubclass(GTM, NodeModel) and issubclass(DensityNetwork, NodeModel)
    assert not issubclass(DensityNetwork, GTM)


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


def ring(n, gaps, seed=0):
    """A closed curve in five columns, 0.1 noise; a sheet of a line must tear it, so its intervals are too narrow."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t), 0.3 * t])
    X += 0.1 * rng.standard_normal(X.shape)
    return X, np.where(rng.random(X.shape) < gaps, np.nan, X)


MODEL = GTM(1, grid=25, basis=10, tol=0.01)


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
    plain = fit.params_._replace(inflation=1.0)
    prior = fit._prior(fit.params_, 50)
    rngs = [[np.random.default_rng(i) for i in range(50)] for _ in range(2)]
    assert np.array_equal(fit._draw(fit.params_, prior, rngs[0]), fit._draw(plain, prior, rngs[1]))
    block = fit.frame_.inward(as_source(Y).sample(300))
    assert np.array_equal(fit._posterior(plain, block).log_density, fit._posterior(fit.params_, block).log_density)


def test_a_complete_table_is_not_widened():
    X, _ = ring(200, 0.2)
    fit = MODEL.fit(X)
    assert fit.calibration_ == 1.0 and "not calibrated on held-out cells" in fit.certificate_.text()


def same(one, two):
    for name in ("nodes_", "history_", "calibration_", "noise_variance_", "n_iter_"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert one.calibration_ != 1.0


@pytest.mark.slow
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
@pytest.mark.slow
def test_the_same_bits_on_a_cluster():
    distributed, da = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    _, Y = ring(300, 0.2)
    model = GTM(1, grid=15, basis=6, tol=0.01)
    one = clone(model).fit(as_source(Y, tile=32), run=Run(engine="serial"))
    with distributed.Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"):
        same(one, clone(model).fit(as_source(Y, tile=32), run=Run(engine="dask")))
        far = clone(model).fit(da.from_array(Y, chunks=(100, 5)))  # its origin is taken from other rows
    near = clone(model).fit(Y)
    assert far.nodes_ == pytest.approx(near.nodes_, abs=1e-7)
    assert far.calibration_ == pytest.approx(near.calibration_, rel=1e-9)


def test_order_of_rows_and_copies_hold_the_same_cells_back():
    _, Y = ring(200, 0.2)
    model = clone(MODEL)
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


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_fit_that_is_stopped_keeps_what_it_has(number):
    """Stopped in its first fit, in its second, or in the one with all cells."""
    _, Y = ring(200, 0.2)
    begun = []

    def stop(step):
        begun.extend([step] * (step.passes == 1))
        return len(begun) == number and step.passes == 4

    fit = clone(MODEL).set_params(tol=1e-5, max_iter=30).fit(Y, run=Run(callback=stop))
    assert not fit.converged_ and fit.certificate_.reason == "stopped by the callback"
    assert np.isfinite(fit.nodes_).all() and len(fit.history_) == (4 if number == 4 else 1)
    assert (fit.calibration_ == 1.0) == (number == 1)


def test_cells_are_hidden_under_frames_that_stay():
    _, Y = ring(100, 0.2)
    fit = MODEL.fit(Y)
    held = HeldOutCells(0.1, 0, 0, np.ones(5, dtype=bool))
    counts = fit._held_out_counts(fit.params_, held, (fit.frame_,), as_source(Y).block(0)).value
    assert counts.sum() == held.split(as_source(Y).block(0))[0].sum() > 20


@pytest.mark.parametrize("calibrate", [True, False])
def test_drawn_fills_are_as_wide_as_their_intervals(calibrate):
    X = long_arc(150, gaps=0.15)
    X = X[~np.isnan(X).all(axis=1)]
    model = GTM(1, grid=20, tol=0.005, calibrate=calibrate).fit(X)
    _, sd = model.impute(X, return_std=True)
    drawn = np.array(model.impute(X, draws=60))
    gap = np.isnan(X)
    assert drawn.std(axis=0)[gap].mean() / sd[gap].mean() == pytest.approx(1.0, abs=0.25)
    assert (model.calibration_ == 1.0) == (not calibrate)


@pytest.fixture(params=["oil", "roll", "iris", "gaps"])
def table(request, need):
    if request.param == "oil":
        return oil(need("oil_flow"))[0][:300]
    if request.param == "roll":
        return make_swiss_roll(200, noise=0.2, random_state=0)[0]
    X = load_iris().data
    return X if request.param == "iris" else np.where(np.random.default_rng(0).random(X.shape) < 0.15, np.nan, X)


@pytest.mark.parametrize(
    "model",
    [
        GTM(2, grid=10, calibrate=False),
        GTM(2, grid=10, weight_prior="auto", calibrate=False),
        DensityNetwork(2, n_samples=50, hidden=8, calibrate=False),
        DensityNetwork(2, n_samples=50, basis=5, calibrate=False),
    ],
    ids=["gtm", "gtm-auto", "network", "bells"],
)
def test_what_has_converged_gains_no_more_than_tol_promises(model, table):
    """The fit goes on from its parameters, thousands of steps with next to no tolerance: at most `tol` nats a row."""
    fit = clone(model).fit(table)
    assert fit.converged_
    survey = survey_table(as_source(table), Run(), standardize=False)
    on = clone(model).set_params(tol=1e-11, max_iter=3000)._climbed(fit.params_, survey.source, run=Run())
    on = on.objective + float(survey.columns.seen @ np.log(survey.frame.scale))
    assert on - fit.objective_ <= fit.tol * len(table)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("how", [{"hidden": 4}, {"hidden": (4, 3), "activation": "sigmoid"}, {"basis": 4}])
def test_slopes_of_the_climb_by_finite_differences(how, gaps):
    X = arc(40, gaps=gaps, rowwise=True)
    model = DensityNetwork(1, n_samples=12, max_iter=5, **how)
    survey = survey_table(as_source(X), Run(), standardize=False)
    params, block = model._start(survey), survey.source.sample(len(X))
    stats = model._stats(params, block)
    place, slope = model._steps_from(params, stats)
    u = 0.1 * np.random.default_rng(0).standard_normal(model._pack(params).size)
    gradient = by_differences(lambda v: model._objective(place(v), model._stats(place(v), block)), u, 1e-4)
    assert slope(place(u), model._stats(place(u), block)) == pytest.approx(gradient, rel=1e-5, abs=1e-4)
    assert model._pack(place(np.zeros_like(u))) == pytest.approx(model._pack(params), rel=1e-12)


def test_pieces_without_gaps_beside_pieces_with_some():
    """Rows are worked on a few at a time; those of a complete piece count as they do alone."""
    _, Y = ring(300, 0.2)
    Y[:150] = np.where(np.isnan(Y[:150]), 0.3, Y[:150])
    params = MODEL.fit(Y).params_
    block = as_source(Y).block(0)
    whole = MODEL._stats(params, block)
    rows = [MODEL._stats(params, block.take(slice(i, i + 1))._replace(mask=block.mask[i : i + 1])) for i in range(300)]
    for field in ("log_density", "cells", "G", "RX"):
        assert getattr(whole, field) == pytest.approx(sum(getattr(one, field) for one in rows), rel=1e-9, abs=1e-12)
