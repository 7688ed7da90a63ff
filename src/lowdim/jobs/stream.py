"""Tables larger than memory: the model sees every row, the judges a sample of rows drawn at random."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import ExitStack
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fit import plan
from lowdim.engine.fold import Run, walk
from lowdim.jobs.analysis import Analysis, Settings, Tell, check_settings, made_in_order
from lowdim.jobs.apply import experience, said_of_columns
from lowdim.jobs.process import stopped_as_a_whole
from lowdim.jobs.run_tables import LAWS, law_numbers
from lowdim.judge.fills.dimension import fill_dimension
from lowdim.judge.fills.engines.linear import TRIAL_TOL
from lowdim.judge.fills.engines.offered import FILL_SAMPLE
from lowdim.judge.fills.fill import fill
from lowdim.judge.fills.result import Fills
from lowdim.judge.fills.text import column_lines
from lowdim.judge.maps.table_map import TableMap
from lowdim.judge.outliers.law import RowLaw, row_p_values
from lowdim.judge.read_table import source_of
from lowdim.judge.rows.odd_rows import OddRow, judge_block, judge_rows, laws, odd_row
from lowdim.judge.rows.row_card import one_block
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.maths.seeds import LARGE_SAMPLE
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.sources.files.open import stream
from lowdim.sources.sinks import as_sink
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Chosen
from lowdim.table.column import Column
from lowdim.table.detect import Guess
from lowdim.table.open_file import Place, Raw
from lowdim.table.options import check_options, split_names
from lowdim.table.read import check_numbers
from lowdim.table.table import Table
from lowdim.text.errors import BudgetError, OptionError
from lowdim.text.format import count, listing, parse_duration
from lowdim.text.messages import Messages, Notes, check_level, error, no_warnings, warn

DRAWN_ROWS = 5_000  # rows from which a number of dimensions, intervals and pictures come
ASSUMED_DIMS = 10  # dimensions that memory is reckoned with before they are chosen
LISTED_ROWS = 20  # odd rows that are kept with their reasons
P_BITS = 40  # of a p-value that are cut off where many are counted: three figures are left

File = str | PathLike[str] | Source


class DrawnRows(NamedTuple):
    """A table that is streamed, and the rows drawn from it."""

    whole: Source  # every column of numbers
    source: Source  # those of the analysis
    table: Table  # the rows drawn, named by their number in the whole, from 1

    @property
    def of(self) -> int | None:
        """The rows of the whole, where more than were drawn."""
        return self.whole.n if self.whole.n > self.table.shape[0] else None


# rows drawn at random -----------------------------------------------------------------------------------
def draw(
    file: File,
    *,
    sample: int = DRAWN_ROWS,
    random_state: int = 0,
    columns: Any = None,
    drop: Any = None,
    weight: Any = None,
    scale: str = "unit",
    run: Run | None = None,
) -> DrawnRows:
    """Rows drawn from a file without replacement, in one pass, and checked as any table is.

    >>> from lowdim import as_source
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> drawn = draw(as_source(X), sample=100)
    >>> drawn.of, drawn.table.n, int(drawn.table.row_names[0]) >= 1
    (500, 100, True)
    """
    if isinstance(sample, bool) or not isinstance(sample, int | np.integer) or sample < 3:
        raise error("LD210", option="sample", value=sample, allowed="a whole number of at least 3 rows")
    run = Run() if run is None else run
    whole = affordable(open_whole(file, columns, drop, weight), run)
    n, k = whole.n, min(int(sample), whole.n)
    rng = np.random.default_rng([random_state, LARGE_SAMPLE])
    rows = np.sort(rng.choice(n, k, replace=False)) if k < n else np.arange(n)
    with stopped_as_a_whole():
        parts = [part for _, part in walk(partial(_pick, rows), whole, run)]
    given = {"sample": None if sample == DRAWN_ROWS else sample, "columns": columns, "drop": drop, "weight": weight}
    options = {"stream": True, **{key: value for key, value in given.items() if value}}
    X = np.concatenate(parts) if parts else np.zeros((0, whole.d))
    table = drawn_table(whole, rows, X, name_of(file, whole), scale, options)
    places = [whole.columns.index(name) for name in table.names]
    return DrawnRows(whole, whole if len(places) == whole.d else Chosen(whole, places), table)


def open_whole(file: File, columns: Any = None, drop: Any = None, weight: Any = None) -> Source:
    """The source of a file without the columns to drop."""
    if isinstance(file, Source):
        return file
    names = split_names(columns) or None
    source = stream(file, columns=names, weight=weight)
    if not drop:
        return source
    out = split_names(drop)
    absent = [name for name in out if name not in source.columns]
    remaining = [name for name in source.columns if name not in out]
    if absent or not remaining:
        fix = f"the columns of numbers are: {', '.join(source.columns[:10])}"
        raise error("LD103", column=(absent or out)[0], option="drop", fix=fix)
    return stream(file, columns=remaining, weight=weight)


def name_of(file: File, source: Source) -> tuple[str, str]:
    """The name of a table as reports give it, and its path; a source that is no file has none."""
    if isinstance(file, Source):
        paths = getattr(source.leaf, "paths", None)
        return (str(paths[0].name), str(paths[0])) if paths and len(paths) == 1 else ("the table", "")
    return Path(file).name, str(file)


def affordable(source: Source, run: Run, q: int = ASSUMED_DIMS) -> Source:
    """The source in smaller blocks where that is what it takes to stay within memory; or the refusal."""
    cost = ProbabilisticPCA(min(q, max(source.d - 1, 0))).cost(source.n, source.d)
    try:
        plan("ProbabilisticPCA", cost, run, source.leaf)
        return source
    except BudgetError:
        small = source.single_tile_blocks()
        plan("ProbabilisticPCA", cost, run, small.leaf)
        return small


def _pick(rows: NDArray[np.intp], block: Block) -> Array:
    """Those of these rows that lie in this block, NaN at gaps."""
    first, last = np.searchsorted(rows, [block.start, block.start + len(block.x)])
    at = rows[first:last] - block.start
    return block.x[at] if block.mask is None else np.where(block.mask[at], block.x[at], np.nan)


def drawn_table(
    whole: Source, rows: NDArray[np.intp], X: Array, named: tuple[str, str], scale: str, options: dict[str, Any]
) -> Table:
    """Some rows as a table: checked as one that was read, its rows counted as the whole counts them."""
    name, path = named
    kind = str(getattr(whole.leaf, "kind", "")) or "array"
    title = name if len(rows) == whole.n else f"{len(rows):,} rows drawn from {name}"
    digest = hashlib.sha256(repr((whole.n, whole.columns)).encode() + rows.tobytes() + X.tobytes()).hexdigest()
    raw = Raw(title, [None] * whole.d, list(whole.columns), rows + 1, Guess(f"{kind}, streamed"), digest, path, "row")
    columns = [Column(column, "number", X[:, j], j + 1) for j, column in enumerate(whole.columns)]
    if whole.weight is not None:
        called = options.get("weight")
        called = called if isinstance(called, str) else "weight"
        columns.append(Column(called, "weight", whole.weight[rows], len(columns) + 1))
    notes = Notes(title, "row")
    work = check_numbers(columns, raw, check_options({"scale": scale}), Place(title, "row", raw.lines), notes)
    table = Table(raw, columns, work, Messages(notes.messages), raw.guess, scale, options)
    table.name, table.rows = name, rows[work.rows]
    return table


# the main job -------------------------------------------------------------------------------------------
def analyse_stream(
    file: File | DrawnRows,
    *,
    dims: int | str = "auto",
    scale: str = "unit",
    level: float = 0.9,
    random_state: int = 0,
    budget: float | str | None = None,
    rotate: str | None = None,
    groups: int | str = "auto",
    run: Run | None = None,
    tell: Tell | None = None,
    **reading: Any,
) -> Analysis:
    """`analyse` for a file larger than memory: the model is fitted to all rows, all else comes from a sample.

    Parameters
    ----------
    file : path, Source or DrawnRows
        The file, or what `draw` made of it.
    dims, scale, level, random_state, budget, rotate, groups, tell
        As in `analyse`. The dimensions are chosen, intervals calibrated, axes tested and pictures drawn with the
        sample.
    run : Run, optional
        How the model is fitted to every row: a checkpoint, Dask, a limit of memory.
    **reading
        Options of `draw`: `sample` (rows drawn at random, 5,000 by default), `columns`, `drop`, `weight`.

    Returns
    -------
    Analysis
        `.of` is the number of rows of the file, `.table` holds the rows drawn.

    Examples
    --------
    >>> from lowdim import as_source
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 1)) * [1.0, 1.0, -1.0, 2.0] + 0.3 * rng.standard_normal((2000, 4))
    >>> analysis = analyse_stream(as_source(X), sample=200, budget=1)
    >>> analysis.dims, analysis.of, analysis.table.n
    (1, 2000, 200)
    """
    drawn = (
        file if isinstance(file, DrawnRows) else draw(file, random_state=random_state, scale=scale, run=run, **reading)
    )
    settings = Settings(dims, scale, level, random_state, parse_duration(budget), rotate=rotate, groups=groups)
    return made_in_order(analysis_of_stream(drawn, settings, run), tell)


def analysis_of_stream(drawn: DrawnRows, settings: Settings, run: Run | None) -> Analysis:
    """The analysis of the rows drawn from a file by a model of all rows, of which no part is made yet."""
    t = drawn.table
    check_settings(settings, t.n, t.d)

    def fit(q: int) -> ProbabilisticPCA:
        model = ProbabilisticPCA(q, standardize=analysis.settings.scale == "unit", rotation=settings.rotate)
        return model.fit(drawn.source, run=run)

    analysis = Analysis(t, settings, of=drawn.of, fit=None if drawn.of is None else fit)
    return analysis


# filling ------------------------------------------------------------------------------------------------
class FilledFile(NamedTuple):
    """A file that was filled: how well, by the rows drawn, and how many gaps each column had."""

    rated: Fills
    model: ProbabilisticPCA
    rows: int
    gaps: dict[str, int]  # of every column, all rows counted
    unfilled: dict[str, int]  # gaps of columns that no model can fill
    wrote: tuple[str, ...]
    drawn: int  # rows on which the fills were checked

    @property
    def total(self) -> int:
        """How many gaps were filled."""
        return sum(self.gaps.values()) - sum(self.unfilled.values())

    @property
    def sentence(self) -> str:
        """How many gaps, by which model, and what the checks stand on."""
        if not self.total:
            return f"No gaps in {self.rows:,} rows."
        sampled, dims = self.drawn < self.rows, count(int(self.model.n_components_), "dimension")
        whole = f"all {self.rows:,} rows" if sampled else "all rows"
        return (
            f"{self.total:,} gaps filled by a model of {whole} with {dims}; skill and intervals come "
            f"from cells hidden on purpose in {self.drawn:,} rows{' drawn at random' if sampled else ''}."
        )

    def text(self) -> str:
        """The sentence, what each column's fills are worth, and which gaps are left."""
        if not self.total:
            return self.sentence
        words = "Left as they are, being no part of the model"
        still = [f"{words}: {many:,} gaps in {name}." for name, many in self.unfilled.items()]
        return "\n".join([self.sentence, *column_lines(self.rated.columns, self.gaps, self.rated.level), *still])

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "sentence": self.sentence,
            "columns": list(self.rated.columns),
            "gaps": self.gaps,
            "left": self.unfilled,
            "dims": int(self.model.n_components_),
            "rows": self.rows,
            "drawn": self.drawn,
            "wrote": list(self.wrote),
            "level": self.rated.level,
            "converged": bool(self.model.converged_),
        }


