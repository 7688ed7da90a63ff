"""How many clusters: mixtures with 1, 2, ... components, weighed by their evidence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import Run
from lowdim.math.linalg import Array
from lowdim.models.mixtures.mixture import Mixture
from lowdim.sources.arrays import as_source
from lowdim.text.messages import error

CLOSE = 3.0  # nats: less than 20 to 1 is no decision (Kass and Raftery 1995)
LOOSE = 1e-2  # nats a fit may be short of its maximum: far less than decides anything


class ClusterChoice(NamedTuple):
    """The number of clusters a table speaks for, and how clearly."""

    n_clusters: int
    ks: tuple[int, ...]
    log_evidence: Array  # Schwarz's approximation of log p(table | K), in nats
    log_likelihood: Array
    probability: Array  # of each K, had all been equally likely before
    collapsed: tuple[int, ...]  # the K whose fit was held up by the covariance floor: not eligible
    sentence: str


def choose_clusters(
    X: Any,
    component: Any = "full",
    ks: Iterable[int] = range(1, 11),
    *,
    sample_weight: Any = None,
    random_state: Any = None,
    run: Run | None = None,
) -> ClusterChoice:
    """The number of clusters by evidence; gaps and weights are welcome, and one cluster is a possible answer.

    log p(X | K) = max log-likelihood - (numbers fitted) / 2 log n, Schwarz's approximation for a mixture of
    `component` (as `Mixture` takes it). A fit held up by the covariance floor has no maximum to approximate by
    and cannot win, unless all are.

    Reference: Schwarz (1978); for mixtures Keribin (2000), Fraley and Raftery (2002).

    >>> rows = np.random.default_rng(0).standard_normal((90, 2)) + np.repeat([0.0, 8.0, 16.0], 30)[:, None]
    >>> choose_clusters(rows, "spherical", range(1, 5)).n_clusters
    3
    """
    numbers = tuple(ks)
    if not numbers or not all(isinstance(k, int | np.integer) and k >= 1 for k in numbers):
        raise error("LD210", option="ks", value=numbers, allowed="whole numbers >= 1, e.g. range(1, 11)")
    source = as_source(X, weight=sample_weight)
    if min(numbers) > source.n:
        raise error("LD253", asked=min(numbers), n=source.n)
    numbers = tuple(int(k) for k in numbers if k <= source.n)
    values, free, held = [], [], []
    for k in numbers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # every K is a trial; what matters is said of the one that won
            model = Mixture(component, k, tol=LOOSE / source.total, random_state=random_state).fit(source, run=run)
        values.append(model.objective_)
        free.append(model.n_parameters_)
        held.append(bool(model.certificate_.boundary))
    likelihood = np.array(values)
    evidence = likelihood - 0.5 * np.array(free) * np.log(source.total)
    return _chosen(numbers, likelihood, evidence, np.array(held))


def _chosen(ks: tuple[int, ...], likelihood: Array, evidence: Array, held: Any) -> ClusterChoice:
    eligible = np.where(held & ~held.all(), -np.inf, evidence)
    best = int(eligible.argmax())
    share = np.exp(eligible - eligible[best])
    share /= share.sum()
    others = np.delete(eligible, best)
    lead = float(eligible[best] - others.max(initial=-np.inf))
    lifted = tuple(k for k, h in zip(ks, held, strict=True) if h)
    return ClusterChoice(ks[best], ks, evidence, likelihood, share, lifted, _sentence(ks, best, lead, eligible))


def _sentence(ks: tuple[int, ...], best: int, lead: float, eligible: Array) -> str:
    word = "1 cluster" if ks[best] == 1 else f"{ks[best]} clusters"
    if not np.isfinite(lead):
        return f"{word}: no other number was eligible."
    second = ks[int(np.argsort(eligible)[-2])]
    ahead = f"{lead:.1f} nats ahead of {second}"
    edge = "; it is the largest number tried" if ks[best] == max(ks) and len(ks) > 1 else ""
    return f"{word}, {ahead}{edge}." if lead >= CLOSE else f"{word}, but only {ahead}: not decided{edge}."
