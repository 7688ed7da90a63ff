"""Every cell of a row given its other cells, under a fitted mixed model: what judges of rows start from.

The posterior of a row is N(m, V) with V^-1 = I + sum h w w' and m = V sum (g + h w'm) w: each seen cell has a Gaussian
term of its own, whatever its likelihood. Without the term of a cell with one weight vector, and with a = w'V w,

    w'z ~ N(w'm - a g / (1 - h a), a / (1 - h a)),

and the cell's likelihood, averaged over that and over the doubt of the weights, says how likely each of its values was.
For a table of real columns it is the distribution of a Gaussian cell given the others, exactly.

How far a value lies out: p is the probability of all values that are no likelier than it (both tails, for numbers).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from lowdim.engine.fold import Run, walk
from lowdim.judge.maps.latent_cells import IntervalRule
from lowdim.maths.linalg import EPS, Array, Index, Mask, inverse_packed, lower, times_packed
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Posterior, in_table_units, standard
from lowdim.models.mixed.column_kinds import LEVELLED, MixedColumns, level_codes, sites_of
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.models.mixed.predictions import (
    AmountCells,
    SiteMeans,
    amount_below,
    amount_cells,
    amount_interval,
    count_below,
    expected_at,
    fills_at,
    probabilities,
    site_means,
)
from lowdim.models.mixed.variational_em import MixedParams, RowBeliefs, beliefs_of_rows
from lowdim.sources.source import Block
from lowdim.table.cell_kinds import AMOUNT, CELL_KINDS, ORDINAL, YES_NO

LEAST_FREE = 1e-6  # of a site's variance that is its own
LEAST_P = 1e-300
SAMPLED_ROWS = 256  # rows drawn from a model, by which the usual information of its sites is found


class UsualRows(NamedTuple):
    """What rows of a model are usually like, by rows drawn from it."""

    information: Array  # h of each weight vector, on average over its cells; 1 / psi of a real column
    middle: float  # of the rows' standardised sums of surprises
    spread: float


class GivenOthers(NamedTuple):
    """Every cell beside what the others of its row say, n x columns each, in the table's units.

    At a gap `mean` and `sd` are those of its fill, and all else says nothing.
    """

    seen: Mask
    mean: Array  # of levels between their values; of a label 0
    sd: Array
    p: Array  # of values no likelier than the one seen
    surprise: Array  # p as a normal score, with the sign of value - mean
    tail: Array  # probability of the value and all beyond it, on the rarer side; of a label its own
    share: Array  # probability of the value seen where a column has levels, else 1
    excess: Array  # -2 log of that less its expectation; of numbers surprise^2 - 1
    spread2: Array  # its variance
    likeliest: Array  # code of the most likely level; of numbers 0
    likeliest_share: Array  # and its probability
    position: Array  # n x q, where the row is by all its cells
    information: Array  # n x (q(q+1)/2), packed: of the seen cells, each counted as in an ordinary row
    off: Array  # n: the sum of a row's excess, in standard deviations of rows of the model


def given_others(model: MixedFactorAnalysis, X: Any, usual: UsualRows | None = None) -> GivenOthers:
    """Every cell of a table beside what the others of its row say.

    Parameters
    ----------
    model : MixedFactorAnalysis
        Fitted.
    X : table of the fitted columns
    usual : UsualRows, optional
        `usual_rows` of the model, where they are known already.

    Returns
    -------
    GivenOthers
    """
    each = usual_rows(model) if usual is None else usual
    parts = [part for _, part in walk(lambda block: _given(model, each, block), model.arrange(X), Run())]
    return GivenOthers(*(np.concatenate(piece) for piece in zip(*parts, strict=True)))


def usual_rows(model: MixedFactorAnalysis) -> UsualRows:
    """What rows of a model are usually like: what their cells tell of their position, and how surprising they are.

    What a row's cells tell depends on the row; how far its position lies out is judged by what they usually tell.
    """
    raw = Block(LatentModel.sample(model, SAMPLED_ROWS), None)
    sites, _ = sites_of(model.params_.columns, model.frame_.inward(raw))
    # no cell of these rows is missing, so that what a site does not see, after the stick of a label and beside a zero,
    # is part of what its column usually tells
    information = beliefs_of_rows(model.params_, sites).cells.h.mean(axis=0)
    off = _given(model, UsualRows(information, 0.0, 1.0), raw).off
    return UsualRows(information, float(off.mean()), float(off.std()) or 1.0)


class RowsTold(NamedTuple):
    """Every cell of some rows, in the table's units: mean, variance and fill; of levels their probabilities, of amounts
    their distributions."""

    expected: Cells
    fill: Array
    shares: dict[int, Array]
    intervals: Mapping[int, IntervalRule]


def cells_at(model: MixedFactorAnalysis, Z: Array) -> RowsTold:
    """Every cell of a row at each of some places."""
    q = Z.shape[1]
    return _told(model, Posterior(Z, np.zeros((len(Z), q * (q + 1) // 2)), np.zeros(len(Z))))


def cells_in_rows(model: MixedFactorAnalysis, X: Any) -> RowsTold:
    """Every cell of some rows, seen or not, as the seen ones say."""
    return _told(model, model.posterior(X))


def _told(model: MixedFactorAnalysis, rows: Posterior) -> RowsTold:
    params = model.params_
    at = site_means(params, rows)
    shares = probabilities(params, rows, None, at)
    expected, fill = (in_table_units(model.frame_, part(params, at, shares)) for part in (expected_at, fills_at))
    intervals = {own.column: partial(amount_interval, params.columns, own) for own in amount_cells(params, at)}
    return RowsTold(expected, fill.mean, shares, intervals)


def usual_posterior(model: MixedFactorAnalysis, usual: UsualRows, seen: Mask) -> Posterior:
    """Rows in the middle of the map, with the doubt that rows have that show these cells (n x columns)."""
    params = model.params_
    q = params.W.shape[1]
    i, j = lower(q)
    A = _information(params, usual, seen)
    cov, _ = inverse_packed(np.where(i == j, 1.0, 0.0)[:, None] + A.T, q)
    return standard(len(seen), q)._replace(packed=np.ascontiguousarray(cov.T))


def _given(model: MixedFactorAnalysis, usual: UsualRows, raw: Block) -> GivenOthers:
    params, block = model.params_, model.frame_.inward(raw)
    columns = params.columns
    sites, _ = sites_of(columns, block)
    code, seen = level_codes(columns, block.x, block.seen)
    rows = beliefs_of_rows(params, sites)
    # each cell without its own term in the row's posterior
    at, shares = _without_own(params, rows)
    cells = in_table_units(model.frame_, expected_at(params, at, shares))
    sd = np.sqrt(cells.var + cells.noise)
    # what its value is worth beside that
    worth, amounts = [], {own.column: own for own in amount_cells(params, at)}
    for j, kind in enumerate(columns.kinds):
        if kind == AMOUNT.word:
            worth.append(_of_amount(columns, amounts[j], raw.x[:, j]))
        elif kind in LEVELLED:
            worth.append(_of_levels(columns, j, code[:, j], shares[j], cells.mean[:, j]))
        else:
            worth.append(_of_numbers(params, j, raw.x[:, j], cells.mean[:, j], sd[:, j], at))
    told = ValueWorth(*(np.column_stack(parts) for parts in zip(*worth, strict=True)))
    # and that of the row, in standard deviations of rows of the model
    excess, spread2 = np.where(seen, told.excess, 0.0), np.where(seen, told.spread2, 0.0)
    spread = np.sqrt(spread2.sum(axis=1))
    off = excess.sum(axis=1) / np.where(spread > 0.0, spread, 1.0)
    off = np.where(spread > 0.0, (off - usual.middle) / usual.spread, 0.0)
    return GivenOthers(
        seen=seen,
        mean=cells.mean,
        sd=sd,
        p=np.where(seen, told.p, 1.0),
        surprise=np.where(seen, told.surprise, 0.0),
        tail=np.where(seen, told.tail, 1.0),
        share=np.where(seen, told.share, 1.0),
        excess=excess,
        spread2=spread2,
        likeliest=told.likeliest,
        likeliest_share=told.likeliest_share,
        position=rows.mean,
        information=_information(params, usual, seen),
        off=off,
    )


class ValueWorth(NamedTuple):
    """What the values of one column are worth beside what the other cells of their rows say; as in `GivenOthers`."""

    p: Array
    tail: Array
    surprise: Array
    excess: Array
    spread2: Array
    share: Array
    likeliest: Array
    likeliest_share: Array


def _without_own(params: MixedParams, rows: RowBeliefs) -> tuple[SiteMeans, dict[int, Array]]:
    """The sites of every cell without its own term, and the probabilities of its levels; a gap has no term."""
    columns = params.columns
    latent = Posterior(rows.mean, np.ascontiguousarray(rows.cov.T), rows.bound)
    at = site_means(params, latent)
    a = at.var - at.own
    free = np.maximum(1.0 - rows.cells.h * a, LEAST_FREE)
    alone = SiteMeans(at.mean - a * rows.cells.g / free, a / free + at.own, at.own, at.both)
    # a column of one weight vector is told by that; of several, as labels have, all are taken out together
    one = [j for j, kind in enumerate(columns.kinds) if kind in LEVELLED and len(columns.levels[j]) <= 2]
    one += [j for j in columns.ordinal if j not in one]
    shares = probabilities(params, latent, one, alone)
    for j, (kind, own) in enumerate(zip(columns.kinds, columns.weights_of, strict=True)):
        if kind in LEVELLED and j not in shares:
            shares |= probabilities(params, _without_sites(params, rows, own), [j])
    for k, pair in enumerate(columns.amounts.values()):
        told = site_means(params, _without_sites(params, rows, list(pair)))
        for part, whole in zip(told[:3], alone[:3], strict=True):
            whole[:, pair] = part[:, pair]
        alone.both[:, k] = told.both[:, k]
    return alone, shares


def _without_sites(params: MixedParams, rows: RowBeliefs, sites: list[int]) -> Posterior:
    """The posteriors of the rows without the terms of some sites, all of one column."""
    q = params.W.shape[1]
    i, j = lower(q)
    W, g, h = params.W[sites], rows.cells.g[:, sites], rows.cells.h[:, sites]
    A, _ = inverse_packed(rows.cov, q)
    own = (W[:, i] * W[:, j]).T @ h.T
    cov, _ = inverse_packed(A - (1.0 - LEAST_FREE) * own, q)
    natural = times_packed(A, np.ascontiguousarray(rows.mean.T)) - ((g + h * (rows.mean @ W.T)) @ W).T
    return Posterior(times_packed(cov, natural).T, np.ascontiguousarray(cov.T), rows.bound)


def _of_levels(columns: MixedColumns, j: int, code: Index, share: Array, mean: Array) -> ValueWorth:
    """What a value among levels is worth, given the probability of each."""
    share = np.maximum(share, LEAST_P)
    row, levels = np.arange(len(code)), columns.levels[j]
    own, best = share[row, code], share.argmax(axis=1)
    p = np.minimum((share * (share <= own[:, None] * (1.0 + 1e-9))).sum(axis=1), 1.0)
    log = -2.0 * np.log(share)
    usual = (share * log).sum(axis=1)
    if columns.kinds[j] in (YES_NO.word, ORDINAL.word):
        upto = (share * (levels <= levels[code][:, None])).sum(axis=1)
        tail = np.minimum(upto, 1.0 - upto + own)
        surprise = _score(p) * np.sign(levels[code] - mean) + 0.0
    else:  # labels have no order
        tail, surprise = own, _score(p)
    return ValueWorth(
        p=p,
        tail=tail,
        surprise=surprise,
        excess=-2.0 * np.log(own) - usual,
        spread2=(share * (log - usual[:, None]) ** 2).sum(axis=1),
        share=own,
        likeliest=levels[best],
        likeliest_share=share[row, best],
    )


def _of_numbers(params: MixedParams, j: int, x: Array, mean: Array, sd: Array, at: SiteMeans) -> ValueWorth:
    """What a number is worth: its two tails, of a count by the negative binomial."""
    columns = params.columns
    if CELL_KINDS[columns.kinds[j]].counted:
        (site,) = columns.weights_of[j]
        r = float(params.r[columns.count_sites.index(site - len(params.mu))])
        below, upto = (count_below(x - k, at.mean[:, site], at.var[:, site], r) for k in (1.0, 0.0))
        p = np.clip(2.0 * np.minimum(upto, 1.0 - below), LEAST_P, 1.0)
        far = np.where(x < mean, -1.0, 1.0) * _score(p)
    else:
        far = (x - mean) / sd
        p = np.maximum(2.0 * ndtr(-np.abs(far)), LEAST_P)
    none = np.zeros(len(x))
    return ValueWorth(p, 0.5 * p, far, far**2 - 1.0, none + 2.0, none + 1.0, none, none)


def _of_amount(columns: MixedColumns, cells: AmountCells, x: Array) -> ValueWorth:
    """What an amount is worth: its two tails, of which zeros are one or both; its density as that of zero or not.

    Its `tail` is that of the widest interval which does not hold it, as `amount_interval` makes them.
    """
    upto, zero = amount_below(columns, cells, x), cells.zero
    beyond = np.where(x > 0, 1.0 - upto, 1.0)
    p = np.clip(2.0 * np.minimum(upto, beyond), LEAST_P, 1.0)
    far = np.where(upto < beyond, -1.0, 1.0) * _score(p)
    # -2 log density of what there is, where its score has variance 1: a normal square more than that of being there
    none, some = (-2.0 * np.log(np.maximum(share, LEAST_P)) for share in (zero, 1.0 - zero))
    usual = zero * none + (1.0 - zero) * (some + 1.0)
    within = ndtri(np.clip((upto - zero) / np.maximum(1.0 - zero, LEAST_P), LEAST_P, 1.0 - EPS))
    excess = np.where(x > 0, some + within**2, none) - usual
    spread2 = zero * none**2 + (1.0 - zero) * ((some + 1.0) ** 2 + 2.0) - usual**2
    both = np.minimum(upto, beyond)
    tail = np.where(x > 0, np.where(both > zero, both, np.minimum(zero, 0.5 * beyond)), zero)
    tail = np.clip(tail, LEAST_P, 1.0)
    return ValueWorth(p, tail, far, excess, spread2, np.ones(len(x)), np.zeros(len(x)), np.zeros(len(x)))


def _score(p: Array) -> Array:
    """A p of two tails as a distance in standard deviations."""
    return np.maximum(-ndtri(np.maximum(p, LEAST_P) / 2.0), 0.0)


def _information(params: MixedParams, usual: UsualRows, seen: Mask) -> Array:
    """Of the seen cells of each row about its position, each as in an ordinary row; packed, n x q(q+1)/2."""
    i, j = lower(params.W.shape[1])
    each = (params.W[:, i] * params.W[:, j]) * usual.information[:, None]
    column = np.zeros((seen.shape[1], len(i)))
    np.add.at(column, params.columns.owners, each)
    return seen @ column
