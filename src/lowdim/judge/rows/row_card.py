"""One row in full: every cell beside what the others say of it, and the fewest cells that make the row ordinary.

A cell may be hidden, or edited, before the row is looked at: so a person asks "what if".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.judge.cells import CellsGivenOthers, distances, given_others
from lowdim.judge.framed_gaussian import FramedGaussian, framed_gaussian
from lowdim.judge.rows.odd_rows import P_NOTE, disagrees, doubtful, expectation, in_own_units, row_name
from lowdim.judge.rows.reference_law import GAUSSIAN_LAW, RowLaw, p_of_rows
from lowdim.maths.linalg import Array
from lowdim.sources.source import Block
from lowdim.text.format import count, figures, listing, observed, p_value
from lowdim.text.messages import check_level, error
from lowdim.text.notebook import card
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from lowdim.models.linear.linear_gaussian import LinearGaussian
    from lowdim.table.kinds.scales import ColumnScales

ODD_LEVEL = 0.95  # a row with p < 1 - ODD_LEVEL is not ordinary
LISTED_CELLS = 30  # cells of a row that a notebook lists
FEW_CELLS = 5  # that a sentence names to hide
ONE_BY_ONE = 10  # cells of a row that are hidden singly to make it ordinary


class RowCell(NamedTuple):
    """One cell of a row beside what the others of the row say; value and surprise are None at a gap."""

    column: str
    value: float | None
    expected: float
    sd: float
    surprise: float | None
    limit: int = 0  # 1 where the rest of the row says more than the column can be, -1 where less
    told: tuple[str, ...] = ()  # of a cell that holds an answer: what it is called, and what the rest says

    def words(self) -> tuple[str, str, str]:
        """Value, what the rest says, and the surprise, as a person reads them."""
        value, says = self.told or (
            "gap" if self.value is None else observed(self.value, self.sd),
            f"{expectation(self.expected, self.sd, self.limit, self.value)} +- {figures(self.sd, 2)}",
        )
        return value, says, "" if self.surprise is None else f"{self.surprise:+.1f} sd"


class RowFill(NamedTuple):
    """A gap of the row as the table's fills have it, with the interval that was checked on hidden cells."""

    column: str
    fill: float
    lower: float
    upper: float


class RowCard(NamedTuple):
    """One row in full; `p` is that by which the list of odd rows picks, the others are of one distance."""

    row: int
    name: str
    cells: tuple[RowCell, ...]
    D2: float
    p: float
    T2: float
    p_T2: float
    dof_T2: int
    Q: float | None
    p_Q: float | None
    seen: int
    hide: tuple[str, ...]  # cells that, hidden one after the other, make the row ordinary
    p_after: float
    sentence: str
    p_D2: float = 1.0
    fills: tuple[RowFill, ...] = ()  # of its gaps, where there is an analysis that has them

    def __repr__(self) -> str:
        """At most four lines: the sentence, the distances, and where the rest is."""
        return f"{self.sentence}\n{self._laws}\n{len(self.cells)} cells, {self.seen} seen: .text(), .cells, .hide"

    def _repr_html_(self) -> str:
        """Every cell beside what the rest of its row says, the most surprising first."""
        order = sorted(self.cells, key=lambda c: -abs(c.surprise or 0.0))
        listed = ((("▶ " if c.column in self.hide else "") + c.column, *c.words()) for c in order[:LISTED_CELLS])
        left = len(order) - LISTED_CELLS
        more = f" {left:,} less surprising or missing cells: .text()" if left > 0 else ""
        return card(
            self.sentence,
            ("column", "value", "the rest says", "surprise"),
            listed,
            note=f"{self._laws}.{more}" + (" ▶ hide these and the row is ordinary." if self.hide else ""),
        )

    @property
    def _laws(self) -> str:
        off = (
            "Q is not defined: no more seen cells than dimensions"
            if self.Q is None or self.p_Q is None
            else f"off map Q {self.Q:.1f} on {self.seen - self.dof_T2}, p {p_value(self.p_Q)}"
        )
        return (
            f"total D2 {self.D2:.1f} on {count(self.seen, 'cell')}, p {p_value(self.p_D2)};  "
            f"within map T2 {self.T2:.1f} on {self.dof_T2}, p {p_value(self.p_T2)};  {off}"
        )

    def text(self) -> str:
        """The table of `lowdim explain --row`."""
        lines = [self.sentence, self._laws, *([P_NOTE] if self.p != self.p_D2 else []), ""]
        rows = [("column", "value", "the rest says", "surprise"), *((c.column, *c.words()) for c in self.cells)]
        lines += text_table(rows, right=(1, 2, 3))
        if self.fills:
            fills = (
                f"{f.column} {figures(f.fill, 4)} ({figures(f.lower, 4)} to {figures(f.upper, 4)})" for f in self.fills
            )
            lines += ["", f"Its gaps as the run fills them: {', '.join(fills)}."]
        return "\n".join(lines)


