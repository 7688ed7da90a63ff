"""The engines: each fills, spreads and draws as it should, and says what it costs."""

from functools import partial

import numpy as np
import pytest

from lowdim import GaussianMixture
from lowdim.judge.fills.engines.engine import Engine, OfNumbers, zeros_and_ones
from lowdim.judge.fills.engines.forest import ChainedTrees, Forest, ForestShape
from lowdim.judge.fills.engines.linear import VariationalPCA, WholeGaussian
from lowdim.judge.fills.engines.nearest import NearestRows
from lowdim.judge.fills.engines.offered import LARGE_CELLS, mixed_engines, number_engines


def groups(n=160, d=5, seed=0, gaps=0.15):
    """Two groups far apart whose lines run opposite ways."""
    rng = np.random.default_rng([seed, 110])
    side = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    z = rng.standard_normal((n, 1))
    X = 4.0 * side * np.ones(d) + z * np.where(np.arange(d) % 2, side, 1.0) + 0.2 * rng.standard_normal((n, d))
    return X, rng.random(X.shape) < gaps


def offered(X):
    return number_engines(*X.shape, 1.0)


def kind(engine):
    """The family of an engine, without its settings."""
    return " ".join(word for word in engine.name.split() if not word.isdigit()).split(" with")[0]


def test_every_engine_keeps_what_is_seen_and_is_finite():
    X, gap = groups()
    less = np.where(gap, np.nan, X)
    names = set()
    for engine in [Engine("whole Gaussian", WholeGaussian), *offered(less)]:
        made = engine.fit(less)
        mean, sd = made.fills(less)
        draw = made.drawn(less, 3, 0)
        for part in (mean, draw):
            assert np.array_equal(part[~gap], X[~gap]) and np.isfinite(part).all(), engine.name
        assert (sd[~gap] == 0.0).all() and (sd[gap] > 0.0).all() and np.isfinite(sd).all(), engine.name
        assert np.array_equal(draw, made.drawn(less, 3, 0)) and not np.array_equal(draw, made.drawn(less, 3, 1))
        names.add(kind(engine))
    assert names == {"whole Gaussian", "nearest rows", "mixture of Gaussians", "mixture of groups", "chained trees"}


@pytest.mark.slow
def test_every_engine_fits_to_the_same_bits_and_fills_rows_one_by_one():
    X, gap = groups(90)
    less = np.where(gap, np.nan, X)
    for engine in offered(less):
        mean, sd = engine.fit(less).fills(less)
        again, spread = engine.fit(less).fills(less)
        assert np.array_equal(mean, again) and np.array_equal(sd, spread), engine.name
        one, _ = engine.fit(less).fills(less[7:8])
        assert np.allclose(one[0], mean[7], rtol=1e-9, atol=1e-9), engine.name


def test_engines_that_know_groups_beat_the_line_through_both():
    X, gap = groups(300)
    less = np.where(gap, np.nan, X)
    square = {}
    for engine in [Engine("line", WholeGaussian), *offered(less)]:
        mean, _ = engine.fit(less).fills(less)
        square[kind(engine)] = min(square.get(kind(engine), np.inf), float(((mean - X)[gap] ** 2).mean()))
    assert square["mixture of Gaussians"] < 0.3 * square["line"]
    assert square["chained trees"] < 0.6 * square["line"] and square["nearest rows"] < 0.6 * square["line"]


def test_the_whole_gaussian_fills_as_a_mixture_of_one_does_when_converged():
    X, gap = groups(90)
    less = np.where(gap, np.nan, 1e3 + 7.0 * X)
    mean, sd = WholeGaussian(less).fills(less)
    filled, spread = GaussianMixture(1, tol=1e-9, calibrate=False).fit(less).impute(less, return_std=True)
    unit = np.nanstd(less, axis=0)
    assert np.abs((mean - filled) / unit).max() < 0.02 and np.abs((sd - spread) / unit).max() < 0.01
    hidden = np.column_stack([less, np.full(90, np.nan)])  # a column that is hidden entirely
    mean, sd = WholeGaussian(hidden).fills(hidden)
    assert (mean[:, -1] == 0.0).all() and np.allclose(sd[:, -1], 1.0, atol=0.1)


