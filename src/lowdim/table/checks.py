"""What is wrong or worth knowing about the numbers of a table, before any model sees them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.table.cells import find_gap_codes
from lowdim.table.column import MOST_LABELS, Column, CopyOf, log_entries
from lowdim.table.open_file import Place
from lowdim.table.options import ReadingOptions, asked_role
from lowdim.table.relations import (
    MOST_PARTNERS,
    Relation,
    alike_pairs,
    find_functions,
    find_products,
    find_sums,
    ranks_of,
)
from lowdim.table.wrong_cells import ENOUGH_CELLS, below_zero, wrong_cells
from lowdim.text.escape import shown
from lowdim.text.fix import Fix, Spelling, choices, propose
from lowdim.text.format import count, figures, listing
from lowdim.text.messages import Notes, error

LEAST_TABLE_ROWS = 3
WIDEST_TABLE = 20_000  # number columns
NEARLY_EMPTY, LEAST_CELLS = 0.1, 50  # share of the rows and number of cells below which a column is nearly empty
FULLER_COLUMNS = 3  # seen in half of the rows, from which the others are the exception
LEAST_IN_ORDER, MOST_IN_ORDER = 30, 20  # rows, and columns that are looked at
FARTHER_ON = (
    8  # rows, to which a row of a series is less alike than to the next: squared, by this share of the distance
)
IN_TIME, IN_ORDER, ORDER_ERRORS = 0.5, 0.7, 5.5  # with a date and without (series 0.54 to 0.96, sorted tables to 0.69)
STRONG_SKEW = 1.0  # of a column whose logarithm may be taken: that of a chi squared of 8
GAPPY_SHARE = 0.4  # share of gaps from which a column is named
ONE_VALUE_SHARE = 0.95  # share of one value from which a column says almost nothing
CHANCE_PAIRS = (
    100  # times as many ways to choose rows as there are pairs of columns, below which two are alike by chance
)
SAME_CORRELATION = 0.99995  # a correlation that prints as 1.0000
HUGE_NUMBER = 1e150
MOST_WRONG_TOLD = 20  # cells that look wrong by themselves
PAIRS_WORK = 2e10  # multiplications that looking for near copies may cost
PARTS_SHARE = 0.5  # of a total's rows that have all its parts, from which it says nothing of its own
FAR_SPREADS = 4.5  # spreads from the middle that make a value far


class Numbers(NamedTuple):
    """The number columns side by side, and which rows of the file they are."""

    X: Array
    columns: list[Column]
    rows: NDArray[np.intp]  # positions in the file, from 0
    aside: tuple[tuple[str, str], ...] = ()  # columns left out for a reason of their own: name and reason
    copies: tuple[tuple[str, CopyOf], ...] = ()  # those of them that say the same as one other

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.columns]

    @property
    def measured(self) -> Mask:
        """Which columns hold numbers, and no codes of labels."""
        return np.array([not c.labels for c in self.columns], dtype=bool)

    def keep(self, columns: Mask) -> Numbers:
        """Some columns only."""
        if columns.all():
            return self
        chosen = [c for c, kept in zip(self.columns, columns, strict=True) if kept]
        return self._replace(X=np.ascontiguousarray(self.X[:, columns]), columns=chosen)


def refuse_width(names: list[str], n: int, options: ReadingOptions) -> None:
    """More columns than are analysed are refused before their cells are looked at."""
    wide = len(options.columns) if options.columns else len(names) - len(options.drop)
    if wide > WIDEST_TABLE:
        raise error(
            "LD171",
            d=f"{wide:,}",
            most=f"{WIDEST_TABLE:,}",
            fix=Fix("rows and columns swapped?  ", propose(transpose=True))
            if n <= WIDEST_TABLE
            else Fix("choose some:  ", propose(columns=names[:3])),
        )


def stacked(columns: list[Column], n: int, options: ReadingOptions, place: Place, notes: Notes) -> Numbers:
    """The number columns as one matrix; infinite cells are an error, or gaps where that was asked for."""
    chosen = [c for c in columns if c.role == "number"]
    X = np.column_stack([c.values for c in chosen]) if chosen else np.empty((n, 0))
    X[np.isnan(X)] = np.nan  # one NaN for all, so that equal columns are equal bytes
    wrong = np.isinf(X)
    if wrong.any() and options.inf != "missing":
        parts = []
        for j in np.flatnonzero(wrong.any(axis=0))[:5]:
            cells = [f"{place.unit} {place.lines[i]} ({X[i, j]})" for i in np.flatnonzero(wrong[:, j])]
            parts.append(f"{chosen[j].name}: {listing(cells)}")
        notes.add("LD150.table", "; ".join(parts), what=count(int(wrong.sum()), "infinite value"))
    X[wrong] = np.nan
    return Numbers(X, chosen, np.arange(n))


def logs(work: Numbers, options: ReadingOptions, place: Place) -> Numbers:
    """The logarithm of the columns it was asked for, after what is to be added to them."""
    asked = log_entries(options.log, work.names)
    X = work.X.copy() if asked else work.X
    columns = list(work.columns)
    for j, column in enumerate(columns):
        if column.name not in asked or column.labels:
            continue
        offset = asked[column.name]
        low = np.flatnonzero(X[:, j] + offset <= 0)
        if len(low):
            where = listing([f"{place.unit} {place.lines[work.rows[i]]} ({figures(X[i, j], 6)})" for i in low])
            raise error(
                "LD116", where, column=column.name, what=count(len(low), "cell") + (" is" if len(low) == 1 else " are")
            )
        X[:, j] = np.log(X[:, j] + offset)
        columns[j] = column._replace(note="logarithm", log=True, offset=offset)
    return work._replace(X=X, columns=columns)


def enough_rows(work: Numbers, place: Place, notes: Notes) -> None:
    """Fewer than three rows cannot be analysed."""
    n, d = work.X.shape
    if n >= LEAST_TABLE_ROWS:
        return
    if n == 2 and d >= LEAST_TABLE_ROWS:
        fix = Fix(f"rows and columns swapped?  your file is {n} x {d}:  ", propose(transpose=True))
    else:
        of_a_file = "one row has no variation: add rows" if n else "the file holds names and nothing else: add rows"
        fix = Fix(Spelling(of_a_file, "add rows: each row is one observation, each column one variable"))
    notes.add("LD160.table", place.name, n=n, fix=fix)
    notes.stop()


def empty(work: Numbers, place: Place, notes: Notes) -> Numbers:
    """Columns without any number are left out."""
    seen = ~np.isnan(work.X)
    full: Mask = np.asarray(seen.any(axis=0))
    gone = [c for c, kept in zip(work.columns, full, strict=True) if not kept]
    if gone:
        notes.add(
            "LD120.table",
            _positions(place, gone),
            n=len(gone),
            names=listing([f"'{c.name}'" for c in gone]),
            fix=Fix("say so:  ", propose(drop=[c.name for c in gone])),
        )
        work = work.keep(full)
    return work


def empty_rows(work: Numbers, labelled: Mask, place: Place, notes: Notes, number: str = "measured value") -> Numbers:
    """Rows without any number are left out, but for those that are kept for their labels."""
    rows = ~np.isnan(work.X).all(axis=1) | labelled[work.rows]
    if not rows.all() and work.columns:
        lost = place.lines[work.rows[~rows]]
        notes.add("LD121.table", place.name, n=len(lost), unit=place.unit, rows=listing(lost), number=number)
        work = work._replace(X=work.X[rows], rows=work.rows[rows])
    return work


def nearly_empty(work: Numbers, options: ReadingOptions, notes: Notes) -> Numbers:
    """Columns of a few cells are left out beside fuller ones; a table of ratings has none that are."""
    seen, n = (~np.isnan(work.X)).sum(axis=0), len(work.X)
    asked = np.array([bool(asked_role(c.name, options)) for c in work.columns], dtype=bool)
    bare = (seen < NEARLY_EMPTY * n) & (seen < LEAST_CELLS)
    keep = ~bare | asked
    if keep.all() or (2 * seen >= n).sum() < FULLER_COLUMNS:
        return work
    names = [c.name for c, kept in zip(work.columns, keep, strict=True) if not kept]
    notes.add("LD125", n=len(names), most=int(seen[~keep].max()), rows=n, names=listing(names, 10), use=names[:10])
    words = [f"{k} of {n:,} cells" for k in seen[~keep]]
    return work.keep(keep)._replace(aside=(*work.aside, *zip(names, words, strict=True)))


def _positions(place: Place, columns: list[Column]) -> str:
    return f"{place.name}, column{'s' * (len(columns) > 1)} {listing([c.position for c in columns])}"


def constant(work: Numbers, place: Place, notes: Notes) -> Numbers:
    """Columns that never change are left out."""
    low = np.fmin.reduce(work.X, axis=0, initial=np.inf)
    varies = low < np.fmax.reduce(work.X, axis=0, initial=-np.inf)
    gone = [(c, low[j]) for j, c in enumerate(work.columns) if not varies[j]]
    if not gone:
        return work
    cells = [shown(c.labels[int(value)]) if c.labels else figures(value, 6) for c, value in gone]
    words = [f"'{c.name}' (always {cell})" for (c, _), cell in zip(gone, cells, strict=True)]
    notes.add(
        "LD130.table",
        _positions(place, [c for c, _ in gone]),
        n=len(gone),
        names=listing(words, last=" and "),
        fix=Fix("say so:  ", propose(drop=[c.name for c, _ in gone])),
    )
    return work.keep(varies)


def copies(work: Numbers, options: ReadingOptions, notes: Notes) -> Numbers:
    """Exact copies of another column are left out; the one with the shortest name stays."""
    first: dict[bytes, int] = {}
    found = list[tuple[str, CopyOf]]()
    keep = np.ones(len(work.columns), dtype=bool)
    for j in _shorter_first(work.names).tolist():
        x, column = work.X[:, j], work.columns[j]
        key = (x + 0.0).tobytes()  # -0 is 0; all gaps are one NaN
        if len(column.labels) > 2:  # they say the same where the same rows have the same label
            seen, codes = ~np.isnan(x), x.copy()
            _, start, which = np.unique(x[seen], return_index=True, return_inverse=True)
            codes[seen] = np.argsort(np.argsort(start))[which]
            key = b"labels" + codes.tobytes()
        other = first.setdefault(key, j)
        if other != j and not options.keep_copies:
            keep[j] = False
            relation = None if column.labels else Relation()
            found.append((column.name, CopyOf(work.names[other], relation)))
            notes.add(
                "LD141",
                f"columns {column.position} and {work.columns[other].position}",
                column=column.name,
                other=work.names[other],
            )
    return work.keep(keep)._replace(copies=tuple(found)) if found else work


def _shorter_first(names: Sequence[str]) -> NDArray[np.intp]:
    """The places of the names, shorter ones first, whatever their order in the table."""
    return np.array(sorted(range(len(names)), key=lambda j: (len(names[j]), names[j])), dtype=np.intp)


def made_of_others(work: Numbers, options: ReadingOptions, notes: Notes) -> Numbers:
    """Columns that are functions, products, sums or means of others are left out, each named with its identity; kept
    where the others are often missing, or asked for."""
    for find in (find_functions, find_products, find_sums):
        n, d = work.X.shape
        if d < 3 or options.keep_copies or n * d * d > PAIRS_WORK:
            return work
        numbers, logged = work.keep(work.measured), log_entries(options.log, work.names)
        keep, aside, copied = np.ones(d, dtype=bool), list(work.aside), list(work.copies)
        order = np.arange(len(numbers.names))  # sums are told by the columns beside them too
        if find is not find_sums:  # of columns that make each other the one with the longer name is left out
            order = _shorter_first(numbers.names)
        made = find(numbers.X[:, order], [numbers.names[j] for j in order])
        for at, words, share, copy in sorted(made, key=lambda one: int(order[one.column])):
            name = numbers.names[order[at]]
            if name in logged or asked_role(name, options):
                continue
            if share < PARTS_SHARE:
                notes.add("LD186", share=f"{share:.0%}", drop=[name], column=name, identity=words)
            elif keep.sum() > 2:
                keep[work.names.index(name)] = False
                aside.append((name, words))
                copied += [(name, copy)] if copy else []
                notes.add("LD185", use=[name], column=name, identity=words)
        work = work.keep(keep)._replace(aside=tuple(aside), copies=tuple(copied))
    return work


def too_few_columns(d: int, others: list[Column], sep: str, place: Place, notes: Notes) -> None:
    """Fewer than two number columns cannot be analysed."""
    aside = [c for c in others if c.role in ("label", "id", "time")]
    labels = [c.name for c in aside if c.role == "label" and 2 <= len(c.labels) <= MOST_LABELS]
    fix = Fix("add columns of numbers")
    if labels:
        fix = Fix("use labels as categories:  ", propose(encode=labels))
    if sep:
        fix = Fix("a wrong separator?  ", propose(sep=sep))
    where = listing([f"{c.name} ({c.role})" for c in aside])
    notes.add(
        "LD113",
        f"{place.name}{': ' * bool(where)}{where}",
        n=d,
        fix=fix,
        why="an axis is made of columns that move together",
    )


@np.errstate(over="ignore", invalid="ignore")  # numbers near the end of double precision are noted, not feared
def remarks(work: Numbers, everything: list[Column], options: ReadingOptions, place: Place, notes: Notes) -> Numbers:
    """Everything that is worth knowing and changes nothing; the columns come back with their notes. `everything` are
    all columns of the table, whatever they are for."""
    n, d = work.X.shape
    if n <= d:
        swapped = Fix("rows and columns swapped?  ", propose(transpose=True), "\n") if n < d else Fix()
        fix = Fix(*swapped.parts, "more rows, or fewer columns")
        notes.add("LD161.table", place.name, n=n, d=d, most=n - 1, fix=fix)
    numbers = work.keep(work.measured)
    quartiles = np.empty((3, d))
    whole = ~np.isnan(work.X).any(axis=0)  # these all at once
    quartiles[:, whole] = np.quantile(work.X[:, whole], (0.25, 0.5, 0.75), axis=0)
    for j in np.flatnonzero(~whole):
        quartiles[:, j] = np.quantile(work.X[~np.isnan(work.X[:, j]), j], (0.25, 0.5, 0.75))
    _disguised(numbers, place, notes)
    _wrong(numbers, place, notes)
    _gappy(work, place, notes)
    if options.scale != "none":
        _rare(work, quartiles[1], notes)
    _huge(numbers, place, notes)
    _near_copies(numbers, options, notes)
    _closed(numbers, notes)
    _repeats(work, everything, place, notes)
    _in_order(numbers, everything, notes)
    notes_of = [_note(c, work.X[:, j], quartiles[:, j], work.rows) for j, c in enumerate(work.columns)]
    return work._replace(columns=[c._replace(note=note) for c, note in zip(work.columns, notes_of, strict=True)])


def _skewness(x: Array) -> float:
    off = x - x.mean()
    return float((off**3).mean() / max(float((off**2).mean()), 1e-300) ** 1.5)


def without_negatives(work: Numbers, options: ReadingOptions, place: Place, notes: Notes) -> Numbers:
    """A negative cell or two that look wrong in a strongly skew column are gaps: they have no logarithm, and would keep
    all other cells of the column from theirs. Unless logarithms are refused or the column is asked for as it is."""
    X, where, columns = work.X.copy(), list[str](), list[str]()
    for j, c in enumerate(work.columns if not options.no_log else ()):
        seen = X[~np.isnan(X[:, j]), j]
        if len(seen) < ENOUGH_CELLS or c.labels or c.levels or asked_role(c.name, options):
            continue
        wrong = below_zero(X[:, j], seen)
        if wrong.any() and _skewness(seen[seen >= 0]) > STRONG_SKEW:
            rows = np.flatnonzero(wrong)
            where += [f"{c.name} {figures(X[i, j], 6)} in {place.unit} {place.lines[work.rows[i]]}" for i in rows]
            columns.append(c.name)
            X[wrong, j] = np.nan
    if not where:
        return work
    notes.add("LD138", place.name, n=len(where), cells=listing(where, MOST_WRONG_TOLD), use=columns)
    return work._replace(X=X)


def _in_order(work: Numbers, everything: list[Column], notes: Notes) -> None:
    """Whether rows are like the next and less like one farther on, in most columns: a series, or a table that is sorted
    by what it measures. In one that is sorted by groups the next row is no nearer than one farther on."""
    n, columns = len(work.X), [j for j, c in enumerate(work.columns) if not c.levels]
    if n < LEAST_IN_ORDER or not columns:
        return
    nearer = []
    for j in (columns[k] for k in evenly_spread(len(columns), MOST_IN_ORDER)):
        rank = ranks_of(work.X[:, [j]])[:, 0]
        gaps = ((rank[k:] - rank[:-k]) ** 2 for k in (1, FARTHER_ON))
        one, far = (gap[~np.isnan(gap)].mean() if not np.isnan(gap).all() else np.nan for gap in gaps)
        nearer.append(1.0 - one / far if far > 0 else 0.0)
    timed = any(c.role == "time" or c.date or c.kind in ("year", "month", "quarter", "time") for c in everything)
    least = max(IN_TIME if timed else IN_ORDER, ORDER_ERRORS / np.sqrt(n))
    if sorted(nearer)[(len(nearer) - 1) // 2] > least:
        notes.add("LD127", n=f"{n:,}")


def _wrong(work: Numbers, place: Place, notes: Notes) -> None:
    """Cells that look wrong by themselves: up to twenty are named, by row and column, those of one reason together."""
    cells = wrong_cells(work.X, work.columns)
    if cells:
        told = dict[str, list[str]]()
        for c in cells[:MOST_WRONG_TOLD]:
            where = f"in {place.unit} {place.lines[work.rows[c.row]]}"
            value = figures(work.X[c.row, c.column], 6)
            told.setdefault(c.why, []).append(f"{work.names[c.column]} {value} {where}")
        more = f" and {len(cells) - MOST_WRONG_TOLD} more" if len(cells) > MOST_WRONG_TOLD else ""
        said = "; ".join(f"{', '.join(named)} ({why})" for why, named in told.items())
        notes.add("LD135", place.name, n=len(cells), cells=said + more)


def _gappy(work: Numbers, place: Place, notes: Notes) -> None:
    share = np.isnan(work.X).mean(axis=0)
    for j in np.flatnonzero(share >= GAPPY_SHARE):
        c = work.columns[j]
        notes.add(
            "LD122",
            f"{place.name}, column {c.position}",
            column=c.name,
            share=f"{share[j]:.0%}",
            others=len(work.columns) - 1,
            drop=[c.name],
        )


def _rare(work: Numbers, middles: Array, notes: Notes) -> None:
    """Columns that scaling stretches; answers have a likelihood of their own."""
    for j, middle in enumerate(middles.tolist()):
        c, x = work.columns[j], work.X[:, j]
        x = x[~np.isnan(x)]
        share = float((x == middle).mean())  # a value that most rows have is the median
        if ONE_VALUE_SHARE <= share < 1 and len(x) >= 20 and not c.is_answer:
            notes.add(
                "LD132",
                f"column {c.position}",
                column=c.name,
                count=len(np.unique(x)),
                value=figures(middle, 6),
                share=f"{np.floor(100 * share):.0f}%",
                rows=count(int((x != middle).sum()), "row"),
                drop=[c.name],
            )


def _disguised(work: Numbers, place: Place, notes: Notes) -> None:
    """A code such as -999 that stands far from every other number of its column, where it was not taken for a gap."""
    for code in find_gap_codes({c.name: work.X[:, j] for j, c in enumerate(work.columns)}):
        first = code.columns[0]
        row = np.argmax(work.X[:, work.names.index(first)] == code.value)
        notes.add(
            "LD151",
            f"e.g. {first}: {place.unit} {place.lines[work.rows[row]]}",
            value=f"{code.value:.15g}",
            na=[f"{code.value:.15g}"],
            columns=count(len(code.columns), "column"),
            times="once" if code.times == 1 else f"{code.times:,} times",
        )


def _huge(work: Numbers, place: Place, notes: Notes) -> None:
    high = np.fmax.reduce(np.abs(work.X), axis=0, initial=0.0)
    for j in np.flatnonzero(high > HUGE_NUMBER):
        c, x = work.columns[j], work.X[:, j]
        ways = [("take its logarithm", propose(log=[c.name]))] if (x[~np.isnan(x)] > 0).all() else []
        row = int(np.nanargmax(np.abs(x)))
        notes.add(
            "LD152.table",
            f"{place.unit} {place.lines[work.rows[row]]}: {figures(x[row])}",
            column=c.name,
            fix=choices([*ways, ("leave it out", propose(drop=[c.name]))]),
        )


def _near_copies(work: Numbers, options: ReadingOptions, notes: Notes) -> None:
    """Pairs whose correlation is one: by a product of standardised columns, then checked on all rows."""
    n, d = work.X.shape
    step = max(1, int(np.ceil(n * d * d / PAIRS_WORK)))
    if d < 2 or d * d > PAIRS_WORK / 100 or options.keep_copies:
        return
    families: dict[int, dict[int, float]] = {}  # the first of each, and the correlations of the others with it
    known = set[int]()
    for i, j in alike_pairs(work.X[::step], MOST_PARTNERS):
        if i in known or j in known:  # a copy of a copy was found with the first
            continue
        both = ~np.isnan(work.X[:, i]) & ~np.isnan(work.X[:, j])
        r = _correlation(work.X[both, i], work.X[both, j]) if both.sum() >= 5 else 0.0
        if abs(r) >= SAME_CORRELATION and not _alike_by_chance(work.X[both, i], d):
            families.setdefault(i, {})[j] = r
            known.add(j)
    for first, others in families.items():
        names = [work.names[j] for j in (first, *others)]
        notes.add(
            "LD142",
            what=listing([f"'{name}'" for name in names], last=" and "),
            r=", ".join(dict.fromkeys(f"{r:.4f}" for r in others.values())),
            times="twice" if len(names) == 2 else f"{len(names)} times",
            drop=[work.names[j] for j in others],
        )


def _alike_by_chance(x: Array, columns: int) -> bool:
    """Whether a column whose rows are nearly all the same would have its like among so many by chance: of species that
    were seen in one plot of fifty, two in the same plot are not the same quantity."""
    seen = x[~np.isnan(x)]
    n, times = len(seen), np.unique(seen, return_counts=True)[1].max(initial=0)
    if times < ONE_VALUE_SHARE * n or n == times:
        return False
    ways = gammaln(n + 1) - gammaln(times + 1) - gammaln(n - times + 1)  # of choosing the other rows, in logarithms
    return bool(ways < np.log(CHANCE_PAIRS * columns**2 / 2))


def _correlation(x: Array, y: Array) -> float:
    with np.errstate(all="ignore"):
        x, y = x / np.abs(x).max(initial=0), y / np.abs(y).max(initial=0)
        x, y = x - x.mean(), y - y.mean()
        r = float(x @ y / np.sqrt((x @ x) * (y @ y)))
    return r if np.isfinite(r) else 0.0


def _closed(work: Numbers, notes: Notes) -> None:
    """Neighbouring columns that add up to 100 or 1 in every complete row."""
    parts = [j for j in range(len(work.columns)) if np.nanmin(work.X[:, j]) >= 0]
    cuts = [0, *[k + 1 for k, (a, b) in enumerate(pairwise(parts)) if b != a + 1], len(parts)]
    for run in (parts[a:b] for a, b in pairwise(cuts)):  # of neighbours
        X = work.X[:, run]
        X = X[~np.isnan(X).any(axis=1)]
        if len(X) < 5 or len(run) < 3 or len(run) > 200:
            continue
        sums = np.concatenate([np.zeros((len(X), 1)), np.cumsum(X, axis=1)], axis=1)
        for total, slack in ((100.0, 0.5), (1.0, 0.005)):
            spans = [
                (b - a, a, b)
                for a in range(len(run))
                for b in range(a + 3, len(run) + 1)
                if (np.abs(sums[:, b] - sums[:, a] - total) <= slack).all()
            ]
            if spans:
                _, a, b = max(spans)
                names = [work.names[j] for j in run[a:b]]
                notes.add(
                    "LD190",
                    f"columns {work.columns[run[a]].position} to {work.columns[run[b - 1]].position}",
                    names=listing(names),
                    total=f"{total:g}",
                    drop=names[-1:],
                )
                return


def _repeats(work: Numbers, everything: list[Column], place: Place, notes: Notes) -> None:
    """Rows that are there twice, in all columns but those that count rows; where all columns hold answers, rows give
    the same ones by nature."""
    d = work.X.shape[1]
    measured = {c.name for c in work.columns}
    beside = [c for c in everything if c.name not in measured and not _counts_rows(c)]
    if d + len(beside) < 3 or all(c.is_answer for c in work.columns):
        return
    rows = np.ascontiguousarray(work.X + 0.0)
    keys = rows.view(np.dtype((np.void, rows.itemsize * d))).ravel()
    _, group, times = np.unique(keys, return_inverse=True, return_counts=True)
    alike = np.flatnonzero((times[group] > 1) & ~np.isnan(work.X).all(axis=1))  # no number: not measured twice
    others = [c.at(work.rows[alike]).words for c in beside]
    seen, again = set[tuple[object, ...]](), list[int]()
    for k, row in enumerate(alike.tolist()):
        line = (int(group[row]), *(str(words[k]) for words in others))
        if line in seen:
            again.append(row)
        seen.add(line)
    if len(again):
        one = len(again) == 1
        notes.add(
            "LD191",
            "",
            what=f"{count(len(again), 'row')} repeat{'s' * one}",
            rows=f"{place.unit}{'' if one else 's'} {listing(place.lines[work.rows[again]])}",
        )


def _counts_rows(c: Column) -> bool:
    """Whether a column numbers the rows one after the other, so that no two can be alike in it."""
    try:
        return c.role == "id" and bool((np.diff([float(v) for v in c.words]) == 1).all())
    except (TypeError, ValueError):
        return False


def _note(c: Column, x: Array, quartiles: Array, rows: NDArray[np.intp]) -> str:
    """The remark of a column in the table of columns."""
    words = [c.note] if c.note else []
    share = float(np.isnan(x).mean())
    if share >= GAPPY_SHARE:
        words.append("almost half missing" if share < 0.5 else "half missing or more")
    if c.labels:
        return "; ".join(words)
    q1, middle, q3 = quartiles
    spread = (q3 - q1) / 1.349  # the standard deviation of a Gaussian with these quartiles
    far = np.flatnonzero(np.abs(x - middle) > FAR_SPREADS * spread) if spread > 0 else np.array([], dtype=int)
    if 0 < len(far) <= 3:
        words.append(f"{count(len(far), 'far value')} (row{'s' * (len(far) > 1)} {listing(rows[far] + 1)})")
    return "; ".join(words)
