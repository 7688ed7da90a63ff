"""One map for all parts of a mixture: bent sheets unrolled, straight ones as PCA has them."""

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from lowdim import PCA, GaussianMixture, MixtureOfFA, MixtureOfPPCA
from lowdim.text.messages import LowdimError

pytestmark = pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")


def s_curve(n=500, seed=0, noise=0.02):
    """An S bent through three columns, and where each row lies on it."""
    rng = np.random.default_rng(seed)
    t, h = 3.0 * np.pi * (rng.random(n) - 0.5), 2.0 * rng.random(n)
    X = np.column_stack([np.sin(t), h, np.sign(t) * (np.cos(t) - 1.0)]) + noise * rng.standard_normal((n, 3))
    return X, np.column_stack([t, h])


def explained(Z, truth):
    """The share of the truth's variance that an affine map of Z tells, column by column."""
    A = np.column_stack([Z, np.ones(len(Z))])
    rest = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return 1.0 - rest.var(axis=0) / truth.var(axis=0)


@pytest.mark.parametrize("kind", [MixtureOfPPCA, MixtureOfFA])
def test_an_s_is_unrolled(kind):
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 3)))[0].T  # six columns: factors have enough
    (X, truth), (new, where) = s_curve(), s_curve(200, seed=1)
    X, new = X @ turn, new @ turn
    glued = kind(12, 2, n_init=3, tol=1e-5).fit(X).coordinate(X)
    assert explained(glued.places, truth).min() > 0.95
    flat = PCA(2).fit_transform(X)
    assert trustworthiness(X, glued.places, n_neighbors=10) > trustworthiness(X, flat, n_neighbors=10) + 0.02
    assert np.cov(glued.places.T, bias=True) == pytest.approx(np.eye(2), abs=1e-9)
    assert explained(glued.transform(new), where).min() > 0.95
    assert glued.transform(X) == pytest.approx(glued.places, abs=1e-9)


def test_straight_rows_are_placed_as_by_pca():
    rng = np.random.default_rng(2)
    Z = rng.random((300, 2)) * [3.0, 2.0]
    X = Z @ rng.standard_normal((2, 5)) + 1e-3 * rng.standard_normal((300, 5)) + 4.0
    glued = MixtureOfPPCA(5, 2, n_init=2).fit(X).coordinate(X)
    assert explained(glued.places, PCA(2).fit_transform(X)).min() > 0.9999
    assert glued.strain.max() < 1e-4


def test_gaps_are_welcome():
    X, truth = s_curve(400, noise=0.01)
    gappy = X.copy()
    gappy[np.random.default_rng(0).random(len(X)) < 0.1, 0] = np.nan
    glued = MixtureOfPPCA(12, 2, n_init=3, tol=1e-4, calibrate=False).fit(gappy).coordinate(gappy)
    assert explained(glued.places, truth).min() > 0.8


def test_what_cannot_be_glued_says_so():
    X, _ = s_curve(100)
    with pytest.raises(LowdimError, match="LD240"):
        GaussianMixture(3).fit(X).coordinate(X)
    model = MixtureOfPPCA(3, 1, n_init=2).fit(X)
    with pytest.raises(LowdimError, match="LD200"):
        model.coordinate(X, 9)
    with pytest.raises(LowdimError, match="LD210"):
        model.coordinate(X, n_neighbors=100)
