"""Eigenfaces: 1-NN recognition of the 400 Olivetti faces against the number of components, leave one out."""

import numpy as np
from sklearn import decomposition
from sklearn.neighbors import NearestNeighbors

import lowdim
from tests.conftest import need

COUNTS = (1, 2, 5, 10, 20, 40, 80)


def errors(scores: np.ndarray, people: np.ndarray) -> int:
    nearest = NearestNeighbors(n_neighbors=2).fit(scores).kneighbors(scores, return_distance=False)[:, 1]
    return int((people[nearest] != people).sum())


def test_recognition_grows_with_components_and_equals_the_peers() -> None:
    with np.load(need("olivetti_faces") / "olivetti64.npz") as faces:
        X, people = faces["X"].astype(float), faces["person"]
    ours = lowdim.PCA(80).fit(X).transform(X)
    theirs = decomposition.PCA(80, svd_solver="full").fit_transform(X)
    found = [errors(ours[:, :k], people) for k in COUNTS]
    assert found == [errors(theirs[:, :k], people) for k in COUNTS]
    assert found[0] > 300 > found[2] > found[3] > found[4]  # one number tells hardly anyone apart, twenty almost all
    assert found[-1] <= 20
