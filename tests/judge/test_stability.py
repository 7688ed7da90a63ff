"""Stability: refits by weights against copied rows, angles against closed forms, one row removed."""

import numpy as np
import pytest

from lowdim import PCA, PPCA, FactorAnalysis
from lowdim.judge.stability import (
    RemovedRow,
    angle,
    axis_angles,
    influence,
    one_row_words,
    refit_bench,
    refits,
    verdict_of,
)
from tests.conftest import need
from tests.judge.rows.judging import stability


def plane(n, sizes, seed, d=8, gaps=0.0, noise=0.5):
    rng = np.random.default_rng([seed, 6])
    W = np.linalg.qr(rng.standard_normal((d, d)))[0][:, : len(sizes)] * sizes
    X = rng.standard_normal((n, len(sizes))) @ W.T + noise * rng.standard_normal((n, d))
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("model", [PPCA(2), FactorAnalysis(2)])
def test_a_weighted_refit_is_the_fit_of_copied_rows(model, gaps):
    X = plane(80, [3.0, 1.5], 0, gaps=gaps)
    weight = np.random.default_rng(0).multinomial(80, np.full(80, 1 / 80))
    ready = refit_bench(type(model)(2).fit(X), X)
    ready.model.set_params(tol=1e-10)
    params = ready.fit(weight.astype(float))
    copied = type(model)(2, tol=1e-10).fit(np.repeat(X, weight, axis=0))
    frame = ready.fitted.frame
    C = (params.W @ params.W.T + np.diag(params.psi)) / np.outer(frame.scale, frame.scale)
    assert np.allclose(C, copied.get_covariance(), atol=2e-3 * np.abs(C).max())


def test_angles_of_known_planes():
    t = np.radians(25.0)
    a = np.eye(4)[:, :2]
    b = np.column_stack([np.eye(4)[:, 0], [0, np.cos(t), np.sin(t), 0]])
    assert angle(a, b) == pytest.approx(25.0) and angle(a, a[:, ::-1]) == pytest.approx(0.0, abs=1e-6)
    assert axis_angles(a, b * [-2.0, 3.0]) == pytest.approx([0.0, 25.0], abs=1e-6)


def test_bootstrap_angles_follow_the_asymptotic_law():
    """One axis of variance l + s2 over noise s2: E[tan^2] is about (d - 1) s2 (l + s2) / (n l^2)."""
    n, l1, s2, d = 400, 4.0, 0.25, 8
    X = plane(n, [2.0], 1, d=d)
    found = refits(PPCA(1).fit(X), X, bootstraps=150)
    W = PPCA(1).fit(X).params_.W
    tangent = np.tan(np.radians([angle(Wb, W) for Wb in found.W]))
    assert np.mean(tangent**2) == pytest.approx((d - 1) * s2 * (l1 + s2) / (n * l1**2), rel=0.25)


def test_verdicts():
    firm = plane(300, [3.0, 2.0], 2, gaps=0.05)
    found = stability(PPCA(2).fit(firm), firm, bootstraps=30)
    assert found.verdict == "steady" and "no single row decides an axis" in found.sentence
    assert found.cloud.shape == (30, 300, 2) and found.spread.max() < 0.5 and found.plane.shape == (30,)
    noise = np.random.default_rng(3).standard_normal((60, 8))
    loose = stability(PPCA(2).fit(noise), noise, bootstraps=30)
    assert loose.verdict == "unsteady" and np.median(loose.plane) > 35


def test_a_row_that_decides_an_axis_is_named():
    X = plane(60, [3.0], 4)
    X[17] += 12.0 * np.eye(8)[0]
    X[17, 3] -= 12.0
    model = PPCA(2).fit(X)
    found = stability(model, X, bootstraps=20)
    assert found.removed[0].row == 17 and found.removed[0].angle > 20
    assert found.one_row.startswith("row 18 alone turns axis ")


