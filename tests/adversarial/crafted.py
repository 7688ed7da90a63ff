"""Files made by hand to do harm: bombs, ways out of the folder, giant shapes, run folders that were tampered with.

Each case makes its file in a folder of its own and reads it. None may crash, hang, take 2 GB or touch another file.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.adversarial.good_files import GOOD, NAMES, attempt, cells, opened, path_of, text

Case = Callable[[Path], Any]
HUGE = (2**31, 2**40, 2**62, 2**63 - 1, 10**12, 10**30, -1, -(2**63), 0)
OUT = (
    "../../escaped",
    "/tmp/escaped_by_lowdim",
    "..\\..\\escaped",
    "a/../../../escaped",
    "/etc/passwd",
    "C:\\escaped",
    "\x00",
    "~/escaped",
)
NASTY: tuple[Any, ...] = (
    None,
    -1,
    10**400,
    1e308,
    "x",
    "",
    [],
    {},
    [[[]]],
    True,
    "../../../etc/passwd",
    {"a": {"b": []}},
    ["x"] * 50,
    "\x1b[2J",
)


def crafted() -> dict[str, Case]:
    """Every case by name."""
    return dict([*_bombs(), *_ways_out(), *_giants(), *_texts(), *_no_files(), *_tampered()])


def put(kind: str, data: bytes, place: Path) -> Any:
    """Write bytes as a file of a kind, and read them."""
    path = path_of(kind, place)
    path.write_bytes(data)
    return opened(kind, path)


def zipped(members: dict[str, bytes], compressed: bool = True) -> bytes:
    """A zip of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, body in members.items():
            archive.writestr(zipfile.ZipInfo(name), body, zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED)
    return buffer.getvalue()


