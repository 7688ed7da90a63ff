"""Plots of one fitted model and its table: what a run of `lowdim fit --method` can show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.math.linalg import Array
from lowdim.plot.base import Plot
from lowdim.plot.colour import chosen
from lowdim.plot.marks import POINTS
from lowdim.table.table import Table
from lowdim.text.messages import error


class Shown(NamedTuple):
    """A model, the rows it was fitted to in units of `unit`, and the table they come from."""

    model: Any
    table: Table
    unit: Array
    rows: NDArray[np.intp]

    @property
    def X(self) -> Array:
        """The rows as the model takes them."""
        return np.asarray(self.table.X[self.rows] / self.unit)

    def coloured(self, color: Any) -> dict[str, Any]:
        """What rows are coloured by: a column by its name, values of one's own, or the first label column."""
        if color is None and len(self.rows) <= POINTS:
            color = next(iter(self.table.labels), None)
        if color is None:
            return {}
        values, name = chosen(self.table, color)
        return {"color": np.asarray(values)[self.rows], "color_name": name}


def plot_model(
    name: str, model: Any, table: Table, *, unit: Array | None = None, rows: NDArray[np.intp] | None = None, **how: Any
) -> Plot:
    """A named plot of a model that was fitted to the rows of a table, each column divided by `unit`.

    >>> import lowdim
    >>> table = lowdim.read(np.random.default_rng(0).standard_normal((30, 3)))
    >>> plot_model("trace", lowdim.PPCA(1).fit(table.X), table).name
    'trace'
    """
    shown = Shown(
        model,
        table,
        np.ones(table.d) if unit is None else np.asarray(unit, dtype=np.float64),
        np.arange(table.n) if rows is None else rows,
    )
    if name not in DRAWN:
        raise error(
            "LD494",
            name=name,
            model="a run of one model",
            why="it comes from the main job",
            fix=f"one of {', '.join(DRAWN)}; or the main job:  lowdim plot {name} TABLE",
        )
    return DRAWN[name](shown, **how)


def _lacks(name: str, shown: Shown, why: str, fix: str) -> Exception:
    return error("LD494", name=name, model=f"this {type(shown.model).__name__}", why=why, fix=fix)


def _relevance(shown: Shown, **how: Any) -> Plot:
    from lowdim.plot.models.relevance import relevance

    found = vars(shown.model)
    if "relevance_" not in found:
        raise _lacks("relevance", shown, "it switches no axes off", "a Bayesian model: -m bpca or -m bgplvm")
    return relevance(found["relevance_"], found["kept_"], **how)


def _hinton(shown: Shown, **how: Any) -> Plot:
    from lowdim.plot.analysis.hinton import hinton

    W = vars(shown.model).get("components_")
    if W is None or np.ndim(W) != 2:
        raise _lacks("hinton", shown, "it has no one matrix of loadings", "a linear model: -m ppca, fa or bpca")
    return hinton(np.asarray(W).T, shown.table.names, **how)


def _mixture(shown: Shown, **how: Any) -> Plot:
    from lowdim.plot.models.mixture import mixture, parts_of

    parts = parts_of(shown.model, shown.X)
    if parts is None:
        raise _lacks("mixture", shown, "it has no clusters", "a mixture: -m gmm, mppca, mfa or kmeans")
    return mixture(shown.X, names=shown.table.names, **parts, **how)


def _sheet(shown: Shown, *, color: Any = None, **how: Any) -> Plot:
    from lowdim.plot.models.gtm import gtm_sheet

    return gtm_sheet(shown.model, shown.X, names=shown.table.names, unit=shown.unit, **shown.coloured(color), **how)


def _magnification(shown: Shown, *, color: Any = None, **how: Any) -> Plot:
    from lowdim.plot.models.node_maps import magnification

    return magnification(shown.model, shown.X, **shown.coloured(color), **how)


def _responsibility(shown: Shown, row: int | None = None, **how: Any) -> Plot:
    from lowdim.plot.models.node_maps import responsibility

    names = [shown.table.row_names[i] for i in shown.rows]
    return responsibility(shown.model, shown.X, row, row_names=names, **how)


def _latent_variance(shown: Shown, *, color: Any = None, **how: Any) -> Plot:
    from lowdim.plot.models.latent_variance import latent_variance

    gap = np.isnan(shown.table.X[shown.rows]).any(axis=1)
    painted = shown.coloured(color) if color is not None or not how.get("join") else {}  # a path is coloured by order
    return latent_variance(shown.model, names=shown.table.names, gap_rows=gap, **painted, **how)


def _traverse(shown: Shown, axis: int = 0, **how: Any) -> Plot:
    from lowdim.plot.analysis.traverse import traverse

    return traverse(shown.model, axis, shown.table.names, X=shown.X, unit=shown.unit, **how)


def _bottleneck(shown: Shown, widths: Any = None, **how: Any) -> Plot:
    from lowdim.models.nonlinear.autoencoder import Autoencoder
    from lowdim.plot.models.bottleneck import bottleneck

    if not isinstance(shown.model, Autoencoder):
        raise _lacks("bottleneck", shown, "it is no autoencoder", "lowdim fit FILE -m autoencoder")
    return bottleneck(shown.X, widths, model=shown.model, **how)


def _trace(shown: Shown, **how: Any) -> Plot:
    from lowdim.plot.models.trace import trace

    history = vars(shown.model).get("history_")
    if history is None or not len(history):
        raise _lacks("trace", shown, "it is found in one step", "an iterative model: -m gtm, gplvm, gmm")
    return trace(history, shown.model.certificate_.objective_name, **how)


DRAWN: dict[str, Callable[..., Plot]] = {
    "relevance": _relevance,
    "hinton": _hinton,
    "mixture": _mixture,
    "gtm_sheet": _sheet,
    "magnification": _magnification,
    "responsibility": _responsibility,
    "latent_variance": _latent_variance,
    "traverse": _traverse,
    "bottleneck": _bottleneck,
    "trace": _trace,
}
