"""What the methods of neighbourhoods share: oracles, new rows, pieces, bad input, the field."""

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone

import lowdim
from lowdim import Isomap, LaplacianEigenmaps, LocallyLinearEmbedding
from lowdim.maths.pairs import nearest
from lowdim.text.errors import ModelWarning
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.models.spectral.tables import TABLES, adjacency, apart, blobs, explained, lengths, rng, roll

MODELS = {
    "isomap": Isomap(2, n_neighbors=5),
    "isomap-landmarks": Isomap(2, n_neighbors=5, n_landmarks=8),
    "laplacian": LaplacianEigenmaps(2, n_neighbors=5),
    "laplacian-symmetric": LaplacianEigenmaps(2, n_neighbors=5, normalization="symmetric"),
    "laplacian-heat": LaplacianEigenmaps(2, n_neighbors=5, weights="heat", normalization="symmetric"),
    "lle": LocallyLinearEmbedding(2, n_neighbors=5),
    "lle-free": LocallyLinearEmbedding(2, n_neighbors=5, variant="free"),
    "lle-acyclic": LocallyLinearEmbedding(2, n_neighbors=5, variant="acyclic"),
}


each = pytest.mark.parametrize("name", MODELS)


def model(name, **options):
    return clone(MODELS[name]).set_params(**options)


def oracle_isomap(X, k, q):
    A, D = adjacency(X, k)
    G = np.where((A + A.T) > 0, D, np.inf)
    np.fill_diagonal(G, 0.0)
    for j in range(len(X)):  # Floyd and Warshall
        G = np.minimum(G, G[:, j, None] + G[j])
    H = np.eye(len(X)) - 1 / len(X)
    values, V = np.linalg.eigh(-0.5 * H @ G**2 @ H)
    return (V * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :q]


def oracle_laplacian(X, k, q, width=None):
    A, D = adjacency(X, k)
    W = A if width is None else A * np.exp(-(D**2) / (2 * width**2))
    W = (W + W.T) / 2
    return sl.eigh(np.diag(W.sum(axis=1)) - W, np.diag(W.sum(axis=1)))[1][:, 1 : q + 1]


def oracle_weights(X, neighbours, reg):
    """Each row by its own constrained least squares: the stationary point of the Lagrangian."""
    W = np.zeros((len(X), len(X)))
    for i, near in enumerate(neighbours):
        if not len(near):
            continue
        Y = X[near] - X[i]
        C = Y @ Y.T + reg * np.trace(Y @ Y.T) * np.eye(len(near))
        lagrange = np.block([[2 * C, np.ones((len(near), 1))], [np.ones((1, len(near))), np.zeros((1, 1))]])
        W[i, near] = np.linalg.solve(lagrange, np.append(np.zeros(len(near)), 1.0))[:-1]
    return W


def oracle_lle(X, k, q, reg=1e-3, free=False):
    A, D = adjacency(X, k)
    W = oracle_weights(X, [np.flatnonzero(row) for row in A], reg)
    M = np.eye(len(X)) - W
    least = 1e-6 * np.array([(D[i, row > 0] ** 2).mean() for i, row in enumerate(A)])  # as stated
    p = X.shape[1] / np.maximum(((X - W @ X) ** 2).sum(axis=1), least) if free else np.ones(len(X))
    return np.linalg.svd(np.sqrt(p)[:, None] * M)[2][::-1][1 : q + 1].T


def test_against_slow_oracles():
    X, _ = roll(150)
    assert apart(Isomap(2, n_neighbors=8).fit_transform(X), oracle_isomap(X, 8, 2)) <= 1e-9
    assert apart(LaplacianEigenmaps(2, n_neighbors=8).fit_transform(X), oracle_laplacian(X, 8, 2)) <= 1e-9
    heat = LaplacianEigenmaps(2, n_neighbors=8, weights="heat", width=4.0)
    assert apart(heat.fit_transform(X), oracle_laplacian(X, 8, 2, 4.0)) <= 1e-9
    assert apart(LocallyLinearEmbedding(2, n_neighbors=8).fit_transform(X), oracle_lle(X, 8, 2)) <= 1e-6
    free = LocallyLinearEmbedding(2, n_neighbors=8, variant="free").fit(X)
    assert apart(free.embedding_, oracle_lle(X, 8, 2, free=True)) <= 1e-6


