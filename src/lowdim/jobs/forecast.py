"""What fitting a file will cost, before anything runs: passes, bytes, seconds and memory."""

from __future__ import annotations

import time
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fit import plan
from lowdim.engine.fold import Run, fold, walk
from lowdim.engine.statistics import moments
from lowdim.jobs.stream import ASSUMED_DIMS
from lowdim.judge.read_table import source_of
from lowdim.maths.gaussian import Sums, posterior, sums
from lowdim.maths.linalg import Array
from lowdim.maths.seeds import FORECAST_LOADINGS
from lowdim.models.base.options import WHOLE, check_components
from lowdim.models.linear.factor_analysis import FactorAnalysis
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.pca import PCA
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Source, cores
from lowdim.sources.views import FRAME_ROWS, Framed, frame_of
from lowdim.storage.memory import free_memory
from lowdim.table.table import Table
from lowdim.text.errors import BudgetError
from lowdim.text.format import count, duration, size
from lowdim.text.messages import error

LINEAR_MODELS: dict[str, type[LinearGaussian]] = {"ppca": ProbabilisticPCA, "pca": PCA, "fa": FactorAnalysis}
COMPLETE_PASSES = 2  # passes over a table without gaps: the look, and one more where columns are far from zero


class Forecast(NamedTuple):
    """What a fit to a file will take; seconds are measured on its first blocks and scaled."""

    file: str
    kind: str
    rows: int
    columns: int
    stored: int  # bytes of the file
    method: str
    dims: int
    gaps: float  # share of the cells looked at
    looked: int  # rows looked at
    passes: int  # likely
    most: int
    read: float  # seconds a pass to read and turn into numbers
    work: float  # seconds a pass, reading and working
    peak: int
    allowed: int | None
    alternative: str

    @property
    def fits(self) -> bool:
        """Whether it stays within memory."""
        return self.allowed is None or self.peak <= self.allowed

    @property
    def seconds(self) -> float:
        """About how long in all."""
        return self.passes * max(self.read, self.work)

    def text(self) -> str:
        """The page that `lowdim plan` prints."""
        gaps = (f"{100 * self.gaps:.2g}% of the cells are gaps" if self.gaps else "no gaps") + (
            f" in the first {self.looked:,} rows" if self.looked < self.rows else ""
        )
        passes = count(self.passes, "pass", "passes") + (f", at most {self.most:,}" if self.most > self.passes else "")
        once = "" if self.gaps else " (a table without gaps needs no more)"
        allowed = "" if self.allowed is None else f"; {size(self.allowed)} may be used"
        verdict = "It fits." if self.fits else f"It does not fit: {self.alternative}."
        return "\n".join(
            [
                f"{self.file}: {self.kind}, {self.rows:,} rows x {self.columns:,} columns of numbers, "
                f"{size(self.stored)}; {gaps}.",
                f"  {LINEAR_MODELS[self.method].__name__} with {count(self.dims, 'dimension')}",
                f"  passes   {passes}{once}",
                f"  bytes    {size(self.stored)} of the file a pass, {size(self.stored * self.passes)} in all",
                f"  seconds  about {duration(max(self.read, self.work))} a pass ({duration(self.read)} of it reading), "
                f"about {duration(self.seconds)} in all",
                f"  memory   about {size(self.peak)} at its peak{allowed}",
                verdict,
            ]
        )


