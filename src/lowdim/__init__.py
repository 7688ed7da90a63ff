"""lowdim: what is this table really made of?"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # so that editors and type checkers know what the lazy names are
    from lowdim import datasets, laws, messages
    from lowdim.analysis import analyse
    from lowdim.data.arrays import as_source
    from lowdim.data.files import stream
    from lowdim.data.table import read
    from lowdim.engine.fold import Run
    from lowdim.engine.merge import Moments
    from lowdim.images import quantize_image
    from lowdim.judge.clusters import choose_clusters
    from lowdim.judge.compare import compare
    from lowdim.judge.dimensions import choose_dimension
    from lowdim.judge.distances import distance_law
    from lowdim.judge.embedding_score import embedding_score
    from lowdim.judge.maps import judge_map
    from lowdim.math.distances import to_similarities, to_squared_distances
    from lowdim.math.rotate import procrustes, rotate
    from lowdim.models.autoencoder import Autoencoder
    from lowdim.models.bayesian import BayesianPCA
    from lowdim.models.bayesian_gplvm import BayesianGPLVM
    from lowdim.models.cca import CCA
    from lowdim.models.density_network import DensityNetwork
    from lowdim.models.discriminant import LinearDiscriminant
    from lowdim.models.dual import DualPPCA
    from lowdim.models.entropy import MaximumEntropyUnfolding
    from lowdim.models.factor_analysis import FactorAnalysis
    from lowdim.models.functions import total_least_squares, whiten
    from lowdim.models.gaussian_mixture import GaussianMixture
    from lowdim.models.gplvm import GPLVM
    from lowdim.models.gtm import GTM
    from lowdim.models.ica import ICA
    from lowdim.models.isomap import Isomap
    from lowdim.models.kernel_pca import KernelPCA
    from lowdim.models.kmeans import KMeans
    from lowdim.models.laplacian import LaplacianEigenmaps
    from lowdim.models.linear import PPCA, ProbabilisticPCA
    from lowdim.models.lle import LocallyLinearEmbedding
    from lowdim.models.mds import ClassicalMDS
    from lowdim.models.medoids import KMedoids
    from lowdim.models.mixture import Mixture
    from lowdim.models.mixture_presets import MixtureOfFA, MixtureOfPPCA
    from lowdim.models.nonlinear_fa import NonlinearFactorAnalysis
    from lowdim.models.pca import PCA
    from lowdim.models.ratings import MatrixFactorization
    from lowdim.models.restarts import best_of
    from lowdim.models.robust_mds import robust_map
    from lowdim.models.select import VarianceSelector
    from lowdim.models.unfolding import MaximumVarianceUnfolding
    from lowdim.persist import load
    from lowdim.runs import load_run
    from lowdim.streaming import analyse_stream

__version__ = "0.1.0"

_HOMES = {
    "PCA": "models.pca",
    "ProbabilisticPCA": "models.linear",
    "PPCA": "models.linear",
    "FactorAnalysis": "models.factor_analysis",
    "BayesianPCA": "models.bayesian",
    "DualPPCA": "models.dual",
    "BayesianGPLVM": "models.bayesian_gplvm",
    "GPLVM": "models.gplvm",
    "GTM": "models.gtm",
    "NonlinearFactorAnalysis": "models.nonlinear_fa",
    "DensityNetwork": "models.density_network",
    "Autoencoder": "models.autoencoder",
    "CCA": "models.cca",
    "ICA": "models.ica",
    "LinearDiscriminant": "models.discriminant",
    "VarianceSelector": "models.select",
    "Isomap": "models.isomap",
    "LaplacianEigenmaps": "models.laplacian",
    "LocallyLinearEmbedding": "models.lle",
    "KMeans": "models.kmeans",
    "KMedoids": "models.medoids",
    "quantize_image": "images",
    "Mixture": "models.mixture",
    "MixtureOfPPCA": "models.mixture_presets",
    "MixtureOfFA": "models.mixture_presets",
    "GaussianMixture": "models.gaussian_mixture",
    "choose_clusters": "judge.clusters",
    "compare": "judge.compare",
    "MatrixFactorization": "models.ratings",
    "ClassicalMDS": "models.mds",
    "KernelPCA": "models.kernel_pca",
    "MaximumVarianceUnfolding": "models.unfolding",
    "MaximumEntropyUnfolding": "models.entropy",
    "embedding_score": "judge.embedding_score",
    "judge_map": "judge.maps",
    "robust_map": "models.robust_mds",
    "to_similarities": "math.distances",
    "to_squared_distances": "math.distances",
    "best_of": "models.restarts",
    "Moments": "engine.merge",
    "Run": "engine.fold",
    "as_source": "data.arrays",
    "stream": "data.files",
    "rotate": "math.rotate",
    "procrustes": "math.rotate",
    "whiten": "models.functions",
    "total_least_squares": "models.functions",
    "load": "persist",
    "read": "data.table",
    "analyse": "analysis",
    "analyse_stream": "streaming",
    "choose_dimension": "judge.dimensions",
    "distance_law": "judge.distances",
    "load_run": "runs",
    "datasets": "",
    "laws": "",
    "messages": "",
}
__all__ = [
    "CCA",
    "GPLVM",
    "GTM",
    "ICA",
    "PCA",
    "PPCA",
    "Autoencoder",
    "BayesianGPLVM",
    "BayesianPCA",
    "ClassicalMDS",
    "DensityNetwork",
    "DualPPCA",
    "FactorAnalysis",
    "GaussianMixture",
    "Isomap",
    "KMeans",
    "KMedoids",
    "KernelPCA",
    "LaplacianEigenmaps",
    "LinearDiscriminant",
    "LocallyLinearEmbedding",
    "MatrixFactorization",
    "MaximumEntropyUnfolding",
    "MaximumVarianceUnfolding",
    "Mixture",
    "MixtureOfFA",
    "MixtureOfPPCA",
    "Moments",
    "NonlinearFactorAnalysis",
    "ProbabilisticPCA",
    "Run",
    "VarianceSelector",
    "analyse",
    "analyse_stream",
    "as_source",
    "best_of",
    "choose_clusters",
    "choose_dimension",
    "compare",
    "datasets",
    "distance_law",
    "embedding_score",
    "judge_map",
    "laws",
    "load",
    "load_run",
    "messages",
    "procrustes",
    "quantize_image",
    "read",
    "robust_map",
    "rotate",
    "stream",
    "to_similarities",
    "to_squared_distances",
    "total_least_squares",
    "whiten",
]


def __getattr__(name: str) -> Any:
    """Public names are loaded on first use: `import lowdim` itself stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'lowdim' has no attribute '{name}'")
    if not _HOMES[name]:
        return import_module(f"lowdim.{name}")
    return getattr(import_module(f"lowdim.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
