"""The likelihood of a GP-LVM at the limits of its matrices."""

import numpy as np
import pytest

import lowdim.models.gaussian_process.gp as gp
from lowdim.models.gaussian_process.gplvm_likelihood import LikelihoodSurface, PlacesProblem, mean_variance
from lowdim.text.kinds import FitError
from tests.models.gaussian_process.tables import arc


def problem(n=30):
    Y = arc(n)[0]
    Y = Y - Y.mean(axis=0)
    return PlacesProblem(gp.columns_by_pattern(Y, None), "rbf", (n, 1), None, mean_variance(Y, None))


def test_a_matrix_that_fails_is_an_error_first_and_a_wall_later(monkeypatch):
    surface, vector = LikelihoodSurface(problem()), np.append(np.linspace(-1, 1, 30), [0.0, 0.0, -1.0])
    flat = np.append(np.zeros(30), [0.0, 0.0, -60.0])
    monkeypatch.setattr(gp, "JITTER_LEVELS", (0.0,))
    with pytest.raises(FitError, match=r"LD473.*condition number \d\.\de\+1\d"):
        surface(flat)
    value = surface(vector)[0]
    assert surface(flat)[0] == -np.inf and surface.best == value


def test_the_jitter_level_is_the_best_places_own():
    surface = LikelihoodSurface(problem())
    surface(np.append(np.zeros(30), [0.0, 0.0, -60.0]))  # rank one: jitter, and a bad place
    assert surface.jitter_level > 0 and surface.best_level == surface.jitter_level
    good = LikelihoodSurface(problem())
    good(np.append(np.linspace(-1, 1, 30), [0.0, 0.0, -1.0]))
    good(np.append(np.zeros(30), [0.0, 0.0, -60.0]))
    assert good.jitter_level > 0 and good.best_level == 0
