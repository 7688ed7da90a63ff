"""Tables that break things: a line each, made afresh for every call, so that nothing can be spoilt for the next.

To add one, add a line. `SOUND` may be answered, answered with a warning, or refused with a coded error; `NONSENSE` has
no answer, so silence is a fault there.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

NAN, INF, ALL = float("nan"), float("inf"), slice(None)
Maker = Callable[[], Any]


def base(n: int = 16, d: int = 4, seed: int = 0) -> Any:
    """Two factors, noise, columns of different origin."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((2, d)) * np.linspace(3.0, 1.0, d)
    return rng.standard_normal((n, 2)) @ W + 0.3 * rng.standard_normal((n, d)) + np.arange(d)


def put(*changes: tuple[Any, Any, Any], X: Any = None, dtype: Any = None) -> Any:
    """A table with some rows and columns, by number or slice, replaced by a value."""
    X = np.array(base() if X is None else X, dtype=dtype)
    for rows, columns, value in changes:
        X[rows, columns] = value
    return X


def gaps(share: float, n: int = 16, d: int = 4, scale: float = 1.0) -> Any:
    """A table with this share of gaps; the first row and the first column stay."""
    hide = np.random.default_rng(1).random((n, d)) < share
    hide[0], hide[:, 0] = False, False
    return np.where(hide, NAN, base(n, d) * scale)


def frame(**columns: Any) -> pd.DataFrame:
    """A pandas frame of the base table with these columns put in its place or beside it."""
    return pd.DataFrame(base(), columns=["a", "b", "c", "d"]).assign(**columns)


def polar(**columns: Any) -> pl.DataFrame:
    """The same for polars."""
    return pl.DataFrame({name: base()[:, j] for j, name in enumerate("abcd")} | columns)


def named(*names: Any) -> pd.DataFrame:
    """A frame with these column names."""
    return pd.DataFrame(base(d=len(names)), columns=list(names))


def spectrum(values: Any, n: int = 16) -> Any:
    """A centred table with these singular values."""
    rng, d = np.random.default_rng(2), len(values)
    U = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, d))]))[0][:, 1:]
    return U * values @ np.linalg.qr(rng.standard_normal((d, d)))[0]


def frozen(X: Any) -> Any:
    """A table that may not be written to."""
    X.setflags(write=False)
    return X


def distances(n: int = 12) -> Any:
    """Distances of rows: symmetric, zeros on the diagonal."""
    X = base(n)
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


LETTERS = ["x", "y", "z", "x"] * 4
SCALES = (
    1e-310,
    1e-300,
    1e-200,
    1e-160,
    1e-154,
    1e-100,
    1e-60,
    1e-20,
    1e-8,
    1e8,
    1e20,
    1e60,
    1e100,
    1e154,
    1e160,
    1e200,
    1e300,
)
GAP_SCALES = (1e-310, 1e-160, 1e-100, 1e100, 1e160, 1e300)
OFFSETS = (1e4, 1e8, 1e12, 1e15, 1e150, 1e300)