def members_of(kind: str, place: Path) -> dict[str, bytes]:
    """The members of a good zip of a kind."""
    path = path_of(kind, place)
    GOOD[kind](path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# bombs --------------------------------------------------------------------------------------------------------
def _bombs() -> Iterator[tuple[str, Case]]:
    row = b"1.5,2.5,3.5\n"
    for size in (2**21, 2**24, 2**26):
        for name, unit in (("zeros", b"0,"), ("rows", row), ("spaces", b" "), ("line ends", b"\n"), ("quotes", b'"')):
            yield f"gz of {size} bytes of {name}", partial(_gz, unit, size)
    yield "gz in gz", lambda place: put("gz", gzip.compress(gzip.compress(text())), place)
    yield "gz of a zip", lambda place: put("gz", gzip.compress(zipped({"a": b"1"})), place)
    yield "gz with a tail", lambda place: put("gz", gzip.compress(text()) + b"\0" * 1000 + b"x", place)
    yield "many gz in a row", lambda place: put("gz", gzip.compress(row) * 2000, place)
    for size in (2**22, 2**27):
        yield f"a sheet of {size} spaces", partial(_sheet, "xl/worksheets/sheet1.xml", b" " * size)
        yield f"strings of {size} spaces", partial(_sheet, "xl/sharedStrings.xml", b" " * size)
        yield f"a useless member of {size} bytes", partial(_sheet, "xl/media/x.bin", bytes(size))
    yield "a sheet that is not XML", partial(_sheet, "xl/worksheets/sheet1.xml", b"\xff\xfe<")
    yield "a sheet of laughs", partial(_sheet, "xl/worksheets/sheet1.xml", _laughs())
    yield "a sheet that reads a file", partial(_sheet, "xl/worksheets/sheet1.xml", _entity("file:///etc/passwd"))
    yield "a sheet that asks the network", partial(_sheet, "xl/worksheets/sheet1.xml", _entity("http://127.0.0.1:9/x"))
    yield "a sheet of a million nested tags", partial(_sheet, "xl/worksheets/sheet1.xml", b"<a>" * 10**6)
    for cell in ("XFD1048576", "ZZZZZZ99", "A99999999999", "A0", "1A", "", "A-1", "$A$1"):
        yield f"a cell at '{cell}'", partial(_cell_at, cell)
    for extent in ("A1:XFD1048576", "A1:ZZZZ9999999", "B2:A1", "", "A1:A0"):
        yield f"a sheet that claims {extent}", partial(_extent, extent)


def _gz(unit: bytes, size: int, place: Path) -> Any:
    return put("gz", gzip.compress(unit * (size // len(unit)), 1), place)


def _sheet(member: str, body: bytes, place: Path) -> Any:
    return put("xlsx", zipped({**members_of("xlsx", place), member: body}), place)


def _entity(address: str) -> bytes:
    return (f'<!DOCTYPE a [<!ENTITY x SYSTEM "{address}">]>' + _SHEET % ("A1:B2", "A1", "&x;")).encode()


def _laughs() -> bytes:
    names = "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(9))
    return (f'<!DOCTYPE a [<!ENTITY l0 "ha">{names}]>' + _SHEET % ("A1:B2", "A1", "&l9;")).encode()


_SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="%s"/><sheetData>'
    '<row r="1"><c r="%s" t="str"><v>%s</v></c></row></sheetData></worksheet>'
)


def _cell_at(cell: str, place: Path) -> Any:
    return _sheet("xl/worksheets/sheet1.xml", (_SHEET % ("A1:B2", cell, "1")).encode(), place)


def _extent(extent: str, place: Path) -> Any:
    return _sheet("xl/worksheets/sheet1.xml", (_SHEET % (extent, "A1", "1")).encode(), place)


# ways out of the folder -----------------------------------------------------------------------------------------
def _ways_out() -> Iterator[tuple[str, Case]]:
    for name in OUT:
        shown = name.replace("\x00", "NUL")
        yield f"npz with a member {shown}", partial(_more_members, "npz", {f"{name}.npy": b"1"})
        yield f"xlsx with a member {shown}", partial(_more_members, "xlsx", {name: b"1"})
        yield f"xlsx whose sheet is {shown}", partial(_sheet_elsewhere, name)
        yield f"run whose table is {shown}", partial(_run_field, ("table", "path"), name)
        yield f"run with a file {shown}", partial(_run_field, ("files", name), "0" * 64)
        yield f"zarr with a link to {shown}", partial(_linked, "zarr", name)
        yield f"run with a link to {shown}", partial(_linked, "run", name)
    yield "a model that is a pickle", lambda place: put("model", b"\x80\x04cos\nsystem\n(S'touch escaped'\ntR.", place)
    yield "npy of objects", partial(_npy, "'|O'", "(3, 2)", b"\x80\x04cos\nsystem\n(S'touch escaped'\ntR.")
    yield (
        "npz of objects",
        lambda place: put("npz", zipped({"data.npy": _npy_bytes("'|O'", "(3,)", b"\x80\x04.")}), place),
    )


def _more_members(kind: str, more: dict[str, bytes], place: Path) -> Any:
    return put(kind, zipped({**members_of(kind, place), **more}), place)


def _sheet_elsewhere(name: str, place: Path) -> Any:
    members = members_of("xlsx", place)
    relations = members["xl/_rels/workbook.xml.rels"].replace(
        b"worksheets/sheet1.xml", name.encode().replace(b"\0", b"")
    )
    return put("xlsx", zipped({**members, "xl/_rels/workbook.xml.rels": relations}), place)


def _linked(kind: str, target: str, place: Path) -> Any:
    path = path_of(kind, place)
    GOOD[kind](path)
    one = sorted(p for p in path.rglob("*") if p.is_file())[-1]
    one.unlink()
    one.symlink_to(target.replace("\0", "nul"))
    return opened(kind, path)


# giant shapes ---------------------------------------------------------------------------------------------------
def _npy_bytes(descr: str, shape: str, body: bytes, version: bytes = b"\x01\x00") -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(head) & 0xFFFF) + head + body


def _npy(descr: str, shape: str, body: bytes, place: Path) -> Any:
    return put("npy", _npy_bytes(descr, shape, body), place)


def _giants() -> Iterator[tuple[str, Case]]:
    for n in HUGE:
        yield f"npy of {n} rows", partial(_npy, "'<f8'", f"({n}, 4)", bytes(64))
        yield f"npy of {n} columns", partial(_npy, "'<f8'", f"(4, {n})", bytes(64))
        yield f"mtx of {n} rows", partial(_mtx, f"{n} 4 1\n1 1 1.0\n")
        yield f"mtx of {n} columns", partial(_mtx, f"4 {n} 1\n1 1 1.0\n")
        yield f"mtx of {n} entries", partial(_mtx, f"4 4 {n}\n1 1 1.0\n")
        yield f"mtx with an index of {n}", partial(_mtx, f"4 4 1\n{n} 1 1.0\n")
        yield f"npz of {n} rows", partial(_npz_shape, n)
        yield f"zarr of {n} rows", partial(_zarr_field, "shape", [n, 4])
        yield f"zarr in chunks of {n}", partial(_zarr_chunks, [n, 4])
    for shape in (
        "()",
        "(3,)",
        "(2, 2, 2)",
        "(4, 0)",
        "(0, 4)",
        "'x'",
        "(True, 4)",
        "(4.0, 4)",
        "(1,) * 10**9",
        "__import__('os')",
    ):
        yield f"npy of shape {shape}", partial(_npy, "'<f8'", shape, bytes(64))
    for descr in (
        "'<f2'",
        "'<c16'",
        "'|V8'",
        "'<M8[s]'",
        "'<U4'",
        "[('a', '<f8')]",
        "'>f8'",
        "'|b1'",
        "'<f16'",
        "'|S0'",
    ):
        yield f"npy of {descr}", partial(_npy, descr, "(2, 2)", bytes(64))
    yield "mtx with zero bytes", partial(_mtx, "4 4 2\n1 1 1.0\n\0\0\0\0\n")
    yield (
        "mtx of zero bytes",
        lambda place: put("mtx", b"%%MatrixMarket matrix coordinate real general\n" + bytes(4000), place),
    )
    yield "mtx whose number has no end", partial(_mtx, "4 4 1\n1 1 " + "9" * 10**6)
    yield "mtx of a line of 10 MB", partial(_mtx, "%" + "x" * 10**7)
    yield "parquet of a million rows of nothing", _null_rows
    yield "parquet of 5,000 columns", _wide_parquet
    yield "parquet whose metadata is no UTF-8", _foreign_metadata


def _mtx(rest: str, place: Path) -> Any:
    return put("mtx", b"%%MatrixMarket matrix coordinate real general\n" + rest.encode(), place)


def _npz_shape(n: int, place: Path) -> Any:
    members = members_of("npz", place)
    shape = np.array([n, 4], dtype=object if abs(n) > 2**63 - 1 else np.int64)
    buffer = io.BytesIO()
    np.save(buffer, shape, allow_pickle=True)
    return put("npz", zipped({**members, "shape.npy": buffer.getvalue()}), place)


def _zarr_field(field: str, value: Any, place: Path) -> Any:
    path = path_of("zarr", place)
    GOOD["zarr"](path)
    facts = json.loads((path / "zarr.json").read_text())
    facts[field] = value
    (path / "zarr.json").write_text(json.dumps(facts))
    return opened("zarr", path)


def _zarr_chunks(chunks: list[int], place: Path) -> Any:
    return _zarr_field("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": chunks}}, place)


