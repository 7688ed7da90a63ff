"""Workbooks of Excel and OpenDocument: the sheet with the table, merged cells, no more memory than its cells need.

Their XML is read by expat, which bounds what entities may grow to and opens no other file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from lowdim.table.detect import Guess, first_line, guess_header, is_number, title_records
from lowdim.table.open_file import BOMB_RATIO, SMALL_FILE, FoundFile, Raw, cell_text, titles_note, too_large
from lowdim.table.options import ReadingOptions
from lowdim.text.escape import protect_terminal
from lowdim.text.fix import Fix, propose
from lowdim.text.format import listing
from lowdim.text.format import size as size_text
from lowdim.text.messages import LowdimError, error, message

LOOK_ROWS_OF_SHEETS = 1000  # by which the sheet with the table is chosen
SHEET_CELL_COST = 100  # bytes of memory that a cell with something in it needs while it is read
PADDING_COST = 16  # the same of an empty cell of the table
MERGED = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}mergeCell"
LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
OFFICE, TABLE, TEXT = (f"{{urn:oasis:names:tc:opendocument:xmlns:{part}:1.0}}" for part in ("office", "table", "text"))
MOST_ROWS = 2**21  # that a sheet may have; programs allow 2^20
MOST_CELLS = 2**14  # of a row


class SheetRows(NamedTuple):
    """The rows of a sheet as text, without empty cells at their end, and cells that stand for those below them."""

    rows: list[list[str]]
    tall: list[tuple[int, int, int]]  # row, column, how many rows


def read_workbook(file: FoundFile, options: ReadingOptions, memory: int) -> Raw:
    """The sheet of a workbook that is asked for or holds most numbers."""
    name = protect_terminal(file.path.name)
    _refuse_bomb(file, name, memory)
    what, grids = ("Excel", _excel) if file.kind == "xlsx" else ("OpenDocument", _open_document)
    try:
        titles, sizes, grid, chosen = grids(file, options, memory)
    except LowdimError:
        raise
    except Exception:  # a damaged workbook may fail anywhere inside the reader
        raise error("LD002.damaged", name=name, kind=what) from None
    for row, column, count in grid.tall:
        merged = grid.rows[row : row + count]
        if all(any(map(is_number, one)) for one in merged) and any(merged[:1]) and column < len(merged[0]):  # no header
            for below in merged[1:]:
                below += [""] * (column + 1 - len(below))
                below[column] = below[column] or merged[0][column]
    kind = f"{what}, sheet '{protect_terminal(titles[chosen])}'" + (f" of {len(titles)}" if len(titles) > 1 else "")
    raw = from_records(grid.rows, name, kind, options.header, memory, file.size)._replace(unit="row")
    others = [title for k, title in enumerate(titles) if k != chosen and sizes and (sizes[k] or k < chosen)]
    if not others:
        return raw
    facts = {"sheet": protect_terminal(titles[chosen]), "others": listing([protect_terminal(one) for one in others])}
    return raw._replace(notes=(message("LD011", name, **facts, fix=Fix(propose(sheet=others[0]))), *raw.notes))


def _refuse_bomb(file: FoundFile, name: str, memory: int) -> None:
    with zipfile.ZipFile(file.path) as archive:
        total = sum(part.file_size for part in archive.infolist())
    if total > memory or (total > SMALL_FILE and total > BOMB_RATIO * file.size):
        raise error(
            "LD170.table",
            name=name,
            size=f"{size_text(file.size)} packed",
            fix="save the sheet as CSV",
            shape=f", {size_text(total)} unpacked",
            why=f"{size_text(memory)} may be used",
        )


def _chosen(sheet: str | int | None, titles: list[str], sizes: list[int], name: str) -> int:
    if sheet is None and titles:
        return sizes.index(max(sizes)) if sizes else 0
    if sheet in titles:
        return titles.index(str(sheet))
    if isinstance(sheet, int) and 1 <= sheet <= len(titles):
        return sheet - 1
    fix = Fix(propose(sheet=titles[0])) if titles else "add a sheet"
    raise error("LD010", name=name, sheet=sheet, fix=fix)


def _excel(file: FoundFile, options: ReadingOptions, memory: int) -> tuple[list[str], list[int], SheetRows, int]:
    """The titles of the sheets of an Excel workbook, how many numbers they hold, one of them, and which."""
    import openpyxl  # 0.2 s: not before a workbook is read

    book = openpyxl.load_workbook(file.path, read_only=True, data_only=True)
    titles = [sheet.title for sheet in book.worksheets]
    sizes = list[int]()
    for sheet in book.worksheets if len(titles) > 1 and options.sheet is None else ():
        sheet.reset_dimensions()
        rows = sheet.iter_rows(max_row=LOOK_ROWS_OF_SHEETS, values_only=True)
        sizes.append(
            sum(isinstance(value, int | float) and not isinstance(value, bool) for row in rows for value in row)
        )
    chosen = _chosen(options.sheet, titles, sizes, protect_terminal(file.path.name))
    sheet = book.worksheets[chosen]
    sheet.reset_dimensions()  # a sheet may claim a million rows and hold three
    rows = ([cell_text(value) for value in row] for row in sheet.iter_rows(values_only=True))
    grid = SheetRows(list(_within(rows, file, memory)), _merged(file.path, titles[chosen]))
    book.close()
    return titles, sizes, grid, chosen


def _within(rows: Iterable[list[str]], file: FoundFile, memory: int) -> Iterator[list[str]]:
    """The rows without empty cells at their end, as long as their cells fit into memory."""
    cells = 0
    for k, row in enumerate(rows):
        while row and not row[-1].strip():
            row.pop()
        cells += sum(map(bool, row))
        _refuse_large(file, cells, k + 1, memory)
        yield row


def _refuse_large(file: FoundFile, cells: int, rows: int, memory: int) -> None:
    need = cells * SHEET_CELL_COST
    if need > memory or rows > MOST_ROWS:
        raise too_large(file.path.name, file.size, max(need, memory + 1), memory, shape=" packed")


def _merged(path: Path, title: str) -> list[tuple[int, int, int]]:
    """The cells of a sheet of Excel that are merged with those below them."""
    from openpyxl.utils.cell import range_boundaries

    with zipfile.ZipFile(path) as archive:
        links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))  # noqa: S314 - as above
        targets = {link.get("Id"): link.get("Target", "") for link in links}
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))  # noqa: S314 - as above
        ids = {one.get("name"): one.get(LINK) for one in book.iter() if one.tag.endswith("}sheet")}
        member = targets.get(ids.get(title), "").removeprefix("/")
        member = member if member.startswith("xl/") else f"xl/{member}"
        if member not in archive.namelist():
            return []
        tall = []
        with archive.open(member) as xml:
            for _, element in ElementTree.iterparse(xml):  # noqa: S314 - as above
                if element.tag == MERGED:
                    left, top, _, bottom = range_boundaries(element.get("ref"))
                    tall.append((top - 1, left - 1, bottom - top + 1))
                element.clear()
        return [one for one in tall if 1 < one[2] <= MOST_ROWS]


def _open_document(
    file: FoundFile, options: ReadingOptions, memory: int
) -> tuple[list[str], list[int], SheetRows, int]:
    """The same of an OpenDocument sheet, whose cells say how often they are repeated."""
    titles, grids = list[str](), list[SheetRows]()
    with zipfile.ZipFile(file.path) as archive, archive.open("content.xml") as xml:
        rows, tall, empty, cells = list[list[str]](), list[tuple[int, int, int]](), 0, 0
        for event, element in ElementTree.iterparse(xml, ("start", "end")):  # noqa: S314 - as above
            if event == "start":
                if element.tag == f"{TABLE}table":
                    rows, tall, empty = [], [], 0
                    titles.append(element.get(f"{TABLE}name", ""))
                    grids.append(SheetRows(rows, tall))
                continue
            if element.tag != f"{TABLE}table-row" or not grids:
                continue
            row, spans = _row_of(element)
            times = min(int(element.get(f"{TABLE}number-rows-repeated", 1)), MOST_ROWS)
            element.clear()
            if not row:
                empty += times
                continue
            cells += times * sum(map(bool, row))
            _refuse_large(file, cells, len(rows) + empty + times, memory)
            rows.extend([] for _ in range(empty))
            tall.extend((len(rows), column, count) for column, count in spans)
            rows.extend(list(row) for _ in range(times))
            empty = 0
    sizes = [sum(is_number(cell) for row in grid.rows[:LOOK_ROWS_OF_SHEETS] for cell in row) for grid in grids]
    chosen = _chosen(options.sheet, titles, sizes, protect_terminal(file.path.name))
    return titles, sizes if len(titles) > 1 and options.sheet is None else [], grids[chosen], chosen


def _row_of(element: ElementTree.Element) -> tuple[list[str], list[tuple[int, int]]]:
    """The cells of a row as text, without empty ones at its end, and columns whose cell spans several rows."""
    row, spans, empty = list[str](), list[tuple[int, int]](), 0
    for cell in element:
        if cell.tag not in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            continue
        times = min(int(cell.get(f"{TABLE}number-columns-repeated", 1)), MOST_CELLS)
        text = _ods_text(cell)
        if not text.strip():
            empty += times
            continue
        row += [""] * empty
        if (tall := min(int(cell.get(f"{TABLE}number-rows-spanned", 1)), MOST_ROWS)) > 1:
            spans.append((len(row), tall))
        row += [text] * times
        empty = 0
        if len(row) > MOST_CELLS:
            raise error("LD171", d=f"{len(row):,}", most=f"{MOST_CELLS:,}", fix="save the sheet as CSV, on its side")
    return row, spans


def _ods_text(cell: ElementTree.Element) -> str:
    """What a cell holds, not what is shown of it."""
    kind = cell.get(f"{OFFICE}value-type", "")
    if kind in ("float", "percentage", "currency"):
        return cell.get(f"{OFFICE}value", "")
    if kind == "date":
        return cell.get(f"{OFFICE}date-value", "")
    if kind == "boolean":
        return cell.get(f"{OFFICE}boolean-value", "").upper()
    return "\n".join("".join(line.itertext()) for line in cell.findall(f"{TEXT}p"))


def from_records(
    rows: list[list[str]], name: str, kind: str, header_option: bool | None, memory: int, size: int
) -> Raw:
    """A table from the rows of a sheet."""
    import pyarrow as pa

    full = [i for i, row in enumerate(rows) if any(cell.strip() for cell in row)]
    if not full:
        raise error("LD005", name=name, size="no row")
    width = max(len(rows[i]) for i in full)
    if width * len(full) * PADDING_COST > memory:
        raise too_large(name, size, width * len(full) * PADDING_COST, memory, shape=" packed")
    used = [j for j in range(width) if any(j < len(rows[i]) and rows[i][j].strip() for i in full)]
    table = [[rows[i][j].strip() if j < len(rows[i]) else "" for j in used] for i in full]
    above = 0 if header_option is False else title_records(table[:200])
    titles = [" ".join(filter(None, row)) for row in table[:above]]
    body, lines = table[above:], np.array(full[above:], dtype=np.int64) + 1
    body = [list(row) for row in zip(*(column for column in zip(*body, strict=True) if any(column)), strict=True)]
    header = guess_header(body[:200]) if header_option is None else header_option
    columns = [pa.array(column, pa.string()) for column in zip(*body[header:], strict=True)]
    columns = columns or [pa.array([], pa.string()) for _ in body[0]]
    notes = [titles_note(titles, name)] if titles else []
    if header_option is None and not header:
        notes.append(message("LD008", first_line(body[0]), name=name, line=int(lines[0])))
    names = body[0] if header else None
    return Raw(name, columns, names, lines[header:], Guess(kind, header=header), notes=tuple(notes))
