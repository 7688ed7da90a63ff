"""The evidence bound: gradients by finite differences, quadrature points, the linear limit in closed form."""

import numpy as np
import pytest

from lowdim.models.nonlinear.mlp import pack_layers, random_biases, random_layers
from lowdim.models.nonlinear.nonlinear_fa_bound import (
    CellRows,
    Network,
    NonlinearFABound,
    bound_gradients,
    hermite_points,
    regression_loss,
    search_places,
)
from tests.oracles.differences import by_differences


def rows_of(n, d, gaps, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    mask = rng.random((n, d)) > 0.3 if gaps else None
    return CellRows(x if mask is None else np.where(mask, x, 0.0), mask)


@pytest.mark.parametrize("amortized", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("q", "sizes", "activation"), [(1, (4,), "tanh"), (2, (4,), "tanh"), (2, (3, 4), "sigmoid")])
def test_gradients_by_finite_differences(q, sizes, activation, gaps, amortized):
    rng = np.random.default_rng(1)
    net = Network(random_layers((q, *sizes, 3), rng), activation)
    rows, w = rows_of(5, 3, gaps), rng.uniform(0.5, 2.0, 5)
    encoder = random_layers((6 if gaps else 3, *sizes, 2 * q), rng) if amortized else ()
    bound = NonlinearFABound(net, Network(encoder, activation), rows, w, 0.1)
    of_rows = bound.row_parameters(np.hstack([rng.standard_normal((5, q)), -1 + 0.3 * rng.standard_normal((5, q))]))
    v = np.concatenate([pack_layers(net.layers), [-0.7], pack_layers(encoder) if amortized else of_rows])
    gradient = by_differences(lambda u: bound.value_and_grad(u)[0], v, 1e-4)
    assert bound.value_and_grad(v)[1] == pytest.approx(gradient, abs=1e-6)
    m, p = rng.standard_normal((5, q)), pack_layers(net.layers)
    gradient = by_differences(lambda u: regression_loss(net, rows, w, m, 0.1, u)[0], p, 1e-4)
    assert regression_loss(net, rows, w, m, 0.1, p)[1] == pytest.approx(gradient, abs=1e-6)


def test_points_have_the_moments_of_a_normal():
    u, share = hermite_points(2)
    assert len(u) == 9 and share.sum() == pytest.approx(1.0)
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (5, 0.0)):
        assert share @ u**power == pytest.approx([moment, moment], abs=1e-12)
    assert share @ (u[:, 0] ** 2 * u[:, 1] ** 2) == pytest.approx(1.0)


@pytest.mark.parametrize("gaps", [False, True])
def test_a_linear_network_has_its_posterior_in_closed_form(gaps):
    """One factor, cells linear in it: q is the exact posterior and the bound the exact log density."""
    rng = np.random.default_rng(3)
    a, psi, rows = rng.standard_normal((1, 4)), 0.4, rows_of(30, 4, gaps)
    theta, bound = search_places(Network(((a, np.zeros(4)),)), psi, rows)
    for i in range(30):
        seen = np.ones(4, bool) if rows.mask is None else rows.mask[i]
        A, x = a[0, seen], rows.x[i, seen]
        precision = 1.0 + A @ A / psi
        assert theta[i, 0] == pytest.approx(A @ x / psi / precision, abs=1e-9)
        assert theta[i, 1] == pytest.approx(-0.5 * np.log(precision), abs=1e-9)
        C = np.outer(A, A) + psi * np.eye(len(A))
        exact = -0.5 * (x @ np.linalg.solve(C, x) + np.linalg.slogdet(C)[1] + len(x) * np.log(2 * np.pi))
        assert bound[i] == pytest.approx(exact, abs=1e-9)


def test_squares_multiplied_out_are_those_of_the_residuals():
    """Complete rows with more cells than units take another way than rows with gaps: the numbers are the same."""
    rng = np.random.default_rng(5)
    net = Network(random_layers((2, 4, 9), rng, 3.0))
    rows, w = rows_of(7, 9, False), rng.uniform(0.5, 2.0, 7)
    theta = np.hstack([rng.standard_normal((7, 2)), -1 + 0.3 * rng.standard_normal((7, 2))])
    products = bound_gradients(net, 0.02, rows, theta, w)
    residuals = bound_gradients(net, 0.02, CellRows(rows.x, np.ones((7, 9), bool)), theta, w)
    for one, other in ((products.value, residuals.value), (products.theta, residuals.theta)):
        assert one == pytest.approx(other, rel=1e-10)
    assert pack_layers(products.layers) == pytest.approx(pack_layers(residuals.layers), rel=1e-8, abs=1e-8)
    assert products.log_psi == pytest.approx(residuals.log_psi, rel=1e-10)


def test_rows_on_a_wrinkled_sheet_find_their_places():
    """Folds narrower than a third of the factors' spread are not stepped over."""
    rng = np.random.default_rng(6)
    net = Network(random_biases(random_layers((2, 30, 12), rng, 12.0), rng))
    m, psi = rng.standard_normal((300, 2)), 1e-2
    rows = CellRows(net.output(m) + np.sqrt(psi) * rng.standard_normal((300, 12)), None)
    theta = np.hstack([m, np.full((300, 2), np.log(0.02))])
    there = bound_gradients(net, psi, rows, theta, np.ones(300)).value
    assert (search_places(net, psi, rows)[1] < there).mean() < 0.05
