"""Laplacian eigenmaps: heat weights, and graphs that fill many dimensions."""

import numpy as np
import pytest
import scipy.linalg as sl

from lowdim import LaplacianEigenmaps
from lowdim.maths.pairs import joined
from lowdim.text.errors import ModelWarning
from tests.models.spectral.tables import TABLES, apart, rng


def test_heat_that_reaches_nobody():
    X = TABLES["far"]
    with pytest.warns(ModelWarning, match=r"LD438[\s\S]*row 31"):
        fitted = LaplacianEigenmaps(2, n_neighbors=5, weights="heat").fit(X)
    assert fitted.width_ == pytest.approx(np.median(joined(X, 5)[0].d))
    assert any("heat weights of width" in note for note in fitted.certificate_.notes)
    assert np.isfinite(fitted.embedding_).all()


@pytest.mark.drill
def test_rows_that_fill_many_dimensions():
    """Their graph has no small separators: without factors, the same vectors as from a dense solver."""
    X = rng(0).standard_normal((3100, 20))
    fitted = LaplacianEigenmaps(2, n_neighbors=10).fit(X)
    assert fitted.certificate_.solver == "Lanczos"
    assert fitted.certificate_.residual < 1e-14
    L = fitted.field().precision.toarray()
    known = sl.eigh(L, np.diag(np.diag(L)), subset_by_index=(1, 2))
    assert fitted.eigenvalues_ == pytest.approx(known[0], rel=1e-9)
    assert apart(fitted.embedding_, known[1]) <= 1e-6
