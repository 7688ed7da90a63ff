"""Responsibilities and the covariances of labels."""

import numpy as np
import pytest

from lowdim.models.mixtures.soft_labels import label_covariances, responsibilities


def test_responsibilities_of_rows_far_from_every_component():
    logs = [np.array([-1e5, -3.0, 0.0]), np.array([-1e5 - 2.0, -1.0, 0.0])]
    mask = np.array([[True], [True], [False]])
    share, density = responsibilities(np.log([0.25, 0.75]), logs, mask)
    odds = np.array([0.25, 0.75 * np.exp(-2.0)])
    assert share[:, 0] == pytest.approx(odds / odds.sum()) and density[0] == pytest.approx(-1e5 + np.log(odds.sum()))
    assert share[:, 2].tolist() == pytest.approx([0.25, 0.75]) and density[2] == 0.0  # no cell: the weights
    assert label_covariances(share.T)[0] == pytest.approx([odds.prod() / odds.sum() ** 2 * s for s in (1, -1, 1)])