def explain_row(
    model: LinearGaussian,
    X: Any,
    row: int,
    *,
    odd_level: float = ODD_LEVEL,
    row_names: Any = None,
    scales: ColumnScales | None = None,
    law: RowLaw = GAUSSIAN_LAW,
    unit: Array | float = 1.0,
    hidden: Sequence[str] = (),
    edited: Mapping[str, float] | None = None,
) -> RowCard:
    """Every cell of one row beside what its other cells say, and a small set that makes the row ordinary.

    The set is found greedily: hide the least likely cell, look again, until p >= 1 - odd_level. `hidden` cells count
    as gaps, `edited` ones have other values (in the table's own units); X was divided by `unit` before the fit.

    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> X = np.random.default_rng(0).standard_normal((60, 1)) * np.ones(4) + 0.1 * np.sin(np.arange(240)).reshape(60, 4)
    >>> X[7, 2] += 5.0
    >>> model = ProbabilisticPCA(1).fit(X)
    >>> explain_row(model, X, 7).hide
    ('c3',)
    >>> explain_row(model, X, 7, hidden=["c3"]).sentence
    'Row 8 without c3 is ordinary (p 0.81).'
    """
    check_level(odd_level, "odd_level")
    source = model.arrange(X)
    if not 0 <= row < source.n:
        raise error("LD210", option="row", value=row, allowed=f"a row from 0 to {source.n - 1}")
    g = framed_gaussian(model)
    g = g._replace(frame=g.frame._replace(shift=g.frame.shift * unit, scale=g.frame.scale / unit))
    raw = touched(source.block_of(slice(row, row + 1), row), source.columns, hidden, edited or {}, scales)
    block = g.inward(raw._replace(x=law.counted(raw.x)))
    assert block.mask is not None
    each = given_others(g, block.x, block.mask)
    D2, (T2, Q, rank) = each.D2, distances(g, each.latent, block.mask)
    cells = _cells(g, raw, block, each, source.columns, scales)
    p = float(p_of_rows(g, block.x, block.mask, law)[0])
    seen = int(block.mask.sum())
    dof = int(min(rank[0], seen))
    p_D2, p_T2, p_Q = (float(law.p_value(a, np.array(k))[0]) for a, k in ((D2, seen), (T2, dof), (Q, seen - dof)))
    found, after = _ordinary(block, g, 1.0 - odd_level, law)
    name, hide = row_name(row, row_names), tuple(source.columns[j] for j in found)
    off, p_off = (float(Q[0]), p_Q) if seen > dof else (None, None)
    words = row_sentence(as_touched(name, hidden, edited or {}), cells, hide, p, after)
    far = float(D2[0]), p, float(T2[0]), p_T2, dof, off, p_off
    return RowCard(row, name, cells, *far, seen, hide, after, words, p_D2)


