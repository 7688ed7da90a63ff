"""What a Plot is: bytes that repeat, SVG that explains itself, numbers as CSV."""

import csv
import io
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest

from lowdim.plot.base import COLOURS, Plot, blank, headline, place_labels, printable, short, style, styled, thinned
from tests.plot.svg_checks import HOSTILE, SVG, apart, same_twice, texts


@styled
def simple(names=("a", "b"), title="Two points"):
    figure = blank()
    ax = figure.subplots()
    ax.scatter([0.0, 1.0], [1.0, 2.0], color=COLOURS[:2])
    ax.set_xticks([0, 1], [short(name) for name in names])
    ax.set_clip_path(mpl.patches.Circle((0.5, 0.5), 0.4, transform=ax.transAxes))
    ax.collections[0].set_clip_path(mpl.patches.Circle((0.5, 0.5), 0.4, transform=ax.transAxes))
    headline(figure, title)
    return Plot(
        "simple",
        figure,
        title=title,
        sentence="There are two points.",
        data={"name": np.array(names), "y": [1.0, np.nan], "grid": [[1.0, 2.0], [3.0, 4.0]]},
    )


def test_the_same_call_gives_the_same_bytes_also_with_clip_paths():
    # matplotlib names a clip path after its memory address: ids are counted anew
    same_twice(simple)


def test_no_two_plots_of_a_page_share_an_id():
    first, second = simple().svg(), simple().svg("other")
    ids = [re.findall(r'\bid="([^"]*)"', text) for text in (first, second)]
    assert len(ids[0]) == len(set(ids[0])) and not set(ids[0]) & set(ids[1])
    for text, own in zip((first, second), ids, strict=True):
        pointed = re.findall(r'(?:href="#|url\(#)([^")]*)', text)
        assert pointed and set(pointed) <= set(own)


def test_nothing_in_the_svg_reaches_outside():
    text = simple().svg()
    assert "<style" not in text and "<metadata" not in text and "<!DOCTYPE" not in text
    links = {value for tag in ET.fromstring(text).iter() for key, value in tag.attrib.items() if key.endswith("href")}
    assert all(link.startswith(("#", "data:")) for link in links)


def test_names_are_text_not_formulas_or_tags():
    plot = simple(names=HOSTILE[:2], title="<b>'$x$' & \x1b[31m</b>")
    assert ET.fromstring(plot.svg()).find(f"{SVG}title").text == "<b>'$x$' & �[31m</b>" == printable(plot.title)
    assert {short(name) for name in HOSTILE[:2]} <= set(texts(plot))


def test_signs_the_font_lacks_stay_text_without_a_warning():
    assert "温度 🌡" in texts(simple(names=("温度 🌡", "b")))


def test_a_name_that_looks_like_an_id_is_left_alone():
    assert 'id="figure_1"' in texts(simple(names=('id="figure_1"', "b")))


def test_short_names_keep_both_ends():
    assert short("x" * 24) == "x" * 24
    cut = short("temperature of the upper zone, sensor 17")
    assert len(cut) == 24 and cut.startswith("temperature") and cut.endswith("sensor 17")


def test_csv_reads_back_and_no_cell_is_a_formula():
    rows = list(csv.reader(io.StringIO(simple(names=("=1+1", 'say "a, b"')).csv())))
    assert rows[0] == ["name", "y", "grid_1", "grid_2"]
    assert rows[1:] == [["'=1+1", "1.0", "1.0", "2.0"], ['say "a, b"', "", "3.0", "4.0"]]


@pytest.mark.parametrize("ending", ["svg", "csv", "png", "pdf"])
def test_saved_files_repeat(tmp_path, ending):
    one, two = (simple().save(tmp_path / f"{k}.{ending}").read_bytes() for k in "ab")
    assert one == two and len(one) > 30


def test_the_callers_style_neither_shows_nor_changes():
    plain = simple().svg()
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "lines.linewidth": 9}):
        assert simple().svg() == plain
        assert mpl.rcParams["font.size"] == 30
    with style():
        assert mpl.rcParams["font.size"] == 10


def test_labels_do_not_lie_on_each_other():
    with style():
        figure = blank()
        ax = figure.subplots()
        points = np.array([[0.50, 0.5], [0.51, 0.5], [0.52, 0.51], [0.49, 0.49], [0.95, 0.5], [0.05, 0.02]])
        ax.set(xlim=(0, 1), ylim=(0, 1))
        place_labels(ax, points, [f"column {k}" for k in range(6)])
        figure.draw_without_rendering()
        assert len(ax.texts) == 6
        apart(ax.texts)


def test_thinned_keeps_its_distance_and_the_order_of_importance():
    kept = thinned(np.array([5, 6, 4, 0, 9]), 3, 2)
    assert kept.tolist() == [0, 5, 9]
