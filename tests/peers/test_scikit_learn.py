"""scikit-learn's own test files with our classes in place of its own: what fails is listed, with the reason.

The files are those of the installed scikit-learn; none of their text is here.
"""

import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import sklearn
import sklearn.cluster
import sklearn.cross_decomposition
import sklearn.datasets
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.feature_selection
import sklearn.manifold
import sklearn.mixture

import lowdim as ld
from tests.peers.differences import CHOICES, WORDS

HERE = Path(__file__).parents[2]
FILES = sorted({*WORDS, *CHOICES, "manifold/tests/test_locally_linear.py"})
FEWER = "not test_pca_sparse or 10-arpack or eigh-csr_array-2"  # of 216 alike cases some
of_this_version = pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."), reason="the list of differences is that of scikit-learn 1.9"
)


def outcomes(file: str, folder: Path) -> tuple[Counter, Counter]:
    """How many cases of each test function passed, and how many did not."""
    told, source = folder / "told.xml", Path(sklearn.__file__).parent / file
    command = [sys.executable, "-m", "pytest", "-q", "-k", FEWER, "-p", "tests.peers.in_place_of_scikit_learn"]
    command += ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={folder}", f"--junitxml={told}", str(source)]
    path = os.pathsep.join([str(HERE / "src"), str(HERE)])
    env = {**os.environ, "PYTHONPATH": path, "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "42"}
    subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True)
    passed, failed = Counter(), Counter()
    for case in ElementTree.parse(told).iter("testcase"):
        name, ends = re.sub(r"\[.*", "", case.attrib["name"]), {child.tag for child in case}
        if ends & {"failure", "error"}:
            failed[name] += 1
        elif "skipped" not in ends:
            passed[name] += 1
    return passed, failed


# Of the cases about numbers, the share that passes; the rest is by intention, as CHOICES says.
LEAST = {"decomposition/tests/test_factor_analysis.py": 0.0, "decomposition/tests/test_kernel_pca.py": 0.65}


@pytest.mark.slow
@of_this_version
@pytest.mark.parametrize("file", FILES)
def test_what_fails_is_listed_with_its_reason(file, tmp_path):
    passed, failed = outcomes(file, tmp_path)
    words, choices = WORDS.get(file, {}), CHOICES.get(file, {})
    assert set(failed) == {*words, *choices}
    right, wrong = (sum(n for name, n in of.items() if name not in words) for of in (passed, failed))
    assert right >= LEAST.get(file, 0.9) * (right + wrong)


PEERS = {
    ld.PCA: (sklearn.decomposition.PCA, sklearn.decomposition.IncrementalPCA),
    ld.FactorAnalysis: (sklearn.decomposition.FactorAnalysis,),
    ld.ICA: (sklearn.decomposition.FastICA,),
    ld.KernelPCA: (sklearn.decomposition.KernelPCA,),
    ld.GaussianMixture: (sklearn.mixture.GaussianMixture,),
    ld.KMeans: (sklearn.cluster.KMeans,),
    ld.Isomap: (sklearn.manifold.Isomap,),
    ld.LocallyLinearEmbedding: (sklearn.manifold.LocallyLinearEmbedding,),
    ld.LaplacianEigenmaps: (sklearn.manifold.SpectralEmbedding,),
    ld.ClassicalMDS: (sklearn.manifold.MDS,),
    ld.CCA: (sklearn.cross_decomposition.CCA,),
    ld.LinearDiscriminant: (sklearn.discriminant_analysis.LinearDiscriminantAnalysis,),
    ld.VarianceSelector: (sklearn.feature_selection.VarianceThreshold,),
}


@pytest.mark.parametrize("ours", PEERS, ids=lambda ours: ours.__name__)
def test_words_of_the_peer_are_refused_with_the_word_to_use(ours):
    own = set(inspect.signature(ours).parameters)
    for word in {name for theirs in PEERS[ours] for name in inspect.signature(theirs).parameters} - own:
        with pytest.raises(TypeError, match="LD219") as refused:
            ours(**{word: None})
        assert "its options" not in refused.value.fix, f"{ours.__name__} has no answer for {word}"


def test_a_slip_of_the_pen_is_answered_with_the_nearest_option():
    with pytest.raises(TypeError, match=r"n_components=\.\.\.; its options: "):
        ld.PCA(ncomponents=2)


@pytest.mark.parametrize("load", ["iris", "wine", "breast_cancer"])
def test_as_many_axes_as_the_peer_by_the_same_evidence(load):
    X = getattr(sklearn.datasets, f"load_{load}")().data
    theirs = sklearn.decomposition.PCA("mle", svd_solver="full").fit(X)
    assert ld.PCA("mle").fit(X).n_components_ == theirs.n_components_


@pytest.mark.filterwarnings("ignore:LD218")
def test_evidence_with_gaps_does_not_follow_the_noise():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 6)) * 2.0 + 0.3 * rng.standard_normal((100, 6))
    assert ld.PCA("mle").fit(X).n_components_ == 2
    assert ld.PCA("mle").fit(np.where(rng.random(X.shape) < 0.1, np.nan, X)).n_components_ == 2


@pytest.mark.parametrize("model", [ld.PCA(2), ld.PPCA(2), ld.KMeans(3), ld.KernelPCA(2), ld.GTM(2, grid=4, basis=2)])
def test_float32_comes_back_as_float32(model):
    X = sklearn.datasets.load_iris().data[:60]
    narrow = model.fit_transform(X.astype(np.float32))
    assert narrow.dtype == np.float32 and model.fit_transform(X).dtype == np.float64
    assert narrow == pytest.approx(model.transform(X), abs=1e-2)
