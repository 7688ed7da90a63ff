"""What must not change, or change in a known way, when the table does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowdim import PCA, PPCA, DualPPCA, FactorAnalysis

SOLVERS = ["auto", "covariance", "dual", "qr", "krylov"]
# Shapes include n < d and single columns; tables are drawn by seed, so that every spectrum is well apart.
shapes = st.tuples(st.integers(3, 40), st.integers(1, 9), st.integers(0, 10**6))
pytestmark = pytest.mark.filterwarnings("ignore:LD20[24]")  # a noise on its floor is no business of these tests


def table(shape, gaps=0.0):
    n, d, seed = shape
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ np.diag(2.0 ** -np.arange(d)) @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    if gaps:
        hide = rng.random((n, d)) < gaps
        hide[:2], hide[:, 0] = False, False
        X[hide] = np.nan
    return X


def pca(shape, solver="auto"):
    """As many axes as can be told apart."""
    return PCA(max(1, min(shape[0] - 2, shape[1], 3)), solver=solver)


def close(a, b, rel):
    size = np.abs(b).max(initial=0.0)
    assert np.abs(np.asarray(a) - b).max(initial=0.0) <= rel * size


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=25)
@given(shape=shapes, k=st.integers(-40, 40))
def test_powers_of_two_change_no_bit(solver, shape, k):
    X = table(shape)
    one, two = pca(shape, solver).fit(X), pca(shape, solver).fit(X * 2.0**k)
    assert np.array_equal(one.components_, two.components_)
    assert np.array_equal(one.explained_variance_ * 4.0**k, two.explained_variance_)
    assert np.array_equal(one.explained_variance_ratio_, two.explained_variance_ratio_)
    assert np.array_equal(one.mean_ * 2.0**k, two.mean_)
    assert np.array_equal(one.transform(X) * 2.0**k, two.transform(X * 2.0**k))


@settings(max_examples=20)
@given(shape=shapes, k=st.integers(-30, 30))
def test_powers_of_two_in_ppca_are_units(shape, k):
    X = table(shape)
    q = max(1, min(shape[0] - 2, shape[1] - 1, 2))
    if q > shape[1]:
        return
    one, two = PPCA(q).fit(X), PPCA(q).fit(X * 2.0**k)
    assert np.array_equal(one.components_ * 2.0**k, two.components_)
    assert one.noise_variance_ * 4.0**k == two.noise_variance_
    assert two.objective_ == pytest.approx(one.objective_ - X.size * k * np.log(2.0), rel=1e-12, abs=1e-9)


@settings(max_examples=20)
@given(shape=shapes)
def test_the_negative_table(shape):
    X = table(shape)
    one, two = pca(shape).fit(X), pca(shape).fit(-X)
    assert np.array_equal(one.explained_variance_, two.explained_variance_)
    assert np.array_equal(np.abs(one.components_), np.abs(two.components_))
    assert np.array_equal(one.mean_, -two.mean_)


@settings(max_examples=20)
@given(shape=shapes, flips=st.integers(0, 511))
def test_sign_flips_of_columns(shape, flips):
    """Bitwise up to the sign of a component."""
    X = table(shape)
    sign = np.where((flips >> np.arange(shape[1])) & 1, -1.0, 1.0)
    one, two = pca(shape, "covariance").fit(X), pca(shape, "covariance").fit(X * sign)
    close(two.explained_variance_, one.explained_variance_, 1e-14)
    close(np.abs(two.components_), np.abs(one.components_), 1e-11)


@settings(max_examples=20)
@given(shape=shapes)
def test_row_permutation(shape):
    X = table(shape)
    order = np.random.default_rng(0).permutation(len(X))
    one, two = pca(shape).fit(X), pca(shape).fit(X[order])
    close(two.explained_variance_, one.explained_variance_, 1e-13)
    close(two.components_, one.components_, 1e-10)


@settings(max_examples=20)
@given(shape=shapes)
def test_column_permutation(shape):
    X = table(shape)
    order = np.random.default_rng(0).permutation(shape[1])
    one, two = pca(shape).fit(X), pca(shape).fit(X[:, order])
    close(two.explained_variance_, one.explained_variance_, 1e-13)
    close(np.abs(two.components_), np.abs(one.components_[:, order]), 1e-10)


@settings(max_examples=20)
@given(shape=shapes)
def test_every_row_twice(shape):
    """n - 1 becomes 2n - 1: variances shrink by that alone, models (1/n) do not change."""
    n = shape[0]
    X = table(shape)
    one, two = pca(shape).fit(X), pca(shape).fit(np.repeat(X, 2, axis=0))
    close(two.explained_variance_ * (2 * n - 1) / (2 * n), one.explained_variance_ * (n - 1) / n, 1e-13)
    close(two.components_, one.components_, 1e-10)
    if shape[1] > 2 and n > 4:
        a, b = PPCA(1).fit(X), PPCA(1).fit(np.repeat(X, 2, axis=0))
        close(b.components_, a.components_, 1e-10)
        assert b.objective_ == pytest.approx(2 * a.objective_, rel=1e-10, abs=1e-8)


@settings(max_examples=20)
@given(shape=shapes)
def test_orthogonal_rotation(shape):
    d = shape[1]
    X = table(shape)
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((d, d)))[0]
    one, two = pca(shape).fit(X), pca(shape).fit(X @ Q)
    close(two.explained_variance_, one.explained_variance_, 1e-12)
    close(np.abs(two.components_ @ Q.T), np.abs(one.components_), 1e-9)
    close(np.abs(two.transform(X @ Q)), np.abs(one.transform(X)), 1e-9)


@settings(max_examples=20)
@given(shape=shapes, offset=st.sampled_from([0.5, -4.0, 1024.0]))
def test_a_constant_added(shape, offset):
    """Cells rounded so that the shifted table is exact: only the mean may change."""
    X = np.round(table(shape) * 2**20) / 2**20
    one, two = pca(shape).fit(X), pca(shape).fit(X + offset)
    close(two.explained_variance_, one.explained_variance_, 1e-12)
    close(two.mean_ - offset, one.mean_, 1e-9)
    close(two.components_, one.components_, 1e-9)


@pytest.mark.parametrize("make", [PPCA, FactorAnalysis, DualPPCA], ids=["ppca", "fa", "dual"])
@pytest.mark.parametrize("seed", range(3))
def test_gaps_and_units(make, seed):
    """With gaps too: other units scale everything and move the objective by the cells seen.

    To the tolerance only: extrapolation measures W in the table's units and log noise in none, so another
    unit is another path to the same optimum.
    """
    X = table((30, 5, seed), gaps=0.2) + 0.3 * np.random.default_rng(seed).standard_normal((30, 5))
    one, two = make(1).fit(X), make(1).fit(X * 8.0)
    cells = (~np.isnan(X)).sum()
    assert two.objective_ == pytest.approx(one.objective_ - cells * np.log(8.0), abs=2e-4)
    assert two.noise_variance_ == pytest.approx(64 * np.asarray(one.noise_variance_), rel=1e-2)
    close(two.impute(X * 8.0), 8 * one.impute(X), 1e-3)


@pytest.mark.parametrize("make", [PPCA, FactorAnalysis], ids=["ppca", "fa"])
@pytest.mark.parametrize("change", ["negative", "columns", "rows"])
def test_gaps_and_order(make, change):
    X = table((30, 5, 11), gaps=0.2) + 0.3 * np.random.default_rng(0).standard_normal((30, 5))
    order = np.random.default_rng(1).permutation(5 if change == "columns" else 30)
    turn = {"negative": lambda A: -A, "columns": lambda A: A[:, order], "rows": lambda A: A[order]}[change]
    one, two = make(1, tol=1e-8).fit(X), make(1, tol=1e-8).fit(turn(X))
    assert two.objective_ == pytest.approx(one.objective_, abs=1e-5)
    close(two.impute(turn(X)), turn(one.impute(X)), 1e-3)