SOUND: dict[str, Maker] = {
    "a plain table": base,
    "a plain table with gaps": lambda: gaps(0.2),
    # scales, offsets, conditioning
    **{f"scale {s:g}": lambda s=s: base() * s for s in SCALES},
    **{f"scale {s:g} with gaps": lambda s=s: gaps(0.2, scale=s) for s in GAP_SCALES},
    **{f"offset {s:g}": lambda s=s: base() + s for s in OFFSETS},
    **{f"condition 1e{k}": lambda k=k: spectrum(np.logspace(0, -k, 4)) for k in (4, 8, 12, 16)},
    "columns of scales 1e-12 to 1e12": lambda: base() * np.logspace(-12, 12, 4),
    "columns of scales 1e-300 to 1e300": lambda: base() * np.logspace(-300, 300, 4),
    "columns of scales 1e-300 to 1e300 with gaps": lambda: gaps(0.2) * np.logspace(-300, 300, 4),
    "rows of scales 1e-300 to 1e300": lambda: base() * np.logspace(-300, 300, 16)[:, None],
    "one cell of 1e12": lambda: put((3, 1, 1e12)),
    "one cell of 1e300": lambda: put((3, 1, 1e300)),
    "one cell of 1e-310": lambda: put((3, 1, 1e-310)),
    "one row of 1e300": lambda: put((3, ALL, 1e300)),
    "largest doubles of both signs": lambda: np.where(base() > 0, 1.0, -1.0) * np.finfo(float).max,
    "a column of the largest double": lambda: put((ALL, 1, np.finfo(float).max)),
    "smallest doubles": lambda: np.sign(base()) * 5e-324,
    "denormals beside ones": lambda: put((ALL, 1, np.arange(16) * 5e-324)),
    "negative zeros": lambda: put((ALL, 1, -0.0)),
    "two clusters 1e6 apart": lambda: base() + 1e6 * (np.arange(16) % 2)[:, None],
    "two clusters 1e200 apart": lambda: base() + 1e200 * (np.arange(16) % 2)[:, None],
    "equal singular values": lambda: spectrum(np.ones(4)),
    "isotropic noise": lambda: np.random.default_rng(3).standard_normal((16, 4)),
    "a gap of eigenvalues of 1e-12": lambda: spectrum(np.array([1.0, 1.0 - 1e-12, 0.5, 0.1])),
    "stacked identities": lambda: np.tile(np.eye(4), (4, 1)),
    "Hilbert's matrix": lambda: 1.0 / (1.0 + np.add.outer(np.arange(12), np.arange(5))),
    "Vandermonde's matrix": lambda: np.vander(np.linspace(0.0, 1.0, 12), 5),
    "Laeuchli's matrix": lambda: np.vstack([np.ones(3), 1e-9 * np.eye(3)]),
    # degenerate
    "all zeros": lambda: np.zeros((16, 4)),
    "all 14.62": lambda: np.full((16, 4), 14.62),
    "all 1e300": lambda: np.full((16, 4), 1e300),
    "all 1e-310": lambda: np.full((16, 4), 1e-310),
    "all constant but one cell": lambda: put((5, 2, 1.0), X=np.zeros((16, 4))),
    "all constant with gaps": lambda: np.where(np.isnan(gaps(0.2)), NAN, 3.0),
    "a constant column": lambda: put((ALL, 2, 14.62)),
    "a column constant but for rounding": lambda: put((ALL, 2, 1.0 + 2.2e-16 * (np.arange(16) % 3))),
    "constant rows": lambda: np.repeat(base(d=1), 4, axis=1),
    "a column twice": lambda: np.column_stack([base(), base()[:, 0]]),
    "a column and its negative": lambda: np.column_stack([base(), -base()[:, 0]]),
    "a sum of columns": lambda: np.column_stack([base(), base()[:, 0] + base()[:, 1]]),
    "rank one": lambda: np.outer(np.arange(16.0), [1.0, 2.0, -1.0, 0.5]),
    "three rows many times": lambda: np.tile(base(3), (6, 1)),
    "one row many times": lambda: np.tile(base(1), (12, 1)),
    "two points": lambda: np.repeat(base(2), 8, axis=0),
    "a row far away many times": lambda: np.vstack([base(), np.full((4, 4), 1e9)]),
    "zeros and ones": lambda: (base() > 1).astype(float),
    "one column": lambda: base(d=1),
    "one column with gaps": lambda: put((3, 0, NAN), X=base(d=1)),
    "one constant column": lambda: np.ones((12, 1)),
    "two columns": lambda: base(d=2),
    "two rows": lambda: base(2),
    "two equal rows": lambda: np.tile(base(1), (2, 1)),
    "three rows": lambda: base(3),
    "as many rows as columns": lambda: base(5, 5),
    "one row more than columns": lambda: base(6, 5),
    "wide, 6 x 20": lambda: base(6, 20),
    "wide with gaps": lambda: gaps(0.2, 6, 20),
    "wide, 1e200": lambda: base(6, 20) * 1e200,
    # gaps
    "one gap": lambda: put((7, 3, NAN)),
    "an empty row": lambda: put((3, ALL, NAN)),
    "half of all cells": lambda: gaps(0.5),
    "nearly all cells gaps": lambda: gaps(0.9),
    "one seen cell in a column": lambda: put((slice(1, None), 1, NAN)),
    "two seen cells in a column": lambda: put((slice(2, None), 1, NAN)),
    "one seen cell a row": lambda: np.where(np.eye(4, dtype=bool)[np.arange(16) % 4], base(), NAN),
    "columns never seen together": lambda: put((slice(0, 8), slice(0, 2), NAN), (slice(8, 16), slice(2, 4), NAN)),
    "gaps in a constant column": lambda: put((ALL, 2, 5.0), (slice(0, 4), 2, NAN)),
    "only the lowest values seen": lambda: np.where(base() > np.median(base(), axis=0), NAN, base()),
    # kinds of numbers and layouts
    "float16": lambda: base().astype(np.float16),
    "float32": lambda: base().astype(np.float32),
    "float32 at 1e5": lambda: (base() + 1e5).astype(np.float32),
    "float32 at 1e30": lambda: (base() * 1e30).astype(np.float32),
    "long double": lambda: base().astype(np.longdouble),
    "int8": lambda: np.clip(base() * 40, -128, 127).astype(np.int8),
    "uint8": lambda: (np.abs(base()) * 20).astype(np.uint8),
    "int64": lambda: (base() * 100).astype(np.int64),
    "huge integers": lambda: (base() * 2.0**58).astype(np.int64),
    "unsigned beyond 2**63": lambda: (np.abs(base()) * 2.0**60).astype(np.uint64) + np.uint64(2**63),
    "whole numbers of 1e18": lambda: np.round(base() * 1e18),
    "Python's integers beyond 2**64": lambda: [[int(v * 1e25) for v in row] for row in base()],
    "booleans": lambda: base() > 1,
    "big-endian": lambda: base().astype(">f8"),
    "Fortran's order": lambda: np.asfortranarray(base()),
    "every other row and column": lambda: base(32, 8)[::2, ::2],
    "backwards": lambda: base()[::-1, ::-1],
    "read-only": lambda: frozen(base()),
    "a broadcast view": lambda: np.broadcast_to(base(1), (12, 4)),
    "np.matrix": lambda: np.asmatrix(base()),
    "a list of lists": lambda: base().tolist(),
    "a list with None": lambda: put((2, 1, None), dtype=object).tolist(),
    "objects that are numbers": lambda: base().astype(object),
    "fractions": lambda: [[fractions.Fraction(v) for v in row] for row in base().tolist()],
    "decimals": lambda: [[decimal.Decimal(v) for v in row] for row in base().tolist()],
    "a masked array": lambda: np.ma.masked_array(base(), mask=np.isnan(gaps(0.2))),
    "a masked array over infinities": lambda: np.ma.masked_invalid(put((3, 1, INF), (4, 2, NAN))),
    "a masked array without a mask": lambda: np.ma.masked_array(base()),
    # sparse
    "sparse": lambda: sp.csr_array(np.where(base() > 2, base(), 0.0)),
    "sparse columns": lambda: sp.csc_array(np.where(base() > 2, base(), 0.0)),
    "sparse with a cell stored twice": lambda: sp.coo_array(
        (np.ones(40), (np.arange(40) % 12, np.arange(40) % 5)), (12, 5)
    ),
    "sparse, few cells": lambda: sp.csr_array((np.arange(1.0, 7.0), (np.arange(6) * 5, np.arange(6) % 5)), (30, 5)),
    "sparse without a cell": lambda: sp.csr_array((16, 4)),
    "sparse of 1e200": lambda: sp.csr_array(np.where(base() > 2, base(), 0.0) * 1e200),
    "sparse with NaN": lambda: sp.csr_array(put((3, 1, NAN), X=np.where(base() > 2, base(), 0.0))),
    # frames
    "a frame": frame,
    "a frame with gaps": lambda: pd.DataFrame(gaps(0.2), columns=list("abcd")),
    "a frame with an index of dates": lambda: frame().set_index(pd.date_range("2020-01-01", periods=16)),
    "a frame with two levels of rows": lambda: frame().set_index(pd.MultiIndex.from_product([["u", "v"], range(8)])),
    "nullable numbers": lambda: frame(a=pd.array([1, None, 3, 4] * 4, dtype="Int64")),
    "nullable answers": lambda: frame(a=pd.array([True, None, False, True] * 4, dtype="boolean")),
    "numbers of Arrow": lambda: frame().convert_dtypes(dtype_backend="pyarrow"),
    "a frame of integers and answers": lambda: frame(a=range(16), b=[True, False] * 8),
    "a frame of objects": lambda: frame(a=[1, 2.5, None, 4] * 4).astype(object),
    "a sparse frame": lambda: pd.DataFrame.sparse.from_spmatrix(sp.csr_array(np.where(base() > 2, base(), 0.0))),
    "column names twice": lambda: named("a", "a", "b", "b"),
    "column names that are numbers": lambda: named(0, 1, 2, 3),
    "column names of several kinds": lambda: named("a", 1, (2, "b"), None),
    "column names of two levels": lambda: named(("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")),
    "empty column names": lambda: named("", " ", "\n", "\x00"),
    "column names that are formulas": lambda: named("=1+1", "+a", "-b", "@c"),
    "column names of 10,000 letters": lambda: named("a" * 10_000, "b" * 10_000, "c", "d"),
    "a polars frame": polar,
    "a polars frame with nulls": lambda: polar(a=[1.0, None, NAN, 4.0] * 4),
    "a polars frame of float32": lambda: polar().cast(pl.Float32),
    "a lazy polars frame": lambda: polar().lazy(),
    "an Arrow table": lambda: pa.table({name: base()[:, j] for j, name in enumerate("abcd")}),
    "an Arrow table in pieces": lambda: pa.concat_tables([pa.table({"a": base()[:, 0], "b": base()[:, 1]})] * 2),
    "an Arrow record batch": lambda: pa.record_batch({"a": base()[:, 0], "b": base()[:, 1], "c": base()[:, 2]}),
    # special tables
    "rows of a simplex": lambda: np.abs(base()) / np.abs(base()).sum(axis=1, keepdims=True),
    "corners of a simplex": lambda: np.eye(12),
    "distances": distances,
    "distances of 1e200": lambda: distances() * 1e200,
    "a distance of zero everywhere": lambda: np.zeros((12, 12)),
    "negative distances": lambda: -distances(),
    "counts": lambda: np.random.default_rng(4).poisson(3.0, (16, 4)),
    "a grid": lambda: np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(16, 2),
    "a circle": lambda: np.column_stack([np.cos(np.arange(16) * np.pi / 8), np.sin(np.arange(16) * np.pi / 8)]),
    "rows in order": lambda: np.sort(base(), axis=0),
    "powers of ten": lambda: 10.0 ** np.arange(48).reshape(12, 4),
}

