"""Sheets on tables that ask too much: no prior, more nodes than rows, far rows, equal rows, odd units."""

import warnings

import numpy as np
import pytest

from lowdim import GTM
from lowdim.models.nonlinear.gtm_em import SheetSums, bent
from lowdim.text.messages import ModelWarning
from tests.models.nonlinear.test_gtm import arc


def holds(fit, X):
    """Every number a user can ask for is finite, without a warning of numpy's."""
    with np.errstate(all="raise", under="ignore"):
        found = [
            fit.transform(X),
            fit.mode(X),
            fit.responsibilities(X),
            fit.score_samples(X),
            fit.reconstruct(X),
            fit.magnification(),
            fit.stretch(),
            fit.nodes_,
            fit.sample(5),
            fit.params_.W,
        ]
        return all(np.isfinite(part).all() for part in found) and fit.noise_variance_ > 0


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"grid": 3},
        {"grid": 12, "basis": (6, 3.0)},
        {"n_components": 1, "grid": 5, "basis": 9},
        {"n_components": 3, "grid": 4, "basis": 4},
    ],
    ids=["plain", "fewer-nodes", "broad-bells", "line", "cube"],
)
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_no_prior_leaves_nothing_open(how, gaps):
    X = arc(90, gaps=gaps)
    X = X[~np.isnan(X).all(axis=1)]
    with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="LD477")  # so bendy a sheet follows single rows
        one = GTM(**{"grid": 8, **how}, weight_prior=0, max_iter=60, tol=1.0).fit(X)
    assert holds(one, X) and np.abs(one.params_.W).max() < 1e6


@pytest.mark.parametrize("columns", [1, 3])
def test_the_smallest_weights_of_all_that_fit_as_well(columns):
    """Against the pseudo-inverse of the weighted design, where normal equations are singular."""
    rng = np.random.default_rng(0)
    Phi, G, RX = rng.random((5, 9)), rng.random((5, columns)), rng.random((5, 3))
    G[2] = 0.0
    RX[2] = 0.0
    stats = SheetSums(1.0, 0.0, G, RX, 1.0, 1.0, 0.0)
    A = np.array([Phi.T @ (Phi * g[:, None]) for g in G.T])
    W = bent(Phi, stats, A, np.zeros(9), np.zeros((9, 3)))
    for j in range(3):
        g = G[:, j % columns]
        root = np.sqrt(g)
        aim = np.divide(RX[:, j], root, out=np.zeros(5), where=g > 0)
        assert W[:, j] == pytest.approx(np.linalg.pinv(Phi * root[:, None]) @ aim, abs=1e-9)
    ridge = np.append(np.full(8, 1e-3), 0.0)
    V = bent(Phi, stats, A, ridge, W)
    for j in range(3):
        slope = A[j % columns] @ V[:, j] - Phi.T @ RX[:, j] + ridge * V[:, j]
        assert np.abs(slope).max() < 1e-12


def test_more_nodes_than_rows():
    X = arc(5)
    with pytest.warns(ModelWarning, match="LD470"), pytest.warns(ModelWarning, match="LD476"):
        fit = GTM(2, grid=30).fit(X)  # so bendy a sheet meets five rows
    assert holds(fit, X) and fit.reconstruct(X) == pytest.approx(X, abs=0.02)
    text = fit.certificate_.text()
    assert "fewer rows (5) than nodes" in text and "nodes alone" in text and "noise_variance_" in text
    assert "fewer rows" not in GTM(1, grid=20, basis=4).fit(arc(30)).certificate_.text()


def test_nodes_without_rows():
    """Two heaps far apart: the nodes between hold nothing, and lie between."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((40, 3)) * 0.01, rng.standard_normal((40, 3)) * 0.01 + 10.0])
    for prior in (0.0, 0.1):
        fit = GTM(1, grid=30, basis=6, weight_prior=prior).fit(X)
        assert holds(fit, X) and (fit.responsibilities(X).sum(axis=0) < 1e-6).any()
        assert fit.nodes_.min() > -10 and fit.nodes_.max() < 20


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_a_row_a_thousand_deviations_away_does_not_underflow(far):
    X = arc(80)
    fit = GTM(1, grid=12, basis=4).fit(X)
    away = X.mean(axis=0) + far * np.sqrt(fit.noise_variance_) * np.array([[1.0, 0, 0], [0, -1, 0], [1, 1, 1]])
    R, score = fit.responsibilities(away), fit.score_samples(away)
    assert R.sum(axis=1) == pytest.approx(1.0) and np.isfinite(score).all()
    d2 = ((away[:, None] - fit.nodes_) ** 2).sum(axis=2) / fit.noise_variance_
    exact = np.logaddexp.reduce(-0.5 * d2, axis=1) - np.log(12) - 1.5 * np.log(2 * np.pi * fit.noise_variance_)
    assert score == pytest.approx(exact, rel=1e-9)
    Y = np.vstack([X, away])
    assert holds(GTM(1, grid=12, basis=4).fit(Y), Y)


def test_equal_rows_and_noise_that_vanishes():
    X = np.repeat(arc(6), 20, axis=0)
    for prior in (0.0, 0.1):
        with pytest.warns(ModelWarning, match="LD470"):
            fit = GTM(2, grid=10, weight_prior=prior).fit(X)
        assert holds(fit, X) and "noise_variance_" in fit.certificate_.boundary
        assert fit.reconstruct(X) == pytest.approx(X, abs=1e-3)
    with pytest.warns(ModelWarning, match="LD470"):
        GTM(1, grid=2, basis=2, weight_prior=0.0).fit(np.repeat(np.eye(2), 4, axis=0))


def test_one_column_in_other_units():
    """Its spread decides the sheet, which follows it; standardised, it is the sheet of the plain table."""
    X = arc(80)
    unit = np.array([1.0, 1e6, 1.0])
    raw = GTM(1, grid=15, basis=5).fit(X * unit)
    assert holds(raw, X * unit)
    explained = 1 - ((raw.reconstruct(X * unit) - X * unit)[:, 1] ** 2).mean() / (X * unit)[:, 1].var()
    assert explained > 0.98
    plain, scaled = (GTM(1, grid=15, basis=5, standardize=True).fit(Y) for Y in (X, X * unit))
    assert scaled.nodes_ / unit == pytest.approx(plain.nodes_, rel=1e-6)


def test_areas_beyond_double_precision_are_its_end():
    plain = GTM(2, grid=5, basis=3).fit(arc(60))
    with pytest.warns(Warning, match="LD152"):
        huge = GTM(2, grid=5, basis=3).fit(arc(60) * 1e200)
    tiny = GTM(2, grid=5, basis=3).fit(arc(60) * 1e-200)
    for fit in (huge, tiny):
        assert np.isfinite(fit.magnification()).all() and fit.stretch() == pytest.approx(plain.stretch(), rel=1e-4)
