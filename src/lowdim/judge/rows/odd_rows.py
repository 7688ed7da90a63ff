"""Odd rows: how far each row is from what the model expects, with laws that know about gaps, and why.

Of a row's seen cells o, with C = W W' + Psi, r = x_o - mu_o, and posterior mean z and covariance S:

    D2 = r' C_oo^-1 r  ~ chi2(#seen)          the whole distance
    T2 = z' (I - S)^-1 z ~ chi2(q)            the part within the map
    Q  = D2 - T2 ~ chi2(#seen - q)            the part off the map

A row with no more seen cells than dimensions lies on the map wherever it is: T2 has #seen degrees of
freedom and Q does not exist. Cells are looked at beside what the others of their row say (`judge/cells.py`).

These laws are those of a Gaussian table with known parameters. From 20 rows on, the bulk of the rows says what is
ordinary instead (`judge/outliers/law.py`): F laws of the distances, a t law for each column's surprises, levels by
their shares; and the main job judges cells `sharply`, by a Gaussian that knows more of them than the map's axes
(`judge/outliers/cell_judge.py`). A row is odd if its distance is, or one of its cells given the others. Where not even
a heavy-tailed law fits the bulk, none is called odd, and the farthest are listed as unjudged.

Reference: [Lawrence2012] for the posterior; Benjamini and Hochberg, Controlling the false discovery rate,
Journal of the Royal Statistical Society B 57 (1995).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run, walk
from lowdim.judge.cells import CellBeliefs
from lowdim.judge.maps.map_columns import MapColumn
from lowdim.judge.outliers.law import (
    CUT,
    GAUSSIAN_LAW,
    RowLaw,
    false_discovery,
    p_of_rows,
    row_p_values,
    uncounted,
)
from lowdim.judge.outliers.outlyingness import robust_units, similar_groups
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.calibration import NORMAL_90
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block
from lowdim.text.format import clip, count, figures, figures_by_sd, observed, p_value
from lowdim.text.messages import check_level, error
from lowdim.text.notebook import card
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lowdim.judge.maps.table_map import TableMap
    from lowdim.judge.outliers.partition import Partition
    from lowdim.judge.rows.row_card import RowCell
    from lowdim.table.column import ColumnScales
    from lowdim.table.table import Table

P_NOTE = "p: of the row's distance D2 or of its least likely cell, whichever is rarer; the others are of one distance."
LISTED_ROWS = 20  # odd rows that a notebook lists
IMPOSSIBLE_P = 1e-9  # of a cell: how much smaller another's is says nothing
LOOKED_AGAIN = 0.25  # rows with a smaller p are looked at with their least likely cell hidden
UNJUDGED_ROWS = 5  # listed where no law fits the bulk
Ends: TypeAlias = tuple[float, float]
LEAST_IN_GROUP, MOST_IN_GROUPS = 3, 2000  # odd rows that make a group; odd rows that are looked at for groups


class Law(NamedTuple):
    """One squared distance of every row, its degrees of freedom and its p-value (0 degrees: p = 1)."""

    value: Array
    dof: NDArray[np.intp]
    p: Array


class OddRow(NamedTuple):
    """One odd row and its reason; Q and its p are None where Q is not defined."""

    row: int  # position from 0
    name: str
    seen: int
    D2: float
    p_D2: float
    T2: float
    p_T2: float
    Q: float | None
    p_Q: float | None
    column: str  # the cell that disagrees most with the rest of the row
    value: float
    expected: float
    sd: float
    surprise: float  # (value - expected) / sd
    p_hidden: float  # p of the row with that cell hidden
    reason: str
    p: float = 1.0  # by which it was picked: of its distance or of its least likely cell
    limit: int = 0  # 1 where the rest of the row says more than the column can be, -1 where less
    words: tuple[str, ...] = ()  # of a cell that holds an answer: what it is called, and what the rest of the row says
    range: Ends | None = None  # 90% of such cells, where no standard deviation is true of them


class OwnCell(NamedTuple):
    """A cell beside what the rest of its row says, in the table's own units."""

    value: float
    expected: float
    sd: float
    limit: int = 0  # 1 where the rest of the row says more than the column can be, -1 where less
    range: Ends | None = None  # 90% of such cells, of logarithms, levels and long tails: no ± is true of them


