"""Dask collections as tables, and a cluster as an engine that gives the bits of a single thread."""

import subprocess
import sys
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from lowdim import PCA, PPCA, BayesianPCA, FactorAnalysis, Run, as_source
from lowdim.laws import _identical
from lowdim.models.linear.dual_ppca import DualPPCA
from lowdim.sources.dask.executor import DaskExecutor
from lowdim.sources.dask.source import DaskSource
from lowdim.text.errors import TableError, TableWarning
from lowdim.text.messages import LowdimError
from tests.conftest import sparse_table

distributed = pytest.importorskip("distributed")
# What distributed itself leaves behind when it closes a cluster: its own sockets, and event loops it has stopped.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SERIAL = Run(engine="serial")
NAMES = list("abcdefgh")


def table(n=1000, gaps=0.0, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.5 * rng.standard_normal((n, d)) + 5.0
    X[rng.random(X.shape) < gaps] = np.nan
    return X


def ragged(X, cuts=(0, 13, 13, 300, 301, 640)):
    """A Dask array of these rows in chunks of unequal lengths, one of them empty."""
    sizes = tuple(int(k) for k in np.diff([*cuts, len(X)]))
    return da.from_array(X, chunks=(sizes, X.shape[1]))


def frame(X, pieces=5):
    return dd.from_pandas(pd.DataFrame(X, columns=NAMES[: X.shape[1]]), npartitions=pieces)


def same(one, two):
    """All that two fits found, to the bit."""
    _identical(one, two, "the engine changes")


@pytest.fixture(scope="module", params=["threads", pytest.param("processes", marks=pytest.mark.slow)])
def cluster(request):
    """Two workers; as processes, each of which loads everything again, they take as long as all else here together."""
    apart = request.param == "processes"
    made = distributed.LocalCluster(processes=apart, n_workers=2, threads_per_worker=1, dashboard_address=":0")
    yield made
    made.close()


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as made:
        yield made


# --- the rows are the rows


@pytest.mark.parametrize(
    "make",
    [
        ragged,
        lambda X: frame(X),
        lambda X: ragged(np.ma.masked_invalid(X)),
        lambda X: ragged(X).map_blocks(lambda x: x),
        lambda X: ragged(X.astype("f4") * 1.0),
    ],
)
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_rows_are_those_of_the_whole_table(make, gaps):
    X = table(700, gaps)
    X = X.astype("f4").astype(float)
    source = as_source(make(X), tile=64)
    assert (source.n, source.d) == X.shape and isinstance(source, DaskSource)
    whole = as_source(X, tile=64)
    for i in range(source.n_blocks):
        got, want = source.block(i), whole.block(i)
        assert got.start == want.start and np.array_equal(got.x, want.x)
        assert (got.mask is None) == (want.mask is None)
        assert got.mask is None or np.array_equal(got.mask, want.mask)
    rows = np.array([699, 0, 12, 13, 301, 640])
    assert np.array_equal(source.read(rows)[0][~np.isnan(X[rows])], X[rows][~np.isnan(X[rows])])


def test_frames_keep_their_names_and_nullable_types():
    data = pd.DataFrame(
        {"a": pd.array([1, None, 3, 4], dtype="Int64"), "b": [True, False, True, True], "c": np.float32([1, 2, 3, 4])}
    )
    source = as_source(dd.from_pandas(data, npartitions=2))
    assert source.columns == ("a", "b", "c") and source.named
    assert source.block(0).mask.tolist() == [[True] * 3, [False, True, True], [True] * 3, [True] * 3]


def test_rows_nobody_counted_are_counted():
    X = table(400)
    loose = ragged(X, (0, 13, 300))
    loose = loose[loose[:, 0] > 5.0]
    with pytest.warns(TableWarning, match="LD108"):
        source = as_source(loose)
    kept = X[X[:, 0] > 5.0]
    assert source.n == len(kept) and np.array_equal(source.block(0).x, kept)
    few = frame(X)
    assert np.array_equal(as_source(few[few.a > 5.0]).block(0).x, kept)
    assert as_source(few[few.a > 1e9]).n == 0


def test_reading_computes_only_the_chunks_it_needs():
    seen = []

    def note(x, block_info=None):
        seen.append(block_info[0]["chunk-location"][0])
        return x

    X = table(1000)
    made = da.from_array(X, chunks=(10, 8)).map_blocks(note, meta=np.empty((0, 0)))
    source = as_source(made, tile=128)
    source.read(slice(95, 112))
    assert set(seen) == {9, 10, 11}
    seen.clear()
    block = source.sample(256)
    assert len(set(seen)) == 16 and len(block.x) == 160
    again = as_source(made).sample(256)
    assert np.array_equal(block.x, again.x)
    seen.clear()
    for i in range(source.n_blocks):
        source.block(i)
    assert len(seen) <= 102 + source.n_blocks  # a chunk that two tiles share may be held or made again


def test_large_chunks_are_made_once_a_pass():
    seen = []
    made = da.from_array(table(4000), chunks=(1000, 8)).map_blocks(lambda x: seen.append(1) or x, meta=np.empty((0, 0)))
    source = as_source(made, tile=16)
    PCA(2).fit(source)
    assert len(seen) <= 4 + 4  # the sample, and one pass of 250 tiles


def test_fingerprints_follow_the_collection():
    X = table(50)
    assert as_source(ragged(X)).fingerprint() == as_source(ragged(X.copy())).fingerprint()
    assert as_source(ragged(X)).fingerprint() != as_source(ragged(X + 1.0)).fingerprint()
    assert as_source(frame(X)).fingerprint() == as_source(frame(X)).fingerprint()


# --- what is refused


@pytest.mark.parametrize(
    ("X", "code"),
    [
        (da.ones((10, 4), chunks=(5, 2)), "LD107"),
        (da.ones(10), "LD100"),
        (da.ones((2, 2, 2)), "LD100"),
        (da.ones((10, 0)), "LD105"),
        (da.ones((4, 2), dtype=complex), "LD102"),
        (frame(table(20)).a, "LD100"),
        (dd.from_pandas(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), npartitions=1), "LD104"),
        (dask.delayed(table)(5), "LD101"),
    ],
)
def test_what_is_no_table_is_refused_with_a_code(X, code):
    with pytest.raises(LowdimError) as told:
        as_source(X)
    assert told.value.code == code and told.value.fix


