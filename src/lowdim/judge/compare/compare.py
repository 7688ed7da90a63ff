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
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import one_blas_thread
from lowdim.judge.budget import counts
from lowdim.judge.compare.map_quality import (
    NEAR,
    distances,
    floors,
    kept,
    order,
    rank_agreement,
    shares_true,
    typical,
)
from lowdim.judge.compare.own_units import InOwnUnits, OwnUnits
from lowdim.judge.compare.read_map import read_map
from lowdim.judge.dimensions.jury import choose_dimension
from lowdim.judge.hidden_cells import HIDDEN_PARTS, deal
from lowdim.judge.read_table import read
from lowdim.maths.factor import most_factors
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.models.base.options import seed_of
from lowdim.registry import ALWAYS, COMPARED, METHODS, ModelEntry, find_method
from lowdim.sources.arrays import ArraySource
from lowdim.table.table import Table
from lowdim.text.format import parse_duration
from lowdim.text.messages import LowdimError, Message, error, no_warnings, warn

REPEATS = (5, 20)  # repeats: the fewest that show a spread, and the most that anyone waits for
FITTED_ROWS = 5_000  # rows that are fitted; longer tables are sampled, evenly spread
JUDGED_ROWS = 1_000  # rows whose distances are compared, all pairs of them
RANKED_ROWS = 400  # of these, rows whose distances are ranked: sorting 80,000 says the same as 500,000
WATCHED_REPEAT = 1  # the repeat whose memory is watched, which takes time; the first one imports what it needs
USUAL_METHODS = ("pca", "ppca", "fa", "random")


class Figure(NamedTuple):
    """What is measured: its heading, how many digits are shown, whether more is better."""

    key: str
    heading: str
    digits: int
    more: bool


MEASURED = (
    Figure("density", "log density", 3, True),
    Figure("rmse", "error", 3, False),
    Figure("neighbours", "neighbours", 2, True),
    Figure("area", "area", 2, True),
    Figure("ranks", "distances", 2, True),
    Figure("trust", "trust", 3, True),
    Figure("stability", "stability", 2, True),
)
FIELD = Figure("field", "field", 3, True)  # shown where a method has a random field
ALL_MEASURED = (*MEASURED, FIELD)
MAP_FIGURES = ("neighbours", "area", "ranks", "trust")  # what coordinates alone tell
COORDINATES_ONLY = "coordinates only"


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


class MethodRow(NamedTuple):
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
    rows: tuple[MethodRow, ...]
    dims: int
    wanted: int  # dimensions asked for, or chosen by the jury; more than `dims` where factor analysis has fewer
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
        from lowdim.judge.compare.text import text

        return text(self, width)

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
        keys = ("mean", "spread", "values", "why", "best")
        rows = [
            {**row._asdict(), "measures": {name: {k: getattr(m, k) for k in keys} for name, m in row.measures.items()}}
            for row in self.rows
        ]
        return {**self._asdict(), "rows": rows, "sentences": list(self.sentences)}

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from lowdim.judge.compare.text import html

        return html(self)


