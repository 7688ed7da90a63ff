"""GP-LVM on the oil flow: figures of Lawrence (2005) and of Titsias and Lawrence (2010)."""

import numpy as np
import pytest

from lowdim import GPLVM, PCA, PPCA
from tests.conftest import need
from tests.references.tables import neighbour_errors, oil

HALF = 1.6448536269514722


def subset(seed, n=100):
    X, label = oil(need("oil_flow"))
    rows = np.random.default_rng(seed).choice(len(X), n, replace=False)
    return X[rows], label[rows]


def gains(seeds):
    """Nearest-neighbour errors of PCA less those of the GP-LVM."""
    found = []
    for seed in seeds:
        X, label = subset(seed)
        maps = PCA(2).fit_transform(X), GPLVM(2).fit(X).embedding_
        found.append([neighbour_errors(Z, label) for Z in maps])
    return np.array(found)


def test_100_rows_of_oil():
    pca, ours = gains(range(3)).T
    assert ours.mean() <= 6 and (pca - ours).mean() >= 12


@pytest.mark.drill
def test_20_subsets_of_oil():
    pca, ours = gains(range(20)).T
    assert (pca - ours).mean() >= 15


@pytest.mark.drill
def test_all_of_oil():
    X, label = oil(need("oil_flow"))
    assert neighbour_errors(GPLVM(2).fit(X).embedding_, label) <= 4


def filled(X, hidden, model):
    """Error on the hidden cells of our fills and of PPCA's at its best q, and the share 90 % intervals hold."""
    Z = np.where(hidden, np.nan, X)
    model = model.fit(Z)
    fill, std = model.impute(Z, return_std=True)
    off = np.abs(fill - X)[hidden]
    linear = min(np.sqrt(np.mean((PPCA(q).fit(Z).impute(Z) - X)[hidden] ** 2)) for q in range(1, 12))
    return np.sqrt(np.mean(off**2)), linear, (off <= HALF * std[hidden]).mean()


@pytest.mark.slow
def test_gaps_in_250_rows_of_oil():
    X, _ = subset(0, 250)
    ours, linear, held = filled(X, np.random.default_rng(0).random(X.shape) < 0.3, GPLVM(2))
    assert ours < linear  # places fitted to few rows follow their noise: the margin comes with a thousand
    assert 0.83 <= held <= 0.96  # of 900 cells, calibrated on 315: either share is known to 1 or 2 %


@pytest.mark.drill
@pytest.mark.parametrize("seed", range(4))
def test_gaps_in_oil(seed):
    X, _ = oil(need("oil_flow"))
    ours, linear, held = filled(X, np.random.default_rng(seed).random(X.shape) < 0.3, GPLVM(2))
    assert ours <= 0.85 * linear
    assert 0.88 <= held <= 0.93
