"""Tables too large for memory, for `stream.py`: rank 5 plus noise, float32, as Parquet; a second one with gaps.

    python benchmarks/make_cells.py [FOLDER] [ROWS]

writes cells.parquet and cells_gaps.parquet (10 % nulls), 4 GB each for 10,000,000 rows, with one row group of each in
memory.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER, ROWS, COLUMNS, RANK = "/tmp/lowdim_cells", 10_000_000, 100, 5
PART = 100_000  # rows made at a time
GROUP = 1_000_000  # rows in a row group: what pyarrow writes by default, ten times what fits a block
GAPS = 0.1


def part(k: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of part k, and which of their cells are gaps in the second table; the same in every run."""
    W = np.random.default_rng(0).standard_normal((RANK, COLUMNS), dtype=np.float32)
    rng = np.random.default_rng([1, k])
    X = rng.standard_normal((rows, RANK), dtype=np.float32) @ (W * np.float32(2.0))
    X += rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    X += np.arange(COLUMNS, dtype=np.float32)
    return X, rng.random((rows, COLUMNS), dtype=np.float32) < GAPS


def write(folder: Path, rows: int) -> None:
    schema = pa.schema([(f"gene {j + 1}", pa.float32()) for j in range(COLUMNS)])
    how = {"compression": "none", "use_dictionary": False}  # noise does not shrink; packing it would only cost time
    with (
        pq.ParquetWriter(folder / "cells.parquet.part", schema, **how) as full,
        pq.ParquetWriter(folder / "cells_gaps.parquet.part", schema, **how) as gaps,
    ):
        for begin in range(0, rows, GROUP):
            size = min(GROUP, rows - begin)
            columns: list[list[pa.Array]] = [[] for _ in range(2 * COLUMNS)]
            for at in range(0, size, PART):
                X, holes = part((begin + at) // PART, min(PART, size - at))
                for j in range(COLUMNS):
                    x, hole = np.ascontiguousarray(X[:, j]), np.ascontiguousarray(holes[:, j])
                    columns[j].append(pa.array(x))
                    columns[COLUMNS + j].append(pa.array(x, mask=hole))
            for writer, some in ((full, columns[:COLUMNS]), (gaps, columns[COLUMNS:])):
                table = pa.table([pa.chunked_array(column) for column in some], schema=schema)
                writer.write_table(table, row_group_size=GROUP)
    for name in ("cells", "cells_gaps"):
        (folder / f"{name}.parquet.part").rename(folder / f"{name}.parquet")


def main(folder: str = FOLDER, rows: str = str(ROWS)) -> None:
    place, count = Path(folder), int(rows)
    place.mkdir(parents=True, exist_ok=True)
    need, free = 2 * 4.5 * count * COLUMNS, shutil.disk_usage(place).free
    if need > free:
        sys.exit(f"{place} has {free / 1e9:.1f} GB free; {need / 1e9:.1f} GB are needed")
    begin = time.perf_counter()
    write(place, count)
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e9:.2f} GB" for path in sorted(place.glob("*.parquet")))
    print(f"{place}: {sizes}, {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
