"""Methods side by side on one table: the same hidden cells, the same dimensions, and the spread beside every figure.

The protocol: every method gets the same cleaned table and, five times or more, the same tenth of its cells hidden and
a seed of its own. What it says of the hidden cells, and where it puts the rows, is judged; nothing is tuned for any of
them. PCA and a random projection are always there. No figure is called best unless it beats the next by more than
twice the spread of their difference over the repeats, and there is no total score.
"""
from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.data.arrays import ArraySource
from lowdim.data.block import Array
from lowdim.data.table import Table, read
from lowdim.engine.fold import one_blas_thread
from lowdim.judge.budget import counts, seconds
from lowdim.judge.dimensions import choose_dimension
from lowdim.judge.heldout import deal
from lowdim.judge.neighbours import NEAR, distances, kept, order, rank_agreement
from lowdim.messages import LowdimError, LowdimWarning, error, warn
from lowdim.methods import ALWAYS, METHODS, Method, available
from lowdim.models.base import seed_of

PARTS = 10  # a repeat hides one cell in ten
SEEDS = (5, 20)  # repeats: the fewest that show a spread, and the most that anyone waits for
ROWS = 5_000  # rows that are fitted; longer tables are sampled, evenly spread
JUDGED = 1_000  # rows whose distances are compared, all pairs of them
RANKED = 400  # of these, rows whose distances are ranked: sorting 80,000 says the same as 500,000
WATCHED = 1  # the repeat whose memory is watched, which takes time; the first one imports what it needs
USUAL = ("pca", "ppca", "fa", "random")


class Figure(NamedTuple):
    """What is measured: its heading, how many digits are shown, whether more is better."""

    key: str
    heading: str
    digits: int
    more: bool


FIGURES = (Figure("density", "log density", 3, True), Figure("rmse", "error", 3, False),
           Figure("neighbours", "neighbours", 2, True), Figure("area", "area", 2, True),
           Figure("ranks", "distances", 2, True), Figure("stability", "stability", 2, True))


class Measure(NamedTuple):
    """A figure of one method: a value for each repeat, or why there is none."""

    values: tuple[float, ...] = ()
    why: str = ""
    best: bool = False

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def spread(self) -> float | None:
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None


class Compared(NamedTuple):
    """One method's row."""

    method: str
    title: str
    measures: dict[str, Measure]
    gaps: str  # "yes", or why not
    new_rows: str
    decoder: str
    uncertainty: str
    seconds: float | None
    memory: int | None  # bytes at the peak of a fit, what Python and NumPy asked for
    note: str = ""


class Comparison(NamedTuple):
    """Methods compared on one table."""

    name: str
    rows: tuple[Compared, ...]
    dims: int
    clusters: int
    seeds: int
    hidden: int  # cells hidden in all repeats together
    fitted: int
    judged: int
    gaps: int
    agreement: dict[str, float]  # "a b": share of the nearest rows that two maps have in common
    sentences: tuple[str, ...]

    def text(self, width: int = 80) -> str:
        """The table and its sentences in plain characters; a star marks a figure that is clearly the best."""
        from lowdim.judge.compare_text import text

        return text(self, width)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from lowdim.judge.compare_text import html

        return html(self)


def compare(table: Any, methods: str | Iterable[str] = USUAL, *, dims: int | str = "auto", clusters: int = 3,
            seeds: int | None = None, scale: str | None = None, random_state: Any = 0,
            budget: float | str | None = None, tell: Callable[[str, str], object] | None = None) -> Comparison:
    """Compare methods on a table, a path, a frame or an array; names are those of `lowdim.methods.METHODS`.

    Columns of the result: hidden cells, log density a cell (density models; nats, columns of unit variance) and root
    mean squared error in standard deviations; neighbours, the share of each row's 10 nearest that stay so on the
    map, and the area under that curve (0 = chance, 1 = all); distances, Spearman's correlation of all distances;
    stability, the share of the 10 nearest that stay when other cells are hidden and another seed is drawn. Distances
    on a map are those of the decoded positions, so that the length of an axis is what it moves in the table (ICA: of
    the sources themselves, which are what it is for); those of rows with gaps are over the cells both have.

    >>> from lowdim.datasets import load_demo
    >>> found = compare(load_demo("gaussian").X, "ppca", dims=3)
    >>> [row.method for row in found.rows]
    ['pca', 'ppca', 'random']
    """
    chosen = names_of(methods)
    table = table if isinstance(table, Table) else read(table)
    seed, often = seed_of(random_state), repeats(seeds, budget, table)
    if table.weight is not None:
        warn("LD231")
    X = ready(table, scale or table.scale)
    q = dimensions(X, dims, seed, budget, (scale or table.scale) == "unit")
    bench = Bench(X, q, int(clusters), seed, often)
    tried = []
    with one_blas_thread():
        for name in chosen:
            tried.append(bench.try_method(METHODS[name]))
            if tell is not None and tell(name, METHODS[name].title):
                raise KeyboardInterrupt
    rows = mark_best([t.row for t in tried])
    agreement = {f"{a.row.method} {b.row.method}": common(a, b) for i, a in enumerate(tried) for b in tried[i + 1:]
                 if a.near and b.near}
    from lowdim.judge.compare_text import sentences

    found = Comparison(table.name, rows, q, int(clusters), often, bench.hidden, len(bench.X), len(bench.at),
                       int(np.isnan(X).sum()), agreement, ())
    return found._replace(sentences=sentences(found))


