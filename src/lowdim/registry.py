"""The classes a file may name: model files and checkpoints hold numbers, and only these give them meaning."""
from __future__ import annotations

MODELS = {  # estimators
    "Autoencoder": "lowdim.models.autoencoder", "BayesianGPLVM": "lowdim.models.bayesian_gplvm",
    "BayesianPCA": "lowdim.models.bayesian", "CCA": "lowdim.models.cca", "ClassicalMDS": "lowdim.models.mds",
    "DensityNetwork": "lowdim.models.density_network", "DualPPCA": "lowdim.models.dual",
    "FactorAnalysis": "lowdim.models.factor_analysis", "GPLVM": "lowdim.models.gplvm", "GTM": "lowdim.models.gtm",
    "GaussianMixture": "lowdim.models.gaussian_mixture", "ICA": "lowdim.models.ica", "Isomap": "lowdim.models.isomap",
    "KMeans": "lowdim.models.kmeans", "KMedoids": "lowdim.models.medoids", "KernelPCA": "lowdim.models.kernel_pca",
    "LaplacianEigenmaps": "lowdim.models.laplacian", "LinearDiscriminant": "lowdim.models.discriminant",
    "LocallyLinearEmbedding": "lowdim.models.lle", "MatrixFactorization": "lowdim.models.ratings",
    "MaximumEntropyUnfolding": "lowdim.models.entropy", "MaximumVarianceUnfolding": "lowdim.models.unfolding",
    "Mixture": "lowdim.models.mixture", "MixtureOfFA": "lowdim.models.mixture_presets",
    "MixtureOfPPCA": "lowdim.models.mixture_presets", "NonlinearFactorAnalysis": "lowdim.models.nonlinear_fa",
    "PCA": "lowdim.models.pca", "ProbabilisticPCA": "lowdim.models.linear",
    "VarianceSelector": "lowdim.models.select",
}
RECORDS = {  # their parameters and what else they keep
    "Bayes": "lowdim.models.bayesian", "CanonicalTest": "lowdim.math.canonical", "Centres": "lowdim.models.kmeans",
    "Certificate": "lowdim.models.certificate", "Classes": "lowdim.models.discriminant",
    "Coder": "lowdim.models.autoencoder", "Coordinates": "lowdim.models.mds", "Curved": "lowdim.models.nonlinear_fa",
    "Doubtful": "lowdim.models.bayesian_gplvm", "Dual": "lowdim.models.dual", "Factors": "lowdim.models.rated",
    "Frame": "lowdim.data.views", "Full": "lowdim.models.gaussian", "Geodesics": "lowdim.models.isomap",
    "GoodnessOfFit": "lowdim.math.factor", "Kept": "lowdim.models.select", "KernelMap": "lowdim.models.kernel_pca",
    "Linear": "lowdim.models.start", "Medoids": "lowdim.models.medoids",
    "Mixed": "lowdim.models.ica", "Moments": "lowdim.engine.merge",
    "Net": "lowdim.models.net", "Patches": "lowdim.models.lle", "Places": "lowdim.models.places",
    "Principal": "lowdim.models.pca", "Sheet": "lowdim.models.sheet", "Springs": "lowdim.models.entropy",
    "TwoViews": "lowdim.models.two_views", "Unrolled": "lowdim.models.unfolding",
    "Vibrations": "lowdim.models.laplacian", "Weighted": "lowdim.models.mixture",
}
STATISTICS = {  # what a fold leaves, in checkpoints only
    "ClassSums": "lowdim.models.discriminant", "ClusterSums": "lowdim.math.clusters",
    "Columns": "lowdim.engine.merge", "DualSums": "lowdim.models.dual", "Held": "lowdim.models.widen",
    "MixtureSums": "lowdim.models.mixture",
    "Pairs": "lowdim.engine.merge", "PsiSums": "lowdim.math.psi",
    "Scatter": "lowdim.models.gaussian", "Seen": "lowdim.math.canonical",
    "SheetSums": "lowdim.models.sheet", "Sum": "lowdim.engine.merge", "Sums": "lowdim.math.gaussian",
    "Survey": "lowdim.engine.merge", "Sweep": "lowdim.math.ratings",
    "Triangle": "lowdim.engine.merge", "Within": "lowdim.models.centres",
}
