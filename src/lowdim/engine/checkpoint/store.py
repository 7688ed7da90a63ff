"""Checkpoints: a folder that remembers what a fit has folded.

A fit is deterministic, so its folds are its whole state. Every finished fold is stored under a key: the hash of
the function, of every number it was given, and of the table. The same fit, run again, does what it did before,
and each stored fold is answered from disk without a look at the rows: bitwise the same by construction.

    manifest.json     whose fit this is: model, options, table, seeds; and the objective pass by pass
    000012.fold       the statistics and parameters of one fold; each is whole before the next begins. Or a stretch of
                      a climb that needs no rows (recall): what a function said, one call after the other
    partial.fold      a fold under way: its tree so far, and how many leaves are in it (.old: the one before)
    lock              held while a fit works here

Every file replaces its predecessor in one step and ends in the digest of its bytes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Self

import numpy as np

from lowdim.engine.checkpoint.identity import STOPPING_OPTIONS, function_identity, hash_of, table_hash
from lowdim.engine.checkpoint.replay import CallRecorder
from lowdim.engine.fold import Executor, Memory, S, grown, over_tiles, tree
from lowdim.maths.linalg import Array
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed, View
from lowdim.storage.atomic import Replacement, lock, not_written
from lowdim.storage.model_file import VERSION, digest, load_values, save_values
from lowdim.text.messages import LowdimError, error, warn

SCHEMA = 1
SAVE_TREE_SECONDS = 30.0  # seconds of a fold that may be lost
MANIFEST, LOCK, PART, OLD = "manifest.json", "lock", "partial.fold", "partial.old.fold"
WORDS = {
    "model": "the model",
    "n": "the number of rows",
    "d": "the number of columns",
    "tile": "rows in a tile",
    "columns": "the columns",
    "lowdim": "lowdim's version",
    "schema": "the checkpoint's format",
}


class Checkpoint(Memory):
    """The memory of one fit in a folder; use it as a context, which holds the folder's lock."""

    def __init__(self, path: str | os.PathLike[str], model: Any, source: Source) -> None:
        self.leaf = source.leaf
        self.folder, self.number, self.sure, self.warned, self.noted = Path(path), 0, True, False, 0.0
        self.history: list[tuple[int, float]] = []
        self.recorder = CallRecorder(self)
        options = {name: _text(value) for name, value in model.get_params(deep=False).items()}
        self.table = table_hash(self.leaf)
        self.facts: dict[str, Any] = {
            "schema": SCHEMA,
            "lowdim": VERSION,
            "model": type(model).__name__,
            "options": options,
            "options_hash": hash_of(options),
            "n": source.n,
            "d": source.d,
            "tile": source.tile,
            "columns": hash_of(source.columns),
            "seeds": [options.get("random_state", "0")],
            "table": self.table,
        }

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(exist_ok=True)
            inside = (path.name for path in self.folder.iterdir())
            foreign = [name for name in inside if name != LOCK and not name.startswith(".lowdim-")]
            if foreign and MANIFEST not in foreign:
                raise error("LD321", path=str(self.folder), problem=f"it holds '{min(foreign)}' and no {MANIFEST}")
            self.lock = open(self.folder / LOCK, "ab")  # held until the fit ends
        except OSError as cause:
            raise not_written(self.folder, cause) from cause
        try:
            self._hold()
            self._drop(*(path.name for path in self.folder.glob(".lowdim-*.tmp")))  # a killed fit's
            self._compare()
            if not (self.folder / MANIFEST).exists():
                self._write_manifest()
        except BaseException:
            self.lock.close()
            raise
        return self

    def _hold(self) -> None:
        try:
            lock(self.lock, wait=False)
        except BlockingIOError:
            raise error("LD322", path=str(self.folder)) from None
        except OSError:
            pass  # a network disk without locks

    def __exit__(self, *problem: object) -> None:
        try:
            self.recorder.flush()
            self._write_manifest()
        finally:
            self.lock.close()

    def _compare(self) -> None:
        """Refuse a folder that holds another fit, naming what differs."""
        if not (self.folder / MANIFEST).exists():
            return
        try:
            old, new = read_manifest(self.folder), self.facts
        except LowdimError:  # whose folds these are their keys will tell
            warn("LD323", path=str(self.folder / MANIFEST))
            self.sure = not (self.folder / _numbered(0)).exists()
            return
        differences = [
            f"{words} ({old.get(name)} there, {new[name]} here)" if name != "columns" else words
            for name, words in WORDS.items()
            if old.get(name) != new[name]
        ]
        if not differences:
            there, here = old.get("options", {}), new["options"]
            differences = [
                f"{name}={there.get(name)} there, {here.get(name)} here"
                for name in {**there, **here}
                if there.get(name) != here.get(name) and name not in STOPPING_OPTIONS
            ]
        if not differences and old.get("table") != self.table:
            differences = ["the table (cells, weights, or the time its file was written)"]
        if differences:
            raise error("LD320", path=str(self.folder), differs="; ".join(differences))

    def _write_manifest(self) -> None:
        if not self.sure:
            return
        self.noted = monotonic()
        objective = [[k, value if math.isfinite(value) else None] for k, value in self.history]
        text = _dumps({**self.facts, "history": objective})
        whole = {**self.facts, "history": objective, "blake2b": digest([text])}
        self._try(_save_text, self.folder / MANIFEST, json.dumps(whole, indent=1))

    def _try(self, write: Callable[..., None], path: Path, what: Any) -> bool:
        """Write, or say once that it cannot be done: the fit goes on in memory."""
        try:
            write(path, what)
            return True
        except (OSError, LowdimError) as cause:
            if not self.warned:
                self.warned = True
                message = cause.message if isinstance(cause, LowdimError) else None
                problem = getattr(message, "what", None) or getattr(cause, "strerror", None) or str(cause)
                warn("LD324", path=str(self.folder), problem=problem)
            return False

    def note(self, value: float) -> None:
        """The objective of the last fold's parameters."""
        self.history.append((self.number - (not self.recorder.open), value))
        if monotonic() - self.noted >= SAVE_TREE_SECONDS:
            self._write_manifest()

    # folds -----------------------------------------------------------------------------------------
    def fold(self, f: Callable[[Block], S], source: Source, engine: Executor) -> S:
        self.recorder.flush()
        # The fold is known by its function, every number the function was given, and the rows: equal keys, equal bits.
        name, args, words, options = function_identity(f)
        key = hash_of((name, args, words, options, source.tile, list(self._seen(source))))
        file, self.number = self.folder / _numbered(self.number), self.number + 1
        stats = self._stored(file, key)
        if stats is None:
            stats = self._walk(key, f, source, engine)
            self.leaf.unchanged()  # before anything of it is kept
            frame = source.frame if isinstance(source, Framed) else None
            if self._try(
                save_values,
                file,
                {
                    "key": key,
                    "function": name,
                    "args": args,
                    "frame": frame,
                    "noted": self.history[-1:],
                    "stats": stats,
                },
            ):
                self._drop(PART, OLD)
        whole: S = solid(stats)
        return whole

    def _seen(self, source: Source) -> Iterator[Any]:
        """What the rows are, and how they are looked at."""
        if isinstance(source, View):
            hidden = ("source", "_kept", "weight", "block_tiles")
            yield {name: part for name, part in vars(source).items() if name not in hidden}
            yield from self._seen(source.source)
        elif source is self.leaf:
            yield self.table
        else:
            yield source.fingerprint(), source.weight

    def _stored(self, file: Path, key: str) -> Any:
        """The statistics of this fold, if they are there; another fold's, and all after it, are thrown away."""
        entry = self._load(file)
        if entry is not None and entry.get("key") != key:
            if not self.sure:
                raise error(
                    "LD320",
                    path=str(self.folder),
                    differs=f"{MANIFEST} is damaged, and {file.name} is not of this model and table",
                )
            self.forget(self.number - 1)
            return None
        self.sure = self.sure or entry is not None
        return None if entry is None else entry["stats"]

    def _load(self, file: Path) -> dict[str, Any] | None:
        if not file.exists():
            return None
        try:
            return load_values(file)
        except LowdimError:
            warn("LD323", path=str(file))
            return None

    def _drop(self, *names: str) -> None:
        for name in names:
            with suppress(OSError):
                (self.folder / name).unlink(missing_ok=True)

    def _walk(self, key: str, f: Callable[[Block], S], source: Source, engine: Executor) -> S:
        """The fold itself, from where its last partial file left it."""
        # A leaf of this walk is a span of blocks: a stack that was saved goes on only with leaves of the same size.
        span = engine.span(source)
        whole = begun = self._begun(key, span * source.block_tiles)
        clock = monotonic()
        part = {"key": key, "unit": span * source.block_tiles}
        try:
            for leaf in engine.map(partial(over_tiles, tree, f, source.tile), source, begun[0] * span):
                whole = (whole[0] + 1, grown(whole[1], leaf))  # both at once: Ctrl-C finds them in step
                if monotonic() - clock >= SAVE_TREE_SECONDS:
                    self._keep_part(part, *whole)
                    clock = monotonic()
        except BaseException:
            if whole[0] > begun[0]:
                self._keep_part(part, *whole)
            raise
        return tree((), whole[1])

    def _begun(self, key: str, unit: int) -> tuple[int, tuple[tuple[int, Any], ...]]:
        """The leaves that an earlier walk was through with, and the open nodes of their tree."""
        for name in (PART, OLD):
            entry = self._load(self.folder / name)
            if entry is not None and (entry.get("key"), entry.get("unit")) == (key, unit):
                return entry["done"], tuple(entry["stack"])
        return 0, ()

    def _keep_part(self, part: dict[str, Any], done: int, stack: tuple[tuple[int, Any], ...]) -> None:
        with suppress(OSError):
            os.replace(self.folder / PART, self.folder / OLD)
        self._try(save_values, self.folder / PART, {**part, "done": done, "stack": list(stack)})

    # climbs ----------------------------------------------------------------------------------------
    def recall(self, name: str, f: Callable[[Array], Array], x: Array) -> Array:
        return self.recorder.call(name, f, x)

    def load(self, k: int) -> dict[str, Any] | None:
        return self._load(self.folder / _numbered(k))

    def save(self, k: int, values: dict[str, Any]) -> None:
        self._try(save_values, self.folder / _numbered(k), values)

    def forget(self, k: int) -> None:
        """This numbered file and all after it."""
        self._drop(*(old.name for old in self.folder.glob("[0-9]*.fold") if old.name >= _numbered(k)))


