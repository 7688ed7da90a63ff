"""Columns, gaps and pairs of gaps against NumPy and SciPy."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

import lowdim
from lowdim.plot.analysis.table import STRIP_BINS
from lowdim.plot.analysis.table import columns as columns_of
from lowdim.text.errors import OptionError
from tests.conftest import need
from tests.plot.from_arrays import columns, gap_pairs, gaps
from tests.plot.svg_checks import HOSTILE, apart, inside, parsed, same_twice, texts

NAMES = [
    "kappa",
    "chip_rate",
    "bf_cm_ratio",
    "blow_flow",
    "chip_level",
    "t_upper",
    "t_lower",
    "uczaa",
    "white_flow",
    "aa_white",
]


@pytest.fixture(scope="module")
def digester():
    return np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")


def hostile_table(n=40):
    X = np.random.default_rng(0).normal(size=(n, 8))
    X[:, 2], X[:, 3] = np.nan, 7.0
    X[:3, 5], X[0, 0] = np.nan, 1e6
    return X


# columns -----------------------------------------------------------------------------------------------
def test_columns_of_the_digester(digester):
    plot = same_twice(lambda: columns(digester, NAMES))
    assert plot.sentence == (
        "Of 10 columns, 4 have gaps ('aa_white' most, 46%) and 1 has far values ('bf_cm_ratio' most, 1)."
    )
    np.testing.assert_allclose(plot.data["quartile"], np.nanpercentile(digester, [25, 50, 75], axis=0).T)
    assert (plot.data["seen"] == np.isfinite(digester).sum(axis=0)).all()
    assert plot.data["far_above"].tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]  # 121.7 in row 1
    far = plot.data["far_above"] + plot.data["far_below"]
    assert (plot.data["count"].sum(axis=1) + far == plot.data["seen"]).all()
    j = 0
    counts, _ = np.histogram(digester[:, j], bins=STRIP_BINS)
    assert np.abs(plot.data["count"][j] - counts).sum() <= 2  # a value on an edge may fall either way


def test_columns_that_say_nothing_and_hostile_names():
    plot = same_twice(lambda: columns(hostile_table(), HOSTILE))
    assert {"only gaps", "always 7", "$x^2$ price $"} <= set(texts(plot))
    assert plot.data["seen"][2] == 0 and plot.data["far_above"][0] == 1
    assert np.isnan(plot.data["low"][2])


def test_many_columns_draw_the_worst_and_keep_all_numbers():
    X = np.random.default_rng(0).normal(size=(60, 200))
    X[::2, 150] = np.nan
    plot = columns(X, [f"column {j}" for j in range(200)])
    drawn = texts(plot)
    assert "column 150" in drawn and len([t for t in drawn if t.startswith("column ")]) == 16
    assert len(plot.data["seen"]) == 200 and "16 drawn" in plot.title


@pytest.mark.parametrize(
    "X", [np.zeros((3, 2)), np.full((3, 2), np.nan), np.array([[1e308, -1e308], [-1e308, 1e308]] * 2)]
)
def test_columns_of_nothing(X):
    parsed(columns(X, ["a", "b"]))


# gaps --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["pattern", "time"])
def test_gaps_of_the_digester(digester, order):
    seen = np.isfinite(digester)
    plot = same_twice(lambda: gaps(seen, NAMES, order=order))
    assert plot.sentence == (
        "53 of 960 cells (6%) are gaps, in 4 of 10 columns; 44 of 96 rows are complete; 'aa_white' has most gaps (46%)."
    )
    assert (plot.data["gaps_in_column"] == (~seen).sum(axis=0)).all()
    rows = plot.data["row"] - 1
    assert sorted(rows) == list(range(96))
    assert (plot.data["gaps_in_row"] == (~seen[rows]).sum(axis=1)).all()
    if order == "time":
        assert (rows == np.arange(96)).all()
    else:  # the same pattern is never met again once it has been left
        patterns = [tuple(row) for row in seen[rows]]
        changes = sum(a != b for a, b in pairwise(patterns))
        assert changes == len(set(patterns)) - 1
        assert (np.diff(plot.data["gaps_in_row"]) <= 0).all()


def test_gaps_are_hatched_once_for_every_stretch(digester):
    from matplotlib.collections import PolyCollection

    hole = np.isnan(digester)
    plot = gaps(~hole, NAMES, order="time")
    body = next(ax for ax in plot.figure.axes if "hatched" in ax.get_xlabel())
    hatched = [c for c in body.collections if isinstance(c, PolyCollection) and c.get_hatch()]
    starts = (hole & ~np.vstack([np.zeros(10, dtype=bool), hole[:-1]])).sum()
    assert len(hatched) == starts


def test_too_many_gaps_to_hatch_become_shares():
    rng = np.random.default_rng(0)
    seen = rng.random((5000, 60)) > 0.05
    plot = gaps(seen, [f"{HOSTILE[0]} {j}" for j in range(60)], order="time")
    share = plot.data["share_in_band"]
    assert share.shape == (200, 60)
    np.testing.assert_allclose(share, (~seen).reshape(200, 25, 60).mean(axis=1))
    inside(plot)
    apart(plot.figure.axes[2].get_xticklabels())


@pytest.mark.parametrize(
    "seen", [np.ones((3, 2), dtype=bool), np.zeros((3, 2), dtype=bool), np.array([[True, False]] * 2)]
)
def test_gaps_all_or_none(seen):
    plot = gaps(seen, ["$a$", "b"], ["x<", "y&", "z"][: len(seen)])
    parsed(plot)
    if seen.all():
        assert plot.sentence == "All 6 cells are seen: there are no gaps."


def test_an_unknown_order_is_refused():
    with pytest.raises(OptionError, match="'pattern' or 'time'"):
        gaps(np.ones((2, 2), dtype=bool), ["a", "b"], order="size")


# pairs -------------------------------------------------------------------------------------------------
def test_pairs_match_fishers_exact_test_and_numpys_correlation():
    rng = np.random.default_rng(1)
    seen = rng.random((120, 5)) > 0.15
    seen[:25, 1] = seen[:25, 3] = False
    plot = same_twice(lambda: gap_pairs(seen, list("abcde")))
    hole = ~seen
    for k, (first, second) in enumerate(zip(plot.data["first"], plot.data["second"], strict=True)):
        a, b = hole[:, "abcde".index(first)], hole[:, "abcde".index(second)]
        table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
        assert plot.data["p"][k] == pytest.approx(fisher_exact(table, alternative="greater").pvalue, rel=1e-9)
        assert plot.data["correlation"][k] == pytest.approx(np.corrcoef(a, b)[0, 1])
        assert plot.data["together"][k] == (a & b).sum()
        assert plot.data["expected"][k] == pytest.approx(a.mean() * b.mean() * 120)
    assert "'b' and 'd' come together" in plot.sentence
    assert plot.data["named"].sum() == 1


def test_many_rows_use_the_exact_law_where_it_matters():
    rng = np.random.default_rng(2)
    seen = rng.random((4000, 6)) > 0.2
    seen[:80, :2] = False
    plot = gap_pairs(seen, list("abcdef"))
    hole = ~seen
    first = (plot.data["first"] == "a") & (plot.data["second"] == "b")
    a, b = hole[:, 0], hole[:, 1]
    table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
    assert plot.data["p"][first][0] == pytest.approx(fisher_exact(table, alternative="greater").pvalue, rel=1e-6)


def test_independent_gaps_are_named_in_one_table_of_twenty_at_most():
    named = [
        gap_pairs(np.random.default_rng(s).random((200, 4)) > 0.2, list("abcd")).data["named"].any() for s in range(20)
    ]
    assert sum(named) <= 4  # 5% of tables at most by Benjamini and Hochberg; P(more than 4 of 20) < 0.003


def test_the_hint_sees_gaps_that_depend_on_a_value():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    seen = np.ones_like(X, dtype=bool)
    seen[:, 0] = rng.random(300) > 1 / (1 + np.exp(-3 * X[:, 1]))
    assert "'c1' is missing more often where c2 is " in gap_pairs(seen, ("c1", "c2", "c3"), X).sentence
    seen[:, 0] = rng.random(300) > 0.5
    assert "as gaps at random would" in gap_pairs(seen, ("c1", "c2", "c3"), X).sentence


@pytest.mark.parametrize("hidden", [0, 1, 8])
def test_pairs_where_there_are_none(hidden):
    X = hostile_table()
    seen = np.isfinite(X) if hidden else np.ones_like(X, dtype=bool)
    if hidden == 8:
        seen[:] = False
    parsed(gap_pairs(seen, HOSTILE, X))


@pytest.mark.slow
def test_two_hundred_columns_of_fifty_thousand_rows_stay_small():
    seen = np.random.default_rng(0).random((50_000, 20)) > 0.05
    wide = np.repeat(seen, 10, axis=1)
    wide[::7, ::3] = True
    names = [f"column number {j}" for j in range(200)]
    assert len(gaps(wide, names).svg()) < 400_000


def test_a_category_is_one_strip_with_a_bar_for_each_label():
    rng = np.random.default_rng(0)
    words = {name: rng.choice(["gas", "diesel", "none"], 60, p=[0.6, 0.3, 0.1]) for name in ("fuel", "drive", "body")}
    table = lowdim.read(pd.DataFrame({"size": rng.standard_normal(60), "price": rng.standard_normal(60), **words}))
    plot = columns_of(table)
    assert plot.title.startswith("5 columns: no gaps")
    row = list(plot.data["column"]).index("fuel")
    assert plot.data["count"][row][:3].tolist() == sorted(np.unique(words["fuel"], return_counts=True)[1], reverse=True)
    assert {"3 labels", "gas"} <= set(texts(plot))
