"""Cells of a map of answers at a place: labels with probabilities, levels and counts with bands of their own values."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lowdim.judge.maps.table_map import table_map
from lowdim.judge.mixed.fit_mixed import fit_mixed_map
from lowdim.judge.read_table import read
from lowdim.judge.rows.place_card import MappedRows


def mixed_frame(n=200):
    rng = np.random.default_rng(3)
    z = rng.standard_normal(n)
    level = (np.clip(np.round(3 + z + 0.6 * rng.standard_normal(n)), 1, 5).astype(int) for _ in range(4))
    frame = pd.DataFrame({f"item{j + 1}": own for j, own in enumerate(level)})
    frame["town"] = np.select([z + rng.logistic(size=n) > 1.5, z < 0], ["Ulm", "Bonn"], "Kiel")
    frame["visits"] = rng.poisson(np.exp(0.8 + 0.7 * z))
    frame["height"] = 170 + 8 * z + rng.standard_normal(n)
    return frame


def place_of(frame, z):
    table = read(frame, encode=["town"])
    map = table_map(fit_mixed_map(table, 1, 0), table.names, table.scales)
    return map, map.at(np.array([z]), MappedRows(map.lines(table.X), map.transform(table.X), table.row_names))


def test_a_place_is_told_by_labels_levels_and_counts():
    frame = mixed_frame()
    map, card = place_of(frame, 1.5)
    by = {a.column: a for a in card.answers}
    assert list(by) == list(map.names) == list(frame)
    towns = [c for c in card.cells if c.column.startswith("town=")]
    assert len(towns) == 3 and f"town={by['town'].word}" == max(towns, key=lambda c: c.value).column
    assert 0.3 < by["town"].chance <= 1 and by["town"].band is None
    assert by["town"].usual == (frame.town == by["town"].word).mean()
    assert by["item1"].word in {"1", "2", "4", "5"} and set(by["item1"].band) <= set("12345")
    assert by["visits"].chance is None and all(end.isdigit() for end in by["visits"].band)
    assert by["height"].words[2].endswith(" sd") and not by["height"].word


def test_the_text_of_a_place_names_answers_once():
    _, card = place_of(mixed_frame(), 1.5)
    lines = card.text().splitlines()
    town = next(line for line in lines if line.startswith("  town "))
    chance = next(a.chance for a in card.answers if a.column == "town")
    assert f"{100 * chance:.0f}%" in town and "of rows" in town
    assert not any("town=" in line for line in lines)
