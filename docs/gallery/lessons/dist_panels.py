"""Distances between rows as ever more principal axes are kept, with their errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowdim.judge.compare.map_quality import distances
from lowdim.maths.linalg import Array
from lowdim.models.linear.pca import PCA
from lowdim.plot import base as draw
from lowdim.plot.base import Plot


@draw.styled
def dist_panels(X: Array, kept: Sequence[int]) -> Plot:
    """Squared distances a column between rows in q principal axes, a panel for each q, beside those in the table.

    Axes that are left out only make distances smaller, so the mean absolute error is
    2 / d (total variance - the first q eigenvalues), both with divisor n - 1. Rows are in the order of the table.

    Reference: [Lawrence2012] of `docs/sources.md`, figures 3.2, 3.4 and 3.7.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        The rows, without gaps.
    kept : sequence of int
        How many axes are kept, a panel each.

    Returns
    -------
    Plot

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> dist_panels(X, [1, 3]).data["error"].round(3).tolist()
    [0.741, 0.0]
    """
    n, d = X.shape
    Z = np.asarray(PCA(max(kept)).fit_transform(X))
    whole, pairs = distances(X) / d, np.triu_indices(n, 1)
    shown = [distances(Z[:, :q]) / d for q in kept]
    wrong = [float(np.abs(whole[pairs] - D[pairs]).mean()) for D in shown]
    told = [draw.number(e) if e > 1e-12 else "0" for e in wrong]
    figure = draw.blank(2.5 * len(kept) + 3.4, 3.1)
    panels = figure.subplots(1, len(kept) + 1, squeeze=False)[0]
    words = [f"q = {q}: error {e}" for q, e in zip(kept, told, strict=True)]
    for ax, D, title in zip(panels, [*shown, whole], [*words, "the table"], strict=True):
        image = ax.imshow(D, cmap=draw.SEQUENTIAL, vmin=0.0, vmax=float(whole.max()), interpolation="nearest")
        ax.set_title(title, fontsize=9)
        ax.set(xticks=[], yticks=[])
    panels[0].set_ylabel("rows in their order")
    figure.colorbar(image, ax=list(panels), label="squared distance a column", shrink=0.85)
    title = f"Distances of {draw.count(n, 'row')} as axes are kept"
    draw.headline(figure, title)
    path = ", ".join(f"{e} with {q}" for q, e in zip(kept, told, strict=True))
    sentence = f"Squared distances a column between rows are off by (mean absolute error): {path} principal axes."
    data = {"q": list(kept), "error": wrong, "distance": np.stack([*shown, whole], axis=1)}
    return Plot("dist_panels", figure, title=title, sentence=sentence, data=data)
