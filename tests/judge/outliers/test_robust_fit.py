"""The robust fit: it keeps the plane of a contaminated table, names what is far, and leaves clean tables alone."""

import warnings

import numpy as np
import pytest

from lowdim import PPCA, RobustPPCA
from lowdim.datasets.oil import oil_flow
from lowdim.judge.outliers.partition import robust_fit
from tests.judge.contaminated import CASES, angle, contaminated, hidden_group
from tests.judge.rows.judging import judge_rows


def check(kind, share, seeds):
    robust, clean, named, together = [], [], [], []
    for seed in seeds:
        X, W, far, wrong = contaminated(kind, share, seed)
        fit = robust_fit(X, 2, standardize=False)
        robust.append(angle(fit.model.components_.T, W))
        clean.append(angle(PPCA(2).fit(np.where(wrong, np.nan, X)[~far]).components_.T, W))
        named.append(fit.far_rows[far].mean() if far.any() else 1.0)
        together.append(len(fit.far_groups[0]) / far.sum() if kind == "cluster" and fit.far_groups else 0.0)
        assert fit.far_rows[~far].mean() <= (0.01 if kind != "cells" else 0.1)
    assert np.median(robust) <= 3.5 and max(robust) <= 8.0, (np.median(robust), max(robust))
    assert np.mean(named) >= 0.9
    assert kind != "cluster" or min(together) >= 0.9
    assert np.median(robust) <= 1.04 * np.median(clean)


# Of each kind the share in the middle; the others when there is time.
QUICK = (("clean", 0.0), ("cluster", 0.1), ("scattered", 0.1), ("cells", 0.05))


@pytest.mark.parametrize(
    ("kind", "share"), [pytest.param(*case, marks=[] if case in QUICK else [pytest.mark.slow]) for case in CASES]
)
def test_the_plane_is_kept_and_far_rows_are_named(kind, share):
    check(kind, share, range(5))


@pytest.mark.drill
@pytest.mark.parametrize(("kind", "share"), CASES)
def test_the_plane_is_kept_and_far_rows_are_named_50_times(kind, share):
    check(kind, share, range(50))


def test_a_clean_table_has_the_plain_fit_to_the_bit():
    X = contaminated("clean", 0.0, 1).X
    fit, plain = robust_fit(X, 2), PPCA(2, standardize=True).fit(X)
    assert fit.choice == "plain" and not fit.held_cells.any() and not fit.far_rows.any()
    assert np.array_equal(fit.model.components_, plain.components_)
    assert (fit.weights == 1.0).all() and fit.sentence == "Nothing is left out of the fit."
    assert "no robust fit" in fit.why


def test_gaps_weights_and_names_are_kept():
    X, W, _, wrong = contaminated("cells", 0.03, 3)
    gaps = np.random.default_rng(0).random(X.shape) < 0.1
    X = np.where(gaps, np.nan, X)
    fit = robust_fit(X, 2, standardize=False, sample_weight=np.full(len(X), 2.0))
    assert fit.choice == "screened" and isinstance(fit.model, RobustPPCA)
    assert angle(fit.model.components_.T, W) < 6
    assert not (fit.held_cells & gaps).any()
    assert fit.held_cells[wrong & ~gaps].mean() > 0.9 and fit.held_cells[~wrong].mean() < 0.003
    assert fit.weights.shape == (200,) and fit.weights.max() < 2.5
    assert fit.sentence.endswith("left out of the fit.") and "less error" in fit.why


def test_far_rows_count_nothing_and_the_model_is_that_of_the_others():
    X, _, far, _ = contaminated("cluster", 0.2, 0)
    fit = robust_fit(X, 2, standardize=False)
    assert (fit.weights[fit.far_rows] == 0.0).all() and fit.far_rows[far].all()
    others = RobustPPCA(2).fit(np.where(fit.held_cells, np.nan, X)[~fit.far_rows])
    np.testing.assert_allclose(fit.model.components_, others.components_, atol=1e-3)
    assert fit.sentence.endswith("all of these rows lie together.")


@pytest.mark.parametrize(("kind", "share"), [("cluster", 0.2), ("cells", 0.1), ("scattered", 0.05)])
def test_the_plain_model_of_the_cleaned_and_weighted_table_has_the_same_plane(kind, share):
    X, W, _, _ = contaminated(kind, share, 4)
    fit = robust_fit(X, 2, standardize=False)
    plain = PPCA(2).fit(np.where(fit.held_cells, np.nan, X), sample_weight=fit.weights)
    assert angle(plain.components_.T, fit.model.components_.T) < 0.5 and angle(plain.components_.T, W) < 5
    assert plain.noise_variance_ == pytest.approx(fit.model.noise_variance_, rel=0.05)


def test_levels_are_no_wrong_cells():
    """A yes in a hundred is rare, not wrong; a table of nothing but levels is left to the plain fit."""
    rng = np.random.default_rng(0)
    X = contaminated("cells", 0.05, 5).X
    X[:, 3] = rng.random(200) < 0.03
    fit = robust_fit(X, 2)
    assert fit.choice == "screened" and not fit.held_cells[:, 3].any()
    levels = rng.integers(0, 5, (200, 6)).astype(float)
    assert robust_fit(levels, 2).choice == "plain"


