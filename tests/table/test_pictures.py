"""What columns form: images, curves and figures where names leave little doubt, and nothing where they do not."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

import lowdim
from lowdim.table.pictures import form_of
from tests.explorer import subjects


def pictures(n, height, width, seed=0):
    """Images of two soft spots at chance places: neighbours are alike, far pixels are not."""
    rng = np.random.default_rng(seed)
    down, right = np.mgrid[:height, :width]
    at = rng.uniform(0.0, 1.0, (2, n, 2)) * [height - 1, width - 1]
    off = [(down - y[:, None, None]) ** 2 + (right - x[:, None, None]) ** 2 for y, x in (spot.T for spot in at)]
    return np.exp(-np.minimum(*off) / 4.0).reshape(n, -1)


def outlines(n, points, seed=0):
    """A wheel of points that is moved and turned as a whole: rows of x1, y1, x2, y2 and so on."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(points) / points + rng.uniform(0.0, 2 * np.pi, (n, 1))
    at = np.stack([np.cos(angle), np.sin(angle)], axis=-1) + rng.standard_normal((n, 1, 2))
    return (at + 0.02 * rng.standard_normal(at.shape)).reshape(n, -1)


def table(names, X=None, **options):
    if X is None:
        X = np.random.default_rng(0).standard_normal((30, len(names)))
    return lowdim.read(pd.DataFrame(X, columns=list(names)), **options)


def kind(names, X=None):
    form = form_of(table(names, X))
    return None if form is None else form["kind"]


def test_pixels_by_line_and_column_with_some_missing():
    names = [f"pixel_{r}_{c}" for r in range(6) for c in range(4)]
    X = pictures(60, 6, 4)
    form = form_of(table([*names[:3], *names[5:]], np.delete(X, [3, 4], axis=1)))
    assert (form["width"], form["height"]) == (4, 6)
    assert form["cells"] == [*range(3), *range(5, 24)]
    assert kind([f"q{r}_{c}" for r in range(6) for c in range(4)], X) is None  # a questionnaire


def test_numbered_pixels_count_those_that_never_change():
    names = [f"pixel{k + 1}" for k in range(64)]
    X = np.round(16 * pictures(50, 8, 8))
    X[:, [0, 7, 63]] = 0.0
    t = table(names, X)
    form = form_of(t)
    assert t.d == 61 and (form["width"], form["height"], form["low"], form["high"]) == (8, 8, 0.0, 16.0)
    assert form["cells"] == [k for k in range(64) if k not in (0, 7, 63)]
    assert kind(names[:60]) is None  # sixty pixels are no square


def test_columns_without_telling_names_are_pixels_where_they_saturate():
    X = np.clip(pictures(300, 8, 8), 0.2, 0.8)
    assert kind([f"V{k + 1}" for k in range(64)], X) == "image"
    assert kind([f"V{k + 1}" for k in range(64)]) is None
    assert kind([f"V{k + 1}" for k in range(63)], X[:, :63]) is None


@pytest.mark.parametrize(
    "names",
    [
        [f"{400 + 5 * k} nm" for k in range(12)],
        [f"t{k}" for k in range(8)],
        [str(1100 + 2.5 * k) for k in range(9)],
        ["Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec"],
    ],
    ids=["wavelengths", "times", "bare numbers", "months"],
)
def test_even_steps_are_a_curve(names):
    X = 1.0 + np.random.default_rng(0).standard_normal((30, len(names)))
    assert kind(names, X) == "curve"
    assert form_of(table(names[::-1], X))["order"] == list(range(len(names)))[::-1]


@pytest.mark.parametrize(
    "names",
    [
        [f"x{k + 1}" for k in range(12)],
        [str(k) for k in range(12)],
        [f"{400 + k**2} nm" for k in range(12)],
        [f"t{k}" for k in range(7)],
        ["alcohol", "ash", "hue"],
    ],
    ids=["generic", "counts", "uneven", "few", "words"],
)
def test_other_columns_form_nothing(names):
    assert kind(names) is None


def test_wine_forms_nothing():
    assert form_of(lowdim.read(subjects.wine())) is None


def test_numbered_points_are_joined_in_turn():
    names = [f"{a}{k + 1}" for k in range(8) for a in "xy"]
    form = form_of(table(names, outlines(40, 8)))
    assert form["kind"] == "figure" and form["points"] == [[2 * k, 2 * k + 1] for k in range(8)]
    assert form["lines"] == [[k, k + 1] for k in range(7)]
    assert kind([f"{a}{k + 1}" for k in range(3) for a in "xy"], outlines(40, 3)) is None
    assert kind([*names[:-1], "hue"], outlines(40, 8)) is None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("axes", [0, 2], ids=["noise", "two axes"])
def test_telling_names_of_ordinary_numbers_form_nothing(seed, axes):
    """Names as of pixels and points, numbers as of anything: each column for itself, or on two hidden axes."""
    rng = np.random.default_rng(seed)
    for names in (
        [f"R{k + 1}" for k in range(16)],
        [f"pixel_{r}_{c}" for r in range(4) for c in range(5)],
        [f"{a}{k + 1}" for a in "xy" for k in range(4)],
        [f"{p}_{a}" for p in ("foot", "knee", "hip", "hand") for a in "xy"],
    ):
        d = len(names)
        X = rng.standard_normal((80, axes)) @ rng.standard_normal((axes, d)) + rng.standard_normal((80, d))
        assert kind(names, X) is None, names


def test_a_man_is_joined_as_his_makers_join_him(need):
    """What the makers join on one side of the body is at most four of the found lines apart."""
    folder = need("stick_man")
    form = form_of(lowdim.read(folder / "stick_man.csv"))
    names, d = form["names"], len(form["names"])
    assert form["kind"] == "figure" and d == 34 and len(form["lines"]) == 33
    columns = lowdim.read(folder / "stick_man.csv").names
    assert {columns[b][-1] for _, b in form["points"]} == {"Z"}  # upright
    lines = {frozenset((names[a], names[b])) for a, b in form["lines"]}
    assert frozenset(("LANK", "LHEE")) in lines and frozenset(("RKNE", "RSHN")) in lines
    near = {name: {name} for name in names}
    for a, b in map(tuple, lines):
        near[a].add(b)
        near[b].add(a)
    with (folder / "connections.csv").open() as file:
        drawn = [(r["marker_a"], r["marker_b"]) for r in csv.DictReader(file)]
    limbs = [(a, b) for a, b in drawn if a in near and b in near and a[0] == b[0]]  # on one side of the body
    assert len(limbs) >= 8
    for a, b in limbs:
        reached = {a}
        for _ in range(4):
            reached = set().union(*(near[x] for x in reached))
        assert b in reached, (a, b)


def test_points_that_are_never_seen_together_are_joined_by_others():
    """Two halves of the rows see one of two points each: no warning, and still one figure."""
    rng = np.random.default_rng(0)
    at = np.repeat(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 2.0]])[None], 40, axis=0)
    at = at + rng.standard_normal((40, 1, 2)) + 0.01 * rng.standard_normal((40, 4, 2))
    at[:20, 1], at[20:, 2] = np.nan, np.nan
    form = form_of(table([f"{p}_{a}" for p in ("foot", "knee", "hip", "hand") for a in "xy"], at.reshape(40, 8)))
    assert form["kind"] == "figure" and len(form["lines"]) == 3 and [1, 2] not in form["lines"]
