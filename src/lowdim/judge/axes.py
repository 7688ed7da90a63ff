"""What drives each axis: loadings with bootstrap intervals, labels tied to it, rows at its ends.

An axis of the map is a sum of columns with signs. Each loading gets an interval from refits to resampled
rows (`stability.refits`), matched to the fitted axes by order and sign. Two axes whose variances differ
by less than resampling moves the difference are interchangeable: only their plane is determined, so
refits are turned onto the fitted ones within it, and the card says so.

Reference: Gabriel (1971) for loadings; Efron and Tibshirani (1993), ch. 13 for percentile intervals;
North et al. (1982) for nearly equal eigenvalues; Benjamini and Hochberg (1995) for many labels at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import fdtrc

from lowdim.judge.cells import framed_gaussian
from lowdim.judge.outliers.law import false_discovery
from lowdim.judge.rows.axis_groups import ApartRows, rows_apart
from lowdim.judge.stability import Refits, refits
from lowdim.maths.linalg import Array, align
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.text.format import count, listing
from lowdim.text.messages import check_level
from lowdim.text.table import text_table

MOST_NAMED = 4  # columns an axis is named after, at the most
NEAR_LARGEST = 0.5  # of the largest loading: what a column needs to be one of them
END_ROWS = 3  # rows shown at each end
FALSE_DISCOVERY_RATE = 0.05  # false discovery rate of label ties


class Loading(NamedTuple):
    """One column's loading on one axis, with its bootstrap interval."""

    column: str
    value: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether its sign is."""
        return self.low > 0.0 or self.high < 0.0


class LabelTie(NamedTuple):
    """How far a label's groups differ along an axis: share of variance between groups, and its F-test."""

    label: str
    eta2: float
    groups: int
    p: float
    tied: bool  # at a false discovery rate of 5 % over all labels and axes


class AxisCard(NamedTuple):
    """One axis."""

    axis: int  # from 1
    share: float  # of the table's variation
    loadings: tuple[Loading, ...]  # every column, in the table's order
    top: tuple[Loading, ...]  # those the axis is named after, largest first
    interchangeable: tuple[int, ...]  # axes that share a plane with this one, itself included; () if none
    labels: tuple[LabelTie, ...]
    low_rows: tuple[int, ...]  # positions from 0 of the rows at the negative end, furthest first
    high_rows: tuple[int, ...]
    level: float
    refits: int
    sentence: str
    apart: ApartRows | None = None  # the few rows that alone make it, or a line between it and others

    def apart_words(self, row_names: Sequence[str] | None = None) -> str:
        """Which few rows make the axis, "" where none do; without names, how many."""
        if self.apart is None:
            return ""
        which = "" if row_names is None else f" (rows {listing(row_names[i] for i in self.apart.rows)})"
        *some, last = map(str, self.apart.axes)
        line = f"a line between axes {', '.join(some)} and {last}" if some else f"axis {last}"
        made = f"{count(len(self.apart.rows), 'row')} make {line}"
        return f"{made}: {100 * self.apart.share:.0f}% of it is how far they lie from all others{which}."

    def text(self, row_names: Sequence[str] | None = None) -> str:
        """The card of `lowdim explain --axis`."""
        apart = [f"  {words}"] if (words := self.apart_words(row_names)) else []
        rows = [("column", "loading", f"{100 * self.level:.3g}% of {self.refits} refits", "")]
        for c in sorted(self.loadings, key=lambda c: -abs(c.value)):
            rows.append(
                (c.column, f"{c.value:+.2f}", f"{c.low:+.2f} .. {c.high:+.2f}", "" if c.sure else "sign not sure")
            )
        lines = [self.sentence, *apart, *text_table(rows, right=(1,))]
        lines += [
            f"  label {t.label}: {100 * t.eta2:.0f}% of the axis lies between its {t.groups} groups (p {t.p:.1g})"
            for t in self.labels
            if t.tied
        ]
        return "\n".join(lines)


# matching refits ----------------------------------------------------------------------------------------
def interchangeable(model: LinearGaussian, resampled_fits: Refits) -> tuple[tuple[int, ...], ...]:
    """Groups of neighbouring axes whose variances resampling cannot tell apart, positions from 0.

    Each refit is turned onto the fitted W as a whole, so the variances along the *fitted* directions can be
    compared without the sorting that keeps the eigenvalues of a resampled table apart.
    """
    g = framed_gaussian(model)
    W, psi, q = g.W, g.psi, g.W.shape[1]
    if q < 2 or len(resampled_fits.W) < 2 or not np.array_equal(model.latent_axes(), np.eye(q)):
        return ()  # rotated axes are told apart by the rotation
    each = np.std(psi) > 1e-9 * np.mean(psi)  # factor analysis orders its axes by noise-scaled variance
    unit = 1.0 / np.sqrt(psi) if each else np.ones(len(psi))
    return tied_axes(W, resampled_fits.W, unit)


