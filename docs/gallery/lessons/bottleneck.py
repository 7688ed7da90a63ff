"""How much an autoencoder loses at each width of its bottleneck, beside PCA of the same width."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.models.linear.pca import PCA
from lowdim.models.nonlinear.autoencoder import Autoencoder
from lowdim.models.nonlinear.mlp import layer_sizes
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import whole_ticks
from lowdim.text.messages import LowdimWarning

MOST_WIDTHS = 6  # tried at most where none are named
HELD_OUT_EVERY = 5  # one row in five is kept out of the fits, and judged
STARTS = 3
EQUAL_LOSS = 1e-6  # of the variance: the linear autoencoder and PCA differ by less, or it is said


@draw.styled
def bottleneck(network: Autoencoder, X: Array, widths: Sequence[int] | None = None, *, seeds: int = STARTS) -> Plot:
    """The share of the variance that is lost against the width: an autoencoder, the linear one, and PCA.

    Every fifth row is kept out of all fits; the lines are of these rows, the dotted ones of the rows of the fits. Bars
    reach from the best to the worst of the starts. Without hidden layers an autoencoder is PCA (Baldi and Hornik), and
    must meet its line.

    Reference: [Kipf2016] of `docs/sources.md`; P. Baldi and K. Hornik, Neural networks and principal component
    analysis, Neural Networks 2, 1989; G. Hinton and R. Salakhutdinov, Reducing the dimensionality of data with neural
    networks, Science 313, 2006, figure 3.

    Parameters
    ----------
    network : Autoencoder
        Its options are used.
    X : array of shape (n_rows, n_columns)
        The rows, without gaps.
    widths : sequence of int, optional
        Of the bottleneck; 1 to 6 where it is left out.
    seeds : int, default 3
        Starts at each width.

    Returns
    -------
    Plot
    """
    most = min(X.shape[1], len(X) - len(X) // HELD_OUT_EVERY - 1)
    usual = range(1, min(MOST_WIDTHS, X.shape[1] - 1, most) + 1)
    tried = np.array(list(usual if widths is None else widths), dtype=int)
    out = np.arange(len(X)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    lost = _lost(X, out, tried, network, seeds)
    figure = draw.blank(6.4, 4.2)
    _draw(figure.subplots(), tried, lost)
    title, sentence = _words(tried, lost, layer_sizes(network.hidden), int(out.sum()))
    draw.headline(figure, title)
    return Plot("bottleneck", figure, title=title, sentence=sentence, data={"width": tried, **lost})


def _lost(X: Array, out: NDArray[np.bool_], widths: NDArray[np.int_], network: Any, seeds: int) -> dict[str, Array]:
    """Shares of the variance lost at each width, of the rows left out and of those of the fit."""
    rows: dict[str, list[Any]] = {key: [] for key in ("pca", "linear", "network", "pca_fit", "network_fit")}
    for width in widths.tolist():
        pca = PCA(width).fit(X[~out])
        linear = network.__class__(
            **{**network.get_params(), "n_components": width, "hidden": (), "variational": False}
        )
        nets = [
            network.__class__(**{**network.get_params(), "n_components": width, "random_state": s})
            for s in range(seeds)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)  # starts that did not converge show in the spread
            for one in (linear, *nets):
                one.fit(X[~out])
        rows["pca"].append(_share(pca, X, out))
        rows["pca_fit"].append(_share(pca, X, ~out))
        rows["linear"].append(_share(linear, X, out))
        rows["network"].append([_share(net, X, out) for net in nets])
        rows["network_fit"].append([_share(net, X, ~out) for net in nets])
    return {key: np.array(values) for key, values in rows.items()}


def _share(model: Any, X: Array, rows: NDArray[np.bool_]) -> float:
    """The squared error on some rows over their squares about the mean of the fit's rows."""
    part = X[rows]
    total = float(((part - np.asarray(model.mean_)) ** 2).sum())
    return float(((part - np.asarray(model.inverse_transform(model.transform(part)))) ** 2).sum()) / (total or 1.0)


def _draw(ax: Any, widths: NDArray[np.int_], lost: dict[str, Array]) -> None:
    from matplotlib.ticker import FuncFormatter

    nets = lost["network"]
    middle = np.median(nets, axis=1)
    ax.plot(widths, lost["pca_fit"], ":", color=draw.GREY, lw=1.0)
    ax.plot(widths, np.median(lost["network_fit"], axis=1), ":", color=draw.COLOURS[0], lw=1.0)
    ax.plot(widths, lost["pca"], "-s", color=draw.INK, ms=4, label="PCA")
    ax.plot(widths, lost["linear"], "o", ms=10, mfc="none", color=draw.COLOURS[3], label="linear autoencoder")
    ends = np.stack([middle - nets.min(axis=1), nets.max(axis=1) - middle])
    ax.errorbar(
        widths,
        middle,
        ends,
        fmt="-D",
        color=draw.COLOURS[0],
        mec=draw.PAPER,
        ms=6,
        capsize=4,
        label=f"autoencoder (median of {draw.count(nets.shape[1], 'start')}; bar: best to worst)",
    )
    ax.set_ylim(0.0, None)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: draw.percent(v)))
    whole_ticks(ax.xaxis)
    ax.set(
        xlabel="width of the bottleneck (numbers a row)",
        ylabel="variance lost on rows left out\n(dotted: on the rows of the fit)",
    )
    ax.legend(loc="upper right", fontsize=8)


def _words(
    widths: NDArray[np.int_], lost: dict[str, Array], hidden: tuple[int, ...], n_held_out: int
) -> tuple[str, str]:
    nets, pca = lost["network"], lost["pca"]
    gain = pca - nets.max(axis=1)  # the worst start against PCA: what can be relied on
    k = int(np.argmax(pca - np.median(nets, axis=1)))
    width = f"With {draw.count(int(widths[k]), 'number')} a row"
    net = f"an autoencoder loses {draw.percent(float(np.median(nets[k])))} of the variance of rows left out"
    better = int((gain > 0).sum())
    title = f"{width}, {net}, PCA {draw.percent(float(pca[k]))}"
    difference = float(np.abs(lost["linear"] - pca).max())
    meets = "meets PCA at every width" if difference < EQUAL_LOSS else f"is off PCA by up to {draw.percent(difference)}"
    text = (
        f"{width}, {net} ({n_held_out} of them; hidden layers {hidden or 'none'}), PCA {draw.percent(float(pca[k]))}; "
        f"every start beats PCA at {better} of {draw.count(len(widths), 'width')}. The linear autoencoder {meets}."
    )
    return title, text
