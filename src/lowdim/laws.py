"""The laws every model obeys, whoever wrote it: `lowdim.laws.check(MyModel(2), X)`.

A law takes a fresh estimator (it works on clones) and a table or Source, and raises an AssertionError
with a sentence where it is broken. A class lists the laws it cannot obey, each with its reason, in
`_laws_broken`. Laws of row order, weights and tiles are about one step from one start, so iterative
models are stopped after it: where a fit ends depends on every bit, where a step leads does not.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lowdim.engine.fold import Run, Serial
from lowdim.engine.statistics import Triangle
from lowdim.maths.linalg import Array, Mask
from lowdim.registry import MODELS
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Source
from lowdim.sources.views import gather
from lowdim.text.messages import LowdimWarning

EXACT = 1e-12  # what another order of the same sums may change, relative to their size
STEP = 1e-11  # the same after one update: its solves may cost a digit (PCA with gaps: noise of 1e-8)
PLACE = 1e-8  # what a row's place may change where it is solved for
TOTAL = 1e-9  # what a sum over rows may differ from the same figure in closed form
ENOUGH = 1000  # rows drawn by `sample_then_fit`
SERIAL = Run(engine="serial")
SQUARABLE = 1e150  # standard deviations whose squares a double can hold
T = TypeVar("T")


class Relaid(Source):
    """A source walked in other tiles and blocks; counts the rows it was asked for."""

    def __init__(self, X: Any, tile: int | None = None, block_tiles: int = 1, weight: Array | None = None) -> None:
        source = as_source(X)
        super().__init__(
            (source.n, source.d),
            source.columns if source.named else None,
            source.weight if weight is None else weight,
            tile or source.tile,
            block_tiles,
        )
        self.rows_of, self.walked = source, 0

    def read(self, rows: slice | NDArray[np.intp]) -> tuple[Array, Mask | None]:
        self.walked += rows.stop - rows.start if isinstance(rows, slice) else 0
        return self.rows_of.read(rows)


class Recorder(Serial):
    """An executor that remembers the statistics of every fold."""

    def __init__(self) -> None:
        self.folds: list[list[Any]] = []

    def map(self, f: Callable[[Iterable[Block]], T], source: Source, first: int = 0) -> Iterator[T]:
        self.folds.append(list(super().map(f, source, first)))
        return iter(self.folds[-1])


# the laws --------------------------------------------------------------------------------------------
def merge_any_order(model: Any, X: Any) -> None:
    """Merging statistics is associative and commutative."""
    recorder = Recorder()
    _fit(_brief(model), Relaid(X, tile=max(1, as_source(X).n // 4)), run=Run(engine=recorder))
    checked = 0
    for leaves in recorder.folds:
        if len(leaves) < 3 or not callable(getattr(leaves[0], "merge", None)):
            continue  # the results of row verbs do not merge
        a, b, c = leaves[:3]
        left, right, turned = a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(b).merge(a)
        for way, other in (("a(bc)", right), ("(cb)a", turned)):
            gap = _apart(left, other, (a, b, c))
            assert gap <= EXACT, f"{type(a).__name__}: (ab)c and {way} differ by {gap:.1e} of their size"
        checked += 1
    assert checked, "no fold had three tiles to merge"


def blocks_of_tiles(model: Any, X: Any) -> None:
    """Any 2^k tiles a block give the same bits."""
    one = _fit(model, Relaid(X, tile=7), run=SERIAL)
    for k in (2, 4):
        source = Relaid(X, tile=7, block_tiles=k)
        _identical(one, _fit(model, source, run=SERIAL), f"{k} tiles a block change")
        same = np.array_equal(one.transform(source), one.transform(Relaid(X, tile=7)))
        assert same, f"{k} tiles a block change the bits of transform"


def any_tile(model: Any, X: Any) -> None:
    """Any number of rows a tile gives the same answer."""
    one = _fit(_brief(model), X)
    for tile in (1, 7, 100):
        _agree(one, _fit(_brief(model), Relaid(X, tile=tile), run=SERIAL), X, f"tiles of {tile} rows change")


def serial_is_threads(model: Any, X: Any) -> None:
    """Threads change no bit."""
    one, two = (_fit(model, Relaid(X, tile=7), run=run) for run in (SERIAL, Run(engine="threads")))
    _identical(one, two, "threads change")


def weights_repeat_rows(model: Any, X: Any) -> None:
    """A weight of 2 counts a row twice, a weight of 0 not at all."""
    table = _table(X)
    w = np.arange(len(table)) % 4 % 3 + (np.arange(len(table)) < 4)  # 1 2 3 1 | 0 1 2 0 | 0 1 2 0 ...
    twice = np.repeat(table, w, axis=0)
    one, two = _fit(_brief(model), table, sample_weight=w), _fit(_brief(model), twice)
    _agree(one, two, table, "weights instead of repeated rows change")
    if _can(model, "score"):
        with _quiet():
            a, b = one.score(table, sample_weight=w), two.score(twice)
        assert abs(a - b) <= TOTAL * abs(b), f"score with weights is {a!r}, with repeated rows {b!r}"


def mask_of_ones_is_no_mask(model: Any, X: Any) -> None:
    """A complete table is the same with a mask and without; a complete row too, beside rows with gaps."""
    full = _fit(model, X).reconstruct(X)
    one = _fit(model, full)
    two = _fit(model, np.ma.masked_array(full, mask=np.zeros(full.shape, dtype=bool)))
    _identical(one, two, "a mask of ones changes")
    block = one.frame_.inward(as_source(full).sample(len(full)))
    a, b = (one._posterior(one.params_, block._replace(mask=mask)) for mask in (None, np.ones(full.shape, bool)))
    gap = _apart(a, b, (a,))
    assert gap <= EXACT * 1e3, f"the posterior of a complete row changes by {gap:.1e} beside rows with gaps"


def all_missing_row_gets_prior(model: Any, X: Any) -> None:
    """A row without any cell is the prior: its mean, its covariance, log density 0."""
    fitted = _fit(model, X)
    posterior = fitted.posterior(np.full((1, fitted.n_features_in_), np.nan))
    prior = fitted.prior()
    gap = _apart(posterior[:2], prior[:2], (prior[:2],))
    assert gap <= EXACT, f"an empty row's posterior is {gap:.1e} from the prior"
    assert posterior.log_density[0] == 0.0, f"an empty row has log density {posterior.log_density[0]}, not 0"


def row_order_does_not_matter(model: Any, X: Any) -> None:
    """Shuffled rows give the same model."""
    table = _table(X)
    order = np.random.default_rng(0).permutation(len(table))
    _agree(_fit(_brief(model), table), _fit(_brief(model), table[order]), table, "the order of rows changes")


def objective_never_falls(model: Any, X: Any) -> None:
    """Each pass is at least as good as the best before; an extrapolation that is not is taken back at once."""
    history = _fit(model, X).history_
    best = -np.inf
    for i, value in enumerate(history):
        noise = 1e-10 * abs(value)
        taken_back = i + 1 == len(history) or history[i + 1] >= best - noise
        assert value >= best - noise or taken_back, f"the objective falls from {best!r} to {value!r} at pass {i + 1}"
        best = max(best, value)


def score_is_objective(model: Any, X: Any) -> None:
    """The rows' log densities add up to the objective, weighted or not."""
    fitted = _fit(model, X)
    w = as_source(X).weight
    with _quiet():
        scores = fitted.score_samples(X)
    total = float(scores.sum() if w is None else w @ scores)
    assert abs(total - fitted.objective_) <= TOTAL * (1.0 + abs(total)), (
        f"score_samples add up to {total!r}, the objective is {fitted.objective_!r}"
    )


