"""Options as other packages call them, and what to write here instead."""

from __future__ import annotations

from collections.abc import Sequence

NEVER_CHANGED = "leave it out: a table is never changed"
EXACT = "leave it out: eigenpairs are found to full precision, by a solver that suits the size"
THREADS = "leave it out: work is spread over threads by itself; fit(X, run=ld.Run(engine='serial')) keeps to one"
LINES = "fit(X, run=ld.Run(verbose=1)) prints a line a pass"
START = "init=centres starts from an array of means"
NEIGHBOURS = "leave it out: neighbours are exact, found by a tree or by brute force, whichever is quicker"
PAIRS = "metric='precomputed', and the distances themselves as the table"
UNITS = "leave it out: real columns are always in units of their spread"

# A word of scikit-learn (or of another package, where the page docs/coming_from.md says so) -> what to write.
EVERYWHERE: dict[str, str] = {
    "copy": NEVER_CHANGED,
    "copy_x": NEVER_CHANGED,
    "copy_X": NEVER_CHANGED,
    "n_jobs": THREADS,
    "verbose": LINES,
    "verbose_interval": LINES,
    "eigen_solver": EXACT,
    "iterated_power": EXACT,
    "n_oversamples": EXACT,
    "power_iteration_normalizer": EXACT,
    "neighbors_algorithm": NEIGHBOURS,
    "metric_params": PAIRS,
    "p": PAIRS,
    "random_state": "leave it out: nothing is drawn",
    "scale": "standardize=True",
    "center": "leave it out: the mean is always a part of the model",
    "n_latent": "n_components=...",
    "n_factors": "n_components=...",
    "nPcs": "n_components=...",
    "ncp": "n_components=...",
}
OF_MODEL: dict[str, dict[str, str]] = {
    "PCA": {
        "svd_solver": "solver='qr' for 'full', 'covariance' for 'covariance_eigh', 'krylov' for the others",
        "batch_size": "leave it out: fit reads files and streams block by block, partial_fit takes what comes",
    },
    "MixedFactorAnalysis": {"standardize": UNITS},
    "FactorAnalysis": {
        "svd_method": "leave it out: Newton's method on the likelihood, to its optimum",
        "noise_variance_init": "leave it out: the optimum does not follow the start",
    },
    "ICA": {
        "whiten": "leave it out: sources have unit variance; ld.whiten(X) whitens by itself",
        "whiten_solver": EXACT,
        "fun_args": "leave it out: fun='logcosh', 'exp' or 'cube' as they are",
        "w_init": "random_state=... draws another start",
    },
    "KernelPCA": {
        "kernel_params": "kernel=function: any function of two arrays of rows",
        "alpha": "leave it out: inverse_transform finds pre-images without it",
        "fit_inverse_transform": "leave it out: inverse_transform is always there",
        "tol": EXACT,
        "max_iter": EXACT,
        "remove_zero_eig": "leave it out: axes without variance are never returned with noise in them",
    },
    "GaussianMixture": {
        "init_params": "init='k-means++', or init=centres",
        "weights_init": START,
        "means_init": START,
        "precisions_init": START,
        "warm_start": "init=model.means_ starts where another fit ended",
    },
    "KMeans": {"algorithm": "leave it out: Lloyd's passes, the same bits from memory and from files"},
    "Isomap": {
        "radius": "n_neighbors=...: a graph of nearest rows has no empty places",
        "tol": EXACT,
        "max_iter": EXACT,
        "path_method": "leave it out: Dijkstra's paths from every row, or n_landmarks=... rows",
    },
    "LocallyLinearEmbedding": {
        "method": "variant='standard' or 'acyclic'; in place of the others ld.MaximumVarianceUnfolding",
        "hessian_tol": "leave it out: there is no Hessian variant; ld.MaximumVarianceUnfolding keeps distances too",
        "modified_tol": "leave it out: there is no modified variant; ld.MaximumVarianceUnfolding keeps distances too",
        "tol": EXACT,
        "max_iter": EXACT,
    },
    "LaplacianEigenmaps": {
        "affinity": "weights='binary' or 'heat' over n_neighbors=... nearest rows",
        "gamma": "weights='heat', width=...: exp(-distance^2 / width)",
        "eigen_tol": EXACT,
    },
    "ClassicalMDS": {
        "metric_mds": "leave it out: this is the closed form; .robust_map() minimises absolute errors of distances",
        "n_init": "leave it out: the closed form has no start",
        "init": "leave it out: the closed form has no start",
        "max_iter": EXACT,
        "eps": EXACT,
        "dissimilarity": "metric='precomputed'",
        "normalized_stress": "leave it out: stress is not what is minimised here",
    },
    "CCA": {"scale": "leave it out: canonical correlations have no units"},
    "LinearDiscriminant": {
        "solver": EXACT,
        "store_covariance": "leave it out: covariance_ is always there",
        "covariance_estimator": "shrinkage=a share between 0 and 1",
    },
    "VarianceSelector": {"threshold": "n_components=how many columns to keep"},
}


def instead_of(word: str, model: str, options: Sequence[str]) -> str:
    """What to write in place of an option that a model does not have.

    >>> instead_of("svd_method", "FactorAnalysis", ())
    "leave it out: Newton's method on the likelihood, to its optimum"
    >>> instead_of("ncomponents", "PCA", ("n_components", "whiten"))
    'n_components=...; its options: n_components, whiten'
    """
    from difflib import get_close_matches

    known = OF_MODEL.get(model, {}).get(word) or EVERYWHERE.get(word)
    if known:
        return known
    near = "".join(f"{name}=...; " for name in get_close_matches(word, options, 1))
    return f"{near}its options: {', '.join(options)}"