class RowDistances(NamedTuple):
    """Distances of every row of a block, and its least likely cell beside what the others of the row say."""

    D2: Array
    T2: Array
    Q: Array
    rank: NDArray[np.intp]
    seen: NDArray[np.intp]
    p_D2: Array
    culprit: NDArray[np.intp]
    value: Array  # of the culprit,
    expected: Array  # what the others say of it,
    sd: Array
    surprise: Array
    likeliest: Array  # and, where it has levels, the most likely one with its probability
    likeliest_share: Array
    cell_p: Array  # p of the culprit given the rest; none where the law has none of cells
    p_hidden: Array = np.zeros(0)  # p of the row without the culprit; none where nobody asked


class JudgedRows(NamedTuple):
    """The least likely cell of every row, and the names to speak of it."""

    rows: RowDistances
    columns: tuple[MapColumn, ...]
    row_names: Any
    scales: ColumnScales | None = None  # on which the columns were analysed
    law: RowLaw = GAUSSIAN_LAW  # of the whole distance
    grouped: Mask = np.zeros(0, dtype=bool)  # rows of groups apart from the bulk, which are not odd; empty = none


class OddRows(NamedTuple):
    """Every row's distances, and the rows that are odd at the stated false discovery rate."""

    D2: Law
    T2: Law
    Q: Law  # dof 0 and p 1 where Q is not defined: no more seen cells than dimensions
    seen: NDArray[np.intp]
    columns: int
    odd_level: float
    odd: NDArray[np.bool_]
    rows: tuple[OddRow, ...]  # the odd ones, oddest first
    below: int  # rows with p < 1 - odd_level, by the p that picks them
    expected: float  # how many of them chance alone makes
    judged: JudgedRows  # what the reasons are made of, for another level
    unjudged: tuple[OddRow, ...] = ()  # the farthest rows where no law fits the bulk
    groups: tuple[tuple[int, ...], ...] = ()  # positions of odd rows that lie together, the largest group first

    @property
    def p(self) -> Array:
        """The p of every row: of its distance D2 or of its least likely cell, whichever is rarer."""
        return row_p_values(self.D2.p, self.judged.rows.cell_p, self.seen)

    def at(self, odd_level: float) -> OddRows:
        """The same rows judged at another level: 1 - odd_level is the false discovery rate."""
        found = picked(self.D2, self.T2, self.Q, self.judged, odd_level)
        groups = (tuple(k for k in group if found.odd[k]) for group in self.groups)
        return found._replace(groups=tuple(group for group in groups if len(group) >= LEAST_IN_GROUP))

    def __repr__(self) -> str:
        """At most four lines: how many, and the oddest two."""
        lines = [f"{self.sentence}: .text(), .rows, .at(0.99)"]
        lines += [f"  row {clip(r.name)}: {clip(r.reason, 110)}" for r in self.rows[:2]]
        return "\n".join([*lines, f"  and {len(self.rows) - 2} more"] if len(self.rows) > 2 else lines)

    def _repr_html_(self) -> str:
        """The odd rows with their reasons as a small static table."""
        shown = (self.rows or self.unjudged)[:LISTED_ROWS]
        listed = ((r.name, f"{r.seen} of {self.columns}", p_value(r.p), f"{r.D2:.1f}", r.reason) for r in shown)
        more = len(self.rows) - LISTED_ROWS
        return card(
            f"{self.sentence}.",
            ("row", "cells seen", "p", "D2", "why"),
            listed,
            note=f"and {more:,} more: .text(most={len(self.rows)})" if more > 0 else "",
        )

    def facts(self) -> dict[str, Any]:
        """What `text` says, as JSON has it."""
        return {"sentence": self.sentence, "rows": list(self.rows)}

    @property
    def sentence(self) -> str:
        """How many, at which rate, beside what chance makes."""
        if self.unjudged:
            why = "no distribution fits most of the rows"
            return f"No row is called odd: {why} (the most unusual are {_names(self.unjudged)})"
        k, rate = len(self.rows), f"{100 * (1 - self.odd_level):.3g}%"
        head = f"{count(k, 'odd row') if k else 'No odd rows'} at {rate} false discovery rate"
        have = f"{count(self.below, 'row')} {'has' if self.below == 1 else 'have'} p < {1 - self.odd_level:.3g}"
        lie = len(self.groups[0]) if self.groups else 0
        together = f", {'all' if lie == k else lie} of them together" if lie else ""
        text = f"{head}{together} ({have}; about {self.expected:,.0f} expected by chance)"
        grouped = int(self.judged.grouped.sum())
        return text + (f"; {count(grouped, 'row')} apart from the others are a group, not odd" if grouped else "")

    def text(self, *, most: int = 20) -> str:
        """The table of `lowdim odd`."""
        lines, listed = [self.sentence], self.rows or self.unjudged
        rows = [("row", "cells", "p", "total D2", "within map T2", "off map Q", "why")]
        for r in listed[:most]:
            off = "not defined" if r.Q is None or r.p_Q is None else f"{r.Q:.1f} p {p_value(r.p_Q)}"
            figures = f"{r.D2:.1f} p {p_value(r.p_D2)}", f"{r.T2:.1f} p {p_value(r.p_T2)}", off
            first, *rest = r.reason.split("; ")
            rows.append((r.name, f"{r.seen}/{self.columns}", p_value(r.p), *figures, first))
            rows += [("",) * 6 + (reason,) for reason in rest]
        if listed:
            lines += ["", *text_table(rows, right=(0, 1), indent=""), P_NOTE]
        if len(self.rows) > most:
            lines.append(f"and {len(self.rows) - most} more")
        return "\n".join(lines)


