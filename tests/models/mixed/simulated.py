"""Tables drawn from the latent Gaussian model itself, with what they were drawn from."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit


class MixedTruth(NamedTuple):
    """A simulated table, its cells before gaps were made, positions, weights of each column, and their kinds."""

    X: np.ndarray
    full: np.ndarray
    z: np.ndarray
    weights: list
    intercepts: list  # of each column: mean, logit, thresholds, log mean, or logits of the sticks
    kinds: list


def mixed_table(seed, n=1000, q=3, gaps=0.2, sizes=(6, 6, 4, 2, 4)):
    """Real, yes/no, ordinal (5 levels), count and label (3) columns, so many of each."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, q))
    columns, weights, intercepts, kinds = [], [], [], []
    for j in range(sizes[0]):
        w = 0.8 * rng.standard_normal(q)
        columns.append(z @ w + 0.6 * rng.standard_normal(n) + 2 * j)
        weights.append(w)
        intercepts.append(2.0 * j)
    for _ in range(sizes[1]):
        w = 1.2 * rng.standard_normal(q)
        intercepts.append(0.5 * rng.standard_normal())
        columns.append((rng.random(n) < expit(z @ w + intercepts[-1])).astype(float))
        weights.append(w)
    for _ in range(sizes[2]):
        w = 1.2 * rng.standard_normal(q)
        t = np.sort(1.2 * rng.standard_normal(4)) + 0.3 * np.arange(4)
        columns.append((rng.logistic(size=n)[:, None] + (z @ w)[:, None] > t).sum(axis=1).astype(float))
        weights.append(w)
        intercepts.append(t)
    for _ in range(sizes[3]):
        w = 0.6 * rng.standard_normal(q)
        columns.append(rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(z @ w + 0.5))).astype(float))
        weights.append(w)
        intercepts.append(0.5)
    for _ in range(sizes[4]):
        w = 1.2 * rng.standard_normal((2, q))
        intercepts.append(np.array([0.3, 0.0]))
        yes = rng.random((n, 2)) < expit(z @ w.T + intercepts[-1])
        columns.append(np.where(yes[:, 0], 0.0, np.where(yes[:, 1], 1.0, 2.0)))
        weights.append(w)
    for kind, size in zip(("real", "yes/no", "ordinal", "count", "label"), sizes, strict=True):
        kinds += [kind] * size
    full = np.column_stack(columns)
    X = np.where(rng.random(full.shape) < gaps, np.nan, full)
    return MixedTruth(X, full, z, weights, intercepts, kinds)


def amounts_table(seed, n, q=1, reals=4, amounts=3, gaps=0.15, noise=0.5):
    """Real columns and amounts of one latent position, a part hidden; and the weights of amounts: any, how much."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, q))
    full, weights = [], []
    for _ in range(reals):
        full.append(z @ rng.normal(size=q) + 0.6 * rng.standard_normal(n))
    for _ in range(amounts):
        there, much = 1.3 * rng.normal(size=q), 0.8 * rng.normal(size=q)
        wet = z @ there + rng.logistic(size=n) > 0.2
        full.append(np.where(wet, np.exp(2.0 + z @ much + noise * rng.standard_normal(n)), 0.0))
        weights.append((there, much))
    full = np.column_stack(full)
    return np.where(rng.random(full.shape) < gaps, np.nan, full), full, weights


def true_params(params, frame, truth):
    """The parameters that a table was drawn from, in the frame of a model fitted to it; labels in their own order."""
    columns = params.columns
    levels = tuple(
        np.sort(own) if kind == "label" else own for own, kind in zip(columns.levels, columns.kinds, strict=True)
    )
    scale = [frame.scale[j] for j, _ in columns.gaussian]
    W = [truth.weights[j] * s for (j, _), s in zip(columns.gaussian, scale, strict=True)]
    mu = [(truth.intercepts[j] - frame.shift[j]) * s for (j, _), s in zip(columns.gaussian, scale, strict=True)]
    b = []
    for j, t in columns.single:
        is_label = truth.kinds[j] == "label"
        W.append(truth.weights[j][t] if is_label else truth.weights[j])
        b.append(
            truth.intercepts[j][t] if is_label else truth.intercepts[j] - np.log(2.0) * (truth.kinds[j] == "count")
        )
    W += [truth.weights[j] for j in columns.ordinal]
    return params._replace(
        W=np.array(W),
        mu=np.array(mu),
        b=np.array(b),
        t=np.concatenate([truth.intercepts[j] for j in columns.ordinal]),
        psi=0.36 * np.array(scale) ** 2,
        r=np.full(len(params.r), 2.0),
        V=np.zeros_like(params.V),
        columns=columns._replace(levels=levels),
    )