def fill_stream(
    drawn: DrawnRows,
    out: str | PathLike[str],
    *,
    level: float = 0.9,
    random_state: int = 0,
    intervals: bool = False,
    run: Run | None = None,
) -> FilledFile:
    """Fill the gaps of a file by a model of all its rows, a tile at a time, into another file.

    How many dimensions fill best, what each column's fills are worth and how wide an interval must be is found on
    the rows drawn, where cells are hidden on purpose. `intervals=True` writes OUT.lower, OUT.upper and OUT.mask
    too. A cell that was seen is kept to the bit.
    """
    check_level(level)
    t, unit, run = drawn.table, drawn.table.scale == "unit", run or Run()
    spread = evenly_spread(t.n, FILL_SAMPLE, ends=True)
    with stopped_as_a_whole():
        q = fill_dimension(t.X[spread], standardize=unit, random_state=random_state).n_components
        rated = fill(
            source_of(t),
            level=level,
            random_state=random_state,
            standardize=unit,
            model=ProbabilisticPCA(q, standardize=unit, tol=TRIAL_TOL / t.n),
        )
        model = ProbabilisticPCA(q, standardize=unit).fit(drawn.source, run=run)
        half = normal_half_width(level) * np.array([c.factor for c in rated.columns])
        places = np.array([drawn.whole.columns.index(name) for name in t.names])
        wrote, gaps = _write(drawn, Path(out), partial(_filled, model, places, half, intervals), intervals, run)
    counted = dict(zip(drawn.whole.columns, gaps.tolist(), strict=True))
    unfilled = {name: many for name, many in counted.items() if many and name not in t.names}
    return FilledFile(rated, model, drawn.whole.n, counted, unfilled, wrote, t.n)


