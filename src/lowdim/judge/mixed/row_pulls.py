"""How a fitted mixed model would move were its rows counted by other weights, and its axes in units that compare.

The latent response of a column is w'z + noise: logistic for answers, levels and counts, Gaussian for real columns. In
units of that noise the weights of all columns compare, and the axes are orthogonal. A label of several is told by how
its log odds change with z, at z = 0.

A refit would take a second each. At the optimum the gradient of a row's bound, s_i, needs no derivative of its
posterior, and with J = sum s_i s_i' + the priors' curvature (the empirical information) the parameters move by

    J^-1 sum (weight_i - 1) s_i

to first order: one Newton step of every resampling at once, and of the table without any of its rows.

Reference: Efron (1982), The Jackknife, the Bootstrap and Other Resampling Plans, ch. 6 (the infinitesimal jackknife);
Shao and Tu (1995), section 3.1 for one-step bootstraps.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl
from scipy.special import expit

from lowdim.maths.linalg import Array, Index, align, evenly_spread, lower, times_packed, unpack
from lowdim.models.mixed.column_kinds import Sites, sites_of
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.models.mixed.variational_em import (
    INTERCEPT_PRECISION,
    MixedParams,
    RowBeliefs,
    beliefs_of_rows,
    gaussian_precisions,
    one_step,
    threshold_places,
    thresholds_around,
)
from lowdim.table.cell_kinds import AMOUNT, LABEL, MARKER

SCORE_WORK = 1e9  # rows times squared parameters: about a second; of longer tables some rows stand for all
MOST_STEP = 0.9  # of the gap between two thresholds that they may move towards each other


def leanings(model: MixedFactorAnalysis) -> Array:
    """How each column leans with each axis, in units of its latent noise: one line a column, of labels one a label."""
    return leanings_of(model.params_)


def leanings_of(params: MixedParams) -> Array:
    """The same of parameters."""
    columns = params.columns
    W = params.W / params.latent_noise[:, None]
    lines = []
    for j, (kind, own) in enumerate(zip(columns.kinds, columns.weights_of, strict=True)):
        if kind == LABEL.word and own:
            b = params.b[np.array(own) - len(params.mu)]
            lines.append(_of_labels(W[own], b)[np.argsort(columns.levels[j])])
        elif kind == MARKER.word and own:
            lines.append(_of_marker(params, own)[np.argsort(columns.levels[j])][len(own) == 1 :])
        elif kind == AMOUNT.word:  # whether there is any, and how much in the rows that have some
            share = float(columns.counts[j][1] / max(columns.counts[j].sum(), 1e-300))
            lines.append(((W[own[1]] + share * W[own[0]]) / np.sqrt(1.0 + share**2))[None])
        else:
            lines.append(W[own] if own else np.zeros((1, W.shape[1])))
    return np.concatenate(lines)


def _of_labels(W: Array, b: Array) -> Array:
    """d log odds / dz of each label at z = 0, in the order of the sticks."""
    stick = expit(b)
    left = np.concatenate([[1.0], np.cumprod(1.0 - stick)])
    share = left * np.append(stick, 1.0)
    before = np.concatenate([np.zeros((1, W.shape[1])), np.cumsum(stick[:, None] * W, axis=0)])
    own = np.concatenate([(1.0 - stick)[:, None] * W, np.zeros((1, W.shape[1]))])
    return (own - before) / (1.0 - share)[:, None]


def _of_marker(params: MixedParams, own: list[int]) -> Array:
    """How the indicator of each label leans; that of the last, which has no weights, is one less all others."""
    spread = params.columns.spread[own]
    W, var = params.W[own] * spread[:, None], params.psi[own] * spread**2
    W, var = np.concatenate([W, -W.sum(axis=0, keepdims=True)]), np.append(var, var.sum())
    return W / np.sqrt(var)[:, None]


class MovedParams(NamedTuple):
    """Parameters that were moved, and the turn that made their axes orthogonal again."""

    params: MixedParams
    turn: Array  # q x q

    @property
    def leanings(self) -> Array:
        """How each column leans with each of these axes."""
        return leanings_of(self.params)


class RowPulls(NamedTuple):
    """How every row of a table pulls at the parameters of its model."""

    params: MixedParams
    steps: Array  # n x parameters: J^-1 s_i
    at: Index  # which rows of the whole table these are
    each: Array  # how many rows of the whole table each stands for
    simple: bool = False  # axes that were turned towards few columns: they follow those, not the principal ones

    def resampled(self, rng: np.random.Generator) -> MovedParams:
        """The parameters with as many rows as the whole table has drawn again."""
        n = round(float(self.each.sum()))
        weight = rng.multinomial(n, self.each / self.each.sum())
        return moved(self.params, (weight - self.each) @ self.steps, self.simple)

    def without(self, row: int) -> MovedParams:
        """The parameters without one of these rows."""
        return moved(self.params, -self.steps[row], self.simple)

    @property
    def turns(self) -> Array:
        """About how far each axis would turn without each row, n x q, in radians."""
        params, n = self.params, len(self.steps)
        noise = params.latent_noise
        axes = params.W / noise[:, None]
        size = np.maximum(np.linalg.norm(axes, axis=0), np.finfo(float).tiny)
        step = self.steps[:, : params.W.size].reshape(n, *params.W.shape) / noise[:, None]
        along = np.einsum("nsk,sk->nk", step, axes / size)
        return np.sqrt(np.maximum((step**2).sum(axis=1) - along**2, 0.0)) / size


def row_pulls(model: MixedFactorAnalysis, X: Any) -> RowPulls:
    """How the rows of a table pull at the parameters of the model that was fitted to it.

    Parameters
    ----------
    model : MixedFactorAnalysis
        Fitted.
    X : the table it was fitted to, with the weights of its rows
    """
    source, params = model.arrange(X), model.params_
    prior = _prior_curvature(params)
    at = evenly_spread(source.n, max(int(SCORE_WORK / len(prior) ** 2), 200))
    weight = np.ones(source.n) if source.weight is None else source.weight
    each = weight[at] * (weight.sum() / weight[at].sum())
    block = model.frame_.inward(source.block_of(at, 0))
    S = row_scores(params, sites_of(params.columns, block)[0])
    J = (S * each[:, None]).T @ S + np.diag(prior)
    J[np.diag_indices_from(J)] += 1e-9 * np.trace(J) / len(J)
    return RowPulls(params, sl.solve(J, S.T, assume_a="pos").T, at, each, model.rotation is not None)


def _prior_curvature(params: MixedParams) -> Array:
    """Of weights, Gaussian intercepts, logits, thresholds and log noises, one after the other."""
    R, M, _ = params.sizes
    known = np.full(M + len(params.t), INTERCEPT_PRECISION)
    return np.concatenate([params.alpha.ravel(), gaussian_precisions(params), known, np.zeros(R)])


def row_scores(params: MixedParams, sites: Sites) -> Array:
    """The gradient of each row's bound by these parameters, n x parameters."""
    rows = beliefs_of_rows(params, sites)
    R, M, _ = params.sizes
    n, (G, q), (g, h) = len(sites.x), params.W.shape, (rows.cells.g, rows.cells.h)
    slopes = np.empty((n, G, q))
    for s, w in enumerate(params.W):
        doubt = times_packed(rows.cov, np.repeat(w[:, None], n, axis=1)).T
        slopes[:, s] = g[:, s : s + 1] * rows.mean - h[:, s : s + 1] * doubt
    noise = 0.5 * (rows.cells.squares / params.psi - sites.seen)
    return np.column_stack([slopes.reshape(n, -1), g[:, : R + M], _threshold_scores(params, sites, rows), noise])


