"""One table in every format that a file may have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import zarr

from lowdim.sources.views import gather

N, D = 3000, 5


NAMES = ["a", "b c", "d.e", "f,g", "h"]


CLEAN = np.random.default_rng(0).standard_normal((N, D)).round(5) @ np.diag([3.0, 2.0, 1.0, 1.0, 1.0]).round(5)


GAPPY = np.where(np.random.default_rng(1).random((N, D)) < 0.1, np.nan, CLEAN)


GAPPY[7] = np.nan


def arrow(X: np.ndarray, kind: Any = None) -> pa.Table:
    return pa.table([pa.array(X[:, j], kind, from_pandas=True) for j in range(D)], names=NAMES)


def in_folder(X: np.ndarray, folder: Path) -> Path:
    """Twelve files, whose names sort as text otherwise than as numbers; one of them is empty."""
    place = folder / "parts"
    place.mkdir()
    for k, rows in enumerate(np.split(X, [*np.sort(np.random.default_rng(2).integers(0, N, 10)).tolist(), N])):
        pq.write_table(arrow(rows), place / f"part.{k}.parquet", row_group_size=97)
    (place / "_SUCCESS").touch()
    return place


def in_zarr(X: np.ndarray, folder: Path, chunks: tuple[int, int] = (1000, 2)) -> Path:
    zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=chunks, dtype="f8")[:] = X
    return folder / "x.zarr"


def text(X: np.ndarray, folder: Path, **how: Any) -> Path:
    pd.DataFrame(X, columns=NAMES).to_csv(folder / "x.csv", index=False, **how)
    return folder / "x.csv"


def saved(save: Any, path: Path) -> Path:
    save(path)
    return path


KINDS: dict[str, Any] = {
    "parquet": lambda X, d: saved(lambda p: pq.write_table(arrow(X), p, row_group_size=700), d / "x.parquet"),
    "parquet, one group": lambda X, d: saved(lambda p: pq.write_table(arrow(X), p), d / "x.parquet"),
    "parquet, NaN": lambda X, d: saved(
        lambda p: pq.write_table(pa.table([pa.array(X[:, j]) for j in range(D)], names=NAMES), p, compression="zstd"),
        d / "x.parquet",
    ),
    "parquet folder": in_folder,
    "feather": lambda X, d: saved(lambda p: feather.write_feather(arrow(X), p, chunksize=333), d / "x.feather"),
    "feather, mapped": lambda X, d: saved(
        lambda p: feather.write_feather(arrow(X), p, compression="uncompressed"), d / "x.arrow"
    ),
    "csv": text,
    "csv, CRLF": lambda X, d: text(X, d, lineterminator="\r\n"),
    "csv, German": lambda X, d: text(X, d, sep=";", decimal=",", na_rep="NA"),
    "tsv, quoted": lambda X, d: text(X, d, sep="\t", quoting=1, na_rep="-"),
    "csv, latin-1": lambda X, d: text(X, d, sep="|", encoding="latin-1"),
    "npy": lambda X, d: saved(lambda p: np.save(p, X), d / "x.npy"),
    "npy, by columns": lambda X, d: saved(lambda p: np.save(p, np.asfortranarray(X)), d / "x.npy"),
    "zarr": in_zarr,
    "zarr, high chunks": lambda X, d: in_zarr(X, d, (2900, 5)),
}


def table(source: Any) -> np.ndarray:
    x, mask = gather(source)
    return x if mask is None else np.where(mask, x, np.nan)


BODY = "\n".join(f"{i},{i / 7:.4f},{'' if i % 5 == 0 else i * i}" for i in range(1, 4001))
