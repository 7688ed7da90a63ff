"""The number of clusters by evidence; on known tables see tests/models/mixtures."""

import numpy as np
import pytest

from lowdim import choose_clusters
from lowdim.jobs.one_model import fit_method
from lowdim.text.messages import LowdimError


def test_more_clusters_than_rows_is_no_answer():
    with pytest.raises(LowdimError, match="LD253"):
        choose_clusters(np.random.default_rng(0).standard_normal((5, 4)), ks=[7, 8])


@pytest.mark.parametrize("kind", ["diag", "tied"])
def test_the_covariance_is_chosen_with_the_number(kind):
    """Three groups in two of seven columns, a tenth of the cells missing: full covariances have too many numbers."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((180, 7))
    if kind == "tied":
        z = z @ np.linalg.cholesky(0.2 * np.eye(7) + 0.8)
    X = z + np.repeat([[0, 0], [6, 0], [3, 5]], 60, axis=0) @ np.eye(2, 7)
    X = X * [1, 1, 1, 1, 2, 3, 4]  # of unlike variances
    X[rng.random(X.shape) < 0.1] = np.nan
    found, full = (choose_clusters(X, how, range(1, 6)) for how in ("auto", "full"))
    assert found.n_clusters == 3 and found.component == kind and found.log_evidence.max() > full.log_evidence.max()
    assert choose_clusters(X, kind, range(1, 6)).log_evidence.max() == pytest.approx(found.log_evidence.max())


def test_a_method_that_finds_its_clusters_is_asked_for_no_number():
    """The evidence of Gaussian mixtures has no say in how many parts a Bayesian mixture keeps."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((160, 3)) * 0.3 + np.repeat(np.eye(3)[[0, 1, 2, 0]] * [[6], [6], [6], [-6]], 40, axis=0)
    found = fit_method(X, "bmppca")
    assert found.places.z.shape[1] == 4 and found.model.n_clusters == 6 and not found.why