def test_against_scikit_learn():
    from sklearn import manifold

    X, _ = roll(700)
    theirs = manifold.Isomap(n_components=2, n_neighbors=9).fit_transform(X)
    assert apart(Isomap(2, n_neighbors=9).fit_transform(X), theirs) <= 1e-8
    theirs = manifold.LocallyLinearEmbedding(n_components=2, n_neighbors=9, eigen_solver="dense").fit_transform(X)
    assert apart(LocallyLinearEmbedding(2, n_neighbors=9).fit_transform(X), theirs) <= 1e-5
    theirs = manifold.SpectralEmbedding(2, affinity="nearest_neighbors", n_neighbors=10, random_state=0)
    ours = LaplacianEigenmaps(2, n_neighbors=9).fit_transform(X)  # scikit-learn counts the row itself
    assert apart(ours, theirs.fit_transform(X)) <= 1e-6


def test_a_roll_is_unrolled():
    X, truth = roll(900)
    assert explained(Isomap(2, n_neighbors=8).fit_transform(X), truth).min() > 0.97
    assert explained(Isomap(2, n_neighbors=8, n_landmarks=60).fit_transform(X), truth).min() > 0.97
    assert explained(LocallyLinearEmbedding(2, n_neighbors=7, variant="acyclic").fit_transform(X), truth).min() > 0.8


@each
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_transform_is_fit_transform(name, table):
    X = TABLES[table]
    for pieces in ("bridge", "largest", "each") if "pieces" in table else ("bridge",):
        fitted = model(name, pieces=pieces)
        Z = fitted.fit_transform(X)
        assert Z.shape == (len(X), 2)
        assert apart(fitted.transform(X), Z) <= 1e-8
        one = np.concatenate([fitted.transform(X[i : i + 1]) for i in range(0, len(X), 7)])
        assert np.abs(one - Z[::7]).max() <= 1e-8 * np.abs(Z).max()
        assert np.isfinite(fitted.transform(X[:4] + 0.01 * np.abs(X).max())).all()


@each
@pytest.mark.parametrize("pieces", ["bridge", "largest", "each"])
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_distances_instead_of_data(name, pieces):
    for X in (TABLES["plain"], TABLES["copies"], blobs(3)):
        one, two = model(name, pieces=pieces), model(name, pieces=pieces, metric="precomputed")
        D = cdist(X, X)
        assert apart(two.fit_transform(D), one.fit_transform(X)) <= 1e-6
        assert apart(two.transform(D), two.embedding_) <= 1e-8
        new = X[::5] + 0.01
        assert apart(two.transform(cdist(new, X)), one.transform(new)) <= 1e-6
        assert two.__sklearn_tags__().input_tags.pairwise


@each
def test_new_rows_lie_between_their_neighbours(name):
    X, _ = roll(400, seed=3)
    fitted = model(name, n_neighbors=8).fit(X[:300])
    found = explained(
        np.r_[fitted.embedding_, fitted.transform(X[300:])],
        np.r_[fitted.embedding_, fitted.embedding_[nearest(X[300:], 1, X[:300]).row[:, 0]]],
    )
    assert found.min() > 0.9