def laws(rows: RowDistances, law: RowLaw = GAUSSIAN_LAW) -> tuple[Law, Law, Law]:
    """D2, T2 and Q of these rows with their laws: chi-square unless the bulk of the rows says otherwise."""
    T2, Q = (
        Law(value, dof, law.p_value(value, dof))
        for value, dof in ((rows.T2, rows.rank), (rows.Q, rows.seen - rows.rank))
    )
    return Law(rows.D2, rows.seen, rows.p_D2), T2, Q


# a table or new rows by a model ---------------------------------------------------------------------------
def judge_rows(
    map: TableMap,
    X: Array,
    *,
    odd_level: float = 0.95,
    row_names: Any = None,
    held: Mask | None = None,
    far: Mask | None = None,
    grouped: Mask | None = None,
    law: RowLaw | None = None,
    sharply: bool = False,
) -> OddRows:
    """The rows that a map finds odd, each with its one-sentence reason.

    Rows are picked by Benjamini and Hochberg's rule at rate 1 - odd_level. All distances know the row's gaps. The
    reason names the cell that disagrees most with the rest of its row, and what hiding it does. Cells `held` out of
    the fit (n x d) and `far` rows (n) have no part in saying what is ordinary; those of them that are `grouped` (n) are
    not asked about. Rows that are not those of the fit are judged by a `law` of the fit, such as its model's
    `plain_law`: they may be odd all together. Cells are judged by the map's model, or `sharply` by one that knows more.

    >>> from lowdim.judge.maps.table_map import table_map
    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> X = np.random.default_rng(0).standard_normal((60, 1)) * np.ones(4) + 0.1 * np.sin(np.arange(240)).reshape(60, 4)
    >>> X[7, 2] += 5.0
    >>> found = judge_rows(table_map(ProbabilisticPCA(1).fit(X), ("c1", "c2", "c3", "c4")), X)
    >>> [(r.row, r.column) for r in found.rows]
    [(7, 'c3')]
    """
    check_level(odd_level, "odd_level")
    if len(X) == 0:
        raise error("LD160", n=0, least=1)
    source = ArraySource(X, columns=map.names)
    if law is None:
        law = map.cells.own_law(X, held, far, sharply=sharply)
    parts = [part for _, part in walk(partial(_judge_whole_block, map, law), source, Run())]
    rows = RowDistances(*(np.concatenate(piece) for piece in zip(*parts, strict=True)))
    none = np.zeros(0, dtype=bool)
    apart = none if grouped is None or not grouped.any() else grouped
    judged = JudgedRows(rows, map.columns, row_names, map.scales, law, apart)
    found = picked(*laws(rows, law), judged, odd_level)
    if int(found.odd.sum()) < LEAST_IN_GROUP:
        return found
    counted, mask = law.counted(X), ~np.isnan(X)
    centre, spread = robust_units(counted, mask)
    groups = similar_groups((counted - centre) / spread, mask, np.flatnonzero(found.odd)[:MOST_IN_GROUPS])
    return found._replace(groups=tuple(tuple(int(k) for k in group) for group in groups))


