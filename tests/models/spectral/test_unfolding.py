"""Maximum variance and maximum entropy unfolding, side by side: identities, new rows, bad input."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import lowdim
from lowdim import PCA, MaximumEntropyUnfolding, MaximumVarianceUnfolding
from lowdim.models.spectral.landmarks import farthest
from lowdim.models.spectral.meu import WantedDistances, free_springs
from lowdim.models.spectral.mvu_solver import unfold
from lowdim.sources.arrays import as_source
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.models.spectral.tables import bent, explained, roll

MODELS = {
    "mvu": MaximumVarianceUnfolding(2),
    "mvu-edges": MaximumVarianceUnfolding(2, n_neighbors=6, cliques=False),
    "mvu-landmarks": MaximumVarianceUnfolding(2, n_landmarks=25),
    "meu": MaximumEntropyUnfolding(2),
    "meu-free": MaximumEntropyUnfolding(2, multipliers="free"),
}


each = pytest.mark.parametrize("name", MODELS)


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


def test_a_roll_is_unrolled():
    X, truth = roll(1500)
    some = farthest(X, 200)
    model = MaximumVarianceUnfolding(2).fit(X[some])
    assert model.gap_ <= 1e-6
    assert (explained(model.embedding_, truth[some]) >= 0.99).all()


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
    assert np.array_equal(again.field().covariance, model.field().covariance)


@each
def test_units_and_origin_do_not_matter(name):
    X = bent()
    Z = clone(MODELS[name]).fit_transform(X)
    moved = clone(MODELS[name]).fit_transform(4 * X + 100)
    assert moved == pytest.approx(4 * Z, abs=2e-4 * np.abs(Z).max() if name.startswith("mvu") else 1e-6)


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
        (np.where(np.eye(9, 3) > 0, np.nan, 1.0), "LD431"),
        (np.where(np.arange(3) > 1, np.nan, np.ones((9, 3))), "LD120"),
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


def test_a_solver_that_stops_early_says_so(monkeypatch):
    with monkeypatch.context() as short, pytest.warns(LowdimWarning, match="LD453"):
        short.setattr("lowdim.models.spectral.mvu_solver.MOST_STEPS", 3)
        assert MaximumVarianceUnfolding().fit(bent()).gap_ > 1e-5
    with monkeypatch.context() as short, pytest.warns(LowdimWarning, match="LD454"):
        short.setattr("lowdim.models.spectral.meu.MOST_NEWTON_STEPS", 2)
        assert MaximumEntropyUnfolding().fit(bent()).kkt_ > 1e-8


def test_nothing_else_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in MODELS.values():
            clone(model).fit(bent())
