"""Posterior cells and places of the linear family against a Gibbs sampler that nobody derived from them."""

import numpy as np
import pytest

from lowdim import PPCA, BayesianPCA, FactorAnalysis
from tests.oracles.gibbs import draws, positions

BATCHES = 10  # of a chain: the spread of their means is the Monte Carlo error


def table(equal, n=120, d=8, q=2, gaps=0.15, seed=0):
    rng = np.random.default_rng(seed)
    noise = 0.7 if equal else rng.uniform(0.4, 1.0, d)
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) * 1.5 + noise * rng.standard_normal((n, d)) + 2.0
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


def start_of(model, X):
    return model.components_.T, model.mean_, np.broadcast_to(model.noise_variance_, X.shape[1])


def chain(X, model, *, equal, number, spread=None):
    """Means and standard deviations, in each batch of draws, of the missing cells and of the places turned alike."""
    start = start_of(model, X)
    T, q, gap = model.components_.T, model.n_components_, np.isnan(X)
    cells, places, batch = [], [], number // BATCHES
    total = None
    for i, (W, mu, psi, Z) in enumerate(draws(X, q, equal=equal, number=number, spread=spread, start=start)):
        U, _, Vt = np.linalg.svd(W.T @ T)
        turned, f = Z @ (U @ Vt), (Z @ W.T + mu)[gap]
        now = np.array([f, f**2 + np.broadcast_to(psi, X.shape)[gap]]), np.array([turned, turned**2])
        total = now if total is None else tuple(a + b for a, b in zip(total, now, strict=True))
        if (i + 1) % batch == 0:
            cells.append(total[0] / batch)
            places.append(total[1] / batch)
            total = None
    return np.array(cells), np.array(places)


def moments(batches):
    """Mean, standard deviation, and the Monte Carlo error of the mean."""
    mean, square = batches.mean(axis=0)
    return mean, np.sqrt(square - mean**2), batches[:, 0].std(axis=0, ddof=1) / np.sqrt(len(batches))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ppca", "fa", "bpca"])
def test_cells_and_places_are_those_of_the_sampler(kind):
    """Means agree within the Monte Carlo error and a tenth of a standard deviation, deviations within 5 %."""
    equal = kind != "fa"
    X = table(equal)
    model = {"ppca": PPCA(2), "fa": FactorAnalysis(2), "bpca": BayesianPCA(2)}[kind].fit(X)
    spread = model.relevance_[: model.n_components_] if kind == "bpca" else None
    cells, places = chain(X, model, equal=equal, number=3000, spread=spread)
    filled, sd = model.impute(X, return_std=True)
    gap = np.isnan(X)
    mean, true_sd, error = moments(cells)
    off = (filled[gap] - mean) / true_sd
    assert np.median(error / true_sd) < 0.05  # the chain is long enough to tell
    assert np.sqrt(np.mean(off**2)) < 0.1 + 2.0 * np.sqrt(np.mean((error / true_sd) ** 2))
    assert np.median(sd[gap] / true_sd) == pytest.approx(1.0, abs=0.05)
    assert np.quantile(np.abs(np.log(sd[gap] / true_sd)), 0.9) < 0.15
    mean, true_sd, error = moments(places)
    found = model.posterior(X)
    off = (found.mean - mean) / true_sd
    assert np.sqrt(np.mean(off**2)) < 0.2 + 2.0 * np.sqrt(np.mean((error / true_sd) ** 2))
    # the model's places count the parameters as known; the sampler's do not
    assert 0.75 < np.median(found.std / true_sd) < 1.02
    if kind != "bpca":  # with the parameters as known nothing but the number of draws is left between them
        rng, seen = np.random.default_rng(1), ~gap
        known = np.where(seen, X, 0.0), seen.astype(float), *start_of(model, X)
        Z = np.array([positions(rng, *known) for _ in range(2000)])
        assert np.abs(Z.mean(axis=0) - found.mean).max() < 5.0 * found.std.max() / np.sqrt(2000)
        assert Z.std(axis=0) / found.std == pytest.approx(np.ones_like(found.std), abs=0.08)
