"""The house style that a machine can check: imports point one way, functions and files stay short."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import lowdim

ROOT = Path(lowdim.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py"))
# cli, report, explore, plot -> analysis, judge -> models -> engine -> data, and models -> math (architecture.md)
MAY = {
    "math": set(), "data": set(), "engine": {"data"}, "models": {"engine", "data", "math"},
    "judge": {"models", "engine", "data", "math"}, "datasets": {"data", "math"},
    "analysis": {"judge", "models", "engine", "data", "math"},
}
MAY |= {"kinds": set(), "catalogue_models": {"kinds"}, "catalogue_tables": {"kinds"},
        "messages": {"kinds", "catalogue_models", "catalogue_tables"}}
MAY["streaming"] = MAY["analysis"] | {"analysis"}
MAY["fitting"] = MAY["analysis"] | {"analysis", "methods", "placing", "runs"}
MAY["methods"] = set()
MAY["whole"] = set()
MAY["images"] = {"models", "data", "math"}
MAY["judge"] |= {"methods"}
MAY["forecast"] = MAY["streaming"] | {"streaming"}
HELPERS = {"messages", "persist", "whole"}  # anyone but math may use these
# these may import what they need
TOP = {"registry", "cli", "report", "explore", "plot", "runs", "placing", "laws", "persist", ""}
# what is imported only when asked for, inside a function: `found.plot`, and a result in the caller's own frame
LAZY = {"analysis": {"plot", "report", "placing", "pandas", "polars"}}
LONGEST = 40  # lines of code in a function, its docstring not counted


def folder(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def imported(path: Path) -> set[str]:
    """The top-level parts of lowdim that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("lowdim"):
            rest = (node.module or "").split(".")[1:]
            found |= {rest[0]} if rest else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add("a relative import")
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("lowdim.")}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    home = folder(path)
    if home in TOP:
        return
    alone = home == "math" or home in MAY["messages"] | {"messages"}
    allowed = MAY[home] | {home} | (set() if alone else HELPERS) | LAZY.get(home, set())
    assert imported(path) <= allowed, imported(path) - allowed


def test_only_the_data_folder_imports_table_libraries():
    tables = {"pandas", "polars", "pyarrow", "zarr", "dask"}
    for path in FILES:
        if folder(path) == "data":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = ([alias.name for alias in node.names] if isinstance(node, ast.Import)
                     else [node.module or ""] if isinstance(node, ast.ImportFrom) else [])
            found = {name.split(".")[0] for name in names} & tables - LAZY.get(folder(path), set())
            assert not found, (path, node.lineno)


def test_lazy_imports_are_lazy():
    for home, names in LAZY.items():
        for node in ast.parse((ROOT / f"{home}.py").read_text()).body:
            words = ast.unparse(node) if isinstance(node, ast.Import | ast.ImportFrom) else ""
            assert not any(f"lowdim.{name}" in words or words == f"import {name}" for name in names), words


def length(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_stay_short(path):
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    long = {f.name: length(f) for f in functions if length(f) > LONGEST}
    assert not long, long


def test_no_bare_errors_or_warnings_outside_the_catalogue():
    """Messages are made in one place; math alone, which imports nothing, raises plain ValueErrors."""
    for path in FILES:
        if folder(path) in ("math", "messages", "laws"):
            continue
        text = path.read_text()
        for plain in ("raise ValueError", "raise TypeError", "raise RuntimeError", "raise FloatingPointError",
                      "warnings.warn("):
            assert plain not in text, (path, plain)
