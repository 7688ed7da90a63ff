"""Distances over q miss what the eigenvalues leave out."""

import numpy as np
import pytest
from lessons.dist_panels import dist_panels

from tests.plot.svg_checks import inside, same_twice


def test_distances_over_q_miss_what_the_eigenvalues_leave_out():
    """[Lawrence2012] figure 3.7 on its right scale: the error is 2/d (total variance - first q eigenvalues)."""
    X = np.random.default_rng(0).standard_normal((60, 8)) @ np.diag([3.0, 2.5, 2, 1, 1, 0.5, 0.5, 0.1])
    plot = same_twice(lambda: dist_panels(X, [1, 2, 5, 8]))
    inside(plot)
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    assert plot.data["error"] == pytest.approx([2 / 8 * values[q:].sum() for q in (1, 2, 5, 8)], abs=1e-9)
    D = ((X[:, None] - X) ** 2).sum(axis=2) / 8
    assert plot.data["distance"][:, -1] == pytest.approx(D, abs=1e-9)
