"""What a fold is known by: hashes of values, of functions with their arguments, and of tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from lowdim.sources.arrays import SparseSource
from lowdim.sources.source import Source
from lowdim.text.messages import error

STOPPING_OPTIONS = ("tol", "max_iter")  # options that say when to stop: a fit may go on with others


def update_hash(hasher: Any, value: Any) -> None:
    """Hash a value of any depth: arrays by their bits, NamedTuples by name and fields, models by their options."""
    value = value.item() if isinstance(value, np.generic) else value
    name = type(value).__name__
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufSU":
        hasher.update(f"{name} {value.dtype.str} {value.shape}".encode())
        hasher.update(np.ascontiguousarray(value).view(np.uint8).data if value.size else b"")
    elif isinstance(value, tuple | list | dict):
        hasher.update(f"{name} {len(value)}".encode())
        for part in value.items() if isinstance(value, dict) else value:
            update_hash(hasher, part)
    elif value is None or isinstance(value, bool | int | float | str):
        hasher.update(f"{name} {value!r};".encode())
    elif isinstance(value, np.random.Generator):
        update_hash(hasher, dict(value.bit_generator.state))
    elif isinstance(value, np.random.RandomState):
        update_hash(hasher, value.get_state(legacy=False))
    elif isinstance(value, BaseEstimator):
        update_hash(hasher, {"class": name, **value.get_params(deep=False)})
    else:
        raise error("LD303", what=f"a fold that was given a {name}", fix="give it numbers, text and arrays only")


def hash_of(value: Any) -> str:
    """The hash of a value in 64 digits."""
    hasher = blake2b(digest_size=32)
    update_hash(hasher, value)
    return hasher.hexdigest()


def function_identity(f: Callable[..., Any]) -> tuple[str, list[Any], dict[str, Any], dict[str, Any]]:
    """The name of a function, its arguments so far, and the options of the model it is a method of."""
    inner, args, words = (f.func, list(f.args), f.keywords) if isinstance(f, partial) else (f, [], {})
    options: dict[str, Any] = {}
    if isinstance(inner, MethodType):
        model: Any = inner.__self__
        options = {"class": type(model).__name__, **model.get_params(deep=False)}
        options = {name: value for name, value in options.items() if name not in STOPPING_OPTIONS}
        inner = inner.__func__
    if not isinstance(inner, FunctionType) or "<" in inner.__qualname__:
        name = getattr(inner, "__qualname__", repr(inner))
        raise error("LD303", what=f"a fold of {name}", fix="fold a function of a module, or a functools.partial of one")
    return f"{inner.__module__}.{inner.__qualname__}", args, words, options


def table_hash(leaf: Source) -> str:
    """The hash of a table: of what its kind says of it, else of every cell; and of the weights."""
    hasher = blake2b(leaf.fingerprint().encode(), digest_size=32)
    update_hash(hasher, leaf.weight)
    if isinstance(leaf, SparseSource):
        update_hash(hasher, [leaf.values.data, leaf.values.indices, leaf.values.indptr, leaf.gaps])
    elif type(leaf).fingerprint is Source.fingerprint:  # first and last rows are not enough
        for begin in range(0, leaf.n, leaf.tile):
            update_hash(hasher, leaf.read(slice(begin, min(begin + leaf.tile, leaf.n))))
    return hasher.hexdigest()
