"""lowdim: what is this table really made of?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # so that editors and type checkers know what the lazy names are
    from lowdim import datasets, laws, messages
    from lowdim.engine.fold import Run
    from lowdim.engine.statistics import Moments
    from lowdim.jobs.analysis import analyse
    from lowdim.jobs.large import analyse_stream
    from lowdim.jobs.run_folder import load_run
    from lowdim.judge.clusters import choose_clusters
    from lowdim.judge.compare.compare import compare
    from lowdim.judge.dimensions.distance_law import distance_law
    from lowdim.judge.dimensions.jury import choose_dimension
    from lowdim.judge.maps.embedding_score import embedding_score
    from lowdim.judge.maps.quality import judge_map
    from lowdim.math.distances import to_similarities, to_squared_distances
    from lowdim.math.rotate import procrustes, rotate
    from lowdim.models.base.restarts import best_of
    from lowdim.models.gaussian_process.bayesian_gplvm import BayesianGPLVM
    from lowdim.models.gaussian_process.gplvm import GPLVM
    from lowdim.models.linear.bayesian_pca import BayesianPCA
    from lowdim.models.linear.dual_ppca import DualPPCA
    from lowdim.models.linear.factor_analysis import FactorAnalysis
    from lowdim.models.linear.functions import total_least_squares, whiten
    from lowdim.models.linear.linear_gaussian import PPCA, ProbabilisticPCA
    from lowdim.models.linear.pca import PCA
    from lowdim.models.mixtures.gaussian_mixture import GaussianMixture
    from lowdim.models.mixtures.kmeans import KMeans
    from lowdim.models.mixtures.kmedoids import KMedoids
    from lowdim.models.mixtures.mixture import Mixture
    from lowdim.models.mixtures.presets import MixtureOfFA, MixtureOfPPCA
    from lowdim.models.mixtures.quantize_image import quantize_image
    from lowdim.models.nonlinear.autoencoder import Autoencoder
    from lowdim.models.nonlinear.density_network import DensityNetwork
    from lowdim.models.nonlinear.gtm import GTM
    from lowdim.models.nonlinear.nonlinear_fa import NonlinearFactorAnalysis
    from lowdim.models.ratings.factorization import MatrixFactorization
    from lowdim.models.relatives.cca import CCA
    from lowdim.models.relatives.ica import ICA
    from lowdim.models.relatives.linear_discriminant import LinearDiscriminant
    from lowdim.models.relatives.variance_selector import VarianceSelector
    from lowdim.models.spectral.isomap import Isomap
    from lowdim.models.spectral.kernel_pca import KernelPCA
    from lowdim.models.spectral.laplacian_eigenmaps import LaplacianEigenmaps
    from lowdim.models.spectral.lle import LocallyLinearEmbedding
    from lowdim.models.spectral.mds import ClassicalMDS
    from lowdim.models.spectral.meu import MaximumEntropyUnfolding
    from lowdim.models.spectral.mvu import MaximumVarianceUnfolding
    from lowdim.models.spectral.robust_map import robust_map
    from lowdim.sources.arrays import as_source
    from lowdim.sources.files.open import stream
    from lowdim.storage.model_file import load
    from lowdim.table.table import read

__version__ = "0.1.0"

_HOMES = {
    "PCA": "models.linear.pca",
    "ProbabilisticPCA": "models.linear.linear_gaussian",
    "PPCA": "models.linear.linear_gaussian",
    "FactorAnalysis": "models.linear.factor_analysis",
    "BayesianPCA": "models.linear.bayesian_pca",
    "DualPPCA": "models.linear.dual_ppca",
    "BayesianGPLVM": "models.gaussian_process.bayesian_gplvm",
    "GPLVM": "models.gaussian_process.gplvm",
    "GTM": "models.nonlinear.gtm",
    "NonlinearFactorAnalysis": "models.nonlinear.nonlinear_fa",
    "DensityNetwork": "models.nonlinear.density_network",
    "Autoencoder": "models.nonlinear.autoencoder",
    "CCA": "models.relatives.cca",
    "ICA": "models.relatives.ica",
    "LinearDiscriminant": "models.relatives.linear_discriminant",
    "VarianceSelector": "models.relatives.variance_selector",
    "Isomap": "models.spectral.isomap",
    "LaplacianEigenmaps": "models.spectral.laplacian_eigenmaps",
    "LocallyLinearEmbedding": "models.spectral.lle",
    "KMeans": "models.mixtures.kmeans",
    "KMedoids": "models.mixtures.kmedoids",
    "quantize_image": "models.mixtures.quantize_image",
    "Mixture": "models.mixtures.mixture",
    "MixtureOfPPCA": "models.mixtures.presets",
    "MixtureOfFA": "models.mixtures.presets",
    "GaussianMixture": "models.mixtures.gaussian_mixture",
    "choose_clusters": "judge.clusters",
    "compare": "judge.compare.compare",
    "MatrixFactorization": "models.ratings.factorization",
    "ClassicalMDS": "models.spectral.mds",
    "KernelPCA": "models.spectral.kernel_pca",
    "MaximumVarianceUnfolding": "models.spectral.mvu",
    "MaximumEntropyUnfolding": "models.spectral.meu",
    "embedding_score": "judge.maps.embedding_score",
    "judge_map": "judge.maps.quality",
    "robust_map": "models.spectral.robust_map",
    "to_similarities": "math.distances",
    "to_squared_distances": "math.distances",
    "best_of": "models.base.restarts",
    "Moments": "engine.statistics",
    "Run": "engine.fold",
    "as_source": "sources.arrays",
    "stream": "sources.files.open",
    "rotate": "math.rotate",
    "procrustes": "math.rotate",
    "whiten": "models.linear.functions",
    "total_least_squares": "models.linear.functions",
    "load": "storage.model_file",
    "read": "table.table",
    "analyse": "jobs.analysis",
    "analyse_stream": "jobs.large",
    "choose_dimension": "judge.dimensions.jury",
    "distance_law": "judge.dimensions.distance_law",
    "load_run": "jobs.run_folder",
    "datasets": "",
    "laws": "",
    "messages": "text.messages",
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
    if _HOMES[name].rpartition(".")[2] in ("", name) and name in ("datasets", "laws", "messages"):
        return import_module(f"lowdim.{_HOMES[name] or name}")
    return getattr(import_module(f"lowdim.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
