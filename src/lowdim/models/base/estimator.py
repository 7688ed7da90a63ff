"""What every estimator shares: options, fitted attributes, the loop of the row verbs, files and faces.

Only `fit` and `partial_fit` assign to self; a map keeps the model of missing cells that it makes when the first new row
with gaps asks for it.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from inspect import getattr_static
from os import PathLike
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import INTERRUPTED, Cost, plan
from lowdim.engine.fold import Run, remembered, walk
from lowdim.maths.linalg import Array
from lowdim.models.base.options import Option, declare_options, option, with_other_word
from lowdim.models.base.results import Fitted
from lowdim.sources.arrays import as_source
from lowdim.sources.sinks import Sink, as_sink
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Chosen
from lowdim.storage.model_file import save
from lowdim.text.messages import error, warn

Out = Array | str | PathLike[str] | Sink | None
FARTHEST = 1e100  # what a new cell may be in a model's units: its square, divided by a small variance, is a double

FILL_FIRST = "fill the gaps first: ProbabilisticPCA(k).fit(X).impute(X), or  lowdim fill FILE -o FILLED"


class Absent:
    """A verb a model cannot have: `hasattr` says False, and the error says why and what to use."""

    def __init__(self, why: str, fix: str) -> None:
        self.why, self.fix = why, fix

    def __set_name__(self, owner: type, name: str) -> None:
        if "name" in vars(self):  # one reason for several verbs: each names itself
            other = Absent(self.why, self.fix)
            other.name = name
            setattr(owner, name, other)
        else:
            self.name: str = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise error("LD240", model=owner.__name__, verb=self.name, why=self.why, fix=self.fix)


@dataclass_transform(kw_only_default=True, field_specifiers=(option,))
class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A scikit-learn estimator whose constructor holds only options, and the one way of every fit.

    To write a model, declare its options (`option`), give `_fit`, which makes a `Fitted` of a source of rows, and
    `_cost`; a model that takes more than a table gives `_open` too.

    Attributes
    ----------
    params_, frame_ : NamedTuple, Frame
        The fitted parameters, and the origin and unit of each column in which they are stated.
    certificate_ : Certificate
        How the fit was done, and how far its numbers can be trusted.
    n_features_in_, feature_names_in_ : int, ndarray
        The columns; names only where the table has them.
    """

    _options: ClassVar[dict[str, Option]] = {}
    _least_rows: ClassVar[int] = 2
    _laws_broken: ClassVar[dict[str, str]] = {}  # law -> reason, printed when the laws run
    _restart: ClassVar[dict[str, Any]] = {}  # options of a start that random_state has a part in, for `best_of`

    def __init_subclass__(cls, **facts: Any) -> None:
        super().__init_subclass__(**facts)
        declare_options(cls)

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """An option that the class does not have belongs to another model, or is refused with the word to use."""
        first = [name for name, found in cls._options.items() if not found.kw_only]
        if cls._options and len(args) > len(first):
            words = f"without a name beside {', '.join(first)}" if first else "without a name"
            named = ", ".join(f"{name}=..." for name in cls._options if name not in first)
            raise error("LD219", model=cls.__name__, option=words, instead=f"name it, as one of {named}")
        for word in options.keys() - set(own := cls._get_param_names()) if options else ():
            return with_other_word(cls.__name__, word, own, args, options)
        made: Self = super().__new__(cls)
        return made

    # fitting -------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, run: Run | None = None) -> Self:
        """Fit the model to a table.

        Parameters
        ----------
        X : array, data frame, sparse matrix, path or Source, n x d
            NaN (or a mask) is a gap; `y` is ignored.
        run : Run, optional
            How to run. With `Run(checkpoint="fit.ckpt")` that folder keeps what each pass found: after a crash or
            Ctrl-C the same call goes on where it stopped, to the same bits. Delete it when it is no longer needed.
        """
        return self._fit_table(X, y, None, run)

    def _fit_table(self, X: Any, y: Any, weight: Any, run: Run | None) -> Self:
        """The one way of every fit: check, open, plan, fit, keep."""
        self._check_options()
        source, run = self._open(X, y, weight), Run() if run is None else run
        if source.n < self._least_rows:
            raise error("LD160", n=source.n, least=self._least_rows)
        if (weight is not None or source.weight is not None) and not isinstance(self, WeightedEstimator):
            raise error("LD283", model=type(self).__name__)
        plan(type(self).__name__, self._cost(source.n, source.d, gaps=False), run, source.leaf)
        with remembered(self, source, run) as run:
            fitted = self._fit(source, run)
        return self._keep(fitted, source)

    def _check_options(self) -> None:
        """Refuse values that their rules do not allow; a model whose options depend on each other adds to it."""
        for name, found in self._options.items():
            value = getattr(self, name)
            try:
                holds = found.rule.holds(value)
            except (TypeError, ValueError):  # not even of a kind that can be compared
                holds = False
            if not holds:
                raise error("LD210", option=name, value=value, allowed=found.rule.words)

    def _open(self, X: Any, y: Any, weight: Any) -> Source:
        """What is handed to `fit`, as a source of rows."""
        return as_source(X, weight=weight)

    def _fit(self, source: Source, run: Run) -> Fitted:
        """All that a fit to these rows finds; nothing is assigned."""
        raise NotImplementedError

    def _keep(self, fitted: Fitted, source: Source) -> Self:
        """Assign what a fit to these columns found, here alone; refuse what is not finite, warn of an early end."""
        certificate = fitted.certificate
        attributes = {
            "n_features_in_": source.d,
            "params_": fitted.params,
            "frame_": fitted.frame,
            "certificate_": certificate,
        }
        if fitted.history is not None:
            attributes["objective_"] = certificate.objective
            attributes["history_"] = np.array(fitted.history)
            attributes["n_iter_"] = certificate.passes
            attributes["converged_"] = certificate.converged
        attributes |= fitted.attributes
        if source.named:
            attributes["feature_names_in_"] = np.array(source.columns, dtype=object)
        for name, value in attributes.items():
            if not all_finite(value):
                raise error("LD214", model=type(self).__name__, name=name)
        for old in [key for key in vars(self) if key.endswith("_") or key == "_online"]:
            delattr(self, old)  # nothing of an earlier fit may linger
        for name, value in attributes.items():
            setattr(self, name, value)
        if not certificate.converged:
            name, passes, reason = type(self).__name__, certificate.passes, certificate.reason
            if reason == INTERRUPTED:
                warn("LD211", model=name, passes=passes)
            elif reason != "stopped by the callback":  # who stopped it knows
                warn("LD201", model=name, passes=passes, reason=reason)
        return self

    # row verbs -----------------------------------------------------------------------------------
    def cost(self, n: int, d: int, *, gaps: bool = True) -> Cost:
        """What a fit to n rows of d columns, of which some cells are missing (`gaps`) or none, would take.

        Passes over the table, bytes read, peak memory.
        """
        return self._cost(n, d, gaps)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        """`cost`, as the model knows it."""
        raise NotImplementedError

    def arrange(self, X: Any, *, weight: Any = None, fitted: bool = True) -> Source:
        """Rows as a source with the columns seen before in their order.

        With `fitted=False`, for rows that come a few at a time: as they are where there were none before.
        """
        if fitted and "params_" not in vars(self):
            check_is_fitted(self)  # scikit-learn's own words
        source = as_source(X, weight=weight)
        if "n_features_in_" not in vars(self):
            return source
        names = getattr(self, "feature_names_in_", None)
        if source.named and names is not None and tuple(names) != source.columns:
            absent = [name for name in names if source.columns.count(name) != 1]  # or there twice: which is meant?
            if absent:
                raise error(
                    "LD220",
                    got=source.d,
                    want=self.n_features_in_,
                    model=type(self).__name__,
                    missing=f"; missing or there twice: {', '.join(map(str, absent[:5]))}",
                )
            return Chosen(source, [source.columns.index(name) for name in names])
        if source.d != self.n_features_in_:
            raise error("LD220", got=source.d, want=self.n_features_in_, model=type(self).__name__, missing="")
        return source

    def _each(
        self,
        f: Callable[[Block], Array | tuple[Array, ...]],
        X: Any,
        out: Out = None,
        run: Run | None = None,
        names: Callable[[Source], tuple[str, ...]] | None = None,
    ) -> Any:
        """The one loop of the row verbs: block -> f -> sink; `names` are the columns of what comes out.

        Where f gives several arrays, so does this; the first of them goes to `out`.
        """
        source = self.arrange(X)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        columns = source.columns
        parts = walk(lambda block: f(self._in_reach(block, columns)), source, run or Run())
        if out is None:
            found = [part for _, part in parts]
            if isinstance(found[0], tuple):
                return tuple(np.concatenate(rows) for rows in zip(*found, strict=True))
            rows = np.concatenate(found)
            return in_kind(rows, X) if names == self._axis_names else rows
        others: list[tuple[Array, ...]] = []
        with as_sink(out, source.n, names and names(source)) as sink:
            for start, part in parts:
                sink.write(start, part[0] if isinstance(part, tuple) else part)
                others += [part[1:]] if isinstance(part, tuple) else []
        written = sink.close()
        return (written, *map(np.concatenate, zip(*others, strict=True))) if others else written

    def _in_reach(self, block: Block, columns: tuple[str, ...]) -> Block:
        """The block, or a refusal that names the first cell whose square no double holds in the model's units."""
        frame = self.frame_
        with np.errstate(over="ignore"):
            if (
                np.vdot(block.x, block.x) <= (FARTHEST / frame.scale.max(initial=1.0)) ** 2
            ):  # one cheap look, as for blocks
                return block
            far = np.abs(frame.inward(block).x) > FARTHEST
        if not far.any():
            return block
        row, column = np.argwhere(far)[0]
        raise error("LD226", f"row {block.start + row + 1}", value=float(block.x[row, column]), column=columns[column])

    def _axis_names(self, source: Source) -> tuple[str, ...]:
        """The names of the positions' coordinates, for a file that they are written to."""
        return tuple(self.get_feature_names_out())

    # files and faces -----------------------------------------------------------------------------
    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that `lowdim.load` reads; no code is stored."""
        check_is_fitted(self)
        if not isinstance(path, str | PathLike):
            raise error("LD210", option="path", value=path, allowed="the path of a file")
        save(self, path)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        head = super().__repr__(N_CHAR_MAX)
        return f"{head}\n{self.certificate_.text()}" if self.__sklearn_is_fitted__() else head

    def _repr_html_(self) -> str:
        head = f"<b>{html.escape(super().__repr__())}</b>"
        return head + (self.certificate_.html() if self.__sklearn_is_fitted__() else "<p>not fitted</p>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __dir__(self) -> list[str]:
        """Names without the absent verbs; none is computed to see whether it is there, as scikit-learn would."""
        return [name for name in object.__dir__(self) if not isinstance(getattr_static(type(self), name, None), Absent)]

    def __sklearn_is_fitted__(self) -> bool:
        return "params_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class WeightedEstimator(Estimator):
    """An estimator whose fit takes weights of rows."""

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> Self:
        """Fit the model to a table.

        Parameters
        ----------
        X : array, data frame, sparse matrix, path or Source, n x d
            NaN (or a mask) is a gap; `y` is ignored, unless the model is one of two tables or of classes.
        sample_weight : array of shape (n,), optional
            A weight of 2 counts a row twice.
        run : Run, optional
            How to run. With `Run(checkpoint="fit.ckpt")` that folder keeps what each pass found: after a crash or
            Ctrl-C the same call goes on where it stopped, to the same bits. Delete it when it is no longer needed.
        """
        return self._fit_table(X, y, sample_weight, run)


def in_kind(rows: Array, X: Any) -> Array:
    """Places as float32 where the table they answer to is, and where float32 holds them."""
    narrow = isinstance(X, np.ndarray) and X.dtype == np.float32
    return rows.astype(np.float32) if narrow and np.abs(rows).max(initial=0.0) < np.finfo(np.float32).max else rows


def all_finite(value: Any) -> bool:
    """Whether every number in a nest of tuples and arrays is finite."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, tuple | list):
        return all(all_finite(part) for part in value)
    return not isinstance(value, float) or bool(np.isfinite(value))
