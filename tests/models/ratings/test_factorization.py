"""Matrix factorisation: against a slow oracle, PPCA, simulations; every verb, every odd kind of ratings."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import gamma, kstest
from sklearn.utils.estimator_checks import estimator_checks_generator

import lowdim
from lowdim import PPCA, MatrixFactorization, Run, laws
from lowdim.maths.linalg import lower, unpack
from lowdim.models.ratings import sweep as mf
from lowdim.models.ratings.predictions import grid_means, pair_means, place_users
from lowdim.text.errors import VerbError
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.oracles import ratings as oracle
from tests.sources.test_bad_input import KINDS, NUMBERS
from tests.table.outcomes import outcome


def simulated(n=120, m=80, k=3, share=0.3, seed=0, noise=0.5):
    """An array with gaps: biases, k factors, users whose noise differs."""
    rng = np.random.default_rng(seed)
    truth = (
        rng.standard_normal((n, k)) @ rng.standard_normal((k, m)) * 0.7
        + rng.standard_normal((n, 1)) * 0.4
        + rng.standard_normal(m) * 0.6
        + 3.5
    )
    spread = noise * np.sqrt(3.0 / rng.gamma(4.0, size=(n, 1)))
    X = truth + spread * rng.standard_normal((n, m))
    seen = rng.random((n, m)) < share
    return np.where(seen, X, np.nan), X, truth


@pytest.fixture(scope="module", name="case")
def _case():
    X, full, truth = simulated()
    return X, full, truth, MatrixFactorization(6).fit(X)


def long(X):
    u, i = np.nonzero(~np.isnan(X))
    return pd.DataFrame({"user": u, "item": i, "rating": X[u, i]})


# the maths -------------------------------------------------------------------------------------------------------
def small():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((7, 6))
    X[rng.random(X.shape) < 0.35] = np.nan
    X[5] = np.nan  # a user without ratings
    X[:, 4] = np.nan  # an item without
    u, i = np.nonzero(~np.isnan(X))
    return sp.csr_array(sp.coo_array((X[u, i], (u, i)), shape=X.shape)), list(zip(u, i, X[u, i], strict=True))


def as_oracle(state, n):
    q = len(state.user_prior.mean)
    return oracle.Model(
        np.zeros((n, q)),
        np.zeros((n, q, q)),
        state.items.mean.copy(),
        unpack(state.items.cov.T, q),
        np.zeros(n),
        np.zeros(n),
        tuple(state.user_prior),
        tuple(state.item_prior),
        tuple(state.noise),
    )


def test_sweeps_agree_with_the_oracle():
    X, ratings = small()
    k, how = 2, mf.FitKind(False, False, "float64")
    state, rated = mf.start_state(7, 6, k, how), np.bincount(X.indices, minlength=6) > 0
    slow, tau_slow = as_oracle(state, 7), state.tau.copy()
    hyper = (mf.IMAGINED_VECTORS, *(like.cov for like in mf.imagined(k)))
    for _ in range(4):
        tau, stats = mf.sweep(state, *mf.item_tables(state.items, how), how, X, state.tau)
        value = mf.sweep_objective(state, stats, rated, how)
        oracle.users_given_items(ratings, slow, tau_slow)
        assert value == pytest.approx(oracle.bound(ratings, slow, hyper), rel=1e-10)
        tau_slow = slow.shape / slow.rate
        assert tau == pytest.approx(tau_slow, rel=1e-10)
        state = mf.update_state(state, stats, tau, rated, how, 1e-10)
        oracle.items_given_users(ratings, slow)
        slow.user_prior, slow.item_prior = oracle.priors(slow, ratings, hyper)
        assert state.items.mean == pytest.approx(slow.item_mean, abs=1e-10)
        assert unpack(state.items.cov.T, k + 1) == pytest.approx(slow.item_cov, abs=1e-10)
        for mine, theirs in ((state.user_prior, slow.user_prior), (state.item_prior, slow.item_prior)):
            assert np.allclose(mine.mean, theirs[0], atol=1e-10) and np.allclose(mine.cov, theirs[1], atol=1e-10)
        slow.noise = tuple(state.noise)  # its optimum is tested below


def test_noise_prior_is_the_best_gamma():
    rng = np.random.default_rng(0)
    t = rng.gamma(4.0, size=500) / 3.0
    found = mf.refit_noise(t.mean(), np.log(t).mean(), 0.0)
    best = gamma(found.shape, scale=1 / found.rate).logpdf(t).sum()
    for a, b in ((1.02, 1.0), (0.98, 1.0), (1.0, 1.02), (1.0, 0.98), (1.02, 1.02)):
        assert gamma(found.shape * a, scale=1 / (found.rate * b)).logpdf(t).sum() < best


def test_sums_of_tiles_merge_to_those_of_the_whole():
    X, _ = small()
    how = mf.FitKind(False, False, "float64")
    state = mf.start_state(7, 6, 2, how)
    items = mf.item_tables(state.items, how)
    a, b, c = (
        mf.sweep(state, *items, how, X[rows], state.tau[rows])[1] for rows in (slice(0, 2), slice(2, 5), slice(5, 7))
    )
    whole = mf.sweep(state, *items, how, X, state.tau)[1]
    for other in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(b).merge(a)):
        for one, two in zip(whole, other, strict=True):
            assert one == pytest.approx(two, abs=1e-12)


def test_users_are_those_of_ppca_where_items_are_its_loadings():
    """Items known for certain, one noise, no user bias: the masked posterior and density of probabilistic PCA."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 7)) + 0.4 * rng.standard_normal((60, 7)) + 2.0
    X[rng.random(X.shape) < 0.25] = np.nan
    ppca = PPCA(2).fit(X)
    items = np.column_stack([ppca.components_.T, ppca.mean_])
    how = mf.FitKind(False, True, "float64")
    beliefs = mf.VectorBeliefs(items, np.zeros((7, 6)))
    prior = mf.VectorPrior(np.zeros(3), np.diag([1.0, 1.0, 1e-14]))
    noise = mf.Gamma(5e5, 5e5 * ppca.noise_variance_)
    state = mf.SweepState(beliefs, prior, prior, noise, np.empty(0))
    u, c = np.nonzero(~np.isnan(X))
    cells = sp.csr_array(sp.coo_array((X[u, c], (u, c)), shape=X.shape))
    found, theirs = place_users(state, mf.item_tables(beliefs, how), how, cells), ppca.posterior(X)
    assert found.mean[:, :2] == pytest.approx(theirs.mean, abs=1e-9)
    assert unpack(found.packed.T, 3)[:, :2, :2] == pytest.approx(theirs.cov, abs=1e-9)
    assert found.log_density == pytest.approx(ppca.score_samples(X), abs=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_by_slices_have_the_bits_of_one_product(dtype, monkeypatch):
    X, how = sp.csr_array(small()[0]), mf.FitKind(False, False, dtype)
    items = mf.item_tables(mf.start_state(7, 6, 2, how).items, how)
    rng = np.random.default_rng(0)
    mean, cov, tau = rng.standard_normal((7, 3)), rng.random((7, 6)), rng.random(7)
    sums = []
    for width in (4, 1000):
        monkeypatch.setattr(mf, "SLICE", width)
        sums.append((*mf.row_sums(X.astype(dtype), *items), *mf.column_sums(X.astype(dtype), mean, cov, tau, dtype)))
    for sliced, whole in zip(*sums, strict=True):
        assert np.array_equal(sliced, whole)


def test_settled_precisions_are_a_fixed_point():
    X, _ = small()
    how = mf.FitKind(False, False, "float64")
    state = mf.start_state(7, 6, 2, how)
    sums = mf.row_sums(X, *mf.item_tables(state.items, how))
    tau = mf.settle_precisions(sums, state.user_prior, state.noise)
    assert mf.user_half(sums, state, tau, how).tau == pytest.approx(tau, rel=1e-10)


def test_pairs_and_grids_agree_with_draws():
    rng = np.random.default_rng(2)
    q, n = 3, 2
    i, j = lower(q)
    roots = rng.standard_normal((2, n, q, q)) * 0.3
    users, items = (
        mf.VectorBeliefs(rng.standard_normal((n, q)), (r @ r.transpose(0, 2, 1))[:, i, j], np.zeros(n)) for r in roots
    )
    mean, var = pair_means(users, items)
    grid_mean, grid_var = grid_means(users, items)
    assert np.diag(grid_mean) == pytest.approx(mean) and np.diag(grid_var) == pytest.approx(var)
    for t in range(n):
        g, h = (
            side.mean[t] + rng.standard_normal((400_000, q)) @ root[t].T
            for side, root in zip((users, items), roots, strict=True)
        )
        x = (g[:, :-1] * h[:, :-1]).sum(axis=1) + g[:, -1] + h[:, -1]
        assert mean[t] == pytest.approx(x.mean(), abs=0.02) and var[t] == pytest.approx(x.var(), rel=0.02)


def test_coordinates_leave_every_rating_as_it_is(case):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 4, 4))
    users, items = mf.VectorPrior(rng.standard_normal(4), A @ A.T), mf.VectorPrior(rng.standard_normal(4), B @ B.T)
    turn = mf.canonical_change(users, items)
    g, h = rng.standard_normal((2, 5, 4))
    before = g[:, :3] @ h[:, :3].T + g[:, 3:] + h[:, 3]
    g, h = g @ turn.G.T + turn.s, h @ turn.H.T + turn.t
    assert g[:, :3] @ h[:, :3].T + g[:, 3:] + h[:, 3] + turn.mean == pytest.approx(before, abs=1e-10)
    new_users, new_items = users.changed(turn.G, turn.s), items.changed(turn.H, turn.t)
    assert new_users.cov[:3, :3] == pytest.approx(np.eye(3), abs=1e-10)
    assert new_users.cov[3, :3] == pytest.approx(0, abs=1e-10) and new_users.mean[3] == pytest.approx(0, abs=1e-10)
    assert new_items.cov == pytest.approx(np.diag(np.diag(new_items.cov)), abs=1e-10)
    model = case[-1]
    assert (np.diff(model.relevance_) <= 1e-12).all()
    assert model.n_kept_ == model.kept_.sum()
    spread = model.item_factors_.var(axis=0) + (model.item_factors_std_**2).mean(axis=0)
    kept = model.kept_
    assert model.relevance_[kept] == pytest.approx(spread[kept], rel=0.1)  # a variance, of the items' factors


