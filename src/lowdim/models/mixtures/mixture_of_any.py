"""A mixture of any model that can be mixed."""

from __future__ import annotations

from typing import Any, ClassVar

from lowdim.models.base.estimator import COUNT, Rule
from lowdim.models.mixtures.components import Component, component_of
from lowdim.models.mixtures.mixture import MixtureModel
from lowdim.text.messages import error


class Mixture(MixtureModel):
    """A mixture of any components: p(x) = sum_k pi_k p_k(x), by maximum likelihood, gaps welcome.

    The latent position is one-of-K, so `transform` gives responsibilities p(k | seen cells of the row), `predict`
    the likeliest component; `impute` mixes the components' conditional means, its spread is that within and between
    components. `sample` gives rows only, not their labels.

    Parameters
    ----------
    component : {"full", "tied", "diag", "spherical"} or estimator, default="full"
        Gaussians with such covariances, or ProbabilisticPCA or FactorAnalysis, not fitted.
    n_clusters : int, default=2
        The number K of components.
    tol : float, default=1e-8
        EM ends when the log-likelihood can gain no more than this, in nats a row.
    max_iter : int, default=1000
        The most passes over the table.
    n_init : int, default=10
        Starts that are compared on a sample; the best goes on with all rows.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Centres to start from.
    reg_covar : float, default=1e-6
        No covariance falls below this share of the variances about the first start's centres: the likelihood then
        has a maximum, and a component on that floor is named (LD251).
    calibrate : bool, default=True
        Of a table with gaps: fit first without 5 to 10 % of the seen cells (and, where these are few, without others),
        and scale intervals so that 90 % ones hold 90 % of these; the fit itself has all cells. False: one fit.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the starts and of the cells held back; None is 0.

    Attributes
    ----------
    weights_ : array of shape (n_clusters,)
        The shares pi_k.
    means_ : array of shape (n_clusters, n_features)
        The components' means.
    covariances_ : array
        Of Gaussians, in scikit-learn's shapes for such covariances.
    components_ : array of shape (n_clusters, n_axes, n_features)
        W of each linear component; there, in place of `covariances_`.
    noise_variance_ : array of shape (n_clusters,) or (n_clusters, n_features)
        The noise of each linear component.
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
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [0.1, 0.0], [5.0, 5.2], [5.1, np.nan], [4.9, 5.0]])
    >>> labels = Mixture("spherical", 2).fit(X).predict(X)
    >>> labels.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"n_clusters": COUNT, **MixtureModel._rules}

    def __init__(
        self,
        component: Any = "full",
        n_clusters: int = 2,
        *,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        reg_covar: float = 1e-6,
        calibrate: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.component = component
        self.n_clusters = n_clusters
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.reg_covar = reg_covar
        self.calibrate = calibrate
        self.random_state = random_state

    def _component(self) -> Component:
        component = component_of(self.component)
        if component is None:
            raise error("LD250", component=self.component)
        return component

    def _standardize(self) -> bool:
        return bool(getattr(self.component, "standardize", False))
