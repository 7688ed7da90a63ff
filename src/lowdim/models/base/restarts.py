"""Several starts of one model in one call: the best is kept, and what the others came to is told."""

from __future__ import annotations

import warnings
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import clone

from lowdim.engine.fold import Run
from lowdim.engine.monitor import STOPPED
from lowdim.models.base.estimator import Estimator
from lowdim.text.messages import error


class Starts(NamedTuple):
    """The best model of several starts, and the objective and the seed of each of them."""

    model: Any
    objectives: tuple[float, ...]
    seeds: tuple[int | None, ...]

    def text(self) -> str:
        """In one line."""
        found = sorted(self.objectives, reverse=True)
        name = self.model.certificate_.objective_name
        return (
            f"{type(self.model).__name__}: best of {len(found)} starts: {name} {found[0]:.6g}, "
            f"middle {found[len(found) // 2]:.6g}, worst {found[-1]:.6g}; random_state={self.model.random_state}"
        )


def best_of(model: Any, X: Any, starts: int = 10, *, run: Run | None = None, **words: Any) -> Starts:
    """Fit a model `starts` times with other seeds and keep the one with the highest objective.

    The first start is the model as it is, the others take random_state 1, 2, ... (counted on from its own, if that is a
    number). Ctrl-C, or a callback that says so, ends the present start and begins no other. `words` go to `fit`. With
    Run(checkpoint=folder) each start has a folder of its own in it. Only the best one's warnings are given.

    >>> import numpy as np, lowdim
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> found = best_of(lowdim.DensityNetwork(1, n_samples=20, hidden=3, tol=1.0), X, 3)
    >>> found.seeds, max(found.objectives) == found.model.objective_
    ((0, 1, 2), True)
    """
    options = model.get_params(deep=False) if isinstance(model, Estimator) else {}
    if "random_state" not in options:
        raise error("LD210", option="model", value=type(model).__name__, allowed="a model with a random_state")
    if isinstance(starts, bool) or not isinstance(starts, int) or starts < 1:
        raise error("LD210", option="starts", value=starts, allowed="a whole number >= 1")
    run, own = run or Run(), options["random_state"]
    first = int(own) if isinstance(own, Integral) else 0
    best: tuple[Any, list[warnings.WarningMessage]] | None = None
    objectives: list[float] = []
    for i in range(starts):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            tried = clone(model) if i == 0 else clone(model).set_params(random_state=first + i)
            tried.fit(X, run=_own(run, i), **words)
        objectives.append(float(tried.objective_))
        if best is None or objectives[-1] > best[0].objective_:
            best = tried, heard
        if tried.certificate_.reason in STOPPED:
            break
    assert best is not None
    for said in best[1]:
        warnings.warn_explicit(said.message, said.category, said.filename, said.lineno)
    return Starts(best[0], tuple(objectives), (own, *range(first + 1, first + len(objectives))))


def _own(run: Run, i: int) -> Run:
    """The run with a checkpoint of this start's own."""
    if run.checkpoint is None:
        return run
    folder = Path(str(run.checkpoint))
    folder.mkdir(exist_ok=True)
    return run._replace(checkpoint=folder / f"start{i + 1}")
