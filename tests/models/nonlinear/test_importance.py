"""Importance sampling of latent places against quadrature and finite differences."""

import numpy as np
import pytest

from lowdim import DensityNetwork
from lowdim.models.nonlinear.density_network_em import DensityNetworkParams
from lowdim.models.nonlinear.importance import draws_posterior, log_density_and_grad, low_discrepancy, surface_of
from lowdim.models.nonlinear.mlp import pack_layers, random_biases, random_layers, unpack_layers
from lowdim.sources.source import Block
from tests.oracles.differences import by_differences


def network_and_rows(L, K, seed=0, hidden="units"):
    """A network that bends, with draws of rows' own, and 40 rows with gaps that it made."""
    rng = np.random.default_rng(seed)
    layers = random_biases(random_layers((L, 6), rng, 3.0), rng)
    W = rng.standard_normal((7, 5))
    net = DensityNetworkParams(
        rng.standard_normal((100, L)),
        layers,
        np.zeros((0, L)),
        1.0,
        W,
        0.05,
        0.1,
        1e-8,
        cube=low_discrepancy(K, L + 1, rng),
    )
    x = surface_of(net).at(rng.standard_normal((40, L))) + np.sqrt(net.psi) * rng.standard_normal((40, 5))
    mask = rng.random(x.shape) > 0.3
    mask[:, 0] = True
    return net, Block(np.where(mask, x, 0.0), mask, rng.uniform(0.5, 2.0, 40))


def by_quadrature(net, block):
    """Log density of each row over a fine grid of places."""
    L = net.grid.shape[1]
    side = np.linspace(-6, 6, 2001 if L == 1 else 161)
    Z = np.stack(np.meshgrid(*[side] * L, indexing="ij"), axis=-1).reshape(-1, L)
    off = (block.x[:, None] - surface_of(net).at(Z)) ** 2 * block.mask[:, None]
    each = -0.5 * off.sum(axis=2) / net.psi - 0.5 * (Z**2).sum(axis=1) - 0.5 * L * np.log(2 * np.pi)
    found = np.logaddexp.reduce(each, axis=1) + L * np.log(side[1] - side[0])
    share = np.exp(each - each.max(axis=1, keepdims=True))
    place = share @ Z / share.sum(axis=1, keepdims=True)
    return found - 0.5 * block.mask.sum(axis=1) * np.log(2 * np.pi * net.psi), place


@pytest.mark.parametrize("L", [1, 2])
def test_densities_by_draws_against_quadrature(L):
    """The mean of many estimates of p(x) is p(x), and the standard error of one holds."""
    net, block = network_and_rows(L, 100)
    exact, place = by_quadrature(net, block)
    found = [
        draws_posterior(net._replace(cube=low_discrepancy(100, L + 1, np.random.default_rng(seed))), block)
        for seed in range(20)
    ]
    ratio = np.exp([f.log_density - exact for f in found])
    error = np.array([f.error for f in found]) * ratio
    assert ratio.mean(axis=0) == pytest.approx(np.ones(40), abs=0.1) and ratio.mean() == pytest.approx(1.0, abs=0.01)
    assert (np.abs(ratio - 1) < 2 * error).mean() > 0.93
    assert np.mean([f.mean for f in found], axis=0) == pytest.approx(place, abs=0.15)
    shared, _ = by_shared(net, block)
    assert np.median(np.abs(np.log(ratio))) < 0.2 * np.median(np.abs(shared - exact))  # the 100 points: much worse


def by_shared(net, block):
    found = DensityNetwork(net.grid.shape[1])._posterior(net._replace(cube=net.cube[:0]), block)
    return found.log_density, found.mean


@pytest.mark.parametrize("L", [1, 2])
def test_gradient_by_draws_by_finite_differences(L):
    net, block = network_and_rows(L, 12)
    v = np.concatenate([pack_layers(net.layers), net.W.ravel(), [np.log(net.psi)]])
    count = len(pack_layers(net.layers))

    def at(u):
        W = u[count:-1].reshape(net.W.shape)
        return net._replace(layers=unpack_layers(u[:count], net.layers), W=W, psi=float(np.exp(u[-1])))

    gradient = by_differences(lambda u: log_density_and_grad(net, at(u), block)[0], v, 1e-4)
    assert log_density_and_grad(net, net, block)[1:] == pytest.approx(gradient, rel=1e-6, abs=1e-5)