def forecast(table: Any, *, method: str = "ppca", dims: int | None = None, memory: int | None = None) -> Forecast:
    """What a fit to a table will take, before anything runs: what `lowdim plan` prints.

    Parameters
    ----------
    table : path, array, data frame, Table or Source
        Its first blocks are read and timed.
    method : {"ppca", "pca", "fa"}, default "ppca"
        The model.
    dims : int, optional
        Its dimensions; 10 where it is not given.
    memory : int, optional
        Bytes that may be used; what is free where it is not given.

    Returns
    -------
    Forecast
        Passes, bytes, seconds and memory; `.text()` says it in words.

    Examples
    --------
    >>> cost = forecast(np.random.default_rng(0).standard_normal((1000, 5)), dims=2)
    >>> cost.rows, cost.columns, cost.passes, cost.fits
    (1000, 5, 2, True)
    """
    if method not in LINEAR_MODELS:
        raise error("LD210", option="method", value=method, allowed=", ".join(LINEAR_MODELS))
    source = source_of(table) if isinstance(table, Table) else as_source(table)
    if source.n < 2:
        raise error("LD160", n=source.n, least=2)
    q = min(ASSUMED_DIMS, max(source.d - 1, 0)) if dims is None else dims
    if not WHOLE.holds(q):
        raise error("LD210", option="dims", value=dims, allowed=WHOLE.words)
    check_components(q, source.d)
    model, run = LINEAR_MODELS[method](q), Run(memory=memory)
    cost, head = model.cost(source.n, source.d), first(source)
    gaps, read = _gaps(head, run)
    work = _work(head, model, q, gaps > 0.0, run)
    likely, most = cost.likely, cost.passes
    if gaps == 0.0 and not model.avoids_covariance(source.n, source.d):
        likely, most = COMPLETE_PASSES, COMPLETE_PASSES if head.n == source.n else most
    scale = source.n / head.n
    return Forecast(
        *_described(table, source),
        method,
        q,
        gaps,
        head.n,
        likely,
        max(most, likely),
        read * scale,
        work * scale,
        cost.peak + source.leaf.overhead,
        memory if memory is not None else free_memory(),
        _otherwise(model, source, run, cost.alternative),
    )


def _described(table: Any, source: Source) -> tuple[str, str, int, int, int]:
    """Name, kind, rows, columns and bytes of a table."""
    kind = str(getattr(source.leaf, "kind", ""))
    if isinstance(table, str | PathLike):
        return Path(table).name, kind or "sparse matrix", source.n, source.d, stored(table)
    name = table.name if isinstance(table, Table) else "the table"
    return name, kind or "in memory", source.n, source.d, 8 * source.n * source.d


def first(source: Source) -> Source:
    """The first few blocks of a source, enough to keep every core at work."""
    rows = min(source.n, 2 * cores() * source.tile * source.block_tiles)
    return source.first_rows(rows)


def _nothing(block: Block) -> tuple[int, int]:
    return (0 if block.mask is None else int((~block.mask).sum())), block.x.size


def _gaps(head: Source, run: Run) -> tuple[float, float]:
    """The share of gaps, and the seconds that reading takes."""
    head.block(0)  # what opens the file and loads libraries is paid once
    begun = time.perf_counter()
    counts = np.sum([part for _, part in walk(_nothing, head, run)], axis=0)
    return float(counts[0] / max(counts[1], 1)), time.perf_counter() - begun


def _work(head: Source, model: LinearGaussian, q: int, gaps: bool, run: Run) -> float:
    """The seconds of one pass of the kind that a table with or without gaps needs."""
    d = head.d
    framed = Framed(head, frame_of(head.sample(FRAME_ROWS), True))
    W = np.random.default_rng([0, FORECAST_LOADINGS]).standard_normal((d, q)) / np.sqrt(max(q, 1))
    begun = time.perf_counter()
    if gaps or d > 5000:
        fold(partial(_e_step, W), framed, run)
    else:
        fold(moments, framed, run)
    return time.perf_counter() - begun


def _e_step(W: Array, block: Block) -> Sums:
    """The work of EM on a block, for any loadings."""
    mu, psi = np.zeros(len(W)), np.ones(len(W))
    return sums(block.mask, block.weight, posterior(block.x, block.mask, W, mu, psi), W, psi)


def stored(file: str | PathLike[str]) -> int:
    """Bytes of the file or files."""
    place = Path(file)
    if place.is_dir():
        return sum(part.stat().st_size for part in place.rglob("*") if part.is_file())
    return place.stat().st_size


def _otherwise(model: LinearGaussian, source: Source, run: Run, words: str) -> str:
    """What could be done instead: smaller blocks, which a stream takes by itself, or what the model says."""
    try:
        plan("plan", model.cost(source.n, source.d), run, source.single_tile_blocks().leaf)
    except BudgetError:
        return words
    return "read in smaller blocks, as --stream does by itself, it fits"