def _write(drawn: DrawnRows, out: Path, f: Any, intervals: bool, run: Run) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Walk once, each table that comes out into a file of its own; gaps counted on the way."""
    whole = drawn.whole.single_tile_blocks()
    words = ("", "lower", "upper", "mask") if intervals else ("",)
    paths = [out.with_name(f"{out.stem}.{word}{out.suffix}") if word else out for word in words]
    gaps = np.zeros(whole.d, dtype=np.intp)
    with ExitStack() as open_files:
        sinks = [open_files.enter_context(as_sink(path, whole.n, whole.columns)) for path in paths]
        for start, (tables, many) in walk(f, whole, run):
            for sink, rows in zip(sinks, tables, strict=True):
                sink.write(start, rows)
            gaps += many
        for sink in sinks:
            sink.close()
    return tuple(map(str, paths)), gaps


def _filled(
    model: LinearGaussian, places: NDArray[np.intp], half: Array, intervals: bool, block: Block
) -> tuple[list[Array], NDArray[np.intp]]:
    """The tile filled, and where asked for the ends of its intervals and which cells were gaps."""
    if block.mask is None:
        same = [block.x, block.x, block.x, np.zeros_like(block.x)] if intervals else [block.x]
        return same, np.zeros(block.x.shape[1], dtype=np.intp)
    gap, seen = ~block.mask, np.ascontiguousarray(block.mask[:, places])
    part = Block(np.ascontiguousarray(block.x[:, places]), seen, None, block.start)
    cells = model.block_cells(part)
    filled = np.where(gap, np.nan, block.x)
    filled[:, places] = np.where(seen, part.x, cells.mean)
    tables = [filled]
    if intervals:
        width = np.zeros_like(filled)
        width[:, places] = np.where(seen, 0.0, half * np.sqrt(cells.var + cells.noise))
        tables += [filled - width, filled + width, gap.astype(np.float64)]
    return tables, gap.sum(axis=0)


# new rows -----------------------------------------------------------------------------------------------
class PlacedStream(NamedTuple):
    """New rows of a file, placed on an old map one block after the other."""

    rows: int
    gaps: int  # rows with gaps
    below: int  # rows with p < 1 - odd_level
    outside: int  # rows that Benjamini and Hochberg's rule picks at rate 1 - odd_level, among all of them
    odd_level: float
    odd: tuple[OddRow, ...]  # the oddest of them
    wrote: str

    @property
    def sentence(self) -> str:
        """How many were placed, how many have gaps, how many are odd."""
        text = f"{self.rows:,} rows placed, {self.gaps:,} of them with gaps."
        text += " A stream places rows and fills no gaps." if self.gaps else ""
        return f"{text}\n{experience(self.outside, self.odd_level, self.odd)}"

    def facts(self) -> dict[str, Any]:
        """As JSON has them: those of `PlacedRows` that are known of a stream."""
        return {
            "sentence": self.sentence,
            "placed": self.rows,
            "gaps": self.gaps,
            "below": self.below,
            "outside": self.outside,
            "odd_level": self.odd_level,
            "odd": list(self.odd),
        }


def place_stream(
    map: TableMap,
    file: File,
    out: str | PathLike[str],
    *,
    odd_level: float = 0.95,
    law: RowLaw | None = None,
    run: Run | None = None,
) -> PlacedStream:
    """Place every row of a file on a map of numbers, a block at a time: positions, distances, p-values and densities.

    The columns of that file are those of `RowPlaces.lines`, without the rows' names; a column of the map that the file
    lacks is a gap in every row. `law` is that of `place`: each row is placed and judged as `place` does it.
    """
    check_level(odd_level, "odd_level")
    law, passed = law or map.cells.plain_law, _PassedRows()
    source, present = new_rows(file, map)
    if source.n == 0:
        raise error("LD160", n=0, least=1)
    axes = [f"axis{k + 1}" for k in range(map.cells.loadings.shape[1])]
    columns = (*axes, *(f"{axis}_sd" for axis in axes), *LAWS, "log_density")
    with stopped_as_a_whole(), as_sink(out, source.n, columns) as sink:
        for start, found in walk(partial(_placed_block, map, law, present), source.single_tile_blocks(), run or Run()):
            sink.write(start, passed.add(start, found))
        sink.close()
    return passed.told(map, law, odd_level, str(out))


def new_rows(file: File, map: TableMap) -> tuple[Source, NDArray[np.intp]]:
    """The source of new rows, and which of the map's columns its own are; one without names is taken by position."""
    names = map.names
    whole = np.arange(len(names))
    if isinstance(file, Source):
        return map.model.arrange(file), whole
    try:
        return stream(file, columns=list(names)), whole  # whatever they look like
    except OptionError as problem:
        if problem.code != "LD103":
            raise
    with no_warnings():
        source = stream(file)
    if not source.named and source.d == len(names):
        return source, whole
    absent = [name for name in names if name not in source.columns]
    if len(absent) == len(names):
        missing = f"; none of its columns is one of {listing(names, 10)}"
        raise error("LD220", got=source.d, want=len(names), model="the map", missing=missing)
    for note in said_of_columns(absent):
        warn(note)
    present = np.array([j for j, name in enumerate(names) if name in source.columns])
    return stream(file, columns=[names[j] for j in present]), present


