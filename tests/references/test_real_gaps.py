"""Tables whose gaps are real: EM must stop within 0.01 nat of a long L-BFGS run."""

import warnings

import numpy as np
import pytest

import lowdim
from tests.references.optimum import best, brute, slope_error, starts_near
from tests.references.tables import stick_man, wifi, yeast


def short_by(X, q, *, steps, size=0.2):
    """How many nats EM stops short of the best L-BFGS finds near and away from its answer."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*LD162")  # WiFi: some access points never share a frame
        model = lowdim.PPCA(q).fit(X)
    assert model.converged_
    return best(X, starts_near(model, size=size), steps=steps) - model.objective_


def test_the_oracle_itself():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6)) + 3.0
    X[rng.random(X.shape) < 0.3] = np.nan
    assert slope_error(X, 2, each=False) < 1e-5
    assert slope_error(X, 2, each=True) < 1e-5
    model = lowdim.PPCA(2).fit(X)
    value = brute(X, model.components_.T, model.mean_, model.noise_variance_)
    assert value == pytest.approx(model.objective_, abs=1e-9)
    assert best(X, starts_near(model)[:1], steps=1) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("q", [2, 5])
def test_robot_wifi(need, q):
    X = wifi(need("robot_wifi"))
    assert X.shape == (215, 30) and np.isnan(X).sum() == 3480
    assert short_by(X, q, steps=3000) <= 0.01


def test_stick_man(need):
    X = stick_man(need("stick_man"))
    assert X.shape == (217, 123) and np.isnan(X).sum() == 447
    assert short_by(X, 2, steps=2000) <= 0.01


def test_yeast(need):
    X = yeast(need("spellman_yeast"))
    assert X.shape == (77, 6178) and np.isnan(X).sum() == 28127
    assert short_by(X, 2, steps=40, size=0.02) <= 0.01


@pytest.mark.drill
def test_yeast_long(need):
    X = yeast(need("spellman_yeast"))
    assert short_by(X, 2, steps=2000) <= 0.01


@pytest.mark.drill
@pytest.mark.parametrize("q", [2, 5])
def test_robot_wifi_from_far_away(need, q):
    X = wifi(need("robot_wifi"))
    assert short_by(X, q, steps=20000, size=1.0) <= 0.01
