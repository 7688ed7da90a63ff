"""Models and analyses that several tests of plots draw: fitted once."""

import numpy as np
import pytest

import lowdim as ld
from tests.plot.tables import roll


@pytest.fixture(scope="session")
def sheet():
    """A GTM of a bent sheet."""
    return ld.GTM(2, grid=8, basis=4).fit(roll()[0])


@pytest.fixture(scope="session")
def process():
    """A GP-LVM of a bent sheet."""
    return ld.GPLVM(2).fit(roll(60)[0])


@pytest.fixture(scope="session")
def sampled():
    """A density network of a bent sheet."""
    return ld.DensityNetwork(2, n_samples=40, hidden=6, max_iter=500, tol=0.1).fit(roll()[0])


@pytest.fixture(scope="session")
def equal_rows():
    """The analysis of a table with gaps and with rows that are equal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((60, 5))
    X[1] = X[0]
    X[rng.random(X.shape) < 0.05] = np.nan
    X[40] = X[41]
    return ld.analyse(X, dims=2, budget="1s")
