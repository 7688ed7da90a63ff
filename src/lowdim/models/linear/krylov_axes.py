"""Principal axes of a table that is large both ways: a few passes, each a product with the covariance."""

from __future__ import annotations

from functools import partial

import numpy as np

from lowdim.engine.fold import Run, fold, one_blas_thread
from lowdim.engine.statistics import Sum
from lowdim.maths.eigen import block_krylov, lanczos
from lowdim.maths.linalg import Array
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.principal_axes import RESIDUAL, Spectrum, settled
from lowdim.sources.source import Block
from lowdim.text.messages import warn


def krylov(survey: TableSurvey, k: int, run: Run, seed: int) -> Spectrum:
    """Each product with the covariance is one pass; nothing of order d^2 or n^2 is ever held."""
    mean, n = survey.columns.mean, survey.source.total
    stored = survey.stored
    source = survey.source if stored is None else stored
    if stored is not None and run.engine == "threads":
        run = run._replace(engine="serial")  # SciPy's sparse products hold Python's lock: threads would only wait

    def operate(Q: Array) -> Array:
        return fold(partial(covariance_times, mean, Q), source, run).value / n

    solve = block_krylov if stored is None else lanczos  # stored cells: products are cheap, wide bases are not
    with one_blas_thread():  # once, not for every product
        values, V, off, passes = solve(operate, source.d, k, np.random.default_rng(seed), tol=RESIDUAL)
    if off > RESIDUAL:
        warn("LD209", solver="Krylov", residual=off, tol=RESIDUAL)
    total = float(survey.columns.variance.sum())
    tail = max(total - float(values.sum()), 0.0)
    return settled(Spectrum(values, V, mean, total, tail, n, 0, "krylov", passes, off, True))


def covariance_times(mean: Array, Q: Array, block: Block) -> Sum:
    """A block's share of n C Q, centred as it goes; Q may be one vector, the block one of stored cells."""
    y = block.x @ Q - mean @ Q
    y = y if block.weight is None else (y.T * block.weight).T
    return Sum(block.x.T @ y - np.multiply.outer(mean, y.sum(axis=0)))


def no_axes(survey: TableSurvey) -> Spectrum:
    """The mean and the total variance, where no axis is asked for."""
    mean, total = survey.columns.mean, float(survey.columns.variance.sum())
    none = np.zeros((len(mean), 0))
    return settled(Spectrum(np.zeros(0), none, mean, total, total, survey.source.total, 0, "krylov", 0, 0.0, True))
