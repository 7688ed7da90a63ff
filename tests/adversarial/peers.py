"""scikit-learn's classes given the same tables, judged by the same rule; a ValueError or TypeError counts as an answer.

    python -m tests.adversarial.peers [CLASS ...]     prints {class: {how it ended: how often}} as JSON

An error is opaque where scikit-learn did not raise it on purpose: LinAlgError, and what is no ValueError or TypeError.
Nonsense is what no table is; classes that refuse gaps refuse them in words of their own.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.manifold import MDS, Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from tests.adversarial.inputs import INPUTS, NONSENSE
from tests.adversarial.outcomes import ANSWERED, BARE, NOT_FINITE, OPAQUE, REFUSED, SILENT, WARNED, Outcome, not_finite

PEERS: dict[str, Callable[[], Any]] = {
    "PCA": lambda: PCA(1),
    "IncrementalPCA": lambda: IncrementalPCA(1),
    "TruncatedSVD": lambda: TruncatedSVD(1, random_state=0),
    "FactorAnalysis": lambda: FactorAnalysis(1),
    "FastICA": lambda: FastICA(1, random_state=0),
    "KernelPCA": lambda: KernelPCA(2, kernel="rbf"),
    "Isomap": lambda: Isomap(n_neighbors=3),
    "LocallyLinearEmbedding": lambda: LocallyLinearEmbedding(n_neighbors=4, random_state=0),
    "SpectralEmbedding": lambda: SpectralEmbedding(n_neighbors=3, random_state=0),
    "MDS": lambda: MDS(n_init=1, init="random", max_iter=20, random_state=0),
    "GaussianMixture": lambda: GaussianMixture(2, random_state=0, max_iter=20),
    "BayesianGaussianMixture": lambda: BayesianGaussianMixture(n_components=2, random_state=0, max_iter=20),
    "KMeans": lambda: KMeans(2, random_state=0, n_init=1),
}
ON_PURPOSE = (ConvergenceWarning, DataConversionWarning, FutureWarning)
MOST_SECONDS = 10  # what takes longer, for so small a table, has no end
MARK = "ended: "  # before what a worker says of a pair: LAPACK prints what it thinks of some tables
VERBS = ("transform", "score_samples", "get_covariance", "get_precision", "predict_proba")


def used(model: Any, X: Any) -> Any:
    """The fitted attributes, and what the verbs return of the same rows."""
    model.fit(X)
    answers = [
        getattr(model, verb)(*(() if verb.startswith("get_") else (X,))) for verb in VERBS if hasattr(model, verb)
    ]
    return [{k: v for k, v in vars(model).items() if k.endswith("_")}, answers]


def ended(make: Callable[[], Any], X: Any, nonsense: bool) -> Outcome:
    """How one pair ended."""
    with warnings.catch_warnings(record=True) as given, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            answer, problem = used(make(), X), None
        except Exception as raised:
            answer, problem = None, raised
    bare = [w for w in given if not issubclass(w.category, ON_PURPOSE)]
    if problem is not None:
        meant = isinstance(problem, ValueError | TypeError) and not isinstance(problem, np.linalg.LinAlgError)
        return Outcome(REFUSED if meant else OPAQUE, repr(problem)[:200])
    where = not_finite(answer)
    if where is not None:
        return Outcome(NOT_FINITE, where)
    if bare:
        return Outcome(BARE, str(bare[0].message))
    return Outcome(SILENT) if nonsense and not given else Outcome(WARNED if given else ANSWERED)


def work(name: str, first: int) -> None:
    """The pairs of a class from the first-th on, a line each: LAPACK has no end on some tables, and hears no signal."""
    for title in list(INPUTS)[first:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = INPUTS[title]()
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)  # of CPU, which ends it: a busy machine is no hang
        kind = ended(PEERS[name], X, title in NONSENSE).kind
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(f"\n{MARK}{kind}", flush=True)


def ends_of(name: str) -> dict[str, int]:
    """How often each end was met, in a process of its own, which another follows where a pair has no end."""
    ends: list[str] = []
    while len(ends) < len(INPUTS):
        command = [sys.executable, "-W", "ignore", "-m", __spec__.name, name, str(len(ends))]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ends += [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
        if len(ends) < len(INPUTS):
            print(name, list(INPUTS)[len(ends)], "has no end", file=sys.stderr, flush=True)
            ends.append(OPAQUE)
    return dict(Counter(ends))


def main(names: list[str]) -> None:
    found = {}
    for name in names or PEERS:
        found[name] = ends_of(name)
        print(name, found[name], file=sys.stderr, flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[2:] and sys.argv[2].isdigit():
        work(sys.argv[1], int(sys.argv[2]))
    else:
        main(sys.argv[1:])