def test_a_graph_instead_of_data():
    from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

    X, _ = roll(120)
    G = kneighbors_graph(X, 8, mode="distance")  # one way, no diagonal
    exact = Isomap(2, n_neighbors=8).fit_transform(X)
    dense = np.where(G.toarray() > 0, G.toarray(), np.nan)
    np.fill_diagonal(dense, 0.0)
    own = KNeighborsTransformer(mode="distance", n_neighbors=8).fit_transform(X)  # with stored zeros for the row itself
    both = own.maximum(own.T) + 0 * own
    for graph in (G, G.toarray(), dense, own, both):
        assert apart(Isomap(2, metric="graph").fit_transform(graph), exact) <= 1e-9
    fitted = Isomap(2, metric="graph").fit(dense)
    assert apart(fitted.transform(np.where(np.isnan(dense), dense.T, dense)), exact) <= 1e-8
    fitted = Isomap(2, metric="graph").fit(own)
    assert apart(fitted.transform(own), exact) <= 1e-8
    A = kneighbors_graph(X, 8)
    W = (A + A.T) / 2
    ours, known = LaplacianEigenmaps(2, metric="graph").fit(W), LaplacianEigenmaps(2, n_neighbors=8).fit_transform(X)
    assert apart(ours.embedding_, known) <= 1e-9
    assert apart(ours.transform(W), known) <= 1e-8
    assert apart(LaplacianEigenmaps(2, metric="graph").fit_transform(W.toarray()), known) <= 1e-9
    gaps = np.where(np.arange(120) < 40, np.nan, cdist(X, X))  # unknown distances: those rows are no neighbours
    assert np.isfinite(Isomap(2, metric="precomputed").fit_transform(np.fmax(gaps, gaps.T))).all()


@each
def test_pieces_are_counted_and_said(name):
    X = blobs(3)[rng(0).permutation(69)]
    how = {"width": 0.5} if name == "laplacian-heat" else {}  # else each piece alone has its own
    with pytest.warns(ModelWarning, match=r"LD430.*3 pieces, of 26, 23, 20 rows[\s\S]*joined by the shortest"):
        joint = model(name).fit(X)
    assert joint.n_pieces_ == 3
    assert joint.piece_sizes_.tolist() == [26, 23, 20]
    assert np.bincount(joint.pieces_).tolist() == [26, 23, 20]
    assert len(joint.left_out_) == 0
    assert any("3 pieces (bridge)" in note for note in joint.certificate_.notes)
    with pytest.warns(ModelWarning, match=r"LD430.*3 pieces[\s\S]*left_out_"):
        part = model(name, pieces="largest").fit(X)
    assert len(part.left_out_) == 43
    assert np.array_equal(np.sort(np.r_[part.left_out_, part.rows_]), np.arange(69))
    alone = model(name).fit(X[part.rows_])
    assert apart(part.embedding_[part.rows_], alone.embedding_) <= 1e-8
    assert apart(part.embedding_, alone.transform(X)) <= 1e-8
    with pytest.warns(ModelWarning, match=r"LD430.*3 pieces[\s\S]*a map of its own"):
        own = model(name, pieces="each", **how).fit(X)
    for c in range(3):
        rows = np.flatnonzero(own.pieces_ == c)
        assert apart(own.embedding_[rows], model(name, **how).fit_transform(X[rows])) <= 1e-8


def test_a_graph_in_pieces_has_no_bridges():
    G = sl.block_diag(np.ones((4, 4)), np.ones((5, 5)), np.ones((1, 1)), np.zeros((1, 1))) - np.diag([1.0] * 10 + [0.0])
    for pieces in ("bridge", "largest"):
        for one in (Isomap(2, metric="graph", pieces=pieces), LaplacianEigenmaps(2, metric="graph", pieces=pieces)):
            says = pytest.raises(LowdimError, match=rf"LD433.*pieces='{pieces}'")
            with says, pytest.warns(ModelWarning, match="LD430"):
                one.fit(G)
    for one in (Isomap(2, metric="graph", pieces="each"), LaplacianEigenmaps(2, metric="graph", pieces="each")):
        with pytest.warns(ModelWarning, match=r"LD430.*4 pieces, of 5, 4, 1, 1"):
            Z = one.fit_transform(G)
        assert np.isfinite(Z).all()
        assert (Z[9:] == 0.0).all()  # a row alone is its own map
        assert one.piece_sizes_.tolist() == [5, 4, 1, 1]
    with pytest.raises(LowdimError, match="LD434"):
        one.transform(np.zeros((1, 11)))


