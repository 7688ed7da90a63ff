"""The rotated sixes of [Lawrence2012] 3: a circle under PCA, identities of distances, and kernel PCA that expands."""

import numpy as np
import pytest
from scipy.ndimage import rotate
from scipy.spatial.distance import pdist

from lowdim import PCA, ClassicalMDS, KernelPCA, VarianceSelector

pytestmark = pytest.mark.filterwarnings("ignore:LD203")  # they come in pairs of equal variance, as they should


@pytest.fixture(scope="module")
def sixes():
    """360 x 4096: the six on a 64 x 64 grid, turned by whole degrees, bilinear ([Lawrence2012] 3.2)."""
    from tests.conftest import need

    six = np.pad(np.loadtxt(need("handwritten_six") / "six.csv", delimiter=","), ((0, 0), (3, 4)))
    return np.stack([rotate(six, angle, reshape=False, order=1).ravel() for angle in range(360)])


def test_pca_makes_a_circle_of_them(sixes):
    """lambda_1 = lambda_2, so the circle is tested and never the columns."""
    pca = PCA(2).fit(sixes)
    radius = np.linalg.norm(pca.transform(sixes), axis=1)
    assert radius.std() / radius.mean() <= 0.003
    assert pca.explained_variance_[1] / pca.explained_variance_[0] >= 0.99
    turns = np.unwrap(np.arctan2(*pca.transform(sixes).T))
    steps = np.diff(turns)
    assert (steps > 0).all() or (steps < 0).all()
    assert abs(turns[-1] - turns[0]) == pytest.approx(2 * np.pi * 359 / 360, rel=0.01)
    Z = ClassicalMDS(2).fit(sixes).embedding_
    assert np.abs(np.linalg.norm(Z, axis=1) - radius).max() <= 1e-8


@pytest.fixture(scope="module")
def all_axes(sixes):
    """Every axis of the sixes, and their scores."""
    pca = PCA(360).fit(sixes)
    return pca, pca.transform(sixes)


def distance_error(X, Y):
    """Mean over pairs of |d_ij / p - delta_ij / q|, delta of coordinates times sqrt(q/p) ([Lawrence2012] 3.3, 3.4)."""
    p, q = X.shape[1], Y.shape[1]
    return np.abs(pdist(X, "sqeuclidean") / p - pdist(Y * np.sqrt(q / p), "sqeuclidean") / q).mean()


@pytest.mark.parametrize("q", [2, 10, 100])
def test_selection_and_extraction_obey_the_identities(sixes, all_axes, q):
    variances = np.sort(sixes.var(axis=0, ddof=1))[::-1]
    kept = np.argsort(-sixes.var(axis=0), kind="stable")[:q]
    chosen = distance_error(sixes, sixes[:, kept])
    assert chosen == pytest.approx(2 / 4096 * variances[q:].sum(), rel=1e-10)
    selector = VarianceSelector(q).fit(sixes)
    assert selector.error_ == pytest.approx(chosen, rel=1e-10)
    pca, scores = all_axes
    drawn = distance_error(sixes, scores[:, :q])
    assert drawn == pytest.approx(2 / 4096 * pca.explained_variance_[q:].sum(), rel=1e-10)
    assert drawn < chosen
    printed = {2: (0.2118, 0.1294), 10: (None, 0.0506), 100: (None, 0.0020)}[q]  # [Lawrence2012] 3
    assert drawn == pytest.approx(printed[1], rel=0.03)
    if printed[0]:
        assert chosen == pytest.approx(printed[0], rel=0.03)


def test_kernel_pca_expands(sixes):
    """[Lawrence2012], figures 4.6, 4.7: under a narrow kernel only close rotations are alike, others sqrt 2 apart."""
    median = np.median(pdist(sixes))
    model = KernelPCA(60, gamma=20 / median**2).fit(sixes)
    D = np.sqrt(model.field().squared_distances()[np.triu_indices(360, 1)])
    assert D.max() <= np.sqrt(2)
    far = 0.99 * np.sqrt(2)
    assert (far <= D).mean() >= 0.8
    pca = PCA(60).fit(sixes)
    shares = [
        np.cumsum(v)[1] / total
        for v, total in (
            (model.eigenvalues_, 360 * (1 - 1 / 360)),
            (pca.explained_variance_, sixes.var(axis=0, ddof=1).sum()),
        )
    ]
    assert shares[0] < 0.25 * shares[1]  # two axes hold far less of the spread than before: dimensions are added
