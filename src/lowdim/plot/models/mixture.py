"""Clusters over two columns: ellipses, local axes, and each row in the mixed colour of its clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.access import lacks
from lowdim.plot.base import Plot
from lowdim.plot.marks import MOST_POINTS, MOST_VECTOR_POINTS, own_ticks, spread_out
from lowdim.plot.registry import PLANE, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.table_model import TableModel

SURE_SHARE = 0.9  # a row whose largest share is below this lies between clusters
RINGS = ((1.0, "-"), (2.0, "--"))  # standard deviations: 39 % and 86 % of a component's rows in two columns


@plot("mixture", "Clusters over two columns.", needs="model", options=(PLANE,))
def mixture(subject: TableModel, columns: tuple[int, int] = (0, 1)) -> Plot:
    """Rows in the colour of their clusters, mixed by membership; components as ellipses of one and two sd.

    Components with axes of their own are drawn with them, one standard deviation long. Rows with a gap in the two
    columns are left out. More than 3,000 rows are thinned evenly.

    Reference: M. Tipping and C. Bishop, Mixtures of probabilistic principal component analysers, Neural Computation 11,
    1999, figure 3.

    Parameters
    ----------
    subject : TableModel
        A mixture or K-means.
    """
    X, pair, names = subject.taken, list(columns), subject.table.names
    parts = parts_of(subject.model, X)
    if parts is None:
        raise lacks(subject, "mixture", "it has no clusters", "a mixture: -m gmm, mppca, mfa or kmeans")
    if len({*columns}) != 2 or not all(0 <= j < X.shape[1] for j in columns):
        allowed = f"two different columns from 0 to {X.shape[1] - 1}"
        raise error("LD210", option="columns", value=columns, allowed=allowed)
    whole = np.flatnonzero(np.isfinite(X[:, pair]).all(axis=1))
    rows = whole[spread_out(len(whole), MOST_POINTS)]
    mu, shares, weights = parts.means[:, pair], parts.shares[rows], parts.weights
    S = None if parts.covariances is None else parts.covariances[:, pair][:, :, pair]
    figure = draw.blank(6.4, 4.8)
    ax = figure.subplots()
    _points(ax, X[rows][:, pair], shares)
    for k, centre in enumerate(mu):
        colour = draw.COLOURS[k % len(draw.COLOURS)]
        if S is not None:
            _rings(ax, centre, S[k], colour)
        if parts.axes is not None:
            _local(ax, centre, np.asarray(parts.axes[k], dtype=np.float64)[:, pair], colour)
    ax.plot(*mu.T, "P", color=draw.INK, ms=8, mec=draw.PAPER, zorder=5)
    ax.set(xlabel=draw.short(names[pair[0]]), ylabel=draw.short(names[pair[1]]))
    for axis, j in zip((ax.xaxis, ax.yaxis), pair, strict=True):
        own_ticks(axis, subject.table.scales, j, subject.unit[j])
    title, sentence = _words(weights, shares, len(X) - len(whole), len(rows), len(X), S is not None)
    draw.headline(figure, title)
    figure.canvas.draw_idle()
    draw.place_labels(ax, mu, [f"{k + 1}: {draw.percent(p)}" for k, p in enumerate(weights)])
    data: dict[str, Any] = {"cluster": np.arange(1, len(mu) + 1), "share": weights, "mean": mu}
    data |= {"row": rows + 1, "cell": X[rows][:, pair], "membership": shares}
    data |= {} if S is None else {"covariance": S}
    return Plot("mixture", figure, title=title, sentence=sentence, data=data)


class MixtureParts(NamedTuple):
    """The clusters of a model: means (K x d), responsibilities (n x K), weights, and their shapes where it has them."""

    means: Array
    shares: Array
    weights: Array
    covariances: Array | None = None  # K x d x d
    axes: Any = None  # one q x d matrix a component, a row of it one standard deviation long


def mixed(shares: Array) -> Array:
    """n x 3 colours, mixed by share; the least sure rows come out the greyest."""
    from matplotlib.colors import to_rgb

    palette = np.array([to_rgb(draw.COLOURS[k % len(draw.COLOURS)]) for k in range(shares.shape[1])])
    total = shares.sum(axis=1, keepdims=True)
    colours: Array = np.clip(shares @ palette / np.where(total > 0, total, 1.0), 0.0, 1.0)
    return colours


def _points(ax: Axes, cells: Array, shares: Array) -> None:
    """One shape a cluster, as colour alone must not say it; rows between clusters are smaller."""
    home, sure = shares.argmax(axis=1), shares.max(axis=1, initial=0.0)
    colour = mixed(shares)
    for k in range(shares.shape[1]):
        at = home == k
        if at.any():
            (x, y), shape = cells[at].T, draw.SHAPES[k % len(draw.SHAPES)]
            size = np.where(sure[at] >= SURE_SHARE, 22, 12)
            dots = ax.scatter(x, y, s=size, c=colour[at], marker=shape, linewidths=0, alpha=0.75)
            dots.set_rasterized(len(cells) > MOST_VECTOR_POINTS)


def _rings(ax: Axes, centre: Array, S: Array, colour: str) -> None:
    values, U = np.linalg.eigh(S)
    turn = np.linspace(0.0, 2 * np.pi, 73)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    for sd, line in RINGS:
        ring = centre[:, None] + sd * U @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
        ax.plot(*ring, line, color=colour, lw=1.6 if sd == 1.0 else 1.0, zorder=4)


def _local(ax: Axes, centre: Array, W: Array, colour: str) -> None:
    """A component's own axes: each row of W is one standard deviation of it."""
    for w in W:
        ends = np.stack([centre - w, centre + w])
        ax.plot(*ends.T, color=draw.PAPER, lw=4.0, zorder=4, solid_capstyle="round")
        ax.plot(*ends.T, color=colour, lw=2.2, zorder=4, solid_capstyle="round")


