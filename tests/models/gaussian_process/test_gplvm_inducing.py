"""The GP-LVM through inducing points against dense Gaussians, differences and PCA's map."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness

from lowdim import GPLVM, PCA
from lowdim.models.gaussian_process.gp import KernelSum, decoder
from lowdim.models.gaussian_process.gplvm_inducing import decoder_at, induced_likelihood, induced_table
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.oracles.differences import by_differences

KERNELS = {"rbf": [0.3, -0.4, -1.0], "rbf+linear+bias": [0.3, -0.4, -0.5, -1.5, -1.0]}


def case(names, gaps):
    rng = np.random.default_rng(5)
    mask = rng.random((12, 3)) > 0.3 if gaps else None
    Y = rng.standard_normal((12, 3))
    Y = Y if mask is None else np.where(mask, Y, 0.0)
    return induced_table(Y, mask, 1.0, 4), mask, rng.standard_normal((12, 2)), rng.standard_normal((4, 2))


@pytest.mark.parametrize("names", KERNELS)
@pytest.mark.parametrize("gaps", [False, True])
def test_bound_is_titsias_s(names, gaps):
    """log N(y; 0, Q + s2 I) - tr(K - Q) / 2 s2 of each column over the rows it is seen in; and its slopes."""
    table, mask, X, Z = case(names, gaps)
    kernel, want = KernelSum(names, np.array(KERNELS[names])), 0.0
    cross, inner = sum(kernel.cross(X, Z)), sum(kernel.cross(Z, Z)) + table.ridge * np.eye(4)
    Q = cross @ np.linalg.solve(inner, cross.T)
    for j in range(3):
        at = np.arange(12) if mask is None else np.flatnonzero(mask[:, j])
        C = Q[np.ix_(at, at)] + kernel.noise * np.eye(len(at))
        want += stats.multivariate_normal(np.zeros(len(at)), C).logpdf(table.Y[at, j])
        want -= 0.5 * (kernel.diagonal(X) - np.diag(Q))[at].sum() / kernel.noise

    def packed(v):
        return induced_likelihood(table, KernelSum(names, v[32:]), v[:24].reshape(12, 2), v[24:32].reshape(4, 2), 0)

    v = np.concatenate([X.ravel(), Z.ravel(), KERNELS[names]])
    told = packed(v)
    assert told[0] == pytest.approx(want, rel=1e-10)
    assert told[2:] == pytest.approx(by_differences(lambda u: packed(u)[0], v, 1e-4), rel=1e-5, abs=1e-5)


def test_as_many_inducing_points_as_rows_are_the_gaussian_process():
    table, _, X, _ = case("rbf", False)
    kernel, new = KernelSum("rbf", np.array(KERNELS["rbf"])), np.random.default_rng(1).standard_normal((5, 2))
    whole, few = decoder(kernel, X, table.Y, None), decoder_at(table, kernel, X, X, 0)
    for a, b in zip(whole.at(new)[:2], few.at(new)[:2], strict=True):
        assert a == pytest.approx(b, abs=1e-4)


def bent_sheet(n, seed=0):
    """A sheet rolled up in three columns, with two more that bend along it: principal axes fold it over."""
    rng = np.random.default_rng(seed)
    t, u = 4.5 * (rng.random(n) - 0.5), 2.0 * (rng.random(n) - 0.5)
    X = np.column_stack([np.sin(t), np.cos(t) + 0.2 * t, u, u * np.cos(t / 2), np.sin(2 * t) / 2])
    return X + 0.05 * rng.standard_normal(X.shape)


def test_the_bound_of_a_map_is_a_little_below_its_likelihood():
    X = bent_sheet(200)
    few = GPLVM(2, n_init=1, n_inducing=40).fit(X)
    v, g, noise = (few.kernel_[name] for name in ("rbf variance", "rbf inverse_width", "noise"))
    K = v * np.exp(-0.5 * g * cdist(few.embedding_, few.embedding_, "sqeuclidean")) + noise * np.eye(200)
    whole = stats.multivariate_normal(np.zeros(200), K).logpdf((X - X.mean(axis=0)).T).sum()
    assert 0.0 < whole - few.objective_ < 0.1 * 200, (whole, few.objective_)
    assert trustworthiness(X, few.embedding_) > trustworthiness(X, PCA(2).fit_transform(X))
    assert "40 inducing points" in " ".join(few.certificate_.notes)


def test_gaps_are_filled_through_inducing_points():
    X = bent_sheet(150)
    gap = np.random.default_rng(2).random(X.shape) < 0.1
    filled = (
        GPLVM(2, n_inducing=30, init="pca", n_init=1).fit(np.where(gap, np.nan, X)).impute(np.where(gap, np.nan, X))
    )
    error = np.sqrt(((filled - X)[gap] ** 2).mean())
    assert error < 0.7 * np.sqrt(((X.mean(axis=0) - X)[gap] ** 2).mean())


@pytest.mark.filterwarnings("ignore:.*LD201")
def test_inducing_points_and_what_has_none():
    X = bent_sheet(60)
    for how in ({"back_constraints": True}, {"kernel": "mlp"}):
        with pytest.raises(LowdimError, match=r"LD210.*n_inducing"):
            GPLVM(2, n_inducing=10, **how).fit(X)
    exact = GPLVM(2, n_init=1, max_iter=5).fit(X)
    assert np.array_equal(GPLVM(2, n_init=1, max_iter=5, n_inducing=60).fit(X).embedding_, exact.embedding_)


@pytest.mark.slow
def test_a_table_of_many_rows_gets_inducing_points_by_itself():
    X = bent_sheet(2500)
    with pytest.warns(LowdimWarning, match=r"LD479.*2,500 rows.*100 inducing points"):
        model = GPLVM(2).fit(X)
    assert model.params_.Z.shape == (100, 2) and model.converged_
    some = np.arange(0, 2500, 5)
    kept = [trustworthiness(X[some], Z[some], n_neighbors=10) for Z in (model.embedding_, PCA(2).fit_transform(X))]
    assert kept[0] > kept[1] + 0.02, kept
