"""The random-field view of the spectral methods."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from lowdim import (
    PCA,
    ClassicalMDS,
    Isomap,
    KernelPCA,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
    MaximumEntropyUnfolding,
    MaximumVarianceUnfolding,
)
from lowdim.models.spectral.random_field import (
    log_density,
    modes_of_covariance,
    modes_of_map,
    modes_of_precision,
)
from lowdim.models.spectral.spectral_model import SpectralModel
from lowdim.text.messages import LowdimError
from tests.models.spectral.tables import bent
from tests.oracles import unfolding as oracle

EVERY = {
    "mds": ClassicalMDS(2),
    "kpca": KernelPCA(2),
    "isomap": Isomap(2),
    "laplacian": LaplacianEigenmaps(2),
    "lle": LocallyLinearEmbedding(2),
    "mvu": MaximumVarianceUnfolding(2),
    "meu": MaximumEntropyUnfolding(2),
}


MODELS = {name: model for name, model in EVERY.items() if isinstance(model, SpectralModel)}


each = pytest.mark.parametrize("name", MODELS)


def test_every_spectral_method_has_its_field():
    assert set(MODELS) >= {"isomap", "laplacian", "lle", "mvu", "meu"}


def test_the_field_of_a_linear_map_is_probabilistic_pca():
    """N(0, s ZZ' + t I) over rows, best s and t: what dual PPCA's likelihood is with its axes fixed."""
    X = np.random.default_rng(0).standard_normal((40, 6)) * [5, 4, 1, 1, 1, 1]
    Z = PCA(2).fit_transform(X)
    field = modes_of_map(Z)
    assert np.abs(field.squared_distances() - ((Z[:, None] - Z[None]) ** 2).sum(axis=2)).max() < 1e-9 * (Z**2).sum()
    assert log_density(field, X) == pytest.approx(oracle.field_score(Z @ Z.T, X), abs=1e-3)


@each
def test_precision_and_covariance_belong_together(name):
    """Over differences of rows each is the other's pseudo-inverse, as far as the method gives all of either."""
    model = clone(MODELS[name]).fit(bent(30))
    L, K, n = model.field().precision, model.field().covariance, 30
    L = L.toarray() if not isinstance(L, np.ndarray) else L
    H = np.eye(n) - 1 / n
    LK = H @ L @ H @ K @ H
    assert np.abs(LK @ LK - LK).max() < 1e-5  # a projection on the directions that have variance
    assert LK.trace() == pytest.approx(round(LK.trace()), abs=1e-6)
    D = model.field().squared_distances()
    full = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    if np.linalg.eigvalsh(full)[0] > -1e-9 * full.trace():
        assert np.abs(np.add.outer(np.diag(K), np.diag(K)) - 2 * K - D).max() < 1e-7 * D.max()
    assert (D >= 0).all()


@each
def test_draws_have_the_covariance_of_the_field(name):
    """The mattress in its heat bath: squared differences of many draws are those implied."""
    model = clone(MODELS[name]).fit(bent(30))
    draws = model.field().sample(4000, random_state=0)
    D = ((draws[:, None, :] - draws[None, :, :]) ** 2).mean(axis=2)
    want = model.field().squared_distances()
    seen = want > 1e-6 * want.max()
    ratio = D[seen] / want[seen]
    assert abs(ratio.mean() - 1) < 0.02
    assert np.abs(ratio - 1).max() < 6 * np.sqrt(2 / 4000)  # a chi-squared of 4000: six of its standard deviations
    assert np.array_equal(draws, model.field().sample(4000, random_state=0))
    assert not np.array_equal(draws[:, :1], model.field().sample(1, random_state=1))


@each
def test_likelihood_of_the_table(name):
    """Against SciPy's density in a basis of differences, maximised by a method without gradients."""
    X = bent(14)
    model = clone(MODELS[name]).fit(X)
    field = model.field().modes
    K = (field.vectors * field.variances) @ field.vectors.T
    assert model.field().score(X) == pytest.approx(oracle.field_score(K, X), abs=1e-3)


def test_entropy_maximises_the_likelihood_of_its_field():
    """With s = 1 and no noise, MEU's field is the best of its graph; s and t can only add to that."""
    X = bent(30)
    model = MaximumEntropyUnfolding(2).fit(X)
    drawn = model.objective_ - 1.5 * (np.log(model.gamma_) - np.log(2 * np.pi))  # the constant direction taken out
    assert model.field().score(X) >= drawn - 0.05 * abs(drawn)


def test_repeated_rows_move_together():
    X = np.vstack([bent(30), bent(30)[:4]])
    model = MaximumEntropyUnfolding(2).fit(X)
    draws = model.field().sample(5, random_state=0)
    assert draws.shape == (34, 5)
    assert draws[30:] == pytest.approx(draws[:4], abs=1e-9)
    assert model.field().squared_distances()[0, 30] == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite(model.field().score(X))
    assert model.field().covariance.shape == (30, 30)


@pytest.mark.parametrize(
    ("graph", "want"),
    [
        ("path", lambda a, n: a),
        ("ring", lambda a, n: a * (n - a) / n),
        ("complete", lambda a, n: np.where(a > 0, 2 / n, 0)),
    ],
)
def test_implied_distances_are_resistances(graph, want):
    """Unit springs: expected squared distance = electrical resistance (path: steps; ring: two ways in parallel)."""
    n = 12
    W = np.triu(np.ones((n, n)), 1) if graph == "complete" else np.eye(n, k=1) + (graph == "ring") * np.eye(n, k=n - 1)
    W = W + W.T
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    model = LaplacianEigenmaps(2, metric="graph").fit(W)
    assert model.field().squared_distances() == pytest.approx(want(apart, n), abs=1e-9)


def test_a_field_of_loose_pieces_is_finite():
    L = np.zeros((5, 5))
    L[:2, :2] = L[3:, 3:] = [[1, -1], [-1, 1]]
    field = modes_of_precision(L)
    assert np.isfinite(field.variances).all()
    assert len(field.variances) == 4
    assert np.abs(field.vectors.sum(axis=0)).max() < 1e-9


@pytest.mark.parametrize("small", [1e-8, 1e-9, 1e-10, 1e-13, 1e-15])
def test_rounding_is_not_inverted(small):
    """Variances down to rounding, two of them tied: the precision belongs to the covariance, tied ones together."""
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((9, 9)))[0]
    turn = np.linalg.qr(np.column_stack([np.ones(9), turn[:, :8]]))[0][:, 1:]
    K = (turn * [1.0, 0.5, 1e-2, 1e-4, 1e-6, small * (1 + 1e-9), small, 1e-16]) @ turn.T
    L = modes_of_covariance((K + K.T) / 2).precision()
    LK = L @ K
    assert np.abs(LK @ LK - LK).max() < 1e-5
    assert round(LK.trace()) == pytest.approx(LK.trace(), abs=1e-6)
    assert round(LK.trace()) == (7 if small > 2e-9 else 5)


