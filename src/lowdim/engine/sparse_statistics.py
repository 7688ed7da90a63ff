"""Statistics of blocks of stored cells of a sparse table: those not stored are zeros, and are only counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.engine.statistics import BlockSurvey, Columns, Moments
from lowdim.sources.source import Block


def stored_columns(block: Block) -> Columns:
    """The column statistics of a block of stored cells; those not stored are zeros, and are only counted."""
    x: Any = block.x
    n, d = block.size, x.shape[1]
    w = np.ones(x.nnz) if block.weight is None else np.repeat(block.weight, np.diff(x.indptr))
    count = np.bincount(x.indices, w, d)
    mean = np.bincount(x.indices, w * x.data, d) / max(n, 1.0)
    scatter = np.bincount(x.indices, w * (x.data - mean[x.indices]) ** 2, d) + (n - count) * mean**2
    size = np.zeros(d)
    np.maximum.at(size, x.indices, np.abs(x.data))
    return Columns(n, 0.0, np.full(d, n), mean, scatter, size)


def stored_moments(block: Block) -> Moments:
    """The moments of a block of stored cells: few are, so the mean is small beside the spread, and nothing cancels."""
    x: Any = block.x
    n, d = block.size, x.shape[1]
    if n == 0.0:
        return Moments(0.0, np.zeros(d), np.zeros((d, d)))
    weighted = x if block.weight is None else x.multiply(block.weight[:, None]).tocsr()
    mean = np.asarray(weighted.sum(axis=0)).ravel() / n
    covariance = (weighted.T @ x).toarray() / n
    covariance -= np.multiply.outer(mean, mean)
    return Moments(n, mean, covariance)


def survey_stored_block(block: Block) -> BlockSurvey:
    """One block of stored cells surveyed: its columns by themselves, for the diagonal of moments may lose digits."""
    return BlockSurvey(stored_columns(block), stored_moments(block), None)
