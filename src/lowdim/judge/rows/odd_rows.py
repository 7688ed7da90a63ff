"""Odd rows: how far each row is from what the model expects, with laws that know about gaps, and why.

Of a row's seen cells o, with C = W W' + Psi, r = x_o - mu_o, and posterior mean z and covariance S:

    D2 = r' C_oo^-1 r  ~ chi2(#seen)          the whole distance
    T2 = z' (I - S)^-1 z ~ chi2(q)            the part within the map
    Q  = D2 - T2 ~ chi2(#seen - q)            the part off the map

A row with no more seen cells than dimensions lies on the map wherever it is: T2 has #seen degrees of
freedom and Q does not exist. Cells are looked at beside what the others of their row say (`judge/cells.py`).

These laws are those of a Gaussian table with known parameters. From 20 rows on, the bulk of the rows says what is
ordinary instead (`reference_law.py`): F laws of the distances, a t law for each column's surprises, levels by their
shares. A row is odd if its distance is, or one of its cells given the others. Where not even a heavy-tailed law fits
the bulk, none is called odd, and the farthest are listed as unjudged.

Reference: [Lawrence2012] for the posterior; Benjamini and Hochberg, Controlling the false discovery rate,
Journal of the Royal Statistical Society B 57 (1995).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run, walk
from lowdim.judge.cells import distances, given_others
from lowdim.judge.framed_gaussian import FramedGaussian, framed_gaussian
from lowdim.judge.rows.answers import JudgedAnswers
from lowdim.judge.rows.outlyingness import robust_units, similar_groups
from lowdim.judge.rows.reference_law import (
    GAUSSIAN_LAW,
    RowLaw,
    cell_p_values,
    false_discovery,
    law_of_table,
    p_of_rows,
    row_p_values,
)
from lowdim.maths.linalg import LARGEST, Array, Mask
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block
from lowdim.sources.views import gather
from lowdim.text.format import clip, count, figures, figures_by_sd, observed, p_value
from lowdim.text.messages import check_level, error
from lowdim.text.notebook import card
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lowdim.judge.partition import Partition
    from lowdim.models.linear.linear_gaussian import LinearGaussian
    from lowdim.table.kinds.scales import ColumnScales

P_NOTE = "p: of the row's distance D2 or of its least likely cell, whichever is rarer; the others are of one distance."
LISTED_ROWS = 20  # odd rows that a notebook lists
IMPOSSIBLE_P = 1e-9  # of a cell: how much smaller another's is says nothing
LOOKED_AGAIN = 0.25  # rows with a smaller p are looked at with their least likely cell hidden
UNJUDGED_ROWS = 5  # listed where no law fits the bulk
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


class RowDistances(NamedTuple):
    """Distances of every row of a block and its most surprising cell, in the model's units."""

    D2: Array
    T2: Array
    Q: Array
    rank: NDArray[np.intp]
    seen: NDArray[np.intp]
    culprit: NDArray[np.intp]
    surprise: Array
    shift: Array  # (P r)_j / P_jj of the culprit: value minus expected
    sd: Array
    value: Array  # of the culprit, in the table's units
    cell_p: Array = np.zeros(0)  # p of the least likely cell given the rest; none where the law has none of cells
    p_hidden: Array = np.zeros(0)  # p of the row without the culprit; none in files of older versions


class JudgedRows(NamedTuple):
    """The most surprising cell of every row, in the model's units, and the names to speak of it."""

    rows: RowDistances
    columns: tuple[str, ...]
    scale: Array  # from the table's units to the model's
    row_names: Any
    scales: ColumnScales | None = None  # on which the columns were analysed
    law: RowLaw = GAUSSIAN_LAW  # of the whole distance
    answers: JudgedAnswers | None = None  # of a mixed map
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
    law_scale: float = GAUSSIAN_LAW.scale  # D2 / (seen law_scale) ~ F(seen, law_dof) in the bulk of the rows
    law_dof: float = GAUSSIAN_LAW.dof
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

    @property
    def sentence(self) -> str:
        """How many, at which rate, beside what chance makes."""
        if self.unjudged:
            return f"No row is judged: no law fits the bulk of the rows (the farthest are {_names(self.unjudged)})"
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


