"""Model files: a zip of manifest.json and one .npy for each array; no code is stored and none is run.

Any zip tool opens one, but there is only one way to write it, and a file written otherwise is refused:

    manifest.json     format, lowdim version, class, options and fitted attributes as a tree of values
    0.npy, 1.npy ...  the arrays, stored as they are, in the order in which the tree meets them
    the zip comment   "lowdim model, blake2b " and the digest of every byte before it

In the tree null, true, 1, 1.0, "text" and [...] mean themselves; an object has one key that says what it
is: "tuple", "dict", "text" (an array of strings), "array", or the name of a known NamedTuple.

A checkpoint's files are the same zip with "values" in place of a model, kept to the bit: in them numbers need not
be finite ("float") and NumPy's numbers stay NumPy's ("scalar").
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
from collections.abc import Callable, Iterable
from hashlib import blake2b
from importlib import import_module
from inspect import getattr_static
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from zlib import crc32

import numpy as np

from lowdim import __version__
from lowdim.registry import MODELS, RECORDS, STATISTICS
from lowdim.storage import former
from lowdim.storage.atomic import not_written, replace
from lowdim.text.messages import LowdimError, error

if TYPE_CHECKING:
    from lowdim.models.base.latent import LatentModel

FORMAT, VERSION = 1, __version__
MANIFEST = "manifest.json"  # the first member, and
MARK = b"lowdim model, blake2b "  # the end: never to change, so that older versions can name newer files
HEX = 64  # digits of a digest
LIMITS = {"manifest": 4 << 20, "file": (4 << 30) - 1, "arrays": 65_534, "depth": 32}
LOCAL, CENTRAL, END = (struct.Struct(form) for form in ("<4s5H3L2H", "<4s6H3L5H2L", "<4s4H2LH"))
DTYPES = {"float64": "<f8", "int64": "<i8", "bool": "|b1"}
ALWAYS = {"params_", "frame_", "certificate_", "n_features_in_"}  # in every fitted model
Row = tuple[str, int, int]  # a member's name, size and checksum
Member = tuple[str, bytes, Any]  # its name, head and body
T = TypeVar("T")


class _Refusal(Exception):  # noqa: N818 - it never leaves this module
    """A file that will not be opened; `load` adds the path and makes it a message of the catalogue."""

    def __init__(self, code: str, **facts: Any) -> None:
        self.code, self.facts = code, facts


def _need(holds: Any, problem: str, code: str = "LD300") -> None:
    if not holds:
        raise _Refusal(code, problem=problem)


def _known(name: Any, registry: dict[str, str]) -> Any:
    """The class of a name in a closed registry, imported when first met; None for anything else."""
    is_known = isinstance(name, str) and name in registry
    return getattr(import_module(registry[name]), name) if is_known else None


def _settable(cls: type, name: str) -> bool:
    """Whether a file may set this attribute: fitted or private, and no method or table of the class."""
    is_attribute = name.isidentifier() and not name.startswith("__") and (name.endswith("_") or name.startswith("_"))
    return is_attribute and isinstance(getattr_static(cls, name, None), bool | int | float | str | None)


def digest(parts: Iterable[Any]) -> str:
    """The hash that stands at the end of every file."""
    hasher = blake2b(digest_size=HEX // 2)
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()


def _local(name: str, size: int, crc: int) -> bytes:
    """What precedes a member in a zip: stored, dated 1980, so that equal models make equal files."""
    return LOCAL.pack(b"PK\x03\x04", 20, 0, 0, 0, 33, crc, size, size, len(name), 0) + name.encode()


def _directory(rows: list[Row]) -> bytes:
    """What follows the members in a zip, up to the digest."""
    entries, at = b"", 0
    for name, size, crc in rows:
        entries += (
            CENTRAL.pack(
                b"PK\x01\x02",
                788,
                20,
                0,
                0,
                0,
                33,
                crc,
                size,
                size,
                len(name),
                0,
                0,
                0,
                0,
                (stat.S_IFREG | 0o644) << 16,
                at,
            )
            + name.encode()
        )
        at += LOCAL.size + len(name) + size
    return entries + END.pack(b"PK\x05\x06", 0, 0, len(rows), len(rows), len(entries), at, len(MARK) + HEX) + MARK


def _npy_head(dtype: str, shape: tuple[int, ...], order: str) -> bytes:
    """The head of a .npy file, version 1.0: the same bytes whatever NumPy is installed."""
    text = f"{{'descr': '{DTYPES[dtype]}', 'fortran_order': {order == 'F'}, 'shape': {shape!r}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


class _Writer:
    """Turns values into a tree for the manifest and collects the arrays, each as head and body."""

    def __init__(self, exact: bool = False) -> None:
        self.arrays: list[tuple[bytes, Any]] = []
        self.exact, self.records = exact, RECORDS | STATISTICS if exact else RECORDS

    def encode(self, value: Any, at: str, depth: int = 1) -> Any:
        if self.exact and isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value), at)}
        value = value.item() if isinstance(value, np.generic) else value
        kind, name = type(value), type(value).__name__
        if value is None or kind in (bool, str) or (kind is int and value.bit_length() <= 1024):
            return value
        if kind is float and math.isfinite(value):
            return value
        if kind is float and self.exact:
            return {"float": self._array(np.array(value), at)}
        if kind is list and depth < LIMITS["depth"]:
            return [self.encode(part, f"{at}[{i}]", depth + 1) for i, part in enumerate(value)]
        if kind is tuple:
            return {"tuple": self.encode(list(value), at, depth)}
        if kind is dict and depth < LIMITS["depth"] and all(type(key) is str for key in value):
            return {"dict": {key: self.encode(part, f"{at}.{key}", depth + 1) for key, part in value.items()}}
        if issubclass(kind, tuple) and _known(name, self.records) is kind:
            return {name: self.encode(value._asdict(), at, depth)["dict"]}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, at)
        raise _cannot(value, at)

    def _array(self, value: Any, at: str) -> Any:
        if value.dtype == object and value.ndim == 1 and all(isinstance(part, str) for part in value):
            return {"text": [str(part) for part in value]}
        dtype, order = value.dtype.name, "F" if value.flags.fnc else "C"
        if dtype not in DTYPES or not (self.exact or np.isfinite(value).all()):
            raise _cannot(value, at)
        head = _npy_head(dtype, value.shape, order)
        body = value.astype(DTYPES[dtype], copy=False).ravel(order=order).view(np.uint8)
        self.arrays.append((head, body))
        return {
            "array": {
                "file": f"{len(self.arrays) - 1}.npy",
                "dtype": dtype,
                "shape": list(value.shape),
                "order": order,
                "blake2b": digest([head, body]),
            }
        }


def _cannot(value: Any, at: str) -> LowdimError:
    """LD303 in words that fit the value."""
    kind, fix = f"a {type(value).__name__}", "use a number, text, None or an array there"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        kind, fix = "a random generator", f"give a whole number as its seed: model.set_params({at}=0)"
    elif isinstance(value, np.ndarray) and value.dtype.name not in DTYPES:
        kind, fix = f"an array of {value.dtype}", f"turn it into an array of {' or '.join(DTYPES)}"
    elif isinstance(value, np.ndarray | float):
        kind, fix = "a value that is not finite", "use finite numbers there"
    elif isinstance(value, list | dict):
        fix = f"use at most {LIMITS['depth']} levels, and text as keys"
    return error("LD303", what=f"'{at}': {kind}", fix=fix)


def _contents(model: LatentModel) -> list[Member]:
    """Every member of the file."""
    cls, options, writer = type(model), model.get_params(deep=False), _Writer()
    if _known(cls.__name__, MODELS) is not cls:
        raise error("LD303", what=f"a model of class {cls.__name__}", fix=f"use one of {', '.join(MODELS)}")
    state = {name: value for name, value in vars(model).items() if name not in options}
    if not state.keys() >= ALWAYS:
        raise error("LD303", what="a model that is not fitted", fix="call fit first")
    for name in state:
        if not _settable(cls, name):
            raise error("LD303", what=f"the attribute '{name}'", fix=f"del model.{name}")
    manifest = {
        "format": FORMAT,
        "lowdim": VERSION,
        "class": cls.__name__,
        "options": {name: writer.encode(value, name) for name, value in options.items()},
        "state": {name: writer.encode(value, name) for name, value in state.items()},
    }
    return _members(manifest, writer)


def _members(manifest: dict[str, Any], writer: _Writer) -> list[Member]:
    """A manifest and the arrays it speaks of, if what reads them would."""
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
    sizes = {
        "manifest": len(text),
        "arrays": len(writer.arrays),
        "file": 4096 + len(text) + sum(256 + len(head) + len(body) for head, body in writer.arrays),
    }
    for what, size in sizes.items():
        if size > LIMITS[what]:
            raise error("LD303", what=f"{what}: {size:,}", fix=f"fewer columns: at most {LIMITS[what]:,}")
    return [(MANIFEST, text, b""), *((f"{i}.npy", *array) for i, array in enumerate(writer.arrays))]


def _parts(members: list[Member]) -> list[Any]:
    """A file's bytes: the members, their directory and the digest of it all."""
    rows = [(name, len(head) + len(body), crc32(body, crc32(head))) for name, head, body in members]
    parts = [part for row, (_, *data) in zip(rows, members, strict=True) for part in (_local(*row), *data)]
    parts.append(_directory(rows))
    return [*parts, digest(parts).encode()]