def test_no_rows_at_all():
    with pytest.raises(TableError, match="LD160"):
        PCA(1).fit(da.ones((0, 3)))
    with pytest.raises(TableError, match="LD160"):
        PCA(1).fit(frame(table(20)).query("a > 1e9"))


def test_text_and_infinity_name_their_row():
    X = table(40).astype(object)
    X[33, 2] = "eh?"
    with pytest.raises(TableError, match=r"LD104.*'c3'(.|\n)*row 34"):
        PCA(2).fit(da.from_array(X, chunks=(10, 8)))
    X = table(40)
    X[33, 2] = np.inf
    with pytest.raises(TableError, match="row 34, column 'c3'"):
        PCA(2).fit(da.from_array(X, chunks=(10, 8)))


def test_a_chunk_that_is_not_as_announced():
    lying = da.from_array(table(40), chunks=(10, 8)).map_blocks(
        lambda x: x[:7], dtype=float, chunks=(10, 8), meta=np.empty((0, 0))
    )
    with pytest.raises(TableError, match="LD109"):
        PCA(2).fit(lying)


def test_engine_needs_a_client():
    with pytest.raises(LowdimError, match="no Client is in force") as raised:
        PCA(1).fit(table(20), run=Run(engine="dask"))
    assert raised.value.code == "LD310"


def test_dask_is_imported_by_nobody_who_does_not_use_it():
    code = (
        "import sys, lowdim, numpy as np; lowdim.PPCA(1).fit(np.random.default_rng(0).random((20, 3)))\n"
        "print([m for m in ('dask', 'distributed') if m in sys.modules])\n"
        "sys.modules['distributed'] = None  # as if it were not installed\n"
        "try: lowdim.PCA(1).fit(np.eye(5), run=lowdim.Run(engine='dask'))\n"
        "except ValueError as e: print(e.code, e.fix)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[:2] == ["[]", 'LD004 pip install "lowdim[dask]"']


# --- the same bits


MODELS = [
    (PCA(2, solver="covariance"), 0.0),
    (PCA(2, solver="qr"), 0.0),
    (PCA(2, solver="krylov"), 0.0),
    (PPCA(2), 0.0),
    (PPCA(2, max_iter=3), 0.1),
    (FactorAnalysis(2), 0.0),
    (DualPPCA(2), 0.0),
    (DualPPCA(2, max_iter=4), 0.1),
    (BayesianPCA(4), 0.1),
]


def fitted(model, X, run):
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "LD20[14]")  # few passes, and any solution, are enough to compare bits
        return clone(model).fit(X, run=run)


@pytest.mark.parametrize(("model", "gaps"), MODELS, ids=lambda v: str(v).partition("\n")[0])
def test_a_cluster_gives_the_bits_of_one_thread(client, model, gaps):
    X = table(160, gaps)
    one = fitted(model, as_source(X, tile=32), SERIAL)
    for k in (1, 4):
        same(one, fitted(model, as_source(X, tile=32, block_tiles=k), Run(engine="dask")))


@pytest.mark.parametrize(
    "make",
    [
        ragged,
        frame,
        lambda X: ragged(X).persist(),
        lambda X: frame(X).persist(),
        lambda X: ragged(X).persist() * 1.0,
        np.ma.masked_invalid,
        lambda X: pd.DataFrame(X, columns=NAMES),
    ],
)
def test_every_kind_of_table_on_a_cluster(client, make, tmp_path):
    """A Dask collection goes to the Client in force by itself; the row verbs go where the fit went."""
    X = table(700, 0.1)
    source = as_source(make(X), tile=128)
    run = Run() if isinstance(source, DaskSource) else Run(engine="dask")
    model = PPCA(2, max_iter=3)
    many, one = fitted(model, source, run), fitted(model, source, SERIAL)
    same(many, one)
    assert np.array_equal(many.transform(source, out=tmp_path / "z.npy", run=run), one.transform(source, run=SERIAL))
    assert np.array_equal(many.impute(source, run=run), one.impute(source, run=SERIAL))


