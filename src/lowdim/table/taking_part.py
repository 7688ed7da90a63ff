"""Which columns take part in the map.

**What measures a degree takes part: amounts, counts, grades, answers of yes or no. Words that only name take part where
three or more columns hold them; one or two of them, and numbers that are classes, are labels, which the map explains.**

Amounts and counts are told from codes in `kinds.py`. Here codes of few levels are parted into grades and classes, and
columns of words into grades, answers, names that take part, and labels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.table.column import Column
from lowdim.table.grades import grades_of, is_numbered, is_yes_no, letters_in_a_row, steps_of_one_name

LEAST_NOMINAL = 3  # columns that name, with three labels or more each, from which all such columns take part
MOST_NOMINAL, ROWS_A_NAME = 30, 25  # labels of a column that names: more, or fewer rows to each, name the rows
LEAST_OTHERS, LEAST_OTHER_SHARE = 5, 0.05  # rows without the commonest label or answer: fewer tell little
LEAST_SAME_ANSWERS = 5  # columns of the same two words, which are then answers
LEAST_TRIED = 10  # rows of each level, on average, from which other columns say whether levels have an order
MOST_TRIED = 2_000  # rows that are looked at for that
ALONG_ORDER = 0.5  # of the differences between levels, that must go along their order
SURE = 4.0  # standard errors beyond which the others are none of chance


# codes in numbers ---------------------------------------------------------------------------------------------------
def is_class(x: Array, others: Array) -> bool:
    """Whether whole numbers are classes and no grades: equally many rows of each, as designed; or levels that differ
    along the other columns (normal scores, 0 at gaps), but mostly not in their order; or hardly any row but of one.

    >>> rng = np.random.default_rng(0)
    >>> level = rng.integers(1, 4, 90) * 1.0
    >>> other = np.array([0.0, 2.0, -2.0])[level.astype(int) - 1] + rng.standard_normal(90)
    >>> is_class(level, other[:, None]), is_class(level, (level + rng.standard_normal(90))[:, None])
    (True, False)
    """
    levels, times = np.unique(x[~np.isnan(x)], return_counts=True)
    if _is_rare(times):
        return True
    if len(levels) < 3:
        return False
    designed = bool((times == times[0]).all()) and int(times[0]) >= LEAST_TRIED
    return designed or not lie_in_order(x, others)


def lie_in_order(x: Array, others: Array, *, surely: bool = False) -> bool:
    """Whether levels lie in their order along other columns, as far as these tell them apart at all; or `surely`."""
    seen = np.flatnonzero(~np.isnan(x))
    seen = seen[np.linspace(0, len(seen) - 1, min(len(seen), MOST_TRIED)).astype(np.intp)] if len(seen) else seen
    levels, at = np.unique(x[seen], return_inverse=True)
    n, u, m = len(seen), len(levels), others.shape[1]
    if not m or u < 3 or n < LEAST_TRIED * u:
        return not surely
    Z = others[seen] - others[seen].mean(axis=0)
    ones = np.eye(u)[at]
    times = ones.sum(axis=0)
    means = (ones.T @ Z) / times[:, None]
    between = (times[:, None] * means**2).sum(axis=0)
    rank = np.arange(u) - at.mean()
    line = (times * rank) @ means / np.sqrt((times * rank**2).sum())
    noise = np.maximum(((Z**2).sum(axis=0) - between) / max(n - u, 1), 1e-12)
    along = float((line**2 / noise - 1.0).sum())
    across = float(((between - line**2) / noise - (u - 2)).sum())
    error = m * np.sqrt(2.0 * (u - 2))  # of columns that go together, at the most
    if surely:
        return along > max(across, 0.0) and along > SURE * m * np.sqrt(2.0)
    return not (across > SURE * error and along < ALONG_ORDER * (along + across))


def normal_scores_of(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Each column by the ranks of its cells, 0 in the middle and at gaps, with a standard deviation of about 1."""
    scores = {}
    for name, x in columns.items():
        seen = ~np.isnan(x)
        _, at, times = np.unique(x[seen], return_inverse=True, return_counts=True)
        rank = (np.cumsum(times) - 0.5 * times)[at] / max(int(seen.sum()), 1) - 0.5
        scores[name] = np.zeros(len(x))
        scores[name][seen] = rank * np.sqrt(12.0)
    return scores


def beside(scores: Mapping[str, Array], name: str) -> Array:
    """The scores of all columns but one, n x others."""
    own = [x for other, x in scores.items() if other != name]
    return np.column_stack(own) if own else np.zeros((len(scores.get(name, ())), 0))


# columns of words ---------------------------------------------------------------------------------------------------
def graded(c: Column, order: tuple[str, ...], others: Array) -> tuple[str, ...]:
    """The labels of a column by their order, the lowest first: the `order` that its frame declares, that of words that
    say how much, or of letters and numbers where the other columns agree; none where they only name."""
    if order and len(c.labels) > 2 and set(c.labels) <= set(order):
        return tuple(label for label in order if label in c.labels)
    found = grades_of(c.labels)
    if found and is_numbered(c.labels) and not lie_in_order(c.values, others):
        return ()
    in_doubt = letters_in_a_row(c.labels) or steps_of_one_name(c.labels)
    if not found and in_doubt and lie_in_order(c.values, others, surely=True):
        return c.labels
    return found


def answering(free: Collection[Column]) -> set[str]:
    """The columns of two words that answer a question: yes or no, or the same two in five columns or more."""
    pairs: dict[tuple[str, ...], list[str]] = {}
    for c in free:
        if len(c.labels) == 2:
            pairs.setdefault(c.labels, []).append(c.name)
    several = {name for names in pairs.values() if len(names) >= LEAST_SAME_ANSWERS for name in names}
    return several | {c.name for c in free if is_yes_no(c.labels) and not _is_rare(_times(c))}


def naming(free: Collection[Column]) -> set[str]:
    """The columns of words that name and take part: all that have not too many labels, where three of them have three
    labels or more."""
    some = [c for c in free if _names_groups(c)]
    return {c.name for c in some} if sum(len(c.labels) > 2 for c in some) >= LEAST_NOMINAL else set()


def _names_groups(c: Column) -> bool:
    seen = int((~c.gaps).sum())
    return 2 <= len(c.labels) <= min(MOST_NOMINAL, seen // ROWS_A_NAME) and not _is_rare(_times(c))


def _times(c: Column) -> NDArray[np.intp]:
    """How many rows have each label."""
    return np.bincount(c.values[~c.gaps].astype(np.intp), minlength=1)


def _is_rare(times: NDArray[np.intp]) -> bool:
    """Whether hardly any row has another value than the commonest."""
    others = int(times.sum() - times.max())
    return others < max(LEAST_OTHERS, LEAST_OTHER_SHARE * int(times.sum()))
