"""Odd rows: how far each row is from what the model expects, with laws that know about gaps, and why.

Of a row's seen cells o, with C = W W' + Psi, r = x_o - mu_o, and posterior mean z and covariance S:

    D2 = r' C_oo^-1 r  ~ chi2(#seen)          the whole distance
    T2 = z' (I - S)^-1 z ~ chi2(q)            the part within the map
    Q  = D2 - T2 ~ chi2(#seen - q)            the part off the map

A row with no more seen cells than dimensions lies on the map wherever it is: T2 has #seen degrees of
freedom and Q does not exist. With P = C_oo^-1, s_j = (P r)_j / sqrt(P_jj) is how far cell j is from what
the *other* cells of its row say, in standard deviations, and hiding cell j lowers D2 by exactly s_j^2.

The laws hold for known parameters. A small table's own rows look too ordinary, since the fit followed
them, and new rows too odd, since it did: at p < 0.05, 10 columns, 3 dimensions and 20 % gaps, 3.4 % of the
50 rows fitted to and 14 % of new ones; with 1000 rows 5.3 % and 5.7 %
(measured in `tests/judge/rows/test_odd_rows.py`).

Reference: [Lawrence2012] for the posterior; Benjamini and Hochberg, Controlling the false discovery rate,
Journal of the Royal Statistical Society B 57 (1995).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from lowdim.engine.fold import Run, walk
from lowdim.judge.rows.surprise import distances, surprises
from lowdim.math.gaussian import Latent
from lowdim.math.linalg import Array
from lowdim.models.linear.framed_gaussian import FramedGaussian, framed_gaussian
from lowdim.sources.source import Block
from lowdim.text.format import clip, figures, figures_by_sd
from lowdim.text.messages import error
from lowdim.text.notebook import card

if TYPE_CHECKING:
    from lowdim.models.linear.linear_gaussian import LinearGaussian

LISTED_ROWS, LISTED_CELLS = 20, 30  # odd rows, and cells of one row, that a notebook lists


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
    p: float
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


class JudgedRows(NamedTuple):
    """The most surprising cell of every row, in the model's units, and the names to speak of it."""

    rows: RowDistances
    columns: tuple[str, ...]
    scale: Array  # from the table's units to the model's
    row_names: Any


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
    below: int  # rows with p < 1 - odd_level
    expected: float  # how many of them chance alone makes
    judged: JudgedRows  # what the reasons are made of, for another level

    def at(self, odd_level: float) -> OddRows:
        """The same rows judged at another level: 1 - odd_level is the false discovery rate."""
        return picked(self.D2, self.T2, self.Q, self.judged, odd_level)

    def __repr__(self) -> str:
        """At most four lines: how many, and the oddest two."""
        lines = [f"{self.sentence}: .text(), .rows, .at(0.99)"]
        lines += [f"  row {clip(r.name)}: {clip(r.reason, 110)}" for r in self.rows[:2]]
        return "\n".join([*lines, f"  and {len(self.rows) - 2} more"] if len(self.rows) > 2 else lines)

    def _repr_html_(self) -> str:
        """The odd rows with their reasons as a small static table."""
        shown = self.rows[:LISTED_ROWS]
        listed = ((r.name, f"{r.seen} of {self.columns}", f"{r.D2:.1f}", _p(r.p), r.reason) for r in shown)
        more = len(self.rows) - LISTED_ROWS
        return card(
            f"{self.sentence}.",
            ("row", "cells seen", "D2", "p", "why"),
            listed,
            note=f"and {more:,} more: .text(most={len(self.rows)})" if more > 0 else "",
        )

    @property
    def sentence(self) -> str:
        """How many, at which rate, beside what chance makes."""
        k, rate = len(self.rows), f"{100 * (1 - self.odd_level):.3g}%"
        head = f"{k or 'No'} odd row{'' if k == 1 else 's'} at {rate} false discovery rate"
        have = f"{self.below} row{' has' if self.below == 1 else 's have'} p < {1 - self.odd_level:.3g}"
        return f"{head} ({have}; about {self.expected:.0f} expected by chance)"

    def text(self, *, most: int = 20) -> str:
        """The table of `lowdim odd`."""
        lines = [self.sentence]
        if self.rows:
            lines += ["", f"{'row':>5}  {'cells':>5}  {'total D2':<14} {'within map T2':<14} {'off map Q':<14} why"]
        for r in self.rows[:most]:
            off = "not defined" if r.Q is None or r.p_Q is None else f"{r.Q:.1f} p {_p(r.p_Q)}"
            first, *rest = r.reason.split("; ")
            lines.append(
                f"{r.name:>5}  {r.seen:>2}/{self.columns:<2}  {f'{r.D2:.1f} p {_p(r.p)}':<14} "
                f"{f'{r.T2:.1f} p {_p(r.p_T2)}':<14} {off:<14} {first}"
            )
            lines += [" " * 59 + part for part in rest]
        if len(self.rows) > most:
            lines.append(f"and {len(self.rows) - most} more")
        return "\n".join(lines)


