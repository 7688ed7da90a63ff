"""The main job on answers: the mixed map end to end, opened again, asked about rows, and given new ones."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from lowdim import analyse, load_run, read, subject
from lowdim.jobs.run_folder import save_run
from lowdim.jobs.run_tables import placed_fills
from lowdim.judge.fills.calibration import shares_of_levels
from lowdim.judge.maps.fit_map import fit_mixed_map, is_mixed
from lowdim.judge.mixed.given_others import cells_at
from lowdim.judge.mixed.mixed_cells import MixedCells
from lowdim.judge.outliers.law import facts_of_law
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from tests.cli.calls import in_process
from tests.conftest import need
from tests.jobs.test_store import same
from tests.judge.mixed.test_mixed_cells import survey
from tests.models.mixed.test_mixed_factors import two_blocks


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    frame, _ = survey(1, n=150, strength=5.0, words=True)
    frame[[f"v{j}" for j in range(8)]].to_csv(folder / "votes.csv", index=False)
    found = analyse(read(folder / "votes.csv"), dims=2, budget="1s")
    return found, save_run(found, folder / "votes.run"), folder


def test_answers_get_their_likelihood_from_their_role(made):
    found, _, _ = made
    assert isinstance(found.model, MixedFactorAnalysis) and set(found.model.likelihoods_) == {"yes/no"}
    own = found.model.posterior(found.map.cells.source(found.table.X))
    assert np.array_equal(found.posterior.mean, own.mean) and np.array_equal(found.posterior.packed, own.packed)
    assert found.axes[0].sentence.startswith("Axis 1 is 'y' on v")
    assert 0 < sum(found.shares) < 1 and found.noise_share == pytest.approx(1 - sum(found.shares))
    assert np.abs(found.loadings).max() < 1 and found.loadings.shape == (8, 2)
    assert not len(found.partition.wrong_cells) and "Mixed factor analysis" in repr(found)


def test_numbers_and_own_units_stay_gaussian():
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((60, 1)) + 0.5 * rng.standard_normal((60, 5))
    assert isinstance(analyse(numbers, dims=1, budget="1s").model, ProbabilisticPCA)
    frame, _ = survey(1, n=60)
    own = analyse(read(frame.astype(float)), dims=1, scale="none", budget="1s")
    assert isinstance(own.model, ProbabilisticPCA) and not own.map.has_answers


def test_a_run_folder_gives_the_same_parts_back(made):
    found, folder, _ = made
    again = load_run(folder).analysis
    for part in ("jury", "posterior", "odd", "axes", "stability"):
        assert same(getattr(found, part), getattr(again, part)), part
    assert again.odd.at(0.5).rows == found.odd.at(0.5).rows
    assert facts_of_law(again.law_of_new_rows) == facts_of_law(found.law_of_new_rows)


def test_new_rows_lie_where_they_lay(made):
    found, _, _ = made
    placed = found.apply(found.table.path)
    assert np.allclose(placed.places.z, found.posterior.mean)
    assert np.allclose(placed.odd.D2.value, found.odd.D2.value)
    assert placed.larger.min() >= 1 - 1e-9 and (placed.larger[found.has_gaps] > 1).all()
    text = placed_fills(placed).splitlines()
    assert text[0] == "row,column,fill,lower,upper,sd,probability" and len(text) == 1 + placed.gaps
    assert {line.split(",")[2] for line in text[1:]} <= {"y", "n"}
    levels = found.model.levels_[0]
    shares = found.model.probabilities(found.map.cells.source(found.table.X))["v0"]
    first = next(line.split(",") for line in text[1:] if line.split(",")[1] == "v0")
    i = found.row_names.index(first[0])
    assert float(first[-1]) == pytest.approx(shares[i, levels.index(first[2])])


def test_a_row_and_a_place_are_told_in_words(made):
    found, folder, _ = made
    row = subject(load_run(folder))
    card = row.explain(3, hidden=["v1"], edited={"v2": "n"})
    assert card.cells[1].words()[0] == "gap" and card.cells[2].words()[0] == "n"
    assert pytest.approx(found.explain(3, hidden=["v1"], edited={"v2": "n"}).D2) == card.D2
    place = row.at([0.5, 0.0])
    assert [c.column for c in place.cells] == list(found.table.in_ones().names)
    assert all(c.low <= c.value <= c.high for c in place.cells)
    shares = cells_at(found.model, np.array([[0.5, 0.0]])).shares
    for k, answer in enumerate(place.columns):
        best = shares[k][0].argmax()
        assert answer.column == found.map.names[k] and answer.word == found.model.levels_[k][best]
        assert answer.chance == shares[k][0, best] and answer.band is None
        seen = pd.read_csv(found.table.path)[answer.column].dropna()
        assert answer.usual == pytest.approx((seen == answer.word).mean())
    assert row.set_apart(range(10)).axes[0].name == "axis 1"


def test_commands_agree(made):
    found, _, folder = made
    told = in_process("explain", "votes.run", "--place", "2,0", cwd=folder).out.splitlines()
    first = subject(found).at([2.0, 0.0]).columns[0]
    line = next(line.split() for line in told if line.split()[:1] == ["v0"])
    assert line[:3] == ["v0", first.word, f"{100 * first.chance:.0f}%"]
    told = in_process("explain", "votes.run", "--row", "4", "--hide", "v1", "--set", "v2=y", cwd=folder)
    assert "Row 4 without v1 and with v2 at y" in told.out
    assert found.axes[0].sentence in in_process("explain", "votes.run", "--axis", "1", cwd=folder).out
    assert found.odd.sentence in in_process("odd", "votes.run", cwd=folder).out


@pytest.mark.slow
def test_the_report_says_what_cannot_be_touched(made):
    found, _, folder = made
    text = found.report(folder / "r.html").read_text()
    assert "A row of answers cannot be touched here" in text and "latent response" in text
    for name in ("map", "loadings", "biplot", "reconstruct", "why_row", "why_all", "t2_q", "shepard"):
        assert found.plot.draw(name).sentence, name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uci/house_votes_1984", "real_tables/bfi", "real_tables/vnf", "real_tables/biopsy"])
def test_real_tables_of_answers_are_mixed_and_predict_better(name):
    """A tenth of the cells hidden: the log loss of their levels is less than that of a Gaussian on codes."""
    table = read(need(f"{name}.csv"))
    assert is_mixed(table)
    rows = np.flatnonzero((~np.isnan(table.X)).sum(axis=1) > 4)[:800]
    X, q = table.X[rows], 5 if "bfi" in name or "vnf" in name else 2
    hide = (np.random.default_rng(0).random(X.shape) < 0.1) & ~np.isnan(X)
    seen, map = np.where(hide, np.nan, X), MixedCells(fit_mixed_map(table, q, 0))
    again = MixedFactorAnalysis(q, likelihoods=map.model.likelihoods_, tol=1e-3).fit(map.source(seen))
    mean, spread = ProbabilisticPCA(q, standardize=True).fit(seen).impute(seen, return_std=True)
    losses = []
    for k, column in enumerate(map.columns):
        if not again.levels_[k]:
            continue
        at = hide[:, k]
        levels = np.unique(X[~np.isnan(X[:, k]), k])
        codes = [again.labels_[k].index(v) if again.labels_[k] else v for v in again.levels_[k]]
        share = again.probabilities(map.source(seen), columns=[column.name])[column.name][at][:, np.argsort(codes)]
        plain, truth = shares_of_levels(mean[at, k], spread[at, k], levels), np.searchsorted(levels, X[at, k])
        losses += [[-np.log(max(part[i, t], 1e-3)) for part in (share, plain)] for i, t in enumerate(truth)]
    difference = np.array(losses) @ [1.0, -1.0]
    assert difference.mean() < -2 * difference.std() / np.sqrt(len(difference))


@pytest.mark.parametrize("name", ["penguins", "planets", "chemproc", "swiss"])
def test_real_tables_of_numbers_stay_gaussian(name):
    assert not is_mixed(read(need(f"real_tables/{name}.csv")))


@pytest.mark.parametrize("name", ["titanic", "colic", "snorena", "mpg"])
def test_tables_of_numbers_and_answers_are_mixed(name):
    assert is_mixed(read(need(f"real_tables/{name}.csv")))


def test_logarithms_on_a_map_of_answers_are_told_in_the_table_s_units(tmp_path):
    rng = np.random.default_rng(0)
    z = rng.standard_normal(120)
    frame = pd.DataFrame({f"v{j}": (z + rng.logistic(size=120) > 0) + 0 for j in range(5)})
    frame["money"] = np.exp(2.0 * z + 0.5 * rng.standard_normal(120) + 3.0)
    frame.loc[3, "money"], frame.loc[7, "money"] = np.nan, 1e6
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = analyse(read(tmp_path / "t.csv", log=["money"]), dims=1, budget="1s")
    logs = found.model.impute(found.map.cells.source(found.table.X))[3, 5]
    placed = found.apply(frame)
    assert placed.filled.money[3] == pytest.approx(np.exp(logs)) and placed.filled.money[5] == frame.money[5]
    assert placed.lower.money[3] < np.exp(logs) < placed.upper.money[3] < frame.money[7]
    assert found.odd.rows[0].value == 1e6 and found.odd.rows[0].expected < frame.money.median() * 10
    assert found.explain(5, edited={"money": 40.0}).cells[5].value == pytest.approx(40.0)
    assert subject(found).at([0.0]).cells[5].value == pytest.approx(np.exp(found.model.intercepts_[0]), rel=1e-6)
    assert load_run(save_run(found, tmp_path / "t.run")).analysis.odd.rows == found.odd.rows


def test_axes_of_answers_are_turned_and_hold_up(tmp_path):
    X, _ = two_blocks(n=250)
    pd.DataFrame(X, columns=[*"abcdevwxyz"]).to_csv(tmp_path / "t.csv", index=False)
    found = analyse(read(tmp_path / "t.csv"), dims=2, budget="1s", rotate="varimax")
    assert isinstance(found.model, MixedFactorAnalysis) and found.model.rotation == "varimax"
    one, two = ({c.column for c in card.top} for card in found.axes)
    assert (one <= set("abcde") and two <= set("vwxyz")) or (two <= set("abcde") and one <= set("vwxyz"))
    for card in found.axes:
        assert not card.interchangeable
        assert all(c.low <= c.value <= c.high for c in card.top) and all(c.sure for c in card.top)
    plain = analyse(read(tmp_path / "t.csv"), dims=2, budget="1s")
    assert found.stability.verdict == plain.stability.verdict == "steady"
    assert np.median(found.stability.axes) < np.median(plain.stability.plane) + 3
    assert np.allclose(found.stability.plane, plain.stability.plane, atol=0.05)
    assert np.allclose(found.odd.D2.value, plain.odd.D2.value, atol=0.05)
    again = load_run(save_run(found, tmp_path / "t.run")).analysis
    assert again.axes == found.axes and np.array_equal(again.stability.axes, found.stability.axes)


def test_a_map_of_answers_places_no_stream(made):
    folder = made[2]
    said = in_process("apply", "votes.run", "votes.csv", "--stream", "-o", "placed.csv", cwd=folder)
    assert said.code == 2 and "the map of votes.run has labels: leave it out" in said.err


def test_wrong_cells_and_far_rows_beside_an_answer_are_left_out_and_named():
    """One column of answers beside measurements: what a Gaussian map finds wrong is found here, and bends no axis."""
    rng = np.random.default_rng(0)
    z, W = rng.standard_normal((300, 2)), rng.standard_normal((2, 8))
    X = z @ W + 0.5 * rng.standard_normal((300, 8))
    clean = pd.DataFrame(X, columns=list("abcdefgh"))
    clean["answer"] = np.where(z[:, 0] + rng.logistic(size=300) > 0, "yes", "no")
    spoilt = clean.copy()
    spoilt.iloc[5, 2] += 12.0
    spoilt.iloc[17, 4] -= 10.0
    spoilt.iloc[40, :8] += 15.0 * rng.standard_normal(8)
    first, second = (analyse(read(frame, encode=["answer"]), dims=2) for frame in (clean, spoilt))
    assert isinstance(second.model, MixedFactorAnalysis)
    assert second.partition.wrong_cells.tolist() == [[5, 2], [17, 4]] and second.partition.far_rows.tolist() == [40]
    named = {(r.row, r.column) for r in second.odd.rows}
    assert {(5, "c"), (17, "e")} <= named and 40 in {r.row for r in second.odd.rows} and len(named) == 3
    # principal angles between the two planes, and the corner that rows of the model are in
    a, b = (np.linalg.qr(np.asarray(found.map.cells.loadings))[0] for found in (first, second))
    assert np.degrees(np.arccos(np.linalg.svd(a.T @ b)[1].min())) < 3.0
    bent = fit_mixed_map(second.table, 2, 0)
    c = np.linalg.qr(np.asarray(MixedCells(bent).loadings))[0]
    assert np.degrees(np.arccos(np.linalg.svd(a.T @ c)[1].min())) > 5.0


def test_levels_are_told_by_the_likeliest_one_as_their_surprise_is():
    """A level that is the likeliest is no surprise: beside a mean and its ± the two figures would contradict."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((200, 1))
    X = np.digitize(z + rng.logistic(size=(200, 6)) * 0.4, [-1.0, 0.0, 1.0]) + 1.0
    X[3, 2] = np.nan
    found = analyse(read(pd.DataFrame(X, columns=list("abcdef"))), dims=1, budget="1s")
    cells = {cell.column: cell for cell in found.explain(3).shown}
    assert all(re.fullmatch(r"[1-4] \(\d+%\)", cell.words()[1]) for name, cell in cells.items() if name != "c")
    for cell in found.explain(5).cells:
        value, says, surprise = cell.words()
        assert value == says.split()[0] or surprise not in ("+0.0 sd", "-0.0 sd")
    fill = found.fills.filled[3, 2]
    assert cells["c"].words()[0] == "gap" and cells["c"].words()[1].startswith(f"{fill:g} (")  # as fills.csv has it
