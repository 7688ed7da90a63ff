"""Axes: intervals, names, interchangeable axes, label ties and rows apart against simulation laws and SciPy."""

import numpy as np
import pytest

from lowdim import PCA, PPCA, FactorAnalysis
from lowdim.judge.axes import Loading, by_column, rows_apart, tied_axes
from lowdim.judge.maps.map_columns import MapColumn, line_names, lines_of
from lowdim.judge.outliers.partition import AXIS_SHARE
from tests.conftest import need
from tests.judge.rows.judging import axes

NAMES = (
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
)


def plane(n, first, second, seed, d=6, gaps=0.1, noise=0.5):
    rng = np.random.default_rng([seed, 4])
    W = np.linalg.qr(rng.standard_normal((d, d)))[0][:, :2] * [first, second]
    X = rng.standard_normal((n, 2)) @ W.T + noise * rng.standard_normal((n, d))
    X[rng.random(X.shape) < gaps] = np.nan
    return X, W


def interval_coverage(tables):
    inside = []
    for seed in range(tables):
        X, W = plane(200, 3.0, 1.5, seed)
        for k, card in enumerate(axes(PPCA(2).fit(X), X, bootstraps=60)):
            value, low, high = np.array([(c.value, c.low, c.high) for c in card.loadings]).T
            w = W[:, k] * np.sign(W[:, k] @ value)
            inside.append((low <= w) & (w <= high))
    return np.concatenate(inside).mean()


def test_loading_intervals_hold():
    assert 0.80 <= interval_coverage(6) <= 0.98


@pytest.mark.drill
def test_loading_intervals_hold_over_many_tables():
    share = interval_coverage(80)
    print(share)
    assert 0.86 <= share <= 0.94


def test_digester_axis_1_as_in_the_specification():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.genfromtxt(need("digester/kamyr.csv"), delimiter=","), columns=list(NAMES))
    cards = axes(PPCA(5, standardize=True).fit(X), X, bootstraps=40)
    assert cards[0].sentence.startswith("Axis 1 is white_flow + t_lower + t_upper against kappa (23% of variation).")
    assert [round(100 * c.share) for c in cards[:2]] == [23, 19]
    assert sum(c.share for c in cards) == pytest.approx(0.72, abs=0.01)
    assert "40 refits" in cards[0].text()


@pytest.mark.parametrize(("ratio", "low", "high"), [(1.0, 0.5, 1.0), (2.5, 0.0, 0.0)])
def test_equal_axes_are_said_to_be_interchangeable(ratio, low, high):
    said = []
    for seed in range(6):
        X, _ = plane(200, 2.0 * ratio**0.5, 2.0, seed, gaps=0.05)
        said.append(axes(PPCA(2).fit(X), X, bootstraps=30)[0].interchangeable == (1, 2))
    assert low <= np.mean(said) <= high
    if ratio == 1.0:
        X, _ = plane(200, 2.0, 2.0, int(np.argmax(said)), gaps=0.05)
        cards = axes(PPCA(2).fit(X), X, bootstraps=30)
        assert cards[1].sentence.endswith("Axes 1 and 2 are interchangeable: read them together.")
        assert cards[0].interchangeable == (1, 2)


def test_a_real_label_is_tied_to_its_axis():
    rng = np.random.default_rng(1)
    label = np.array(["left", "right"], dtype=object)[rng.integers(0, 2, 150)]
    z = np.column_stack([3.0 * rng.standard_normal(150), np.where(label == "left", -1.5, 1.5)])
    X = z @ np.linalg.qr(rng.standard_normal((6, 6)))[0][:2] + 0.3 * rng.standard_normal((150, 6))
    cards = axes(PPCA(2).fit(X), X, labels={"side": label, "noise": rng.integers(0, 3, 150)}, bootstraps=20)
    tie = cards[1].labels[0]
    assert tie.label == "side" and tie.tied and tie.share > 0.8
    assert not any(t.tied for t in cards[0].labels) and "label side" in cards[1].text()
    assert {str(label[i]) for i in cards[1].low_rows} != {str(label[i]) for i in cards[1].high_rows}