def _words(part: Array, shares: Array, gaps: int, drawn_rows: int, n: int, soft: bool) -> tuple[str, str]:
    K = len(part)
    between = int((shares.max(axis=1, initial=0.0) < SURE_SHARE).sum())
    order = np.argsort(-part, kind="stable")
    largest = [draw.percent(part[k]) for k in order[:4]]
    shares_text = " and ".join([", ".join(largest[:-1]), largest[-1]] if len(largest) > 1 else largest)
    more = f" (the largest of {K})" if K > 4 else ""
    lies = "lies" if between == 1 else "lie"
    text = f"{draw.count(K, 'cluster')} {'holds' if K == 1 else 'hold'} {shares_text} of the rows{more}; "
    text += f"{between} of {drawn_rows} rows drawn {lies} between clusters"
    if soft:
        text += "; ellipses reach one and two standard deviations"
    text += f"; {draw.count(gaps, 'row')} with gaps left out." if gaps else "."
    title = f"{draw.count(K, 'cluster')}, the largest with {draw.percent(float(part.max()))} of the rows"
    return title + (f" ({drawn_rows:,} of {n:,} rows drawn)" if drawn_rows < n else ""), text


def as_full(kind: str, covariances: Any, K: int, d: int) -> NDArray[np.float64]:
    """K x d x d covariances from the shapes scikit-learn gives them: full, tied, diag or spherical."""
    C = np.asarray(covariances, dtype=np.float64)
    if C.ndim == 3:
        return C
    if kind == "tied":
        return np.broadcast_to(C, (K, d, d))
    width = C[:, None] * np.ones(d) if C.ndim == 1 else C
    return width[:, :, None] * np.eye(d)


def parts_of(model: Any, X: Array) -> MixtureParts | None:
    """The clusters of a fitted mixture or K-means; None where a model has none."""
    fitted = vars(model)
    if "cluster_centers_" in fitted:
        mu = np.asarray(fitted["cluster_centers_"], dtype=np.float64)
        shares = np.eye(len(mu))[model.predict(X)]
        return MixtureParts(mu, shares, shares.mean(axis=0))
    if not fitted.keys() >= {"means_", "weights_"}:
        return None
    mu, axes = np.asarray(fitted["means_"], dtype=np.float64), fitted.get("components_")
    covariances = None
    if "covariances_" in fitted:
        options = model.get_params(deep=False)
        kind = options.get("covariance_type", options.get("component", "full"))
        covariances = as_full(str(kind), fitted["covariances_"], *mu.shape)
    elif axes is not None and "noise_variance_" in fitted:  # of probabilistic PCA or factor analysis
        noise = np.asarray(fitted["noise_variance_"], dtype=np.float64)
        kind = "spherical" if noise.ndim == 1 else "diag"
        inner = np.stack([np.asarray(W, dtype=np.float64).T @ np.asarray(W, dtype=np.float64) for W in axes])
        covariances = inner + as_full(kind, noise, *mu.shape)
    return MixtureParts(mu, model.predict_proba(X), np.asarray(fitted["weights_"]), covariances, axes)
