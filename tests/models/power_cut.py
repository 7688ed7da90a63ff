"""A fit that dies half-way and is run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from lowdim import Run


def resumed(model: Any, X: Any, place: Path, steps: int) -> tuple[Any, Any]:
    """The model fitted in one go, and fitted again after it died at a step; they must agree to the bit."""
    whole, died = clone(model).fit(X), []

    def die(step: Any) -> None:
        died.append(step)
        if len(died) == steps:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        clone(model).fit(X, run=Run(checkpoint=place, callback=die))
    again = clone(model).fit(X, run=Run(checkpoint=place))
    assert np.array_equal(again.transform(X), whole.transform(X)) and np.array_equal(again.history_, whole.history_)
    return whole, again
