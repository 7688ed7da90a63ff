"""Options of older files: taken apart, renamed, and those of today left alone."""

from __future__ import annotations

from typing import Any

import pytest

import lowdim
from lowdim.storage.former import options
from tests.stored.make import HERE

GTM = {"grid": 20, "weight_prior": 0.1, "standardize": False, "tol": 0.01, "max_iter": 1000, "n_components": 2}
NETWORK = {"weight_prior": 0.02, "batch_size": None, "tol": 0.01, "max_iter": 9, "random_state": 0, "n_components": 2}


@pytest.mark.parametrize(
    ("written", "flat"),
    [
        ({"basis": 6, "random_state": None}, {"basis": 6, "basis_width": 1.0, "init": "pca", "random_state": 0}),
        (
            {"basis": (3, 1.5), "random_state": 0},
            {"basis": 3, "basis_width": 1.5, "init": "jitter", "random_state": 0},
        ),
    ],
)
def test_a_gtm(written: dict[str, Any], flat: dict[str, Any]) -> None:
    today = options("GTM", {**GTM, **written})
    assert {**GTM, **flat, "calibrate": True} == today == lowdim.GTM(**today).get_params() == options("GTM", today)


@pytest.mark.parametrize(
    ("written", "flat"),
    [
        ({"n_samples": 16, "hidden": 20}, {"n_samples": 16, "hidden": 20}),
        ({"n_samples": ("grid", 4), "hidden": "rbf"}, {"n_samples": 16, "sampling": "grid", "basis": 6}),
        (
            {"n_samples": ("importance", 30), "hidden": ("rbf", 5, 2.0)},
            {"n_samples": 30, "sampling": "importance", "basis": 5, "basis_width": 2.0},
        ),
        ({"n_samples": 9, "hidden": ("sigmoid", 3, 2)}, {"n_samples": 9, "hidden": (3, 2), "activation": "sigmoid"}),
        ({"n_samples": 9, "hidden": (3, 2)}, {"n_samples": 9, "hidden": (3, 2)}),
    ],
)
def test_a_density_network(written: dict[str, Any], flat: dict[str, Any]) -> None:
    today = options("DensityNetwork", {**NETWORK, **written})
    assert today == lowdim.DensityNetwork(**{**NETWORK, **flat}).get_params() == options("DensityNetwork", today)


def test_stored_files_have_the_options_of_today() -> None:
    loaded = {name: lowdim.load(HERE / "models" / f"{name}.lowdim") for name in ("GTM-basis", "DensityNetwork-rbf")}
    assert (loaded["GTM-basis"].basis, loaded["GTM-basis"].basis_width, loaded["GTM-basis"].init) == (3, 1.5, "jitter")
    net = loaded["DensityNetwork-rbf"]
    assert (net.n_samples, net.sampling, net.basis, net.basis_width) == (16, "grid", 3, 1.0)