def test_negative_eigenvalues_are_left_out():
    field = modes_of_covariance(np.diag([2.0, 1.0, -1.0, 0.0]))
    assert (field.variances > 0).all()


@pytest.mark.slow
def test_the_score_of_a_table_with_gaps_is_that_of_its_seen_cells():
    X = bent(25)
    model = MaximumEntropyUnfolding(2).fit(X)
    Y = X.copy()
    Y[[1, 5, 6, 20], 0] = Y[[0, 5], 2] = np.nan
    assert model.field().score(Y) == pytest.approx(oracle.field_score(model.field().covariance, Y), abs=1e-3)
    assert model.field().score(np.where(np.arange(25)[:, None] == 30, np.nan, X)) == model.field().score(X)
    Y[1:, 1] = np.nan  # a column seen once has no differences
    assert model.field().score(Y) == pytest.approx(oracle.field_score(model.field().covariance, Y[:, [0, 2]]), abs=1e-3)


def test_fields_say_what_they_cannot_do():
    model = MaximumEntropyUnfolding(2)
    with pytest.raises(NotFittedError):
        model.field().sample()
    X = bent(30)
    model.fit(X)
    with pytest.raises(LowdimError, match="LD450"):
        model.field().score(X[:20])
    with pytest.raises(LowdimError, match="LD210"):
        model.field().sample(0)
    with pytest.raises(LowdimError, match="LD451"):
        modes_of_covariance(np.broadcast_to(0.0, (7000, 7000)))
    with pytest.raises(LowdimError, match="LD452"):
        log_density(model.field().modes, np.ones((30, 2)))


