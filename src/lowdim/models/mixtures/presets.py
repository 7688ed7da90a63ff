"""Mixtures of any parts, and the ones with names: of Gaussians, of probabilistic PCAs, of factor analysers."""

from __future__ import annotations

from typing import Any

from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, WHOLE, Rule, one_of, option
from lowdim.models.linear.factor_analysis import FactorAnalysis
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.mixtures.mixture import REG_COVAR, MixtureModel
from lowdim.models.mixtures.parts import COVARIANCE_TYPES, Parts, parts_of


class Mixture(MixtureModel):
    """A mixture of any parts: p(x) = sum_k pi_k p_k(x), gaps welcome.

    Each part is a model of its own, fitted by its own steps of EM to all rows, each counted by the part's share in it.
    Parts are fitted by maximum likelihood, those of `BayesianPCA` by variational Bayes (`objective_` is then the
    evidence bound, and axes that a part's rows do not support are switched off); those of `RobustPPCA` are Student's,
    so that far rows turn none of them.

    The latent position is one-of-K, so `transform` gives responsibilities p(k | seen cells of the row), `predict`
    the likeliest part; `impute` mixes the parts' conditional means, its spread is that within and between parts.
    `sample` gives rows only, not their labels.

    Attributes
    ----------
    weights_ : array of shape (n_clusters,)
        The shares pi_k.
    means_ : array of shape (n_clusters, n_features)
        The components' means.
    covariances_ : array
        Of Gaussians, in scikit-learn's shapes for such covariances.
    components_ : array of shape (n_clusters, n_axes, n_features)
        W of each linear part; there, in place of `covariances_`.
    noise_variance_ : array of shape (n_clusters,) or (n_clusters, n_features)
        The noise of each linear part.
    dof_, n_axes_ : arrays of shape (n_clusters,)
        Degrees of freedom of each `RobustPPCA`; axes kept of each `BayesianPCA`.
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.

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

    component: Any = option(
        default="full",
        rule=Rule(lambda v: True, "anything: what cannot be a part is refused with a message of its own"),
        kind='{"full", "tied", "diag", "spherical"} or estimator',
        words="What the parts are: Gaussians with such covariances, or one of ProbabilisticPCA, FactorAnalysis, "
        "RobustPPCA and BayesianPCA, not fitted. Its own `tol` and `max_iter` are not used.",
        kw_only=False,
    )
    n_clusters: int = option(default=2, rule=COUNT, words="The number K of parts.", kw_only=False)

    @property
    def _objective_name(self) -> str:  # type: ignore[override]
        return "log-likelihood" if isinstance(self.component, str) else self.component._objective_name

    @property
    def _laws_broken(self) -> dict[str, str]:  # type: ignore[override]
        return {} if isinstance(self.component, str) else self.component._laws_broken

    def _check_options(self) -> None:
        super()._check_options()
        if isinstance(self.component, LatentModel):
            self.component._check_options()

    def _count(self) -> int:
        return int(self.n_clusters)

    def _parts(self) -> Parts:
        return parts_of(self.component)


class GaussianMixture(MixtureModel):
    """A mixture of Gaussians with full, tied, diagonal or spherical covariances, gaps welcome.

    p(x) = sum_k pi_k N(x | mu_k, C_k); with gaps every row counts by the density of its seen cells, exactly.

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

    n_components: int = option(
        default=1,
        rule=COUNT,
        words="The number K of components, under scikit-learn's name; the other mixtures call it `n_clusters`.",
        kw_only=False,
    )
    covariance_type: str = option(
        default="full",
        rule=one_of(*COVARIANCE_TYPES),
        words="Any covariance, one for all components, diagonal ones, or multiples of the identity.",
    )

    def _parts(self) -> Parts:
        return parts_of(self.covariance_type)

    def _count(self) -> int:
        return int(self.n_components)


class MixtureOfPPCA(MixtureModel):
    """A mixture of probabilistic PCAs: K clusters, each with q axes and isotropic noise of its own, gaps welcome.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + s2_k I). Complete tables: W_k and s2_k in closed form from the weighted
    moments in every step; gaps: parameter-expanded EM. `sample` gives rows only, not their labels.

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

    n_clusters: int = option(default=2, rule=COUNT, words="The number K of components.", kw_only=False)
    n_components: int = option(default=1, rule=WHOLE, words="The number q of axes of each.", kw_only=False)

    def _count(self) -> int:
        return int(self.n_clusters)

    def _parts(self) -> Parts:
        return parts_of(ProbabilisticPCA(int(self.n_components)))


class MixtureOfFA(MixtureModel):
    """A mixture of factor analysers: K clusters, each with q factors and a noise variance for every column.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + Psi_k), Psi_k diagonal; the columns' units do not matter, and gaps are
    welcome. `sample` gives rows only, not their labels.

    Attributes
    ----------
    weights_ : array of shape (n_clusters,)
        The shares pi_k.
    means_ : array of shape (n_clusters, n_features)
        The components' means mu_k.
    components_ : array of shape (n_clusters, n_components, n_features)
        The axes W_k of each component, one a row.
    noise_variance_ : array of shape (n_clusters, n_features)
        The diagonals of Psi_k.
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.

    References
    ----------
    Z. Ghahramani and G. E. Hinton, "The EM algorithm for mixtures of factor analyzers", technical report CRG-TR-96-1,
    University of Toronto (1996); here with noise of its own for every cluster.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) * [1.0, 2.0, 1.0, 2.0] + rng.standard_normal((200, 4))
    >>> X[:100] += 9.0
    >>> MixtureOfFA(2, 1).fit(X).weights_.round(2).tolist()
    [0.5, 0.5]
    """

    n_clusters: int = option(default=2, rule=COUNT, words="The number K of components.", kw_only=False)
    n_components: int = option(default=1, rule=WHOLE, words="The number q of axes of each.", kw_only=False)
    reg_covar: float = option(
        default=1e-4,
        rule=REG_COVAR,
        words="No noise variance falls below this share of its column's variance about the starting centres; higher "
        "than for other mixtures since, as in factor analysis, uniquenesses like to run into it.",
    )

    def _count(self) -> int:
        return int(self.n_clusters)

    def _parts(self) -> Parts:
        return parts_of(FactorAnalysis(int(self.n_components)))