def _numbered(k: int) -> str:
    return f"{k:06d}.fold"


def _text(value: Any) -> str:
    """An option as text that differs where the option does."""
    value = value.item() if isinstance(value, np.generic) else value
    plain = value is None or isinstance(value, bool | int | float | str)
    return repr(value) if plain else f"{type(value).__name__} {hash_of(value)[:16]}"


def _save_text(path: Path, text: str) -> None:
    with Replacement(path) as temp:
        temp.write_text(text, encoding="utf-8")


def _dumps(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, sort_keys=True, allow_nan=False).encode()


def solid(value: Any) -> Any:
    """Arrays in one piece, as a stored one is: sums over a strided array may round otherwise."""
    if isinstance(value, np.ndarray):
        return value if value.flags.forc else np.ascontiguousarray(value)
    return getattr(value, "_make", tuple)(map(solid, value)) if isinstance(value, tuple) else value


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a checkpoint, if it is whole."""
    try:
        facts = json.loads((folder / MANIFEST).read_bytes())
        mark = facts.pop("blake2b")
        whole = mark == digest([_dumps(facts)])
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        whole = False
    if not whole:
        raise error("LD321", path=str(folder), problem=f"its {MANIFEST} is missing or damaged", case="damaged")
    return dict(facts)


# what can be had without the table ---------------------------------------------------------------------
class CheckpointBest(NamedTuple):
    """The best parameters in a checkpoint, in the units of `frame`: W / frame.scale[:, None] is in the table's."""

    model: str
    options: dict[str, str]
    params: Any
    stats: Any
    frame: Frame | None
    objective: float
    history: tuple[float, ...]