@pytest.mark.parametrize("name", ["isomap", "laplacian"])
def test_distances_that_nobody_knows(name):
    X = blobs(3)
    D = cdist(X, X)
    label = np.repeat(np.arange(3), [20, 23, 26])
    unknown = np.where(label[:, None] == label, D, np.nan)
    half = np.where((label[:, None] < 2) & (label < 2), D, unknown)  # the third piece is out of reach
    for table in (unknown, half):
        with pytest.raises(LowdimError, match="LD433"), pytest.warns(ModelWarning, match="LD430"):
            model(name, metric="precomputed").fit(table)
        with pytest.warns(ModelWarning, match=r"LD430.*3 pieces"):
            Z = model(name, metric="precomputed", pieces="each").fit_transform(table)
        assert np.isfinite(Z).all()
        with pytest.raises(LowdimError, match="LD434"), pytest.warns(ModelWarning, match="LD430"):
            model(name, metric="precomputed", pieces="largest").fit(table)


@each
def test_as_many_neighbours_as_rows(name):
    X = rng(0).standard_normal((6, 3))
    with pytest.warns(ModelWarning, match=r"LD432.*n_neighbors=6 of 6 different rows: 5 are used"):
        many = model(name, n_neighbors=6).fit(X)
    assert many.n_neighbors_ == 5
    assert np.array_equal(many.embedding_, model(name, n_neighbors=5).fit_transform(X))


@each
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_equal_rows_share_a_place(name):
    X = rng(0).standard_normal((20, 3))
    twice = np.r_[X, X[3:9], X[3:4]]
    fitted = model(name).fit(twice)
    assert np.array_equal(fitted.embedding_[20:], fitted.embedding_[[3, 4, 5, 6, 7, 8, 3]])
    assert apart(fitted.embedding_[:20], model(name).fit_transform(X)) <= 1e-10
    assert any("7 rows equal others" in note for note in fitted.certificate_.notes)
    with pytest.raises(LowdimError, match=r"LD431.*All 8 rows are equal"):
        model(name).fit(np.ones((8, 3)))
    with pytest.raises(LowdimError, match="LD431"):
        model(name, metric="precomputed").fit(np.zeros((8, 8)))


@each
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda D: D.__setitem__((1, 2), 9.0), "not symmetric"),
        (lambda D: D.__setitem__(([1, 2], [2, 1]), -1.0), "negative"),
        (lambda D: D.__setitem__((3, 3), 1.0), "distance to itself"),
    ],
)
def test_bad_distances(name, change, says):
    D = cdist(TABLES["plain"], TABLES["plain"])
    change(D)
    with pytest.raises(LowdimError, match=rf"LD410[\s\S]*{says}[\s\S]*row "):
        model(name, metric="precomputed").fit(D)
    with pytest.raises(LowdimError, match=r"LD410[\s\S]*not square"):
        model(name, metric="precomputed").fit(D[:7])


@each
def test_bad_new_distances(name):
    D = cdist(TABLES["plain"], TABLES["plain"])
    fitted = model(name, metric="precomputed").fit(D)
    with pytest.raises(LowdimError, match=r"LD410.*[\s\S]*negative"):
        fitted.transform(-D[:2])
    if not name.startswith("lle"):
        with pytest.raises(LowdimError, match="LD434"):
            fitted.transform(np.full((1, 40), np.nan))
    else:
        with pytest.raises(LowdimError, match="LD163"):
            fitted.transform(np.full((1, 40), np.nan))


