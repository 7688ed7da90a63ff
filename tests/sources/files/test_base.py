"""What holds for every file: cheap samples, changes and damage found out, fingerprints."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

import lowdim
from lowdim.sources.files import base as filesource
from lowdim.sources.files.parquet import Cursor
from lowdim.text.messages import LowdimError
from tests.sources.files.tables import CLEAN, GAPPY, KINDS, NAMES, arrow


def test_rows_are_not_read_for_a_sample(tmp_path, monkeypatch):
    """Of a large file only the beginnings of row groups are decoded, whatever the tiles."""
    monkeypatch.setattr(filesource, "KEEP_CELLS", 0)
    path = KINDS["parquet"](CLEAN, tmp_path)
    asked: list[int] = []
    monkeypatch.setattr(Cursor, "rows", lambda self, a, b, was=Cursor.rows: (asked.append(b - a), was(self, a, b))[1])
    blocks = [lowdim.stream(path, tile=tile).sample(10).x for tile in (7, 500)]
    np.testing.assert_array_equal(blocks[0], blocks[1])
    np.testing.assert_array_equal(blocks[0], CLEAN[[0, 1, 700, 701, 1400, 1401, 2100, 2101, 2800, 2801]])
    assert sum(asked) == 20
    drawn = lowdim.stream(path).sample(10, np.random.default_rng(0)).x
    assert len(drawn) == 10 and not np.array_equal(drawn, blocks[0])


@pytest.mark.parametrize("kind", ["parquet", "parquet folder", "feather", "csv", "npy", "zarr"])
def test_a_file_that_changes_is_found_out(kind, tmp_path):
    path = KINDS[kind](CLEAN, tmp_path)
    source = lowdim.stream(path, tile=64)
    source.read(slice(0, 64))
    told = source.paths[-1]
    was = told.stat()
    os.utime(told, ns=(was.st_atime_ns, was.st_mtime_ns + 1))
    with pytest.raises(LowdimError, match=rf"LD174 error  '{told.name}' changed while it was read: it was written to"):
        source.read(slice(64, 128))
    told.unlink()
    with pytest.raises(LowdimError, match=r"LD174[\s\S]*it is gone[\s\S]*rows 129 to 192"):
        source.read(slice(128, 192))


@pytest.mark.parametrize("kind", ["parquet, NaN", "feather, mapped", "csv", "npy", "zarr"])
def test_other_numbers_in_the_next_pass_are_found_out(kind, tmp_path, monkeypatch):
    """The same size, time and inode, but another number: the block's sum tells."""
    monkeypatch.setattr(filesource, "KEEP_CELLS", 0)
    path = KINDS[kind](CLEAN, tmp_path)
    source = lowdim.stream(path, tile=64)
    source._kept = {}
    source.block_of(slice(0, 64), 0)
    other = CLEAN.copy()
    other[3, 2] += 1.0
    (tmp_path / "other").mkdir()
    source._reader = lowdim.stream(KINDS[kind](other, tmp_path / "other"), tile=64).reader
    if kind == "csv":
        source.paths = [tmp_path / "other" / "x.csv"]
        source.stamps = [filesource.stamp(source.paths[0])]
        source.marks = lowdim.stream(source.paths[0]).marks
    source.block_of(slice(64, 128), 64)
    with pytest.raises(LowdimError, match=r"LD174[\s\S]*not those of the pass before[\s\S]*rows 1 to 64"):
        source.block_of(slice(0, 64), 0)


def test_fingerprints_tell_files_apart(tmp_path):
    path = KINDS["parquet"](CLEAN, tmp_path)
    one = lowdim.stream(path).fingerprint()
    assert one == lowdim.stream(path, tile=7).fingerprint()
    pq.write_table(arrow(CLEAN + 1), path, row_group_size=700)
    assert one != lowdim.stream(path).fingerprint()


DAMAGE = """
    import sys, json, warnings
    import numpy as np
    import lowdim
    from lowdim.sources.views import gather
    from lowdim.text.messages import LowdimError

    def damaged(kind, folder, places):
        data = open(f"{folder}/good{kind}", "rb").read()
        rng, found = np.random.default_rng(0), {}
        for k in range(places):
            at, bad = int(rng.integers(len(data))), bytearray(data)
            if k % 4 == 0:
                bad = bad[:at]
            else:
                bad[at] ^= 1 << int(rng.integers(8))
            if k % 4 == 3:  # where a format keeps what it says of itself
                bad = bytearray(data)
                bad[-1 - int(rng.integers(min(len(data), 600)))] ^= 1 << int(rng.integers(8))
            path = f"{folder}/bad{kind}"
            with open(path, "wb") as file:
                file.write(bad)
            try:
                gather(lowdim.stream(path, tile=64))
                word = "read"
            except LowdimError as problem:
                word = problem.code
            found[word] = found.get(word, 0) + 1
        return found

    warnings.simplefilter("ignore")
    folder, places, *kinds = sys.argv[1:]
    for kind in kinds:
        print(f"reading{kind}", file=sys.stderr, flush=True)  # so that a crash says where
        print(json.dumps([kind, damaged(kind, folder, int(places))]), flush=True)
"""
DAMAGED_KINDS = (".parquet", "-flat.parquet", ".feather", ".arrow", ".csv", ".npy", ".npz", ".mtx")


def write_good(kind: str, folder: Path) -> None:
    X, good = GAPPY[:400], folder / f"good{kind}"
    if kind.endswith(".parquet"):
        pq.write_table(arrow(X), good, row_group_size=90, compression="none" if "flat" in kind else "snappy")
    elif kind in (".feather", ".arrow"):
        feather.write_feather(arrow(X), good, chunksize=90, compression="uncompressed" if kind == ".arrow" else "lz4")
    elif kind == ".csv":
        pd.DataFrame(X, columns=NAMES).to_csv(good, index=False)
    elif kind == ".npy":
        np.save(good, X[:20])
    else:
        S = sp.csr_array(np.nan_to_num(X[:60]))
        sp.save_npz(good, S) if kind == ".npz" else scipy.io.mmwrite(good, S)


@pytest.fixture(scope="module")
def damage(tmp_path_factory):
    """How many damaged files of each kind ended how, read in one child process for all kinds."""

    @functools.cache
    def of(places: int) -> dict[str, dict[str, int]]:
        folder = tmp_path_factory.mktemp("damage")
        for kind in DAMAGED_KINDS:
            write_good(kind, folder)
        command = [sys.executable, "-c", textwrap.dedent(DAMAGE), str(folder), str(places), *DAMAGED_KINDS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300 if places < 100 else 3000)
        assert done.returncode == 0, done.stderr[-2000:]
        return dict(json.loads(line) for line in done.stdout.splitlines())

    return of


@pytest.mark.parametrize("places", [pytest.param(500, marks=pytest.mark.drill), 50])
@pytest.mark.parametrize("kind", DAMAGED_KINDS)
def test_damaged_files_end_in_a_code_or_a_table(kind, places, damage):
    """Cut short and bit-flipped at 500 places, in a child process: no crash, hang or traceback."""
    found = damage(places)[kind]
    assert sum(found.values()) == places and any(code.startswith("LD") for code in found), found
