"""A matrix as squares: area is size, white is positive, black is negative, on grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.registry import PlotOption, plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.plot.access import ModelOnTable

MOST_SQUARE_ROWS = 24  # rows that can be named
LARGEST_SIDE = 0.9  # side of the largest square, in cells
GROUND = "#8c8c8c"  # white and black stand out from it alike
NEGLIGIBLE = 1e-6  # an axis all of whose entries are below this share of the largest is switched off


BESIDE = PlotOption("beside", "flag", "Maximum likelihood beside Bayesian PCA, as many axes offered to both")


@plot("hinton", "Loadings as squares whose area is their size.", needs="model", options=(BESIDE,))
def hinton(subject: ModelOnTable, *, beside: bool = False) -> Plot:
    """The loadings of a linear model as squares whose area is exactly proportional to size: white is positive.

    An axis that was switched off stays empty.

    Reference: [Bishop2006], figure 12.14. Other programs take the root after subtracting the smallest entry, so
    that their areas are not proportional.

    Parameters
    ----------
    subject : ModelOnTable
        A model with one matrix of loadings, `components_`.
    beside : bool, default False
        Draws probabilistic PCA by maximum likelihood beside Bayesian PCA instead, on one scale: as many axes are
        offered to both, all that the table allows unless the model is a Bayesian one.
    """
    names = subject.table.names
    if beside:
        both = beside_bayesian(subject)
    else:
        W = vars(subject.model).get("components_")
        if W is None or np.ndim(W) != 2:
            raise subject.lacks("hinton", "it has no one matrix of loadings", "a linear model: -m ppca, fa or bpca")
        draw.need_axes(len(W), 1, "hinton")
        names = vars(subject.model).get("component_names_", names)  # of labels, one for each
        both = {"": np.asarray(W, dtype=np.float64).T}
    matrices, labels = list(both.values()), list(both)
    largest = max(float(np.abs(M).max(initial=0.0)) for M in matrices) or 1.0
    strength = np.max([np.abs(M).max(axis=1, initial=0.0) for M in matrices], axis=0)
    rows = np.sort(np.argsort(-strength, kind="stable")[:MOST_SQUARE_ROWS])
    figure = draw.blank(6.4, float(np.clip(1.3 + 0.26 * len(rows), 3.0, 9.0)))
    widths = [max(M.shape[1], 1) for M in matrices]
    panels = figure.subplots(1, len(matrices), sharey=True, squeeze=False, width_ratios=widths)
    tooltips: dict[str, str] = {}
    for p, (ax, M, label) in enumerate(zip(panels[0], matrices, labels, strict=True)):
        tooltips |= _squares(ax, M, rows, largest, names, f"square{p}")
        ax.set_title(label, fontsize=10)
    panels[0, 0].set_yticks(range(len(rows)), [draw.short(names[j]) for j in rows], fontsize=8)
    figure.supxlabel(
        f"axis    (area = size, largest square {draw.number(largest)};  □ positive, ■ negative)", fontsize=9
    )
    title, sentence = _words(matrices, names, labels, len(rows))
    draw.headline(figure, title)
    data: dict[str, Any] = {"column": names}
    for M, kind in zip(matrices, ("", "other_"), strict=False):
        data |= {f"{kind}entry": M, f"{kind}area": LARGEST_SIDE**2 * np.abs(M) / largest}
    return Plot("hinton", figure, title=title, sentence=sentence, data=data, tooltips=tooltips)


def beside_bayesian(subject: ModelOnTable) -> dict[str, Array]:
    """The weights of probabilistic PCA and those of Bayesian PCA, fitted to the same rows with as many axes."""
    from lowdim.models.linear.bayesian_pca import BayesianPCA
    from lowdim.models.linear.ppca import PPCA

    X, given = subject.X, subject.model
    q = min(len(X) - 1, X.shape[1] - 1)
    bayesian = given if isinstance(given, BayesianPCA) else BayesianPCA(q).fit(X / np.nanstd(X, axis=0, ddof=1))
    q = len(bayesian.kept_)
    likely = PPCA(q).fit(X if bayesian is given else X / np.nanstd(X, axis=0, ddof=1))
    W = np.zeros((X.shape[1], q))
    W[:, : len(bayesian.components_)] = np.asarray(bayesian.components_).T
    return {"maximum likelihood": np.asarray(likely.components_).T, "Bayesian": W}


def off(M: Array, largest: float) -> NDArray[np.bool_]:
    """Which axes are switched off."""
    return np.asarray(np.abs(M).max(axis=0, initial=0.0) <= NEGLIGIBLE * largest)


def _squares(
    ax: Axes, M: Array, rows: NDArray[np.intp], largest: float, names: Sequence[str], name: str
) -> dict[str, str]:
    """Squares of side 0.9 sqrt(|entry| / largest) without an edge, so that areas are exact; what each one says."""
    from matplotlib.patches import Rectangle

    tooltips, q = {}, M.shape[1]
    side = LARGEST_SIDE * np.sqrt(np.abs(M[rows]) / largest)
    for r, c in np.argwhere(side > 0):
        value, s = M[rows[r], c], side[r, c]
        box = Rectangle(
            (c - s / 2, r - s / 2), s, s, facecolor=draw.PAPER if value > 0 else "#000000", edgecolor="none"
        )
        box.set_gid(f"{name}-{r}-{c}")
        ax.add_patch(box)
        tooltips[f"{name}-{r}-{c}"] = f"{draw.short(names[rows[r]])}, axis {c + 1}: {draw.number(value)}"
    ax.set_xlim(-0.6, max(q, 1) - 0.4)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_aspect("equal")
    ax.set_facecolor(GROUND)
    dead = off(M, largest)
    places = range(0, q, -(-q // 16) if q else 1)
    ax.set_xticks(list(places), [f"{k + 1}\noff" if dead[k] else str(k + 1) for k in places], fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return tooltips


def _words(both: list[Array], names: Sequence[str], labels: list[str], shown: int) -> tuple[str, str]:
    W = both[0]
    largest = max(float(np.abs(M).max(initial=0.0)) for M in both)
    if not W.size or not np.any(W):
        return "All entries are zero", "All entries are zero: no axis is used."
    r, c = np.unravel_index(int(np.argmax(np.abs(W))), W.shape)
    used = [int((~off(M, largest)).sum()) for M in both]
    idle = W.shape[1] - used[0]
    title = f"{used[0]} of {draw.count(W.shape[1], 'axis', 'axes')} in use"
    if len(both) > 1:
        title = f"{labels[0]} uses {draw.count(used[0], 'axis', 'axes')}, {labels[1]} {used[1]}"
    if shown < len(W):
        title += f" ({shown} of {len(W)} columns drawn)"
    unused = (
        f"{idle} of {W.shape[1]} axes {'is' if idle == 1 else 'are'} switched off" if idle else ("every axis is in use")
    )
    at = f"({draw.quoted(names[int(r)])} on axis {c + 1})"
    if len(both) == 1:
        return title, f"The largest entry is {draw.number(W[r, c])} {at}; {unused}."
    uses = f"{labels[1]} uses {used[1]} of {both[1].shape[1]}"
    return title, f"By {labels[0]} the largest entry is {draw.number(W[r, c])} {at} and {unused}; {uses}."
