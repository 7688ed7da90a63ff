"""What is said about arrays and files as sources of rows, about engines, checkpoints and run folders."""

from __future__ import annotations

from lowdim.text.errors import (
    BudgetError,
    EngineError,
    FileError,
    ModelWarning,
    OptionError,
    TableError,
    TableTypeError,
    TableWarning,
)
from lowdim.text.messages import Entry

TABLES = (
    "pass {path}a NumPy array, a masked array, a pandas or polars frame (a lazy one: collect() it first), an "
    "Arrow table, a scipy.sparse matrix or a memory map"
)

SOURCE_MESSAGES: dict[str, Entry] = {
    # the shape of a table
    "LD100": Entry(
        TableError,
        "A table needs two dimensions, got an array of shape {shape}",
        "rows are observations and columns are variables",
        "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row",
    ),
    "LD101": Entry(
        TableTypeError,
        "'{type}' is not a table lowdim can read",
        "",
        TABLES.format(path=""),
        cases={"person's table": TABLES.format(path="the path of a file, or ")},
    ),
    "LD102": Entry(
        TableError,
        "Complex data not supported: {column} holds complex numbers",
        "axes are built from real numbers",
        "pass X.real, X.imag or abs(X)",
    ),
    "LD104": Entry(
        TableTypeError,
        "Column '{column}' cannot be used as a number ({type})",
        "axes are built from numbers{python}",
        "leave it out, or encode it as numbers first; ld.MixedFactorAnalysis takes labels and answers as they are",
    ),
    "LD105": Entry(
        TableError,
        "Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.",
        "there is nothing to describe",
        "pass at least one column",
    ),
    "LD107": Entry(
        TableError,
        "The columns of this Dask array lie in {count} chunks",
        "a row must be whole where it is worked on",
        "X.rechunk({{1: -1}})",
    ),
    "LD108": Entry(
        TableWarning,
        "The rows of {count} Dask chunks had not been counted: one more pass counts them",
        "rows are cut into tiles by their number",
        "X.compute_chunk_sizes() counts them once and for all",
    ),
    "LD109": Entry(
        TableError,
        "A Dask chunk has the shape {shape}; {want} was announced",
        "what a collection says of itself must hold: rows would be lost or read as others",
        "give the right meta and chunks where the collection is made",
    ),
    "LD120": Entry(
        TableError,
        "Column '{column}' is completely empty",
        "nothing can be learnt about it, so nothing can be filled in",
        "leave the column out",
    ),
    "LD121": Entry(
        TableWarning,
        "{count} of {n} rows are completely empty",
        "such a row says nothing: it gets the prior, the middle of the map with full uncertainty",
        "leave these rows out if that is not wanted",
    ),
    "LD130": Entry(
        TableWarning,
        "Column '{column}' never changes; its scale was set to 1",
        "dividing by a spread of zero is not possible",
        "leave the column out, or standardize=False",
    ),
    "LD130.columns": Entry(
        TableWarning,
        "Column '{column}' never changes",
        "it says nothing about any row: gaps in it get its one value, and the other columns do not gain by it",
        "leave the column out",
    ),
    "LD131": Entry(
        TableError,
        "Column '{column}' never changes",
        "a factor model explains correlations, and a constant has none",
        "leave the column out",
    ),
    "LD133": Entry(
        TableWarning,
        "No column varies: all rows are the same",
        "every direction is as good as any other and none explains anything",
        "check that the right table was read",
    ),
    "LD150": Entry(
        TableError,
        "Infinite value {value} in column '{column}'",
        "usually a division by zero; reading it as a gap would hide that",
        "if it really is unknown, replace it with NaN",
    ),
    "LD152": Entry(
        TableWarning,
        "{what} beyond the range of double precision were set to {limit}",
        "values near {size} have squares that cannot be stored; ratios, scores and the logarithms of "
        "variances are exact",
        "divide the table by a power of ten",
    ),
    "LD153": Entry(
        TableWarning,
        "Column '{column}' keeps few digits of its variation: about {digits}",
        "its values are so large beside their spread that the stored numbers are coarse",
        "subtract a constant before storing the column",
    ),
    "LD154": Entry(
        TableWarning,
        "Column spreads differ by a factor of {factor}: '{small}' against '{large}'",
        "variance is measured in the columns' own units, so the largest decides every axis",
        "standardize=True (--scale unit)",
    ),
    "LD155": Entry(
        TableError,
        "Column '{column}' varies by only {sd}, too little to be brought to unit spread",
        "the factor that would do it cannot be stored",
        "multiply the table by a power of ten",
    ),
    "LD156": Entry(
        TableError,
        "This batch holds values beyond the reach of the first one's",
        "the first batch set the unit in which all are summed, and sums in it overflow",
        "fit(X), which sees all rows, or divide every batch by the same power of ten",
    ),
    "LD160": Entry(
        TableError,
        "The table has too few rows (n_samples={n}); at least {least} are needed",
        "variation cannot be seen in fewer",
        "rows and columns swapped? pass X.T",
    ),
    "LD161": Entry(
        TableError,
        "Only {seen} cells are seen, too few to fit anything",
        "every row or column is almost empty",
        "check how gaps were coded",
    ),
    "LD162": Entry(
        TableWarning,
        "{count} {count|pair of columns is|pairs of columns are} never seen together, e.g. '{first}' and '{second}'",
        "their correlation rests on the model alone, not on the data",
        "read fills across these columns with care",
    ),
    "LD163": Entry(TableError, "{job} needs complete rows, and this table has gaps", "{why}", "{fix}"),
    "LD170": Entry(
        BudgetError,
        "{job} needs about {need} of memory; {have} are allowed",
        "a program that runs out of memory is ended by the system, with nothing to show",
        "{alternative}",
    ),
    # files
    "LD300": Entry(
        FileError,
        "'{path}' is not a lowdim model file: {problem}",
        "a model file is a zip of manifest.json and .npy arrays; nothing else is ever opened",
        "save the model again with model.save(path)",
    ),
    "LD301": Entry(
        FileError,
        "'{path}' is damaged: {problem}",
        "the checksum or the declared shapes do not hold",
        "restore it from a copy",
    ),
    "LD302": Entry(
        FileError,
        "'{path}' was written by another version of lowdim (format {version}, this one reads {known})",
        "",
        "load it with that version, or fit and save the model again",
    ),
    "LD303": Entry(FileError, "Cannot save {what}", "only numbers, text and arrays are stored, never code", "{fix}"),
    "LD304": Entry(
        FileError,
        "Could not write '{path}': {problem}",
        "any older file there is as it was",
        "save elsewhere",
        cases={
            "no folder": "make the folder first, or save elsewhere",
            "a file, not a folder": "a file has the name of that folder: save elsewhere",
            "a folder, not a file": "a folder has that name: give the name of a file",
            "a file is there": "a file has that name: give the name of a folder",
            "not allowed": "you may not write there: save elsewhere",
            "disk full": "free some space, or save elsewhere",
        },
        exit_code=2,
    ),
    "LD305": Entry(
        FileError,
        "'{path}' is not a run folder: {problem}",
        "a run folder holds run.json and model.lowdim",
        "make one:  lowdim report table.csv",
    ),
    "LD306": Entry(
        FileError,
        "The table of this run is no longer at '{path}'",
        "a run keeps the model and what was found, not a copy of your table",
        "put the table back, or analyse it where it is now:  lowdim report TABLE",
    ),
    "LD307": Entry(
        FileError,
        "'{path}' has changed since the run '{folder}' was made",
        "its rows would be judged by a model of other rows",
        "analyse it again:  lowdim report {path}",
    ),
    "LD308": Entry(
        TableWarning,
        "The table of this run is no longer at '{path}': these odd rows are as they were found",
        "a run keeps what was found, not a copy of your table",
        "put the table back, or analyse it where it is now:  lowdim report TABLE",
    ),
    "LD333": Entry(
        FileError,
        "'{path}' may not be opened: {problem}",
        "the system lets only others in there",
        "ask its owner for leave, or have a copy put where you may read it",
    ),
    "LD330": Entry(
        FileError,
        "The table '{name}' is not here: {problem}",
        "it does not ship (its terms do not allow that, or it is large), and nothing is ever fetched",
        "get it ({source}), put it at FOLDER/{file}, then load('{name}', folder=FOLDER) or set LOWDIM_DATA=FOLDER",
        about="A table of the texts that does not ship",
    ),
    "LD331": Entry(
        FileError,
        "'{path}' is another file than the texts' table: its digest begins {digest}, not {expected}",
        "numbers printed in a text can only be met by the table it was written about",
        "get it again ({source}), or read your own copy with lowdim.read(path)",
    ),
    "LD309": Entry(
        OptionError,
        "'{path}' cannot be written: a filled table is written as text, as CSV is",
        "its cells are kept as they stood in the file",
        "-o {csv}",
    ),
    "LD319": Entry(
        FileError,
        "The run '{path}' holds one model ({method}), not the analysis of a table",
        "dimensions, reports and control charts come from the main job, axes with intervals from straight models too",
        "lowdim report TABLE; or lowdim apply {path} NEW for new rows",
        exit_code=2,
    ),
    "LD312": Entry(
        OptionError,
        "'{path}' is the table itself: its gaps would be lost",
        "what was measured and what was filled could not be told apart again",
        "-o {other}",
    ),
    # engines
    "LD310": Entry(
        OptionError,
        "engine='dask' is not possible here: {problem}",
        "a cluster is reached through a Client",
        "start one:  from distributed import Client; client = Client()",
        cases={
            "worker without": "install the same lowdim on every worker",
            "asynchronous": "make one without asynchronous=True",
        },
    ),
    "LD311": Entry(
        EngineError,
        "The Dask cluster lost a task for good: {problem}",
        "nothing was changed; workers that run out of memory are killed by Dask",
        "look into the workers' logs; give them more memory, or X.rechunk to smaller chunks",
    ),
    # checkpoints
    "LD320": Entry(
        FileError,
        "The checkpoint '{path}' is of another fit: {differs}",
        "its passes are of no use here, and may be wanted elsewhere",
        "give another folder, or delete this one if it is no longer needed",
        about="A checkpoint is of another model, of other options or of another table",
    ),
    "LD321": Entry(
        FileError,
        "'{path}' is not a checkpoint: {problem}",
        "a checkpoint is a folder of its own, with manifest.json and a file for each pass",
        "give the name of a new folder",
        cases={
            "damaged": "give another folder, or delete this one if it is no longer needed",
            "no pass": "run the same fit again",
        },
    ),
    "LD322": Entry(
        FileError,
        "The checkpoint '{path}' is in use by another fit",
        "two fits would write over each other's passes",
        "wait for it, or give this fit another folder",
    ),
    "LD323": Entry(
        ModelWarning,
        "'{path}' is damaged and was not used",
        "its digest does not hold; the fit goes on from the pass before it, to the same result",
        "if it happens again, look after the disk",
    ),
    "LD324": Entry(
        ModelWarning,
        "The checkpoint '{path}' could not be written: {problem}",
        "the fit goes on in memory; passes since are lost if it is killed",
        "free some space, or give a folder on another disk",
    ),
    "LD325": Entry(
        OptionError,
        "{title} does not say how far a row is from what it expects",
        "the distances D2, T2 and Q are those of linear-Gaussian models and of the mixed one",
        "lowdim fit FILE -m fa, -m mixed where labels take part, or lowdim report FILE; lowdim explore RUN shows the "
        "rows of any map",
    ),
    "LD327": Entry(
        EngineError,
        "The explorer in a notebook needs the package anywidget",
        "",
        'pip install "lowdim[widget]"; or lowdim explore RUN in a terminal',
    ),
    "LD326": Entry(
        FileError,
        "The run '{path}' has no row of cells at a place ({title})",
        "a map of distances or similarities, clusters, and two views say nothing of single cells",
        "lowdim fit FILE -m ppca, or any other method with a map of measurements: lowdim methods",
        cases={"pairs": "its rows are drawn with their names by  lowdim plot map {path}"},
        exit_code=2,
    ),
    "LD328": Entry(
        OptionError,
        "{title} does not say which row lives at a place",
        "it has no decoder with a band: it puts rows on a map, and does not lead back to cells",
        "lowdim fit FILE -m ppca, or any other method with a decoder: lowdim methods",
    ),
}
