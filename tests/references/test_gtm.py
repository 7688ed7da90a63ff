"""The author's saved networks through our E-step, and our own sheets on the same rows."""

import numpy as np
import pytest

from lowdim import GTM
from lowdim.models.gtm import shares
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


@pytest.mark.parametrize(("number", "errors", "value"), [
    (1, 74, 1921.7162), (2, 44, 3277.1172), (3, 11, 4761.0930), (4, 22, 5625.3328), (5, 16, 7404.2161)])
def test_the_authors_oil_networks(number, errors, value):
    X, label = oil(need("oil_flow"))
    U, Y, psi = network(np.load(need("reference_results/density_networks_gtm.npz")), f"oil_dnet{number}")
    R, log_density = shares(X, None, Y, psi)
    assert round(float(log_density.sum()), 4) == value
    assert neighbour_errors(R @ U, label) == errors


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_authors_stick_man_networks(number):
    X = np.loadtxt(need("stick_man/stick_man.csv"), delimiter=",", skiprows=1)
    U, Y, psi = network(np.load(need("reference_results/density_networks_gtm.npz")), f"stick_dnet{number}")
    R, log_density = shares(X, None, Y, psi)
    assert np.isfinite(log_density).all() and R.sum(axis=1) == pytest.approx(1.0) and (R @ U).shape == (len(X), 2)


def test_our_own_sheet_on_oil():
    X, label = oil(need("oil_flow"))
    fit = GTM(grid=10).fit(X)
    assert neighbour_errors(fit.transform(X), label) <= 30 and fit.score_samples(X).sum() >= 6200


@pytest.mark.drill
@pytest.mark.parametrize(("grid", "errors", "value"), [(10, 30, 6200), (20, 15, 7300), (30, 10, 7700)])
def test_ten_starts_on_oil(grid, errors, value):
    X, label = oil(need("oil_flow"))
    fits = [GTM(grid=grid, random_state=seed).fit(X) for seed in range(10)]
    assert np.median([neighbour_errors(fit.transform(X), label) for fit in fits]) <= errors
    assert np.median([fit.score_samples(X).sum() for fit in fits]) >= value


def test_gaps_are_filled_better_than_a_plane_can():
    X, _ = oil(need("oil_flow"))
    hidden = np.random.default_rng(0).random(X.shape) < 0.3
    Y = np.where(hidden, np.nan, X)
    filled, sd = GTM(grid=15).fit(Y).impute(Y, return_std=True)
    # probabilistic PCA's best is 0.265, with five axes (tests/references/test_real_gaps.py has such figures)
    assert np.sqrt(((filled - X)[hidden] ** 2).mean()) < 0.85 * 0.265 and (sd[hidden] > 0).all()
