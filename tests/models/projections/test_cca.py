"""Canonical correlation analysis against definitions, peers, published forms and simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import cross_decomposition

import lowdim
from lowdim import CCA, Run, as_source
from lowdim.text.messages import LowdimError, LowdimWarning
from tests.oracles.cca import Slow, correlations, given, log_density, manova


def views(n=120, d1=4, d2=3, q=2, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, q))
    made = [
        z @ rng.standard_normal((q, k)) + rng.standard_normal((n, k)) @ rng.standard_normal((k, k)) + 3 * k
        for k in (d1, d2)
    ]
    return tuple(np.where(rng.random(v.shape) < gaps, np.nan, v) for v in made)


def whole(model):
    """Mean and covariance of both views together, from the public attributes."""
    W = np.vstack([model.x_loadings_, model.y_loadings_])
    C = W @ W.T
    k = len(model.x_loadings_)
    C[:k, :k] += model.x_noise_covariance_
    C[k:, k:] += model.y_noise_covariance_
    return np.append(model.x_mean_, model.y_mean_), C, W


# complete tables -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(3))
def test_correlations_are_those_of_the_definition_and_of_a_peer(seed):
    X, Y = views(seed=seed)
    model = CCA(3).fit(X, Y)
    assert model.canonical_correlations_ == pytest.approx(correlations(X, Y), abs=1e-10)
    peer = cross_decomposition.CCA(3, scale=False, max_iter=10**5, tol=1e-15)
    a, b = peer.fit(X, Y).transform(X, Y)
    for k in range(3):
        assert abs(np.corrcoef(a[:, k], b[:, k])[0, 1]) == pytest.approx(model.canonical_correlations_[k], abs=1e-10)


def test_weights_make_variates_of_unit_variance_that_correlate_as_told():
    X, Y = views()
    model = CCA(3).fit(X, Y)
    u, v = (X - model.x_mean_) @ model.x_weights_, (Y - model.y_mean_) @ model.y_weights_
    assert u.T @ u / len(X) == pytest.approx(np.eye(3), abs=1e-12)
    assert v.T @ v / len(X) == pytest.approx(np.eye(3), abs=1e-12)
    assert u.T @ v / len(X) == pytest.approx(np.diag(model.canonical_correlations_), abs=1e-12)


def test_all_correlations_make_the_table_s_own_covariance():
    X, Y = views()
    mean, C, _ = whole(CCA(3).fit(X, Y))
    Z = np.hstack([X, Y])
    assert mean == pytest.approx(Z.mean(axis=0), rel=1e-13)
    assert pytest.approx(np.cov(Z.T, bias=True), abs=1e-12) == C


def test_bach_and_jordan_s_posterior_given_one_view():
    """E[z | x] = P^(1/2) U' (x - mu): their equation, with P shared evenly."""
    X, Y = views()
    model = CCA(2).fit(X, Y)
    root = np.sqrt(model.canonical_correlations_)
    assert model.transform(X) == pytest.approx((X - model.x_mean_) @ model.x_weights_ * root, abs=1e-12)
    assert model.transform(None, Y) == pytest.approx((Y - model.y_mean_) @ model.y_weights_ * root, abs=1e-12)
    assert model.posterior(X).cov[0] == pytest.approx(np.eye(2) - np.diag(root**2), abs=1e-12)


@pytest.mark.parametrize("q", [0, 1, 2])
def test_log_likelihood_is_the_maximum(q):
    """The objective is that of scipy's density, and the best a general optimiser finds."""
    X, Y = views(40, 2, 2, 1)
    model = CCA(q).fit(X, Y)
    mean, C, _ = whole(model)
    assert model.objective_ == pytest.approx(log_density(np.hstack([X, Y]), mean, C).sum(), rel=1e-12)
    assert model.score(X, Y) * 40 == pytest.approx(model.objective_, rel=1e-12)
    assert model.objective_ == pytest.approx(Slow(np.hstack([X, Y]), 2, q).best(2), abs=1e-4)


# gaps ------------------------------------------------------------------------------------------------------------
def test_with_gaps_the_maximum_is_that_of_a_general_optimiser():
    X, Y = views(40, 2, 2, 1, gaps=0.2, seed=1)
    model = CCA(1, tol=1e-10).fit(X, Y)
    best = Slow(np.hstack([X, Y]), 2, 1).best(1)
    assert model.objective_ == pytest.approx(best, abs=1e-3)
    mean, C, _ = whole(model)
    assert model.objective_ == pytest.approx(log_density(np.hstack([X, Y]), mean, C).sum(), rel=1e-9)


