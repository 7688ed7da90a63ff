"""What maps by Gaussian processes share: rows at places, smooth functions from places to cells, and their verbs."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from lowdim.engine.fit import Fit
from lowdim.maths.linalg import Array, Mask, lower
from lowdim.maths.optimise import climb_rows
from lowdim.maths.seeds import normals
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, option
from lowdim.models.base.results import Cells, Certificate, Posterior, certify, inflation_note, squared
from lowdim.models.gaussian_process.gp import JITTER_LEVELS, Decoder, Kernel
from lowdim.sources.source import Block
from lowdim.text.messages import warn

TRIED_PLACES = 1000  # of the fit, at most, where predictions at all of them would not be bounded


class MapParams(Protocol):
    """What the parameters of such a map hold, in the frame's units."""

    @property
    def X(self) -> Array:
        """n x q, the places of the rows of the fit."""

    @property
    def mu(self) -> Array:
        """d, means of the columns."""

    @property
    def inflation(self) -> float:
        """What standard deviations are multiplied by, from held-out cells."""

    @property
    def jitter_level(self) -> int:
        """Index into JITTER_LEVELS."""

    @property
    def centre(self) -> Array:
        """q: the prior of a new row's place is N(centre, spread)."""

    @property
    def spread(self) -> Array:
        """q x q."""

    @property
    def kernel(self) -> Kernel: ...

    def decoder(self) -> Decoder: ...


class UnplacedRows(NamedTuple):
    """Rows to be placed: their centred cells, which of them are seen, the decoder and the places' prior."""

    y: Array
    seen: Mask
    decoder: Decoder
    centre: Array
    precision: Array

    def rows(self, which: Any) -> UnplacedRows:
        return self._replace(y=self.y[which], seen=self.seen[which])

    def log_joint(self, rows: Any, Z: Array) -> tuple[Array, Array]:
        """log p(cells | place) and the logarithm of the prior (its constant left out) of some rows, and the slopes."""
        value, slope = self.decoder.density(Z, self.y[rows], self.seen[rows])
        pull = (Z - self.centre) @ self.precision
        return value - 0.5 * ((Z - self.centre) * pull).sum(axis=1), slope - pull

    def curvature(self, Z: Array) -> Array:
        """Gauss-Newton's: how sharply the cells determine each row's place, and the prior."""
        _, var, parts = self.decoder.at(Z)
        J = self.decoder.slopes(Z, parts)
        weight = self.seen / (var + self.decoder.kernel.noise)
        return np.einsum("mad,mbd->mab", J * weight[:, None, :], J) + self.precision

    def best_of(self, X: Array) -> Array:
        """For each row the best of these places."""
        mean, var, _ = self.decoder.at(X)
        w, off = 1.0 / (var + self.decoder.kernel.noise), X - self.centre
        value = self.seen @ (np.log(w) - w * mean**2).T + 2.0 * self.y @ (w * mean).T - self.y**2 @ w.T
        value = value - ((off @ self.precision) * off).sum(axis=1)
        return X[value.argmax(axis=1)]


P = TypeVar("P", bound=MapParams)


