"""Every page of the gallery runs as it stands, asserts something, and prints a number beside ours."""

from __future__ import annotations

import re
import runpy
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from lowdim.datasets.real import REAL_TABLES
from lowdim.registry import MODELS
from tests.conftest import ROOT, data_dir, need

FOLDER = ROOT / "docs" / "gallery"
PAGES = sorted(FOLDER.glob("[0-9]*/*.py"))
QUICK = ("03_generative_view", "04_ppca_beside_pca", "01_gaussian_egg", "04_em_bound", "11_ten_cities",
         "18_bubble_wrap", "01_total_least_squares")  # fmt: skip


def text(page):
    return page.read_text(encoding="utf-8")


BESIDE = re.compile(r"\b(published|claimed|known|limit|true|scikit-learn)\b")  # what stands beside our number


def when(page):
    """A few pages in every run, the slow ones in the slow run: `make docs QUICK=1` executes the others, and stops where
    one fails, so that here they are left to the drill."""
    if page.stem in QUICK:
        return ()
    return pytest.mark.slow if "\n# slow:" in text(page) else pytest.mark.drill


@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem, marks=when(p)) for p in PAGES])
def test_a_page_of_the_gallery_runs(page, monkeypatch, capsys):
    for name in re.findall(r'\bload\("(\w+)"\)', text(page)):
        if name in REAL_TABLES:
            need(REAL_TABLES[name].file)
    monkeypatch.setenv("LOWDIM_DATA", str(data_dir()))
    with mpl.rc_context({"backend": "agg"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        runpy.run_path(str(page))
    plt.close("all")
    assert BESIDE.search(capsys.readouterr().out)


def test_pages_are_many_and_each_asserts():
    assert len(PAGES) >= 35 and {page.parent.name for page in PAGES} >= {
        "1_zabaras",
        "2_lawrence",
        "3_morrison",
        "4_kipf",
    }
    for page in PAGES:
        assert re.search(r"^\s*assert ", text(page), re.MULTILINE), page.name
        assert BESIDE.search(text(page).partition("print(")[2]), page.name
        assert re.search(r"\b(Zabaras|Lawrence|Morrison|Kipf)\b", text(page)), page.name


def test_names_of_quick_pages_exist():
    assert set(QUICK) <= {page.stem for page in PAGES}


def test_what_no_page_uses_is_known():
    """A model without a page is named here until it has one."""
    used = {name for page in PAGES for name in re.findall(r"\bld\.(\w+)", text(page))}
    used |= {"ProbabilisticPCA"} if "PPCA" in used else set()
    assert set(MODELS) - used == set()
