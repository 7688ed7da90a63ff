"""The catalogue of messages: what happened, where, why it matters, and what to do about it.

Every error and warning of lowdim is made here, so that one code has one text wherever it appears.
Rows are counted from 1 in messages; Python positions are counted from 0.
"""
from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple


class Message(NamedTuple):
    """One message: a code, its severity, and four lines of text."""

    code: str
    severity: str
    what: str
    where: str
    why: str
    fix: str

    def __str__(self) -> str:
        lines = [f"{self.code} {self.severity}  {self.what}"]
        for name, text in (("where", self.where), ("why", self.why), ("fix", self.fix)):
            if text:
                lines.append(f"  {name:<7} " + text.replace("\n", "\n" + " " * 10))
        return "\n".join(lines)


class LowdimError(Exception):
    """Any error lowdim raises on purpose; `code`, `fix` and the whole `message` are attributes."""

    def __init__(self, message: Message | str) -> None:
        super().__init__(str(message))
        self.message = message
        self.code = message.code if isinstance(message, Message) else ""
        self.fix = message.fix if isinstance(message, Message) else ""


class TableError(LowdimError, ValueError):
    """The table cannot be used as it is."""


class TableTypeError(TableError, TypeError):
    """A column holds something that is not a number."""


class OptionError(LowdimError, ValueError):
    """An option of a model has a value it cannot have."""


class BudgetError(LowdimError, MemoryError):
    """The job would not fit into the memory it was given."""


class FitError(LowdimError, ArithmeticError):
    """A fit came to numbers that are not finite; nothing of it is kept."""


class EngineError(LowdimError, RuntimeError):
    """Whoever was to do the work cannot."""


class VerbError(LowdimError, AttributeError):
    """This model cannot have this verb; the text says why and what to use instead."""


class FileError(LowdimError, ValueError):
    """A model file that is damaged, foreign or cannot be written."""


class LowdimWarning(UserWarning):
    """Any warning lowdim gives on purpose."""


class TableWarning(LowdimWarning):
    """Something about the table that the reader of a result should know."""


class ModelWarning(LowdimWarning):
    """Something about the fitted model that the reader of a result should know."""


class Entry(NamedTuple):
    kind: type
    what: str
    why: str = ""
    fix: str = ""
    severity: str = ""  # where the kind does not say it: "changed" went on with an altered table
    instead: tuple[tuple[str, str], ...] = ()  # (a word of the problem, the fix that goes with it)
    about: str = ""  # what it is about, for `lowdim help`, where `what` is nearly all facts


