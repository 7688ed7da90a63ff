"""The score of a map."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import lowdim
from lowdim import embedding_score
from lowdim.judge.compare.embedding_score import loss
from lowdim.models.gaussian_process.gp import columns_by_pattern
from lowdim.text.messages import LowdimError
from tests.models.spectral.tables import bent


def test_score_gradient_by_finite_differences():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((12, 2)), rng.standard_normal((12, 3))
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    theta = np.array([0.3, -0.4, -1.0, -2.0])
    groups = columns_by_pattern(Y, None)
    gradient = loss(theta, D, groups)[1]
    for k in range(4):
        step = np.eye(4)[k] * 1e-6
        rise = (loss(theta + step, D, groups)[0] - loss(theta - step, D, groups)[0]) / 2e-6
        assert gradient[k] == pytest.approx(rise, rel=1e-6)


def test_score_is_a_gaussian_process_of_scikit_learn():
    """The same kernel in scikit-learn: the same likelihood at the same place, and no better one from its own search."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((25, 2))
    Y = np.column_stack([np.sin(Z[:, 0]), Z[:, 1], Z[:, 0] * Z[:, 1]]) + 0.1 * rng.standard_normal((25, 3))
    Y -= Y.mean(axis=0)
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    kernel = ConstantKernel(1.3) * RBF(0.8) + ConstantKernel(0.2) + WhiteKernel(0.05)
    peer = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(Z, Y)
    theta = np.log([1.3, 0.8**-2, 0.2, 0.05])
    found = -loss(theta, D, columns_by_pattern(Y, None))[0]
    assert found == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-10)
    assert embedding_score(Z, Y) >= peer.log_marginal_likelihood_value_
    tuned = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, alpha=0.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its bias runs to its bound
        tuned.fit(Z, Y)
    assert embedding_score(Z, Y) == pytest.approx(tuned.log_marginal_likelihood_value_, abs=0.05)


def test_score_does_not_mind_units_of_the_map_and_counts_those_of_the_table():
    X = bent(30)
    Z = X[:, :2]
    score = embedding_score(Z, X)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert embedding_score(1000 * Z @ turn + 5, X) == pytest.approx(score, rel=1e-6)
    assert embedding_score(Z, 10 * X - 3) == pytest.approx(score - X.size * np.log(10), rel=1e-6)
    assert embedding_score(Z[:, 0], X) < score
    assert lowdim.embedding_score is embedding_score


def test_scores_that_cannot_be_made():
    X = bent(30)
    for Z, Y, code in (
        (X[:9], X, "LD455"),
        (np.ones((30, 2)), X, "LD457"),
        (X, np.ones((30, 2)), "LD457"),
        (np.zeros((3001, 1)), np.zeros((3001, 1)), "LD456"),
        (np.where(X > 0.9, np.nan, X), X, "LD163"),
    ):
        with pytest.raises(LowdimError, match=code):
            embedding_score(Z, Y)
