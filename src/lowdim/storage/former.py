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
    """White noise was a term of the kernel, "rbf+white(1e-3)"."""
    if "noise_floor" in values:
        return values
    terms = values["kernel"].replace(" ", "").split("+")
    white = [term for term in terms if term.startswith("white")]
    floors = [float(term[6:-1]) for term in white if term != "white"]
    kernel = "+".join(term for term in terms if term not in white)
    return {**values, "kernel": kernel, "noise_floor": floors[0] if floors else None}


def _bayesian_gplvm_state(values: Values) -> Values:
    """`kept_` was the number of dimensions, the most relevant of which come first."""
    if "n_kept_" in values or "kept_" not in values:
        return values
    count = int(values["kept_"])
    return {**values, "kept_": np.arange(values["n_components_"]) < count, "n_kept_": count}


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


RECORDS: dict[str, str] = {  # a record's former name -> its name
    "Doubtful": "BayesianGPLVMParams",
    "Full": "FullGaussian",
    "Weighted": "MixtureParams",
    "Coordinates": "MDSParams",
    "Geodesics": "IsomapParams",
    "KernelMap": "KernelPCAParams",
    "Patches": "LLEParams",
    "Places": "GPLVMParams",
    "Springs": "MEUParams",
    "Unrolled": "MVUParams",
    "Vibrations": "LaplacianParams",
}
FIELDS: dict[str, dict[str, str]] = {  # a record's name -> {a field's former name: its name}
    "BayesianGPLVMParams": {"rung": "jitter_level", "widen": "inflation"},
    "GPLVMParams": {"rung": "jitter_level", "widen": "inflation"},
    "MixtureParams": {"logs": "log_weights", "parts": "components", "dense": "moments"},
    "MDSParams": {"whole": "grand_mean"},
}
DROPPED: dict[str, tuple[str, ...]] = {  # a record's name -> fields it no longer has
    "BayesianGPLVMParams": ("back", "gamma"),
}
OPTIONS: dict[str, Callable[[Values], Values]] = {  # a model's name -> today's options of former ones
    "GPLVM": _gplvm_options,
    "Mixture": _renamed(floor="reg_covar"),
    "MixtureOfFA": _renamed(floor="reg_covar"),
    "MixtureOfPPCA": _renamed(floor="reg_covar"),
    "Isomap": _renamed(landmarks="n_landmarks"),
    "KernelPCA": _kernel_pca_options,
    "LaplacianEigenmaps": _laplacian_options,
}
STATE: dict[str, Callable[[Values], Values]] = {  # a model's name -> today's fitted attributes of former ones
    "BayesianGPLVM": _bayesian_gplvm_state,
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
