"""Isomap, Laplacian eigenmaps and locally linear embedding: oracles, new rows, pieces, bad input, the field."""

import itertools

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone

import lowdim
from lowdim import Isomap, LaplacianEigenmaps, LocallyLinearEmbedding
from lowdim.math.graph import bridges, components, spread_rows
from lowdim.math.neighbors import joined, joined_known, nearest, within
from lowdim.text.messages import LowdimError, LowdimWarning, ModelWarning

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
rng = np.random.default_rng


def model(name, **options):
    return clone(MODELS[name]).set_params(**options)


def roll(n, seed=0):
    r = rng(seed)
    t, h = 1.5 * np.pi * (1 + 2 * r.random(n)), 21 * r.random(n)
    along = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # the length of the spiral
    return np.c_[t * np.cos(t), h, t * np.sin(t)], np.c_[along, h]


def blobs(count, rows=20, seed=0):
    r = rng(seed)
    return np.concatenate(
        [0.3 * r.standard_normal((rows + 3 * i, 3)) + 10 * r.standard_normal(3) for i in range(count)]
    )


def explained(Z, truth):
    A = np.c_[np.ones(len(Z)), Z]
    left = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return 1 - (left**2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


def apart(A, B):
    """The largest difference of two maps, signs of axes aside, in units of the larger."""
    size = np.abs(B).max() or 1.0
    A, B = A / size, B / size
    return np.abs(A * np.where((A * B).sum(axis=0) < 0, -1.0, 1.0) - B).max()


# slow and obvious ---------------------------------------------------------------------------------------------
def adjacency(X, k):
    D = cdist(X, X)
    order = np.argsort(D, axis=1)[:, 1 : k + 1]
    A = np.zeros(D.shape)
    np.put_along_axis(A, order, 1.0, axis=1)
    return A, D


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


def test_landmarks_give_the_exact_map():
    X, _ = roll(600)
    exact, few = Isomap(2, n_neighbors=8).fit(X), Isomap(2, n_neighbors=8, n_landmarks=80).fit(X)
    for j in range(2):
        assert abs(np.corrcoef(exact.embedding_[:, j], few.embedding_[:, j])[0, 1]) >= 0.998
    assert len(few.landmarks_) == 80
    assert few.eigenvalues_ == pytest.approx(exact.eigenvalues_, rel=0.05)
    assert few.embedding_.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-10)
    all_of_them = Isomap(2, n_neighbors=8, n_landmarks=600).fit(X)
    assert apart(all_of_them.embedding_, exact.embedding_) <= 1e-10


# the seed's view of locally linear embedding ------------------------------------------------------------------
def test_acyclic_pseudolikelihood_is_the_likelihood():
    """Of all rows given the first: -p/2 log|K| of the rest, from the dense matrix L."""
    X = rng(0).standard_normal((40, 6)) * [3, 2, 1, 1, 1, 1]
    fitted = LocallyLinearEmbedding(2, n_neighbors=4, variant="acyclic").fit(X)
    L = fitted.precision_.toarray()
    first = np.flatnonzero(fitted.params_.precision == 0.0)
    assert len(first) == 1
    rest = np.delete(np.arange(40), first)
    sign, logdet = np.linalg.slogdet(L[np.ix_(rest, rest)])
    known = 0.5 * (6 * logdet - 39 * 6 * np.log(2 * np.pi) - np.trace(X.T @ L @ X))
    assert sign > 0
    assert fitted.log_pseudolikelihood_ == pytest.approx(known, rel=1e-10)
    W = sp.csr_array((fitted.params_.w, (fitted.params_.i, fitted.params_.j)), shape=(40, 40))
    assert components(W)[0] == 1
    assert sp.csgraph.connected_components(W, directed=True, connection="strong")[0] == 40  # no cycles


def test_free_pseudolikelihood_is_of_conditional_gaussians():
    from scipy.stats import multivariate_normal

    X = rng(1).standard_normal((30, 4))
    for variant in ("standard", "free"):
        fitted = LocallyLinearEmbedding(1, n_neighbors=3, variant=variant).fit(X)
        p = fitted.params_
        W = np.zeros((30, 30))
        W[p.i, p.j] = p.w
        assert W.sum(axis=1) == pytest.approx(np.ones(30), abs=1e-12)
        missed = ((X - W @ X) ** 2).sum(axis=1)
        precision = 4 / missed if variant == "free" else np.full(30, 30 * 4 / missed.sum())
        known = sum(multivariate_normal(W[i] @ X, np.eye(4) / precision[i]).logpdf(X[i]) for i in range(30))
        assert fitted.log_pseudolikelihood_ == pytest.approx(known, rel=1e-10)
    assert p.precision == pytest.approx(precision, rel=1e-10)


