"""fill: the gaps of a table, with intervals; everything else is written back as it came."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lowdim.cli.analysing import command_line, open_table
from lowdim.cli.command import command
from lowdim.cli.new_rows import NO_PLACE, NO_PLACES
from lowdim.cli.options import CHECKPOINT, FILL_BUDGET, LEVEL, SEED, STREAM, asking, stem
from lowdim.cli.progress import Stages
from lowdim.cli.say import message_log, print_json, say, show_messages
from lowdim.cli.streaming import drawn_from, or_stream, run_of

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Settings
    from lowdim.judge.fills.filled_table import Fills
    from lowdim.judge.fills.labels import LabelFill
    from lowdim.table.table import Column, Table
    from lowdim.table.write_back import Sheet, Texts

NAMED_LEFT = 12  # columns whose gaps stay, with the reason of each
# endings that promise something else than text
OTHER = (
    ".parquet",
    ".feather",
    ".arrow",
    ".npy",
    ".npz",
    ".xlsx",
    ".xlsm",
    ".xls",
    ".ods",
    ".json",
    ".html",
    ".xml",
    ".h5",
    ".hdf5",
    ".db",
    ".sqlite",
    ".pkl",
    ".pickle",
    ".gz",
    ".zip",
    ".bz2",
    ".xz",
    ".zst",
    ".rds",
    ".rda",
    ".sav",
    ".dta",
    ".mat",
    ".pdf",
)


class Output(NamedTuple):
    """Where fills go: the table they belong to, its cells as they came, and the first file."""

    table: Table
    sheet: Sheet
    file: str
    out: Path
    as_json: bool

    def name(self, word: str) -> Path:
        """The file beside OUT that holds this."""
        return self.out.with_name(f"{self.out.stem}.{word}{self.out.suffix}") if word else self.out


@command(
    "Fill the gaps, with intervals.",
    example="lowdim fill table.csv -o filled.csv --intervals",
    rank=4,
)
@click.option("-o", "--out", required=True, help="File for the filled table: CSV, or as FILE is.")
@click.option(
    "--intervals",
    is_flag=True,
    help="Also write OUT.lower.csv, OUT.upper.csv and OUT.mask.csv; of labels, which have no interval, and of levels "
    "OUT.probability.csv.",
)
@click.option(
    "--multiple",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="M",
    help="Write M tables drawn jointly, for statistics.",
)
@asking(LEVEL, SEED, FILL_BUDGET, STREAM, CHECKPOINT)
def fill_command(
    file: str,
    options: dict[str, Any],
    settings: Settings,
    as_json: bool,
    out: str,
    intervals: bool,
    multiple: int,
) -> None:
    """Fill the gaps of a table, with intervals checked on cells hidden on purpose.

    Straight lines through a row's other cells fill its gaps, or what predicts the hidden cells better: near rows,
    mixtures of groups, a bent sheet, chained trees, a latent model with a likelihood for each column. Gaps in columns
    of words get their most likely label.

    OUT has every column of FILE in its place, and every cell that was seen as it stood. With --stream it has the
    columns of numbers, as .parquet, .csv, .npy or .zarr.
    """
    from lowdim.table.options import check_options
    from lowdim.table.read import load_raw
    from lowdim.table.write_back import original
    from lowdim.text.messages import check_level, error

    if options.get("stream"):
        if multiple:
            raise error("LD175", flag="--multiple", instead="draw tables from a sample of rows in memory")
        check_other(file, out)
        return fill_file(file, options, settings, out, intervals=intervals, as_json=as_json)
    check_ending(out)
    check_other(file, out)
    check_level(settings.level)
    with or_stream(options):
        raw = load_raw(file, check_options(options))
        table = open_table(raw, {**options, "labelled_rows": True})
    to = Output(table, original(raw, options), file, Path(out), as_json)
    if (table.X != table.X).any() or filled_aside(table):
        return fill_gaps(to, settings, intervals, multiple)
    return keep_as_it_is(to, settings, intervals, multiple)


def filled_aside(table: Table) -> set[str]:
    """The columns beside the numbers that have gaps which can be filled: words, and copies of other columns."""
    from lowdim.judge.fills.filled_table import number_copies
    from lowdim.judge.mixed.copied_labels import word_columns

    words = {c.name for c in word_columns(table).values() if len(c.gaps) or (c.left != c.left).any()}
    return words | {copy.column for copy in number_copies(table) if len(copy.rows)}


def keep_as_it_is(to: Output, settings: Settings, intervals: bool, multiple: int) -> None:
    """A table without gaps is written as it came."""
    from lowdim.judge.fills.filled_table import NO_GAPS

    wrote, out = write_same(to, intervals, multiple), str(to.out)
    same = to.out.read_bytes() == Path(to.file).read_bytes()
    last = f"{out} is {to.file} as it came." if same else f"{out} has every cell of {to.file}, written anew."
    print_fills(to, settings, wrote, {"sentence": NO_GAPS, "columns": []}, [NO_GAPS], last)


def fill_gaps(to: Output, settings: Settings, intervals: bool, multiple: int) -> None:
    """Fill a table and write it back."""
    from lowdim.judge.fills.fills import fill
    from lowdim.judge.gaps import gap_report

    table, level, seed = to.table, settings.level, settings.seed
    fills = fill(table, level=level, random_state=seed, budget=settings.budget)
    show_messages(gap_report(table.X, table.names, table.code_labels).notes())
    wrote = write_fills(to, fills, intervals, multiple, seed)
    fills_from = fills.own_model(map_dims(table, to.file)) if fills.filled_numbers else ""
    facts = {
        "sentence": fills.sentence,
        "columns": list(fills.columns),
        "labels": [label_facts(c) for c in fills.labels],
        "copies": [{"column": c.column, "gaps": len(c.rows), "of": c.kept} for c in fills.copies],
        "fills_from": fills_from,
        "engine": fills.engine,
        "contest": list(fills.contest),
    }
    measured = f"Do not analyse {to.out} as if it had been measured. For statistics use --multiple 20."
    print_fills(to, settings, wrote, facts, fill_lines(to, fills), "" if multiple else measured)


def label_facts(c: LabelFill) -> dict[str, Any]:
    """What the fills of a column of words are worth."""
    known = c._asdict()
    left = {"rows", "shares", "drawn", "numbers", "position", "left", "left_shares"}
    return {name: value for name, value in known.items() if name not in left} | {
        "gaps": c.gaps,
        "skill": c.skill,
        "advice": c.advice,
    }


def print_fills(
    to: Output, settings: Settings, wrote: list[Path], facts: dict[str, Any], lines: list[str], last: str
) -> None:
    """What was filled and written, as text or JSON."""
    unfilled = left_words(to.table)
    if to.as_json:
        print_json(**facts, wrote=[str(path) for path in wrote], level=settings.level, left=unfilled)
    else:
        say("\n".join(filter(None, [*lines, *unfilled, "Wrote " + ", ".join(map(str, wrote)), last])))


def check_ending(out: str) -> None:
    """Refuse the name of a file that would not be text."""
    from lowdim.text.escape import protect_terminal, shell_word
    from lowdim.text.messages import error

    if out.lower().endswith(OTHER):
        csv = protect_terminal(str(Path(out).with_suffix(".csv")))
        raise error("LD309", path=protect_terminal(out), csv=shell_word(csv))


def check_other(file: str, out: str) -> None:
    """Refuse to write over the table itself."""
    from lowdim.text.escape import protect_terminal, shell_word
    from lowdim.text.messages import error

    here = Path(out)
    if here.exists() and Path(file).exists() and here.samefile(file):
        other = protect_terminal(str(here.with_name(f"{here.stem}.filled{here.suffix}")))
        raise error("LD312", path=protect_terminal(out), other=shell_word(other))


# writing ------------------------------------------------------------------------------------------------
def write_same(to: Output, intervals: bool, multiple: int) -> list[Path]:
    """A table without gaps: the same bytes again, unless something in it must not be written as it stands."""
    from lowdim.jobs.run_folder import write
    from lowdim.table.write_back import harmless

    same = to.sheet.whole and harmless(to.sheet) and not _tabs(to)
    files = ["", *(("lower", "upper") if intervals else ()), *(str(k + 1) for k in range(multiple))]
    wrote = [
        write(to.name(word), Path(to.file).read_bytes()) if same else put(to, word, to.sheet, {}) for word in files
    ]
    return [*wrote[:3], put(to, "mask", to.sheet.constant("0"), {}), *wrote[3:]] if intervals else wrote


def write_fills(to: Output, fills: Fills, intervals: bool, multiple: int, seed: int) -> list[Path]:
    """The filled table and what goes with it, each of the same shape as FILE but for the probabilities of labels."""
    where = [(k, c) for k, c in enumerate(to.table.numbers) if fills.is_filled[:, k].any() and not c.labels]
    written = {c.position: as_written(to, c) for _, c in where}

    def cells(values: Any, labels: Texts, end: int = 0) -> Texts:
        from lowdim.table.write_back import fill_texts

        new = dict(labels) | copy_texts(to, fills, values, end)
        for k, c in where:
            gap = fills.is_filled[:, k]
            half = (fills.upper[gap, k] - fills.lower[gap, k]) / 2
            texts = fill_texts(values[gap, k], half, *written[c.position])
            new[c.position - 1] = dict(zip(to.table.rows[gap].tolist(), texts, strict=True))
        return new

    likely = label_texts(to, fills)
    wrote = [put(to, "", to.sheet, cells(fills.filled, likely))]
    if intervals:
        ones = {j: dict.fromkeys(rows, "1") for j, rows in cells(fills.filled, likely).items()}
        wrote += [
            put(to, "lower", to.sheet, cells(fills.lower, {}, -1)),  # a label has no interval: its gaps stay
            put(to, "upper", to.sheet, cells(fills.upper, {}, 1)),
            put(to, "mask", to.sheet.constant("0"), ones),
            *([put_probabilities(to, fills)] if fills.labels or levels_with_gaps(to, fills) else ()),
        ]
    for k, values in enumerate(fills.multiple(multiple, random_state=seed) if multiple else ()):
        wrote.append(put(to, str(k + 1), to.sheet, cells(values, label_texts(to, fills, seed, k))))
    return wrote


def copy_texts(to: Output, fills: Fills, values: Any, end: int) -> Texts:
    """The gaps of columns that are functions of others, by these values of those; or one end of their intervals."""
    from lowdim.table.write_back import fill_texts

    new: Texts = {}
    for copy in fills.copies:
        _, lower, upper = fills.of_copy(copy)
        own = (copy.at(values), upper, lower)[end]
        column = next(c for c in to.table.columns if c.position == copy.position)
        texts = fill_texts(own, (upper - lower) / 2, *as_written(to, column))
        new[copy.position - 1] = dict(zip(to.table.rows[copy.rows].tolist(), texts, strict=True))
    return {j: texts for j, texts in new.items() if texts}


def label_texts(to: Output, fills: Fills, seed: int = 0, draw: int | None = None) -> Texts:
    """The labels that fill the gaps of columns of words: the most likely ones, or those of a draw."""
    new: Texts = {}
    for c in fills.labels:
        words = [c.labels[k] for k in (c.every_best if draw is None else c.drawn(seed, draw))]
        new[c.position - 1] = dict(zip(file_rows(to, c), words, strict=True))
    return new


def file_rows(to: Output, c: LabelFill) -> list[int]:
    """The rows of FILE, from 0, in which a column of words was a gap: those of the table, then those left out of it."""
    return [*to.table.rows[c.rows].tolist(), *to.table.left_rows[c.left].tolist()]


def put_probabilities(to: Output, fills: Fills) -> Path:
    """A column for each label of each column of words that had gaps, and for each level of each column of levels; a
    line for each row of FILE: how likely it is; 1 and 0 where it was seen."""
    import numpy as np

    from lowdim.jobs.run_folder import write
    from lowdim.judge.mixed.copied_labels import word_columns
    from lowdim.table.write_back import lines

    codes = word_columns(to.table)
    columns: dict[str, list[str]] = {}
    every_row = [*to.table.rows.tolist(), *to.table.left_rows.tolist()]
    for c in fills.labels:
        own = np.concatenate([codes[c.position].coded.values, codes[c.position].left]).tolist()
        for k, label in enumerate(c.labels):
            texts = columns[f"{c.column}={label}"] = [""] * to.sheet.rows
            for row, code in zip(every_row, own, strict=True):
                texts[row] = "" if code != code else str(int(code == k))
            every = [*c.shares[:, k].tolist(), *(c.left_shares[:, k].tolist() if len(c.left) else ())]
            for row, p in zip(file_rows(to, c), every, strict=True):
                texts[row] = f"{p:.4f}".replace(".", to.table.guess.decimal)
    for j, number in levels_with_gaps(to, fills):
        share, gap = fills.level_shares(j), fills.is_filled[:, j]
        for k, level in enumerate(number.levels):
            own = np.where(gap, -1.0, to.table.X[:, j] == level)
            own[gap] = share[:, k]
            texts = columns[f"{number.name}={level:g}"] = [""] * to.sheet.rows
            for row, p, filled in zip(to.table.rows.tolist(), own.tolist(), gap.tolist(), strict=True):
                texts[row] = f"{p:.4f}".replace(".", to.table.guess.decimal) if filled else f"{p:.0f}"
    sheet = to.sheet.other_columns(columns)
    sheet = sheet._replace(sep="\t") if _tabs(to) else sheet
    return write(to.name("probability"), lines(sheet, {}), encoding=sheet.encoding)


def levels_with_gaps(to: Output, fills: Fills) -> list[tuple[int, Column]]:
    """The columns of numbers that have levels and had gaps, with their positions among the numbers."""
    return [(j, c) for j, c in enumerate(to.table.numbers) if c.levels and fills.is_filled[:, j].any()]


def put(to: Output, word: str, sheet: Sheet, new: Texts) -> Path:
    """Write one of the files; a .tsv has tabs whatever FILE has."""
    from lowdim.jobs.run_folder import write
    from lowdim.table.write_back import lines

    sheet = sheet._replace(sep="\t") if _tabs(to) else sheet
    return write(to.name(word), lines(sheet, new), encoding=sheet.encoding)


def _tabs(to: Output) -> bool:
    return to.out.suffix.lower() in (".tsv", ".tab") and to.sheet.sep != "\t"


def as_written(to: Output, c: Column) -> tuple[str, tuple[str, str]]:
    """How a column's fills are written, as its own cells are: their decimal sign, and the unit around them."""
    from lowdim.table.write_back import around_numbers, decimal_of

    cells, unit = to.sheet.cells[c.position - 1], dict(to.table.guess.units).get(c.name, "")
    return decimal_of(cells, to.table.guess.decimal, unit), around_numbers(cells, unit)