def judge_block(map: TableMap, law: RowLaw, block: Block) -> RowDistances:
    """The distances of every row of a block and its least likely cell."""
    told = map.cells.beliefs(block, law)
    worst = np.argmax(blame(told, law), axis=1)
    at = np.arange(len(block.x)), worst
    return RowDistances(
        told.D2,
        told.T2,
        told.Q,
        told.rank,
        told.seen.sum(axis=1),
        told.p_D2,
        worst,
        value=block.x[at],
        expected=told.mean[at],
        sd=told.sd[at],
        surprise=told.surprise[at],
        likeliest=told.likeliest[at],
        likeliest_share=told.likeliest_share[at],
        cell_p=np.zeros(0) if law.cells is None else told.p.min(axis=1),
    )


def _judge_whole_block(map: TableMap, law: RowLaw, block: Block) -> RowDistances:
    """The same, with the p of each row when its least likely cell is hidden; of rows that nobody asks about, their
    own."""
    rows = judge_block(map, law, block)
    p = row_p_values(rows.p_D2, rows.cell_p, rows.seen).copy()
    look = np.flatnonzero(p < LOOKED_AGAIN)
    if len(look):
        left = block.seen[look]
        left[np.arange(len(look)), rows.culprit[look]] = False
        p[look] = p_of_rows(map.cells.beliefs(Block(np.where(left, block.x[look], 0.0), left), law), law)
    return rows._replace(p_hidden=p)


def blame(told: CellBeliefs, law: RowLaw) -> Array:
    """How much each cell is to blame, by which they are hidden: the least likely by its column's law before all others,
    then by size; of those that are all but impossible the farthest, for these are so by one of them."""
    size = np.where(told.seen, np.abs(told.surprise), -1.0)
    if law.cells is None or not law.judges:
        return size
    p = np.where(told.seen, told.p, 2.0)
    unlikely = p <= np.maximum(p.min(axis=1, keepdims=True), IMPOSSIBLE_P)
    return np.where(unlikely & told.seen, size + 1.0 + size.max(axis=1, keepdims=True), size)


def farthest_held(
    map: TableMap, law: RowLaw, table: Table, partition: Partition, cells: Sequence[tuple[int, int]]
) -> tuple[int, str]:
    """Of some cells that are held out of a fit, the one farthest from what the kept cells of its row say: its row, and
    that in words."""
    i, j = np.array(cells, dtype=np.intp).T
    x, own = table.X[i], np.arange(len(i))
    mask: Mask = ~np.isnan(x)
    told = map.cells.beliefs(Block(np.where(mask, x, 0.0), mask), law)
    k = int(np.argmax(np.abs(told.surprise[own, j])))
    column, cell = int(j[k]), (k, int(j[k]))
    said = own_cell(table.scales, law, column, float(x[cell]), float(told.mean[cell]), float(told.sd[cell]))
    return int(i[k]), disagrees(table.names[column], said)


