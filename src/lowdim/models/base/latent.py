"""The contract: hooks in, verbs out.

A model gives pure hooks over NamedTuples of arrays; this class turns them into the public verbs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fold import Run
from lowdim.engine.statistics import Sum
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import HeldOutCells, count_errors, variance_factor
from lowdim.models.base.estimator import Estimator, Out, in_kind
from lowdim.models.base.options import COUNT, WHOLE, seed_of
from lowdim.models.base.results import Cells, Posterior, RowPosterior, in_table_units, product, turned
from lowdim.sources.arrays import as_matrix, as_source, complete_matrix
from lowdim.sources.source import Block
from lowdim.sources.views import Frame
from lowdim.text.messages import error

P = TypeVar("P")  # a model's parameters
R = TypeVar("R", bound=RowPosterior)  # where its rows lie


class LatentModel(Estimator, Generic[P, R]):
    """A latent variable model: rows come from positions z, cells from z plus noise.

    To write one, implement `_fit`, which makes a `Fitted` of a source; `_posterior`, `_decode`, `_draw`, `_prior`;
    `_cost`; where they are not the default, `_redraw` and `_axes`; and `n_parameters_` for `bic` and `aic`. You inherit
    every public verb. A model that is fitted by EM also gives `_stats`, `_objective` and `_update`, and to be
    extrapolated `_pack` and `_unpack`. Hooks work in the frame (`frame_`) on parameters (`params_`); verbs speak in the
    table's units.

    Attributes
    ----------
    objective_, history_ : float, ndarray
        What was maximised, in nats and in the table's units, and its value after each pass.
    n_iter_, converged_, certificate_ : int, bool, Certificate
        Passes over the table, whether `tol` was met, and how far the numbers can be trusted.
    """

    _objective_name: ClassVar[str] = "log-likelihood"
    _has_doubt: ClassVar[bool] = False  # whether `_doubt` says what the parameters' doubt adds to positions
    _rows_to_predict: ClassVar[int | None] = None  # held-out cells are predicted so many rows at a time; None: all

    # hooks: what a model says of rows in the frame ---------------------------------------------------
    def _posterior(self, params: P, block: Block) -> R:
        """Where rows lie, given their seen cells."""
        raise NotImplementedError

    def _places(self, params: P, block: Block) -> Array:
        """The point estimate of each row's position."""
        return self._posterior(params, block).mean

    def _prior(self, params: P, n: int) -> R:
        """Where n rows lie of which nothing is seen."""
        raise NotImplementedError

    def _at(self, params: P, Z: Array) -> R:
        """Rows that are known to lie at positions Z."""
        q = Z.shape[1]
        rows: Any = Posterior(Z, np.zeros((len(Z), q * (q + 1) // 2)), np.zeros(len(Z)))
        return rows

    def _decode(self, params: P, rows: R) -> Cells:
        """The cells that rows at such positions have, by the model's own account."""
        raise NotImplementedError

    def _draw(self, params: P, rows: R, rng: list[np.random.Generator]) -> Array:
        """The cells of each row drawn jointly, with the row's own generator."""
        raise NotImplementedError

    def _redraw(self, params: P, rng: np.random.Generator) -> P:
        """Parameters drawn from what the table leaves open; by default they count as known, or are integrated out."""
        return params

    def _doubt(self, params: P, mean: Array) -> Array:
        """What the doubt about the parameters adds to the covariances of positions, packed."""
        raise NotImplementedError

    def _axes(self, params: P) -> Array:
        """T: the reported coordinates are z T; by default they are z itself."""
        return np.eye(self._prior(params, 1).mean.shape[1])

    # calibration: a model may be too sure of its cells -------------------------------------------------
    def _cells_at(self, params: P, rows: R) -> Cells:
        """The cells of rows at such positions, as wide as held-out cells ask (`inflation`, where a model has it)."""
        cells, factor = self._decode(params, rows), getattr(params, "inflation", 1.0)
        if factor == 1.0:
            return cells
        by = variance_factor(factor, cells, self._decode(params, self._prior(params, 1)))
        return Cells(cells.mean, by * cells.var, by * cells.noise)

    def _cells_given(self, params: P, block: Block) -> Cells:
        """The prediction of every cell of rows in the frame, given those that are seen."""
        return self._cells_at(params, self._posterior(params, block))

    def _cells_drawn(self, params: P, rows: R, rng: list[np.random.Generator]) -> Array:
        """Drawn cells, as far from their mean as held-out cells ask."""
        draw, factor = self._draw(params, rows, rng), getattr(params, "inflation", 1.0)
        if factor == 1.0:
            return draw
        cells = self._decode(params, rows)
        by = variance_factor(factor, cells, self._decode(params, self._prior(params, 1)))
        return np.where(by == 1.0, draw, cells.mean + np.sqrt(by) * (draw - cells.mean))

    def _drawn_given(self, params: P, block: Block, rng: list[np.random.Generator]) -> Array:
        """The cells of rows in the frame drawn jointly, given those that are seen."""
        return self._cells_drawn(params, self._posterior(params, block), rng)

    def _held_out_counts(self, params: P, held: HeldOutCells, frames: tuple[Frame, ...], block: Block) -> Sum:
        """How far held-out cells lie off, in standard deviations."""
        return count_errors(held, frames, partial(self._cells_given, params), block, self._rows_to_predict)

    # one block of rows, in the table's units --------------------------------------------------------
    def _latent(self, block: Block) -> R:
        """The posterior of a block given in the table's units, its density in those units too."""
        posterior: R = self._posterior(self.params_, self.frame_.inward(block))
        return posterior._replace(log_density=posterior.log_density + self.frame_.log_stretch(block.mask))

    def _cells(self, block: Block) -> Array:
        """The mean of the block's cells under the model, in the table's units."""
        return self.frame_.outward(self._cells_given(self.params_, self.frame_.inward(block)).mean)

    def block_posterior(self, block: Block) -> Posterior:
        """`posterior` of one block of rows of the fitted columns: what a walk over a large table calls."""
        return turned(self._latent(block), self._axes(self.params_))

    def block_cells(self, block: Block) -> Cells:
        """`predict_cells` of one block of rows of the fitted columns: what a walk over a large table calls."""
        return in_table_units(self.frame_, self._cells_given(self.params_, self.frame_.inward(block)))

    # row verbs -----------------------------------------------------------------------------------
    def transform(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """Posterior mean of each row's position.

        Parameters
        ----------
        X : table of the fitted columns, n x d, gaps welcome
        out : path, array or Sink, optional
            Where the positions go, for tables larger than memory.

        Returns
        -------
        ndarray of shape (n, q), or what `out` holds
        """
        return self._each(self._placed, X, out, run, self._axis_names)

    def _placed(self, block: Block) -> Array:
        """Where rows of the table lie, in reported coordinates."""
        return product(self._places(self.params_, self.frame_.inward(block)), self._axes(self.params_))

    def fit_transform(self, X: Any, y: Any = None, **fit_options: Any) -> Array:
        """`fit` and then `transform` of the same rows; `fit_options` go to `fit`."""
        return self.fit(X, y, **fit_options).transform(X)

    def posterior(self, X: Any, *, parameters: bool = False, run: Run | None = None) -> Posterior:
        """The distribution of each row's position given its seen cells.

        Parameters
        ----------
        parameters : bool, default False
            Count the doubt about the fitted parameters too, where the model knows it: of rows of the fitted table, up
            to a turn of all axes. By default the parameters count as known.

        Returns
        -------
        Posterior
            `mean` (n x q), `cov` (n x q x q), `std` (n x q) and `log_density` of the row (n).
        """
        if parameters and not self._has_doubt:
            words = f"False: {type(self).__name__} takes its parameters as known"
            raise error("LD210", option="parameters", value=True, allowed=words)
        return Posterior(*self._each(self._doubted if parameters else self.block_posterior, X, run=run))

    def _doubted(self, block: Block) -> Posterior:
        rows = self._latent(block)
        wider = Posterior(rows.mean, rows.packed + self._doubt(self.params_, rows.mean), rows.log_density)
        return turned(wider, self._axes(self.params_))

    def predict_cells(self, X: Any, *, run: Run | None = None) -> Cells:
        """Every cell of each row, seen or not, given the row's seen cells; in the table's units.

        Returns
        -------
        Cells
            `mean`, `var` (of the noiseless cell: the row's position, in linear models also the parameters) and `noise`
            (its variance), each n x d. A new measurement of a cell has variance `var + noise`.
        """
        return Cells(*self._each(self.block_cells, X, run=run))

    def asked_often(self) -> Self:
        """The model for many questions one after the other, which is no model to be saved; itself, unless it keeps what
        all of them need."""
        return self

    def latent_axes(self) -> Array:
        """T, q x q: the coordinates that `transform` gives are z T, with z as in the model's formulas."""
        check_is_fitted(self)
        return self._axes(self.params_)

    def prior(self, n: int = 1) -> Posterior:
        """The distribution of the position of a row of which nothing is seen, n times."""
        check_is_fitted(self)
        return turned(self._prior(self.params_, n), self._axes(self.params_))

    def decode(self, Z: Any) -> Cells:
        """The cells, in the table's units, that positions Z (n x q, as `transform` gives them) decode to.

        `mean`, `var` (the parameters' uncertainty, where the model keeps it) and `noise` are n x d each.
        """
        return Cells(*self._of_places(lambda z: in_table_units(self.frame_, self._decoded(z)), Z, self._n_features_out))

    def _of_places(self, decode: Callable[[Array], Any], Z: Any, q: int) -> Any:
        """What `decode` makes of the n x q places Z that somebody gives, or a refusal."""
        return decoded_within_range(decode, given_places(Z, q, self))

    def _decoded(self, Z: Array) -> Cells:
        z = Z @ np.linalg.pinv(self._axes(self.params_))
        return self._cells_at(self.params_, self._at(self.params_, z))

    def inverse_transform(self, Z: Any) -> Array:
        """The mean of the cells, n x d, that positions Z (n x q) decode to."""
        return in_kind(self._of_places(lambda z: self.frame_.outward(self._decoded(z)[0]), Z, self._n_features_out), Z)

    def reconstruct(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """The mean of every cell under the model, seen or not, given the row's seen cells: n x d, or into `out`."""
        return self._each(self._cells, X, out, run, lambda source: source.columns)

    def impute(
        self,
        X: Any,
        *,
        return_std: bool = False,
        draws: int | None = None,
        random_state: Any = 0,
        out: Out = None,
        run: Run | None = None,
    ) -> Any:
        """The table with its gaps filled; what was seen is kept to the bit.

        Parameters
        ----------
        return_std : bool, default False
            Add the standard deviation of each fill (0 where seen): noise and the row's position; of linear models also
            the uncertainty of the parameters, of nonlinear ones and mixtures a factor found on held-out cells.
        draws : int, optional
            Instead of means, so many tables whose gaps are drawn jointly.
        random_state : int, Generator or RandomState, default 0
            Of the draws.

        Returns
        -------
        ndarray of shape (n, d), with `return_std` two of them, with `draws` (draws, n, d)
        """
        if draws is not None:
            if not COUNT.holds(draws) or return_std or out is not None:
                words = "a whole number >= 1, without return_std or out"
                raise error("LD210", option="draws", value=draws, allowed=words)
            seed = seed_of(random_state)
            return np.stack([self._impute_draw(X, m, seed) for m in range(draws)])

        if not return_std:
            return self._each(self._fill, X, out, run, lambda source: source.columns)
        # One walk for both: what a row says of its gaps is computed once, and a file is read once.
        return self._each(self._fill_and_std, X, out, run, lambda source: source.columns)

    def _fill(self, b: Block) -> Array:
        return b.x if b.mask is None else np.where(b.mask, b.x, self._cells(b))

    def _fill_and_std(self, b: Block) -> tuple[Array, Array]:
        """Filled cells, and the standard deviation of each fill (0 where seen)."""
        if b.mask is None:
            return b.x, np.zeros_like(b.x)
        cells = self._cells_given(self.params_, self.frame_.inward(b))
        std = self.frame_.lengths(np.sqrt(cells.var + cells.noise))
        return np.where(b.mask, b.x, self.frame_.outward(cells.mean)), np.where(b.mask, 0.0, std)

    def _impute_draw(self, X: Any, number: int, seed: int) -> Array:
        """One drawn table: parameters by (seed, draw), rows by (seed, draw, global row)."""
        params = self._redraw(self.params_, np.random.default_rng([seed, number]))

        def fill(b: Block) -> Array:
            if b.mask is None:
                return b.x
            rngs = [np.random.default_rng([seed, number, b.start + i]) for i in range(len(b.x))]
            drawn = self._drawn_given(params, self.frame_.inward(b), rngs)
            return np.where(b.mask, b.x, self.frame_.outward(drawn))

        return self._each(fill, X)

    def sample(self, n: int = 1, *, random_state: Any = 0) -> Array:
        """New rows from the fitted model, n x d; `random_state` is an int, a Generator or a RandomState."""
        check_is_fitted(self)
        if not WHOLE.holds(n):
            raise error("LD210", option="n", value=n, allowed=WHOLE.words)
        seed = seed_of(random_state)
        rngs = [np.random.default_rng([seed, i]) for i in range(n)]
        return self.frame_.outward(self._cells_drawn(self.params_, self._prior(self.params_, n), rngs))

    def score_samples(self, X: Any, *, run: Run | None = None) -> Array:
        """Log density of each row's seen cells, in nats, in the table's units."""
        return self._each(lambda b: self._latent(b).log_density, X, run=run)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Mean log density of the rows, in nats a row, weighted by `sample_weight`."""
        source = as_source(X, weight=sample_weight)
        return float(np.average(self.score_samples(source, run=run), weights=source.weight))

    def bic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Schwarz's criterion of a table, the smaller the better."""
        value, n = self._log_likelihood(X, sample_weight)
        return -2.0 * value + self.n_parameters_ * float(np.log(n))

    def aic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Akaike's criterion of a table, the smaller the better."""
        return -2.0 * self._log_likelihood(X, sample_weight)[0] + 2.0 * self.n_parameters_

    def _log_likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """The log-likelihood of a table, and its rows by weight."""
        source = as_source(X, weight=sample_weight)
        scores = self.score_samples(source)
        return float(scores.sum() if source.weight is None else source.weight @ scores), source.total

    @property
    def _n_features_out(self) -> int:
        return int(self.latent_axes().shape[1])


# places on a map that somebody gives --------------------------------------------------------------------------
def given_places(Z: Any, q: int, model: object, *, gaps: bool = False) -> Array:
    """Places of q coordinates, n x q, of anything that is a table; one place may be given as a row of q numbers.

    >>> given_places([0.5, 2.0], 2, None)
    array([[0.5, 2. ]])
    """
    flat = isinstance(Z, list | tuple) and bool(Z) and not any(map(np.iterable, Z))
    if flat or (isinstance(Z, np.ndarray) and Z.shape == (q,)):
        Z = np.asarray(Z)[None]
    if not q and isinstance(Z, np.ndarray) and Z.ndim == 2 and not Z.shape[1]:
        return np.zeros(Z.shape)  # a model without axes
    found = as_matrix(Z) if gaps else complete_matrix(Z, "a place on the map", "it has every coordinate")
    if found.shape[1] != q:
        raise error("LD220", got=found.shape[1], want=q, model=type(model).__name__, missing="")
    return found


def decoded_within_range(decode: Callable[[Array], Any], Z: Array) -> Any:
    """The array or arrays that places decode to; refused where one of them leaves double precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        cells = decode(Z)
        parts = cells if isinstance(cells, tuple) else (cells,)
        if any(np.isinf(part).any() or (np.isnan(part).any() and not np.isnan(Z).any()) for part in parts):
            raise error("LD224", size=f"{float(np.abs(Z).max(initial=0.0)):.1e}")
    return cells
