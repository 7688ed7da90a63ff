"""Maximum variance and maximum entropy unfolding: identities, optimality, new rows, bad input."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import lowdim
from lowdim import PCA, MaximumEntropyUnfolding, MaximumVarianceUnfolding
from lowdim.math.neighbors import Neighbours, nearest
from lowdim.models.spectral.landmarks import cliques, farthest, weights
from lowdim.models.spectral.meu import WantedDistances, free_springs, log_likelihood, positive_springs, slope
from lowdim.models.spectral.mvu_solver import unfold
from lowdim.sources.arrays import as_source
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.oracles import unfolding as oracle

MODELS = {
    "mvu": MaximumVarianceUnfolding(2),
    "mvu-edges": MaximumVarianceUnfolding(2, n_neighbors=6, cliques=False),
    "mvu-landmarks": MaximumVarianceUnfolding(2, n_landmarks=25),
    "meu": MaximumEntropyUnfolding(2),
    "meu-free": MaximumEntropyUnfolding(2, multipliers="free"),
}
each = pytest.mark.parametrize("name", MODELS)


def roll(n, seed=0):
    """A swiss roll, and its arc length and height."""
    rng = np.random.default_rng(seed)
    t, h = 1.5 * np.pi * (1 + 2 * rng.random(n)), 21 * rng.random(n)
    return np.column_stack([t * np.cos(t), h, t * np.sin(t)]), np.column_stack([arc(t), h])


def arc(t):
    return 0.5 * (t * np.sqrt(1 + t * t) + np.arcsinh(t))


def bent(n=40):
    """A noisy half circle in three dimensions, in one piece."""
    rng = np.random.default_rng(1)
    t = (np.arange(n) + 0.3 * rng.random(n)) * 4 / n
    return np.column_stack([np.cos(t), np.sin(t), 0.3 * t]) + 0.002 * rng.standard_normal((n, 3))


def r2(Z, truth):
    """Share of each true coordinate that a linear function of the map explains."""
    A = np.column_stack([np.ones(len(Z)), Z])
    off = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return 1 - (off**2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


# identities ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(30, 5), (12, 20), (40, 3)])
def test_all_neighbours_are_pca(shape):
    n, p = shape
    X = np.random.default_rng(0).standard_normal(shape) * (1 + np.arange(p)) + 7
    scores = PCA(3).fit_transform(X)
    variance = MaximumVarianceUnfolding(3, n_neighbors=n - 1).fit(X)
    entropy = MaximumEntropyUnfolding(3, n_neighbors=n - 1, multipliers="free").fit(X)
    for Z, want in ((variance.embedding_, scores), (entropy.embedding_, scores / np.sqrt(p))):
        assert Z * np.sign((Z * want).sum(axis=0)) == pytest.approx(want, abs=1e-8)
    assert variance.gap_ < 1e-12
    assert entropy.kkt_ < 1e-8
    assert (entropy.eps_ > 0) == (p < n - 1)


def test_all_neighbours_by_the_solvers_too():
    """The closed forms are what the interior point and Newton's method come to."""
    X = np.random.default_rng(1).standard_normal((16, 20)) * (1 + np.arange(20)) / 5
    X -= X.mean(axis=0)
    i, j = np.triu_indices(16, 1)
    d = ((X[i] - X[j]) ** 2).sum(axis=1)
    assert pytest.approx(X @ X.T, abs=1e-6 * np.trace(X @ X.T)) == unfold(i, j, d, 16).K
    found = free_springs(WantedDistances(i, j, d / 20, 16, 0.01))
    assert found.kkt < 1e-10
    K = found.R.T @ found.R
    H = np.eye(16) - 1 / 16
    assert pytest.approx(X @ X.T / 20, abs=1e-9) == H @ K @ H


def test_springs_of_a_tree_are_the_inverse_lengths():
    """Along a path every stretch is free to be right: l = 1 / delta (and gamma -> 0)."""
    delta = np.array([1.0, 4.0, 0.25, 9.0, 1.0])
    found = positive_springs(WantedDistances(np.arange(5), np.arange(1, 6), delta, 6, 1e-9))
    assert found.multipliers == pytest.approx(1 / delta, rel=1e-6)


