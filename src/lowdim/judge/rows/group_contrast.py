"""What sets some rows apart from the others: axes and columns in which their means differ.

Each axis and each column is tested by itself (Student's t with the spread pooled, on the seen cells), with one
false discovery rate over all of them. Means are stated in the table's units, each with its interval (of logarithms they
are geometric means), differences in units of the other rows' spread, or of the spread within both where the others are
all alike. The mean of zeros and ones is a share of the rows and has Wilson's interval. A group that was found in
these columns differs in them by the way it was found: it gets intervals and no p-values.

Reference: Student, Biometrika 6 (1908); Wilson, Journal of the American Statistical Association 22 (1927); Benjamini
and Hochberg (1995).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from lowdim.judge.labels import SharedValue, commonest_values
from lowdim.judge.outliers.law import false_discovery
from lowdim.maths.linalg import Array
from lowdim.text.messages import error
from lowdim.text.table import text_table

FALSE_DISCOVERY_RATE = 0.05
NAMED_COLUMNS = 4  # columns named in the sentence
LEAST_CELLS = 2  # seen cells on each side that a difference needs
LISTED_LABELS = 6
PICKED = "p is that of a group picked without looking at these columns or the map."
FOUND = "The group was found in these columns, so that p-values would not hold; intervals say how well means are known."


class GroupDifference(NamedTuple):
    """One axis or column: the group's mean, the others', and how surely they differ."""

    name: str
    group: float  # in the table's units
    others: float
    difference: float  # in standard deviations of the others
    p: float | None  # None where too few cells are seen to tell
    low: float | None  # ends of the difference's 95 % interval; None where it has none
    high: float | None
    differs: bool  # at a false discovery rate of 5 % over all axes and columns
    group_low: float | None = None  # ends of the means' 95 % intervals; None where they have none
    group_high: float | None = None
    others_low: float | None = None
    others_high: float | None = None
    answer: bool = False  # whether it is a label that a row has or has not, so that means are shares of the rows

    @property
    def words(self) -> str:
        """'b is higher (+3.0 sd)', of a label 'outcome=died is rarer (0% against 37%)'."""
        more = self.group > self.others
        if self.answer:
            how = "more frequent" if more else "rarer"
            return f"{self.name} is {how} ({self.group:.0%} against {self.others:.0%})"
        size = self.size or f"{self.group:.4g} against {self.others:.4g}"
        return f"{self.name} is {'higher' if more else 'lower'} ({size})"

    @property
    def size(self) -> str:
        """The difference in standard deviations; nothing where both sides are all alike and have none."""
        return "" if self.difference == 0.0 and self.group != self.others else f"{self.difference:+.1f} sd"

    @property
    def means(self) -> tuple[str, str, str, str]:
        """The means of the group and of the others, each with its interval in words."""
        ends = ((self.group_low, self.group_high), (self.others_low, self.others_high))
        as_told = "{:.0%}" if self.answer else "{:.4g}"
        of_group, of_others = (
            "" if a is None or b is None else f"{as_told.format(a)} to {as_told.format(b)}" for a, b in ends
        )
        return as_told.format(self.group), of_group, as_told.format(self.others), of_others


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
    labels: tuple[SharedValue, ...] = ()  # what most of its rows are in each label, those first that tell it best
    about: str = ""  # which of the groups it is that the rows fall into; "" where a person picked it

    def __repr__(self) -> str:
        """At most four lines: which group, what sets it apart, and where the rest is."""
        return "\n".join(filter(None, (self.about, self.sentence, ".text(), .columns, .axes, .labels")))

    def text(self, *, most: int = 12) -> str:
        """The table of `lowdim explain --group`."""
        shown = [*self.axes, *self.columns[:most]]
        head = ("", "group", "95% interval", "others", "95% interval", "difference", "95% interval")
        rows = list[tuple[str, ...]]([head if self.about else (*head, "p")])
        for a in shown:
            p = "too few cells" if a.p is None else f"{a.p:.2g}{'' if a.differs else '   not sure'}"
            ends = "" if a.low is None or a.high is None else f"{a.low:+.2f} to {a.high:+.2f}"
            line = (a.name, *a.means, a.size and f"{a.difference:+.2f} sd", ends)
            rows.append(line if self.about else (*line, p))
        lines = [*filter(None, (self.about, self.sentence)), "", *text_table(rows, right=tuple(range(1, 7)))]
        if len(self.columns) > most:
            lines.append(f"  and {len(self.columns) - most} more columns")
        lines += [f"  label {value.words}, of {value.rows:,} in all" for value in self.labels[:LISTED_LABELS]]
        return "\n".join([*lines, f"  {FOUND if self.about else PICKED}"])


def set_apart(
    X: Array,
    names: Sequence[str],
    scores: Array,
    rows: Sequence[int] | NDArray[np.intp],
    *,
    labels: Mapping[str, Any] | None = None,
    outward: Callable[[Array], Array] | None = None,
    answers: Collection[str] = (),
) -> GroupCard:
    """What sets the rows (positions from 0) apart from all others, and what most of them are by `labels` (name -> one
    value a row); `outward` turns numbers of the columns into the table's units. `answers` are the columns that say by 1
    and 0 which rows have a label.

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
    every = np.column_stack([scores, X]).T
    facts = [compare_means(column, inside) for column in every]
    p = np.array([1.0 if fact.p is None else fact.p for fact in facts])
    differs = false_discovery(p, FALSE_DISCOVERY_RATE) & np.array([fact.p is not None for fact in facts])
    # means and their ends, three lines for each side, in the table's units
    of_answers = [False] * q + [name in answers for name in names]
    yes_no = [bool(np.isin(column[~np.isnan(column)], (0.0, 1.0)).all()) for column in every]
    ends_of = [share_with_ends if shares else mean_with_ends for shares in yes_no]
    sides = [
        np.array([of(column[part]) for of, column in zip(ends_of, every, strict=True)]).T for part in (inside, ~inside)
    ]
    if outward is not None:
        sides = [np.column_stack([side[:, :q], outward(side[:, q:])]) for side in sides]
    made = []
    for k, (name, fact) in enumerate(zip([*(f"axis {k + 1}" for k in range(q)), *names], facts, strict=True)):
        (group, *own), (others, *theirs) = (side[:, k].tolist() for side in sides)
        low, high, others_low, others_high = (None if end != end else end for end in (*own, *theirs))
        fact = fact._replace(group=group, others=others)
        made.append(
            GroupDifference(
                name,
                *fact,
                differs=bool(differs[k]),
                group_low=low,
                group_high=high,
                others_low=others_low,
                others_high=others_high,
                answer=of_answers[k],
            )
        )
    columns = sorted(made[q:], key=lambda a: (1.0 if a.p is None else a.p, -abs(a.difference)))
    where = tuple(int(k) for k in np.flatnonzero(inside))
    shared = commonest_values(inside, labels or {})
    return GroupCard(where, tuple(made[:q]), tuple(columns), sentence(len(where), columns), shared)


