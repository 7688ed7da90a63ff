"""Numbers that bent models and two views fit, by the rank of the slopes of densities; who counts none, and why."""

import inspect

import numpy as np
import pytest

import lowdim
from lowdim import CCA, GTM, DensityNetwork
from lowdim.models.base.estimator import Absent
from lowdim.registry import MODELS
from lowdim.sources.source import Block
from lowdim.text.messages import LowdimError

NO_DENSITY = {"ICA", "KMeans", "KMedoids", "LinearDiscriminant", "VarianceSelector", "Autoencoder"}
OF_PAIRS = {
    "ClassicalMDS", "Isomap", "KernelPCA", "LaplacianEigenmaps", "LocallyLinearEmbedding", "MaximumEntropyUnfolding",
    "MaximumVarianceUnfolding",
}  # fmt: skip
BELIEVED = {"BayesianPCA", "BayesianMixtureOfPPCA", "BayesianGPLVM", "MatrixFactorization"}
BOUNDS = {"MixedFactorAnalysis", "NonlinearFactorAnalysis"}
A_PLACE_A_ROW = {"DualPPCA", "GPLVM"}
UNCOUNTED = NO_DENSITY | OF_PAIRS | BELIEVED | BOUNDS | A_PLACE_A_ROW


def rank(f, theta, step=1e-5, cut=1e-7):
    """The rank of the slopes of f at theta, by central differences."""
    J = np.array([(f(theta + step * e) - f(theta - step * e)) / (2 * step) for e in np.eye(len(theta))])
    values = np.linalg.svd(J / np.maximum(np.linalg.norm(J, axis=1, keepdims=True), 1e-12), compute_uv=False)
    return int((values > cut * values[0]).sum())


def bent(n=60, d=3):
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n, 2))
    X = np.column_stack([z[:, 0], z[:, 1], np.sin(z[:, 0]) * z[:, 1], z[:, 0] ** 2])[:, :d]
    return X + 0.3 * rng.standard_normal(X.shape)


def density_rank(model, rows):
    """The rank of the rows' log densities as functions of all the numbers that the fit moved."""
    params = model.params_
    return rank(
        lambda theta: model._posterior(model._unpack(theta, params), Block(rows)).log_density, model._pack(params)
    )


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
@pytest.mark.parametrize(
    "model",
    [
        GTM(1, grid=8, basis=3, weight_prior=0.0),
        GTM(2, grid=4, basis=2),
        GTM(1, grid=3, basis=6),  # more bells than nodes
        DensityNetwork(2, n_samples=40, hidden=2),
        DensityNetwork(1, n_samples=40, hidden=(2, 2)),
        DensityNetwork(2, n_samples=40, basis=2),
    ],
)
def test_numbers_of_a_bent_sheet_are_the_rank_of_its_density(model):
    model.set_params(max_iter=5).fit(bent())
    rows = np.random.default_rng(1).standard_normal((400, 3))
    assert model.n_parameters_ == density_rank(model, rows)
    own = type(model)(**{**model.get_params(), "standardize": True}).fit(bent())
    assert own.n_parameters_ == model.n_parameters_ + 2  # a noise for every column


@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
def test_a_turn_of_a_gaussian_is_no_number():
    """Under N(0, I) itself, by quadrature, the density does not know how the first layer is turned."""
    model = DensityNetwork(2, n_samples=20, hidden=2, sampling="importance", max_iter=3).fit(bent())
    params = model.params_
    node, weight = np.polynomial.hermite_e.hermegauss(24)
    z, w = np.array(np.meshgrid(node, node)).reshape(2, -1).T, np.multiply.outer(weight, weight).ravel()
    rows = np.random.default_rng(2).standard_normal((400, 3))

    def log_density(theta):
        p = model._unpack(theta, params)
        layers = tuple((0.3 * V, 0.3 * b) for V, b in p.layers)  # smooth: the sum is exact
        nodes = p._replace(layers=layers).basis.at(z) @ p.W
        off = ((rows[:, None] - nodes) ** 2).sum(axis=2)
        return np.log(np.exp(-0.5 * off / np.exp(theta[-1])) @ w) - 1.5 * theta[-1]

    theta = model._pack(params)
    theta[-1] = 1.0
    assert model.n_parameters_ == len(theta) - 1 == rank(log_density, theta)


@pytest.mark.parametrize(("k", "rest", "q"), [(3, 2, 1), (3, 2, 2), (4, 4, 2), (2, 5, 0)])
def test_numbers_of_two_views_are_the_rank_of_their_covariance(k, rest, q):
    rng, d = np.random.default_rng([k, rest, q]), k + rest
    X = rng.standard_normal((80, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    model = CCA(q).fit(X[:, :k], X[:, k:])
    i, j = np.tril_indices(d)

    def covariance(theta):
        W, A, B = np.split(theta, [d * q, d * q + k * k])
        noise = np.zeros((d, d))
        noise[:k, :k], noise[k:, k:] = (
            A.reshape(k, k) @ A.reshape(k, k).T,
            B.reshape(rest, rest) @ B.reshape(rest, rest).T,
        )
        return (W.reshape(d, q) @ W.reshape(d, q).T + noise)[i, j]

    assert model.n_parameters_ == d + rank(covariance, rng.standard_normal(d * q + k * k + rest * rest))
    total = model.score_samples(X[:, :k], X[:, k:]).sum()
    assert model.aic(X[:, :k], X[:, k:]) == pytest.approx(2 * model.n_parameters_ - 2 * total, rel=1e-12)
    joint = CCA(q, views=k).fit(X)
    assert joint.bic(X) == pytest.approx(model.bic(X[:, :k], X[:, k:]), rel=1e-9)
    w = rng.integers(1, 4, 80).astype(float)
    heavy = -2 * w @ joint.score_samples(X) + np.log(w.sum()) * joint.n_parameters_
    assert joint.bic(X, sample_weight=w) == pytest.approx(heavy, rel=1e-12)


def test_criteria_find_the_planted_number_of_shared_positions():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((400, 2))
    X, Y = (z @ rng.standard_normal((2, k)) + rng.standard_normal((400, k)) for k in (5, 4))
    fits = [CCA(q).fit(X, Y) for q in range(5)]
    assert np.argmin([model.bic(X, Y) for model in fits]) == np.argmin([model.aic(X, Y) for model in fits]) == 2


@pytest.mark.parametrize("name", MODELS)
def test_every_model_counts_or_says_why_not(name):
    found = inspect.getattr_static(getattr(lowdim, name), "n_parameters_", None)
    assert isinstance(found, Absent) == (name in UNCOUNTED), name
    if name in UNCOUNTED:
        for verb in ("n_parameters_", "bic", "aic"):
            with pytest.raises(LowdimError, match=f"LD240 error  {name} has no '{verb}'"):
                getattr(getattr(lowdim, name)(), verb)
        assert len(found.why) > 20 and found.fix
