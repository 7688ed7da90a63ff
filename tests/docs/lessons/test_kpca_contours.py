"""Contours of kernel PCA are its components over the plane."""

import numpy as np
import pytest
from lessons.kpca_contours import kpca_contours
from sklearn.decomposition import KernelPCA as PeerKPCA

import lowdim as ld
from tests.plot.svg_checks import inside, same_twice, texts


@pytest.mark.slow
def test_contours_are_the_components_and_their_eigenvalues():
    rng = np.random.default_rng(0)
    X = np.concatenate([0.1 * rng.standard_normal((30, 2)) + c for c in ((-0.5, -0.2), (0.0, 0.6), (0.5, 0.0))])
    model = ld.KernelPCA(8, gamma=10.0).fit(X)
    plot = same_twice(lambda: kpca_contours(model, X))
    old = PeerKPCA(8, kernel="rbf", gamma=10.0).fit(X)
    at = np.array([[plot.data["x"][30], plot.data["y"][10]]])
    assert np.abs(plot.data["value"][:, 10, 30]) == pytest.approx(np.abs(old.transform(at)[0]), abs=1e-8)
    assert plot.data["eigenvalue"] == pytest.approx(old.eigenvalues_, rel=1e-8)
    assert sum("eigenvalue" in words for words in texts(plot)) == 8
    inside(kpca_contours(ld.KernelPCA(3, gamma=1.0).fit(X), X))
