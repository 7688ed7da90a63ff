"""What labels tell of a map: against scipy's analysis of variance, and no more than chance where there is nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim.jobs.analysis import analyse
from lowdim.judge.labels import label_cards


def adjusted(score, label) -> float:
    """The share of variance between groups less chance, from scipy's F."""
    n, g = len(score), len(np.unique(label))
    F = stats.f_oneway(*(score[label == k] for k in np.unique(label))).statistic
    return 1.0 - (n - 1) / (F * (g - 1) + n - g)


def test_shares_are_those_of_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 4, 90)
    z = rng.standard_normal((90, 2)) + label[:, None] * [0.8, 0.1]
    words = np.array(list("abcd"), dtype=object)[label]
    (card,) = label_cards(z, (0.6, 0.2), {"kind": words}, label)
    assert [tie.share for tie in card.axes] == pytest.approx([adjusted(z[:, k], label) for k in (0, 1)], rel=1e-9)
    # of the map each axis counts by its share of the variation, whatever the spread of its scores
    each = [1.0 - (1.0 - tie.share) * 86 / 89 for tie in card.axes]
    between = (0.6 * each[0] + 0.2 * each[1]) / 0.8
    assert card.map.share == pytest.approx(1.0 - (1.0 - between) * 89 / 86, rel=1e-9)
    assert card.groups.share == pytest.approx(1.0)  # the groups are the label itself


def test_p_is_near_that_of_the_f_test_far_out_too():
    rng = np.random.default_rng(1)
    label = np.repeat(np.arange(3), 40)
    for shift in (0.0, 0.4, 0.8):
        score = rng.standard_normal(120) + shift * label
        (card,) = label_cards(score[:, None], (1.0,), {"kind": label})
        theirs = stats.f_oneway(*(score[label == k] for k in range(3))).pvalue
        assert np.log(card.axes[0].p) == pytest.approx(np.log(theirs), rel=0.35, abs=0.3)


def test_p_of_labels_without_meaning_is_uniform():
    """Of heavy-tailed scores too, on which an F test would lean."""
    p = []
    for seed in range(300):
        rng = np.random.default_rng([seed, 3])
        (card,) = label_cards(rng.standard_t(2, (60, 2)), (0.5, 0.2), {"kind": rng.integers(0, 3, 60)})
        p += [card.map.p]
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert np.mean(np.array(p) <= 0.05) < 0.09  # 0.05 + 3 of 300's errors


def test_random_labels_are_rarely_tied():
    """Twenty labels without meaning on three axes: 5 % of tables may show any tie at all."""
    some = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        labels = {f"l{k}": rng.integers(0, 4, 100) for k in range(20)}
        cards = label_cards(rng.standard_normal((100, 3)), (0.4, 0.2, 0.1), labels)
        some += any(tie.tied for card in cards for tie in (card.map, *card.axes))
    assert some <= 6  # 2 expected; more than 6 has probability 0.003


def test_gaps_and_labels_of_too_many_values():
    text = np.array(["a", None, "b", float("nan"), "a", "b"], dtype=object)
    z = np.array([[1.0], [9.0], [2.0], [9.0], [1.1], [2.2]])
    (card,) = label_cards(z, (1.0,), {"text": text, "who": np.arange(6), "same": np.zeros(6)})
    assert card.label == "text" and card.axes[0].values == 2
    assert card.axes[0].share == pytest.approx(adjusted(np.array([1.0, 2.0, 1.1, 2.2]), np.array(list("abab"))))


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(2)
    z, label = rng.standard_normal((80, 2)), rng.integers(0, 3, 80)
    new = rng.permutation(80)
    one, other = (label_cards(z[at], (0.5, 0.3), {"kind": label[at]})[0] for at in (np.arange(80), new))
    assert one.map.p == pytest.approx(other.map.p, rel=1e-9) and one.map.share == pytest.approx(other.map.share)


def test_species_tells_penguins_first_axis_and_groups(need):
    """A label that agrees with the groups tells all of them; the sentence says that it had no part in the map."""
    found = analyse(need("real_tables") / "penguins.csv", budget="1s")
    cards = {card.label: card for card in found.labels}
    z = pd.DataFrame(found.posterior.mean).assign(species=found.table.labels["species"])
    assert cards["species"].axes[0].share == pytest.approx(adjusted(z[0].to_numpy(), z["species"].to_numpy()), rel=1e-9)
    assert cards["species"].groups.share == pytest.approx(1.0) and cards["sex"].groups.share < 0.05
    assert "The label species explains 88% of axis 1; it was not used to find the map." in found.said["axes"]


def test_a_map_without_axes_leaves_labels_nothing_to_explain() -> None:
    assert label_cards(np.zeros((8, 0)), (), {"side": np.repeat(["left", "right"], 4)}) == ()
    frame = pd.DataFrame(np.random.default_rng(3).standard_normal((60, 2)), columns=["a", "b"])
    frame["side"] = np.repeat(["left", "right"], 30)
    assert list(analyse(frame).said) == ["dimensions", "axes", "odd", "map"]
