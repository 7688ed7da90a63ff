"""Expectation-maximisation: the loop of a fit by passes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lowdim.engine.fit import Fit, Monitor
from lowdim.engine.fold import Run, fold, one_blas_thread
from lowdim.maths.linalg import Array
from lowdim.sources.source import Source

MEMORY = 8  # passes an extrapolation looks back on; more did not help (docs/measurements.md)


def em(
    model: Any,
    params: Any,
    source: Source,
    run: Run,
    *,
    solver: str = "em",
    mix: bool = True,
    limit: int | None = None,
    may_fall: bool = False,
    beat: float = -np.inf,
    rows: float | None = None,
    halve: int = 0,
) -> Fit:
    """Expectation-maximisation with Anderson extrapolation; a fall goes back to the plain EM step.

    Each pass folds the statistics of the present parameters, so the objective it reports is exactly
    theirs, and the best parameters seen are the ones returned; the last ones for a model whose steps `may_fall`.
    `limit` lowers the model's own limit of passes; a fit that will not `beat` a value ends early. The model's `tol`
    is in nats a row: of `rows` rows, by default those of the source, by their weights. A plain step cannot fall, unless
    it is Newton's: one that did is taken half as far, up to `halve` times.
    """
    mixer = Anderson(model._pack, model._unpack) if mix else None
    plain: Any = None  # the EM step to go back to, where the present parameters were extrapolated
    most, halvings = model.max_iter if limit is None else limit, 0
    name, rows = type(model).__name__, source.total if rows is None else rows
    with one_blas_thread(), Monitor(run, name, model.tol, most, may_fall, beat, rows) as watch:
        while True:
            stats = fold(partial(model._stats, params), source, run)
            fell = watch.see(params, stats, model._objective(params, stats), plain is not None or halvings < halve)
            if watch.reason:
                return watch.fit(solver)
            if fell:
                if mixer is not None:
                    mixer.clear()
                if plain is None and watch.best is not None:
                    best, halvings = watch.best[1], halvings + 1
                    plain = model._unpack(0.5 * (model._pack(best) + model._pack(params)), best)
                params, plain = plain, None
                continue
            halvings = 0
            step = model._update(params, stats)
            params, plain = (step, None) if mixer is None else mixer.next(params, step)


class Anderson:
    """Anderson's extrapolation of a fixed-point iteration x -> g(x).

    With f = g - x and the last differences dF, dG: x_next = g - dG argmin |f - dF c|.

    Reference: Walker and Ni, SIAM J. Numer. Anal. 49 (2011), eq. 2.2.
    """

    def __init__(self, pack: Callable[[Any], Array], unpack: Callable[[Array, Any], Any]) -> None:
        self.pack, self.unpack = pack, unpack
        self.clear()

    def clear(self) -> None:
        self.f: list[Array] = []
        self.g: list[Array] = []

    def next(self, params: Any, step: Any) -> tuple[Any, Any]:
        """The extrapolated parameters, and the plain step to go back to (None if they are the same)."""
        g = self.pack(step)
        self.f = [*self.f, g - self.pack(params)][-MEMORY - 1 :]
        self.g = [*self.g, g][-MEMORY - 1 :]
        if len(self.f) < 2:
            return step, None
        dF, dG = (np.diff(np.array(rows), axis=0).T for rows in (self.f, self.g))
        c, *_ = np.linalg.lstsq(dF, self.f[-1], rcond=1e-10)
        return self.unpack(g - dG @ c, step), step
