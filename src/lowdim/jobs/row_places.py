"""Where a model puts rows and what is written of them: one layout for a run's own rows, new ones and streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.text.csv_table import csv_table
from lowdim.text.format import count

if TYPE_CHECKING:
    from lowdim.judge.maps.groups import RowGroups
    from lowdim.judge.rows.odd_rows import Law, OddRows
    from lowdim.models.base.results import Posterior


class RowPlaces(NamedTuple):
    """Where rows are: positions (and how sure), or clusters (and how likely); log density where there is one."""

    z: Array
    sd: Array | None
    cluster: NDArray[np.intp] | None
    density: Array | None
    names: tuple[str, ...] = ()  # of the numbers in z, where they are columns of the table and no axes
    more: tuple[tuple[str, NDArray[Any]], ...] = ()  # what else is said of each row, by name

    @property
    def words(self) -> str:
        """How many axes, or clusters of which sizes."""
        if self.names:
            return f"{count(len(self.names), 'column')} kept"
        if self.cluster is None:
            return count(self.z.shape[1], "axis", "axes")
        sizes = ", ".join(str(int(n)) for n in np.bincount(self.cluster, minlength=self.z.shape[1]))
        return f"{count(self.z.shape[1], 'cluster')} of {sizes} rows"

    def first(self, q: int) -> RowPlaces:
        """The first axes only; clusters are all kept."""
        if self.cluster is not None:
            return self
        return self._replace(z=self.z[:, :q], sd=None if self.sd is None else self.sd[:, :q])

    @property
    def columns(self) -> tuple[str, ...]:
        """What the numbers in z are called."""
        word = "axis" if self.cluster is None else "cluster"
        return self.names or tuple(f"{word}{k + 1}" for k in range(self.z.shape[1]))

    def facts(self) -> dict[str, Any]:
        """As JSON has them; what the model does not say is None."""
        return {"scores": self.z, "std": self.sd, "cluster": self.cluster, "log_density": self.density}

    def lines(self, row_names: Sequence[str], odd: OddRows | None = None, groups: RowGroups | None = None) -> str:
        """As CSV, one line a row: its place, how far it is from what the model expects, its log density, its group.

        Clusters are counted from 1. A row with no more cells than dimensions has no Q: an empty cell, not a 0.
        """
        head, parts = ["row"], list[NDArray[Any]]()
        if self.cluster is not None:
            head, parts = [*head, "cluster"], [self.cluster + 1]
        head, parts = [*head, *self.columns], [*parts, *self.z.T]
        if self.sd is not None:
            head, parts = [*head, *(f"{name}_sd" for name in self.columns)], [*parts, *self.sd.T]
        if odd is not None:
            head, parts = [*head, *LAWS], [*parts, *law_numbers(odd.seen, odd.p, odd.D2, odd.T2, odd.Q).T]
        if self.density is not None:
            head, parts = [*head, "log_density"], [*parts, self.density]
        head, parts = [*head, *(name for name, _ in self.more)], [*parts, *(values for _, values in self.more)]
        if groups is not None and len(groups.sizes) > 1:
            head, parts = [*head, "group"], [*parts, groups.label + 1]
        lines = zip(row_names, zip(*(part.tolist() for part in parts), strict=True), strict=True)
        return csv_table(head, [[name, *line] for name, line in lines])


LAWS = ("seen", "p", "D2", "D2_p", "T2", "T2_p", "Q", "Q_p")  # what is written of a row's distances


def law_numbers(seen: NDArray[np.intp], p: Array, D2: Law, T2: Law, Q: Law) -> Array:
    """How many cells each row shows, its p, and its distances each with its own, in the order of `LAWS`; Q is NaN
    where a row has no more cells than dimensions."""
    off = (np.where(Q.dof > 0, part, np.nan) for part in (Q.value, Q.p))
    return np.column_stack([seen, p, D2.value, D2.p, T2.value, T2.p, *off])


def places_of(posterior: Posterior) -> RowPlaces:
    """The places of rows on a map."""
    return RowPlaces(posterior.mean, posterior.std, None, posterior.log_density)