@pytest.mark.parametrize("suffix", ["npy", "parquet", "csv"])
def test_files_are_opened_by_the_workers(client, suffix, tmp_path):
    X, path = table(300, 0.1), tmp_path / f"x.{suffix}"
    if suffix == "npy":
        np.save(path, X)
    else:
        made = pd.DataFrame(X, columns=NAMES)
        made.to_parquet(path, row_group_size=100) if suffix == "parquet" else made.to_csv(path, index=False)
    model = PPCA(2, max_iter=3)
    source = as_source(str(path), tile=64, block_tiles=1)
    assert not source.local and source.n_blocks == 5
    same(fitted(model, source, Run(engine="dask")), fitted(model, source, SERIAL))


def test_sparse_tables_and_weights(client):
    X = sparse_table((600, 30), 0.05, np.random.default_rng(0))
    same(PCA(2).fit(X, run=Run(engine="dask")), PCA(2).fit(X, run=SERIAL))
    X, w = table(300), np.random.default_rng(0).integers(1, 4, 300)
    for given in (X, ragged(X, (0, 13, 250))):
        source = as_source(given, weight=w, tile=32)
        same(PPCA(2).fit(source, run=Run(engine="dask")), PPCA(2).fit(source, run=SERIAL))


def test_other_tilings_agree_to_rounding(client):
    X = table(400)
    want = PCA(2).fit(X, run=SERIAL)
    for tile in (1, 7, 100):
        got = PCA(2).fit(as_source(X, tile=tile), run=Run(engine="dask"))
        assert np.allclose(got.components_, want.components_, rtol=0, atol=1e-12)
        assert np.allclose(got.explained_variance_, want.explained_variance_, rtol=1e-12)


@pytest.mark.parametrize("cluster", [pytest.param("processes", marks=pytest.mark.slow)], indirect=True)
def test_warnings_come_home_once(client):
    with pytest.warns(TableWarning, match="LD121") as given:
        list(DaskExecutor(client).map(warner, as_source(table(100), tile=10)))
    assert len(given) == 1 and given[0].filename == __file__


def test_errors_come_home(client):
    X = table(300)
    X[250, 3] = np.inf
    for given in (X, ragged(X, (0, 13, 200)), frame(X)):
        with pytest.raises(TableError, match=r"LD150(.|\n)*row 251, column '(c4|d)'"):
            DaskExecutorFit(client, given)
    with pytest.raises(ZeroDivisionError):
        list(DaskExecutor(client).map(divider, as_source(table(100), tile=10)))
    with pytest.raises(KeyError, match="a chunk's own"):
        PCA(2).fit(ragged(table(50), (0, 13)).map_blocks(breaker, meta=np.empty((0, 0))))


def DaskExecutorFit(client, X):
    return PCA(2).fit(as_source(X, tile=32), run=Run(engine=DaskExecutor(client)))


def warner(blocks):
    from lowdim.text.messages import warn

    for block in blocks:
        warn("LD121", count=len(block.x), n=10)


def divider(blocks):
    return 1 / sum(0 for _ in blocks)


def breaker(x):
    raise KeyError("a chunk's own")


def test_one_task_is_a_node_of_the_tree(client):
    source = as_source(table(1000), tile=2)
    engine = DaskExecutor(client)
    span = engine.span(source)
    assert span & (span - 1) == 0 and 4 * 2 <= source.n_blocks / span < 8 * 2 + 1
    got = list(engine.map(starts, source, first=3 * span))
    assert got == [[2 * i for i in range(j, min(j + span, 500))] for j in range(3 * span, 500, span)]
    assert engine.span(as_source(table(10))) == 1


def starts(blocks):
    return [block.start for block in blocks]


def test_a_cluster_in_this_process():
    """Threads instead of processes: our own limit of BLAS threads holds, and warnings need no way back."""
    with (
        distributed.LocalCluster(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as made,
        distributed.Client(made),
    ):
        X = ragged(table(640, 0.1))
        same(fitted(PPCA(2, max_iter=3), X, Run()), fitted(PPCA(2, max_iter=3), X, SERIAL))
        with pytest.warns(TableWarning, match="LD121"):
            list(DaskExecutor().map(warner, as_source(table(100), tile=50)))


@pytest.mark.drill
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers(workers):
    with (
        distributed.LocalCluster(
            processes=True, n_workers=workers, threads_per_worker=1, dashboard_address=":0"
        ) as made,
        distributed.Client(made),
    ):
        for model, gaps in MODELS:
            X = table(700 if isinstance(model, DualPPCA) else 20_000, gaps)
            one = fitted(model, as_source(X, tile=256), SERIAL)
            for k in (1, 2, 8):
                for given in (X, ragged(X)):
                    source = as_source(given, tile=256, block_tiles=k)
                    same(
                        one if given is X else fitted(model, source, SERIAL), fitted(model, source, Run(engine="dask"))
                    )
