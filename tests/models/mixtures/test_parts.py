"""Any model as the part of a mixture: by its own hooks, and by the quicker ways that some have."""

from types import SimpleNamespace

import numpy as np
import pytest

from lowdim import PPCA, BayesianPCA, FactorAnalysis, GaussianMixture, Mixture, MixtureOfFA, MixtureOfPPCA, RobustPPCA
from lowdim.models.mixtures.mixture import MixtureParams, MixturePosterior
from lowdim.models.mixtures.parts import Parts, responsibilities
from lowdim.models.mixtures.starts import choose_centers, within_sums
from lowdim.sources.source import Block
from lowdim.text.messages import LowdimError

quiet = pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")


def two_lines(seed, n=300, d=6, far=0.0, gaps=0.0):
    """Two groups of rows, each about a line of its own, 6 apart; and which rows were thrown far away."""
    rng = np.random.default_rng([3, seed])
    label = np.arange(n) * 2 // n
    W, mu = rng.standard_normal((2, d)), np.zeros((2, d))
    mu[1] = 6.0 * np.linalg.qr(rng.standard_normal((d, 1)))[0][:, 0]
    X = mu[label] + 1.5 * rng.standard_normal((n, 1)) * W[label] + 0.4 * rng.standard_normal((n, d))
    away = rng.random(n) < far
    X[away] += 25.0 * rng.standard_normal((away.sum(), d))
    return np.where(rng.random(X.shape) < gaps, np.nan, X), label, away


def agreement(model, X, label):
    """The share of rows whose part is that of their group."""
    same = float(np.mean(model.predict(X) == label))
    return max(same, 1.0 - same)


# parts that were written for themselves -----------------------------------------------------------------------
@quiet
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_robust_parts_find_the_groups_that_far_rows_hide(gaps):
    for seed in (0, 2):
        X, label, away = two_lines(seed, far=0.06, gaps=gaps)
        robust, plain = Mixture(RobustPPCA(1), 2).fit(X), Mixture(PPCA(1), 2).fit(X)
        assert agreement(robust, X[~away], label[~away]) > 0.99
        assert agreement(plain, X[~away], label[~away]) < 0.7  # one part for the far rows, one for all others
        assert robust.converged_ and robust.dof_.min() < 5.0  # those of the part that took the far rows
        assert robust.n_parameters_ == 1 + 2 * (6 + 6 + 1 + 1)
        assert robust.score(X) == pytest.approx(robust.objective_ / len(X), rel=1e-9)


def test_bayesian_parts_switch_off_the_axes_they_do_not_need():
    for gaps in (0.0, 0.15):
        X, label, _ = two_lines(0, gaps=gaps)
        model = Mixture(BayesianPCA(3), 2, calibrate=False).fit(X)
        assert model.n_axes_.tolist() == [1, 1] and model.components_.shape == (2, 1, 6)
        assert agreement(model, X, label) > 0.99
        assert model.noise_variance_ == pytest.approx(np.full(2, 0.16), rel=0.15)
        assert (np.diff(model.history_) > -1e-6).all()
        with pytest.raises(LowdimError, match="LD240"):
            model.bic(X)
    with pytest.raises(LowdimError, match="LD250"):  # whose objective may fall
        Mixture(BayesianPCA(3, method="laplace"), 2).fit(X)


@quiet
def test_a_single_part_is_the_model_itself():
    X, _, _ = two_lines(1, n=120, far=0.05, gaps=0.1)
    one, alone = Mixture(RobustPPCA(2), 1, tol=1e-10).fit(X), RobustPPCA(2, tol=1e-10).fit(X)
    assert one.objective_ == pytest.approx(alone.objective_, abs=1e-4)
    assert one.dof_[0] == pytest.approx(alone.dof_, rel=1e-3)
    assert one.impute(X) == pytest.approx(alone.impute(X), abs=5e-3)


@quiet
@pytest.mark.parametrize("part", [RobustPPCA(1), BayesianPCA(2)])
def test_every_verb_of_a_nested_mixture(part):
    X, _, _ = two_lines(3, n=100, gaps=0.1)
    model = Mixture(part, 2, n_init=2).fit(X)
    filled, sd = model.impute(X, return_std=True)
    assert np.isfinite(filled).all() and (sd[np.isnan(X)] > 0.0).all()
    drawn = model.impute(X, draws=3)
    assert drawn.shape == (3, *X.shape) and np.isfinite(drawn).all()
    assert np.isfinite(model.sample(50)).all()
    assert model.posterior(X).mean == pytest.approx(model.predict_proba(X))
    assert model.coordinate(X, 1).places.shape == (100, 1)


# the quicker ways are the same way ----------------------------------------------------------------------------
class ByHooks(Mixture):
    """A mixture whose parts are taken by their own hooks and nothing else."""

    def _parts(self):
        return Parts(self.component, int(self.n_clusters))


