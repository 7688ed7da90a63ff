"""Hidden cells: who is hidden."""

import numpy as np

from lowdim.judge.hidden_cells import HIDDEN_PARTS, THIN_COLUMN, deal


def test_every_seen_cell_is_hidden_at_most_once_and_rows_share_the_load():
    mask = np.random.default_rng(0).random((50, 30)) < 0.8
    mask[:, 0] = False
    mask[: THIN_COLUMN - 1, 0] = True
    fold = deal(mask, 0)
    assert (fold[~mask] == -1).all()
    assert (fold[:, 0] == -1).all()  # too thin a column to lose a cell
    assert fold[mask[:, 1:].nonzero()[0], 1:].max() < HIDDEN_PARTS
    assert ((fold[:, 1:] >= 0) == mask[:, 1:]).all()
    for f in range(HIDDEN_PARTS):
        assert (fold == f).sum(axis=1).max() <= -(-30 // HIDDEN_PARTS)
    np.testing.assert_array_equal(fold, deal(mask, 0))
    assert (fold != deal(mask, 1)).any()
