"""Rotations and distances of tables of any kind and size."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

import lowdim
from lowdim.text.messages import LowdimError

RNG = np.random.default_rng(5)
W = RNG.standard_normal((9, 3))


@pytest.mark.parametrize("size", [2.0**-900, 2.0**900])
@pytest.mark.parametrize("method", ["varimax", "promax", "oblimin"])
def test_a_rotation_does_not_depend_on_the_unit(method, size):
    one, other = lowdim.rotate(W, method), lowdim.rotate(W * size, method)
    assert np.array_equal(one.loadings * size, other.loadings) and np.array_equal(one.matrix, other.matrix)


def test_an_alignment_states_its_scale_in_the_units_of_both():
    small, large = W * 2.0**-400, W @ np.linalg.qr(RNG.standard_normal((3, 3)))[0] * 2.0**500
    found = lowdim.procrustes(small, large)
    assert found.scale == pytest.approx(2.0**900, rel=1e-12) and found.error < 1e-12
    assert np.abs(found.aligned - large).max() < 1e-12 * np.abs(large).max()


def test_an_alignment_without_scaling_keeps_lengths():
    found = lowdim.procrustes(W * 1e200, W[::-1] * 1e200, scaling=False)
    assert found.scale == 1.0
    assert found.error == pytest.approx(lowdim.procrustes(W, W[::-1], scaling=False).error, rel=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e-250, 1e250])
def test_similarities_lead_back_to_the_distances_they_were_made_of(size):
    D = squareform(pdist(W)) ** 2 * size
    back = lowdim.to_squared_distances(lowdim.to_similarities(D))
    assert np.abs(back - D).max() <= 1e-13 * D.max()


def test_frames_are_tables_too():
    D = pd.DataFrame(squareform(pdist(W)) ** 2)
    assert np.array_equal(lowdim.to_similarities(D), lowdim.to_similarities(D.to_numpy()))
    assert np.array_equal(lowdim.rotate(pd.DataFrame(W)).loadings, lowdim.rotate(W).loadings)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: lowdim.rotate(np.where(W > 2, np.nan, W * (W < 2))), "LD163"),
        (lambda: lowdim.rotate(W, "oblimax"), "LD210"),
        (lambda: lowdim.rotate(W, target=W[:3]), "LD210"),
        (lambda: lowdim.rotate(W + 1j), "LD102"),
        (lambda: lowdim.rotate("no such file.csv"), "LD001"),
        (lambda: lowdim.procrustes(W, W[:, :2]), "LD210"),
        (lambda: lowdim.to_similarities(W), "LD410"),
        (lambda: lowdim.to_squared_distances([[0.0, np.inf], [1.0, 0.0]]), "LD150"),
        (lambda: lowdim.total_least_squares(W, W[:4, 0]), "LD210"),
        (lambda: lowdim.whiten(np.where(W > 1, np.nan, W)), "LD163"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_code(call, code):
    W[0, 0] = 3.0
    with pytest.raises(LowdimError) as caught:
        call()
    assert caught.value.code == code and caught.value.fix
