"""How to get the same numbers again: commands, code, versions, and the files inside the page."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim import __version__
from lowdim.report.page_parts import Download, Section, csv_text, data_url, grid
from lowdim.table.options import flags_from_options
from lowdim.text.escape import shell_word

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

MOST_CSV_CELLS, MOST_CSV_FILLS = 100_000, 8_000  # cells of the file of rows inside the page; lines of that of fills
LONG_TABLE = 1000  # rows from which a file inside the page keeps fewer figures
FILE_TO_SAVE = "table.csv"  # by which a table that came from Python is named in commands
REPORT_SETTINGS = ("dims", "level", "seed", "budget")
VERB_SETTINGS = {  # the settings of a verb that has not all of them
    "check": (),
    "dims": ("seed", "budget"),
    "fill": ("level", "seed"),
    "odd": ("dims", "seed"),
}
STREAMED_VERBS = ("report", "fit")
COARSE_COLUMNS = ("sd", "T2", "Q", "D2", "lower", "upper")  # columns that need no more than three


def file_of(analysis: Analysis) -> str:
    """The table's file name, or the one that a table from Python is to be saved by."""
    return Path(analysis.table.path).name or FILE_TO_SAVE


def command_of(analysis: Analysis, verb: str, *more: str, rows: bool = True) -> str:
    """The command that does this again: the file read in the same way, settings named where they are not the usual."""
    s = analysis.settings
    usual = type(s)(scale="unit")._asdict()
    name = file_of(analysis)
    if "stream" in analysis.table.options:  # what no other verb streams is in the report, or drawn from the run
        if verb.startswith("plot"):
            return " ".join(map(shell_word, ["lowdim", *verb.split(), f"{name.split('.')[0]}.run"]))
        verb, more = verb if verb in STREAMED_VERBS else "report", (*more, "--stream")
    parts = ["lowdim", *verb.split(), f"./{name}" if name.startswith("-") else name, *more]
    for key in VERB_SETTINGS.get(verb, REPORT_SETTINGS):
        value = getattr(s, key)
        if value != usual[key]:
            parts += [f"--{key}", f"{value:g}s" if key == "budget" else str(value)]
    if not s.robust and verb not in VERB_SETTINGS:
        parts.append("--not-robust")
    if s.rotate is not None and verb in STREAMED_VERBS:
        parts += ["--rotate", s.rotate]
    if s.groups != "auto" and verb in STREAMED_VERBS:
        parts += ["--no-groups"] if s.groups == 1 else ["--groups", str(s.groups)]
    if s.scale != usual["scale"]:
        parts += ["--scale", s.scale]
    parts += flags_from_options(reading_of(analysis))
    line = " ".join(map(shell_word, parts if rows else [*parts, "--no-rows"]))
    return line if analysis.table.path else f"# the table came from Python: save it as {FILE_TO_SAVE} first\n{line}"


def reading_of(analysis: Analysis) -> dict[str, Any]:
    """The options of reading the table, as given; the scale is a setting of the analysis too."""
    return {key: value for key, value in analysis.table.options.items() if key not in ("scale", "stream")}


def code_of(analysis: Analysis, line: str = "") -> str:
    """The same in Python."""
    s = analysis.settings
    usual = type(s)(scale="unit")._asdict()
    names = {"seed": "random_state"}
    arguments = "".join(
        f", {names.get(key, key)}={value!r}" for key, value in s._asdict().items() if value != usual[key]
    )
    reading = "".join(f", {key}={value!r}" for key, value in reading_of(analysis).items())
    file = repr(file_of(analysis)) if analysis.table.path else "table"
    call = f"analyse(ld.read({file}{reading}){arguments})"
    if "stream" in analysis.table.options:
        call = f"analyse_stream({file}{reading}{arguments})"
    origin = "" if analysis.table.path else "  # table: the frame or array that came from Python"
    first = f"import lowdim as ld\nanalysis = ld.{call}{origin}"
    return f"{first}\n{line}" if line else first


