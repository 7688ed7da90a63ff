"""Files that a model loader must refuse: made from a good one, and most of them with a correct digest.

The zips are written by `zipfile`, not by lowdim, so that nothing here rests on the code it attacks.
"""

from __future__ import annotations

import gzip
import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

MARK = b"lowdim model, blake2b "
EITHER = "LD300 LD301"  # refused; which of the two words is used does not matter
Members = list[tuple[str, bytes]]


class Hostile(NamedTuple):
    """A file and the codes that may refuse it."""

    name: str
    data: bytes
    codes: str


def sealed(body: bytes) -> bytes:
    """Bytes with their digest behind them: what an attacker who can read the source would make."""
    return body + blake2b(body, digest_size=32).hexdigest().encode()


def forge(members: Members, change: Callable[[zipfile.ZipInfo], Any] = lambda info: None) -> bytes:
    """A zip with a correct digest; `change` may spoil each member's entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = MARK + b"0" * 64
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            change(info)
            archive.writestr(info, data)
    return sealed(buffer.getvalue()[:-64])


def unpack(good: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def with_manifest(good: bytes, text: bytes) -> bytes:
    return forge([("manifest.json", text), *unpack(good)[1:]])


def edited(good: bytes, edit: Callable[[Any], Any]) -> bytes:
    """The good file with its manifest's tree edited."""
    tree = json.loads(unpack(good)[0][1])
    edit(tree)
    return with_manifest(good, json.dumps(tree).encode())


def with_array(good: bytes, payload: bytes, **claims: Any) -> bytes:
    """The good file with its first array replaced, the manifest's claims about it changed to match."""
    members = unpack(good)
    tree = json.loads(members[0][1])
    first = tree["state"]["params_"]["LinearGaussianParams"]["W"]["array"]
    first.update({"blake2b": blake2b(payload, digest_size=32).hexdigest(), **claims})
    return forge([("manifest.json", json.dumps(tree).encode()), ("0.npy", payload), *members[2:]])


def npy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=True)
    return buffer.getvalue()


def bomb(canary: str) -> bytes:
    """A pickle that runs a command, written out by hand."""
    return f"cos\nsystem\n(S'touch {canary}'\ntR.".encode()


def foreign(good: bytes, canary: str) -> Iterator[Hostile]:
    """Files of some other kind."""
    npz, loose = io.BytesIO(), io.BytesIO()
    np.savez(npz, W=np.eye(2))
    np.savez(loose, W=np.array([{"a": 1}, None], dtype=object))
    skops = io.BytesIO()
    with zipfile.ZipFile(skops, "w") as archive:
        archive.writestr("schema.json", json.dumps({"__class__": "system", "__module__": "os", "args": ["true"]}))
    plain = {
        "empty": b"",
        "one byte": b"P",
        "html": b"<!doctype html><h1>404</h1>" * 9,
        "zeros": bytes(4096),
        "pickle": bomb(canary),
        "pickle, protocol 5": b"\x80\x05\x95" + bomb(canary),
        "json": b"{}",
        "npy": npy(np.eye(3)),
        "npy of objects": npy(np.array([None, {}], dtype=object)),
        "npz": npz.getvalue(),
        "npz of objects": loose.getvalue(),
        "skops": skops.getvalue(),
        "gzipped": gzip.compress(good),
        "the mark alone": MARK,
        "a sealed nothing": sealed(MARK),
        "a sealed pickle": sealed(bomb(canary) + MARK),
    }
    for name, data in plain.items():
        yield Hostile(name, data, EITHER if "sealed" in name or name == "the mark alone" else "LD300")


def damaged(good: bytes, canary: str) -> Iterator[Hostile]:
    """A good file, changed without a new digest."""
    middle = len(good) // 2
    changes = {
        "pickle appended": good + bomb(canary),
        "newline appended": good + b"\n",
        "twice": good + good,
        "script before it": b"#!/bin/sh\ntouch " + canary.encode() + b"\n" + good,
        "a byte short": good[:-1],
        "half": good[:middle],
        "no comment": good[:-86] + bytes(2),
        "a hole": good[:middle] + bytes(64) + good[middle + 64 :],
        "a byte lost": good[1:],
        "the digest in capitals": good[:-64] + good[-64:].upper(),
        "the digest of nothing": good[:-64] + sealed(b""),
    }
    for name, data in changes.items():
        yield Hostile(name, data, "LD301")


