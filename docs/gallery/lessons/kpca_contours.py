"""What kernel PCA sees over two columns: lines along which a component is constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot

if TYPE_CHECKING:
    from lowdim.models.spectral.kernel_pca import KernelPCA

MOST_COMPONENTS = 8  # components, as in the figures of Schoelkopf and of Bishop
CONTOUR_SIDE = 61  # points a side of the grid on which components are computed
CONTOUR_LEVELS = 11


@draw.styled
def kpca_contours(model: KernelPCA, X: Array) -> Plot:
    """The first eight components of a kernel PCA of two columns, each as lines of equal value over the plane.

    Each title has the component's eigenvalue. Components that split groups come first; then those that split them in
    halves.

    Reference: B. Schoelkopf, A. Smola and K.-R. Mueller, Nonlinear component analysis as a kernel eigenvalue problem,
    Neural Computation 10, 1998; [Bishop2006], figure 12.17.

    Parameters
    ----------
    model : KernelPCA
        Fitted to these rows, with as many components as are to be drawn.
    X : array of shape (n_rows, 2)
        The rows.

    Returns
    -------
    Plot

    Examples
    --------
    >>> import lowdim
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> kpca_contours(lowdim.KernelPCA(4, gamma=0.5).fit(X), X).data["value"].shape
    (4, 61, 61)
    """
    low, high = X.min(axis=0), X.max(axis=0)
    edge = 0.1 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(low[c] - edge[c], high[c] + edge[c], CONTOUR_SIDE) for c in (0, 1))
    plane = np.stack([part.ravel() for part in np.meshgrid(x, y)], axis=1)
    Z = np.asarray(model.transform(plane))
    k = min(Z.shape[1], MOST_COMPONENTS)
    value = np.ascontiguousarray(Z[:, :k].T).reshape(k, CONTOUR_SIDE, CONTOUR_SIDE)
    eigen = np.asarray(model.eigenvalues_, dtype=np.float64)[:k]
    across = min(k, 4)
    figure = draw.blank(9.0 if across == 4 else 2.6 * across + 1.0, 2.6 * -(-k // across) + 0.6)
    panels = figure.subplots(-(-k // across), across, sharex=True, sharey=True, squeeze=False).ravel()
    for c, ax in enumerate(panels[:k]):
        _component(ax, x, y, value[c], X, f"{c + 1}: eigenvalue {draw.number(float(eigen[c]))}")
    for ax in panels[k:]:
        ax.set_axis_off()
    title = f"{draw.count(k, 'component')} of kernel PCA over two columns"
    draw.headline(figure, title)
    first = ", ".join(draw.percent(part) for part in (eigen / eigen.sum())[:4])
    sentence = (
        f"Lines of equal value of {draw.count(k, 'component')} of kernel PCA; of the eigenvalues drawn, the first "
        f"{'has' if k == 1 else f'{min(k, 4)} have'} {first}."
    )
    data = {"x": x, "y": y, "eigenvalue": eigen, "value": value}
    return Plot("kpca_contours", figure, title=title, sentence=sentence, data=data)


def _component(ax: Any, x: Array, y: Array, value: Array, dots: Array, title: str) -> None:
    top = float(np.abs(value).max()) or 1.0
    levels = np.linspace(-top, top, CONTOUR_LEVELS)
    ax.contourf(x, y, value, levels=levels, cmap=draw.DIVERGING, vmin=-1.6 * top, vmax=1.6 * top)
    ax.contour(x, y, value, levels=levels, colors=draw.GREY, linewidths=0.6, linestyles="solid")
    ax.plot(*dots.T, ".", ms=3, color=draw.INK, alpha=0.7, rasterized=len(dots) > 100)
    ax.set_title(title, fontsize=9)
    ax.tick_params(labelsize=7)
