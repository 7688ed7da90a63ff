"""What tells a label: latent models, regressions on the other columns, frequencies; and the rows that agree.

A latent model of few dimensions knows what columns share; two columns that go together beyond that (questions of one
kind, a class and its price) it does not know. A logistic regression of each column of words on all others does, and is
lost where many of those are gaps. So the gaps of the other columns are what the latent model expects of them, and the
two are pooled: p of a label is proportional to p_model^(1-a) p_regression^a, with a half of the share of the other
columns that are seen: what the model expects is no evidence of its own. Of several latent models each has such a pool:
which of them goes best with the regressions is not known beforehand.

Each opinion then counts as much as `WORTH` rows beside those that agree with a row in every cell it shows: the mean of
a Dirichlet posterior whose prior is the opinion. A table of few columns and many rows (class, age, sex, survived) is so
filled by its own frequencies, whatever goes together in it; in a wide one hardly a row agrees with another. Columns of
real numbers agree with none, so a row that shows one has no rows alike.

Reference: C. Genest and J. V. Zidek (1986), "Combining probability distributions", Statistical Science 1, 114-135, for
the logarithmic pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.engines.engine import MIXED_MODEL, FittedEngine, Shares, zeros_and_ones
from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.maths.seeds import FILL_DRAWS
from lowdim.table.cell_kinds import CELL_KINDS
from lowdim.text.messages import no_warnings

REGRESSIONS, FREQUENCIES, ALIKE = "regressions", "frequencies", "rows alike"
PRIOR = 0.3  # scikit-learn's C: weights of columns in units of their spread have a prior of this variance
LEAST_POOLED = 1e-4  # that either opinion gives a label at the least
STEPS = 100  # of a regression
REGRESSION_ROWS = 1_000  # that a regression is fitted to
MOST_REGRESSION_SECONDS = 1.0  # beside one fit
WORTH = 20.0  # rows that an opinion counts as beside those that agree
COMPARED_ROWS = 5_000  # that a row is compared with: more teach little
MOST_VALUES = 100  # of a column in which rows can agree
AT_ONCE = 1_000  # rows compared in one product

Indicators = NDArray[np.float32]  # rows x values: one where a row has the value; sums of them are exact


# the opinions together ----------------------------------------------------------------------------------
class WordOpinions(NamedTuple):
    """All that has a say about the labels of a table, fitted to some of its rows."""

    latent: Mapping[str, FittedEngine]  # by the names of their engines
    regressions: WordRegressions | None  # pooled with each of the latent models
    usual: Mapping[int, Array]  # the frequencies of each column's labels
    alike: RowsAlike

    def shares(self, rows: Array, columns: Sequence[int]) -> dict[str, Shares]:
        """What each says of these columns, together with the rows that agree."""
        told = {name: one.shares(rows, columns) for name, one in self.latent.items()}
        if self.regressions is not None:
            told |= {pool_with(name): self.regressions.pooled(rows, one) for name, one in told.items()}
        told[FREQUENCIES] = {j: np.tile(self.usual[j], (len(rows), 1)) for j in columns}
        counts = self.alike.counts(rows, columns)
        return {name: with_rows_alike(one, counts) for name, one in told.items()}


def pool_with(latent: str) -> str:
    """The name of the regressions pooled with this latent model."""
    return f"{REGRESSIONS} and {latent}"


def word_opinions(
    latent: Mapping[str, FittedEngine],
    rows: Array,
    kinds: Sequence[str],
    sizes: Sequence[int],
    wanted: Sequence[int],
    regressions: bool = True,
) -> WordOpinions:
    """The opinions about the wanted columns, by latent models that were fitted to these rows."""
    regressed = None
    if regressions and latent and regression_seconds(len(rows), sizes, wanted) <= MOST_REGRESSION_SECONDS:
        first, some = next(iter(latent.values())), rows[evenly_spread(len(rows), REGRESSION_ROWS)]
        regressed = word_regressions(first, sizes, wanted, some)
    usual = {j: frequencies(rows[:, j], sizes[j]) for j in wanted}
    return WordOpinions(latent, regressed, usual, rows_alike(rows, kinds, sizes))


def frequencies(codes: Array, size: int) -> Array:
    """How often each label is, with one row more that has all of them in equal parts."""
    seen = codes[~np.isnan(codes)].astype(np.intp)
    return np.asarray((np.bincount(seen, minlength=size) + 1.0 / size) / (len(seen) + 1.0), dtype=np.float64)


def drawn_labels(shares: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """A label for each row of probabilities."""
    below = np.cumsum(shares, axis=1)[:, :-1] / shares.sum(axis=1, keepdims=True)
    return np.asarray((rng.random((len(shares), 1)) >= below).sum(axis=1))


# regressions --------------------------------------------------------------------------------------------
class WordRegressions(NamedTuple):
    """A regression of each column of words on the other columns of its table."""

    latent: FittedEngine  # that fills the gaps of the other columns
    sizes: Sequence[int]
    owner: NDArray[np.intp]  # the column that each feature belongs to
    centre: Array
    spread: Array
    fitted: dict[int, Any]  # by column, as scikit-learn has them

    def pooled(self, rows: Array, shares: Shares) -> Shares:
        """The latent model's probabilities pooled with those of the regressions, by column."""
        X = (np.column_stack(features(self.latent, self.sizes, rows, shares)) - self.centre) / self.spread
        told = dict(shares)
        for j in shares.keys() & self.fitted.keys():
            regression = self.fitted[j]
            p = np.zeros_like(shares[j])
            p[:, regression.classes_] = regression.predict_proba(X[:, self.owner != j])
            a = 0.5 * np.delete(~np.isnan(rows), j, axis=1).mean(axis=1, keepdims=True)
            product = np.maximum(shares[j], LEAST_POOLED) ** (1.0 - a) * np.maximum(p, LEAST_POOLED) ** a
            told[j] = product / product.sum(axis=1, keepdims=True)
        return told