def criteria_count_numbers(model: Any, X: Any) -> None:
    """`bic` and `aic` weigh the rows' log densities against `n_parameters_`; a model without it has neither."""
    fitted, w = _fit(model, X), as_source(X).weight
    if not _can(fitted, "n_parameters_"):
        return _lacks_criteria(fitted, X)
    k, n = fitted.n_parameters_, float(len(_table(X)) if w is None else w.sum())
    with _quiet():
        scores = fitted.score_samples(X)
        bic, aic = fitted.bic(X), fitted.aic(X)
    total = float(scores.sum() if w is None else w @ scores)
    assert isinstance(k, int) and k > 0, f"n_parameters_ is {k!r}"
    for name, got, want in (("bic", bic, k * np.log(n) - 2 * total), ("aic", aic, 2 * k - 2 * total)):
        assert abs(got - want) <= TOTAL * (1.0 + abs(want)), f"{name} is {got!r}, not {want!r}"


def impute_keeps_seen(model: Any, X: Any) -> None:
    """`impute` keeps every seen cell to the bit, fills every gap as `predict_cells` says, and is sure of seen cells."""
    fitted = _fit(model, X)
    table = _table(X)
    seen = ~np.isnan(table)
    filled, std = fitted.impute(X, return_std=True)
    filled = _table(filled)  # a frame, where the model gives back what it was given
    assert np.array_equal(filled[seen], table[seen]), "impute changed a cell that was seen"
    assert np.isfinite(filled).all(), "impute left a gap"
    assert (std[seen] == 0.0).all(), "impute is uncertain of a cell that was seen"
    assert (std[~seen] > 0.0).all() and np.isfinite(std).all(), "impute is certain of a cell that was not seen"
    if _can(fitted, "predict_cells"):
        with _quiet():
            cells = fitted.predict_cells(X)
        assert np.array_equal(cells.mean[~seen], filled[~seen]), "impute and predict_cells have other means for a gap"
        gap = 0.0
        if std[~seen].min(initial=1.0) > 1.0 / SQUARABLE and std.max() < SQUARABLE:
            gap = _apart(np.sqrt(cells.var[~seen] + cells.noise[~seen]), std[~seen], ())
        assert gap <= EXACT, f"impute and predict_cells differ by {gap:.1e} in their standard deviations"
    for drawn in map(_table, fitted.impute(X, draws=2)):
        assert np.array_equal(drawn[seen], table[seen]), "a draw changed a cell that was seen"


