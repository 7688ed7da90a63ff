"""Tables as people write them, each with the table that it means: headers, sheets, codes, encodings, separators, units.

A case is the bytes of a file, the flags it is read with, and what they mean. `python -m tests.table.crafted` reads all
of them and prints how many are read as meant, and every other one with what was said of it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shlex
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np
import openpyxl

from lowdim.table.read import read
from lowdim.text.errors import CheckError
from lowdim.text.messages import LowdimError
from tests.table.flags import options_from_flags

GAP = float("nan")
N = 24
X = np.random.default_rng(5).normal(10, 2, (N, 4)).round(2)
NAMES = ("a", "b", "c", "d")
TOWNS = ("Oslo", "Rome", "Bern")
SITE = [TOWNS[k * k % 7 % 3] for k in range(N)]
AS_THEY_ARE = dict(zip(NAMES, X.T.tolist(), strict=True))
ASSUMED = ("LD008", "LD129")  # what was taken for a header, and for a label, with the flags that say otherwise
AS_LABEL = ("label", "id", "time")


class Case(NamedTuple):
    """A file and what it means: how many rows, the measured columns with their numbers, and what others are."""

    data: bytes
    ending: str
    flags: str
    rows: int
    numbers: Mapping[str, Sequence[float] | None]  # None where the numbers are not looked at
    labels: Mapping[str, Sequence[str | None] | None]
    said: tuple[str, ...]  # codes of which one must be said, where something was assumed or left out
    refused: bool  # whether no more can be asked than a refusal with flags


class Outcome(NamedTuple):
    """`kind` is "as meant", "noted" (otherwise, and a note says so), "silently wrong" or "refused"."""

    kind: str
    text: str


def case(
    data: str | bytes,
    numbers: Mapping[str, Sequence[float] | None] | None = None,
    labels: Mapping[str, Sequence[str | None] | None] | None = None,
    *,
    rows: int = N,
    ending: str = ".csv",
    flags: str = "",
    said: Sequence[str] = (),
    refused: bool = False,
) -> Case:
    text = data.encode() if isinstance(data, str) else data
    return Case(text, ending, flags, rows, AS_THEY_ARE if numbers is None else numbers, labels or {}, (*said,), refused)


def judge(made: Case, folder: Path, name: str = "case") -> Outcome:
    """Read a case and compare it with what it means."""
    path = folder / f"{name.replace(' ', '_').replace('/', '_')}{made.ending}"
    path.write_bytes(made.data)
    try:
        table = read(path, **options_from_flags(shlex.split(made.flags)))
    except LowdimError as problem:
        text = str(problem.messages) if isinstance(problem, CheckError) else str(problem)
        return Outcome("as meant" if made.refused else "refused", text)
    finally:
        path.unlink()
    wrong = [f"{table.n} rows, not {made.rows}"] if table.n != made.rows else []
    if table.names != tuple(made.numbers):
        wrong.append(f"measured {list(table.names)}, not {list(made.numbers)}")
    for name_, values in made.numbers.items():
        if values is not None and name_ in table.names and table.n == made.rows:
            x = table.X[:, table.names.index(name_)]
            if not np.allclose(x, np.array(values, dtype=float), rtol=1e-12, equal_nan=True):
                wrong.append(f"{name_} is {x.tolist()[:8]}, not {list(values)[:8]}")
    for name_, words in made.labels.items():
        found = [c for c in table.columns if c.name == name_]
        if not found or found[0].role not in AS_LABEL:
            wrong.append(f"'{name_}' is {found[0].role if found else 'absent'}, no label")
        elif words is not None and table.n == made.rows:
            here = [None if w is None else str(w) for w in found[0].words]
            if here != list(words):
                wrong.append(f"'{name_}' is {here[:8]}, not {list(words)[:8]}")
    if made.refused:
        wrong.append("it should be refused")
    codes = table.messages.codes
    if not wrong and made.said and not set(made.said) & set(codes):
        wrong.append(f"none of {made.said} was said")
        return Outcome("silently wrong", f"{'; '.join(wrong)}\n{table.messages}")
    if not wrong:
        return Outcome("as meant", "")
    noted = bool({*made.said, *ASSUMED} & set(codes))
    return Outcome("noted" if noted else "silently wrong", f"{'; '.join(wrong)}\n{table.messages}")


# how files are written ----------------------------------------------------------------------------------------
def rows_of(columns: Sequence[Sequence[Any]], sep: str = ",", decimal: str = ".") -> str:
    """Columns as lines of text."""
    cells = ([_cell(v, decimal) for v in row] for row in zip(*columns, strict=True))
    return "\n".join(sep.join(row) for row in cells) + "\n"


def _cell(value: Any, decimal: str) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.15g}".replace(".", decimal)
    return str(value)


BODY = rows_of(X.T.tolist())
COLUMNS = X.T.tolist()
WITH_SITE = rows_of([SITE, *COLUMNS])
SITES: dict[str, Sequence[str | None] | None] = {"site": SITE}


def plain(head: str = "a,b,c,d", *, above: str = "", below: str = "", body: str = BODY) -> str:
    return f"{above}{head}\n{body}{below}"


def swapped(at: Mapping[tuple[int, int], Any], columns: Sequence[Sequence[Any]] = COLUMNS) -> list[list[Any]]:
    """The columns with some cells (row, column) replaced."""
    new = [list(column) for column in columns]
    for (i, j), value in at.items():
        new[j][i] = value
    return new


def gaps_at(at: Sequence[tuple[int, int]]) -> dict[str, Sequence[float] | None]:
    """What the columns mean where these cells are gaps."""
    return dict(zip(NAMES, swapped(dict.fromkeys(at, GAP)), strict=True))


def workbook(sheets: Mapping[str, Sequence[Sequence[Any]]], merged: Sequence[str] = ()) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    for cells in merged:
        book.worksheets[-1].merge_cells(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def document(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """An OpenDocument sheet, as LibreOffice writes one; a cell may be given as XML."""
    tables = []
    for title, rows in sheets.items():
        lines = "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
        tables.append(
            f'<table:table table:name="{escape(title)}">{lines}'
            '<table:table-row table:number-rows-repeated="1048000"><table:table-cell'
            ' table:number-columns-repeated="16384"/></table:table-row></table:table>'
        )
    spaces = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"' for short in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content{spaces}><office:body><office:spreadsheet>'
        f"{''.join(tables)}</office:spreadsheet></office:body></office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
    return out.getvalue()


def ods_xml(facts: str) -> str:
    """A cell of an OpenDocument sheet with these facts; {0} stands for its text."""
    return f"<table:table-cell {facts}><text:p>{{0}}</text:p></table:table-cell>"


def _ods_cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, str):
        if value.startswith("<table:"):
            return value
        return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
    shown = f"{value:.1f}".replace(".", ",")  # as it is seen, which is not what it is
    return (
        f'<table:table-cell office:value-type="float" office:value="{value!r}">'
        f"<text:p>{shown}</text:p></table:table-cell>"
    )


GRID = X.tolist()
SHEET: list[list[Any]] = [list(NAMES), *GRID]
SITE_SHEET: list[list[Any]] = [["site", *NAMES], *([s, *row] for s, row in zip(SITE, GRID, strict=True))]


# headers --------------------------------------------------------------------------------------------------------
def headers() -> Iterator[tuple[str, Case]]:
    yield "plain", case(plain())
    yield "site first", case(plain("site,a,b,c,d", body=WITH_SITE), labels=SITES)
    yield (
        "commas in names",
        case(plain('"a, left","b, right",c,d'), dict(zip(("a, left", "b, right", "c", "d"), COLUMNS, strict=True))),
    )
    yield (
        "a line break in a name",
        case(plain('"a\n(m)",b,c,d'), dict(zip(("a (m)", "b", "c", "d"), COLUMNS, strict=True))),
    )
    yield "spaces round names", case(plain(" a , b,c ,d "))
    yield "names in quotes", case(plain('"a","b","c","d"'))
    for k, units in enumerate(("m,kg,mm,s", "[m],[kg],[mm],[s]", "(m),-,(mm),(s)", "m/s,µg,°C,%", "mg/L,,mm,s")):
        yield f"units {k}", case(plain("a,b,c,d\n" + units), said=["LD018"])
    yield "units beside labels", case(plain("site,a,b,c,d\n,m,kg,mm,s", body=WITH_SITE), labels=SITES, said=["LD018"])
    yield (
        "what names mean below them",
        case(
            plain("site,a,b,c,d\nname of town,depth of well,acidity,iron in water,age of pump", body=WITH_SITE),
            labels=SITES,
            said=["LD018"],
        ),
    )
    grouped = dict(zip(("A x", "A y", "B x", "B y"), COLUMNS, strict=True))
    yield "groups over blanks", case(plain("A,,B,\nx,y,x,y"), grouped, said=["LD018"])
    yield "groups repeated", case(plain("A,A,B,B\nx,y,x,y"), grouped, said=["LD018"])
    yield (
        "groups and the label's name above",
        case(plain("site,A,,B,\n,x,y,x,y", body=WITH_SITE), grouped, SITES, said=["LD018"]),
    )
    yield (
        "groups and the label's name below",
        case(plain(",A,,B,\nsite,x,y,x,y", body=WITH_SITE), grouped, SITES, said=["LD018"]),
    )
    yield (
        "groups, names and units",
        case(plain(",A,,B,\nsite,x,y,x,y\n,m,m,kg,kg", body=WITH_SITE), grouped, SITES, said=["LD018"]),
    )
    yield (
        "columns of two levels as pandas writes them",
        case(plain(",A,A,B,B\n,x,y,x,y\nsite,,,,", body=WITH_SITE), grouped, SITES, said=["LD018"]),
    )
    yield "title, names and units", case(plain("Wells of 2023,,,\na,b,c,d\nm,kg,mm,s"), said=["LD018"])
    yield (
        "three lines of a survey",
        case(
            plain(
                'who,Q1,Q2,Q3,Q4\nRespondent,"How old, in years?",How tall?,How heavy?,How far?\n'
                '"{""ImportId"":""_id""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}",'
                '"{""ImportId"":""QID3""}","{""ImportId"":""QID4""}"',
                body=rows_of([[f"R_{k:03d}" for k in range(N)], *COLUMNS]),
            ),
            dict(zip(("Q1", "Q2", "Q3", "Q4"), COLUMNS, strict=True)),
            {"who": None},
            said=["LD018"],
        ),
    )
    yield (
        "Orange, three lines",
        case(
            plain(
                "site\ta\tb\tc\td\ndiscrete\tcontinuous\tc\tc\tc\nclass\t\t\t\t", body=rows_of([SITE, *COLUMNS], "\t")
            ),
            labels=SITES,
            ending=".tab",
            said=["LD018"],
        ),
    )
    yield (
        "Orange, one line",
        case(plain("mS#site\tC#a\tC#b\tC#c\tcC#d", body=rows_of([SITE, *COLUMNS], "\t")), labels=SITES, ending=".tab"),
    )
    yield (
        "types as R prints them",
        case(plain("site,a,b,c,d\n<chr>,<dbl>,<dbl>,<dbl>,<dbl>", body=WITH_SITE), labels=SITES, said=["LD018"]),
    )
    yield (
        "types in words",
        case(plain("site,a,b,c,d\nstring,float,float,float,numeric", body=WITH_SITE), labels=SITES, said=["LD018"]),
    )
    arff = "% made by hand\n@RELATION wells\n\n@ATTRIBUTE site {Oslo, Rome, Bern}\n" + "".join(
        f"@attribute {name} {kind}\n"
        for name, kind in zip(("a", "b", "'c'", "d"), ("numeric", "REAL") * 2, strict=True)
    )
    yield "ARFF", case(f"{arff}\n@DATA\n{WITH_SITE}", labels=SITES, ending=".arff")
    yield (
        "ARFF with gaps and a comment",
        case(
            f"{arff}\n@data\n" + rows_of(swapped({(3, 1): "?"}, [SITE, *COLUMNS])) + "% end\n",
            gaps_at([(3, 0)]),
            SITES,
            ending=".arff",
        ),
    )
    waves = [f"{1100 + 2 * k}" for k in range(8)]
    spectra = np.random.default_rng(2).normal(0.4, 0.1, (N, 8)).round(4).T.tolist()
    spectral = dict(zip(waves, spectra, strict=True))
    yield (
        "words and wavelengths",
        case(
            plain("site,N," + ",".join(waves), body=rows_of([SITE, COLUMNS[0], *spectra])),
            {"N": COLUMNS[0], **spectral},
            SITES,
        ),
    )
    yield "wavelengths alone", case(plain(",".join(waves), body=rows_of(spectra)), spectral)
    yield (
        "wavelengths that fall",
        case(
            plain("site," + ",".join(waves[::-1]), body=rows_of([SITE, *spectra])),
            dict(zip(waves[::-1], spectra, strict=True)),
            SITES,
        ),
    )
    yield (
        "wavelengths with decimals",
        case(
            plain("site," + ",".join(f"{w}.5" for w in waves), body=rows_of([SITE, *spectra])),
            {f"{w}.5": x for w, x in spectral.items()},
            SITES,
        ),
    )
    years = [str(1990 + k) for k in range(8)]
    yield (
        "years",
        case(
            plain("country," + ",".join(years), body=rows_of([[f"land {k}" for k in range(N)], *spectra])),
            dict(zip(years, spectra, strict=True)),
            {"country": None},
        ),
    )
    items = np.random.default_rng(3).integers(1, 6, (8, N)).astype(float).tolist()
    yield (
        "numbers of questions",
        case(
            plain("who,1,2,3,4,5,6,7,8", body=rows_of([[f"r{k:02d}" for k in range(N)], *items])),
            dict(zip("12345678", items, strict=True)),
            {"who": None},
        ),
    )
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug"]
    yield (
        "months",
        case(
            plain("site," + ",".join(months), body=rows_of([SITE, *spectra])),
            dict(zip(months, spectra, strict=True)),
            SITES,
        ),
    )
    yield (
        "months of a year",
        case(
            plain("site," + ",".join(f"2020-{k:02d}" for k in range(1, 9)), body=rows_of([SITE, *spectra])),
            {f"2020-{k + 1:02d}": x for k, x in enumerate(spectra)},
            SITES,
        ),
    )
    yield (
        "ages",
        case(
            plain("site,0-4,5-9,10-14,15-19", body=WITH_SITE),
            dict(zip(("0-4", "5-9", "10-14", "15-19"), COLUMNS, strict=True)),
            SITES,
        ),
    )
    rows = [[f"r{k}" for k in range(N)], *COLUMNS]
    yield "one name short, as R writes row names", case(plain(body=rows_of(rows)))
    yield (
        "row names in quotes, spaces",
        case(plain('"a" "b" "c" "d"', body=rows_of([[f'"r {k}"' for k in range(N)], *COLUMNS], " ")), ending=".txt"),
    )
    yield "every line ends with a comma", case(plain("a,b,c,d,", body=BODY.replace("\n", ",\n")))
    yield "lines end with a comma, the header does not", case(plain(body=BODY.replace("\n", ",\n")))
    yield "blank first name", case(plain(",a,b,c,d", body=rows_of([list(range(N)), *COLUMNS])))
    yield "Unnamed: 0", case(plain("Unnamed: 0,a,b,c,d", body=rows_of([list(range(N)), *COLUMNS])))
    unnamed = dict(zip(("c1", "c2", "c3", "c4"), COLUMNS, strict=True))
    yield "no header", case(BODY, unnamed, said=["LD008"])
    yield "no header, class last", case(rows_of([*COLUMNS, SITE]), unnamed, {"c5": SITE}, said=["LD008"])
    yield (
        "no header, class first",
        case(WITH_SITE, dict(zip(("c2", "c3", "c4", "c5"), COLUMNS, strict=True)), {"c1": SITE}, said=["LD008"]),
    )
    yield (
        "no header, a gap first",
        case(rows_of(swapped({(0, 1): "?"})), {**unnamed, "c2": [GAP, *COLUMNS[1][1:]]}, said=["LD008"]),
    )
    days = [f"2020-01-{k + 1:02d}" for k in range(N)]
    yield (
        "no header, days first",
        case(
            rows_of([days, *COLUMNS]),
            dict(zip(("c2", "c3", "c4", "c5"), COLUMNS, strict=True)),
            {"c1": None},
            said=["LD008"],
        ),
    )
    yield "no header, asked", case(BODY, unnamed, flags="--no-header")
    yield "names in a comment", case("#a,b,c,d\n" + BODY)
    yield "comments above", case(plain(above="# wells\n# 2023\n"))
    yield "comments of two marks", case(plain(above="## wells\n#\n## of 2023\n"))
    yield "percent signs above", case(plain(above="% wells\n% 2023\n"))
    yield "slashes above", case(plain(above="// wells, of 2023\n// by hand\n"))
    yield "sep= of Excel", case(plain("a;b;c;d", above="sep=;\n", body=rows_of(COLUMNS, ";")))
    yield "title and blank line", case(plain(above="Wells of 2023\n\n"), said=["LD017"])
    yield "title with separators", case(plain(above="Wells of 2023,,,\n,,,\n"), said=["LD017"])
    yield "title with a comma", case(plain(above="Wells, 2023\n\n"), said=["LD017"])
    yield (
        "facts above",
        case(
            plain("site,a,b,c,d", above="Station: Berlin\nHeight: 38 m\nWritten: 2023-05-01\n\n", body=WITH_SITE),
            labels=SITES,
            said=["LD017"],
        ),
    )
    yield (
        "facts above in two cells",
        case(
            plain("site,a,b,c,d", above="Station,Berlin\nHeight,38\nWritten,2023-05-01\n\n", body=WITH_SITE),
            labels=SITES,
            said=["LD017"],
        ),
    )
    yield (
        "facts above with separators",
        case(
            plain("site,a,b,c,d", above="Station,Berlin,,,\nHeight,38,,,\n,,,,\n", body=WITH_SITE),
            labels=SITES,
            said=["LD017"],
        ),
    )
    yield (
        "a total below",
        case(plain("site,a,b,c,d", body=WITH_SITE, below="Total,240,241,242,243\n"), labels=SITES, said=["LD019"]),
    )
    yield (
        "a mean and a deviation below",
        case(
            plain("site,a,b,c,d", body=WITH_SITE, below="Mean,10,10,10,10\nSD,2,2,2,2\n"), labels=SITES, said=["LD019"]
        ),
    )
    yield (
        "Summe below",
        case(
            plain("site;a;b;c;d", body=rows_of([SITE, *COLUMNS], ";", ","), below="Summe;240,5;241;242;243\n"),
            labels=SITES,
            said=["LD019"],
        ),
    )
    yield (
        "a total below two labels",
        case(
            plain(
                "site,well,a,b,c,d",
                body=rows_of([SITE, [f"w{k}" for k in range(N)], *COLUMNS]),
                below="Total,,240,241,242,243\n",
            ),
            labels={**SITES, "well": None},
            said=["LD019"],
        ),
    )
    yield (
        "remarks below",
        case(
            plain("site,a,b,c,d", body=WITH_SITE, below="\nSource: the laboratory of Bern\n* b was measured twice\n"),
            labels=SITES,
            said=["LD019"],
        ),
    )
    yield (
        "remarks below with separators",
        case(
            plain("site,a,b,c,d", body=WITH_SITE, below=",,,,\nSource: the laboratory of Bern,,,,\n"),
            labels=SITES,
            said=["LD019"],
        ),
    )
    parts = WITH_SITE.splitlines(keepends=True)
    yield (
        "sections",
        case(
            plain("site,a,b,c,d", body="North,,,,\n" + "".join(parts[:12]) + "South,,,,\n" + "".join(parts[12:])),
            said=["LD121", "LD120", "LD019"],
        ),
    )
    yield (
        "a subtotal in the middle",
        case(
            plain("site,a,b,c,d", body="".join(parts[:12]) + "Subtotal,120,121,122,123\n" + "".join(parts[12:])),
            labels=SITES,
            said=["LD019"],
        ),
    )
    yield (
        "the header again and again",
        case(
            plain("site,a,b,c,d", body="site,a,b,c,d\n".join("".join(parts[k : k + 8]) for k in (0, 8, 16))),
            labels=SITES,
            said=["LD019"],
        ),
    )
    yield (
        "the header again below",
        case(plain("site,a,b,c,d", body=WITH_SITE, below="site,a,b,c,d\n"), labels=SITES, said=["LD019"]),
    )
    yield (
        "a name twice",
        case(plain("a,a,c,d"), dict(zip(("a", "a.2", "c", "d"), COLUMNS, strict=True)), said=["LD140"]),
    )
    yield "a name missing", case(plain("a,,c,d"), dict(zip(("a", "c2", "c", "d"), COLUMNS, strict=True)))
    yield (
        "on its side",
        case(
            "\n".join(f"{name},{','.join(map(str, column))}" for name, column in zip(NAMES, COLUMNS, strict=True))
            + "\n",
            flags="--transpose --no-header",
        ),
    )
    yield (
        "on its side, with names of rows",
        case(
            ",".join(["", *(f"w{k}" for k in range(N))])
            + "\n"
            + "\n".join(f"{name},{','.join(map(str, column))}" for name, column in zip(NAMES, COLUMNS, strict=True)),
            flags="--transpose",
        ),
    )
    long = "a" * 300
    yield "a name of 300 letters", case(plain(f"{long},b,c,d"), dict(zip((long, *NAMES[1:]), COLUMNS, strict=True)))


# sheets ----------------------------------------------------------------------------------------------------------
def sheets() -> Iterator[tuple[str, Case]]:
    def xlsx(name: str, rows: Sequence[Sequence[Any]], *args: Any, merged: Sequence[str] = (), **more: Any) -> Any:
        return f"xlsx {name}", case(workbook({"Data": rows}, merged), *args, ending=".xlsx", **more)

    def ods(name: str, rows: Sequence[Sequence[Any]], *args: Any, **more: Any) -> Any:
        return f"ods {name}", case(document({"Data": rows}), *args, ending=".ods", **more)

    for write in (xlsx, ods):
        yield write("plain", SHEET)
        yield write("labels", SITE_SHEET, labels=SITES)
        yield write("title", [["Wells"], ["by the lab"], [], *SITE_SHEET], labels=SITES, said=["LD017"])
        yield write(
            "groups",
            [["site", "A", None, "B", None], [None, "x", "y", "x", "y"], *SITE_SHEET[1:]],
            dict(zip(("A x", "A y", "B x", "B y"), COLUMNS, strict=True)),
            SITES,
            said=["LD018"],
        )
        yield write(
            "units", [SITE_SHEET[0], [None, "m", "kg", "mm", "s"], *SITE_SHEET[1:]], labels=SITES, said=["LD018"]
        )
        yield write("total", [*SITE_SHEET, ["Total", *X.sum(axis=0).tolist()]], labels=SITES, said=["LD019"])
        yield write("remark", [*SITE_SHEET, [], ["Source: the laboratory of Bern"]], labels=SITES, said=["LD019"])
        yield write("apart", [[], [], *([None, None, *row] for row in SITE_SHEET)], labels=SITES)
        yield write(
            "sections",
            [SITE_SHEET[0], ["North"], *SITE_SHEET[1:13], ["South"], *SITE_SHEET[13:]],
            said=["LD121", "LD120", "LD019"],
        )
        yield write(
            "years",
            [["site", 1990, 1991, 1992, 1993], *SITE_SHEET[1:]],
            dict(zip(("1990", "1991", "1992", "1993"), COLUMNS, strict=True)),
            SITES,
        )
        yield write("no header", GRID, dict(zip(("c1", "c2", "c3", "c4"), COLUMNS, strict=True)), said=["LD008"])
        yield write(
            "comma",
            [SITE_SHEET[0], *([s, *(str(x).replace(".", ",") for x in row)] for s, *row in SITE_SHEET[1:])],
            labels=SITES,
        )
        yield write(
            "gaps",
            [SHEET[0], *([None if (i, j) == (3, 1) else x for j, x in enumerate(row)] for i, row in enumerate(GRID))],
            gaps_at([(3, 1)]),
        )
    import datetime

    days = [datetime.date(2020, 1, 1) + datetime.timedelta(3 * k) for k in range(N)]
    yield xlsx("days", [["day", *NAMES], *([d, *row] for d, row in zip(days, GRID, strict=True))], labels={"day": None})
    day = '<table:table-cell office:value-type="date" office:date-value="{0}"><text:p>{0}</text:p></table:table-cell>'
    yield ods(
        "days",
        [["day", *NAMES], *([day.format(d), *row] for d, row in zip(days, GRID, strict=True))],
        labels={"day": None},
    )
    wells = {"well": None, **dict(zip(NAMES, COLUMNS, strict=True))}
    yield xlsx("truth", [["well", *NAMES], *([k % 3 == 0, *row] for k, row in enumerate(GRID))], wells)
    truth = ods_xml('office:value-type="boolean" office:boolean-value="{0}"')
    yield ods(
        "truth",
        [["well", *NAMES], *([truth.format(str(k % 3 == 0).lower()), *row] for k, row in enumerate(GRID))],
        wells,
    )
    errors = [
        [SHEET[0][0], *SHEET[0][1:]],
        *(
            [("#DIV/0!" if i in (3, 9, 11) else x) if j == 2 else x for j, x in enumerate(row)]
            for i, row in enumerate(GRID)
        ),
    ]
    yield xlsx("errors", errors, gaps_at([(3, 2), (9, 2), (11, 2)]))
    yield xlsx("title merged", [["Wells of 2023"], *SITE_SHEET], labels=SITES, merged=["A1:E1"], said=["LD017"])
    yield xlsx(
        "groups merged",
        [["site", "A", None, "B", None], [None, "x", "y", "x", "y"], *SITE_SHEET[1:]],
        dict(zip(("A x", "A y", "B x", "B y"), COLUMNS, strict=True)),
        SITES,
        merged=["B1:C1", "D1:E1", "A1:A2"],
        said=["LD018"],
    )
    blocks = [TOWNS[k // 8] for k in range(N)]
    yield xlsx(
        "labels merged",
        [
            ["site", *NAMES],
            *([b if k % 8 == 0 else None, *row] for k, (b, row) in enumerate(zip(blocks, GRID, strict=True))),
        ],
        labels={"site": blocks},
        merged=["A2:A9", "A10:A17", "A18:A25"],
    )
    repeated = ods_xml('table:number-rows-spanned="8" office:value-type="string"')
    yield ods(
        "labels merged",
        [
            ["site", *NAMES],
            *(
                [repeated.format(b) if k % 8 == 0 else "<table:covered-table-cell/>", *row]
                for k, (b, row) in enumerate(zip(blocks, GRID, strict=True))
            ),
        ],
        labels={"site": blocks},
    )
    same = ods_xml('table:number-columns-repeated="2" office:value-type="float" office:value="{0}"')
    yield ods(
        "cells repeated",
        [
            ["a", "b", "c", "d"],
            *([same.format(row[0]), row[2], row[3]] if k == 4 else row for k, row in enumerate(GRID)),
        ],
        {**AS_THEY_ARE, "b": swapped({(4, 1): X[4, 0]})[1]},
    )
    percent = (
        '<table:table-cell office:value-type="percentage" office:value="{0!r}"><text:p>x%</text:p></table:table-cell>'
    )
    yield ods(
        "percent",
        [["a", "b", "c", "d"], *([percent.format(row[0] / 100), *row[1:]] for row in GRID)],
        {**AS_THEY_ARE, "a": [x / 100 for x in COLUMNS[0]]},
    )
    several = {"Read me": [["what this is"]], "Data": SITE_SHEET, "Notes": [["by the lab", "2023"]]}
    yield "xlsx of three sheets", case(workbook(several), labels=SITES, ending=".xlsx", said=["LD011"])
    yield "ods of three sheets", case(document(several), labels=SITES, ending=".ods", said=["LD011"])
    yield "xlsx, an empty sheet first", case(workbook({"Sheet1": [], "Data": SITE_SHEET}), labels=SITES, ending=".xlsx")
    yield (
        "xlsx, the sheet asked for",
        case(
            workbook({"Data": SITE_SHEET, "Small": SHEET[:9]}),
            {n: x[:8] for n, x in AS_THEY_ARE.items()},
            rows=8,
            ending=".xlsx",
            flags="--sheet Small",
        ),
    )
    yield (
        "ods, the sheet asked for",
        case(
            document({"Data": SITE_SHEET, "Small": SHEET[:9]}),
            {n: x[:8] for n, x in AS_THEY_ARE.items()},
            rows=8,
            ending=".ods",
            flags="--sheet 2",
        ),
    )
    yield xlsx(
        "a note beside",
        [[*row, None, "see the report"] if k == 2 else row for k, row in enumerate(SITE_SHEET)],
        labels=SITES,
    )
    yield xlsx(
        "another table below",
        [*SITE_SHEET, [], ["year", "rain", "wind"], [2020, 3.5, 1.5], [2021, 4.5, 2.5], [2022, 1.5, 8.5]],
        labels=SITES,
        said=["LD019"],
    )
    yield xlsx("blank rows between", [*SITE_SHEET[:9], [], *SITE_SHEET[9:17], [], *SITE_SHEET[17:]], labels=SITES)


# codes for missing values ------------------------------------------------------------------------------------------
HOLES = [(2, 1), (5, 1), (11, 1), (17, 1), (20, 1), (8, 3)]
WORDS = (
    "NA", "n/a", "NaN", "null", "?", "-", "--", ".", "*", "k. A.", "k.A.", "n. v.", "s. d.", "NC", "ND", "n.d.", "n.b.",
    "keine Angabe", "weiß nicht", "fehlt", "o. A.", "non disponible", "manquant", "sin dato", "n.r.", "N/R", "brak",
    "brak danych", "нет данных", "н/д", "不明", "欠測", "saknas", "missing", "Missing", "unknown", "not available",
    "(blank)", "#NV", "#N/D",
    "#WERT!", "-nan", "1.#QNAN", ".a", "na.", "No data", "not measured", "Prefer not to say", "\\N",
)  # fmt: skip


def codes() -> Iterator[tuple[str, Case]]:
    for word in WORDS:
        yield f"gaps are {word}", case(plain(body=rows_of(swapped(dict.fromkeys(HOLES, word)))), gaps_at(HOLES))
    two = {hole: ("k. A.", "?")[k % 2] for k, hole in enumerate(HOLES)}
    yield "gaps are of two kinds", case(plain(body=rows_of(swapped(two))), gaps_at(HOLES))
    rare = [(7, 2)]
    yield (
        "one word that nobody knows",
        case(plain(body=rows_of(swapped({(7, 2): "rotary"}))), gaps_at(rare), said=["LD123"]),
    )
    rng = np.random.default_rng(9)
    for value in ("-99", "-999", "-9999", "-9", "-99.0", "9999", "999", "-8888"):
        yield (
            f"gaps are {value}",
            case(plain(body=rows_of(swapped(dict.fromkeys(HOLES, value)))), gaps_at(HOLES), said=["LD157", "LD130"]),
        )
    likert = rng.integers(1, 6, (6, 60)).astype(float)
    names = [f"q{k + 1}" for k in range(6)]
    for no, dont in ((99, 98), (9, 8), (-1, -2), (-9, -8)):
        asked, meant = likert.copy(), likert.copy()
        for j in range(6):
            holes = rng.choice(60, 7, replace=False)
            asked[j, holes[:4]], asked[j, holes[4:]] = no, dont
            meant[j, holes] = GAP
        yield (
            f"a scale of 1 to 5 with {dont} and {no}",
            case(
                plain(",".join(names), body=rows_of(asked.tolist())),
                dict(zip(names, meant.tolist(), strict=True)),
                rows=60,
                said=["LD157", "LD130"],
            ),
        )
    ages = rng.integers(18, 80, 60).astype(float)
    scale, income = rng.integers(0, 11, 60).astype(float), rng.lognormal(7, 0.5, 60).round(0)
    aged, scaled = ages.copy(), scale.copy()
    aged[[3, 9, 30, 40]], scaled[[4, 20, 21, 33]] = 999, 99
    yield (
        "ages of 999 and a satisfaction of 99",
        case(
            plain("age,satisfaction,income", body=rows_of([aged.tolist(), scaled.tolist(), income.tolist()])),
            {
                "age": np.where(aged > 900, GAP, aged).tolist(),
                "satisfaction": np.where(scaled > 90, GAP, scaled).tolist(),
                "income": income.tolist(),
            },
            rows=60,
            said=["LD157", "LD130"],
        ),
    )
    cold = rng.normal(0, 8, 60).round(0)
    cold[[3, 7]] = -9
    share = rng.uniform(60, 100, 60).round(0)
    share[[3, 7, 8]] = 99
    real = {"t": cold.tolist(), "share": share.tolist(), "income": income.tolist()}
    yield "-9 and 99 that are numbers", case(plain("t,share,income", body=rows_of(list(real.values()))), real, rows=60)
    answers = [("agree", "disagree", "Prefer not to say")[k % 5 % 3] for k in range(N)]
    yield (
        "Prefer not to say is an answer",
        case(plain("view,a,b,c,d", body=rows_of([answers, *COLUMNS])), labels={"view": answers}),
    )
    yield (
        "a further code asked",
        case(plain(body=rows_of(swapped(dict.fromkeys(HOLES, "oops")))), gaps_at(HOLES), flags="--na oops"),
    )
    metals = [("Na", "Mg", "none")[k % 4 % 3] for k in range(N)]
    yield (
        "sodium and none are labels",
        case(plain("metal,a,b,c,d", body=rows_of([metals, *COLUMNS])), labels={"metal": metals}),
    )
    yield (
        "too many words",
        case(
            plain("a,b", body=rows_of([[x if k % 3 else "low" for k, x in enumerate(COLUMNS[0])], SITE])), refused=True
        ),
    )


# encodings -----------------------------------------------------------------------------------------------------------
PLACES = {
    "cp1252": ("Zürich", "São Paulo", "Besançon – nord"),
    "latin-1": ("Zürich", "Málaga", "Åre"),
    "cp1250": ("Łódź", "Kraków", "Gdańsk żółty"),
    "iso8859-2": ("Łódź", "Pécs", "Gdańsk żółty"),
    "cp1251": ("Москва", "Казань", "Омск"),
    "shift_jis": ("東京都", "さいたま市", "大阪"),
    "utf-8": ("Zürich", "東京都", "Łódź"),
    "utf-8-sig": ("Zürich", "東京都", "Łódź"),
    "utf-16": ("Zürich", "東京都", "Łódź"),
    "utf-16-be": ("Zürich", "Rome", "Łódź"),
    "utf-16-le": ("Zürich", "Rome", "Łódź"),
    "utf-32": ("Zürich", "東京都", "Łódź"),
    "gb18030": ("北京市", "上海市", "广州"),
    "mac-roman": ("Zürich", "Málaga", "Orléans"),
}


def encodings() -> Iterator[tuple[str, Case]]:
    for codec, towns in PLACES.items():
        words = [towns[k * k % 7 % 3] for k in range(N)]
        text = plain("Ort,a,b,c,d", body=rows_of([words, *COLUMNS]))
        guessed = () if codec.startswith("utf") else ("LD012",)
        yield f"in {codec}", case(text.encode(codec), labels={"Ort": words}, said=guessed)
    towns = [PLACES["cp1252"][k % 2] for k in range(N)]
    text = plain("Ort,größe,b,c,d", body=rows_of([towns, *COLUMNS]))
    yield (
        "in latin-1, names too",
        case(
            text.encode("latin-1"),
            dict(zip(("größe", "b", "c", "d"), COLUMNS, strict=True)),
            {"Ort": towns},
            said=["LD012"],
        ),
    )
    yield (
        "UTF-8 with one byte that is not",
        case(
            text.encode().replace("ü".encode(), b"\xfc", 1),
            dict(zip(("größe", "b", "c", "d"), COLUMNS, strict=True)),
            {"Ort": towns},
            said=["LD012"],
        ),
    )
    yield (
        "in cp1250, asked",
        case(
            plain("Ort,a,b,c,d", body=rows_of([["Plzeň", "Brno"] * 12, *COLUMNS])).encode("cp1250"),
            labels={"Ort": ["Plzeň", "Brno"] * 12},
            flags="--encoding cp1250",
        ),
    )
    yield "line ends of Windows", case(plain().replace("\n", "\r\n"))
    yield "line ends of an old Mac", case(plain().replace("\n", "\r"))
    lines = plain().splitlines()
    yield "line ends of all kinds", case("".join(line + ("\n", "\r\n", "\r")[k % 3] for k, line in enumerate(lines)))
    yield "no line end at the end", case(plain().rstrip("\n"))
    yield "blank lines between", case(plain(body=BODY.replace("\n", "\n\n")))
    yield "NUL bytes at the end", case(plain().encode() + bytes(512))
    yield "NUL bytes in cells", case(plain().encode().replace(b",10", b",\x0010", 2), said=["LD012", "LD013"])
    yield "a mark of the end of DOS", case(plain().encode() + b"\x1a")
    yield "a mark in the middle of the file", case(plain(body=BODY.replace("\n", "\n\ufeff", 1)).encode("utf-8"))
    yield "spaces that do not break", case(plain(body=BODY.replace(",", ",\u00a0")))
    yield "packed", case(gzip.compress(plain().encode()), ending=".csv.gz")
    yield (
        "UTF-16 and tabs, as Excel writes",
        case(plain("a\tb\tc\td", body=rows_of(COLUMNS, "\t")).encode("utf-16"), ending=".txt"),
    )


# separators and decimal signs ----------------------------------------------------------------------------------------
BIG = (np.random.default_rng(6).lognormal(8.5, 1, (4, N)).round(2) + 1000).tolist()
BIGGER = dict(zip(NAMES, BIG, strict=True))
WHOLE = [[float(round(x)) for x in column] for column in BIG]


def grouped(values: Sequence[float], mark: str, decimal: str = ".", places: int = 2) -> list[str]:
    return [f"{x:,.{places}f}".replace(",", "#").replace(".", decimal).replace("#", mark) for x in values]


def separators() -> Iterator[tuple[str, Case]]:
    head = ";".join(NAMES)
    for name, sep in (("semicolons", ";"), ("tabs", "\t"), ("pipes", "|")):
        yield f"{name}, points", case(plain(sep.join(NAMES), body=rows_of(COLUMNS, sep)))
        yield f"{name}, commas", case(plain(sep.join(NAMES), body=rows_of(COLUMNS, sep, ",")))
    yield (
        "commas in quotes",
        case(plain(body=rows_of([[f'"{str(x).replace(".", ",")}"' for x in column] for column in COLUMNS]))),
    )
    yield (
        "all in quotes",
        case(plain('"a","b","c","d"', body=rows_of([[f'"{x}"' for x in column] for column in COLUMNS]))),
    )
    yield "comma and space", case(plain("a, b, c, d", body=rows_of(COLUMNS, ", ")))
    yield "caret, asked", case(plain("a^b^c^d", body=rows_of(COLUMNS, "^")), flags="--sep ^")
    yield "one space", case(plain("a b c d", body=rows_of(COLUMNS, " ")), ending=".txt")
    fixed = "".join("".join(f"{x:9.2f}" for x in row) + "\n" for row in GRID)
    yield "columns of a fixed width", case(plain("        a        b        c        d", body=fixed), ending=".txt")
    holes = [(3, 1), (9, 2), (15, 0)]
    gappy = "".join(
        "".join(" " * 9 if (i, j) in holes else f"{x:9.2f}" for j, x in enumerate(row)) + "\n"
        for i, row in enumerate(GRID)
    )
    yield (
        "columns of a fixed width with blanks",
        case(plain("        a        b        c        d", body=gappy), gaps_at(holes), ending=".txt"),
    )
    named = "".join(f"{s:<10}" + "".join(f"{x:9.2f}" for x in row) + "\n" for s, row in zip(SITE, GRID, strict=True))
    yield (
        "columns of a fixed width, labels",
        case(plain(f"{'site':<10}        a        b        c        d", body=named), labels=SITES, ending=".txt"),
    )
    spaced = ["New York", "San Jose", "Rome"]
    words = [spaced[k % 3] for k in range(N)]
    town = "".join(f"{s:<10}" + "".join(f"{x:9.2f}" for x in row) + "\n" for s, row in zip(words, GRID, strict=True))
    yield (
        "columns of a fixed width, labels of two words",
        case(
            plain(f"{'site':<10}        a        b        c        d", body=town), labels={"site": words}, ending=".txt"
        ),
    )
    bars = "\n".join("| " + " | ".join(f"{x:6.2f}" for x in row) + " |" for row in GRID)
    yield "a table of Markdown", case(f"| a | b | c | d |\n|---|--:|---|---|\n{bars}\n", ending=".md")
    yield (
        "a table of Postgres",
        case(
            "   a    |   b    |   c    |   d\n--------+--------+--------+--------\n"
            + "\n".join(" | ".join(f"{x:6.2f}" for x in row) for row in GRID)
            + f"\n({N} rows)\n",
            ending=".txt",
        ),
    )
    yield (
        "tabs and words with spaces",
        case(plain("site\ta\tb\tc\td", body=rows_of([words, *COLUMNS], "\t")), labels={"site": words}, ending=".tsv"),
    )
    for name, mark, decimal in (
        ("1,234.56", ",", "."), ("1.234,56", ".", ","), ("1 234,56", " ", ","), ("1'234.56", "'", "."),
        ("1\u00a0234,56", "\u00a0", ","), ("1\u202f234,56", "\u202f", ","), ("1\u2019234.56", "\u2019", "."),
    ):  # fmt: skip
        yield (
            f"thousands as {name}",
            case(plain(head, body=rows_of([grouped(x, mark, decimal) for x in BIG], ";")), BIGGER, said=["LD114"]),
        )
    quoted = [[f'"{x}"' for x in grouped(column, ",", ".", 0)] for column in WHOLE]
    yield (
        "thousands in quotes",
        case(plain(body=rows_of(quoted)), dict(zip(NAMES, WHOLE, strict=True)), said=["LD114", "LD112"]),
    )
    yield (
        "thousands in one column in quotes",
        case(plain(body=rows_of([quoted[0], *COLUMNS[1:]])), {**AS_THEY_ARE, "a": WHOLE[0]}, said=["LD114", "LD112"]),
    )
    yield (
        "thousands or decimals",
        case(
            plain(head, body=rows_of([*(grouped(column, ",", ".", 0) for column in WHOLE[:2]), *WHOLE[2:]], ";")),
            dict(zip(NAMES, WHOLE, strict=True)),
            said=["LD112"],
        ),
    )
    yield (
        "a comma here and a point there",
        case(
            plain(
                head, body=rows_of([*([str(x).replace(".", ",") for x in c] for c in COLUMNS[:2]), *COLUMNS[2:]], ";")
            ),
            said=["LD112"],
        ),
    )
    indian = [f"{int(x) // 100000},{int(x) // 1000 % 100:02d},{int(x) % 1000:03d}" for x in np.array(WHOLE[0]) * 100]
    yield (
        "thousands of India",
        case(
            plain(head, body=rows_of([indian, *COLUMNS[1:]], ";")),
            {**AS_THEY_ARE, "a": (np.array(WHOLE[0]) * 100).tolist()},
            said=["LD114"],
        ),
    )
    few = swapped({(3, 1): "2,5", (9, 1): "3,5"})
    yield (
        "two commas among points",
        case(
            plain(head, body=rows_of(few, ";")),
            dict(zip(NAMES, swapped({(3, 1): 2.5, (9, 1): 3.5}), strict=True)),
            said=["LD112"],
        ),
    )
    yield "trailing commas on some lines", case(plain(body=BODY.replace("\n", ",\n", 5)))
    lines = rows_of([*COLUMNS, [("ok", "")[k % 3 == 0] for k in range(N)]]).splitlines()
    short = "\n".join(line.rstrip(",") for line in lines) + "\n"
    yield (
        "empty cells left out at the end",
        case(plain("a,b,c,d,note", body=short), labels={"note": None}, said=["LD014", "LD020"]),
    )
    rows = BODY.splitlines(keepends=True)
    sites = WITH_SITE.splitlines(keepends=True)
    yield (
        "one row with a comma too many",
        case(
            plain("site,a,b,c,d", body="".join([*sites[:7], "Paris, France,1,2,3,4\n", *sites[7:]])),
            labels=SITES,
            said=["LD014", "LD020"],
        ),
    )
    yield (
        "a row cut short at the end",
        case(
            plain(body="".join(rows) + "9.5,8.5\n"),
            {n: [*x, *([9.5, 8.5, GAP, GAP][j : j + 1])] for j, (n, x) in enumerate(AS_THEY_ARE.items())},
            rows=N + 1,
            said=["LD014", "LD020"],
        ),
    )
    yield (
        "a comma in the last words, no quotes",
        case(
            plain("a,b,c,d,note", body=rows_of([*COLUMNS, [("fine", "wet, cold")[k % 12 == 5] for k in range(N)]])),
            labels={"note": None},
            rows=N,
            said=["LD014", "LD020"],
        ),
    )
    quoted_words = ['"wet, cold"', '"said ""no"""', '"two\nlines"', "dry"]
    meant = ["wet, cold", 'said "no"', "two\nlines", "dry"]
    yield (
        "quotes of every kind",
        case(
            plain("note,a,b,c,d", body=rows_of([[quoted_words[k % 4] for k in range(N)], *COLUMNS])),
            labels={"note": [meant[k % 4] for k in range(N)]},
        ),
    )
    yield (
        "inches",
        case(
            plain("size,a,b,c,d", body=rows_of([['5" pipe', '7" pipe', "rod"] * 8, *COLUMNS])),
            labels={"size": ['5" pipe', '7" pipe', "rod"] * 8},
        ),
    )
    yield (
        "single quotes",
        case(plain("'site','a','b','c','d'", body=rows_of([[f"'{s}'" for s in SITE], *COLUMNS])), labels=SITES),
    )
    text = ["x" * 50_000, "y"] * 12
    yield "cells of 50,000 letters", case(plain("note,a,b,c,d", body=rows_of([text, *COLUMNS])), labels={"note": None})
    wide = np.random.default_rng(1).normal(size=(12, 3000)).round(3)
    yield (
        "3,000 columns",
        case(
            ",".join(f"g{j}" for j in range(3000)) + "\n" + rows_of(wide.T.tolist()),
            {f"g{j}": x for j, x in enumerate(wide.T.tolist())},
            rows=12,
        ),
    )


