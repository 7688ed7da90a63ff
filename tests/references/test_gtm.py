"""The author's saved networks through our E-step, and our own sheets on the same rows."""

import numpy as np
import pytest

from lowdim import GTM, PCA, PPCA
from lowdim.models.base.calibration import NORMAL_90
from lowdim.models.nonlinear.node_model import node_responsibilities
from tests.conftest import need
from tests.references.tables import neighbour_errors, oil


def network(saved, name):
    """Nodes of a saved network: bells exp(-r^2 / (2 wi)) or tanh units, and a bias outside."""

    def part(key):
        return saved[f"{name}_{key}"]

    U = part("X_u")
    if f"{name}_c" in saved.files:
        square = ((U[:, None] - part("c")) ** 2).sum(axis=2)
        hidden = np.exp(-square / (2 * part("wi")))
    else:
        hidden = np.tanh(U @ part("w1") + part("b1"))
    return U, hidden @ part("w2") + part("b2"), 1.0 / float(part("beta"))


@pytest.mark.parametrize(
    ("number", "errors", "value"),
    [(1, 74, 1921.7162), (2, 44, 3277.1172), (3, 11, 4761.0930), (4, 22, 5625.3328), (5, 16, 7404.2161)],
)
def test_the_authors_oil_networks(number, errors, value):
    X, label = oil(need("oil_flow"))
    U, Y, psi = network(np.load(need("reference_results/density_networks_gtm.npz")), f"oil_dnet{number}")
    R, log_density = node_responsibilities(X, None, Y, psi)
    assert round(float(log_density.sum()), 4) == value
    assert neighbour_errors(R @ U, label) == errors


@pytest.mark.parametrize(
    ("number", "penalised", "beta"),
    [
        (1, 1332.7313, 47.27),
        (2, 2583.9970, 70.77),
        (3, 3866.6189, 103.76),
        (4, 5491.8235, 90.70),
        (5, 7283.3345, 143.76),
    ],
)
def test_the_authors_objective_has_a_prior_of_precision_one_on_the_output_layer(number, penalised, beta):
    X, _ = oil(need("oil_flow"))
    saved = np.load(need("reference_results/density_networks_gtm.npz"))
    _, Y, psi = network(saved, f"oil_dnet{number}")
    output = [saved[f"oil_dnet{number}_{part}"] for part in ("w2", "b2")]
    value = node_responsibilities(X, None, Y, psi)[1].sum() - 0.5 * sum((part**2).sum() for part in output)
    assert round(float(value), 4) == pytest.approx(penalised, abs=2e-4) and round(1 / psi, 2) == beta


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_authors_stick_man_networks(number):
    X = np.loadtxt(need("stick_man/stick_man.csv"), delimiter=",", skiprows=1)
    U, Y, psi = network(np.load(need("reference_results/density_networks_gtm.npz")), f"stick_dnet{number}")
    R, log_density = node_responsibilities(X, None, Y, psi)
    assert np.isfinite(log_density).all() and R.sum(axis=1) == pytest.approx(1.0) and (R @ U).shape == (len(X), 2)


def test_our_own_sheet_on_oil():
    X, label = oil(need("oil_flow"))
    fit = GTM(grid=10).fit(X)
    assert neighbour_errors(fit.transform(X), label) <= 30 and fit.score_samples(X).sum() >= 6200


@pytest.mark.drill
@pytest.mark.parametrize(("grid", "errors", "value"), [(10, 30, 6200), (20, 15, 7300), (30, 10, 7700)])
def test_ten_starts_on_oil(grid, errors, value):
    X, label = oil(need("oil_flow"))
    fits = [GTM(grid=grid, init="jitter", random_state=seed).fit(X) for seed in range(10)]
    assert np.median([neighbour_errors(fit.transform(X), label) for fit in fits]) <= errors
    assert np.median([fit.score_samples(X).sum() for fit in fits]) >= value


def fills(mask: int, grid: int) -> tuple[GTM, float, float]:
    """A sheet on the oil with 30 % of its cells removed: its error on them, and what its 90 % intervals hold."""
    X, _ = oil(need("oil_flow"))
    hidden = np.random.default_rng(mask).random(X.shape) < 0.3
    Y = np.where(hidden, np.nan, X)
    fit = GTM(grid=grid, basis=6).fit(Y)
    filled, sd = fit.impute(Y, return_std=True)
    off = np.abs(filled - X)[hidden]
    return fit, float(np.sqrt((off**2).mean())), float((off <= NORMAL_90 * sd[hidden]).mean())


def test_gaps_are_filled_better_than_a_plane_can_and_intervals_hold():
    fit, error, held = fills(0, 10)
    # probabilistic PCA's best is 0.2310, with eleven axes: the drill below finds it
    assert error < 0.85 * 0.2310 and 0.88 <= held <= 0.93 and fit.calibration_ > 1.0


@pytest.mark.drill
@pytest.mark.parametrize("mask", range(4))
def test_four_masks_against_the_best_plane(mask):
    X, _ = oil(need("oil_flow"))
    hidden = np.random.default_rng(mask).random(X.shape) < 0.3
    Y = np.where(hidden, np.nan, X)
    plane = min(np.sqrt(((PPCA(q).fit(Y).impute(Y) - X)[hidden] ** 2).mean()) for q in range(1, 12))
    for grid in (10, 15, 20):
        _, error, held = fills(mask, grid)
        assert error <= 0.85 * plane and 0.88 <= held <= 0.93, (grid, error / plane, held)


def digits(each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """So many of each of the digits 0 to 4."""
    with np.load(need("usps_digits") / "usps.npz") as data:
        X, label = data["X_train"] / 1000.0, data["y_train"]
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(label == c), each, replace=False) for c in range(5)])
    return X[rows], label[rows]


def test_a_few_digits_on_a_sheet():
    X, label = digits(80, 0)
    sheet, plane = (neighbour_errors(model.fit_transform(X), label) for model in (GTM(grid=12, basis=6), PCA(2)))
    assert sheet <= 50 and plane >= 80


@pytest.mark.drill
@pytest.mark.parametrize(("grid", "basis", "most"), [(20, 8, 125), (30, 10, 105)])
def test_five_subsets_of_digits(grid, basis, most):
    """Published: 158 errors of 3000; the principal plane has about 780."""
    tables = [digits(600, seed) for seed in range(5)]
    errors = [neighbour_errors(GTM(grid=grid, basis=basis).fit_transform(X), label) for X, label in tables]
    assert np.median(errors) <= most, errors
    assert 700 <= np.median([neighbour_errors(PCA(2).fit_transform(X), label) for X, label in tables]) <= 860
