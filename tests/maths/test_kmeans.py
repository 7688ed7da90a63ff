"""k-means++: the one that K-means, mixtures and the movie of EM start from."""

import numpy as np
import pytest

from lowdim.maths.kmeans import (
    cluster_sums,
    label_covariances,
    nearest_centers,
    plus_plus,
    responsibilities,
)
from lowdim.models.mixtures.known_nearest import KnownNearest


class Draws:
    """A generator whose random numbers are written down."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self, k):
        return np.array([self.numbers.pop(0) for _ in range(k)])


def potential(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()


def test_of_the_tries_for_a_centre_the_one_that_leaves_the_smallest_squares_stays():
    """From 0, a centre on 6 leaves squares of 9, one on 9 leaves 27; the shares of the draw are 36, 36, 36, 81."""
    X = np.array([[0.0], [0.0], [0.0], [6.0], [6.0], [6.0], [9.0]])
    order = np.argsort((X * np.cos(1.0)).sum(axis=1), kind="stable")
    assert order.tolist() == list(range(7))  # the draws below fall on rows in this order
    for tries in ((0.1, 0.9), (0.9, 0.1)):  # whichever of the two comes first
        centers = plus_plus(X, None, None, 2, np.zeros(1), Draws(0.0, *tries))
        assert centers.ravel().tolist() == [0.0, 6.0]


def test_several_tries_do_better_than_one_on_average():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-10, 10, (12, 2)), 20, axis=0) + 0.3 * rng.standard_normal((240, 2))

    def one_try(rng):
        centers = [X[rng.integers(len(X))]]
        while len(centers) < 12:
            square = ((X[:, None] - np.array(centers)) ** 2).sum(axis=2).min(axis=1)
            centers.append(X[rng.choice(len(X), p=square / square.sum())])
        return np.array(centers)

    plain = [potential(X, one_try(np.random.default_rng([1, s]))) for s in range(40)]
    greedy = [potential(X, plus_plus(X, None, None, 12, np.zeros(2), np.random.default_rng([1, s]))) for s in range(40)]
    assert np.mean(greedy) < 0.7 * np.mean(plain)


@pytest.mark.parametrize("far", [True, False])
def test_centres_are_different_rows_and_weights_of_zero_are_never_drawn(far):
    rng = np.random.default_rng(0)
    X, w = np.repeat(rng.standard_normal((6, 3)), 5, axis=0), np.ones(30)
    w[:10] = 0.0
    centers = plus_plus(X, None, w, 4, np.zeros(3), rng, far)
    assert {tuple(c) for c in centers} == {tuple(x) for x in X[10:]}


def test_draws_do_not_depend_on_the_order_of_rows_nor_on_copies():
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((40, 3)), rng.integers(1, 4, 40)
    mask = rng.random(X.shape) < 0.8
    order = rng.permutation(40)

    def chosen(rows, seen, weight):
        return plus_plus(rows * seen, seen, weight, 5, np.zeros(3), np.random.default_rng(7))

    centers = chosen(X, mask, w.astype(float))
    assert np.array_equal(chosen(X[order], mask[order], w[order].astype(float)), centers)
    assert np.array_equal(chosen(np.repeat(X, w, axis=0), np.repeat(mask, w, axis=0), None), centers)


def test_responsibilities_of_rows_far_from_every_component():
    logs = [np.array([-1e5, -3.0, 0.0]), np.array([-1e5 - 2.0, -1.0, 0.0])]
    mask = np.array([[True], [True], [False]])
    share, density = responsibilities(np.log([0.25, 0.75]), logs, mask)
    odds = np.array([0.25, 0.75 * np.exp(-2.0)])
    assert share[:, 0] == pytest.approx(odds / odds.sum()) and density[0] == pytest.approx(-1e5 + np.log(odds.sum()))
    assert share[:, 2].tolist() == pytest.approx([0.25, 0.75]) and density[2] == 0.0  # no cell: the weights
    assert label_covariances(share.T)[0] == pytest.approx([odds.prod() / odds.sum() ** 2 * s for s in (1, -1, 1)])


@pytest.mark.parametrize("K", [2, 10, 40, 300])
@pytest.mark.parametrize("ties", [False, True])
def test_what_passes_know_of_each_other_changes_no_label(K, ties):
    """Ten steps of centres that slow down: every row's nearest is the one that a comparison of all finds."""
    rng = np.random.default_rng(K)
    X = rng.standard_normal((1500, 6))
    X = np.round(X) if ties else X
    mu = X[:K].copy()
    known = KnownNearest(mu)
    spared = 0
    for step in 0.5 ** np.arange(10.0):
        known.move(mu)
        found = known.tile(X, None, 0)
        np.testing.assert_array_equal(found.belongs.indices, nearest_centers(X, None, mu[None])[0])
        spared += int((known.tiles[0].margin > 0.0).sum()) * (not known.tiles[0].open)
        one, two = cluster_sums(X, None, None, 0, mu[None], found), cluster_sums(X, None, None, 0, mu[None])
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
        mu = mu + 0.2 * step * rng.standard_normal(mu.shape)
    assert ties or spared > len(X)  # it has something to know


def test_the_first_of_equal_centres_is_the_nearest():
    x = np.array([[0.0], [1.0], [2.0]])
    for K in (3, 300):
        mu = np.full((1, K, 1), 1.0)
        mu[0, -1] = 2.0
        assert nearest_centers(x, None, mu)[0].tolist() == [0, 0, K - 1]


@pytest.mark.parametrize("K", [2, 300])
def test_labels_name_a_centre_even_where_nothing_can_be_compared(K):
    """Compiled code sums rows by their labels and asks no questions: one out of range is memory overwritten."""
    x, mu = np.ones((5, 2)), np.full((1, K, 2), np.nan)
    label = nearest_centers(x, None, mu)
    assert label.min() >= 0 and label.max() < K
    x[2] = np.nan
    assert nearest_centers(x, None, np.ones((1, K, 2))).max() < K