def sample_then_fit(model: Any, X: Any) -> None:
    """A fit to the model's own rows is as far from it as maximum likelihood is from the truth (Wilks)."""
    truth = _fit(model, X)
    rows = truth.sample(ENOUGH, random_state=1)
    same = clone(model)
    if "n_components" in same.get_params():  # a share of the variance may ask for more axes of other rows
        same.set_params(n_components=truth.transform(rows[:1]).shape[1])
    again = _fit(same, rows)
    with _quiet():
        ratio = 2 * ENOUGH * (again.score(rows) - truth.score(rows))
    d = rows.shape[1]
    free = d * (d + 3) / 2  # of the largest Gaussian model; 2 log LR has mean free and variance 2 free
    # Below zero too: PCA's variances (n - 1) and a standardised table's units are not of maximum likelihood.
    assert abs(ratio) <= free + 6 * np.sqrt(2 * free), (
        f"twice the log-likelihood ratio of refitted and true model is {ratio:.1f}, at most {free:g} is expected"
    )


def options_untouched(model: Any, X: Any) -> None:
    """`fit` changes neither the options nor the table."""
    mine = clone(model)
    before, table = {k: (v, repr(v)) for k, v in mine.get_params().items()}, _table(X)
    with _quiet():
        mine.fit(X)
    after = mine.get_params()
    for name, (value, text) in before.items():
        now = after[name]
        assert now is value and repr(now) == text, f"fit changed the option {name} from {text} to {now!r}"
    assert np.array_equal(_table(X), table, equal_nan=True), "fit changed the table"