def _threshold_scores(params: MixedParams, sites: Sites, rows: RowBeliefs) -> Array:
    """Each cell pulls at the threshold below its level and at the one above; the gap between them has a term too."""
    R, M, n_ordinal = params.sizes
    out = np.zeros((len(sites.x), len(params.t)))
    if not n_ordinal:
        return out
    under, over = threshold_places(params.columns, sites.level)
    low, high, has_low, has_high = thresholds_around(params, sites)
    both = has_low & has_high
    gap = both / np.expm1(np.where(both, high - low, 1.0))
    below = rows.cells.g_below
    row = np.arange(len(out))
    for o in range(n_ordinal):
        np.add.at(out, (row, under[:, o]), -below[:, o] - gap[:, o])
        np.add.at(out, (row, over[:, o]), gap[:, o] - (rows.cells.g[:, R + M + o] - below[:, o]))
    return out


def moved(params: MixedParams, step: Array, simple: bool = False) -> MovedParams:
    """Parameters moved by a step, their axes orthogonal again and falling, or where these are simple as near them as
    they can be; thresholds stay in their order."""
    R, M, _ = params.sizes
    ends = np.cumsum([params.W.size, R, M, len(params.t)])
    W, mu, b, t, noise = np.split(step, ends)
    first = params.columns.first
    gap = np.diff(params.t)
    gap[first[1:-1] - 1] = np.inf  # between columns
    if len(gap) and (-np.diff(t) > MOST_STEP * gap).any():
        for begin, end in pairwise(first):
            closer = float((-np.diff(t[begin:end]) / np.diff(params.t[begin:end])).max(initial=0.0))
            t[begin:end] *= min(1.0, MOST_STEP / max(closer, MOST_STEP))
    psi = np.maximum(params.psi * np.exp(np.clip(noise, -1.0, 1.0)), params.low)
    there = params._replace(
        W=params.W + W.reshape(params.W.shape), mu=params.mu + mu, b=params.b + b, t=params.t + t, psi=psi
    )
    W = there.W / there.latent_noise[:, None]
    if simple:  # what aligns I with W' W0 aligns W with W0
        turn = align(np.eye(W.shape[1]), W.T @ (params.W / params.latent_noise[:, None]))
    else:
        turn = np.linalg.svd(W, full_matrices=False)[2].T
    return MovedParams(there._replace(W=there.W @ turn), turn)


def moved_positions(
    model: MixedFactorAnalysis, X: Any, rows: Index, there: Sequence[MovedParams]
) -> tuple[Array, list[Array]]:
    """Where some rows of a table are, and where they would be under parameters that were moved, to first order."""
    params = model.params_
    sites = sites_of(params.columns, model.frame_.inward(model.arrange(X).block_of(rows, 0)))[0]
    here = beliefs_of_rows(params, sites)
    i, j = lower(params.W.shape[1])
    cov, places = unpack(here.cov, params.W.shape[1]), []
    for other in there:
        turned = (other.turn.T @ cov @ other.turn)[:, i, j].T
        places.append(one_step(other.params, sites, here.mean @ other.turn, np.ascontiguousarray(turned)))
    return here.mean, places


def turned(model: MixedFactorAnalysis, Q: Array) -> MixedFactorAnalysis:
    """The same model with its axes turned by an orthogonal Q, which changes no probability."""
    params, made = model.params_, copy(model)
    turn = np.eye(len(Q) + 1)
    turn[: len(Q), : len(Q)] = Q
    made.params_ = params._replace(W=params.W @ Q, V=turn.T @ params.V @ turn)
    made.components_ = np.ascontiguousarray(made.params_.W.T)
    return made