def tied_axes(W: Array, resampled: Array, unit: Array | float = 1.0) -> tuple[tuple[int, ...], ...]:
    """Groups of neighbouring axes that resampled weights, in these units, cannot tell apart."""
    q, unit = W.shape[1], np.broadcast_to(unit, len(W))
    value = ((W * unit[:, None]) ** 2).sum(axis=0)
    turned = np.array([((align(Wb, W) * unit[:, None]) ** 2).sum(axis=0) for Wb in resampled])
    groups, start = [], 0
    for k in range(1, q + 1):
        # against the first of the group, not the neighbour: a long chain of small steps is no tie
        if k < q and value[start] - value[k] < 2.0 * (turned[:, start] - turned[:, k]).std():
            continue
        groups += [tuple(range(start, k))] if k - start > 1 else []
        start = k
    return tuple(groups)


def matched(W: Array, Wb: Array, groups: tuple[tuple[int, ...], ...]) -> Array:
    """A refit's axes in the fitted order and signs, turned within groups of interchangeable axes."""
    size = np.linalg.norm(W, axis=0)[:, None] * np.linalg.norm(Wb, axis=0)
    cosine = (W.T @ Wb) / np.where(size > 0, size, 1.0)
    _, order = linear_sum_assignment(-np.abs(cosine))
    sign = np.where(cosine[np.arange(len(order)), order] < 0, -1.0, 1.0)
    out = Wb[:, order] * sign
    for group in groups:
        at = list(group)
        out[:, at] = align(out[:, at], W[:, at])
    return out


def intervals(
    model: LinearGaussian, resampled_fits: Refits, groups: tuple[tuple[int, ...], ...], level: float
) -> Array:
    """Lower and upper ends of every loading in reported units, 2 x d x q."""
    g, T = framed_gaussian(model), model.latent_axes()
    W = g.W
    back = np.linalg.pinv(T).T
    plain = np.array_equal(T, np.eye(len(T)))
    loadings = np.array([(matched(W, Wb, groups) if plain else align(Wb, W) @ back) for Wb in resampled_fits.W])
    scale = g.frame.report[:, None]
    if not len(loadings):
        loadings = (W @ back if not plain else W)[None]
    return np.quantile(loadings * scale, [(1 - level) / 2, (1 + level) / 2], axis=0)


# labels -------------------------------------------------------------------------------------------------
def eta_squared(score: Array, label: NDArray[Any]) -> tuple[float, int, float] | None:
    """Share of a score's variance between a label's groups, the number of groups, and the F-test's p.

    None where the label cannot be tested: fewer than two groups, or more groups than half the rows.

    >>> eta2, groups, p = eta_squared(np.array([1.0, 1.1, 3.0, 3.1, 0.9]), np.array(list("aabba")))
    >>> round(eta2, 3), groups, round(p, 4)
    (0.995, 2, 0.0001)
    """
    names = np.array(["" if v is None or v != v else str(v) for v in label.tolist()])
    known = names != ""
    score, names = score[known], names[known]
    groups, at = np.unique(names, return_inverse=True)
    n, g = len(score), len(groups)
    if g < 2 or 2 * g > n:
        return None
    count = np.bincount(at)
    mean = np.bincount(at, weights=score) / count
    between = float((count * (mean - score.mean()) ** 2).sum())
    within = float(((score - mean[at]) ** 2).sum())
    total = between + within
    if total == 0.0:
        return None
    F = (between / (g - 1)) / (within / (n - g)) if within > 0 else np.inf
    return between / total, g, float(fdtrc(g - 1, n - g, F)) if np.isfinite(F) else 0.0


def label_ties(scores: Array, labels: Mapping[str, Any]) -> tuple[tuple[LabelTie, ...], ...]:
    """For every axis its ties to labels, the strongest first; one false discovery rate over all of them."""
    tests = [
        (k, name, eta_squared(scores[:, k], np.asarray(values, dtype=object)))
        for k in range(scores.shape[1])
        for name, values in labels.items()
    ]
    done = [(k, name, test) for k, name, test in tests if test is not None]
    tied = false_discovery(np.array([test[2] for _, _, test in done]), FALSE_DISCOVERY_RATE)
    ties: list[list[LabelTie]] = [[] for _ in range(scores.shape[1])]
    for (k, name, (eta2, groups, p)), real in zip(done, tied, strict=True):
        ties[k].append(LabelTie(name, eta2, groups, p, bool(real)))
    return tuple(tuple(sorted(axis, key=lambda t: (t.p, -t.eta2))) for axis in ties)