def picked(D2: Law, T2: Law, Q: Law, judged: JudgedRows, odd_level: float) -> OddRows:
    """The rows that Benjamini and Hochberg's rule picks at rate 1 - odd_level, oddest first, with their reasons."""
    check_level(odd_level, "odd_level")
    seen, rate, law = judged.rows.seen, 1.0 - odd_level, judged.law
    p = row_p_values(D2.p, judged.rows.cell_p, seen)
    asked = ~judged.grouped if judged.grouped.size else np.ones(len(p), dtype=bool)
    odd = np.zeros(len(p), dtype=bool)
    odd[asked] = false_discovery(p[asked], rate)
    odd &= (seen > 0) & law.judges
    order = [int(k) for k in np.lexsort((-D2.value, p)) if asked[k]]  # far rows may share p = 0
    listed = [k for k in order if odd[k]] if law.judges else order[:UNJUDGED_ROWS]
    rows = tuple(odd_row(k, judged, (D2, T2, Q), rate)._replace(p=float(p[k])) for k in listed)
    cards, few = (rows, ()) if law.judges else ((), rows)
    below, expected = int((p[asked] < rate).sum()), rate * float((seen[asked] > 0).sum())
    return OddRows(D2, T2, Q, seen, len(judged.columns), odd_level, odd, cards, below, expected, judged, few)


def odd_row(k: int, judged: JudgedRows, laws: tuple[Law, Law, Law], rate: float) -> OddRow:
    """One odd row with its reason."""
    (D2, T2, Q), rows = laws, judged.rows
    j, seen = int(rows.culprit[k]), int(rows.seen[k])
    surprise, p_hidden = float(rows.surprise[k]), float(rows.p_hidden[k])
    cell = float(rows.value[k]), float(rows.expected[k]), float(rows.sd[k])
    own = own_cell(judged.scales, judged.law, j, *cell)
    column = judged.columns[j]
    told = column.told(own.value, float(rows.likeliest[k]), float(rows.likeliest_share[k]))
    defined = bool(Q.dof[k] > 0)
    p_Q = float(Q.p[k]) if defined else None
    if far_out(float(D2.p[k]), p_hidden, p_Q, surprise, rate):
        reason = f"far out on the map (T2 p {p_value(float(T2.p[k]))}), where its cells agree with each other "
        reason += f"(Q p {p_value(float(Q.p[k]))}): no single cell explains it"
    elif no_single_cell(surprise, p_hidden, told, rate):
        reason = "its cells contradict each other: no single cell explains it"
    else:
        says = f"{observed(own.value, own.sd)}, expected {expectation(*own[:4])} {around(own)}"
        says = f"{told[0]}, expected {told[1]}" if told else says
        reason = f"{column.name} {says} ({surprise:+.1f} sd); " + _hidden(p_hidden, rate)
    if not defined:
        reason += "; Q is not defined: no more seen cells than dimensions"
    return OddRow(
        k,
        row_name(k, judged.row_names),
        seen,
        float(rows.D2[k]),
        float(D2.p[k]),
        float(rows.T2[k]),
        float(T2.p[k]),
        float(rows.Q[k]) if defined else None,
        p_Q,
        column.name,
        own.value,
        own.expected,
        own.sd,
        surprise,
        p_hidden,
        reason,
        limit=own.limit,
        words=told,
        range=own.range,
    )


