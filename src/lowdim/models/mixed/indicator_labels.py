"""Which labels mark clusters of the real columns, and are better taken as indicators with Gaussian noise.

A label whose odds are logistic in z only truncates a Gaussian z, so that it cannot pin the middle of a group; an
indicator can. Which of the two holds is asked of hidden cells: of some rows a part of the cells is hidden, both models
are fitted to the rest, and the log densities and probabilities that they give to the hidden cells, of all columns, are
compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from lowdim.maths.linalg import Array, Mask
from lowdim.models.mixed.column_kinds import LEVELLED, MixedColumns
from lowdim.sources.labelled_frames import CodedColumn, CodedSource, labels_of
from lowdim.sources.source import Source
from lowdim.text.quiet import no_warnings

LEAST_BETWEEN = 0.4  # of the real columns' variance, on average, that lies between the labels: fewer mark no clusters
TRIED_ROWS, LEAST_ROWS = 1000, 60  # spread over the table
HIDDEN = 0.2  # of the seen cells
TRIAL_TOL, TRIAL_PASSES = 1e-3, 100
LEAST_SHARE = 0.01  # of a label that did not occur among the seen cells
ERRORS = 2.0  # standard errors by which indicators must predict better


def marked_kinds(model: Any, source: Source, columns: MixedColumns, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of the columns with labels that mark clusters as markers, where their kind was not asked for."""
    free = [j for j, kind in enumerate(columns.kinds) if kind == "label" and asked[j] == "auto"]
    real = [j for j, kind in enumerate(columns.kinds) if kind == "real"]
    if not free or not real or source.n < LEAST_ROWS or not model.n_components:
        return columns.kinds
    block = source.sample(TRIED_ROWS)
    x = block.x if block.mask is None else np.where(block.mask, block.x, np.nan)
    found = [j for j in free if _between(x[:, j], x[:, real]) >= LEAST_BETWEEN]
    if not found:
        return columns.kinds
    marked = tuple("marker" if j in found else kind for j, kind in enumerate(columns.kinds))
    gain = _hiding(source, x, block.weight).gain(model, columns.kinds, marked)
    return marked if gain.sum() > ERRORS * np.sqrt((gain**2).sum()) else columns.kinds


def _between(labels: Array, X: Array) -> float:
    """The share of the columns' variance between the labels, on average."""
    shares = []
    for x in X.T:
        both = ~np.isnan(labels) & ~np.isnan(x)
        _, at = np.unique(labels[both], return_inverse=True)
        many, own = np.bincount(at), x[both] - (x[both].mean() if both.any() else 0.0)
        whole = float(own @ own)
        between = float((np.bincount(at, own) ** 2 / np.maximum(many, 1)).sum())
        shares.append(between / whole if whole > 0 and len(many) > 1 else 0.0)
    return float(np.mean(shares))


class _Hiding(NamedTuple):
    """Some rows of a table, and which of their cells are hidden."""

    x: Array
    hidden: Mask
    source: CodedSource  # without these

    def gain(self, model: Any, kinds: tuple[str, ...], others: tuple[str, ...]) -> Array:
        """How many nats more the hidden cells of each row get with the other kinds."""
        one, two = (self._losses(model, own) for own in (kinds, others))
        return np.asarray((one - two).sum(axis=1))

    def _losses(self, model: Any, kinds: tuple[str, ...]) -> Array:
        """-log density or probability of each hidden cell of real and levelled columns, 0 of others."""
        trial = clone(model).set_params(
            likelihoods=kinds, ard=False, rotation=None, tol=TRIAL_TOL, max_iter=TRIAL_PASSES
        )
        with no_warnings():
            fitted = trial.fit(self.source)
            cells, shares = fitted.expected_cells(self.source), fitted.probabilities(self.source)
        columns, out = fitted.params_.columns, np.zeros(self.x.shape)
        for j, (name, kind) in enumerate(zip(columns.names, columns.kinds, strict=True)):
            rows = np.flatnonzero(self.hidden[:, j])
            truth = self.x[rows, j]
            if kind == "real":
                var = cells.var[rows, j] + cells.noise[rows, j]
                out[rows, j] = 0.5 * ((truth - cells.mean[rows, j]) ** 2 / var + np.log(var))
            elif kind in LEVELLED:
                own = (shares[name][rows] * (columns.levels[j] == truth[:, None])).sum(axis=1)
                out[rows, j] = -np.log(np.maximum(own, LEAST_SHARE))
        return out


def _hiding(source: Source, x: Array, weight: Array | None) -> _Hiding:
    hidden = (np.random.default_rng(0).random(x.shape) < HIDDEN) & ~np.isnan(x)
    seen, (labels, ordered) = np.where(hidden, np.nan, x), labels_of(source)
    rest = CodedSource([CodedColumn(*own) for own in zip(seen.T, labels, ordered, strict=True)], source.columns)
    rest.weight = weight
    return _Hiding(x, hidden, rest)