# labels spread on the field --------------------------------------------------------------------------------------
def some_labels(n, at):
    given = np.full(n, None, dtype=object)
    for row, label in at.items():
        given[row] = label
    return given


@pytest.mark.parametrize(
    "model", [LaplacianEigenmaps(2), LaplacianEigenmaps(2, weights="heat"), MaximumEntropyUnfolding(2)], ids=str
)
def test_spread_labels_are_a_dense_solve(model):
    X = bent(40)
    fitted = clone(model).fit(X)
    spread = fitted.field().spread_labels(some_labels(40, {0: "a", 20: "b", 39: "c"}))
    L = fitted.field().precision
    L = L.toarray() if sp.issparse(L) else L
    held, loose = [0, 20, 39], np.setdiff1d(np.arange(40), [0, 20, 39])
    f = np.linalg.solve(L[np.ix_(loose, loose)], -L[np.ix_(loose, held)] @ np.eye(3))
    assert np.abs(spread.shares[loose] - f / f.sum(axis=1, keepdims=True)).max() < 1e-9
    assert spread.classes.tolist() == ["a", "b", "c"] and np.array_equal(spread.shares[held], np.eye(3))


def test_a_path_has_straight_harmonic_functions():
    path = np.diag(np.ones(10), 1) + np.diag(np.ones(10), -1)
    given = np.full(11, -1)
    given[0], given[10] = 0, 1
    spread = LaplacianEigenmaps(1, metric="graph").fit(path).field().spread_labels(given)
    assert spread.shares[:, 1] == pytest.approx(np.arange(11) / 10)
    assert spread.labels[:5].tolist() == [0] * 5 and spread.labels[6:].tolist() == [1] * 5


@pytest.mark.parametrize("model", [LaplacianEigenmaps(2), MaximumEntropyUnfolding(2)], ids=str)
def test_two_labels_tell_two_moons_apart(model):
    X, y = make_moons(150, noise=0.05, random_state=0)
    given = np.full(150, -1)
    given[[np.argmax(y == 0), np.argmax(y == 1)]] = [0, 1]
    assert (clone(model).fit(X).field().spread_labels(given).labels == y).mean() > 0.97


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_labels_reach_equal_rows_and_no_other_piece():
    X = np.r_[bent(20), bent(20) + 50.0, bent(20)[:3]]
    model = LaplacianEigenmaps(1, n_neighbors=4, pieces="each").fit(X)
    spread = model.field().spread_labels(some_labels(43, {0: 1.0, 10: 2.0}))
    assert np.array_equal(spread.shares[40:], spread.shares[:3])  # equal rows are one
    assert np.allclose(spread.shares[20:40], 0.5)  # nothing leads there: as the labels are in all


def test_labels_that_cannot_be_spread():
    X = bent(20)
    model = LaplacianEigenmaps(1).fit(X)
    with pytest.raises(LowdimError, match="LD450"):
        model.field().spread_labels([1, 2])
    with pytest.raises(LowdimError, match="LD210"):
        model.field().spread_labels([None] * 20)
    with pytest.raises(LowdimError, match=r"LD240[\s\S]*LaplacianEigenmaps"):
        Isomap(1).fit(X).field().spread_labels([0, 1] * 10)


@pytest.mark.filterwarnings("ignore:LD152")
@pytest.mark.parametrize("size", [2.0**-700, 2.0**700])
@pytest.mark.parametrize("name", ["mds", "isomap", "mvu"])
def test_a_field_does_not_depend_on_the_unit(name, size):
    """Its score moves by the logarithm of the unit, as a density does."""
    X = bent(30)
    one, other = clone(MODELS[name]).fit(X), clone(MODELS[name]).fit(X * size)
    moved = one.field().score(X) - (len(X) - 1) * X.shape[1] * np.log(size)
    assert other.field().score(X * size) == pytest.approx(moved, rel=1e-9)