def test_tables_too_small_to_screen_are_fitted_plainly():
    rng = np.random.default_rng(0)
    for X, q in (
        (rng.standard_normal((12, 5)), 1),
        (rng.standard_normal((80, 5)), 0),
        (rng.standard_normal((80, 2)), 1),
    ):
        fit = robust_fit(X, q)
        assert fit.choice == "plain" and fit.errors == {}


def test_a_large_table_is_judged_by_some_of_its_rows(monkeypatch):
    monkeypatch.setattr("lowdim.judge.outliers.partition.JUDGED_CELLS", 2000)
    X, W, far, _ = contaminated("scattered", 0.1, 7, n=1000)
    fit = robust_fit(X, 2, standardize=False)
    assert fit.choice == "screened" and fit.far_rows[far].mean() > 0.9
    assert angle(fit.model.components_.T, W) < 3


def test_nothing_is_said_of_the_fits_by_which_candidates_are_judged():
    X = contaminated("scattered", 0.1, 2).X
    X[:, 4] = 0.0  # a constant column: the table's own fit warns once, if at all
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robust_fit(X, 2)
    assert len(caught) <= 2


def test_a_column_seen_in_a_few_rows_does_not_stop_it():
    X = contaminated("scattered", 0.1, 2).X
    X[3:, 7] = np.nan
    fit = robust_fit(X, 2)
    assert fit.model.n_components_ == 2


@pytest.mark.parametrize("seed", range(2))
def test_days_of_rain_are_no_wrong_cells(seed):
    """A column that is 0 on most days: its other values are what it measures."""
    rng = np.random.default_rng(seed)
    warmth = rng.normal(12, 6, 600)
    rain = np.where(rng.random(600) < 0.4, rng.gamma(0.7, 6, 600), 0.0).round(1)
    noise = rng.normal(0, 2, (2, 600))
    X = np.column_stack([warmth + noise[0], warmth - 7 + noise[1], rng.gamma(5, 0.6, 600), rain])
    fit = robust_fit(X, 2)
    assert not fit.held_cells[:, 3].any() and fit.far_rows.mean() <= 0.02
    assert judge_rows(fit.model, X, held=fit.held_cells, far=fit.far_rows).odd.sum() <= 3


def test_every_column_keeps_half_of_its_cells():
    """Columns that few rows show, all of them far: without those rows nothing would be known of the column."""
    X, _, far, _ = contaminated("cluster", 0.1, 0)
    late = np.where(far[:, None] | (np.arange(200)[:, None] < 3), X[:, :2] + [3.0, -2.0], np.nan)
    table = np.column_stack([X, late])
    fit = robust_fit(table, 2)
    kept = ~np.isnan(table) & ~fit.held_cells & ~fit.far_rows[:, None]
    assert (kept.sum(axis=0) >= 0.5 * (~np.isnan(table)).sum(axis=0)).all()
    assert np.isfinite(fit.model.components_).all()


@pytest.mark.parametrize("seed", [0, 3])
def test_a_quarter_of_a_small_table_that_lies_off_the_plane_is_named(seed):
    """The group widens the spread of every direction, so that no direction shows it."""
    X = hidden_group(seed)
    fit = robust_fit(X, 2)
    found = judge_rows(fit.model, X, held=fit.held_cells, far=fit.far_rows)
    assert fit.choice == "screened" and fit.far_rows[:10].all() and fit.far_rows[10:].sum() <= 1
    assert found.odd[:10].all() and found.odd[10:].sum() <= 2


@pytest.mark.parametrize("seed", [101, 103, 105])
def test_one_of_three_equal_groups_is_neither_held_out_nor_odd(seed):
    rng = np.random.default_rng(seed)
    centres, group = 3.0 * rng.standard_normal((3, 8)), rng.integers(0, 3, 300)
    X = centres[group] + rng.standard_normal((300, 8))
    fit = robust_fit(X, 2)
    assert fit.far_rows.sum() <= 3, fit.sentence
    assert judge_rows(fit.model, X, held=fit.held_cells, far=fit.far_rows).odd.sum() <= 3


def test_a_far_group_is_held_out_up_to_a_quarter_of_the_rows_and_scattered_rows_beyond():
    for kind, share, held in (("cluster", 0.24, True), ("cluster", 0.28, False), ("scattered", 0.3, True)):
        X, _, far, _ = contaminated(kind, share, 11)
        fit = robust_fit(X, 2, standardize=False)
        assert fit.far_rows[far].mean() >= 0.95 if held else not fit.far_rows.any(), (kind, share)


def test_a_part_of_the_table_stays_one_when_a_later_fit_finds_a_piece_of_it_far():
    """The regimes of an oil pipe: a third of the rows lies apart, and half of that third from a fit with it."""
    X = oil_flow().X
    hidden = np.random.default_rng(0).random(X.shape) < 0.1
    fit = robust_fit(np.where(hidden, np.nan, X), 3)
    assert fit.far_rows.mean() <= 0.02, fit.sentence
