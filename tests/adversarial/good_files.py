"""A good file of every kind that lowdim reads, and the ways to spoil it."""

from __future__ import annotations

import gzip
import io
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

import lowdim
from lowdim.sources.views import gather

ROWS, NAMES = 12, ("width", "height", "weight", "age")


def cells() -> Any:
    """Numbers, a few of them missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 2)) @ rng.standard_normal((2, 4)) + 0.3 * rng.standard_normal((ROWS, 4)) + 5.0
    X[[2, 5], [1, 3]] = np.nan
    return X.round(3)


def text(sep: str = ",", encoding: str = "utf-8") -> bytes:
    return pd.DataFrame(cells(), columns=NAMES).assign(name="a b").to_csv(sep=sep, index=False).encode(encoding)


def arrow() -> Any:
    table = pa.table({name: cells()[:, j] for j, name in enumerate(NAMES)} | {"kind": ["u", "v"] * (ROWS // 2)})
    return table.replace_schema_metadata({"pandas": "{}", "note": "made for tests"})


def _parquet(path: Path) -> None:
    pq.write_table(arrow(), path, row_group_size=5)


def _flat_parquet(path: Path) -> None:
    pq.write_table(arrow(), path, compression="none", use_dictionary=False)


def _excel(path: Path) -> None:
    pd.DataFrame(cells(), columns=NAMES).to_excel(path, index=False)


def _zarr(path: Path) -> None:
    import zarr

    zarr.save_array(path, np.nan_to_num(cells()))


def _model(path: Path) -> None:
    lowdim.ProbabilisticPCA(1).fit(cells()).save(path)


def _run(path: Path) -> None:
    table = path.with_name("of_the_run.csv")
    table.write_bytes(text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lowdim.cli.entry import run

        assert run(["fit", str(table), "-o", str(path), "--dims", "1", "--quiet"]) == 0


GOOD: dict[str, Callable[[Path], Any]] = {
    "csv": lambda path: path.write_bytes(text()),
    "tsv": lambda path: path.write_bytes(text("\t")),
    "utf-16": lambda path: path.write_bytes(text(";", "utf-16")),
    "gz": lambda path: path.write_bytes(gzip.compress(text(), mtime=0)),
    "parquet": _parquet,
    "flat parquet": _flat_parquet,
    "feather": lambda path: feather.write_feather(arrow(), path, chunksize=5),
    "arrow": lambda path: feather.write_feather(arrow(), path, compression="uncompressed"),
    "npy": lambda path: np.save(path, cells()),
    "npz": lambda path: sp.save_npz(path, sp.csr_array(np.nan_to_num(cells()) * (cells() > 5))),
    "mtx": lambda path: scipy.io.mmwrite(path, sp.coo_array(np.nan_to_num(cells()) * (cells() > 5))),
    "dense mtx": lambda path: scipy.io.mmwrite(path, np.nan_to_num(cells())),
    "xlsx": _excel,
    "zarr": _zarr,
    "model": _model,
    "run": _run,
    "checkpoint": lambda path: lowdim.ProbabilisticPCA(1).fit(cells(), run=lowdim.Run(checkpoint=path)),
}
ENDING = {
    "utf-16": "csv",
    "gz": "csv.gz",
    "flat parquet": "parquet",
    "dense mtx": "mtx",
    "model": "lowdim",
    "run": "run",
}
PACKED = ("npz", "xlsx", "model")  # zips: their members are spoilt too, and packed again


def path_of(kind: str, folder: Path) -> Path:
    """Where the file of a kind lies in a folder."""
    return folder / f"table.{ENDING.get(kind, kind)}"


reading: list[Path] = []  # what is being read: a watcher outside wants to know
MOST_CELLS = 10**6  # of a file that claims more, some rows are looked at


def opened(kind: str, path: Path) -> Any:
    """All of a file, by every way there is."""
    reading.append(path)
    try:
        return _opened(kind, path)
    finally:
        reading.clear()


def all_rows(path: Path) -> Any:
    """Every row of a file that is read a block at a time."""
    source = lowdim.stream(path)
    return gather(source) if source.n * source.d <= MOST_CELLS else source.sample(4)


def _opened(kind: str, path: Path) -> Any:
    if kind == "model":
        return lowdim.load(path).transform(cells())
    if kind == "checkpoint":
        lowdim.best_of_checkpoint(path)
        return lowdim.ProbabilisticPCA(1).fit(cells(), run=lowdim.Run(checkpoint=path))
    if kind == "run":
        found = lowdim.load_run(path)
        parts = (found.kind, found.method, found.names, found.aside, found.settings, found.sentences, found.scales)
        return parts, found.calibration, found.law_of_new_rows, found.model, found.table, found.analysis.sentences
    table = None if kind in ("npz", "mtx", "dense mtx", "zarr") else attempt(lambda: lowdim.read(path))
    streamed = attempt(lambda: all_rows(path))
    return streamed if table is None else table


def attempt(work: Callable[[], Any]) -> Any:
    """The answer, or None where it was refused in words of ours."""
    try:
        return work()
    except lowdim.messages.LowdimError as problem:
        assert problem.code.startswith("LD") and problem.fix, problem
        return None


# spoiling ---------------------------------------------------------------------------------------------------
NUMBERS = (b"-1", b"0", b"1e400", b"99999999999999999999", b"NaN", b"2147483648", b"-9223372036854775808", b"1.5")


def spoilt(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes changed in one of a dozen ways."""
    bad, size = bytearray(data), len(data)
    if not size:
        return rng.bytes(16)
    at, length = int(rng.integers(size)), int(rng.integers(1, 1 + min(size, 64)))
    way = int(rng.integers(12))
    if way < 3:
        for place in rng.integers(size, size=way * 3 + 1):
            bad[place] ^= 1 << int(rng.integers(8))
    elif way == 3:
        bad[at:] = b""
    elif way == 4:
        bad[at : at + length] = bytes(length)
    elif way == 5:
        bad[at:at] = bytes(length)
    elif way == 6:
        bad[at : at + length] = rng.bytes(length)
    elif way == 7:
        bad[at : at + length] = b""
    elif way == 8:
        bad[at:at] = bad[at : at + length] * 3
    elif way == 9:
        bad[at : at + 8] = b"\xff" * 8
    elif way == 10:  # where many formats keep what they say of themselves
        bad[-1 - int(rng.integers(min(size, 400)))] ^= 1 << int(rng.integers(8))
    else:
        bad = bytearray(_number_changed(data, rng))
    return bytes(bad)


