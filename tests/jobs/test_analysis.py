"""The main job from Python: frames in, frames out; settings; what it says about itself."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lowdim as ld
from lowdim.jobs.analysis import Analysis, Stopped
from lowdim.jobs.run_folder import save_run
from lowdim.judge.budget import Counts, counts
from lowdim.report import no_rows
from lowdim.text.format import parse_duration
from lowdim.text.messages import LowdimError
from tests.cli.conftest import small_table

NAMES = [f"x{k}" for k in range(1, 7)]


@pytest.fixture(scope="module")
def plain():
    return ld.analyse(small_table(), dims=2, budget="1s")


def test_a_pandas_frame_comes_back_as_one_with_its_index(plain):
    frame = pd.DataFrame(small_table(), columns=NAMES, index=[f"r{k}" for k in range(60)])
    found = ld.analyse(frame, dims=2, budget="1s")
    assert isinstance(found.scores, pd.DataFrame) and found.scores.index.equals(frame.index)
    assert list(found.scores.columns) == ["axis1", "axis2"] and list(found.filled.columns) == NAMES
    assert np.array_equal(found.scores.to_numpy(), plain.scores) and isinstance(plain.scores, np.ndarray)
    assert found.filled.notna().all().all() and found.odd.rows[0].name == "r7"
    seen = frame.notna()
    assert found.filled.where(seen).equals(frame)


def test_a_polars_frame_comes_back_as_one(plain):
    frame = pl.DataFrame(small_table(), schema=NAMES, orient="row").fill_nan(None)
    found = ld.analyse(frame, dims=2, budget="1s")
    assert isinstance(found.scores, pl.DataFrame) and found.scores.columns == ["axis1", "axis2"]
    assert np.array_equal(found.scores.to_numpy(), plain.scores) and found.filled.columns == NAMES


def test_it_says_who_it_is_in_four_lines(plain):
    lines = repr(plain).split("\n")
    assert len(lines) == 4 and "60 x 6" in lines[0] and lines[1].startswith("2 dimensions (")
    share = 100 * plain.noise_share
    assert lines[2] == f"{100 - share:.0f}% shared / {share:.0f}% noise"


def test_shared_and_noise_are_the_model_s_own(plain):
    """trace(W W') + d sigma2 is the total variance of the model; standardised columns have about 1 each."""
    W, s2 = plain.loadings, plain.model.noise_variance_
    assert np.isclose(plain.noise_share, 6 * s2 / (np.square(W).sum() + 6 * s2), rtol=1e-6)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"dims": "many"}, "LD210"),
        ({"dims": -1}, "LD210"),
        ({"dims": True}, "LD210"),
        ({"dims": 6}, "LD200"),
        ({"scale": "pareto"}, "LD210"),
        ({"level": 0.0}, "LD210"),
        ({"budget": "soon"}, "LD210"),
        ({"budget": 0}, "LD210"),
    ],
)
def test_settings_that_cannot_be_are_refused(how, code):
    with pytest.raises(LowdimError) as problem:
        ld.analyse(small_table(), **how)
    assert problem.value.code == code


def test_no_dimension_at_all_is_an_answer():
    found = ld.analyse(small_table(), dims=0, budget="1s")
    assert found.dims == 0 and found.scores.shape == (60, 0) and len(found.sentences) == 5
    assert found.apply(small_table()[:3]).larger.tolist() == [1.0, 1.0, 1.0]


def test_weights_count():
    """A row that counts twice is the row written twice."""
    X = small_table()
    w = np.where(np.arange(60) < 20, 2.0, 1.0)
    frame = pd.DataFrame(np.column_stack([X, w]), columns=[*NAMES, "w"])
    weighted = ld.analyse(ld.read(frame, weight="w"), dims=2, budget="1s", robust=False).model
    twice = ld.PPCA(2, standardize=True).fit(np.vstack([X, X[:20]]))
    assert np.allclose(weighted.noise_variance_, twice.noise_variance_, rtol=1e-3)


# --- a budget is counts


def test_a_budget_is_counts_that_grow_with_it_and_shrink_with_the_table():
    assert counts(None, 10_000, 50) == Counts()
    small, large = counts(5.0, 100, 10), counts(60.0, 100, 10)
    assert small.shuffles < large.shuffles and small.refits < large.refits and small.folds <= large.folds
    assert counts(5.0, 10_000, 50).refits < small.refits
    least = counts(1e-6, 10_000, 50)
    assert least.shuffles >= 20 and least.refits >= 20 and least.folds >= 1
    assert counts(1e9, 3, 2) == Counts(1000, 20, 1000)
    assert counts(None, 50_000_000, 20) == counts(60.0, 50_000_000, 20) != Counts()  # a minute where nobody says