def regression_seconds(n: int, sizes: Sequence[int], wanted: Sequence[int]) -> float:
    """Of the regressions beside one fit of a latent model, forecast."""
    features, outputs = sum(max(size - 1, 1) for size in sizes), sum(sizes[j] - 1 for j in wanted)
    return 0.02 * len(wanted) + 1e-6 * min(n, REGRESSION_ROWS) * features * outputs


def word_regressions(latent: FittedEngine, sizes: Sequence[int], wanted: Sequence[int], rows: Array) -> WordRegressions:
    """Fit the regressions of the wanted columns to these rows; one of a single label has none."""
    from sklearn.linear_model import LogisticRegression  # slow to import, and few tables need it

    each = features(latent, sizes, rows, {})
    owner = np.repeat(np.arange(len(each)), [part.shape[1] for part in each])
    X = np.column_stack(each)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    X, fitted = (X - centre) / spread, {}
    for j in wanted:
        seen = ~np.isnan(rows[:, j])
        codes = rows[seen, j].astype(np.intp)
        if len(np.unique(codes)) > 1:
            with no_warnings():  # a few steps short of the end are near enough
                fitted[j] = LogisticRegression(C=PRIOR, max_iter=STEPS).fit(X[seen][:, owner != j], codes)
    return WordRegressions(latent, sizes, owner, centre, spread, fitted)


def features(latent: FittedEngine, sizes: Sequence[int], rows: Array, shares: Shares) -> list[Array]:
    """Each column as numbers, labels as zeros and ones; gaps are what the latent model expects of them.

    `shares` are its probabilities of labels, by column, as far as they are known already.
    """
    labels = [j for j, size in enumerate(sizes) if size]
    told = {**shares, **latent.shares(rows, [j for j in labels if j not in shares])}
    numbers = latent.fills(rows)[0]
    return [
        np.where(np.isnan(rows[:, [j]]), told[j][:, :-1], zeros_and_ones(rows[:, j], size)) if size else numbers[:, [j]]
        for j, size in enumerate(sizes)
    ]