def _number_changed(data: bytes, rng: np.random.Generator) -> bytes:
    """One of the numbers that stand in a text replaced."""
    import re

    found = list(re.finditer(rb"\d+", data))
    if not found:
        return data + b"\0"
    one = found[int(rng.integers(len(found)))]
    return data[: one.start()] + NUMBERS[int(rng.integers(len(NUMBERS)))] + data[one.end() :]


def spoil(kind: str, good: Path, bad: Path, rng: np.random.Generator) -> None:
    """A spoilt copy of a good file or folder."""
    if good.is_dir():
        shutil.copytree(good, bad)
        inside = sorted(path for path in bad.rglob("*") if path.is_file())
        one = inside[int(rng.integers(len(inside)))]
        one.write_bytes(spoilt(one.read_bytes(), rng))
    elif kind in PACKED and rng.random() < 0.6:
        bad.write_bytes(_repacked(kind, good.read_bytes(), rng))
    else:
        bad.write_bytes(spoilt(good.read_bytes(), rng))


def _repacked(kind: str, data: bytes, rng: np.random.Generator) -> bytes:
    """A zip with one member spoilt and everything else as it should be."""
    from tests.storage.hostile_models import forge

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    k = int(rng.integers(len(members)))
    members[k] = (members[k][0], spoilt(members[k][1], rng))
    if kind == "model":
        return forge(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members:
            archive.writestr(name, body)
    return buffer.getvalue()
