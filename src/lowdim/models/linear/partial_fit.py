"""Moments of complete rows that come a few at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lowdim.engine.statistics import Moments, stored_moments
from lowdim.engine.statistics import moments as moments_of
from lowdim.sources.source import Block, Source
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, Stored, frame_of
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.models.linear.linear_gaussian import LinearGaussian


def add_rows(model: LinearGaussian, source: Source, decay: float) -> tuple[Frame, Moments]:
    """The frame of the first rows, and the moments of all rows so far, earlier ones counted `decay` times."""
    each = model._own_units or model.standardize
    frame, moments = vars(model).get("_online") or (
        frame_of(source.sample(FRAME_ROWS), each, origin=not source.is_sparse),
        None,
    )
    if moments is not None:
        moments = moments._replace(n=moments.n * decay)
    stored = source.is_sparse and not frame.shift.any()
    rows = Stored(source, frame) if stored else Framed(source, frame)
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(rows.n_blocks):
            moments = _absorb(moments, rows.block(i))
    assert moments is not None
    if not np.isfinite(moments.covariance).all():
        raise error("LD156")
    return frame, moments


def _absorb(m: Moments | None, block: Block) -> Moments:
    if block.mask is not None:
        row, column = np.argwhere(~block.mask)[0]
        raise error(
            "LD163",
            f"row {block.start + row + 1}, column {column + 1} of this batch",
            job="partial_fit",
            why="rows with gaps need several passes",
            fix="fit(X), which takes gaps",
        )
    batch = moments_of(block) if isinstance(block.x, np.ndarray) else stored_moments(block)
    return batch if m is None else m.merge(batch)
