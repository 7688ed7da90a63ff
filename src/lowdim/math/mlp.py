"""A multilayer perceptron: tanh or sigmoid layers, a linear one at the end; slopes by hand, and Adam's way down."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowdim.math.linalg import Array

Layer = tuple[Array, Array]  # weights, inputs x units, and biases
Layers = tuple[Layer, ...]
UNITS = ("tanh", "sigmoid")
BETA1, BETA2, TINY = 0.9, 0.999, 1e-8  # Kingma and Ba, Adam (2015), section 2


def drawn(sizes: tuple[int, ...], rng: np.random.Generator, gain: float = 1.0) -> Layers:
    """Small random weights, zero biases: uniform in +-gain sqrt(6 / (inputs + units)) (Glorot and Bengio, 2010).

    >>> [W.shape for W, b in drawn((3, 5, 2), np.random.default_rng(0))]
    [(3, 5), (5, 2)]
    """

    def layer(a: int, b: int) -> Layer:
        edge = gain * np.sqrt(6.0 / (a + b))
        return rng.uniform(-edge, edge, (a, b)), np.zeros(b)

    return tuple(layer(a, b) for a, b in pairwise(sizes))


def squashed(Y: Array, unit: str) -> Array:
    """What units say of their sums, in place; 1 / (1 + exp(-y)) is a tanh of half the sum, half as high."""
    if unit == "tanh":
        return np.tanh(Y, out=Y)
    Y *= 0.5
    np.tanh(Y, out=Y)
    Y += 1.0
    Y *= 0.5
    return Y


def steepness(said: Array, unit: str) -> Array:
    """How steep units are where they say so."""
    return 1.0 - said**2 if unit == "tanh" else said * (1.0 - said)


def forward(layers: Layers, X: Array, unit: str = "tanh") -> list[Array]:
    """What every layer says of the rows: the input first, the output last."""
    found = [X]
    for k, (W, b) in enumerate(layers):
        Y = found[-1] @ W
        Y += b
        found.append(squashed(Y, unit) if k + 1 < len(layers) else Y)
    return found


def output(layers: Layers, X: Array, unit: str = "tanh") -> Array:
    """The last layer's word alone."""
    return forward(layers, X, unit)[-1]


def backward(layers: Layers, said: list[Array], dY: Array, unit: str = "tanh") -> tuple[Layers, Array]:
    """The gradient by every weight and bias, and by the input, given that by the output."""
    found: list[Layer] = []
    for k in range(len(layers) - 1, -1, -1):
        found.append((said[k].T @ dY, dY.sum(axis=0)))
        dY = dY @ layers[k][0].T
        if k:
            dY *= steepness(said[k], unit)
    return tuple(reversed(found)), dY


def slopes(layers: Layers, X: Array, unit: str = "tanh") -> Array:
    """d output / d input of each row, n x inputs x outputs."""
    J = np.broadcast_to(np.eye(X.shape[1]), (len(X), X.shape[1], X.shape[1]))
    for (W, _), said in zip(layers[:-1], forward(layers, X, unit)[1:-1], strict=True):
        J = (J @ W) * steepness(said, unit)[:, None]
    return np.asarray(J @ layers[-1][0])


def pack(layers: Layers) -> Array:
    """Every weight and bias in one vector."""
    return np.concatenate([part.ravel() for layer in layers for part in layer] or [np.zeros(0)])


def unpack(vector: Array, like: Layers) -> Layers:
    """The layers that `pack` made the vector of; views of it."""
    found, at = [], 0
    for W, b in like:
        found.append((vector[at : at + W.size].reshape(W.shape), vector[at + W.size : at + W.size + b.size]))
        at += W.size + b.size
    return tuple(found)


class Adam(NamedTuple):
    """Where Adam is: the parameters, and running means of slopes and their squares."""

    x: Array
    mean: Array
    square: Array
    steps: int

    @classmethod
    def start(cls, x: Array) -> Self:
        return cls(x, np.zeros_like(x), np.zeros_like(x), 0)

    def step(self, slope: Array, rate: float) -> Self:
        """A step of about `rate` in every parameter."""
        steps = self.steps + 1
        mean = self.mean + (1 - BETA1) * (slope - self.mean)
        square = self.square + (1 - BETA2) * (slope * slope - self.square)
        size = np.sqrt(square / (1 - BETA2**steps)) + TINY
        return type(self)(self.x - rate * (mean / (1 - BETA1**steps)) / size, mean, square, steps)

    def pack(self) -> Array:
        """All of it in one vector."""
        return np.concatenate([self.x, self.mean, self.square, [float(self.steps)]])

    @classmethod
    def unpack(cls, v: Array) -> Self:
        x, mean, square = v[:-1].reshape(3, -1)
        return cls(x, mean, square, int(v[-1]))


def batches(n: int, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Every row once, `size` at a time, in a drawn order."""
    order = rng.permutation(n)
    for begin in range(0, n, size):
        yield order[begin : begin + size]