# cells ---------------------------------------------------------------------------------------------------------------
def in_cells() -> Iterator[tuple[str, Case]]:
    def first(
        name: str, cells: Sequence[str], meant: Sequence[float] | None = None, sep: str = ";", **more: Any
    ) -> Any:
        columns = [cells, *COLUMNS[1:]]
        more.setdefault("said", ["LD118", "LD114", "LD128"])
        return name, case(
            plain(sep.join(NAMES), body=rows_of(columns, sep)), {**AS_THEY_ARE, "a": meant or COLUMNS[0]}, **more
        )

    def aside(name: str, cells: Sequence[str], *said: str, **more: Any) -> Any:
        rest = dict(zip(NAMES[1:], COLUMNS[1:], strict=True))
        return name, case(
            plain(";".join(NAMES), body=rows_of([cells, *COLUMNS[1:]], ";")), rest, {"a": None}, said=said, **more
        )

    a, big, whole = COLUMNS[0], BIG[0], WHOLE[0]
    for form in (
        "{}%",
        "{} %",
        "${}",
        "€ {}",
        "{} €",
        "{} EUR",
        "USD {}",
        "£{}",
        "{} mg/L",
        "{} kg",
        "{} °C",
        "{} mm/h",
        "{} m",
        "{}kg",
        "{} cm²",
        "{} µg/m³",
        "CHF {}",
        "R$ {}",
        "{} kr",
        "{}°",
    ):
        yield first(f"cells as {form}", [form.format(x) for x in a])
    yield first("cells as 1,234 m", [f"{x} m" for x in grouped(whole, ",", ".", 0)], whole, said=["LD118", "LD112"])
    yield first("cells as 1,234.50 m", [f"{x} m" for x in grouped(big, ",")], big)
    yield first("cells as 1.234,50 €", [f"{x} €" for x in grouped(big, ".", ",")], big)
    yield first("cells as $1,234.50", [f"${x}" for x in grouped(big, ",")], big)
    yield first("percent with a comma", [f"{x} %".replace(".", ",") for x in a], said=["LD118", "LD112"])
    yield first(
        "minus of typography", [f"{x - 10:.2f}".replace("-", "−") for x in a], [round(x - 10, 2) for x in a], said=()
    )
    yield first("plus signs", [f"{x - 10:+.2f}" for x in a], [round(x - 10, 2) for x in a], said=())
    yield first("powers of ten", [f"{x:.3e}" for x in a], [float(f"{x:.3e}") for x in a], said=())
    yield first(
        "powers of ten with a comma",
        [f"{x:.3E}".replace(".", ",") for x in a],
        [float(f"{x:.3e}") for x in a],
        said=["LD112", "LD118"],
    )
    yield first(
        "powers of ten as printed", [f"{x / 10:.3f}×10^1" for x in a], [float(f"{x / 10:.3f}") * 10 for x in a], said=()
    )
    yield first(
        "negative in brackets",
        [f"({x})" if k % 4 == 0 else str(x) for k, x in enumerate(a)],
        [-x if k % 4 == 0 else x for k, x in enumerate(a)],
        said=["LD118", "LD129", "LD111"],
    )
    yield first(
        "a minus behind",
        [f"{x}-" if k % 4 == 0 else str(x) for k, x in enumerate(a)],
        [-x if k % 4 == 0 else x for k, x in enumerate(a)],
        said=["LD118", "LD129", "LD111"],
    )
    yield first(
        "an apostrophe of Excel before numbers", [f"'{x}" for x in a], said=["LD118", "LD129", "LD110", "LD180"]
    )
    low = [f"<{9:.1f}" if x < 9 else str(x) for x in a]
    yield first("limits of detection", low, [4.5 if x < 9 else x for x in a])
    yield first(
        "limits with a comma",
        [x.replace(".", ",") for x in low],
        [4.5 if x < 9 else x for x in a],
        said=["LD128", "LD112"],
    )
    yield aside("upper limits", [">12" if x > 12 else str(x) for x in a], "LD129")
    yield aside("ranges among numbers", ["9-11" if k % 5 == 0 else str(x) for k, x in enumerate(a)], "LD129")
    ages = [("18-29", "30-44", "45-64", "65+")[k % 4] for k in range(N)]
    yield first("ages in groups", ages, [float(k % 4) for k in range(N)], said=["LD188"])
    yield first(
        "ages in groups as numbers",
        [("18-29", "30-44", "45-64", "65+")[k * k % 5 % 4] for k in range(N)],
        [(23.5, 37.0, 54.5, 65.0)[k * k % 5 % 4] for k in range(N)],
        flags="--ranges --use a",
        said=(),
    )
    yield first(
        "ranges as numbers",
        ["9-11" if k % 5 == 0 else str(x) for k, x in enumerate(a)],
        [10.0 if k % 5 == 0 else x for k, x in enumerate(a)],
        flags="--ranges",
        said=(),
    )
    yield first(
        "brackets as numbers", [f"[{x}]" if k % 5 == 0 else str(x) for k, x in enumerate(a)], flags="--ranges", said=()
    )
    yield first(
        "remarks as numbers",
        [f"{x} (+1)" if k % 5 == 0 else str(x) for k, x in enumerate(a)],
        flags="--ranges",
        said=(),
    )
    yield aside("seasons", [f"{2000 + k % 6}/{2001 + k % 6}" for k in range(N)])
    yield aside(
        "two units",
        [f"{x / 1000:.4f} km" if k % 3 == 0 else f"{x} m" for k, x in enumerate(a)],
        "LD129",
        "LD110",
        "LD180",
    )
    yield aside("feet and inches", [f"{5 + k % 2}'{k % 12}\"" for k in range(N)], "LD129", "LD110", "LD180")
    yield aside("kilo and mega", [f"{x}{'kM'[k % 2]}" for k, x in enumerate(a)], "LD129", "LD110", "LD180")
    yield aside("stars", [f"{x}*" if k % 3 == 0 else str(x) for k, x in enumerate(a)], "LD129")
    yield aside("with a deviation", [f"{x} ± 0.3" for x in a], "LD129", "LD110", "LD180")
    yield aside("clocks", [f"{8 + k % 12:02d}:{k * 7 % 60:02d}" for k in range(N)], "LD110", "LD180", "LD181")
    yield aside("versions", [f"1.2.{k}" for k in range(N)], "LD110", "LD180", "LD181")
    yield aside("telephones", [f"+49 30 {k * 7919 % 90000 + 10000}" for k in range(N)], "LD110", "LD180", "LD181")
    yield (
        "1e300",
        case(
            plain(head := ";".join(NAMES), body=rows_of([[f"{x}e300" for x in a], *COLUMNS[1:]], ";")),
            {**AS_THEY_ARE, "a": [float(f"{x}e300") for x in a]},
            said=["LD152"],
        ),
    )
    yield aside(
        "numbers of 20 digits that name rows", [f"{12345678901234567890 + k * 7919}" for k in range(N)], "LD180"
    )
    assert head


