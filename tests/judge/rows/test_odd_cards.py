"""What judges' answers look like in a prompt and in a notebook, and odd rows at another level."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim import PPCA
from lowdim.jobs.analysis import Settings, analysis_of, odd_rows
from lowdim.judge.dimensions.jury import choose_dimension
from lowdim.judge.outliers.law import RowLaw, row_p_values
from lowdim.judge.read_table import read
from lowdim.judge.rows import row_card
from lowdim.judge.rows.odd_rows import OwnCell, around, disagrees
from lowdim.judge.rows.row_card import one_block
from lowdim.judge.verdicts import because
from lowdim.text.errors import OptionError
from lowdim.text.format import figures_by_sd, p_value
from tests.judge.rows.judging import explain_row, judge_rows, mapped

NASTY = ["<script>x</script>", "a&b", "c\x1b[31m", *[f"c{j}" for j in range(5)]]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 8)) + 0.5 * rng.standard_normal((300, 8))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[[11, 40, 77], [4, 2, 0]] = [9.0, -8.0, 4.0]
    return X, PPCA(2).fit(X)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99, 0.999])
def test_another_level_is_scipy_s_rule_at_that_rate(table, level):
    X, model = table
    found = judge_rows(model, X, row_names=[f"r{i}" for i in range(300)])
    other = found.at(level)
    p = row_p_values(found.D2.p, found.judged.rows.cell_p, found.seen)
    assert np.array_equal(other.odd, stats.false_discovery_control(p) <= 1 - level)
    assert other.odd_level == level and other.below == (p < 1 - level).sum() >= len(other.rows)
    assert other.rows == judge_rows(model, X, odd_level=level, row_names=[f"r{i}" for i in range(300)]).rows
    assert {r.row for r in other.rows} == set(np.flatnonzero(other.odd)) and other.at(0.95).rows == found.rows


def test_the_planted_rows_are_found_and_a_level_is_a_share(table):
    found = judge_rows(table[1], table[0])
    assert not callable(found) and {11, 40} <= {r.row for r in found.rows}
    with pytest.raises(OptionError, match="odd_level"):
        found.at(99)


class Balanced(HTMLParser):
    """Every tag that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows = [], 0
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def small_static(html):
    assert len(html) < 25_000 and "<script" not in html and "http" not in html and "color-scheme:light dark" in html
    return Balanced(html).rows


def test_prompts_are_four_lines_and_notebooks_get_tables(table):
    import pandas as pd

    X, model = table
    model = PPCA(2).fit(pd.DataFrame(X, columns=NASTY))
    found = judge_rows(model, pd.DataFrame(X, columns=NASTY), row_names=["<b>" + str(i) for i in range(300)])
    card = explain_row(model, pd.DataFrame(X, columns=NASTY), 11)
    jury = choose_dimension(X, folds=2, shuffles=20)
    for thing in (found, found.at(0.3), card, jury):
        assert len(repr(thing).split("\n")) <= 4 and "\x1b" not in repr(thing)
        assert max(map(len, repr(thing).split("\n"))) < 220
    assert "3 odd rows" in repr(found) and "and 1 more" in repr(found) and f"Dimensions: {jury.sentence}" in repr(jury)
    assert small_static(found._repr_html_()) == 1 + len(found.rows)
    far = np.arange(300) < 30
    spoilt = judge_rows(model, pd.DataFrame(np.where(far[:, None], 9.0, X), columns=NASTY), far=far)
    assert small_static(spoilt._repr_html_()) == 21 and f"and {len(spoilt.rows) - 20} more" in spoilt._repr_html_()
    assert small_static(card._repr_html_()) == 9 and "&lt;script&gt;" in card._repr_html_()
    assert small_static(jury._repr_html_()) == 1 + len(jury.rows)
    text = re.sub("<[^>]*>", " ", found._repr_html_())
    assert all(r.column in NASTY and f"{r.D2:.1f}" in text for r in found.rows) and "hide that cell" in text


def test_no_odd_row_is_a_sentence(table):
    quiet = judge_rows(table[1], table[0][100:105])
    assert quiet.rows == () and "No odd rows" in repr(quiet) and "<table" not in quiet._repr_html_()


def test_a_row_far_out_on_the_map_names_no_culprit():
    """Cells that agree with each other are no culprits: the place is what is odd (T2), and the sentence says so."""
    rng = np.random.default_rng(2)
    W = rng.standard_normal((2, 8))
    X = rng.standard_normal((300, 2)) @ W + 0.1 * rng.standard_normal((300, 8))
    X[7] = np.array([9.0, -9.0]) @ W + 0.1 * rng.standard_normal(8)
    model = PPCA(2).fit(X)
    row = next(r for r in judge_rows(model, X).rows if r.row == 7)
    assert row.p_T2 < 1e-6 < 0.05 < row.p_Q and row.p_hidden < 0.05
    assert row.reason.startswith("far out on the map (T2 p ") and "no single cell explains it" in row.reason
    assert because(row) == "it lies far out on the map; no single cell explains it"


