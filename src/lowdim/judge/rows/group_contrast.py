"""What sets some rows apart from the others: axes and columns in which their means differ.

Each axis and each column is tested by itself (Student's t with the spread pooled, on the seen cells), with one
false discovery rate over all of them. Differences are stated in units of the other rows' spread.

Reference: Student, Biometrika 6 (1908); Benjamini and Hochberg (1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from lowdim.judge.outliers.law import false_discovery
from lowdim.maths.linalg import Array
from lowdim.text.messages import error
from lowdim.text.table import text_table

FALSE_DISCOVERY_RATE = 0.05
NAMED_COLUMNS = 4  # columns named in the sentence
LEAST_CELLS = 2  # seen cells on each side that a difference needs


class GroupDifference(NamedTuple):
    """One axis or column: the group's mean, the others', and how surely they differ."""

    name: str
    group: float
    others: float
    difference: float  # in standard deviations of the others
    p: float | None  # None where too few cells are seen to tell
    low: float | None  # ends of the difference's 95 % interval; None where it has none
    high: float | None
    differs: bool  # at a false discovery rate of 5 % over all axes and columns


class MeanComparison(NamedTuple):
    """What one axis or column says by itself; the fields are those of GroupDifference."""

    group: float
    others: float
    difference: float
    p: float | None
    low: float | None
    high: float | None


class GroupCard(NamedTuple):
    """A group of rows beside all others."""

    rows: tuple[int, ...]  # positions from 0
    axes: tuple[GroupDifference, ...]
    columns: tuple[GroupDifference, ...]  # the surest difference first
    sentence: str

    def text(self, *, most: int = 12) -> str:
        """The table of `lowdim explain --group`."""
        shown = [*self.axes, *self.columns[:most]]
        rows = [("", "group", "others", "difference", "95% interval", "p")]
        for a in shown:
            p = "too few cells" if a.p is None else f"{a.p:.2g}{'' if a.differs else '   not sure'}"
            ends = "" if a.low is None or a.high is None else f"{a.low:+.2f} to {a.high:+.2f}"
            rows.append((a.name, f"{a.group:.4g}", f"{a.others:.4g}", f"{a.difference:+.2f} sd", ends, p))
        lines = [self.sentence, "", *text_table(rows, right=(1, 2, 3, 4))]
        if len(self.columns) > most:
            lines.append(f"  and {len(self.columns) - most} more columns")
        return "\n".join([*lines, "  p is that of a group picked without looking at these columns or the map."])


def set_apart(X: Array, names: Sequence[str], scores: Array, rows: Sequence[int] | NDArray[np.intp]) -> GroupCard:
    """What sets the rows (positions from 0) apart from all others.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 3))
    >>> X[:10, 1] += 3.0
    >>> set_apart(X, ("a", "b", "c"), X[:, :0], range(10)).sentence
    'What sets these 10 rows apart: b is higher (+3.2 sd).'
    """
    inside = np.zeros(len(X), dtype=bool)
    inside[np.asarray(rows, dtype=np.intp)] = True
    if not inside.any() or inside.all():
        raise error(
            "LD210",
            option="group",
            value=f"{int(inside.sum())} rows",
            allowed=f"some of the {len(X)} rows, not all and not none",
        )
    q = scores.shape[1]
    facts = [compare_means(column, inside) for column in np.column_stack([scores, X]).T]
    p = np.array([1.0 if fact.p is None else fact.p for fact in facts])
    differs = false_discovery(p, FALSE_DISCOVERY_RATE) & np.array([fact.p is not None for fact in facts])
    labels = [*(f"axis {k + 1}" for k in range(q)), *names]
    made = [GroupDifference(name, *fact, bool(real)) for name, fact, real in zip(labels, facts, differs, strict=True)]
    columns = sorted(made[q:], key=lambda a: (1.0 if a.p is None else a.p, -abs(a.difference)))
    where = tuple(int(k) for k in np.flatnonzero(inside))
    return GroupCard(where, tuple(made[:q]), tuple(columns), sentence(len(where), columns))


def compare_means(values: Array, inside: NDArray[np.bool_]) -> MeanComparison:
    """Mean of the group and of the others, their difference in the others' spreads, Student's p and its interval."""
    seen = ~np.isnan(values)
    a, b = values[seen & inside], values[seen & ~inside]
    if not len(a) or not len(b):
        return MeanComparison(
            float(a.mean()) if len(a) else 0.0, float(b.mean()) if len(b) else 0.0, 0.0, None, None, None
        )
    gap, spread = float(a.mean() - b.mean()), float(b.std(ddof=1)) if len(b) > 1 else 0.0
    size = gap / spread if spread > 0 else 0.0
    found = MeanComparison(float(a.mean()), float(b.mean()), size, None, None, None)
    if len(a) < LEAST_CELLS or len(b) < LEAST_CELLS:
        return found
    dof = len(a) + len(b) - 2
    pooled = ((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / dof
    if pooled == 0.0:
        return found._replace(p=1.0 if gap == 0 else 0.0)
    error = np.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    half = float(stdtrit(dof, 0.975) * error / spread) if spread > 0 else 0.0
    return found._replace(p=float(2.0 * stdtr(dof, -abs(gap) / error)), low=size - half, high=size + half)


def sentence(many: int, columns: list[GroupDifference]) -> str:
    """'What sets these 10 rows apart: b is higher (+3.0 sd).'"""
    which = "this row" if many == 1 else f"these {many:,} rows"
    found = [a for a in columns if a.differs][:NAMED_COLUMNS]
    if not found:
        return f"No column sets {which} apart at a 5% false discovery rate."
    words = [f"{a.name} is {'higher' if a.difference > 0 else 'lower'} ({a.difference:+.1f} sd)" for a in found]
    more = sum(a.differs for a in columns) - len(found)
    return f"What sets {which} apart: {', '.join(words)}{f' and {more} more' if more else ''}."
