"""`help(lowdim.MODEL)` names every option and every public fitted attribute of every model."""

from __future__ import annotations

import inspect
import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lowdim as ld
from lowdim.registry import MODELS
from lowdim.text.messages import LowdimWarning

# What scikit-learn gives to every estimator, and what every model has: the bases' docstrings explain it.
SHARED = {"n_features_in_", "feature_names_in_", "n_features_out_"}
QUICK: dict[str, dict[str, Any]] = {
    "Autoencoder": {"hidden": 3, "max_iter": 5},
    "BayesianGPLVM": {"n_components": 2, "max_iter": 5},
    "CCA": {"n_components": 1, "views": 3},
    "DensityNetwork": {"n_samples": 9, "hidden": 3, "max_iter": 5},
    "GPLVM": {"max_iter": 5},
    "GTM": {"grid": 4, "basis": 3},
    "MixtureOfPPCA": {"n_components": 1},
    "MixtureOfFA": {"n_components": 1},
    "NonlinearFactorAnalysis": {"hidden": 3, "max_iter": 5},
    "LinearDiscriminant": {"n_components": 1},
}


def model_of(name: str) -> Any:
    first = {"Mixture": (ld.PPCA(1),)}.get(name, ())
    return getattr(ld, name)(*first, **QUICK.get(name, {}))


@cache
def fitted_attributes(name: str) -> frozenset[str]:
    """Public attributes after a small fit, and properties of the class, with a trailing underscore."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((40, 5))
    y = np.arange(40) % 2 if name == "LinearDiscriminant" else None
    table = (
        sp.csr_array(np.where(rng.random(X.shape) < 0.6, np.abs(X) + 0.1, 0.0)) if name == "MatrixFactorization" else X
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        model = model_of(name).fit(table, y)
    found = set(vars(model)) | {
        key for key, value in inspect.getmembers_static(type(model)) if isinstance(value, property)
    }
    return frozenset(key for key in found if key.endswith("_") and not key.startswith("_")) - SHARED


def documented(name: str, section: str) -> set[str]:
    """The names that a section of the class's docstring explains: `a, b : type`, or `a, b`."""
    text = inspect.getdoc(getattr(ld, name)) or ""
    part = text.partition(f"\n{section}\n{'-' * len(section)}\n")[2]
    part = re.split(r"\n\n?[A-Z][A-Za-z]+\n-{3,}\n", part)[0]
    heads = re.findall(r"^(\w+(?:, \w+)*)(?: :.*)?$", part, re.M)
    return {word for line in heads for word in line.split(", ")}


@pytest.mark.parametrize("name", MODELS)
def test_every_option_is_explained(name):
    options = set(inspect.signature(getattr(ld, name)).parameters)
    assert options <= documented(name, "Parameters"), options - documented(name, "Parameters")
    assert documented(name, "Parameters") <= options, documented(name, "Parameters") - options


@pytest.mark.parametrize("name", MODELS)
def test_every_fitted_attribute_is_explained(name):
    missing = fitted_attributes(name) - documented(name, "Attributes")
    assert not missing, missing
