"""Model files: a zip of manifest.json and one .npy for each array; no code is stored and none is run.

Any zip tool opens one, but there is only one way to write it, and a file whose members were written otherwise (packed,
dated, linked, beside others) is refused:

    manifest.json     format, lowdim version, class, options and fitted attributes as a tree of values
    0.npy, 1.npy ...  the arrays, stored as they are, in the order in which the tree meets them
    the zip comment   "lowdim model, blake2b " and the digest of every byte before it

In the tree null, true, 1, 1.0, "text" and [...] mean themselves; an object has one key that says what it
is: "tuple", "dict", "text" (an array of strings), "array", the name of a known NamedTuple, or of a model that is an
option of another: its own options, never what it was fitted to.

A checkpoint's files are the same zip with "values" in place of a model, kept to the bit: in them numbers need not
be finite ("float") and NumPy's numbers stay NumPy's ("scalar").
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
import zipfile
from collections.abc import Callable, Iterable
from hashlib import blake2b
from importlib import import_module
from inspect import getattr_static
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np

from lowdim import __version__
from lowdim.registry import MODELS, RECORDS, STATISTICS
from lowdim.storage.atomic import Replacement, not_written
from lowdim.text.messages import LowdimError, error

if TYPE_CHECKING:
    from lowdim.models.base.latent import LatentModel

FORMAT, VERSION = 1, __version__
MANIFEST = "manifest.json"  # the first member, and
MARK = b"lowdim model, blake2b "  # the end: never to change, so that any version can name the files of another
HEX = 64  # digits of a digest
PIECE = 1 << 20  # bytes that are hashed together
LIMITS = {"manifest": 4 << 20, "file": zipfile.ZIP64_LIMIT, "arrays": 65_534, "depth": 32}
DTYPES = {"float64": "<f8", "int64": "<i8", "bool": "|b1"}
ALWAYS = {"params_", "frame_", "certificate_", "n_features_in_"}  # in every fitted model
ENTRY = (  # what a zip's directory says of a member
    "orig_filename", "date_time", "compress_type", "comment", "extra", "create_system", "create_version",
    "extract_version", "reserved", "flag_bits", "volume", "internal_attr", "external_attr", "header_offset",
    "compress_size",
)  # fmt: skip
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


def _checksum(file: IO[bytes], size: int) -> bytes:
    """The digest of the first bytes of a file."""
    file.seek(0)
    return digest(file.read(min(PIECE, size - at)) for at in range(0, size, PIECE)).encode()


def _entry(name: str, size: int) -> zipfile.ZipInfo:
    """A member of a zip: stored, and dated 1980, so that equal models make equal files."""
    entry = zipfile.ZipInfo(name)
    entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
    entry.file_size = entry.compress_size = size
    return entry


def _npy_head(dtype: str, shape: tuple[int, ...], order: str) -> bytes:
    """The head of a .npy file, version 1.0: the same bytes whatever NumPy is installed."""
    text = f"{{'descr': '{DTYPES[dtype]}', 'fortran_order': {order == 'F'}, 'shape': {shape!r}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


# writing -----------------------------------------------------------------------------------------------
class _Writer:
    """Turns values into a tree for the manifest and collects the arrays, each as head and body."""

    def __init__(self, exact: bool = False) -> None:
        self.arrays: list[tuple[bytes, Any]] = []
        self.exact, self.records = exact, RECORDS | STATISTICS if exact else RECORDS

    def encode(self, value: Any, at: str, depth: int = 1) -> Any:
        """A value as JSON says it, or as {kind: value} where JSON has no such kind; `at` names it in an error."""
        if isinstance(value, np.generic):
            if self.exact:
                return {"scalar": self._array(np.asarray(value), at)}
            value = value.item()
        if _is_json(value):
            return value
        kind = type(value)
        if kind is float and self.exact:
            return {"float": self._array(np.array(value), at)}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, at)
        if kind is list:
            return self._list(value, at, depth)
        if kind is tuple:
            return {"tuple": self._list(list(value), at, depth)}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": self._dict(value, at, depth)}
        if issubclass(kind, tuple) and _known(kind.__name__, self.records) is kind:
            return {kind.__name__: self._dict(value._asdict(), at, depth)}
        if _known(kind.__name__, MODELS) is kind:  # an option that is a model: its options, never what it was fitted to
            return {kind.__name__: self._dict(value.get_params(deep=False), at, depth)}
        raise _cannot(value, at)

    def _list(self, values: list[Any], at: str, depth: int) -> list[Any]:
        if depth >= LIMITS["depth"]:
            raise _cannot(values, at)
        return [self.encode(part, f"{at}[{i}]", depth + 1) for i, part in enumerate(values)]

    def _dict(self, values: dict[str, Any], at: str, depth: int) -> dict[str, Any]:
        if depth >= LIMITS["depth"]:
            raise _cannot(values, at)
        return {key: self.encode(part, f"{at}.{key}", depth + 1) for key, part in values.items()}

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

    def manifest(self, **facts: Any) -> bytes:
        """The manifest, if what reads it and the arrays it speaks of would take them."""
        text = json.dumps({"format": FORMAT, "lowdim": VERSION, **facts}, allow_nan=False, separators=(",", ":"))
        sizes = {"manifest": len(text), "arrays": len(self.arrays), "file": 4096 + len(text) + self.size}
        for what, size in sizes.items():
            if size > LIMITS[what]:
                raise error("LD303", what=f"{what}: {size:,}", fix=f"fewer columns: at most {LIMITS[what]:,}")
        return text.encode("ascii")

    @property
    def size(self) -> int:
        """Bytes that the arrays take in a file."""
        return sum(256 + len(head) + len(body) for head, body in self.arrays)

    def write(self, path: Path, manifest: bytes) -> None:
        """Write the file; OSError if the disk will not."""
        with Replacement(path) as temp, open(temp, "w+b") as file:
            with zipfile.ZipFile(file, "w") as archive:
                archive.comment = MARK + bytes(HEX)  # where the digest will stand
                _add(archive, MANIFEST, manifest)
                for i, array in enumerate(self.arrays):
                    _add(archive, f"{i}.npy", *array)
            whole = file.tell()
            checksum = _checksum(file, whole - HEX)
            file.seek(whole - HEX)
            file.write(checksum)


def _add(archive: zipfile.ZipFile, name: str, *parts: Any) -> None:
    with archive.open(_entry(name, sum(map(len, parts))), "w") as member:
        for part in parts:
            member.write(part)


def _is_json(value: Any) -> bool:
    """Whether JSON holds this value as it is, to the bit."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    return value is None or kind in (bool, str) or (kind is int and value.bit_length() <= 1024)


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