class GaussianProcessMap(LatentModel[P, Posterior], Generic[P]):
    """A map from places to cells by Gaussian processes; the family of GPLVM and BayesianGPLVM.

    A new row goes to the peak of p(cells | place) p(place), its posterior is Laplace's Gaussian there and its log
    density Laplace's estimate. A child gives `_fit`, `_candidates` and `_cost`.
    """

    _pairs: ClassVar[str] = "every row's place is a parameter, and the likelihood is one of all rows at once"
    n_components: int = option(default=2, rule=COUNT, words="Dimensions of the places.", kw_only=False)

    _kept: tuple[Any, Decoder] | None = None  # parameters and their decoder, where it is kept

    def asked_often(self) -> Self:
        """A copy whose decoder is worked out once; it holds a root of a matrix of all rows for every set of gaps."""
        kept = copy(self)
        kept._kept = (self.params_, self.params_.decoder())
        return kept

    def _decoder(self, params: P) -> Decoder:
        return self._kept[1] if self._kept is not None and self._kept[0] is params else params.decoder()

    def _candidates(self, params: P) -> Array:
        """Places of the fit from which new rows may start."""
        raise NotImplementedError

    def _place(self, params: P, rows: UnplacedRows) -> Array:
        """The peak of each row's joint density that is climbed to from the best of the candidates."""
        Z = rows.best_of(self._candidates(params))
        return climb_rows(rows.log_joint, Z, _inverse(rows.curvature(Z)))

    def _posterior(self, params: P, block: Block) -> Posterior:
        """The peak of each row's density over places, and Laplace's covariance and evidence there."""
        seen = block.seen
        y = np.where(seen, block.x - params.mu, 0.0)
        rows = UnplacedRows(y, seen, self._decoder(params), params.centre, _inverse(params.spread))
        Z = self._place(params, rows)
        curve = rows.curvature(Z)
        value = rows.log_joint(slice(None), Z)[0]
        value -= 0.5 * (np.linalg.slogdet(curve)[1] + np.linalg.slogdet(params.spread)[1])
        i, j = lower(Z.shape[1])
        packed = _inverse(curve)[:, i, j]
        empty = ~seen.any(axis=1)
        Z[empty], packed[empty], value[empty] = params.centre, params.spread[i, j], 0.0
        return Posterior(Z, packed, value)

    def _decode(self, params: P, rows: Posterior) -> Cells:
        """The predictions at each row's place, and by their slopes what the doubt about it adds."""
        D = self._decoder(params)
        mean, var, parts = D.at(rows.mean)
        if rows.packed.any():
            J = D.slopes(rows.mean, parts)
            var = var + np.einsum("mad,mab,mbd->md", J, rows.cov, J)
        # rows of which nothing is known, whose posterior is the prior: the predictions at the places of the fit, mixed
        i, j = lower(len(params.centre))
        empty = (rows.packed == params.spread[i, j]).all(axis=1) & (rows.mean == params.centre).all(axis=1)
        if empty.any():
            m, v, _ = D.at(strided(params.X))
            mean[empty], var[empty] = m.mean(axis=0), v.mean(axis=0) + m.var(axis=0)
        return Cells(mean + params.mu, var, np.full_like(mean, params.kernel.noise))

    def _draw(self, params: P, rows: Posterior, rng: list[np.random.Generator]) -> Array:
        """Places drawn from the posterior, then the cells there."""
        q = rows.mean.shape[1]
        normal = normals(rng, q + len(params.mu))
        Z = rows.mean + (np.linalg.cholesky(rows.cov) @ normal[:, :q, None])[:, :, 0]
        cells = self._decode(params, self._at(params, Z))
        return cells.mean + np.sqrt(cells.var + cells.noise) * normal[:, q:]

    def _prior(self, params: P, n: int) -> Posterior:
        i, j = lower(len(params.centre))
        return Posterior(np.tile(params.centre, (n, 1)), np.tile(params.spread[i, j], (n, 1)), np.zeros(n))

    def inverse_transform(self, Z: Any, *, return_std: bool = False) -> Any:
        """The cells that places decode to.

        Parameters
        ----------
        Z : array of shape (m, q)
        return_std : bool, default False
            Also give the standard deviation of a new cell at each place.

        Returns
        -------
        array of shape (m, d), or two of them
        """
        mean = super().inverse_transform(Z)
        return (mean, self.frame_.lengths(np.sqrt(self._predicted_variance(Z)))) if return_std else mean

    def predictive_variance(self, Z: Any) -> Array:
        """How uncertain a new cell would be at places on the map, noise included; small near the rows of the fit.

        Parameters
        ----------
        Z : array of shape (m, q)

        Returns
        -------
        array of shape (m, d)
        """
        return squared(self._predicted_variance(Z), 1.0 / self.frame_.scale)

    def _predicted_variance(self, Z: Any) -> Array:
        """The same in the frame's units."""
        cells: Cells = self._of_places(self._decoded, Z, self._n_features_out)
        return cells.var + cells.noise

    def _certificate(self, fit: Fit[P, Any], notes: list[str], boundary: tuple[str, ...]) -> Certificate:
        """Of a climb: its expected digits follow from what the last iterations gained."""
        params = fit.params
        if params.jitter_level:
            jitter = JITTER_LEVELS[params.jitter_level]
            notes.append(f"{jitter:.0e} of the mean variance was added to the kernel's diagonal")
        notes.append(inflation_note(params.inflation))
        return certify(fit, self._objective_name, rows=len(params.X), boundary=boundary, notes=tuple(notes))


def warn_jitter(params: MapParams) -> None:
    """Say so where a kernel's matrix needed jitter."""
    if params.jitter_level:
        warn("LD472", jitter=JITTER_LEVELS[params.jitter_level])


def strided(X: Array) -> Array:
    """Up to TRIED_PLACES of the places, evenly spread over the rows."""
    return X[:: -(-len(X) // TRIED_PLACES)]


def _inverse(A: Array) -> Array:
    return np.asarray(np.linalg.inv(A), dtype=np.float64)
