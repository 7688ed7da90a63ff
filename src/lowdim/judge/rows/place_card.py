"""The row that lives at a place of a map: its cells with bands, the nearest rows, whether a row has been there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, evenly_spread, seen_spread
from lowdim.text.format import figures, figures_by_sd
from lowdim.text.table import text_table

NEAREST = 5  # rows listed beside a place
BEEN_SHARE = 0.99  # of the rows lie nearer to another row than the distance at which a place counts as empty
SAMPLED_ROWS = 20_000  # rows from which that distance is found
NEVER = "No row lies near this place: what is shown is the model's guess alone."


class PlaceCell(NamedTuple):
    """One cell of the row at a place, with the 90 % band of a new cell, in the table's units."""

    column: str
    value: float
    low: float
    high: float
    off: float  # from the column's mean, in its spreads, on the scale the model takes
    sd: float  # half the band's width over 1.645: the standard deviation, where no logarithm was taken
    mean: float  # the value; of levels what lies between them


class PlaceColumn(NamedTuple):
    """One column of the file at a place: the likeliest answer with its probability, or a number with its band.

    The band of levels and counts are levels and whole numbers; labels have none, numbers no word.
    """

    column: str
    word: str  # the likeliest answer as the file has it
    chance: float | None
    usual: float | None  # the share of the rows that have it, of those seen
    band: tuple[str, str] | None  # the values that hold 90 % of new cells
    cell: PlaceCell  # of the column's numbers the one farthest from its mean

    @property
    def words(self) -> tuple[str, str, str]:
        """Value, the band or the probability, and how usual that is, as a person reads them."""
        band = "" if self.band is None else f"{self.band[0]} to {self.band[1]}"
        if self.chance is None or self.usual is None:
            return figures_by_sd(self.cell.value, self.cell.sd), band, f"{self.cell.off:+.1f} sd"
        chance = f"{100 * self.chance:.0f}%"
        return self.word, f"{chance}, {band}" if band else chance, f"{100 * self.usual:.0f}% of rows"


class NearRow(NamedTuple):
    """A row near what a place decodes to: the root mean square of its cells' distances, in their columns' spreads."""

    row: int
    name: str
    far: float


class PlaceCard(NamedTuple):
    """The row that lives at a place."""

    place: tuple[float, ...]
    cells: tuple[PlaceCell, ...]
    near: tuple[NearRow, ...]
    been: bool  # whether a row lies as near to the place, on the map, as rows lie to each other
    gap: float  # how far the nearest row is on the map, in the axes' spreads
    empty: float  # the distance beyond which no row has been
    columns: tuple[PlaceColumn, ...]  # as the file names them; cells of several labels have one line each

    @property
    def sentence(self) -> str:
        """'At axis 1 +0.52, axis 2 -1.20: ...'"""
        where = ", ".join(f"axis {k} {z:+.2f}" for k, z in enumerate(self.place[:4], 1))
        first = ", ".join(f"{c.column} {c.words[0]}" for c in self._farthest[:3])
        return f"At {where}: {first}." + ("" if self.been else f" {NEVER}")

    @property
    def _farthest(self) -> list[PlaceColumn]:
        """The columns whose cells are farthest from their means first."""
        return sorted(self.columns, key=lambda c: -abs(c.cell.off))

    def text(self) -> str:
        """The table of `lowdim explain --place`."""
        head = ("column", "likeliest", "probability, 90% band", "usual, off average")
        head = (
            head if any(c.chance is not None for c in self.columns) else ("column", "value", "90% band", "off average")
        )
        rows = [head, *((c.column, *c.words) for c in self._farthest)]
        lines = [self.sentence, "", *text_table(rows, right=(1, 2, 3))]
        near = ", ".join(f"{r.name} ({figures(r.far, 2)} sd a cell)" for r in self.near)
        return "\n".join([*lines, "", f"Nearest rows, over all columns: {near or 'none'}."])

    def __repr__(self) -> str:
        return f"{self.sentence}\n{len(self.cells)} cells: .text(), .cells, .near"


class MappedRows:
    """Rows of a table and where a model puts them, to be looked up by place; what is worked out once is kept."""

    def __init__(self, X: Array, places: Array, row_names: Sequence[str]) -> None:
        self.X, self.places, self.row_names = X, places, row_names

    @cached_property
    def spread(self) -> Array:
        """Of each column, over its seen cells; 1 where it never changes."""
        return _positive([of_seen(seen_spread, x) for x in self.X.T])

    @cached_property
    def middle(self) -> Array:
        """The mean of each column's seen cells; 0 where there are none."""
        return np.array([of_seen(np.nanmean, x) for x in self.X.T])

    @cached_property
    def width(self) -> Array:
        """The spread of the rows along each axis; 1 where it is none."""
        return _positive(self.places.std(axis=0))

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self.places / self.width)

    @cached_property
    def empty(self) -> float:
        """The distance, in the axes' spreads, beyond which no row has its nearest neighbour, nearly."""
        z = self.places / self.width
        gaps = self._tree.query(z[evenly_spread(len(z), SAMPLED_ROWS)], k=2)[0][:, 1] if len(z) > 1 else np.ones(1)
        return float(np.quantile(gaps[np.isfinite(gaps)], BEEN_SHARE)) if np.isfinite(gaps).any() else 1.0

    def gaps(self, places: Array) -> Array:
        """How far the nearest row is on the map, in the axes' spreads, from each of these places."""
        far: Array = self._tree.query(places / self.width)[0]
        return far

    def near(self, cells: Array) -> tuple[NearRow, ...]:
        """The rows nearest to these cells, over the columns in which a row is seen."""
        off = (self.X - cells) / self.spread
        seen = ~np.isnan(off)
        far = np.sqrt((np.where(seen, off, 0.0) ** 2).sum(axis=1) / np.maximum(seen.sum(axis=1), 1))
        far[~seen.any(axis=1)] = np.inf
        first = np.argsort(far, kind="stable")[:NEAREST]
        return tuple(NearRow(int(i), self.row_names[i], float(far[i])) for i in first if np.isfinite(far[i]))


def of_seen(f: Any, x: Array) -> float:
    """A statistic of the seen cells; 0 where there are none."""
    return float(f(x)) if np.isfinite(x).any() else 0.0


def _positive(spread: Any) -> Array:
    """Spreads, with 1 where there is none."""
    spread = np.asarray(spread, dtype=np.float64)
    return np.where(spread > 0.0, spread, 1.0)