# dates ---------------------------------------------------------------------------------------------------------------
def days() -> Iterator[tuple[str, Case]]:
    import datetime

    when = [datetime.datetime(2020, 1, 3, 14, 30) + datetime.timedelta(days=11 * k) for k in range(N)]
    forms = {
        "2020-01-31": "%Y-%m-%d", "31.01.2020": "%d.%m.%Y", "31/01/2020": "%d/%m/%Y", "01/31/2020": "%m/%d/%Y",
        "2020/01/31": "%Y/%m/%d", "20200131": "%Y%m%d", "2020-01-31T14:30:00Z": "%Y-%m-%dT%H:%M:%SZ",
        "2020-01-31 14:30:00.123": "%Y-%m-%d %H:%M:%S.123", "31-Jan-2020": "%d-%b-%Y", "Jan 31, 2020": "%b %d, %Y",
        "31 January 2020": "%d %B %Y", "31.01.20": "%d.%m.%y", "01/31/20": "%m/%d/%y", "31-Jan-20": "%d-%b-%y",
        "31JAN2020": "%d%b%Y", "1/31/2020 2:30 PM": "%m/%d/%Y %I:%M %p", "31.01.2020 14:30": "%d.%m.%Y %H:%M",
        "Friday, January 31, 2020": "%A, %B %d, %Y", "2020-01": "%Y-%m", "Jan 2020": "%b %Y", "Jan-20": "%b-%y",
    }  # fmt: skip
    for name, form in forms.items():
        days_ = [d.strftime(form) for d in when]
        yield (
            f"dates as {name}",
            case(
                plain("when;a;b;c;d", body=rows_of([days_, *COLUMNS], ";")),
                labels={"when": None},
                said=["LD181", "LD180", "LD110"],
            ),
        )
    german, french, spanish = (
        words.split()
        for words in (
            "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
            "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        )
    )
    written = {
        "3. Januar 2020": [f"{d.day}. {german[d.month - 1]} {d.year}" for d in when],
        "3 janvier 2020": [f"{d.day} {french[d.month - 1]} {d.year}" for d in when],
        "3 de enero de 2020": [f"{d.day} de {spanish[d.month - 1]} de {d.year}" for d in when],
        "2020年1月3日": [f"{d.year}年{d.month}月{d.day}日" for d in when],
        "2020-Q1": [f"{d.year}-Q{(d.month + 2) // 3}" for d in when],
        "Q1 2020": [f"Q{(d.month + 2) // 3} {d.year}" for d in when],
        "2020-W03": [f"{d.year}-W{d.isocalendar()[1]:02d}" for d in when],
    }
    for name, days_ in written.items():
        yield (
            f"dates as {name}",
            case(
                plain("when;a;b;c;d", body=rows_of([days_, *COLUMNS], ";")),
                labels={"when": None},
                said=["LD181", "LD180", "LD110"],
            ),
        )
    gappy = [d.strftime("%d.%m.%Y") if k % 5 else "" for k, d in enumerate(when)]
    yield (
        "dates with gaps",
        case(
            plain("when;a;b;c;d", body=rows_of([gappy, *COLUMNS], ";")),
            labels={"when": None},
            said=["LD181", "LD180", "LD110"],
        ),
    )
    impossible = [d.strftime("%d.%m.%Y") if k != 5 else "31.02.2020" for k, d in enumerate(when)]
    yield (
        "a day that never was",
        case(plain("when;a;b;c;d", body=rows_of([impossible, *COLUMNS], ";")), labels={"when": None}),
    )


# long form -----------------------------------------------------------------------------------------------------------
def long_forms() -> Iterator[tuple[str, Case]]:
    units, items = [f"well {k}" for k in range(12)], ["iron", "lead", "zinc", "tin"]
    V = np.random.default_rng(4).normal(10, 2, (12, 4)).round(2)
    pairs = [
        (u, w, V[i, j], round(V[i, j] ** 2 - V[i, 0], 2)) for i, u in enumerate(units) for j, w in enumerate(items)
    ]
    wide = dict(zip(items, V.T.tolist(), strict=True))
    two = plain("well,metal,value,spread", body=rows_of(list(zip(*pairs, strict=True))))
    yield (
        "long form, two values",
        case(
            two,
            {"value": [p[2] for p in pairs], "spread": [p[3] for p in pairs]},
            {"well": None, "metal": None},
            rows=48,
            said=["LD134"],
        ),
    )
    one = plain("well,metal,value", body=rows_of(list(zip(*(p[:3] for p in pairs), strict=True))))
    yield "long form, one value", case(one, refused=True)
    yield "long form, spread", case(one, wide, {"well": units}, rows=12, flags="--spread metal")
    holes = [p[:3] for k, p in enumerate(pairs) if k not in (5, 18)]
    gappy = V.copy()
    gappy[1, 1] = gappy[4, 2] = GAP
    yield (
        "long form with gaps, spread",
        case(
            plain("well,metal,value", body=rows_of(list(zip(*holes, strict=True)))),
            dict(zip(items, gappy.T.tolist(), strict=True)),
            {"well": units},
            rows=12,
            flags="--spread metal",
        ),
    )


# as people sent them ------------------------------------------------------------------------------------------------
def as_sent() -> Iterator[tuple[str, Case]]:
    unnamed = dict(zip(("c1", "c2", "c3", "c4"), COLUMNS, strict=True))
    wells = [f"well {k}" for k in range(N)]
    kinds = [str(k % 2) for k in range(N)]
    classed = rows_of([*COLUMNS, kinds])
    yield "sizes and classes above", case(f"{N},4,wet,dry\n{classed}", {**unnamed, "c5": None}, said=["LD017"])
    yield "sizes alone above", case(f"{N} 4\n" + rows_of(COLUMNS, " "), unnamed, ending=".txt", said=["LD017"])
    yield (
        "sizes above, words first",
        case(
            f"{N} 4\n" + rows_of([[w.replace(" ", "") for w in wells], *COLUMNS], " "),
            dict(zip(("c2", "c3", "c4", "c5"), COLUMNS, strict=True)),
            {"c1": None},
            ending=".vec",
            said=["LD017"],
        ),
    )
    yield "packed by bzip2", case(bz2.compress(plain().encode()), ending=".csv.bz2")
    yield "packed by xz", case(lzma.compress(plain().encode()), ending=".csv.xz")
    yield "packed by zip", case(zipped({"wells.csv": plain()}), ending=".zip")
    yield "packed by zip on a Mac", case(zipped({"wells.csv": plain(), "__MACOSX/._wells.csv": "x"}), ending=".zip")
    quoted = rows_of([[f'"{v:.15g}"'.replace(".", ",") for v in column] for column in COLUMNS], ";")
    yield "decimal commas in quotes, semicolons", case(plain('"a";"b";"c";"d"', body=quoted))
    yield "rows affected", case(plain(below=f"\n({N} rows affected)\n"), said=["LD019"])
    yield "rows of Postgres", case(plain(below=f"({N} rows)\n"), said=["LD019"])
    yield "a source below", case(plain("site,a,b,c,d", body=WITH_SITE, below="Source: the city, 2023\n"), labels=SITES)
    boxed = "".join(f"| {' | '.join(f'{v:6.2f}' for v in row)} |\n" for row in GRID)
    rule = "+--------" * 4 + "+\n"
    yield "a table of MySQL", case(f"{rule}|      a |      b |      c |      d |\n{rule}{boxed}{rule}")
    pages = "".join("a,b,c,d\n" + rows_of(X[k : k + 8].T.tolist()) + "\f\n" for k in range(0, N, 8))
    yield "pages", case(pages, said=["LD019"])
    printed = "".join(f"{k:<3d}{''.join(f'{v:8.2f}' for v in row)}\n" for k, row in enumerate(GRID, start=1))
    yield "as R prints it", case("          a       b       c       d\n" + printed, ending=".txt")
    latex = "".join(" & ".join(f"{v:.2f}" for v in row) + r" \\" + "\n" for row in GRID)
    yield "rows of LaTeX", case(r"a & b & c & d \\" + "\n" + latex, ending=".txt")
    big = (X * 1e5).round(2)
    points = [[f"{v:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".") for v in row] for row in big.T]
    yield "millions of Germany", case(plain("a;b;c;d", body=rows_of(points, ";")), dict(zip(NAMES, big.T, strict=True)))
    signs = np.where(np.arange(N)[:, None] % 3 == 1, -1, 1)
    money = X * 1000 * signs
    books = [[f'"$({-v:,.2f})"' if v < 0 else f'"${v:,.2f}"' for v in column] for column in money.T]
    yield "losses in brackets with $", case(plain(body=rows_of(books)), dict(zip(NAMES, money.T, strict=True)))
    francs = [[f"{v:,.2f} €".replace(",", "\u202f").replace(".", ",") for v in column] for column in X.T * 1000]
    yield (
        "euros of France",
        case(plain("a;b;c;d", body=rows_of(francs, ";")), dict(zip(NAMES, X.T * 1000, strict=True))),
    )
    some = [[f"{v:.15g} kg" if k % 4 == 0 else v for k, v in enumerate(COLUMNS[0])], *COLUMNS[1:]]
    yield "a unit in some cells", case(plain(body=rows_of(some)))
    for word in ("Gesamtergebnis", "Total général", "Итого", "合計", "TOTAL GENERAL", "Somme"):
        total = f"{word}," + ",".join(f"{v:.2f}" for v in X.sum(axis=0)) + "\n"
        made = plain("well,a,b,c,d", body=rows_of([wells, *COLUMNS]), below=total)
        yield f"{word} below", case(made, labels={"well": wells}, said=["LD019"])
    months = [f"2020-{1 + k // 20:02d}-{1 + k % 20:02d}" for k in range(N)]
    weekdays = [f'"Mo, {day[8:]}.{day[5:7]}.2020"' for day in months]
    yield (
        "days of the week before",
        case(plain("Tag,a,b,c,d", body=rows_of([weekdays, *COLUMNS])), labels={"Tag": None}),
    )
    zones = [f"{day} 14:30:00+01:00" for day in months]
    yield "times with their zone", case(plain("when,a,b,c,d", body=rows_of([zones, *COLUMNS])), labels={"when": None})
    seconds = [1577836800 + 3600 * k for k in range(N)]
    yield (
        "seconds since 1970",
        case(plain("timestamp,a,b,c,d", body=rows_of([seconds, *COLUMNS])), labels={"timestamp": None}),
    )
    yield (
        "days as Excel counts them",
        case(plain("Date,a,b,c,d", body=rows_of([[43831 + k for k in range(N)], *COLUMNS])), labels={"Date": None}),
    )
    yield "names with commas, cells with semicolons", case(plain("a,b,c,d", body=rows_of(COLUMNS, ";")))
    yield "names with tabs, cells with blanks", case(plain("a\tb\tc\td", body=rows_of(COLUMNS, "  ")), ending=".dat")
    yield "commas and tabs", case(plain("a,\tb,\tc,\td", body=rows_of(COLUMNS, ",\t")))
    yield "two colons", case(plain("a::b::c::d", body=rows_of(COLUMNS, "::")), ending=".dat")
    without = plain("site,a,b,c,d", above=",mg/L,-,°C,%\n", body=WITH_SITE)
    yield "units above the names", case(without, labels=SITES, said=["LD017", "LD018"])
    bare = "site,a,b,c,d\n,mg/L,-,°C,%\n" + WITH_SITE
    yield "a unit that is a dash", case(bare, labels=SITES, said=["LD018"])
    yield "marks of exclamation above", case(plain(above="! wells\n! by hand\n"))
    yield (
        "facts with colons above",
        case(plain(above="Station: 12\nOperator: Kim\nDate: 2020-01-31\n\n"), said=["LD017"]),
    )
    yield "a line that says data", case(plain(above="wells\n[Data]\n"), said=["LD017"])
    for word in ("<LOD", "TBD", "ohne Angabe", "sans réponse", "#N/A N/A", "nicht bestimmt"):
        made = plain(body=rows_of(swapped({(3, 1): word, (9, 2): word})))
        yield f"gaps are {word}", case(made, gaps_at([(3, 1), (9, 2)]))
    slip = plain(body=rows_of(swapped({(3, 1): "1O.5"})))
    yield "a letter for a zero", case(slip, gaps_at([(3, 1)]), said=["LD123"])
    corners = [f'52°{k:02d}\'12""N' for k in range(N)]
    turned = rows_of([[f'"{one}"' for one in corners], *COLUMNS])
    yield "degrees and minutes", case(plain("lat,a,b,c,d", body=turned), labels={"lat": None})
    powers = [[f"{v:.4E}".replace("E", "D") for v in column] for column in X.T]
    yield "powers of Fortran", case(plain("a b c d", body=rows_of(powers, " ")), ending=".dat")
    codes_ = [f"{k * 37 % 10_000:05d}" for k in range(N)]
    yield "zeros before codes", case(plain("code,a,b,c,d", body=rows_of([codes_, *COLUMNS])), labels={"code": None})
    truth = ["TRUE" if k % 3 else "FALSE" for k in range(N)]
    yield "truth in words", case(plain("wet,a,b,c,d", body=rows_of([truth, *COLUMNS])), {"wet": None, **AS_THEY_ARE})
    first = [
        [None] * 6,
        [None] * 6,
        [None, "site", *NAMES],
        *([None, s, *row] for s, row in zip(SITE, GRID, strict=True)),
    ]
    yield "a sheet that begins at B3", case(workbook({"Data": first}), labels=SITES, ending=".xlsx")
    below = [*SITE_SHEET, [None] * 5, ["Total", *X.sum(axis=0).tolist()]]
    yield (
        "a sheet with a total below a blank row",
        case(workbook({"Data": below}), labels=SITES, ending=".xlsx", said=["LD019"]),
    )


def zipped(files: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Case]]]] = {
    "headers": headers, "sheets": sheets, "codes": codes, "encodings": encodings, "separators": separators,
    "cells": in_cells, "dates": days, "long form": long_forms, "as sent": as_sent,
}  # fmt: skip


def cases() -> dict[str, Case]:
    """Every case by its group and name."""
    return {f"{group}: {name}": made for group, make in GROUPS.items() for name, made in make()}


def main() -> None:
    wanted = sys.argv[1:]
    found, times = dict[str, Outcome](), Counter[tuple[str, str]]()
    with TemporaryDirectory() as folder:
        for name, made in cases().items():
            if not wanted or any(word in name for word in wanted):
                found[name] = judge(made, Path(folder), "case")
                times[name.split(":")[0], found[name].kind] += 1
    for name, outcome in found.items():
        if outcome.kind != "as meant" or wanted:
            print(f"== {outcome.kind}: {name}\n{outcome.text if wanted else outcome.text[:200]}")
    kinds = ("as meant", "noted", "silently wrong", "refused")
    for group in GROUPS:
        print(f"{group:12}", *(f"{times[group, kind]:4} {kind}" for kind in kinds))
    print(f"{'all':12}", *(f"{sum(times[g, kind] for g in GROUPS):4} {kind}" for kind in kinds))


if __name__ == "__main__":
    main()
