"""Several starts of one model in one call: the best fit, and the objectives of all."""

from __future__ import annotations

import warnings
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import clone

from lowdim.engine.fit import STOPPED
from lowdim.engine.fold import Run
from lowdim.models.base.estimator import Estimator
from lowdim.text.messages import error


class Starts(NamedTuple):
    """The best model of several starts, and the objective and the seed of each of them."""

    model: Any
    objectives: tuple[float, ...]
    seeds: tuple[int | None, ...]

    def text(self) -> str:
        """In one line."""
        values = sorted(self.objectives, reverse=True)
        name = self.model.certificate_.objective_name
        return (
            f"{type(self.model).__name__}: best of {len(values)} starts: {name} {values[0]:.6g}, "
            f"middle {values[len(values) // 2]:.6g}, worst {values[-1]:.6g}; random_state={self.model.random_state}"
        )


def best_of(model: Any, X: Any, starts: int = 10, *, run: Run | None = None, **fit_options: Any) -> Starts:
    """Fit a model several times with other seeds and keep the fit with the highest objective.

    The first start is the model as it is; the others take random_state 1, 2, ... (counted on from its own, if that is
    a number), and a start that the seed has a part in (`GTM`: init="jitter"). Ctrl-C, or a callback that returns True,
    ends the present start and begins no other. Only the best one's warnings are given.

    Parameters
    ----------
    model : estimator
        One with a random_state; it is not changed.
    X : table
        What it is fitted to.
    starts : int, default 10
        How often.
    run : Run, default None
        How rows are walked; with Run(checkpoint=folder) each start has a folder of its own in it.
    **fit_options
        What else `fit` takes.

    Returns
    -------
    Starts
        `model`, the best fit; `objectives` and `seeds` of all starts; `text()`, one line about them.

    Examples
    --------
    >>> import numpy as np, lowdim
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> best = best_of(lowdim.DensityNetwork(1, n_samples=20, hidden=3, tol=0.01), X, 3)
    >>> best.seeds, max(best.objectives) == best.model.objective_
    ((0, 1, 2), True)
    """
    options = model.get_params(deep=False) if isinstance(model, Estimator) else {}
    if "random_state" not in options:
        raise error("LD210", option="model", value=type(model).__name__, allowed="a model with a random_state")
    if isinstance(starts, bool) or not isinstance(starts, int) or starts < 1:
        raise error("LD210", option="starts", value=starts, allowed="a whole number >= 1")
    run, seed = run or Run(), options["random_state"]
    folder = None if run.checkpoint is None else Path(str(run.checkpoint))
    if folder is not None:
        folder.mkdir(exist_ok=True)
    first = int(seed) if isinstance(seed, Integral) else 0
    best: tuple[Any, list[warnings.WarningMessage]] | None = None
    objectives: list[float] = []
    for i in range(starts):
        with warnings.catch_warnings(record=True) as recorded:
            warnings.simplefilter("always")
            fitted = clone(model) if i == 0 else clone(model).set_params(**model._restart, random_state=first + i)
            own = None if folder is None else folder / f"start{i + 1}"
            fitted.fit(X, run=run._replace(checkpoint=own), **fit_options)
        objectives.append(float(fitted.objective_))
        if best is None or objectives[-1] > best[0].objective_:
            best = fitted, recorded
        if fitted.certificate_.reason in STOPPED:
            break
    assert best is not None
    for warning in best[1]:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return Starts(best[0], tuple(objectives), (seed, *range(first + 1, first + len(objectives))))