def test_fills_go_beyond_the_values_seen_by_the_width_of_their_outer_tenth_at_the_most():
    """A row with one huge number: lines go on, values do not; a column with a long tail may be left, a wall may not."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(100)
    X = np.column_stack([z, 3 * z, np.where(z > 0, 1.0, -1.0)]) + 0.01 * rng.standard_normal((100, 3)) * [1, 1, 0]
    X = np.concatenate([X, [[50.0, np.nan, np.nan]]])
    free, bound = (
        VariationalPCA(X, 2).fills(X)[0],
        partial(OfNumbers, fit=partial(VariationalPCA, q=2), d=3, bounded=True),
    )
    assert free[-1, 1] > 100 and free[-1, 2] > 10
    mean, sd = bound(X).fills(X)
    top, inner = np.nanmax(X[:, 1]), np.nanquantile(X[:, 1], 0.9)
    assert mean[-1, 1] == pytest.approx(2 * top - inner) and mean[-1, 2] == 1.0 and (sd[-1, 1:] > 0).all()
    draw = bound(X).drawn(X, 0, 0)
    assert draw[-1, 2] <= 1.0 and np.array_equal(mean[:-1], X[:-1]) and np.array_equal(draw[:-1], X[:-1])
    inside = np.where(rng.random((101, 3)) < 0.1, np.nan, X)[:-1]
    plain, near = VariationalPCA(inside, 2).fills(inside), bound(inside).fills(inside)
    assert np.array_equal(plain[0][:, :2], near[0][:, :2]) and np.array_equal(plain[1], near[1])


def test_nearest_rows_that_agree_are_not_certain():
    """Ten that say 1 leave one chance in twelve for something else (Laplace), and draws keep to it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(400), np.r_[np.ones(380), np.zeros(20)]])
    X[:20, 1] = np.nan
    X[380:, 0] += 100.0
    made = NearestRows(X, 10)
    mean, sd = made.fills(X)
    spread = float(np.nanstd(X[:, 1]))
    assert mean[:20, 1] == pytest.approx(1.0) and sd[:20, 1] == pytest.approx(spread * np.sqrt(1 / 12))
    drawn = np.stack([made.drawn(X, 0, k)[:20, 1] for k in range(200)])
    assert set(np.unique(drawn.round(9))) == {0.0, 1.0}
    assert (drawn < 0.5).mean() == pytest.approx(20 / 380 / 12, abs=0.003)


def test_near_rows_are_found_where_most_of_them_lack_the_column():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    X[:54, 2] = np.nan
    z = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    mean, _ = NearestRows(X, 4).fills(X)
    far = ((z[0, :2] - z[54:, :2]) ** 2).mean(axis=1)
    near = np.argsort(far)[:4]
    assert mean[0, 2] == pytest.approx(np.average(X[54:, 2][near], weights=1 / (0.01 + far[near])))


def test_a_fit_that_starts_from_half_of_the_rows_fills_as_one_from_all(monkeypatch):
    rng = np.random.default_rng(2)
    W = rng.standard_normal((3, 12))
    X = rng.standard_normal((2000, 3)) @ W + 0.5 * rng.standard_normal((2000, 12))
    gap = rng.random(X.shape) < 0.2
    less = np.where(gap, np.nan, X)
    error = {}
    for cells in (1, 10**9):
        monkeypatch.setattr("lowdim.judge.fills.engines.linear.WARM_CELLS", cells)
        error[cells] = float(((VariationalPCA(less, 11).fills(less)[0] - X)[gap] ** 2).mean())
    assert error[1] == pytest.approx(error[10**9], rel=0.01)


def test_nearest_rows_are_those_of_a_double_loop():
    X, gap = groups(40, gaps=0.3)
    less = np.where(gap, np.nan, X)
    z = (less - np.nanmean(less, axis=0)) / np.nanstd(less, axis=0)
    mean, _ = NearestRows(less, 4).fills(less)
    for i, j in np.argwhere(gap)[:20]:
        far = []
        for k in range(40):
            shared = ~np.isnan(z[i]) & ~np.isnan(z[k])
            if not np.isnan(z[k, j]):
                far.append((((z[i] - z[k])[shared] ** 2).mean() if shared.any() else 2.0, k))
        near = sorted(far)[:4]
        weight = np.array([1 / (0.01 + distance) for distance, _ in near])
        want = weight @ np.array([less[k, j] for _, k in near]) / weight.sum()
        assert mean[i, j] == pytest.approx(want, rel=1e-9)


def test_nearest_rows_draw_values_of_the_column():
    X, gap = groups(60)
    less = np.where(gap, np.nan, X)
    drawn = NearestRows(less, 6).drawn(less, 0, 0)
    for j in range(X.shape[1]):
        assert np.isin(drawn[gap[:, j], j].round(9), less[~gap[:, j], j].round(9)).all()


