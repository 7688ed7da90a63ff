"""ICA, the linear discriminant and the variance selector against scikit-learn, definitions and simulation."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.ndimage import rotate
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score

import lowdim
from lowdim import CCA, ICA, LinearDiscriminant, VarianceSelector, as_source, laws
from lowdim.text.messages import LowdimError, LowdimWarning, VerbError, catalogue
from tests.conftest import need
from tests.sources.test_bad_input import KINDS, NUMBERS
from tests.table.outcomes import attributes


# ICA -------------------------------------------------------------------------------------------------------------
def mixture(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    S = np.column_stack([rng.uniform(-1, 1, n), rng.exponential(size=n), np.sign(rng.standard_normal(n))])
    return (S - S.mean(axis=0)) / S.std(axis=0), rng.standard_normal((4, 3))


def test_ica_finds_the_sources():
    S, A = mixture()
    model = ICA(3).fit(S @ A.T + 5)
    match = np.abs(np.corrcoef(model.sources_.T, S.T)[:3, 3:])
    assert (match.max(axis=1) > 0.99).all() and set(match.argmax(axis=1)) == {0, 1, 2}
    assert model.sources_.std(axis=0) == pytest.approx(np.ones(3), rel=1e-10)
    assert np.array_equal(model.transform(S @ A.T + 5), model.sources_) or model.transform(
        S @ A.T + 5
    ) == pytest.approx(model.sources_, abs=1e-10)
    assert model.reconstruct(S @ A.T + 5) == pytest.approx(S @ A.T + 5, abs=1e-10)
    assert model.components_ @ model.mixing_ == pytest.approx(np.eye(3), abs=1e-10)


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
def test_ica_is_scikit_learn_s(algorithm):
    S, A = mixture()
    X = S @ A.T
    peer = FastICA(3, algorithm=algorithm, whiten="unit-variance", tol=1e-10, max_iter=2000, random_state=0).fit(X)
    model = ICA(3, algorithm=algorithm, tol=1e-10, max_iter=2000).fit(X)
    match = np.abs(np.corrcoef(model.transform(X).T, peer.transform(X).T)[:3, 3:])
    assert np.sort(match, axis=1)[:, -1] == pytest.approx(np.ones(3), abs=1e-8)


def test_ica_order_and_signs_do_not_depend_on_the_seed():
    S, A = mixture()
    one, two = (ICA(3, tol=1e-10, random_state=seed).fit(S @ A.T) for seed in (0, 7))
    assert one.mixing_ == pytest.approx(two.mixing_, abs=1e-6)
    assert (np.diff(one.negentropy_) <= 0).all() and (one.mixing_.max(axis=0) == np.abs(one.mixing_).max(axis=0)).all()
    kurtosis = np.abs(stats.kurtosis(one.sources_))
    assert kurtosis.argmin() != 0  # the two-valued and the exponential source lie farther from Gaussian


def test_ica_refuses_gaps_weights_and_impossible_numbers():
    S, A = mixture(100)
    X = S @ A.T
    gap = np.where(np.arange(X.size).reshape(X.shape) == 9, np.nan, X)
    with pytest.raises(LowdimError, match=r"LD163[\s\S]*impute"):
        ICA(2).fit(gap)
    model = ICA(2).fit(X)
    with pytest.raises(LowdimError, match="LD163"):
        model.transform(gap)
    with pytest.raises(LowdimError, match="LD283"):
        ICA(2).fit(as_source(X, weight=np.ones(100)))
    with pytest.raises(LowdimError, match=r"LD284.*3 direction"):
        ICA(4).fit(X)
    assert ICA().fit(X).n_components_ == 3
    with pytest.raises(LowdimError, match="LD200"):
        ICA(5).fit(X)
    with pytest.raises(LowdimError, match=r"LD210.*fun"):
        ICA(2, fun="tanh").fit(X)
    with pytest.warns(LowdimWarning, match="LD201"):
        assert not ICA(3, max_iter=1, tol=1e-12).fit(X).converged_


# the discriminant ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_discriminant_is_scikit_learn_s(load, priors):
    X, y = load(return_X_y=True)
    ours, peer = LinearDiscriminant(priors=priors).fit(X, y), LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(peer.predict_proba(X), abs=1e-10)
    assert np.abs(ours.transform(X)) == pytest.approx(np.abs(peer.transform(X)), abs=1e-9)
    assert ours.explained_variance_ratio_ == pytest.approx(peer.explained_variance_ratio_, abs=1e-12)
    assert ours.means_ == pytest.approx(peer.means_, rel=1e-12) and ours.score(X, y) == peer.score(X, y)
    scores = cross_val_score(LinearDiscriminant(1, priors=priors), X, y)
    assert scores == pytest.approx(cross_val_score(peer, X, y))


def test_discriminant_log_likelihood():
    X, y = load_iris(return_X_y=True)
    model = LinearDiscriminant().fit(X, y)
    want = sum(stats.multivariate_normal(model.means_[k], model.covariance_).logpdf(X[y == k]).sum() for k in range(3))
    assert model.objective_ == pytest.approx(want, rel=1e-10)


def test_discriminant_with_gaps_is_bayes_rule():
    X, y = load_iris(return_X_y=True)
    G = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    G[7] = np.nan
    with pytest.warns(LowdimWarning, match="LD121"):
        model = LinearDiscriminant(tol=1e-9).fit(G, y)
    proba, mu, C, logs = model.predict_proba(G), model.means_, model.covariance_, np.zeros((150, 3))
    total = 0.0
    for i, row in enumerate(G):
        o = ~np.isnan(row)
        logs[i] = [stats.multivariate_normal(m[o], C[np.ix_(o, o)]).logpdf(row[o]) if o.any() else 0.0 for m in mu]
        total += logs[i, y[i]]
    want = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    assert proba == pytest.approx(want, abs=1e-9) and proba[7] == pytest.approx(np.ones(3) / 3)
    assert model.objective_ == pytest.approx(total, rel=1e-9)
    # a row's place: its gaps filled given its other cells, class by class
    for i in range(0, 150, 10):
        o, filled = ~np.isnan(G[i]), np.zeros(4)
        for k in range(3):
            gain = C[:, o] @ np.linalg.inv(C[np.ix_(o, o)]) if o.any() else np.zeros((4, 0))
            filled += want[i, k] * (mu[k] + gain @ (G[i, o] - mu[k][o]))
        assert model.transform(G)[i] == pytest.approx((filled - model.xbar_) @ model.scalings_, abs=1e-8)
    assert model.score(G, y) > 0.9


def test_discriminant_em_climbs_to_a_stationary_point():
    """No small change of a mean or of the covariance raises the likelihood of the seen cells."""
    X, y = load_iris(return_X_y=True)
    G = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    model = LinearDiscriminant(tol=1e-11).fit(G, y)

    def value(mu, C):
        return sum(
            stats.multivariate_normal(mu[y[i]][o], C[np.ix_(o, o)]).logpdf(row[o])
            for i, row in enumerate(G)
            if (o := ~np.isnan(row)).any()
        )

    best = value(model.means_, model.covariance_)
    assert best == pytest.approx(model.objective_, rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(10):
        mu = model.means_ + 0.01 * rng.standard_normal(model.means_.shape)
        A = np.eye(4) + 0.01 * rng.standard_normal((4, 4))
        assert value(mu, model.covariance_) < best and value(model.means_, A @ model.covariance_ @ A.T) < best


def test_discriminant_weights_names_files_and_shrinkage(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    w = np.arange(len(X)) % 3
    one = LinearDiscriminant().fit(X, y, sample_weight=w)
    two = LinearDiscriminant().fit(X.loc[X.index.repeat(w)], y.loc[y.index.repeat(w)])
    assert one.predict_proba(X) == pytest.approx(two.predict_proba(X), abs=1e-9)
    words = np.array(["red", "white", "rose"])[y]
    model = LinearDiscriminant().fit(X, words)
    assert list(model.feature_names_in_) == list(X.columns) and set(model.predict(X)) == {"red", "white", "rose"}
    model.save(tmp_path / "m.lowdim")
    back = lowdim.load(tmp_path / "m.lowdim")
    assert list(back.predict(X)) == list(model.predict(X[X.columns[::-1]]))
    X.to_parquet(tmp_path / "x.parquet")
    assert np.array_equal(LinearDiscriminant().fit(str(tmp_path / "x.parquet"), words).scalings_, model.scalings_)
    assert LinearDiscriminant(shrinkage=1.0).fit(X, y).covariance_ == pytest.approx(
        np.diag(np.diag(model.covariance_)), abs=1e-9
    )


def test_discriminant_bad_input():
    X, y = load_iris(return_X_y=True)
    for call, says in (
        (lambda: LinearDiscriminant().fit(X, np.zeros(150)), "LD286.*got 1 class"),
        (lambda: LinearDiscriminant().fit(X, y[:-1]), "LD286.*150 rows"),
        (lambda: LinearDiscriminant().fit(X, X[:, 0]), "LD286.*Unknown label type"),
        (lambda: LinearDiscriminant().fit(X), "LD286.*requires y"),
        (lambda: LinearDiscriminant(3).fit(X, y), "LD200.*at most 2"),
        (lambda: LinearDiscriminant(priors=[1.0]).fit(X, y), "LD210.*priors"),
    ):
        with pytest.raises(LowdimError, match=says):
            call()
    with pytest.warns(LowdimWarning, match="LD287.*4 of 5"):
        LinearDiscriminant().fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y)


# the selector ----------------------------------------------------------------------------------------------------
def distance_error(Y, keep):
    """The seed's E: mean over pairs of |d_ij / p - delta_ij / q|, kept columns stretched by sqrt(q/p)."""
    n, p = Y.shape
    X = Y[:, keep] * np.sqrt(len(keep) / p)
    d, delta = (((A[:, None] - A[None]) ** 2).sum(axis=2) for A in (Y, X))
    return np.abs(d / p - delta / len(keep)).sum() / (n * (n - 1))