def compare(
    table: Any,
    methods: str | Iterable[str] = USUAL_METHODS,
    *,
    dims: int | str = "auto",
    clusters: int = 3,
    seeds: int | None = None,
    scale: str | None = None,
    random_state: Any = 0,
    budget: float | str | None = None,
    maps: Mapping[str, Any] | None = None,
    tell: Callable[[str, str], object] | None = None,
) -> Comparison:
    """Compare methods on one table: the same hidden cells, the same dimensions, the spread beside every figure.

    Distances on a map are those of the decoded positions, so that the length of an axis is what it moves in the table
    (ICA: of the sources themselves, which are what it is for; spectral and nonlinear methods: of the places, as what
    one sees is no flat piece of the table); those of rows with gaps are over the cells both have. A method that needs
    every cell, or is compared by its random field, gets those that are not there from probabilistic PCA.

    Parameters
    ----------
    table : path, data frame, array or Table
    methods : str or iterable of str
        Names that `lowdim methods` lists, or one text with commas between them; PCA and a random projection are
        always there.
    dims : int or "auto", default "auto"
        Dimensions of every method; "auto" asks the jury.
    clusters : int, default 3
        Of methods that have them.
    seeds : int, optional
        How often a tenth of the cells is hidden; 5 where it is not given, or by the budget.
    scale : {"unit", "none"}, optional
        As in `analyse`.
    random_state : int, default 0
    budget : float or str, optional
        About how long, such as "2m".
    maps : dict, optional
        Coordinates made elsewhere, by name: an array or a file with a line for each row.
    tell : callable, optional
        `tell(name, title)` is called as each method is done; if it returns something true the comparison stops.

    Returns
    -------
    Comparison
        A row a method. Hidden cells: `density`, log density a cell (nats, columns of unit variance), and `rmse` in
        standard deviations. `neighbours`: the share of each row's 10 nearest that stay so on the map; `area`: the area
        under that curve (0 = chance, 1 = all); `ranks`: Spearman's correlation of all distances; `trust`: the
        trustworthiness of those 10; `stability`: the share of the 10 nearest that stay when other cells are hidden and
        another seed is drawn. `field`: the log density of the rows under the method's random field, a cell, its scale
        and noise at their best: methods over pairs of rows are comparable by likelihood (Lawrence 2012).

    References
    ----------
    Lawrence, A unifying probabilistic perspective for spectral dimensionality reduction, JMLR 13, 2012.
    Venna and Kaski, Neighborhood preservation in nonlinear projection methods, ICANN, 2001.

    Examples
    --------
    >>> from lowdim.datasets import load_demo
    >>> comparison = compare(load_demo("gaussian").X, "ppca", dims=3)
    >>> [row.method for row in comparison.rows]
    ['pca', 'ppca', 'random']
    """
    chosen, table = names_of(methods), read(table).in_ones()
    seed, often = seed_of(random_state), repeats(seeds, budget, table)
    if table.weight is not None:
        warn("LD231")
    scale = scale or table.scale
    rows = evenly_spread(table.n, FITTED_ROWS)
    places = {name: read_map(place, table)[rows] for name, place in (maps or {}).items()}
    if table.n > FITTED_ROWS:
        warn("LD291", rows=FITTED_ROWS, n=table.n)
    own = OwnUnits.of(table, table.X[rows], scale)
    X = np.asarray((table.X[rows] - own.mean) / own.unit)
    q = wanted = dimensions(X, dims, seed, budget, scale == "unit")
    if dims == "auto" and any(METHODS[name].factors for name in chosen):
        q = min(q, max(1, most_factors(X.shape[1])))  # the same q for all, and factors have the lowest limit
    bench = ComparisonBench(X, own, q, clusters=int(clusters), seed=seed, often=often, auto=dims == "auto")
    with one_blas_thread():
        tried = bench.try_methods(chosen, tell)
        external = [bench.try_map(name, place) for name, place in places.items()]
    best = mark_best([t.row for t in tried])  # a map that saw all cells has no star
    return bench.comparison(table.name, wanted, (*best, *(t.row for t in external)), [*tried, *external])


def names_of(methods: str | Iterable[str]) -> list[str]:
    """The methods asked for, in their order, PCA first and the random projection last."""
    words = methods.split(",") if isinstance(methods, str) else list(methods)
    names = [str(name).strip().lower() for name in words if str(name).strip()]
    for name in names:
        if not find_method(name).comparable:
            allowed = f"methods that map the numbers alone: {', '.join(COMPARED)}"
            raise error("LD210", option="methods", value=name, allowed=allowed)
    between = [name for name in dict.fromkeys(names) if name not in ALWAYS]
    return [ALWAYS[0], *between, ALWAYS[1]]


