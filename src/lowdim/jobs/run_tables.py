"""Where a model puts rows, and what is written of them as CSV: one layout for a run, for new rows and for streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.maps.map_columns import NumberFills
from lowdim.maths.linalg import Array, Mask
from lowdim.table.column import words_of
from lowdim.text.csv_table import csv_lines, csv_table
from lowdim.text.format import count

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.apply import PlacedRows
    from lowdim.judge.fills.result import Fills
    from lowdim.judge.maps.map_columns import GapAnswers
    from lowdim.judge.outliers.partition import Partition
    from lowdim.judge.rows.odd_rows import Law, OddRow, OddRows
    from lowdim.models.base.results import Posterior
    from lowdim.table.table import Table

ROWS_AT_ONCE = 4096  # that are lists of Python while a table is written
OUTSIDE = {-1: "below", 0: "", 1: "above"}
LAWS = ("seen", "p", "D2", "D2_p", "T2", "T2_p", "Q", "Q_p")  # what is written of a row's distances


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
        known = {"scores": self.z, "std": self.sd, "cluster": self.cluster, "log_density": self.density}
        return known | dict(self.more)

    def lines(self, row_names: Sequence[str], odd: OddRows | None = None) -> Iterator[str]:
        """As CSV, one line a row: its place, how far it is from what the model expects, its log density, what else is
        said of it.

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
        return csv_lines(head, _lines_of(row_names, parts))


def _lines_of(row_names: Sequence[str], parts: Sequence[NDArray[Any]]) -> Iterator[list[Any]]:
    """The name of each row and its number of each part; some rows at a time, for numbers of Python are large."""
    for start in range(0, len(row_names), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        yield from map(list, zip(row_names[some], *(part[some].tolist() for part in parts), strict=True))


def law_numbers(seen: NDArray[np.intp], p: Array, D2: Law, T2: Law, Q: Law) -> Array:
    """How many cells each row shows, its p, and its distances each with its own, in the order of `LAWS`; Q is NaN
    where a row has no more cells than dimensions."""
    off = (np.where(Q.dof > 0, part, np.nan) for part in (Q.value, Q.p))
    return np.column_stack([seen, p, D2.value, D2.p, T2.value, T2.p, *off])


def places_of(posterior: Posterior) -> RowPlaces:
    """The places of rows on a map."""
    return RowPlaces(posterior.mean, posterior.std, None, posterior.log_density)


# the files of a run ---------------------------------------------------------------------------------------
def tables(analysis: Analysis) -> dict[str, str | Iterator[str]]:
    """The CSV files of a run by name, as text or line by line, as far as what they hold is there."""
    t, texts = analysis.table, dict[str, str | Iterator[str]]()
    if analysis.has("posterior") and analysis.has("odd"):
        places = places_of(analysis.posterior)
        if analysis.finished:
            places = places._replace(more=analysis.groups.columns_of_rows())
        texts["scores.csv"] = places.lines(t.row_names, analysis.odd)
        texts["odd.csv"] = odd_table(analysis.odd)
        if analysis.partition.choice == "screened":
            texts["held.csv"] = held_table(t, analysis.partition)
    if analysis.has("fills"):
        texts["fills.csv"] = fills_table(t, analysis.fills)
    return texts


def placed_fills(rows: PlacedRows) -> str:
    """New rows: one line a filled cell; its interval is calibrated, the standard deviation is the model's own."""
    parts = NumberFills(*(np.asarray(part) for part in (rows.filled, rows.sd, rows.lower, rows.upper)))
    return gap_table(rows.row_names, rows.columns, rows.gap, parts, rows.answers)


def gap_table(
    row_names: tuple[str, ...], names: tuple[str, ...], gap: Mask, fills: NumberFills, answers: GapAnswers | None
) -> str:
    """One line a gap: a number with its interval, a level with its probability too, a label with that alone."""
    where = np.argwhere(gap).tolist()
    parts = (fills.filled, fills.lower, fills.upper, fills.sd)
    cells = np.column_stack([part[gap] for part in parts]).tolist()
    header, lines = ["row", "column", "fill", "lower", "upper", "sd"], zip(where, cells, strict=True)
    if answers is None:
        return csv_table(header, [[row_names[i], names[j], *line] for (i, j), line in lines])
    told = {(i, j): (fill, p) for i, j, fill, p in zip(*answers, strict=True)}
    rows = list[list[Any]]()
    for (i, j), line in lines:
        fill, p = told.get((i, j), (None, ""))
        rows.append([row_names[i], names[j], *([fill, "", "", ""] if isinstance(fill, str) else line), p])
    return csv_table([*header, "probability"], rows)


def fills_table(table: Table, f: Fills) -> str:
    """One line a filled cell; `outside`: it lies beyond every value its column has; `engine`: what filled it. A label
    has a probability, and no interval; a level has both."""
    is_number = f.number_gaps
    where = np.argwhere(is_number)
    numbers = np.column_stack([part[is_number] for part in (f.filled, f.lower, f.upper, f.sd)]).tolist()
    names, rows, beyond = table.names, table.row_names, f.outside[is_number].tolist()
    chances = ["" if p != p else p for p in f.chances[is_number].tolist()]
    graded = {j: c.grades for j, c in enumerate(table.numbers) if c.grades}
    lines: list[tuple[int, list[Any]]] = []
    for (i, j), (*middle, sd), far, p in zip(where.tolist(), numbers, beyond, chances, strict=True):
        told = words_of(np.array(middle), graded[j]).tolist() if j in graded else middle
        lines.append((i, [rows[i], names[j], *told, sd, OUTSIDE[far], f.engine, p]))
    for c in f.labels:
        told = zip(c.rows.tolist(), c.fills, c.probability.tolist(), strict=True)
        lines += [(i, [rows[i], c.column, label, "", "", "", "", c.engine, p]) for i, label, p in told]
    header = ["row", "column", "fill", "lower", "upper", "sd", "outside", "engine", "probability"]
    return csv_table(header, [line for _, line in sorted(lines, key=lambda pair: pair[0])])


def odd_table(odd: OddRows) -> str:
    """One line an odd row."""
    return csv_table(
        ["row", "seen", "p", "D2", "D2_p", "column", "value", "expected", "sd", "surprise", "reason"],
        [[r.name, r.seen, r.p, r.D2, r.p_D2, r.column, *_said(r), r.sd, r.surprise, r.reason] for r in odd.rows],
    )


def _said(r: OddRow) -> tuple[Any, Any]:
    """The value of a row's least likely cell and what the rest says, in words where it holds an answer."""
    return (r.words[0], r.words[1]) if r.words else (r.value, r.expected)


def held_table(t: Table, partition: Partition) -> str:
    """One line a cell that is left out of the fit, in the table's units; a whole row has no column."""
    values = t.scales.outward(t.X)
    cells = [[t.row_names[i], t.names[j], float(values[i, j])] for i, j in partition.wrong_cells]
    return csv_table(["row", "column", "value"], [*cells, *([t.row_names[i], "", ""] for i in partition.outside)])
