"""Mixtures of linear-Gaussian models: of probabilistic PCAs and of factor analysers."""

from __future__ import annotations

from typing import Any, ClassVar

from lowdim.models.base.estimator import WHOLE
from lowdim.models.base.latent import Rule
from lowdim.models.linear.factor_analysis import FactorAnalysis
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.mixtures.components import Part, part_of
from lowdim.models.mixtures.mixture import Mixture


class MixtureOfPPCA(Mixture):
    """A mixture of probabilistic PCAs: K clusters, each with q axes and isotropic noise of its own.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + s2_k I).  Complete tables: W_k and s2_k in closed form from the
    weighted moments in every step; gaps: parameter-expanded EM.

    Reference: Tipping and Bishop (1999b); Lawrence seed 2.14.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 4)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> MixtureOfPPCA(2, 1).fit(X).weights_.round(2).tolist()
    [0.5, 0.5]
    """

    _rules: ClassVar[dict[str, Rule]] = {**Mixture._rules, "n_components": WHOLE}

    def __init__(
        self,
        n_clusters: int = 2,
        n_components: int = 1,
        *,
        tol: float = 1e-5,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        floor: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.floor = floor
        self.random_state = random_state

    def _part(self) -> Part:
        found = part_of(ProbabilisticPCA(self.n_components))
        assert found is not None
        return found

    def _standardize(self) -> bool:
        return False


class MixtureOfFA(MixtureOfPPCA):
    """A mixture of factor analysers: K clusters, each with q factors and a noise variance for every column.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + Psi_k), Psi_k diagonal; the columns' units do not matter. The floor is
    higher than elsewhere: as in factor analysis, uniquenesses like to run into it.

    Reference: Ghahramani and Hinton (1996), with a covariance of their own for every cluster.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) * [1.0, 2.0, 1.0, 2.0] + rng.standard_normal((200, 4))
    >>> X[:100] += 9.0
    >>> MixtureOfFA(2, 1).fit(X).weights_.round(2).tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        n_clusters: int = 2,
        n_components: int = 1,
        *,
        tol: float = 1e-5,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        floor: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            n_components,
            tol=tol,
            max_iter=max_iter,
            n_init=n_init,
            init=init,
            floor=floor,
            random_state=random_state,
        )

    def _part(self) -> Part:
        found = part_of(FactorAnalysis(self.n_components))
        assert found is not None
        return found
