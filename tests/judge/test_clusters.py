"""The number of clusters by evidence; on known tables see tests/models/mixtures."""

import numpy as np
import pytest

from lowdim import choose_clusters
from lowdim.text.messages import LowdimError


def test_more_clusters_than_rows_is_no_answer():
    with pytest.raises(LowdimError, match="LD253"):
        choose_clusters(np.random.default_rng(0).standard_normal((5, 4)), ks=[7, 8])
