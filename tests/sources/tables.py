"""One table as every kind of thing that holds rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

from lowdim.sources.source import Block, Source

N, D = 101, 4


CLEAN = np.random.default_rng(3).standard_normal((N, D)).round(2)


HOLES = np.random.default_rng(4).random((N, D)) < 0.1


GAPPY = np.where(HOLES, np.nan, CLEAN)


NAMES = ["a", "b", "c", "d"]


def mapped(folder: Path, X: np.ndarray) -> np.ndarray:
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def nulls(X: np.ndarray) -> dict[str, list[float | None]]:
    return {name: [None if np.isnan(v) else float(v) for v in X[:, j]] for j, name in enumerate(NAMES)}


KINDS: dict[str, Any] = {
    "array": lambda X, _: X,
    "fortran": lambda X, _: np.asfortranarray(X),
    "list": lambda X, _: X.tolist(),
    "reversed twice": lambda X, _: X[::-1].copy()[::-1],
    "big-endian": lambda X, _: X.astype(">f8"),
    "memory map": lambda X, folder: mapped(folder, X),
    "masked": lambda X, _: np.ma.masked_invalid(X),
    "objects": lambda X, _: X.astype(object),
    "pandas": lambda X, _: pd.DataFrame(X, columns=NAMES),
    "pandas, nullable": lambda X, _: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "pandas, mixed": lambda X, _: pd.DataFrame(X, columns=NAMES).astype({"a": object}),
    "polars": lambda X, _: pl.DataFrame(nulls(X)),
    "polars, NaN": lambda X, _: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X, _: pa.table(nulls(X)),
    "arrow in pieces": lambda X, _: pa.concat_tables([pa.table(nulls(X[:30])), pa.table(nulls(X[30:]))]),
    "csr": lambda X, _: sp.csr_array(X),
    "csc matrix": lambda X, _: sp.csc_matrix(X),
    "coo": lambda X, _: sp.coo_array(X),
}


def blocks(source: Source) -> list[Block]:
    return [source.block(i) for i in range(source.n_blocks)]


def same(a: Block, b: Block) -> None:
    np.testing.assert_array_equal(a.x, b.x)
    assert a.x.dtype == np.float64 and a.x.flags.c_contiguous and a.start == b.start
    assert (a.mask is None) == (b.mask is None)
    if a.mask is not None:
        np.testing.assert_array_equal(a.mask, b.mask)
