"""The statistics of an E-step, by patterns of gaps and row by row."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.maths import bayesian_gaussian as vb
from lowdim.maths.gaussian import pattern_sums, posterior, sums
from lowdim.maths.linalg import distinct, inverse_packed


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("q", [0, 1, 3, 9])
def test_few_patterns_give_the_sums_of_all_rows(q, weighted):
    rng = np.random.default_rng(q)
    n, d = 2_000, 10
    W, mu, psi = rng.normal(size=(d, q)), rng.normal(size=d), rng.uniform(0.1, 1.0, d)
    mask = (rng.random((4, d)) > 0.3)[rng.integers(0, 4, n)]
    mask[:300] = True
    x, weight = np.where(mask, rng.normal(size=(n, d)), 0.0), rng.uniform(0.0, 2.0, n) if weighted else None
    quick = pattern_sums(x, mask, weight, (W, mu, psi))
    assert quick is not None
    for part, slow in zip(quick, sums(mask, weight, posterior(x, mask, W, mu, psi), W, psi), strict=True):
        np.testing.assert_allclose(part, slow, rtol=1e-9, atol=1e-9)


def test_many_patterns_are_left_to_one_product():
    rng = np.random.default_rng(0)
    mask = rng.random((60, 8)) > 0.5
    assert pattern_sums(np.zeros((60, 8)), mask, None, (np.ones((8, 1)), np.zeros(8), np.ones(8))) is None


def test_a_row_without_any_cell_counts_as_it_did():
    rng = np.random.default_rng(1)
    mask = np.repeat([[True] * 4, [False] * 4], 300, axis=0)
    x, W = np.where(mask, rng.normal(size=(600, 4)), 0.0), rng.normal(size=(4, 2))
    quick = pattern_sums(x, mask, None, (W, np.zeros(4), np.ones(4)))
    assert quick is not None
    for part, slow in zip(
        quick, sums(mask, None, posterior(x, mask, W, np.zeros(4), np.ones(4)), W, np.ones(4)), strict=True
    ):
        np.testing.assert_allclose(part, slow, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("q", [0, 3, 14])
def test_columns_with_the_same_gaps_share_work_and_nothing_else(q):
    rng = np.random.default_rng(q)
    mask = np.repeat(rng.random((40, 4)) < 0.8, [1, 2, 5, 10], axis=1)
    x = np.where(mask, rng.standard_normal(mask.shape), 0.0)
    d = mask.shape[1]
    b = vb.Beliefs(rng.standard_normal((d, q)), np.zeros(d), 0.5, 0.1 * np.eye(q + 1)[None], np.ones(q), 100.0)
    latent, alike, psi = vb.rows(x, mask, b), vb.Alike(*distinct(mask.T)), np.full(d, b.psi)
    each = sums(mask, None, latent, b.W, psi)
    shared = sums(mask, None, latent, b.W, psi, alike.seen_sums(mask, latent))
    assert len(alike.first) == 4
    for ours, plain in zip(shared, each, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-11, atol=1e-11)
    how = {"floor": 1e-6, "dead": 0.1, "vague": 1e-6}
    for ours, plain in zip(vb.update(each, b, **how, alike=alike), vb.update(each, b, **how), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", [1, 24, 25, 60])
@pytest.mark.parametrize("q", [1, 4, 12, 13])
def test_inverses_of_few_and_of_many_matrices_are_those_of_numpy(n, q):
    root = np.random.default_rng(n).standard_normal((n, q, 2 * q))
    A = root @ root.transpose(0, 2, 1) + np.eye(q)
    i, j = np.tril_indices(q)
    inverse, logdet = inverse_packed(np.ascontiguousarray(A[:, i, j].T), q)
    np.testing.assert_allclose(inverse.T, np.linalg.inv(A)[:, i, j], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(logdet, np.linalg.slogdet(A)[1], rtol=1e-12, atol=1e-12)