class RowCell(NamedTuple):
    """One cell of a row beside what the others of the row say; value and surprise are None at a gap."""

    column: str
    value: float | None
    expected: float
    sd: float
    surprise: float | None

    def words(self) -> tuple[str, str, str]:
        """Value, what the rest says, and the surprise, as a person reads them."""
        return (
            "gap" if self.value is None else figures_by_sd(self.value, self.sd, 4),
            f"{figures_by_sd(self.expected, self.sd)} +- {figures(self.sd, 2)}",
            "" if self.surprise is None else f"{self.surprise:+.1f} sd",
        )


class RowCard(NamedTuple):
    """One row in full."""

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
            else f"off map Q {self.Q:.1f} on {self.seen - self.dof_T2}, p {_p(self.p_Q)}"
        )
        return (
            f"total D2 {self.D2:.1f} on {self.seen} cells, p {_p(self.p)};  "
            f"within map T2 {self.T2:.1f} on {self.dof_T2}, p {_p(self.p_T2)};  {off}"
        )

    def text(self) -> str:
        """The table of `lowdim explain --row`."""
        lines = [self.sentence, self._laws, ""]
        wide = max(6, *(len(c.column) for c in self.cells))
        lines.append(f"  {'column':<{wide}} {'value':>10} {'the rest says':>22} {'surprise':>10}")
        for c in self.cells:
            value, says, surprise = c.words()
            lines.append(f"  {c.column:<{wide}} {value:>10} {says:>22} {surprise:>10}")
        return "\n".join(lines)


def judge_block(g: FramedGaussian, raw: Block) -> RowDistances:
    """The distances of every row of a block in the table's units."""
    block = g.inward(raw)
    D2, T2, Q, rank, latent = distances(block, g.W, g.mu, g.psi)
    shift, sd = surprises(latent, block.mask, g.W, g.psi)
    size = np.abs(shift) / sd
    seen = np.full(block.rows, block.x.shape[1]) if block.mask is None else block.mask.sum(axis=1)
    if block.mask is not None:
        size = np.where(block.mask, size, -1.0)
    worst = np.argmax(size, axis=1)
    at = np.arange(block.rows), worst
    rank = np.minimum(rank, seen)
    return RowDistances(
        D2, T2, np.where(seen > rank, Q, 0.0), rank, seen, worst, shift[at] / sd[at], shift[at], sd[at], raw.x[at]
    )


def p_value(value: Array, dof: NDArray[Any]) -> Array:
    """Upper tail of chi-square; a law without degrees of freedom has p = 1."""
    return np.where(dof > 0, chdtrc(np.maximum(dof, 1), np.maximum(value, 0.0)), 1.0)


def laws(rows: RowDistances) -> tuple[Law, Law, Law]:
    """D2, T2 and Q of these rows with their chi-square laws."""
    D2, T2, Q = (
        Law(value, dof, p_value(value, dof))
        for value, dof in ((rows.D2, rows.seen), (rows.T2, rows.rank), (rows.Q, rows.seen - rows.rank))
    )
    return D2, T2, Q