NONSENSE: dict[str, Maker] = {
    "one infinity": lambda: put((3, 1, INF)),
    "minus infinity": lambda: put((3, 1, -INF)),
    "infinities and gaps": lambda: put((3, 1, INF), (4, 1, NAN)),
    "a column of infinities": lambda: put((ALL, 1, INF)),
    "an infinity in float32": lambda: put((3, 1, INF)).astype(np.float32),
    "a sparse infinity": lambda: sp.csr_array(put((3, 1, INF), X=np.where(base() > 2, base(), 0.0))),
    "an infinity in a frame": lambda: frame(a=[INF, *range(15)]),
    "an infinity in a polars frame": lambda: polar(a=[INF, *map(float, range(15))]),
    "long doubles beyond a double": lambda: base().astype(np.longdouble) * np.longdouble("1e4000"),
    "Python's integers beyond a double": lambda: put((3, 1, 10**400), dtype=object),
    "gaps only": lambda: np.full((12, 4), NAN),
    "a column of gaps": lambda: put((ALL, 1, NAN)),
    "a single seen cell": lambda: put((3, 1, 1.0), X=np.full((12, 4), NAN)),
    "all masked": lambda: np.ma.masked_all((12, 4)),
    "no rows": lambda: np.empty((0, 4)),
    "no columns": lambda: np.empty((12, 0)),
    "no cells": lambda: np.empty((0, 0)),
    "a sparse table of no rows": lambda: sp.csr_array((0, 4)),
    "a sparse table of no columns": lambda: sp.csr_array((12, 0)),
    "a frame of no rows": lambda: frame().iloc[:0],
    "a frame of no columns": lambda: frame()[[]],
    "a polars frame of nothing": pl.DataFrame,
    "an empty list": list,
    "one number": lambda: np.float64(3.0),
    "0-d": lambda: np.array(3.0),
    "1-d": lambda: base()[:, 0],
    "3-d": lambda: np.stack([base(), base(), base(), base()]),
    "4-d": lambda: np.zeros((2, 3, 4, 5)),
    "None": lambda: None,
    "a text": lambda: "no such file.csv",
    "bytes": lambda: b"1,2,3",
    "a dictionary": lambda: {"a": [1.0, 2.0], "b": [3.0, 4.0]},
    "a set": lambda: {1.0, 2.0},
    "a generator": lambda: (row for row in base()),
    "an object": object,
    "a class": lambda: dict,
    "rows of different lengths": lambda: [[1.0, 2.0], [3.0]],
    "complex": lambda: base() + 1j,
    "complex without imaginary parts": lambda: base().astype(complex),
    "complex objects": lambda: put((3, 1, 1 + 2j), dtype=object),
    "a complex frame": lambda: frame(a=base()[:, 0] + 1j),
    "a complex sparse matrix": lambda: sp.csr_array(base() + 1j),
    "dates": lambda: np.arange("2020-01-01", "2020-03-05", dtype="datetime64[D]").reshape(16, 4),
    "spans of time": lambda: np.arange(64).astype("timedelta64[s]").reshape(16, 4),
    "texts": lambda: np.full((12, 4), "abc"),
    "texts that are numbers": lambda: base().astype(str),
    "bytes in an array": lambda: base().astype("S8"),
    "objects that are texts": lambda: put((3, 1, "abc"), dtype=object),
    "objects of any kind": lambda: put((3, 1, object()), dtype=object),
    "lists in cells": lambda: put((3, 1, {"a": 1}), dtype=object),
    "a structured array": lambda: np.zeros(12, dtype=[("a", float), ("b", float)]),
    "a pandas series": lambda: frame()["a"],
    "a polars series": lambda: polar()["a"],
    "an Arrow array": lambda: pa.array([1.0, 2.0, 3.0]),
}