def save(model: LatentModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file: whole, or not at all."""
    cls, options, writer = type(model), model.get_params(deep=False), _Writer()
    if _known(cls.__name__, MODELS) is not cls:
        raise error("LD303", what=f"a model of class {cls.__name__}", fix=f"use one of {', '.join(MODELS)}")
    state = {name: value for name, value in vars(model).items() if name not in options}
    if not state.keys() >= ALWAYS:
        raise error("LD303", what="a model that is not fitted", fix="call fit first")
    for name in state:
        if not _settable(cls, name):
            raise error("LD303", what=f"the attribute '{name}'", fix=f"del model.{name}")
    manifest = writer.manifest(
        **{"class": cls.__name__},
        options={name: writer.encode(value, name) for name, value in options.items()},
        state={name: writer.encode(value, name) for name, value in state.items()},
    )
    try:
        writer.write(Path(path), manifest)
    except (OSError, ValueError) as cause:
        raise not_written(path, cause, f" ({writer.size + len(manifest):,} bytes to write)") from cause


def save_values(path: Path, values: dict[str, Any]) -> None:
    """Write arrays, numbers, text and known NamedTuples to a file, to the bit; OSError if the disk will not."""
    writer = _Writer(exact=True)
    writer.write(path, writer.manifest(values={name: writer.encode(value, name) for name, value in values.items()}))


# reading -----------------------------------------------------------------------------------------------
def _checked(file: IO[bytes]) -> zipfile.ZipFile:
    """The zip, if its bytes match its digest and each member lies where lowdim puts it, as lowdim writes it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    begins = MANIFEST.encode() in file.read(64)
    file.seek(max(0, size - len(MARK) - HEX))
    tail = file.read()
    _need(begins or tail.startswith(MARK), "it neither begins nor ends as one")
    _need(tail == MARK + _checksum(file, size - HEX), "its bytes do not match the digest at its end", "LD301")
    archive, at = zipfile.ZipFile(file), 0
    for i, found in enumerate(archive.infolist()):
        ours = _entry(f"{i - 1}.npy" if i else MANIFEST, found.file_size)
        ours.header_offset, ours.CRC = at, found.CRC
        same = all(getattr(found, part) == getattr(ours, part) for part in ENTRY)
        _need(same, f"member {i} is not {ours.filename}, or not as lowdim writes it", "LD301")
        head = ours.FileHeader()
        file.seek(at)
        _need(file.read(len(head)) == head, f"{ours.filename} begins otherwise than its directory says", "LD301")
        at += len(head) + ours.file_size
    _need(at == archive.start_dir, "there are bytes between its members and its directory")
    return archive


class _Reader:
    """Reads the values of a checked zip; every claim about an array is checked before memory is taken for it."""

    def __init__(self, archive: zipfile.ZipFile, exact: bool = False) -> None:
        self.archive, self.used = archive, 0  # arrays that were read
        self.exact, self.records = exact, RECORDS | STATISTICS if exact else RECORDS

    def manifest(self, **expected: type) -> dict[str, Any]:
        """The manifest, if it is of this format and holds what is expected."""
        members = self.archive.infolist()
        _need(members and members[0].file_size <= LIMITS["manifest"], "its manifest is missing or too long")
        text = self.archive.read(MANIFEST).decode("ascii")
        tree = json.loads(text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite)
        version = tree.get("format", 0) if isinstance(tree, dict) else 0
        _need(type(version) is int and version > 0, "its manifest names no format")
        if version != FORMAT:
            raise _Refusal("LD302", version=version, known=FORMAT)
        expected |= {"format": int, "lowdim": str}
        _need({key: type(part) for key, part in tree.items()} == expected, "its manifest does not name what is needed")
        return dict(tree)

    def end(self) -> None:
        """After the last value: there is no array that none of them named."""
        _need(self.used == len(self.archive.infolist()) - 1, "it holds arrays that its manifest does not name")

    def decode(self, node: Any, depth: int = 1) -> Any:
        """A node of the manifest's tree as the value it stands for."""
        if isinstance(node, list):
            return self._list(node, depth)
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
            return tuple(self._list(body, depth))
        if kind == "dict":
            return self._dict(body, depth)
        if kind in ("float", "scalar") and self.exact:
            return self._number(kind, body)
        return self._record(kind, body, depth)

    def _list(self, nodes: Iterable[Any], depth: int) -> list[Any]:
        _need(depth < LIMITS["depth"], "its manifest is nested too deeply")
        return [self.decode(part, depth + 1) for part in nodes]

    def _dict(self, body: dict[str, Any], depth: int) -> dict[str, Any]:
        return dict(zip(body, self._list(body.values(), depth), strict=True))

    def _record(self, kind: str, body: dict[str, Any], depth: int) -> Any:
        """A known NamedTuple by its fields, or an unfitted model by its options."""
        cls = _known(kind, self.records) or _known(kind, MODELS)
        _need(cls, f"values of kind {kind!r:.60} are not known")
        known = cls().get_params(deep=False) if kind in MODELS else cls._fields
        _need(list(body) == list(known), f"the fields of its {kind} are not the known ones")
        return cls(**self._dict(body, depth))

    def _number(self, kind: str, body: dict[str, Any]) -> Any:
        number = self.decode(body)
        _need(isinstance(number, np.ndarray) and number.ndim == 0, "a number in its manifest is malformed")
        return number[()] if kind == "scalar" else float(number)

    def _array(self, body: dict[str, Any]) -> Any:
        """The next array."""
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
        there = self.used < len(self.archive.infolist()) - 1
        _need(there and name == f"{self.used}.npy", "its arrays are missing or not in order", "LD301")
        self.used += 1
        head = _npy_head(dtype, tuple(shape), order)
        size = len(head) + math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
        _need(self.archive.getinfo(name).file_size == size, f"{name} is not of the size declared", "LD301")
        data = self.archive.read(name)
        _need(data.startswith(head) and digest([data]) == body["blake2b"], f"{name} was changed", "LD301")
        flat = np.frombuffer(data, DTYPES[dtype], offset=len(head))
        plain = flat.view(np.uint8).max(initial=0) < 2 if dtype == "bool" else self.exact or np.isfinite(flat).all()
        _need(plain, f"{name} holds values that are not finite", "LD301")
        return flat.reshape(shape, order=order).astype(dtype, order="K")


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
        with open(path, "rb") as file, _checked(file) as archive:
            return build(_Reader(archive, exact))
    except _Refusal as refusal:
        raise error(refusal.code, path=os.fspath(path), **refusal.facts) from None
    except (OSError, ValueError, RecursionError, NotImplementedError, zipfile.BadZipFile) as cause:
        problem = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        raise error("LD300", path=os.fspath(path), problem=f"it cannot be read ({problem:.200})") from cause
