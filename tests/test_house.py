"""The house style that a machine can check: imports point one way, names mean one thing."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import lowdim
from lowdim.models.base.estimator import Estimator, WeightedEstimator
from lowdim.registry import MODELS

ROOT = Path(lowdim.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py"))
# Each room may import from itself and from those after it.
ROOMS = (
    "cli",
    "report",
    "explorer",
    "plot",
    "jobs",
    "judge",
    "models",
    "engine",
    "sources",
    "table",
    "storage",
    "maths",
    "text",
)
ALONE = {"maths", "text"}  # these import nothing of ours
ANYWHERE = {"registry", "datasets"}  # names only; tables that ship
TOP = {"", "__main__", "laws", "registry", "datasets"}  # these may import what they need
FAMILIES = ("linear", "mixed", "mixtures", "projections", "ratings", "spectral", "nonlinear", "gaussian_process")
LAZY = {"jobs.analysis": {"plot", "report", "pandas", "polars"}}  # imported when asked for, inside a function


@pytest.fixture(autouse=True, scope="module")
def _trees_are_forgotten() -> Iterator[None]:
    """Syntax trees of all files are millions of objects: the collector would walk them here and in all later tests."""
    gc.disable()
    yield
    for kept in (tree, nodes):
        kept.cache_clear()
    gc.enable()


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip(".")


def room(path: Path) -> str:
    return module(path).split(".")[0]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Everything in a file, at any depth."""
    return list(ast.walk(tree(path)))


def imported(path: Path, lazy: bool = True) -> set[str]:
    """The modules of lowdim that a file imports, without the package's own name."""
    found = set()
    for node in nodes(path) if lazy else tree(path).body:
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "lowdim":
            rest = (node.module or "").split(".")[1:]
            found |= {".".join(rest)} if rest else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add("a relative import")
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("lowdim.") for alias in node.names if alias.name.startswith("lowdim.")}
    return found


def test_imports_point_one_way():
    wrong = {}
    for path in FILES:
        home = room(path)
        if home not in TOP:
            below = {home} if home in ALONE else set(ROOMS[ROOMS.index(home) :]) | ANYWHERE
            wrong[module(path)] = {name.split(".")[0] for name in imported(path, lazy=False)} - below - {"__version__"}
    assert not any(wrong.values()), {name: rooms for name, rooms in wrong.items() if rooms}


def test_only_tables_and_sources_import_table_libraries():
    tables = {"pandas", "polars", "pyarrow", "zarr", "dask"}
    for path in FILES:
        if room(path) in ("sources", "table"):
            continue
        for node in nodes(path):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            found = {name.split(".")[0] for name in names} & tables - LAZY.get(module(path), set())
            assert not found, (path, node.lineno)


def test_no_bare_errors_or_warnings_outside_the_catalogue():
    """Messages are made in one place; math alone, which imports nothing, raises plain ValueErrors."""
    for path in FILES:
        if room(path) in ("maths", "text", "laws"):
            continue
        text = path.read_text()
        for plain in (
            "raise ValueError",
            "raise TypeError",
            "raise RuntimeError",
            "raise FloatingPointError",
            "warnings.warn(",
        ):
            assert plain not in text, (path, plain)


FACES = ("judge", "jobs", "plot", "explorer", "report", "cli")  # rooms that use models and are no part of them
RECORD_METHODS = {
    "_replace",
    "_asdict",
    "_make",
    "_fields",
    "_field_defaults",
}  # of every NamedTuple, by Python's naming
OWN = {("os", "_exit")}
# These need what no verb says: a model as numbers for a page, each cell given the others, the pull of one row on a fit.
READ_PARAMETERS = {"judge.cells", "judge.mixed.given_others", "judge.mixed.row_pulls"}


def private_uses(path: Path) -> list[tuple[int, str]]:
    """Where a file calls a hook of a model, reads parameters in a model's own units or imports a private name."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            private = node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in RECORD_METHODS
            inner = node.attr in ("params_", "frame_") and module(path) not in READ_PARAMETERS
            if (private or inner) and owner not in ("self", "cls"):
                found += [] if (owner, node.attr) in OWN else [(node.lineno, node.attr)]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lowdim"):
            found += [(node.lineno, a.name) for a in node.names if a.name.startswith("_") and a.name != "__version__"]
    return found


def test_kinds_of_cells_are_asked_and_not_compared_by_name():
    """Reading decides them and the mixed model gives each a likelihood: nobody else has their names."""
    names = {"real", "yes/no", "ordinal", "marker"}
    known = ("table.cell_kinds", "table.kinds", "table.roles", "models.mixed.")
    found = [
        (module(path), node.lineno)
        for path in FILES
        if not module(path).startswith(known)
        for node in nodes(path)
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert not found, found


def test_models_are_used_by_their_public_verbs():
    found = {module(path): private_uses(path) for path in FILES if room(path) in FACES}
    assert not any(found.values()), {name: uses for name, uses in found.items() if uses}


def test_class_names_are_unique():
    where: dict[str, list[str]] = {}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(module(path))
    assert {name: homes for name, homes in where.items() if len(homes) > 1} == {}


@pytest.mark.parametrize("name", MODELS)
def test_models_stand_beside_each_other(name):
    """Estimator (with weights of rows or not) -> LatentModel or SpectralModel -> at most one base of the family."""
    bases = getattr(lowdim, name).__mro__[1:]
    line = [base for base in bases if issubclass(base, Estimator) and base is not WeightedEstimator]
    assert not {base.__name__ for base in line} & set(MODELS), f"{name} inherits from another model"
    assert len(line) <= 3, [base.__name__ for base in line]
