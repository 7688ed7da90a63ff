"""Calibration of intervals by held-out cells.

A share of the seen cells is held out; a fit to the rest predicts them, and standard deviations are multiplied by the
factor (the inflation) that makes 90 % intervals hold 90 % of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from lowdim.maths.linalg import Array, Mask
from lowdim.maths.seeds import HELD_OUT_IN_MEMORY
from lowdim.models.base.results import Cells
from lowdim.text.messages import warn


def normal_half_width(level: float) -> float:
    """The half width, in standard deviations, that holds `level` of a Gaussian.

    >>> round(normal_half_width(0.9), 4)
    1.6449
    """
    return float(ndtri(0.5 + level / 2))


LEAST_HELD_SHARE, MOST_HELD_SHARE = 0.05, 0.15  # of the seen cells are held out (docs/measurements.md)
HELD_CELLS_WANTED = 400  # or so many: their coverage is then known to 1.5 %
NORMAL_90 = normal_half_width(0.9)
LEAST_INFLATION, WRONG_INFLATION = 0.2, 5.0  # factors beyond these say that the model is wrong, not its intervals
MOST_INFLATION = 200.0  # of a model that follows single rows; what is known of a column bounds its cells all the same


def held_share(cells: float) -> float:
    """How much of so many seen cells to hold back.

    >>> held_share(1e6), held_share(100.0), held_share(5000.0)
    (0.05, 0.15, 0.08)
    """
    return float(np.clip(HELD_CELLS_WANTED / max(cells, 1.0), LEAST_HELD_SHARE, MOST_HELD_SHARE))


def inflation_note(inflation: float) -> str:
    """A certificate's note on the inflation of intervals."""
    return (
        f"intervals are {inflation:.2f} times as wide as the model believes, by cells held back"
        if inflation != 1.0
        else "intervals are not calibrated: no cell was missing, too few were seen, or the fit was stopped early"
    )


def bounded_inflation(inflation: float) -> float:
    """The inflation within its bounds, with a warning where it says that the model is wrong."""
    if inflation > WRONG_INFLATION:
        warn("LD477", factor=f"{min(inflation, MOST_INFLATION):.2g}")
    return float(np.clip(inflation, LEAST_INFLATION, MOST_INFLATION))


class Inflation(NamedTuple):
    """A factor for the standard deviations of cells; variances never exceed those of an unknown row by it."""

    factor: float
    unknown_row: Cells  # 1 x d, the cells of a row of which nothing is known

    def variance_factor(self, cells: Cells) -> Array:
        """What the variance of each cell is multiplied by."""
        total, unknown = cells.var + cells.noise, self.unknown_row.var + self.unknown_row.noise
        known = total < unknown * (1.0 - 1e-9)  # an unknown row is what it is
        if self.factor <= 1.0:
            return np.where(known, self.factor**2, 1.0)
        wider = np.minimum(self.factor**2 * total, unknown) / np.where(total > 0, total, 1.0)
        return np.where(known, np.maximum(wider, 1.0), 1.0)

    def inflate(self, cells: Cells) -> Cells:
        """The cells with their variances multiplied."""
        by = self.variance_factor(cells)
        return Cells(cells.mean, by * cells.var, by * cells.noise)

    def inflate_draw(self, draw: Array, cells: Cells) -> Array:
        """Drawn cells moved away from the mean as the inflated variances ask."""
        by = self.variance_factor(cells)
        return np.where(by == 1.0, draw, cells.mean + np.sqrt(by) * (draw - cells.mean))


def hold_back(mask: Mask, seed: int) -> tuple[Mask, Mask]:
    """The mask without the cells held out, and these; none are held out where a column would be left empty."""
    held = mask & (np.random.default_rng([seed, HELD_OUT_IN_MEMORY]).random(mask.shape) < held_share(float(mask.sum())))
    remaining = mask & ~held
    return (remaining, held) if remaining.any(axis=0).all() else (mask, np.zeros_like(mask))


def inflation_from_errors(errors: Array) -> float:
    """The inflation, given the errors of held-out cells in standard deviations.

    Of m errors as likely as the next one, that one is below the k-th smallest with probability k / (m + 1), so
    k = 0.9 (m + 1): with few cells a little wider than their own quantile.

    >>> round(inflation_from_errors(np.arange(1.0, 20.0) / 10) * NORMAL_90, 9)
    1.8
    """
    if not len(errors):
        return 1.0
    k = min(0.9 * (len(errors) + 1), float(len(errors)))
    return bounded_inflation(float(np.interp(k, np.arange(1, len(errors) + 1), np.sort(errors))) / NORMAL_90)