def judge_block(g: FramedGaussian, raw: Block, law: RowLaw = GAUSSIAN_LAW) -> RowDistances:
    """The distances of every row of a block in the table's units, and its least likely cell by the law's columns."""
    counted = raw._replace(x=law.counted(raw.x))
    block = g.inward(counted)
    shift, sd, D2, latent = given_others(g, block.x, block.mask)
    T2, Q, rank = distances(g, latent, block.mask)
    mask = np.ones(block.x.shape, dtype=bool) if block.mask is None else block.mask
    seen, surprise = mask.sum(axis=1), shift / sd
    worst = np.argmax(doubtful(surprise, D2, mask, law), axis=1)
    at = np.arange(block.rows), worst
    rank = np.minimum(rank, seen)
    off, moved = np.where(seen > rank, Q, 0.0), shift + (raw.x - counted.x) * g.frame.scale  # beside it as it is
    least = np.zeros(0) if law.cells is None else cell_p_values(surprise, D2, mask, law).min(axis=1)
    return RowDistances(D2, T2, off, rank, seen, worst, surprise[at], moved[at], sd[at], raw.x[at], least)


def laws(rows: RowDistances, law: RowLaw = GAUSSIAN_LAW) -> tuple[Law, Law, Law]:
    """D2, T2 and Q of these rows with their laws: chi-square unless the bulk of the rows says otherwise."""
    D2, T2, Q = (
        Law(value, dof, law.p_value(value, dof))
        for value, dof in ((rows.D2, rows.seen), (rows.T2, rows.rank), (rows.Q, rows.seen - rows.rank))
    )
    return D2, T2, Q


# a table or new rows by a model ---------------------------------------------------------------------------
def judge_rows(
    model: LinearGaussian,
    X: Any,
    *,
    odd_level: float = 0.95,
    row_names: Any = None,
    scales: ColumnScales | None = None,
    held: Mask | None = None,
    far: Mask | None = None,
    grouped: Mask | None = None,
    law: RowLaw | None = None,
) -> OddRows:
    """The rows a fitted linear-Gaussian model finds odd, each with its one-sentence reason.

    Rows are picked by Benjamini and Hochberg's rule at rate 1 - odd_level. All distances know the row's gaps. The
    reason names the cell that disagrees most with the rest of its row, and what hiding it does. Cells `held` out of
    the fit (n x d) and `far` rows (n) have no part in saying what is ordinary; those of them that are `grouped` (n) are
    not asked about. Rows that are not those of the fit are
    judged by a `law` of the fit, such as `model_law(model)`: they may be odd all together.

    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> X = np.random.default_rng(0).standard_normal((60, 1)) * np.ones(4) + 0.1 * np.sin(np.arange(240)).reshape(60, 4)
    >>> X[7, 2] += 5.0
    >>> found = judge_rows(ProbabilisticPCA(1).fit(X), X)
    >>> [(r.row, r.column) for r in found.rows]
    [(7, 'c3')]
    """
    check_level(odd_level, "odd_level")
    source, g = model.arrange(X), framed_gaussian(model)
    if source.n == 0:
        raise error("LD160", n=0, least=1)
    x, seen = gather(source)
    mask = kept = np.ones(x.shape, dtype=bool) if seen is None else seen
    if law is None:
        law, kept = law_of_table(model, x, mask, held, far)
    table = ArraySource(x, None if seen is None else mask, columns=source.columns)
    parts = [part for _, part in walk(partial(judge_block, g, law=law), table, Run())]
    rows = RowDistances(*(np.concatenate(piece) for piece in zip(*parts, strict=True)))
    rows = without_culprit(_by_kept_cells(rows, g, x, mask, kept, law), g, x, mask, law)
    judged = JudgedRows(rows, source.columns, g.frame.scale, row_names, scales, law)
    if grouped is not None and grouped.any():
        judged = judged._replace(grouped=grouped)
    found = picked(*laws(rows, law), judged, odd_level)
    if int(found.odd.sum()) < LEAST_IN_GROUP:
        return found
    counted = law.counted(x)
    centre, spread = robust_units(counted, mask)
    groups = similar_groups((counted - centre) / spread, mask, np.flatnonzero(found.odd)[:MOST_IN_GROUPS])
    return found._replace(groups=tuple(tuple(int(k) for k in group) for group in groups))