# optimality ------------------------------------------------------------------------------------------------------
def test_gradient_by_finite_differences():
    Y = bent(14)
    Y = Y - Y.mean(axis=0)
    pairs = np.array([(i, i + s) for s in (1, 2, 3) for i in range(14 - s)])
    d = ((Y[pairs[:, 0]] - Y[pairs[:, 1]]) ** 2).mean(axis=1)
    want = WantedDistances(pairs[:, 0], pairs[:, 1], d, 14, 0.1)
    at = np.random.default_rng(0).random(len(d)) / d
    total = (Y**2).sum()
    K = np.linalg.inv(oracle.laplacian(pairs, at, 14) + 0.1 * np.eye(14))
    gradient = -1.5 * slope(want, np.linalg.cholesky(K).T)
    height = oracle.field_log_likelihood(pairs, at, 0.1, Y)
    assert log_likelihood(want, at, 3, total) == pytest.approx(height, rel=1e-10)
    for e in range(0, len(d), 5):
        step = np.zeros(len(d))
        step[e] = 1e-5 * at[e]
        rise = (
            oracle.field_log_likelihood(pairs, at + step, 0.1, Y)
            - oracle.field_log_likelihood(pairs, at - step, 0.1, Y)
        ) / (2 * step[e])
        assert gradient[e] == pytest.approx(rise, rel=1e-5, abs=1e-6)


def test_positive_springs_are_the_best():
    """No other optimiser finds more; distances in use are met, the others are not exceeded."""
    Y = bent(9)
    model = MaximumEntropyUnfolding(1, n_neighbors=3).fit(Y)
    Y = Y - Y.mean(axis=0)
    best = oracle.positive_field(model.edges_, model.gamma_, Y)
    assert model.objective_ == pytest.approx(
        oracle.field_log_likelihood(model.edges_, model.multipliers_, model.gamma_, Y), rel=1e-10
    )
    assert best - 1e-3 < model.objective_
    assert model.objective_ > best - 1e-6
    assert model.kkt_ <= 1e-8
    i, j = model.edges_.T
    d, expected = ((Y[i] - Y[j]) ** 2).mean(axis=1), model.implied_squared_distances()[i, j]
    used = model.multipliers_ > 0
    assert expected[used] == pytest.approx(d[used], rel=1e-7)
    assert (expected[~used] <= d[~used] * (1 + 1e-9)).all()
    assert 0 < used.sum() < len(used)


def test_free_springs_meet_every_distance():
    Y = bent(30)
    model = MaximumEntropyUnfolding(2, n_neighbors=5, multipliers="free").fit(Y)
    i, j = model.edges_.T
    d = ((Y[i] - Y[j]) ** 2).mean(axis=1)
    assert model.implied_squared_distances()[i, j] == pytest.approx(d + 2 * model.eps_, rel=1e-7)
    assert model.objective_ > MaximumEntropyUnfolding(2, n_neighbors=5).fit(Y).objective_


def test_variance_is_certified_by_weak_duality():
    """Feasible, and no more than 1e-6 below a bound that any weights give: nothing of ours is trusted."""
    X = roll(80)[0]
    model = MaximumVarianceUnfolding(2, n_neighbors=5, cliques=False).fit(X)
    i, j = model.edges_.T
    d = ((X[i] - X[j]) ** 2).sum(axis=1)
    low, high = oracle.unfolding_bounds(model.edges_, d, model.covariance_, model.multipliers_)
    assert low <= high * (1 + 1e-12)
    assert high / low - 1 < 1e-6
    assert model.gap_ < 1e-6
    assert model.objective_ == pytest.approx(low, rel=1e-6)
    assert "largest possible" in repr(model)


def test_clarabel_agrees():
    """Clarabel through cvxpy found 10195.400502480124 (benchmarks/unfolding.py solves it again)."""
    model = MaximumVarianceUnfolding(2, n_neighbors=6, cliques=False).fit(roll(60)[0])
    assert model.objective_ == pytest.approx(10195.400502480124, rel=1e-7)


# maps ------------------------------------------------------------------------------------------------------------
def test_a_roll_is_unrolled():
    X, truth = roll(1500)
    some = farthest(X, 200)
    model = MaximumVarianceUnfolding(2).fit(X[some])
    assert model.gap_ <= 1e-6
    assert (r2(model.embedding_, truth[some]) >= 0.99).all()


@pytest.mark.drill
def test_300_farthest_of_3000_are_unrolled():
    X, truth = roll(3000)
    some = farthest(X, 300)
    model = MaximumVarianceUnfolding(2).fit(X[some])
    assert model.gap_ <= 1e-6
    assert (r2(model.embedding_, truth[some]) >= 0.99).all()


