"""What older files call things: names of records, their fields and options that have since been renamed or taken apart.

A model file names classes, fields and options. When one of them changes, the old word is entered here and old files
go on loading; `tests/stored` holds files to prove it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Values = dict[str, Any]


def _gplvm_options(values: Values) -> Values:
    """White noise was a term of the kernel, "rbf+white(1e-3)", `tol` in nats a hundred rows; no inducing points."""
    if "noise_floor" in values:
        return {"n_inducing": None, **values}
    terms = values["kernel"].replace(" ", "").split("+")
    white = [term for term in terms if term.startswith("white")]
    floors = [float(term[6:-1]) for term in white if term != "white"]
    kernel = "+".join(term for term in terms if term not in white)
    floor = floors[0] if floors else None
    return {**values, "kernel": kernel, "noise_floor": floor, "tol": values["tol"] / 100, "n_inducing": None}


def _bayesian_gplvm_state(values: Values) -> Values:
    """`kept_` was the number of dimensions, the most relevant of which come first."""
    if "n_kept_" in values or "kept_" not in values:
        return values
    count = int(values["kept_"])
    return {**values, "kept_": np.arange(values["n_components_"]) < count, "n_kept_": count}


def _cca_state(values: Values) -> Values:
    """Of two tables, each had a frame of its own."""
    if "y_frame_" not in values:
        return values
    first, second = values["frame_"], values["y_frame_"]
    frame = type(first)(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))
    others = {name: value for name, value in values.items() if name != "y_frame_"}
    return {**others, "frame_": frame, "n_y_features_in_": len(second.shift)}


def _rating_options(values: Values) -> Values:
    """The least and the largest rating were one option, `scale`."""
    if "scale" not in values:
        return values
    low, high = values["scale"] or (None, None)
    others = {name: value for name, value in values.items() if name != "scale"}
    return {**others, "min_rating": low, "max_rating": high}


def _bayesian_pca_state(values: Values) -> Values:
    """The number of kept axes was not stored."""
    if "n_kept_" in values or "kept_" not in values:
        return values
    return {**values, "n_kept_": int(np.asarray(values["kept_"]).sum())}


def _rating_state(values: Values) -> Values:
    """`relevance_` held standard deviations, and the number of kept dimensions was not stored."""
    if "n_kept_" in values or "kept_" not in values:
        return values
    kept, sd = np.asarray(values["kept_"]), np.asarray(values["relevance_"])
    return {**values, "relevance_": sd**2, "n_kept_": int(kept.sum())}


def _renamed(**names: str) -> Callable[[Values], Values]:
    """Values under today's names, given as former=today's."""
    return lambda values: {names.get(name, name): value for name, value in values.items()}


def _kernel_pca_options(values: Values) -> Values:
    """`coef0` was `constant`, and the kernel "rbf" was "gaussian"."""
    values = _renamed(constant="coef0")(values)
    return {**values, "kernel": "rbf"} if values.get("kernel") == "gaussian" else values


def _laplacian_options(values: Values) -> Values:
    """`normalization` was `normalisation`, and "generalized" was "generalised"."""
    values = _renamed(normalisation="normalization")(values)
    return {**values, "normalization": "generalized"} if values.get("normalization") == "generalised" else values


def _lle_options(values: Values) -> Values:
    """Rows before each were always those of a shorter path."""
    return {"order": "path", **values}


def _gtm_options(values: Values) -> Values:
    """`basis=(6, 1.0)` was bells and their width; a random_state asked for a jittered start."""
    if "init" in values:
        return values
    basis, seed = values["basis"], values["random_state"]
    bells, width = basis if isinstance(basis, tuple) else (basis, 1.0)
    start = {"init": "pca" if seed is None else "jitter", "random_state": 0 if seed is None else seed}
    return {**values, "basis": bells, "basis_width": width, "calibrate": True, **start}


def _density_network_options(values: Values) -> Values:
    """`n_samples=("grid", 10)` or `("importance", 100)`; `hidden=("sigmoid", 20)`, `"rbf"` or `("rbf", 6, 1.0)`."""
    if "sampling" in values:
        return values
    samples, hidden, L = values["n_samples"], values["hidden"], values["n_components"]
    sampling, count = samples if isinstance(samples, tuple) else ("draws", samples)
    flat = {"n_samples": count**L if sampling == "grid" else count, "sampling": sampling}
    kind = hidden[0] if isinstance(hidden, tuple) else hidden
    if kind == "rbf":
        bells, width = (6, 1.0) if hidden == "rbf" else hidden[1:]
        flat |= {"hidden": 20, "activation": "tanh", "basis": bells, "basis_width": width}
    else:
        units = hidden[1:] if kind == "sigmoid" or kind == "tanh" else hidden
        activation = "sigmoid" if kind == "sigmoid" else "tanh"
        flat |= {"hidden": units, "activation": activation, "basis": None, "basis_width": 1.0}
    return {**values, **flat, "calibrate": True, "standardize": False}


def _mixture_options(values: Values) -> Values:
    """`reg_covar` was `floor`; intervals were never calibrated."""
    return {"calibrate": False, **_renamed(floor="reg_covar")(values)}


def _nonlinear_fa_options(values: Values) -> Values:
    renamed = {"amortized" if name == "amortised" else name: value for name, value in values.items()}
    return {"activation": "tanh", **renamed}


def _autoencoder_options(values: Values) -> Values:
    return {"activation": "tanh", **values}


RECORDS: dict[str, str] = {  # a record's former name -> its name
    "Bayes": "BayesianPCAParams",
    "Centres": "KMeansParams",
    "Classes": "LinearDiscriminantParams",
    "Coder": "AutoencoderParams",
    "Coordinates": "MDSParams",
    "Curved": "NonlinearFAParams",
    "Doubtful": "BayesianGPLVMParams",
    "Dual": "DualPPCAParams",
    "Factors": "RatingFactors",
    "Full": "FullGaussian",
    "Geodesics": "IsomapParams",
    "Kept": "VarianceSelectorParams",
    "KernelMap": "KernelPCAParams",
    "Linear": "LinearGaussianParams",
    "Medoids": "KMedoidsParams",
    "Mixed": "ICAParams",
    "Net": "DensityNetworkParams",
    "Patches": "LLEParams",
    "Places": "GPLVMParams",
    "Principal": "PCAParams",
    "Sheet": "GTMParams",
    "Springs": "MEUParams",
    "TwoViews": "CCAParams",
    "Unrolled": "MVUParams",
    "Vibrations": "LaplacianParams",
    "Weighted": "MixtureParams",
}
FIELDS: dict[str, dict[str, str]] = {  # a record's name -> {a field's former name: its name}
    "BayesianGPLVMParams": {"rung": "jitter_level", "widen": "inflation"},
    "BayesianPCAParams": {"asked": "n_start"},
    "DensityNetworkParams": {"unit": "activation", "draws": "cube", "widen": "inflation"},
    "GPLVMParams": {"rung": "jitter_level", "widen": "inflation"},
    "GTMParams": {"widen": "inflation"},
    "KMeansParams": {"left": "squares"},
    "MDSParams": {"whole": "grand_mean"},
    "MixtureParams": {"logs": "log_weights", "parts": "components", "dense": "moments"},
    "NonlinearFAParams": {"coder": "encoder", "widen": "inflation"},
}
DROPPED: dict[str, tuple[str, ...]] = {  # a record's name -> fields it no longer has
    "BayesianGPLVMParams": ("back", "gamma"),
}
OPTIONS: dict[str, Callable[[Values], Values]] = {  # a model's name -> today's options of former ones
    "Autoencoder": _autoencoder_options,
    "BayesianMixtureOfPPCA": lambda values: {"noise": "part", **values},
    "DensityNetwork": _density_network_options,
    "GPLVM": _gplvm_options,
    "GTM": _gtm_options,
    "Isomap": _renamed(landmarks="n_landmarks"),
    "KernelPCA": _kernel_pca_options,
    "LaplacianEigenmaps": _laplacian_options,
    "LocallyLinearEmbedding": _lle_options,
    "MatrixFactorization": _rating_options,
    "GaussianMixture": _mixture_options,
    "Mixture": _mixture_options,
    "MixtureOfFA": _mixture_options,
    "MixtureOfPPCA": _mixture_options,
    "MixedFactorAnalysis": lambda values: {"rotation": None, **values},
    "NonlinearFactorAnalysis": _nonlinear_fa_options,
    "ProbabilisticPCA": lambda values: {"rotation": None, **values},  # axes could not be turned
}
STATE: dict[str, Callable[[Values], Values]] = {  # a model's name -> today's fitted attributes of former ones
    "BayesianGPLVM": _bayesian_gplvm_state,
    "BayesianPCA": _bayesian_pca_state,
    "CCA": _cca_state,
    "MatrixFactorization": _rating_state,
}


def record_name(name: str) -> str:
    """Today's name of a record."""
    return RECORDS.get(name, name)


def fields(record: str, body: Values) -> Values:
    """A record's fields by today's names."""
    renamed = FIELDS.get(record, {})
    return {renamed.get(name, name): value for name, value in body.items()}


def dropped(record: str) -> tuple[str, ...]:
    """Fields in older files that a record no longer has."""
    return DROPPED.get(record, ())


def options(model: str, values: Values) -> Values:
    """A model's options by today's names."""
    return OPTIONS[model](values) if model in OPTIONS else values


def state(model: str, values: Values) -> Values:
    """A model's fitted attributes by today's names."""
    return STATE[model](values) if model in STATE else values
