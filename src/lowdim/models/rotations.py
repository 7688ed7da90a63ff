"""Rotations as public functions: what they are given is a table like any other, of any size.

The mathematics is in `maths/`, which knows no tables; here cells are checked and brought to a moderate size by a power
of two, which changes no digit.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from lowdim.maths import rotate as rotations
from lowdim.maths.linalg import Array, moderate_factor
from lowdim.models.base.results import in_range
from lowdim.sources.arrays import as_matrix, complete_matrix
from lowdim.text.messages import error

NEEDS_ALL = "a rotation needs every cell"


def _back(values: Any, unit: float, what: str) -> Array:
    """Values in the table's own unit again."""
    with np.errstate(over="ignore"):
        return in_range(np.asarray(values / unit), what, 1.0 / unit)


@wraps(rotations.rotate)
def rotate(loadings: Any, method: str = "varimax", *, target: Any = None, **options: Any) -> rotations.Rotation:
    """`lowdim.rotate`: the rotation of any table of loadings."""
    if method not in rotations.METHODS:
        raise error("LD210", option="method", value=method, allowed=" or ".join(map(repr, rotations.METHODS)))
    W = complete_matrix(loadings, "rotate", NEEDS_ALL)
    unit = moderate_factor(W)
    if target is not None:
        target = as_matrix(target) * unit
    if method == "geomin":  # whose criterion knows a size
        options["epsilon"] = float(np.clip(options.get("epsilon", rotations.EPSILON) * unit * unit, 1e-300, 1e300))
    try:
        turned = rotations.rotate(W * unit, method, target=target, **options)
    except ValueError as problem:  # a target that does not fit
        raise error("LD210", option="target", value="a table", allowed=str(problem)) from None
    return turned._replace(loadings=_back(turned.loadings, unit, "Loadings"))


@wraps(rotations.procrustes)
def procrustes(X: Any, target: Any, *, scaling: bool = True, reflection: bool = True) -> rotations.Alignment:
    """`lowdim.procrustes`: one table of positions laid on another."""
    P, Y = (complete_matrix(table, "procrustes", NEEDS_ALL) for table in (X, target))
    if P.shape != Y.shape:
        raise error("LD210", option="target", value=f"a table of {Y.shape}", allowed=f"a table of {P.shape}, as X is")
    own, other = (moderate_factor(P), moderate_factor(Y)) if scaling else (moderate_factor(P, Y),) * 2
    found = rotations.procrustes(P * own, Y * other, scaling=scaling, reflection=reflection)
    return found._replace(
        aligned=_back(found.aligned, other, "Places"),
        scale=float(_back(found.scale * own, other, "The scale")),
        shift=_back(found.shift, other, "The shift"),
    )
