"""All that has a say about a label: the latent model, regressions on the other columns, and the rows that agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lowdim.judge.mixed.label_regressions import WordRegressions, drawn_labels, label_shares
from lowdim.judge.mixed.rows_alike import RowsAlike, with_rows_alike
from lowdim.maths.linalg import Array
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis


class WordOpinions(NamedTuple):
    """What tells the labels of a table's gaps; regressions only where they have a say."""

    model: MixedFactorAnalysis
    regressions: WordRegressions | None
    alike: RowsAlike

    def shares(self, rows: Array, columns: Sequence[int]) -> dict[int, Array]:
        """The probability of each label of these columns, rows x labels."""
        return with_rows_alike(self.modelled(rows, columns), self.alike.counts(rows, columns))

    def modelled(self, rows: Array, columns: Sequence[int]) -> dict[int, Array]:
        """The same without the rows that agree."""
        told = label_shares(self.model, self.alike.sizes, columns, rows)
        return told if self.regressions is None else self.regressions.pooled(rows, told)

    def redrawn(self, V: Array, drawn: Array, columns: Sequence[int], rng: np.random.Generator) -> Array:
        """A table drawn by the model with its words drawn anew, one column after the other, each given all others."""
        if self.regressions is None and not self.alike.discrete.all():
            return drawn  # whole rows show a real number, so none has rows alike: the model is alone
        drawn = drawn.copy()
        for j in [j for j in columns if np.isnan(V[:, j]).any()]:
            gap = np.isnan(V[:, j])
            rows = drawn[gap]
            rows[:, j] = np.nan
            drawn[gap, j] = drawn_labels(self.shares(rows, [j])[j], rng)
        return drawn