def _null_rows(place: Path) -> Any:
    pq.write_table(pa.table({"a": pa.nulls(10**6), "b": pa.array(np.zeros(10**6))}), path_of("parquet", place))
    return opened("parquet", path_of("parquet", place))


def _wide_parquet(place: Path) -> Any:
    pq.write_table(pa.table({f"c{j}": [1.0] for j in range(5_000)}), path_of("parquet", place), write_statistics=False)
    return opened("parquet", path_of("parquet", place))


def _foreign_metadata(place: Path) -> Any:
    path = path_of("parquet", place)
    GOOD["parquet"](path)
    path.write_bytes(
        path.read_bytes().replace(b"made for tests", b"\xff\xfe\xfd for tests").replace(b"weight", b"w\xffight")
    )
    return opened("parquet", path)


# texts ------------------------------------------------------------------------------------------------------------
def _texts() -> Iterator[tuple[str, Case]]:
    good = text().decode()
    for name, body in {
        "a byte order mark alone": "\ufeff",
        "a quote that stays open": 'a,b\n"1,2\n' * 50,
        "a field of a million letters": "a,b\n" + "x" * 10**6 + ",1\n2,3\n",
        "a number of a million digits": "a,b\n" + "9" * 10**6 + ",1\n2,3\n",
        "10,000 columns": ",".join(f"c{j}" for j in range(10_000)) + "\n" + ",".join("1" * 10_000) + "\n",
        "zero bytes in cells": good.replace("5.", "5\0."),
        "1e400": good.replace("a b", "1e400"),
        "formulas": good.replace("a b", "=cmd|' /C calc'!A0"),
        "formulas in the header": good.replace("width", "=1+1").replace("age", "@x"),
        "escape codes": good.replace("a b", "\x1b]0;x\x07\x1b[2J"),
        "markup": good.replace("a b", "<script>alert(1)</script>"),
        "one column name": good.replace("height", "width").replace("age", "width"),
        "no line end": good.replace("\n", "\r"),
        "rows of every length": "\n".join(",".join(["1"] * k) for k in range(1, 200)),
        "separators alone": ",,,,\n" * 100,
        "texts alone": "a,b\n" + "x,y\n" * 50,
        "very long lines": ("1," * 10**4 + "1\n") * 3,
        "as many columns as a line may have": ("1," * 99_999 + "1\n") * 3,
        "a million columns": ("1," * 10**6 + "1\n") * 3,
        "percent signs": "a,b\n" + "%s,%d\n" * 20,
        "braces": "a,b\n" + "{0.__class__},{x}\n" * 20,
    }.items():
        yield f"csv: {name}", lambda place, body=body: put("csv", body.encode(), place)
    for code in ("utf-16-le", "utf-32", "utf-7", "cp037", "gb18030"):
        yield f"csv in {code}", lambda place, code=code: put("csv", good.encode(code), place)


