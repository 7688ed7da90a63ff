"""Where every public name is: its page of the API, the pages of the gallery that use it, and what to type for it."""

from __future__ import annotations

import re
from inspect import getattr_static
from pathlib import Path

import lowdim
from lowdim.models.base.estimator import Absent
from lowdim.registry import ENTRIES, FUNCTIONS, ModelEntry

# What to type for a name that is no model with a short name of its own; where there is nothing, the reason why.
TYPED = {
    "PPCA": "lowdim fit -m ppca",
    "analyse": "lowdim report",
    "analyze": "lowdim report",
    "analyse_stream": "lowdim report --stream",
    "choose_clusters": "lowdim fit -m gmm",
    "choose_dimension": "lowdim dims",
    "compare": "lowdim compare",
    "distance_law": "lowdim plot distances",
    "embedding_score": "lowdim compare --map",
    "explore": "lowdim explore",
    "fill": "lowdim fill",
    "fit_method": "lowdim fit -m pca",
    "judge_map": "lowdim compare --map",
    "load": "lowdim apply",
    "load_run": "lowdim runs",
    "odd_rows": "lowdim odd",
    "read": "lowdim check",
    "robust_fit": "lowdim report",
    "rotate": "lowdim report --rotate",
    "stream": "lowdim report --stream",
    "subject": "lowdim explain",
    "to_similarities": "lowdim fit -m mds --similarities",
    "to_squared_distances": "lowdim fit -m mds --distances",
}
NOT_TYPED = {
    "Mixture": "its parts are objects of Python; the usual ones are `-m gmm`, `-m mppca` and `-m mfa`",
    "Moments": "means and covariances printed elsewhere are given as arrays; a file of rows has its own",
    "Run": "its parts are options of the commands that need them: `--stream`, `--memory`, `--checkpoint`",
    "as_source": "a command opens its file by itself",
    "factorability": "a question of items before factors are looked for; `lowdim fit -m fa` says how well they fit",
    "reliability": "a question of the items of one scale; `lowdim fit -m fa --dims 1` has their loadings",
    "best_of": "starts are an option of the model: `--set n_init=20`",
    "best_of_checkpoint": "a command goes on from its own `--checkpoint`",
    "procrustes": "it lays one array on another",
    "robust_map": "it asks for distances and gives places and suspects as arrays",
    "total_least_squares": "it takes two arrays and gives the coefficients of a line or a plane",
    "whiten": "it gives rows without correlation as an array; models standardise by themselves",
}


def typed(name: str) -> str:
    """What to type for a public name; empty where there is nothing."""
    entry = next((entry for entry in ENTRIES if entry.class_name == name), None)
    if entry is None or not (entry.way or entry.name):
        return TYPED.get(name, "")
    return entry.way or f"lowdim fit FILE -m {entry.name}"


def used_by(name: str, gallery: Path) -> list[str]:
    """The pages of the gallery that use a public name, as paths from docs/."""
    names = {"ProbabilisticPCA": r"(?:ProbabilisticPCA|PPCA)"}
    word = re.compile(rf"\bld\.{names.get(name, name)}\b")
    pages = sorted(gallery.glob("[0-9]*/*.py"))
    return [f"gallery/{page.parent.name}/{page.name}" for page in pages if word.search(page.read_text("utf-8"))]


def counted(entry: ModelEntry) -> str:
    """What `n_parameters_` counts for `bic` and `aic`, or why there is none."""
    found = getattr_static(entry.load_class(), "n_parameters_", None)
    return found.why if isinstance(found, Absent) else "yes"


def page(gallery: Path) -> str:
    """The table of all of it."""
    lines = [
        "# Where everything is",
        "",
        "Every public name: what to type for it (or why there is nothing to type), the pages of the gallery that use",
        "it, and whether it counts the numbers it fits (`n_parameters_`, `bic`, `aic`). The table is made from the",
        "registry; a test holds it to the commands, the gallery and the classes.",
        "",
        "## Models",
        "",
        "| model | to type | pages | counts its numbers |",
        "| --- | --- | --- | --- |",
    ]
    for entry in (entry for entry in ENTRIES if entry.public):
        name = entry.class_name
        lines.append(f"| {link(name)} | {way(name)} | {pages_of(name, gallery)} | {counted(entry)} |")
    lines += ["", "## Records and functions", "", "| name | to type | pages |", "| --- | --- | --- |"]
    lines += [f"| {link(name)} | {way(name)} | {pages_of(name, gallery)} |" for name in FUNCTIONS if name != "PPCA"]
    return "\n".join([*lines, ""])


def link(name: str) -> str:
    return f"[{name}](api/lowdim.{name}.rst)"


def way(name: str) -> str:
    return f"`{typed(name)}`" if typed(name) else NOT_TYPED[name]


def pages_of(name: str, gallery: Path) -> str:
    """Links to the first few pages."""
    found = used_by(name, gallery)
    shown = [f"[{Path(path).stem[:2]}]({path.removesuffix('.py')}.rst)" for path in found[:4]]
    texts = [f"{Path(path).parent.name[2:].title()} {text}" for path, text in zip(found, shown, strict=False)]
    return ", ".join(texts) + (f" and {len(found) - 4} more" if len(found) > 4 else "")


def missing_names() -> set[str]:
    """Public names without a command and without a reason."""
    from lowdim.registry import MODULES

    return {name for name in lowdim.__all__ if name not in MODULES and not typed(name) and name not in NOT_TYPED}