# what a fit finds --------------------------------------------------------------------------------------------------
def test_finds_the_dimensions_and_fills_the_table(case):
    X, full, truth, model = case
    assert model.converged_ and model.kept_.tolist() == [True] * 3 + [False] * 3
    assert (np.diff(model.history_) >= -1e-10 * np.abs(model.history_[1:])).all()
    gaps = np.isnan(X)
    held = np.where(gaps, full, np.nan)
    said = model.evaluate(held)
    noise = np.sqrt(np.mean((full - truth)[gaps] ** 2))
    assert said.ratings == gaps.sum() and noise < said.rmse < 1.25 * noise
    assert 0.87 <= said.coverage <= 0.93
    assert model.rmse(held) == said.rmse
    assert model.score(held) == pytest.approx(model.score_samples(held).mean())
    assert model.score(held) == pytest.approx(said.log_density)
    mean, std = model.impute(X, return_std=True)
    off = (full - mean)[gaps] / std[gaps]
    assert off.std() == pytest.approx(1.0, abs=0.05)


def test_log_density_is_that_of_the_intervals(case):
    """Held-out ratings have uniform probabilities under the densities whose quantiles the intervals are."""
    X, full, _, model = case
    values, (mean, scale, shape) = model._held_out(np.where(np.isnan(X), full, np.nan))
    from scipy.stats import t

    assert kstest(t.cdf((values - mean) / scale, 2 * shape), "uniform").statistic < 0.03
    low, high = model.predict([0, 1], [2, 2], interval=0.5)[1:]
    m, std = model.predict([0, 1], [2, 2], return_std=True)
    assert (low < m).all() and (m < high).all() and (high - low < 2 * std).all()