def transform_is_fit_transform(model: Any, X: Any) -> None:
    """`transform` of the training rows is what `fit_transform` gave."""
    mine = clone(model)
    with _quiet():
        one, two = mine.fit_transform(X), mine.transform(X)
    gap = _apart(one, two, (one,))
    assert gap <= PLACE, f"transform and fit_transform differ by {gap:.1e}"


def save_and_load(model: Any, X: Any) -> None:
    """A model file gives back every bit."""
    from lowdim.storage.model_file import load

    fitted = _fit(model, X)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.lowdim")
        fitted.save(path)
        back = load(path)
    assert repr(back.get_params()) == repr(fitted.get_params()), "a saved model came back with other options"
    _identical(fitted, back, "saving and loading change")
    assert np.array_equal(fitted.transform(X), back.transform(X)), "a loaded model transforms differently"


def passes_as_declared(model: Any, X: Any) -> None:
    """A fit needs no more passes than it declared, and reads no more than it says."""
    for mine in (model, _brief(model)):
        source = Relaid(X)
        fitted = _fit(mine, source)
        declared, used = fitted.cost(source.n, source.d).passes, fitted.certificate_.passes
        assert used <= declared, f"{used} passes used, {declared} declared"
        read = source.walked / source.n
        assert read <= used, f"the table was read {read:g} times, the certificate says {used}"


def finite(model: Any, X: Any) -> None:
    """No fitted attribute is ever NaN or infinite."""
    for name, leaf in _leaves(_fit(model, X)):
        number = isinstance(leaf, float) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")
        assert not number or np.isfinite(leaf).all(), f"the fitted {name} is not finite"


def constructor_holds_options(model: Any, X: Any) -> None:
    """The constructor stores its options, nothing else; keyword-only after the first two."""
    fresh = clone(model)
    options = fresh.get_params(deep=False)
    assert set(vars(fresh)) == set(options), f"the constructor also sets {set(vars(fresh)) - set(options)}"
    code = type(model).__init__.__code__
    assert code.co_argcount <= 3, "options after the first two must be keyword-only"


LAWS: dict[str, Callable[[Any, Any], None]] = {
    law.__name__: law
    for law in (
        merge_any_order,
        blocks_of_tiles,
        any_tile,
        serial_is_threads,
        weights_repeat_rows,
        mask_of_ones_is_no_mask,
        all_missing_row_gets_prior,
        row_order_does_not_matter,
        objective_never_falls,
        score_is_objective,
        criteria_count_numbers,
        impute_keeps_seen,
        sample_then_fit,
        options_untouched,
        transform_is_fit_transform,
        save_and_load,
        passes_as_declared,
        finite,
        constructor_holds_options,
    )
}


def check(model: Any, X: Any, *, verbose: bool = True) -> dict[str, str]:
    """Hold a model to every law on one table; the laws its class cannot obey come back with their reasons.

    >>> import lowdim, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((40, 4)) @ np.diag([5.0, 3.0, 1.0, 0.5])
    >>> lowdim.laws.check(lowdim.PPCA(2), X)
    {}
    """
    broken: dict[str, str] = dict(getattr(model, "_laws_broken", {}))
    if type(model).__name__ not in MODELS:
        broken.setdefault("save_and_load", "model files hold lowdim's own classes only")
    failures = []
    for name, law in LAWS.items():
        if name in broken:
            if verbose:
                print(f"{type(model).__name__} does not obey {name}: {broken[name]}")
            continue
        try:
            law(model, X)
        except Exception as problem:  # a law that cannot even be tried is broken
            failures.append(f"{name}: {problem}")
    assert not failures, f"{model!r} breaks {len(failures)} law(s):\n  " + "\n  ".join(failures)
    return broken