# words --------------------------------------------------------------------------------------------------
def fill_lines(to: Output, fills: Fills) -> list[str]:
    """The table of fills, and what to paste where a logarithm may serve better."""
    from lowdim.text.escape import join_names

    logged = {c.name for c in to.table.columns if c.role == "number" and c.log}
    lines = [fills.text(map_dims=map_dims(to.table, to.file), logged=logged)]
    if log := fills.to_log(logged):
        lines.append(f"As logarithms:  {command_line()} --log {join_names(log)}")
    if logged:
        lines.append(
            f"Fills of {', '.join(sorted(logged))} were made as logarithms; they are in the column's own unit."
        )
    return lines


def left_words(table: Table) -> list[str]:
    """What OUT still has as gaps, or only a part of."""
    from lowdim.text.format import count, listing

    filled = filled_aside(table)
    left = (c for c in table.columns if c.gaps.any() and c.role != "number" and c.name not in filled)
    still = [f"{c.name} ({int(c.gaps.sum()):,}; {c.why_aside})" for c in left]
    lines = [f"Left as they are: gaps in {listing(still, NAMED_LEFT)}."] if still else []
    lines += no_number_words(table)
    if len(table.left_rows):
        lines.append(no_place_words(table))
    if table.guess.skipped:
        lines.append(f"Not written again: {count(table.guess.skipped, 'line')} before the table.")
    return lines