# no files ---------------------------------------------------------------------------------------------------------
def _no_files() -> Iterator[tuple[str, Case]]:
    for name in ("/dev/zero", "/dev/full", "/dev/random", "/proc/self/mem", "/proc/self/environ", "/", "."):
        yield f"a link to {name}", lambda place, name=name: _link(name, place)
    yield "a link to itself", lambda place: _link(str(place / "table.csv"), place)
    yield "a pipe", _pipe
    for kind in ("csv", "parquet", "npy", "xlsx", "model", "mtx", "zarr", "run"):
        yield f"a folder named as a {kind}", partial(_folder, kind)
        yield f"an empty {kind}", lambda place, kind=kind: put(kind, b"", place)
    for name in ("a\nb.csv", "\x1b[2J.csv", "x" * 250 + ".csv", "=1+1.csv", "<b>.csv", "-.csv", "%s.csv", " .csv"):
        yield f"a file named {name!r:.30}", lambda place, name=name: _named(name, place)


def _link(target: str, place: Path) -> Any:
    (place / "table.csv").symlink_to(target)
    return opened("csv", place / "table.csv")


def _pipe(place: Path) -> Any:
    os.mkfifo(place / "table.csv")
    return opened("csv", place / "table.csv")


def _folder(kind: str, place: Path) -> Any:
    path_of(kind, place).mkdir()
    return opened(kind, path_of(kind, place))


def _named(name: str, place: Path) -> Any:
    (place / name).write_bytes(text())
    return opened("csv", place / name)


# run folders that were tampered with --------------------------------------------------------------------------------
def _tampered() -> Iterator[tuple[str, Case]]:
    fields = (
        ("table",),
        ("table", "columns"),
        ("table", "options"),
        ("table", "sha256"),
        ("settings",),
        ("settings", "dims"),
        ("sentences",),
        ("files",),
        ("files", "model.lowdim"),
        ("kind",),
        ("method",),
        ("apply",),
        ("schema",),
    )
    for k, field in enumerate(fields):
        for j in range(4):
            value = NASTY[(4 * k + j) % len(NASTY)]
            yield f"run.json: {'.'.join(field)} = {value!r:.24} ({j})", partial(_run_field, field, value)
    for name in ("run.json", "model.lowdim", "judges.lowdim", "scores.csv"):
        yield f"run without {name}", partial(_run_without, name)
        yield f"run with an empty {name}", partial(_run_file, name, b"")
        yield f"run with another {name}", partial(_run_file, name, b"PK\x03\x04")
    yield "run.json nested 100,000 deep", partial(_run_file, "run.json", b"[" * 100_000)
    yield "run.json with a name twice", partial(_run_file, "run.json", b'{"kind": "a", "kind": "b"}')
    yield "run.json of 50 MB", partial(_run_file, "run.json", b'{"a": "' + b"x" * 50_000_000 + b'"}')


_RUN: dict[str, bytes] = {}


def _run(place: Path) -> Path:
    """A good run folder; made once in a process, its table beside it."""
    path = path_of("run", place)
    if not _RUN:
        GOOD["run"](path)
        _RUN.update({p.name: p.read_bytes() for p in path.iterdir() if p.is_file()})
        shutil.rmtree(path)
    path.mkdir()
    for name, data in _RUN.items():
        (path / name).write_bytes(data)
    (place / "of_the_run.csv").write_bytes(text())
    return path


def _run_field(field: tuple[str, ...], value: Any, place: Path) -> Any:
    path = _run(place)
    facts = json.loads(_RUN["run.json"])
    inner = facts
    for name in field[:-1]:
        inner = inner[name]
    inner[field[-1]] = copy.deepcopy(value)
    (path / "run.json").write_text(json.dumps(facts))
    return opened("run", path)


def _run_file(name: str, data: bytes, place: Path) -> Any:
    path = _run(place)
    (path / name).write_bytes(data)
    return opened("run", path)


def _run_without(name: str, place: Path) -> Any:
    path = _run(place)
    (path / name).unlink(missing_ok=True)
    return attempt(lambda: opened("run", path))


assert len(NAMES) == cells().shape[1]
