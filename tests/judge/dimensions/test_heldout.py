"""Hidden cells: who is hidden, and that predictions and errors are what they claim to be."""

import numpy as np
import pytest

from lowdim.judge.dimensions.evidence import jury_table
from lowdim.judge.dimensions.heldout import HELD_OUT_PARTS, THIN_COLUMN, Folds, HeldOutDensity, deal, predict
from lowdim.models.linear.parameters import Linear
from lowdim.sources.source import Block
from tests.judge.simulated import seeds_gaussian, with_gaps


def test_every_seen_cell_is_hidden_at_most_once_and_rows_share_the_load():
    mask = np.random.default_rng(0).random((50, 30)) < 0.8
    mask[:, 0] = False
    mask[: THIN_COLUMN - 1, 0] = True
    fold = deal(mask, 0)
    assert (fold[~mask] == -1).all()
    assert (fold[:, 0] == -1).all()  # too thin a column to lose a cell
    assert fold[mask[:, 1:].nonzero()[0], 1:].max() < HELD_OUT_PARTS
    assert ((fold[:, 1:] >= 0) == mask[:, 1:]).all()
    for f in range(HELD_OUT_PARTS):
        assert (fold == f).sum(axis=1).max() <= -(-30 // HELD_OUT_PARTS)
    np.testing.assert_array_equal(fold, deal(mask, 0))
    assert (fold != deal(mask, 1)).any()


def test_the_same_cells_for_every_q():
    t = jury_table(with_gaps(seeds_gaussian(0)[:60], 0.1), standardize=True, seed=0)
    cells = Folds(t, 4, 0)
    for _ in range(3):
        found = cells.next()
    assert {len(a) for a in (*found.log_density, *found.square)} == {cells.count}
    assert found.q2()[0] == 0.0
    assert found.q2()[2] > 0.1


def test_predictions_are_the_conditional_gaussian():
    """With parameters known exactly (V = 0), against the covariance matrix's own conditioning."""
    rng = np.random.default_rng(1)
    d, q = 6, 2
    W, mu, psi = rng.standard_normal((d, q)), rng.standard_normal(d), np.full(d, 0.3)
    params = Linear(W, mu, psi, np.eye(q), np.zeros((d, 1)), psi * 1e-6, np.ones(d))
    x, mask = rng.standard_normal((1, d)), np.array([[True, False, True, True, False, True]])
    mean, var = predict(params, Block(np.where(mask, x, 0.0), mask))
    C = W @ W.T + np.diag(psi)
    s, h = mask[0], ~mask[0]
    gain = C[np.ix_(h, s)] @ np.linalg.inv(C[np.ix_(s, s)])
    np.testing.assert_allclose(mean[0, h], mu[h] + gain @ (x[0, s] - mu[s]), rtol=1e-10)
    np.testing.assert_allclose(var[0, h], np.diag(C[np.ix_(h, h)] - gain @ C[np.ix_(s, h)]), rtol=1e-10)


def test_paired_errors_cluster_by_row():
    """The standard error is that of the mean over repeated tables, though cells of a row move together."""
    rng = np.random.default_rng(2)
    row = np.repeat(np.arange(100), 4)
    means, errors = [], []
    for _ in range(400):
        together = rng.standard_normal(100)[row] + 0.5 * rng.standard_normal(400)
        found = HeldOutDensity(row, (np.zeros(400), together), (np.ones(400),) * 2).compare(1, 0)
        means.append(found.difference)
        errors.append(found.error)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.1)


def test_smallest_within_one_paired_error():
    rng = np.random.default_rng(3)
    base, row = rng.standard_normal(1000), np.arange(1000)
    wobble = 0.1 * rng.standard_normal(1000)
    wobble -= wobble.mean()
    found = HeldOutDensity(row, (base - 1.0, base, base + wobble + 0.001, base - 0.5), (np.ones(1000),) * 4)
    assert int(np.argmax(found.means())) == 2
    assert found.smallest() == 1  # 0.001 is less than 0.1 / sqrt(1000)
    assert str(found.compare(1, 0)).startswith("1 beats 0 by 1 +- ")