def false_discovery(p: Array, rate: float) -> NDArray[np.bool_]:
    """Benjamini and Hochberg's step-up rule: at most `rate` of the rows it picks are false on average.

    >>> false_discovery(np.array([0.001, 0.04, 0.2, 0.011]), 0.05).tolist()
    [True, False, False, True]
    """
    order = np.sort(p)
    under = np.flatnonzero(order <= rate * np.arange(1, len(p) + 1) / max(len(p), 1))
    limit = order[under[-1]] if len(under) else -1.0
    return np.asarray(p <= limit)


# the public face --------------------------------------------------------------------------------------
def odd_rows(
    table: Any,
    *,
    dims: int | str = "auto",
    odd_level: float = 0.95,
    standardize: bool | None = None,
    random_state: Any = 0,
) -> OddRows:
    """The odd rows of a table, each with its reason: what `lowdim odd` prints.

    Parameters
    ----------
    table : path, data frame, array or Table
        Gaps are welcome.
    dims : int or "auto", default "auto"
        Dimensions of the probabilistic PCA that says what to expect; "auto" asks the jury.
    odd_level : float, default 0.95
        1 - odd_level is the false discovery rate.
    standardize : bool, optional
        Whether columns count in units of their spread: as the table was read, True for an array.
    random_state : int, default 0
        Seed of the jury.

    Returns
    -------
    OddRows
        `.rows` are the odd ones, oddest first; `.at(0.99)` the same at another level, `.text()` the table.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((60, 1)) * np.ones(4) + 0.1 * np.sin(np.arange(240)).reshape(60, 4)
    >>> X[7, 2] += 5.0
    >>> [(r.row, r.column) for r in odd_rows(X, dims=1).rows]
    [(7, 'c3')]
    """
    from lowdim.judge.dimensions.jury import choose_dimension
    from lowdim.judge.table_input import numbers_of
    from lowdim.models.linear.ppca import ProbabilisticPCA

    check_level(odd_level, "odd_level")
    X, unit, t = numbers_of(table, standardize)
    if dims == "auto":
        dims = min(choose_dimension(X, standardize=unit, random_state=random_state).q, X.d - 1)
    model = ProbabilisticPCA(dims, standardize=unit).fit(X, sample_weight=None if t is None else t.weight)  # type: ignore[arg-type]
    return judge_rows(model, X, odd_level=odd_level, row_names=None if t is None else t.row_names)


def judge_rows(model: LinearGaussian, X: Any, *, odd_level: float = 0.95, row_names: Any = None) -> OddRows:
    """The rows a fitted linear-Gaussian model finds odd, each with its one-sentence reason.

    Rows are picked on D2 by Benjamini and Hochberg's rule at rate 1 - odd_level. All three distances know the
    row's gaps. The reason names the cell that disagrees most with the rest of its row, and what hiding it does.

    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> X = np.random.default_rng(0).standard_normal((60, 1)) * np.ones(4) + 0.1 * np.sin(np.arange(240)).reshape(60, 4)
    >>> X[7, 2] += 5.0
    >>> found = judge_rows(ProbabilisticPCA(1).fit(X), X)
    >>> [(r.row, r.column) for r in found.rows]
    [(7, 'c3')]
    """
    check_level(odd_level, "odd_level")
    source = model.arrange(X)
    g = framed_gaussian(model)
    parts = [part for _, part in walk(partial(judge_block, g), source, Run())]
    if not parts:
        raise error("LD160", n=0, least=1)
    rows = RowDistances(*(np.concatenate(piece) for piece in zip(*parts, strict=True)))
    return picked(*laws(rows), JudgedRows(rows, source.columns, g.frame.scale, row_names), odd_level)