# A person's table may hold them, and `lowdim.read` has an answer; a matrix of numbers may not.
LABELS: dict[str, Maker] = {
    "a column of texts": lambda: frame(a=LETTERS),
    "a column of categories": lambda: frame(a=pd.Categorical(LETTERS)),
    "a column of ordered categories": lambda: frame(a=pd.Categorical(LETTERS, ["z", "y", "x"], ordered=True)),
    "categories that are numbers": lambda: frame(a=pd.Categorical([1, 2, 3, 1] * 4)),
    "a column of dates": lambda: frame(a=pd.date_range("2020-01-01", periods=16)),
    "a column of dates in a zone": lambda: frame(a=pd.date_range("2020-01-01", periods=16, tz="Europe/Paris")),
    "a column of spans": lambda: frame(a=pd.to_timedelta(np.arange(16), unit="s")),
    "a column of periods": lambda: frame(a=pd.period_range("2020-01", periods=16, freq="M")),
    "a column of days": lambda: frame(a=[datetime.date(2020, 1, 1 + i) for i in range(16)]),
    "a column of formulas": lambda: frame(a=["=1+1", "+2", "-3", "@x"] * 4),
    "a column of lists": lambda: frame(a=[[1, 2]] * 16),
    "all columns texts": lambda: pd.DataFrame(dict.fromkeys("abcd", LETTERS)),
    "a polars frame with texts": lambda: polar(a=LETTERS),
    "a polars frame with categories": lambda: polar(a=pl.Series(LETTERS, dtype=pl.Categorical)),
    "a polars frame with an enumeration": lambda: polar(a=pl.Series(LETTERS, dtype=pl.Enum(["x", "y", "z"]))),
    "a polars frame with dates": lambda: polar(a=[datetime.date(2020, 1, 1 + i) for i in range(16)]),
    "a polars frame with lists": lambda: polar(a=[[1, 2]] * 16),
    "a polars frame with records": lambda: polar(a=[{"u": 1}] * 16),
    "a lazy polars frame with texts": lambda: polar(a=LETTERS).lazy(),
    "an Arrow table with texts": lambda: pa.table({"a": LETTERS, "b": base()[:, 0], "c": base()[:, 1]}),
    "an Arrow dictionary": lambda: pa.table({"a": pa.array(LETTERS).dictionary_encode(), "b": base()[:, 0]}),
    "Arrow decimals": lambda: pa.table({"a": pa.array([decimal.Decimal("1.5")] * 16), "b": base()[:, 0]}),
}

INPUTS = {**SOUND, **NONSENSE, **LABELS}
