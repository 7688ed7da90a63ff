"""Mixtures of Gaussians under scikit-learn's names."""

from __future__ import annotations

from typing import Any, ClassVar

from lowdim.models.base.estimator import COUNT, Rule
from lowdim.models.mixtures.components import COVARIANCE_TYPES, Component, component_of
from lowdim.models.mixtures.mixture import MixtureModel


class GaussianMixture(MixtureModel):
    """A mixture of Gaussians with full, tied, diagonal or spherical covariances, gaps welcome.

    p(x) = sum_k pi_k N(x | mu_k, C_k); with gaps every row counts by the density of its seen cells, exactly.

    Parameters
    ----------
    n_components : int, default=1
        The number K of components, under scikit-learn's name; the other mixtures call it `n_clusters`.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Any covariance, one for all components, diagonal ones, or multiples of the identity.
    tol : float, default=1e-8
        EM ends when the log-likelihood can gain no more than this, in nats a row.
    reg_covar : float, default=1e-6
        A floor and not an addition: no covariance falls below this share of the variances about the starting
        centres, in any direction; a component on that floor is named (LD251).
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

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        The shares pi_k.
    means_ : array of shape (n_components, n_features)
        The components' means mu_k.
    covariances_ : array of shape (n_components, n_features, n_features)
        For "full"; (n_features, n_features) for "tied", (n_components, n_features) for "diag", (n_components,) for
        "spherical".
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.
    n_clusters_ : int
        The number of components.
    calibration_ : float
        What standard deviations of fills are multiplied by, found with cells held back; 1 without gaps.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        The log-likelihood, its course, passes, and how far to trust the fit; the parameters and their units.

    Notes
    -----
    `sample` gives rows only, where scikit-learn's gives rows and labels.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM algorithm",
    Journal of the Royal Statistical Society B 39 (1977), 1-38.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((90, 2)) + np.repeat([0.0, 7.0, 14.0], 30)[:, None]
    >>> GaussianMixture(3, covariance_type="tied").fit(X).weights_.round(2).tolist()
    [0.33, 0.33, 0.33]
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "covariance_type": Rule(lambda v: isinstance(v, str) and v in COVARIANCE_TYPES, f"one of {COVARIANCE_TYPES}"),
        **MixtureModel._rules,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-8,
        reg_covar: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        calibrate: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.calibrate = calibrate
        self.random_state = random_state

    def _component(self) -> Component:
        component = component_of(self.covariance_type)
        assert component is not None  # the rule has seen to it
        return component

    def _count(self) -> int:
        return int(self.n_components)
