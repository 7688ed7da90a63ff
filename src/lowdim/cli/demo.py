"""The demo: probabilistic PCA on a table with gaps, in the terminal."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lowdim.datasets import DemoTable, load_demo
from lowdim.models.linear import ProbabilisticPCA

NINETY = 1.6449  # standard deviations either side that hold 90 % of a Gaussian
MOST = 8  # dimensions tried
SHOWN = 8  # fills printed


def show(name: str, seed: int) -> str:
    """The whole demo as text."""
    table = load_demo(name, random_state=seed)
    model = choose(table)
    return "\n".join([*_opening(table), "", *_model(model), "", *_fills(table, model)])


def choose(table: DemoTable) -> ProbabilisticPCA:
    """The number of dimensions with the lowest BIC on all rows, gaps included."""
    n, d = table.X.shape
    fits = [ProbabilisticPCA(q, standardize=True).fit(table.X) for q in range(min(MOST, d - 1) + 1)]
    return min(fits, key=lambda m: -2 * m.objective_ + np.log(n) * free_parameters(d, m.n_components_))


def free_parameters(d: int, q: int) -> int:
    """Free numbers of probabilistic PCA: loadings up to rotation, noise, means."""
    return d * q - q * (q - 1) // 2 + 1 + d


def _opening(table: DemoTable) -> Iterator[str]:
    n, d = table.X.shape
    gaps = np.isnan(table.X)
    whole = int((~gaps.any(axis=1)).sum())
    yield f"{table.name}: {table.about}"
    yield (f"  {n} rows x {d} columns, {gaps.sum()} of {n * d} cells hidden on purpose "
           f"({100 * gaps.mean():.0f}%); {whole} rows are complete")


def _model(model: ProbabilisticPCA) -> Iterator[str]:
    q = model.n_components_
    shared = 100 * (1 - len(model.mean_) * model.noise_variance_ / np.trace(model.get_covariance()))
    yield f"Model: probabilistic PCA on standardised columns, {q} dimensions (lowest BIC of 0 to {MOST})"
    yield f"  {shared:.0f}% of the variation is shared structure, {100 - shared:.0f}% column-by-column noise"
    yield model.certificate_.text()


def _fills(table: DemoTable, model: ProbabilisticPCA) -> Iterator[str]:
    filled, sd = model.impute(table.X, return_std=True)
    rows, columns = np.nonzero(np.isnan(table.X))
    width = max(6, *(len(name) for name in table.columns))
    yield "First fills, with 90% intervals (rows count from 1):"
    yield f"  row  {'column':<{width}}      fill   90% interval          truth"
    for i, j in list(zip(rows, columns, strict=True))[:SHOWN]:
        low, high = filled[i, j] - NINETY * sd[i, j], filled[i, j] + NINETY * sd[i, j]
        yield (f"  {i + 1:>3}  {table.columns[j]:<{width}}  {filled[i, j]:>8.4g}   {low:>8.4g} .. {high:<8.4g}"
               f"  {table.truth[i, j]:>8.4g}")
    held = np.abs(filled - table.truth)[rows, columns] <= NINETY * sd[rows, columns]
    mean = np.nanmean(table.X, axis=0)[columns]
    truth = table.truth[rows, columns]
    unit = np.nanstd(table.X, axis=0)[columns]
    better = 1 - np.mean(((filled[rows, columns] - truth) / unit) ** 2) / np.mean(((mean - truth) / unit) ** 2)
    yield f"The intervals hold {held.sum()} of {len(held)} hidden cells ({100 * held.mean():.0f}%; they claim 90%)."
    yield f"The fills remove {100 * better:.0f}% of the squared error that column means would leave."