# the public face ----------------------------------------------------------------------------------------
def axes(
    model: LinearGaussian,
    X: Any,
    *,
    labels: Mapping[str, Any] | None = None,
    resampled_fits: Refits | None = None,
    bootstraps: int = 100,
    level: float = 0.9,
    random_state: Any = 0,
) -> tuple[AxisCard, ...]:
    """A card for every axis of a fitted linear-Gaussian model: what it is made of, and how surely.

    `labels` are columns that did not shape the axes, name -> one value a row. `resampled_fits` are refits made
    before (`stability.refits`).

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 1)) * [1.2, 1.0, -0.8, 0.0] + 0.2 * rng.standard_normal((100, 4))
    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> axes(ProbabilisticPCA(1).fit(X), X, bootstraps=20)[0].sentence
    'Axis 1 is c1 + c2 against c3 (94% of variation).'
    """
    check_level(level)
    resampled_fits = (
        refits(model, X, bootstraps=bootstraps, random_state=random_state) if resampled_fits is None else resampled_fits
    )
    groups = interchangeable(model, resampled_fits)
    low, high = intervals(model, resampled_fits, groups, level)
    g = framed_gaussian(model)
    unit = g.frame.report[:, None]
    L = (g.W @ np.linalg.pinv(model.latent_axes()).T) * unit
    total = float(((g.W * unit) ** 2).sum()) + float((g.psi * g.frame.report**2).sum())
    scores, names = model.transform(X), model.arrange(X).columns
    shares = [float((L[:, k] ** 2).sum() / total) if total > 0 else 0.0 for k in range(L.shape[1])]
    cards = axis_cards((L, low, high), names, shares, groups, scores, labels or {}, level, len(resampled_fits.W))
    apart = {found.axes[0]: found for found in rows_apart(scores)}
    return tuple(card._replace(apart=apart.get(card.axis)) for card in cards)


def axis_cards(
    bands: tuple[Array, Array, Array],
    names: Sequence[str],
    shares: Sequence[float],
    groups: tuple[tuple[int, ...], ...],
    scores: Array,
    labels: Mapping[str, Any],
    level: float,
    count: int,
) -> tuple[AxisCard, ...]:
    """The cards of axes whose loadings and their ends (d x q each), shares and rows' scores are known."""
    ties = label_ties(scores, labels)
    cards = []
    for k, share in enumerate(shares):
        ends = zip(names, *(part[:, k].tolist() for part in bands), strict=True)
        loadings = tuple(Loading(*column) for column in ends)
        same = next((tuple(a + 1 for a in group) for group in groups if k in group), ())
        cards.append(_card(k, share, loadings, same, ties[k], scores[:, k], level, count))
    return tuple(cards)


def _card(
    k: int,
    share: float,
    loadings: tuple[Loading, ...],
    same: tuple[int, ...],
    ties: tuple[LabelTie, ...],
    score: Array,
    level: float,
    count: int,
) -> AxisCard:
    top, order = top_columns(loadings), np.argsort(score, kind="stable")
    words = sentence(k + 1, top, share, same)
    ends = _ends(order), _ends(order[::-1])
    return AxisCard(k + 1, share, loadings, top, same, ties, *ends, level, count, words)


def _ends(order: NDArray[np.intp]) -> tuple[int, ...]:
    return tuple(int(i) for i in order[: min(END_ROWS, len(order) // 2)])


def top_columns(rows: tuple[Loading, ...]) -> tuple[Loading, ...]:
    """The columns an axis is named after: large beside the largest, and of a sure sign where any is."""
    largest = max((abs(r.value) for r in rows), default=0.0)
    near = [r for r in rows if abs(r.value) >= NEAR_LARGEST * largest and largest > 0]
    sure = [r for r in near if r.sure]
    return tuple(sorted(sure or near, key=lambda r: -abs(r.value))[:MOST_NAMED])


def sentence(axis: int, top: tuple[Loading, ...], share: float, same: tuple[int, ...]) -> str:
    """'Axis 1 is white_flow + t_lower against kappa (23% of variation).'"""
    if not top:
        return f"Axis {axis} is made of no column: nothing is left for it."
    lead = np.sign(top[0].value)
    one = " + ".join(r.column for r in top if np.sign(r.value) == lead)
    other = " + ".join(r.column for r in top if np.sign(r.value) != lead)
    doubt = "" if any(r.sure for r in top) else "; no loading's sign is sure"
    text = f"Axis {axis} is {one}{' against ' + other if other else ''} ({100 * share:.0f}% of variation{doubt})."
    if same:
        listed = ", ".join(map(str, same[:-1])) + f" and {same[-1]}"
        text += f" Axes {listed} are interchangeable: read them together."
    return text
