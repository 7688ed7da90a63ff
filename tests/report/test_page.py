"""Names and cells that try to become code: the page keeps its elements and attributes whatever they say."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from jinja2 import Environment, PackageLoader

from lowdim.plot.base import Plot, canvas, printable, style
from lowdim.report.page import Page, Trust
from lowdim.report.page_parts import Bar, Download, RowStory, Section, chart, data_url, grid
from lowdim.text.fix import Fix
from lowdim.text.messages import Message
from tests.report import pages


def plot_of(text: str) -> Plot:
    """A plot that says `text` wherever a plot can."""
    with style():
        figure, ax = canvas(3, 2)
        ax.bar([0], [1])
        ax.set_xticks([0], [printable(text)])
        ax.set_title(printable(text))
    return Plot("test", figure, title=text, sentence=text, data={text: np.array([text]), "x": np.array([1.0])})


def page_of(text: str, drawn) -> Page:
    """A page that says `text` wherever a page can."""
    bar = Bar(text, text, text, text, 1.0, 2.0, True)
    section = Section(
        "one",
        text,
        text,
        text,
        text,
        text,
        text,
        charts=(drawn,),
        grids=(grid(text, (text, text), [(text, text)]),),
        stories=(RowStory(text, text, (bar,)),),
        downloads=(Download("rows.csv", text, data_url(text)),),
    )
    message = Message("LD000", "note", text, text, text, Fix(text))
    return Page(
        text,
        text,
        (text,) * 5,
        (Trust(text, "yes", "x", text, text, "one"),),
        (message,),
        drawn.svg,
        text,
        text,
        text,
        (section,),
        ((text, text),),
        section._replace(id="two", charts=()),
        True,
    )


def rendered(text: str) -> pages.Outline:
    env = Environment(
        loader=PackageLoader("lowdim.report", "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return pages.Outline(env.get_template("report.html").render(page=page_of(text, chart(plot_of(text))), when=text))


@pytest.fixture(scope="module")
def plain() -> pages.Outline:
    return rendered("plain")


@pytest.mark.slow
@pytest.mark.parametrize("text", pages.SPECIAL)
def test_no_text_adds_an_element_or_an_attribute(text, plain):
    page = rendered(text)
    assert page.shape == plain.shape
    assert page.wrong == []


@pytest.mark.slow
def test_a_whole_report_of_hostile_names():
    page = pages.Outline(pages.page("hostile"))
    assert page.wrong == []
    assert {tag for tag, _ in page.elements} <= pages.PAGE_TAGS | pages.CHART_TAGS
    assert not [key for _, attrs in page.elements for key in attrs if key.startswith("on")]
    assert len(page.all("script")) == len(page.all("style")) == 1
    templates = files("lowdim.report") / "templates"
    for name in ("script.js", "style.css"):  # nothing from the table is ever inside a script or a style
        assert (templates / name).read_text(encoding="utf-8").strip() in pages.page("hostile")
    shown = "".join(page.text)
    for text in pages.SPECIAL[:12]:
        assert text in shown, text  # and yet it is shown as it is