def test_values_are_told_to_the_digits_of_their_spread():
    """1.518 beside an expected 1.516 must not be printed as 1.52 with a spread of 0.001."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal(200)
    X = np.column_stack(
        [
            1.5164 + 0.001 * (z + 0.1 * rng.standard_normal(200)),
            z + 0.1 * rng.standard_normal(200),
            z + 0.1 * rng.standard_normal(200),
        ]
    )
    X[4, 0] += 0.0021
    row = next(r for r in judge_rows(PPCA(1, standardize=True).fit(X), X).rows if r.row == 4)
    value, expected = (float(part) for part in (row.reason.split()[1].rstrip(","), row.reason.split()[3]))
    assert row.column == "c1" and abs((value - expected) - (row.value - row.expected)) < 0.05 * row.sd


def test_every_p_is_that_of_what_it_stands_beside(table):
    """A row is picked by its distance or by its least likely cell; the p of its distance is printed beside that."""
    X, model = table
    found = judge_rows(model, X)
    p = row_p_values(found.D2.p, found.judged.rows.cell_p, found.seen)
    lines = found.text().split("\n")
    assert lines[2].split()[:5] == ["row", "cells", "p", "total", "D2"]
    listed = [line for line in lines[3:] if re.match(r" *\d+ +\d+/", line)]
    for r, line in zip(found.rows, listed, strict=True):
        assert (r.p_D2, r.p) == (found.D2.p[r.row], p[r.row])
        assert line.split()[2:6] == [p_value(r.p), f"{r.D2:.1f}", "p", p_value(r.p_D2)]
    assert any(r.p_D2 != r.p for r in found.rows)


def test_what_the_rest_says_ends_at_what_a_column_can_be():
    """A logarithm predicts a thousand times the largest value; the words end at half the range beyond it."""
    rng = np.random.default_rng(0)
    size = rng.normal(0, 1, 200)
    frame = pd.DataFrame({name: np.exp(size + rng.normal(0, 0.2, 200)) for name in ("mass", "area", "price")})
    frame.loc[5, ["mass", "area"]] = np.exp(9.0)
    table = read(frame, log="mass,area,price")
    most = 1.5 * frame["price"].max() - 0.5 * frame["price"].min()
    found = odd_rows(table, dims=1, robust=False)
    row = explain_row(PPCA(1).fit(table.X), table.X, 5, scales=table.scales)
    price = row.cells[2]
    assert (price.expected, price.limit) == (pytest.approx(most), 1) and 0 < price.sd < most
    assert price.words()[1].startswith(f"{figures_by_sd(most, price.sd)} or more")
    assert all(r.expected <= 1.5 * frame[r.column].max() for r in found.rows)


def test_a_row_in_which_many_cells_disagree_names_no_few():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 1)) * np.ones(12) + 0.1 * rng.standard_normal((80, 12))
    X[3] = 3.0 * np.resize([1.0, -1.0, 0.0], 12)
    card = explain_row(PPCA(1).fit(X[4:]), X, 3)
    assert len(card.hide) > 5 and "many cells disagree, most of all c" in card.sentence
    assert f"No few make it odd: {len(card.hide)} of 12 would have to be hidden." in card.sentence
    X[3] = X[4]
    X[3, :2] += [4.0, -4.0]
    assert "Hide these 2 cells: c" in explain_row(PPCA(1).fit(X[4:]), X, 3).sentence


def test_at_the_end_of_a_column_the_rest_says_still_less():
    assert disagrees("depth", OwnCell(0.0, 0.0, 34.0, -1)) == "depth is 0; the rest of the row says still less, sd 34"
    assert disagrees("depth", OwnCell(9.0, 0.0, 34.0, -1)) == "depth is 9; the rest of the row says 0, sd 34"


def test_levels_and_long_tails_have_a_range_in_their_own_values_and_no_standard_deviation():
    """A column with a tail of its own counts as less far out than it is: what is said of its cells is what it holds."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((300, 1))
    X = z * np.ones(6) + 0.3 * rng.standard_normal((300, 6))
    X[:, 0] = np.where(rng.random(300) < 0.15, np.exp(3.0 + 1.5 * rng.standard_normal(300)), 0.0)
    table = read(pd.DataFrame(X, columns=list("abcdef")))
    found = analysis_of(table, Settings(dims=1))
    law, row = found.odd.judged.law, int(np.argmax(np.nan_to_num(X[:, 0])))
    assert law.places(0).size and not any(law.places(j).size for j in range(1, 6))
    cell, plain = found.explain(row).cells[:2]
    assert cell.range is not None and plain.range is None
    counted, values = law.places(0)[::-1]
    told = found.map.cells.beliefs(one_block(table.X[[row]]), law)
    says = told.mean[0, 0] + 1.645 * told.sd[0, 0]
    inside = counted[0] <= says <= counted[-1]
    assert not inside or cell.range[1] == pytest.approx(np.interp(says, counted, values), rel=1e-3)
    assert cell.words()[1].endswith(")") and "+-" not in cell.words()[1] and "+-" in plain.words()[1]


def test_a_row_is_not_judged_where_no_law_fits_the_bulk():
    """The same is said of one row as of the list: none is called odd, and none ordinary."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 1)) * np.ones(4) + rng.standard_t(0.6, (200, 4))
    map, x = mapped(PPCA(1).fit(X), X)
    law = RowLaw(1.0, 1.0)
    card = row_card.explain_row(map, x, 3, law=law)
    assert not law.judges and card.hide == () and card.p_after is None
    assert card.sentence.startswith("Row 4 is not judged: no distribution fits most of the rows. Its farthest cell: c")
    worst = max(card.cells, key=lambda c: abs(c.surprise))
    assert f"Its farthest cell: {worst.column} is " in card.sentence


def test_an_interval_that_ends_where_the_column_ends_tells_its_other_end():
    cell = OwnCell(360.0, 1450.0, 400.0, 1, (964.0, 1450.0))
    assert around(cell) == "(from 960)" and around(cell._replace(limit=0)) == "(960 to 1400)"
    assert disagrees("potassium", cell) == "potassium is 360; the rest of the row says 1450 or more, 90% above 960"
    assert around(OwnCell(9.0, 0.0, 2.0, -1, (0.0, 3.2))) == "(to 3.2)"