def test_a_column_seen_in_few_rows_or_none_is_filled():
    X, gap = groups(60)
    less = np.where(gap, np.nan, X)
    less[3:, 0] = np.nan
    less[:, 1] = np.nan
    for made in (NearestRows(less, 6), ChainedTrees(less, ForestShape(5, 2, 1.0))):
        mean, sd = made.fills(less)
        assert np.isfinite(mean).all() and (sd[np.isnan(less)] > 0).all()
        assert (mean[3:, 0] >= np.nanmin(less[:, 0]) - 1e-9).all() and (
            mean[3:, 0] <= np.nanmax(less[:, 0]) + 1e-9
        ).all()
    assert NearestRows(less, 6).mask.sum(axis=0).tolist()[:2] == [int((~gap[:3, 0]).sum()), 0]


def test_a_forest_predicts_as_the_mean_of_scikit_learns_trees():
    from sklearn.tree import ExtraTreeRegressor

    rng = np.random.default_rng(5)
    x = rng.standard_normal((80, 3)).astype(np.float32).astype(float)
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.standard_normal(80)
    forest = Forest(x, y, ForestShape(6, 2, 1.0), seed=2)
    trees = [ExtraTreeRegressor(min_samples_leaf=2, max_features=1.0, random_state=12 + t).fit(x, y) for t in range(6)]
    new = rng.standard_normal((20, 3)).astype(np.float32).astype(float)
    each = np.stack([tree.predict(new) for tree in trees])
    mean, variance = forest.mean_and_variance(new)
    assert np.allclose(mean, each.mean(axis=0), rtol=1e-12)
    held = [[y[tree.apply(x) == leaf] for leaf in tree.apply(new)] for tree in trees]
    second = np.array([[(v**2).mean() for v in row] for row in held]).mean(axis=0)
    assert np.allclose(variance, second - mean**2, atol=1e-12)
    draws = np.stack([forest.draw(new, np.random.default_rng(k)) for k in range(400)])
    assert np.isin(draws, y).all()
    assert np.abs(draws.mean(axis=0) - mean).max() < 5 * np.sqrt(variance.max() / 400)


def test_trees_of_a_complete_table_are_grown_only_where_other_rows_have_gaps():
    X, _ = groups(60)
    chained = ChainedTrees(X, ForestShape(4, 2, 1.0))
    assert chained.forests == {}
    row = X[:1].copy()
    row[0, 2] = np.nan
    chained.fills(row)
    assert list(chained.forests) == [2]


def test_which_engines_a_table_is_offered():
    assert number_engines(20, 5, 1.0) == [] and number_engines(100, 1, 1.0) == []
    few = {kind(engine) for engine in number_engines(35, 2, 1.0)}
    assert few == {"nearest rows", "mixture of groups", "mixture of Gaussians", "chained trees"}
    wide = {kind(engine) for engine in number_engines(100, 300, 1.0)}
    assert "chained trees" not in wide and "nearest rows" in wide
    small, large = (number_engines(n, 50, 1.0)[-1].seconds / n for n in (200, 2 * LARGE_CELLS // 50))
    assert large < small
    assert len({engine.name for engine in number_engines(200, 5, 1.0)}) == len(number_engines(200, 5, 1.0))
    assert mixed_engines(100, ["real"], [0]) == [] and mixed_engines(100, ["label"] * 2, [900, 900]) == []
    assert len(mixed_engines(100, ["real", "label"], [0, 3])) == 2


def test_the_forecast_of_a_mixed_model_counts_labels_unless_they_are_markers():
    """Eight columns of labels take rounds at each row and label: many seconds where all of them count."""
    plain, markers, larger, _ = mixed_engines(10_000, ["real"] * 4 + ["label"] * 8, [0] * 4 + [23] * 8)
    assert "clusters" in markers.name and markers.seconds < 1.5 < 4.0 < plain.seconds < larger.seconds
    few = mixed_engines(300, ["real"] * 4 + ["label"], [0] * 4 + [3])
    assert max(engine.seconds for engine in few) < 0.2


def test_labels_are_seen_as_zeros_and_ones():
    """Of four labels three columns, gaps as gaps; a column of very many labels is not seen, nor any unless asked."""
    codes = np.array([0.0, 3.0, np.nan, 1.0])
    ones = zeros_and_ones(codes, 4)
    assert np.array_equal(ones[[0, 1, 3]], [[1, 0, 0], [0, 0, 0], [0, 1, 0]]) and np.isnan(ones[2]).all()
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=200)
    rows = np.column_stack([4.0 * group + rng.standard_normal(200), rng.standard_normal(200), group])
    truth, rows[:40, 0] = rows[:40, 0].copy(), np.nan
    off = {}
    for sizes in ((), (3,), (99,)):
        mean, sd = OfNumbers(rows, fit=partial(VariationalPCA, q=3), d=2, sizes=sizes).fills(rows)
        assert mean.shape == sd.shape == (200, 2)
        off[sizes] = ((mean[:40, 0] - truth) ** 2).mean()
    assert off[(3,)] < 0.5 * off[()] and off[(99,)] == off[()]