# what they share ---------------------------------------------------------------------------------------
@contextmanager
def _quiet() -> Iterator[None]:
    """Notes about the table are not the laws' business; an objective that falls is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        warnings.filterwarnings("error", message="LD208")
        yield


def _fit(model: Any, X: Any, **fit_options: Any) -> Any:
    with _quiet():
        return clone(model).fit(X, **fit_options)


def _brief(model: Any) -> Any:
    """The model, stopped after one step from its start."""
    mine = clone(model)
    return mine.set_params(max_iter=2) if "max_iter" in mine.get_params() else mine


def _can(model: Any, verb: str) -> bool:
    try:
        return getattr(model, verb) is not None
    except AttributeError:
        return False


def _lacks_criteria(model: Any, X: Any) -> None:
    """A model that counts no numbers must say so when it is asked for a criterion."""
    for name in ("bic", "aic"):
        try:
            value = getattr(model, name)(X)
        except AttributeError:
            continue
        raise AssertionError(f"{name} is {value!r}, and there is no n_parameters_ it could count")


def _table(X: Any) -> Array:
    """The table as one array with NaN at its gaps."""
    x, mask = gather(as_source(X))
    return x if mask is None else np.where(mask, x, np.nan)


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every number, text and array of a fitted model or a nest of tuples, with its name."""
    if isinstance(value, tuple | list):
        names = getattr(value, "_fields", range(len(value)))
        for part, inner in zip(names, value, strict=True):
            yield from _leaves(inner, f"{name}.{part}")
    elif "__sklearn_tags__" in dir(value):
        for key in sorted(key for key in vars(value) if key.endswith("_")):
            yield from _leaves(vars(value)[key], key)
    else:
        yield name, value


def _identical(one: Any, two: Any, what: str) -> None:
    a, b = dict(_leaves(one)), dict(_leaves(two))
    assert set(a) == set(b), f"{what} which attributes there are: {set(a) ^ set(b)}"
    for name, x in a.items():
        same = np.array_equal(x, b[name]) if isinstance(x, np.ndarray) else x == b[name]
        assert same, f"{what} the bits of {name}"


def _agree(one: Any, two: Any, X: Any, what: str) -> None:
    """Two fits say the same of a table, up to rounding."""
    if "objective_" in dir(one):
        gap = abs(one.objective_ - two.objective_) / (1.0 + abs(one.objective_))
        assert gap <= STEP, f"{what} the objective by {gap:.1e} of its size"
    # Gaps: PCA places a row by least squares with a noise of 1e-9, which may cost half the digits. A map without a
    # way back is one of eigenvectors, as sharp as the gaps between their values are wide.
    allowed = STEP if _can(one, "reconstruct") and not np.isnan(_table(X)).any() else PLACE
    for verb in (verb for verb in ("transform", "reconstruct") if _can(one, verb)):
        a, b = getattr(one, verb)(X), getattr(two, verb)(X)
        gap = _apart(a, b, (a,))
        assert gap <= allowed, f"{what} the result of {verb} by {gap:.1e} of its size"


def _apart(one: Any, two: Any, like: tuple[Any, ...]) -> float:
    """The largest difference of two nests of arrays, in units of the largest entry of each of its arrays."""
    if isinstance(one, Triangle):  # known up to the signs of its rows
        return _apart(one.R.T @ one.R, two.R.T @ two.R, tuple(part.R.T @ part.R for part in like))
    if isinstance(one, tuple):
        parts = (_apart(a, b, tuple(part[k] for part in like)) for k, (a, b) in enumerate(zip(one, two, strict=True)))
        return max(parts, default=0.0)
    if one is None:
        return 0.0 if two is None else np.inf
    size = max(float(np.abs(np.asarray(x)).max(initial=0.0)) for x in (one, two, *like) if x is not None)
    return float(np.abs(np.asarray(one) - np.asarray(two)).max(initial=0.0)) / size if size > 0 else 0.0