@pytest.mark.parametrize("q", [1, 2, 4, 5])
def test_the_selector_s_error_identity(q):
    Y = np.random.default_rng(0).standard_normal((40, 5)) * [1, 4, 0.5, 2, 3] + [0, 100, 5, 0, -7]
    model = VarianceSelector(q).fit(Y)
    keep = model.get_support(indices=True)
    assert model.error_ == pytest.approx(distance_error(Y, keep), rel=1e-12, abs=1e-12)
    assert model.error_ == pytest.approx(2 / 5 * np.delete(Y.var(axis=0, ddof=1), keep).sum(), rel=1e-12, abs=1e-12)
    best = min(distance_error(Y, list(other)) for other in itertools.combinations(range(5), q))
    assert model.error_ <= best + 1e-12 and model.scale_ == np.sqrt(q / 5)


def test_the_seed_s_rotated_sixes():
    """Section 3.3.1: 360 rotations of a six; the error drops from 0.215 to 0.109 (their rotation is not told)."""
    six = np.pad(np.loadtxt(need("handwritten_six") / "six.csv", delimiter=","), ((0, 0), (3, 4)))
    Y = np.array([rotate(six, angle, reshape=False, order=1).ravel() for angle in range(360)])
    few, many = (VarianceSelector(q).fit(Y) for q in (2, 1000))
    assert few.error_ == pytest.approx(0.215, rel=0.03) and many.error_ == pytest.approx(0.109, rel=0.03)
    lost = np.delete(Y.var(axis=0, ddof=1), few.get_support(indices=True))
    assert few.error_ == pytest.approx(2 / 4096 * lost.sum(), rel=1e-10)


