"""Climbs over numbers in memory, remembered: what a function said, one call after the other.

A climb is deterministic: run again, it asks the same questions. A checkpoint keeps the answers in its numbered files,
a stretch of calls in each, and a repeat hears them without a computation, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np

from lowdim.engine.checkpoint.identity import name_of
from lowdim.math.linalg import Array

INTERVAL = 30.0  # seconds of a climb that may be lost
STRETCH = 2**26  # bytes of a climb in one file


class Shelf(Protocol):
    """Numbered files; `number` is the next."""

    number: int
    history: list[tuple[int, float]]

    def load(self, k: int) -> dict[str, Any] | None: ...

    def save(self, k: int, values: dict[str, Any]) -> None: ...

    def forget(self, k: int) -> None: ...


class Call(NamedTuple):
    """One call: its hash, what it was given, what it said."""

    key: str
    x: Array
    said: Array


class Tape:
    """Plays back the calls of a climb as long as they are the same, then records."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf, self.name, self.since = shelf, "", 0.0
        self.fresh: list[Call] = []  # computed, and in no file yet
        self.stored: list[tuple[str, Array]] = []  # what the present file still has to say, last call first

    @property
    def open(self) -> bool:
        """Whether calls are being recorded."""
        return bool(self.fresh)

    def say(self, name: str, f: Callable[[Array], Array], x: Array) -> Array:
        """f(x), or what it said before."""
        key = name_of((name, x))
        found = None if self.fresh else self._played(name, key)
        if found is None:
            found = np.array(f(x), dtype=np.float64)
            self._record(name, Call(key, x.copy(), found))
        return found.copy()

    def _record(self, name: str, call: Call) -> None:
        if self.fresh and (self.name != name or self.fresh[0].said.shape != call.said.shape):
            self._write()
        if not self.fresh:
            self.name, self.since = name, monotonic()
        self.fresh.append(call)
        if monotonic() - self.since >= INTERVAL or call.said.nbytes * len(self.fresh) >= STRETCH:
            self._write()

    def _played(self, name: str, key: str) -> Array | None:
        """What the next file says of this call; where it speaks of another, it is cut off there."""
        if not self.stored:
            found = self.shelf.load(self.shelf.number)
            if found is None or found.get("key") != name or "said" not in found:
                self.shelf.forget(self.shelf.number)
                return None
            self.shelf.number += 1
            self.stored = list(zip(found["calls"], found["said"], strict=True))[::-1]
        if self.stored[-1][0] == key:
            return np.asarray(self.stored.pop()[1])
        self._cut(len(self.stored))
        return None

    def _cut(self, left: int) -> None:
        """The present file without its last calls, and nothing after it."""
        k, self.stored = self.shelf.number - 1, []
        found = self.shelf.load(k)
        keep = 0 if found is None else len(found["calls"]) - left
        self.shelf.forget(k + (keep > 0))
        if found is None or keep <= 0:
            self.shelf.number = k
        else:
            self.shelf.save(k, {**found, "calls": found["calls"][:keep], "said": found["said"][:keep].copy()})

    def flush(self) -> None:
        """The climb is over, or the fit."""
        self.stored = []
        self._write()

    def _write(self) -> None:
        """What was recorded into the next file; its best call stands for it."""
        if not self.fresh:
            return
        said = np.array([call.said for call in self.fresh])
        best = self.fresh[int(np.argmax(said[:, 0]))].x
        keys, self.fresh, k = [call.key for call in self.fresh], [], self.shelf.number
        self.shelf.number += 1
        self.shelf.save(
            k,
            {
                "key": self.name,
                "args": [best],
                "frame": None,
                "stats": None,
                "noted": self.shelf.history[-1:],
                "calls": keys,
                "said": said,
            },
        )