def test_landmarks_carry_the_other_rows():
    X, truth = roll(2000)
    model = MaximumVarianceUnfolding(2, n_landmarks=120).fit(X[:1000])
    assert len(model.landmarks_) == 120
    assert (r2(model.embedding_, truth[:1000]) >= 0.95).all()
    assert (r2(model.transform(X[1000:]), truth[1000:]) >= 0.95).all()
    assert model.transform(X[:1000]) == pytest.approx(model.embedding_, abs=1e-8)


@each
def test_transform_is_fit_transform(name):
    X = bent()
    model = clone(MODELS[name])
    Z = model.fit_transform(X)
    assert model.transform(X) == pytest.approx(Z, abs=1e-8)
    order = np.random.default_rng(0).permutation(len(X))
    assert np.array_equal(model.transform(X[order]), model.transform(X)[order])


@each
def test_new_rows_lie_beside_their_neighbours(name):
    """Between two rows, a new one is placed between them; close to a row, close to its place."""
    X = bent(80)
    model = clone(MODELS[name]).fit(X[::2])
    Z, size = model.embedding_, np.ptp(model.embedding_, axis=0).max()
    held = model.transform(X[1:-1:2])
    assert np.abs(held - (Z[:-1] + Z[1:]) / 2).max() < 0.12 * size
    close = model.transform(X[::2] + 1e-9)
    assert np.abs(close - Z).max() < 1e-5 * size


@each
def test_equal_rows_share_a_place(name):
    X = bent()
    model = clone(MODELS[name]).fit(np.vstack([X, X[:7]]))
    assert np.array_equal(model.embedding_[40:], model.embedding_[:7])
    assert model.transform(X) == pytest.approx(model.embedding_[:40], abs=1e-8)


@each
def test_saved_and_loaded(name, tmp_path):
    X = bent()
    model = clone(MODELS[name]).fit(X)
    model.save(tmp_path / "model")
    again = lowdim.load(tmp_path / "model")
    assert np.array_equal(again.transform(X + 0.01), model.transform(X + 0.01))
    assert again.objective_ == model.objective_
    assert np.array_equal(again.covariance_, model.covariance_)


@each
def test_units_and_origin_do_not_matter(name):
    X = bent()
    Z = clone(MODELS[name]).fit_transform(X)
    moved = clone(MODELS[name]).fit_transform(4 * X + 100)
    assert moved == pytest.approx(4 * Z, abs=2e-4 * np.abs(Z).max() if name.startswith("mvu") else 1e-6)


# pieces of it ----------------------------------------------------------------------------------------------------
def test_weights_make_up_the_row():
    """Least squares with the distance-scaled ridge, solved directly with its constraint."""
    rng = np.random.default_rng(0)
    P, X = rng.standard_normal((30, 3)), rng.standard_normal((5, 3))
    found = nearest(X, 6, P)
    W = weights(X, P, found, 1e-3)
    for x, rows, w in zip(X, found.row, W, strict=True):
        off = P[rows] - x
        G = off @ off.T + 1e-3 * np.diag((off**2).sum(axis=1))
        system = np.block([[2 * G, np.ones((6, 1))], [np.ones((1, 6)), np.zeros((1, 1))]])
        assert w == pytest.approx(np.linalg.solve(system, np.append(np.zeros(6), 1.0))[:6], abs=1e-9)
    own = weights(P[:2], P, Neighbours(*(part[:2] for part in nearest(P, 4, P))))
    assert np.array_equal(own, np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)))


def test_cliques_join_all_within_a_neighbourhood():
    X = np.random.default_rng(0).standard_normal((25, 2))
    found = nearest(X, 3)
    i, j = cliques(np.repeat(np.arange(25), 3), found.row.ravel(), 25)
    want = {(min(a, b), max(a, b)) for r in range(25) for a in (r, *found.row[r]) for b in (r, *found.row[r]) if a != b}
    assert set(zip(i.tolist(), j.tolist(), strict=True)) == want
    assert len(i) == len(want)