def test_a_noise_precision_for_each_user_beats_one_for_all(case):
    X, full, _, model = case
    held = np.where(np.isnan(X), full, np.nan)
    shared = MatrixFactorization(6, noise="shared").fit(X)
    assert np.ptp(shared.noise_precision_) == 0 < np.ptp(model.noise_precision_)
    assert model.score(held) > shared.score(held)
    points = MatrixFactorization(3, method="map").fit(X)
    assert points.certificate_.objective_name == "log posterior"
    assert points.rmse(held) < 1.3 * model.rmse(held)
    assert (np.diff(points.history_) >= -1e-10 * np.abs(points.history_[1:])).all()
    assert (points.item_factors_std_ == 0).all()


def test_old_users_are_where_transform_puts_them(case):
    X, _, _, model = case
    assert model.transform(X) == pytest.approx(model.user_factors_, abs=1e-9)
    found = model.posterior(X)
    assert found.std == pytest.approx(model.user_factors_std_, abs=1e-9)
    u, i = np.nonzero(~np.isnan(X))
    as_sparse = sp.csr_array(sp.coo_array((X[u, i], (u, i)), shape=X.shape))
    assert model.transform(as_sparse) == pytest.approx(model.user_factors_, abs=1e-9)
    assert model.transform(long(X)) == pytest.approx(model.user_factors_, abs=1e-9)
    cells = model.mean_ + model.user_bias_[:, None] + model.item_bias_ + model.user_factors_ @ model.item_factors_.T
    assert model.reconstruct(X) == pytest.approx(cells, abs=1e-9)
    assert model.predict(X) == pytest.approx(cells, abs=1e-9)