def best_of_checkpoint(path: str | os.PathLike[str]) -> CheckpointBest:
    """The best parameters that an unfinished fit came to, for whom the table is gone.

    Where the table is still there, run the same fit again instead: it goes on where it stopped.

    >>> import tempfile, lowdim
    >>> X = np.array([[1.0, 2.0, 3.1], [2.0, 4.1, np.nan], [3.0, 5.9, 9.0], [4.0, np.nan, 12.1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = lowdim.PPCA(1).fit(X, run=lowdim.Run(checkpoint=f"{folder}/fit.ckpt"))
    ...     best = best_of_checkpoint(f"{folder}/fit.ckpt")
    >>> best.objective == model.objective_, best.params.W.shape
    (True, (3, 1))
    """
    folder = Path(path)
    facts = read_manifest(folder)
    noted = dict(facts["history"])
    for file in sorted(folder.glob("[0-9]*.fold")):
        with suppress(LowdimError):
            noted |= dict(load_values(file)["noted"])
    history = {k: noted[k] for k in sorted(noted) if noted[k] is not None and math.isfinite(noted[k])}
    for k in sorted(history, key=history.__getitem__, reverse=True):
        with suppress(LowdimError):
            entry = load_values(folder / _numbered(k))
            return CheckpointBest(
                facts["model"],
                facts["options"],
                entry["args"][0],
                entry["stats"],
                entry["frame"],
                history[k],
                tuple(history.values()),
            )
    raise error("LD321", path=str(folder), problem="no pass of an iteration has finished in it", case="no pass")
