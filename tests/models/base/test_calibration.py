"""Cells held back, and the factor that makes intervals hold: counts, simulations, and the same cells in any block."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import load_iris

import lowdim
from lowdim.engine.fold import Run
from lowdim.engine.statistics import Sum
from lowdim.laws import Relaid
from lowdim.models.base.calibration import (
    ERROR_EDGES,
    NORMAL_90,
    HeldOutCells,
    WithoutHeldCells,
    count_errors,
    held_out_fits,
    inflation_from_counts,
    variance_factor,
)
from lowdim.models.base.results import Cells
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block
from lowdim.sources.views import Frame, Framed
from lowdim.text.errors import ModelWarning


def table(n=400, d=6, gaps=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


def rule(share=0.05, turn=0, d=6):
    return HeldOutCells(share, turn, 0, np.ones(d, dtype=bool))


def counted(z):
    """Errors counted between the edges."""
    return np.bincount(np.searchsorted(ERROR_EDGES, z), minlength=len(ERROR_EDGES) + 1).astype(float)


def order_statistic(z):
    """The factor by the k-th smallest of m errors, k = 0.9 (m + 1)."""
    k = min(0.9 * (len(z) + 1), float(len(z)))
    return float(np.interp(k, np.arange(1, len(z) + 1), np.sort(z))) / NORMAL_90


@pytest.mark.parametrize("wrong", [0.8, 1.0, 1.7])
def test_the_factor_undoes_a_wrong_standard_deviation(wrong):
    z = np.abs(np.random.default_rng(1).standard_normal(40000)) / wrong
    counts = counted(z)
    assert inflation_from_counts(counts) == pytest.approx(1 / wrong, rel=0.02)
    assert inflation_from_counts(counts) == pytest.approx(order_statistic(z), rel=1.1e-3)
    assert inflation_from_counts(counts * 2.5) == inflation_from_counts(counts)


def test_factors_have_ends():
    low, high = np.zeros(len(ERROR_EDGES) + 1), np.zeros(len(ERROR_EDGES) + 1)
    low[0], high[-1] = 3.0, 3.0
    assert inflation_from_counts(low) == 0.2 and inflation_from_counts(np.zeros(4)) == 1.0
    with pytest.warns(ModelWarning, match="LD477"):
        assert inflation_from_counts(high) == 200.0


def test_which_cells_depends_on_the_rows_alone():
    X = np.nan_to_num(table())
    mask = ~np.isnan(table())
    held = rule().split(Block(X, mask))[0]
    assert held.mean() == pytest.approx(0.04, abs=0.016) and not (held & ~mask).any()
    order = np.random.default_rng(2).permutation(len(X))
    assert np.array_equal(rule().split(Block(X[order], mask[order]))[0], held[order])
    assert np.array_equal(rule().split(Block(-1.0 * (0.0 - X)[7:9], mask[7:9], start=55))[0], held[7:9])  # -0.0 is 0.0
    assert not (rule(turn=1).split(Block(X, mask))[0] & held).any() and rule(turn=1).split(Block(X, mask))[0].any()
    closed = rule()._replace(columns=np.arange(6) > 0)
    assert not closed.split(Block(X))[0][:, 0].any() and closed.split(Block(X))[0][:, 1:].any()


def test_cells_are_drawn_evenly():
    """Chi-square over columns and over rows' halves; 30000 rows that differ in one column only."""
    X = np.zeros((30000, 6))
    X[:, 2] = np.arange(30000)
    held = rule().split(Block(X))[0]
    expected = 0.05 * len(X)
    assert (((held.sum(axis=0) - expected) ** 2).sum() / (expected * 0.95)) < 25  # 6 degrees, p = 3e-4
    pair = (held[:, 0] & held[:, 1]).mean()
    assert pair == pytest.approx(0.0025, abs=0.0012)  # columns are held independently


def rounds_of(seen):
    """The cells that are held out, round by round, of a table of which so many cells are seen in each column."""
    held = []

    def refit(less):
        held.append(less.held)
        return SimpleNamespace(params=None, passes=1, reason="converged")

    model = SimpleNamespace(_held_out_counts=lambda params, held, frames, block: Sum(np.zeros(len(ERROR_EDGES) + 1)))
    survey = SimpleNamespace(columns=SimpleNamespace(seen=seen), gaps=True, source=as_source(np.zeros((3, len(seen)))))
    assert held_out_fits(model, refit, survey, 0, Run()).passes == 2 * len(held)
    return held


def test_a_small_table_takes_three_turns_and_a_large_one_one():
    assert [h.round for h in rounds_of(np.full(6, 300.0))] == [0, 1, 2]
    assert [h.round for h in rounds_of(np.full(6, 1e5))] == [0]
    assert rounds_of(np.full(6, 1e5))[0].share == 0.05
    assert rounds_of(np.array([9.0, 500.0]))[0].columns.tolist() == [False, True]
    assert rounds_of(np.full(6, 9.0)) == []


