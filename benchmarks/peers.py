"""The peers, each absent where it is not installed, and one exact likelihood to judge them all by."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np


class Answer(NamedTuple):
    """x = mean + W z + e, e_j ~ N(0, noise_j), as a peer found it."""

    W: np.ndarray  # d x q
    mean: np.ndarray
    noise: np.ndarray | float


def peer(name: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def quiet(job: Callable[[], Any]) -> Callable[[], Any]:
    """A peer's warnings are its own affair here."""

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return job()

    return run


def log_likelihood(X: np.ndarray, a: Answer) -> float:
    """Of the seen cells, exact for every row; shares no line with the package."""
    m = (~np.isnan(X)).astype(float)
    (d, q), noise = a.W.shape, np.broadcast_to(a.noise, a.W.shape[:1])
    V = a.W / noise[:, None]
    A = np.eye(q) + (m @ (V[:, :, None] * a.W[:, None, :]).reshape(d, q * q)).reshape(-1, q, q)
    r = np.where(m > 0, X - a.mean, 0.0)
    z = np.linalg.solve(A, (r @ V)[:, :, None])[:, :, 0]
    e = m * (r - z @ a.W.T)
    square = ((e**2) / noise).sum() + (z**2).sum() + np.linalg.slogdet(A)[1].sum()
    return float(-0.5 * (square + (m @ (np.log(noise) + np.log(2 * np.pi))).sum()))


def ours(model: Any) -> Answer:
    return Answer(model.components_.T, model.mean_, model.noise_variance_)


# probabilistic PCA with gaps -------------------------------------------------------------------------
def ppca_rs(X: np.ndarray, q: int, passes: int = 10) -> Answer:
    module = import_module("ppca_rs")
    return _rs(module.PPCATrainer(module.Dataset(X)).train(state_size=q, n_iters=passes, quiet=True))


def _rs(model: Any) -> Answer:
    return Answer(np.asarray(model.transform), np.asarray(model.mean).ravel(), float(model.isotropic_noise) ** 2)


def ppca_rs_until(X: np.ndarray, q: int, enough: float, most: int = 2000) -> tuple[float, float, int, Answer]:
    """Seconds, CPU seconds and passes ppca-rs needs to a likelihood; looking whether it is there is not counted."""
    module = import_module("ppca_rs")
    data = module.Dataset(X)
    model, used, passes = module.PPCAModel.init(q, data), np.zeros(2), 0
    while passes < most and log_likelihood(X, _rs(model)) < enough:
        used -= (time.perf_counter(), time.process_time())
        for _ in range(25):
            model = model.iterate(data)
        used += (time.perf_counter(), time.process_time())
        passes += 25
    return float(used[0]), float(used[1]), passes, _rs(model)


def vbpca(X: np.ndarray, q: int, **how: Any) -> Answer:
    model = import_module("vbpca_py").VBPCA(q, random_state=0, **how).fit(X)
    return Answer(np.asarray(model.components_).T, np.asarray(model.mean_).ravel(), float(model.noise_variance_))


def statsmodels_fill(X: np.ndarray, q: int) -> Answer:
    """statsmodels' own EM fills the table; probabilistic PCA of the filled table is then in closed form."""
    PCA = import_module("statsmodels.multivariate.pca").PCA
    filled = PCA(X, ncomp=q, missing="fill-em", standardize=False, demean=True)._adjusted_data
    mean = filled.mean(axis=0)
    values, V = np.linalg.eigh(np.cov(filled.T, bias=True))
    s2 = values[:-q].mean()
    return Answer(V[:, -q:] * np.sqrt(np.maximum(values[-q:] - s2, 0)), mean, s2)


# factor analysis ---------------------------------------------------------------------------------------
def sklearn_factors(X: np.ndarray, q: int, **how: Any) -> Answer:
    model = import_module("sklearn.decomposition").FactorAnalysis(q, random_state=0, **how).fit(X)
    return Answer(model.components_.T, model.mean_, model.noise_variance_)


def statsmodels_factors(X: np.ndarray, q: int) -> Answer:
    """Its loadings and uniquenesses are of the correlations; the columns' spreads give the rest."""
    found = import_module("statsmodels.multivariate.factor").Factor(X, n_factor=q, method="ml").fit()
    sd = X.std(axis=0)
    return Answer(found.loadings * sd[:, None], X.mean(axis=0), found.uniqueness * sd**2)