def test_em_finds_the_closed_form(monkeypatch):
    from lowdim.engine.fit import em
    from lowdim.models.base.survey import survey_table
    from lowdim.models.projections.cca import CCAParams
    from lowdim.sources.views import Joined

    X, Y = views()
    model = CCA(2, tol=1e-11)
    seen = survey_table(Joined(as_source(X), as_source(Y), (4, 3)), Run(), standardize=True, wide=False)
    start = CCAParams(
        0.1 * np.random.default_rng(1).standard_normal((7, 2)), np.zeros(7), np.eye(7), seen.columns.seen, 4
    )
    found = em(model, start, seen.source, Run())
    assert found.objective == pytest.approx(model._complete(seen, 4, Run())[0].objective, abs=1e-6)
    assert found.passes < 60


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_three_posteriors_are_those_of_the_joint_gaussian(gaps):
    X, Y = views(80, gaps=gaps)
    model = CCA(2).fit(X, Y)
    mean, C, W = whole(model)
    found = model.posterior(X, Y)
    none = np.full(X.shape, np.nan), np.full(Y.shape, np.nan)
    for one, Z in ((found.x, (X, none[1])), (found.y, (none[0], Y)), (found.both, (X, Y))):
        for i, row in enumerate(np.hstack(Z)):
            m, S = given(row, mean, C, W)
            assert one.mean[i] == pytest.approx(m[:2], abs=1e-9)
            assert one.cov[i] == pytest.approx(S[:2, :2], abs=1e-9)
    assert np.array_equal(model.transform(X, Y), found.both.mean)


def test_fills_use_the_row_s_own_view_too():
    X, Y = views(60, gaps=0.2)
    model = CCA(2).fit(X, Y)
    mean, C, W = whole(model)
    (A, B), (sa, sb) = model.impute(X, Y, return_std=True)
    Z, filled, std = np.hstack([X, Y]), np.hstack([A, B]), np.hstack([sa, sb])
    gap = np.isnan(Z)
    assert np.array_equal(filled[~gap], Z[~gap]) and (std[~gap] == 0).all() and (std[gap] > 0).all()
    for i, row in enumerate(Z):
        m, S = given(row, mean, C, W)
        assert filled[i][gap[i]] == pytest.approx(m[2:][gap[i]], abs=1e-8)
        assert (std[i][gap[i]] >= np.sqrt(np.diag(S)[2:][gap[i]]) * (1 - 1e-9)).all()
    drawn = model.impute(X, Y, draws=3)
    assert drawn[0].shape == (3, *X.shape) and np.array_equal(drawn[1][0][~np.isnan(Y)], Y[~np.isnan(Y)])


def test_draws_have_the_spread_of_the_fills():
    X, Y = views(80, gaps=0.2, seed=4)
    model = CCA(2).fit(X, Y)
    (A, _), (sa, _) = model.impute(X, Y, return_std=True)
    drawn = model.impute(X, Y, draws=200)[0]
    z = (drawn - A)[:, np.isnan(X)] / sa[np.isnan(X)]
    assert abs(z.mean()) < 0.05 and 0.85 < z.std() < 1.1


# prediction ------------------------------------------------------------------------------------------------------
def test_prediction_with_all_correlations_is_least_squares():
    X, Y = views()
    model = CCA(3).fit(X, Y)
    A = np.column_stack([np.ones(len(X)), X])
    assert model.predict(X) == pytest.approx(A @ np.linalg.lstsq(A, Y, rcond=None)[0], abs=1e-10)
    flat = CCA(1).fit(X, Y[:, 0])
    assert flat.predict(X).shape == (len(X),)


@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_intervals_of_predictions_hold(gaps):
    """95 % intervals, 6 rows a column, pooled over simulated tables."""
    inside = []
    for seed in range(20):
        X, Y = views(100, 4, 3, 2, seed=seed)
        fit = slice(0, 42), slice(42, 100)
        G, H = (
            np.where(np.random.default_rng([seed, k]).random(v[fit[0]].shape) < gaps, np.nan, v[fit[0]])
            for k, v in enumerate((X, Y))
        )
        mean, std = CCA(2).fit(G, H).predict(X[fit[1]], return_std=True)
        inside.append(np.abs(Y[fit[1]] - mean) <= 1.96 * std)
    assert 0.92 <= np.mean(inside) <= 0.975


# tests -----------------------------------------------------------------------------------------------------------
def rows_of(model, first):
    return {t.statistic: t for t in model.tests_ if t.first == first}