@pytest.mark.parametrize(("tile", "blocks"), [(7, 1), (7, 4), (64, 2)])
def test_the_view_hides_the_same_cells_in_any_block(tile, blocks):
    X = table()
    frame = Frame(np.arange(6.0), np.full(6, 2.0), np.ones(6))
    whole = Framed(WithoutHeldCells(as_source(X), rule(0.1)), frame).block(0)
    source = Framed(WithoutHeldCells(Relaid(X, tile, blocks), rule(0.1)), frame)
    parts = [source.block(i) for i in range(source.n_blocks)]
    assert np.array_equal(np.concatenate([b.x for b in parts]), whole.x)
    mask = np.concatenate([np.ones(b.x.shape, bool) if b.mask is None else b.mask for b in parts])
    assert np.array_equal(mask, whole.mask) and (whole.x[~mask] == 0.0).all()
    held = rule(0.1).split(as_source(X).block(0))[0]
    assert held.any() and np.array_equal(mask, ~np.isnan(X) & ~held)
    seen = mask & ~held
    assert np.array_equal(whole.x[seen], ((X - np.arange(6.0)) * 2.0)[seen])


def test_cells_off_are_counted_by_weight_and_seen_cells_are_hidden_from_who_says():
    X, frame = table(2000), Frame(np.zeros(6), np.full(6, 4.0), np.ones(6))
    block = as_source(X).sample(2000)

    def says(b):
        assert b.mask is not None and (b.x[~b.mask] == 0.0).all()
        return Cells(np.zeros_like(b.x), np.full_like(b.x, 4.0), np.full_like(b.x, 12.0))  # sd 4, as the frame makes it

    counts = count_errors(rule(), (frame,), says, block).value
    held = rule().split(block)[0]
    assert counts.sum() == held.sum() and inflation_from_counts(counts) == pytest.approx(1.0, abs=0.1)  # 480 cells
    assert inflation_from_counts(counts) == pytest.approx(order_statistic(np.abs(block.x[held])), rel=0.01)
    twice = count_errors(rule(), (frame,), says, block._replace(weight=np.full(2000, 2.0))).value
    assert np.array_equal(twice, 2 * counts)
    assert count_errors(rule(0.0), (frame,), says, block).value.sum() == 0.0


def test_a_factor_from_few_cells_holds_the_next_one_nine_times_in_ten():
    """Order statistics: the k-th of m uniform numbers is k / (m + 1) on average."""
    rng, z90 = np.random.default_rng(0), NORMAL_90
    factors = [inflation_from_counts(counted(np.abs(rng.standard_normal(30)))) for _ in range(4000)]
    assert np.mean(2 * ndtr(np.array(factors) * z90) - 1) == pytest.approx(0.9, abs=0.004)  # 0.873 by their quantile


def test_a_cell_without_doubt_is_right_or_infinitely_wrong():
    held = rule(share=0.5)
    x = np.random.default_rng(0).standard_normal((40, 6))
    sure = lambda block: Cells(np.zeros_like(block.x), np.zeros_like(block.x), np.zeros_like(block.x))  # noqa: E731
    count = int(held.split(Block(x))[0].sum())
    assert count_errors(held, (), sure, Block(x)).value[-1] == count > 50
    zeros = np.zeros((40, 6))
    assert count_errors(held, (), sure, Block(zeros)).value[0] == held.split(Block(zeros))[0].sum()


FILLERS = {
    "PCA": lambda: lowdim.PCA(2),
    "DualPPCA": lambda: lowdim.DualPPCA(2),
    "KMeans": lambda: lowdim.KMeans(3),
    "NonlinearFactorAnalysis": lambda: lowdim.NonlinearFactorAnalysis(2),
}
FOUND_BEFORE = {"PCA": 0.776, "DualPPCA": 0.754, "KMeans": 0.809, "NonlinearFactorAnalysis": 0.743}  # not calibrated


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n.startswith("Nonlinear") else []) for n in FILLERS]
)
def test_intervals_hold_hidden_cells_of_iris(name):
    """Columns of very different noise, and rows of two cells: three hidings as in benchmarks/intervals.md."""
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    inside = []
    for seed in range(3):
        hidden = np.random.default_rng([7, seed]).random(X.shape) < 0.1
        hidden[hidden.all(axis=1), 0] = False
        Y = np.where(hidden, np.nan, X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # LD217: PCA's axes follow the noise
            filled, sd = FILLERS[name]().fit(Y).impute(Y, return_std=True)
        inside += (np.abs(filled - X)[hidden] <= NORMAL_90 * sd[hidden]).tolist()
    assert max(0.83, FOUND_BEFORE[name]) < np.mean(inside) < 0.95, np.mean(inside)


def test_cells_are_widened_up_to_an_unknown_row():
    unknown = Cells(np.zeros((1, 2)), np.array([[4.0, 9.0]]), np.zeros((1, 2)))
    sure = Cells(np.ones((3, 2)), np.full((3, 2), 1e-2), np.zeros((3, 2)))
    assert variance_factor(5.0, sure, unknown) * sure.var == pytest.approx(np.full((3, 2), 0.25))
    assert variance_factor(200.0, sure, unknown) * sure.var == pytest.approx(np.tile([4.0, 9.0], (3, 1)))
    for factor in (0.5, 5.0, 200.0):  # and an unknown row stays what it is
        assert variance_factor(factor, unknown, unknown) * unknown.var == pytest.approx(unknown.var)