def test_influence_predicts_what_removing_a_row_does():
    X = plane(100, [3.0, 1.5], 5, gaps=0.1)
    model = PPCA(2, tol=1e-9).fit(X)
    predicted = influence(model, X)
    ready = refit_bench(model, X)
    ready.model.set_params(tol=1e-10)
    base = ready.fit(np.ones(100)).W
    rows = np.argsort(-predicted.max(axis=1))[:15]
    exact = np.array([axis_angles(ready.fit((np.arange(100) != i).astype(float)).W, base) for i in rows])
    assert np.corrcoef(exact.ravel(), predicted[rows].ravel())[0, 1] > 0.85
    assert np.median(exact / predicted[rows]) == pytest.approx(1.0, abs=0.35)


@pytest.mark.slow
def test_bounded_work():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30_000, 2)) @ rng.standard_normal((2, 12)) + rng.standard_normal((30_000, 12))
    X[rng.random(X.shape) < 0.02] = np.nan
    found = refits(PPCA(2).fit(X), X, bootstraps=1000)
    assert found.rows == 20_000 and 20 <= len(found.W) < 1000 and found.bootstraps == 1000


def test_same_seed_same_numbers_and_other_models():
    X = plane(60, [3.0, 2.0], 7, gaps=0.1)
    model = PCA(2).fit(X)
    a, b = refits(model, X, bootstraps=20), refits(model, X, bootstraps=20)
    assert np.array_equal(a.W, b.W) and not np.array_equal(a.W, refits(model, X, bootstraps=20, random_state=1).W)
    many = plane(200, [3.0, 2.0], 8, d=12)
    assert stability(FactorAnalysis(2).fit(many), many, bootstraps=20).verdict in ("steady", "moves a little")
    nothing = stability(PPCA(0).fit(X), X, bootstraps=20)
    assert nothing.sentence == "There is no map: no dimension was fitted." and nothing.removed == ()


def test_digester():
    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    found = stability(PPCA(5, standardize=True).fit(X), X, bootstraps=40)
    assert found.verdict == "moves a little" and 20 < np.median(found.plane) < 40
    assert 0 in [r.row for r in found.removed]  # the odd row is among the influential ones


@pytest.mark.parametrize(
    ("degrees", "want"),
    [(0.0, "steady"), (14.99, "steady"), (15.0, "moves a little"), (34.99, "moves a little"), (35.0, "unsteady")],
)
def test_the_verdict_changes_at_its_thresholds(degrees, want):
    assert verdict_of(degrees) == want


def test_a_row_decides_an_axis_from_twenty_degrees():
    row = RemovedRow(6, "7", 1, 19.99, 0.0)
    assert one_row_words((row,)).startswith("no single row decides an axis (without row 7")
    assert one_row_words((row._replace(angle=20.0),)) == "row 7 alone turns axis 1 by 20 degrees"
    assert one_row_words(()) == "no row was removed"


def test_a_wide_tables_closed_form_is_where_em_ends():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 300)) + 0.5 * rng.standard_normal((40, 300))
    bench = refit_bench(PPCA(2, standardize=True).fit(X), X)
    weight = rng.multinomial(40, np.full(40, 1 / 40)).astype(float)
    assert bench.wide and not bench.closed
    closed = bench.fit(weight)
    climbing = bench._replace(wide=False)
    climbing.model.set_params(tol=1e-9, max_iter=500)
    climbed = climbing.fit(weight)
    assert angle(closed.W, climbed.W) < 1e-4
    assert np.allclose(closed.W @ closed.W.T, climbed.W @ climbed.W.T, atol=1e-5)
    assert np.allclose(closed.psi, climbed.psi, atol=1e-6) and np.allclose(closed.mu, climbed.mu)


def test_rows_count_in_refits_as_they_did_in_the_fit():
    """Ten wild rows that counted nothing in the fit move no refit of it: the map turns as without them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2)) * [3.0, 2.0] @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((150, 6))
    weight = np.ones(160)
    weight[150:] = 0.0
    wild = np.vstack([X, 60.0 * rng.standard_normal((10, 6))])
    model = PPCA(2).fit(wild, sample_weight=weight)
    turned = {name: np.median(stability(model, wild, counted=w).plane) for name, w in (("as", weight), ("all", None))}
    alone = np.median(stability(PPCA(2).fit(X), X).plane)
    assert turned["as"] == pytest.approx(alone, rel=0.2) and turned["all"] > 5 * alone
