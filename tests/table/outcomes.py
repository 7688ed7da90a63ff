"""What becomes of a table: exactly one of an exact answer, a documented warning, a documented error."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from lowdim.models.base.estimator import all_finite
from lowdim.models.base.latent import LatentModel
from lowdim.text.messages import LowdimError, LowdimWarning, catalogue


class Outcome(NamedTuple):
    """`kind` is "E" (exact answer), "W" (warning and a usable model), "X" (error), or "BAD" (none of these)."""

    kind: str
    codes: tuple[str, ...]
    text: str
    model: LatentModel | None = None


def outcome(model: LatentModel, X: Any, *, verbs: bool = True, **how: Any) -> Outcome:
    """Fit, and use every verb on the same rows; anything undocumented on the way is BAD."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            model.fit(X, **how)
            problem = unusable(model, X) if verbs else attributes(model)
        except LowdimError as error:
            return judged(error)
        except Exception as error:
            return Outcome("BAD", (), f"{type(error).__name__}: {error}")
    foreign = [str(w.message) for w in given if not issubclass(w.category, LowdimWarning)]
    if foreign or problem:
        return Outcome("BAD", (), problem or foreign[0])
    codes = tuple(sorted({str(w.message)[:5] for w in given}))
    return Outcome("W" if codes else "E", codes, "\n".join(str(w.message) for w in given), model)


def judged(error: LowdimError) -> Outcome:
    """An error counts as documented if the catalogue has its code and it says what to do."""
    documented = error.code in catalogue() and bool(error.fix)
    return Outcome("X" if documented else "BAD", (error.code,), str(error))


def attributes(model: LatentModel) -> str:
    """The first fitted attribute that is not finite, or nothing."""
    wrong = [name for name, value in vars(model).items() if name.endswith("_") and not all_finite(value)]
    return f"not finite: {wrong}" if wrong else ""


def unusable(model: LatentModel, X: Any) -> str:
    """What is not finite among the answers of the verbs, or nothing."""
    answers = {
        "transform": model.transform(X),
        "reconstruct": model.reconstruct(X),
        "impute": model.impute(X),
        "std": model.impute(X, return_std=True)[1],
        "draws": model.impute(X, draws=2),
        "posterior": tuple(model.posterior(X)),
        "repr": repr(model) + model._repr_html_(),
    }
    answers["inverse"] = model.inverse_transform(answers["transform"])
    if hasattr(model, "score_samples"):
        answers["score"], answers["sample"] = model.score_samples(X), model.sample(3)
    wrong = [verb for verb, value in answers.items() if not all_finite(value)]
    return attributes(model) or (f"not finite: {wrong}" if wrong else "")


def base(n: int = 60) -> np.ndarray:
    """The base matrix of numerics, section 5."""
    return np.random.default_rng(0).standard_normal((n, 5)) @ np.diag([5, 3, 2, 1, 0.5])
