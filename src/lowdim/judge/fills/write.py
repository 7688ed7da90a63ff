"""A filled table as it came: a frame in its own types, or the file that was read, everything but its gaps as it was.

Beside the file, where asked for: the ends of the intervals, which cells were gaps, the probability of each label and
level, and tables drawn jointly.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.copies import number_copies, word_columns
from lowdim.judge.fills.words import LabelFill
from lowdim.judge.mixed_table import mixed_table
from lowdim.maths.linalg import Array
from lowdim.sources.labelled_frames import Labels, in_kind
from lowdim.storage.atomic import replacing
from lowdim.table.column import Column, words_of
from lowdim.table.relations import told_by_copies
from lowdim.table.table import Table
from lowdim.table.write_back import Sheet, Texts, around_numbers, decimal_of, fill_texts, harmless, lines
from lowdim.text.escape import protect_terminal, shell_word
from lowdim.text.format import count, listing
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.judge.fills.result import Fills

NO_PLACE = "has no measured value and was left out (LD121): it has no place on the map"
NO_PLACES = "have no measured value and were left out (LD121): they have no place on the map"
NAMED_LEFT = 12  # columns whose gaps stay, with the reason of each
# endings that promise something else than text
OTHER = (
    *(".parquet", ".feather", ".arrow", ".npy", ".npz", ".xlsx", ".xlsm", ".xls", ".ods", ".json", ".html", ".xml"),
    *(".h5", ".hdf5", ".db", ".sqlite", ".pkl", ".pickle", ".gz", ".zip", ".bz2", ".xz", ".zst"),
    *(".rds", ".rda", ".sav", ".dta", ".mat", ".pdf"),
)


# frames ---------------------------------------------------------------------------------------------------
def filled_frame(came: Any, table: Table, fills: Fills) -> Any:
    """The rows of a frame that were read, every column in its place and of its type; only gaps are not as they were."""
    names, new = [str(name) for name in came.columns], dict[str, tuple[Array, Labels]]()
    for j, c in enumerate(table.numbers):
        if not c.labels:
            new[names[c.position - 1]] = (fills.filled[:, j], c.grades)
    read = {c.position: c.values for c in table.columns}
    for copy in fills.copies:
        values = np.array(read[copy.position])
        values[copy.rows] = copy.at(fills.filled)
        new[names[copy.position - 1]] = (values, ())
    rows = came
    if len(table.rows) < table.shape[0]:  # some were left out
        rows = came.iloc[table.rows] if table.index is not None else came[table.rows.tolist()]
    words = word_columns(table)
    for fill in fills.labels:
        j, codes = fill.position - 1, words[fill.position].coded.values.copy()
        column = rows.iloc[:, j] if getattr(rows, "iloc", None) is not None else rows[rows.columns[j]]
        cells = column.to_list() if callable(getattr(column, "to_list", None)) else column.to_pylist()
        # a label is written as the first cell that has it: in the frame's own type
        own: dict[int, Any] = {}
        for cell, code in zip(cells, codes, strict=True):
            if code == code:
                own.setdefault(int(code), cell)
        codes[fill.rows] = fill.best
        labels = tuple(own.get(k, label) for k, label in enumerate(fill.labels))
        new[names[j]] = (np.where(np.isnan(codes), 0.0, codes), labels)
    values = np.column_stack([part for part, _ in new.values()])
    return in_kind(rows, values, tuple(new), tuple(labels for _, labels in new.values()))


# files ----------------------------------------------------------------------------------------------------
def check_text_file(out: str) -> None:
    """Refuse the name of a file that would not be text."""
    if out.lower().endswith(OTHER):
        csv = protect_terminal(str(Path(out).with_suffix(".csv")))
        raise error("LD309", path=protect_terminal(out), csv=shell_word(csv))


def check_other_file(file: str, out: str) -> None:
    """Refuse to write over the table itself."""
    here = Path(out)
    if here.exists() and Path(file).exists() and here.samefile(file):
        other = protect_terminal(str(here.with_name(f"{here.stem}.filled{here.suffix}")))
        raise error("LD312", path=protect_terminal(out), other=shell_word(other))


class FillWriter(NamedTuple):
    """Where fills go: the table they belong to, its cells as they came, and the first file."""

    table: Table
    sheet: Sheet
    out: Path

    def write_same(self, intervals: bool, multiple: int) -> list[Path]:
        """A table without gaps: the same bytes again, unless something in it must not be written as it stands."""
        same = self.sheet.whole and harmless(self.sheet) and not self._tabs
        files = ["", *(("lower", "upper") if intervals else ()), *(str(k + 1) for k in range(multiple))]
        wrote = [self._copied(word) if same else self._put(word, self.sheet, {}) for word in files]
        return [*wrote[:3], self._put("mask", self.sheet.constant("0"), {}), *wrote[3:]] if intervals else wrote

    def write_fills(self, fills: Fills, intervals: bool, multiple: int, seed: int) -> list[Path]:
        """The filled table and what goes with it, each of the shape of the file but for the probabilities."""
        likely = self._label_texts(fills, lambda c: c.every_best)
        filled = self._texts(fills, fills.filled) | likely
        wrote = [self._put("", self.sheet, filled)]
        if intervals:
            ones = {j: dict.fromkeys(rows, "1") for j, rows in filled.items()}
            wrote += [
                self._put("lower", self.sheet, self._texts(fills, fills.lower, -1)),  # a label has no interval
                self._put("upper", self.sheet, self._texts(fills, fills.upper, 1)),
                self._put("mask", self.sheet.constant("0"), ones),
            ]
            shares = self._probabilities(fills)
            wrote += [self._put("probability", self.sheet.other_columns(shares), {})] if shares else []
        for k, values in enumerate(fills.multiple(multiple, random_state=seed) if multiple else ()):
            drawn = self._label_texts(fills, lambda c, k=k: c.drawn(seed, k).tolist())  # type: ignore[misc]
            wrote.append(self._put(str(k + 1), self.sheet, self._texts(fills, values) | drawn))
        return wrote

    # fills as texts -----------------------------------------------------------------------------------------
    def _texts(self, fills: Fills, values: Array, end: int = 0) -> Texts:
        """The gaps of numbers, and of columns that are functions of them, by these values of the table's numbers;
        `end` is -1 or 1 where they are ends of intervals."""
        new: Texts = {}
        for j, c in enumerate(self.table.numbers):
            gap = fills.is_filled[:, j]
            if gap.any() and not c.labels:
                half = (fills.upper[gap, j] - fills.lower[gap, j]) / 2
                new[c.position - 1] = self._column_texts(c, self.table.rows[gap], values[gap, j], half)
        for copy in fills.copies:
            if len(copy.rows):
                _, lower, upper = fills.of_copy(copy)
                c = next(c for c in self.table.columns if c.position == copy.position)
                own, half = (copy.at(values), upper, lower)[end], (upper - lower) / 2
                new[c.position - 1] = self._column_texts(c, self.table.rows[copy.rows], own, half)
        return new

    def _column_texts(self, c: Column, rows: NDArray[np.intp], values: Array, half: Array) -> dict[int, str]:
        """Fills as the column's own cells are written: their decimal sign, and the unit around them."""
        if c.grades:
            return dict(zip(rows.tolist(), words_of(values, c.grades).tolist(), strict=True))
        cells, unit = self.sheet.cells[c.position - 1], dict(self.table.guess.units).get(c.name, "")
        decimal = decimal_of(cells, self.table.guess.decimal, unit)
        texts = fill_texts(values, half, decimal, around_numbers(cells, unit))
        return dict(zip(rows.tolist(), texts, strict=True))

    def _label_texts(self, fills: Fills, labels: Callable[[LabelFill], list[int]]) -> Texts:
        """The labels that fill the gaps of columns of words."""
        return {
            c.position - 1: dict(zip(self._rows(c), [c.labels[k] for k in labels(c)], strict=True))
            for c in fills.labels
        }

    def _rows(self, c: LabelFill) -> list[int]:
        """The rows of the file, from 0, in which words are gaps: those of the table, then those left out of it."""
        return [*self.table.rows[c.rows].tolist(), *self.table.left_rows[c.left].tolist()]

    def _probabilities(self, fills: Fills) -> dict[str, list[str]]:
        """A column for each label of each column of words that had gaps, and for each level of each column of levels; a
        cell for each row of the file: how likely it is; 1 and 0 where it was seen."""
        columns: dict[str, list[str]] = {}
        codes, every_row = word_columns(self.table), [*self.table.rows.tolist(), *self.table.left_rows.tolist()]
        for c in fills.labels:
            coded = codes[c.position]
            seen = np.concatenate([coded.coded.values, coded.left])
            shares = np.concatenate([c.shares, c.left_shares.reshape(len(c.left), len(c.labels))])
            for k, label in enumerate(c.labels):
                texts = columns[f"{c.column}={label}"] = [""] * self.sheet.rows
                for row, code in zip(every_row, seen.tolist(), strict=True):
                    texts[row] = "" if code != code else str(int(code == k))
                for row, p in zip(self._rows(c), shares[:, k].tolist(), strict=True):
                    texts[row] = self._share(p)
        for j, number in enumerate(self.table.numbers):
            gap = fills.is_filled[:, j]
            for k, level in enumerate(number.levels if gap.any() else ()):
                own, share = iter(fills.level_shares(j)[:, k].tolist()), self.table.X[:, j] == level
                word = number.grades[k] if number.grades else f"{level:g}"
                texts = columns[f"{number.name}={word}"] = [""] * self.sheet.rows
                for row, one, filled in zip(self.table.rows.tolist(), share.tolist(), gap.tolist(), strict=True):
                    texts[row] = self._share(next(own)) if filled else str(int(one))
        return columns

    def _share(self, p: float) -> str:
        return f"{p:.4f}".replace(".", self.table.guess.decimal)

    # writing ------------------------------------------------------------------------------------------------
    @property
    def _tabs(self) -> bool:
        """Whether the file must have tabs, whatever the table has: a .tsv."""
        return self.out.suffix.lower() in (".tsv", ".tab") and self.sheet.sep != "\t"

    def _put(self, word: str, sheet: Sheet, new: Texts) -> Path:
        """Write one of the files: a sheet with these texts in its cells."""
        sheet = sheet._replace(sep="\t") if self._tabs else sheet
        with replacing(self._path(word)) as temp, open(temp, "w", encoding=sheet.encoding, newline="") as file:
            file.writelines(lines(sheet, new))
        return self._path(word)

    def _copied(self, word: str) -> Path:
        """Write one of the files as the table's own."""
        with replacing(self._path(word)) as temp:
            temp.write_bytes(Path(self.table.path).read_bytes())
        return self._path(word)

    def _path(self, word: str) -> Path:
        """The file beside the first one that holds this."""
        return self.out.with_name(f"{self.out.stem}.{word}{self.out.suffix}") if word else self.out


