"""Independent component analysis against scikit-learn, known sources and the laws."""

import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import FastICA

from lowdim import ICA, as_source, laws
from lowdim.text.errors import VerbError
from lowdim.text.messages import LowdimError, LowdimWarning


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
        ICA(2).fit(as_source(X, weight=np.linspace(1.0, 2.0, 100)))
    with pytest.raises(LowdimError, match=r"LD284.*3 direction"):
        ICA(4).fit(X)
    assert ICA().fit(X).n_components_ == 3
    with pytest.raises(LowdimError, match="LD200"):
        ICA(5).fit(X)
    with pytest.raises(LowdimError, match=r"LD210.*fun"):
        ICA(2, fun="tanh").fit(X)
    with pytest.warns(LowdimWarning, match="LD201"):
        assert not ICA(3, max_iter=1, tol=1e-12).fit(X).converged_


@pytest.mark.parametrize("verb", ["score_samples", "sample", "impute", "posterior"])
def test_absent_verbs_say_why_and_what_instead(verb):
    assert not hasattr(ICA(), verb)
    with pytest.raises(VerbError, match=rf"LD240[\s\S]*{verb}[\s\S]*fix"):
        getattr(ICA(), verb)


def test_laws(tmp_path):
    """The laws that hold, in memory and from a file; those that cannot are listed with their reasons."""
    X = np.random.default_rng(0).exponential(size=(60, 3)) @ np.random.default_rng(1).standard_normal((3, 4)) + 5
    np.save(tmp_path / "x.npy", X)
    for table in (X, str(tmp_path / "x.npy")):
        broken = laws.check(ICA(3), table, verbose=False)
        assert broken == ICA(3)._laws_broken and {"score_is_objective", "impute_keeps_seen"} <= set(broken)