def repeats(seeds: int | None, budget: float | str | None, table: Table) -> int:
    """How often cells are hidden: as asked, by the budget and the table's size, or five times."""
    if seeds is not None:
        if isinstance(seeds, bool) or not isinstance(seeds, int | np.integer) or seeds < REPEATS[0]:
            raise error("LD210", option="seeds", value=seeds, allowed=f"a whole number >= {REPEATS[0]}")
        return int(seeds)
    if budget is None:
        return REPEATS[0]
    return int(np.clip(counts(parse_duration(budget), table.n, table.d).refits // 10, *REPEATS))


def dimensions(X: Array, dims: int | str, seed: int, budget: float | str | None, unit: bool) -> int:
    """The number of dimensions of every method: as asked, or the jury's."""
    most = min(X.shape[1] - 1, len(X) - 2)
    if dims == "auto":
        often = counts(parse_duration(budget), *X.shape)
        jury = choose_dimension(
            ArraySource(X, columns=None),
            standardize=unit,
            random_state=seed,
            folds=often.folds,
            shuffles=often.shuffles,
        )
        if jury.q == 0:
            warn("LD292")
        return int(np.clip(jury.q, 1, max(most, 1)))
    if isinstance(dims, bool) or not isinstance(dims, int | np.integer) or not 1 <= dims <= max(most, 1):
        raise error("LD210", option="dims", value=dims, allowed=f"'auto' or a whole number from 1 to {max(most, 1)}")
    return int(dims)


class TriedMethod(NamedTuple):
    """A method's row and, for each repeat, the nearest rows of every judged one."""

    row: MethodRow
    near: tuple[NDArray[np.intp], ...]


class ComparisonBench:
    """One table with its hidden cells; every method meets the same ones."""

    def __init__(self, X: Array, own: OwnUnits, q: int, *, clusters: int, seed: int, often: int, auto: bool) -> None:
        self.X, self.own, self.q, self.clusters = X, own, q, clusters
        self.seed, self.often, self.auto = seed, often, auto
        seen = ~np.isnan(X)
        self.masks = [deal(seen, seed + s // HIDDEN_PARTS) == s % HIDDEN_PARTS for s in range(often)]
        self.hidden = int(sum(mask.sum() for mask in self.masks))
        if min(mask.sum() for mask in self.masks) == 0:
            raise error("LD293", n=len(X), d=X.shape[1])
        self.at = evenly_spread(len(X), JUDGED_ROWS)
        self.D = distances(X[self.at])
        self.order = order(self.D)
        few = np.arange(0, len(self.at), -(-len(self.at) // RANKED_ROWS))
        self.some = np.ix_(few, few)
        self.fillers: dict[int, Any] = {}  # a model for each repeat, for methods that need every cell

    def try_methods(self, names: list[str], tell: Callable[[str, str], object] | None) -> list[TriedMethod]:
        """Every method in turn, reported as it is done."""
        tried = []
        for name in names:
            tried.append(self.try_method(METHODS[name]))
            if tell is not None and tell(name, METHODS[name].title):
                raise KeyboardInterrupt
        return tried

    def comparison(self, name: str, wanted: int, rows: tuple[MethodRow, ...], tried: list[TriedMethod]) -> Comparison:
        """The rows, what the maps have in common, and the sentences."""
        from lowdim.judge.compare.text import sentences

        pairs = [(a, b) for i, a in enumerate(tried) for b in tried[i + 1 :] if a.near and b.near]
        comparison = Comparison(
            name,
            rows,
            self.q,
            wanted,
            self.clusters,
            self.often,
            self.hidden,
            len(self.X),
            len(self.at),
            int(np.isnan(self.X).sum()),
            {f"{a.row.method} {b.row.method}": float(np.mean(list(map(overlap, a.near, b.near)))) for a, b in pairs},
            (),
        )
        return comparison._replace(sentences=sentences(comparison))

    def try_method(self, method: ModelEntry) -> TriedMethod:
        """Everything that is measured of one method; one that fails says why."""
        figures: dict[str, list[float]] = {figure.key: [] for figure in ALL_MEASURED}
        near: list[NDArray[np.intp]] = []
        spent: list[float] = []
        peak: int | None = None
        late = 0
        try:
            for s in range(self.often):
                model, took, bytes_ = self._fitted(method, s)
                late += not getattr(model, "converged_", True)
                peak = bytes_ if s == WATCHED_REPEAT else peak
                spent += [took] if s > WATCHED_REPEAT else []
                self._judge(method, model, s, figures, near)
        except LowdimError as problem:
            why, m = f"failed: {problem.code}", problem.message
            row = MethodRow(
                method.name,
                method.title,
                {f.key: Measure(why=why) for f in ALL_MEASURED},
                *abilities(method),
                None,
                None,
                f"{m.code} {m.severity}  {m.what}" if isinstance(m, Message) else m,
            )
            return TriedMethod(row, ())
        figures["stability"] = steadiness(near)
        measures = {
            key: Measure(tuple(values)) if values else Measure(why=self._missing(method, key))
            for key, values in figures.items()
        }
        note = "; ".join(self._limits(method, late))
        return TriedMethod(
            MethodRow(method.name, method.title, measures, *abilities(method), float(np.median(spent)), peak, note),
            tuple(near),
        )

    def _counts_levels(self, method: ModelEntry) -> bool:
        """Whether its log density counts probabilities of levels, which no density of numbers compares with."""
        return method.kinds and self.own.has_levels

    def _missing(self, method: ModelEntry, key: str) -> str:
        """Why a method has no such figure."""
        if key == "density" and self._counts_levels(method):
            return "of levels"
        if key in ("density", "rmse"):
            return method.lack("gaps") or method.lack("fills") or method.lack("density") or "not measured"
        return method.lack("map") or ("no field" if key == "field" else "not measured")

    def _limits(self, method: ModelEntry, late: int) -> list[str]:
        """What a reader must know of how a method was fitted."""
        notes = [f"{method.name} had not converged in {late} of {self.often} fits"] if late else []
        if 0 < method.most_rows < len(self.X):
            notes.append(f"{method.name} was fitted to {method.most_rows} rows, evenly spread, and the others placed")
        if method.estimate:
            notes.append(f"{method.name}'s log density is {method.estimate.partition(',')[0]}")
        if (q := method.most(self.q, self.auto)) < self.q:
            notes.append(f"{method.name} has {q} dimensions, not {self.q}: bent, it needs fewer")
        return notes

    def try_map(self, name: str, Z: Array) -> TriedMethod:
        """What coordinates made elsewhere tell; they saw every cell and have no repeats, and that is said."""
        seen, near = self._figures(Z[self.at])
        measures = {
            f.key: Measure((seen[f.key],)) if f.key in MAP_FIGURES else Measure(why=COORDINATES_ONLY)
            for f in ALL_MEASURED
        }
        with one_blas_thread():
            beside = {
                title: typical(shares).at(NEAR)
                for title, shares in floors(self.X[self.at], Z.shape[1], self.order).items()
            }
        words = ", ".join(f"{title} {share:.0%}" for title, share in beside.items())
        note = (
            f"{name} ({Z.shape[1]} {'axis' if Z.shape[1] == 1 else 'axes'}, made elsewhere) keeps "
            f"{seen['neighbours']:.0%} of the {NEAR} nearest rows; with as many axes and no cell hidden, {words}"
        )
        row = MethodRow(name, name, measures, "–", "–", "–", "–", None, None, note)
        return TriedMethod(row, (near,) * self.often)

    def _made(self, method: ModelEntry, s: int) -> Any:
        """The estimator of a repeat; one whose columns have likelihoods meets them as the table has them."""
        model = method.make(method.most(self.q, self.auto), self.clusters, self.seed + s)
        if not method.kinds:
            return model
        model.set_params(likelihoods=self.own.kinds)
        return InOwnUnits(model, self.own)

    def _filler(self, s: int) -> Any:
        """Probabilistic PCA of the cells that a repeat shows."""
        if s not in self.fillers:
            self.fillers[s] = METHODS["ppca"].make(self.q).fit(np.where(self.masks[s], np.nan, self.X))
        return self.fillers[s]

    def _fitted(self, method: ModelEntry, s: int) -> tuple[Any, float, int | None]:
        """A fit to the table without the hidden cells: the model, its seconds and, once, its peak."""
        G = np.where(self.masks[s], np.nan, self.X)
        if method.most_rows:
            G = G[evenly_spread(len(G), method.most_rows)]
        model = self._made(method, s)
        measure = s == WATCHED_REPEAT and not tracemalloc.is_tracing()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            G = self._filler(s).impute(G) if _filled(method) else G
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

    def _judge(
        self, method: ModelEntry, model: Any, s: int, figures: dict[str, list[float]], near: list[NDArray[np.intp]]
    ) -> None:
        hidden = self.masks[s]
        G = np.where(hidden, np.nan, self.X)
        with no_warnings():
            if not method.lack("fills"):
                off = (np.asarray(model.impute(G)) - self.X)[hidden]
                figures["rmse"].append(float(np.sqrt(np.mean(off**2))))
                if not (
                    method.lack("density") or self._counts_levels(method)
                ):  # log p(hidden | seen) = log p(both) - log p(seen), for any density
                    gain = np.sum(model.score_samples(self.X)) - np.sum(model.score_samples(G))
                    figures["density"].append(float(gain) / int(hidden.sum()))
            if method.field:
                figures["field"].append(self._field_density(method, model, s, G))
            if method.lack("map"):
                return
            judged = self.X[self.at]
            judged = self._filler(s).impute(judged) if _filled(method) and np.isnan(judged).any() else judged
            place = model.transform(judged) if method.axes or method.lack("decoder") else model.reconstruct(judged)
        on_map, nearest = self._figures(np.asarray(place))
        for key, value in on_map.items():
            figures[key].append(value)
        near.append(nearest)

    def _field_density(self, method: ModelEntry, model: Any, s: int, G: Array) -> float:
        """Log density of the fitted rows under the method's random field, a cell."""
        rows = G[evenly_spread(len(G), method.most_rows)] if method.most_rows else G
        return float(model.field().score(self._filler(s).impute(rows))) / rows.size

    def _figures(self, place: Array) -> tuple[dict[str, float], NDArray[np.intp]]:
        """What a map of the judged rows keeps, and its nearest rows."""
        E = distances(place)
        other = order(E)
        same = kept(self.order, other)
        trust = shares_true(self.order, other, min(NEAR, max(len(E) - 2, 1)))
        figures = {
            "neighbours": same.at(NEAR),
            "area": same.area,
            "trust": float(trust.mean()),
            "ranks": rank_agreement(self.D[self.some], E[self.some]),
        }
        return figures, other[:, :NEAR]


def _filled(method: ModelEntry) -> bool:
    """Whether it gets a table without gaps: it needs every cell, or its field does, whose density is compared."""
    return bool(method.lack("gaps")) or method.field


def abilities(method: ModelEntry) -> tuple[str, str, str, str]:
    """Whether a method takes gaps, places new rows (all of them do), has a decoder, and says how sure it is."""

    def yes_no(what: str) -> str:
        return "no" if method.lack(what) else "yes"

    return yes_no("gaps"), "yes", yes_no("decoder"), yes_no("uncertainty")


def overlap(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    """The mean share of each row's nearest rows that two maps have in common."""
    return float((a[:, :, None] == b[:, None, :]).any(axis=2).mean()) if a.size else 1.0


def steadiness(near: list[NDArray[np.intp]]) -> list[float]:
    """For each repeat, what its map has in common with those of the others."""
    if len(near) < 2:
        return []
    shared = np.array([[overlap(a, b) for b in near] for a in near])
    return [float((row.sum() - row[i]) / (len(row) - 1)) for i, row in enumerate(shared)]


def clearly(a: Measure, b: Measure, figure: Figure) -> bool:
    """Whether one beats the other by more than twice the spread of their difference, and visibly."""
    diff = (np.array(a.values) - np.array(b.values)) * (1.0 if figure.more else -1.0)
    gap = float(diff.mean())
    return bool(gap > 2.0 * diff.std(ddof=1) and gap >= 10.0**-figure.digits)


def ranking(rows: Iterable[MethodRow], figure: Figure) -> list[MethodRow]:
    """The methods that have a figure, the best mean first."""
    measured = [row for row in rows if row.measures[figure.key].values]
    sign = -1.0 if figure.more else 1.0
    return sorted(measured, key=lambda row: sign * float(row.measures[figure.key].mean or 0.0))


def mark_best(rows: list[MethodRow]) -> tuple[MethodRow, ...]:
    """The rows with each figure that is clearly the best marked so."""
    for figure in ALL_MEASURED:
        ranked = ranking(rows, figure)
        if len(ranked) > 1 and clearly(ranked[0].measures[figure.key], ranked[1].measures[figure.key], figure):
            best = ranked[0]
            best.measures[figure.key] = best.measures[figure.key]._replace(best=True)
    return tuple(rows)
