"""What fitted models are handed: new rows of any size, weights, counts and paths of the wrong kind.

Whoever takes them: an answer that is finite, or an error with a code; no bare warning, for warnings are errors here.
"""

import warnings

import numpy as np
import pytest

import lowdim
from lowdim.models.base.estimator import WeightedEstimator
from lowdim.registry import ENTRIES
from lowdim.text.messages import LowdimError
from tests.adversarial.inputs import base
from tests.adversarial.subjects import KEEPS_GAPS, QUICK, labels

CLASSES = sorted(
    {entry.class_name for entry in ENTRIES if entry.public} - KEEPS_GAPS - {"MatrixFactorization", "ClassicalMDS"}
)
ROW_VERBS = ("transform", "posterior", "reconstruct", "impute", "score_samples", "predict", "predict_proba")
FAR = {
    "squares overflow": np.full((2, 4), 1e160),
    "near the end of doubles": np.full((2, 4), -1.7e308),
    "one cell of one row": np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 1e200, 4.0]]),
}


def fit(name, X, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations
        return getattr(lowdim, name)(**QUICK.get(name, [{}])[0]).fit(X, labels(X), **how)


@pytest.mark.parametrize("name", CLASSES)
def test_new_rows_of_any_size(name):
    model, code = fit(name, base()), "LD263" if name == "KMedoids" else "LD226"  # the former is of pairs of rows
    for verb in filter(lambda verb: hasattr(model, verb), ROW_VERBS):
        for rows in FAR.values():
            with pytest.raises(LowdimError, match=code):
                getattr(model, verb)(rows)
    if hasattr(model, "transform") and code == "LD226":
        with pytest.raises(LowdimError, match=r"LD226[\s\S]*c3[\s\S]*1e\+200[\s\S]*row 2"):
            model.transform(FAR["one cell of one row"])
        assert np.isfinite(model.transform(np.full((1, 4), 1e6))).all()  # far, and yet a place


@pytest.mark.parametrize("scale", (1e-150, 1e150))
def test_a_table_of_any_unit_is_its_own_measure(scale):
    model = lowdim.PPCA(1).fit(base() * scale)
    assert np.isfinite(model.score_samples(base() * scale)).all()


@pytest.mark.parametrize("name", CLASSES)
def test_counts_and_paths_of_the_wrong_kind(name, tmp_path):
    model = fit(name, base())
    calls = [lambda: model.save(np.zeros(3)), lambda: model.save(3)]
    if hasattr(model, "impute"):
        calls += [lambda v=v: model.impute(base(), draws=v) for v in (1.5, 0, -1, "a", True, np.array([2]))]
    if hasattr(model, "sample"):
        calls += [lambda v=v: model.sample(v) for v in (1.5, -1, "a", None, [3])]
    for call in calls:
        with pytest.raises(LowdimError, match="LD210"):
            call()


WEIGHTS = {
    "complex": np.ones(16) * 1j,
    "dates": np.array(["2020-01-01"] * 16, dtype="datetime64[D]"),
    "a word": "abc",
    "words": np.array(["1"] * 16),
    "negative": -np.ones(16),
    "infinite": np.r_[np.inf, np.ones(15)],
    "beyond what adds up": np.r_[1e300, np.ones(15)],
    "too few": np.ones(3),
}


@pytest.mark.parametrize("weight", WEIGHTS)
def test_weights_that_are_none(weight):
    for name in ("PPCA", "GaussianMixture", "KMeans", "GTM"):
        assert issubclass(getattr(lowdim, name), WeightedEstimator)
        with pytest.raises(LowdimError, match="LD230"):
            fit(name, base(), sample_weight=WEIGHTS[weight])


@pytest.mark.parametrize("name", ["PPCA", "PCA", "FactorAnalysis", "KMeans", "GaussianMixture", "MixedFactorAnalysis"])
def test_weights_of_one_change_no_bit(name):
    """Also where every direction is as good as any other, so that another road would end at another answer."""
    for X in (np.eye(6), 1e8 * np.eye(6)[[2, 0, 1, 5, 4, 3]]):
        plain, weighted = (fit(name, X, **how).transform(X) for how in ({}, {"sample_weight": np.ones(6)}))
        assert np.array_equal(plain, weighted)
