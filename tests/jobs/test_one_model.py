"""One named model fitted to a table."""

import pandas as pd
import pytest
from sklearn.datasets import load_iris

import lowdim
from lowdim.jobs.one_model import fit_method
from lowdim.text.messages import LowdimWarning


def test_factors_are_not_asked_for_more_than_they_can_tell():
    table = lowdim.read(pd.DataFrame(load_iris().data, columns=list("abcd")))
    with pytest.warns(LowdimWarning):
        assert fit_method(table, "fa").places.z.shape == (150, 1)  # four columns: at most one factor