@pytest.mark.parametrize("model", [PPCA(2), FactorAnalysis(2, rotation="varimax"), PCA(2), FactorAnalysis(2)])
def test_every_linear_model_has_cards(model):
    X, _ = plane(120, 3.0, 1.5, 3)
    cards = axes(model.fit(X), X, bootstraps=20)
    assert len(cards) == 2 and all(np.isfinite([c.low, c.high, c.value]).all() for a in cards for c in a.loadings)
    inside = [c.low <= c.value <= c.high for a in cards for c in a.loadings]
    assert np.mean(inside) > 0.8
    assert all(0.0 < a.share < 1.0 for a in cards)


def test_no_axis_no_card():
    X, _ = plane(50, 2.0, 1.0, 4)
    assert axes(PPCA(0).fit(X), X, bootstraps=20) == ()


# rows that alone make an axis: found where they lie apart, and not in the tails of any smooth law -----------------
LAWS = {
    "normal": lambda r, n: r.standard_normal((n, 3)),
    "t5": lambda r, n: r.standard_t(5, (n, 3)),
    "exponential": lambda r, n: r.exponential(1.0, (n, 3)),
    "lognormal": lambda r, n: np.exp(r.standard_normal((n, 3))),
    "uniform": lambda r, n: r.random((n, 3)),
    "five levels": lambda r, n: r.integers(0, 5, (n, 3)) + 0.1 * r.standard_normal((n, 3)),
    "two halves": lambda r, n: r.standard_normal((n, 3)) + np.where(r.random((n, 1)) < 0.5, [8.0, 0.0, 0.0], 0.0),
    "two thirds": lambda r, n: r.standard_normal((n, 3)) + np.where(r.random((n, 1)) < 2 / 3, [8.0, 0.0, 0.0], 0.0),
}


@pytest.mark.parametrize("law", LAWS)
def test_the_tails_of_a_smooth_law_are_no_rows_apart(law):
    called = 0
    for seed in range(60):
        r = np.random.default_rng([seed, 21])
        called += bool(rows_apart(LAWS[law](r, (40, 150, 600)[seed % 3])))
    assert called <= 1


@pytest.mark.parametrize(("share", "far_out"), [(0.05, 16.0), (0.1, 10.0), (0.2, 8.0)])
@pytest.mark.parametrize("seed", range(3))
def test_a_group_along_an_axis_is_named(share, far_out, seed):
    r = np.random.default_rng([seed, 22])
    scores = r.standard_normal((200, 3))
    far = r.permutation(200)[: round(share * 200)]
    scores[far, 1] += far_out
    (found,) = rows_apart(scores)
    assert sorted(found.rows) == sorted(far.tolist()) and found.axes == (2,)
    z = scores[:, 1] - scores[:, 1].mean()
    between = len(far) * z[far].mean() ** 2 / (1 - share)
    assert between / (z @ z) - 1e-9 <= found.share <= between / (z @ z) + 0.02  # the line may lean a little


def test_a_group_between_two_axes_is_named_with_both():
    r = np.random.default_rng(0)
    scores = r.standard_normal((200, 3))
    far = np.arange(40)
    scores[far] += [8.0, 0.0, 8.0]
    U, _, Vt = np.linalg.svd(scores - scores.mean(axis=0), full_matrices=False)
    scores = U @ Vt  # uncorrelated, as those of a map are
    (found,) = rows_apart(scores)
    assert sorted(found.rows) == far.tolist() and set(found.axes) == {1, 3} and found.share > 0.9


def test_a_few_strays_in_the_gap_hide_no_group():
    r = np.random.default_rng(1)
    scores = r.standard_normal((400, 2))
    scores[:60, 0] += 9.0
    scores[60:63, 0] = [3.8, 4.4, 5.1]
    (found,) = rows_apart(scores)
    assert set(range(60)) <= set(found.rows) <= set(range(63))


def test_more_than_a_fifth_are_not_few():
    scores = np.random.default_rng(2).standard_normal((200, 2))
    scores[: round((AXIS_SHARE + 0.1) * 200), 0] += 10.0
    assert rows_apart(scores) == ()


def test_scores_that_do_not_vary():
    assert rows_apart(np.zeros((50, 2))) == () and rows_apart(np.zeros((6, 1))) == ()
    scores = np.zeros((50, 1))
    scores[:6] = 1.0
    assert sorted(rows_apart(scores)[0].rows) == list(range(6))