# rows that agree ----------------------------------------------------------------------------------------
class RowsAlike(NamedTuple):
    """The rows of a table as indicators of their values."""

    values: tuple[Array, ...]  # of each column, rising; empty where rows cannot agree
    ones: tuple[Indicators, ...]  # of each column
    sizes: Sequence[int]  # labels of each column; 0 where it has none

    @property
    def discrete(self) -> Mask:
        """The columns in which rows can agree."""
        return np.array([len(own) > 0 for own in self.values], dtype=bool)

    def counts(self, rows: Array, columns: Sequence[int]) -> Shares:
        """How many rows agree in all cells seen and have each label, rows x labels, where the label is a gap."""
        seen = ~np.isnan(rows)
        able = np.flatnonzero(~seen[:, ~self.discrete].any(axis=1))
        found = {j: np.zeros((len(rows), self.sizes[j])) for j in columns}
        for some in np.split(able, range(AT_ONCE, len(able), AT_ONCE)):
            agreeing = self._agreeing(rows[some], seen[some])
            for j in columns:
                gap = np.isnan(rows[some, j])
                found[j][np.ix_(some[gap], self.values[j].astype(np.intp))] = agreeing[gap] @ self.ones[j]
        return found

    def _agreeing(self, rows: Array, seen: Mask) -> Indicators:
        """One where a row of the table agrees with a row in all that this one shows."""
        same = np.concatenate([_indicators(x, own) for x, own in zip(rows.T, self.values, strict=True)], axis=1)
        agreed = same @ np.concatenate(self.ones, axis=1).T
        return np.asarray(agreed == seen.sum(axis=1, keepdims=True), dtype=np.float32)


def rows_alike(rows: Array, kinds: Sequence[str], sizes: Sequence[int]) -> RowsAlike:
    """The rows of a table of these kinds, spread over all of it where it is long."""
    rows = rows[evenly_spread(len(rows), COMPARED_ROWS)]
    values = tuple(_own_values(x, kind) for x, kind in zip(rows.T, kinds, strict=True))
    return RowsAlike(values, tuple(_indicators(x, own) for x, own in zip(rows.T, values, strict=True)), sizes)


def with_rows_alike(shares: Shares, counts: Shares) -> Shares:
    """An opinion about labels, by column, together with the rows that agree.

    >>> with_rows_alike({0: np.array([[0.5, 0.5]])}, {0: np.array([[20.0, 0.0]])})[0].tolist()
    [[0.75, 0.25]]
    """
    return {j: (counts[j] + WORTH * p) / (counts[j].sum(axis=1, keepdims=True) + WORTH) for j, p in shares.items()}


def _own_values(x: Array, kind: str) -> Array:
    found = np.unique(x[~np.isnan(x)])
    own = CELL_KINDS[kind]
    return found if (own.levelled or own.counted) and len(found) <= MOST_VALUES else np.zeros(0)


def _indicators(x: Array, values: Array) -> Indicators:
    return np.asarray(x[:, None] == values, dtype=np.float32)


# the stack of labels ------------------------------------------------------------------------------------
class WordStack(NamedTuple):
    """Opinions fitted to all rows, with the weights of each for each column."""

    opinions: WordOpinions
    weights: Mapping[int, Mapping[str, float]]

    def shares(self, rows: Array, columns: Sequence[int]) -> Shares:
        """The probability of each label of these columns, rows x labels."""
        told = self.opinions.shares(rows, columns)
        return {j: sum((w * told[name][j] for name, w in self.weights[j].items() if w), np.zeros(1)) for j in columns}

    def engine(self, j: int, rows: Array) -> str:
        """The names of what fills column j of these rows, those with the largest weights first."""
        weights: dict[str, float] = {}
        for name, w in self.weights[j].items():
            family = next((one for one in (MIXED_MODEL, REGRESSIONS) if name.startswith(one)), name)
            weights[family] = weights.get(family, 0.0) + w
        names = sorted((name for name, w in weights.items() if w), key=lambda name: -weights[name])
        alike = [ALIKE] if self.opinions.alike.counts(rows, [j])[j].any() else []
        return ", ".join([*names, *alike])

    def table_draw(self, rows: Array) -> Callable[[int, int], Array]:
        """A table drawn as a whole, kept until another one is asked for: all its columns of words come from one draw.

        The latent model draws it, then each column of words is drawn anew given all others.
        """
        latent: FittedEngine | None = next(iter(self.opinions.latent.values()), None)
        columns = [j for j in self.weights if np.isnan(rows[:, j]).any()]

        @lru_cache(maxsize=1)
        def drawn(seed: int, number: int) -> Array:
            rng = np.random.default_rng([seed, FILL_DRAWS, number])
            table = rows.copy() if latent is None else latent.drawn(rows, seed, number)
            for j in columns:
                gap = np.isnan(rows[:, j])
                others = table[gap]
                others[:, j] = np.nan
                table[gap, j] = drawn_labels(self.shares(others, [j])[j], rng)
            return table

        return drawn
