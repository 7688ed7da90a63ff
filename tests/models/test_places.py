"""Places that are given to a model are checked as a table is, by every model that decodes them."""

import warnings

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.text.messages import LowdimError

X = np.random.default_rng(0).standard_normal((40, 3)) @ np.diag([3.0, 1.0, 0.3]) + [0, 10, 100]
MODELS = {
    "linear": lambda: ld.PPCA(2),
    "mixture": lambda: ld.GaussianMixture(2, n_init=1),
    "selector": lambda: ld.VarianceSelector(2),
    "kernel": lambda: ld.KernelPCA(2),
    "nodes": lambda: ld.GTM(grid=4, basis=2, max_iter=3),
    "process": lambda: ld.GPLVM(2, max_iter=3, n_init=1),
}
JUNK = {
    "text": ([["a", "b"]], "LD"),
    "nothing": (None, "LD"),
    "infinity": ([[1.0, np.inf]], "LD150"),
    "three columns": (np.zeros((4, 3)), "LD220"),
    "no rows": (np.zeros((0, 2)), "LD160"),
    "three dimensions": (np.zeros((2, 2, 2)), "LD"),
    "rows of different lengths": ([[1.0, 2.0], [3.0]], "LD"),
    "complex": (np.ones((2, 2)) * 1j, "LD"),
}


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations
        return {name: make().fit(X) for name, make in MODELS.items()}


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("name", MODELS)
def test_junk_is_refused_with_a_code(name, junk, fitted):
    Z, code = JUNK[junk]
    for verb in ("inverse_transform", "decode", "predictive_variance", "magnification", "stretch"):
        if hasattr(fitted[name], verb) and not (Z is None and verb in ("magnification", "stretch")):
            with pytest.raises(LowdimError, match=code) as said:
                getattr(fitted[name], verb)(Z)
            assert said.value.fix


@pytest.mark.parametrize("name", MODELS)
def test_a_gap_is_no_place(name, fitted):
    Z = [[1.0, np.nan]]
    if name == "selector":  # its places are cells, and a gap in is a gap out
        assert np.isnan(fitted[name].inverse_transform(Z)).sum() == 1
    else:
        with pytest.raises(LowdimError, match="LD163"):
            fitted[name].inverse_transform(Z)


def test_places_of_any_kind_decode_alike(fitted):
    Z = fitted["linear"].transform(X)[:3]
    expected = fitted["linear"].inverse_transform(Z)
    for same in (Z.tolist(), pd.DataFrame(Z, columns=["u", "v"]), Z.astype(object)):
        np.testing.assert_array_equal(fitted["linear"].inverse_transform(same), expected)
    np.testing.assert_array_equal(fitted["linear"].inverse_transform(Z[0]), expected[:1])
    assert fitted["linear"].inverse_transform(Z.astype(np.float32)).dtype == np.float32


def test_places_beyond_doubles_are_refused(fitted):
    with pytest.raises(LowdimError, match=r"LD224[\s\S]*1.0e\+308"):
        fitted["linear"].inverse_transform([[1e308, 1e308]])
    assert np.isfinite(fitted["process"].inverse_transform([[1e30, 0.0]])).all()  # far out a process is at its mean