def reproduce(analysis: Analysis, rows: bool) -> Section:
    """Versions, settings, fingerprint, certificate; the files for download."""
    t, s = analysis.table, analysis.settings
    of_drawn, whose = ("", "the table's file") if "stream" not in t.options else (" of the rows drawn",) * 2
    facts = grid(
        "How this was made",
        ("what", "value"),
        (
            ("lowdim", __version__),
            ("Python", platform.python_version()),
            ("NumPy", np.__version__),
            ("table", t.name),
            (f"SHA-256{of_drawn}", t.sha256),
            ("shape", f"{analysis.of or t.n} x {t.d}"),
            ("dimensions asked for", str(s.dims)),
            ("scale", s.scale),
            *((("axes turned by", s.rotate),) if s.rotate else ()),
            *((("groups asked for", str(s.groups)),) if s.groups != "auto" else ()),
            ("interval level", f"{s.level:g}"),
            ("seed", str(s.seed)),
            *((name, text) for name, text in analysis.model.certificate_.rows()),
        ),
    )
    return Section(
        "reproduce",
        "Reproduce",
        "The same table, version and settings give the same numbers.",
        "The certificate says how the model was fitted and how far its numbers can be trusted. The SHA-256 "
        f"is that of {whose.removeprefix(' of ')}: another one means another table.",
        "Other processors and other versions of NumPy may differ in the last digits. Run the command in the "
        "folder of the table.",
        command_of(analysis, "report", rows=rows),
        code_of(analysis),
        grids=(facts,),
        downloads=downloads(analysis) if rows else (),
    )


def downloads(analysis: Analysis) -> tuple[Download, ...]:
    """Every row's position and distances, and every fill."""
    t, p, o = analysis.table, analysis.posterior, analysis.odd
    q, sd = p.mean.shape[1], p.std
    known = q if t.n <= LONG_TABLE else min(q, 2)
    columns = {
        "row": np.array(t.row_names, dtype=object),
        **{f"axis{k + 1}": p.mean[:, k] for k in range(q)},
        **{f"sd{k + 1}": sd[:, k] for k in range(known)},
        "seen": o.seen,
        "p": o.p,
        "T2": o.T2.value,
        "T2_p": o.T2.p,
        "Q": o.Q.value,
        "Q_p": o.Q.p,
        "D2_p": o.D2.p,
        "odd": o.odd,
    }
    most = max(MOST_CSV_CELLS // len(columns), LONG_TABLE)
    words = f"{_share(t.n, most, 'rows')}: position on each axis, its standard deviation, distances and p-values"
    out = [Download("rows.csv", words, data_url(csv_text(_thin(columns, most))))]
    if analysis.fills.is_filled.any():
        i, j = np.nonzero(analysis.fills.is_filled)
        words = f"{_share(len(i), MOST_CSV_FILLS, 'fills')} with their {100 * analysis.fills.level:.3g}% intervals"
        f = analysis.fills
        cells = {
            "row": np.array(t.row_names, dtype=object)[i],
            "column": np.array(t.names, dtype=object)[j],
            "fill": f.filled[i, j],
            "lower": f.lower[i, j],
            "upper": f.upper[i, j],
            "engine": f.filled_by[i, j],
        }
        out.append(Download("fills.csv", words, data_url(csv_text(_thin(cells, MOST_CSV_FILLS)))))
    return tuple(out)


def _share(many: int, most: int, word: str) -> str:
    """How many lines a file has; of a very long one the first, the others being in the run folder."""
    return f"{many:,} {word}" if many <= most else f"The first {most:,} of {many:,} {word} (all: the run folder)"


def _thin(columns: dict[str, np.ndarray], most: int) -> dict[str, np.ndarray]:
    """Fewer figures and lines where the file is long: a page of any number of rows has to stay below 2 MB."""
    if max(map(len, columns.values())) <= LONG_TABLE:
        return columns
    columns = {key: value[:most] for key, value in columns.items()}
    return {
        key: np.array([float(f"{x:.{3 if key.startswith(COARSE_COLUMNS) else 4}g}") for x in value.tolist()])
        if value.dtype.kind == "f"
        else value
        for key, value in columns.items()
    }
