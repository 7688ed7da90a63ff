"""scikit-learn's searches meet every public class: each has a score of held-out rows, or says why it has none."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import NearestNeighbors

import lowdim as ld
from lowdim.registry import ENTRIES
from lowdim.text.messages import LowdimError
from tests.adversarial.subjects import QUICK

X = np.random.default_rng(0).standard_normal((45, 2)) @ np.random.default_rng(1).standard_normal((2, 4))
X = X + 0.2 * np.random.default_rng(2).standard_normal(X.shape)
CLASSES = [entry.class_name for entry in ENTRIES if entry.public]
Y = np.arange(45) % 2


TRIPLES = pd.DataFrame(
    [(i, j, (i * j) % 5 + 0.1 * j) for i in range(12) for j in range(8)], columns=["u", "v", "stars"]
)
MORE = {"BayesianMixtureOfPPCA": {"n_init": 1, "max_iter": 8}}


def model_of(name):
    return getattr(ld, name)(**MORE.get(name, QUICK.get(name, [{}])[0]))


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_is_scored_on_rows_it_has_not_seen(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits of a few iterations
        table = TRIPLES if name == "MatrixFactorization" else X  # whose rows are ratings, not users
        folds = KFold(3, shuffle=True, random_state=0)
        scores = cross_val_score(model_of(name), table, Y if name == "LinearDiscriminant" else None, cv=folds)
    assert scores.shape == (3,) and np.isfinite(scores).all()


def test_a_search_over_a_map_goes_by_the_neighbours_kept():
    t = np.random.default_rng(3).uniform(0, 6, 120)
    spiral = np.column_stack([t * np.cos(t), t * np.sin(t), np.random.default_rng(4).normal(0, 0.01, 120)])
    folds = KFold(3, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a graph in two pieces
        search = GridSearchCV(ld.Isomap(1), {"n_neighbors": [5, 60]}, cv=folds).fit(spiral)
    assert search.best_params_ == {"n_neighbors": 5} and search.best_score_ > 0.6


def test_neighbours_kept_as_counted_by_another_library():
    model = ld.ClassicalMDS(1).fit(X[:30])
    near = [
        NearestNeighbors(n_neighbors=5).fit(P).kneighbors(return_distance=False)
        for P in (X[30:], model.transform(X[30:]))
    ]
    expected = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(*near, strict=True)])
    assert model.score(X[30:]) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["ICA", "DualPPCA", "VarianceSelector", "Autoencoder"])
def test_models_without_a_density_are_scored_by_their_error(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model_of(name).fit(X[:30])
        assert model.score(X[30:]) == pytest.approx(-mean_squared_error(X[30:], model.reconstruct(X[30:])))
        weight = np.arange(15.0)
        expected = -mean_squared_error(X[30:], model.reconstruct(X[30:]), sample_weight=weight)
        assert model.score(X[30:], sample_weight=weight) == pytest.approx(expected)
        if name == "ICA":  # it takes no gaps
            return
        holes = np.where(np.random.default_rng(5).random((15, 4)) < 0.2, np.nan, X[30:])
        missed = (holes - model.reconstruct(holes)) ** 2
        assert model.score(holes) == pytest.approx(-np.nanmean(missed))


def test_pairs_say_nothing_of_new_rows():
    D = np.abs(X[:, :1] - X[:, 0])
    model = ld.ClassicalMDS(1, metric="precomputed").fit(D)
    with pytest.raises(LowdimError, match=r"LD240[\s\S]*pairs"):
        model.score(D)
