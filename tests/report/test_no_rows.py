"""A report that was asked to show no row: no name, no value, no count below five."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from lowdim.report import no_rows as private
from lowdim.report.page_parts import cell
from lowdim.table.read import read
from lowdim.text.errors import TableWarning
from lowdim.text.messages import LowdimError, catalogue, entry_of, message
from tests.report import pages

BAD = Path(__file__).parents[1] / "table" / "bad_tables"


@pytest.fixture(scope="module")
def text() -> str:
    return unquote(pages.page("small", rows=False))


def test_no_row_name_no_cell_no_label_is_in_the_page(text):
    found = pages.small()
    with open(found.table.path, encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))[1:]
    assert len(rows) == found.table.n
    for name, label, *cells in rows:
        assert name not in text and label not in text
        for value in filter(None, cells):
            assert value not in text
    assert any(name in unquote(pages.page("small")) for name, *_ in rows)  # the search would find it


def test_positions_and_distances_of_rows_are_not_in_the_page(text):
    found = pages.small()
    shown = set(re.findall(r"\d+\.\d+", re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)))
    for value in np.abs([*found.posterior.mean.ravel(), *found.odd.D2.value]):
        assert len(f"{value:.6g}") < 7 or f"{value:.6g}" not in shown  # 1.2 is anybody's
    full = set(re.findall(r"\d+\.\d+", unquote(pages.page("small"))))
    assert f"{abs(found.posterior.mean[0, 0]):.6g}" in full  # the search would find it


def test_section_order_is_kept_and_row_charts_are_gone(text):
    ids = re.findall(r'<section id="(\w+)"', text)
    assert ids == re.findall(r'<section id="(\w+)"', pages.page("small"))
    charts = set(re.findall(r'id="chart-(\w+)"', text))
    assert charts <= {
        "spreads",
        "scree",
        "jury",
        "heldout",
        "density",
        "axis_cards",
        "loadings",
        "hinton",
        "calibration",
        "traverse",
        "trace",
    }
    assert "density" in charts and 'download="rows.csv"' not in text and "end rows" not in text


def test_cells_hold_five_rows_or_more():
    assert (pages.small().plot.density().data["rows"] >= 5).all()
    counts = pages.small().plot.spreads().data["count"]
    assert ((counts == 0) | (counts >= 5)).all() and counts.sum() > 0


def test_small_counts_are_not_told():
    assert [private.few(k) for k in (0, 1, 4, 5, 1200)] == ["0", "fewer than 5", "fewer than 5", "5", "1,200"]
    assert "zq-0007" not in " ".join(private.said(pages.small()).values())
    assert "Fewer than 5 odd rows found" in private.said(pages.small())["odd"]


def test_messages_lose_their_examples():
    kept = private.change(message("LD122", where="line 3: 'secret'", column="a", share="46%", others=9, drop=["a"]))
    assert "'a' is 46% empty" in kept.what and "secret" not in str(kept)
    told = private.change(message("LD191", what="2 rows repeat", rows="secret-1, secret-2"))
    assert "secret" not in str(told) and told.code == "LD191"
    kept = private.change(message("LD182", n=1, names="cylinders (3 to 8)", use=["cylinders"]))
    assert "cylinders" in kept.what and "single cells" not in kept.what


def test_what_names_rows_is_marked_in_the_catalogue():
    """A note whose first line takes lines, rows or values as facts names rows; {n} rows are a count."""
    for code, entry in catalogue().items():
        if not issubclass(entry.kind, TableWarning) or entry.names_rows:
            continue
        facts = set(re.findall(r"{(\w+)}", entry.what))
        # where the data begin; how many rows a comparison takes
        allowed = {"line"} if code == "LD008" else {"rows"} if "{rows} of {n} rows" in entry.what else set()
        assert not facts & {"value", "rows", "row", "example", "line", "cell", "stretches"} - allowed, code


def test_no_note_on_any_bad_table_tells_a_row():
    seen = set()
    for path in sorted(BAD.glob("*.csv")):
        try:
            messages = read(path).messages
        except LowdimError:
            continue  # no report is made of it
        for m in messages:
            told = private.change(m)
            assert told.where == "" and not told.fix
            assert ("single cells or rows" in told.what) == entry_of(m).names_rows, (path.name, m.what)
            seen.add(m.code)
    assert {"LD110", "LD121", "LD182", "LD191"} <= seen


def test_every_number_column_still_has_its_summary(text):
    found = pages.small()
    for name, mean in zip(found.table.names, np.nanmean(found.table.X, axis=0), strict=True):
        assert name in text and cell(float(mean)) in text
