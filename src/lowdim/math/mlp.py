"""A multilayer perceptron: tanh layers, a linear one at the end; slopes by hand, and two ways down a loss."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.math.linalg import Array

Layer = tuple[Array, Array]  # weights, inputs x units, and biases
Layers = tuple[Layer, ...]
Loss = Callable[[Array], tuple[float, Array]]  # parameters -> value and gradient
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


def forward(layers: Layers, X: Array) -> list[Array]:
    """What every layer says of the rows: the input first, the output last."""
    found = [X]
    for k, (W, b) in enumerate(layers):
        Y = found[-1] @ W
        Y += b
        found.append(np.tanh(Y, out=Y) if k + 1 < len(layers) else Y)
    return found


def output(layers: Layers, X: Array) -> Array:
    """The last layer's word alone."""
    return forward(layers, X)[-1]


def backward(layers: Layers, said: list[Array], dY: Array) -> tuple[Layers, Array]:
    """The gradient by every weight and bias, and by the input, given that by the output."""
    found: list[Layer] = []
    for k in range(len(layers) - 1, -1, -1):
        found.append((said[k].T @ dY, dY.sum(axis=0)))
        dY = dY @ layers[k][0].T
        if k:
            dY *= 1.0 - said[k] ** 2
    return tuple(reversed(found)), dY


def slopes(layers: Layers, X: Array) -> Array:
    """d output / d input of each row, n x inputs x outputs."""
    J = np.broadcast_to(np.eye(X.shape[1]), (len(X), X.shape[1], X.shape[1]))
    for (W, _), said in zip(layers[:-1], forward(layers, X)[1:-1], strict=True):
        J = (J @ W) * (1.0 - said**2)[:, None]
    return np.asarray(J @ layers[-1][0])


def pack(layers: Layers) -> Array:
    """Every weight and bias in one vector."""
    return np.concatenate([part.ravel() for layer in layers for part in layer] or [np.zeros(0)])


def unpack(vector: Array, like: Layers) -> Layers:
    """The layers that `pack` made the vector of; views of it."""
    found, at = [], 0
    for W, b in like:
        found.append((vector[at: at + W.size].reshape(W.shape), vector[at + W.size: at + W.size + b.size]))
        at += W.size + b.size
    return tuple(found)


class Down(NamedTuple):
    """Where a descent ended."""

    x: Array
    value: float
    steps: int
    settled: bool  # nothing was left to gain, or `stop` said so


def lbfgs(f: Loss, x: Array, most: int, stop: Callable[[Array], bool] | None = None, tol: float = 1e-10,
          memory: int = 20) -> Down:
    """L-BFGS to the best point seen; `stop` is asked after every step. A value that is not finite counts as a wall."""
    from scipy.optimize import minimize

    best: tuple[float, Array] = (np.inf, x)

    def walled(v: Array) -> tuple[float, Array]:
        nonlocal best
        with np.errstate(over="ignore", invalid="ignore"):
            value, slope = f(v)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return 1e300, np.zeros_like(v)
        if value < best[0]:
            best = (value, v.copy())
        return value, slope

    def after(intermediate_result: object) -> None:
        if stop is not None and stop(best[1]):
            raise StopIteration

    found = minimize(walled, x, jac=True, method="L-BFGS-B", callback=after,
                     options={"maxiter": most, "maxfun": 20 * most + 20, "maxcor": memory, "ftol": tol, "gtol": 1e-9})
    return Down(best[1], best[0], int(found.nit), found.status != 1)


class Adam:
    """Steps of about `rate` in every parameter, by running means of slopes and their squares."""

    def __init__(self, x: Array, rate: float) -> None:
        self.x, self.rate, self.steps = x.copy(), rate, 0
        self.mean, self.square = np.zeros_like(x), np.zeros_like(x)

    def step(self, slope: Array) -> None:
        self.steps += 1
        self.mean += (1 - BETA1) * (slope - self.mean)
        self.square += (1 - BETA2) * (slope * slope - self.square)
        size = np.sqrt(self.square / (1 - BETA2**self.steps)) + TINY
        self.x = self.x - self.rate * (self.mean / (1 - BETA1**self.steps)) / size


def batches(n: int, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Every row once, `size` at a time, in a drawn order."""
    order = rng.permutation(n)
    for begin in range(0, n, size):
        yield order[begin: begin + size]