def test_a_new_user_is_folded_in(case):
    X, _, _, model = case
    items = np.flatnonzero(~np.isnan(X[7]))
    user = model.fold_in(items, X[7, items])
    assert user.mean[:-1] == pytest.approx(model.user_factors_[7], abs=1e-9)
    assert user.std[:-1] == pytest.approx(model.user_factors_std_[7], abs=1e-9)
    assert model.predict(user, 3, return_std=True) == pytest.approx(model.predict(7, 3, return_std=True))
    one, other = model.recommend(user, 5), model.recommend(7, 5)
    assert one.items.tolist() == other.items.tolist() and not set(one.items) & set(items)
    nobody = model.fold_in([], [])
    assert model.predict(nobody, 3) == pytest.approx(model.predict(-1, 3))
    assert model.predict(user)[3] == pytest.approx(model.predict(7, 3))
    pairs = pd.DataFrame({"who": [7, 999], "what": [3, 3]})
    assert model.predict(pairs) == pytest.approx(model.predict([7, 999], [3, 3]))
    for kept in ({"return_std": True}, {"interval": 0.9}):
        with pytest.raises(LowdimError, match="LD210"):
            model.predict(X, **kept)
    with pytest.raises(LowdimError, match="LD210"):
        model.predict(7, 3, interval=1.5)
    with pytest.raises(LowdimError, match="LD277"):
        model.fold_in([1, 2], [3.0])
    with pytest.raises(LowdimError, match="LD272"):
        model.fold_in([1], [np.nan])


def test_recommendations_come_in_order_with_their_doubt(case):
    X, _, _, model = case
    best = model.recommend(0, 1000, exclude_seen=False)
    assert len(best.items) == X.shape[1] and (np.diff(best.mean) <= 0).all() and (best.std > 0).all()
    mean, std = model.predict(0, best.items, return_std=True)
    assert best.mean == pytest.approx(mean) and best.std == pytest.approx(std)
    assert len(model.recommend(0, 0).items) == 0
    with pytest.raises(LowdimError, match="LD210"):
        model.recommend(0, -1)