# what is not filled --------------------------------------------------------------------------------------
def filled_aside(table: Table) -> set[str]:
    """The columns beside the numbers that have gaps which can be filled: words, and copies of other columns."""
    words = {c.name for c in word_columns(table).values() if len(c.gaps) or (c.left != c.left).any()}
    return words | {copy.column for copy in number_copies(table) if len(copy.rows)}


def left_words(table: Table) -> list[str]:
    """What a filled file still has as gaps, or only a part of."""
    filled = filled_aside(table)
    left = (c for c in table.columns if c.gaps.any() and c.role != "number" and c.name not in filled)
    still = [f"{c.name} ({int(c.gaps.sum()):,}; {c.why_aside})" for c in left]
    said = [f"Left as they are: gaps in {listing(still, NAMED_LEFT)}."] if still else []
    rows = table.rows[np.isnan(told_by_copies(table).X).all(axis=1)]
    if len(rows):
        has, their = ("Row {} has", "its") if len(rows) == 1 else ("Rows {} have", "their")
        how = f"{their} numbers were filled from {their} category columns"
        said.append(f"{has.format(listing(rows + 1))} no measured value: {how}.")
    if len(table.left_rows):
        columns = mixed_table(table).columns
        labelled = ~np.isnan([c.left for c in columns]).all(axis=0)
        some = any(c.words and np.isnan(c.left[labelled]).any() for c in columns)
        said.append(_left_row_words(listing(table.left_rows + 1), len(table.left_rows) == 1, some))
    if table.guess.skipped:
        said.append(f"Not written again: {count(table.guess.skipped, 'line')} before the table.")
    return said


def _left_row_words(rows: str, one: bool, filled: bool) -> str:
    """What becomes of rows without any number."""
    named, its = (f"Row {rows} {NO_PLACE}", "its") if one else (f"Rows {rows} {NO_PLACES}", "their")
    how = f"{its} labels are filled from {its} other labels, or from what rows hold in general"
    return f"{named}; {how if filled else f'{its} gaps are left'}."
