"""GP-LVM on real maps: the Swiss roll from two starts, the robot's round trip, the stick man's run."""

import numpy as np
import pytest

from lowdim import GPLVM, PCA
from tests.conftest import need
from tests.references.tables import distances, numbers

CLOSE, LATER = 2.0, 60.0  # metres between two places of the robot that are one, and seconds that make it a return


def told(Z, U):
    """How much of the true coordinates is a linear function of the places: mean R2."""
    A = np.column_stack([np.ones(len(Z)), Z])
    rest = U - A @ np.linalg.lstsq(A, U, rcond=None)[0]
    return float(np.mean(1 - (rest**2).sum(axis=0) / ((U - U.mean(axis=0)) ** 2).sum(axis=0)))


def unrolled(seed, n, **options):
    """R2 from Isomap's places and from principal scores, noise at least a thousandth of the variance."""
    table = numbers(need("swiss_roll") / "swiss_roll.csv", ["x", "y", "z", "u1", "u2"])
    rows = np.random.default_rng(seed).choice(len(table), n, replace=False)
    fits = (
        GPLVM(2, init=init, n_init=1, noise_floor=1e-3, **options).fit(table[rows, :3]) for init in ("isomap", "pca")
    )
    return [told(model.embedding_, table[rows, 3:]) for model in fits]


@pytest.mark.drill
def test_swiss_roll():
    isomap, pca = np.array([unrolled(seed, 1000, tol=0.002) for seed in range(5)]).T
    assert (isomap > pca).sum() >= 3 and np.median(isomap) >= 0.67


def wifi():
    table = numbers(need("robot_wifi") / "robot_wifi.csv", ["time_s", "x", "y", *(f"ap{j:02d}" for j in range(1, 31))])
    table = table[:215]
    return table[:, 0], table[:, 1:3], (np.where(np.isnan(table[:, 3:]), -92, table[:, 3:]) + 85) / 15  # as its author


def returned(Z, time, place):
    """Median distance on the map of rows that came back to a place, over that of any two rows."""
    back = (distances(place) < CLOSE**2) & (np.abs(time[:, None] - time) > LATER)
    assert back.sum() == 88
    D = np.sqrt(distances(Z))
    return np.median(D[back]) / np.median(D[np.triu_indices(len(D), 1)])


def test_the_robots_path_closes():
    time, place, X = wifi()
    model = GPLVM(2).fit(X)
    assert returned(model.embedding_, time, place) < 0.25  # any two rows: 1
    D = distances(model.embedding_)
    np.fill_diagonal(D, np.inf)
    off = np.sqrt(distances(place))[np.arange(215), D.argmin(axis=1)].mean()
    assert off < 1.2  # metres to where the nearest row of the map was; from two principal axes 1.28
    far = model.predictive_variance([[9.0, 9.0]]).mean()
    assert np.median(model.predictive_variance(model.embedding_)) < 0.5 * far


def test_the_stick_man():
    X = numbers(need("stick_man") / "stick_man.csv")
    model = GPLVM(2).fit(X)
    D = distances(model.embedding_)
    np.fill_diagonal(D, np.inf)
    assert (np.abs(D.argmin(axis=1) - np.arange(len(X))) == 1).mean() >= 0.7  # neighbours on the map are so in time
    assert np.mean((model.reconstruct(X) - X) ** 2) < 0.01 * np.mean((PCA(2).fit(X).reconstruct(X) - X) ** 2)
