"""Mixtures of Gaussians under scikit-learn's names."""

from __future__ import annotations

from typing import Any, ClassVar

from lowdim.models.base.estimator import COUNT, POSITIVE, Rule
from lowdim.models.mixtures.components import NAMES, Part, part_of
from lowdim.models.mixtures.mixture import FLOOR, INIT, LOWEST, SEED, Mixture


class GaussianMixture(Mixture):
    """A mixture of Gaussians with full, tied, diagonal or spherical covariances, gaps welcome.

    p(x) = sum_k pi_k N(x | mu_k, C_k); with gaps every row counts by the density of its seen cells, exactly.
    `reg_covar` is a floor and not an addition: no covariance falls below that share of the variances about the starting
    centres, in any direction. `tol` is what the log-likelihood of all rows may still gain, in nats.

    Reference: Dempster, Laird and Rubin (1977); Zabaras seed on mixtures, Kipf seed.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((90, 2)) + np.repeat([0.0, 7.0, 14.0], 30)[:, None]
    >>> GaussianMixture(3, covariance_type="tied").fit(X).weights_.round(2).tolist()
    [0.33, 0.33, 0.33]
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "covariance_type": Rule(lambda v: isinstance(v, str) and v in NAMES, f"one of {NAMES}"),
        "tol": POSITIVE,
        "reg_covar": FLOOR,
        "max_iter": COUNT,
        "n_init": COUNT,
        "init": INIT,
        "random_state": SEED,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.random_state = random_state

    def _part(self) -> Part:
        found = part_of(self.covariance_type)
        assert found is not None
        return found

    def _asked(self) -> tuple[int, float]:
        return int(self.n_components), max(float(self.reg_covar), LOWEST)

    def _standardize(self) -> bool:
        return False
