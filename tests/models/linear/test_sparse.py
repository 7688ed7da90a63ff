"""Sparse matrices whose zeros are values: worked on by their stored cells, with the answers of the dense table."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh

from lowdim import PCA, PPCA, FactorAnalysis, Run, as_source
from lowdim.engine.fold import fold
from lowdim.engine.statistics import columns, stored_columns
from lowdim.sources.arrays import SparseSource
from lowdim.sources.views import Frame, Stored
from tests.conftest import sparse_table

MODELS = {
    "pca": PCA(4),
    "krylov": PCA(4, solver="krylov"),
    "standardize": PCA(4, standardize=True),
    "ppca": PPCA(4),
    "fa": FactorAnalysis(2),
}


def matrix(n: int, d: int, seed: int = 0) -> sp.csr_array:
    """A hundredth or two of the cells are stored, in four groups of rows with favourite columns."""
    rng = np.random.default_rng(seed)
    base = sparse_table((n, d), 0.015, rng)
    groups = np.zeros((n, d))
    for g in range(4):
        rows, cols = np.arange(g, n, 4), np.arange(g * d // 5, g * d // 5 + d // 40 + 1)
        groups[np.ix_(rows, cols)] = (rng.random((len(rows), len(cols))) < 0.3) * (2.0 + g)
    return sp.csr_array(base + sp.csr_array(groups))


def apart(one, two) -> float:
    return max(
        np.abs(getattr(one, name) - getattr(two, name)).max() / np.abs(getattr(two, name)).max()
        for name in ("components_", "mean_", "noise_variance_")
    )


@pytest.fixture
def never_dense(monkeypatch):
    """Reading more than the 256 rows that set the frame as a dense table is an error."""
    read = SparseSource.read

    def few(self, rows):
        asked = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        assert asked <= 256, f"{asked} rows made dense"
        return read(self, rows)

    monkeypatch.setattr(SparseSource, "read", few)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_answer_of_the_dense_table(name, weighted, never_dense):
    X = matrix(1500, 120)
    w = 1.0 + np.arange(1500) % 3 if weighted else None
    one, two = MODELS[name], MODELS[name]
    one = type(one)(**one.get_params()).fit(X, sample_weight=w)
    two = type(two)(**{**two.get_params(), **({"solver": "covariance"} if name == "krylov" else {})}).fit(
        X.toarray(), sample_weight=w
    )
    assert as_source(X).is_sparse
    assert apart(one, two) <= 1e-10
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-10)


@pytest.mark.slow
def test_large_ones_go_by_lanczos_and_agree_with_the_covariance(never_dense):
    X = matrix(2600, 2200)
    one = PCA(3).fit(X)
    assert one.certificate_.solver == "krylov" and one.certificate_.residual < 1e-12
    D = X.toarray()
    D -= D.mean(axis=0)
    values, V = eigh(D.T @ D, subset_by_index=(2197, 2199))
    assert np.allclose(one.explained_variance_, values[::-1] / 2599, rtol=1e-10)
    assert np.abs(np.abs(one.components_ @ V[:, ::-1]) - np.eye(3)).max() < 1e-10


def test_serial_is_threads_on_stored_cells():
    X = matrix(2600, 2200)
    one, two = (PCA(3).fit(X, run=Run(engine=engine)) for engine in ("serial", "threads"))
    assert np.array_equal(one.components_, two.components_)


def test_column_statistics_lose_no_digits():
    X = matrix(3000, 40)
    frame = Frame(np.zeros(40), np.ones(40), np.ones(40))
    one = fold(stored_columns, Stored(as_source(X), frame), Run())
    two = fold(columns, as_source(X.toarray()), Run())
    assert np.allclose(one.mean, two.mean, rtol=1e-13) and np.allclose(one.scatter, two.scatter, rtol=1e-13)
    assert np.array_equal(one.size, two.size)


def test_what_is_not_light_takes_the_dense_path():
    X = matrix(300, 20).toarray()
    full = X.copy()
    full[:, 3] += 1e8  # one column stored everywhere, far from zero: centring it by formula would lose its digits
    assert not as_source(sp.csr_array(full)).is_sparse
    assert not as_source(sp.csr_array(np.ones((30, 4)))).is_sparse
    assert not as_source(sp.csr_array(X), zeros="gaps").is_sparse
    with_gap = sp.csr_array(X)
    with_gap.data[0] = np.nan
    assert not as_source(with_gap).is_sparse
    assert apart(PCA(2).fit(sp.csr_array(full)), PCA(2).fit(full)) <= 1e-10


def test_batches_of_sparse_rows(never_dense):
    X = matrix(1500, 120)
    model = PCA(4)
    for part in (X[:100], X[100:700], X[700:]):
        model.partial_fit(part)
    assert apart(model, PCA(4).fit(X.toarray())) <= 1e-10


def test_decay_counts_earlier_rows_less():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 5)) * [3.0, 2.0, 1.0, 1.0, 0.5] + 4.0
    model = PPCA(2).partial_fit(X[:30]).partial_fit(X[30:60], decay=0.5).partial_fit(X[60:], decay=0.5)
    same = PPCA(2).fit(X, sample_weight=np.repeat([0.25, 0.5, 1.0], 30))
    assert apart(model, same) <= 1e-10
    with pytest.raises(Exception, match="LD210"):
        model.partial_fit(X, decay=0.0)
