"""Tests of scikit-learn 1.9 that fail with our classes in place of its own, and why.

`WORDS`: they ask for a text of an error, a private name, an option that does not exist here or an internal choice of a
solver; nothing is computed otherwise. `CHOICES`: a number or a verdict differs, by intention.
"""

from __future__ import annotations

LOOPS = "the weights are read off the field's L, which has no loops; other affinities come as a graph"
FLOAT64 = "fitted attributes are float64 whatever came in; positions are float32 where the table was"
RADIUS = "the graph is one of nearest rows: there is no radius"
WARM = "no warm_start: init=model.means_ starts where another fit ended"
STARTS = "starts are means (init=...); weights, precisions and private setters of a start have no place here"
REFUSED = "a text of an error, word for word"

WORDS: dict[str, dict[str, str]] = {
    "decomposition/tests/test_pca.py": {
        "test_sparse_pca_solver_error": "every solver here takes sparse tables: nothing is refused",
        "test_pca_svd_solver_auto": "a private name of the solver that was chosen; ours is in certificate_.solver",
        "test_pca_validation": REFUSED + "; 0 axes and all axes are allowed for every solver",
        "test_n_components_mle_error": "'mle' is not refused for the solver of a few axes: all are computed",
        "test_fit_mle_too_few_samples": "'mle' is not refused where there are fewer rows than columns",
        "test_pca_dtype_preservation": FLOAT64,
        "test_n_components_none": "one axis fewer for ARPACK's sake; there is no ARPACK in PCA here",
    },
    "decomposition/tests/test_kernel_pca.py": {
        "test_kernel_pca_invalid_parameters": REFUSED,
        "test_remove_zero_eig": "no option removes axes: those without variance hold zeros, and a warning says so",
        "test_kernel_pca": "a kernel function takes two tables here, not two rows",
        "test_kernel_pca_raise_not_fitted_error": "pre-images need no option; its row is refused for its width",
        "test_kernel_pca_sparse": "pre-images need no option, so there is no error to raise without it",
    },
    "decomposition/tests/test_fastica.py": {
        "test_fastica_simple": "no functions of the user's as contrast (fun); the three named ones pass",
        "test_fastica_attributes_dtypes": "a matrix that whitens by itself (whitening_): ld.whiten(X) has it",
        "test_fastica_nowhiten": "no whiten=False to warn of",
        "test_fastica_eigh_low_rank_warning": "one whitening for every rank, without a choice to warn of",
        "test_fastica_convergence_fail": "tol=0 is refused; a fit that did not converge says LD201",
    },
    "mixture/tests/test_gaussian_mixture.py": {
        "test_warm_start": WARM,
        "test_convergence_detected_with_warm_start": WARM,
        "test_monotonic_likelihood": WARM + "; the law objective_never_falls asks the same of every pass",
        "test_gaussian_mixture_precisions_init": STARTS,
        "test_gaussian_mixture_precisions_init_diag": STARTS,
        "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters": STARTS,
        "test_init_means_not_duplicated": "max_iter=0 is refused",
        "test_max_iter_zero": "max_iter=0 is refused",
        "test_check_weights": STARTS,
        "test_check_means": REFUSED,
        "test_check_precisions": STARTS,
        "test_gaussian_mixture_n_parameters": "a private name; ours is n_parameters_",
        "test_gaussian_mixture_aic_bic": "a private name; ours is n_parameters_",
        "test_gaussian_mixture_setting_best_params": "a private array of Cholesky factors",
        "test_gaussian_mixture_fit_convergence_warning": "a fit that did not converge says LD201",
        "test_sample": REFUSED,
    },
    "manifold/tests/test_isomap.py": {
        "test_isomap_simple_grid": RADIUS,
        "test_isomap_reconstruction_error": "a method of that name; certificate_ and eigenvalues_ say what is lost",
        "test_isomap_raise_error_when_neighbor_and_radius_both_set": RADIUS,
        "test_isomap_clone_bug": "the matrix of all paths (dist_matrix_) is not kept",
        "test_isomap_dtype_equivalence": "the matrix of all paths (dist_matrix_) is not kept",
        "test_isomap_fitted_attributes_dtype": "the matrix of all paths (dist_matrix_) is not kept",
        "test_different_metric": "other distances come as a matrix: metric='precomputed'",
        "test_multiple_connected_components": "pieces are said as LD430, a text of our own",
        "test_multiple_connected_components_metric_precomputed": "pieces are said as LD430, a text of our own",
    },
    "manifold/tests/test_spectral_embedding.py": {
        "test_spectral_embedding_precomputed_affinity": LOOPS,
        "test_spectral_embedding_callable_affinity": LOOPS,
        "test_spectral_embedding_preserves_dtype": FLOAT64,
        "test_error_pyamg_not_available": "no solver that could be absent",
    },
    "manifold/tests/test_classical_mds.py": {
        "test_classical_mds_wrong_inputs": REFUSED,
        "test_classical_mds_metric_params": "other distances come as a matrix: metric='precomputed'",
    },
}
CHOICES: dict[str, dict[str, str]] = {
    "decomposition/tests/test_pca.py": {
        "test_pca_score": "whitening does not change a density: its score is that of the same PCA unwhitened",
    },
    "decomposition/tests/test_factor_analysis.py": {
        "test_factor_analysis": "three factors of five columns cannot be told apart: refused (LD206)",
    },
    "decomposition/tests/test_kernel_pca.py": {
        "test_precomputed_kernel_not_psd": "an indefinite kernel is mapped by its positive part, and said so (LD412)",
        "test_kernel_pca_precomputed_non_symmetric": "similarities that differ by direction are refused (LD410)",
        "test_kernel_pca_inverse_correct_gamma": "gamma is 1 / (2 median distance^2) unless given, not 1 / columns",
        "test_kernel_conditioning": "columns are centred before the kernel: the tiny eigenvalue is right, not rounding",
    },
    "decomposition/tests/test_fastica.py": {
        "test_inverse_transform": "sources are always whitened: ten of five directions are not to be had",
    },
    "mixture/tests/test_gaussian_mixture.py": {
        "test_multiple_init": "ten starts race by default: one asked for may end lower",
        "test_regularisation": "ten equal rows a part are floored with a warning (LD251), not refused",
    },
    "manifold/tests/test_spectral_embedding.py": {
        "test_precomputed_nearest_neighbors_filtering": "a graph in three pieces is not mapped in silence (LD433)",
    },
}
