"""Mixtures of probabilistic principal component analysers."""

from __future__ import annotations

from typing import Any, ClassVar

from lowdim.models.base.estimator import COUNT, WHOLE, Rule
from lowdim.models.mixtures.components import LinearComponent
from lowdim.models.mixtures.mixture import MixtureModel


class MixtureOfPPCA(MixtureModel):
    """A mixture of probabilistic PCAs: K clusters, each with q axes and isotropic noise of its own, gaps welcome.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + s2_k I). Complete tables: W_k and s2_k in closed form from the weighted
    moments in every step; gaps: parameter-expanded EM. `sample` gives rows only, not their labels.

    Parameters
    ----------
    n_clusters : int, default=2
        The number K of components.
    n_components : int, default=1
        The number q of axes of each.
    tol : float, default=1e-8
        EM ends when the log-likelihood can gain no more than this, in nats a row.
    max_iter : int, default=1000
        The most passes over the table.
    n_init : int, default=10
        Starts that are compared on a sample; the best goes on with all rows.
    init : {"k-means++", "random"} or array of means, one row a component, default="k-means++"
        Centres to start from.
    calibrate : bool, default=True
        Of a table with gaps: fit first without 5 to 10 % of the seen cells (and, where these are few, without others),
        and scale intervals so that 90 % ones hold 90 % of these; the fit itself has all cells. False: one fit.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the starts and of the cells held back; None is 0.
    reg_covar : float, default=1e-6
        No noise variance falls below this share of the variance about the starting centres.

    Attributes
    ----------
    weights_ : array of shape (n_clusters,)
        The shares pi_k.
    means_ : array of shape (n_clusters, n_features)
        The components' means mu_k.
    components_ : array of shape (n_clusters, n_components, n_features)
        The axes W_k of each component, one a row.
    noise_variance_ : array of shape (n_clusters,)
        The noise variances s2_k.
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.
    n_clusters_ : int
        The number of components.
    calibration_ : float
        What standard deviations of fills are multiplied by, found with cells held back; 1 without gaps.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        The log-likelihood, its course, passes, and how far to trust the fit; the parameters and their units.

    References
    ----------
    M. E. Tipping and C. M. Bishop, "Mixtures of probabilistic principal component analyzers", Neural Computation 11
    (1999), 443-482.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 4)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> MixtureOfPPCA(2, 1).fit(X).weights_.round(2).tolist()
    [0.5, 0.5]
    """

    _rules: ClassVar[dict[str, Rule]] = {"n_clusters": COUNT, "n_components": WHOLE, **MixtureModel._rules}

    def __init__(
        self,
        n_clusters: int = 2,
        n_components: int = 1,
        *,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        reg_covar: float = 1e-6,
        calibrate: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.reg_covar = reg_covar
        self.calibrate = calibrate
        self.random_state = random_state

    def _component(self) -> LinearComponent:
        return LinearComponent(int(self.n_components), isotropic=True)