def start(model, X, K):
    """A mixture's first parameters about rows drawn at random, its statistics those of the rows themselves."""
    mask = ~np.isnan(X)
    block, parts = Block(np.nan_to_num(X), None if mask.all() else mask), model._parts()
    low = 1e-6 * np.nanvar(X, axis=0)
    low = low if parts.unit_free else np.full_like(low, low.mean())
    centers, _ = choose_centers(block, K, np.sqrt(low), np.nanmean(X, axis=0), np.random.default_rng(0), far=False)
    about = within_sums(centers, np.sqrt(low), block).covariance()
    components = tuple(parts.start(about, low, 10.0)._replace(mu=mu) for mu in centers)
    return MixtureParams(np.full(K, -np.log(K)), components, False), block


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize(
    ("preset", "model"),
    [
        (MixtureOfPPCA(3, 2), PPCA(2)),
        (MixtureOfFA(3, 2), FactorAnalysis(2)),
        (GaussianMixture(3, covariance_type="diag"), FactorAnalysis(0)),
        (GaussianMixture(3, covariance_type="spherical"), PPCA(0)),
        (Mixture(PPCA(2), 3), PPCA(2)),
    ],
)
def test_the_hooks_of_a_part_do_what_the_presets_do(preset, model, gaps):
    X, _, _ = two_lines(4, n=90, gaps=gaps)
    params, block = start(preset, X, 3)
    plain = ByHooks(model)
    quick = slow = params
    for _ in range(8):
        one, other = preset._stats(quick, block), plain._stats(slow, block)
        assert one.log_density == pytest.approx(other.log_density, rel=1e-10)
        assert one.shares == pytest.approx(other.shares, rel=1e-8, abs=1e-8)
        quick, slow = preset._update(quick, one), plain._update(slow, other)
    for p, q in zip(quick.components, slow.components, strict=True):
        assert p.mu == pytest.approx(q.mu, rel=1e-8, abs=1e-8)
        C, D = (r.W @ r.W.T + np.diag(r.psi) for r in (p, q))
        assert np.allclose(C, D, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("model", "q"), [(MixtureOfPPCA, 2), (MixtureOfFA, 1)])
def test_parts_solved_from_their_moments_are_no_less_likely(model, q):
    """Without gaps the M-step is solved from the moments; step by step it gains at least what the rows' own does."""
    X, _, _ = two_lines(5, n=200)
    mixture = model(2, q)
    params, block = start(mixture, X, 2)
    for _ in range(5):
        stats = mixture._stats(params, block)
        rows = mixture._stats(mixture._update(params, stats), block).log_density
        solved = params._replace(moments=True)
        after = mixture._update(solved, mixture._stats(solved, block))
        value = mixture._stats(after._replace(moments=False), block).log_density
        assert value >= rows - 1e-8 * abs(rows)
        params = after._replace(moments=False)


# shares --------------------------------------------------------------------------------------------------------
def test_responsibilities_of_rows_far_from_every_part():
    logs = [np.array([-1e5, -3.0, 0.0]), np.array([-1e5 - 2.0, -1.0, 0.0])]
    rows = [SimpleNamespace(log_density=values) for values in logs]
    mask = np.array([[True], [True], [False]])
    share, density = responsibilities(np.log([0.25, 0.75]), rows, mask)
    odds = np.array([0.25, 0.75 * np.exp(-2.0)])
    assert share[:, 0] == pytest.approx(odds / odds.sum()) and density[0] == pytest.approx(-1e5 + np.log(odds.sum()))
    assert share[:, 2].tolist() == pytest.approx([0.25, 0.75]) and density[2] == 0.0  # no cell: the weights
    packed = MixturePosterior(share.T, density, Block(np.zeros((3, 1)), mask)).packed
    assert packed[0] == pytest.approx([odds.prod() / odds.sum() ** 2 * s for s in (1, -1, 1)])


# never down -----------------------------------------------------------------------------------------------------
@quiet
@pytest.mark.parametrize("part", [RobustPPCA(1), RobustPPCA(2, dof=4.0), BayesianPCA(3)])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_the_objective_of_nested_parts_never_falls(part, gaps):
    for seed in range(3):
        X, _, _ = two_lines(seed, n=80, far=0.05, gaps=gaps)
        model = Mixture(part, 3)
        params, block = start(model, X, 3)
        before = -np.inf
        for _ in range(30):
            stats = model._stats(params, block)
            value = model._objective(params, stats)
            assert np.isfinite(value) and value >= before - 1e-8 * abs(value), (seed, before, value)
            before, params = value, model._update(params, stats)


# what a part may not be -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", [PPCA(-1), RobustPPCA(2, dof=-3.0), FactorAnalysis(1, rotation="zzz"), PPCA(1.5)])
def test_options_of_a_part_are_checked_as_those_of_any_model(part):
    X, _, _ = two_lines(0, n=80, far=0.05, gaps=0.0)
    with pytest.raises(LowdimError, match="LD210"):
        Mixture(part, 2).fit(X)
