"""The contract: hooks in, verbs out.

A model gives pure hooks over NamedTuples of arrays; this class turns them into the public verbs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Fit
from lowdim.engine.fold import Run, walk
from lowdim.engine.plan import plan
from lowdim.maths.linalg import Array
from lowdim.models.base.estimator import Estimator, Out, in_kind, seed_of
from lowdim.models.base.results import Cells, Certificate, Posterior, in_table_units, product
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import Frame
from lowdim.text.messages import error


class LatentModel(Estimator):
    """A latent variable model: rows come from positions z, cells from z plus noise.

    To write one, implement `_fit`, `_posterior`, `_decode`, `_draw`, `_redraw`, `_prior`, `_axes`, `_attributes`,
    `_certify` and `_cost`, and `n_parameters_` for `bic` and `aic`; you inherit every public verb. Hooks work in the
    frame (`frame_`) on parameters (`params_`); verbs speak in the table's units.

    Attributes
    ----------
    params_, frame_ : NamedTuple, Frame
        The fitted parameters, and the origin and unit of each column in which they are stated.
    objective_, history_ : float, ndarray
        What was maximised, in nats and in the table's units, and its value after each pass.
    n_iter_, converged_, certificate_ : int, bool, Certificate
        Passes over the table, whether `tol` was met, and how far the numbers can be trusted.
    n_features_in_, feature_names_in_ : int, ndarray
        The columns; names only where the table has them.
    """

    _objective_name: ClassVar[str] = "log-likelihood"
    _least_rows: ClassVar[int] = 2

    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        raise NotImplementedError

    def _posterior(self, params: Any, block: Block) -> Posterior:
        raise NotImplementedError

    def _decode(self, params: Any, posterior: Posterior) -> Cells:
        raise NotImplementedError

    def _cells_given(self, params: Any, block: Block) -> Cells:
        """The model's prediction of every cell of rows in the frame, given those that are seen."""
        return self._decode(params, self._posterior(params, block))

    def _draw(self, params: Any, posterior: Posterior, rng: list[np.random.Generator]) -> Array:
        raise NotImplementedError

    def _redraw(self, params: Any, rng: np.random.Generator) -> Any:
        """Parameters drawn from what the table leaves open about them."""
        raise NotImplementedError

    def _prior(self, params: Any, n: int) -> Posterior:
        raise NotImplementedError

    def _axes(self, params: Any) -> Array:
        """T: the reported coordinates are z T."""
        raise NotImplementedError

    def _attributes(self, params: Any, frame: Frame, fit: Fit) -> dict[str, Any]:
        raise NotImplementedError

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        raise NotImplementedError

    # fitting -------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> Self:
        """Fit the model to a table.

        Parameters
        ----------
        X : array, data frame, sparse matrix, path or Source, n x d
            NaN (or a mask) is a gap; `y` is ignored.
        sample_weight : array of shape (n,), optional
            A weight of 2 counts a row twice.
        run : Run, optional
            How to run. With `Run(checkpoint="fit.ckpt")` that folder keeps what each pass found: after a crash or
            Ctrl-C the same call goes on where it stopped, to the same bits. Delete it when it is no longer needed.
        """
        self._check_options()
        return self._fit_source(as_source(X, weight=sample_weight), Run() if run is None else run)

    def _fit_source(self, source: Source, run: Run) -> Self:
        """Fit to a source of rows whose options have been checked."""
        from lowdim.engine.checkpoint.store import remembered

        if source.n < self._least_rows:
            raise error("LD160", n=source.n, least=self._least_rows)
        plan(type(self).__name__, self._cost(source.n, source.d), run, source.leaf)
        with remembered(self, source, run) as run:
            fit, frame = self._fit(source, run)
        return self._keep(fit, frame, source.header)

    def _keep(self, fit: Fit, frame: Frame, header: Header) -> Self:
        """Assign what a fit found, and its certificate."""
        certificate = self._certify(fit, frame, header)
        attributes = {
            "params_": fit.params,
            "frame_": frame,
            "objective_": fit.objective,
            "history_": np.array(fit.history),
            "n_iter_": fit.passes,
            "converged_": fit.converged,
            "certificate_": certificate,
            **self._attributes(fit.params, frame, fit),
        }
        self._assign(attributes, header)
        if not fit.converged:
            self._say_why(fit)
        return self

    # one block of rows, in the table's units --------------------------------------------------------
    def _latent(self, block: Block) -> Posterior:
        """The posterior of a block given in the table's units, its density in those units too."""
        posterior = self._posterior(self.params_, self.frame_.inward(block))
        return posterior._replace(log_density=posterior.log_density + self.frame_.log_stretch(block.mask))

    def _cells(self, block: Block) -> Array:
        """The mean of the block's cells under the model, in the table's units."""
        return self.frame_.outward(self._decode(self.params_, self._latent(block)).mean)

    def block_posterior(self, block: Block) -> Posterior:
        """`posterior` of one block of rows of the fitted columns: what a walk over a large table calls."""
        return self._latent(block).turned(self._axes(self.params_))

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
        T = self.latent_axes()
        return self._each(lambda b: product(self._scores(self._latent(b)), T), X, out, run, self._axis_names)

    def _scores(self, posterior: Posterior) -> Array:
        """The point estimate of each row's position."""
        return posterior.mean

    def fit_transform(self, X: Any, y: Any = None, **fit_options: Any) -> Array:
        """`fit` and then `transform` of the same rows; `fit_options` go to `fit`."""
        return self.fit(X, y, **fit_options).transform(X)

    def posterior(self, X: Any, *, run: Run | None = None) -> Posterior:
        """The distribution of each row's position given its seen cells.

        Returns
        -------
        Posterior
            `mean` (n x q), `cov` (n x q x q), `std` (n x q) and `log_density` of the row (n).
        """
        return Posterior(*self._rows_of(self.block_posterior, X, run))

    def predict_cells(self, X: Any, *, run: Run | None = None) -> Cells:
        """Every cell of each row, seen or not, given the row's seen cells; in the table's units.

        Returns
        -------
        Cells
            `mean`, `var` (of the noiseless cell: the row's position, in linear models also the parameters) and `noise`
            (its variance), each n x d. A new measurement of a cell has variance `var + noise`.
        """
        return Cells(*self._rows_of(self.block_cells, X, run))

    def _rows_of(self, f: Callable[[Block], tuple[Array, ...]], X: Any, run: Run | None) -> list[Array]:
        """The arrays that f makes of each block, one below the other."""
        source = self.arrange(X)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        parts = [part for _, part in walk(f, source, run or Run())]
        return [np.concatenate(rows) for rows in zip(*parts, strict=True)]

    def latent_axes(self) -> Array:
        """T, q x q: the coordinates that `transform` gives are z T, with z as in the model's formulas."""
        check_is_fitted(self)
        return self._axes(self.params_)

    def prior(self, n: int = 1) -> Posterior:
        """The distribution of the position of a row of which nothing is seen, n times."""
        check_is_fitted(self)
        return self._prior(self.params_, n).turned(self._axes(self.params_))

    def decode(self, Z: Any) -> Cells:
        """The cells, in the table's units, that positions Z (n x q, as `transform` gives them) decode to.

        `mean`, `var` (the parameters' uncertainty, where the model keeps it) and `noise` are n x d each.
        """
        return Cells(*self._of_places(lambda z: in_table_units(self.frame_, self._decoded(z)), Z, self._n_features_out))

    def _of_places(self, decode: Callable[[Array], Any], Z: Any, q: int, *, gaps: bool = False) -> Any:
        """What `decode` makes of the n x q places Z that somebody gives, or a refusal."""
        from lowdim.models.base.places import decoded_within_range, given_places

        return decoded_within_range(decode, given_places(Z, q, self, gaps=gaps))

    def _decoded(self, Z: Array) -> Cells:
        z = Z @ np.linalg.pinv(self._axes(self.params_))
        q = z.shape[1]
        return self._decode(self.params_, Posterior(z, np.zeros((len(z), q * (q + 1) // 2)), np.zeros(len(z))))

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
            if draws < 1 or return_std or out is not None:
                words = "a whole number >= 1, without return_std or out"
                raise error("LD210", option="draws", value=draws, allowed=words)
            seed = seed_of(random_state)
            return np.stack([self._impute_draw(X, m, seed) for m in range(draws)])

        std = self._each(self._fill_std, X, run=run) if return_std else None  # first: `out` may be X itself
        filled = self._each(self._fill, X, out, run, lambda source: source.columns)
        return (filled, std) if return_std else filled

    def _fill(self, b: Block) -> Array:
        return b.x if b.mask is None else np.where(b.mask, b.x, self._cells(b))

    def _fill_std(self, b: Block) -> Array:
        if b.mask is None:
            return np.zeros_like(b.x)
        cells = self._decode(self.params_, self._latent(b))
        return np.where(b.mask, 0.0, self.frame_.lengths(np.sqrt(cells.var + cells.noise)))

    def _impute_draw(self, X: Any, number: int, seed: int) -> Array:
        """One drawn table: parameters by (seed, draw), rows by (seed, draw, global row)."""
        params = self._redraw(self.params_, np.random.default_rng([seed, number]))

        def fill(b: Block) -> Array:
            if b.mask is None:
                return b.x
            rngs = [np.random.default_rng([seed, number, b.start + i]) for i in range(b.rows)]
            drawn = self._draw(params, self._posterior(params, self.frame_.inward(b)), rngs)
            return np.where(b.mask, b.x, self.frame_.outward(drawn))

        return self._each(fill, X)

    def sample(self, n: int = 1, *, random_state: Any = 0) -> Array:
        """New rows from the fitted model, n x d; `random_state` is an int, a Generator or a RandomState."""
        check_is_fitted(self)
        if n < 0:
            raise error("LD210", option="n", value=n, allowed="a whole number >= 0")
        seed = seed_of(random_state)
        rngs = [np.random.default_rng([seed, i]) for i in range(n)]
        return self.frame_.outward(self._draw(self.params_, self._prior(self.params_, n), rngs))

    def score_samples(self, X: Any, *, run: Run | None = None) -> Array:
        """Log density of each row's seen cells, in nats, in the table's units."""
        return self._each(lambda b: self._latent(b).log_density, X, run=run)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Mean log density of the rows, in nats a row, weighted by `sample_weight`."""
        source = as_source(X, weight=sample_weight)
        return float(np.average(self.score_samples(source, run=run), weights=source.weight))

    def bic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Schwarz's criterion of a table, the smaller the better."""
        from lowdim.models.base.scores import bic

        return bic(self, X, sample_weight)

    def aic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Akaike's criterion of a table, the smaller the better."""
        from lowdim.models.base.scores import aic

        return aic(self, X, sample_weight)

    @property
    def _n_features_out(self) -> int:
        return int(self.latent_axes().shape[1])
