"""How many dimensions a purpose needs, beside cross-validated pipelines of scikit-learn and in simulations."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowdim as ld
from lowdim.cli.entry import run
from lowdim.judge.dimensions.utility import utility
from lowdim.judge.row_order import row_order
from lowdim.text.format import times_as_likely
from lowdim.text.messages import OptionError

HOW = {"standardize": True, "folds": 5, "random_state": 0}


def dealt(X: np.ndarray, y: np.ndarray | None = None) -> PredefinedSplit:
    """Rows dealt to five folds one after another in an order of their own, those of a class together."""
    order = row_order(X, None, 0)
    order = order if y is None else order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(X), dtype=int)
    fold[order] = np.arange(len(X)) % 5
    return PredefinedSplit(fold)


def test_classes_are_told_apart_as_by_a_pipeline_of_scikit_learn():
    """Discriminant analysis does not care how long an axis is, so posterior means and plain scores do alike."""
    X, y = load_wine(return_X_y=True)
    found = utility(ld.as_source(X), np.array(["abc"[k] for k in y]), most=6, **HOW)
    deal = dealt(X, y)
    for q in range(1, 7):
        peer = make_pipeline(StandardScaler(), PCA(q), LinearDiscriminantAnalysis())
        right = cross_val_predict(peer, X, y, cv=deal) == y
        assert found.scores[q] == pytest.approx(right.mean(), abs=1e-12), q
    assert found.scores[0] == pytest.approx((y == 1).mean()) and found.kind == "classes"
    assert 2 <= found.q <= 4 and found.scores[found.q] > 0.94


def test_numbers_are_predicted_as_by_a_pipeline_of_scikit_learn():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((150, 3)) * [2.0, 1.5, 1.0]
    X = Z @ np.linalg.qr(rng.standard_normal((8, 3)))[0].T + 0.1 * rng.standard_normal((150, 8))
    y = Z[:, 2] + 0.2 * rng.standard_normal(150)  # the third direction is what is wanted
    found = utility(ld.as_source(X), y, most=5, **{**HOW, "standardize": False})
    deal = dealt(X)
    for q in range(1, 6):
        guess = cross_val_predict(make_pipeline(PCA(q), LinearRegression()), X, y, cv=deal)
        assert found.scores[q] == pytest.approx(1 - ((y - guess) ** 2).mean() / y.var(), abs=1e-9), q
    assert found.q == 3 and found.kind == "numbers" and found.scores[3] > 0.9 > 0.2 > found.scores[2]


def test_what_is_useful_is_not_what_is_shared():
    """A class that lies in a faint direction needs more axes than the columns share."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 200)
    X = np.outer(rng.standard_normal(200), np.ones(6)) + 0.4 * rng.standard_normal((200, 6))
    X[:, 4] += 0.8 * kind
    X[:, 5] -= 0.8 * kind
    X[rng.random(X.shape) < 0.05] = np.nan
    shared, useful = ld.choose_dimension(X), ld.choose_dimension(X, y=np.array(["no", "yes"])[kind])
    assert shared.q <= 1 < useful.q and shared.utility is None
    assert useful.judges[0].name == "utility" and useful.judges[1:] == shared.judges
    beyond = useful._replace(rows=useful.rows[: useful.q])
    assert f"\n >{useful.q} " in useful.text() and f"\n >{useful.q} " in beyond.text()
    assert f"{useful.q}: {useful.utility.scores[useful.q]:.0%} (chosen)" in useful.text()
    assert "of the classes of left-out rows" in useful.sentence and useful.text().startswith("Dimensions: ")


def test_noise_needs_no_dimension():
    rng = np.random.default_rng(3)
    found = utility(ld.as_source(rng.standard_normal((120, 6))), rng.integers(0, 2, 120).astype(str), most=4, **HOW)
    assert found.q == 0


def test_answers_that_cannot_be():
    X = np.random.default_rng(0).standard_normal((40, 4))
    for y in (np.zeros(3), np.array(["a"] * 40), np.array([None] * 30 + ["a"] * 10, dtype=object)):
        with pytest.raises(OptionError, match="y="):
            ld.choose_dimension(X, y=y)


def test_the_command_asks_for_a_column(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = load_iris()
    rows = [
        f"{','.join(map(str, x))},{data.target_names[k]}" for x, k in zip(data.data.tolist(), data.target, strict=True)
    ]
    (tmp_path / "iris.csv").write_text("\n".join(["sl,sw,pl,pw,species", *rows]) + "\n")
    assert run(["dims", "iris.csv", "--for", "species", "--quiet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dims"] == told["utility"]["q"] == 3 and told["utility"]["scores"][3] > 0.95
    assert run(["dims", "iris.csv", "--for", "pw", "--quiet"]) == 0
    assert "of the variance of left-out answers" in capsys.readouterr().out
    assert run(["dims", "iris.csv", "--for", "nose"]) == 2


def test_evidence_says_how_many_times_as_likely():
    """Bayes factors in words: BIC's of factors, Minka's, and of clusters."""
    assert (
        times_as_likely(np.log(20.0)) == "20 times as likely" and times_as_likely(np.log(1.26)) == "1.3 times as likely"
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8)) + 0.3 * rng.standard_normal((200, 8))
    jury = ld.choose_dimension(X)
    evidence = next(j for j in jury.judges if j.name == "evidence")
    w = sorted((row.bic_weight for row in jury.rows), reverse=True)
    assert times_as_likely(float(np.log(w[0] / w[1]))) in evidence.detail
    groups = rng.standard_normal((90, 2)) + np.repeat([0.0, 8.0, 16.0], 30)[:, None]
    chosen = ld.choose_clusters(groups, "spherical", range(1, 5))
    lead = np.sort(chosen.log_evidence)[-1] - np.sort(chosen.log_evidence)[-2]
    assert times_as_likely(float(lead)) in chosen.sentence


def test_the_order_of_the_rows_says_nothing():
    X, y = load_wine(return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(len(X))
    one, other = (utility(ld.as_source(X[at]), y[at], most=4, **HOW) for at in (np.arange(len(X)), shuffled))
    assert (one.q, one.kind, one.rows) == (other.q, other.kind, other.rows)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-12)
