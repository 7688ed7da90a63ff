"""The places of rows as parameters: their likelihood, and where they start from."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import Run
from lowdim.math.linalg import EPS, Array, Mask, sign_rule, svd
from lowdim.models.gaussian_process.gp import Columns, Decoder, Kernel, decoder, likelihood
from lowdim.text.messages import LowdimWarning, error

STARTS = ("auto", "pca", "gtm", "isomap")
GTM_MOST = 3  # dimensions a GTM can have
GTM_PASSES = 200
WHITE = re.compile(r"white(?:\(([-.0-9eE]+)\))?")
BOUNDS = {"noise": (1e-6, 1e2), "variance": (1e-4, 1e4), "other": (1e-6, 1e6)}  # of the mean variance; of 1


class Problem(NamedTuple):
    """What a climb is about: the columns in groups, and how numbers become places."""

    groups: list[Columns]
    names: str
    shape: tuple[int, int]
    back: Array | None  # n x n, places are back @ weights
    size: float  # the mean variance
    floor: float | None = None  # of the noise, where it was stated; a share of the mean variance

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
        low[-1] = low[-1] if self.floor is None else np.log(self.floor) + size
        return np.append(-free, low), np.append(free, high)


class Surface:
    """The log-likelihood and its slope; once a kernel's matrix needs jitter it keeps it."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.rung = problem, 0
        self.best, self.rung_there = -np.inf, 0
        self.ask: Callable[[Array], Array] = self.told

    def __call__(self, vector: Array) -> tuple[float, Array]:
        said = self.ask(vector)
        value, self.rung = float(said[0]), int(said[1])
        if value > self.best:
            self.best, self.rung_there = value, self.rung
        return value, said[2:]

    def told(self, vector: Array) -> Array:
        """Value, rung of the ladder and slope in one: what a checkpoint remembers."""
        p = self.problem
        X, kernel = p.places(vector), Kernel(p.names, p.split(vector)[1])
        parts = kernel.cross(X, X)
        K = parts[0] if len(parts) == 1 else np.asarray(sum(parts))
        try:
            found = likelihood(K, kernel.noise, p.groups, self.rung)
        except np.linalg.LinAlgError:
            if np.isfinite(self.best):  # a wall for the climb, which keeps the best place it has seen
                return np.concatenate([[-np.inf, self.rung], np.zeros_like(vector)])
            raise error("LD473", condition=condition(K, kernel.noise)) from None
        dX, dtheta = kernel.pull(X, parts, found.G)
        dX = dX if p.back is None else p.back.T @ dX
        return np.concatenate([[found.value, found.rung], dX.ravel(), dtheta])


def condition(K: Array, noise: float) -> float:
    """Of K + noise I: largest over smallest eigenvalue, as far as double precision can tell."""
    values = np.abs(np.linalg.eigvalsh(K) + noise) if np.isfinite(K).all() else np.array([0.0, 1.0])
    return float(values.max() / max(values.min(), EPS * values.max(), 1e-300))


class Places(NamedTuple):
    """Parameters, in the frame's units."""

    X: Array  # n x q, where the rows lie
    Y: Array  # n x d, cells less their columns' means; zero at gaps
    seen: Mask  # n x d; 0 x d where no cell is missing
    mu: Array  # d
    names: str  # of the kernel's parts
    theta: Array  # logarithms of its numbers
    rung: int  # of the jitter ladder
    widen: float  # what standard deviations are multiplied by
    centre: Array  # q, of the places: the prior of a new row is N(centre, spread)
    spread: Array  # q x q
    back: Array  # n x q weights of the back constraints, or 0 x q
    gamma: float  # their kernel's

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.names, self.theta)

    def decoder(self) -> Decoder:
        return decoder(self.kernel, self.X, self.Y, self.seen if len(self.seen) else None, self.rung)


def kernel_names(text: str) -> str:
    """The parts of a kernel without the white noise, which is always there."""
    return "+".join(name for name in text.replace(" ", "").split("+") if not WHITE.fullmatch(name))


def noise_floor(text: str) -> float | None:
    """The least noise a kernel allows, a share of the mean variance; NaN where it cannot be read.

    >>> noise_floor("rbf + white(1e-3)"), noise_floor("rbf+white")
    (0.001, None)
    """
    for name in text.replace(" ", "").split("+"):
        found = WHITE.fullmatch(name)
        if found and found[1]:
            try:
                return float(found[1])
            except ValueError:
                return float("nan")
    return None


def mean_variance(Y: Array, mask: Mask | None) -> float:
    """Of the seen cells; a table without any spread has a little."""
    cells = Y.size if mask is None else max(int(mask.sum()), 1)
    return max(float((Y**2).sum()) / cells, 1e-200)


class Start(NamedTuple):
    """Places with unit variance on each axis, and how they came about."""

    X: Array
    how: str


def places(init: Any, Y: Array, mask: Mask | None, q: int, run: Run) -> Start:
    """First places of the rows of a centred table, gaps as zeros."""
    if not isinstance(init, str):
        X = np.array(init, dtype=np.float64)
        if X.shape != (len(Y), q) or not np.isfinite(X).all():
            raise error("LD474", shape=X.shape, n=len(Y), q=q)
        return Start(X, "given")
    if init == "auto":
        init = "pca" if mask is None or q > GTM_MOST else "gtm"
    if init == "pca" or (init == "gtm" and q > GTM_MOST):
        return Start(_unit(principal_places(Y, mask, q, run)), "pca")
    if init == "gtm":
        return Start(_unit(_bent(Y, mask, q, run)[0]), "gtm")
    from lowdim.models.spectral.isomap import Isomap

    whole = Y if mask is None else _bent(Y, mask, min(q, GTM_MOST), run)[1]
    return Start(_unit(Isomap(q).fit_transform(whole)), "isomap")


def principal_places(Y: Array, mask: Mask | None, q: int, run: Run) -> Array:
    """Principal scores; of a table with gaps the posterior means of probabilistic PCA."""
    if mask is None:
        U, s, Vt = svd(Y)
        Z = np.zeros((len(Y), q))
        Z[:, : min(q, len(s))] = (U * s * sign_rule(Vt.T))[:, :q]
        return Z
    from lowdim.models.linear.linear_gaussian import ProbabilisticPCA

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        table = np.where(mask, Y, np.nan)
        return np.asarray(ProbabilisticPCA(q).fit(table, run=run).transform(table))


def _bent(Y: Array, mask: Mask | None, q: int, run: Run) -> tuple[Array, Array]:
    """Posterior means of a GTM, and its fills."""
    from lowdim.models.nonlinear.gtm import RoughSheet

    table = Y if mask is None else np.where(mask, Y, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # a start need not be the best
        side, bells = (20, 6) if q < GTM_MOST else (8, 4)
        model = RoughSheet(q, grid=side, basis=bells, max_iter=GTM_PASSES).fit(table, run=run)
        return model.transform(table), model.impute(table)


def _unit(X: Array) -> Array:
    """Unit variance on each axis; an axis without any stays."""
    X = X - X.mean(axis=0)
    sd = X.std(axis=0)
    return np.asarray(X / np.where(sd > 1e-9 * sd.max(initial=0.0), sd, 1.0))