# bad input -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["mvu", "meu", "meu-free"])
def test_a_graph_in_pieces_is_bridged_aloud(name):
    X = np.vstack([bent(20), bent(15) + 50])
    with pytest.warns(LowdimWarning, match="LD430"):
        model = clone(MODELS[name]).fit(X)
    assert list(model.piece_sizes_) == [20, 15]
    assert np.isfinite(model.embedding_).all()
    with pytest.warns(LowdimWarning, match="LD430"):
        largest = clone(MODELS[name]).set_params(pieces="largest").fit(X)
    assert list(largest.left_out_) == list(range(20, 35))
    assert largest.embedding_.shape == (35, 2)


@each
def test_more_neighbours_than_rows(name):
    with pytest.warns(LowdimWarning, match="LD432"):
        model = clone(MODELS[name]).set_params(n_neighbors=99).fit(bent(12))
    assert model.n_neighbors_ == 11


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (np.ones((9, 3)), "LD431"),
        (np.ones((1, 3)), "LD160"),
        (np.where(np.eye(9, 3) > 0, np.nan, 1.0), "LD163"),
        (np.array([[0.0, 0.0], [1.0, 1.0]]), "LD200"),
        (np.array([[0.0, np.inf], [1.0, 1.0]]), "LD150"),
    ],
)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
@each
def test_tables_that_cannot_be_mapped(name, table, code):
    with pytest.raises(LowdimError, match=code):
        clone(MODELS[name]).fit(table)


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 0},
        {"n_neighbors": 0},
        {"pieces": "each"},
        {"gamma": 0.0},
        {"gamma": 1e300},
        {"eps": -1.0},
        {"multipliers": "negative"},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(LowdimError, match="LD210"):
        MaximumEntropyUnfolding(**options).fit(bent(10))
    both = {key: value for key, value in options.items() if key.startswith(("n_", "pieces"))}
    for wrong in (both, {"cliques": 1}, {"n_landmarks": 0}):
        if wrong:
            with pytest.raises(LowdimError, match="LD210"):
                MaximumVarianceUnfolding(**wrong).fit(bent(10))


def test_weights_of_rows_are_refused():
    with pytest.raises(LowdimError, match="LD283"):
        MaximumVarianceUnfolding().fit(as_source(bent(10), weight=np.arange(1.0, 11.0)))


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
@pytest.mark.parametrize("kind", ["line", "grid", "outlier", "long tails", "almost equal", "huge", "tiny", "far"])
@each
def test_odd_tables_have_finite_maps(name, kind):
    rng = np.random.default_rng(0)
    X = {
        "line": np.column_stack([np.arange(20.0), np.zeros(20)]),
        "grid": np.argwhere(np.ones((6, 6))).astype(float),
        "outlier": np.vstack([rng.standard_normal((20, 2)), [[1e6, 0]]]),
        "huge": rng.standard_normal((20, 2)) * 1e200,
        "long tails": np.exp(6 * rng.standard_normal((30, 2))),
        "tiny": rng.standard_normal((20, 2)) * 1e-200,
        "almost equal": np.vstack([rng.standard_normal((15, 2)), 1e-12 * rng.standard_normal((15, 2))]),
        "far": rng.standard_normal((20, 2)) + 1e8,
    }[kind]
    model = clone(MODELS[name]).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert model.transform(X) == pytest.approx(model.embedding_, abs=1e-8 * max(np.abs(model.embedding_).max(), 1e-300))


def test_rows_that_almost_coincide_are_said_to():
    X = np.vstack([bent(15), bent(15)[:1] + 1e-9])
    with pytest.warns(LowdimWarning, match="LD458"):
        model = MaximumEntropyUnfolding().fit(X)
    assert model.kkt_ <= 1e-8
    assert model.eps_ > 0


def test_a_solver_that_stops_early_says_so(monkeypatch):
    with monkeypatch.context() as short, pytest.warns(LowdimWarning, match="LD453"):
        short.setattr("lowdim.models.spectral.mvu_solver.MOST_STEPS", 3)
        assert MaximumVarianceUnfolding().fit(bent()).gap_ > 1e-5
    with monkeypatch.context() as short, pytest.warns(LowdimWarning, match="LD454"):
        short.setattr("lowdim.models.spectral.meu.MOST_NEWTON_STEPS", 2)
        assert MaximumEntropyUnfolding().fit(bent()).kkt_ > 1e-8


def test_memory_is_forecast():
    X = np.random.default_rng(0).standard_normal((3000, 2))
    with pytest.raises(LowdimError, match="LD170"):
        MaximumEntropyUnfolding().fit(X, run=lowdim.Run(memory=10**9))


def test_nothing_else_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in MODELS.values():
            clone(model).fit(bent())
