"""A fitted model as plain numbers, from which another program places, decodes and judges rows as we do.

Three kinds, by what they are made of; `explorer/web/posterior.js` reads them:

    linear    x = mu + W z + e, Gaussian (Student's where `dof` is given); `scores` where positions are projections
    nodes     a mixture of equally likely nodes at W'phi(grid), one noise variance
    process   Gaussian processes of the place; it decodes, and places no row

Cells count in units of the frame, (x - shift) * scale with x the table's own numbers; `stretch` is what the log density
of a seen cell gains in the units that the model was fitted in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.maths.linalg import Array

MOST_ROOTS = 2**22  # numbers of roots of inverse kernel matrices: 32 MB; without them a process decodes means alone


def exported(model: Any, unit: Array | float = 1.0) -> dict[str, Any] | None:
    """What the model is as arrays and numbers; None for a model of another kind.

    Parameters
    ----------
    model : fitted model
    unit : array of shape (d,), default 1
        What the table was divided by before the fit.

    Returns
    -------
    dict or None

    Examples
    --------
    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> model = ProbabilisticPCA(1).fit(np.random.default_rng(0).standard_normal((20, 3)))
    >>> exported(model)["kind"]
    'linear'
    """
    from lowdim.models.gaussian_process.gp_map import GaussianProcessMap
    from lowdim.models.linear.linear_gaussian import LinearGaussian
    from lowdim.models.nonlinear.gtm import GTM

    if isinstance(model, LinearGaussian):
        parts = _linear(model)
    elif isinstance(model, GTM):
        parts = _nodes(model)
    elif isinstance(model, GaussianProcessMap):
        parts = _process(model)
    else:
        return None
    frame, d = model.frame_, len(model.frame_.shift)
    width = np.broadcast_to(np.asarray(unit, dtype=np.float64), (d,))
    T = model.latent_axes()
    axes = {"turn": T, "back": np.linalg.pinv(T)}
    units = {"shift": frame.shift * width, "scale": frame.scale / width, "stretch": np.log(frame.scale)}
    return {**parts, **axes, **units}


def _linear(model: Any) -> dict[str, Any]:
    from lowdim.judge.framed_gaussian import framed_gaussian
    from lowdim.models.linear.bayesian_pca import BayesianPCA
    from lowdim.models.linear.pca import EXACT, PCA

    g, p = framed_gaussian(model), model.params_
    d, q = g.W.shape
    parts: dict[str, Any] = {"kind": "linear", "W": g.W, "mu": g.mu, "psi": g.psi, "excess": g.excess}
    V = p.V if p.V.ndim == 3 else np.broadcast_to(p.V, (d, q + 1))
    parts["doubt"] = np.broadcast_to(V, (d, q + 1, q + 1)) if V.ndim == 3 else V
    parts["weighs_doubt"] = isinstance(model, BayesianPCA) and not model.is_sure
    parts["dof"] = getattr(p, "dof", None)
    inflation = model.inflation_of(p)
    if inflation is not None:  # cells are wider by what held-out cells showed, up to an unknown row's
        factor, unknown = inflation
        parts |= {"inflation": factor, "unknown": (unknown.var + unknown.noise)[0]}
    if isinstance(model, PCA):
        live = p.variance > EXACT**2 * p.variance.max(initial=0.0)
        least = float(p.variance[live].min(initial=np.inf))
        tiny = max(EXACT * least, 1e-13 * float(p.variance.max(initial=0.0))) if live.any() else 1.0
        parts["scores"] = {"axes": p.W, "size": np.where(live, np.sqrt(np.maximum(p.variance, 0.0)), 0.0), "psi": tiny}
    return parts


def _nodes(model: Any) -> dict[str, Any]:
    p = model.params_
    return {
        "kind": "nodes",
        "grid": p.grid,
        "centres": p.centres,
        "width": float(p.width),
        "weights": p.W,
        "nodes": p.nodes,
        "psi": float(p.psi),
        "inflation": float(p.inflation),
        "unknown": p.nodes.var(axis=0) + p.psi,
        "report": model.frame_.report,
    }


def _process(model: Any) -> dict[str, Any]:
    p, inflation = model.params_, model.inflation_of(model.params_)
    D = p.decoder()
    size = sum(root.size for _, _, root in D.groups)
    terms = [
        {"name": name, "numbers": np.array(t.values)} for name, t in zip(D.kernel.names, D.kernel.terms, strict=True)
    ]
    groups = [
        {"rows": np.arange(len(D.X)) if rows is None else rows, "columns": columns, "root": root}
        for rows, columns, root in D.groups
    ]
    return {
        "kind": "process",
        "places": D.X,
        "alpha": D.alpha,
        "mu": p.mu,
        "terms": terms,
        "noise": float(D.kernel.noise),
        "inflation": float(p.inflation),
        "unknown": np.zeros(len(p.mu)) if inflation is None else sum(inflation.unknown_row[1:])[0],
        "groups": groups if size <= MOST_ROOTS else [],
    }
