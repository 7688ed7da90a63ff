"""The classes a file may name: model files and checkpoints hold numbers, and only these give them meaning."""
from __future__ import annotations

MODELS = {  # estimators
    "Autoencoder": "lowdim.models.nonlinear.autoencoder", "BayesianGPLVM": "lowdim.models.gaussian_process.bayesian_gplvm",
    "BayesianPCA": "lowdim.models.linear.bayesian_pca", "CCA": "lowdim.models.relatives.cca", "ClassicalMDS": "lowdim.models.spectral.mds",
    "DensityNetwork": "lowdim.models.nonlinear.density_network", "DualPPCA": "lowdim.models.linear.dual_ppca",
    "FactorAnalysis": "lowdim.models.linear.factor_analysis", "GPLVM": "lowdim.models.gaussian_process.gplvm", "GTM": "lowdim.models.nonlinear.gtm",
    "GaussianMixture": "lowdim.models.mixtures.gaussian_mixture", "ICA": "lowdim.models.relatives.ica", "Isomap": "lowdim.models.spectral.isomap",
    "KMeans": "lowdim.models.mixtures.kmeans", "KMedoids": "lowdim.models.mixtures.kmedoids", "KernelPCA": "lowdim.models.spectral.kernel_pca",
    "LaplacianEigenmaps": "lowdim.models.spectral.laplacian_eigenmaps", "LinearDiscriminant": "lowdim.models.relatives.linear_discriminant",
    "LocallyLinearEmbedding": "lowdim.models.spectral.lle", "MatrixFactorization": "lowdim.models.ratings.factorization",
    "MaximumEntropyUnfolding": "lowdim.models.spectral.meu", "MaximumVarianceUnfolding": "lowdim.models.spectral.mvu",
    "Mixture": "lowdim.models.mixtures.mixture", "MixtureOfFA": "lowdim.models.mixtures.presets",
    "MixtureOfPPCA": "lowdim.models.mixtures.presets", "NonlinearFactorAnalysis": "lowdim.models.nonlinear.nonlinear_fa",
    "PCA": "lowdim.models.linear.pca", "ProbabilisticPCA": "lowdim.models.linear.linear_gaussian",
    "VarianceSelector": "lowdim.models.relatives.variance_selector",
}
RECORDS = {  # their parameters and what else they keep
    "Bayes": "lowdim.models.linear.bayesian_pca", "CanonicalTest": "lowdim.models.relatives.cca_algebra", "Centres": "lowdim.models.mixtures.kmeans",
    "Certificate": "lowdim.models.base.certificate", "Classes": "lowdim.models.relatives.linear_discriminant",
    "Coder": "lowdim.models.nonlinear.autoencoder", "Coordinates": "lowdim.models.spectral.mds", "Curved": "lowdim.models.nonlinear.nonlinear_fa",
    "Doubtful": "lowdim.models.gaussian_process.bayesian_gplvm", "Dual": "lowdim.models.linear.dual_ppca", "Factors": "lowdim.models.ratings.predictions",
    "Frame": "lowdim.sources.views", "Full": "lowdim.models.mixtures.full_gaussian", "Geodesics": "lowdim.models.spectral.isomap",
    "GoodnessOfFit": "lowdim.math.factor", "Kept": "lowdim.models.relatives.variance_selector", "KernelMap": "lowdim.models.spectral.kernel_pca",
    "Linear": "lowdim.models.linear.parameters", "Medoids": "lowdim.models.mixtures.kmedoids",
    "Mixed": "lowdim.models.relatives.ica", "Moments": "lowdim.engine.statistics",
    "Net": "lowdim.models.nonlinear.density_network_em", "Patches": "lowdim.models.spectral.lle", "Places": "lowdim.models.gaussian_process.gplvm_likelihood",
    "Principal": "lowdim.models.linear.pca", "Sheet": "lowdim.models.nonlinear.gtm_em", "Springs": "lowdim.models.spectral.meu",
    "TwoViews": "lowdim.models.relatives.cca_em", "Unrolled": "lowdim.models.spectral.mvu",
    "Vibrations": "lowdim.models.spectral.laplacian_eigenmaps", "Weighted": "lowdim.models.mixtures.mixture",
}
STATISTICS = {  # what a fold leaves, in checkpoints only
    "ClassSums": "lowdim.models.relatives.linear_discriminant", "ClusterSums": "lowdim.math.clusters",
    "Columns": "lowdim.engine.statistics", "DualSums": "lowdim.models.linear.dual_ppca", "Held": "lowdim.models.base.calibration",
    "MixtureSums": "lowdim.models.mixtures.mixture",
    "Pairs": "lowdim.engine.statistics", "PsiSums": "lowdim.models.gaussian_process.psi",
    "Scatter": "lowdim.models.mixtures.full_gaussian", "Seen": "lowdim.models.relatives.cca_algebra",
    "SheetSums": "lowdim.models.nonlinear.gtm_em", "Sum": "lowdim.engine.statistics", "Sums": "lowdim.math.gaussian",
    "Survey": "lowdim.engine.statistics", "Sweep": "lowdim.models.ratings.beliefs",
    "Triangle": "lowdim.engine.statistics", "Within": "lowdim.models.mixtures.starts",
}