def test_the_unknown_are_at_the_prior(case):
    model = case[-1]
    at, std = model.predict([999, 0, 999], [0, 999, 999], return_std=True)
    assert at[0] != at[1] and std[2] > std[:2].max() > np.max(model.predict(0, 0, return_std=True)[1])
    assert len(model.recommend(999, 3).items) == 3
    with pytest.raises(LowdimError, match="LD277"):
        model.predict([0, 1, 2], [0, 1])


def test_drawn_rows_are_like_users(case):
    X, _, _, model = case
    drawn = model.sample(400, random_state=1)
    assert drawn.shape == (400, X.shape[1])
    assert drawn.mean() == pytest.approx(np.nanmean(X), abs=0.2)
    assert drawn.std() == pytest.approx(np.nanstd(X), rel=0.15)


# ids, kinds of input, odd ratings --------------------------------------------------------------------------------
def test_ids_of_any_kind_change_no_number(case):
    X, table = case[0], long(case[0])
    names = {
        "text": lambda v: [f"id {x:04d}" for x in v],
        "negative": lambda v: v - 1000,
        "far": lambda v: v * 2**40 + 5,
    }
    for name, rule in names.items():
        other = table.assign(user=rule(table.user.to_numpy()), item=rule(table.item.to_numpy()))
        fitted = MatrixFactorization(6, max_iter=3)
        with pytest.warns(LowdimWarning, match="LD201"):
            fitted.fit(other.sample(frac=1.0, random_state=0))
        with pytest.warns(LowdimWarning, match="LD201"):
            plain = MatrixFactorization(6, max_iter=3).fit(X)
        assert np.array_equal(fitted.item_factors_, plain.item_factors_), name
        ids = rule(np.array([4, 9]))
        assert fitted.user_ids_.tolist() == list(rule(np.arange(len(X))))
        assert fitted.predict(ids, ids) == pytest.approx(plain.predict([4, 9], [4, 9]), abs=1e-12)
        assert fitted.recommend(ids[0], 3).items.tolist() == list(rule(plain.recommend(4, 3).items))


def quiet(**how):
    """A fit whose notes about few ratings do not matter."""
    model = MatrixFactorization(2, **how)

    def fit(X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)
            return model.fit(X)

    return fit