def test_what_takes_long_is_said_before():
    lines = {}
    X = np.random.default_rng(0).standard_normal((30_000, 25)).round(2)

    def until_read(stage, text):
        lines[stage] = text
        return True

    with pytest.raises(Stopped):
        ld.analyse(X, tell=until_read)
    assert re.fullmatch(r"30000 x 25, 0 gaps; about 1\d s to go", lines["read"])


@pytest.mark.parametrize(("text", "value"), [("30s", 30), ("2m", 120), ("1.5 min", 90), ("1h", 3600), (7, 7), ("9", 9)])
def test_lengths_of_time(text, value):
    assert parse_duration(text) == value


def test_the_clock_is_never_read(monkeypatch):
    """The same counts whatever the time: a repeat is the same to the bit."""
    import time

    first = ld.analyse(small_table(), dims=2, budget="1s")
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    again = ld.analyse(small_table(), dims=2, budget="1s")
    assert np.array_equal(first.stability.plane, again.stability.plane) and first.sentences == again.sentences


def test_public_names():
    assert ld.load_run is not None and ld.datasets.load_demo("gaussian").X.shape == (300, 10)
    assert ld.choose_dimension(ld.datasets.load_demo("gaussian", hidden=0.0).X).q == 3
    assert ld.distance_law(np.random.default_rng(0).standard_normal((200, 5))).effective > 3


def test_the_report_is_written_by_the_analysis_too(plain, tmp_path, monkeypatch):
    """What the report holds is tests/report's affair."""
    asked = []
    monkeypatch.setattr("lowdim.report.write_report", lambda *given, **how: asked.append((given, how)))
    plain.report(tmp_path / "r.html", rows=False)
    assert asked == [((plain, tmp_path / "r.html"), {"rows": False})]


@pytest.mark.parametrize(
    ("q", "words", "line"),
    [
        (5, "5 (one judge says 4)", "5 dimensions (one judge says 4)"),
        (5, "5", "5 dimensions (the judges agree)"),
        (1, "1 (2 predicts no worse)", "1 dimension (2 predicts no worse)"),
        (3, "between 2 and 4", "3 dimensions (between 2 and 4)"),
        (0, "no shared structure found", "0 dimensions (no shared structure found)"),
    ],
)
def test_doubts_stand_beside_the_number(plain, q, words, line):
    from types import SimpleNamespace

    model = SimpleNamespace(n_iter_=3, certificate_=SimpleNamespace(reason="converged"))
    of_cells = SimpleNamespace(cells=SimpleNamespace(title="Probabilistic PCA", noise_share=0.2, shared_note=""))
    found = Analysis(plain.table, plain.settings._replace(dims="auto"))
    vars(found).update(dims=q, model=model, map=of_cells, jury=plain.jury._replace(sentence=words))
    assert repr(found).split("\n")[1] == line and repr(found).endswith("converged in 3 passes")


# --- what cannot be analysed, said to someone in Python


@pytest.mark.parametrize(
    ("table", "code", "fix"),
    [
        ([[1, 2], [3, 4]], "LD160", "add rows: each row is one observation"),
        (pd.DataFrame(), "LD160", "add rows"),
        ("nofile.csv", "LD001", "check the spelling"),
        (None, "LD101", "pass the path of a file, or a NumPy array"),
        (np.arange(10.0)[:, None] ** 2, "LD113", "add columns of numbers"),
        (pd.DataFrame({"a": list("abcabc"), "b b": list("xyzxyz")}), "LD113", "ld.read(table, encode=['a', 'b b'])"),
        (np.arange(5.0), "LD100", "X.reshape"),
    ],
)
def test_a_table_that_cannot_be_has_a_fix_in_python(table, code, fix):
    with pytest.raises(LowdimError) as problem:
        ld.analyse(table)
    assert problem.value.code == code and fix in problem.value.fix and fix in str(problem.value)
    assert "--" not in str(problem.value) and "lowdim " not in problem.value.fix


def test_the_fix_in_python_works(tmp_path):
    frame = pd.DataFrame({"a": list("abcabcabca"), "b": list("xyzxyyzxyz")})
    with pytest.raises(LowdimError) as problem:
        ld.analyse(frame)
    call = problem.value.fix.partition("ld.read")[2]
    assert eval(f"ld.read{call}", {"ld": ld, "table": frame}).d >= 2
    (tmp_path / "t.csv").write_text("1,2\n3,x\n4,5\n6,7\n8,9.5\n")
    with pytest.raises(LowdimError, match="LD111") as problem:
        ld.analyse(tmp_path / "t.csv")
    assert f"ld.read({str(tmp_path / 't.csv')!r}, na=['x'])" in problem.value.fix
    with pytest.raises(LowdimError, match="LD111") as read:
        ld.read(tmp_path / "t.csv")
    assert str(read.value) == str(problem.value) and "--" not in str(read.value)
    with pytest.raises(LowdimError, match="LD103") as read:
        ld.read(pd.DataFrame({"dose": [1.0, 2, 4, 3], "size": [2.0, 1, 3, 5]}), drop=["does"])
    assert read.value.fix == "did you mean  ld.read(table, ..., drop=['dose'])"


