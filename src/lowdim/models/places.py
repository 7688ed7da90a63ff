"""The places of rows as parameters: their likelihood, and where they start from."""
from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from lowdim.data.block import Array, Mask
from lowdim.math.gp import Columns, Kernel, likelihood
from lowdim.math.linalg import sign_rule, svd
from lowdim.messages import LowdimWarning, error

STARTS = ("auto", "pca", "gtm", "isomap")
GTM_MOST = 3  # dimensions a GTM can have
GTM_PASSES = 200
BOUNDS = {"noise": (1e-8, 1e2), "variance": (1e-4, 1e4), "other": (1e-6, 1e6)}  # of the mean variance; of 1


class Problem(NamedTuple):
    """What a climb is about: the columns in groups, and how numbers become places."""

    groups: list[Columns]
    names: str
    shape: tuple[int, int]
    back: Array | None  # n x n, places are back @ weights
    size: float  # the mean variance

    def split(self, vector: Array) -> tuple[Array, Array]:
        """Places (or their weights), and the kernel's numbers."""
        n = self.shape[0] * self.shape[1]
        return vector[:n].reshape(self.shape), vector[n:]

    def places(self, vector: Array) -> Array:
        W = self.split(vector)[0]
        return W if self.back is None else self.back @ W

    def bounds(self) -> tuple[Array, Array]:
        free = np.full(self.shape[0] * self.shape[1], np.inf)
        size = np.log(self.size)
        low, high = [], []
        for name in Kernel(self.names, np.zeros(1)).labels:
            kind = name.split()[-1]
            a, b = np.log(BOUNDS[kind if kind in BOUNDS else "other"])
            shift = size if kind in BOUNDS else 0.0
            low.append(a + shift)
            high.append(b + shift)
        return np.append(-free, low), np.append(free, high)


class Surface:
    """The log-likelihood and its slope; once a kernel's matrix needs jitter it keeps it."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.rung = problem, 0

    def __call__(self, vector: Array) -> tuple[float, Array]:
        p = self.problem
        X, kernel = p.places(vector), Kernel(p.names, p.split(vector)[1])
        parts = kernel.cross(X, X)
        K = parts[0] if len(parts) == 1 else np.asarray(sum(parts))
        try:
            found = likelihood(K, kernel.noise, p.groups, self.rung)
        except np.linalg.LinAlgError:
            values = np.linalg.eigvalsh(K) if np.isfinite(K).all() else np.array([0.0, np.inf])
            raise error("LD473", condition=float(values[-1] / max(abs(values[0]) + kernel.noise, 1e-300))) from None
        self.rung = found.rung
        dX, dtheta = kernel.pull(X, parts, found.G)
        dX = dX if p.back is None else p.back.T @ dX
        return found.value, np.append(dX.ravel(), dtheta)


def kernel_names(text: str) -> str:
    """The parts of a kernel without the white noise, which is always there."""
    return "+".join(name for name in text.replace(" ", "").split("+") if name != "white")


def mean_variance(Y: Array, mask: Mask | None) -> float:
    """Of the seen cells; a table without any spread has a little."""
    cells = Y.size if mask is None else max(int(mask.sum()), 1)
    return max(float((Y**2).sum()) / cells, 1e-200)


class Start(NamedTuple):
    """Places with unit variance on each axis, and how they came about."""

    X: Array
    how: str


def places(init: Any, Y: Array, mask: Mask | None, q: int) -> Start:
    """First places of the rows of a centred table, gaps as zeros."""
    if not isinstance(init, str):
        X = np.array(init, dtype=np.float64)
        if X.shape != (len(Y), q) or not np.isfinite(X).all():
            raise error("LD474", shape=X.shape, n=len(Y), q=q)
        return Start(X, "given")
    if init == "auto":
        init = "pca" if mask is None or q > GTM_MOST else "gtm"
    if init == "pca" or (init == "gtm" and q > GTM_MOST):
        return Start(_unit(principal_places(Y, mask, q)), "pca")
    if init == "gtm":
        return Start(_unit(_bent(Y, mask, q)[0]), "gtm")
    from lowdim.models.isomap import Isomap

    whole = Y if mask is None else _bent(Y, mask, min(q, GTM_MOST))[1]
    return Start(_unit(Isomap(q).fit_transform(whole)), "isomap")


def principal_places(Y: Array, mask: Mask | None, q: int) -> Array:
    """Principal scores; of a table with gaps the posterior means of probabilistic PCA."""
    if mask is None:
        U, s, Vt = svd(Y)
        Z = np.zeros((len(Y), q))
        Z[:, : min(q, len(s))] = (U * s * sign_rule(Vt.T))[:, :q]
        return Z
    from lowdim.models.linear import ProbabilisticPCA

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        return ProbabilisticPCA(q).fit_transform(np.where(mask, Y, np.nan))


def _bent(Y: Array, mask: Mask | None, q: int) -> tuple[Array, Array]:
    """Posterior means of a GTM, and its fills."""
    from lowdim.models.gtm import GTM

    table = Y if mask is None else np.where(mask, Y, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # a start need not be the best
        model = GTM(q, grid=20 if q < GTM_MOST else 8, basis=6 if q < GTM_MOST else 4, max_iter=GTM_PASSES).fit(table)
        return model.transform(table), model.impute(table)


def _unit(X: Array) -> Array:
    """Unit variance on each axis; an axis without any stays."""
    X = X - X.mean(axis=0)
    sd = X.std(axis=0)
    return np.asarray(X / np.where(sd > 1e-9 * sd.max(initial=0.0), sd, 1.0))