def test_statistics_are_those_of_the_regression():
    X, Y = views()
    found, want = rows_of(CCA(1).fit(X, Y), 1), manova(X, Y)
    for name, value in want.items():
        assert found[name].value == pytest.approx(value, rel=1e-10)


def test_statistics_of_a_peer():
    """statsmodels 0.15 CanCorr(...).corr_test().stats_mv on the same numbers."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal((40, 2))
    X = z @ rng.standard_normal((2, 4)) + rng.standard_normal((40, 4))
    Y = z @ rng.standard_normal((2, 3)) + rng.standard_normal((40, 3))
    found = rows_of(CCA(1).fit(Y, X), 1)
    peer = {
        "Wilks": (0.388862959756, 12, 87.601295887261, 3.131988734779, 0.000973962982),
        "Pillai": (0.698953065606, 12, 105, 2.657850751604, 0.003763501567),
        "Hotelling-Lawley": (1.349786045589, 12, 53.587786259542, 3.6221322783, 0.000543729755),
        "Roy": (1.165935575956, 4, 35, 10.201936289612, 0.00001393431),
    }
    for name, want in peer.items():
        t = found[name]
        assert (t.value, t.df1, t.df2, t.F, t.p) == pytest.approx(want, rel=1e-6)


def test_all_statistics_agree_where_they_are_exact():
    """One remaining correlation: all four are functions of it, with the same exact F."""
    X, Y = views()
    last = rows_of(CCA(1).fit(X, Y), 3)
    assert len(last) == 4 and len({(round(t.F, 9), t.df1, round(t.df2, 9)) for t in last.values()}) == 1
    one = rows_of(CCA(1).fit(X, Y[:, :1]), 1)["Wilks"]
    A = np.column_stack([np.ones(len(X)), X])
    rest = Y[:, 0] - A @ np.linalg.lstsq(A, Y[:, 0], rcond=None)[0]
    r2 = 1 - rest @ rest / ((Y[:, 0] - Y[:, 0].mean()) ** 2).sum()
    assert pytest.approx(r2 / (1 - r2) * (120 - 5) / 4) == one.F


@pytest.mark.parametrize("runs", [300, pytest.param(3000, marks=pytest.mark.drill)])
def test_p_values_are_uniform_where_nothing_is_shared(runs):
    rng = np.random.default_rng(0)
    p = {"Wilks": [], "Pillai": [], "Hotelling-Lawley": []}
    for _ in range(runs):
        found = rows_of(CCA(0).fit(rng.standard_normal((30, 3)), rng.exponential(size=(30, 2))), 1)
        for name, seen in p.items():
            seen.append(found[name].p)
    for name, seen in p.items():
        assert stats.kstest(seen, "uniform").pvalue > 0.01, name


def test_tables_with_gaps_have_no_tests_and_say_so():
    model = CCA(1).fit(*views(gaps=0.1))
    assert model.tests_ == () and "no tests" in repr(model)


# rank ------------------------------------------------------------------------------------------------------------
def test_a_view_with_a_repeated_column():
    X, Y = views()
    with pytest.warns(LowdimWarning, match="LD281.*first view has 5 columns but rank 4"):
        model = CCA(2).fit(np.column_stack([X, X[:, 0] + X[:, 1]]), Y)
    assert model.canonical_correlations_ == pytest.approx(CCA(2).fit(X, Y).canonical_correlations_, abs=1e-10)
    first = CCA(2).fit(X, Y).tests_[0]
    assert abs(model.tests_[0].F - first.F) < 1e-6
    guess = model.predict(np.column_stack([X, X[:, 0] + X[:, 1]]))
    assert guess == pytest.approx(CCA(2).fit(X, Y).predict(X), abs=1e-6)


def test_nearly_repeated_columns_lose_no_digits():
    """Two columns that differ by a millionth: squaring would leave four digits of the second correlation."""
    rng = np.random.default_rng(0)
    X, Y = views(300)
    small = rng.standard_normal(300)
    X[:, 1] = X[:, 0] + 1e-6 * small
    Y[:, 0] += small
    A, B = (np.linalg.qr(V - V.mean(axis=0))[0] for V in (np.column_stack([X[:, [0, 2, 3]], small]), Y))
    want = np.linalg.svd(A.T @ B)[1][:2]
    assert CCA(2).fit(X, Y).canonical_correlations_ == pytest.approx(want, abs=1e-8)


def test_more_columns_than_rows():
    X, Y = views(8, 6, 5)
    with pytest.warns(LowdimWarning, match="LD282"):
        model = CCA(3).fit(X, Y)
    assert model.canonical_correlations_ == pytest.approx(np.ones(3)) and np.isfinite(model.score_samples(X, Y)).all()
    assert "canonical_correlations_" in model.certificate_.boundary


# the two ways to give views --------------------------------------------------------------------------------------
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_one_table_is_two_tables(gaps):
    X, Y = views(gaps=gaps)
    two, one = CCA(2).fit(X, Y), CCA(2, views=4).fit(np.hstack([X, Y]))
    Z = np.hstack([X, Y])
    assert one.objective_ == two.objective_ and one.n_features_in_ == 7 and two.n_features_in_ == 4
    assert np.array_equal(one.transform(Z), two.transform(X, Y))
    assert np.array_equal(one.predict(Z), two.predict(X)) and np.array_equal(one.predict(X), two.predict(X))
    assert np.array_equal(one.sample(5), np.hstack(two.sample(5)))
    assert np.array_equal(one.reconstruct(Z), np.hstack(two.reconstruct(X, Y)))
    assert np.array_equal(one.inverse_transform([[1.0, 2.0]]), np.hstack(two.inverse_transform([[1.0, 2.0]])))


def test_files_weights_and_names(tmp_path):
    X, Y = views(gaps=0.1)
    a, b = (
        pd.DataFrame(v, columns=[f"{name}{j}" for j in range(v.shape[1])]) for name, v in (("left", X), ("right", Y))
    )
    a.to_parquet(tmp_path / "a.parquet")
    b.to_parquet(tmp_path / "b.parquet")
    model, from_files = CCA(1).fit(X, Y), CCA(1).fit(str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet"))
    assert np.array_equal(from_files.x_loadings_, model.x_loadings_)
    assert list(from_files.feature_names_in_) == list(a.columns)
    assert list(from_files.y_feature_names_in_) == list(b.columns)
    turned = from_files.transform(a[a.columns[::-1]], b[b.columns[::-1]])
    assert np.array_equal(turned, model.transform(X, Y))
    both = pd.concat([a, b], axis=1)
    joined = CCA(1, views=4).fit(both)
    for frame in (a, a[a.columns[::-1]], both, both[both.columns[::-1]]):
        assert np.array_equal(joined.predict(frame), model.predict(X))
    w = np.arange(len(X)) % 3
    one, two = CCA(1).fit(X, Y, sample_weight=w), CCA(1).fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    assert one.objective_ == pytest.approx(two.objective_, abs=1e-4)


def test_save_and_load(tmp_path):
    X, Y = views(gaps=0.1)
    for model in (CCA(1).fit(X, Y), CCA(1).fit(*views())):
        model.save(tmp_path / "m.lowdim")
        back = lowdim.load(tmp_path / "m.lowdim")
        assert np.array_equal(back.transform(X, Y), model.transform(X, Y)) and back.tests_ == model.tests_


def test_a_checkpoint_answers_the_same_fit(tmp_path):
    X, Y = views(gaps=0.1)
    how = Run(checkpoint=tmp_path / "fit.ckpt")
    one, two = CCA(1).fit(X, Y, run=how), CCA(1).fit(X, Y, run=how)
    assert one.objective_ == two.objective_ == CCA(1).fit(X, Y).objective_
    assert np.array_equal(one.y_loadings_, two.y_loadings_)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda X, Y: CCA(1).fit(X), "LD280.*requires y"),
        (lambda X, Y: CCA(1, views=9).fit(X), "LD280.*views=9"),
        (lambda X, Y: CCA(1).fit(X, Y[:-1]), "LD280.*120 rows and Y has 119"),
        (lambda X, Y: CCA(4).fit(X, Y), "LD200.*at most 3"),
        (lambda X, Y: CCA(1.5).fit(X, Y), "LD210"),
        (lambda X, Y: CCA(1).fit(X, Y).transform(X, Y[:, :2]), "LD220.*second view"),
        (lambda X, Y: CCA(1).fit(X, Y).transform(None), "LD280.*both None"),
        (lambda X, Y: CCA(1, views=2).fit(X).transform(X, Y), "LD280.*one table"),
        (lambda X, Y: CCA(1).fit(X, np.where(Y > 9, Y, np.inf)), "LD150"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(LowdimError, match=says):
        call(*views())


def test_too_few_rows_with_gaps_are_said():
    X, Y = views(20, 4, 3, 2, gaps=0.3, seed=1)
    with pytest.warns(LowdimWarning, match="LD288"):
        model = CCA(3, tol=5e-6).fit(X, Y)
    assert np.isfinite(model.score_samples(X, Y)).all()
