"""k-means++, which K-means, mixtures and the movie of EM start from, and the steps of Lloyd's iteration."""

import numpy as np
import pytest

from lowdim.maths.kmeans import cluster_sums, lloyd_steps, move_centers, nearest_centers, plus_plus


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
        centers = plus_plus(X, None, None, 2, np.zeros(1), [Draws(0.0, *tries)])[0]
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
    greedy = [
        potential(X, plus_plus(X, None, None, 12, np.zeros(2), [np.random.default_rng([1, s])])[0]) for s in range(40)
    ]
    assert np.mean(greedy) < 0.7 * np.mean(plain)


@pytest.mark.parametrize("far", [True, False])
def test_centres_are_different_rows_and_weights_of_zero_are_never_drawn(far):
    rng = np.random.default_rng(0)
    X, w = np.repeat(rng.standard_normal((6, 3)), 5, axis=0), np.ones(30)
    w[:10] = 0.0
    centers = plus_plus(X, None, w, 4, np.zeros(3), [rng], far)[0]
    assert {tuple(c) for c in centers} == {tuple(x) for x in X[10:]}


def test_starts_drawn_together_are_those_drawn_alone():
    rng = np.random.default_rng(5)
    X, w = rng.standard_normal((300, 4)), rng.random(300)
    mask = rng.random(X.shape) < 0.8
    for seen in (None, mask):
        x = X if seen is None else X * seen

        def drawn(*seeds, x=x, seen=seen):
            return plus_plus(x, seen, w, 6, np.zeros(4), [np.random.default_rng(s) for s in seeds])

        np.testing.assert_array_equal(drawn(0, 1, 2), np.concatenate([drawn(0), drawn(1), drawn(2)]))


def test_steps_of_several_starts_are_those_of_each_alone():
    rng = np.random.default_rng(6)
    X, w = rng.standard_normal((200, 3)), rng.random(200)
    mu = np.stack([X[:4], X[4:8], X[8:12]])
    together, inertia = lloyd_steps(X, None, w, mu, 3)
    for r in range(3):
        alone, before = mu[r], np.inf
        for _ in range(3):
            sums = cluster_sums(X, None, w, 0, alone[None])
            near = ((X[:, None] - alone) ** 2).sum(axis=2).min(axis=1)
            assert sums.inertia[0] == pytest.approx(w @ near, rel=1e-12) and sums.inertia[0] <= before
            before, alone = sums.inertia[0], move_centers(alone, sums, 0)[0]
        assert together[r] == pytest.approx(alone, rel=1e-13) and inertia[r] == pytest.approx(before, rel=1e-13)


def test_draws_do_not_depend_on_the_order_of_rows_nor_on_copies():
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((40, 3)), rng.integers(1, 4, 40)
    mask = rng.random(X.shape) < 0.8
    order = rng.permutation(40)

    def chosen(rows, seen, weight):
        return plus_plus(rows * seen, seen, weight, 5, np.zeros(3), [np.random.default_rng(7)])[0]

    centers = chosen(X, mask, w.astype(float))
    assert np.array_equal(chosen(X[order], mask[order], w[order].astype(float)), centers)
    assert np.array_equal(chosen(np.repeat(X, w, axis=0), np.repeat(mask, w, axis=0), None), centers)


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