# new rows -----------------------------------------------------------------------------------------------------
TABLES = {
    "plain": rng(0).standard_normal((40, 3)),
    "copies": np.repeat(rng(1).standard_normal((15, 3)), 3, axis=0),
    "grid": np.array(list(itertools.product(range(6), range(5))), dtype=float),  # ties everywhere
    "line": np.c_[np.arange(30.0), np.zeros((30, 2))],
    "huge": rng(2).standard_normal((30, 3)) * 1e200,
    "tiny": rng(3).standard_normal((30, 3)) * 1e-200,
    "offset": rng(4).standard_normal((30, 3)) + 1e8,
    "simplex": np.eye(12),
    "wide": rng(5).standard_normal((30, 200)),
    "far": np.r_[rng(6).standard_normal((30, 3)), [[100.0, 0.0, 0.0]]],
    "few": rng(7).standard_normal((5, 3)),
    "pieces": blobs(3),
    "many-pieces": blobs(9, 8),
}


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


# pieces -------------------------------------------------------------------------------------------------------
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


def test_bridges_are_the_shortest():
    """Against Kruskal over all pairs of rows."""
    X = blobs(5, 6)
    label = np.repeat(np.arange(5), [6, 9, 12, 15, 18])
    D = cdist(X, X)
    group, total = list(range(5)), 0.0
    for i, j in sorted(itertools.combinations(range(len(X)), 2), key=lambda pair: D[pair]):
        a, b = group[label[i]], group[label[j]]
        if a != b:
            group, total = [a if g == b else g for g in group], total + D[i, j]
    for found in (bridges(label, X), bridges(label, D, known=True)):
        assert len(found.i) == 4
        assert found.d.sum() == pytest.approx(total, rel=1e-12)
        assert components(sp.csr_array((found.d, (label[found.i], label[found.j])), shape=(5, 5)))[0] == 1


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


# bad input ----------------------------------------------------------------------------------------------------
@each
def test_as_many_neighbours_as_rows(name):
    X = rng(0).standard_normal((6, 3))
    with pytest.warns(ModelWarning, match=r"LD432.*n_neighbors=6 of 6 different rows: 5 are used"):
        many = model(name, n_neighbors=6).fit(X)
    assert many.n_neighbors_ == 5
    assert np.array_equal(many.embedding_, model(name, n_neighbors=5).fit_transform(X))


def test_complete_graph_is_classical_scaling():
    """Isomap of all neighbours is PCA."""
    X = rng(0).standard_normal((30, 5))
    assert apart(Isomap(2, n_neighbors=29).fit_transform(X), lowdim.PCA(2).fit_transform(X)) <= 1e-8


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
def test_gaps_and_weights_are_refused(name):
    X = TABLES["plain"].copy()
    X[4, 1] = np.nan
    with pytest.raises(LowdimError, match=r"LD163[\s\S]*row 5, column 'c2'"):
        model(name).fit(X)
    with pytest.raises(LowdimError, match="LD283"):
        model(name).fit(lowdim.as_source(TABLES["plain"], weight=np.ones(40)))


def test_few_neighbours_for_many_dimensions():
    X = rng(0).standard_normal((40, 6))
    with pytest.warns(ModelWarning, match=r"LD436.*3 neighbours cannot span 3 dimensions"):
        LocallyLinearEmbedding(3, n_neighbors=3).fit(X)
    with pytest.raises(LowdimError, match=r"LD437.*7 neighbours in 6 dimensions"):
        LocallyLinearEmbedding(2, n_neighbors=7, reg=0.0).fit(X)
    note = LocallyLinearEmbedding(2, n_neighbors=7).fit(X).certificate_.notes
    assert any("ridge of 0.001" in text for text in note)


def test_groups_that_are_averages_of_themselves():
    """A far group of k+1 rows is closed: none of its neighbours leads out, though others lead in."""
    X = np.c_[np.r_[np.linspace(0, 1, 12), [2.0, 3.0], np.linspace(4, 4.3, 4)], np.zeros(18)]
    X[:, 1] = 0.01 * rng(0).standard_normal(18)
    with pytest.warns(ModelWarning, match=r"LD439.*2 groups"):
        LocallyLinearEmbedding(1, n_neighbors=3).fit(X)


def test_heat_that_reaches_nobody():
    X = TABLES["far"]
    with pytest.warns(ModelWarning, match=r"LD438[\s\S]*row 31"):
        fitted = LaplacianEigenmaps(2, n_neighbors=5, weights="heat").fit(X)
    assert fitted.width_ == pytest.approx(np.median(joined(X, 5)[0].d))
    assert any("heat weights of width" in note for note in fitted.certificate_.notes)
    assert np.isfinite(fitted.embedding_).all()


def test_an_axis_without_spread_is_zero():
    X = np.c_[np.arange(20.0), np.zeros(20)]
    with pytest.warns(ModelWarning, match=r"LD413.*only 1 of 2"):
        fitted = Isomap(2, n_neighbors=3).fit(X)
    assert np.abs(fitted.embedding_[:, 0]) == pytest.approx(np.abs(X[:, 0] - 9.5), abs=1e-9)
    assert (fitted.embedding_[:, 1] == 0.0).all()