def picked(D2: Law, T2: Law, Q: Law, judged: JudgedRows, odd_level: float) -> OddRows:
    """The rows whose D2 Benjamini and Hochberg's rule picks at rate 1 - odd_level, oddest first, with their reasons."""
    check_level(odd_level, "odd_level")
    seen, rate = judged.rows.seen, 1.0 - odd_level
    odd = false_discovery(D2.p, rate) & (seen > 0)
    order = [int(k) for k in np.lexsort((-D2.value, D2.p)) if odd[k]]  # far rows may share p = 0
    cards = tuple(odd_row(k, judged, (D2, T2, Q), rate) for k in order)
    return OddRows(
        D2,
        T2,
        Q,
        seen,
        len(judged.columns),
        odd_level,
        odd,
        cards,
        int((D2.p < rate).sum()),
        rate * float((seen > 0).sum()),
        judged,
    )


def odd_row(k: int, judged: JudgedRows, laws: tuple[Law, Law, Law], rate: float) -> OddRow:
    """One odd row with its reason."""
    (D2, T2, Q), rows, columns = laws, judged.rows, judged.columns
    value, j, seen = float(rows.value[k]), int(rows.culprit[k]), int(rows.seen[k])
    unit = float(judged.scale[j])
    shift, sd, surprise = float(rows.shift[k]) / unit, float(rows.sd[k]) / unit, float(rows.surprise[k])
    left = max(float(rows.D2[k]) - surprise**2, 0.0)
    p_hidden = float(p_value(np.array(left), np.array(seen - 1)))
    defined = bool(Q.dof[k] > 0)
    if far_out(p_hidden, float(Q.p[k]) if defined else None, rate):
        reason = (
            f"far out on the map (T2 p {_p(float(T2.p[k]))}), where its cells agree with each other "
            f"(Q p {_p(float(Q.p[k]))}): no single cell explains it"
        )
    else:
        reason = (
            f"{columns[j]} {figures_by_sd(value, sd, 4)}, expected {figures_by_sd(value - shift, sd)} "
            f"+- {figures(sd, 2)} ({surprise:+.1f} sd); " + _hidden(p_hidden, rate)
        )
    if not defined:
        reason += "; Q is not defined: no more seen cells than dimensions"
    return OddRow(
        k,
        _row_name(k, judged.row_names),
        seen,
        float(rows.D2[k]),
        float(D2.p[k]),
        float(rows.T2[k]),
        float(T2.p[k]),
        float(rows.Q[k]) if defined else None,
        float(Q.p[k]) if defined else None,
        columns[j],
        value,
        value - shift,
        sd,
        surprise,
        p_hidden,
        reason,
    )


def disagrees(column: str, value: float, expected: float, sd: float) -> str:
    """'bf_cm_ratio is 121.7; the rest of the row says 78.3, sd 6.5'"""
    says = f"{figures_by_sd(expected, sd)}, sd {figures(sd, 2)}"
    return f"{column} is {figures_by_sd(value, sd, 4)}; the rest of the row says {says}"


def far_out(p_hidden: float, p_Q: float | None, rate: float = 0.05) -> bool:
    """Whether a row is odd by its place on the map alone: its cells agree, and hiding one does not help."""
    return p_hidden < rate and p_Q is not None and p_Q >= rate


def _hidden(p: float, rate: float) -> str:
    if p >= rate:
        return f"hide that cell and the row is ordinary (p {_p(p)})"
    return f"hide that cell and the row is still odd (p {_p(p)}): more than one cell disagrees"


