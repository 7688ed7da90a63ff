"""Labels by regressions on the other columns of their row, pooled with what the latent model says of them.

A latent model of few dimensions knows what columns share; two columns that go together beyond that (questions of one
kind, a class and its price) it does not know. A logistic regression of each column of words on all others does, and is
lost where many of those are gaps. So the gaps of the other columns are what the latent model expects of them, and the
two opinions are pooled: p of a label is proportional to p_model^(1-a) p_regression^a, with a half of the share of the
other columns that are seen: what the model expects is no evidence of its own. Whether that is better than the model
alone is seen on hidden cells.

Reference: C. Genest and J. V. Zidek (1986), "Combining probability distributions", Statistical Science 1, 114-135, for
the logarithmic pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.text.quiet import no_warnings

PRIOR = 0.3  # scikit-learn's C: weights of columns in units of their spread have a prior of this variance
LEAST_POOLED = 1e-4  # that either opinion gives a label at the least
STEPS = 100  # of a regression


class WordRegressions(NamedTuple):
    """A regression of each column of words on the other columns of its table."""

    model: MixedFactorAnalysis  # that fills the gaps of the other columns
    kinds: Sequence[str]
    sizes: Sequence[int]
    owner: NDArray[np.intp]  # the column that each feature belongs to
    centre: Array
    spread: Array
    fitted: dict[int, Any]  # by column, as scikit-learn has them

    def pooled(self, rows: Array, shares: Mapping[int, Array]) -> dict[int, Array]:
        """These probabilities of the model pooled with those of the regressions, by column."""
        each = features(self.model, self.kinds, self.sizes, rows, shares)
        X = (np.column_stack(each) - self.centre) / self.spread
        told = dict(shares)
        for j in shares.keys() & self.fitted.keys():
            regression = self.fitted[j]
            p = np.zeros_like(shares[j])
            p[:, regression.classes_] = regression.predict_proba(X[:, self.owner != j])
            a = 0.5 * np.delete(~np.isnan(rows), j, axis=1).mean(axis=1, keepdims=True)
            product = np.maximum(shares[j], LEAST_POOLED) ** (1.0 - a) * np.maximum(p, LEAST_POOLED) ** a
            told[j] = product / product.sum(axis=1, keepdims=True)
        return told


def word_regressions(
    model: MixedFactorAnalysis, kinds: Sequence[str], sizes: Sequence[int], wanted: Iterable[int], V: Array
) -> WordRegressions:
    """Fit the regressions of the wanted columns to these rows; one of a single label has none."""
    from sklearn.linear_model import LogisticRegression

    each = features(model, kinds, sizes, V, {})
    owner = np.repeat(np.arange(len(each)), [part.shape[1] for part in each])
    X = np.column_stack(each)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    X, fitted = (X - centre) / spread, {}
    for j in wanted:
        seen = ~np.isnan(V[:, j])
        codes = V[seen, j].astype(np.intp)
        if len(np.unique(codes)) > 1:
            with no_warnings():  # a few steps short of the end are near enough
                fitted[j] = LogisticRegression(C=PRIOR, max_iter=STEPS).fit(X[seen][:, owner != j], codes)
    return WordRegressions(model, kinds, sizes, owner, centre, spread, fitted)


def features(
    model: MixedFactorAnalysis, kinds: Sequence[str], sizes: Sequence[int], rows: Array, shares: Mapping[int, Array]
) -> list[Array]:
    """Each column as numbers, labels as zeros and ones; gaps are what the model expects of them.

    `shares` are the model's probabilities of labels, by column, as far as they are known already.
    """
    with no_warnings():
        mean = model.expected_cells(rows).mean
    labels = [j for j, kind in enumerate(kinds) if kind == "label"]
    missing = label_shares(model, sizes, [j for j in labels if j not in shares], rows)
    told = {j: shares[j] if j in shares else missing[j] for j in labels}
    parts = []
    for j, column in enumerate(rows.T):
        gap = np.isnan(column)[:, None]
        if j in told:
            parts.append(np.where(gap, told[j], column[:, None] == np.arange(sizes[j]))[:, :-1])
        else:
            parts.append(np.where(gap, mean[:, [j]], column[:, None]))
    return parts


def drawn_labels(shares: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """A label for each row of probabilities."""
    below = np.cumsum(shares, axis=1)[:, :-1] / shares.sum(axis=1, keepdims=True)
    return np.asarray((rng.random((len(shares), 1)) >= below).sum(axis=1))


def label_shares(
    model: MixedFactorAnalysis, sizes: Sequence[int], columns: Iterable[int], rows: Array
) -> dict[int, Array]:
    """The probability of each label of these columns, by their numbers; one that no fitted row had has none."""
    names = {f"c{j + 1}": j for j in columns}
    with no_warnings():
        told = model.probabilities(rows, columns=names) if names else {}
    found = {}
    for name, j in names.items():
        found[j] = np.zeros((len(rows), sizes[j]))
        found[j][:, [int(level) for level in model.levels_[j]]] = told[name]
    return found
