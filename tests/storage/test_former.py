"""Options of older files: taken apart, renamed, and those of today left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lowdim
from lowdim.sources.views import Frame
from lowdim.storage.former import options, state
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


@pytest.mark.parametrize("model", ["Mixture", "MixtureOfPPCA", "MixtureOfFA"])
def test_the_floor_of_a_mixture(model: str) -> None:
    today = getattr(lowdim, model)(reg_covar=1e-3).get_params()
    former = {"floor" if name == "reg_covar" else name: value for name, value in today.items()}
    assert options(model, former) == today == options(model, today)


@pytest.mark.parametrize("scale", [None, (1, 5)])
def test_the_range_of_ratings(scale: Any) -> None:
    low, high = scale or (None, None)
    today = lowdim.MatrixFactorization(min_rating=low, max_rating=high).get_params()
    former = {name: value for name, value in today.items() if not name.endswith("_rating")}
    assert options("MatrixFactorization", {**former, "scale": scale}) == today == options("MatrixFactorization", today)


def test_the_relevance_of_rating_dimensions() -> None:
    former = {"relevance_": np.array([2.0, 0.5]), "kept_": np.array([True, False])}
    today = state("MatrixFactorization", former)
    assert today["relevance_"].tolist() == [4.0, 0.25] and today["n_kept_"] == 1
    assert state("MatrixFactorization", today) is today


def test_a_frame_for_each_view() -> None:
    """Files of canonical correlations of two tables held a frame of each; loaded, they predict as before."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2)) + 7.0
    model = lowdim.CCA(1).fit(X, Y)
    today = {name: value for name, value in vars(model).items() if name.endswith("_")}
    former = {name: value for name, value in today.items() if name != "n_y_features_in_"}
    former["frame_"], former["y_frame_"] = (
        Frame(*(part[view] for part in model.frame_)) for view in (slice(3), slice(3, 5))
    )
    again = lowdim.CCA(1)
    vars(again).update(state("CCA", former))
    assert np.array_equal(again.predict(X), model.predict(X)) and "y_frame_" not in vars(again)
    assert np.array_equal(again.transform(None, Y), model.transform(None, Y))
