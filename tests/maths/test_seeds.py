"""Streams of random numbers have numbers of their own."""

import numpy as np

from lowdim.maths import seeds


def test_no_two_streams_share_a_number_but_those_that_say_so():
    numbers = {name: value for name, value in vars(seeds).items() if name.isupper() and isinstance(value, int)}
    own = [value for name, value in numbers.items() if name not in seeds.SHARED]
    assert len(own) == len(set(own)) == 31
    assert all(numbers[name] in own for name in seeds.SHARED)


def test_normals_are_each_rows_own_whatever_rows_are_beside_it():
    rows = seeds.normals([np.random.default_rng([5, i]) for i in range(3)], 4)
    assert rows.shape == (3, 4) and seeds.normals([], 4).shape == (0, 4)
    assert (seeds.normals([np.random.default_rng([5, 2])], 4)[0] == rows[2]).all()