def test_the_selector_keeps_columns_to_the_bit():
    X = pd.DataFrame(np.random.default_rng(1).standard_normal((30, 4)) * [1, 9, 2, 5], columns=list("abcd"))
    X.iloc[3, 1] = np.nan
    model = VarianceSelector(2).fit(X)
    assert list(model.get_feature_names_out()) == ["b", "d"]
    Z = model.transform(X)
    assert np.array_equal(Z, X[["b", "d"]].to_numpy(), equal_nan=True)
    back = model.inverse_transform(Z)
    assert np.array_equal(back[:, [1, 3]], Z, equal_nan=True)
    assert back[:, 0] == pytest.approx(np.full(30, X["a"].mean()))
    assert model.variances_ == pytest.approx(X.var().to_numpy(), rel=1e-12)
    assert np.isfinite(model.reconstruct(X)).all()
    assert list(model.set_output(transform="pandas").transform(X).columns) == ["b", "d"]
    w = np.arange(30) % 3
    assert VarianceSelector(2).fit(X, sample_weight=w).error_ == pytest.approx(
        VarianceSelector(2).fit(X.loc[X.index.repeat(w)]).error_, rel=1e-12
    )


def test_the_selector_s_bad_input_and_file(tmp_path):
    X = np.random.default_rng(0).standard_normal((10, 3))
    with pytest.raises(LowdimError, match="LD200"):
        VarianceSelector(4).fit(X)
    model = VarianceSelector(1).fit(X)
    with pytest.raises(LowdimError, match="LD285"):
        model.get_feature_names_out(["a"])
    with pytest.raises(LowdimError, match="LD220"):
        model.inverse_transform(X)
    model.save(tmp_path / "m.lowdim")
    assert np.array_equal(lowdim.load(tmp_path / "m.lowdim").transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("model", "verbs"),
    [
        (ICA(), ("score", "score_samples", "sample", "impute", "posterior")),
        (LinearDiscriminant(), ("inverse_transform", "reconstruct", "impute", "sample", "posterior", "score_samples")),
        (VarianceSelector(), ("score", "score_samples", "sample", "impute", "posterior")),
    ],
)
def test_absent_verbs_say_why_and_what_instead(model, verbs):
    for verb in verbs:
        assert not hasattr(model, verb)
        with pytest.raises(VerbError, match=rf"LD240[\s\S]*{verb}[\s\S]*fix"):
            getattr(model, verb)


