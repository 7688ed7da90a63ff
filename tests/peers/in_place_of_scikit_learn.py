"""A pytest plugin: our classes in place of scikit-learn's, under its words where ours differ by intention.

`python -m pytest -p tests.peers.in_place_of_scikit_learn SITE/sklearn/decomposition/tests/test_pca.py`
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.cluster
import sklearn.decomposition
import sklearn.manifold
import sklearn.mixture

import lowdim as ld
from lowdim.text.messages import LowdimWarning

Words = dict[str, Any]


def adapted(ours: Any, theirs: Any, translate: Callable[[Words], Words], called: dict[str, Any]) -> Any:
    """A subclass of ours with the constructor of theirs; `translate` gives our options for theirs, `called` what they
    call a thing that we have by another name."""

    signature = inspect.signature(theirs)

    class Adapted(ours):
        __signature__ = signature

        def __init__(self, *args: Any, **words: Any) -> None:
            bound = signature.bind(*args, **words)
            bound.apply_defaults()
            vars(self).update(bound.arguments)

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return sorted(signature.parameters)

        def __new__(cls, *args: Any, **words: Any) -> Any:
            return object.__new__(cls)

        def fit(self, X: Any, y: Any = None, **more: Any) -> Any:
            words = self.get_params(deep=False)
            own = ours(**translate(words))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LowdimWarning)
                own.fit(X, y, **more)
            vars(self).update(vars(own))
            return self

    for name, value in called.items():
        setattr(Adapted, name, property(value))
    Adapted.__name__ = Adapted.__qualname__ = theirs.__name__
    return Adapted


def same(ours: Any, *dropped: str, **renamed: str) -> Callable[[Words], Words]:
    """Options of one name go over as they are but for `dropped`; `renamed` says theirs=ours."""
    names = set(inspect.signature(ours).parameters) - set(dropped)
    return lambda words: {renamed.get(k, k): v for k, v in words.items() if renamed.get(k, k) in names}


SOLVERS = {"full": "qr", "covariance_eigh": "covariance", "arpack": "auto", "randomized": "krylov"}


def _pca(words: Words) -> Words:
    solver = words["svd_solver"]
    return same(ld.PCA, "tol")(words) | {"solver": SOLVERS.get(solver, solver)}


def _mixture(words: Words) -> Words:
    start = {} if words["means_init"] is None else {"init": words["means_init"]}
    return same(ld.GaussianMixture)(words) | start


def _kernel(words: Words) -> Words:
    """`None` axes are as many as rows there; a kernel function of two rows is one of two tables here."""
    kernel, q = words["kernel"], words["n_components"]
    whole = kernel
    if callable(kernel):
        more = words["kernel_params"] or {}

        def whole(X: Any, Y: Any) -> Any:
            return np.array([[kernel(x, y, **more) for y in Y] for x in X])

    return same(ld.KernelPCA)(words) | {"kernel": whole} | ({"n_components": 2} if q is None else {})


def _isomap(words: Words) -> Words:
    own = same(ld.Isomap)(words)
    own["metric"] = "euclidean" if words["metric"] == "minkowski" and words["p"] == 2 else words["metric"]
    return own if words["n_neighbors"] is not None else own | {"n_neighbors": 8}


def _embedding(words: Words) -> Words:
    kinds = {"precomputed": "graph", "precomputed_nearest_neighbors": "precomputed"}
    k = words["n_neighbors"]
    own = {"n_components": words["n_components"], "metric": kinds.get(words["affinity"], "euclidean")}
    return own | ({} if k is None else {"n_neighbors": k})


def _precisions(model: Any) -> Any:
    C = model.covariances_
    return np.linalg.inv(C) if model.covariance_type in ("full", "tied") else 1.0 / C


def _weights(model: Any) -> Any:
    L = model.field().precision.toarray()
    return np.diag(np.diag(L)) - L


IN_PLACE: tuple[tuple[Any, str, Any, Callable[[Words], Words], dict[str, Any]], ...] = (
    (sklearn.decomposition, "PCA", ld.PCA, _pca, {}),
    (sklearn.decomposition, "KernelPCA", ld.KernelPCA, _kernel, {}),
    (sklearn.decomposition, "FactorAnalysis", ld.FactorAnalysis, same(ld.FactorAnalysis, "tol"), {}),
    (sklearn.decomposition, "FastICA", ld.ICA, same(ld.ICA), {}),
    (
        sklearn.mixture, "GaussianMixture", ld.GaussianMixture, _mixture,
        {"precisions_": _precisions, "lower_bound_": lambda m: m.certificate_.objective},
    ),
    (sklearn.manifold, "Isomap", ld.Isomap, _isomap, {}),
    (
        sklearn.manifold, "LocallyLinearEmbedding", ld.LocallyLinearEmbedding, same(ld.LocallyLinearEmbedding),
        {"reconstruction_error_": lambda m: float(m.eigenvalues_.sum())},
    ),
    (sklearn.manifold, "SpectralEmbedding", ld.LaplacianEigenmaps, _embedding, {"affinity_matrix_": _weights}),
    (sklearn.manifold, "ClassicalMDS", ld.ClassicalMDS, same(ld.ClassicalMDS), {}),
    (sklearn.cluster, "KMeans", ld.KMeans, same(ld.KMeans), {}),
)  # fmt: skip


def pytest_configure(config: Any) -> None:
    """What pytest calls of a plugin: importing this file alone changes nothing."""
    for module, name, ours, translate, called in IN_PLACE:
        setattr(module, name, adapted(ours, getattr(module, name), translate, called))