class _PlacedPiece(NamedTuple):
    """Some rows that were placed: what is written of them, how many have gaps, and the oddest with their cells."""

    table: Array
    gaps: int
    few: NDArray[np.intp]
    X: Array


P_AT, D2_AT = -8, -7  # of the columns that are written


def _placed_block(map: TableMap, law: RowLaw, present: NDArray[np.intp], block: Block) -> _PlacedPiece:
    X = np.full((len(block.x), len(map.names)), np.nan)
    X[:, present] = block.x if block.mask is None else np.where(block.mask, block.x, np.nan)
    where, rows = map.cells.posterior(X), judge_block(map, law, one_block(X))
    p = row_p_values(rows.p_D2, rows.cell_p, rows.seen)
    table = np.column_stack([where.mean, where.std, law_numbers(rows.seen, p, *laws(rows, law)), where.log_density])
    few = np.lexsort((-table[:, D2_AT], table[:, P_AT]))[:LISTED_ROWS]
    return _PlacedPiece(table, int(np.isnan(X).any(axis=1).sum()), few, X[few])


class _PassedRows:
    """The rows that passed by: how many there were, their p-values by their first figures, and the oddest."""

    def __init__(self) -> None:
        self.n, self.gaps, self.counts = 0, 0, Counter[int]()
        self.at, self.p, self.D2, self.X = np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0), np.zeros((0, 0))

    def add(self, start: int, piece: _PlacedPiece) -> Array:
        """What is written of some more rows; they are counted, and the oddest kept."""
        table, gaps, few, X = piece
        self.n, self.gaps = self.n + len(table), self.gaps + gaps
        keys, many = np.unique(np.ascontiguousarray(table[:, P_AT]).view(np.int64) >> P_BITS, return_counts=True)
        self.counts.update(dict(zip(keys.tolist(), many.tolist(), strict=True)))  # that begin with the same figures
        pairs = ((self.at, start + few), (self.p, table[few, P_AT]), (self.D2, table[few, D2_AT]))
        at, p, D2 = map(np.concatenate, pairs)
        X = np.concatenate([self.X.reshape(len(self.X), X.shape[1]), X])
        best = np.lexsort((-D2, p))[:LISTED_ROWS]
        self.at, self.p, self.D2, self.X = at[best], p[best], D2[best], X[best]
        return table

    def told(self, map: TableMap, law: RowLaw, odd_level: float, out: str) -> PlacedStream:
        """How many are odd, and the oddest of those, each with its reason."""
        limit, outside = discoveries(self.counts, 1.0 - odd_level)
        found = judge_rows(map, self.X, row_names=[str(row + 1) for row in self.at], law=law)
        picked = [k for k in range(len(self.p)) if self.p[k] <= limit and found.seen[k] > 0]
        three = found.D2, found.T2, found.Q
        rows = (odd_row(k, found.judged, three, 1.0 - odd_level) for k in picked)
        odd = tuple(r._replace(row=int(self.at[r.row]), p=float(self.p[r.row])) for r in rows)
        edge = np.array(1.0 - odd_level).view(np.int64) >> P_BITS
        below = sum(many for key, many in self.counts.items() if key < edge)
        return PlacedStream(self.n, self.gaps, below, outside, odd_level, odd, out)


def discoveries(counts: Counter[int], rate: float) -> tuple[float, int]:
    """Benjamini and Hochberg's rule on p-values counted by their first three figures: the limit, and how many.

    A cell of the count reaches up to the next key, and counts as that: never more are picked than the rule allows.
    """
    keys = np.array(sorted(counts), dtype=np.int64)
    total = np.cumsum([counts[key] for key in keys.tolist()])
    edges = np.where(keys == 0, 0.0, ((keys + 1) << P_BITS).view(np.float64))  # p = 0 is 0, not nearly
    under = np.flatnonzero(edges <= rate * total / max(int(total[-1]), 1))
    return (float(edges[under[-1]]), int(total[under[-1]])) if len(under) else (-1.0, 0)
