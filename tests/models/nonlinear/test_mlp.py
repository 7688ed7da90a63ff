"""Perceptrons: gradients by finite differences, units, Adam."""

import numpy as np
import pytest

from lowdim.models.nonlinear.mlp import (
    ACTIVATIONS,
    Adam,
    backward,
    forward,
    jacobian,
    layer_sizes,
    minibatches,
    output,
    pack_layers,
    random_layers,
    unpack_layers,
)
from tests.oracles.differences import by_differences


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(3, 2), (3, 5, 2), (2, 4, 6, 3)])
def test_gradients_by_finite_differences(sizes, activation):
    rng = np.random.default_rng(1)
    layers = random_layers(sizes, rng)
    X, A = rng.standard_normal((7, sizes[0])), rng.standard_normal((7, sizes[-1]))
    v = pack_layers(layers) + 0.1 * rng.standard_normal(pack_layers(layers).shape)
    layers = unpack_layers(v, layers)
    gradient, dX = backward(layers, forward(layers, X, activation), A, activation)
    by_v = by_differences(lambda u: (A * output(unpack_layers(u, layers), X, activation)).sum(), v)
    assert pack_layers(gradient) == pytest.approx(by_v, abs=1e-6)
    by_x = by_differences(lambda x: (A * output(layers, x.reshape(X.shape), activation)).sum(), X.ravel())
    assert dX.ravel() == pytest.approx(by_x, abs=1e-6)
    assert np.einsum("nkd,nd->nk", jacobian(layers, X, activation), A) == pytest.approx(dX, abs=1e-12)


def test_sigmoid_units_are_what_they_are_called():
    layers = random_layers((2, 3, 1), np.random.default_rng(0))
    X = np.random.default_rng(1).standard_normal((4, 2))
    assert forward(layers, X, "sigmoid")[1] == pytest.approx(1 / (1 + np.exp(-(X @ layers[0][0] + layers[0][1]))))


def test_adam_goes_down_a_bowl():
    adam = Adam.start(np.zeros(2))
    for _ in range(2000):
        gradient = 2 * (adam.x - 3.0) * [1.0, 10.0]
        adam = Adam.unpack(adam.step(gradient, 0.1).pack())
    assert adam.x == pytest.approx([3.0, 3.0], abs=1e-2) and adam.steps == 2000


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "rbf", (4, 0), ("sigmoid", 4), None])
def test_sizes_of_layers_are_whole_numbers(wrong):
    assert layer_sizes(np.int64(3)) == (3,) and layer_sizes([3, 2]) == (3, 2)
    with pytest.raises(ValueError, match="whole number"):
        layer_sizes(wrong)


def test_minibatches_have_every_row_once():
    parts = list(minibatches(10, 4, np.random.default_rng(0)))
    assert [len(part) for part in parts] == [4, 4, 2] and sorted(np.concatenate(parts)) == list(range(10))
