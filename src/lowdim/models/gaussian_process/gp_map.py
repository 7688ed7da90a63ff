"""What maps by Gaussian processes share: rows at places, smooth functions from places to cells, and their verbs."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from lowdim.engine.fit import Fit
from lowdim.engine.fold import Run
from lowdim.maths.linalg import Array, Mask, lower
from lowdim.maths.optimise import climb_rows
from lowdim.models.base.calibration import inflation_note
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, certify, em_digits, squared
from lowdim.models.base.survey import TableSurvey, survey_for_fit
from lowdim.models.gaussian_process.gp import JITTER_LEVELS, Decoder, Kernel
from lowdim.sources.source import Block, Source
from lowdim.text.messages import error, warn

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

    def peaks(self, X: Array) -> Array:
        """The peak of each row's joint density that is climbed to from the best of these places."""
        Z = self.best_of(X)
        return climb_rows(self.log_joint, Z, _inverse(self.curvature(Z)))


class GaussianProcessMap(LatentModel):
    """A map from places to cells by Gaussian processes; the family of GPLVM and BayesianGPLVM.

    A new row goes to the peak of p(cells | place) p(place), its posterior is Laplace's Gaussian there and its log
    density Laplace's estimate. A child gives `_fit`, `_candidates`, `_attributes`, `_certify` and `_cost`.
    """

    _pairs: ClassVar[str] = "every row's place is a parameter, and the likelihood is one of all rows at once"
    n_components: int

    def fit(self, X: Any, y: Any = None, *, run: Run | None = None) -> Self:  # type: ignore[override]
        """Fit the model to a table; `y` is ignored, and rows cannot have weights.

        Parameters
        ----------
        X : table of n rows and d columns; missing cells are NaN
        y : ignored
        run : lowdim.Run, optional
            Threads, memory, callback and checkpoint.

        Returns
        -------
        self
        """
        return super().fit(X, y, run=run)

    def _survey(self, source: Source, run: Run, unit_free: bool = False) -> TableSurvey:
        """The first pass, after what cannot be fitted has been refused."""
        if source.weight is not None:
            raise error("LD283", model=type(self).__name__)
        if self.n_components > source.d:
            raise error("LD200", n_components=self.n_components, most=source.d, why=f"the table has {source.d} columns")
        return survey_for_fit(source, run, unit_free=unit_free)

    def _candidates(self, params: Any) -> Array:
        """Places of the fit from which new rows may start."""
        raise NotImplementedError

    def _place(self, params: Any, rows: UnplacedRows) -> Array:
        return rows.peaks(self._candidates(params))

    def _posterior(self, params: MapParams, block: Block) -> Posterior:
        """The peak of each row's density over places, and Laplace's covariance and evidence there."""
        seen = np.ones(block.x.shape, dtype=bool) if block.mask is None else block.mask
        y = np.where(seen, block.x - params.mu, 0.0)
        rows = UnplacedRows(y, seen, params.decoder(), params.centre, _inverse(params.spread))
        Z = self._place(params, rows)
        curve = rows.curvature(Z)
        value = rows.log_joint(slice(None), Z)[0]
        value -= 0.5 * (np.linalg.slogdet(curve)[1] + np.linalg.slogdet(params.spread)[1])
        i, j = lower(Z.shape[1])
        packed = _inverse(curve)[:, i, j]
        empty = ~seen.any(axis=1)
        Z[empty], packed[empty], value[empty] = params.centre, params.spread[i, j], 0.0
        return Posterior(Z, packed, value)

    def _decode(self, params: MapParams, posterior: Posterior) -> Cells:
        D = params.decoder()
        mean, var, parts = D.at(posterior.mean)
        if posterior.packed.any():
            J = D.slopes(posterior.mean, parts)
            var = var + np.einsum("mad,mab,mbd->md", J, posterior.cov, J)
        empty = _is_prior(params, posterior)
        w = np.where(empty, 1.0, params.inflation**2)[:, None]
        if empty.any():  # the predictions at the places of the fit, mixed
            m, v, _ = D.at(strided(params.X))
            mean[empty], var[empty] = m.mean(axis=0), v.mean(axis=0) + m.var(axis=0)
        return Cells(mean + params.mu, w * var, w * np.full_like(mean, params.kernel.noise))

    def _draw(self, params: MapParams, posterior: Posterior, rng: list[np.random.Generator]) -> Array:
        d, q = len(params.mu), posterior.mean.shape[1]
        normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
        root = np.linalg.cholesky(posterior.cov)
        Z = posterior.mean + (root @ normal[:, :q, None])[:, :, 0]
        cells = self._decode(params, Posterior(Z, np.zeros_like(posterior.packed), posterior.log_density))
        # a draw from the prior is one of the model itself, without inflation
        scale = np.where(_is_prior(params, posterior), 1.0 / params.inflation, 1.0)[:, None]
        return cells.mean + scale * np.sqrt(cells.var + cells.noise) * normal[:, q:]

    def _redraw(self, params: Any, rng: np.random.Generator) -> Any:
        return params  # the functions are integrated out already

    def _prior(self, params: MapParams, n: int) -> Posterior:
        i, j = lower(len(params.centre))
        return Posterior(np.tile(params.centre, (n, 1)), np.tile(params.spread[i, j], (n, 1)), np.zeros(n))

    def _axes(self, params: MapParams) -> Array:
        return np.eye(params.X.shape[1])

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

    def _certificate(self, fit: Fit, notes: list[str], boundary: tuple[str, ...]) -> Certificate:
        """Of a climb: its expected digits follow from what the last iterations gained."""
        p: MapParams = fit.params
        if p.jitter_level:
            notes.append(f"{JITTER_LEVELS[p.jitter_level]:.0e} of the mean variance was added to the kernel's diagonal")
        notes.append(inflation_note(p.inflation))
        digits = em_digits(fit.remaining, len(p.X))
        return certify(fit, self._objective_name, digits=digits, boundary=boundary, notes=tuple(notes))


def warn_jitter(params: MapParams) -> None:
    """Say so where a kernel's matrix needed jitter."""
    if params.jitter_level:
        warn("LD472", jitter=JITTER_LEVELS[params.jitter_level])


def strided(X: Array) -> Array:
    """Up to TRIED_PLACES of the places, evenly spread over the rows."""
    return X[:: -(-len(X) // TRIED_PLACES)]


def _is_prior(params: MapParams, posterior: Posterior) -> Mask:
    """Rows of which nothing is known: their posterior is the prior."""
    i, j = lower(len(params.centre))
    same = (posterior.packed == params.spread[i, j]).all(axis=1)
    return same & (posterior.mean == params.centre).all(axis=1)


def _inverse(A: Array) -> Array:
    return np.asarray(np.linalg.inv(A), dtype=np.float64)
