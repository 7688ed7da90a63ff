"""Tables whose number of dimensions is known."""

import numpy as np


def seeds_gaussian(seed: int) -> np.ndarray:
    """The 300 x 10 Gaussian of [Zabaras2017]: standard deviation 1 in three directions, 0.5 in seven."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    return (rng.standard_normal((300, 10)) * np.repeat([1.0, 0.5], [3, 7])) @ turn.T


def noise(seed: int, n: int = 600, d: int = 10) -> np.ndarray:
    return np.random.default_rng([seed, 1]).standard_normal((n, d))


def rank_two(n: int, seed: int = 0, d: int = 1000) -> np.ndarray:
    """Two strong directions, standard deviations 10 and 8, in d columns with noise 0.5."""
    rng = np.random.default_rng([seed, 2])
    axes = np.linalg.qr(rng.standard_normal((d, 2)))[0] * np.array([10.0, 8.0])
    return rng.standard_normal((n, 2)) @ axes.T + 0.5 * rng.standard_normal((n, d))


def with_gaps(X: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    return np.where(np.random.default_rng([seed, 3]).random(X.shape) < share, np.nan, X)


def uneven(seed: int, n: int = 200, d: int = 8, q: int = 2) -> np.ndarray:
    """q directions, and a noise for each column from 0.2 to 2: what factor analysis assumes."""
    rng = np.random.default_rng([seed, 31])
    W = rng.standard_normal((q, d))
    sd = np.geomspace(0.2, 2.0, d)[rng.permutation(d)]
    return rng.standard_normal((n, q)) @ W + rng.standard_normal((n, d)) * sd
