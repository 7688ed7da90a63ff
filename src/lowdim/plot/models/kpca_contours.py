"""What kernel PCA sees over two columns: lines along which a component is constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import MOST_POINTS, own_ticks, spread_out
from lowdim.plot.registry import PLANE, plot
from lowdim.table.table import column_units
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.table.table import Table

KPCA_ROWS = 1000
MOST_COMPONENTS = 8  # components, as in the figures of Schoelkopf and of Bishop
CONTOUR_SIDE = 61  # points a side of the grid on which components are computed
CONTOUR_LEVELS = 11


@plot("kpca_contours", "Components of kernel PCA over two columns.", needs="table", options=(PLANE,))
def kpca_contours(table: Table, columns: tuple[int, int] = (0, 1), *, model: Any = None) -> Plot:
    """The first eight components of a kernel PCA of two columns, each as lines of equal value over the plane.

    Each title has the component's eigenvalue. Components that split groups come first; then those that split them in
    halves.

    Reference: B. Schoelkopf, A. Smola and K.-R. Mueller, Nonlinear component analysis as a kernel eigenvalue problem,
    Neural Computation 10, 1998; [Bishop2006], figure 12.17.

    Parameters
    ----------
    model : KernelPCA, optional
        Fitted to these columns, with as many components as are to be drawn; one with the width of the median distance
        where it is left out.

    Examples
    --------
    >>> import lowdim
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> kpca_contours(lowdim.read(X), model=lowdim.KernelPCA(4, gamma=0.5).fit(X)).data["value"].shape
    (4, 61, 61)
    """
    pair = list(columns)
    if len({*pair}) != 2 or not all(0 <= j < table.d for j in pair):
        raise error("LD210", option="columns", value=columns, allowed=f"two different columns from 0 to {table.d - 1}")
    heads = [table.names[j] for j in pair]
    unit = np.ones(2) if model is not None else column_units(table.X, table.scale)[pair]
    X = table.X[:, pair] / unit
    X = X[np.isfinite(X).all(axis=1)]
    X = X[spread_out(len(X), KPCA_ROWS)]
    if model is None:
        from lowdim.models.spectral.kernel_pca import KernelPCA  # a model is imported where one is fitted

        model = KernelPCA(min(MOST_COMPONENTS, len(X) - 1)).fit(X)
    if int(model.n_features_in_) != 2:
        raise error(
            "LD216.model",
            name="kpca_contours",
            model=f"a model of {int(model.n_features_in_)} columns",
            why="contours are drawn over a plane",
            fix="fit KernelPCA(8) to two columns",
        )
    low, high = X.min(axis=0), X.max(axis=0)
    edge = 0.1 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(low[c] - edge[c], high[c] + edge[c], CONTOUR_SIDE) for c in (0, 1))
    plane = np.stack([part.ravel() for part in np.meshgrid(x, y)], axis=1)
    Z = np.asarray(model.transform(plane))
    k = min(Z.shape[1], MOST_COMPONENTS)
    value = np.ascontiguousarray(Z[:, :k].T).reshape(k, CONTOUR_SIDE, CONTOUR_SIDE)
    eigen = np.asarray(model.eigenvalues_, dtype=np.float64)[:k]
    across = 4 if k > 4 else max(k, 1)
    figure = draw.blank(9.0 if across == 4 else 2.6 * across + 1.0, 2.6 * -(-k // across) + 0.6)
    panels = np.atleast_1d(figure.subplots(-(-k // across), across, sharex=True, sharey=True, squeeze=False)).ravel()
    dots = X[spread_out(len(X), MOST_POINTS // 8)]
    for c, ax in enumerate(panels):
        _component(
            ax, x, y, value[c], dots, f"{c + 1}: eigenvalue {draw.number(float(eigen[c]))}"
        ) if c < k else ax.set_axis_off()
    for axis, j, worth in zip((panels[0].xaxis, panels[0].yaxis), pair, unit, strict=True):
        own_ticks(axis, table.scales, j, worth, 3)
    figure.supxlabel(draw.short(heads[0]), fontsize=9)
    figure.supylabel(draw.short(heads[1]), fontsize=9)
    share = eigen / eigen.sum() if eigen.sum() > 0 else eigen
    title = f"{draw.count(k, 'component')} of kernel PCA over {draw.short(heads[0])} and {draw.short(heads[1])}"
    draw.headline(figure, title)
    first = ", ".join(draw.percent(part) for part in share[:4])
    sentence = (
        f"Lines of equal value of {draw.count(k, 'component')} of kernel PCA; of the eigenvalues drawn, the first "
        f"{'has' if k == 1 else f'{min(k, 4)} have'} {first}."
    )
    return Plot(
        "kpca_contours",
        figure,
        title=title,
        sentence=sentence,
        data={"x": x, "y": y, "eigenvalue": eigen, "value": value},
    )


def _component(ax: Any, x: Array, y: Array, value: Array, dots: Array, title: str) -> None:
    top = float(np.abs(value).max()) or 1.0
    levels = np.linspace(-top, top, CONTOUR_LEVELS)
    ax.contourf(x, y, value, levels=levels, cmap=draw.DIVERGING, vmin=-1.6 * top, vmax=1.6 * top)
    ax.contour(x, y, value, levels=levels, colors=draw.GREY, linewidths=0.6, linestyles="solid")
    ax.plot(*dots.T, ".", ms=3, color=draw.INK, alpha=0.7, rasterized=len(dots) > 100)
    ax.set_title(title, fontsize=9)
    ax.tick_params(labelsize=7)
