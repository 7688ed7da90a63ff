"""The linear discriminant against scikit-learn, Bayes' rule and a general optimiser."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score

import lowdim
from lowdim import LinearDiscriminant, laws
from lowdim.text.errors import VerbError
from lowdim.text.messages import LowdimError, LowdimWarning


def larger(peer, X, y):
    """How many times larger its covariance is than ours: some versions divide by n less the classes, others by n."""
    Z = peer.transform(X)
    within = Z - np.array([Z[y == k].mean(axis=0) for k in peer.classes_])[np.searchsorted(peer.classes_, y)]
    times = len(Z) * Z.shape[1] / float((within**2).sum())
    assert times == pytest.approx(1.0) or times == pytest.approx(len(X) / (len(X) - len(peer.classes_)))
    return times


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_discriminant_is_scikit_learn_s(load, priors):
    X, y = load(return_X_y=True)
    ours, peer = LinearDiscriminant(priors=priors).fit(X, y), LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    times, prior = larger(peer, X, y), np.log(peer.priors_)
    shares = softmax((peer.decision_function(X) - prior) * times + prior, axis=1)
    assert ours.predict_proba(X) == pytest.approx(shares, abs=1e-10)
    assert np.abs(ours.transform(X)) == pytest.approx(np.abs(peer.transform(X)) * np.sqrt(times), abs=1e-9)
    assert ours.explained_variance_ratio_ == pytest.approx(peer.explained_variance_ratio_, abs=1e-12)
    assert ours.means_ == pytest.approx(peer.means_, rel=1e-12) and ours.score(X, y) == peer.score(X, y)
    scores = cross_val_score(LinearDiscriminant(1, priors=priors), X, y)
    one_scale = LinearDiscriminantAnalysis("lsqr") if priors is None else peer  # with priors "lsqr" is another model
    assert scores == pytest.approx(cross_val_score(one_scale, X, y))


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


def test_a_class_that_counts_for_nothing_is_no_class():
    X, y = load_iris(return_X_y=True)
    fit = LinearDiscriminant().fit(X, y, sample_weight=(y < 2).astype(float))
    alone = LinearDiscriminant().fit(X[y < 2], y[y < 2])
    assert len(fit.classes_) == len(fit.means_) == 2
    assert fit.predict_proba(X) == pytest.approx(alone.predict_proba(X), abs=1e-9)


def test_decision_function_has_scikit_learn_s_shapes_and_differences():
    X, y = load_iris(return_X_y=True)
    model, peer = LinearDiscriminant().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    ours, theirs = model.decision_function(X), peer.decision_function(X) * larger(peer, X, y)  # equal priors
    assert ours - ours[:, :1] == pytest.approx(theirs - theirs[:, :1], abs=1e-8)
    X, y = X[y > 0], y[y > 0]
    model, peer = LinearDiscriminant().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    ours, theirs = model.decision_function(X), peer.decision_function(X) * larger(peer, X, y)
    assert ours.shape == theirs.shape and ours == pytest.approx(theirs, abs=1e-8)


@pytest.mark.parametrize("verb", ["inverse_transform", "reconstruct", "impute", "sample", "posterior", "score_samples"])
def test_absent_verbs_say_why_and_what_instead(verb):
    assert not hasattr(LinearDiscriminant(), verb)
    with pytest.raises(VerbError, match=rf"LD240[\s\S]*{verb}[\s\S]*fix"):
        getattr(LinearDiscriminant(), verb)


class Labelled(LinearDiscriminant):
    """Rows have the class that their first cell tells, so that the laws can fit a table alone."""

    def fit(self, X, y=None, **how):
        return super().fit(X, self.label(X), **how)

    def score(self, X, y=None, **how):
        return super().score(X, self.label(X), **how)

    def label(self, X):
        first = laws._table(X.rows_of if isinstance(X, laws.Relaid) else X)[:, 0]
        return (np.nan_to_num(first) > 1.0).astype(int)


@pytest.mark.parametrize("gaps", [False, True])
def test_the_laws(gaps):
    rng = np.random.default_rng(0)
    X = (
        rng.standard_normal((40, 2)) @ rng.standard_normal((2, 4))
        + rng.standard_normal((40, 4))
        + [1.0, 2.0, 0.0, -1.0]
    )
    X[(rng.random(X.shape) < 0.15) & gaps] = np.nan
    broken = laws.check(Labelled(), X, verbose=False)
    assert set(broken) == {*LinearDiscriminant._laws_broken, "save_and_load"}  # saved models: tests/storage


@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore:.*LD287")
def test_fewer_rows_than_columns_are_solved_in_the_rows_span(shrinkage, monkeypatch):
    """The same numbers as from eigenproblems of all columns, and as scikit-learn's."""
    rng = np.random.default_rng(3)
    y = np.arange(30) % 3
    X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 70)) + rng.standard_normal((30, 70)) + y[:, None]
    ours = LinearDiscriminant(shrinkage=shrinkage).fit(X, y)
    from lowdim.models.projections import linear_discriminant as home

    in_span = home.eigenpairs
    monkeypatch.setattr(home, "eigenpairs", lambda C, span=None: in_span(C))
    slow = LinearDiscriminant(shrinkage=shrinkage).fit(X, y)
    assert ours.covariance_ == pytest.approx(slow.covariance_, abs=1e-12)
    assert ours.scalings_ == pytest.approx(slow.scalings_, abs=1e-10)
    assert ours.means_ == pytest.approx(slow.means_, abs=1e-12)
    assert ours.decision_function(X) == pytest.approx(slow.decision_function(X), abs=1e-7)
    if not shrinkage:
        peer = LinearDiscriminantAnalysis().fit(X, y)
        assert np.abs(ours.transform(X)) == pytest.approx(
            np.abs(peer.transform(X)) * np.sqrt(larger(peer, X, y)), rel=1e-8
        )
