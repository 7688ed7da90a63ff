"""How many clusters: mixtures with 1, 2, ... components, weighed by their evidence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import Run
from lowdim.maths.linalg import Array
from lowdim.models.mixtures.mixture import Mixture
from lowdim.models.mixtures.parts import COVARIANCE_TYPES
from lowdim.sources.arrays import as_source
from lowdim.text.format import times_as_likely
from lowdim.text.messages import error

DECISIVE_NATS = 3.0  # nats: less than 20 to 1 is no decision (Kass and Raftery 1995)
COVARIANCE_WORDS = {
    "full": " with a covariance each",
    "tied": " with one covariance",
    "diag": " with a variance for each column",
    "spherical": " with one variance for all columns",
}
TRIAL_NATS = 1e-2  # nats a fit may be short of its maximum: far less than decides anything


class ClusterChoice(NamedTuple):
    """The number of clusters a table speaks for, and how clearly."""

    n_clusters: int
    component: Any  # what the clusters are: a covariance of Gaussians by its name, or the estimator
    ks: tuple[int, ...]
    log_evidence: Array  # Schwarz's approximation of log p(table | K), in nats, with the best component
    log_likelihood: Array
    probability: Array  # of each K, had all been equally likely before
    collapsed: tuple[int, ...]  # the K whose fit ended on the covariance floor: not eligible
    sentence: str


def choose_clusters(
    X: Any,
    component: Any = "auto",
    ks: Iterable[int] = range(1, 11),
    *,
    sample_weight: Any = None,
    random_state: Any = 0,
    run: Run | None = None,
) -> ClusterChoice:
    """The number of clusters by evidence; gaps and weights are welcome, and one cluster is a possible answer.

    log p(X | K) = max log-likelihood - (numbers fitted) / 2 log n, Schwarz's approximation for a mixture. A fit on
    the covariance floor has no maximum to approximate by and cannot win, unless all are.

    Parameters
    ----------
    X : table, n x d
        Rows; NaN is a gap.
    component : {"auto", "full", "tied", "diag", "spherical"} or estimator, default="auto"
        As `Mixture` takes it; "auto" compares the four covariances, since groups that a full one has too few rows for
        may be plain for one with fewer numbers.
    ks : iterable of int, default=range(1, 11)
        The numbers of clusters to try; those beyond the number of rows are left out.
    sample_weight : array of shape (n,), optional
        A weight of 2 counts a row twice.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the starts; None is 0.
    run : Run, optional
        How to run the fits.

    Returns
    -------
    ClusterChoice
        The number, its covariance, the evidence of each number, and a sentence.

    References
    ----------
    G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978), 461-464.
    C. Keribin, "Consistent estimation of the order of mixture models", Sankhya A 62 (2000), 49-66.
    C. Fraley and A. E. Raftery, "Model-based clustering, discriminant analysis, and density estimation", Journal of
    the American Statistical Association 97 (2002), 611-631.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((90, 2)) + np.repeat([0.0, 8.0, 16.0], 30)[:, None]
    >>> choose_clusters(rows, "spherical", range(1, 5)).n_clusters
    3
    """
    numbers = tuple(ks)
    if not numbers or not all(isinstance(k, int | np.integer) and k >= 1 for k in numbers):
        raise error("LD210", option="ks", value=numbers, allowed="whole numbers >= 1, e.g. range(1, 11)")
    source = as_source(X, weight=sample_weight)
    if min(numbers) > source.n:
        raise error("LD253", n_components=min(numbers), n=source.n)
    numbers = tuple(int(k) for k in numbers if k <= source.n)
    components = COVARIANCE_TYPES if isinstance(component, str) and component == "auto" else (component,)
    shape = (len(components), len(numbers))
    likelihood, free, on_floor = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=bool)
    for i, kind in enumerate(components):
        for j, k in enumerate(numbers):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # every K is a trial; what matters is said of the one that won
                tol = TRIAL_NATS / source.total
                model = Mixture(kind, k, tol=tol, calibrate=False, random_state=random_state).fit(source, run=run)
            likelihood[i, j], free[i, j] = model.objective_, model.n_parameters_
            on_floor[i, j] = model.certificate_.boundary
    evidence = likelihood - 0.5 * free * np.log(source.total)
    eligible = np.where(on_floor & ~on_floor.all(), -np.inf, evidence)
    of = eligible.argmax(axis=0), np.arange(len(numbers))  # the best component for each number
    eligible = eligible[of]
    best = int(eligible.argmax())
    share = np.exp(eligible - eligible[best])
    share /= share.sum()
    lead = float(eligible[best] - np.delete(eligible, best).max(initial=-np.inf))
    collapsed = tuple(np.array(numbers)[np.all(on_floor, axis=0)].tolist())
    chosen = components[of[0][best]]
    words = _sentence(numbers, best, lead, eligible, chosen if len(components) > 1 else "")
    return ClusterChoice(numbers[best], chosen, numbers, evidence[of], likelihood[of], share, collapsed, words)


def _sentence(ks: tuple[int, ...], best: int, lead: float, eligible: Array, covariance: str) -> str:
    word = "1 cluster" if ks[best] == 1 else f"{ks[best]} clusters"
    word += COVARIANCE_WORDS.get(covariance, "")
    if not np.isfinite(lead):
        return f"{word}: no other number was eligible."
    second = ks[int(np.argsort(eligible)[-2])]
    ahead = f"{times_as_likely(lead)} as {second} ({lead:.1f} nats)"
    edge = "; it is the largest number tried" if ks[best] == max(ks) and len(ks) > 1 else ""
    return f"{word}, {ahead}{edge}." if lead >= DECISIVE_NATS else f"{word}, but only {ahead}: not decided{edge}."