ODD = {
    "one rating": [[4.0]],
    "one user": [[4.0, 2.0, np.nan, 3.0]],
    "one item": [[4.0], [2.0], [np.nan]],
    "constant": np.full((6, 5), 3.0),
    "zeros": np.zeros((4, 4)),
    "empty user and item": [[1.0, np.nan, 2.0], [np.nan] * 3, [3.0, np.nan, 1.0]],
    "one rating each": np.where(np.eye(5) > 0, np.arange(5.0), np.nan),
    "huge": np.array([[1.0, 2.0, 4.0], [2.0, np.nan, 1.0], [3.0, 1.0, 2.0]]) * 1e200,
    "tiny": np.array([[1.0, 2.0, 4.0], [2.0, np.nan, 1.0], [3.0, 1.0, 2.0]]) * 1e-200,
    "far": np.array([[1.0, 2.0, 4.0], [2.0, np.nan, 1.0], [3.0, 1.0, 2.0]]) + 1e9,
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("method", ["variational", "map"])
def test_odd_ratings_give_finite_answers(name, method):
    X = np.array(ODD[name])
    model = quiet(method=method)(X)
    laws.finite(model, X)
    mean, std = model.predict(0, np.arange(X.shape[1] + 1), return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()
    spread = max(np.nanmax(X) - np.nanmin(X), 1e-6 * np.nanmax(np.abs(X)), 1e-6)
    assert (mean >= np.nanmin(X) - spread).all() and (mean <= np.nanmax(X) + spread).all()
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("name", [*NUMBERS, *KINDS])
def test_bad_input_ends_in_an_answer_a_warning_or_an_error(name):
    """The tables of numerics, section 5, as ratings; frames are triples here and need three columns (LD270)."""
    X, spec = {**NUMBERS, **KINDS}[name]
    found = outcome(MatrixFactorization(2, max_iter=5), X)
    assert found.kind in ("E", "W", "X"), found.text
    if found.kind == "W":
        assert set(found.codes) <= {"LD152", "LD201", "LD202"}
    if isinstance(spec, str) and spec.startswith("X") and not set(found.codes) & {"LD270", "LD276", "LD278"}:
        assert found.kind == "X" or spec in ("X LD160", "X LD120"), spec  # one row, an empty column: the prior


def test_constant_ratings_have_almost_no_noise():
    with pytest.warns(LowdimWarning, match="LD202") as given:
        model = MatrixFactorization(2).fit(np.full((30, 20), 3.0))
    assert model.predict(0, 0) == pytest.approx(3.0, abs=1e-3) and model.certificate_.boundary == ("noise_precision_",)
    assert all("LD20" in str(w.message) for w in given)


def test_no_dimensions_are_biases_alone(case):
    X, full, _, model = case
    flat = MatrixFactorization(0).fit(X)
    assert flat.user_factors_.shape == (len(X), 0) and flat.kept_.shape == (0,)
    cells = flat.mean_ + flat.user_bias_[:, None] + flat.item_bias_
    assert flat.reconstruct(X) == pytest.approx(cells)
    assert flat.rmse(np.where(np.isnan(X), full, np.nan)) > 1.2 * model.rmse(np.where(np.isnan(X), full, np.nan))


def test_scale_holds_ratings_and_predictions(case):
    X = np.clip(np.round(case[0]), 1, 5)
    model = quiet(min_rating=1, max_rating=5, max_iter=5)(X)
    low, high = model.predict(np.zeros(X.shape[1], dtype=int), np.arange(X.shape[1]), interval=0.99)[1:]
    assert low.min() == 1.0 and high.max() == 5.0
    assert model.impute(X).min() >= 1.0 and model.impute(X).max() <= 5.0
    X[3, 2] = 6.0
    with pytest.raises(LowdimError, match=r"LD274(.|\n)*user 3, item 2"):
        quiet(min_rating=1, max_rating=5)(X)


def test_options_are_checked():
    for how in (
        {"method": "mcmc"},
        {"noise": "item"},
        {"duplicates": "first"},
        {"min_rating": 5, "max_rating": 1},
        {"min_rating": "a"},
        {"columns": ("a",)},
        {"n_components": -1},
        {"tol": 0},
    ):
        with pytest.raises(LowdimError, match="LD210"):
            quiet(**({"method": "map"} | how))([[1.0, 2.0]]) if "n_components" not in how else MatrixFactorization(
                -1
            ).fit([[1.0, 2.0]])
    for run in (Run(engine="dask"), Run(checkpoint="here")):
        with pytest.raises(LowdimError, match="LD210"):
            MatrixFactorization(1).fit([[1.0, 2.0]], run=run)
    with pytest.raises(LowdimError, match="LD276"):
        MatrixFactorization(1).fit(np.full((3, 3), np.nan))
    with pytest.raises(LowdimError, match="LD170"):
        MatrixFactorization(1).fit(np.ones((50, 50)), run=Run(memory=100))


def test_new_tables_must_belong(case):
    X, _, _, model = case
    with pytest.raises(LowdimError, match="LD275"):
        model.score(X[:5])
    with pytest.raises(LowdimError, match="LD220"):
        model.score(X[:, :5])
    with pytest.raises(LowdimError, match="LD220"):
        model.transform(X[:, :5])
    with pytest.raises(LowdimError, match="LD276"):
        model.score(np.full_like(X, np.nan))
    assert not hasattr(model, "partial_fit")
    with pytest.raises(VerbError, match="fold_in"):
        _ = model.partial_fit


# runs, files, contract ---------------------------------------------------------------------------------------------
def test_callbacks_verbosity_and_threads(case, capsys):
    X = case[0]
    steps = []
    model = MatrixFactorization(2).fit(X, run=Run(callback=lambda s: steps.append(s) or len(steps) >= 4, verbose=1))
    assert len(steps) == 4 and not model.converged_ and model.n_iter_ == 5
    assert capsys.readouterr().err.count("MatrixFactorization  pass") == 4
    assert model.history_.tolist() == [s.objective for s in steps]
    with pytest.warns(LowdimWarning, match="LD201"):
        one, two = (MatrixFactorization(2, max_iter=4).fit(X, run=Run(engine=e)) for e in ("serial", "threads"))
    assert np.array_equal(one.item_factors_, two.item_factors_)


def test_single_precision_beyond_many_ratings(case, monkeypatch):
    X = case[0]
    u, i = np.nonzero(~np.isnan(X))
    cells = sp.csr_array(sp.coo_array((X[u, i].astype(np.float32), (u, i)), shape=X.shape))
    double = quiet(max_iter=6)(cells)
    monkeypatch.setattr("lowdim.models.ratings.factorization.MANY_RATINGS", 10)
    monkeypatch.setattr("lowdim.sources.ratings.MANY_RATINGS", 10)
    monkeypatch.setattr("lowdim.sources.ratings.Ratings.__init__.__defaults__", (None, None, 16))  # many tiles
    single = quiet(max_iter=6)(cells)
    assert single.reconstruct(X) == pytest.approx(double.reconstruct(X), abs=1e-4)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-5)


def test_saved_and_loaded(case, tmp_path):
    X = case[0]
    for table in (X, long(X).assign(user=lambda t: t.user.astype(str) + "x")):
        model = quiet(max_iter=3)(table)
        model.save(tmp_path / "m.lowdim")
        again = lowdim.load(tmp_path / "m.lowdim")
        assert np.array_equal(again.item_factors_, model.item_factors_)
        user = model.user_ids_[3] if "user_ids_" in vars(model) else 3
        assert again.predict(user, 4, return_std=True) == model.predict(user, 4, return_std=True)
        assert again.recommend(user, 4).items.tolist() == model.recommend(user, 4).items.tolist()


@pytest.mark.parametrize("method", ["variational", "map"])
@pytest.mark.parametrize("gaps", [False, True])
def test_laws(gaps, method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((36, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((36, 6)) + 3.0
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[20] = np.nan
    broken = laws.check(MatrixFactorization(2, method=method, tol=1e-2, max_iter=10), X, verbose=False)
    assert set(broken) == set(MatrixFactorization._laws_broken)


# check -> why it is expected to fail
EXPECTED = {
    "check_estimator_sparse_array": "predict gives a rating for every item, not one number a row",
    "check_estimator_sparse_matrix": "predict gives a rating for every item, not one number a row",
    "check_methods_sample_order_invariance": "score_samples has a number for each rating, not for each row",
    "check_methods_subset_invariance": "score_samples is about the users of the fit: other rows are refused (LD275)",
}


def checks():
    for estimator, check in estimator_checks_generator(MatrixFactorization(1, tol=0.1), mark=None):
        title = getattr(check, "func", check).__name__
        why = EXPECTED.get(title)
        how = "".join(f"-{value}" for value in getattr(check, "keywords", {}).values())
        marks = [pytest.mark.xfail(reason=why, raises=(AssertionError, ValueError), strict=True)] if why else []
        yield pytest.param(estimator, check, id=f"{title}{how}", marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
@pytest.mark.filterwarnings("ignore::lowdim.text.messages.LowdimWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check(estimator, check):
    check(estimator)


def test_one_standard_deviation_whichever_verb_is_asked():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 12)) + 0.3 * rng.standard_normal((40, 12)) + 3.0
    X[rng.random(X.shape) < 0.4] = np.nan
    fit = MatrixFactorization(2).fit(X)
    _, sd = fit.impute(X, return_std=True)
    u, i = np.argwhere(np.isnan(X)).T
    assert fit.predict(u, i, return_std=True)[1] == pytest.approx(sd[u, i], rel=1e-9)
