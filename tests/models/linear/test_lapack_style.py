"""LAPACK's own driver test for the SVD, applied to PCA: its sizes, its matrices, its ratios, its threshold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lowdim
from lowdim.text.errors import TableError
from lowdim.text.messages import LowdimWarning

ULP = np.finfo(float).eps
THRESHOLD = 35.0  # LAPACK TESTING/svd.in
# LAPACK TESTING/svd.in, the 19 pairs (M, N)
SIZES = [
    (0, 0),
    (0, 1),
    (0, 3),
    (1, 0),
    (1, 1),
    (1, 2),
    (2, 0),
    (2, 1),
    (3, 0),
    (3, 1),
    (3, 3),
    (10, 10),
    (10, 16),
    (16, 10),
    (16, 16),
    (30, 30),
    (30, 40),
    (40, 30),
    (40, 40),
]
USABLE = [(n, d) for n, d in SIZES if n >= 2 and d >= 1] + [(2, 2), (2, 7), (60, 6), (300, 5)]
SCALES = {"spaced": 1.0, "tiny": np.finfo(float).tiny / ULP, "huge": np.finfo(float).max * ULP}
TYPES = ["zero", "identity", *SCALES]
SOLVERS = ["auto", "covariance", "dual", "qr", "krylov"]


def matrix(kind: str, n: int, d: int) -> np.ndarray:
    """LAPACK's five types: zero, identity, U D V with singular values from 1 to ulp, and that near the limits."""
    if kind == "zero":
        return np.zeros((n, d))
    if kind == "identity":
        return np.eye(n, d)
    rng, k = np.random.default_rng([n, d]), min(n, d)
    U, V = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (n, d))
    return (U * np.geomspace(1, ULP, k)) @ V.T * SCALES[kind]


def ratios(X: np.ndarray, solver: str) -> dict[str, float]:
    """R1 to R6 of numerics O3, in units of ulp; lengths in units of the largest cell, which is a power of two."""
    n, d = X.shape
    unit = 2.0 ** np.frexp(np.abs(X).max(initial=0.0))[1]
    model = lowdim.PCA(solver=solver).fit(X)
    P, T, s = model.components_, model.transform(X) / unit, model.singular_values_ / unit
    exact = X.astype(np.longdouble) / unit
    Xc = exact - exact.mean(axis=0)
    size, order = float(np.linalg.norm(Xc.astype(float))) or 1.0, max(n, d) * ULP
    short = lowdim.PCA(min(2, n, d), solver=solver).fit(X)
    # A squared matrix says nothing of axes below the root of ulp: its R1 counts where the axes are all there are.
    whole = solver in ("auto", "dual", "qr") or len(P) == d
    return {
        "R1": whole * float(np.abs(Xc - T.astype(np.longdouble) @ P).max()) / (size * order),
        "R2": float(np.abs(np.eye(len(P)) - P @ P.T).max()) / (d * ULP),
        "R3": 0.0 if (s >= 0).all() and (np.diff(s) <= 0).all() else np.inf,
        "R4": float(np.abs(s[: len(short.components_)] - short.singular_values_ / unit).max()) / (size * order),
        "R5": abs(float((s**2).sum() - (Xc**2).sum())) / (size**2 * order),
        "R6": float(np.abs(lowdim.PCA(solver=solver).fit_transform(X) / unit - T).max()) / (size * order),
    }


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", TYPES)
def test_ratios_stay_below_lapacks_threshold(kind, solver):
    for n, d in USABLE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)
            found = ratios(matrix(kind, n, d), solver)
        assert max(found.values()) <= THRESHOLD, (n, d, found)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("n", "d"), [size for size in SIZES if size not in USABLE])
def test_sizes_without_variation_are_refused(n, d, solver):
    with pytest.raises(TableError) as raised:
        lowdim.PCA(solver=solver).fit(np.ones((n, d)))
    assert raised.value.code == ("LD105" if d == 0 else "LD160")


@pytest.mark.parametrize("kind", TYPES)
def test_certificates_tell_the_same(kind):
    for n, d in USABLE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)
            made = lowdim.PCA().fit(matrix(kind, n, d)).certificate_
        assert made.residual <= THRESHOLD and made.orthogonality <= THRESHOLD, (n, d, made)