@pytest.mark.parametrize("model", [ICA(3), VarianceSelector(2)], ids=["ica", "selector"])
def test_laws(model, tmp_path):
    """The laws that hold, in memory and from a file; those that cannot are listed with their reasons."""
    X = np.random.default_rng(0).exponential(size=(60, 3)) @ np.random.default_rng(1).standard_normal((3, 4)) + 5
    np.save(tmp_path / "x.npy", X)
    for table in (X, str(tmp_path / "x.npy")):
        broken = laws.check(model, table, verbose=False)
        assert broken == model._laws_broken and {"score_is_objective", "impute_keeps_seen"} <= set(broken)


# bad tables: exactly one of an exact answer, a documented warning, a documented error -----------------------------
def fitted(name, X):
    """A model fitted to the table, and everything it then says of it."""
    n = X.shape[0] if len(getattr(X, "shape", ())) == 2 else 3
    if name == "CCA, one table":
        model = CCA(1, views=2).fit(X)
        return model, [
            model.transform(X),
            *model.impute(X, return_std=True),
            model.impute(X, draws=1),
            model.score_samples(X),
            model.sample(2),
            model.predict(X),
            *model.posterior(X),
        ]
    if name == "CCA, two tables":
        model = CCA(1).fit(X, np.random.default_rng(0).standard_normal((n, 2)))
        return model, [model.transform(X), model.predict(X), model.score_samples(X)]
    if name == "LinearDiscriminant":
        model = LinearDiscriminant().fit(X, np.arange(n) % 2)
        return model, [model.transform(X), model.predict_proba(X)]
    if name == "ICA":
        model = ICA(2).fit(X)
        return model, [model.transform(X), model.reconstruct(X), model.inverse_transform(model.transform(X))]
    model = VarianceSelector(2).fit(X)
    return model, [model.reconstruct(X)]


@pytest.mark.parametrize("name", ["CCA, one table", "CCA, two tables", "ICA", "LinearDiscriminant", "VarianceSelector"])
def test_every_bad_table_has_one_outcome(name):
    for case, (X, _) in {**NUMBERS, **KINDS}.items():
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                model, answers = fitted(name, X)
            except LowdimError as problem:
                assert problem.code in catalogue() and problem.fix, (case, str(problem))
                continue
        assert all(np.isfinite(answer).all() for answer in answers) and attributes(model) == "", case
        assert all(issubclass(w.category, LowdimWarning) for w in given), (case, [str(w.message) for w in given])
        assert repr(model)