def test_an_axis_without_spread_hides_no_group_of_the_others():
    scores = np.random.default_rng(0).standard_normal((100, 3))
    scores[:6, 2] += 12.0
    scores[:, 0] = 0.0
    (found,) = rows_apart(scores)
    assert sorted(found.rows) == [0, 1, 2, 3, 4, 5] and found.axes == (3,) and found.share <= 1.0


def test_columns_that_all_rise_together_are_said_to():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1)) + 0.3 * rng.standard_normal((200, 7))
    (card,) = axes(PPCA(1, standardize=True).fit(X), X, bootstraps=25)
    led = ", ".join(c.column for c in card.top)
    assert card.sentence.startswith(f"Axis 1 is all 7 columns together, led by {led} (")
    X[:, 6] = rng.standard_normal(200)
    (card,) = axes(PPCA(1, standardize=True).fit(X), X, bootstraps=25)
    assert card.sentence.startswith("Axis 1 is 6 of 7 columns together, led by ")
    X[:, 4:6] *= -1.0
    (card,) = axes(PPCA(1, standardize=True).fit(X), X, bootstraps=25)
    assert "together" not in card.sentence


def test_an_axis_with_two_ends_is_named_by_both():
    """Six columns that rise and one that falls, less closely than any of them."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((200, 1))
    X = np.column_stack([z + 0.3 * rng.standard_normal((200, 6)), -z + 0.7 * rng.standard_normal((200, 1))])
    (card,) = axes(PPCA(1, standardize=True).fit(X), X, bootstraps=25)
    assert " against c7 (" in card.sentence and len(card.top) == 4


def test_a_column_seen_at_one_end_only_does_not_make_the_axis():
    """What boys have from ten years on: its slope is known, its spread over all boys is not."""
    rng = np.random.default_rng(1)
    age = rng.uniform(0, 20, 600)
    X = np.column_stack([age, age + rng.normal(0, 1.5, 600), age + rng.normal(0, 1.5, 600)])
    late = np.where(age > 14, 4 * age + rng.normal(0, 1.5, 600), np.nan)
    table = np.column_stack([X, late])
    (card,) = axes(PPCA(1, standardize=True).fit(table), table, bootstraps=25)
    assert [abs(c.value) for c in card.loadings] == pytest.approx([1.0] * 4, abs=0.12)
    assert {c.column for c in card.top} == {"c1", "c2", "c3", "c4"}


class _Cells:
    """Three columns: a number, and two of several labels, of which one label alone is not rare in the last."""

    columns = (
        MapColumn("size"),
        MapColumn("kind", "label", ("old", "new", "odd"), (0.0, 1.0, 2.0)),
        MapColumn("damage", "label", ("none", "some", "much"), (0.0, 1.0, 2.0)),
    )
    line_shares = np.array([1.0, 0.5, 0.48, 0.02, 0.94, 0.03, 0.03])


def test_a_column_of_labels_is_named_once_by_labels_that_are_not_rare():
    values = (-0.9, 0.8, -0.7, 0.95, 0.6, -0.5, -0.8)
    names = line_names(_Cells.columns)
    told = by_column(
        [Loading(n, v, v - 0.1, v + 0.1) for n, v in zip(names, values, strict=True)], lines_of(_Cells.columns), _Cells
    )
    assert [c.column for c in told] == ["size", "kind (new rather than old)", "damage (others rather than none)"]
    spread = np.array([0.25, 0.48 * 0.52, 0.02 * 0.98])  # what each label adds by its p (1 - p)
    expected = np.sqrt(spread @ np.square([0.8, -0.7, 0.95]) / spread.sum())
    assert told[1].value == pytest.approx(-expected) and told[0].value == -0.9 and told[1].sure


def test_axes_are_interchangeable_only_where_their_variances_are_near_each_other():
    rng = np.random.default_rng(0)
    for ratio, said in ((1.1, ((0, 1),)), (1.6, ())):  # with so wide a scatter that neither order is sure
        W = np.eye(4)[:, :2] * np.sqrt([ratio, 1.0])
        drawn = np.array([W + 0.6 * rng.standard_normal(W.shape) for _ in range(60)])
        assert tied_axes(W, drawn) == said
