"""Counted room for labels: near what matplotlib measures, and no axes on another."""

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from lowdim.plot import base as draw
from lowdim.plot.layout import axis_box, fix_layout
from tests.plot.svg_checks import stays_inside

NAMES = ["man_proc_10", "bill_length_mm", "W", "ill", "Kohlenmonoxid", "x"]


def busy() -> Figure:
    """Two rows of axes: long names, turned ones, two lines below, a title, an equal aspect."""
    with draw.style():
        figure = draw.blank(6.4, 5.0)
        axes = figure.subplots(2, 2)
        axes[0, 0].barh(range(6), range(6), tick_label=NAMES)
        axes[0, 1].bar(range(6), range(6))
        axes[0, 1].set_xticks(range(6), NAMES, rotation=90, fontsize=8)
        axes[1, 0].plot([0, 1e-3], [-25.0, 1400.0])
        axes[1, 0].set(xlabel="one line\nand another", ylabel="measured", title="a title")
        axes[1, 1].plot([0, 1], [0, 1])
        axes[1, 1].set_aspect("equal")
        fix_layout(figure)
    return figure


@pytest.fixture(scope="module")
def figure():
    return busy()


def test_the_room_of_an_axis_is_nearly_what_matplotlib_measures(figure):
    renderer = figure._get_renderer()
    with draw.style():
        for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
            ax = axis.axes
            counted = axis_box(axis).get_points()
            measured = Bbox.union([ax.bbox, axis.get_tightbbox(renderer, for_layout_only=True)]).get_points()
            room = np.abs(measured - ax.bbox.get_points())
            assert (np.abs(counted - measured) <= np.maximum(6.0, 0.15 * room)).all(), (ax, axis)


def test_no_axes_with_their_labels_lie_on_others_or_leave_the_figure(figure):
    renderer = figure._get_renderer()
    with draw.style():
        boxes = [ax.get_tightbbox(renderer) for ax in figure.axes]
    for a, b in itertools.combinations(boxes, 2):
        assert min(a.x1, b.x1) - max(a.x0, b.x0) < 2.0 or min(a.y1, b.y1) - max(a.y0, b.y0) < 2.0
    assert all(
        b.x0 >= -2.0 and b.y0 >= -2.0 and b.x1 <= figure.bbox.x1 + 2.0 and b.y1 <= figure.bbox.y1 + 2.0 for b in boxes
    )


def test_pictures_in_dots_have_room_too():
    """A figure is laid out by the widths of SVG; letters of a PNG are fitted to its dots, and wider."""
    stays_inside(busy(), FigureCanvasAgg, 150)


def test_it_is_laid_out_once_and_stays(figure):
    before = [ax.get_position().bounds for ax in figure.axes]
    fix_layout(figure)
    assert figure.get_layout_engine() is None or not figure.get_layout_engine().adjust_compatible
    assert [ax.get_position().bounds for ax in figure.axes] == before
    assert all("get_tightbbox" not in vars(part) for ax in figure.axes for part in (ax, ax.xaxis, ax.yaxis))
