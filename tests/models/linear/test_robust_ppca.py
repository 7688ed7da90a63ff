"""Robust PPCA: Student's law held to SciPy's density, a general optimiser, R's figures and dense algebra."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from lowdim import PPCA, RobustPPCA
from lowdim.maths import gaussian
from lowdim.models.linear.robust_ppca import least_dof
from lowdim.text.errors import OptionError, VerbError
from tests.oracles import student

STACKLOSS = np.array(
    [[80, 27, 89, 42], [80, 27, 88, 37], [75, 25, 90, 37], [62, 24, 87, 28], [62, 22, 87, 18], [62, 23, 87, 18],
     [62, 24, 93, 19], [62, 24, 93, 20], [58, 23, 87, 15], [58, 18, 80, 14], [58, 18, 89, 14], [58, 17, 88, 13],
     [58, 18, 82, 11], [58, 19, 93, 12], [50, 18, 89, 8], [50, 18, 86, 7], [50, 19, 72, 8], [50, 19, 79, 8],
     [50, 20, 80, 9], [56, 20, 82, 15], [70, 20, 91, 15]], dtype=float,
)  # fmt: skip


def table(seed=0, n=60, d=4, q=1, dof=4.0, gaps=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) * 2 + 0.6 * rng.standard_normal((n, d))
    X = X / np.sqrt(rng.chisquare(dof, n) / dof)[:, None] + np.arange(d)
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


@pytest.fixture(scope="module")
def fitted():
    X = table()
    return RobustPPCA(1, tol=1e-12).fit(X), X


def scale_matrix(model):
    return model.get_covariance() * (model.dof_ - 2) / model.dof_


def test_the_density_is_scipys(fitted):
    model, X = fitted
    total = student.log_likelihood(X, model.components_.T, model.mean_, model.noise_variance_, model.dof_)
    assert model.objective_ == pytest.approx(total, rel=1e-12)
    row = X[~np.isnan(X).any(axis=1)][:1]
    one = multivariate_t(model.mean_, scale_matrix(model), df=model.dof_).logpdf(row[0])
    assert model.score_samples(row)[0] == pytest.approx(one, rel=1e-12)


def test_the_optimum_is_that_of_a_general_optimiser(fitted):
    model, X = fitted
    value, mu, C, dof = student.fit(X, 1)
    assert model.objective_ >= value - 1e-9 * abs(value)
    assert model.objective_ == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(model.mean_, mu, atol=2e-4)
    np.testing.assert_allclose(scale_matrix(model), C, atol=2e-3)
    assert model.dof_ == pytest.approx(dof, rel=2e-3)


def test_stackloss_as_mass_prints_it():
    """`cov.trob(stackloss)` (MASS, nu = 5, no restriction of the scale matrix), which stops at weights within 0.01."""
    centre = [58.96905, 20.79263, 86.05588, 16.09028]
    cov = np.array(
        [[60.47035, 17.02720, 18.55445, 62.28032], [17.02720, 8.085857, 5.604132, 20.504687],
         [18.55445, 5.604132, 24.404633, 16.910855], [62.28032, 20.504687, 16.910855, 72.80743]]
    )  # fmt: skip
    model = RobustPPCA(3, dof=5.0, tol=1e-12).fit(STACKLOSS)
    np.testing.assert_allclose(model.mean_, centre, rtol=2e-3)
    np.testing.assert_allclose(scale_matrix(model), cov, rtol=7e-3)
    theirs = multivariate_t(centre, cov, df=5).logpdf(STACKLOSS).sum()
    assert theirs < model.objective_ < theirs + 1e-3


def test_posterior_and_fills_are_the_conditionals_of_the_joint_t(fitted):
    model, X = fitted
    exact = RobustPPCA(1, tol=1e-12).fit(X)
    exact.params_ = exact.params_._replace(V=np.zeros((4, 1)), excess=np.ones(4))  # parameters taken as known
    post, cells = exact.posterior(X), exact.predict_cells(X)
    for i in (0, 3, 7, 20):
        mean, cov = student.conditional(X[i], model.components_.T, model.mean_, model.noise_variance_, model.dof_)
        np.testing.assert_allclose(post.mean[i], mean[:1], rtol=1e-9)
        np.testing.assert_allclose(post.cov[i], cov[:1, :1], rtol=1e-9)
        gone = np.isnan(X[i])
        np.testing.assert_allclose(cells.mean[i, gone], mean[1:][gone], rtol=1e-9)
        np.testing.assert_allclose((cells.var + cells.noise)[i, gone], np.diag(cov)[1:][gone], rtol=1e-9)


def test_draws_have_the_moments_they_should():
    model = RobustPPCA(1, dof=12.0).fit(table(n=200, dof=12.0, gaps=0.0))
    rows = model.sample(20000, random_state=3)
    np.testing.assert_allclose(np.cov(rows.T), model.get_covariance(), rtol=0.08, atol=0.05)
    C = scale_matrix(model)
    D2 = np.einsum("ij,ij->i", rows - model.mean_, np.linalg.solve(C, (rows - model.mean_).T).T)
    assert np.quantile(D2 / 4, [0.5, 0.99]) == pytest.approx([0.883, 5.41], rel=0.05)  # of F(4, 12), from tables
    X = rows[:1].repeat(3000, axis=0)
    X[:, 2] = np.nan
    drawn = model.impute(X, draws=1)[0][:, 2]
    _, sd = model.impute(X[:1], return_std=True)
    assert drawn.std() == pytest.approx(sd[0, 2], rel=0.1)


def test_noise_at_a_position_by_a_slice_of_many_draws():
    """E[1/u | z] = (dof + z'z) / (dof + q - 2): of rows drawn jointly with z, those near a z."""
    rng = np.random.default_rng(0)
    dof, n = 6.0, 400_000
    u = rng.chisquare(dof, n) / dof
    z = rng.standard_normal(n) / np.sqrt(u)
    near = np.abs(z - 2.0) < 0.05
    model = RobustPPCA(1, dof=dof).fit(table(dof=6.0))
    noise = model.decode([[2.0]]).noise[0] / (model.noise_variance_ * model.params_.excess)
    assert (1 / u[near]).mean() == pytest.approx(float(noise[0]), rel=0.05)


def test_far_rows_turn_no_axis():
    rng = np.random.default_rng(1)
    W = np.linalg.qr(rng.standard_normal((10, 2)))[0].T * 3
    X = rng.standard_normal((200, 2)) @ W + 0.5 * rng.standard_normal((200, 10))
    X[:10] = 40.0 * rng.standard_normal((10, 10))

    def angle(model):
        inner = np.linalg.svd(np.linalg.qr(model.components_.T)[0].T @ np.linalg.qr(W.T)[0])[1]
        return np.degrees(np.arccos(min(inner.min(), 1.0)))

    robust = RobustPPCA(2).fit(X)
    assert angle(robust) < 4 < 40 < angle(PPCA(2).fit(X))
    weights = robust.row_weights(X)
    assert weights[:10].max() < 0.05 < 0.3 < weights[10:].min()
    np.testing.assert_array_equal(robust.row_weights(X, out=np.empty(200)), weights)


def test_gaussian_rows_give_probabilistic_pca():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (300, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.uniform(-1, 1, (300, 6))  # no tails
    robust, plain = RobustPPCA(2).fit(X), PPCA(2).fit(X)
    assert robust.dof_ > 1000 and "dof_" in robust.certificate_.boundary
    np.testing.assert_allclose(robust.components_, plain.components_, atol=1e-3)
    assert robust.objective_ <= plain.objective_ + 1e-9 * abs(plain.objective_)


def test_many_columns_and_few_rows_do_not_collapse_on_a_few_rows():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 150)) + rng.standard_normal((30, 150))
    model = RobustPPCA(2).fit(X)
    assert model.dof_ >= least_dof(30, 150, 2) > 10
    assert model.noise_variance_ == pytest.approx(1.0, abs=0.15)
    assert least_dof(3, 10, 2) == 1e4


def test_passes_stay_few_whatever_the_tails():
    for dof in (1.0, 3.0, 30.0):
        assert RobustPPCA(1).fit(table(n=300, dof=dof)).n_iter_ <= 40


def test_with_too_many_axes_for_a_table_of_outer_products_the_answer_is_the_same(monkeypatch):
    X = table(n=80, gaps=0.2)
    one = RobustPPCA(1, tol=1e-13, max_iter=3000).fit(X)
    monkeypatch.setattr(gaussian, "LIGHT", 0)
    two = RobustPPCA(1, tol=1e-13, max_iter=3000).fit(X)
    assert two.objective_ == pytest.approx(one.objective_, abs=1e-7)
    np.testing.assert_allclose(two.components_, one.components_, rtol=1e-4)


def test_options_and_absent_verbs_say_so():
    with pytest.raises(OptionError, match="LD210"):
        RobustPPCA(1, dof=1.0).fit(table())
    with pytest.raises(VerbError, match="partial_fit"):
        RobustPPCA(1).partial_fit(table())
    with pytest.warns(UserWarning, match="LD202"):
        RobustPPCA(1).fit(np.outer(np.arange(9.0), [1.0, 2.0]))