def _by_kept_cells(
    rows: RowDistances, g: FramedGaussian, x: Array, mask: Mask, kept: Mask, law: RowLaw
) -> RowDistances:
    """Where some cells of a row are held to be wrong, its least likely cell is that beside the others alone."""
    own = np.flatnonzero((mask & ~kept).any(axis=1))
    if not len(own) or law.cells is None:
        return rows
    x, mask, kept = x[own], mask[own], kept[own]
    counted = law.counted(x)
    cells = g.inward(Block(np.where(mask, counted, 0.0), mask)).x
    shift, sd, D2, _ = given_others(g, cells, mask, kept)
    worst = np.argmax(doubtful(shift / sd, D2, mask, law), axis=1)
    at = np.arange(len(own)), worst
    moved = shift + (x - counted) * g.frame.scale
    parts = {"culprit": worst, "surprise": (shift / sd)[at], "shift": moved[at], "sd": sd[at], "value": x[at]}
    out = {name: getattr(rows, name).copy() for name in parts}
    for name, part in parts.items():
        out[name][own] = part
    return rows._replace(**out)


def doubtful(surprise: Array, D2: Array, mask: Mask, law: RowLaw) -> Array:
    """How much each cell is to blame, by which they are hidden: the least likely by its column's law before all others,
    then by size; of those that are all but impossible the farthest, for these are so by one of them."""
    size = np.where(mask, np.abs(surprise), -1.0)
    if law.cells is None:
        return size
    p = np.where(mask, cell_p_values(surprise, D2, mask, law), 2.0)
    unlikely = p <= np.maximum(p.min(axis=1, keepdims=True), IMPOSSIBLE_P)
    return np.where(unlikely & mask, size + 1.0 + size.max(axis=1, keepdims=True), size)


def without_culprit(rows: RowDistances, g: FramedGaussian, x: Array, mask: Mask, law: RowLaw) -> RowDistances:
    """What the p of each row is when its least likely cell is hidden; of rows that nobody asks about, their own."""
    p = row_p_values(law.p_value(rows.D2, rows.seen), rows.cell_p, rows.seen)
    look = np.flatnonzero(p < LOOKED_AGAIN)
    left = mask[look]
    left[np.arange(len(look)), rows.culprit[look]] = False
    cells = g.inward(Block(np.where(left, law.counted(x[look]), 0.0), left)).x
    p[look] = p_of_rows(g, cells, left, law)
    return rows._replace(p_hidden=p)


def farthest_held(
    model: LinearGaussian, table: Any, partition: Partition, cells: Sequence[tuple[int, int]]
) -> tuple[int, tuple[str, float, float, float, int]]:
    """Of some cells that are held out of a fit, the one farthest from what the kept cells of its row say: its row, and
    what `disagrees` takes."""
    g, i, j = framed_gaussian(model), *np.array(cells, dtype=np.intp).T
    x, own = table.X[i], np.arange(len(i))
    mask: Mask = ~np.isnan(x)
    kept = mask & ~partition.cell_mask(*table.X.shape)[i]
    inward = g.inward(Block(np.where(mask, x, 0.0), mask)).x
    shift, sd = (part[own, j] for part in given_others(g, inward, mask, kept)[:2])
    k = int(np.argmax(np.abs(shift) / sd))
    unit, value, column = float(g.frame.scale[j[k]]), float(x[k, j[k]]), int(j[k])
    told = in_own_units(table.scales, column, value, value - float(shift[k]) / unit, float(sd[k]) / unit)
    return int(i[k]), (table.names[column], *told)


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
    parts = (D2, T2, Q, seen, len(judged.columns), odd_level, odd, cards, below, expected, judged)
    return OddRows(*parts, law.scale, law.dof, few)