def explain_row(model: LinearGaussian, X: Any, row: int, *, odd_level: float = 0.95, row_names: Any = None) -> RowCard:
    """Every cell of one row beside what its other cells say, and a small set that makes the row ordinary.

    The set is found greedily: hide the most surprising cell, look again, until p >= 1 - odd_level.

    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> X = np.random.default_rng(0).standard_normal((60, 1)) * np.ones(4) + 0.1 * np.sin(np.arange(240)).reshape(60, 4)
    >>> X[7, 2] += 5.0
    >>> explain_row(ProbabilisticPCA(1).fit(X), X, 7).hide
    ('c3',)
    """
    check_level(odd_level, "odd_level")
    source = model.arrange(X)
    if not 0 <= row < source.n:
        raise error("LD210", option="row", value=row, allowed=f"a row from 0 to {source.n - 1}")
    g, raw = framed_gaussian(model), source.block_of(slice(row, row + 1), row)
    block = g.inward(raw)
    mask = np.ones_like(block.x, dtype=bool) if block.mask is None else block.mask
    block = block._replace(mask=mask)
    D2, T2, Q, rank, latent = distances(block, g.W, g.mu, g.psi)
    cells = _cells(g, raw, block, latent, source.columns)
    seen, dof = int(mask.sum()), int(min(rank[0], mask.sum()))
    p, p_T2, p_Q = (float(p_value(a, np.array(k))[0]) for a, k in ((D2, seen), (T2, dof), (Q, seen - dof)))
    hidden, after = _ordinary(block, g, 1.0 - odd_level)
    name, hide, defined = _row_name(row, row_names), tuple(source.columns[j] for j in hidden), seen > dof
    return RowCard(
        row,
        name,
        cells,
        float(D2[0]),
        p,
        float(T2[0]),
        p_T2,
        dof,
        float(Q[0]) if defined else None,
        p_Q if defined else None,
        seen,
        hide,
        after,
        _sentence(name, cells, hide, p, after),
    )


def _cells(g: FramedGaussian, raw: Block, block: Block, latent: Latent, names: tuple[str, ...]) -> tuple[RowCell, ...]:
    """Every cell of the one row of a block, which has a mask."""
    assert block.mask is not None
    mask = block.mask[0]
    shift, sd = surprises(latent, block.mask, g.W, g.psi)
    expected = g.frame.outward(np.where(mask, block.x - shift, latent.mean @ g.W.T + g.mu))[0]
    unit_sd, size = (sd / g.frame.scale)[0], (shift / sd)[0]
    return tuple(
        RowCell(
            name,
            float(raw.x[0, j]) if mask[j] else None,
            float(expected[j]),
            float(unit_sd[j]),
            float(size[j]) if mask[j] else None,
        )
        for j, name in enumerate(names)
    )


def _ordinary(block: Block, g: FramedGaussian, rate: float) -> tuple[list[int], float]:
    """Cells hidden one after the other, the most surprising first, until the row is ordinary; and its p then."""
    hidden: list[int] = []
    assert block.mask is not None
    while True:
        D2, _, _, _, latent = distances(block, g.W, g.mu, g.psi)
        p = float(p_value(D2, block.mask.sum(axis=1))[0])
        if p >= rate:
            return hidden, p
        shift, sd = surprises(latent, block.mask, g.W, g.psi)
        j = int(np.argmax(np.where(block.mask, np.abs(shift) / sd, -1.0)))
        hidden.append(j)
        mask = block.mask.copy()
        mask[0, j] = False
        block = block._replace(mask=mask, x=np.where(mask, block.x, 0.0))


def _sentence(name: str, cells: tuple[RowCell, ...], hide: tuple[str, ...], p: float, after: float) -> str:
    if not hide:
        return f"Row {name} is ordinary (p {_p(p)})."
    worst = next(c for c in cells if c.column == hide[0])
    assert worst.value is not None
    says = disagrees(worst.column, worst.value, worst.expected, worst.sd)
    which = "that cell" if len(hide) == 1 else f"these {len(hide)} cells: {', '.join(hide)}"
    then = f"Hide {which}, and the row is ordinary (p {_p(after)})"
    return f"Row {name} is unlike what the model expects (p {_p(p)}): {says}. {then}."


def _row_name(k: int, names: Any) -> str:
    return str(k + 1) if names is None else str(names[k])


def _p(p: float) -> str:
    return "0" if p == 0.0 else f"{p:.0e}".replace("e-0", "e-") if p < 1e-3 else f"{p:.2g}"


def check_level(level: float, option: str = "level") -> None:
    """A level is a share between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise error("LD210", option=option, value=level, allowed="a number between 0 and 1, such as 0.95")