def save(model: LatentModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file: whole, or not at all."""
    members = _contents(model)
    size = sum(len(head) + len(body) for _, head, body in members)
    try:
        replace(Path(os.path.realpath(path)), _parts(members))
    except (OSError, ValueError) as cause:
        raise not_written(path, cause, f" ({size:,} bytes to write)") from cause


def save_values(path: Path, values: dict[str, Any]) -> None:
    """Write arrays, numbers, text and known NamedTuples to a file, to the bit; OSError if the disk will not."""
    writer = _Writer(exact=True)
    tree = {name: writer.encode(value, name) for name, value in values.items()}
    replace(path, _parts(_members({"format": FORMAT, "lowdim": VERSION, "values": tree}, writer)))


class _Reader:
    """Reads a file from its first byte to its last; every byte must be what lowdim would write there."""

    def __init__(self, file: IO[bytes], exact: bool = False) -> None:
        self.file, self.size, self.rows = file, file.seek(0, os.SEEK_END), list[Row]()
        self.exact, self.records = exact, RECORDS | STATISTICS if exact else RECORDS

    def check(self) -> None:
        """Before anything is parsed: the file must end in the digest of all its other bytes."""
        self.file.seek(0)
        ours = self.file.read(LOCAL.size + len(MANIFEST))[LOCAL.size :] == MANIFEST.encode()
        self.file.seek(max(0, self.size - len(MARK) - HEX))
        tail = self.file.read()
        _need(ours or tail.startswith(MARK), "it neither begins nor ends as one")
        self.file.seek(0)
        ends = [*range(1 << 20, self.size - HEX, 1 << 20), max(0, self.size - HEX)]
        checksum = digest(self.file.read(end - self.file.tell()) for end in ends)
        _need(tail == MARK + checksum.encode(), "its bytes do not match the digest at its end", "LD301")
        self.file.seek(0)

    def member(self, name: str, size: int) -> bytes:
        """The next member; that it fits into the file is known before memory is taken for it."""
        _need(size <= self.size - self.file.tell(), f"{name} is larger than the file", "LD301")
        head, data = self.file.read(LOCAL.size + len(name)), self.file.read(size)
        self.rows.append((name, size, crc32(data)))
        _need(head == _local(*self.rows[-1]), f"{name} is missing, or is not of the size declared", "LD301")
        return data

    def manifest(self, **expected: type) -> dict[str, Any]:
        """The manifest, if it is of this format and holds what is expected."""
        size = LOCAL.unpack(self.file.read(LOCAL.size))[8]
        _need(size <= LIMITS["manifest"], "its manifest is missing or too long")
        self.file.seek(0)
        text = self.member(MANIFEST, size).decode("ascii")
        tree = json.loads(text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite)
        version = tree.get("format", 0) if isinstance(tree, dict) else 0
        _need(type(version) is int and version > 0, "its manifest names no format")
        if version > FORMAT:
            raise _Refusal("LD302", version=version, known=FORMAT)
        expected |= {"format": int, "lowdim": str}
        _need({key: type(part) for key, part in tree.items()} == expected, "its manifest does not name what is needed")
        return dict(tree)

    def end(self) -> None:
        """After the last member: the directory that belongs to all of them."""
        _need(self.file.read()[:-HEX] == _directory(self.rows), "its directory is not as lowdim writes it")

    def decode(self, node: Any, depth: int = 1) -> Any:
        if isinstance(node, list):
            _need(depth < LIMITS["depth"], "its manifest is nested too deeply")
            return [self.decode(part, depth + 1) for part in node]
        if not isinstance(node, dict):
            return node
        _need(len(node) == 1, "a value in its manifest has no single kind")
        kind, body = next(iter(node.items()))
        wanted = list if kind in ("tuple", "text") else dict
        _need(isinstance(body, wanted), f"a value of kind {kind!r:.60} is malformed")
        if kind == "array":
            return self._array(body)
        if kind == "text":
            _need(all(isinstance(part, str) for part in body), "an array of text holds something else")
            return np.array(body, dtype=object)
        if kind == "tuple":
            return tuple(self.decode(body, depth))
        if self.exact and kind in ("float", "scalar"):
            number = self.decode(body, depth)
            _need(isinstance(number, np.ndarray) and number.ndim == 0, "a number in its manifest is malformed")
            return number[()] if kind == "scalar" else float(number)
        kind = former.record_name(kind)
        cls: Any = dict if kind == "dict" else _known(kind, self.records)
        _need(cls, f"values of kind {kind!r:.60} are not known")
        body = former.fields(kind, body)
        names = tuple(name for name in body if name not in former.dropped(kind))
        _need(cls is dict or names == _fields(cls, body), f"the fields of its {kind} are not the known ones")
        values = dict(zip(body, self.decode(list(body.values()), depth), strict=True))
        return cls(**{name: values[name] for name in names})

    def _array(self, body: dict[str, Any]) -> Any:
        """The next array, every claim about it checked before memory is taken."""
        _need(body.keys() == {"file", "dtype", "shape", "order", "blake2b"}, "an array is described wrongly")
        name, dtype, shape, order = (body[key] for key in ("file", "dtype", "shape", "order"))
        _need(type(dtype) is str and dtype in DTYPES and order in ("C", "F"), "an array of unknown type")
        _need(
            type(shape) is list
            and len(shape) <= 32
            and all(type(n) is int and n >= 0 for n in shape)
            and math.prod(n or 1 for n in shape) < 1 << 59,
            "an array of impossible shape",
            "LD301",
        )
        _need(name == f"{len(self.rows) - 1}.npy", "its arrays are not in order", "LD301")
        head = _npy_head(dtype, tuple(shape), order)
        data = self.member(name, len(head) + math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize)
        _need(data.startswith(head) and digest([data]) == body["blake2b"], f"{name} was changed", "LD301")
        flat = np.frombuffer(data, DTYPES[dtype], offset=len(head))
        plain = flat.view(np.uint8).max(initial=0) < 2 if dtype == "bool" else self.exact or np.isfinite(flat).all()
        _need(plain, f"{name} holds values that are not finite", "LD301")
        return flat.reshape(shape, order=order).astype(dtype, order="K")


def _fields(cls: Any, body: dict[str, Any]) -> tuple[str, ...]:
    """The fields a record must have: one with a default may be newer than the file."""
    return tuple(name for name in cls._fields if name in body or name not in cls._field_defaults)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    _need(len(members) == len(pairs), "its manifest says something twice")
    return members


def _finite(text: str) -> float:
    _need(math.isfinite(float(text)), "its manifest holds a number that is not finite", "LD301")
    return float(text)


def _build(reader: _Reader) -> LatentModel:
    """The model: constructed from its options, then given its fitted attributes."""
    tree = reader.manifest(**{"class": str}, options=dict, state=dict)
    name, cls = tree["class"], _known(tree["class"], MODELS)
    _need(cls, f"models of class {name!r:.60} are not known")
    options, state = ({key: reader.decode(node) for key, node in tree[part].items()} for part in ("options", "state"))
    reader.end()
    options, state = former.options(name, options), former.state(name, state)
    _need(options.keys() == cls().get_params(deep=False).keys(), f"its options are not those of {name}")
    _need(all(_settable(cls, key) for key in state), "it would set attributes that are not fitted ones")
    kinds = [type(state.get(key)).__name__ for key in ("frame_", "certificate_", "n_features_in_")]
    second = state.get("n_y_features_in_", 0)  # the columns of a second table, in one frame with the first
    _need(
        kinds == ["Frame", "Certificate", "int"]
        and type(second) is int
        and isinstance(state.get("params_"), tuple)
        and all(np.shape(part) == (state["n_features_in_"] + second,) for part in state["frame_"]),
        "fitted attributes are missing or of the wrong kind",
    )
    model: LatentModel = cls(**options)
    model.__dict__.update(state)
    return model


def _values(reader: _Reader) -> dict[str, Any]:
    tree = reader.manifest(values=dict)["values"]
    values = {name: reader.decode(node) for name, node in tree.items()}
    reader.end()
    return values


def load(path: str | os.PathLike[str]) -> LatentModel:
    """Read a model that `model.save(path)` wrote; anything else is refused, and no code is ever run."""
    return _read(path, _build)


def load_values(path: Path) -> dict[str, Any]:
    """Read what `save_values` wrote; anything else is refused."""
    return _read(path, _values, exact=True)


def _read(path: str | os.PathLike[str], build: Callable[[_Reader], T], exact: bool = False) -> T:
    try:
        _need(stat.S_ISREG(os.stat(path).st_mode), "it is not a regular file")
        with open(path, "rb") as file:
            reader = _Reader(file, exact)
            reader.check()
            return build(reader)
    except _Refusal as refusal:
        raise error(refusal.code, path=os.fspath(path), **refusal.facts) from None
    except (OSError, ValueError, RecursionError, struct.error) as cause:
        problem = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        raise error("LD300", path=os.fspath(path), problem=f"it cannot be read ({problem:.200})") from cause
