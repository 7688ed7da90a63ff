"""A fitted linear-Gaussian model in the units it works in: what judges of rows, axes and refits start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.sources.source import Block
from lowdim.sources.views import Frame

# The models load scikit-learn, which takes as long as all else: who draws a stored run reads records of judges alone.
if TYPE_CHECKING:
    from lowdim.models.linear.linear_gaussian import LinearGaussian, LinearGaussianParams


class FramedGaussian(NamedTuple):
    """x = mu + W z + e, z ~ N(0, I), e ~ N(0, diag(psi)), for cells x in the frame's units."""

    W: Array  # d x q
    mu: Array  # d
    psi: Array  # d
    low: Array  # d, the bounds of the noise variances
    excess: Array  # d, how much wider than psi the noise of a new cell is, since psi was fitted too
    frame: Frame
    params: LinearGaussianParams | None  # of the model itself, where they are of this kind

    def inward(self, block: Block) -> Block:
        """Rows in the table's units, in the frame's."""
        return self.frame.inward(block)

    def start(self) -> LinearGaussianParams:
        """Parameters from which EM goes on."""
        if self.params is not None:
            return self.params
        from lowdim.models.linear.linear_gaussian import LinearGaussianParams

        d, q = self.W.shape
        return LinearGaussianParams(self.W, self.mu, self.psi, np.eye(q), np.zeros((d, 1)), self.low, self.excess)


def framed_gaussian(model: LinearGaussian) -> FramedGaussian:
    """The model of a fit; principal components as the probabilistic PCA that is their density, Student's rows as
    the Gaussian of their bulk.

    Parameters
    ----------
    model : LinearGaussian
        Fitted.

    Returns
    -------
    FramedGaussian
    """
    from lowdim.models.linear.linear_gaussian import LinearGaussianParams
    from lowdim.models.linear.pca import PCAParams

    p = model.params_
    if isinstance(p, LinearGaussianParams):
        return FramedGaussian(p.W, p.mu, p.psi, p.low, p.excess, model.frame_, p)
    if not isinstance(p, PCAParams):
        return FramedGaussian(p.W, p.mu, p.psi, p.low, p.excess, model.frame_, None)
    W = p.W * np.sqrt(np.maximum(p.variance - p.psi[0], 0.0))  # scores with variances of their own
    return FramedGaussian(W, p.mu, p.psi, p.low, p.excess, model.frame_, None)