CATALOGUE: dict[str, Entry] = {
    # the shape of a table
    "LD100": Entry(TableError, "A table needs two dimensions, got an array of shape {shape}",
                   "rows are observations and columns are variables",
                   "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"),
    "LD101": Entry(TableTypeError, "'{type}' is not a table lowdim can read",
                   "", "pass a NumPy array, a masked array, a pandas or polars frame, an Arrow table, a "
                   "scipy.sparse matrix or a memory map"),
    "LD102": Entry(TableError, "Complex data not supported: {column} holds complex numbers",
                   "axes are built from real numbers", "pass X.real, X.imag or abs(X)"),
    "LD104": Entry(TableTypeError, "Column '{column}' cannot be used as a number ({type})",
                   "axes are built from numbers{python}", "leave it out, or encode it as numbers first"),
    "LD105": Entry(TableError, "Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.",
                   "there is nothing to describe", "pass at least one column"),
    "LD107": Entry(TableError, "The columns of this Dask array lie in {count} chunks",
                   "a row must be whole where it is worked on", "X.rechunk({{1: -1}})"),
    "LD108": Entry(TableWarning, "The rows of {count} Dask chunks had not been counted: one more pass counts them",
                   "rows are cut into tiles by their number", "X.compute_chunk_sizes() counts them once and for all"),
    "LD109": Entry(TableError, "A Dask chunk has the shape {shape}; {want} was announced",
                   "what a collection says of itself must hold: rows would be lost or read as others",
                   "give the right meta and chunks where the collection is made"),
    "LD120": Entry(TableError, "Column '{column}' is completely empty",
                   "nothing can be learnt about it, so nothing can be filled in", "leave the column out"),
    "LD121": Entry(TableWarning, "{count} of {n} rows are completely empty",
                   "such a row says nothing: it gets the prior, the middle of the map with full uncertainty",
                   "leave these rows out if that is not wanted"),
    "LD130": Entry(TableWarning, "Column '{column}' never changes; its scale was set to 1",
                   "dividing by a spread of zero is not possible", "leave the column out, or standardize=False"),
    "LD131": Entry(TableError, "Column '{column}' never changes",
                   "a factor model explains correlations, and a constant has none", "leave the column out"),
    "LD133": Entry(TableWarning, "No column varies: all rows are the same",
                   "every direction is as good as any other and none explains anything",
                   "check that the right table was read"),
    "LD150": Entry(TableError, "Infinite value {value} in column '{column}'",
                   "usually a division by zero; reading it as a gap would hide that",
                   "if it really is unknown, replace it with NaN"),
    "LD152": Entry(TableWarning, "{what} beyond the range of double precision were set to {limit}",
                   "values near {size} have squares that cannot be stored; ratios, scores and the logarithms of "
                   "variances are exact", "divide the table by a power of ten"),
    "LD153": Entry(TableWarning, "Column '{column}' keeps few digits of its variation: about {digits}",
                   "its values are so large beside their spread that the stored numbers are coarse",
                   "subtract a constant before storing the column"),
    "LD154": Entry(TableWarning, "Column spreads differ by a factor of {factor}: '{small}' against '{large}'",
                   "variance is measured in the columns' own units, so the largest decides every axis",
                   "standardize=True (--scale unit)"),
    "LD155": Entry(TableError, "Column '{column}' varies by only {sd}, too little to be brought to unit spread",
                   "the factor that would do it cannot be stored", "multiply the table by a power of ten"),
    "LD156": Entry(TableError, "This batch holds values beyond the reach of the first one's",
                   "the first batch set the unit in which all are summed, and sums in it overflow",
                   "fit(X), which sees all rows, or divide every batch by the same power of ten"),
    "LD160": Entry(TableError, "The table has {n} row(s) (n_samples={n}); at least {least} are needed",
                   "variation cannot be seen in fewer", "rows and columns swapped? pass X.T"),
    "LD161": Entry(TableError, "Only {seen} cells are seen, too few to fit anything",
                   "every row or column is almost empty", "check how gaps were coded"),
    "LD162": Entry(TableWarning, "{count} column pair(s) are never seen together, e.g. '{first}' and '{second}'",
                   "their correlation rests on the model alone, not on the data",
                   "read fills across these columns with care"),
    "LD163": Entry(TableError, "{job} needs complete rows, and this table has gaps",
                   "{why}", "{fix}"),
    "LD170": Entry(BudgetError, "{job} needs about {need} of memory; {have} are allowed",
                   "a program that runs out of memory is ended by the system, with nothing to show", "{alternative}"),
    # options
    "LD200": Entry(OptionError, "n_components={asked} is not possible: at most {most}",
                   "{why}", "choose n_components (--dims) between 0 and {most}"),
    "LD213": Entry(OptionError, "n_components={asked} is not possible where a table has gaps",
                   "all directions together reproduce every seen cell and say nothing about the gaps",
                   "choose n_components as a number, at most {most}, or a fraction of the variance"),
    "LD210": Entry(OptionError, "{option}={value!r} is not allowed", "", "choose {allowed}",
                   about="An option has a value that it cannot have"),
    "LD206": Entry(OptionError, "{q} factors are too many for {d} columns: {dof} degrees of freedom",
                   "more parameters than correlations: the factors cannot be told apart", "at most {most} factors"),
    "LD207": Entry(TableError, "Factor analysis needs at least three columns, got {d} feature(s)",
                   "with fewer, common and own variance cannot be told apart", "use ProbabilisticPCA"),
    "LD230": Entry(TableError, "sample_weight is not usable: {problem}",
                   "a weight says how many times a row counts", "pass {n} finite weights >= 0, one a row"),
    "LD231": Entry(TableWarning, "Row weights are not used here: every row counts once",
                   "judges of dimensions and distances compare rows and cells one by one",
                   "repeat the rows instead, or leave the weights out"),
    # what a fit says about itself
    "LD201": Entry(ModelWarning, "{model} stopped after {passes} passes before it had converged: {reason}",
                   "the result is the best seen and is marked converged_=False", "raise max_iter or tol"),
    "LD202": Entry(ModelWarning, "The noise variance reached its floor, {floor:.3g}",
                   "{q} dimensions reproduce the table exactly (rank {rank}), so nothing is left to call noise; "
                   "densities are stated with this floor", "fewer n_components (--dims)"),
    "LD203": Entry(ModelWarning, "Components {first} to {last} have equal variance",
                   "their plane is determined, their directions in it are not", "read them together"),
    "LD204": Entry(ModelWarning, "Heywood case: the uniqueness of '{column}' is on its bound, {bound}",
                   "the factors explain this column (almost) completely, which is rarely believable",
                   "fewer factors, or look for a near copy of this column"),
    "LD205": Entry(ModelWarning, "The correlation matrix is singular; {ridge:.3g} was added to its diagonal",
                   "{why}", "leave out copied or summed columns, or use more rows"),
    "LD208": Entry(ModelWarning, "The objective fell from {before:.10g} to {after:.10g} at pass {number}",
                   "it never should; the best parameters seen were kept", "please report this table's shape"),
    "LD209": Entry(ModelWarning, "{solver} stopped with a residual of {residual:.1e} (asked: {tol:.0e})",
                   "the spectrum is too flat to tell the last components apart",
                   "solver='covariance', or fewer n_components"),
    "LD211": Entry(ModelWarning, "Interrupted: {model} returns the best of {passes} passes, converged_=False",
                   "", "call fit again to start anew; with Run(checkpoint=...) it goes on where it stopped"),
    "LD212": Entry(ModelWarning, "{seen} cells are seen and {free} numbers are free",
                   "the fit may follow the noise", "fewer n_components (--dims)"),
    "LD214": Entry(FitError, "{model} came to a {name} that is not finite",
                   "the model is as it was before this fit", "please report this table's shape and scale"),
    "LD217": Entry(ModelWarning, "The axes hold {times} times the variance of the seen cells: they follow the noise",
                   "least squares on few seen cells a row has no other limit", "use ProbabilisticPCA, or fewer "
                   "n_components"),
    "LD215": Entry(OptionError, "The plot '{name}' needs at least {least} dimension(s), and there are {q}",
                   "the table has too little shared structure for it", "ask for more dims, or choose another plot"),
    "LD216": Entry(OptionError, "The plot '{name}' does not apply to this table", "{why}", "choose another plot"),
    # new rows
    "LD220": Entry(TableError, "X has {got} features, but {model} is expecting {want} features as input{missing}",
                   "the columns must be those the model was fitted on", "select or add the columns"),
    "LD220.table": Entry(TableWarning, "The new table lacks {what}: a gap in every row",
                         "the model was made with it", "add the column, or read the wider positions as what they are"),
    "LD221": Entry(TableWarning, "Column '{column}' of the new rows looks rescaled: its middle is {times} the old one",
                   "a change of unit moves every row off the map", "bring the column to its old unit"),
    "LD222": Entry(TableWarning, "The new table has unknown columns, which were not used: {what}", "", ""),
    "LD223": Entry(TableWarning, "The intervals of these fills are the model's own, not calibrated",
                   "nothing tells how far the map's own table was from its model, as a run of an older lowdim does not",
                   "make the run again:  lowdim fit TABLE"),
    "LD240": Entry(VerbError, "{model} has no '{verb}'", "{why}", "{fix}", about="The model cannot have this verb"),
    # files
    "LD300": Entry(FileError, "'{path}' is not a lowdim model file: {problem}",
                   "a model file is a zip of manifest.json and .npy arrays; nothing else is ever opened",
                   "save the model again with model.save(path)"),
    "LD301": Entry(FileError, "'{path}' is damaged: {problem}", "the checksum or the declared shapes do not hold",
                   "restore it from a copy"),
    "LD302": Entry(FileError, "'{path}' was written by a newer lowdim (format {found}, this one reads {known})",
                   "", "upgrade lowdim"),
    "LD303": Entry(FileError, "Cannot save {what}", "only numbers, text and arrays are stored, never code",
                   "{fix}"),
    "LD304": Entry(FileError, "Could not write '{path}': {problem}", "any older file there is as it was",
                   "save elsewhere", instead=(
                       ("no folder", "make the folder first, or save elsewhere"),
                       ("No such file", "make the folder first, or save elsewhere"),
                       ("Not a directory", "a file has the name of that folder: save elsewhere"),
                       ("Is a directory", "a folder has that name: give the name of a file"),
                       ("File exists", "a file has that name: give the name of a folder"),
                       ("Permission", "you may not write there: save elsewhere"),
                       ("No space", "free some space, or save elsewhere"),
                       ("too large", "free some space, or save elsewhere"))),
    "LD305": Entry(FileError, "'{path}' is not a run folder: {problem}",
                   "a run folder holds run.json and model.lowdim", "make one:  lowdim report table.csv"),
    "LD306": Entry(FileError, "The table of this run is no longer at '{path}'",
                   "a run keeps the model and what was found, not a copy of your table",
                   "put the table back, or analyse it where it is now:  lowdim report TABLE"),
    "LD307": Entry(FileError, "'{path}' has changed since the run '{folder}' was made",
                   "its rows would be judged by a model of other rows", "analyse it again:  lowdim report {path}"),
    "LD308": Entry(TableWarning, "The table of this run is no longer at '{path}': these odd rows are as they were "
                   "found",
                   "a run keeps what was found, not a copy of your table",
                   "for another level, put the table back or analyse it where it is now:  lowdim report TABLE"),
    "LD309": Entry(OptionError, "'{path}' cannot be written: a filled table is written as text, as CSV is",
                   "its cells are kept as they stood in the file", "-o {csv}"),
    "LD312": Entry(OptionError, "'{path}' is the table itself: its gaps would be lost",
                   "what was measured and what was filled could not be told apart again", "-o {other}"),
    # engines
    "LD310": Entry(OptionError, "engine='dask' is not possible here: {problem}",
                   "a cluster is reached through a Client",
                   "start one:  from distributed import Client; client = Client()", instead=(
                       ("lowdim", "install the same lowdim on every worker"),
                       ("asynchronous", "make one without asynchronous=True"))),
    "LD311": Entry(EngineError, "The Dask cluster lost a task for good: {problem}",
                   "nothing was changed; workers that run out of memory are killed by Dask",
                   "look into the workers' logs; give them more memory, or X.rechunk to smaller chunks"),
    # checkpoints
    "LD320": Entry(FileError, "The checkpoint '{path}' is of another fit: {differs}",
                   "its passes are of no use here, and may be wanted elsewhere",
                   "give another folder, or delete this one if it is no longer needed",
                   about="A checkpoint is of another model, of other options or of another table"),
    "LD321": Entry(FileError, "'{path}' is not a checkpoint: {problem}",
                   "a checkpoint is a folder of its own, with manifest.json and a file for each pass",
                   "give the name of a new folder", instead=(
                       ("damaged", "give another folder, or delete this one if it is no longer needed"),
                       ("no pass", "run the same fit again"))),
    "LD322": Entry(FileError, "The checkpoint '{path}' is in use by another fit",
                   "two fits would write over each other's passes", "wait for it, or give this fit another folder"),
    "LD323": Entry(ModelWarning, "'{path}' is damaged and was not used",
                   "its digest does not hold; the fit goes on from the pass before it, to the same result",
                   "if it happens again, look after the disk"),
    "LD324": Entry(ModelWarning, "The checkpoint '{path}' could not be written: {problem}",
                   "the fit goes on in memory; passes since are lost if it is killed",
                   "free some space, or give a folder on another disk"),
    # a person's table: what it is and how it was read ("LD120.table" is LD120 said of a table, not of a fit)
    "LD001": Entry(TableError, "'{name}' does not exist", "{why}", "{fix}"),
    "LD002": Entry(TableError, "'{name}' is not a table I can read", "{why}", "{fix}"),
    "LD003": Entry(TableError, "'{name}' is an HTML page, not CSV",
                   "downloads behind a login often save the login page", "download the table itself, then try again"),
    "LD004": Entry(TableError, "'{name}' needs the {package} package", "", 'pip install "lowdim[{extra}]"'),
    "LD005": Entry(TableError, "'{name}' is empty ({size})", "", "check that it was written completely"),
    "LD006": Entry(TableError, "Rows have different lengths", "", "{fix}"),
    "LD007": Entry(TableError, "A quotation mark is opened and not closed where its cell ends",
                   "everything after it would be read as one cell", "close it, or delete it"),
    "LD008": Entry(TableWarning, "No header row in '{name}': line {line} looks like data and was kept as row 1",
                   "", "--header (use line {line} as names)   --names names.txt (give names)"),
    "LD009": Entry(TableError, "'{name}' cannot be read as {encoding}", "{why}", "{fix}"),
    "LD010": Entry(TableError, "'{name}' has no sheet '{sheet}'", "", "{fix}"),
    "LD015": Entry(TableError, "'{name}' cannot be read as {kind}: {problem}",
                   "the file is damaged, cut short or lies about itself", "write it again from its source"),
    "LD016": Entry(TableError, "'{name}' has other columns than '{first}'",
                   "the files of a folder are read as one table, one below the other",
                   "write the files with the same columns, or name those they share:  columns=[...]"),
    "LD103": Entry(OptionError, "There is no column '{column}'", "{option} names it", "{fix}"),
    "LD104.table": Entry(TableError, "Column '{column}' cannot be used as a number",
                         "axes are built from numbers", "{fix}"),
    "LD106": Entry(OptionError, "{got} names were given for {want} columns", "", "give one name for each column"),
    "LD110": Entry(TableWarning, "{what} and {was}: {names}",
                   "labels cannot shape the axes; they are kept for colouring, searching and describing axes", "{fix}",
                   "changed",
                   about="Columns that are not numbers were set aside as labels"),
    "LD111": Entry(TableError, "Column '{column}' is almost a number: {good} of {seen} cells",
                   "a number that cannot be read must not become a gap unasked", "{fix}"),
    "LD112": Entry(TableError, "{what}", "{why}", "{fix}",
                   about="The decimal sign is a comma in some columns, or can be read in two ways"),
    "LD113": Entry(TableError, "Only {count} numeric column{s} left; at least 2 are needed", "{why}", "{fix}",
                   about="Fewer than two columns of numbers are left"),
    "LD114": Entry(TableWarning, "Thousands separators were taken out in {what}", "", "{fix}", "changed"),
    "LD118": Entry(TableWarning, "Signs of a unit were taken out in {what}", "12 % and $12 are read as 12", "{fix}",
                   "changed"),
    "LD115": Entry(TableError, "Column '{column}' has {count} different labels; at most {most} can be encoded",
                   "each becomes a column of zeros and ones", "keep it as a label:  --label {flag}"),
    "LD116": Entry(TableError, "The logarithm of column '{column}' cannot be taken: {what} not above 0",
                   "", "leave '{column}' as it is, or add a constant to it first"),
    "LD117": Entry(TableWarning, "Column '{column}' holds {type} and was left out",
                   "axes are built from numbers", "{fix}", "changed"),
    "LD119": Entry(TableWarning, "{what} left out of '{name}': {columns}",
                   "axes are built from numbers; text, dates and running numbers are none, and a stream keeps nothing "
                   "else",
                   "encode them as numbers first, or name the columns to use: columns=[...] in Python, --columns on "
                   "the command line", "changed",
                   about="Columns of a file that are not numbers were left out"),
    "LD120.table": Entry(TableWarning, "{what} completely empty and {was} left out",
                         "nothing can be learnt about a column nobody filled in", "{fix}", "changed",
                         about="Columns that are completely empty were left out"),
    "LD121.table": Entry(TableWarning, "{what} completely empty and {was} left out: {rows}",
                         "a row without any number has no place on the map", "", "changed",
                         about="Rows that are completely empty were left out"),
    "LD124": Entry(TableWarning, "Gaps of '{column}' are not at random: it is missing more often where '{on}' is {way}",
                   "fills lean on rows that are unlike those with gaps, so they may be biased ({tested})",
                   "read them with care; find out why the cells are missing", "note",
                   about="Gaps that go with the values of another column"),
    "LD122": Entry(TableWarning, "Column '{column}' is {share} empty. Its fills rest on the other {others} columns",
                   "", "leave it out:  --drop {flag}"),
    "LD130.table": Entry(TableWarning, "{what} never change{s} and {was} left out",
                         "no variation, so nothing to explain, and dividing by zero when scaling", "{fix}", "changed",
                         about="Columns that never change were left out"),
    "LD132": Entry(TableWarning, "Column '{column}' takes {count} values and is {value} in {share} of rows; "
                   "scaling makes {rows} look extreme", "", "--scale none, or --drop {flag}, or keep it knowingly"),
    "LD140": Entry(TableWarning, "Header '{column}' appears {count} times; renamed {names}", "", "{fix}", "changed"),
    "LD141": Entry(TableWarning, "'{column}' is an exact copy of '{other}' and was left out",
                   "a copied column counts twice and bends axis 1 toward itself", "keep it:  --keep-copies", "changed"),
    "LD142": Entry(TableWarning, "{what} are the same quantity (correlation {r})",
                   "together they count {times}", "keep one:  --drop {flag}",
                   about="Columns that are the same quantity"),
    "LD150.table": Entry(TableError, "{what}", "usually a division by zero; turning it into a gap would hide that",
                         "if they really are unknown:  --inf missing",
                         about="Infinite values"),
    "LD151": Entry(TableWarning, "{value} occurs {times} in {columns} and nowhere near the rest: gaps in disguise?",
                   "a code for a gap that is read as a number pulls every axis", "if so:  --na {value}",
                   about="A number such as -999 that may be a code for a gap"),
    "LD152.table": Entry(TableWarning, "Column '{column}' holds values beyond 1e150",
                         "their squares cannot be stored, so variances lose their meaning", "{fix}"),
    "LD160.table": Entry(TableError, "The table has {n} row{s}; at least 3 are needed, and about 3 per dimension to "
                         "be useful", "", "{fix}"),
    "LD161.table": Entry(TableWarning, "{n} rows for {d} columns: at most {most} dimensions can exist, and evidence "
                         "will be weak", "", "{fix}"),
    "LD170.table": Entry(BudgetError, "{name} is {size}{shape}", "{why}", "{fix}",
                         about="The file is too large for the memory"),
    "LD171": Entry(BudgetError, "The table has {d} columns; at most {most} are analysed",
                   "axes over so many columns do not fit into memory", "{fix}"),
    "LD172": Entry(BudgetError, "A cell holds {size}; at most {most} are read",
                   "a quotation mark that is never closed, or not a table", "{fix}"),
    "LD173": Entry(BudgetError, "Memory ran out", "the table and its model did not fit",
                   "use fewer rows with --sample, or fewer columns with --columns"),
    "LD174": Entry(TableError, "'{name}' changed while it was read: {problem}",
                   "one answer made of two tables would be the answer to neither",
                   "wait until the file is written, then start again"),
    "LD175": Entry(OptionError, "{flag} is not possible with --stream",
                   "a stream takes the numbers of a file as they are, a block at a time",
                   "leave {flag} out, or {instead}"),
    "LD180": Entry(TableWarning, "Column '{column}' {what} and was set aside as the name of each row",
                   "a name has no meaning as a measurement", "{fix}", "changed",
                   about="A column was set aside as the name of each row"),
    "LD181": Entry(TableWarning, "Column '{column}' is a date and was set aside as {role}",
                   "a date orders the rows; it does not measure them", "{fix}", "changed"),
    "LD230.table": Entry(TableError, "Column '{column}' cannot be the weight of rows: {problem}",
                         "a weight says how many times a row counts", "do not weight the rows, or correct the column"),
    "LD190": Entry(TableWarning, "{names} add up to {total} in every row",
                   "closed data: one part is known from the others, and correlations lean to the negative",
                   "leave one part out:  --drop {flag}"),
    "LD191": Entry(TableWarning, "{what} an earlier row: {rows}",
                   "a row that is there twice counts twice", "remove them unless they were measured twice",
                   about="Rows that repeat an earlier row"),
}

_SEVERITY = {True: "note", False: "error"}


def message(code: str, where: str = "", **facts: Any) -> Message:
    """The message of a code with its facts filled in."""
    entry = CATALOGUE[code]
    severity = entry.severity or _SEVERITY[issubclass(entry.kind, Warning)]
    problem = str(facts.get("problem", ""))
    remedy = next((text for word, text in entry.instead if word in problem), entry.fix)
    what, why, fix = (part.format(**facts) for part in (entry.what, entry.why, remedy))
    return Message(code.partition(".")[0], severity, what, where, why, fix)  # "LD120.table" is LD120 of a file


def error(code: str, where: str = "", **facts: Any) -> LowdimError:
    """The error of a code, ready to be raised."""
    made = CATALOGUE[code].kind(message(code, where, **facts))
    assert isinstance(made, LowdimError)
    return made


def warn(code: str, where: str = "", **facts: Any) -> None:
    """Give the warning of a code, pointing at the caller's line, not at ours."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("lowdim.", "sklearn.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(str(message(code, where, **facts)), CATALOGUE[code].kind, stacklevel=level)
