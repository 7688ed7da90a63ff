"""How many dimensions are useful: a classifier or a regression on the first q positions, judged on rows left out.

The other way to choose a dimension: not what the columns share, but what a purpose needs. Everything is fitted to the
rows that are not left out: the axes, and then the rule that takes positions to the answer.

Reference: C. Morrison, Projection; Principal Components Analysis (2014), "How many dimensions?".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lowdim.judge.hidden_cells import left_out
from lowdim.judge.row_order import row_order
from lowdim.maths.linalg import Array
from lowdim.models.base.options import seed_of
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.projections.linear_discriminant import LinearDiscriminant
from lowdim.sources.views import gather
from lowdim.text.messages import error, no_warnings

MOST_CLASSES = 20  # different whole numbers beyond which they are quantities, not classes
USEFUL_FOLDS = 5
LEAST_ROWS = 20  # rows whose answer is known


class Utility(NamedTuple):
    """What the first 0, 1, 2, ... dimensions are worth for an answer that is known."""

    q: int  # the smallest number within one standard error of the best; 0 where that beats none by less than two
    best: int
    kind: str  # "classes" or "numbers"
    scores: tuple[float, ...]  # by q: the share of rows left out that get their class, or of their variance predicted
    lead: float  # of the best over q, in the same shares
    error: float  # its standard error, rows as pairs
    rows: int

    @property
    def sentence(self) -> str:
        """The number, what it achieves, and what the best does."""
        what = "of the classes of left-out rows" if self.kind == "classes" else "of the variance of left-out answers"
        head = f"{self.q} ({self.scores[self.q]:.0%} {what}"
        if self.best == self.q:
            return f"{head}; no other number does better)"
        ahead = f"{100 * self.lead:.1f} +- {100 * self.error:.1f} points more"
        return f"{head}; {self.best} {'has' if self.best == 1 else 'have'} {ahead})"


def utility(X: Any, y: Any, *, most: int, standardize: bool, folds: int | None, random_state: Any) -> Utility:
    """The number of dimensions that a classifier (y of classes) or a regression (y of numbers) needs."""
    rows, mask = gather(X)
    table = rows if mask is None else np.where(mask, rows, np.nan)
    answer, known = _answers(y, len(table))
    table, answer = table[known], answer[known]
    kind = "numbers" if answer.dtype.kind == "f" else "classes"
    if len(answer) < LEAST_ROWS or (kind == "classes" and len(set(answer)) < 2):
        words = f"at least {LEAST_ROWS} known answers, not all the same"
        raise error("LD210", option="y", value=f"{len(answer)} answers", allowed=words)
    top = min(most, table.shape[1] - 1, len(answer) // 2)
    with no_warnings():
        losses = _losses(table, answer, top, standardize, folds or USEFUL_FOLDS, seed_of(random_state))
    mean = losses.mean(axis=1)
    best = int(np.argmin(mean))
    ahead = losses - losses[best]
    lead, spread = ahead.mean(axis=1), ahead.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])
    q = int(np.argmax(lead <= spread)) if lead[0] > 2.0 * spread[0] else 0  # as the jury has it: or nothing is useful
    scores = tuple((1.0 - mean).tolist())
    return Utility(q, best, kind, scores, float(lead[q]), float(spread[q]), len(answer))


def _answers(y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The answers as texts or as floats, and which of them are known."""
    values = np.asarray(y)
    if values.shape != (n,):
        raise error("LD210", option="y", value=f"shape {values.shape}", allowed=f"one answer a row, {n} of them")
    if values.dtype.kind in "fiu":
        whole = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        if values.dtype.kind == "f" or len(np.unique(whole)) > MOST_CLASSES:
            return values.astype(np.float64), np.isfinite(values.astype(np.float64))
    texts = np.array([None if v is None or v != v else str(v) for v in values.tolist()], dtype=object)
    return texts, np.array([v is not None for v in texts])


def _losses(X: Array, y: NDArray[Any], most: int, standardize: bool, folds: int, seed: int) -> Array:
    """Of each number of dimensions and row what is lost: 1 for a wrong class; squared error over the variance."""
    classes = y.dtype.kind != "f"
    order = row_order(X, ~np.isnan(X), seed)
    if classes:  # of each class as many in every fold
        order = order[np.argsort(y[order].astype(str), kind="stable")]
    lost = np.empty((most + 1, len(y)))
    for out in left_out(len(y), folds):
        fitted, left = order[~out], order[out]
        varies = np.nanstd(X[fitted], axis=0) > 0.0
        model = ProbabilisticPCA(min(most, int(varies.sum()) - 1), standardize=standardize).fit(X[fitted][:, varies])
        Z, new = model.transform(X[fitted][:, varies]), model.transform(X[left][:, varies])
        for q in range(most + 1):
            lost[q, left] = (_wrong if classes else _squares)(Z[:, :q], y[fitted], new[:, :q], y[left])
    return lost if classes else lost / float(y.var())


def _wrong(Z: Array, y: NDArray[Any], new: Array, truth: NDArray[Any]) -> Array:
    names, counts = np.unique(y.astype(str), return_counts=True)
    if Z.shape[1] == 0 or len(names) < 2:
        return np.asarray(truth.astype(str) != names[counts.argmax()], dtype=np.float64)
    rule = clone(LinearDiscriminant()).fit(Z, y.astype(str))
    return np.asarray(rule.predict(new) != truth.astype(str), dtype=np.float64)


def _squares(Z: Array, y: NDArray[Any], new: Array, truth: NDArray[Any]) -> Array:
    A, B = (np.column_stack([np.ones(len(z)), z]) for z in (Z, new))
    return np.asarray((truth - B @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2)