def mean_with_ends(values: Array) -> tuple[float, float, float]:
    """The mean of the seen values and the ends of its 95 % interval by Student's t; NaN where there are none."""
    x = values[~np.isnan(values)]
    if not len(x):
        return 0.0, np.nan, np.nan
    if len(x) < LEAST_CELLS:
        return float(x[0]), np.nan, np.nan
    half = float(stdtrit(len(x) - 1, 0.975) * x.std(ddof=1) / np.sqrt(len(x)))
    return float(x.mean()), float(x.mean()) - half, float(x.mean()) + half


def share_with_ends(values: Array) -> tuple[float, float, float]:
    """The share of ones among the seen values and the ends of its 95 % interval by Wilson; NaN where there are none.

    >>> tuple(round(end, 3) for end in share_with_ends(np.ones(94)))
    (1.0, 0.961, 1.0)
    """
    x = values[~np.isnan(values)]
    if not len(x):
        return 0.0, np.nan, np.nan
    p, n, z2 = float(x.mean()), len(x), float(ndtri(0.975)) ** 2
    middle, half = p + z2 / (2 * n), float(np.sqrt(z2 * (p * (1 - p) + z2 / (4 * n)) / n))
    return p, max((middle - half) / (1 + z2 / n), 0.0), min((middle + half) / (1 + z2 / n), 1.0)


def compare_means(values: Array, inside: NDArray[np.bool_]) -> MeanComparison:
    """Mean of the group and of the others, their difference in the others' spreads, Student's p and its interval."""
    seen = ~np.isnan(values)
    a, b = values[seen & inside], values[seen & ~inside]
    if not len(a) or not len(b):
        return MeanComparison(
            float(a.mean()) if len(a) else 0.0, float(b.mean()) if len(b) else 0.0, 0.0, None, None, None
        )
    gap, spread = float(a.mean() - b.mean()), float(b.std(ddof=1)) if len(b) > 1 else 0.0
    if spread == 0.0 and len(a) + len(b) > 2:
        spread = float(np.sqrt((a.var() * len(a) + b.var() * len(b)) / (len(a) + len(b) - 2)))
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
    words = [a.words for a in found]
    more = sum(a.differs for a in columns) - len(found)
    return f"What sets {which} apart: {', '.join(words)}{f' and {more} more' if more else ''}."
