"""The methods by name: what makes each, and what it can do. `compare` and `fit --method` read this list."""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

Options = Callable[[int, int, int], dict[str, Any]]


class Method(NamedTuple):
    """A method: where its class lives, its options for q dimensions, k clusters and a seed, and what it lacks.

    `no_...` says in a word or two why it lacks something, and is empty where it does not.
    """

    name: str
    title: str
    home: str  # a public name of lowdim, or module:class
    options: Options
    no_gaps: str = ""  # fits tables with gaps
    no_new_rows: str = ""  # places rows it has not seen
    no_decoder: str = ""  # says what cells a position stands for
    no_density: str = ""  # has a density of rows
    no_uncertainty: str = ""  # says how sure it is of a position or a fill
    no_map: str = ""  # gives each row a place; clusters do not
    axes: bool = False  # its axes have a length of their own: distances are those of the positions, not decoded
    most_axes: int = 0  # axes it can have; 0 = as many as asked
    local: bool = False  # clusters with axes of their own
    factors: bool = False  # no more axes than factor analysis can tell apart
    most_rows: int = 0  # rows it is fitted to where it is fitted many times; 0 = all

    @property
    def here(self) -> bool:
        """Whether this version of lowdim has it."""
        module, _, name = self.home.rpartition(":")
        return find_spec(module) is not None if module else name in dir(import_module("lowdim"))

    def make(self, q: int, k: int = 3, seed: int = 0) -> Any:
        """The estimator, not yet fitted."""
        module, _, name = self.home.rpartition(":")
        q = min(q, self.most_axes) if self.most_axes else q
        return getattr(import_module(module or "lowdim"), name)(**self.options(q, k, seed))


def _q(q: int, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": q}


def _clusters(q: int, k: int, seed: int) -> dict[str, Any]:
    return {"n_clusters": k, "random_state": seed}


def _parts(q: int, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": k, "random_state": seed}


def _local(q: int, k: int, seed: int) -> dict[str, Any]:
    return {"n_clusters": k, "n_components": q, "random_state": seed}


def _seeded(q: int, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": q, "random_state": seed}


def _sheet(q: int, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": q, "grid": 20}  # 20 x 20 nodes, from the principal axes


def _spectral(name: str, title: str, home: str, most_rows: int, **lacks: Any) -> Method:
    """A map over pairs of rows: it places rows, new ones too, and says no more."""
    lacks = {"options": _q, "no_decoder": "no decoder", **lacks}
    return Method(name, title, home, no_gaps="no gaps", no_density="no density", no_uncertainty="no noise", axes=True,
                  most_rows=most_rows, **lacks)


METHODS = {m.name: m for m in (
    Method("pca", "PCA", "PCA", _q),
    Method("ppca", "probabilistic PCA", "ProbabilisticPCA", _q),
    Method("fa", "factor analysis", "FactorAnalysis", _q, factors=True),
    Method("bpca", "Bayesian PCA", "BayesianPCA", _q),
    Method("dual", "dual PPCA", "DualPPCA", _q, no_density="no density"),
    Method("ica", "ICA", "ICA", _seeded, no_gaps="no gaps", no_density="no density",
           no_uncertainty="no noise", axes=True),
    Method("gtm", "GTM", "GTM", _sheet, axes=True, most_axes=2),  # its sheet is bent: decoded, it is no map
    _spectral("mds", "classical MDS", "ClassicalMDS", 1000),
    _spectral("kpca", "kernel PCA", "KernelPCA", 1000, options=_seeded, no_decoder=""),  # by pre-images
    _spectral("isomap", "Isomap", "Isomap", 1000),
    _spectral("le", "Laplacian eigenmaps", "LaplacianEigenmaps", 1000),
    _spectral("lle", "locally linear embedding", "LocallyLinearEmbedding", 1000),
    _spectral("mvu", "maximum variance unfolding", "MaximumVarianceUnfolding", 300),
    _spectral("meu", "maximum entropy unfolding", "MaximumEntropyUnfolding", 300),
    Method("mppca", "mixture of PPCA", "MixtureOfPPCA", _local, no_map="no map", local=True),
    Method("mfa", "mixture of FA", "MixtureOfFA", _local, no_map="no map", local=True, factors=True),
    Method("gmm", "Gaussian mixture", "GaussianMixture", _parts, no_map="no map"),
    Method("kmeans", "K-means", "KMeans", _clusters, no_density="no density", no_map="no map"),
    Method("random", "random projection", "lowdim.judge.floor:RandomProjection", _seeded, no_density="no density",
           no_uncertainty="no noise"),
)}
FITTED = tuple(name for name in METHODS if name != "random")  # a random projection is a floor, not a fit
ALWAYS = ("pca", "random")  # what everyone knows, and the floor


def available() -> tuple[str, ...]:
    """The names of the methods this version has."""
    return tuple(name for name, method in METHODS.items() if method.here)