def no_number_words(table: Table) -> list[str]:
    """Which rows are filled though they hold labels only, and from what."""
    import numpy as np

    from lowdim.table.kinds.copies import told_by_copies
    from lowdim.text.format import listing

    rows = table.rows[np.isnan(told_by_copies(table).X).all(axis=1)]
    if not len(rows):
        return []
    named, its = (f"Row {rows[0] + 1} has", "its") if len(rows) == 1 else (f"Rows {listing(rows + 1)} have", "their")
    how = f"{its} numbers are filled from {its} labels, or with what the columns hold where the engine sees no labels"
    return [f"{named} no measured number: {how}."]


def no_place_words(table: Table) -> str:
    """What becomes of rows without a measured number, in the words of `explain`."""
    from lowdim.judge.mixed_table import mixed_table
    from lowdim.text.format import listing

    one, mixed = len(table.left_rows) == 1, mixed_table(table)
    rows = f"Row{'' if one else 's'} {listing(table.left_rows + 1)} {NO_PLACE if one else NO_PLACES}"
    some = any(len(mixed.left_gaps(j)) for j in mixed.words_with_gaps)
    its = "its" if one else "their"
    how = f"{its} labels are filled from {its} other labels, or from what rows hold in general"
    return f"{rows}; {how if some else f'{its} gaps are left'}."