# the random field ---------------------------------------------------------------------------------------------
@each
def test_every_map_is_a_random_field(name):
    X = TABLES["plain"]
    fitted = model(name).fit(X)
    L, K = fitted.precision_, fitted.covariance_
    L = L.toarray() if sp.issparse(L) else L
    H = np.eye(40) - 1 / 40
    assert np.abs(L.sum(axis=1)).max() <= 1e-9 * np.abs(L).max()
    if name == "isomap":  # not positive: what is negative in K is no part of L
        assert np.abs(K + 0.5 * H @ (lengths(X, 5) ** 2) @ H).max() <= 1e-9
    elif name == "isomap-landmarks":
        assert np.linalg.matrix_rank(K, tol=1e-8) <= 8
    else:
        assert np.abs(H @ K @ L @ K @ H - H @ K @ H).max() <= 1e-6 * np.abs(K).max()
    draws = fitted.sample_field(4000, random_state=0)
    assert draws.shape == (40, 4000)
    implied = fitted.implied_squared_distances()
    seen = ((draws[0] - draws[7]) ** 2).mean()
    assert seen == pytest.approx(implied[0, 7], rel=6 * np.sqrt(2 / 4000))
    assert np.isfinite(fitted.field_score(X))


def lengths(X, k):
    A, D = adjacency(X, k)
    G = np.where((A + A.T) > 0, D, np.inf)
    np.fill_diagonal(G, 0.0)
    for j in range(len(X)):
        G = np.minimum(G, G[:, j, None] + G[j])
    return G


@pytest.mark.parametrize("name", ["isomap", "laplacian", "lle"])
def test_the_field_of_equal_rows(name):
    X = np.r_[TABLES["plain"], TABLES["plain"][:5]]
    fitted = model(name).fit(X)
    assert fitted.covariance_.shape == (40, 40)
    D = fitted.implied_squared_distances()
    assert D.shape == (45, 45)
    assert np.abs(D[40:] - D[:5]).max() <= 1e-9 * D.max()
    assert fitted.sample_field(3).shape == (45, 3)


def test_looking_at_a_model_computes_no_field(monkeypatch):
    """scikit-learn's `dir` tries every attribute; a field of thousands of rows takes minutes."""
    fitted = Isomap(2).fit(TABLES["plain"])
    monkeypatch.setattr(Isomap, "_covariance", lambda self: pytest.fail("computed"))
    names = dir(fitted)
    assert "covariance_" in names
    assert "embedding_" in names
    assert "impute" not in names


# neighbours ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("d", [2, 40])  # by a tree, by products
def test_joined_takes_all_that_are_equally_far(d):
    X = np.zeros((20, d))
    X[:, :2] = np.array(list(itertools.product(range(5), range(4))), dtype=float)
    pairs, radius = joined(X, 3)
    D = cdist(X, X)
    known = {(i, j) for i in range(20) for j in range(20) if 0 < D[i, j] <= np.sort(D[i])[3] + 1e-9}
    assert set(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True)) == known
    assert pairs.d == pytest.approx(D[pairs.i, pairs.j], abs=1e-12)
    again, same = joined_known(D, 3)
    assert set(zip(again.i.tolist(), again.j.tolist(), strict=True)) == known
    assert radius == pytest.approx(same, abs=1e-12)
    new, _ = joined(X, 3, X)  # a row among others is not its own neighbour either
    assert set(zip(new.i.tolist(), new.j.tolist(), strict=True)) == known
    near = nearest(X, 3)
    assert near.distance == pytest.approx(np.sort(D, axis=1)[:, 1:4], abs=1e-12)
    inside = within(X, X, np.ones(20))
    assert len(inside.i) == int(((D > 0) & (D <= 1 + 1e-9)).sum())


def test_spread_rows_are_far_from_each_other():
    """Each is the farthest from all before, along the graph; lengths by Floyd and Warshall."""
    X, _ = roll(80)
    known = lengths(X, 7)
    A, D = adjacency(X, 7)
    chosen, length = spread_rows(sp.csr_array(np.where(A + A.T > 0, D, 0.0)), 9)
    assert np.abs(length - known[:, chosen]).max() <= 1e-9
    for c in range(1, 9):
        left = known[:, chosen[:c]].min(axis=1)
        assert left[chosen[c]] == pytest.approx(left.max(), rel=1e-12)


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


@pytest.mark.drill
def test_rows_that_fill_many_dimensions():
    """Their graph has no small separators: without factors, the same vectors as from a dense solver."""
    X = rng(0).standard_normal((3100, 20))
    fitted = LaplacianEigenmaps(2, n_neighbors=10).fit(X)
    assert fitted.certificate_.solver == "Lanczos"
    assert fitted.certificate_.residual < 1e-14
    L = fitted.precision_.toarray()
    known = sl.eigh(L, np.diag(np.diag(L)), subset_by_index=(1, 2))
    assert fitted.eigenvalues_ == pytest.approx(known[0], rel=1e-9)
    assert apart(fitted.embedding_, known[1]) <= 1e-6