def odd_row(k: int, judged: JudgedRows, laws: tuple[Law, Law, Law], rate: float) -> OddRow:
    """One odd row with its reason."""
    (D2, T2, Q), rows, columns = laws, judged.rows, judged.columns
    value, j, seen = float(rows.value[k]), int(rows.culprit[k]), int(rows.seen[k])
    unit = float(judged.scale[j])
    shift, sd, surprise = float(rows.shift[k]) / unit, float(rows.sd[k]) / unit, float(rows.surprise[k])
    value, expected, sd, limit = in_own_units(judged.scales, j, value, value - shift, sd)
    told = () if judged.answers is None else judged.answers.told(k, j, value)
    p_hidden = _p_hidden(k, judged)
    defined = bool(Q.dof[k] > 0)
    p_Q = float(Q.p[k]) if defined else None
    if far_out(p_hidden, p_Q, rate):
        reason = f"far out on the map (T2 p {p_value(float(T2.p[k]))}), where its cells agree with each other "
        reason += f"(Q p {p_value(float(Q.p[k]))}): no single cell explains it"
    else:
        says = f"{observed(value, sd)}, expected {expectation(expected, sd, limit, value)} +- {figures(sd, 2)}"
        says = f"{told[0]}, expected {told[1]}" if told else says
        reason = f"{columns[j]} {says} ({surprise:+.1f} sd); " + _hidden(p_hidden, rate)
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
        columns[j],
        value,
        expected,
        sd,
        surprise,
        p_hidden,
        reason,
        limit=limit,
        words=told,
    )


def _p_hidden(k: int, judged: JudgedRows) -> float:
    """The p of a row without the cell that is blamed; in a file of an older version, that of its distance."""
    rows = judged.rows
    if len(rows.p_hidden):
        return float(rows.p_hidden[k])
    left = max(float(min(rows.D2[k], LARGEST)) - min(float(rows.surprise[k]) ** 2, LARGEST), 0.0)
    left = left if judged.answers is None else float(judged.answers.left[k])
    return float(judged.law.p_value(np.array(left), np.array(int(rows.seen[k]) - 1)))


def in_own_units(
    scales: ColumnScales | None, j: int, value: float, expected: float, sd: float
) -> tuple[float, float, float, int]:
    """A cell as the table has it, also where its column was analysed as a logarithm (`ColumnScales.told`)."""
    return (value, expected, sd, 0) if scales is None else scales.told(j, value, expected, sd)


def expectation(expected: float, sd: float, limit: int = 0, value: float | None = None) -> str:
    """What the rest of a row says; beyond what the column can be, that end of it, where the value may be already.

    >>> expectation(78.3, 6.5), expectation(2160.0, 800.0, 1), expectation(0.0, 2.0, -1), expectation(0.0, 2.0, -1, 0.0)
    ('78.3', '2160 or more', '0', 'still less')
    """
    if value is not None and limit and (value - expected) * limit >= 0.0:
        return "still more" if limit > 0 else "still less"
    beyond = {1: " or more", -1: " or less" if expected else ""}
    return figures_by_sd(expected, sd) + beyond.get(limit, "")


def disagrees(
    column: str, value: float, expected: float, sd: float, limit: int = 0, words: tuple[str, ...] = ()
) -> str:
    """'bf_cm_ratio is 121.7; the rest of the row says 78.3, sd 6.5'"""
    if words:
        return f"{column} is {words[0]}; the rest of the row says {words[1]}"
    says = f"{expectation(expected, sd, limit, value)}, sd {figures(sd, 2)}"
    return f"{column} is {observed(value, sd)}; the rest of the row says {says}"


def far_out(p_hidden: float, p_Q: float | None, rate: float = 0.05) -> bool:
    """Whether a row is odd by its place on the map alone: its cells agree, and hiding one does not help."""
    return p_hidden < rate and p_Q is not None and p_Q >= rate


def _hidden(p: float, rate: float) -> str:
    if p >= rate:
        return f"hide that cell and the row is ordinary (p {p_value(p)})"
    return f"hide that cell and the row is still odd (p {p_value(p)}): more than one cell disagrees"


def _names(rows: tuple[OddRow, ...]) -> str:
    return f"rows {', '.join(r.name for r in rows)}"


def row_name(k: int, names: Any) -> str:
    return str(k + 1) if names is None else str(names[k])
