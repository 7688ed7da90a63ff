"""The page's JavaScript: one module of our own, text and never markup, nothing from outside."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from lowdim.explorer.module import MODULE, REPORT_CORE, joined, web_file

WEB = files("lowdim.explorer") / "web"
SCRIPTS = sorted(path.name for path in WEB.iterdir() if path.name.endswith(".js"))
MARKUP = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment|DOMParser"
)
TOP = r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)"


def test_every_script_is_part_of_it():
    assert set(SCRIPTS) == {*MODULE, *REPORT_CORE, "boot.js"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_names_of_a_table_can_only_become_text(name):
    assert not re.findall(MARKUP, web_file(name))


@pytest.mark.parametrize("name", [*SCRIPTS, "style.css", "page.html"])
def test_nothing_comes_from_outside(name):
    text = web_file(name).replace("http://www.w3.org/2000/svg", "")  # the name of a kind of element
    assert not re.findall(r"https?://|//cdn|@import|url\(", text)


@pytest.mark.parametrize("name", SCRIPTS)
def test_files_stay_short(name):
    assert web_file(name).count("\n") <= 600


def test_names_at_the_top_are_all_different():
    """Several files make one module: a name in two of them would be an error there."""
    for names in (MODULE, REPORT_CORE):
        tops = [top for name in names for top in re.findall(TOP, web_file(name), re.MULTILINE)]
        assert len(tops) > 30 and len(tops) == len(set(tops))


def test_joined_it_imports_nothing_and_exports_one_thing():
    text = joined()
    assert not re.findall(r"^import |^export (?!default)", text, re.MULTILINE)
    assert text.count("export default {render};") == 1


def test_without_remarks_it_says_the_same():
    """Comments and indentation alone are left out: the words of the code are the same."""
    short = joined(REPORT_CORE, remarks=False)
    assert "/**" not in short and len(short) < 0.9 * len(joined(REPORT_CORE))
    bare = re.sub(r"/\*\*[\s\S]*?\*/|^\s*//.*$|(?<=;) // .*$", "", joined(REPORT_CORE), flags=re.MULTILINE)
    assert "".join(short.split()) == "".join(bare.split())