def own_cell(scales: ColumnScales | None, law: RowLaw, j: int, value: float, expected: float, sd: float) -> OwnCell:
    """A cell of column j as the table has it, also where the column was analysed as a logarithm (`ColumnScales.told`),
    or its levels or long tail counted as nearer than they are."""
    places = law.places(j)
    expected, *band = uncounted(expected + NORMAL_90 * sd * np.array([0.0, -1.0, 1.0]), places).tolist()
    if scales is None:
        return OwnCell(value, expected, sd, 0, (band[0], band[1]) if places.size else None)
    told = scales.told(j, value, expected, sd)
    if not places.size and not scales.log[j]:
        return OwnCell(*told)
    one = scales.of([j])
    low, high = one.within(one.outward(np.array(band)[:, None])).ravel().tolist()
    return OwnCell(*told, (low, high))


def around(cell: OwnCell | RowCell | OddRow) -> str:
    """How far off what the rest of a row says may be: '+- 3.5', or '(1.3 to 5.1)'; where that is more or less than the
    column can be, '(from 960)' or '(to 3)'."""
    if cell.range is None:
        return f"+- {figures(cell.sd, 2)}"
    low, high = (figures(end, 2) for end in cell.range)
    return (f"({low} to {high})", f"(from {low})", f"(to {high})")[cell.limit]


def expectation(value: float | None, expected: float, sd: float, limit: int = 0) -> str:
    """What the rest of a row says; beyond what the column can be, that end of it, where the value may be already.

    >>> told = ((121.7, 78.3, 6.5), (9.0, 2160.0, 800.0, 1), (9.0, 0.0, 2.0, -1), (0.0, 0.0, 2.0, -1))
    >>> tuple(expectation(*cell) for cell in told)
    ('78.3', '2160 or more', '0', 'still less')
    """
    if value is not None and limit and (value - expected) * limit >= 0.0:
        return "still more" if limit > 0 else "still less"
    beyond = {1: " or more", -1: " or less" if expected else ""}
    return figures_by_sd(expected, sd) + beyond.get(limit, "")


def disagrees(column: str, cell: OwnCell | RowCell | OddRow, words: tuple[str, ...] = ()) -> str:
    """'bf_cm_ratio is 121.7; the rest of the row says 78.3, sd 6.5'"""
    if words:
        return f"{column} is {words[0]}; the rest of the row says {words[1]}"
    assert cell.value is not None
    doubt = f"sd {figures(cell.sd, 2)}"
    if cell.range is not None:
        low, high = (figures(end, 2) for end in cell.range)
        doubt = (f"90% between {low} and {high}", f"90% above {low}", f"90% below {high}")[cell.limit]
    says = f"{expectation(cell.value, cell.expected, cell.sd, cell.limit)}, {doubt}"
    return f"{column} is {observed(cell.value, cell.sd)}; the rest of the row says {says}"


def far_out(p_D2: float, p_hidden: float, p_Q: float | None, surprise: float, rate: float = 0.05) -> bool:
    """Whether a row is odd by its place on the map alone: its distance is, its cells agree, as a whole and the least
    likely of them too, and hiding one does not help.

    >>> far_out(1e-4, 1e-4, 0.3, 2.0), far_out(1e-4, 1e-4, 0.3, 5.2)
    (True, False)
    """
    return p_D2 < rate and p_hidden < rate and p_Q is not None and p_Q >= rate and abs(surprise) < CUT


def no_single_cell(surprise: float, p_hidden: float, words: tuple[str, ...], rate: float = 0.05) -> bool:
    """Whether a row is odd with and without its least likely cell, which is a number within what the others say.

    >>> no_single_cell(-1.2, 1e-4, ()), no_single_cell(-4.0, 1e-4, ()), no_single_cell(-1.2, 0.3, ())
    (True, False, False)
    """
    return p_hidden < rate and abs(surprise) < NORMAL_90 and not words


def _hidden(p: float, rate: float) -> str:
    if p >= rate:
        return f"hide that cell and the row is ordinary (p {p_value(p)})"
    return f"hide that cell and the row is still odd (p {p_value(p)}): more than one cell disagrees"


def _names(rows: tuple[OddRow, ...]) -> str:
    return f"rows {', '.join(r.name for r in rows)}"


def row_name(k: int, names: Any) -> str:
    return str(k + 1) if names is None else str(names[k])
