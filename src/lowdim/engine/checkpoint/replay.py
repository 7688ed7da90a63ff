"""Calls of the function that an optimiser climbs, recorded in a checkpoint and replayed from it.

A climb is deterministic: run again, it makes the same calls. A checkpoint keeps their values in its numbered files, a
stretch of calls in each, and a repeat reads them without a computation, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np

from lowdim.engine.checkpoint.identity import hash_of
from lowdim.maths.linalg import Array

SAVE_SECONDS = 30.0  # seconds of a climb that may be lost
FILE_BYTES = 2**26  # bytes of a climb in one file


class NumberedFiles(Protocol):
    """Numbered files; `number` is the next."""

    number: int
    history: list[tuple[int, float]]

    def load(self, k: int) -> dict[str, Any] | None: ...

    def save(self, k: int, values: dict[str, Any]) -> None: ...

    def forget(self, k: int) -> None: ...


class Call(NamedTuple):
    """One call: its hash, its argument, its value."""

    key: str
    x: Array
    value: Array


class CallRecorder:
    """Replays the calls of a climb as long as they are the same, then records."""

    def __init__(self, files: NumberedFiles) -> None:
        self.files, self.name, self.since = files, "", 0.0
        self.unsaved: list[Call] = []  # computed, and in no file yet
        self.ahead: list[tuple[str, Array]] = []  # calls of the present file still to come, the last of them first

    @property
    def open(self) -> bool:
        """Whether calls are being recorded."""
        return bool(self.unsaved)

    def call(self, name: str, f: Callable[[Array], Array], x: Array) -> Array:
        """f(x), computed or replayed."""
        key = hash_of((name, x))
        value = None if self.unsaved else self._replay(name, key)
        if value is None:
            value = np.array(f(x), dtype=np.float64)
            self._record(name, Call(key, x.copy(), value))
        return value.copy()

    def _record(self, name: str, call: Call) -> None:
        if self.unsaved and (self.name != name or self.unsaved[0].value.shape != call.value.shape):
            self._write()
        if not self.unsaved:
            self.name, self.since = name, monotonic()
        self.unsaved.append(call)
        if monotonic() - self.since >= SAVE_SECONDS or call.value.nbytes * len(self.unsaved) >= FILE_BYTES:
            self._write()

    def _replay(self, name: str, key: str) -> Array | None:
        """The value of this call in the next file; where that holds another call, it is cut off there."""
        if not self.ahead:
            content = self.files.load(self.files.number)
            if content is None or content.get("key") != name or "values" not in content:
                self.files.forget(self.files.number)
                return None
            self.files.number += 1
            self.ahead = list(zip(content["calls"], content["values"], strict=True))[::-1]
        if self.ahead[-1][0] == key:
            return np.asarray(self.ahead.pop()[1])
        self._cut(len(self.ahead))
        return None

    def _cut(self, dropped: int) -> None:
        """The present file without its last calls, and nothing after it."""
        k, self.ahead = self.files.number - 1, []
        content = self.files.load(k)
        keep = 0 if content is None else len(content["calls"]) - dropped
        self.files.forget(k + (keep > 0))
        if content is None or keep <= 0:
            self.files.number = k
        else:
            self.files.save(k, {**content, "calls": content["calls"][:keep], "values": content["values"][:keep].copy()})

    def flush(self) -> None:
        """The climb is over, or the fit."""
        self.ahead = []
        self._write()

    def _write(self) -> None:
        """Save what was recorded in the next file, under its best call."""
        if not self.unsaved:
            return
        values = np.array([call.value for call in self.unsaved])
        best = self.unsaved[int(np.argmax(values[:, 0]))].x
        keys, self.unsaved, k = [call.key for call in self.unsaved], [], self.files.number
        self.files.number += 1
        self.files.save(
            k,
            {
                "key": self.name,
                "args": [best],
                "frame": None,
                "stats": None,
                "noted": self.files.history[-1:],
                "calls": keys,
                "values": values,
            },
        )
