"""What readers found in the mixtures, ratings and relatives before their users did."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import lowdim
from lowdim.plot.models.mixture import mixture, parts_of
from lowdim.text.messages import LowdimError, VerbError

IRIS, KIND = load_iris(return_X_y=True)


def test_a_class_that_counts_for_nothing_is_no_class():
    fit = lowdim.LinearDiscriminant().fit(IRIS, KIND, sample_weight=(KIND < 2).astype(float))
    alone = lowdim.LinearDiscriminant().fit(IRIS[KIND < 2], KIND[KIND < 2])
    assert len(fit.classes_) == len(fit.means_) == 2
    assert fit.predict_proba(IRIS) == pytest.approx(alone.predict_proba(IRIS), abs=1e-9)


def test_medoids_find_columns_by_name_and_can_be_saved(tmp_path):
    X = pd.DataFrame(IRIS, columns=list("abcd"))
    fit = lowdim.KMedoids(3).fit(X)
    assert np.array_equal(fit.predict(X), fit.predict(X[list("dcba")]))
    fit.save(tmp_path / "medoids.lowdim")
    assert np.array_equal(lowdim.load(tmp_path / "medoids.lowdim").transform(X), fit.transform(X))
    with pytest.raises(VerbError, match="no 'score_samples'"):
        fit.score_samples(X)


def test_one_standard_deviation_whichever_verb_is_asked():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 12)) + 0.3 * rng.standard_normal((40, 12)) + 3.0
    X[rng.random(X.shape) < 0.4] = np.nan
    fit = lowdim.MatrixFactorization(2).fit(X)
    _, sd = fit.impute(X, return_std=True)
    u, i = np.argwhere(np.isnan(X)).T
    assert fit.predict(u, i, return_std=True)[1] == pytest.approx(sd[u, i], rel=1e-9)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_every_kind_of_mixture_can_be_drawn(kind):
    fit = lowdim.Mixture(kind, 3, n_init=2).fit(IRIS)
    parts = parts_of(fit, IRIS)
    assert parts is not None and parts["covariances"].shape == (3, 4, 4)
    assert mixture(IRIS, **parts).sentence


@pytest.mark.parametrize("model", [lowdim.MatrixFactorization(min_rating="a"), lowdim.KMeans(n_clusters="three")])
def test_options_of_another_kind_are_refused_in_words(model):
    with pytest.raises(LowdimError, match="LD210"):
        model.fit(IRIS)


def test_more_clusters_than_rows_is_no_answer():
    with pytest.raises(LowdimError, match="LD253"):
        lowdim.choose_clusters(IRIS[:5], ks=[7, 8])


def test_factors_are_not_asked_for_more_than_they_can_tell(tmp_path):
    from lowdim.jobs.one_model import fit_method

    table = lowdim.read(pd.DataFrame(IRIS, columns=list("abcd")))
    with pytest.warns(lowdim.text.messages.LowdimWarning):
        assert fit_method(table, "fa").places.z.shape == (150, 1)  # four columns: at most one factor
