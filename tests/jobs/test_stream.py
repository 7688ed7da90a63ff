"""Files larger than memory: what is drawn, what all rows decide, and what is written a tile at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import lowdim
from lowdim import ProbabilisticPCA, as_source
from lowdim.engine.fold import Run
from lowdim.jobs.analysis import analyse
from lowdim.jobs.apply import place
from lowdim.jobs.stream import P_BITS, analyse_stream, discoveries, draw, fill_stream, new_rows, place_stream
from lowdim.judge.maps.table_map import table_map
from lowdim.judge.outliers.law import false_discovery
from lowdim.judge.read_table import read
from lowdim.text.errors import BudgetError, TableWarning
from lowdim.text.messages import LowdimError
from tests.judge.rows.judging import judge_rows


def table(n: int = 6_000, d: int = 6, gaps: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two dimensions and noise with heavy tails; the table with gaps, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.5 * rng.laplace(size=(n, d)) + 3.0
    return np.where(rng.random(truth.shape) < gaps, np.nan, truth), truth


def parquet(path, X, **more):
    names = [f"x{j + 1}" for j in range(X.shape[1])]
    columns = {name: pa.array(X[:, j], from_pandas=True) for j, name in enumerate(names)}
    pq.write_table(pa.table({**columns, **more}), path, row_group_size=1000)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return parquet(tmp_path_factory.mktemp("stream") / "cells.parquet", table()[0])


# rows drawn ---------------------------------------------------------------------------------------------
def test_rows_are_drawn_once_each_and_named_by_their_place(file):
    X = table()[0]
    t = draw(file, sample=300).table
    rows = np.array(t.row_names, dtype=int) - 1
    assert len(set(rows)) == 300 == t.n and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(t.X, X[rows])
    other = draw(as_source(X, tile=70, block_tiles=4), sample=300).table  # whoever holds the rows, and however
    assert other.row_names == t.row_names and draw(file, sample=300, random_state=1).table.row_names != t.row_names


def test_every_row_is_as_likely_as_any_other():
    X = as_source(np.random.default_rng(0).standard_normal((50, 3)), tile=8)
    hits = Counter(row for seed in range(300) for row in draw(X, sample=10, random_state=seed).table.row_names)
    found = np.array([hits[str(k + 1)] for k in range(50)])
    # counts of 300 draws of 10 of 50 without replacement: each binomial(300, 0.2), slightly negatively tied
    assert stats.chi2.sf(((found - 60.0) ** 2 / (60 * 0.8)).sum() * 49 / 50, 49) > 1e-3


def test_columns_are_named_dropped_and_left_out(tmp_path):
    X, _ = table(400)
    path = parquet(tmp_path / "t.parquet", X, site=pa.array(["a", "b"] * 200), one=pa.array([1.0] * 400))
    with pytest.warns(TableWarning, match="LD119.*site"):
        drawn = draw(path, sample=100, drop="x2")
    assert drawn.table.names == ("x1", "x3", "x4", "x5", "x6") and drawn.source.columns == drawn.table.names
    assert drawn.table.messages.codes[0] == "LD130" and drawn.whole.columns[-1] == "one"
    assert draw(path, sample=100, columns=["x3", "x1"]).table.names == ("x3", "x1")
    with pytest.raises(LowdimError, match="LD103"), pytest.warns(TableWarning):
        draw(path, drop="nobody")
    with pytest.raises(LowdimError, match="LD210"):
        draw(path, columns=["x1", "x2"], sample=0)


# the main job -------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_model_is_that_of_all_rows_and_the_rest_is_of_those_drawn(file, tmp_path):
    found = analyse_stream(file, dims=2, sample=400, budget="1s")
    whole = ProbabilisticPCA(2, standardize=True).fit(table()[0])
    np.testing.assert_array_equal(found.model.components_, whole.components_)
    assert found.of == 6_000 and found.table.n == 400 and len(found.posterior.mean) == 400
    np.testing.assert_allclose(found.posterior.mean, whole.transform(found.table.X), rtol=1e-12)
    assert found.odd.D2.p.tolist() == judge_rows(found.model, found.table.X, sharply=True).D2.p.tolist()
    last = found.said["sample"]
    assert last.startswith("The model is fitted to all 6,000 rows;") and last.endswith("400 rows drawn at random.")
    assert repr(found).startswith("PPCA · 6,000 x 6, of which 400 rows drawn")
    text = found.report(tmp_path / "r.html").read_text()
    for words in (
        "6,000 rows, 6 measured columns; 400 rows drawn at random are shown",
        last,
        "In short",
        "lowdim report cells.parquet --stream --dims 2 --budget 1s --sample=400",
        "SHA-256 of the rows drawn",
        "analysis = ld.analyse_stream(&#39;cells.parquet&#39;, sample=400, dims=2, budget=1.0)",
    ):
        assert words in text, words


def test_a_table_with_no_more_rows_than_are_drawn_is_analysed_whole(tmp_path):
    X, _ = table(200)
    found, same = analyse_stream(parquet(tmp_path / "t.parquet", X), budget=1), analyse(read(X), budget=1)
    assert found.of is None and len(found.sentences) == 5
    np.testing.assert_array_equal(found.model.components_, same.model.components_)
    assert [s.replace("x", "c") for s in found.sentences[:1]] == list(same.sentences[:1])


def test_weights_and_checkpoints_reach_the_fit(tmp_path):
    X, _ = table(900)
    w = np.random.default_rng(3).integers(0, 3, 900).astype(float)
    path = parquet(tmp_path / "t.parquet", X, w=pa.array(w))
    run = Run(checkpoint=tmp_path / "ckpt")
    first, again = (analyse_stream(path, dims=1, sample=100, budget=1, weight="w", run=run) for _ in range(2))
    whole = ProbabilisticPCA(1, standardize=True).fit(X, sample_weight=w)
    for found in (first, again):
        np.testing.assert_array_equal(found.model.components_, whole.components_)
    assert first.table.names == tuple(f"x{j + 1}" for j in range(6)) and list((tmp_path / "ckpt").iterdir())


def test_too_little_memory_is_refused_before_anything_is_read(file):
    with pytest.raises(BudgetError, match="LD170"):
        analyse_stream(file, run=Run(memory=10**6))


# filling ------------------------------------------------------------------------------------------------
def test_fills_are_those_of_the_model_and_intervals_hold_what_they_claim(file, tmp_path):
    X, truth = table()
    drawn = draw(file, sample=800)
    found = fill_stream(drawn, tmp_path / "full.parquet", intervals=True)
    full, low, high, mask = (_numbers(path) for path in found.wrote)
    gap = np.isnan(X)
    np.testing.assert_array_equal(full, found.model.impute(X))
    np.testing.assert_array_equal(mask, gap)
    assert (full[~gap] == X[~gap]).all() and (low[~gap] == X[~gap]).all() and (high[~gap] == X[~gap]).all()
    assert list(found.gaps.values()) == gap.sum(axis=0).tolist() and found.total == gap.sum() and found.unfilled == {}
    held = ((low <= truth) & (truth <= high))[gap]
    # 3,600 cells: sd 0.005; the half widths, from some 3,000 hidden cells of the rows drawn, add as much again
    assert abs(held.mean() - 0.9) < 0.025, held.mean()
    assert [p.name for p in sorted(tmp_path.iterdir())] == [
        "full.lower.parquet",
        "full.mask.parquet",
        "full.parquet",
        "full.upper.parquet",
    ]


def _numbers(path):
    return np.column_stack([c.to_numpy() for c in pq.read_table(path).columns])


def test_a_column_that_no_model_can_fill_keeps_its_gaps(tmp_path):
    X, _ = table(600)
    X[:, 3] = np.where(np.isnan(X[:, 3]), np.nan, 7.0)
    drawn = draw(parquet(tmp_path / "t.parquet", X), sample=150)
    found = fill_stream(drawn, tmp_path / "full.npy")
    full = np.load(tmp_path / "full.npy")
    assert found.unfilled == {"x4": int(np.isnan(X[:, 3]).sum())}
    np.testing.assert_array_equal(np.isnan(full).any(axis=0), [False, False, False, True, False, False])


# new rows -----------------------------------------------------------------------------------------------
def test_every_row_is_placed_as_it_would_be_in_memory(file, tmp_path):
    X, _ = table(3_000, seed=1)
    X[::150] += 12.0 * np.random.default_rng(2).standard_normal((20, 6))
    names = tuple(f"x{j + 1}" for j in range(6))
    model = ProbabilisticPCA(2, standardize=True).fit(lowdim.stream(file))
    order = [3, 1, 0, 5, 4, 2]
    new = tmp_path / "new.parquet"
    pq.write_table(pa.table({names[j]: pa.array(X[:, j], from_pandas=True) for j in order}), new)
    found = place_stream(table_map(model, names), new, tmp_path / "scores.parquet")
    whole = place(table_map(model, names), X)
    made = pq.read_table(tmp_path / "scores.parquet")
    np.testing.assert_allclose(
        _numbers(tmp_path / "scores.parquet")[:, :4],
        np.column_stack([whole.places.z, whole.places.sd]),
        rtol=1e-9,
        atol=1e-12,
    )
    for law in ("D2", "T2", "Q"):
        own = getattr(whole.odd, law)
        p = np.where(own.dof > 0, own.p, np.nan)
        np.testing.assert_allclose(made[f"{law}_p"].to_numpy(), p, rtol=1e-6, atol=1e-300)
    assert found.rows == 3_000 and found.gaps == int(np.isnan(X).any(axis=1).sum())
    assert found.outside == int(whole.odd.odd.sum()) > 10 and abs(found.below - whole.odd.below) <= 1
    # blocks are of other sizes than the whole table, so sums may differ in their last digit
    streamed, held = (row._asdict() for row in (found.odd[0], whole.odd.rows[0]))
    for what in streamed.keys() - {"row"}:
        expected = held[what]
        assert streamed[what] == (pytest.approx(expected, rel=1e-6, abs=0) if isinstance(expected, float) else expected)
    assert found.odd[0].reason in [r.reason for r in whole.odd.rows]
    assert f"row {whole.odd.rows[0].name}, because" in found.sentence


def test_new_columns_are_found_by_name_or_by_place(file, tmp_path):
    X, _ = table(50)
    names = tuple(f"x{j + 1}" for j in range(6))
    model = ProbabilisticPCA(1).fit(lowdim.stream(file))
    five = parquet(tmp_path / "five.parquet", X[:, :5])
    with pytest.warns(TableWarning, match="LD220.*lacks column x6: a gap in every row"):
        found = place_stream(table_map(model, names), five, tmp_path / "five.csv")
    whole = place(table_map(model, names), np.column_stack([X[:, :5], np.full(50, np.nan)]))
    made = np.loadtxt(tmp_path / "five.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(made[:, 0], whole.places.z[:, 0], rtol=1e-9)
    assert found.gaps == 50
    with pytest.raises(LowdimError, match=r"LD220.*none of its columns is one of u, v"):
        new_rows(parquet(tmp_path / "other.parquet", X, y=pa.array(X[:, 0])), table_map(model, ("u", "v")))
    np.save(tmp_path / "plain.npy", X)
    found = place_stream(table_map(model, names), tmp_path / "plain.npy", tmp_path / "s.csv")
    assert found.rows == 50 and len((tmp_path / "s.csv").read_text().splitlines()) == 51


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 1.0])
def test_counted_p_values_give_the_rule_its_answer(share):
    rng = np.random.default_rng(5)
    p = np.where(rng.random(200_000) < share, rng.random(200_000) ** 8, rng.random(200_000))
    keys, many = np.unique(p.view(np.int64) >> P_BITS, return_counts=True)
    limit, count = discoveries(Counter(dict(zip(keys.tolist(), many.tolist(), strict=True))), 0.05)
    exact = int(false_discovery(p, 0.05).sum())
    assert count <= exact and exact - count <= 0.003 * exact + 1 and count == int((p <= limit).sum())


def test_smaller_blocks_are_the_same_rows(file):
    source = lowdim.stream(file, columns=["x2", "x1"])
    small = source.single_tile_blocks()
    assert small.block_tiles == 1 and small.n == source.n
    np.testing.assert_array_equal(small.block(0).x, source.block(0).x[: small.tile])
