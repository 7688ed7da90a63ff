"""New rows on an old map: positions with their uncertainty, fills, and which rows are outside its experience."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.data.arrays import ArraySource
from lowdim.data.block import Array
from lowdim.data.table import Table, read
from lowdim.judge.odd import OddRows, odd_rows
from lowdim.messages import Message, error, message
from lowdim.models.linear import LinearGaussian
from lowdim.models.posterior import Posterior

RESCALED = 30.0  # a column whose middle moved by more than this many times is called rescaled


class Placed(NamedTuple):
    """New rows as an old model sees them."""

    row_names: tuple[str, ...]
    X: Array  # in the model's columns, gaps where the new table lacks one
    posterior: Posterior
    odd: OddRows
    larger: Array  # how much larger than a complete row's each row's ellipse is (geometric mean of the axes)
    messages: tuple[Message, ...]

    @property
    def sentence(self) -> str:
        """How many were placed, how many have gaps, how many are odd."""
        n = len(self.X)
        gaps = np.isnan(self.X).any(axis=1)
        text = f"{n} row{'' if n == 1 else 's'} placed."
        if gaps.any() and self.posterior.mean.shape[1]:
            few = ", ".join(f"{x:.1f}x" for x in self.larger[gaps][:3]) + (", ..." if gaps.sum() > 3 else "")
            text += f" {gaps.sum()} {'has' if gaps.sum() == 1 else 'have'} gaps: ellipses {few} larger."
        k = len(self.odd.rows)
        if k:
            first = self.odd.rows[0]
            text += (f" {k} {'is' if k == 1 else 'are'} outside the table's experience: row {first.name}, "
                     f"because {first.reason}")
        return text if k else text + " None is outside the table's experience."


def place(model: LinearGaussian, names: tuple[str, ...], new: Any, *, level: float = 0.95, **options: Any) -> Placed:
    """Place the rows of a new table (a path, frame, array or Table) on a fitted map."""
    table = new if isinstance(new, Table) else read(new, **options)
    X, notes = aligned(table, names)
    notes += rescaled(X, np.asarray(model.mean_), names)
    source = ArraySource(X, columns=names)
    found = model.posterior(source)
    whole = model.posterior(ArraySource(np.asarray(model.mean_)[None, :], columns=names))
    return Placed(table.row_names, X, found, odd_rows(model, source, level=level, row_names=table.row_names),
                  _size(found) / _size(whole), (*table.messages, *notes))


def aligned(table: Table, names: tuple[str, ...]) -> tuple[Array, tuple[Message, ...]]:
    """The new numbers in the model's columns; by position where neither table has names of its own."""
    here = {name: j for j, name in enumerate(table.names)}
    absent = [name for name in names if name not in here]
    if len(absent) == len(names):
        raise error("LD220", got=table.d, want=len(names), model="the model", missing="; no column has a known name")
    X = np.full((table.n, len(names)), np.nan)
    for k, name in enumerate(names):
        if name in here:
            X[:, k] = table.X[:, here[name]]
    notes = []
    if absent:
        notes.append(message("LD220.table", what="column " + ", ".join(absent[:5])))
    unknown = [name for name in table.names if name not in names]
    if unknown:
        notes.append(message("LD222", what=", ".join(unknown[:5])))
    return X, tuple(notes)


def rescaled(X: Array, mean: Array, names: tuple[str, ...]) -> tuple[Message, ...]:
    """Columns whose new middle is many times the old one."""
    notes = []
    for j, name in enumerate(names):
        seen = X[~np.isnan(X[:, j]), j]
        if len(seen) == 0 or mean[j] == 0.0:
            continue
        times = float(np.median(seen)) / float(mean[j])
        if abs(times) > RESCALED or 0 < abs(times) < 1.0 / RESCALED:
            notes.append(message("LD221", column=name, times=f"{times:.3g} times"))
    return tuple(notes)


def _size(found: Posterior) -> Array:
    """Geometric mean of the half axes of each row's ellipse."""
    q = found.mean.shape[1]
    if q == 0:
        return np.ones(len(found.mean))
    return np.asarray(np.exp(0.5 * np.linalg.slogdet(found.cov)[1] / q))
