"""How many passes EM takes: 4000 x 12, three dimensions, to within 0.01 nat of the optimum."""

from contextlib import nullcontext

import numpy as np
import pytest

import lowdim

NOISES = (0.1, 0.5, 2.0)


def simulate(seed, noise, share):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4000, 3)) @ rng.standard_normal((3, 12)) + noise * rng.standard_normal((4000, 12))
    X[rng.random(X.shape) < share] = np.nan
    return X


def passes(seed, noise, share):
    """Passes whose parameters were not yet within 0.01 nat, and the one that was."""
    X = simulate(seed, noise, share)
    with pytest.warns(UserWarning, match="LD121") if np.isnan(X).all(axis=1).any() else nullcontext():
        model, long = lowdim.PPCA(3).fit(X), lowdim.PPCA(3, tol=1e-11).fit(X)
    assert model.objective_ >= long.objective_ - 0.01
    return 1 + int(np.argmax(long.history_ >= long.history_.max() - 0.01))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("share, most", [(0.3, 12), (0.6, 30)])
def test_passes(noise, share, most):
    assert passes(0, noise, share) <= most


@pytest.mark.drill
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("share, most", [(0.3, 12), (0.6, 30)])
def test_passes_over_ten_seeds(noise, share, most):
    counts = [passes(seed, noise, share) for seed in range(10)]
    print(f"noise {noise}, {share:.0%} gone: {counts}")
    assert max(counts) <= most