def map_dims(table: Table, file: str) -> int | None:
    """The dimensions of the map of the same table, where its run stands beside us."""
    from lowdim.jobs.run_folder import load_run
    from lowdim.text.messages import LowdimError

    try:
        facts = load_run(f"{stem(file)}.run").facts
    except LowdimError:
        return None
    dims = facts.get("dims")
    return int(dims) if facts["table"].get("sha256") == table.sha256 and isinstance(dims, int) else None


# a file larger than memory ----------------------------------------------------------------------------
def fill_file(
    file: str, options: dict[str, Any], settings: Settings, out: str, *, intervals: bool, as_json: bool
) -> None:
    """Fill a file by a model of all its rows."""
    from lowdim.jobs.large import fill_stream
    from lowdim.sources.sinks import as_sink
    from lowdim.text.messages import check_level

    level, seed = settings.level, settings.seed
    check_level(level)
    as_sink(out, 1)  # refuses an ending that no format has, before any work
    with Stages(message_log().quiet) as stages:
        drawn = drawn_from(file, options, seed)
        stages("read", f"{drawn.table.n:,} of {drawn.whole.n:,} rows drawn")
        stages.now = "fills"
        filled = fill_stream(drawn, out, level=level, random_state=seed, intervals=intervals, run=run_of(options))
        stages("fills", f"{filled.total:,} gaps")
    if as_json:
        print_json(
            sentence=filled.sentence,
            columns=list(filled.rated.columns),
            gaps=filled.gaps,
            left=filled.unfilled,
            dims=int(filled.model.n_components_),
            rows=filled.rows,
            drawn=filled.drawn,
            wrote=list(filled.wrote),
            level=level,
            converged=bool(filled.model.converged_),
        )
        return
    say(
        "\n".join(
            [
                filled.text(),
                "Wrote " + ", ".join(filled.wrote),
                f"Do not analyse {out} as if it had been measured." if filled.total else "",
            ]
        ).rstrip()
    )
