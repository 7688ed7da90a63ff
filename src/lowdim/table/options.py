"""The options of reading a table, each declared once: its type, help and flags, and what a stream does with it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_type_hints

from lowdim.text.escape import listed
from lowdim.text.format import parse_size
from lowdim.text.messages import error

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}


class Switch(NamedTuple):
    """A flag without a value: what it sets the option to."""

    flag: str
    value: Any
    help: str


class OptionFacts(NamedTuple):
    """What is known of an option of reading beside its type."""

    help: str = ""  # of its flag; "" where it has none, or switches in its place
    form: str = "text"  # what a flag's text stands for: text, names of columns, codes for gaps, or a whole number
    allowed: tuple[Any, ...] = ()  # the values it may have; () for any
    switches: tuple[Switch, ...] = ()
    streams: bool = False  # whether a stream honours it
    instead: str = "change the file first"  # what to do where it does not
    of_file: bool = False  # says how one file is written or named: of no meaning for the numbers of another


class ReadingOptions(NamedTuple):
    """How a table is to be read; what is None is guessed."""

    sep: Annotated[str | None, OptionFacts("Separator: comma, semicolon, tab, pipe, space.", of_file=True)] = None
    decimal: Annotated[str | None, OptionFacts("Decimal sign, . or ,", allowed=(None, ".", ","), of_file=True)] = None
    encoding: Annotated[str | None, OptionFacts("Encoding of the file.", of_file=True)] = None
    header: Annotated[
        bool | None,
        OptionFacts(
            allowed=(None, True, False),
            switches=(
                Switch("--header", True, "Line 1 holds the names."),
                Switch("--no-header", False, "Line 1 is data."),
            ),
            of_file=True,
        ),
    ] = None
    # a path with one name a line, or the names
    names: Annotated[Any, OptionFacts("A file with one column name a line.", of_file=True)] = None
    na: Annotated[
        tuple[str, ...],
        OptionFacts('More codes for gaps, e.g. "-999,ND".', "codes", instead="write these cells as empty first"),
    ] = ()
    columns: Annotated[tuple[str, ...], OptionFacts("Use only these columns.", "names", streams=True)] = ()
    drop: Annotated[tuple[str, ...], OptionFacts("Leave these columns out.", "names", streams=True)] = ()
    use: Annotated[
        tuple[str, ...],
        OptionFacts("Use these columns as measurements whatever they look like.", "names", of_file=True),
    ] = ()
    label: Annotated[tuple[str, ...], OptionFacts("Columns to colour and describe by.", "names", of_file=True)] = ()
    id: Annotated[str | None, OptionFacts("The column that names the rows.", of_file=True)] = None
    time: Annotated[str | None, OptionFacts("The column that orders the rows.", of_file=True)] = None
    weight: Annotated[str | None, OptionFacts("How many times each row counts.", streams=True)] = None
    encode: Annotated[
        tuple[str, ...],
        OptionFacts(
            "Label columns that shape the axes, as categories.",
            "names",
            instead="write the labels as zeros and ones first",
        ),
    ] = ()
    log: Annotated[
        tuple[str, ...],
        OptionFacts(
            "Columns to take the logarithm of, no others; NAME+C adds C first.",
            "names",
            instead="write the logarithms into the file first",
        ),
    ] = ()
    sheet: Annotated[
        str | int | None,
        OptionFacts("Sheet of a workbook.", "whole", instead="save the sheet as CSV or Parquet first", of_file=True),
    ] = None
    transpose: Annotated[
        bool,
        OptionFacts(
            switches=(Switch("--transpose", True, "Swap rows and columns."),),
            instead="write the table the other way round first",
        ),
    ] = False
    spread: Annotated[
        str | None,
        OptionFacts("Long form: a column for each value of this one.", instead="write the table in wide form first"),
    ] = None
    inf: Annotated[
        str,
        OptionFacts(
            "error, or missing: read infinite values as gaps.",
            allowed=("error", "missing"),
            instead="write these cells as empty first",
        ),
    ] = "error"
    below_limit: Annotated[
        str | None,
        OptionFacts(
            'half, zero or limit: what "<0.05" counts as.',
            allowed=(None, "half", "zero", "limit"),
            instead="write these cells as numbers first",
        ),
    ] = None
    keep_copies: Annotated[
        bool,
        OptionFacts(switches=(Switch("--keep-copies", True, "Keep columns that are copies of others."),), of_file=True),
    ] = False
    # keep rows that hold labels and no number: a model of labels has a place for them
    labelled_rows: Annotated[bool, OptionFacts(of_file=True)] = False
    ranges: Annotated[
        bool,
        OptionFacts(
            switches=(Switch("--ranges", True, "Read 20-29 as 24.5, 65+ as 65, [98] as 98, 76 (+1) as 76."),),
            instead="write these cells as numbers first",
        ),
    ] = False
    # how the analysis will scale: decides which notes make sense, and is kept in the table
    scale: Annotated[
        str, OptionFacts("unit (each column counts alike) or none.", allowed=("unit", "none"), streams=True)
    ] = "unit"
    sample: Annotated[int | None, OptionFacts("Use so many rows, spread over the file.", "whole", streams=True)] = None
    memory: Annotated[int | None, OptionFacts("Memory to use, e.g. 2GB.", streams=True)] = None  # None: what is free
    strict: Annotated[
        bool,
        OptionFacts(
            switches=(
                Switch("--strict", True, "Any change to the table is an error, and a failed check leaves with 1."),
            ),
            instead="look at the messages on stderr, or at --json",
            of_file=True,
        ),
    ] = False
    no_log: Annotated[
        bool,
        OptionFacts(
            switches=(Switch("--no-log", True, "Analyse skew columns as they are, never in logarithms."),), of_file=True
        ),
    ] = False
    # of new rows: the unit that a column's cells had
    units: Annotated[Mapping[str, str], OptionFacts()] = MappingProxyType({})
    # what the cells say of two rows, where the table is asked to be one of pairs
    pairs: Annotated[
        str | None,
        OptionFacts(
            allowed=(None, "distances", "similarities"),
            switches=(
                Switch("--distances", "distances", "The table holds distances between its own rows."),
                Switch("--similarities", "similarities", "The table holds similarities of its own rows."),
            ),
        ),
    ] = None


OPTIONS: dict[str, OptionFacts] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(ReadingOptions, include_extras=True).items()
}
LISTS = tuple(name for name, option in OPTIONS.items() if option.form == "names")


def flag_of(name: str) -> str:
    """The flag that gives an option its value."""
    return f"--{name.replace('_', '-')}"


def check_options(values: dict[str, Any]) -> ReadingOptions:
    """The options from what a caller gave, each checked once."""
    options = ReadingOptions(**values)
    for name, option in OPTIONS.items():
        value = getattr(options, name)
        if option.allowed and not any(value is one or value == one for one in option.allowed):
            raise error("LD210", option=name, value=value, allowed=", ".join(map(repr, option.allowed)))
    if not isinstance(options.units, Mapping):
        raise error("LD210", option="units", value=options.units, allowed="a dict of columns and their units")
    sep = SEPARATORS.get(options.sep or "", options.sep)
    if sep is not None and (len(sep) != 1 or sep.isalnum() or sep in '"\r\n'):
        raise error("LD210", option="sep", value=sep, allowed="one character: comma, semicolon, tab, pipe, space")
    rows: Any = options.sample
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise error("LD210", option="sample", value=rows, allowed="a whole number above 0")
    lists: dict[str, Any] = {name: split_names(getattr(options, name)) for name in LISTS}
    return options._replace(**lists, na=gap_codes(options.na), sep=sep, memory=parse_size(options.memory))


def gap_codes(na: Any) -> tuple[str, ...]:
    """Codes for gaps from a sequence, one number, or one text with commas."""
    if isinstance(na, str):
        return tuple(code.strip() for code in next(csv.reader([na]), []))
    return (str(na),) if isinstance(na, int | float) else tuple(str(code) for code in na or ())


def split_names(names: Any) -> tuple[str, ...]:
    """Column names from a sequence, or from one text with commas; a name that holds a comma stands in quotes.

    >>> split_names('a,"b,c"')
    ('a', 'b,c')
    """
    if names is None:
        return ()
    if isinstance(names, str):
        return tuple(name.strip() for name in next(csv.reader([names], skipinitialspace=True), []))
    return tuple(str(name) for name in names)


def add_value(options: dict[str, Any], name: str, text: str) -> None:
    """Enter an option that came as text; a list that is given twice is added up."""
    form = OPTIONS[name].form
    if form in ("names", "codes"):
        parts = split_names(text) if form == "names" else gap_codes(text)
        options[name] = (*options.get(name, ()), *parts)
    else:
        options[name] = int(text) if form == "whole" and text.isdigit() else text


def flags_from_options(options: dict[str, Any]) -> list[str]:
    """The command-line words that give these options of `read`, each ready to be pasted into a shell.

    >>> flags_from_options({"na": ("-999", "n d"), "header": False, "drop": ["a"], "sep": "\\t"})
    ['--na=-999,n d', '--no-header', '--drop=a', '--sep=tab']
    """
    words = {sign: word for word, sign in SEPARATORS.items() if word.isalpha()}
    flags = []
    for name, value in options.items():
        option = OPTIONS.get(name, OptionFacts())
        if option.help and value is not None and value != ():
            text = str(value) if isinstance(value, str | int | float) else listed(value)
            flags.append(f"{flag_of(name)}={words.get(text, text) if name == 'sep' else text}")
        flags += [switch.flag for switch in option.switches if switch.value == value]
    return flags


def asked_role(name: str, options: ReadingOptions) -> str:
    """The role the caller asked for; nothing where none was."""
    single = {"id": options.id, "time": options.time, "weight": options.weight}
    asked = [role for role, column in single.items() if column == name]
    if name in options.drop:
        return "out"
    if asked:
        return asked[0]
    for role, names in (("label", options.label), ("encode", options.encode), ("number", options.use)):
        if name in names:
            return role
    if options.columns:
        return "number" if name in options.columns else "out"
    return ""
