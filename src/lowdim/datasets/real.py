"""The real tables behind the texts' figures, read from a folder that the reader has: never fetched, always checked."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim.datasets.small import KnownTable, cities, faithful
from lowdim.maths.linalg import Array
from lowdim.text.messages import error

Arrays = dict[str, Any]


class RealTable(NamedTuple):
    """A file that is read: where it lies in the folder, its digest, whence it comes, and how it is read."""

    about: str
    file: str
    sha256: str
    source: str
    read: Callable[[Path], tuple[tuple[str, ...], Array, Arrays]]


def _columns(path: Path) -> dict[str, list[str]]:
    """Every column of a CSV file, as text."""
    with path.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    return {name: list(cells) for name, cells in zip(rows[0], zip(*rows[1:], strict=True), strict=True)}


def _numbers(cells: list[str]) -> Array:
    return np.array([float(cell) if cell else np.nan for cell in cells])


def _table(columns: dict[str, list[str]], names: tuple[str, ...]) -> Array:
    return np.column_stack([_numbers(columns[name]) for name in names])


def _oil(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    columns = _columns(path)
    names = tuple(f"x{j:02d}" for j in range(1, 13))
    train = np.array(columns["split"]) == "train"
    extra = {
        "regime": _numbers(columns["label"])[train].astype(int),
        "fractions": _table(columns, ("frac1", "frac2"))[train],
    }
    return names, _table(columns, names)[train], extra


def _wifi(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    columns = _columns(path)
    names = tuple(f"ap{j:02d}" for j in range(1, 31))
    train = np.array(columns["split"]) == "train"
    extra = {"place": _table(columns, ("x", "y"))[train], "seconds": _numbers(columns["time_s"])[train]}
    return names, _table(columns, names)[train], extra


def _plain(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    columns = _columns(path)
    return tuple(columns), _table(columns, tuple(columns)), {}


def _yeast(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    with np.load(path) as held:
        extra = {name: held[name] for name in ("arrays", "experiment", "minutes")}
        return tuple(str(gene) for gene in held["genes"]), held["X"].astype(np.float64), extra


def _six(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    image = np.loadtxt(path, delimiter=",")
    return tuple(f"x{j + 1}" for j in range(image.shape[1])), image, {}


def _roads(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    columns = _columns(path)
    names = tuple(columns.pop("city"))
    where = _columns(path.with_name("europe54_coordinates.csv"))
    return names, _table(columns, names), {"place": _table(where, ("lat", "lon"))}


def _faces(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    with np.load(path) as held:
        X = held["X"].astype(np.float64)
        return tuple(f"pixel{j + 1}" for j in range(X.shape[1])), X, {"person": held["person"]}


def _digits(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    with np.load(path) as held:
        X = held["X"].astype(np.float64)
        return tuple(f"pixel{j + 1}" for j in range(X.shape[1])), X, {"digit": held["y"]}


def _ratings(path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    columns = _columns(path)
    names = ("userId", "movieId", "rating")
    return names, _table(columns, names), {}


def _saved(first: str, path: Path) -> tuple[tuple[str, ...], Array, Arrays]:
    """Arrays that an author saved: one of them as the table, all by their names."""
    with np.load(path) as held:
        arrays = {name: held[name].astype(np.float64) for name in held.files}
    return tuple(f"axis{j + 1}" for j in range(arrays[first].shape[1])), arrays[first], arrays


REAL_TABLES = {
    "oil": RealTable(
        "1000 readings of oil, water and gas in a pipe (Bishop and James 1993)", "oil_flow/oil_flow.csv",
        "8bf878a8f6ead28386e5158fed1db663cf8c13ad62687156c4b3b950a3193c0d",
        "SheffieldML/GPmat, datasets/data/3Class.mat", _oil,
    ),
    "stick_man": RealTable(
        "55 frames of a runner, 34 markers in three dimensions", "stick_man/stick_man.csv",
        "3ac9664263b95f349599a1c57b18c187b35558633ef7ba2e4b820ddfbf1af831", "SheffieldML/GPmat, run1.txt", _plain,
    ),
    "wifi": RealTable(
        "215 places of a robot's walk, the strength of 30 access points", "robot_wifi/robot_wifi.csv",
        "ccb6f775010f6a5fe15833a33e6f17116443b4b607967faec8bacce1fb95eb10", "lawrennd/datasets_mirror", _wifi,
    ),
    "yeast": RealTable(
        "77 arrays of 6178 genes of yeast (Spellman and others 1998)", "spellman_yeast/spellman_yeast.npz",
        "45ce66d0daeac694ee9dcf85d1c6641137d7171861132cd1c0887ff4a2c6be52", "SheffieldML/GPmat, demSpellmanMvu1.mat",
        _yeast,
    ),
    "six": RealTable(
        "a handwritten six of 64 x 57 pixels", "handwritten_six/six.csv",
        "053186fe791578e2123ed7038c5d6092fa6a12cdb041448ddc9658b66e90ea6f", "lawrennd/dimred, br1561_6.3.pgm", _six,
    ),
    "roads": RealTable(
        "kilometres by road between 54 cities of Europe", "city_distances/europe54_road_km.csv",
        "c719e1ef3aabcedf4e2197c88ccf5d7a550caeb8547a4bbab7a661f2da912ea7",
        "lawrennd/dimred, matlab/europeDistance.csv", _roads,
    ),
    "faces": RealTable(
        "400 photographs of 40 people, 64 x 64 pixels (AT&T Laboratories Cambridge)", "olivetti_faces/olivetti64.npz",
        "342ea5d156d4140a075ac7166429d0ac999a888946244ec81124a68e0033abb5", "sjgershm/DBM, or sklearn.datasets",
        _faces,
    ),
    "movielens": RealTable(
        "100,836 ratings of films", "movielens_small/ratings.csv",
        "80da8b3393dae325bbba5a31f291a6ba55d8d4f4396de3c456f2c1635b1b70e8", "GroupLens, ml-latest-small", _ratings,
    ),
    "mnist": RealTable(
        "10,000 handwritten digits of 28 x 28 pixels, the first of the training rows", "mnist/mnist_train_first10k.npz",
        "247e056e4301ddce96c5eb7e7e8773d54f91933d1aa82cf797c1bae4a70b5d42", "MNIST, first 10,000 rows as X and y",
        _digits,
    ),
    "author_maps": RealTable(
        "the author's own maps of the stick man and of oil; X is Isomap's", "reference_results/spectral_embeddings.npz",
        "dbe390763e21de4615c16c5c47c5e4819cd3b458697d9de20ddb8608dd05f372", "lawrennd/dimred, matlab/dem*.mat",
        partial(_saved, "stick_isomap_k7"),
    ),
    "author_networks": RealTable(
        "the author's own density networks of oil and of the stick man; X are latent points of the largest",
        "reference_results/density_networks_gtm.npz",
        "c3f0052a885b957c1c1344b82b108e9e5a7557950f16daad69255d2f860075f5", "lawrennd/dimred, matlab/dem*Dnet*.mat",
        partial(_saved, "oil_dnet5_X_u"),
    ),
}  # fmt: skip
SHIPPED = {"faithful": faithful, "cities": cities}


def load(name: str, folder: str | os.PathLike[str] | None = None) -> KnownTable:
    """A table of the texts by its name: from the package where it ships, else from a folder that you have.

    Nothing is fetched. A file is read from `folder`, in the place that `REAL_TABLES` names or in the folder itself, and
    its digest is compared: a page that prints a published number must have the published table.

    Parameters
    ----------
    name : str
        "faithful" and "cities" ship; "oil", "stick_man", "wifi", "yeast", "six", "roads", "faces", "movielens" and
        "mnist" are read; so are "author_maps" and "author_networks", what the author of a text fitted to them.
    folder : path-like, optional
        Where the file is; the environment variable LOWDIM_DATA where it is left out.

    Returns
    -------
    KnownTable
        With `X`, `columns`, `about`, and in `extra` what is known of the rows.

    Examples
    --------
    >>> load("faithful").X[:2]
    array([[ 3.6, 79. ],
           [ 1.8, 54. ]])
    """
    if name in SHIPPED:
        return SHIPPED[name]()
    if name not in REAL_TABLES:
        known = ", ".join([*SHIPPED, *REAL_TABLES])
        raise error("LD210", option="name", value=name, allowed=f"one of {known}")
    real = REAL_TABLES[name]
    return KnownTable(name, real.about, *real.read(_checked(name, real, folder)))


def _checked(name: str, real: RealTable, folder: str | os.PathLike[str] | None) -> Path:
    """The file of a table, if it is there and is the one."""
    home = folder if folder is not None else os.environ.get("LOWDIM_DATA")
    if home is None:
        raise error("LD330", name=name, file=real.file, source=real.source, problem="no folder is named")
    places = [Path(home) / real.file, Path(home) / Path(real.file).name]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise error("LD330", name=name, file=real.file, source=real.source, problem=f"'{home}' has no {real.file}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != real.sha256:
        raise error("LD331", path=str(path), digest=digest[:12], expected=real.sha256[:12], source=real.source)
    return path
