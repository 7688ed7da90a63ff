"""Plots of odd rows: limits against SciPy's chi-square, zones against direct counts, the digester's row 1."""

import numpy as np
import pytest

from lowdim.plot.analysis.odd_rows import alike
from lowdim.plot.analysis.odd_rows import why_row as why_row_of
from tests.conftest import need
from tests.plot.from_arrays import Parts, control, t2_q, why_all, why_row
from tests.plot.svg_checks import HOSTILE, apart, inside, parsed, same_twice, svg_of, texts


def laws(n: int, seed: int = 0):
    rng = np.random.default_rng([seed, n])
    dof = rng.integers(0, 6, n)
    return rng.chisquare(3, n), np.full(n, 3), np.where(dof > 0, rng.chisquare(np.maximum(dof, 1)), 0.0), dof


def test_zones_and_what_chance_puts_there() -> None:
    p, r = np.random.default_rng(0).random((2, 500))
    p[:3], r[2:5] = 1e-30, 0.0
    plot = same_twice(lambda: t2_q(p, r, odd=r == 0.0))
    a, b = p < 0.01, r < 0.01
    assert plot.data["rows"].tolist() == [(~a & ~b).sum(), (a & ~b).sum(), (~a & b).sum(), (a & b).sum()]
    assert plot.data["chance"] == pytest.approx([490.05, 4.95, 4.95, 0.05])
    assert plot.title == f"{(a | b).sum()} rows of 500 beyond p = 0.01; about 10 expected by chance"
    assert plot.data["T2_rarity"][0] == pytest.approx(30.0) and plot.data["Q_rarity"].max() == 300.0


@pytest.mark.parametrize("n", [3, 50_000])
def test_plane_of_any_size_and_without_rows(n: int) -> None:
    p, r = np.random.default_rng(n).random((2, n))
    for show in (True, False):
        plot = same_twice(lambda show=show: t2_q(p, r, show_rows=show))
        assert len(svg_of(plot)) < 200_000
        assert ("row" in plot.data) == show  # no row is named, or can be read off, without leave


@pytest.mark.slow
def test_why_row_names_the_culprit() -> None:
    names = HOSTILE[:4]
    value, expected, sd = np.array([[5.0, 2.0, np.nan, 1.0], [1.0, 2.1, 7.0, 0.5], [0.5, 1.0, 1.0, 230.4]])
    surprise = (value - expected) / sd
    plot = same_twice(
        lambda: why_row(value, expected, sd, surprise, names, row_name=12, hide=[names[0]], p=1e-9, p_after=0.4)
    )
    assert plot.data["culprit"].tolist() == [True, False, False, False]
    assert plot.data["surprise"][0] == 8.0
    assert plot.title == "Row 12: 'a<b> & 'c'' is 5 where the rest of the row says 1 ± 0.5"
    assert "Hide that cell, and the row is ordinary (p 0.4)." in plot.sentence and "+8.0 sd off" in plot.sentence
    assert "▶ a<b> & 'c'" in texts(plot) and "0.5 ± 230" in texts(plot)
    assert "1 column less surprising or missing, not drawn" in " ".join(texts(plot))


def test_why_row_ordinary_empty_and_wide() -> None:
    assert why_row([1.0], [1.1], [1.0], [-0.1], ["a"], row_name="x", p=0.5).title == "Row x is ordinary (p 0.5)"
    empty = same_twice(lambda: why_row([None] * 2, [1.0, 2.0], [1.0, 1.0], [None] * 2, ["a", "b"]))
    assert empty.title == "Row 1 has no seen cell"
    z = np.random.default_rng(0).standard_normal(200)
    wide = same_twice(lambda: why_row(1e6 * z, 0 * z, 1e6 + 0 * z, z, [HOSTILE[k % 8] for k in range(200)]))
    apart(wide.figure.axes[0].get_yticklabels())
    assert len(wide.data["column"]) == 200


@pytest.mark.slow
def test_why_all_orders_and_marks() -> None:
    rng = np.random.default_rng(0)
    S = rng.standard_normal((60, 6)).clip(-2.9, 2.9)
    S[7, 2], S[9, 4], S[3, 0] = 8.0, -5.0, np.nan
    plot = same_twice(lambda: why_all(S, HOSTILE[:6], [f"r{k}" for k in range(60)]))
    assert {"r7", "r9"} <= set(plot.data["row"]) and len(plot.data["row"]) == 24
    at = plot.data["row"].tolist().index("r7")
    assert plot.data[HOSTILE[2]][at] == 8.0
    assert plot.title == "2 cells more than 3 sd from what the rest of the row says"
    assert "'größe κ²' in row r7, +8.0 sd off" in plot.sentence and "of 359 seen (about 0.97 expected" in plot.sentence
    assert texts(plot).count("+") == 1 and texts(plot).count("−") >= 1


def test_like_rows_lie_together() -> None:
    A = np.array([[0.0, 0], [9, 9], [0.1, 0], [9, 9.1], [0, 0.2]])
    order = alike(A).tolist()
    assert abs(order.index(1) - order.index(3)) == 1 and order.index(1) in (0, 1, 3, 4)


@pytest.mark.parametrize(("n", "d"), [(1, 2), (3, 2), (50_000, 12), (300, 200)])
def test_why_all_of_any_size(n: int, d: int) -> None:
    S = np.random.default_rng(0).standard_normal((n, d))
    plot = why_all(S, [f"{HOSTILE[k % 8]}{k}" for k in range(d)])
    parsed(plot)
    inside(plot)
    apart(plot.figure.axes[0].get_yticklabels())
    assert len(svg_of(plot)) < 250_000


def test_digester_row_1() -> None:
    """The ratio bf_cm_ratio is 121.7 where the others say 78.3 ± 6.5, +6.7 sd; hidden, p = 0.37."""
    from lowdim.judge.outliers.law import model_law
    from lowdim.models.linear.ppca import ProbabilisticPCA
    from tests.judge.rows.judging import explain_row, judge_rows

    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    model = ProbabilisticPCA(5, standardize=True).fit(X)
    card, found = explain_row(model, X, 0), judge_rows(model, X, law=model_law(model))  # the Gaussian law
    plot = why_row_of(Parts(explain=lambda row: card), 0)
    assert plot.title == "Row 1: 'c3' is 121.7 where the rest of the row says 78.3 ± 6.5"
    assert "+6.7 sd" in plot.sentence and "(p 0.37)" in plot.sentence
    chart = control(found.T2.value, found.T2.dof, found.Q.value, found.Q.dof)
    assert chart.data["Q_beyond"][0] and chart.data["Q"][0] == pytest.approx(38.8, abs=0.3)
    assert len(np.unique(chart.data["Q_limit"])) > 1
    plane = t2_q(found.T2.p, found.Q.p, odd=found.odd)
    assert plane.data["Q_rarity"][0] == pytest.approx(-np.log10(8e-8), abs=0.2)