def layouts(good: bytes, canary: str) -> Iterator[Hostile]:
    """Zips with a correct digest that lowdim would not have written."""
    members = unpack(good)
    zeros = npy(np.zeros((4096, 4096)))

    def deflated(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_DEFLATED

    def link(info: zipfile.ZipInfo) -> None:
        info.external_attr = (stat.S_IFLNK | 0o777) << 16

    def extra(info: zipfile.ZipInfo) -> None:
        info.extra = struct.pack("<HH4s", 0xCAFE, 4, b"evil")

    def note(info: zipfile.ZipInfo) -> None:
        info.comment = b"evil"

    def at_work(info: zipfile.ZipInfo) -> None:
        info.date_time = (2026, 1, 1, 0, 0, 0)

    for change in (deflated, link, extra, note, at_work):
        yield Hostile(f"members: {change.__name__}", forge(members, change), EITHER)
    yield Hostile("deflated bomb", forge([members[0], ("0.npy", zeros), *members[2:]], deflated), EITHER)
    yield Hostile("encrypted flag", sealed(good[:6] + b"\x01" + good[7:-64]), EITHER)
    yield Hostile("no members", forge([]), "LD300 LD301")
    yield Hostile("the manifest alone", forge(members[:1]), "LD301")
    yield Hostile("member missing", forge(members[:-1]), "LD301")
    yield Hostile("first array missing", forge([members[0], *members[2:]]), "LD301")
    yield Hostile("members out of order", forge([members[0], *members[:0:-1]]), "LD301")
    yield Hostile("manifest last", forge([*members[1:], members[0]]), EITHER)
    yield Hostile("prefix before it", sealed(b"MZ" + good[:-64]), EITHER)
    yield Hostile("hole before the directory", _hole(good), EITHER)
    for name in ("../../evil.npy", "/etc/passwd", "C:\\evil", "evil.pkl", "lib/", "манифест"):
        yield Hostile(f"extra member {name!r}", forge([*members, (name, bomb(canary))]), EITHER)
        yield Hostile(f"renamed to {name!r}", forge([members[0], (name, members[1][1]), *members[2:]]), "LD301")
    hidden = forge([*members, ("0.npy~.pkl", bomb(canary))])
    yield Hostile("a name with a nul", sealed(hidden[:-64].replace(b"0.npy~", b"0.npy\0")), EITHER)
    for double in (0, 1, len(members) - 1):
        yield Hostile(f"member {double} twice", _twice(members, double), EITHER)


def _twice(members: Members, which: int) -> bytes:
    """A second member of the same name; zipfile would warn about it, so it is renamed afterwards."""
    name = members[which][0]
    other = "~" * len(name)
    made = forge([*members, (other, members[which][1])])
    return sealed(made[:-64].replace(other.encode(), name.encode()))


def _hole(good: bytes) -> bytes:
    """Bytes that no entry owns, between the last member and the directory."""
    end = good.rindex(b"PK\x05\x06")
    at = struct.unpack("<L", good[end + 16 : end + 20])[0]
    moved = good[end : end + 16] + struct.pack("<L", at + 8) + good[end + 20 : -64]
    return sealed(good[:at] + b"evilevil" + good[at:end] + moved)


def _nested(levels: int) -> Callable[[Any], None]:
    def edit(tree: Any) -> None:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        tree["state"]["_deep"] = value

    return edit


def texts(good: bytes) -> Iterator[Hostile]:
    """Manifests that are not what JSON should be."""
    text = unpack(good)[0][1]
    tree = json.loads(text)
    first = text[1:].split(b",")[0]
    many = b'{"format":1,' + b",".join(b'"k%d":0' % i for i in range(300_000)) + b"}"
    made = {
        "not json": b"import os",
        "cut": text[:-1],
        "empty text": b"",
        "a list": b"[]",
        "a number": b"1",
        "bom": b"\xef\xbb\xbf" + text,
        "utf-16": text.decode().encode("utf-16"),
        "nul": text + b"\0",
        "not ascii": text.replace(b"ProbabilisticPCA", "РrobabilisticPCA".encode()),
        "a key twice": b"{" + first + b"," + text[1:],
        "a deep key twice": text.replace(b'"Frame":{', b'"Frame":{"unit":1,'),
        "100,000 levels": b'{"format":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "too long": text + b" " * (4 << 20),
        "300,000 keys": many,
        "two documents": text + text,
        "a huge number": b'{"format":' + b"9" * 5000 + b"}",
        "a comment": b"// evil\n" + text,
    }
    for name, data in made.items():
        yield Hostile(f"manifest: {name}", with_manifest(good, data), "LD300")
    for word in ("NaN", "Infinity", "-Infinity", "1e999"):
        spoilt = json.dumps({**tree, "state": {**tree["state"], "objective_": "@"}}).replace('"@"', word)
        yield Hostile(f"manifest: {word}", with_manifest(good, spoilt.encode()), "LD301")


def trees(good: bytes) -> Iterator[Hostile]:
    """Manifests that are JSON, but no model."""

    def put(*path: str, value: Any) -> Callable[[Any], None]:
        def edit(tree: Any) -> None:
            for key in path[:-1]:
                tree = tree[key]
            tree[path[-1]] = value

        return edit

    def drop(*path: str) -> Callable[[Any], None]:
        def edit(tree: Any) -> None:
            for key in path[:-1]:
                tree = tree[key]
            del tree[path[-1]]

        return edit

    def rename(key: str) -> Callable[[Any], None]:
        def edit(tree: Any) -> None:
            tree["state"] = {"other_" if name == key else name: node for name, node in tree["state"].items()}

        return edit

    def turn(tree: Any) -> None:
        fields = tree["state"]["certificate_"]["Certificate"]
        tree["state"]["certificate_"]["Certificate"] = dict(reversed(fields.items()))

    for value in (2, 99, 2**70):
        yield Hostile(f"format {value}", edited(good, put("format", value=value)), "LD302")
    for value in (0, -1, True, 1.0, "1", None, [1]):
        yield Hostile(f"format {value!r}", edited(good, put("format", value=value)), "LD300")
    for value in ("Popen", "LatentModel", "os.system", "__import__", "", "pca", None, 1, ["PCA"], {"PCA": 1}):
        yield Hostile(f"class {value!r}", edited(good, put("class", value=value)), "LD300")
    for key in ("transform", "fit", "__class__", "__dict__", "_laws_broken", "_posterior", "a b_", "", "n_components"):
        yield Hostile(f"sets {key!r}", edited(good, put("state", key, value=1)), "LD300")
    for kind in ("Popen", "os.system", "eval", "", "Spectrum", "PCA", "__reduce__"):
        yield Hostile(f"kind {kind!r}", edited(good, put("state", "x_", value={kind: {"args": 1}})), "LD300")
    strange = {
        "two kinds": {"tuple": [], "dict": {}},
        "no kind": {},
        "tuple of a dict": {"tuple": {}},
        "text of numbers": {"text": [1, 2]},
        "dict of a list": {"dict": []},
        "array of a list": {"array": []},
        "array without claims": {"array": {}},
        "record of a list": {"Frame": []},
    }
    for name, node in strange.items():
        yield Hostile(name, edited(good, put("state", "x_", value=node)), "LD300")
    for levels in (32, 100, 500):
        yield Hostile(f"{levels} levels", edited(good, _nested(levels)), "LD300")
    for key in ("params_", "frame_", "certificate_", "n_features_in_"):
        yield Hostile(f"without {key}", edited(good, rename(key)), "LD300")
    record = ("state", "certificate_", "Certificate")
    edits = {
        "unknown key": put("evil", value=1),
        "no version": drop("lowdim"),
        "no options": drop("options"),
        "options as list": put("options", value=[]),
        "unknown option": put("options", "evil", value=1),
        "missing option": drop("options", "tol"),
        "no params_": put("state", "params_", value=None),
        "no frame_": drop("state", "frame_"),
        "frame_ a number": put("state", "frame_", value=1),
        "certificate_ a dict": put("state", "certificate_", value={"dict": {}}),
        "another width": put("state", "n_features_in_", value=99),
        "field missing": drop(*record, "solver"),
        "field added": put(*record, "evil", value=1),
        "fields turned around": turn,
    }
    for name, edit in edits.items():
        yield Hostile(name, edited(good, edit), EITHER)


def arrays(good: bytes, canary: str) -> Iterator[Hostile]:
    """Arrays that are not what they are said to be."""
    payload = dict(unpack(good))["0.npy"]
    W = np.load(io.BytesIO(payload), allow_pickle=False)
    spoilt = W.copy()
    lies: dict[str, tuple[bytes, dict[str, Any]]] = {
        "pickle as array": (bomb(canary), {}),
        "empty array file": (b"", {}),
        "array of objects": (npy(np.array([[None] * W.shape[1]] * W.shape[0], dtype=object)), {}),
        "dtype object": (payload, {"dtype": "object"}),
        "dtype |O": (payload, {"dtype": "|O"}),
        "dtype a list": (payload, {"dtype": ["float64"]}),
        "float32": (npy(W.astype("f4")), {"dtype": "float32"}),
        "big-endian": (npy(W.astype(">f8")), {}),
        "structured": (npy(W.view([("a", "f8")])), {}),
        "order K": (payload, {"order": "K"}),
        "order lie": (payload, {"order": "F"}),
        "header lie": (payload.replace(b"(%d," % W.shape[0], b"(%d," % (W.shape[0] + 1)), {}),
        "header code": (payload.replace(b"False", b"id(0)"), {}),
        "npy version 3": (b"\x93NUMPY\x03" + payload[7:], {}),
        "cut array": (payload[:-8], {}),
        "long array": (payload + bytes(8), {}),
        "another file": (payload, {"file": "1.npy"}),
        "a file outside": (payload, {"file": "/etc/passwd"}),
        "wrong checksum": (payload, {"blake2b": "0" * 64}),
        "checksum a number": (payload, {"blake2b": 0}),
        "a claim too many": (payload, {"evil": 1}),
    }
    for shape in (
        [2**40, 2**20],
        [2**40],
        [2**63, 2],
        [2**64],
        [0, 2**62],
        [-1, -14],
        [True, 2],
        [2.0, 2],
        "ab",
        None,
        {},
        [1] * 64,
        [W.shape[1], W.shape[0]],
        [W.size],
        [],
        [[2]],
    ):
        lies[f"shape {str(shape)[:30]}"] = (payload, {"shape": shape})
    for value in (np.nan, np.inf, -np.inf):
        spoilt[0, 0] = value
        lies[f"holds {value}"] = (npy(spoilt), {})
    for name, (data, claims) in lies.items():
        yield Hostile(name, with_array(good, data, **claims), EITHER)
    truth = npy(np.ones(W.shape, dtype=bool))
    yield Hostile("a bool of 2", with_array(good, truth[:-1] + b"\x02", dtype="bool"), "LD301")

    def again(tree: Any) -> None:
        tree["state"]["again_"] = tree["state"]["params_"]["LinearGaussianParams"]["W"]

    yield Hostile("one array used twice", edited(good, again), "LD301")
    yield Hostile("an array nobody names", forge([*unpack(good), (f"{len(unpack(good)) - 1}.npy", payload)]), "LD300")


def corpus(good: bytes, canary: str) -> list[Hostile]:
    """Every hostile file; `good` is a saved ProbabilisticPCA, `canary` a path that must never appear."""
    return [
        *foreign(good, canary),
        *damaged(good, canary),
        *layouts(good, canary),
        *texts(good),
        *trees(good),
        *arrays(good, canary),
    ]
