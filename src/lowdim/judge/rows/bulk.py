"""The law that the bulk of a table sets for its rows and cells, by a fitted linear-Gaussian model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.framed_gaussian import FramedGaussian, framed_gaussian
from lowdim.judge.rows.null_law import (
    GAUSSIAN_LAW,
    JUDGING_DOF,
    LEAST_ROWS_OF_LAW,
    TAIL_ROWS,
    RowLaw,
    as_counted,
    cell_laws,
    cell_p_values,
    level_counts,
    row_law,
    row_p_values,
    wrong_cells,
    wrong_rows,
)
from lowdim.judge.rows.surprise import surprises
from lowdim.maths.gaussian import posterior
from lowdim.maths.linalg import Array, Mask
from lowdim.sources.source import Block
from lowdim.sources.views import gather

if TYPE_CHECKING:
    from lowdim.models.linear.linear_gaussian import LinearGaussian


def model_law(model: LinearGaussian) -> RowLaw:
    """The law of a row's distance that a model assumes: chi-square, or F where its rows are Student's."""
    return RowLaw(1.0, float(getattr(model, "dof_", GAUSSIAN_LAW.dof)))


def law_of_new_rows(model: LinearGaussian, X: Any, *, held: Mask | None = None, far: Mask | None = None) -> RowLaw:
    """The law of the bulk of a model's own rows, by which rows that come later are judged."""
    x, seen = gather(model.arrange(X))
    mask = np.ones(x.shape, dtype=bool) if seen is None else seen
    return law_of_later_rows(law_of_table(model, x, mask, held, far)[0])


def law_of_later_rows(law: RowLaw) -> RowLaw:
    """A table's own law for rows that come later: where no law fits its bulk, the heaviest tail that still judges is
    taken, for a row may be beyond any experience."""
    return law._replace(dof=max(law.dof, JUDGING_DOF))


def law_of_table(
    model: LinearGaussian, x: Array, mask: Mask, held: Mask | None, far: Mask | None
) -> tuple[RowLaw, Mask]:
    """The law of a table's rows and cells, and the cells that the others are looked at beside: all but wrong ones.

    Cells `held` out of the fit and `far` rows have no part in saying what is ordinary. Few rows have the model's own.
    """
    if len(x) < LEAST_ROWS_OF_LAW:
        return model_law(model), mask
    g, counts = framed_gaussian(model), level_counts(x, mask)
    cells = g.inward(Block(np.where(mask, as_counted(x, counts), 0.0), mask)).x
    kept = mask if held is None else mask & ~held
    inside = np.ones(len(mask), dtype=bool) if far is None else ~far
    bulk = bulk_of(g, cells, mask, kept, inside)
    own = bulk.kept & bulk.inside[:, None]
    law = bulk.law._replace(cells=cell_laws(bulk.shift / bulk.sd, bulk.D2, mask, bulk.law, own, counts))
    return law, bulk.kept


class Bulk(NamedTuple):
    """What the bulk of a table says is ordinary, and every cell beside what the kept others of its row say."""

    law: RowLaw
    kept: Mask
    inside: Mask  # the rows that set it
    D2: Array
    shift: Array
    sd: Array


def bulk_of(g: FramedGaussian, x: Array, mask: Mask, kept: Mask, inside: Mask) -> Bulk:
    """The law that the kept cells of the rows inside set, or all cells where so few cannot tell wrong ones from a tail.

    x is in the model's units.
    """
    if len(x) < TAIL_ROWS:
        kept = mask
    if not kept.all() or not inside.all():
        shift, sd = beside_kept(g, x, mask, kept)[2:]
        kept = mask & ~wrong_cells(shift / sd, mask & inside[:, None], mask & ~kept)
    D2, seen, shift, sd = beside_kept(g, x, mask, kept)
    inside = ~wrong_rows(D2, seen, ~inside)
    return Bulk(row_law(D2[inside], seen[inside]), kept, inside, D2, shift, sd)


def beside_kept(g: FramedGaussian, x: Array, mask: Mask, kept: Mask) -> tuple[Array, NDArray[np.intp], Array, Array]:
    """D2 of the kept cells, their number, and every seen cell beside what the (other) kept ones say: shift and sd."""
    latent = posterior(np.where(kept, x, 0.0), kept, g.W, g.mu, g.psi)
    D2 = (latent.residual**2) @ (1.0 / g.psi) + (latent.mean**2).sum(axis=1)
    shift, sd = surprises(latent, kept, g.W, g.psi)
    shift = np.where(kept, shift, np.where(mask, x - g.mu - latent.mean @ g.W.T, 0.0))
    return D2, kept.sum(axis=1), shift, sd


def p_of_rows(g: FramedGaussian, x: Array, mask: Mask, law: RowLaw) -> Array:
    """The p of each row, whose cells are in the model's units with levels where they count as being."""
    D2, seen, shift, sd = beside_kept(g, x, mask, mask)
    cell = np.zeros(0) if law.cells is None else cell_p_values(shift / sd, D2, mask, law).min(axis=1)
    return row_p_values(law.p_value(D2, seen), cell, seen)
