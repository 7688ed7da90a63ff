# ruff: noqa: RUF022
"""Made by `make derive`; lowdim/registry.py is what to edit."""

from lowdim import datasets as datasets
from lowdim import laws as laws
from lowdim.engine.checkpoint.store import best_of_checkpoint as best_of_checkpoint
from lowdim.engine.fold import Run as Run
from lowdim.engine.statistics import Moments as Moments
from lowdim.explorer.widget import explore as explore
from lowdim.jobs.analysis import analyse as analyse
from lowdim.jobs.analysis import analyze as analyze
from lowdim.jobs.analysis import odd_rows as odd_rows
from lowdim.jobs.one_model import fit_method as fit_method
from lowdim.jobs.run_folder import load_run as load_run
from lowdim.jobs.stream import analyse_stream as analyse_stream
from lowdim.jobs.table_model import subject as subject
from lowdim.judge.clusters import choose_clusters as choose_clusters
from lowdim.judge.compare.compare import compare as compare
from lowdim.judge.compare.embedding_score import embedding_score as embedding_score
from lowdim.judge.compare.map_quality import judge_map as judge_map
from lowdim.judge.dimensions.distance_law import distance_law as distance_law
from lowdim.judge.dimensions.jury import choose_dimension as choose_dimension
from lowdim.judge.fills.fill import fill as fill
from lowdim.judge.items import factorability as factorability
from lowdim.judge.items import reliability as reliability
from lowdim.judge.outliers.partition import robust_fit as robust_fit
from lowdim.judge.read_table import read as read
from lowdim.models.base.restarts import best_of as best_of
from lowdim.models.gaussian_process.bayesian_gplvm import BayesianGPLVM as BayesianGPLVM
from lowdim.models.gaussian_process.gplvm import GPLVM as GPLVM
from lowdim.models.linear.bayesian_pca import BayesianPCA as BayesianPCA
from lowdim.models.linear.dual_ppca import DualPPCA as DualPPCA
from lowdim.models.linear.factor_analysis import FactorAnalysis as FactorAnalysis
from lowdim.models.linear.pca import PCA as PCA
from lowdim.models.linear.ppca import PPCA as PPCA
from lowdim.models.linear.ppca import ProbabilisticPCA as ProbabilisticPCA
from lowdim.models.linear.robust_ppca import RobustPPCA as RobustPPCA
from lowdim.models.linear.whitening import total_least_squares as total_least_squares
from lowdim.models.linear.whitening import whiten as whiten
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis as MixedFactorAnalysis
from lowdim.models.mixtures.bayesian_mixture import BayesianMixtureOfPPCA as BayesianMixtureOfPPCA
from lowdim.models.mixtures.kmeans import KMeans as KMeans
from lowdim.models.mixtures.kmedoids import KMedoids as KMedoids
from lowdim.models.mixtures.mixture import GaussianMixture as GaussianMixture
from lowdim.models.mixtures.mixture import Mixture as Mixture
from lowdim.models.mixtures.mixture import MixtureOfFA as MixtureOfFA
from lowdim.models.mixtures.mixture import MixtureOfPPCA as MixtureOfPPCA
from lowdim.models.nonlinear.autoencoder import Autoencoder as Autoencoder
from lowdim.models.nonlinear.density_network import DensityNetwork as DensityNetwork
from lowdim.models.nonlinear.gtm import GTM as GTM
from lowdim.models.nonlinear.nonlinear_fa import NonlinearFactorAnalysis as NonlinearFactorAnalysis
from lowdim.models.projections.cca import CCA as CCA
from lowdim.models.projections.ica import ICA as ICA
from lowdim.models.projections.linear_discriminant import LinearDiscriminant as LinearDiscriminant
from lowdim.models.projections.variance_selector import VarianceSelector as VarianceSelector
from lowdim.models.ratings.factorization import MatrixFactorization as MatrixFactorization
from lowdim.models.rotations import procrustes as procrustes
from lowdim.models.rotations import rotate as rotate
from lowdim.models.spectral.isomap import Isomap as Isomap
from lowdim.models.spectral.kernel_pca import KernelPCA as KernelPCA
from lowdim.models.spectral.laplacian_eigenmaps import LaplacianEigenmaps as LaplacianEigenmaps
from lowdim.models.spectral.lle import LocallyLinearEmbedding as LocallyLinearEmbedding
from lowdim.models.spectral.mds import ClassicalMDS as ClassicalMDS
from lowdim.models.spectral.meu import MaximumEntropyUnfolding as MaximumEntropyUnfolding
from lowdim.models.spectral.mvu import MaximumVarianceUnfolding as MaximumVarianceUnfolding
from lowdim.models.spectral.pair_table import to_similarities as to_similarities
from lowdim.models.spectral.pair_table import to_squared_distances as to_squared_distances
from lowdim.models.spectral.robust_map import robust_map as robust_map
from lowdim.sources.arrays import as_source as as_source
from lowdim.sources.files.open import stream as stream
from lowdim.storage.model_file import load as load
from lowdim.text import messages as messages

__version__: str
__all__ = [
    "Autoencoder",
    "BayesianGPLVM",
    "BayesianMixtureOfPPCA",
    "BayesianPCA",
    "CCA",
    "ClassicalMDS",
    "DensityNetwork",
    "DualPPCA",
    "FactorAnalysis",
    "GPLVM",
    "GTM",
    "GaussianMixture",
    "ICA",
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
    "MixedFactorAnalysis",
    "Mixture",
    "MixtureOfFA",
    "MixtureOfPPCA",
    "Moments",
    "NonlinearFactorAnalysis",
    "PCA",
    "PPCA",
    "ProbabilisticPCA",
    "RobustPPCA",
    "Run",
    "VarianceSelector",
    "analyse",
    "analyse_stream",
    "analyze",
    "as_source",
    "best_of",
    "best_of_checkpoint",
    "choose_clusters",
    "choose_dimension",
    "compare",
    "datasets",
    "distance_law",
    "embedding_score",
    "explore",
    "factorability",
    "fill",
    "fit_method",
    "judge_map",
    "laws",
    "load",
    "load_run",
    "messages",
    "odd_rows",
    "procrustes",
    "read",
    "reliability",
    "robust_fit",
    "robust_map",
    "rotate",
    "stream",
    "subject",
    "to_similarities",
    "to_squared_distances",
    "total_least_squares",
    "whiten",
]
