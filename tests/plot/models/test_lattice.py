"""Grids behind the pictures of a GTM, and models that pictures refuse."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.plot.analysis.traverse import walk_axis
from lowdim.plot.models.bottleneck import bottleneck
from lowdim.plot.models.gtm import gtm_sheet, lattice
from lowdim.text.messages import LowdimError
from tests.models.nonlinear.tables import long_arc


def test_a_drawn_sample_on_one_axis_is_no_grid():
    X = long_arc(60)
    model = ld.DensityNetwork(1, n_samples=15, hidden=3, tol=5.0).fit(X)
    assert not lattice(model, "gtm_sheet").own and lattice(ld.GTM(1, grid=7).fit(X), "gtm_sheet").own


def test_models_that_cannot_be_drawn_end_in_messages():
    X = long_arc(40)
    with pytest.raises(LowdimError, match="LD494"):
        gtm_sheet(ld.GTM(1, grid=4, basis=3).fit(X[:, :1]), X[:, :1])
    with pytest.raises(LowdimError, match="LD494"):
        walk_axis(ld.Autoencoder(1, hidden=()).fit(X), 0, np.arange(3.0))


def test_a_bottleneck_of_more_columns_than_rows():
    assert bottleneck(np.random.default_rng(0).standard_normal((6, 8)), seeds=1).name == "bottleneck"
