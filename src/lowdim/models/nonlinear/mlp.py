"""A multilayer perceptron: tanh or sigmoid layers, a linear one at the end; gradients by hand; steps of Adam."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.models.base.options import Rule, one_of, option
from lowdim.text.messages import error

Layer = tuple[Array, Array]  # weights, inputs x units, and biases
Layers = tuple[Layer, ...]
ACTIVATIONS = ("tanh", "sigmoid")
ACTIVATION = option(default="tanh", rule=one_of(*ACTIVATIONS), words="What hidden units are.")
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8  # Kingma and Ba, Adam: a method for stochastic optimization (2015)


def layer_sizes(hidden: Any) -> tuple[int, ...]:
    """The units of each hidden layer from what a user writes, 20 or (20, 10); an OptionError for anything else.

    >>> layer_sizes(20), layer_sizes((20, 10)), layer_sizes(())
    ((20,), (20, 10), ())
    """
    sizes = tuple(hidden) if isinstance(hidden, tuple | list) else (hidden,)
    if not all(isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1 for k in sizes):
        raise error("LD210", option="hidden", value=hidden, allowed="a whole number >= 1, or a tuple of such numbers")
    return tuple(int(k) for k in sizes)


HIDDEN: Rule = Rule(
    lambda v: len(layer_sizes(v)) > 0, "a whole number >= 1, or a tuple of such numbers", kind="int or tuple of int"
)


def random_layers(sizes: tuple[int, ...], rng: np.random.Generator, gain: float = 1.0) -> Layers:
    """Small random weights, zero biases: uniform in +-gain sqrt(6 / (inputs + units)).

    Reference: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks (2010).

    >>> [W.shape for W, b in random_layers((3, 5, 2), np.random.default_rng(0))]
    [(3, 5), (5, 2)]
    """

    def layer(a: int, b: int) -> Layer:
        edge = gain * np.sqrt(6.0 / (a + b))
        return rng.uniform(-edge, edge, (a, b)), np.zeros(b)

    return tuple(layer(a, b) for a, b in pairwise(sizes))


def random_biases(layers: Layers, rng: np.random.Generator) -> Layers:
    """The layers with standard normal biases added: their units bend at different places."""
    return tuple((W, b + rng.standard_normal(len(b))) for W, b in layers)


def activate(Y: Array, activation: str) -> Array:
    """The activations of units with these inputs, in place; 1 / (1 + exp(-y)) by a tanh of half the input."""
    if activation == "tanh":
        return np.tanh(Y, out=Y)
    Y *= 0.5
    np.tanh(Y, out=Y)
    Y += 1.0
    Y *= 0.5
    return Y


def activation_slope(A: Array, activation: str) -> Array:
    """The derivative of units by their inputs, from their activations A."""
    return 1.0 - A**2 if activation == "tanh" else A * (1.0 - A)


def hidden_activations(layers: Layers, X: Array, activation: str = "tanh") -> list[Array]:
    """The activations of every hidden layer, the input first."""
    activations = [X]
    for W, b in layers[:-1]:
        Y = activations[-1] @ W
        Y += b
        activations.append(activate(Y, activation))
    return activations


def forward(layers: Layers, X: Array, activation: str = "tanh") -> list[Array]:
    """The activations of every layer: the input first, the linear output last."""
    activations, (W, b) = hidden_activations(layers, X, activation), layers[-1]
    Y = activations[-1] @ W
    Y += b
    return [*activations, Y]


def output(layers: Layers, X: Array, activation: str = "tanh") -> Array:
    """The linear output alone."""
    return forward(layers, X, activation)[-1]


def backward(layers: Layers, activations: list[Array], dY: Array, activation: str = "tanh") -> tuple[Layers, Array]:
    """The gradient by every weight and bias, and by the input, given that by the output."""
    by_output = activations[-2].T @ dY, dY.sum(axis=0)
    by_hidden, dX = hidden_backward(layers, activations[:-1], dY @ layers[-1][0].T, activation)
    return (*by_hidden, by_output), dX


def hidden_backward(
    layers: Layers, activations: list[Array], dA: Array, activation: str = "tanh"
) -> tuple[Layers, Array]:
    """The gradient by the hidden layers' weights and biases, and by the input, given that by the last of these."""
    gradients: list[Layer] = []
    for k in range(len(layers) - 2, -1, -1):
        dA *= activation_slope(activations[k + 1], activation)
        gradients.append((activations[k].T @ dA, dA.sum(axis=0)))
        dA = dA @ layers[k][0].T
    return tuple(reversed(gradients)), dA


def jacobian(layers: Layers, X: Array, activation: str = "tanh") -> Array:
    """d output / d input of each row, n x inputs x outputs."""
    J = np.broadcast_to(np.eye(X.shape[1]), (len(X), X.shape[1], X.shape[1]))
    for (W, _), A in zip(layers[:-1], forward(layers, X, activation)[1:-1], strict=True):
        J = (J @ W) * activation_slope(A, activation)[:, None]
    return np.asarray(J @ layers[-1][0])


def pack_layers(layers: Layers) -> Array:
    """Every weight and bias in one vector."""
    return np.concatenate([part.ravel() for layer in layers for part in layer] or [np.zeros(0)])


def pack_weights(layers: Layers) -> Array:
    """The same vector with zeros for the biases, which no prior shrinks."""
    return pack_layers(tuple((W, 0.0 * b) for W, b in layers))


def unpack_layers(vector: Array, like: Layers) -> Layers:
    """The layers that `pack_layers` made the vector of; views of it."""
    layers, at = [], 0
    for W, b in like:
        layers.append((vector[at : at + W.size].reshape(W.shape), vector[at + W.size : at + W.size + b.size]))
        at += W.size + b.size
    return tuple(layers)


class Adam(NamedTuple):
    """The state of Adam: the parameters, and running means of gradients and their squares."""

    x: Array
    mean: Array
    square: Array
    steps: int

    @classmethod
    def start(cls, x: Array) -> Self:
        return cls(x, np.zeros_like(x), np.zeros_like(x), 0)

    def step(self, gradient: Array, rate: float) -> Self:
        """A step of about `rate` in every parameter."""
        steps = self.steps + 1
        mean = self.mean + (1 - BETA1) * (gradient - self.mean)
        square = self.square + (1 - BETA2) * (gradient * gradient - self.square)
        size = np.sqrt(square / (1 - BETA2**steps)) + ADAM_EPSILON
        return type(self)(self.x - rate * (mean / (1 - BETA1**steps)) / size, mean, square, steps)

    def pack(self) -> Array:
        """All of it in one vector."""
        return np.concatenate([self.x, self.mean, self.square, [float(self.steps)]])

    @classmethod
    def unpack(cls, v: Array) -> Self:
        x, mean, square = v[:-1].reshape(3, -1)
        return cls(x, mean, square, int(v[-1]))


def minibatches(n: int, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Every row once, `size` at a time, in a drawn order."""
    order = rng.permutation(n)
    for begin in range(0, n, size):
        yield order[begin : begin + size]
