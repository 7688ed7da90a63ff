"""Every cell given the others of its row, and the distances of rows within and off the map, of a linear Gaussian.

Of a row's seen cells o, with C = W W' + Psi, P = C_oo^-1 and r = x_o - mu_o:

    x_j given the others ~ N(x_j - (P r)_j / P_jj, 1 / P_jj)

so that s_j = (P r)_j / sqrt(P_jj) is how far cell j is from what the *other* cells of its row say, in standard
deviations, and hiding cell j lowers D2 = r' P r by exactly s_j^2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run, walk
from lowdim.maths.gaussian import Latent, posterior
from lowdim.maths.linalg import Array, Mask, lower, unpack
from lowdim.sources.source import Block
from lowdim.sources.views import Frame

# The models load scikit-learn, which takes as long as all else: who draws a stored run reads records of judges alone.
if TYPE_CHECKING:
    from lowdim.models.linear.linear_gaussian import LinearGaussian, LinearGaussianParams

HELD_SHARE = 0.3  # of a row's seen cells that may be left out, the worst first; a row with more wrong cells is far
RANK_SHARE = 1e-10  # eigenvalues of W' Psi^-1 W below this share of the largest hold no information on z


class CellBeliefs(NamedTuple):
    """What the rest of a row makes of each of its cells (n x d, in the table's units), and how far the row as a whole
    is from what the model expects (n). At a gap mean and sd are those of its fill, and all else says nothing.
    """

    seen: Mask
    mean: Array  # what the others say; of levels between their values, of a label 0
    sd: Array
    surprise: Array  # how far the value is from that, in standard deviations, or as a normal score of its p
    p: Array  # of values no likelier than the one seen, by the law of the column; 1 at gaps
    share: Array  # probability of the value seen, where a column has levels; else 1
    likeliest: Array  # code of the most likely level, and its probability; 0 of numbers
    likeliest_share: Array
    D2: Array  # the whole distance of the row, its parts within and off the map, and the degrees of freedom within
    T2: Array
    Q: Array
    rank: NDArray[np.intp]
    p_D2: Array  # by the law of the rows


# a linear Gaussian, in the units that it works in ---------------------------------------------------------------
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


class CellsGivenOthers(NamedTuple):
    """Every seen cell beside what the other kept cells of its row say, in the model's units."""

    shift: Array  # n x d, value less expected; 0 at gaps
    sd: Array  # n x d, of what is expected; at gaps that of a fill
    D2: Array  # n, of the kept cells
    latent: Latent  # the position of each row, by its kept cells

    @property
    def surprise(self) -> Array:
        """How far each cell is from what the others say, in standard deviations."""
        return self.shift / self.sd


def given_others(g: FramedGaussian, x: Array, seen: Mask | None, kept: Mask | None = None) -> CellsGivenOthers:
    """Every seen cell given the other `kept` cells of its row (all seen ones); x is in the model's units, `seen` is
    None where there are no gaps.

    P = Psi^-1 - Psi^-1 W S W' Psi^-1, so (P r)_j / P_jj = residual_j / free_j and 1 / P_jj = psi_j / free_j with
    free_j = 1 - w_j' S w_j / psi_j. A cell that is not kept is beside its fill: shift x_j - mu_j - w_j'z, variance
    w_j' S w_j + psi_j.
    """
    used = seen if kept is None else kept
    latent = posterior(x if kept is None else np.where(kept, x, 0.0), used, g.W, g.mu, g.psi)
    i, j = lower(g.W.shape[1])
    twice = np.where(i == j, 1.0, 2.0)
    spread = (latent.cov.T * twice) @ (g.W[:, i] * g.W[:, j]).T  # w_j' S w_j
    free = np.maximum(1.0 - spread / g.psi, np.finfo(float).eps)
    shift, variance = latent.residual / free, g.psi / free
    if used is not None:
        variance = np.where(used, variance, spread + g.psi)
    if kept is not None:
        shift = np.where(kept, shift, x - g.mu - latent.mean @ g.W.T)
        shift = shift if seen is None else np.where(seen, shift, 0.0)
    D2 = (latent.residual**2) @ (1.0 / g.psi) + (latent.mean**2).sum(axis=1)
    return CellsGivenOthers(shift, np.sqrt(np.broadcast_to(variance, shift.shape)), D2, latent)


def kept_cells(seen: Mask, cut: Array, first: Array, surprises: Callable[[NDArray[np.intp], Mask], Array]) -> Mask:
    """All seen cells but those that contradict their row: the most surprising of it, and so on, until none is beyond
    the cut of its column, in standard deviations. `first` is how far each cell is from what all others of its row say,
    `surprises` tells it of the cells of some rows beside the kept ones.

    At most a share of a row is left out; what no longer surprises the kept cells at the end is taken back.
    """
    keep, most = seen.copy(), np.floor(HELD_SHARE * seen.sum(axis=1))
    rows = np.flatnonzero((seen & (np.abs(first) > cut)).any(axis=1))
    while len(rows):
        size = np.where(keep[rows], np.abs(surprises(rows, keep[rows])) / cut, 0.0)
        live = (size.max(axis=1, initial=0.0) > 1.0) & ((seen[rows] & ~keep[rows]).sum(axis=1) < most[rows])
        rows = rows[live]
        keep[rows, size[live].argmax(axis=1)] = False
    rows = np.flatnonzero((seen & ~keep).any(axis=1))
    if len(rows):
        keep[rows] |= seen[rows] & (np.abs(surprises(rows, keep[rows])) < cut)
    return keep


def kept_by(g: FramedGaussian, z: Array, seen: Mask, cut: Array) -> Mask:
    """The `kept_cells` of rows z in the units of a linear Gaussian."""
    first = given_others(g, z, seen).surprise
    return kept_cells(seen, cut, first, lambda rows, keep: given_others(g, z[rows], seen[rows], keep).surprise)


def with_rows(whole: NDArray[Any], rows: NDArray[np.intp], new: NDArray[Any]) -> NDArray[Any]:
    """An array with some of its rows replaced."""
    out = np.array(whole)
    out[rows] = new
    return out


def distances(g: FramedGaussian, latent: Latent, seen: Mask | None) -> tuple[Array, Array, NDArray[np.intp]]:
    """T2 and Q of every row, the parts of D2 within and off the map, and the rank of the map within its seen cells.

    With G = W_o' Psi_o^-1 W_o: S = (I + G)^-1, so T2 = |z|^2 + z' G^+ z, and Q is the weighted sum of
    squares left by the least-squares position z + G^+ z: sums of squares that cannot cancel.
    """
    z = latent.mean
    i, j = lower(g.W.shape[1])
    V = g.W / g.psi[:, None]
    m = None if seen is None else seen.astype(np.float64)
    packed = (V.T @ g.W)[i, j][:, None] if m is None else (V[:, i] * g.W[:, j]).T @ m.T
    more, rank = informed_shift(packed, z)
    left = latent.residual - more @ g.W.T
    if m is not None:
        left *= m
    Q = (left * left) @ (1.0 / g.psi)
    T2 = (z * z).sum(axis=1) + (z * more).sum(axis=1)
    return T2, Q, rank


def informed_shift(packed: Array, z: Array) -> tuple[Array, NDArray[np.intp]]:
    """G^+ z of every row and the rank of G, the information that its cells hold about its place z.

    G is packed, q(q+1)/2 x n, or x 1 where all rows have the same.
    """
    values, U = np.linalg.eigh(unpack(packed, z.shape[1]))
    held = values > RANK_SHARE * values.max(axis=1, initial=0.0, keepdims=True)
    inverse = np.where(held, 1.0 / np.where(held, values, 1.0), 0.0)
    across = np.matmul(np.swapaxes(U, 1, 2), z[:, :, None])[:, :, 0]
    return np.matmul(U, (inverse * across)[:, :, None])[:, :, 0], np.broadcast_to(held.sum(axis=1), len(z))


def all_surprises(model: LinearGaussian, X: Any) -> Array:
    """(value - expected from the other cells of the row) / sd for every cell; 0 at gaps."""
    g = framed_gaussian(model)

    def one(raw: Block) -> Array:
        block = g.inward(raw)
        return given_others(g, block.x, block.mask).surprise

    return np.concatenate([rows for _, rows in walk(one, model.arrange(X), Run())])