def touched(
    raw: Block,
    columns: tuple[str, ...],
    hidden: Sequence[str],
    edited: Mapping[str, float],
    scales: ColumnScales | None,
) -> Block:
    """The one row of a block with some cells hidden and others changed, and with a mask."""
    x = np.array(raw.x)
    mask = np.ones(x.shape, dtype=bool) if raw.mask is None else raw.mask.copy()
    unknown = [name for name in (*hidden, *edited) if name not in columns]
    if unknown:
        raise error("LD210", option="column", value=unknown[0], allowed=f"one of {listing(columns, 12)}")
    for name, value in edited.items():
        j, own = columns.index(name), np.full((1, len(columns)), np.nan)
        own[0, j] = value
        x[0, j] = own[0, j] if scales is None else scales.inward(own)[0, j]
        mask[0, j] = True
        if not np.isfinite(x[0, j]):
            raise error("LD210", option=name, value=value, allowed="a number that the column's scale has a place for")
    for name in hidden:
        x[0, columns.index(name)], mask[0, columns.index(name)] = 0.0, False
    return raw._replace(x=x, mask=mask)


def as_touched(name: str, hidden: Sequence[str], edited: Mapping[str, Any]) -> str:
    """'8 without c3 and with c1 at 2.5'"""
    without = f" without {', '.join(hidden)}" if hidden else ""
    changes = ", ".join(
        f"{column} at {value if isinstance(value, str) else observed(value, 0.0)}"
        for column, value in edited.items()
        if column not in hidden
    )
    return f"{name}{without}{' and' if without and changes else ''}{f' with {changes}' if changes else ''}"


def _cells(
    g: FramedGaussian,
    raw: Block,
    block: Block,
    each: CellsGivenOthers,
    names: tuple[str, ...],
    scales: ColumnScales | None,
) -> tuple[RowCell, ...]:
    """Every cell of the one row of a block, which has a mask."""
    assert block.mask is not None
    mask = block.mask[0]
    expected = g.frame.outward(np.where(mask, block.x - each.shift, each.latent.mean @ g.W.T + g.mu))[0]
    unit_sd, size = (each.sd / g.frame.scale)[0], each.surprise[0]
    cells = []
    for j, name in enumerate(names):
        value = float(raw.x[0, j]) if mask[j] else 0.0
        value, says, doubt, limit = in_own_units(scales, j, value, float(expected[j]), float(unit_sd[j]))
        seen = (value, float(size[j])) if mask[j] else (None, None)
        cells.append(RowCell(name, seen[0], says, doubt, seen[1], limit))
    return tuple(cells)


def _ordinary(block: Block, g: FramedGaussian, rate: float, law: RowLaw) -> tuple[list[int], float]:
    """Cells hidden one after the other, the least likely first, until the row is ordinary; and its p then.

    Beyond the first ten a third is added at a time: nobody reads so many, and a wide row has thousands.
    """
    hidden: list[int] = []
    assert block.mask is not None
    while True:
        p = float(p_of_rows(g, block.x, block.mask, law)[0])
        if p >= rate or not block.mask.any():
            return hidden, p
        cells = given_others(g, block.x, block.mask)
        more = 1 if len(hidden) < ONE_BY_ONE else min(len(hidden) // 3, int(block.mask.sum()))
        worst = np.argsort(-doubtful(cells.surprise, cells.D2, block.mask, law)[0], kind="stable")[:more]
        hidden += worst.tolist()
        mask = block.mask.copy()
        mask[0, worst] = False
        block = block._replace(mask=mask, x=np.where(mask, block.x, 0.0))


def row_sentence(name: str, cells: tuple[RowCell, ...], hide: tuple[str, ...], p: float, after: float) -> str:
    if not hide:
        return f"Row {name} is ordinary (p {p_value(p)})."
    worst = next(c for c in cells if c.column == hide[0])
    assert worst.value is not None
    says = disagrees(worst.column, worst.value, worst.expected, worst.sd, worst.limit, worst.told)
    odd = f"Row {name} is unlike what the model expects (p {p_value(p)}): "
    seen = sum(c.value is not None for c in cells)
    if len(hide) > FEW_CELLS or len(hide) == seen > 1:
        many = f"all {seen}" if len(hide) == seen else f"{len(hide)} of {seen}"
        return f"{odd}many cells disagree, most of all {says}. No few make it odd: {many} would have to be hidden."
    which = "that cell" if len(hide) == 1 else f"these {len(hide)} cells: {', '.join(hide)}"
    then = f"Hide {which}, and the row is ordinary (p {p_value(after)})"
    return f"{odd}{says}. {then}."
