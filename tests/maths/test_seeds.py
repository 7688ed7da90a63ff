"""Streams of random numbers have numbers of their own."""

from lowdim.maths import seeds


def test_no_two_streams_share_a_number_but_those_that_say_so():
    numbers = {name: value for name, value in vars(seeds).items() if name.isupper() and isinstance(value, int)}
    own = [value for name, value in numbers.items() if name not in seeds.SHARED]
    assert len(own) == len(set(own)) == 30
    assert all(numbers[name] in own for name in seeds.SHARED)