def test_three_rows_are_an_answer():
    found = ld.analyse(np.random.default_rng(0).standard_normal((3, 4)))
    assert list(found.said) == ["dimensions", "axes", "odd", "map"] and repr(found).count("(") == 1


def test_a_report_where_there_is_no_folder_is_refused_before_it_is_drawn(plain, tmp_path, monkeypatch):
    monkeypatch.setattr("lowdim.report.report_html", lambda *a, **k: "drawn")
    with pytest.raises(LowdimError) as problem:
        plain.report(tmp_path / "no" / "such" / "r.html")
    assert problem.value.code == "LD304" and "make the folder" in problem.value.fix
    with pytest.raises(LowdimError, match="LD304"):
        plain.report(tmp_path)
    assert plain.report(tmp_path / "r.html").read_text() == "drawn"
    for name in ("p.svg", "p.png", "p.csv"):
        with pytest.raises(LowdimError, match=r"LD304[\s\S]*make the folder"):
            plain.plot.trace().save(tmp_path / "no" / name)


def test_odd_rows_at_another_level(plain):
    assert plain.odd.at(0.99).odd_level == 0.99 and plain.odd.odd_level == 0.95 and plain.odd.rows[0].name == "8"


# --- wrong cells and far rows


def cluster_table() -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 10)) + 0.4 * rng.standard_normal((200, 10))
    X[:30] = 0.2 * X[:30] + np.array([6, -6, 5, 0, 7, -5, 0, 6, -6, 5])
    return X


def test_far_rows_are_held_out_of_the_fit_and_named(tmp_path):
    X = cluster_table()
    pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]).to_csv(tmp_path / "t.csv", index=False)
    found, plain = (ld.analyse(tmp_path / "t.csv", budget="1s", robust=robust) for robust in (True, False))
    assert found.partition.choice == "screened" and found.partition.groups[0].tolist() == list(range(30))
    assert not found.odd.odd[:30].any() and "30 rows apart from the others are a group" in found.odd.sentence
    assert (
        "The rows fall into 2 groups (170 and 30 rows)" in found.said["groups"] and "together" not in found.said["odd"]
    )
    assert found.said["groups"].endswith("the map is fitted without group 2.") and found.groups.unfitted == (1,)
    assert plain.partition.choice == "plain" and not plain.odd.odd[:30].all() and "held out" not in plain.said["odd"]
    clean = ld.PPCA(2, standardize=True).fit(X[30:])
    spans = [np.linalg.qr(model.components_.T)[0] for model in (clean, found.model)]
    assert np.linalg.svd(spans[0].T @ spans[1])[1].min() > np.cos(np.radians(10))
    run = save_run(found, tmp_path / "t.run")
    lines = (run / "held.csv").read_text().splitlines()
    assert lines[0] == "row,column,value" and sum(line.endswith(",,") for line in lines) == len(found.partition.outside)
    opened = ld.load_run(run).analysis
    assert np.array_equal(opened.partition.outside, found.partition.outside) and opened.settings.robust
    assert opened.explain(3).p == pytest.approx(found.explain(3).p)


def test_a_far_group_that_makes_an_axis_is_said_and_named(tmp_path):
    rng = np.random.default_rng([10, 5])
    X = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 10)) + 0.5 * rng.standard_normal((100, 10))
    assert "lie far" not in ld.analyse(X, budget="1s").said["axes"]
    X[:20, :3] += 6.0 * X[:, :3].std(axis=0)
    pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]).to_csv(tmp_path / "t.csv", index=False)
    found = ld.analyse(tmp_path / "t.csv", budget="1s")
    (apart,) = (card for card in found.axes if card.apart)
    assert sorted(apart.apart.rows) == list(range(20)) and apart.apart.share > 0.8
    assert found.groups.sizes == (80, 20) and "(80 and 20 rows)" in found.said["groups"]  # where these rows are told
    assert "Group 2 lies far from all others" in found.said["axes"] and "(rows" not in found.said["axes"]
    assert found.said["axes"] == no_rows.said(found)["axes"]
    farthest = f"(rows {apart.apart.rows[0] + 1}, {apart.apart.rows[1] + 1}, "
    assert "20 rows lie far from all others " in apart.apart_words() and "(rows" not in apart.apart_words()
    assert farthest in apart.text(found.row_names) and " and 15 more)" in apart.text(found.row_names)
    opened = ld.load_run(save_run(found, tmp_path / "t.run")).analysis
    assert opened.axes[apart.axis - 1].apart == apart.apart and opened.sentences == found.sentences


def test_a_clean_table_holds_nothing_out():
    X = cluster_table()[30:]
    found = ld.analyse(X, budget="1s")
    assert found.partition.choice == "plain" and found.partition.sentence == ""
    assert np.array_equal(found.scores, found.model.transform(X))
