"""Cells of models that are too sure of themselves: a factor, found on held-back cells, makes their intervals hold.

What the factor does to cells is in `calibration.py`, and how it is found, by fits to a table without some of its cells,
in `held_out_cells.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lowdim.engine.fit import Fit
from lowdim.engine.fold import Run
from lowdim.maths.linalg import Array
from lowdim.models.base.results import Cells
from lowdim.models.base.survey import TableSurvey
from lowdim.sources.source import Block, Source

if TYPE_CHECKING:
    from lowdim.models.base.calibration import Inflation
    from lowdim.models.base.held_out_cells import HeldOutFits

MOST_ROUNDS = 3  # fits with cells held out: a table with few cells holds out others in a second and third


class CalibratedCells:
    """A model's own cells and draws, made as wide as `inflation` of its parameters asks.

    Its own are those of its base, where it does not write `_uncalibrated_cells` and `_uncalibrated_draw` itself.
    """

    _rows_to_predict: ClassVar[int | None] = None  # held-back cells are predicted so many rows at a time; None: all

    def _decode(self, params: Any, posterior: Any) -> Cells:
        cells = self._uncalibrated_cells(params, posterior)
        return cells if params.inflation == 1.0 else self.inflation_of(params).inflate(cells)

    def _draw(self, params: Any, posterior: Any, rng: list[np.random.Generator]) -> Array:
        draw = self._uncalibrated_draw(params, posterior, rng)
        if params.inflation == 1.0:
            return draw
        return self.inflation_of(params).inflate_draw(draw, self._uncalibrated_cells(params, posterior))

    def _uncalibrated_cells(self, params: Any, posterior: Any) -> Cells:
        return super()._decode(params, posterior)  # type: ignore[misc]

    def _uncalibrated_draw(self, params: Any, posterior: Any, rng: list[np.random.Generator]) -> Array:
        return super()._draw(params, posterior, rng)  # type: ignore[misc]

    def inflation_of(self, params: Any) -> Inflation:
        from lowdim.models.base.calibration import Inflation

        unknown_row = self._prior(params, 1)  # type: ignore[attr-defined]
        return Inflation(params.inflation, self._uncalibrated_cells(params, unknown_row))

    def _held_out_counts(self, params: Any, held: Any, frames: Any, block: Block) -> Any:
        """How far held-back cells lie off, in standard deviations."""
        from lowdim.models.base.held_out_cells import count_errors

        predict = partial(self._cells_given, params)  # type: ignore[attr-defined]
        return count_errors(held, frames, predict, block, self._rows_to_predict)

    def _held_out_fits(self, refit: Callable[[Source], Fit], survey: TableSurvey, seed: int, run: Run) -> HeldOutFits:
        from lowdim.models.base.held_out_cells import held_out_fits

        return held_out_fits(self, refit, survey, seed, run)
