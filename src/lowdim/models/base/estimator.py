"""What every estimator shares: options, fitted attributes, the loop of the row verbs, files and faces.

Only `fit` and `partial_fit` assign to self.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from inspect import getattr_static
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Fit
from lowdim.engine.fold import Run, walk
from lowdim.engine.plan import Cost
from lowdim.maths.linalg import Array
from lowdim.models.base.results import Certificate
from lowdim.sources.arrays import as_source
from lowdim.sources.sinks import Sink, as_sink
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import Chosen, Frame
from lowdim.text.messages import error, warn

Out = Array | str | PathLike[str] | Sink | None


class Rule(NamedTuple):
    """What an option may be: a test, and the words for it."""

    holds: Callable[[Any], bool]
    words: str


WHOLE = Rule(
    lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool) and bool(v >= 0), "a whole number >= 0"
)
TRUTH = Rule(lambda v: isinstance(v, bool | np.bool_), "True or False")
ORTHOGONAL = ("varimax", "quartimax")  # rotations that keep the prior of a position as it is
TURN = Rule(lambda v: v is None or v in ORTHOGONAL, f"None or one of {ORTHOGONAL}")
POSITIVE = Rule(lambda v: isinstance(v, int | float | np.number) and bool(v > 0), "a number > 0")
FILL_FIRST = "fill the gaps first: ProbabilisticPCA(k).fit(X).impute(X), or  lowdim fill FILE -o FILLED"
COUNT = Rule(lambda v: isinstance(v, int | np.integer) and bool(v >= 1), "a whole number >= 1")


class Absent:
    """A verb a model cannot have: `hasattr` says False, and the error says why and what to use."""

    def __init__(self, why: str, fix: str) -> None:
        self.why, self.fix = why, fix

    def __set_name__(self, owner: type, name: str) -> None:
        self.name: str = f"{self.name}, {name}" if "name" in vars(self) else name  # a reason may be that of several

    def __get__(self, instance: object, owner: type) -> Any:
        raise error("LD240", model=owner.__name__, verb=self.name, why=self.why, fix=self.fix)


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A scikit-learn estimator whose constructor holds only options."""

    _rules: ClassVar[dict[str, Rule]] = {}
    _laws_broken: ClassVar[dict[str, str]] = {}  # law -> reason, printed when the laws run
    _restart: ClassVar[dict[str, Any]] = {}  # options of a start that random_state has a part in, for `best_of`
    params_: Any
    frame_: Frame
    certificate_: Certificate

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """An option that the class does not have belongs to another model, or is refused with the word to use."""
        for word in options.keys() - set(own := cls._get_param_names()):
            from lowdim.models.other_words import with_other_word

            return with_other_word(cls.__name__, word, own, args, options)
        made: Self = super().__new__(cls)
        return made

    def _check_options(self) -> None:
        for name, rule in self._rules.items():
            value = getattr(self, name)
            try:
                holds = rule.holds(value)
            except (TypeError, ValueError):  # not even of a kind that can be compared
                holds = False
            if not holds:
                raise error("LD210", option=name, value=value, allowed=rule.words)

    def _assign(self, attributes: dict[str, Any], header: Header) -> None:
        """The one place that assigns fitted attributes; refuses anything that is not finite."""
        attributes = {"n_features_in_": header.d, **attributes}
        if header.named:
            attributes["feature_names_in_"] = np.array(header.columns, dtype=object)
        for name, value in attributes.items():
            if not all_finite(value):
                raise error("LD214", model=type(self).__name__, name=name)
        for old in [key for key in vars(self) if key.endswith("_") or key == "_online"]:
            delattr(self, old)  # nothing of an earlier fit may linger
        for name, value in attributes.items():
            setattr(self, name, value)

    def _say_why(self, fit: Fit) -> None:
        name = type(self).__name__
        if fit.reason == "interrupted":
            warn("LD211", model=name, passes=fit.passes)
        elif fit.reason != "stopped by the callback":
            warn("LD201", model=name, passes=fit.passes, reason=fit.reason)

    # row verbs -----------------------------------------------------------------------------------
    def cost(self, n: int, d: int) -> Cost:
        """What a fit to n rows of d columns would take: passes, bytes read, peak memory."""
        return self._cost(n, d)

    def _cost(self, n: int, d: int) -> Cost:
        raise NotImplementedError

    def arrange(self, X: Any) -> Source:
        """Rows as a source with the fitted columns in the fitted order."""
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
                raise error(
                    "LD220",
                    got=source.d,
                    want=self.n_features_in_,
                    model=type(self).__name__,
                    missing=f"; missing or there twice: {', '.join(map(str, absent[:5]))}",
                )
            return Chosen(source, [source.columns.index(name) for name in names])
        self._check_width(source)
        return source

    def _check_width(self, source: Source) -> None:
        if source.d != self.n_features_in_:
            raise error("LD220", got=source.d, want=self.n_features_in_, model=type(self).__name__, missing="")

    def _each(
        self,
        f: Callable[[Block], Array],
        X: Any,
        out: Out = None,
        run: Run | None = None,
        names: Callable[[Source], tuple[str, ...]] | None = None,
    ) -> Array:
        """The one loop of the row verbs: block -> f -> sink; `names` are the columns of what comes out."""
        source = self.arrange(X)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        with as_sink(out, source.n, names and names(source)) as sink:
            for start, rows in walk(f, source, run or Run()):
                sink.write(start, rows)
        rows_written: Array = sink.close()
        return in_kind(rows_written, X) if out is None and names == self._axis_names else rows_written

    def _axis_names(self, source: Source) -> tuple[str, ...]:
        return tuple(self.get_feature_names_out())

    # files and faces -----------------------------------------------------------------------------
    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that `lowdim.load` reads; no code is stored."""
        from lowdim.storage.model_file import save

        check_is_fitted(self)
        save(self, path)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        head = super().__repr__(N_CHAR_MAX)
        return f"{head}\n{self.certificate_.text()}" if is_fitted(self) else head

    def _repr_html_(self) -> str:
        head = f"<b>{html.escape(super().__repr__())}</b>"
        return head + (self.certificate_.html() if is_fitted(self) else "<p>not fitted</p>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __dir__(self) -> list[str]:
        """Names without the absent verbs; none is computed to see whether it is there, as scikit-learn would."""
        return [name for name in object.__dir__(self) if not isinstance(getattr_static(type(self), name, None), Absent)]

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def in_kind(rows: Array, X: Any) -> Array:
    """Places as float32 where the table they answer to is, and where float32 holds them."""
    narrow = isinstance(X, np.ndarray) and X.dtype == np.float32
    return rows.astype(np.float32) if narrow and np.abs(rows).max(initial=0.0) < np.finfo(np.float32).max else rows


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


def is_fitted(model: Estimator) -> bool:
    """Whether the model has been fitted."""
    return "params_" in vars(model)


def all_finite(value: Any) -> bool:
    """Whether every number in a nest of tuples and arrays is finite."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, tuple | list):
        return all(all_finite(part) for part in value)
    return not isinstance(value, float) or bool(np.isfinite(value))