def names_of(methods: str | Iterable[str]) -> list[str]:
    """The methods asked for, in their order, PCA first and the random projection last."""
    given = methods.split(",") if isinstance(methods, str) else list(methods)
    asked = [str(name).strip().lower() for name in given if str(name).strip()]
    for name in asked:
        if name not in METHODS or not METHODS[name].here:
            raise error("LD290", name=name, known=", ".join(available()))
    rest = [name for name in dict.fromkeys(asked) if name not in ALWAYS]
    return [ALWAYS[0], *rest, ALWAYS[1]]


def repeats(seeds: int | None, budget: float | str | None, table: Table) -> int:
    """How often cells are hidden: as asked, by the budget and the table's size, or five times."""
    if seeds is not None:
        if isinstance(seeds, bool) or not isinstance(seeds, int | np.integer) or seeds < SEEDS[0]:
            raise error("LD210", option="seeds", value=seeds, allowed=f"a whole number >= {SEEDS[0]}")
        return int(seeds)
    if budget is None:
        return SEEDS[0]
    return int(np.clip(counts(seconds(budget), table.n, table.d).refits // 10, *SEEDS))


def ready(table: Table, scale: str) -> Array:
    """The numbers that every method gets: a sample of a long table, columns of unit variance unless told otherwise."""
    X = table.X
    if len(X) > ROWS:
        warn("LD291", rows=ROWS, n=len(X))
        X = X[(np.arange(ROWS) * len(X)) // ROWS]
    mean = np.nanmean(X, axis=0)
    sd = np.nanstd(X, axis=0, ddof=1) if scale == "unit" else np.ones(X.shape[1])
    sd = np.where(sd > 0.0, sd, 1.0)
    return np.asarray((X - mean) / sd)


def dimensions(X: Array, dims: int | str, seed: int, budget: float | str | None, unit: bool) -> int:
    """The number of dimensions of every method: as asked, or the jury's."""
    most = min(X.shape[1] - 1, len(X) - 2)
    if dims == "auto":
        often = counts(seconds(budget), *X.shape)
        jury = choose_dimension(ArraySource(X, columns=None), standardize=unit, random_state=seed, folds=often.folds,
                                shuffles=often.shuffles)
        if jury.q == 0:
            warn("LD292")
        return int(np.clip(jury.q, 1, max(most, 1)))
    if isinstance(dims, bool) or not isinstance(dims, int | np.integer) or not 1 <= dims <= max(most, 1):
        raise error("LD210", option="dims", value=dims, allowed=f"'auto' or a whole number from 1 to {max(most, 1)}")
    return int(dims)


class Tried(NamedTuple):
    """A method's row and, for each repeat, the nearest rows of every judged one."""

    row: Compared
    near: tuple[NDArray[np.intp], ...]


class Bench:
    """One table with its hidden cells; every method meets the same ones."""

    def __init__(self, X: Array, q: int, clusters: int, seed: int, often: int) -> None:
        self.X, self.q, self.clusters, self.seed, self.often = X, q, clusters, seed, often
        seen = ~np.isnan(X)
        self.masks = [deal(seen, seed + s // PARTS, PARTS) == s % PARTS for s in range(often)]
        self.hidden = int(sum(mask.sum() for mask in self.masks))
        if min(mask.sum() for mask in self.masks) == 0:
            raise error("LD293", n=len(X), d=X.shape[1])
        count = min(JUDGED, len(X))
        self.at = (np.arange(count) * len(X)) // count
        self.D = distances(X[self.at])
        self.order = order(self.D)
        few = np.arange(0, count, -(-count // RANKED))
        self.some = np.ix_(few, few)

    def try_method(self, method: Method) -> Tried:
        """Everything that is measured of one method; one that fails says why."""
        found: dict[str, list[float]] = {figure.key: [] for figure in FIGURES}
        near: list[NDArray[np.intp]] = []
        spent: list[float] = []
        peak: int | None = None
        late = 0
        try:
            for s in range(self.often):
                model, took, bytes_ = self._fitted(method, s)
                late += not getattr(model, "converged_", True)
                peak = bytes_ if s == WATCHED else peak
                spent += [took] if s > WATCHED else []
                self._judge(method, model, s, found, near)
        except LowdimError as problem:
            why = f"failed: {problem.code}"
            row = Compared(method.name, method.title, {f.key: Measure(why=why) for f in FIGURES}, *abilities(method),
                           None, None, str(problem).split("\n")[0])
            return Tried(row, ())
        found["stability"] = steadiness(near)
        measures = {key: Measure(tuple(values)) if values else Measure(why=missing(method, key))
                    for key, values in found.items()}
        note = f"{method.name} had not converged in {late} of {self.often} fits" if late else ""
        return Tried(Compared(method.name, method.title, measures, *abilities(method), float(np.median(spent)), peak,
                              note), tuple(near))

    def _fitted(self, method: Method, s: int) -> tuple[Any, float, int | None]:
        """A fit to the table without the hidden cells: the model, its seconds and, once, its peak."""
        G = np.where(self.masks[s], np.nan, self.X)
        G = np.where(np.isnan(G), 0.0, G) if method.no_gaps else G  # columns have mean zero
        model = method.make(self.q, self.clusters, self.seed + s)
        measure = s == WATCHED and not tracemalloc.is_tracing()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if measure:
                tracemalloc.start()
            begin = time.perf_counter()
            try:
                model.fit(G)
                took, peak = time.perf_counter() - begin, tracemalloc.get_traced_memory()[1] if measure else None
            finally:
                if measure:
                    tracemalloc.stop()
        return model, took, peak

    def _judge(self, method: Method, model: Any, s: int, found: dict[str, list[float]],
               near: list[NDArray[np.intp]]) -> None:
        hidden = self.masks[s]
        G = np.where(hidden, np.nan, self.X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)
            if not method.no_gaps:
                off = (np.asarray(model.impute(G)) - self.X)[hidden]
                found["rmse"].append(float(np.sqrt(np.mean(off**2))))
                if not method.no_density:  # log p(hidden | seen) = log p(both) - log p(seen): exact for any density
                    gain = np.sum(model.score_samples(self.X)) - np.sum(model.score_samples(G))
                    found["density"].append(float(gain) / int(hidden.sum()))
            if method.no_map:
                return
            judged = self.X[self.at]
            judged = np.where(np.isnan(judged), 0.0, judged) if method.no_gaps else judged
            place = model.transform(judged) if method.axes or method.no_decoder else model.reconstruct(judged)
        E = distances(np.asarray(place))
        other = order(E)
        same = kept(self.order, other)
        found["neighbours"].append(same.at(NEAR))
        found["area"].append(same.area)
        found["ranks"].append(rank_agreement(self.D[self.some], E[self.some]))
        near.append(other[:, :NEAR])


def abilities(method: Method) -> tuple[str, str, str, str]:
    """What a method can do: yes, or why not."""
    lacks = (method.no_gaps, method.no_new_rows, method.no_decoder, method.no_uncertainty)
    return tuple("no" if word else "yes" for word in lacks)  # type: ignore[return-value]


def missing(method: Method, key: str) -> str:
    """Why a method has no such figure."""
    if key in ("density", "rmse"):
        return method.no_gaps or method.no_density or "not measured"
    return method.no_map or "not measured"


def overlap(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    """The mean share of each row's nearest rows that two maps have in common."""
    return float((a[:, :, None] == b[:, None, :]).any(axis=2).mean()) if a.size else 1.0


def steadiness(near: list[NDArray[np.intp]]) -> list[float]:
    """For each repeat, what its map has in common with those of the others."""
    if len(near) < 2:
        return []
    shared = np.array([[overlap(a, b) for b in near] for a in near])
    return [float((row.sum() - row[i]) / (len(row) - 1)) for i, row in enumerate(shared)]


def common(a: Tried, b: Tried) -> float:
    """What the maps of two methods have in common, repeat by repeat."""
    return float(np.mean([overlap(x, y) for x, y in zip(a.near, b.near, strict=True)]))


def clearly(a: Measure, b: Measure, figure: Figure) -> bool:
    """Whether one beats the other by more than twice the spread of their difference, and visibly."""
    diff = (np.array(a.values) - np.array(b.values)) * (1.0 if figure.more else -1.0)
    gap = float(diff.mean())
    return bool(gap > 2.0 * diff.std(ddof=1) and gap >= 10.0**-figure.digits)


def ranking(rows: Iterable[Compared], figure: Figure) -> list[Compared]:
    """The methods that have a figure, the best mean first."""
    some = [row for row in rows if row.measures[figure.key].values]
    sign = -1.0 if figure.more else 1.0
    return sorted(some, key=lambda row: sign * float(row.measures[figure.key].mean or 0.0))


def mark_best(rows: list[Compared]) -> tuple[Compared, ...]:
    """The rows with each figure that is clearly the best marked so."""
    for figure in FIGURES:
        ranked = ranking(rows, figure)
        if len(ranked) > 1 and clearly(ranked[0].measures[figure.key], ranked[1].measures[figure.key], figure):
            best = ranked[0]
            best.measures[figure.key] = best.measures[figure.key]._replace(best=True)
    return tuple(rows)