def test_bad_graphs():
    with pytest.raises(LowdimError, match=r"LD410[\s\S]*not symmetric[\s\S]*row 1, column 2"):
        LaplacianEigenmaps(1, metric="graph").fit(np.array([[0, 1.0, 0], [0.5, 0, 1], [0, 1, 0]]))
    with pytest.raises(LowdimError, match=r"LD410[\s\S]*-1 is no length or weight"):
        LaplacianEigenmaps(1, metric="graph").fit(np.array([[0, -1.0, 1], [-1.0, 0, 1], [1, 1, 0]]))
    with pytest.raises(LowdimError, match=r"LD410[\s\S]*not symmetric"):
        Isomap(1, metric="graph").fit(sp.csr_array(np.array([[0, 1.0, 0], [0.5, 0, 1], [0, 1, 0]])))
    with pytest.raises(LowdimError, match=r"LD210.*metric='graph'"):
        LocallyLinearEmbedding(1, metric="graph").fit(np.ones((4, 4)))


@each
def test_too_many_dimensions(name):
    with pytest.raises(LowdimError, match=r"LD200.*at most 4"), pytest.warns(LowdimWarning, match="LD432"):
        model(name, n_components=5).fit(rng(0).standard_normal((5, 3)))


@each
def test_weights_are_refused(name):
    with pytest.raises(LowdimError, match="LD283"):
        model(name).fit(lowdim.as_source(TABLES["plain"], weight=np.linspace(1.0, 2.0, 40)))


@each
def test_every_map_is_a_random_field(name):
    X = TABLES["plain"]
    fitted = model(name).fit(X)
    L, K = fitted.field().precision, fitted.field().covariance
    L = L.toarray() if sp.issparse(L) else L
    H = np.eye(40) - 1 / 40
    assert np.abs(L.sum(axis=1)).max() <= 1e-9 * np.abs(L).max()
    if name == "isomap":  # not positive: what is negative in K is no part of L
        assert np.abs(K + 0.5 * H @ (lengths(X, 5) ** 2) @ H).max() <= 1e-9
    elif name == "isomap-landmarks":
        assert np.linalg.matrix_rank(K, tol=1e-8) <= 8
    else:
        assert np.abs(H @ K @ L @ K @ H - H @ K @ H).max() <= 1e-6 * np.abs(K).max()
    draws = fitted.field().sample(4000, random_state=0)
    assert draws.shape == (40, 4000)
    implied = fitted.field().squared_distances()
    seen = ((draws[0] - draws[7]) ** 2).mean()
    assert seen == pytest.approx(implied[0, 7], rel=6 * np.sqrt(2 / 4000))
    assert np.isfinite(fitted.field().score(X))


@pytest.mark.parametrize("name", ["isomap", "laplacian", "lle"])
def test_the_field_of_equal_rows(name):
    X = np.r_[TABLES["plain"], TABLES["plain"][:5]]
    fitted = model(name).fit(X)
    assert fitted.field().covariance.shape == (40, 40)
    D = fitted.field().squared_distances()
    assert D.shape == (45, 45)
    assert np.abs(D[40:] - D[:5]).max() <= 1e-9 * D.max()
    assert fitted.field().sample(3).shape == (45, 3)


@pytest.mark.drill
def test_a_large_table():
    X, truth = roll(20_000)
    assert explained(Isomap(2, n_neighbors=10, n_landmarks=200).fit_transform(X), truth).min() > 0.99
    for fitted in (LaplacianEigenmaps(2, n_neighbors=10).fit(X), LocallyLinearEmbedding(2, n_neighbors=10).fit(X)):
        assert fitted.certificate_.residual < 1e-12
        assert (
            apart(fitted.transform(X[:200]), fitted.embedding_[:200])
            <= 1e-8 * np.abs(fitted.embedding_).max() / np.abs(fitted.embedding_[:200]).max()
        )
