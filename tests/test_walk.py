"""How far one has to go to follow a table through the house: files and functions entered, and what hides the way.

Every call is traced, also those behind imports inside functions, so nothing is shorter by being hidden.
"""

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import lowdim

ROOT = Path(lowdim.__file__).parent
CORE = sorted(
    path for room in ("maths", "engine", "sources", "storage", "models") for path in (ROOT / room).rglob("*.py")
)
# walk: files entered at most, functions entered at most
BOUNDS = {
    "ppca_gaps": (15, 116),
    "mixture_gaps": (18, 150),
    "gtm": (17, 111),
    "isomap_gaps": (19, 131),
    "main_job": (90, 755),  # a quarter of it reads the table, a third is shared by its stages
    "fill": (62, 468),
}
# in the core, at most
COUNTS = {
    "imports of ours inside functions": 30,
    "of these without a reason": 0,
    "type: ignore": 10,
    "type: ignore without a reason": 0,
}


def table(gaps: bool) -> np.ndarray:
    """200 x 6: two factors and noise; one cell in ten is a gap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((200, 6))
    return np.where(rng.random(X.shape) < 0.1, np.nan, X) if gaps else X


def verbs(model: Any, X: np.ndarray) -> None:
    model.fit(X).transform(X)
    model.impute(X, return_std=True)


def file_of_table() -> str:
    """The table with gaps as a file, which the main job reads."""
    X, names = table(True), [f"c{j}" for j in range(6)]
    lines = [",".join("" if np.isnan(x) else f"{x:.4f}" for x in row) for row in X]
    path = Path(FOLDER.name) / "t.csv"
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    return str(path)


FOLDER = TemporaryDirectory()
WALKS: dict[str, Callable[[], Any]] = {
    "ppca_gaps": lambda: verbs(lowdim.PPCA(2), table(True)),
    "mixture_gaps": lambda: verbs(lowdim.GaussianMixture(2, tol=1e-2), table(True)),
    "gtm": lambda: verbs(lowdim.GTM(2, grid=8, max_iter=30), table(False)),
    "isomap_gaps": lambda: lowdim.Isomap(2).fit(table(True)).transform(table(True)),
    "main_job": lambda: lowdim.analyse(file_of_table()).sentences,
    "fill": lambda: lowdim.fill(file_of_table()),
}
SLOW = ("main_job", "fill")


def entered(walk: Callable[[], Any]) -> list[tuple[str, str]]:
    """File and name of every function of ours that a call enters, in the order of the way."""
    codes: dict[CodeType, None] = {}

    def look(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            codes[frame.f_code] = None

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        walk()
    finally:
        sys.setprofile(before)
    ours = [code for code in codes if code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<")]
    return list(dict.fromkeys((str(Path(code.co_filename).relative_to(ROOT)), code.co_name) for code in ours))


@pytest.mark.filterwarnings("ignore:LD201")  # thirty passes of a sheet
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in WALKS]
)
def test_a_walk_through_the_house_is_short(name):
    WALKS[name]()  # what is imported and kept at the first call
    way = entered(WALKS[name])
    files = len({file for file, _ in way})
    assert files <= BOUNDS[name][0] and len(way) <= BOUNDS[name][1], (files, len(way), way)


def of_ours(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] == "lowdim"
    return isinstance(node, ast.Import) and any(name.name.split(".")[0] == "lowdim" for name in node.names)


def hidden_imports(path: Path) -> list[tuple[str, bool]]:
    """Imports of ours inside functions: where each stands, and whether a comment beside or above it says why."""
    text = path.read_text()
    if not re.search(r"^\s+(from|import) lowdim\b", text, re.MULTILINE):
        return []
    lines = text.splitlines()
    inner = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    numbers = [node.lineno for part in inner for node in ast.walk(part) if of_ours(node)]
    return [
        (f"{path.relative_to(ROOT)}:{k}", "#" in lines[k - 1] or lines[k - 2].lstrip().startswith("#")) for k in numbers
    ]


def test_little_is_hidden_in_the_core():
    imports = [found for path in CORE for found in hidden_imports(path)]
    ignored = [
        (f"{path.relative_to(ROOT)}:{k}", "  # " in line.partition("type: ignore")[2])
        for path in CORE
        for k, line in enumerate(path.read_text().splitlines(), start=1)
        if "type: ignore" in line
    ]
    found = {
        "imports of ours inside functions": [place for place, _ in imports],
        "of these without a reason": [place for place, why in imports if not why],
        "type: ignore": [place for place, _ in ignored],
        "type: ignore without a reason": [place for place, why in ignored if not why],
    }
    many = {what: (len(places), places) for what, places in found.items() if len(places) > COUNTS[what]}
    assert not many, many
