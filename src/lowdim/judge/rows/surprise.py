"""The maths of odd rows: squared distances within and off the map, and every cell beside the others of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run, walk
from lowdim.judge.framed_gaussian import framed_gaussian
from lowdim.maths.gaussian import Latent, posterior
from lowdim.maths.linalg import Array, Mask, lower, unpack
from lowdim.sources.source import Block

if TYPE_CHECKING:
    from lowdim.models.linear.linear_gaussian import LinearGaussian

RANK_SHARE = 1e-10  # eigenvalues of W' Psi^-1 W below this share of the largest hold no information on z


def distances(block: Block, W: Array, mu: Array, psi: Array) -> tuple[Array, Array, Array, NDArray[np.intp], Latent]:
    """D2, T2, Q and the rank of the map within the seen cells, for every row of a block.

    With G = W_o' Psi_o^-1 W_o: S = (I + G)^-1, so T2 = |z|^2 + z' G^+ z, and Q is the weighted sum of
    squares left by the least-squares position z + G^+ z: sums of squares that cannot cancel.
    """
    latent = posterior(block.x, block.mask, W, mu, psi)
    z = latent.mean
    i, j = lower(W.shape[1])
    V = W / psi[:, None]
    m = None if block.mask is None else block.mask.astype(np.float64)
    packed = (V.T @ W)[i, j][:, None] if m is None else (V[:, i] * W[:, j]).T @ m.T
    values, U = np.linalg.eigh(unpack(packed, W.shape[1]))
    held = values > RANK_SHARE * values.max(axis=1, initial=0.0, keepdims=True)
    inverse = np.where(held, 1.0 / np.where(held, values, 1.0), 0.0)
    across = np.matmul(np.swapaxes(U, 1, 2), z[:, :, None])[:, :, 0]
    more = np.matmul(U, (inverse * across)[:, :, None])[:, :, 0]
    left = latent.residual - more @ W.T
    if m is not None:
        left *= m
    Q = (left * left) @ (1.0 / psi)
    T2 = (z * z).sum(axis=1) + (z * more).sum(axis=1)
    D2 = (latent.residual * latent.residual) @ (1.0 / psi) + (z * z).sum(axis=1)
    rank = np.broadcast_to(held.sum(axis=1), len(z))
    return D2, T2, Q, rank, latent


def surprises(latent: Latent, mask: Mask | None, W: Array, psi: Array) -> tuple[Array, Array]:
    """(P r)_j / P_jj and 1 / sqrt(P_jj) of every cell: its distance from what the others say, and the sd.

    P = Psi^-1 - Psi^-1 W S W' Psi^-1, so P r = rest / psi and P_jj = (1 - w_j' S w_j / psi_j) / psi_j. At a
    gap the same words mean the fill: shift 0, variance w_j' S w_j + psi_j.
    """
    i, j = lower(W.shape[1])
    twice = np.where(i == j, 1.0, 2.0)
    spread = (latent.cov.T * twice) @ (W[:, i] * W[:, j]).T  # w_j' S w_j
    free = np.maximum(1.0 - spread / psi, np.finfo(float).eps)
    variance = psi / free
    if mask is not None:
        variance = np.where(mask, variance, spread + psi)
    return latent.residual / free, np.sqrt(np.broadcast_to(variance, latent.residual.shape))


def all_surprises(model: LinearGaussian, X: Any) -> Array:
    """(value - expected from the other cells of the row) / sd for every cell; 0 at gaps."""
    g = framed_gaussian(model)

    def one(raw: Block) -> Array:
        block = g.inward(raw)
        shift, sd = surprises(posterior(block.x, block.mask, g.W, g.mu, g.psi), block.mask, g.W, g.psi)
        return shift / sd

    return np.concatenate([rows for _, rows in walk(one, model.arrange(X), Run())])
