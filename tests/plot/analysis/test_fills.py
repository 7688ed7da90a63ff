"""Plots of fills and of their calibration against SciPy's binomial law and direct counts."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lowdim as ld
from lowdim.plot.analysis.fills import binomial
from lowdim.plot.analysis.fills import fills as fills_of
from lowdim.text.errors import OptionError
from tests.plot.from_arrays import calibration, fills
from tests.plot.svg_checks import HOSTILE, apart, same_twice, svg_of, texts


def table(n: int, d: int, share: float = 0.3):
    rng = np.random.default_rng([n, d])
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1)
    gap = rng.random((n, d)) < share
    gap[0] = False
    half = np.where(gap, 0.5 * np.arange(1, d + 1), 0.0)
    return X, gap, X - half, X + half


def test_every_gap_is_in_the_numbers() -> None:
    X, gap, low, high = table(40, 5)
    names = [f"c{k}" for k in range(5)]
    plot = same_twice(lambda: fills(X, gap, low, high, names))
    i, j = np.nonzero(gap)
    assert plot.data["fill"].tolist() == X[i, j].tolist() and plot.data["row"].tolist() == [str(k + 1) for k in i]
    own = [np.diff(np.quantile(X[~gap[:, k], k], [0.05, 0.95]))[0] for k in range(5)]
    assert plot.data["share_of_spread"] == pytest.approx([(k + 1) / own[k] for k in j])
    assert plot.title.startswith(f"{gap.sum()} gaps filled in 5 columns; 90% intervals ")
    assert f"Most are in 'c{gap.sum(axis=0).argmax()}'" in plot.sentence


def test_one_column_in_its_own_units() -> None:
    X, gap, low, high = table(60, 3)
    plot = same_twice(lambda: fills(X, gap, low, high, HOSTILE[:3], HOSTILE[1]))
    assert set(plot.data["column"]) == {HOSTILE[1]} and len(plot.data["row"]) == gap[:, 1].sum()
    assert plot.title.startswith(f"{gap[:, 1].sum()} gaps filled in '$x^2$ price $'")
    many = table(3000, 2, 0.5)
    assert "filled cells, smallest first" in texts(same_twice(lambda: fills(*many, ["a", "b"], 0)))


def test_labels_have_probabilities_and_no_interval() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal(90)
    words = np.where(a + 0.8 * rng.standard_normal(90) > 0, "yes", "no").astype(object)
    frame = pd.DataFrame({"a": a, "b": a + rng.standard_normal(90), "c": a - rng.standard_normal(90), "said": words})
    frame.loc[::7, "said"], frame.loc[3::9, "b"] = None, np.nan
    table = ld.read(frame, encode=["said"])
    found = SimpleNamespace(table=table, fills=ld.fill(table, engines="straight"))  # what it asks an analysis for
    (label,) = found.fills.labels
    plot = same_twice(lambda: fills_of(found))
    own = plot.data["column"] == "said=yes"
    assert own.any() and plot.data["fill"][own] == pytest.approx(label.shares[:, label.labels.index("yes")])
    assert plot.data["lower"][own].tolist() == plot.data["upper"][own].tolist() == plot.data["fill"][own].tolist()
    assert f"{own.sum()} of labels; 90% intervals" in plot.title and "probability of a label" in texts(plot)
    assert float(np.median(plot.data["share_of_spread"][~own])) > 0.3  # what the title says is of numbers alone
    one = same_twice(lambda: fills_of(found, "said=yes"))
    assert one.title.startswith(f"{own.sum()} gaps of labels filled") and "probability of the label" in texts(one)


def test_no_gaps_tiny_and_large_tables() -> None:
    X, gap, low, high = table(3, 2)
    with pytest.raises(OptionError, match=r"LD216[\s\S]*there are no gaps"):
        fills(X, gap & False, low, high, ["a", "b"])
    other = np.array([[False, True]] + [[False, False]] * 2)
    assert fills(X, other, low, high, ["a", "b"], "a").title == "No gaps to fill"
    with pytest.raises(OptionError, match=r"LD210.*column[\s\S]*a column of numbers: a, b"):
        fills(X, other, low, high, ["a", "b"], "c")
    same_twice(lambda: fills(X, gap, low, high, ["a", "b"]))
    const = np.ones((4, 2))
    same_twice(lambda: fills(const, np.eye(4, 2, dtype=bool), const, const, ["a", "b"]))
    plot = same_twice(lambda: fills(*table(2000, 200, 0.05), [HOSTILE[k % 8] + str(k) for k in range(200)]))
    apart(plot.figure.axes[0].get_yticklabels())
    assert "190 columns with fewer gaps not drawn" in texts(plot) and len(svg_of(plot)) < 400_000


def test_binomial_is_scipys() -> None:
    for n in (1, 7, 52, 900):
        for p in (0.5, 0.9, 0.99):
            for tail in (0.025, 0.975):
                assert binomial(tail, float(n), p) == stats.binom.ppf(tail, n, p), (n, p, tail)
    assert binomial(0.025, 0.0, 0.9) == 0


def test_calibration_marks_columns_outside_the_band() -> None:
    held, tried = [70, 90, 95, 0], [100, 100, 100, 0]
    plot = same_twice(
        lambda: calibration(held, tried, ["low", "good", "fine", "none"], shares=[0.48, 0.79, 0.85, 0.93])
    )
    assert plot.data["outside"].tolist() == [True, False, False, False]
    assert plot.data["band_lower"][0] == stats.binom.ppf(0.025, 100, 0.9) / 100
    assert plot.data["claimed_upper"] == pytest.approx(stats.binom.ppf(0.975, 300, [0.5, 0.8, 0.9, 0.95]) / 300)
    assert plot.title == "90% intervals contain 85% of 300 hidden cells: a little narrow"
    assert "1 column of 4 outside" in plot.sentence and "farthest 'low' with 70%" in plot.sentence


def test_calibration_bars_are_clopper_pearson() -> None:
    plot = calibration([45], [50], ["a"])
    line = plot.figure.axes[0].collections[0].get_segments()[0]
    want = stats.binomtest(45, 50).proportion_ci(0.95, "exact")
    assert line[:, 0] == pytest.approx([100 * want.low, 100 * want.high])


def test_calibration_extremes() -> None:
    assert same_twice(lambda: calibration([0], [0], ["a"])).title == "Too few cells to check the intervals"
    assert same_twice(lambda: calibration([900], [1000], ["a"])).title.endswith("as claimed")
    assert same_twice(lambda: calibration([990], [1000], ["a"])).title.endswith("a little wide")
    plot = same_twice(lambda: calibration(np.full(200, 18), np.full(200, 20), [HOSTILE[k % 8] for k in range(200)]))
    apart(plot.figure.axes[0].get_yticklabels())


def test_a_gap_of_a_category_is_one_gap_whatever_its_labels() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal(120)
    words = np.array(["low", "mid", "high"], dtype=object)[np.digitize(a + rng.standard_normal(120), [-0.5, 0.5])]
    frame = pd.DataFrame({"a": a, "b": a + rng.standard_normal(120), "c": a - rng.standard_normal(120), "said": words})
    frame.loc[::7, "said"], frame.loc[3::9, "b"] = None, np.nan
    table = ld.read(frame, encode=["said"])
    plot = fills_of(SimpleNamespace(table=table, fills=ld.fill(table, engines="straight")))
    gaps, of_b = int(frame.isna().sum().sum()), int(frame.b.isna().sum())
    assert plot.title.startswith(f"{gaps} gaps filled in 2 columns, {gaps - of_b} of labels; ")
    assert f"Most are in 'said': {gaps - of_b}." in plot.sentence and len(plot.data["row"]) == of_b + 3 * (gaps - of_b)
