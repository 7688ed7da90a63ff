"""The contract: hooks in, verbs out.

A model gives pure hooks over NamedTuples of arrays; this class turns them into the public verbs. Only
`fit` and `partial_fit` assign to self.
"""
from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lowdim.data.arrays import as_source
from lowdim.data.block import Array, Block
from lowdim.data.sink import Sink, as_sink
from lowdim.data.source import Header, Source
from lowdim.data.views import Chosen, Frame
from lowdim.engine.checkpoint import remembered
from lowdim.engine.fold import Run, walk
from lowdim.engine.monitor import Fit
from lowdim.engine.plan import Cost, plan
from lowdim.messages import error, warn
from lowdim.models.certificate import Certificate
from lowdim.models.limits import product
from lowdim.models.posterior import Cells, Posterior

Out = Array | str | PathLike[str] | Sink | None


class Rule(NamedTuple):
    """What an option may be: a test, and the words for it."""

    holds: Callable[[Any], bool]
    words: str


class Absent:
    """A verb a model cannot have: `hasattr` says False, and the error says why and what to use."""

    def __init__(self, why: str, fix: str) -> None:
        self.why, self.fix = why, fix

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise error("LD240", model=owner.__name__, verb=self.name, why=self.why, fix=self.fix)


class LatentModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A latent variable model: rows come from positions z, cells from z plus noise.

    To write one, implement `_fit`, `_posterior`, `_decode`, `_draw`, `_prior`, `_attributes`, `_certify`
    and `_cost`; you inherit every public verb.
    """

    _rules: ClassVar[dict[str, Rule]] = {}
    _objective_name: ClassVar[str] = "log-likelihood"
    _laws_broken: ClassVar[dict[str, str]] = {}  # law -> reason, printed when the laws run
    params_: Any
    frame_: Frame
    certificate_: Certificate

    # hooks ---------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        raise NotImplementedError

    def _posterior(self, params: Any, block: Block) -> Posterior:
        raise NotImplementedError

    def _decode(self, params: Any, posterior: Posterior) -> Cells:
        raise NotImplementedError

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

    def _cost(self, n: int, d: int) -> Cost:
        raise NotImplementedError

    # fitting -------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> Self:
        """Fit the model to a table; `y` is ignored, a weight of 2 counts a row twice.

        With `run=lowdim.Run(checkpoint="fit.ckpt")` that folder keeps what each pass found: after a crash, a kill or
        Ctrl-C the same call goes on where it stopped, to the same bits. It stays when the fit is done, and the
        same fit then takes no pass at all; delete it when it is no longer needed.
        """
        run = Run() if run is None else run
        self._check_options()
        source = as_source(X, weight=sample_weight)
        if source.n < 2:
            raise error("LD160", n=source.n, least=2)
        plan(type(self).__name__, self._cost(source.n, source.d), run, source.leaf)
        with remembered(self, source, run) as run:
            fit, frame = self._fit(source, run)
        return self._keep(fit, frame, source.header)

    def _check_options(self) -> None:
        for name, rule in self._rules.items():
            value = getattr(self, name)
            if not rule.holds(value):
                raise error("LD210", option=name, value=value, allowed=rule.words)

    def _keep(self, fit: Fit, frame: Frame, header: Header) -> Self:
        """The one place that assigns fitted attributes; refuses anything that is not finite."""
        certificate = self._certify(fit, frame, header)
        found = {"params_": fit.params, "frame_": frame, "objective_": fit.objective,
                 "history_": np.array(fit.history), "n_iter_": fit.passes, "converged_": fit.converged,
                 "certificate_": certificate, "n_features_in_": header.d,
                 **self._attributes(fit.params, frame, fit)}
        if header.named:
            found["feature_names_in_"] = np.array(header.columns, dtype=object)
        for name, value in found.items():
            if not all_finite(value):
                raise error("LD214", model=type(self).__name__, name=name)
        for old in [key for key in vars(self) if key.endswith("_") or key == "_online"]:
            delattr(self, old)  # nothing of an earlier fit may linger
        for name, value in found.items():
            setattr(self, name, value)
        if not fit.converged:
            self._say_why(fit)
        return self

    def _say_why(self, fit: Fit) -> None:
        name = type(self).__name__
        if fit.reason == "interrupted":
            warn("LD211", model=name, passes=fit.passes)
        elif fit.reason != "stopped by the callback":
            warn("LD201", model=name, passes=fit.passes, reason=fit.reason)

    # row verbs -----------------------------------------------------------------------------------
    def _source(self, X: Any) -> Source:
        """New rows as a source with the fitted columns in the fitted order."""
        check_is_fitted(self)
        return self._arranged(as_source(X))

    def _arranged(self, source: Source) -> Source:
        """The source with the columns seen before in their order; as it is where there were none."""
        if "n_features_in_" not in vars(self):
            return source
        names = getattr(self, "feature_names_in_", None)
        if source.named and names is not None and tuple(names) != source.columns:
            absent = [name for name in names if source.columns.count(name) != 1]  # or there twice: which is meant?
            if absent:
                raise error("LD220", got=source.d, want=self.n_features_in_, model=type(self).__name__,
                            missing=f"; missing or there twice: {', '.join(map(str, absent[:5]))}")
            return Chosen(source, [source.columns.index(name) for name in names])
        self._check_width(source)
        return source

    def _check_width(self, source: Source) -> None:
        if source.d != self.n_features_in_:
            raise error("LD220", got=source.d, want=self.n_features_in_, model=type(self).__name__, missing="")

    def _each(self, f: Callable[[Block], Array], X: Any, out: Out = None, run: Run | None = None,
              names: Callable[[Source], tuple[str, ...]] | None = None) -> Any:
        """The one loop of the row verbs: block -> f -> sink; `names` are the columns of what comes out."""
        source = self._source(X)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        with as_sink(out, source.n, names and names(source)) as sink:
            for start, rows in walk(f, source, run or Run()):
                sink.write(start, rows)
        return sink.close()

    def _axis_names(self, source: Source) -> tuple[str, ...]:
        return tuple(self.get_feature_names_out())

    def _latent(self, block: Block) -> Posterior:
        """The posterior of a block given in the table's units, its density in those units too."""
        found = self._posterior(self.params_, self.frame_.inward(block))
        return found._replace(log_density=found.log_density + self.frame_.log_stretch(block.mask))

    def _cells(self, block: Block) -> Array:
        """The block's cells as the model sees them, in the table's units."""
        return self.frame_.outward(self._decode(self.params_, self._latent(block)).mean)

    def transform(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """Posterior mean of each row's position, n x q; gaps are welcome, and `out` may be a file."""
        check_is_fitted(self)
        T = self._axes(self.params_)
        return self._each(lambda b: product(self._scores(self._latent(b)), T), X, out, run, self._axis_names)

    def _scores(self, found: Posterior) -> Array:
        """The point estimate of each row's position."""
        return found.mean

    def fit_transform(self, X: Any, y: Any = None, **how: Any) -> Array:
        """`fit` and then `transform` of the same rows."""
        return self.fit(X, y, **how).transform(X)

    def posterior(self, X: Any, *, run: Run | None = None) -> Posterior:
        """Mean and covariance of each row's position given its seen cells, and its log density."""
        source = self._source(X)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        T = self._axes(self.params_)
        parts = [part for _, part in walk(lambda b: self._latent(b).turned(T), source, run or Run())]
        return Posterior(*(np.concatenate(rows) for rows in zip(*parts, strict=True)))

    def reconstruct(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """What the model says every cell should be, seen or not."""
        return self._each(self._cells, X, out, run, lambda source: source.columns)

    def inverse_transform(self, Z: Any) -> Array:
        """The cells that positions decode to."""
        check_is_fitted(self)
        T = self._axes(self.params_)
        Z = np.atleast_2d(np.asarray(Z, dtype=np.float64))
        if Z.shape[1] != T.shape[1]:
            raise error("LD220", got=Z.shape[1], want=T.shape[1], model=type(self).__name__, missing="")
        z = Z @ np.linalg.pinv(T)
        point = Posterior(z, np.zeros((len(z), T.shape[0] * (T.shape[0] + 1) // 2)), np.zeros(len(z)))
        return self.frame_.outward(self._decode(self.params_, point).mean)

    def impute(self, X: Any, *, return_std: bool = False, draws: int | None = None, random_state: Any = 0,
               out: Out = None, run: Run | None = None) -> Any:
        """The table with its gaps filled; what was seen is kept to the bit.

        `return_std=True` adds the standard deviation of each fill (0 where seen): noise, the row's
        position and the uncertainty of the parameters. `draws=m` gives m tables drawn jointly, m x n x d.
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
        """New rows from the fitted model."""
        check_is_fitted(self)
        if n < 0:
            raise error("LD210", option="n", value=n, allowed="a whole number >= 0")
        seed = seed_of(random_state)
        rngs = [np.random.default_rng([seed, i]) for i in range(n)]
        return self.frame_.outward(self._draw(self.params_, self._prior(self.params_, n), rngs))

    def score_samples(self, X: Any, *, run: Run | None = None) -> Array:
        """Log density of each row's seen cells."""
        return self._each(lambda b: self._latent(b).log_density, X, run=run)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Mean log density of the rows."""
        source = as_source(X, weight=sample_weight)
        return float(np.average(self.score_samples(source, run=run), weights=source.weight))

    # files and faces -----------------------------------------------------------------------------
    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that `lowdim.load` reads; no code is stored."""
        from lowdim.persist import save

        check_is_fitted(self)
        save(self, path)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        head = super().__repr__(N_CHAR_MAX)
        return f"{head}\n{self.certificate_.text()}" if is_fitted(self) else head

    def _repr_html_(self) -> str:
        import html

        head = f"<b>{html.escape(super().__repr__())}</b>"
        return head + (self.certificate_.html() if is_fitted(self) else "<p>not fitted</p>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def _n_features_out(self) -> int:
        return int(self._axes(self.params_).shape[1])

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn's users pass: a number, a Generator, a RandomState, or None for 0.

    >>> seed_of(7), seed_of(None)
    (7, 0)
    """
    if random_state is None:
        return 0  # the same table gives the same numbers unless someone asks otherwise
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if not is_seed(random_state):
        raise error("LD210", option="random_state", value=random_state, allowed=SEED_WORDS)
    return int(random_state)


def is_seed(value: Any) -> bool:
    """Whether a value can be a random_state."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)
    return whole or value is None or isinstance(value, np.random.Generator | np.random.RandomState)


SEED_WORDS = "None, a whole number >= 0, a numpy Generator or RandomState"


def is_fitted(model: LatentModel) -> bool:
    """Whether the model has been fitted."""
    return "params_" in vars(model)


def all_finite(value: Any) -> bool:
    """Whether every number in a nest of tuples and arrays is finite."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(cast(NDArray[np.float64], value)).all())
    if isinstance(value, tuple | list):
        return all(all_finite(part) for part in value)
    return not isinstance(value, float) or bool(np.isfinite(value))
