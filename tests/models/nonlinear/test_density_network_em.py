"""The M-step of density networks: gradients by finite differences, running statistics."""

import numpy as np
import pytest

from lowdim import DensityNetwork
from lowdim.models.nonlinear.density_network_em import (
    DensityNetworkParams,
    HiddenLayers,
    blend_sums,
    in_few_columns,
    profile_loss,
)
from lowdim.models.nonlinear.mlp import ACTIVATIONS, pack_layers, random_biases, random_layers, unpack_layers
from lowdim.models.nonlinear.node_model import NodeSums
from lowdim.sources.arrays import as_source
from tests.models.nonlinear.tables import arc
from tests.oracles.differences import by_differences


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("units", [(4,), (4, 3)])
def test_gradient_of_the_profile_by_finite_differences(units, gaps, activation):
    rng = np.random.default_rng(0)
    layers = tuple((W, b + rng.standard_normal(len(b))) for W, b in random_layers((2, *units), rng))
    Z, d = rng.standard_normal((15, 2)), 3
    G = rng.uniform(0.5, 2.0, (15, d if gaps else 1))
    stats = NodeSums(30.0, 0.0, G, G * rng.standard_normal((15, d)), 40.0, 90.0, 0.0)
    net = DensityNetworkParams(
        Z, layers, np.zeros((0, 2)), 1.0, np.zeros((units[-1] + 1, d)), 0.3, 0.2, 1e-8, activation
    )
    v = pack_layers(layers)
    gradient = by_differences(lambda u: profile_loss(unpack_layers(u, layers), net, stats)[0], v, 1e-4)
    assert profile_loss(layers, net, stats)[1] == pytest.approx(gradient, abs=1e-6)


def test_a_wide_table_has_the_same_profile_in_few_columns():
    rng = np.random.default_rng(0)
    layers, Z = random_layers((2, 4), rng), rng.standard_normal((6, 2))
    stats = NodeSums(30.0, 0.0, rng.uniform(0.5, 2.0, (6, 1)), rng.standard_normal((6, 40)), 40.0, 90.0, 0.0)
    net = DensityNetworkParams(Z, layers, np.zeros((0, 2)), 1.0, np.zeros((5, 40)), 0.3, 0.2, 1e-8, "tanh")
    few = in_few_columns(stats)
    assert few.RX.shape == (6, 6)
    for wide, narrow in zip(profile_loss(layers, net, stats), profile_loss(layers, net, few), strict=True):
        assert narrow == pytest.approx(wide, rel=1e-10)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_slopes_of_the_units_by_finite_differences(activation):
    rng = np.random.default_rng(0)
    units, Z, h = HiddenLayers(random_layers((2, 5, 4), rng, 2.0), activation), rng.standard_normal((6, 2)), 1e-5
    for k in range(2):
        step = h * np.eye(2)[k]
        assert units.slopes(Z)[:, :, k] == pytest.approx((units.at(Z + step) - units.at(Z - step)) / (2 * h), abs=1e-8)


def test_a_batch_of_all_rows_is_a_step_of_em():
    X = arc(60)
    net = DensityNetwork(1, n_samples=20, hidden=4)
    params, block = net.fit(X).params_, net.frame_.inward(as_source(X).sample(60))
    stats = net._stats(params, block)
    for mine, theirs in zip(blend_sums(stats, stats, 1.0, 1), stats, strict=True):
        assert np.asarray(mine) == pytest.approx(np.asarray(theirs))


@pytest.mark.parametrize("columns", [1, 3])
def test_gradient_of_the_profile_where_there_is_no_prior(columns):
    """Next to no noise and no prior on the output weights: the gradient is that of the loss, whatever its ridge."""
    rng = np.random.default_rng(0)
    layers = random_biases(random_layers((1, 5), rng, 2.0), rng)
    Z, G = rng.standard_normal((12, 1)), rng.uniform(0.5, 2.0, (12, columns))
    stats = NodeSums(12.0, 0.0, G, G * np.sin(2 * Z + np.arange(3)), 40.0, 36.0, 0.0)
    net = DensityNetworkParams(Z, layers, np.zeros((0, 1)), 1.0, np.zeros((6, 3)), 1e-8, 0.0, 1e-8)
    gradient = by_differences(
        lambda u: profile_loss(unpack_layers(u, layers), net, stats)[0], pack_layers(layers), 1e-4
    )
    assert profile_loss(layers, net, stats)[1] == pytest.approx(gradient, rel=1e-4, abs=1e-4 * np.abs(gradient).max())
