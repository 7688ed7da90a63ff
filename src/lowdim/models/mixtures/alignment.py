"""One map for all parts of a mixture: their own maps, glued by one eigenproblem.

A row's place on the common map is y = sum_k r_k (L_k z_k + l_k), with its share r_k in part k and its position z_k on
that part's axes: linear in the numbers r_k z_k and r_k, which the mixture gives. The L_k and l_k that keep every row
where its neighbours put it, as locally linear embedding asks, are eigenvectors of a problem as small as the mixture is.

Reference: Teh and Roweis, "Automatic alignment of local representations" (NIPS 15, 2003).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import Run
from lowdim.maths.linalg import Array, Mask, sign_rule
from lowdim.maths.pairs import nearest, neighbor_weights
from lowdim.models.mixtures.parts import responsibilities
from lowdim.sources.source import Block
from lowdim.text.messages import error

TINY = 1e-290  # squared steps below this are those of copies
RIDGE = 1e-6  # of the squared distances of a row's neighbours, in the weights that place it among them
SPANNED = 1e-9  # of the largest variance of the numbers mapped: directions with less are not told from none


class CommonMap(NamedTuple):
    """Places of rows on one map of all parts of a mixture."""

    places: Array  # n x m, of unit variance and not correlated
    L: Array  # K (q + 1) x m
    mean: Array  # K (q + 1)
    strain: Array  # m: how far rows lie from where their neighbours put them, as a share of the map's variance
    model: Any

    def transform(self, X: Any, *, run: Run | None = None) -> Array:
        """The places of other rows, gaps welcome, m numbers each."""
        return (local_numbers(self.model, X, run) - self.mean) @ self.L


def coordinate(model: Any, X: Any, n_components: int, n_neighbors: int) -> CommonMap:
    """The common map of a fitted mixture, from the rows of a table."""
    U = local_numbers(model, X, None)
    n, most = len(U), min(U.shape[1] - 1, len(U) - 1)
    if not 1 <= n_components <= most:
        raise error("LD200", n_components=n_components, most=most, why=f"the parts have {U.shape[1]} numbers a row")
    if not 1 <= n_neighbors < n:
        raise error("LD210", option="n_neighbors", value=n_neighbors, allowed=f"a whole number from 1 to {n - 1}")
    # The local numbers made white, along the directions that they span.
    mean = U.mean(axis=0)
    centred = U - mean
    values, Q = np.linalg.eigh(centred.T @ centred / n)
    spanned = values > SPANNED * values[-1]
    whiten = Q[:, spanned] / np.sqrt(values[spanned])
    Y = centred @ whiten
    filled = (model.impute(X) - model.frame_.shift) * model.frame_.scale  # whose squares can be stored
    # Each row's weights of its neighbours, as in locally linear embedding; how far they put it from its place.
    found = nearest(filled, n_neighbors)
    steps = filled[found.row] - filled[:, None, :]
    C = steps @ steps.transpose(0, 2, 1)
    size = np.trace(C, axis1=1, axis2=2)
    C = C / np.where(size > TINY, size, 1.0)[:, None, None]
    ridge = np.where(size > TINY, RIDGE, 1.0)  # copies: all alike
    w = neighbor_weights(C, np.ones(C.shape[:2], dtype=bool), ridge)
    E = Y - (w[:, None, :] @ Y[found.row])[:, 0]
    # The directions of least strain, of all that leave the places white.
    strain, R = np.linalg.eigh(E.T @ E / n)
    L = whiten @ R[:, :n_components]
    L = L * sign_rule(centred @ L)
    return CommonMap(centred @ L, L, mean, strain[:n_components], model)


def local_numbers(model: Any, X: Any, run: Run | None) -> Array:
    """r_k z_k and r_k of every part, n x K (q + 1)."""

    def numbers(block: Block) -> Array:
        inward, p = model.frame_.inward(block), model.params_
        mask: Mask | None = None if inward.mask is None or inward.mask.all() else inward.mask
        parts = model._parts().rows(p.components, inward._replace(mask=mask))
        shares, _ = responsibilities(p.log_weights, parts, mask)
        ones = np.ones((len(block.x), 1))
        return np.hstack([r[:, None] * np.hstack([z.mean, ones]) for r, z in zip(shares, parts, strict=True)])

    return model._each(numbers, X, run=run)
