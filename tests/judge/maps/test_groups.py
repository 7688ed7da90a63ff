"""Groups of rows: found where they are clear, and nowhere else."""

import csv

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris, load_wine

import lowdim as ld
from lowdim.jobs.analysis import Analysis, Settings
from lowdim.jobs.apply import place_run
from lowdim.jobs.run_folder import load_run, save_run
from lowdim.jobs.run_tables import tables
from lowdim.judge.maps.groups import RowGroups, groups_of_places
from lowdim.judge.maps.latent_cells import usual_step
from lowdim.judge.scales import on_suitable_scales
from lowdim.text.messages import LowdimError
from tests.judge.grouped import SEVERAL, STRAIGHT, grouped, told


def mapped(X, q: int) -> RowGroups:
    """The groups of a table on a map of q axes."""
    table = on_suitable_scales(ld.read(X))
    return Analysis(table, Settings(dims=q, robust=False)).groups


def one_group(kind: str, n: int, rng: np.random.Generator):
    """A table whose rows are one group of a kind that no law has."""
    W, noise = rng.standard_normal((2, 8)), rng.standard_normal((n, 8))
    if kind == "yes or no beside numbers":
        return np.column_stack([rng.standard_normal((n, 2)) @ W + 0.5 * noise, rng.integers(0, 2, n)])
    if kind == "series":
        turn = 2.0 * np.pi * np.arange(n) / 40.0
        return np.column_stack([np.sin(turn), np.cumsum(rng.standard_normal(n)) / np.sqrt(n)]) @ W + 0.2 * noise
    return np.repeat(rng.standard_normal((n // 12, 2)), 12, axis=0) @ W + 0.3 * noise[: 12 * (n // 12)]


KINDS = ("yes or no beside numbers", "series", "units seen again")


def found_groups(law: str, n: int, seed: int) -> tuple[RowGroups, np.ndarray]:
    """The groups of a table by a law, on a map of as many axes as it has, and the truth."""
    X, truth = grouped(law, n, seed)
    return mapped(X, 3 if law in ("roll", "S-curve") else 2), truth


@pytest.mark.parametrize("kind", KINDS)
def test_one_group_of_any_kind_is_not_parted(kind):
    for seed in range(4):
        found = mapped(one_group(kind, 300, np.random.default_rng(seed)), 2 + seed % 2)
        assert found.sizes == (len(found.label),)
        assert found.sentence == ""


@pytest.mark.parametrize("law", [*STRAIGHT, "horseshoe", "circle"])
def test_one_group_of_any_shape_is_not_parted(law):
    assert all(found_groups(law, n, seed)[0].sizes == (n,) for n, seed in ((150, 1), (150, 3), (400, 1)))


def test_groups_of_any_law_are_found_as_they_are():
    """Two groups at 4 spreads, three to five at 5, a small one, unequal ones: nearly all of 400 rows."""
    right = 0
    for law in SEVERAL:
        for seed in (1, 3):
            found, truth = found_groups(law, 400, seed)
            right += len(found.sizes) == truth.max() + 1 and told(truth, found.label) >= 0.75
    assert right >= 10  # of 12


@pytest.mark.drill
@pytest.mark.parametrize("law", STRAIGHT)
@pytest.mark.parametrize("n", [150, 400])
def test_false_groups_are_rarer_than_one_in_fifty(law, n):
    assert sum(len(found_groups(law, n, seed)[0].sizes) > 1 for seed in range(1, 401, 2)) <= 4


@pytest.mark.parametrize("apart", [5.0, 6.0])
def test_two_gaussians_are_found(apart):
    rng = np.random.default_rng(11)
    for _ in range(5):
        of_group = rng.random(300) < 0.4
        z = rng.standard_normal((300, 2))
        z[of_group, 1] += apart
        found = mapped(z @ rng.standard_normal((2, 10)) + 0.2 * rng.standard_normal((300, 10)), 2)
        assert len(found.sizes) == 2
        assert (found.label == of_group).mean() > 0.97


def test_four_groups_in_a_square_with_gaps():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 400)
    z = np.array([[0, 0], [7, 0], [0, 7], [7, 7]])[truth] + rng.standard_normal((400, 2))
    X = z @ rng.standard_normal((2, 9)) + 0.3 * rng.standard_normal((400, 9))
    X[rng.random(X.shape) < 0.1] = np.nan
    found = mapped(X, 2)
    assert len(found.sizes) == 4
    assert all(np.bincount(truth[found.label == k]).max() > 0.97 * size for k, size in enumerate(found.sizes))


def test_long_groups_side_by_side():
    rng = np.random.default_rng(5)
    side = rng.integers(0, 2, 300)
    z = np.column_stack([6.0 * rng.standard_normal(300), 5.5 * side + rng.standard_normal(300)])
    label = groups_of_places(z)
    assert max((label == side).mean(), (label != side).mean()) > 0.98


def test_a_handful_of_far_rows_is_no_group():
    z = np.random.default_rng(0).standard_normal((300, 2))
    z[:9, 0] += 20.0
    assert not groups_of_places(z).any()


def test_places_that_are_all_the_same():
    assert not groups_of_places(np.zeros((100, 2))).any()


def test_steps():
    assert usual_step(np.array([0.0, 1.0, 1.0, np.nan])) == 1.0
    assert usual_step(np.array([2.0, np.nan])) == 0.0


def test_the_penguins_of_one_species_are_a_group(need):
    """Gentoo has 123 penguins with all four measurements; they stand apart from the other two species."""
    analysis = ld.analyse(need("real_tables") / "penguins.csv", budget="1s")
    species = np.array(analysis.table.labels["species"])
    assert analysis.groups.sizes == (219, 123)
    assert set(species[analysis.groups.label == 1]) == {"Gentoo"}
    words = "The rows fall into 2 groups (219 and 123 rows) that differ most in flipper_length_mm and bill_depth_mm. "
    words += "Group 1 is species Adelie or Chinstrap in 219 of 219 rows, group 2 is species Gentoo in 123 of 123 rows."
    assert analysis.said["groups"].endswith(words)


def test_iris_falls_into_two_groups_and_wine_too():
    """Setosa stands apart; the other two species overlap. Of the three cultivars one does."""
    for load, truth in ((load_iris, (0, 1, 1)), (load_wine, (0, 0, 1))):
        found = Analysis(on_suitable_scales(ld.read(load().data)), Settings()).groups
        kind = np.array(truth)[load().target]
        assert len(found.sizes) == len(set(truth)) and told(kind, found.label) >= 0.85


def test_groups_colour_a_map_without_labels():
    rng = np.random.default_rng(1)
    z = rng.standard_normal((200, 2)) + 8.0 * (np.arange(200) < 80)[:, None] * [1.0, -1.0]
    analysis = ld.analyse(z @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((200, 6)), dims=2, budget="1s")
    assert analysis.groups.sizes == (120, 80)
    assert analysis.said["groups"].count("The rows fall into 2 groups (120 and 80 rows)") == 1
    colours = analysis.plot.map().data["color"]
    assert [str(c) for c in colours] == analysis.groups.of_rows


def test_groups_of_a_run_folder_are_those_of_the_run(tmp_path):
    rng = np.random.default_rng(1)
    z = rng.standard_normal((150, 2)) + 8.0 * (np.arange(150) < 60)[:, None] * [1.0, -1.0]
    np.savetxt(tmp_path / "t.csv", z @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((150, 5)), delimiter=",")
    made = ld.analyse(tmp_path / "t.csv", dims=2, budget="1s")
    again = load_run(save_run(made, tmp_path / "t.run")).analysis
    assert made.groups.sizes == (90, 60)
    assert again.groups.columns == made.groups.columns
    np.testing.assert_array_equal(again.groups.label, made.groups.label)


@pytest.mark.parametrize("apart", [100.0, 1e3, 1e6])
def test_groups_however_far_apart(apart):
    z = np.random.default_rng(0).standard_normal((400, 2))
    z[:150, 0] += apart
    assert sorted(np.bincount(groups_of_places(z)).tolist()) == [150, 250]


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")  # nothing is left to call noise
def test_a_map_with_an_axis_that_has_no_spread():
    """Five columns of rank two, drawn with three axes."""
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((120, 2))
    Z[:50, 0] += 9.0
    found = ld.analyse(Z @ rng.standard_normal((2, 5)), dims=3, budget="1s")
    assert found.groups.sizes == (70, 50)


def test_cells_that_are_held_out_make_no_group():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((300, 6))
    X[:24, 2] += 60.0
    found = ld.analyse(X, budget="1s")
    assert len(found.partition.wrong_cells) >= 24 and len(found.groups.sizes) == 1


def test_scores_of_a_run_name_the_group_of_each_row(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 4)) + np.where(np.arange(120) < 50, 9.0, 0.0)[:, None]
    found = ld.analyse(X, dims=2, budget="1s")
    lines = list(csv.DictReader(tables(found)["scores.csv"]))
    assert [int(line["group"]) for line in lines] == [2] * 50 + [1] * 70


def two_groups(n: int = 150, seed: int = 1):
    """Rows of two groups 8 spreads apart, and which of them is of the smaller one."""
    rng = np.random.default_rng(seed)
    of = np.arange(n) < 0.4 * n
    z = rng.standard_normal((n, 2)) + 8.0 * of[:, None] * [1.0, -1.0]
    return z @ np.random.default_rng(7).standard_normal((2, 5)) + 0.3 * rng.standard_normal((n, 5)), of


def test_new_rows_get_a_group_with_a_probability(tmp_path):
    """Those of a run folder are the same; of a row without a cell nothing but the shares is known."""
    X, _ = two_groups()
    np.savetxt(tmp_path / "t.csv", X, delimiter=",")
    made = ld.analyse(tmp_path / "t.csv", dims=2, budget="1s")
    new, of = two_groups(60, 2)
    new[0] = np.nan
    placed = made.apply(new)
    (_, label), (_, chance) = placed.places.more
    assert np.array_equal(label[1:] == 2, of[1:]) and chance[1:].min() > 0.99
    assert label[0] == 1 and chance[0] == pytest.approx(0.6)
    run = load_run(save_run(made, tmp_path / "t.run"))
    again = place_run(run, new).places.facts()
    np.testing.assert_array_equal(again["group"], label)
    np.testing.assert_allclose(again["group_probability"], chance, rtol=1e-12)


def test_a_number_of_groups_may_be_asked_for():
    X, of = two_groups()
    asked = [ld.analyse(X, dims=2, groups=k, budget="1s").groups for k in (1, 2, 3)]
    assert [len(found.sizes) for found in asked] == [1, 2, 3]
    assert np.array_equal(asked[1].label == 1, of)
    assert asked[2].sentence.startswith("You asked for 3 groups (")
    for wrong in (0, 151, "many", 2.5, True):
        with pytest.raises(LowdimError, match="LD210"):
            ld.analyse(X, groups=wrong)


def test_a_profile_says_what_sets_a_group_apart_in_own_units():
    """Means with Student's intervals, of columns in logarithms geometric ones, and the labels that it agrees with."""
    rng = np.random.default_rng(0)
    of = np.arange(120) < 50
    level = np.where(of, 4.0, 0.0)[:, None] + rng.standard_normal((120, 4)) * 0.4
    frame = pd.DataFrame({"a": 50 + 10 * level[:, 0], "b": np.exp(level[:, 1]), "c": level[:, 2], "d": level[:, 3]})
    frame["kind"] = np.where(of, "rare", "usual")
    frame.loc[3, "kind"] = "usual"
    found = ld.analyse(ld.read(frame, log=["b"]), dims=2, budget="1s")
    assert found.groups.names == ("usual", "rare")
    card = ld.subject(found).group("rare")
    assert len(card.rows) == 50 and card.rows == ld.subject(found).group(2).rows
    assert card.labels[0].words == "kind rare in 49 of 50 rows" and "p-values would not hold" in card.text()
    columns = {c.name: c for c in card.columns}
    own = frame.loc[of, "a"]
    ends = stats.t.interval(0.95, 49, own.mean(), stats.sem(own))
    assert [columns["a"].group_low, columns["a"].group_high] == pytest.approx(list(ends), rel=1e-9)
    assert columns["b"].group == pytest.approx(stats.gmean(frame.loc[of, "b"]), rel=1e-9)
    assert columns["b"].others == pytest.approx(stats.gmean(frame.loc[~of, "b"]), rel=1e-9)
    with pytest.raises(LowdimError, match="LD210"):
        ld.subject(found).group("neither")
