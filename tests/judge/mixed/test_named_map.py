"""The run of a mixed model, asked as the main job's map of answers is: places, rows, axes, groups of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.jobs.one_model import fit_method
from lowdim.jobs.table_model import TableModel, subject
from lowdim.text.messages import OptionError
from tests.conftest import need
from tests.jobs.test_model_inputs import survey


@pytest.fixture(scope="module")
def found() -> TableModel:
    frame = survey()[1]
    frame["visits"] = np.random.default_rng(1).negative_binomial(1, 0.1, len(frame))
    return subject(fit_method(ld.read(frame, log=["visits+1"]), "mixed", dims=1))


@pytest.fixture(scope="module")
def penguins():
    return ld.read(need("real_tables/penguins.csv"))


def test_labels_are_columns_of_the_map_and_each_has_a_line(found):
    map = found.map
    assert map.names == ("height", "income", "owner", "town", "visits") and found.X.shape == (found.table.n, 5)
    lines = ("height", "income", "owner=yes", "town=Aachen", "town=Bonn", "town=Celle", "visits")
    assert map.line_names == lines and map.lines(found.X).shape == (found.table.n, 7)
    own, source = found.map.cells.posterior(found.X), found.source
    assert own.mean == pytest.approx(found.model.posterior(source).mean, abs=1e-12)


def test_a_place_has_labels_with_their_probability(found):
    sign = np.sign(np.corrcoef(found.places.z[:, 0], np.nan_to_num(found.X[:, 2]))[0, 1])
    card = found.at([2.0 * sign])
    told = {a.column: a for a in card.columns}
    assert told["owner"].word == "yes" and told["owner"].chance > 0.8
    assert told["town"].word == "Celle" and told["town"].band is None
    assert len(card.near) == 5 and "Celle" in card.text()
    assert float(told["visits"].band[0]) >= 0.0  # log(x + 1) goes on below 0, visits do not


def test_a_place_of_levels_has_levels():
    """The same card as that of the main job's map, whose code it is."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((300, 1))
    items = np.clip(np.round(3 + z + 0.7 * rng.standard_normal((300, 6))), 1, 5)
    frame = pd.DataFrame(items.astype(int), columns=[f"q{k}" for k in range(1, 7)])
    card = subject(fit_method(frame, "mixed", dims=1)).at([1.5])
    levels = {str(k) for k in range(1, 6)}
    assert all({a.word, *a.band} <= levels and 0.2 < a.chance < 1 for a in card.columns)


def test_a_row_is_explained_by_its_labels_too(found):
    """The law is that of the bulk of its rows: few are odd, and an answer that contradicts the rest is said to."""
    high = int(np.nanargmax(found.table.X[:, 0]))
    card = found.explain(high, edited={"town": "Aachen", "owner": "no"})
    assert [c.column for c in card.cells] == list(found.columns) == ["height", "income", "owner", "town", "visits"]
    told = {c.column: c.words() for c in card.cells}
    assert told["town"][0] == "Aachen" and told["town"][1].startswith("Celle")
    assert told["owner"][0] == "no" and card.D2 > found.explain(high).D2
    assert np.mean([found.explain(i).p < 0.05 for i in range(60)]) < 0.15
    with pytest.raises(OptionError, match="Dorsten"):
        found.explain(0, edited={"town": "Dorsten"})


def test_axes_and_groups_count_labels(found):
    card = found.axes[0]
    told = {a.column: a.value for a in card.loadings}
    assert set(told) == set(found.map.line_names) and told["owner=yes"] * told["town=Aachen"] < -0.25
    assert told["owner=yes"] * told["height"] > 0.25
    rows = np.flatnonzero(found.X[:, 3] == 2.0)  # Celle
    apart = {c.name: c for c in found.set_apart(rows).columns}
    assert apart["owner=yes"].differs and apart["owner=yes"].difference > 0 and "visits" in apart


def test_markers_are_labels_to_a_reader(penguins):
    """Species mark clusters of the real columns, and are taken for markers; their cells are species all the same."""
    found = subject(fit_method(penguins, "mixed"))
    assert "marker" in found.model.likelihoods_
    card = found.explain(0)
    words = {c.column: c.words() for c in card.cells}["species"]
    assert words[0] == "Adelie" and words[1].startswith("Adelie (")
    axes = found.axes
    leanings = np.array([[a.value for a in axis.loadings if a.column.startswith("species=")] for axis in axes])
    assert leanings.shape[1] == 3 and (leanings.max(axis=1) > 0).all() and (leanings.min(axis=1) < 0).all()
